// SPDX-License-Identifier: GPL-2.0-only
/*
 * func_attach.c - attaches programs to functions: one function at a time, or all at once.
 *
 * Links are made with bpf(2) directly: libbpf of Debian 12 knows neither sessions nor uprobe_multi,
 * and the installed kernel headers may be as old.
 */
#include "funcs/func_attach.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/list.h"
#include "funcs/func_load.h"
#include "funcs/func_rows.h"
#include "host/privilege.h"
#include "trace/feature.h"
#include "trace/feature_types.h"
#include "trace/links.h"

#include "func.skel.h"

/* The part of union bpf_attr for BPF_LINK_CREATE, as in include/uapi/linux/bpf.h. */
struct new_link {
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
enum { MULTI_RETURN = 1 };

/* A descriptor, or -errno. */
static int link_create(struct new_link *attr)
{
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

/* Gives @fd to @a; closes it if that fails. Returns 0 or -ENOMEM. */
static int fd_keep(struct func_attached *a, int fd, enum func_fd_kind kind)
{
	if (list_reserve((void **)&a->fds, &a->cap, a->n, sizeof(*a->fds))) {
		close(fd);
		return -ENOMEM;
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

/* Whether -errno @err means a lack of descriptors or memory, for any function. */
static bool is_limit(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

const char *func_why_refused(int err)
{
	switch (err) {
	case -ENOENT:
	case -ESRCH:
		return privilege_is_admin() ? "not in the kernel's types (BTF)"
					    : "not in the kernel's types (BTF); reading types of "
					      "modules takes CAP_SYS_ADMIN";
	case -EBUSY:
		return "another tool is changing it, or has a program on it";
	case -E2BIG:
		return "too many programs are attached to it";
	case -EPERM:
	case -EACCES:
		return "not permitted";
	case -EINVAL:
	case -EADDRNOTAVAIL:
	case -EILSEQ:
		return "the kernel allows no probe on it (notrace, or blacklisted)";
	case -EOPNOTSUPP:
	case -524: /* ENOTSUPP inside the kernel */
		return "the kernel cannot probe a function with such arguments";
	default:
		return "the kernel refuses the probe";
	}
}

/* The members of struct bpf_link_info used here, as since 6.7. */
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

/* Information from the kernel about a program; zeroes if there is none. */
static struct bpf_prog_info program_info(int fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return (struct bpf_prog_info){};
	return info;
}

/* Calls @fn for all programs of @a: those of the object, and the copies. */
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

static int event_open(const struct func_method *probe, const struct func *f, bool is_return)
{
	if (probe->user)
		return kprobe_open("uprobe", f->where, f->addr, is_return);
	return kprobe_open("kprobe", f->addr ? NULL : f->name, f->addr, is_return);
}

/* Attaches @prog to @event by a link: links report misses. Before 5.15 there are no such links, and
 * the program is set on the event itself. */
static int event_run(struct func_attached *a, int event, int prog)
{
	struct new_link attr = { .prog_fd = prog,
				 .target_fd = event,
				 .attach_type = BPF_PERF_EVENT };
	int link = link_create(&attr);

	if (link >= 0 && fd_keep(a, link, FD_LINK))
		return -ENOMEM;
	if (link < 0 && ioctl(event, PERF_EVENT_IOC_SET_BPF, prog))
		return -errno;
	return ioctl(event, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

static int event_attach(struct func_attached *a, const struct func_method *how,
			const struct func *f, int prog, bool is_return)
{
	int event = event_open(how, f, is_return), err;

	if (event < 0)
		return event;
	err = fd_keep(a, event, FD_EVENT);
	return err ? err : event_run(a, event, prog);
}

/* Finds the type of the function. Only fentry and fsession need it. */
static int type_find(const struct func_attached *a, const struct func_method *how,
		     const struct func *f, unsigned int *ret_type, int *ret_btf_fd)
{
	*ret_type = *ret_btf_fd = 0;
	if (!how->attach_type)
		return 0;
	return feature_function(a->feat, f->name, f->where, ret_type, ret_btf_fd);
}

/* Loads and attaches a copy of the entry or the return program, for function number @id. */
static int end_attach(struct func_attached *a, const struct func_method *how, const struct func *f,
		      unsigned int id, bool leave)
{
	const struct bpf_program *prog =
		leave ? func_leave_program(a->obj, how) : func_enter_program(a->obj, how);
	int fd, link, btf_fd, err;
	unsigned int type;

	err = type_find(a, how, f, &type, &btf_fd);
	if (err)
		return err;
	fd = func_copy(prog, id, type, btf_fd);
	err = fd < 0 ? fd : fd_keep(a, fd, FD_PROGRAM);
	if (err)
		return err;
	if (!how->attach_type)
		return event_attach(a, how, f, fd, leave);
	link = bpf_raw_tracepoint_open(NULL, fd);
	return link < 0 ? link : fd_keep(a, link, FD_LINK);
}

/* Attaches the programs for entry and return, or neither. The return comes first, so every call
 * with a traced beginning has a traced end. A session program serves both ends and is attached
 * once; it skips the return itself if only entries are traced. */
static int pair_attach(struct func_attached *a, const struct func_method *how, const struct func *f,
		       unsigned int id)
{
	size_t keep = a->n;
	int err = 0;

	if (!a->entries_only || how->way == FUNC_EACH_SESSION)
		err = end_attach(a, how, f, id, true);
	if (!err && how->way != FUNC_EACH_SESSION)
		err = end_attach(a, how, f, id, false);
	if (err)
		func_detach(a, keep);
	return err;
}

static int each_attach(struct func_attached *a, struct func *f, unsigned int id)
{
	int err = pair_attach(a, a->probe, f, id);

	if (err && !is_limit(err) && a->second) {
		err = pair_attach(a, a->second, f, id);
		a->n_second += !err;
	}
	if (!err || is_limit(err))
		return err;
	if (!a->err)
		a->err = -err;
	f->refused = func_why_refused(err);
	return 0;
}

static void types_look_for(const struct func_attached *a, const struct func *funcs, size_t n)
{
	const char **names = a->probe->attach_type ? calloc(n, sizeof(*names)) : NULL;
	int count = 0;

	for (size_t i = 0; names && i < n; i++)
		if (!*funcs[i].where)
			names[count++] = funcs[i].name;
	if (names)
		feature_look_for(a->feat, names, count);
	free(names);
}

static int all_each(struct func_attached *a, struct func *funcs, size_t n, unsigned int first,
		    func_progress_fn *progress)
{
	int err = 0;

	types_look_for(a, funcs, n);
	for (size_t i = 0; i < n && !err; i++) {
		if (progress && !progress(i, n))
			err = -EINTR;
		else if (!funcs[i].refused)
			err = each_attach(a, &funcs[i], first + i);
	}
	if (progress)
		progress(n, n);
	return err;
}

/* Functions of one link: all of the kernel, or all of one file. */
struct batch {
	struct func **funcs;
	uint64_t *addrs, *cookies;
	const char *path;
	size_t n;
};

static int batch_link(const struct func_attached *a, const struct batch *b, size_t from, size_t n,
		      bool leave)
{
	const struct bpf_program *prog =
		leave ? func_leave_program(a->obj, a->probe) : func_enter_program(a->obj, a->probe);
	unsigned int flags = leave && a->probe->way == FUNC_MULTI ? MULTI_RETURN : 0;
	struct new_link attr = { .prog_fd = bpf_program__fd(prog),
				 .attach_type = a->probe->attach_type };

	if (a->probe->user) {
		attr.uprobes.path = (uintptr_t)b->path;
		attr.uprobes.offsets = (uintptr_t)(b->addrs + from);
		attr.uprobes.cookies = (uintptr_t)(b->cookies + from);
		attr.uprobes.n = n;
		attr.uprobes.flags = flags;
		attr.uprobes.pid = a->pid;
	} else {
		attr.kprobes.addrs = (uintptr_t)(b->addrs + from);
		attr.kprobes.cookies = (uintptr_t)(b->cookies + from);
		attr.kprobes.n = n;
		attr.kprobes.flags = flags;
	}
	return link_create(&attr);
}

static int batch_attach(struct func_attached *a, const struct batch *b, size_t from, size_t n)
{
	bool session = a->probe->way == FUNC_SESSION;
	size_t keep = a->n;
	int err = 0, fd;

	if (session || !a->entries_only) {
		fd = batch_link(a, b, from, n, true);
		err = fd < 0 ? fd : fd_keep(a, fd, FD_LINK);
	}
	if (err || session)
		return err;
	fd = batch_link(a, b, from, n, false);
	err = fd < 0 ? fd : fd_keep(a, fd, FD_LINK);
	if (err)
		func_detach(a, keep);
	return err;
}

/* Attaches a batch. A single function without room for a probe makes the kernel refuse the whole
 * batch. So a refused batch is halved until the function is found. */
static int batch_try(struct func_attached *a, const struct batch *b, func_progress_fn *progress)
{
	struct {
		size_t from, n;
	} todo[64] = { { 0, b->n } };
	int left = b->n ? 1 : 0;

	while (left) {
		size_t from = todo[left - 1].from, n = todo[left - 1].n, half = n / 2;
		int err = progress && !progress(0, b->n) ? -EINTR : batch_attach(a, b, from, n);

		left--;
		if (err == -EINTR || (err == -ESRCH && a->pid) || is_limit(err))
			return err;
		if (err && !a->err)
			a->err = -err;
		if (err && n == 1)
			b->funcs[from]->refused =
				func_why_refused(err == -ENOENT || err == -ESRCH ? -EINVAL : err);
		if (!err || n == 1)
			continue;
		todo[left].from = from + half;
		todo[left++].n = n - half;
		todo[left].from = from;
		todo[left++].n = half;
	}
	return 0;
}

/* Enters the functions into the hash func_ids. If several functions hash to one slot, one of them
 * gets the slot; programs recognize the others by their cookies. */
static void ids_set(struct func_attached *a, const struct func *funcs, size_t n, unsigned int first)
{
	struct func_id *id;

	for (size_t i = 0; i < n && !a->probe->user; i++) {
		id = (struct func_id *)&a->obj->bss->func_ids[func_id_slot(funcs[i].addr)];
		if (id->addr && id->addr != funcs[i].addr)
			continue;
		id->func = first + i;
		id->addr = funcs[i].addr;
	}
}

static int batch_init(struct batch *b, size_t n)
{
	*b = (struct batch){ .funcs = calloc(n, sizeof(*b->funcs)),
			     .addrs = calloc(n, sizeof(*b->addrs)),
			     .cookies = calloc(n, sizeof(*b->cookies)) };
	return b->funcs && b->addrs && b->cookies ? 0 : -ENOMEM;
}

static void batch_done(struct batch *b)
{
	free(b->funcs);
	free(b->addrs);
	free(b->cookies);
}

/* Attaches all functions in batches. Functions of one file are neighbours in @funcs. */
static int all_batched(struct func_attached *a, struct func *funcs, size_t n, unsigned int first,
		       func_progress_fn *progress)
{
	struct batch b;
	int err = batch_init(&b, n);

	ids_set(a, funcs, n, first);
	for (size_t i = 0; i < n && !err;) {
		const char *where = funcs[i].where;

		b.n = 0;
		b.path = where;
		for (; i < n && (!a->probe->user || funcs[i].where == where); i++) {
			if (funcs[i].refused)
				continue;
			b.funcs[b.n] = &funcs[i];
			b.addrs[b.n] = funcs[i].addr;
			b.cookies[b.n++] = first + i;
		}
		err = batch_try(a, &b, progress);
	}
	if (progress)
		progress(n, n);
	batch_done(&b);
	return err;
}

/*
 * Links on many functions filter by process since 6.12, the first kernel with this member of struct
 * bpf_uprobe. Before, some kernels traced only the first thread. perf's events are no alternative:
 * such an event leaves the process when its first thread ends, while others may go on.
 */
void func_only_in(struct func_attached *a, unsigned int pid)
{
	char exe[32], to[1];

	if (!a->probe->user || func_is_each(a->probe) ||
	    feature_field_offset(a->feat, "bpf_uprobe", "uprobe") < 0)
		return;
	/* the link does not exist if the first thread has already ended */
	snprintf(exe, sizeof(exe), "/proc/%u/exe", pid);
	if (readlink(exe, to, sizeof(to)) > 0)
		a->pid = pid;
}

int func_attach(struct func_attached *a, struct func *funcs, size_t n, unsigned int first,
		func_progress_fn *progress)
{
	int err, live = 0;

	if (func_is_each(a->probe))
		err = all_each(a, funcs, n, first, progress);
	else
		err = all_batched(a, funcs, n, first, progress);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		live += !funcs[i].refused;
	return live;
}
