/* SPDX-License-Identifier: GPL-2.0-only */
/* attach.h - probes on functions, to be detached together. */
#ifndef IOSTRATA_FUNCS_ATTACH_H
#define IOSTRATA_FUNCS_ATTACH_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct feature;
struct func;
struct func_bpf;
struct func_method;

enum func_fd_kind { FD_PROGRAM, FD_EVENT, FD_LINK };

struct func_fd {
	int fd;
	enum func_fd_kind kind;
};

struct func_attached {
	const struct func_method *probe;
	const struct func_method *second; /* for functions that @probe cannot probe, or NULL;
					   * both have programs for each */
	struct func_bpf *obj;
	struct feature *feat;
	struct func_fd *fds; /* owned */
	size_t n, cap;
	size_t n_second;  /* functions that @second probes */
	unsigned int pid; /* see func_only_in(); 0: all processes */
	int err;          /* errno of the first that was refused, or 0 */
};

/* Called now and then with the progress. False: stop. */
typedef bool func_progress_fn(size_t done, size_t all);

/* From now on functions of programs are probed in this process alone, where the kernel can do that;
 * else in all, and the programs tell whose calls count. */
void func_only_in(struct func_attached *a, unsigned int pid);

/*
 * Probes @n functions, which are numbered from @first. For each that cannot be probed, func.refused
 * says why. Returns how many are probed, or -errno: descriptors or memory ran out; -EINTR:
 * @progress said so; -ESRCH: the process of func_only_in() has ended. In @a the caller has set the
 * method, the object (loaded for that method) and the features; they outlive @a.
 */
int func_attach(struct func_attached *a, struct func *funcs, size_t n, unsigned int first,
		func_progress_fn *progress);

/* Hits for which no program ran, as far as the kernel reports them. */
unsigned long long func_missed(const struct func_attached *a);

/* Adds up the run times that the kernel has measured for the programs, if it was asked to. */
void func_run_time(const struct func_attached *a, unsigned long long *ret_ns,
		   unsigned long long *ret_cnt);

/* Detaches what was attached after the first @keep descriptors. */
void func_detach(struct func_attached *a, size_t keep);

/*
 * Links between programs and functions, made with bpf(2) directly: libbpf of Debian
 * 12 knows neither sessions nor uprobe_multi, and the kernel's headers may be as old.
 */

/* The part of union bpf_attr that BPF_LINK_CREATE takes, include/uapi/linux/bpf.h. */
struct func_link {
	__u32 prog_fd, target_fd, attach_type, flags;
	union {
		struct {
			__u64 cookie;
		} perf;
		struct {
			__u32 flags, n;
			__u64 names, addrs, cookies;
		} kprobes;
		struct {
			__u64 path, offsets, ref_counts, cookies;
			__u32 n, flags, pid;
		} uprobes;
	};
	__u64 room[4];
};

/* BPF_F_KPROBE_MULTI_RETURN, BPF_F_UPROBE_MULTI_RETURN */
enum { FUNC_MULTI_RETURN = 1 };

/* A descriptor, or -errno. */
int func_link_create(struct func_link *link);

/* Gives @fd to @a; closes it if that fails. 0 or -ENOMEM. */
int func_fd_keep(struct func_attached *a, int fd, enum func_fd_kind kind);

/* Whether -errno @err means that descriptors or memory ran out, whatever the function. */
bool func_is_limit(int err);

/* What -errno @err means for a function that cannot be probed. */
const char *func_why_refused(int err);

#endif
