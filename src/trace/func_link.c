// SPDX-License-Identifier: GPL-2.0-only
#include "trace/func_link.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/privilege.h"
#include "trace/func_attach.h"
#include "trace/func_load.h"

int func_link_create(struct func_link *attr)
{
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

int func_fd_keep(struct func_attached *a, int fd, enum func_fd_kind kind)
{
	size_t cap = a->cap ? 2 * a->cap : 64;
	struct func_fd *fds = a->fds;

	if (a->n == a->cap) {
		fds = reallocarray(fds, cap, sizeof(*fds));
		if (!fds) {
			close(fd);
			return -ENOMEM;
		}
		a->fds = fds;
		a->cap = cap;
	}
	a->fds[a->n++] = (struct func_fd){ fd, kind };
	return 0;
}

void func_detach(struct func_attached *a, size_t keep)
{
	while (a->n > keep)
		close(a->fds[--a->n].fd);
	if (keep)
		return;
	free(a->fds);
	a->fds = NULL;
	a->cap = 0;
}

bool func_is_limit(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

const char *func_why_refused(int err)
{
	switch (err) {
	case -ENOENT:
	case -ESRCH:
		return privilege_is_admin() ? "not in the kernel's types (BTF)" :
					      "not in the kernel's types (BTF); those of modules "
					      "take CAP_SYS_ADMIN";
	case -EBUSY:
		return "somebody changes it, or another program is on it";
	case -E2BIG:
		return "too many programs are on it";
	case -EPERM:
	case -EACCES:
		return "not permitted";
	case -EINVAL:
	case -EADDRNOTAVAIL:
	case -EILSEQ:
		return "the kernel lets no probe be on it (notrace, or blacklisted)";
	case -EOPNOTSUPP:
	case -524: /* the kernel's ENOTSUPP */
		return "the kernel cannot probe a function with such arguments";
	default:
		return "the kernel refuses the probe";
	}
}

/* The parts of struct bpf_link_info that are used here, since 6.7. */
struct link_info {
	__u32 type, id, prog_id, pad;
	union {
		struct {
			__u32 type, pad;
			__u64 name;
			__u32 name_len, offset;
			__u64 addr, missed, cookie;
		} event;
		struct {
			__u64 addrs;
			__u32 n, flags;
			__u64 missed, cookies;
		} kprobes;
	};
};

enum { LINK_PERF_EVENT = 7, LINK_KPROBE_MULTI = 8, PERF_KPROBE = 3, PERF_KRETPROBE = 4 };

static unsigned long long link_missed(int fd)
{
	struct link_info info = {};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return 0;
	if (info.type == LINK_KPROBE_MULTI)
		return info.kprobes.missed;
	if (info.type == LINK_PERF_EVENT &&
	    (info.event.type == PERF_KPROBE || info.event.type == PERF_KRETPROBE))
		return info.event.missed;
	return 0;
}

/* The kernel's information about a program; zeroes if it gives none. */
static struct bpf_prog_info program_info(int fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return (struct bpf_prog_info){};
	return info;
}

/* Calls @fn for all programs of @a: those of the object, and copies. */
static void programs_look(const struct func_attached *a,
			  void (*fn)(void *arg, const struct bpf_prog_info *info), void *arg)
{
	const struct bpf_program *const own[] = { func_enter_program(a->obj, a->probe),
						  func_leave_program(a->obj, a->probe) };
	struct bpf_prog_info info;

	for (int i = 0; i < 2 && (!i || own[0] != own[1]); i++) {
		info = program_info(bpf_program__fd(own[i]));
		fn(arg, &info);
	}
	for (size_t i = 0; i < a->n; i++) {
		if (a->fds[i].kind != FD_PROGRAM)
			continue;
		info = program_info(a->fds[i].fd);
		fn(arg, &info);
	}
}

static void add_missed(void *arg, const struct bpf_prog_info *info)
{
	*(unsigned long long *)arg += info->recursion_misses;
}

unsigned long long func_missed(const struct func_attached *a)
{
	unsigned long long sum = 0;

	programs_look(a, add_missed, &sum);
	for (size_t i = 0; i < a->n; i++)
		if (a->fds[i].kind == FD_LINK)
			sum += link_missed(a->fds[i].fd);
	return sum;
}

static void add_run_time(void *arg, const struct bpf_prog_info *info)
{
	unsigned long long *sums = arg;

	sums[0] += info->run_time_ns;
	sums[1] += info->run_cnt;
}

void func_run_time(const struct func_attached *a, unsigned long long *ret_ns,
		   unsigned long long *ret_cnt)
{
	unsigned long long sums[2] = {};

	programs_look(a, add_run_time, sums);
	*ret_ns = sums[0];
	*ret_cnt = sums[1];
}
