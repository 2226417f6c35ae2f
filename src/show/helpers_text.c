// SPDX-License-Identifier: GPL-2.0-only
#include "show/helpers_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/snapshot.h"
#include "show/breakdown_columns.h"
#include "show/view_text.h"

enum { ROWS_MOST = 8 };

/* The key of a row of the text: workers that do the same for the same process are one, and so is
 * what is known in different ways to be for it. */
static struct helper_key key_in_text(const struct helper_key *k)
{
	static const char worker[] = "kworker/";
	struct helper_key key = *k;

	if (!*key.work)
		memcpy(key.work, key.comm, sizeof(key.work));
	if (!strncmp(key.work, worker, strlen(worker)))
		memset(key.work + strlen(worker) - 1, 0, sizeof(key.work) - strlen(worker) + 1);
	memset(key.comm, 0, sizeof(key.comm));
	key.tid = 0;
	key.behalf = !!key.behalf;
	return key;
}

/* Those that are of @times, or else of requests. */
static int rows_in_text(struct rows *rows, const struct snapshot *sn, bool times)
{
	for (size_t i = 0; i < sn->n_helpers; i++) {
		const struct helper_row *from = &sn->helpers[i];
		struct helper_key key = key_in_text(&from->key);
		struct helper_row *row;

		if ((key.op == HELPER_TIME) != times)
			continue;
		row = rows_helper(rows, &key);
		if (!row)
			return -ENOMEM;
		helper_row_add(row, &from->sums);
		memcpy(row->disk, from->disk, sizeof(row->disk));
	}
	return 0;
}

static void put_table(struct text_out *o, const struct breakdown_view *v,
		      const struct column *columns, const struct helper_row **rows, size_t n)
{
	const struct columns t = { .list = columns, .width = view_width(v),
				   .uncut = !v->terminal, .milliseconds = v->milliseconds };
	size_t most = v->rows_max ? v->rows_max : v->detail ? n : ROWS_MOST;
	size_t shown = n > most + !v->rows_max ? most : n;

	text_put(o, "\n");
	columns_text(o, &t, (const void *const *)rows, shown);
	if (shown < n)
		text_put(o, "%s more; %s\n", text_count(n - shown).s, view_more(v));
}

static int put_rows(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		    bool times)
{
	const struct helper_row **sorted;
	struct snapshot merged = {};
	struct rows rows = {};
	int err = rows_in_text(&rows, sn, times);

	rows_take(&rows, &merged);
	sorted = err ? NULL : breakdown_helpers(&merged, times);
	if (sorted && merged.n_helpers)
		put_table(o, v, times ? helper_time_columns : helper_columns, sorted,
			  merged.n_helpers);
	err = sorted ? 0 : -ENOMEM;
	free(sorted);
	snapshot_free(&merged);
	return err;
}

/* How many requests of helpers are for nobody who is known. */
static void put_unknown(struct text_out *o, const struct breakdown_view *v,
			const struct snapshot *sn)
{
	uint64_t all = 0, unknown = 0;
	char text[128];

	for (size_t i = 0; i < sn->n_helpers; i++) {
		const struct helper_row *r = &sn->helpers[i];

		if (r->key.op == HELPER_TIME)
			continue;
		all += r->sums.count;
		unknown += r->key.behalf ? 0 : r->sums.count;
	}
	if (!all)
		snprintf(text, sizeof(text), "no request of a kernel thread or io worker");
	else if (unknown)
		snprintf(text, sizeof(text), "of %s requests of helpers it is not known for whom "
			 "%s %s", text_count(all).s, text_count(unknown).s,
			 unknown == 1 ? "was" : "were");
	else
		return;
	text_put(o, "%s", all ? "" : "\n");
	view_line(o, v, text);
}

int helpers_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	int err;

	if (!v->helpers)
		return 0;
	err = put_rows(o, v, sn, false);
	put_unknown(o, v, sn);
	return err ? err : put_rows(o, v, sn, true);
}
