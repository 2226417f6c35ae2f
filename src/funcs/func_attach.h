/* SPDX-License-Identifier: GPL-2.0-only */
/* func_attach.h - probes on functions, detached together. Owns the descriptors of programs, events
 * and links; loads only copies of programs. */
#ifndef IOSTRATA_FUNCS_FUNC_ATTACH_H
#define IOSTRATA_FUNCS_FUNC_ATTACH_H

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
	/* for functions that @probe cannot probe, or NULL; both load a copy of their programs for
	 * each function */
	const struct func_method *second;
	struct func_bpf *obj;
	struct feature *feat;
	struct func_fd *fds; /* owned */
	size_t n, cap;
	size_t n_second;   /* functions probed by @second */
	unsigned int pid;  /* see func_only_in(); 0: trace all processes */
	bool entries_only; /* probe no returns */
	int err;           /* errno of the first refused function, or 0 */
};

/* Called now and then with the progress of attaching. False: stop. */
typedef bool func_progress_fn(size_t done, size_t all);

/* From now on, probes functions of programs in process @pid only, where the kernel can do this.
 * Elsewhere all processes are probed, and the programs select the calls. */
void func_only_in(struct func_attached *a, unsigned int pid);

/*
 * Probes @n functions, numbered from @first. func.refused says why a function cannot be probed.
 *
 * Returns the number of probed functions, or -errno: descriptors or memory ran out, or -EINTR if
 * @progress stopped it, or -ESRCH if the process of func_only_in() has ended. The caller has set
 * the method, the object (loaded for this method) and the features in @a; they outlive @a.
 */
int func_attach(struct func_attached *a, struct func *funcs, size_t n, unsigned int first,
		func_progress_fn *progress);

/* Hits without a run of our program, as far as the kernel reports them. */
unsigned long long func_missed(const struct func_attached *a);

/* Sums up run times of the programs, in ns, and their runs, if the kernel was asked to measure
 * them. */
void func_run_time(const struct func_attached *a, unsigned long long *ret_ns,
		   unsigned long long *ret_cnt);

/* Closes, and so detaches, all descriptors after the first @keep. */
void func_detach(struct func_attached *a, size_t keep);

/* The meaning of -errno @err for a function without a probe. */
const char *func_why_refused(int err);

#endif
