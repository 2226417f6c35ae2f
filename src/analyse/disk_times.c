// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/disk_times.h"

#include <errno.h>
#include <stdlib.h>

static bool is_row(const struct disk_times *row, const struct disk_request *rq)
{
	return !row->is_others && row->dev == rq->dev && row->host == rq->host && row->op == rq->op;
}

/* The row of @rq, or the row of all others. Returns NULL if out of memory. */
static struct disk_times *row_find(struct disks *d, const struct disk_request *rq)
{
	struct disk_times *row;

	for (size_t i = 0; i < d->n; i++)
		if (is_row(&d->rows[i], rq))
			return &d->rows[i];
	if (d->n == DISK_TIMES)
		return &d->rows[DISK_TIMES - 1];
	row = &d->rows[d->n];
	*row = (struct disk_times){ .dev = rq->dev,
				    .host = rq->host,
				    .op = rq->op,
				    .is_others = d->n == DISK_TIMES - 1,
				    .cells = calloc(CUBE_BINS + 1, sizeof(*row->cells)) };
	d->n += row->cells != NULL;
	return row->cells ? row : NULL;
}

/* Adds the time in flight to all bins in which the request lives. */
static void flight_add(struct disk_times *row, const struct disk_request *rq, unsigned int shift)
{
	uint32_t last = (rq->end_ns >> shift) + 1;
	uint32_t bin = rq->begin_ns < 0 ? 0 : ((uint64_t)rq->begin_ns >> shift) + 1;
	uint64_t done = 0, until;

	for (; bin <= last; bin++) {
		until = ((uint64_t)bin << shift) - rq->begin_ns;
		until = bin == last || until > rq->total_ns ? rq->total_ns : until;
		row->cells[bin].flight_ns += rq->n * (until - done);
		done = until;
	}
}

int disks_add(struct disks *d, const struct disk_request *rq, unsigned int shift)
{
	struct disk_times *row = row_find(d, rq);
	struct disk_cell *cell;

	if (!row)
		return -ENOMEM;
	flight_add(row, rq, shift);
	cell = &row->cells[(rq->end_ns >> shift) + 1];
	cell->count += rq->n;
	cell->errors += rq->failed ? rq->n : 0;
	cell->bytes += rq->bytes;
	cell->ended_ns += rq->n * rq->total_ns;
	row->total_ns += rq->n * rq->total_ns;
	row->bytes += rq->bytes;
	return 0;
}

void disks_halve(struct disks *d)
{
	for (size_t i = 0; i < d->n; i++) {
		struct disk_cell *cells = d->rows[i].cells;

		for (size_t bin = 1; bin <= CUBE_BINS; bin++) {
			struct disk_cell from = cells[bin], *to = &cells[(bin + 1) / 2];

			cells[bin] = (struct disk_cell){};
			to->count += from.count;
			to->errors += from.errors;
			to->bytes += from.bytes;
			to->ended_ns += from.ended_ns;
			to->flight_ns += from.flight_ns;
		}
	}
}

void disks_done(struct disks *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->rows[i].cells);
	*d = (struct disks){};
}
