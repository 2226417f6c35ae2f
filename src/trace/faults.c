// SPDX-License-Identifier: GPL-2.0-only
#include "trace/faults.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

/* 0, or -errno; a CPU that is not online has no events. */
static int attach_one(struct fault_links *l, struct bpf_program *prog, int cpu,
		      unsigned long long event)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = event,
		.sample_period = 1,
	};
	int fd = (int)syscall(__NR_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;
	int err;

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	link = bpf_program__attach_perf_event(prog, fd);
	if (!link) {
		err = -errno;
		close(fd);
		return err;
	}
	l->list[l->n++] = link; /* it owns the event */
	return 0;
}

int faults_attach(struct fault_links *l, struct bpf_program *prog)
{
	static const unsigned long long events[] = { PERF_COUNT_SW_PAGE_FAULTS_MAJ,
						     PERF_COUNT_SW_PAGE_FAULTS_MIN };
	int cpus = libbpf_num_possible_cpus(), err = 0;

	if (cpus < 0)
		return cpus;
	l->list = calloc(2 * cpus, sizeof(struct bpf_link *));
	if (!l->list)
		return -ENOMEM;
	for (int i = 0; i < 2 * cpus && !err; i++)
		err = attach_one(l, prog, i / 2, events[i % 2]);
	if (err)
		faults_done(l);
	return err;
}

void faults_done(struct fault_links *l)
{
	while (l->n)
		bpf_link__destroy(l->list[--l->n]);
	free(l->list);
	l->list = NULL;
}
