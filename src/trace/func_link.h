/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func_link.h - links between programs and functions, made with bpf(2) directly: libbpf of Debian
 * 12 knows neither sessions nor uprobe_multi, and the kernel's headers may be as old.
 */
#ifndef IOSTRATA_FUNC_LINK_H
#define IOSTRATA_FUNC_LINK_H

#include <stdbool.h>

#include <linux/types.h>

#include "trace/func_attach.h"

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
