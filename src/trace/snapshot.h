/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * snapshot.h - what a run (or one interval of it) summed up, as plain data in user space.
 *
 * session.c fills it from the kernel's cells; the printers (breakdown_text.c, breakdown_json.c)
 * only read it. Knows nothing of BPF.
 */
#ifndef IOSTRATA_SNAPSHOT_H
#define IOSTRATA_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cell.h"

/* One row of operations: key and sums; hist counts are 64-bit, folded from the kernel's cells. */
struct op_row {
	struct op_key key;
	char fs[FS_NAME_LEN];	/* name of the file system type, "" if not known; hostile text */
	char *by;		/* the --by key as text (pid, comm, path, cgroup path, disk), NULL
				 * without --by; owned by the snapshot; hostile text */
	uint64_t count, errors, bytes, total_ns, max_ns;
	uint64_t strata[ST_N];	/* sum == total_ns; all 0 with a layer alone (-T) */
	unsigned int untold;	/* set of 1 << stratum: layers whose functions are not probed for
				 * such operations; one of them that is 0 was not measured */
	uint64_t hist[HIST_N];
};

struct rq_row {
	struct rq_key key;
	char disk[32];		/* kernel's name, "major:minor" if not known */
	unsigned int major, minor;
	uint64_t count, errors, bytes, requeues, unqueued;
	uint64_t tag_ns, queue_ns, device_ns, max_ns;
	uint64_t hist[HIST_N];
};

struct snapshot {
	struct op_row *ops;	/* not sorted */
	size_t n_ops;
	struct rq_row *rqs;	/* not sorted */
	size_t n_rqs;
	uint64_t duration_ns;
	uint64_t lost[LOST_N];
	uint64_t missed;	/* probe hits that the kernel did not run (recursion, nmissed) */
	bool has_overhead;
	uint64_t bpf_run_ns, bpf_run_cnt;
};

/* What could not be measured; the same for all of a run. */
struct missing {
	const char *stratum[ST_N];	/* reason, NULL if the stratum is measured */
	const char *requests;		/* reason why there are no requests, or NULL */
};

void snapshot_free(struct snapshot *sn);	/* frees rows and their text, leaves it empty */

/* Value below which @pct percent (0 < pct <= 100) of the values lie: the middle of the bucket,
 * never above @max_ns; 0 if empty. Within 1.6 % of the exact value. */
uint64_t hist_percentile(const uint64_t hist[HIST_N], double pct, uint64_t max_ns);

#endif
