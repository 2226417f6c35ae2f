// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/cube.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"

enum { INDEX_MIN = 64, FINE_PARTS = 4 }; /* the busiest of so many parts keeps fine bins longest */

_Static_assert(sizeof(struct cube_key) == 16, "a key is two words without holes");

static size_t key_hash(const struct cube_key *key)
{
	uint64_t words[2], h;

	memcpy(words, key, sizeof(words));
	h = words[0] * 0x9e3779b97f4a7c15ULL;
	h = (h ^ h >> 32 ^ words[1]) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 32;
}

/* The place of @key in the index, or the free place for it. */
static uint32_t *index_find(struct cube *c, const struct cube_key *key)
{
	for (size_t i = key_hash(key);; i++) {
		uint32_t *at = &c->index[i & (c->index_len - 1)];

		if (!*at || !memcmp(&c->combos[*at - 1].key, key, sizeof(*key)))
			return at;
	}
}

/* Makes the index anew, at most half full. Returns 0 or -ENOMEM. */
static int index_make(struct cube *c)
{
	size_t len = INDEX_MIN;
	uint32_t *index;

	while (len < 4 * c->n)
		len *= 2;
	index = calloc(len, sizeof(*index));
	if (!index)
		return -ENOMEM;
	free(c->index);
	c->index = index;
	c->index_len = len;
	for (size_t i = 0; i < c->n; i++)
		*index_find(c, &c->combos[i].key) = i + 1;
	return 0;
}

/* The combination of @key, or NULL if out of memory. */
static struct cube_combo *combo_find(struct cube *c, const struct cube_key *key)
{
	struct cube_combo *combos;
	uint32_t *at;

	if (2 * c->n >= c->index_len && index_make(c))
		return NULL;
	at = index_find(c, key);
	if (*at)
		return &c->combos[*at - 1];
	if (c->n == c->cap) {
		combos = reallocarray(c->combos, c->cap * 2 + 16, sizeof(*combos));
		if (!combos)
			return NULL;
		c->combos = combos;
		c->cap = c->cap * 2 + 16;
	}
	c->combos[c->n] = (struct cube_combo){ .key = *key };
	*at = ++c->n;
	return &c->combos[c->n - 1];
}

/* The first of the joined bins of a cell. */
static uint32_t first_bin(const struct cube_combo *combo, uint32_t bin)
{
	return bin ? ((bin - 1) >> combo->level << combo->level) + 1 : 0;
}

/* The index of the first cell at @bin or later; most are looked for at the end. */
static uint32_t cell_place(const struct cube_combo *combo, uint32_t bin)
{
	uint32_t low = 0, high = combo->n;

	if (high && combo->cells[high - 1].bin <= bin)
		return combo->cells[high - 1].bin == bin ? high - 1 : high;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (combo->cells[middle].bin < bin)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The cell of @bin, or NULL if out of memory. */
static struct cube_cell *cell_find(struct cube *c, struct cube_combo *combo, uint32_t bin)
{
	struct cube_cell *cells;
	uint32_t at, cap;

	bin = first_bin(combo, bin);
	at = cell_place(combo, bin);
	if (at < combo->n && combo->cells[at].bin == bin)
		return &combo->cells[at];
	if (combo->n == combo->cap) {
		cap = combo->cap + combo->cap / 2 + 2;
		cells = reallocarray(combo->cells, cap, sizeof(*cells));
		if (!cells)
			return NULL;
		combo->cells = cells;
		combo->cap = cap;
	}
	memmove(&combo->cells[at + 1], &combo->cells[at], (combo->n - at) * sizeof(*cells));
	combo->cells[at] = (struct cube_cell){ .bin = bin };
	combo->n++;
	c->n_cells++;
	return &combo->cells[at];
}

/* Adds the time of an operation to all bins in which it lives. Returns 0 or -ENOMEM. */
static int time_add(struct cube *c, struct cube_combo *combo, const struct cube_op *op)
{
	uint32_t last = op->end_ns >> c->shift;
	uint32_t bin = op->begin_ns < 0 ? 0 : ((uint64_t)op->begin_ns >> c->shift) + 1;
	uint64_t done[SHARE_N] = {}, part[SHARE_N], until;
	struct cube_cell *cell;

	for (; bin <= last + 1; bin++) {
		until = ((uint64_t)bin << c->shift) - op->begin_ns;
		spread_next(&op->spread, bin > last ? op->spread.total_ns : until, done, part);
		cell = cell_find(c, combo, bin);
		if (!cell)
			return -ENOMEM;
		for (int i = 0; i < SHARE_N; i++)
			cell->shares[i] += part[i];
	}
	return 0;
}

int cube_add(struct cube *c, const struct cube_key *key, const struct cube_op *op)
{
	struct cube_combo *combo = combo_find(c, key);
	uint32_t last = op->end_ns >> c->shift;
	struct cube_cell *cell;

	if (!combo)
		return -ENOMEM;
	if (op->begin_ns < 0 || (uint64_t)op->begin_ns >> c->shift != last) {
		if (time_add(c, combo, op))
			return -ENOMEM;
		cell = cell_find(c, combo, last + 1);
	} else {
		cell = cell_find(c, combo, last + 1);
		for (int i = 0; i < SHARE_N && cell; i++)
			cell->shares[i] += op->spread.shares[i];
	}
	if (!cell)
		return -ENOMEM;
	cell->count++;
	cell->errors += op->errors;
	cell->bytes += op->bytes;
	cell->ended_ns += op->spread.total_ns;
	cell->max_ns = op->spread.total_ns > cell->max_ns ? op->spread.total_ns : cell->max_ns;
	combo->total_ns += op->spread.total_ns;
	if (c->n_cells <= CUBE_CELLS && c->n <= CUBE_COMBOS)
		return 0;
	return cube_limit(c, CUBE_CELLS / 2, CUBE_COMBOS / 2);
}

static void cell_join(struct cube_cell *to, const struct cube_cell *from)
{
	to->count += from->count;
	to->errors += from->errors;
	to->bytes += from->bytes;
	to->ended_ns += from->ended_ns;
	to->max_ns = from->max_ns > to->max_ns ? from->max_ns : to->max_ns;
	for (int i = 0; i < SHARE_N; i++)
		to->shares[i] += from->shares[i];
}

/* Joins the cells that are the same cell, now that a bin or a level has changed. */
static void cells_join(struct cube *c, struct cube_combo *combo)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < combo->n; i++) {
		uint32_t bin = first_bin(combo, combo->cells[i].bin);

		if (n && combo->cells[n - 1].bin == bin) {
			cell_join(&combo->cells[n - 1], &combo->cells[i]);
			continue;
		}
		combo->cells[n] = combo->cells[i];
		combo->cells[n++].bin = bin;
	}
	c->n_cells -= combo->n - n;
	combo->n = n;
}

void cube_halve(struct cube *c)
{
	c->shift++;
	for (size_t i = 0; i < c->n; i++) {
		struct cube_combo *combo = &c->combos[i];

		for (uint32_t k = 0; k < combo->n; k++)
			combo->cells[k].bin = (combo->cells[k].bin + 1) / 2;
		combo->level -= combo->level > 0;
		cells_join(c, combo);
	}
}

static int busiest_first(const void *a, const void *b)
{
	const struct cube_combo *x = a, *y = b;
	int order = compare_u64(y->total_ns, x->total_ns);

	return order ? order : memcmp(&x->key, &y->key, sizeof(x->key));
}

/* Joins the cells of all combinations from @from on, up to @level. Returns whether any were. */
static bool level_raise(struct cube *c, size_t from, unsigned int level)
{
	size_t before = c->n_cells;

	for (size_t i = from; i < c->n; i++) {
		if (c->combos[i].level >= level)
			continue;
		c->combos[i].level = level;
		cells_join(c, &c->combos[i]);
	}
	return c->n_cells < before;
}

/* Adds @from, which is freed, to the combination of its new key. Returns 0 or -ENOMEM. */
static int combo_merge(struct cube *c, struct cube_combo *from)
{
	struct cube_combo *to = combo_find(c, &from->key);

	if (!to)
		return -ENOMEM;
	to->level = from->level > to->level ? from->level : to->level;
	to->total_ns += from->total_ns;
	cells_join(c, to);
	for (uint32_t i = 0; i < from->n; i++) {
		struct cube_cell *cell = cell_find(c, to, from->cells[i].bin);

		if (!cell)
			return -ENOMEM;
		cell_join(cell, &from->cells[i]);
	}
	free(from->cells);
	return 0;
}

/* The part of the key that combinations lose when they are joined. */
enum fold { FOLD_FILE, FOLD_THREAD };

/* Takes what @fold says from the keys of the combinations from @from on, and joins those that are
 * the same then. Returns 0 or -ENOMEM. */
static int combos_fold(struct cube *c, size_t from, enum fold fold)
{
	size_t n = c->n - from;
	struct cube_combo *moved = malloc((n + 1) * sizeof(*moved));
	int err = moved ? 0 : -ENOMEM;

	if (err)
		return err;
	memcpy(moved, c->combos + from, n * sizeof(*moved));
	c->n = from;
	for (size_t i = 0; i < n; i++)
		c->n_cells -= moved[i].n;
	err = index_make(c);
	for (size_t i = 0; i < n; i++) {
		moved[i].key.file = 0;
		moved[i].key.thread = fold == FOLD_THREAD ? 0 : moved[i].key.thread;
		err = err ? err : combo_merge(c, &moved[i]);
		if (err)
			free(moved[i].cells);
	}
	free(moved);
	return err;
}

/* Folds the quiet half of the combinations. Returns whether fewer are left; -ENOMEM. */
static int quiet_fold(struct cube *c, enum fold fold)
{
	size_t before = c->n;
	int err;

	qsort(c->combos, c->n, sizeof(*c->combos), busiest_first);
	err = combos_fold(c, c->n / 2, fold);
	return err ? err : c->n < before;
}

/* Whether combinations are too many, or their cells. */
struct limit {
	size_t cells, combos;
};

static bool is_over(const struct cube *c, const struct limit *limit)
{
	return c->n_cells > limit->cells || c->n > limit->combos;
}

/* Joins cells of quiet combinations, step by step. */
static void quiet_join(struct cube *c, const struct limit *limit)
{
	for (unsigned int level = 1; level <= CUBE_LEVELS && c->n_cells > limit->cells; level++)
		for (size_t part = 2; part <= FINE_PARTS && c->n_cells > limit->cells; part *= 2)
			level_raise(c, c->n / part, level);
}

int cube_limit(struct cube *c, size_t cells, size_t combos)
{
	const struct limit limit = { cells, combos };
	int got = 1;

	if (!is_over(c, &limit))
		return 0;
	qsort(c->combos, c->n, sizeof(*c->combos), busiest_first);
	quiet_join(c, &limit);
	for (enum fold fold = FOLD_FILE; fold <= FOLD_THREAD && is_over(c, &limit); fold++) {
		do {
			got = quiet_fold(c, fold);
		} while (got > 0 && is_over(c, &limit));
		if (got < 0)
			return got;
	}
	if (c->n_cells > cells)
		level_raise(c, 0, CUBE_LEVELS);
	return index_make(c);
}

void cube_done(struct cube *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->combos[i].cells);
	free(c->combos);
	free(c->index);
	*c = (struct cube){};
}
