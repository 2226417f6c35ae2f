// SPDX-License-Identifier: GPL-2.0-only
/*
 * series_json.c - reads the lines of `breakdown --json` into sums by key: a line is an interval.
 * They are hostile.
 */
#include "analyse/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/machine.h"
#include "base/names.h"
#include "base/reason.h"

#define SCHEMA "iostrata.breakdown/1"

enum { COUNT_MAX_BITS = 47 };

/* A member with a number, not negative. Returns false if it is not. */
static bool number(const json_t *object, const char *name, uint64_t *ret_number)
{
	const json_t *j = json_object_get(object, name);

	if (!json_is_integer(j) || json_integer_value(j) < 0)
		return false;
	*ret_number = json_integer_value(j);
	return true;
}

static const char *text(const json_t *object, const char *name)
{
	const char *s = json_string_value(json_object_get(object, name));

	return s ? s : "";
}

/* Keys are numbered in the order of the rows in which they come up first. */
static struct series_row *row_of(struct series *s, const struct series_key *key)
{
	struct series_id id = { .is_request = key->is_request };
	struct series_row *row;

	for (size_t i = 0; i < s->n_rows; i++)
		if (!series_key_compare(&s->rows[i].key, key))
			return &s->rows[i];
	if (s->n_rows == SERIES_KEYS) {
		errno = E2BIG;
		return NULL;
	}
	id.by[0] = s->n_rows;
	row = series_row(s, &id);
	if (!row)
		return NULL;
	row->key = *key;
	row->key.by = key->by ? strdup(key->by) : NULL;
	return key->by && !row->key.by ? NULL : row;
}

/* 0, -EBADMSG or -ENOMEM. */
static int hist_read(struct hist *h, const json_t *bins, uint64_t count)
{
	json_int_t low, n;
	uint64_t sum = 0;
	json_t *bin;
	size_t i;

	json_array_foreach(bins, i, bin)
	{
		low = json_integer_value(json_array_get(bin, 0));
		n = json_integer_value(json_array_get(bin, 2));
		if (low < 0 || n < 0 || n >> COUNT_MAX_BITS)
			return -EBADMSG;
		sum += n;
		if (n && hist_add(h, hist_bucket(low), n))
			return -ENOMEM;
	}
	return sum == count ? 0 : -EBADMSG;
}

/* Adds the members common to operations and requests to @cell. */
static int sums_read(struct series_cell *cell, const json_t *j)
{
	uint64_t count, errors, bytes;

	if (!number(j, "count", &count) || !number(j, "errors", &errors) ||
	    !number(j, "bytes", &bytes) || count >> COUNT_MAX_BITS)
		return -EBADMSG;
	cell->count += count;
	cell->errors += errors;
	cell->bytes += bytes;
	return hist_read(&cell->hist, json_object_get(j, "hist"), count);
}

static int op_read(struct series *s, const json_t *j, unsigned int at)
{
	struct series_key key = { .by = (char *)json_string_value(json_object_get(j, "key")) };
	const char *op = text(j, "op"), *call = text(j, "call");
	uint64_t total, ns, sum = 0;
	struct series_row *row;

	snprintf(key.what, sizeof(key.what), "%s%s%s", op, *call ? " " : "", call);
	snprintf(key.where, sizeof(key.where), "%s", text(j, "fs"));
	if (!key.by && json_is_string(json_object_get(j, "cache")))
		key.by = (char *)text(j, "cache");
	row = row_of(s, &key);
	if (!row)
		return errno == E2BIG ? -E2BIG : -ENOMEM;
	row->kind = op_called(op);
	for (int i = 0; i < ST_N; i++) {
		if (!number(json_object_get(j, "strata"), stratum_name(i), &ns))
			continue; /* it was not measured */
		row->cells[at].strata[i] += ns;
		sum += ns;
	}
	if (!number(j, "total_ns", &total) || sum != total)
		return -EBADMSG;
	row->cells[at].total_ns += total;
	return sums_read(&row->cells[at], j);
}

static int request_read(struct series *s, const json_t *j, unsigned int at)
{
	static const char *const names[] = { "tag_ns", "queue_ns", "device_ns" };
	struct series_key key = { .is_request = true };
	struct series_row *row;
	unsigned int kind = RQ_OTHER;
	uint64_t ns;

	for (int i = 0; i < RQ_N; i++)
		if (!strcmp(text(j, "op"), rq_op_code(i)))
			kind = i;
	snprintf(key.what, sizeof(key.what), "%s", rq_op_name(kind));
	snprintf(key.where, sizeof(key.where), "%s", text(j, "dev"));
	row = row_of(s, &key);
	if (!row)
		return errno == E2BIG ? -E2BIG : -ENOMEM;
	row->kind = kind;
	for (int i = 0; i < 3; i++) {
		if (!number(j, names[i], &ns))
			continue; /* a device without a queue has none */
		row->cells[at].strata[ST_TAG + i] += ns;
		row->cells[at].total_ns += ns;
	}
	return sums_read(&row->cells[at], j);
}

static int rows_read(struct series *s, const json_t *line, unsigned int at)
{
	json_t *row;
	int err = 0;
	size_t i;

	json_array_foreach(json_object_get(line, "ops"), i, row) err =
		err ? err : op_read(s, row, at);
	json_array_foreach(json_object_get(line, "requests"), i, row) err =
		err ? err : request_read(s, row, at);
	return err;
}

/* The time of PATTERN_TIME, in ns since 1970, or 0 if it is none. */
static uint64_t time_read(const char *t)
{
	int zone_h, zone_min, ms;
	struct tm tm = {};
	time_t at;
	char sign;

	if (sscanf(t, "%4d-%2d-%2dT%2d:%2d:%2d.%3d%c%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms, &sign, &zone_h, &zone_min) != 10)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	at = timegm(&tm) - (sign == '-' ? -60 : 60) * (60 * zone_h + zone_min);
	return at > 0 ? at * 1000000000ULL + ms * 1000000ULL : 0;
}

/* Sets when the run began, by the end of its first interval. */
static void begin_read(struct series *s, const json_t *line, uint64_t duration)
{
	uint64_t end = time_read(text(line, "time"));

	s->began_ns = end > duration ? end - duration : 0;
	s->of_command = json_is_string(json_object_get(line, "command"));
}

/* The sum of the kinds in @lost. */
static uint64_t losses_of(const json_t *lost)
{
	uint64_t sum = 0, n;

	for (int l = 0; l < LOST_N; l++)
		if (number(lost, lost_name(l), &n))
			sum += n;
	return number(lost, "missed", &n) ? sum + n : sum;
}

static void describe(struct series *s, const json_t *line)
{
	const char *kernel = json_string_value(json_object_get(line, "kernel"));
	json_t *name;
	size_t i;

	if (kernel && !s->kernel)
		s->kernel = strdup(kernel);
	s->machine = MACHINES;
	s->has_ops = true;
	s->has_requests |= json_is_array(json_object_get(line, "requests"));
	json_array_foreach(json_object_get(line, "missing"), i,
			   name) for (int st = 0; st < ST_N;
				      st++) if (json_is_string(name) &&
						!strcmp(json_string_value(name), stratum_name(st)))
		s->strata_missing |= 1U << st;
	s->lost += losses_of(json_object_get(line, "lost"));
	s->lost += losses_of(json_object_get(line, "lost_untimed"));
}

/* 0, -EBADMSG, -E2BIG or -ENOMEM. */
static int line_read(struct series *s, const json_t *line)
{
	uint64_t duration;
	unsigned int at;
	int err;

	if (!number(line, "duration_ns", &duration))
		return -EBADMSG;
	if (s->intervals && s->intervals == s->intervals_max && series_halve(s))
		return -ENOMEM;
	at = s->intervals;
	if (series_interval(s, (uint64_t)at << s->shift) < 0)
		return -ENOMEM;
	if (!at)
		begin_read(s, line, duration);
	s->length_ns[at] = duration;
	s->duration_ns += duration;
	describe(s, line);
	err = rows_read(s, line, at);
	return err ? err : series_look(s);
}

static int line_failed(int err, const char *name, unsigned int line, struct reason *why)
{
	if (err == -ENOMEM)
		return reason_no_memory(why);
	if (err == -E2BIG) {
		reason_set(why, EXIT_FAILED, "'%.100s' has more than %d rows", name, SERIES_KEYS);
		return reason_hint(why, "compare recordings, or make it without --by");
	}
	return reason_set(why, EXIT_FAILED, "'%.100s' makes no sense in object %u", name, line);
}

/* Refuses objects without all members of a breakdown. Returns 0, or -1 with @why. */
static int line_check(const json_t *line, const char *name, struct reason *why)
{
	if (!line || strcmp(text(line, "schema"), SCHEMA) != 0) {
		reason_set(why, EXIT_FAILED,
			   "'%.100s' is neither a recording nor of 'iostrata "
			   "breakdown --json'",
			   name);
		return reason_hint(why, "'iostrata record' makes recordings");
	}
	if (!json_array_size(json_object_get(line, "layers")))
		return 0;
	reason_set(why, EXIT_FAILED, "'%.100s' has the times of one layer alone", name);
	return reason_hint(why, "make it by 'iostrata breakdown --json' without -T");
}

/* Refuses options that need single records. Returns 0, or -1 with @why. */
static int conf_check(const char *name, const struct series_conf *conf, struct reason *why)
{
	const char *option = conf->from_ns || conf->to_ns ? "a part of the time"
			     : conf->passes               ? "a filter"
			     : conf->by                   ? "--by"
							  : NULL;

	if (!option)
		return 0;
	reason_set(why, EXIT_USAGE, "%s needs recordings, '%.100s' holds sums", option, name);
	return reason_hint(why, "'iostrata breakdown --json' takes filters and --by itself");
}

int series_read_json(struct series *s, FILE *f, const char *name, const struct series_conf *conf,
		     struct reason *why)
{
	unsigned int n = 0;
	json_t *line;
	int err;

	if (conf_check(name, conf, why))
		return -1;
	for (int c = '{'; c == '{'; n++) {
		line = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL);
		err = line_check(line, name, why) ? -1 : 0;
		if (n && !line) { /* the objects before are good */
			reason_set(why, EXIT_FAILED, "'%.100s' is cut off in object %u", name,
				   n + 1);
			s->is_cut_off = true;
			err = 1;
		}
		if (!err && (err = line_read(s, line)))
			err = line_failed(err, name, n + 1, why);
		json_decref(line);
		if (err)
			break;
		while ((c = getc(f)) == '\n' || c == ' ')
			;
		if (c != EOF)
			ungetc(c, f);
	}
	if (err >= 0 && series_unite(s))
		return reason_no_memory(why);
	for (size_t i = 0; i < s->n_rows; i++)
		for (unsigned int at = 0; at < s->intervals; at++)
			*(s->rows[i].key.is_request ? &s->requests : &s->ops) +=
				s->rows[i].cells[at].count;
	return err;
}
