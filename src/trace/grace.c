// SPDX-License-Identifier: GPL-2.0-only
#include "trace/grace.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>

int grace_open(struct grace *g)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	int err;

	g->outer = -1;
	g->inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "grace_inner", 4, 4, 1, NULL);
	if (g->inner < 0)
		return -errno;
	opts.inner_map_fd = g->inner;
	g->outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "grace", 4, 4, 1, &opts);
	if (g->outer >= 0)
		return 0;
	err = -errno;
	grace_done(g);
	return err;
}

void grace_done(struct grace *g)
{
	if (g->outer >= 0)
		close(g->outer);
	if (g->inner >= 0)
		close(g->inner);
	g->outer = g->inner = -1;
}

int grace_wait(const struct grace *g)
{
	unsigned int key = 0;

	return bpf_map_update_elem(g->outer, &key, &g->inner, BPF_ANY) ? -errno : 0;
}
