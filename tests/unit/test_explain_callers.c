// SPDX-License-Identifier: GPL-2.0-only
/* Callers as properties of slow operations: though a long operation has a stack more often, no
 * caller is named where callers do not matter, and the one that does is. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/condition.h"
#include "analyse/explain.h"
#include "analyse/explain_scan.h"
#include "base/encode.h"
#include "base/reason.h"
#include "base/stacks.h"
#include "capture/catalog.h"
#include "capture/writer.h"
#include "show/explain.h"

enum { OPS = 20011, FUNCTIONS = 8, UNKNOWN = FUNCTIONS + 1 };

#ifndef RECORDINGS
enum { RECORDINGS = 11 };
#endif

static const char header[] =
	"{\"kernel\":\"6.1.0\",\"host\":\"made\",\"machine\":\"x86_64\",\"monotonic_ns\":1000000,"
	"\"realtime_ns\":1700000000000000000,\"ops\":true,\"requests\":false,\"stacks\":true,"
	"\"devices\":[],\"mounts\":[]}";

/* How a program behaves. */
struct program {
	double spread;         /* the times of two neighbouring functions differ by this factor */
	double slow_factor;    /* slow operations of function 3 are so many times as frequent */
	uint64_t threshold;    /* stacks are drawn with it; 0: all are taken */
	bool in_phases;        /* functions come one after the other, each for a while */
	bool in_bursts;        /* slow ones come together */
	bool without_weight;   /* the recording tells that all were taken: for a naive estimate */
	uint64_t silent;       /* no operation below this time has a stack, and nothing says so */
	uint64_t lost;         /* stacks */
	unsigned int nameless; /* one stack of so many has no number; 0: all have */
};

struct made {
	const struct program *p;
	uint64_t random, taken, truly_slow[FUNCTIONS];
	double wander;
};

static double uniform(struct made *m)
{
	m->random = m->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (m->random >> 11) * 0x1p-53;
}

static unsigned int any(struct made *m, unsigned int n)
{
	return uniform(m) * n;
}

static void name_put(struct writer *w, struct stored_name n, const char *text, size_t len)
{
	n.text_len = len;
	writer_name(w, &n, text);
}

static void names_put(struct writer *w)
{
	uint8_t frame[4];
	char text[64];
	int len;

	name_put(w, (struct stored_name){ NAME_CODE, 1, 0, 0, 0, 0 }, "store", 5);
	for (unsigned int i = 1; i <= FUNCTIONS; i++) {
		len = snprintf(text, sizeof(text), "f%u%cstore.c", i - 1, 0);
		name_put(w, (struct stored_name){ NAME_FRAME, i, 1, 16 * i, 10 * i, 0 }, text, len);
		put_u32(frame, i);
		name_put(w, (struct stored_name){ NAME_STACK, i, STACK_WHOLE, 0, 0, 0 },
			 (char *)frame, 4);
	}
	name_put(w, (struct stored_name){ NAME_STACK, UNKNOWN, STACK_NOT_READY, 0, 0, 0 }, "", 0);
}

static unsigned int function_of(struct made *m, uint64_t i)
{
	return m->p->in_phases ? i / 701 % FUNCTIONS : any(m, FUNCTIONS);
}

static bool is_slow(struct made *m, unsigned int function, uint64_t i)
{
	double share = function == 3 ? 0.01 * m->p->slow_factor : 0.01;

	if (m->p->in_bursts)
		return i % 2003 < 60 && uniform(m) < 0.3;
	return uniform(m) < share;
}

/* The stack of an operation, if it is drawn. */
static void stack_put(struct writer *w, struct made *m, const struct stored_op *op,
		      unsigned int function)
{
	uint64_t total = stored_op_total(op), threshold = m->p->threshold * m->wander;
	struct stored_stack s = { .start_ns = op->start_ns,
				  .owner = 1,
				  .file = 1,
				  .kind = op->kind,
				  .call = op->call,
				  .fs = op->fs,
				  .stack = any(m, 50) ? function + 1 : UNKNOWN,
				  .threshold_ns = m->p->without_weight ? 0 : threshold };

	if (total < m->p->silent || (total < threshold && uniform(m) * threshold >= total))
		return;
	if (m->p->nameless && !any(m, m->p->nameless))
		s.stack = 0;
	m->taken++;
	memcpy(s.strata, op->strata, sizeof(s.strata));
	writer_stack(w, &s, total);
}

static FILE *recording_make(const struct program *p, uint64_t seed, struct made *m)
{
	struct writer w = {};
	FILE *f = tmpfile();
	char end[128];

	*m = (struct made){ .p = p, .random = (seed + 1) * 0x9e3779b97f4a7c15ULL, .wander = 1 };
	assert_int_equal(writer_begin(&w, fileno(f), header), 0);
	name_put(&w, (struct stored_name){ NAME_FS, STORED_FS_FIRST, ~0U, 0, 0, 0 }, "ext4", 4);
	name_put(&w, (struct stored_name){ NAME_THREAD, 1, 100, 100, 42, 0 }, "store", 5);
	for (uint64_t i = 0; i < OPS; i++) {
		struct stored_op op = { .start_ns = 2000000 + i * 100000,
					.owner = 1,
					.file = 1,
					.kind = OP_FSYNC,
					.call = 74,
					.fs = STORED_FS_FIRST,
					.offset = ~0ULL,
					.len = ~0ULL,
					.fd = 3 };
		unsigned int function = function_of(m, i);
		bool slow = is_slow(m, function, i);

		m->truly_slow[function] += slow;
		op.strata[ST_DEVICE] = slow ? 20000000 * (1 + uniform(m))
					    : 1000 * pow(p->spread, function) * (0.5 + uniform(m));
		if (i % 500 == 0) /* as the controller does */
			m->wander = exp2(2 * uniform(m) - 1);
		writer_op(&w, &op);
		stack_put(&w, m, &op, function);
	}
	names_put(&w);
	writer_close(&w);
	snprintf(end, sizeof(end),
		 "{\"duration_ns\":%llu,\"stacks_lost\":%llu,\"stacks_lost_ns\":0}",
		 100000ULL * OPS + 60000000, (unsigned long long)p->lost);
	while (!writer_end(&w, end))
		;
	writer_done(&w);
	return f;
}

static int own_frame(void *arg, const struct catalog *c, const struct catalog_stack *s)
{
	(void)arg;
	(void)c;
	return s->n ? 0 : -1;
}

static void ask(FILE *f, struct explain *e)
{
	const struct explain_conf conf = { .kinds = 1U << OP_FSYNC,
					   .above_ns = 10000000,
					   .own_frame = own_frame };
	struct reason why;

	*e = (struct explain){};
	assert_int_equal(explain_read(e, f, "made", &conf, &why), 0);
}

static const struct explain_finding *found(const struct explain *e, enum explain_attribute a)
{
	for (size_t i = 0; i < e->n_findings; i++)
		if (e->findings[i].attribute == a)
			return &e->findings[i];
	return NULL;
}

static bool names_caller(const struct explain *e)
{
	return found(e, ATTR_FUNCTION) || found(e, ATTR_LINE) || found(e, ATTR_LIBRARY);
}

static const struct program equal[] = {
	{ .spread = 1, .slow_factor = 1 },
	{ .spread = 1, .slow_factor = 1, .threshold = 10000 },
	{ .spread = 2, .slow_factor = 1, .threshold = 20000 },
	{ .spread = 3, .slow_factor = 1, .threshold = 300000 },
	{ .spread = 3, .slow_factor = 1, .threshold = 30000000 },
	{ .spread = 2, .slow_factor = 1, .threshold = 20000, .in_phases = true },
	{ .spread = 2, .slow_factor = 1, .threshold = 20000, .in_bursts = true },
	{ .spread = 2, .slow_factor = 1, .threshold = 20000, .in_phases = true, .in_bursts = true },
	{ .spread = 1, .slow_factor = 1, .in_phases = true, .in_bursts = true },
};

/* Counts recordings in which a caller is named; and in which callers were looked at. */
static int named(const struct program *p, int *ret_looked_at)
{
	int n = 0;

	*ret_looked_at = 0;
	for (int i = 0; i < RECORDINGS; i++) {
		struct explain e;
		struct made m;
		FILE *f = recording_make(p, i, &m);

		ask(f, &e);
		*ret_looked_at += e.callers == CALLERS_LOOKED_AT;
		assert_true(e.callers == CALLERS_LOOKED_AT || e.callers == CALLERS_TOO_FEW);
		n += names_caller(&e);
		explain_done(&e);
		fclose(f);
	}
	return n;
}

/* In all equal recordings together, at most one caller of 100 is named. */
static void equal_callers_are_not_named(void **state)
{
	int all = 0, wrong = 0, looked_at, n;

	(void)state;
	for (size_t i = 0; i < sizeof(equal) / sizeof(*equal); i++) {
		n = named(&equal[i], &looked_at);
		print_message("program %zu: %d of %d named, %d looked at\n", i, n, RECORDINGS,
			      looked_at);
		all += looked_at;
		wrong += n;
	}
	assert_true(100 * wrong <= all &&
		    4 * all >= 3 * RECORDINGS * (int)(sizeof(equal) / sizeof(*equal)));
}

/* The same without the weights: the test above can fail. */
static void naive_shares_are_wrong(void **state)
{
	struct program p = equal[3];
	int looked_at;

	(void)state;
	p.without_weight = true;
	/* functions with short operations are a small part of the drawn others */
	assert_true(named(&p, &looked_at) > RECORDINGS / 2);
}

static void slow_caller_is_named(void **state)
{
	static const struct program programs[] = {
		{ .spread = 1, .slow_factor = 8 },
		{ .spread = 1, .slow_factor = 8, .threshold = 10000 },
		{ .spread = 2, .slow_factor = 8, .threshold = 20000 },
		{ .spread = 3, .slow_factor = 8, .threshold = 300000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		int right = 0;

		for (int r = 0; r < RECORDINGS; r++) {
			const struct explain_finding *f, *line;
			struct explain e;
			struct made m;
			FILE *file = recording_make(&programs[i], r, &m);
			double share, truth;

			ask(file, &e);
			f = found(&e, ATTR_FUNCTION);
			line = found(&e, ATTR_LINE);
			if (f && line && !strcmp(f->text, "called by f3 [store]") &&
			    !strcmp(line->text, "called at f3 (store.c:40)")) {
				right++;
				share = (double)f->slow / e.n_slow;
				/* one stack of 50 has no caller */
				truth = 0.98 * m.truly_slow[3] / e.n_slow;
				assert_true(fabs(share - truth) < 0.06);
				/* of the others, each function makes an eighth */
				assert_true(fabs((double)f->others / (e.n - e.n_slow) -
						 0.98 / FUNCTIONS) < 0.05);
				assert_int_equal(f->is_estimated, programs[i].threshold > 0);
				assert_int_equal(!f->note, !programs[i].threshold);
				/* a part of the time that has such operations */
				assert_true(f->to_ns > f->from_ns);
			}
			explain_done(&e);
			fclose(file);
		}
		print_message("slow caller %zu: %d of %d\n", i, right, RECORDINGS);
		/* the last has a stack of 45 equally probable others */
		assert_true(i < 3 ? 10 * right >= 9 * RECORDINGS : 3 * right >= RECORDINGS);
	}
}

/* With all stacks, the figures are counts. */
static void all_stacks_are_counts(void **state)
{
	static const struct program p = { .spread = 2, .slow_factor = 8 };
	const struct explain_finding *f;
	struct explain e;
	struct made m;
	FILE *file = recording_make(&p, 5, &m);

	(void)state;
	ask(file, &e);
	assert_int_equal(m.taken, OPS);
	f = found(&e, ATTR_LIBRARY); /* all are from one library */
	assert_null(f);
	f = found(&e, ATTR_FUNCTION);
	assert_non_null(f);
	assert_true(!f->is_estimated && f->slow <= m.truly_slow[3] &&
		    f->slow >= m.truly_slow[3] * 9 / 10);
	explain_done(&e);
	fclose(file);
}

/* What is missing in the recording of @p: the text that begins with "callers". */
static void callers_are_missing(const struct program *p, enum explain_callers why, const char *text)
{
	bool told = false;
	struct explain e;
	struct made m;
	FILE *file = recording_make(p, 7, &m);
	char *missing;

	ask(file, &e);
	assert_int_equal(e.callers, why);
	assert_false(names_caller(&e));
	for (size_t i = 0; (missing = explain_missing(&e, i)); i++) {
		told |= !strncmp(missing, text, strlen(text));
		free(missing);
	}
	assert_true(told);
	explain_done(&e);
	fclose(file);
}

/* Stacks that are missing could be those of one caller: then none is named, and the reason is told.
 * A few missing ones are no reason. */
static void missing_stacks_are_told(void **state)
{
	/* functions 0 to 2 seem to have slow operations only */
	static const struct program silent = { .spread = 2, .slow_factor = 1, .silent = 8000 },
				    lost = { .spread = 2, .slow_factor = 8, .lost = OPS / 8 },
				    nameless = { .spread = 2, .slow_factor = 8, .nameless = 8 },
				    few = { .spread = 2,
					    .slow_factor = 8,
					    .lost = OPS / 20,
					    .nameless = 30 };
	struct explain e;
	struct made m;
	FILE *file = recording_make(&few, 7, &m);

	(void)state;
	callers_are_missing(&silent, CALLERS_TOO_FEW, "callers (too few user stacks of the slow");
	callers_are_missing(&lost, CALLERS_LOST, "callers (too many user stacks were lost");
	callers_are_missing(&nameless, CALLERS_LOST, "callers (too many user stacks were lost");
	ask(file, &e);
	assert_int_equal(e.callers, CALLERS_LOOKED_AT);
	assert_non_null(found(&e, ATTR_FUNCTION));
	explain_done(&e);
	fclose(file);
}

/* All stacks have one time, whose random number is 0: none is left out by chance. There is a limit
 * all the same, and what is beyond counts as lost. */
static void forged_times_do_not_fill_the_memory(void **state)
{
	enum { STACKS = 530017, IN_MEMORY = 1 << 19 };
	const struct stored_op op = { .kind = OP_READ };
	const struct scan_item item = { .op = &op,
					.start_ns = 0x61c8864680b583ebULL,
					.total_ns = 11 };
	const struct stored_event ev = { .kind = CHUNK_STACKS, .stack = 1 };
	struct callers c = {};

	(void)state;
	for (unsigned int i = 0; i < STACKS; i++)
		assert_int_equal(explain_callers_stack(&c, &item, &ev, false), 0);
	assert_int_equal(c.groups[0].n, IN_MEMORY);
	assert_int_equal(c.unnamed, STACKS - IN_MEMORY);
	explain_callers_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_callers_are_not_named),
		cmocka_unit_test(naive_shares_are_wrong),
		cmocka_unit_test(slow_caller_is_named),
		cmocka_unit_test(all_stacks_are_counts),
		cmocka_unit_test(missing_stacks_are_told),
		cmocka_unit_test(forged_times_do_not_fill_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
