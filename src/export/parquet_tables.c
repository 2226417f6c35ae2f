// SPDX-License-Identifier: GPL-2.0-only
#include "export/parquet_tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/names.h"
#include "base/reason.h"
#include "capture/event_row.h"
#include "capture/header_members.h"
#include "capture/server_request_row.h"
#include "export/parquet.h"
#include "host/newfile.h"

enum {
	COLUMNS_MAX = 64,    /* of a table */
	PARTS = 2,           /* partitions being written at a time: an operation can end in
			      * the next hour */
	PARTS_MAX = 10000,   /* partitions of an export */
	FILE_ROWS = 1 << 26, /* rows of a file, since its footer is in memory */
	HOST_LEN = 64,       /* the longest host name of Linux */
	DIR_CAP = 4096,
};

static const char *const table_names[TABLES] = { "operations", "requests", "losses",
						 "server_requests" };

struct loss_row {
	const struct recording *rec;
	struct stored_loss loss;
};

/* The time of day, in ns since 1970, of @ns by the CLOCK_MONOTONIC of @rec. */
static int64_t day_ns(const struct recording *rec, uint64_t ns)
{
	return (int64_t)(ns - rec->header.monotonic_ns + rec->header.realtime_ns);
}

static int64_t divide_down(int64_t n, int64_t by)
{
	return n / by - (n % by < 0);
}

/* The block device that a file system is on. Returns NULL if there is none or not known. */
static const struct device *fs_device(const struct header *h, unsigned int dev)
{
	const struct device *d = devices_find(&h->devices, dev);
	const struct header_mount *m = d ? NULL : header_mount(h, dev);

	/* a file system on several devices has a separate number; only its mount names a device
	 */
	if (m && !strncmp(m->source, "/dev/", 5))
		d = devices_named(&h->devices, m->source + 5);
	return d;
}

static void fs_disk_value(struct value *v, const struct event_row *r)
{
	const struct header *h = &r->rec->header;
	const struct device *d = r->dev ? fs_device(h, r->dev->dev) : NULL;

	if (d && d->disk)
		d = devices_find(&h->devices, d->disk);
	if (d)
		value_text(v, d->name, sizeof(d->name));
}

/* Columns other than those of event_columns; they are only appended. A row has its name, its kind,
 * and how its value @v is set from the row @r. */
/* clang-format off */

/* Before those of an event, a request to a server, and a loss; @ns: when it began. */
#define WHERE_COLUMNS(COLUMN, type, ns)                                                            \
	COLUMN(type, host, TEXT, v->text = r->rec->header.host)                                    \
	COLUMN(type, boot_id, TEXT, v->text = r->rec->header.boot_id)                              \
	COLUMN(type, kernel, TEXT, v->text = r->rec->header.kernel)                                \
	COLUMN(type, time, SIGNED, v->n = (uint64_t)divide_down(day_ns(r->rec, ns), 1000))

/* After those of an operation; the first also after those of a request. */
#define CGROUP_COLUMN(COLUMN)                                                                      \
	COLUMN(event_row, cgroup_path, TEXT, v->text = r->cgroup ? r->cgroup->path : NULL)
#define DISK_COLUMN(COLUMN)                                                                        \
	COLUMN(event_row, fs_disk, TEXT, fs_disk_value(v, r))

#define LOSS_COLUMNS(COLUMN)                                                                       \
	WHERE_COLUMNS(COLUMN, loss_row, r->loss.from_ns)                                           \
	COLUMN(loss_row, from_ns, TIME, v->n = r->loss.from_ns)                                    \
	COLUMN(loss_row, to_ns, TIME, v->n = r->loss.to_ns)                                        \
	COLUMN(loss_row, kind, TEXT,                                                               \
	       v->text = r->loss.kind == LOST_N ? "missed" : lost_name(r->loss.kind))              \
	COLUMN(loss_row, count, COUNT, v->n = r->loss.count)
/* clang-format on */

#define COLUMN_GETTER(type, name, kind, set) GETTER(type##_##name, type, set)
#define COLUMN_ROW(type, name_, kind_, set)                                                        \
	{ .name = #name_, .kind = VALUE_##kind_, .get = type##_##name_ },

WHERE_COLUMNS(COLUMN_GETTER, event_row, r->start_ns)
WHERE_COLUMNS(COLUMN_GETTER, server_request_row, r->start_ns)
CGROUP_COLUMN(COLUMN_GETTER)
DISK_COLUMN(COLUMN_GETTER)
LOSS_COLUMNS(COLUMN_GETTER)

static const struct column event_where[] = { WHERE_COLUMNS(COLUMN_ROW, event_row, ){} };
static const struct column server_where[] = { WHERE_COLUMNS(COLUMN_ROW, server_request_row, ){} };
static const struct column op_more[] = { CGROUP_COLUMN(COLUMN_ROW) DISK_COLUMN(COLUMN_ROW){} };
static const struct column rq_more[] = { CGROUP_COLUMN(COLUMN_ROW){} };
static const struct column loss_columns[] = { LOSS_COLUMNS(COLUMN_ROW){} };

/* The columns of a table: getters, and names and types. */
struct table {
	const struct column *from[COLUMNS_MAX];
	struct parquet_column to[COLUMNS_MAX];
	size_t n;
};

/* A file being written. */
struct table_file {
	struct parquet *p; /* NULL: no file */
	FILE *f;
	char *dir;  /* owned */
	char *path; /* the temporary name; owned */
};

/* The files of one partition, or of all rows. They stay open for the next recording of this host
 * and hour. */
struct part {
	bool used;
	char host[HOST_LEN + 1]; /* "": no partitions by host, or no name */
	int64_t hour;            /* since 1970 */
	uint64_t last;           /* tables.looked of its last use */
	bool has_rec;            /* rows of tables.rec are in the files */
	char *about;             /* the recordings before: elements of a list in JSON; or NULL */
	struct table_file files[TABLES];
};

struct tables {
	struct tables_conf conf;
	struct table tables[TABLES];
	struct part parts[PARTS];
	uint64_t looked, made; /* uses of parts; parts made */
	struct tables_counts counts;
	/* the recording being added */
	const struct recording *rec; /* NULL: none */
	const char *name;
	struct event_names names;
	uint64_t told[LOST_N]; /* losses with a time */
};

/* Renames the column offset: this is a keyword of SQL. */
static const char *column_name(const struct column *c, unsigned int of)
{
	if (strcmp(c->name, "offset"))
		return c->name;
	return of == EVENT_OF_OPS ? "file_offset" : "disk_offset";
}

/* Adds the columns of @list for the events @of, or all columns if @of is 0. */
static void table_add(struct table *t, const struct column *list, unsigned int of)
{
	for (const struct column *c = list; column_is(c); c++) {
		enum parquet_type type = c->kind == VALUE_TEXT ? PARQUET_TEXT : PARQUET_INT;

		if (of && (!(c->of & of) || !strcmp(c->name, "type")))
			continue;
		if (!strcmp(c->name, "time"))
			type = PARQUET_TIME;
		t->from[t->n] = c;
		t->to[t->n++] = (struct parquet_column){ column_name(c, of), type };
	}
}

struct tables *parquet_tables_new(const struct tables_conf *conf)
{
	struct tables *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->conf = *conf;
	table_add(&t->tables[TABLE_OPS], event_where, 0);
	table_add(&t->tables[TABLE_OPS], event_columns, EVENT_OF_OPS);
	table_add(&t->tables[TABLE_OPS], op_more, 0);
	table_add(&t->tables[TABLE_REQUESTS], event_where, 0);
	table_add(&t->tables[TABLE_REQUESTS], event_columns, EVENT_OF_REQUESTS);
	table_add(&t->tables[TABLE_REQUESTS], rq_more, 0);
	table_add(&t->tables[TABLE_LOSSES], loss_columns, 0);
	table_add(&t->tables[TABLE_SERVER_REQUESTS], server_where, 0);
	table_add(&t->tables[TABLE_SERVER_REQUESTS], server_request_columns, 0);
	return t;
}

const struct tables_counts *parquet_tables_counted(const struct tables *t)
{
	return &t->counts;
}

static void json_lost(struct json *j, const struct ending *e)
{
	json_put_begin(j, "lost", '{');
	for (int i = 0; i < LOST_N; i++)
		json_put_uint(j, lost_name(i), e->lost[i]);
	json_put_uint(j, "missed", e->missed);
	json_put_end(j, '}');
}

static void json_missing(struct json *j, const struct header *h)
{
	json_put_begin(j, "missing", '{');
	for (int st = 0; st < ST_N; st++)
		if (h->stratum[st])
			json_put_string(j, stratum_name(st), h->stratum[st]);
	for (int i = 0; i < MISSING_IN_N; i++)
		if (h->missing[i])
			json_put_string(j, header_missing_names[i], h->missing[i]);
	json_put_end(j, '}');
}

/* @damage: an error message, or NULL if the recording was read to its end. */
static void json_recording(struct json *j, const struct tables *t, bool over, const char *damage)
{
	const struct header *h = &t->rec->header;

	json_put_begin(j, NULL, '{');
	json_put_string(j, "schema", parquet_schema.id);
	json_put_string(j, "name", t->name);
	json_put_string(j, "host", h->host);
	json_put_string(j, "boot_id", h->boot_id);
	json_put_string(j, "kernel", h->kernel);
	json_put_string(j, "machine", machine_name(h->machine));
	text_put(&j->out, ",\"argv\":%s", h->argv ? h->argv : "null"); /* JSON, in ASCII */
	json_put_uint(j, "monotonic_ns", h->monotonic_ns);
	json_put_uint(j, "realtime_ns", h->realtime_ns);
	json_put_bool(j, "ops", h->has_ops);
	json_put_bool(j, "requests", h->has_requests);
	json_put_bool(j, "device_bytes", h->has_device_bytes);
	json_missing(j, h);
	if (over) /* else not known yet */
		json_lost(j, &t->rec->ending);
	else
		json_put_null(j, "lost");
	json_put_string(j, "cut_off", damage);
	json_put_end(j, '}');
}

static const struct member recording_members[] = {
	{ "name", MEMBER_TEXT, .what = "name of the file" },
	{ "argv", MEMBER_ASCII, .what = "command line of the tool", .null = "not known", .list = 1,
	  .item = "an argument", .item_null = "an empty one" },
	{ "kernel", MEMBER_ASCII, .what = "release of the kernel, as uname -r prints it",
	  .null = "not known" },
	{ "host", MEMBER_TEXT, .what = "name of the host", .null = "none" },
	{ .also = recorded_members },
	{ "lost", MEMBER_OBJECT, .what = "losses by kind",
	  .null = "the file was complete before the recording ended", .object = &lost_object },
	{ "cut_off", MEMBER_TEXT, .what = "why the recording could not be read to its end",
	  .null = "all was read" },
	{}
};
static const struct object recording_object = { NULL, "a recording", recording_members };

const struct schema parquet_schema = { "iostrata.parquet/1",
				       .what = "a recording in the list iostrata.recordings, a "
					       "key-value of files of export --to parquet",
				       .first = &recording_object };

/* The elements of @part so far, and the recording being added if it is in @part; the caller frees.
 * Returns NULL if out of memory. */
static char *about_text(const struct tables *t, const struct part *part, bool over,
			const char *damage)
{
	char *text = NULL;
	size_t len;
	struct json j = { .out = { .f = open_memstream(&text, &len) } };
	int err;

	if (!j.out.f)
		return NULL;
	if (part->about)
		text_put(&j.out, "%s", part->about);
	j.comma = part->about;
	if (part->has_rec)
		json_recording(&j, t, over, damage);
	err = text_end(&j.out);
	if (!fclose(j.out.f) && !err)
		return text;
	free(text);
	return NULL;
}

/* A list of all recordings with rows in the files of @part; the caller frees. Returns NULL if out
 * of memory. */
static char *about_list(const struct tables *t, const struct part *part)
{
	char *about = about_text(t, part, false, NULL), *list = NULL;

	if (!about || asprintf(&list, "[%s]", about) < 0)
		list = NULL;
	free(about);
	return list;
}

/* The name of a host as that of a directory, escaped as in Hive. */
static void host_escape(char *dst, const char *host)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	if (!host || !*host) {
		strcpy(dst, "__HIVE_DEFAULT_PARTITION__");
		return;
	}
	for (size_t i = 0; host[i] && i < HOST_LEN; i++)
		dst += sprintf(dst, strchr(plain, host[i]) ? "%c" : "%%%02X",
			       (unsigned char)host[i]);
}

/* Makes the directories of @path behind its first @keep bytes. */
static int dirs_make(char *path, size_t keep, struct reason *why)
{
	char *end = path + keep, next;

	do {
		end += 1 + strcspn(end + 1, "/");
		next = *end;
		*end = '\0';
		if (newfile_dir(path, why) < 0)
			return -1;
		*end = next;
	} while (next);
	return 0;
}

/* Makes the directory of @table for @hour; the caller frees the path. NULL with @why. */
static char *file_dir(const struct tables *t, int table, int64_t hour, struct reason *why)
{
	char path[DIR_CAP], host[3 * HOST_LEN + 1];
	size_t n = strlen(t->conf.dir), base = n;
	time_t at = hour * 3600;
	struct tm tm;
	char *dir;

	if (n + sizeof(host) + 100 > sizeof(path)) {
		reason_set(why, EXIT_FAILED, "the name of the directory is too long");
		return NULL;
	}
	strcpy(path, t->conf.dir);
	if (t->conf.by_host || t->conf.by_hour)
		n += sprintf(path + n, "/%s", table_names[table]);
	if (t->conf.by_host) {
		host_escape(host, t->rec ? t->rec->header.host : NULL);
		n += sprintf(path + n, "/host=%s", host);
	}
	if (t->conf.by_hour && gmtime_r(&at, &tm))
		strftime(path + n, sizeof(path) - n, "/hour=%Y-%m-%dT%H", &tm);
	if (path[base] && dirs_make(path, base, why))
		return NULL;
	dir = strdup(path);
	if (!dir)
		reason_no_memory(why);
	return dir;
}

static void file_drop(struct table_file *f)
{
	parquet_free(f->p);
	if (f->f)
		fclose(f->f);
	if (f->path)
		unlink(f->path);
	free(f->path);
	free(f->dir);
	*f = (struct table_file){};
}

static int file_open(struct tables *t, struct part *part, int table, struct reason *why)
{
	struct table_file *f = &part->files[table];
	const struct table *def = &t->tables[table];

	f->dir = file_dir(t, table, part->hour, why);
	if (!f->dir)
		return -1;
	if (asprintf(&f->path, "%s/.%s.%llx.tmp", f->dir, table_names[table],
		     (unsigned long long)clock_ns()) < 0) {
		f->path = NULL;
		return reason_no_memory(why);
	}
	f->f = newfile_open(f->path, why);
	if (!f->f) {
		free(f->path);
		f->path = NULL;
		return -1;
	}
	f->p = parquet_begin(f->f, t->conf.writer, def->to, def->n);
	return f->p ? 0 : reason_no_memory(why);
}

/* Gives a complete file the first free name. Returns 0 or -errno. */
static int file_name(struct table_file *f, int table)
{
	char number[16] = "", *path;
	int err = -EEXIST;

	for (unsigned int i = 1; err == -EEXIST && i < 1000000; i++) {
		if (i > 1)
			snprintf(number, sizeof(number), "-%u", i);
		if (asprintf(&path, "%s/%s%s.parquet", f->dir, table_names[table], number) < 0)
			return -ENOMEM;
		err = newfile_rename(f->path, path);
		free(path);
	}
	return err;
}

static int file_failed(const struct table_file *f, int err, struct reason *why)
{
	return reason_set(why, EXIT_FAILED, "cannot write into '%.200s': %s", f->dir,
			  strerror(-err));
}

/* Completes a file. Returns 0, or -1 with @why. */
static int file_close(struct tables *t, struct part *part, int table, struct reason *why)
{
	struct table_file *f = &part->files[table];
	struct parquet_pair pairs[] = {
		{ "iostrata.table", table_names[table] },
		{ "iostrata.recordings", NULL },
	};
	char *about = about_list(t, part);
	int err = about ? 0 : -ENOMEM;

	pairs[1].value = about;
	if (!err)
		err = parquet_end(f->p, pairs, sizeof(pairs) / sizeof(*pairs));
	free(about);
	if (!err && fsync(fileno(f->f)) && errno != EINVAL && errno != EROFS)
		err = -errno;
	if (!err)
		err = file_name(f, table);
	if (err)
		return file_failed(f, err, why);
	t->counts.rows[table] += parquet_rows(f->p);
	t->counts.files++;
	free(f->path);
	f->path = NULL; /* the file stays */
	file_drop(f);
	return 0;
}

static int part_close(struct tables *t, struct part *part, struct reason *why)
{
	int err = 0;

	for (int i = 0; i < TABLES && !err; i++)
		if (part->files[i].p)
			err = file_close(t, part, i, why);
	free(part->about);
	part->about = NULL;
	part->has_rec = part->used = false;
	return err;
}

static int parts_close(struct tables *t, struct reason *why)
{
	int err = 0;

	for (int i = 0; i < PARTS && !err; i++)
		err = part_close(t, &t->parts[i], why);
	return err;
}

/* A part for @host and @hour; ends another part if no part is free. NULL with @why. */
static struct part *part_make(struct tables *t, const char *host, int64_t hour, struct reason *why)
{
	struct part *part = &t->parts[0];

	for (int i = 1; i < PARTS; i++)
		if (part->used && (!t->parts[i].used || t->parts[i].last < part->last))
			part = &t->parts[i];
	if (part->used && part_close(t, part, why))
		return NULL;
	if (t->made++ == PARTS_MAX) {
		reason_set(why, EXIT_FAILED, "more than %d partitions", PARTS_MAX);
		reason_hint(why,
			    "is the time in the recording right? --partition host has no hours");
		return NULL;
	}
	part->used = true;
	part->hour = hour;
	snprintf(part->host, sizeof(part->host), "%s", host);
	return part;
}

/* The part of an event that begins at @ns, CLOCK_MONOTONIC. NULL with @why. */
static struct part *part_find(struct tables *t, uint64_t ns, struct reason *why)
{
	const char *host = t->conf.by_host && t->rec->header.host ? t->rec->header.host : "";
	int64_t hour = 0;
	struct part *part = NULL;

	if (t->conf.by_hour)
		hour = divide_down(day_ns(t->rec, ns), 3600 * (int64_t)NS_PER_S);
	for (int i = 0; i < PARTS && !part; i++)
		if (t->parts[i].used && t->parts[i].hour == hour &&
		    !strncmp(t->parts[i].host, host, HOST_LEN))
			part = &t->parts[i];
	if (!part)
		part = part_make(t, host, hour, why);
	if (!part)
		return NULL;
	part->last = ++t->looked;
	part->has_rec = true;
	return part;
}

static void value_put(struct parquet *p, size_t i, const struct column *c, const void *row)
{
	static const struct columns none;
	struct value v;

	columns_value(&v, &none, c, row);
	if (v.unknown)
		parquet_put_null(p, i);
	else if (c->kind == VALUE_TEXT)
		parquet_put_text(p, i, v.text, v.max);
	else
		parquet_put_int(p, i, (int64_t)v.n); /* above 2^63 - 1: modulo 2^64 */
}

static int row_put(struct tables *t, int table, uint64_t ns, const void *row, struct reason *why)
{
	struct part *part = part_find(t, ns, why);
	const struct table *def = &t->tables[table];
	struct table_file *f;
	int err;

	if (!part)
		return -1;
	f = &part->files[table];
	if (!f->p && file_open(t, part, table, why))
		return -1;
	for (size_t i = 0; i < def->n; i++)
		value_put(f->p, i, def->from[i], row);
	err = parquet_row(f->p);
	if (err)
		return file_failed(f, err, why);
	return parquet_rows(f->p) < FILE_ROWS ? 0 : file_close(t, part, table, why);
}

static int loss_put(struct tables *t, const struct stored_loss *loss, struct reason *why)
{
	struct loss_row row = { t->rec, *loss };

	return row_put(t, TABLE_LOSSES, loss->from_ns, &row, why);
}

/* Adds the losses without a time. */
static int losses_rest(struct tables *t, struct reason *why)
{
	const struct ending *e = &t->rec->ending;
	struct stored_loss loss = { .from_ns = t->rec->header.monotonic_ns,
				    .to_ns = t->rec->last_ns };
	int err = 0;

	for (unsigned int i = 0; i <= LOST_N && !err; i++) {
		loss.kind = i;
		loss.count = i < LOST_N ? e->lost[i] - t->told[i] : e->missed;
		if (i < LOST_N && e->lost[i] < t->told[i])
			loss.count = 0;
		if (loss.count)
			err = loss_put(t, &loss, why);
	}
	return err;
}

static int server_request_put(struct tables *t, const struct stored_server_request *rq,
			      struct reason *why)
{
	struct server_request_row row;

	server_request_row_fill(&row, t->rec, rq);
	return row_put(t, TABLE_SERVER_REQUESTS, row.start_ns, &row, why);
}

static int event_put(struct tables *t, const struct stored_event *ev,
		     const char *(*call_name)(unsigned short call), struct reason *why)
{
	struct event_row row;

	if (ev->kind == CHUNK_LOSSES) {
		if (ev->loss.kind < LOST_N)
			t->told[ev->loss.kind] += ev->loss.count;
		return loss_put(t, &ev->loss, why);
	}
	if (ev->kind == CHUNK_SERVER_REQUESTS)
		return server_request_put(t, &ev->server_request, why);
	if (ev->kind != CHUNK_OPS && ev->kind != CHUNK_REQUESTS)
		return 0;
	event_row_fill(&row, &t->names, t->rec, ev, call_name);
	return row_put(t, row.op ? TABLE_OPS : TABLE_REQUESTS, row.start_ns, &row, why);
}

/* Makes a file for each table, even without rows; but most machines ask no server. */
static int recording_begin(struct tables *t, struct reason *why)
{
	struct part *part = part_find(t, t->rec->header.monotonic_ns, why);
	int err = part ? 0 : -1;

	for (int i = 0; i < TABLES && !err; i++)
		if (!part->files[i].p && i != TABLE_SERVER_REQUESTS)
			err = file_open(t, part, i, why);
	return err;
}

/* Adds the recording to the lists of recordings before. */
static int recording_end(struct tables *t, const char *damage, struct reason *why)
{
	int err = 0;

	for (int i = 0; i < PARTS && !err; i++) {
		struct part *part = &t->parts[i];
		char *about = part->has_rec ? about_text(t, part, true, damage) : NULL;

		if (part->has_rec && !about)
			err = reason_no_memory(why);
		if (about) {
			free(part->about);
			part->about = about;
		}
		part->has_rec = false;
	}
	event_names_done(&t->names);
	memset(t->told, 0, sizeof(t->told));
	return err;
}

int parquet_tables_add(struct tables *t, struct recording *rec, const char *name,
		       const char *(*call_name)(unsigned short call), struct reason *why)
{
	struct stored_event ev;
	unsigned int n = 0;
	struct reason end;
	int got = 1, err;

	t->rec = rec;
	t->name = name;
	rec->server_requests = true;
	err = recording_begin(t, why);
	while (!err && (got = recording_next(rec, &ev, why)) > 0) {
		err = event_put(t, &ev, call_name, why);
		if (!err && n++ % 4096 == 0 && t->conf.stop && t->conf.stop())
			err = reason_set(why, EXIT_FAILED, "interrupted");
	}
	if (!err && !got)
		err = losses_rest(t, why);
	if (!err) {
		err = recording_end(t, got < 0 ? why->error : NULL, &end);
		if (err)
			*why = end;
	}
	t->rec = NULL;
	return err ? err : got < 0;
}

int parquet_tables_end(struct tables *t, struct reason *why)
{
	return parts_close(t, why);
}

void parquet_tables_free(struct tables *t)
{
	if (!t)
		return;
	for (int i = 0; i < PARTS; i++) {
		for (int k = 0; k < TABLES; k++)
			file_drop(&t->parts[i].files[k]);
		free(t->parts[i].about);
	}
	event_names_done(&t->names);
	free(t);
}
