// SPDX-License-Identifier: GPL-2.0-only
#include "funcs/func_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/libbpf.h>

#include "base/list.h"
#include "func.skel.h"

static void *map_memory(const struct bpf_map *map, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Bytes of the cells. The kernel pads elements of a mapped array to 8 bytes; these need no padding.
 */
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

	*m = (struct func_memory){ .rows = c->rows,
				   .counted_only = c->counted_only,
				   .n_funcs = c->n_funcs,
				   .n_cpus = libbpf_num_possible_cpus(),
				   .n_hists = c->hists,
				   .rows_fd = bpf_map__fd(obj->maps.func_rows) };
	m->cells = map_memory(obj->maps.func_cells, cells_len(m));
	m->hists = map_memory(obj->maps.func_hists, hists_len(m));
	m->unreturned =
		map_memory(obj->maps.func_unreturned, sizeof(*m->unreturned) * (m->n_funcs + 1));
	return m->cells && m->hists && m->unreturned ? 0 : -ENOMEM;
}

int func_list_add(struct func_list *l, const char *name, const char *where, uint64_t addr)
{
	char *copy;

	if (list_reserve((void **)&l->at, &l->cap, l->n, sizeof(*l->at)))
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	l->at[l->n++] = (struct func){ .name = copy, .where = where, .addr = addr };
	return 0;
}

const char *func_shown(const struct func *f)
{
	return f->demangled ? f->demangled : f->name;
}

const char *func_list_place(struct func_list *l, const char *where, size_t len)
{
	char **places, *copy;

	for (size_t i = 0; i < l->n_places; i++)
		if (!strncmp(l->places[i], where, len) && !l->places[i][len])
			return l->places[i];
	copy = strndup(where, len);
	places = copy ? reallocarray(l->places, l->n_places + 1, sizeof(*places)) : NULL;
	if (!places) {
		free(copy);
		return NULL;
	}
	l->places = places;
	return l->places[l->n_places++] = copy;
}

void func_list_free(struct func_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->at[i].name);
		free(l->at[i].demangled);
	}
	for (size_t i = 0; i < l->n_places; i++)
		free(l->places[i]);
	free(l->at);
	free(l->places);
	*l = (struct func_list){};
}

void func_figures_add(struct func_figures *sum, const struct func_figures *f)
{
	if (f->count && (!sum->count || sum->min_ns > f->min_ns))
		sum->min_ns = f->min_ns;
	if (sum->max_ns < f->max_ns)
		sum->max_ns = f->max_ns;
	sum->count += f->count;
	sum->total_ns += f->total_ns;
	sum->self_ns += f->self_ns;
	sum->probe_ns += f->probe_ns;
	sum->preempted_ns += f->preempted_ns;
}

static void rows_free(struct func_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(rows[i].by);
		free(rows[i].hist.bins);
	}
	free(rows);
}

void func_snapshot_free(struct func_snapshot *sn)
{
	rows_free(sn->rows, sn->n_rows);
	rows_free(sn->tree, sn->n_tree);
	*sn = (struct func_snapshot){};
}
