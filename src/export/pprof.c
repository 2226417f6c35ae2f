// SPDX-License-Identifier: GPL-2.0-only
/*
 * pprof.c - writes messages of profile.proto, the format of pprof, in the encoding of Protocol
 * Buffers, which needs only numbers as varints and lengths before texts. See pprof.h.
 */
#include "export/pprof.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>
#include <zlib.h>

#include "base/names.h"
#include "base/reason.h"
#include "base/stack_numbers.h"
#include "base/stacks.h"
#include "base/text.h"
#include "capture/recording.h"
#include "export/parquet_encode.h"
#include "host/newfile.h"

enum { SAMPLES_MOST = 1 << 18, NAME_MOST = 2048 };

/* The numbers of fields in profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};

enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum {
	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILES,
	MAPPING_HAS_LINES
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

/* Operations with the same stack, of one kind, on one type of file system. */
struct sample {
	struct {
		uint32_t stack, kind, fs;
	} key;
	double count, strata[ST_N];
	UT_hash_handle hh;
};

struct text {
	uint64_t number;
	UT_hash_handle hh;
	char text[];
};

/* A file with code that has its mapping. */
struct code {
	uint64_t id;
	UT_hash_handle hh;
};

struct profile {
	struct pprof_counts *counts;
	struct sample *samples;
	struct text *texts;
	struct code *codes;
	struct bytes out;
	unsigned int strata; /* set of 1 << stratum: those with time */
	bool failed;         /* out of memory */
};

static void number_put(struct bytes *b, int field, uint64_t v)
{
	if (!v)
		return; /* the default */
	bytes_put_varint(b, (uint64_t)field << 3 | WIRE_NUMBER);
	bytes_put_varint(b, v);
}

static void text_put_field(struct bytes *b, int field, const void *data, size_t n)
{
	bytes_put_varint(b, (uint64_t)field << 3 | WIRE_BYTES);
	bytes_put_varint(b, n);
	bytes_put(b, data, n);
}

/* Moves @message into @b, as field @field. */
static void message_put(struct bytes *b, int field, struct bytes *message)
{
	text_put_field(b, field, message->at, message->n);
	b->failed |= message->failed;
	bytes_done(message);
	*message = (struct bytes){};
}

/* The number of @raw in the table of strings. */
static uint64_t text_number(struct profile *p, const char *raw)
{
	char safe[TEXT_SAFE_CAP(NAME_MOST)];
	struct text *t;
	size_t len;

	text_safe_utf8(safe, sizeof(safe), raw ? raw : "", raw ? strnlen(raw, NAME_MOST) : 0);
	len = strlen(safe);
	HASH_FIND(hh, p->texts, safe, len, t);
	if (t)
		return t->number;
	t = calloc(1, sizeof(*t) + len + 1);
	if (!t) {
		p->failed = true;
		return 0;
	}
	memcpy(t->text, safe, len);
	t->number = HASH_COUNT(p->texts);
	HASH_ADD_KEYPTR(hh, p->texts, t->text, len, t);
	return t->number;
}

static struct sample *sample_of(struct profile *p, const struct stored_event *ev)
{
	struct sample *s, key = {};

	key.key.stack = ev->stack < UINT32_MAX ? ev->stack : 0;
	key.key.kind = ev->op.kind;
	key.key.fs = ev->op.fs < CATALOG_FS ? ev->op.fs : 0;
	HASH_FIND(hh, p->samples, &key.key, sizeof(key.key), s);
	if (!s && HASH_COUNT(p->samples) >= SAMPLES_MOST) {
		key.key.stack = key.key.fs = 0; /* a kind more at most */
		HASH_FIND(hh, p->samples, &key.key, sizeof(key.key), s);
	}
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (s) {
		s->key = key.key;
		HASH_ADD(hh, p->samples, key, sizeof(s->key), s);
	}
	return s;
}

/* Adds an operation with its stack, for all those which the stack stands for. */
static int sample_add(struct profile *p, const struct stored_event *ev)
{
	uint64_t total = stored_op_total(&ev->op);
	double scale = stack_stands_for(ev->threshold_ns, total);
	struct sample *s;

	if (ev->op.kind >= OP_N || !(STACK_KINDS >> ev->op.kind & 1))
		return 0;
	s = sample_of(p, ev);
	if (!s)
		return -ENOMEM;
	p->counts->is_estimated |= scale > 1;
	p->counts->stacks++;
	s->count += scale;
	for (int st = 0; st < ST_N; st++) {
		s->strata[st] += scale * ev->op.strata[st];
		p->strata |= ev->op.strata[st] ? 1U << st : 0;
	}
	return 0;
}

static void type_put(struct profile *p, const char *name, const char *unit)
{
	struct bytes b = {};

	number_put(&b, TYPE_NAME, text_number(p, name));
	number_put(&b, TYPE_UNIT, text_number(p, unit));
	message_put(&p->out, PROFILE_SAMPLE_TYPE, &b);
}

static void label_put(struct profile *p, struct bytes *b, const char *key, const char *text)
{
	struct bytes label = {};

	number_put(&label, LABEL_KEY, text_number(p, key));
	number_put(&label, LABEL_TEXT, text_number(p, text));
	message_put(b, SAMPLE_LABEL, &label);
}

/* A value of a sample, also 0. A recording may have any number. */
static void value_put(struct bytes *b, double v)
{
	bytes_put_varint(b, SAMPLE_VALUE << 3 | WIRE_NUMBER);
	bytes_put_varint(b, v < 1e18 ? llround(v) : 1000000000000000000LL);
}

/* The location of a stack that ended early, which stands for the unknown callers. */
static uint64_t end_location(const struct catalog *c, unsigned int end)
{
	return c->n_frames + end;
}

/* Further reasons for an unknown caller. */
enum { END_TOO_MANY = STACK_END_N, END_NO_FRAME, END_ALL };

/* Stack 0 and a stack without a name have no frames. */
static unsigned int sample_end(const struct catalog *c, const struct sample *s)
{
	const struct catalog_stack *stack;

	if (!s->key.stack)
		return END_TOO_MANY;
	if (s->key.stack >= c->n_stacks)
		return STACK_UNNAMED;
	stack = &c->stacks[s->key.stack];
	return stack->n || stack->end != STACK_WHOLE ? stack->end : END_NO_FRAME;
}

static const char *end_reason(unsigned int end)
{
	return end == END_TOO_MANY   ? "too many different stacks"
	       : end == END_NO_FRAME ? "the stack has no frame"
				     : stack_end_reason(end);
}

static void sample_put(struct profile *p, const struct catalog *c, const struct sample *s)
{
	unsigned int end = sample_end(c, s);
	struct bytes b = {};
	double all = 0;

	if (s->key.stack && s->key.stack < c->n_stacks)
		for (unsigned int i = 0; i < c->stacks[s->key.stack].n; i++)
			number_put(&b, SAMPLE_LOCATION, c->stacks[s->key.stack].frames[i]);
	if (end != STACK_WHOLE)
		number_put(&b, SAMPLE_LOCATION, end_location(c, end));
	for (int st = 0; st < ST_N; st++)
		all += s->strata[st];
	value_put(&b, s->count);
	value_put(&b, all);
	for (int st = 0; st < ST_N; st++)
		if (p->strata >> st & 1)
			value_put(&b, s->strata[st]);
	label_put(p, &b, "op", op_name(s->key.kind));
	if (*catalog_fs(c, s->key.fs))
		label_put(p, &b, "fs", catalog_fs(c, s->key.fs));
	message_put(&p->out, PROFILE_SAMPLE, &b);
	p->counts->samples++;
}

/* A location with the function @name, which has the same number. */
static void location_put(struct profile *p, uint64_t id, const struct catalog_frame *f,
			 const char *name)
{
	struct bytes line = {}, location = {}, function = {};

	number_put(&line, LINE_FUNCTION, id);
	number_put(&line, LINE_NUMBER, f->line);
	number_put(&location, LOCATION_ID, id);
	number_put(&location, LOCATION_MAPPING, f->code);
	number_put(&location, LOCATION_ADDRESS, f->at);
	message_put(&location, LOCATION_LINE, &line);
	message_put(&p->out, PROFILE_LOCATION, &location);
	number_put(&function, FUNCTION_ID, id);
	number_put(&function, FUNCTION_NAME, text_number(p, name));
	number_put(&function, FUNCTION_SYSTEM_NAME, text_number(p, name));
	number_put(&function, FUNCTION_FILE, text_number(p, f->source));
	message_put(&p->out, PROFILE_FUNCTION, &function);
}

static void locations_put(struct profile *p, const struct catalog *c)
{
	const struct catalog_frame none = {};
	char name[NAME_MOST];

	for (size_t i = 1; i < c->n_frames; i++) {
		struct stack_frame frame;

		catalog_stack_frame(c, i, &frame);
		stack_frame_text(name, sizeof(name), &frame, FRAME_NAME);
		location_put(p, i, &c->frames[i], name);
	}
	for (unsigned int end = 0; end < END_ALL; end++) {
		if (end == STACK_WHOLE)
			continue;
		snprintf(name, sizeof(name), "(caller unknown: %s)", end_reason(end));
		location_put(p, end_location(c, end), &none, name);
	}
}

static void mapping_put(struct profile *p, const struct catalog *c, uint64_t id)
{
	struct bytes b = {};

	number_put(&b, MAPPING_ID, id);
	number_put(&b, MAPPING_FILE, text_number(p, catalog_code(c, id)));
	if (catalog_build_id(c, id))
		number_put(&b, MAPPING_BUILD_ID, text_number(p, catalog_build_id(c, id)));
	/* pprof looks for no names then */
	number_put(&b, MAPPING_HAS_FUNCTIONS, 1);
	number_put(&b, MAPPING_HAS_FILES, 1);
	number_put(&b, MAPPING_HAS_LINES, 1);
	message_put(&p->out, PROFILE_MAPPING, &b);
}

/* The program of the sample with most time: the file of its outermost frame. Returns 0 if there is
 * none. */
static uint64_t main_code(const struct profile *p, const struct catalog *c)
{
	uint64_t code = 0;
	double most = -1;

	for (const struct sample *s = p->samples; s; s = s->hh.next) {
		const struct catalog_stack *stack;
		double all = 0;

		if (!s->key.stack || s->key.stack >= c->n_stacks)
			continue;
		stack = &c->stacks[s->key.stack];
		if (!stack->n)
			continue;
		for (int st = 0; st < ST_N; st++)
			all += s->strata[st];
		if (all <= most)
			continue;
		most = all;
		code = c->frames[stack->frames[stack->n - 1]].code;
	}
	return code;
}

/* The mapping of file @id, unless it is there. */
static void mapping_add(struct profile *p, const struct catalog *c, uint64_t id)
{
	struct code *known;

	HASH_FIND(hh, p->codes, &id, sizeof(id), known);
	if (!id || known)
		return;
	known = calloc(1, sizeof(*known));
	if (!known) {
		p->failed = true;
		return;
	}
	known->id = id;
	HASH_ADD(hh, p->codes, id, sizeof(known->id), known);
	mapping_put(p, c, id);
}

/* The files of frames, the main program first. */
static void mappings_put(struct profile *p, const struct catalog *c)
{
	mapping_add(p, c, main_code(p, c));
	for (size_t i = 1; i < c->n_frames; i++)
		mapping_add(p, c, c->frames[i].code);
}

static void profile_put(struct profile *p, const struct recording *rec)
{
	char words[128];

	text_number(p, ""); /* text 0 */
	type_put(p, "operations", "count");
	type_put(p, "time", "nanoseconds");
	for (int st = 0; st < ST_N; st++)
		if (p->strata >> st & 1)
			type_put(p, stratum_name(st), "nanoseconds");
	for (const struct sample *s = p->samples; s; s = s->hh.next)
		sample_put(p, &rec->catalog, s);
	mappings_put(p, &rec->catalog);
	locations_put(p, &rec->catalog);
	snprintf(words, sizeof(words), "iostrata: %s %s user stacks",
		 p->counts->is_estimated ? "estimated from" : "the operations of",
		 text_count(p->counts->stacks).s);
	number_put(&p->out, PROFILE_COMMENT, text_number(p, words));
	number_put(&p->out, PROFILE_DEFAULT_TYPE, text_number(p, "time"));
	number_put(&p->out, PROFILE_TIME, rec->header.realtime_ns);
	number_put(&p->out, PROFILE_DURATION, recording_covers(rec));
	for (const struct text *t = p->texts; t; t = t->hh.next) /* in the order of numbers */
		text_put_field(&p->out, PROFILE_STRING, t->text, strlen(t->text));
	p->failed |= p->out.failed;
}

/* Writes @b, compressed, to the descriptor of @f. Returns 0 or -errno. */
static int compressed_write(FILE *f, const struct bytes *b)
{
	int fd = dup(fileno(f)), err = fd < 0 ? -errno : 0;
	gzFile gz = err ? NULL : gzdopen(fd, "wb");

	if (!gz && fd >= 0)
		close(fd);
	if (!gz)
		return err ? err : -ENOMEM;
	for (size_t n, at = 0; at < b->n && !err; at += n) {
		n = b->n - at < 1 << 20 ? b->n - at : 1 << 20;
		errno = 0;
		if (gzwrite(gz, b->at + at, (unsigned int)n) != (int)n)
			err = errno ? -errno : -EIO;
	}
	if (gzclose(gz) != Z_OK && !err)
		err = errno ? -errno : -EIO;
	return err;
}

static int file_write(const struct profile *p, const char *dir, struct reason *why)
{
	struct newfile out;
	int err, named;

	if (p->failed)
		return reason_no_memory(why);
	if (newfile_begin(&out, dir, "profile.pb.gz", why))
		return -1;
	err = compressed_write(out.f, &p->out);
	named = newfile_end(&out, !err);
	err = err ? err : named;
	return err ? reason_set(why, EXIT_FAILED, "cannot write into '%.200s': %s", dir,
				strerror(-err))
		   : 0;
}

static void profile_done(struct profile *p)
{
	struct sample *s, *next;
	struct text *t, *after;
	struct code *c, *last;

	HASH_ITER (hh, p->codes, c, last) {
		HASH_DEL(p->codes, c);
		free(c);
	}
	HASH_ITER (hh, p->samples, s, next) {
		HASH_DEL(p->samples, s);
		free(s);
	}
	HASH_ITER (hh, p->texts, t, after) {
		HASH_DEL(p->texts, t);
		free(t);
	}
	bytes_done(&p->out);
}

/* Reads all stacks. As recording_next() at the end: 0, or -1 with @why. */
static int stacks_read(struct profile *p, struct recording *rec, struct reason *why)
{
	struct stored_event ev;
	int got;

	rec->stacks = true;
	while ((got = recording_next(rec, &ev, why)) > 0)
		if (ev.kind == CHUNK_STACKS && sample_add(p, &ev)) {
			p->failed = true;
			break;
		}
	return got < 0 ? -1 : 0;
}

int pprof_export(const struct pprof_conf *conf, struct pprof_counts *ret_counts, struct reason *why)
{
	struct profile p = { .counts = ret_counts };
	struct reason writing;
	struct recording rec;
	int got = recording_open(&rec, conf->f, conf->name, why);

	rec.namer = conf->namer;
	*ret_counts = (struct pprof_counts){};
	if (!got)
		got = recording_need_stacks(&rec, why);
	if (!got) {
		got = stacks_read(&p, &rec, why) ? 1 : 0;
		profile_put(&p, &rec);
		ret_counts->lost = rec.ending.stacks_lost;
		if (file_write(&p, conf->dir, &writing)) {
			*why = writing;
			got = -1;
		}
	}
	profile_done(&p);
	recording_close(&rec);
	return got;
}
