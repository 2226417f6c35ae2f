// SPDX-License-Identifier: GPL-2.0-only
#include "trace/func_memory.h"

#include <errno.h>
#include <sys/mman.h>

#include <bpf/libbpf.h>

#include "func.skel.h"

static void *map_memory(const struct bpf_map *map, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Elements of a mapped array are padded to a multiple of 8 bytes; ours need no padding. */
static size_t cells_len(const struct func_memory *m)
{
	return sizeof(struct func_sums) * m->n_cpus * (m->n_funcs + 1);
}

static size_t hists_len(const struct func_memory *m)
{
	return sizeof(unsigned int) * HIST_N * m->n_hists * (m->n_funcs + 1);
}

void func_memory_done(struct func_memory *m)
{
	if (m->cells)
		munmap(m->cells, cells_len(m));
	if (m->hists)
		munmap((void *)m->hists, hists_len(m));
	if (m->unreturned)
		munmap((void *)m->unreturned, sizeof(*m->unreturned) * (m->n_funcs + 1));
	*m = (struct func_memory){};
}

int func_memory_open(struct func_memory *m, const struct func_bpf *obj)
{
	const struct func_conf *c = (const struct func_conf *)&obj->rodata->func_conf;

	*m = (struct func_memory){ .rows = c->rows, .n_funcs = c->n_funcs,
				   .n_cpus = libbpf_num_possible_cpus(), .n_hists = c->hists,
				   .rows_fd = bpf_map__fd(obj->maps.func_rows) };
	m->cells = map_memory(obj->maps.func_cells, cells_len(m));
	m->hists = map_memory(obj->maps.func_hists, hists_len(m));
	m->unreturned = map_memory(obj->maps.func_unreturned,
				   sizeof(*m->unreturned) * (m->n_funcs + 1));
	return m->cells && m->hists && m->unreturned ? 0 : -ENOMEM;
}
