// SPDX-License-Identifier: GPL-2.0-only
#include "trace/counters.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/snapshot.h"
#include "bpf/conf.h"
#include "trace/attach.h"
#include "trace/fsprobes.h"

#include "trace.skel.h"

/* Adds the kernel's statistics of one program. Returns how many hits it missed. */
static uint64_t run_stats(struct snapshot *sn, int fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		return 0;
	sn->bpf_run_ns += info.run_time_ns;
	sn->bpf_run_cnt += info.run_cnt;
	return info.recursion_misses;
}

/* All misses so far, not only those of the interval. */
static void program_stats(void *arg, int fd)
{
	struct snapshot *sn = arg;

	sn->missed += run_stats(sn, fd);
}

/* An event is lost only if the backup missed it, too: at most the smaller number. */
static void backed_stats(const struct backups *backups, struct snapshot *sn, int fd)
{
	uint64_t missed = run_stats(sn, fd), by_backup;
	int backup = backups_of(backups, fd);

	if (backup >= 0) {
		by_backup = run_stats(sn, backup);
		missed = by_backup < missed ? by_backup : missed;
	}
	sn->missed += missed;
}

void counters_begin(struct counters *c, const struct live *live)
{
	for (int i = 0; i < LOST_N; i++)
		c->lost[i] = live->lost[i];
	c->missed = live->returns_missed;
}

void counters_read(struct counters *c, const struct live *live, const struct trace_bpf *obj,
		   const struct attached *a, struct snapshot *sn)
{
	struct bpf_program *prog;
	uint64_t missed, lost;

	bpf_object__for_each_program(prog, obj->obj)
		backed_stats(&a->backups, sn, bpf_program__fd(prog));
	if (a->fs)
		fsprobes_programs(a->fs, program_stats, sn);
	missed = sn->missed + links_missed(&a->links) + fsprobes_missed(a->fs) +
		 live->returns_missed;
	sn->missed = missed - c->missed;
	c->missed = missed;
	for (int l = 0; l < LOST_N; l++) {
		lost = live->lost[l];
		sn->lost[l] += lost - c->lost[l];
		c->lost[l] = lost;
	}
}
