// SPDX-License-Identifier: GPL-2.0-only
#include "trace/backups.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "trace/load.h"
#include "trace/plan.h"

/* libbpf 1.1 gives tracepoints no cookie. Functions have none before 5.19, and need none. */
static int attach_again(int prog_fd, const struct program *row)
{
	union bpf_attr attr = {
		.link_create = { .prog_fd = prog_fd, .attach_type = BPF_TRACE_RAW_TP,
				 .tracing.cookie = 1 },
	};
	int fd;

	if (row->hook != HOOK_TP_BTF)
		fd = bpf_raw_tracepoint_open(NULL, prog_fd);
	else
		fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

int backups_add(struct backups *b, const struct bpf_program *prog, const struct program *row)
{
	int fd, link;

	if (b->n == MAX_BACKUPS)
		return -ENOSPC;
	fd = load_copy(prog, row);
	if (fd < 0)
		return fd;
	link = attach_again(fd, row);
	if (link < 0) {
		close(fd);
		return link;
	}
	b->at[b->n].original = bpf_program__fd(prog);
	b->at[b->n].prog = fd;
	b->at[b->n++].link = link;
	return 0;
}

int backups_of(const struct backups *b, int prog_fd)
{
	for (int i = 0; i < b->n; i++)
		if (b->at[i].original == prog_fd)
			return b->at[i].prog;
	return -1;
}

void backups_done(struct backups *b)
{
	while (b->n) {
		b->n--;
		close(b->at[b->n].link);
		close(b->at[b->n].prog);
	}
}
