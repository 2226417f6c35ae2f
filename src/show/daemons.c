// SPDX-License-Identifier: GPL-2.0-only
#include "show/daemons.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/rows.h"
#include "show/view_parts.h"

/* Waits of a daemon's thread: all strata but those on the CPU, and but reap: a completion that lies
 * in a ring is no wait. */
static bool is_wait(int st)
{
	return st > ST_FS && st != ST_REAP;
}

static bool is_missing(const struct missing *missing, int st)
{
	return missing && missing->stratum[st];
}

/* Why nothing is known about the daemon of @row, or NULL if something is. */
static const char *daemon_unknown(const struct server_row *row, const struct missing *missing)
{
	if (!row->key.opcode)
		return "only known for FUSE";
	if (!row->key.pid)
		return "the daemon is no process of this machine";
	if (is_missing(missing, ST_RUNQ))
		return missing->stratum[ST_RUNQ];
	return row->sums.split ? NULL : "no thread was seen that read and answered a request";
}

void daemon_json(struct json *j, const struct server_row *row, const struct missing *missing)
{
	const char *unknown = daemon_unknown(row, missing);
	const struct server_sums *s = &row->sums;

	if (unknown) {
		json_put_null(j, "daemon");
		json_put_string(j, "daemon_missing", unknown);
		return;
	}
	json_put_begin(j, "daemon", '{');
	json_put_uint(j, "count", s->split);
	json_put_uint(j, "before_read_ns", s->before_read_ns);
	json_put_uint(j, "cpu_ns", s->daemon_ns[ST_SYSCALL]);
	json_put_begin(j, "strata", '{');
	for (int st = 0; st < ST_N; st++) {
		if (is_wait(st) && !is_missing(missing, st))
			json_put_uint(j, stratum_name(st), s->daemon_ns[st]);
		else
			json_put_null(j, stratum_name(st));
	}
	json_put_end(j, '}');
	json_put_end(j, '}');
	json_put_null(j, "daemon_missing");
}

/* The parts of a daemon's time: its waits by stratum, its time on the CPU as ST_SYSCALL, and the
 * time before it read in the place of ST_VFS. */
enum { PART_CPU = ST_SYSCALL, PART_BEFORE_READ = ST_VFS };

static void parts_of(const struct server_sums *s, uint64_t parts[ST_N])
{
	for (int st = 0; st < ST_N; st++)
		parts[st] = is_wait(st) ? s->daemon_ns[st] : 0;
	parts[PART_CPU] = s->daemon_ns[ST_SYSCALL];
	parts[PART_BEFORE_READ] = s->before_read_ns;
}

static const char *part_label(int part)
{
	return part == PART_CPU           ? "CPU"
	       : part == PART_BEFORE_READ ? "not read yet"
					  : stratum_label(part);
}

static uint64_t parts_sum(const uint64_t parts[ST_N])
{
	uint64_t sum = 0;

	for (int i = 0; i < ST_N; i++)
		sum += parts[i];
	return sum;
}

/* Appends the biggest parts: "62 % device, 20 % sleep". Those below 1 % are left out, unless all
 * are. */
static void put_parts(char *dst, size_t cap, uint64_t parts[ST_N])
{
	uint64_t sum = parts_sum(parts);
	size_t len = strlen(dst);
	int most;

	for (int n = 0; n < ST_N && len < cap; n++) {
		most = 0;
		for (int i = 1; i < ST_N; i++)
			most = parts[i] > parts[most] ? i : most;
		if (n && parts[most] < sum / 100)
			return;
		len += snprintf(dst + len, cap - len, "%s%.0f %% %s", n ? ", " : "",
				sum ? 100.0 * parts[most] / sum : 0.0, part_label(most));
		parts[most] = 0;
	}
}

/* The line of one daemon, whose requests @row adds up. */
static void put_daemon(struct text_out *o, const struct breakdown_view *v,
		       const struct server_row *row)
{
	char name[TEXT_SAFE_CAP(SERVER_LEN)], line[1024];
	uint64_t parts[ST_N], left = row->sums.count - row->sums.split, sum;
	size_t len;

	parts_of(&row->sums, parts);
	sum = parts_sum(parts);
	text_safe_n(name, sizeof(name), row->key.server,
		    strnlen(row->key.server, sizeof(row->key.server)));
	snprintf(line, sizeof(line), "daemon %s %u, ", name, row->key.pid);
	len = strlen(line);
	snprintf(line + len, sizeof(line) - len, "%s of %s request%s: ", view_time(v, sum).s,
		 text_count(row->sums.split).s, text_plural(row->sums.split));
	put_parts(line, sizeof(line), parts);
	len = strlen(line);
	if (left)
		snprintf(line + len, sizeof(line) - len,
			 "; not known for %s more: no single thread both read and answered them",
			 text_count(left).s);
	view_wrap(o, v, line);
}

/* Adds up @row by process. Returns 0 or -ENOMEM. */
static int daemon_add(struct rows *daemons, const struct server_row *row)
{
	struct server_key key = { .pid = row->key.pid };
	struct server_row *sum;

	memcpy(key.server, row->key.server, sizeof(key.server));
	sum = rows_server(daemons, &key);
	if (!sum)
		return -ENOMEM;
	server_row_add(sum, &row->sums);
	return 0;
}

int daemons_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	const struct server_row **sorted;
	struct snapshot merged = {};
	struct rows daemons = {};
	int err = 0;

	for (size_t i = 0; i < sn->n_servers && !err; i++) {
		if (!daemon_unknown(&sn->servers[i], v->missing))
			err = daemon_add(&daemons, &sn->servers[i]);
	}
	rows_take(&daemons, &merged);
	sorted = err ? NULL : breakdown_servers(&merged);
	for (size_t i = 0; sorted && i < merged.n_servers; i++)
		put_daemon(o, v, sorted[i]);
	err = sorted ? 0 : -ENOMEM;
	free(sorted);
	snapshot_free(&merged);
	return err;
}
