// SPDX-License-Identifier: GPL-2.0-only
#include "record_say.h"

#include <unistd.h>

#include "base/text.h"
#include "record_files.h"

/* Goes to where the line about the progress is. */
static void line_begin(FILE *f)
{
	fprintf(f, "%s", isatty(fileno(f)) ? "\r\033[K" : "");
}

void record_say_progress(FILE *f, const struct record_files *files, const uint64_t lost[LOST_N],
			 uint64_t took_ns)
{
	const struct writer *w = &files->w;
	uint64_t ops = w->ops + w->batches[CHUNK_OPS].columns.rows;
	uint64_t requests = w->requests + w->batches[CHUNK_REQUESTS].columns.rows;
	uint64_t sum = lost[LOST_OPS] + lost[LOST_REQUESTS] + w->lost_ops + w->lost_requests;

	line_begin(f);
	fprintf(f, "%.1f s: %s op%s, %s request%s, %s, %s, %s record%s lost", took_ns / 1e9,
		text_count(ops).s, text_plural(ops), text_count(requests).s, text_plural(requests),
		text_bytes(record_files_size(files).bytes).s, text_rate(ops, took_ns).s,
		text_count(sum).s, text_plural(sum));
}

void record_say_end(FILE *f, const struct record_files *files, const uint64_t lost[LOST_N])
{
	struct record_files_size size = record_files_size(files);
	const struct writer *w = &files->w;
	uint64_t ops = lost[LOST_OPS] + w->lost_ops;
	uint64_t requests = lost[LOST_REQUESTS] + w->lost_requests;
	uint64_t handles = lost[LOST_RING] + w->lost_handles;
	char safe[TEXT_SAFE_CAP(sizeof(files->name))], text[sizeof(safe) + 128];

	text_safe(safe, sizeof(safe), w->fd == STDOUT_FILENO ? "the standard output" : files->name);
	line_begin(f);
	snprintf(text, sizeof(text), "%s%s: %s operation%s, %s request%s, %s", safe,
		 files->max_files ? ".*" : "", text_count(size.ops).s, text_plural(size.ops),
		 text_count(size.requests).s, text_plural(size.requests), text_bytes(size.bytes).s);
	text_message(f, text);
	if (ops || requests)
		fprintf(f, "warning: lost %s operation%s, %s request%s\n", text_count(ops).s,
			text_plural(ops), text_count(requests).s, text_plural(requests));
	if (handles)
		fprintf(f, "warning: lost %s call%s a descriptor\n", text_count(handles).s,
			handles == 1 ? " that changes" : "s that change");
}
