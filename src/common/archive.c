// SPDX-License-Identifier: GPL-2.0-only
#include "common/archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/reason.h"
#include "base/text.h"
#include "capture/recording.h"
#include "host/newfile.h"
#include "host/rlimits.h"
#include "run/cmd.h"
#include "trace/syscalls.h"

static int input_open(struct otf2_input *ret, const char *file, struct reason *why)
{
	enum machine machine = MACHINES;
	struct recording rec;

	*ret = (struct otf2_input){ .f = fopen(file, "re"), .name = file };
	if (!ret->f)
		return reason_set(why, EXIT_FAILED, "cannot open '%.200s': %s", file,
				  strerror(errno));
	if (!recording_open(&rec, ret->f, file, why)) /* else otf2_export() fails in the same way */
		machine = rec.header.machine;
	recording_close(&rec);
	rewind(ret->f);
	ret->call_name = syscall_names(machine);
	return 0;
}

int archive_write(char *const *files, int n, const struct otf2_conf *conf,
		  struct otf2_counts *counts, struct reason *why)
{
	struct otf2_input *inputs = calloc(n, sizeof(*inputs));
	struct rlimits limits;
	int got = inputs ? 0 : reason_no_memory(why);

	rlimits_raise(&limits); /* each location has a file */
	for (int i = 0; i < n && !got; i++)
		got = input_open(&inputs[i], files[i], why);
	if (!got)
		got = otf2_export(inputs, n, conf, counts, why);
	for (int i = 0; i < n && inputs; i++)
		if (inputs[i].f)
			fclose(inputs[i].f);
	free(inputs);
	return got;
}

const char *archive_to_servers(char buf[64], uint64_t n)
{
	buf[0] = '\0';
	if (n)
		snprintf(buf, 64, ", %s request%s to servers", text_count(n).s, text_plural(n));
	return buf;
}

void archive_say(FILE *f, const char *dir, const struct otf2_counts *counts)
{
	char safe[TEXT_SAFE_CAP(256)], servers[64], text[sizeof(safe) + 256];

	text_safe(safe, sizeof(safe), dir);
	snprintf(text, sizeof(text),
		 "%s: %s operation%s, %s request%s%s, %s location%s, %s handle%s", safe,
		 text_count(counts->ops).s, text_plural(counts->ops),
		 text_count(counts->requests).s, text_plural(counts->requests),
		 archive_to_servers(servers, counts->server_requests),
		 text_count(counts->locations).s, text_plural(counts->locations),
		 text_count(counts->handles).s, text_plural(counts->handles));
	text_message(f, text);
}

/* Adds the recording @file to the tables. 0; 1 with @why: the recording is damaged; -1 with
 * @why. */
static int file_add(struct tables *t, const char *file, struct reason *why)
{
	FILE *f = infile_open(file, why);
	struct recording rec;
	int got;

	if (!f)
		return -1;
	got = recording_open(&rec, f, file, why) ? 1 : 0;
	if (!got)
		got = parquet_tables_add(t, &rec, file, syscall_names(rec.header.machine), why);
	recording_close(&rec);
	infile_close(f);
	return got;
}

/* A recording to be added, and its place in the order of partitions. */
struct ordered {
	const char *file;
	char *host; /* owned; NULL: no name, or by hours only */
	uint64_t realtime_ns;
	int nth;
};

static int ordered_compare(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	int by_host = strcmp(x->host ? x->host : "", y->host ? y->host : "");

	if (by_host || x->realtime_ns != y->realtime_ns)
		return by_host ? by_host : x->realtime_ns < y->realtime_ns ? -1 : 1;
	return x->nth - y->nth;
}

/* A recording that cannot be read, and one from a pipe, is first: file_add() tells the reason. */
static void order_read(struct ordered *o, bool by_host)
{
	struct recording rec;
	struct reason none;
	FILE *f = strcmp(o->file, "-") ? fopen(o->file, "re") : NULL;

	if (!f)
		return;
	if (!recording_open(&rec, f, o->file, &none)) {
		o->realtime_ns = rec.header.realtime_ns;
		if (by_host && rec.header.host)
			o->host = strdup(rec.header.host);
	}
	recording_close(&rec);
	fclose(f);
}

/* The @n recordings @files in the order in which to add them; the caller frees by ordered_free().
 * Returns NULL if out of memory. */
static struct ordered *ordered_new(char *const *files, int n, const struct tables_conf *conf)
{
	struct ordered *list = calloc(n, sizeof(*list));

	for (int i = 0; i < n && list; i++) {
		list[i].file = files[i];
		list[i].nth = i;
		if (n > 1 && (conf->by_host || conf->by_hour))
			order_read(&list[i], conf->by_host);
	}
	if (list)
		qsort(list, n, sizeof(*list), ordered_compare);
	return list;
}

static void ordered_free(struct ordered *list, int n)
{
	for (int i = 0; i < n && list; i++)
		free(list[i].host);
	free(list);
}

int archive_tables(char *const *files, int n, const struct tables_conf *conf,
		   struct tables_counts *ret_counts, struct reason *why)
{
	struct tables *t = parquet_tables_new(conf);
	struct ordered *order = ordered_new(files, n, conf);
	int got = t && order ? 0 : reason_no_memory(why), damaged = 0;

	for (int i = 0; i < n && got >= 0; i++) {
		got = file_add(t, order[i].file, why);
		if (got > 0)
			damaged = cmd_fail(why) > 0;
	}
	if (got >= 0)
		got = parquet_tables_end(t, why);
	*ret_counts = t ? *parquet_tables_counted(t) : (struct tables_counts){};
	parquet_tables_free(t);
	ordered_free(order, n);
	return got < 0 ? -1 : damaged;
}

void archive_tables_say(FILE *f, const char *dir, const struct tables_counts *counts)
{
	char safe[TEXT_SAFE_CAP(256)], servers[64], text[sizeof(safe) + 256];
	const uint64_t *rows = counts->rows;

	text_safe(safe, sizeof(safe), dir);
	snprintf(text, sizeof(text), "%s: %s operation%s, %s request%s%s, %s loss%s, %s file%s",
		 safe, text_count(rows[TABLE_OPS]).s, text_plural(rows[TABLE_OPS]),
		 text_count(rows[TABLE_REQUESTS]).s, text_plural(rows[TABLE_REQUESTS]),
		 archive_to_servers(servers, rows[TABLE_SERVER_REQUESTS]),
		 text_count(rows[TABLE_LOSSES]).s, rows[TABLE_LOSSES] == 1 ? "" : "es",
		 text_count(counts->files).s, text_plural(counts->files));
	text_message(f, text);
}
