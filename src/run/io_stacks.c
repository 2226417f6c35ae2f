// SPDX-License-Identifier: GPL-2.0-only
#include "run/io_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reason.h"
#include "base/snapshot.h"
#include "base/stacks.h"
#include "run/stack_deputy.h"
#include "stacks/stack_rows.h"
#include "stacks/submissions.h"
#include "trace/session.h"

enum {
	NOTE_TRIES = 1000,    /* while the deputy has too much to do */
	LOOK_MS = 50,         /* between two looks at how many stacks come */
	LEAST_NS = 100,       /* a lower threshold is none */
	MOST_NS = 2000000000, /* the programs need less than 2^32 */
	MOST_EACH = 1000000,
};

struct stack_run {
	struct stack_conf conf;
	struct session *session;
	struct stack_deputy deputy;
	struct session_stacks to;
	struct stack_rows rows;
	int err; /* of a stack; stack_run_take() reports it */
	struct submissions submissions;
	/* since the last look: when it was, stacks of calls, the time of their operations, and
	 * requests */
	uint64_t looked_ns, taken, taken_ns, requests;
	uint64_t threshold_ns, each; /* as set in the session */
};

/* Has the deputy note the frames of processes that are new. Returns 0, or -errno: see
 * stack_deputy_note(). */
static int frames_note(struct stack_run *r)
{
	struct process_frames *p = &r->rows.of_processes;
	int err = 0;

	while (!err && p->told < p->n) {
		err = stack_deputy_note(&r->deputy, p->told + 1,
					process_frames_get(p, p->told + 1));
		p->told += !err;
	}
	return err;
}

/* An operation whose stack has come, or the reason why there is none. */
static void stack_add(void *arg, const struct sent_stack *s)
{
	char fs[FS_NAME_LEN];
	struct stack_run *r = arg;
	unsigned int number;
	int err;

	session_fs_name(r->session, s->fs, fs);
	if (!opt_strings_pass(r->conf.fs, fs, sizeof(fs)))
		return;
	err = stack_rows_add(&r->rows, s, fs, &number);
	frames_note(r);
	r->err = err ? err : r->err;
	if (r->conf.sink)
		r->conf.sink(r->conf.sink_arg, s, number, session_fs_slot(r->session, s->fs));
}

static void on_stack(void *arg, const struct sent_stack *s)
{
	struct stack_run *r = arg;

	if ((pid_t)s->who.pid == r->deputy.pid)
		return;
	r->taken++;
	r->taken_ns += s->total_ns;
	stack_add(r, s);
	if (s->submission)
		submissions_stack(&r->submissions, s);
}

static void on_request(void *arg, const struct sent_stack *s)
{
	struct stack_run *r = arg;

	r->requests++;
	submissions_request(&r->submissions, s);
}

static void on_submission(void *arg, const struct sent_stack *s)
{
	struct stack_run *r = arg;

	submissions_stack(&r->submissions, s);
}

/* Without a deputy, frames of the file are walked by frame pointers, and have no names. */
static void file_give_up(struct stack_run *r, const struct unwind_key *key)
{
	static const struct unwind_python none;

	session_unwind_add(r->session, key, STACK_FILES - 1, NULL, 0, &none);
}

static void on_file(void *arg, const struct sent_stack_file *f)
{
	struct stack_run *r = arg;
	int err = stack_deputy_ask(&r->deputy, f);

	if (err == -EAGAIN)
		session_unwind_forget(r->session, &f->key); /* the next stack there asks again */
	else if (err)
		file_give_up(r, &f->key);
}

static void on_table(void *arg, const struct stack_table *t)
{
	struct stack_run *r = arg;

	if (t->state == STACK_FILE_GONE)
		session_unwind_forget(r->session, &t->key);
	else if (!t->number)
		file_give_up(r, &t->key);
	else
		session_unwind_add(r->session, &t->key, t->number, t->rows, t->n, &t->python);
	if (t->number)
		stack_rows_file(&r->rows, t->number, t->path);
}

uint64_t stacks_per_second(void)
{
	return (uint64_t)STACKS_PER_CPU * sysconf(_SC_NPROCESSORS_ONLN);
}

int stack_run_start(const struct stack_conf *conf, const struct stack_begin *begin,
		    struct stack_run **ret, struct reason *why)
{
	struct stack_run *r = calloc(1, sizeof(*r));
	int err = r ? stack_deputy_start(&r->deputy, begin) : -ENOMEM;

	if (err) {
		free(r);
		return reason_set(why, EXIT_FAILED, "cannot start the process for stacks: %s",
				  strerror(-err));
	}
	r->conf = *conf;
	r->to = (struct session_stacks){ on_stack, on_request, on_submission, on_file, r };
	r->submissions = (struct submissions){ .fn = stack_add, .arg = r };
	*ret = r;
	return 0;
}

int stack_run_open(struct stack_run *r, struct session *s, struct reason *why)
{
	int err = session_watch(s, r->deputy.fd);

	if (err)
		return reason_set(why, EXIT_FAILED, "cannot wait for the process for stacks: %s",
				  strerror(-err));
	r->session = s;
	r->looked_ns = clock_ns();
	session_on_stacks(s, &r->to);
	stack_deputy_wait_begin(&r->deputy, on_table, r);
	return 0;
}

/* @ratio: of the stacks that came to those that were asked for. */
static void threshold_set(struct stack_run *r, double ratio)
{
	double threshold = r->threshold_ns;

	if (ratio > 1)
		threshold = (threshold > 0 ? threshold : (double)r->taken_ns / r->taken) * ratio;
	else if (ratio < 0.8)
		threshold *= ratio > 0.5 ? ratio : 0.5;
	r->threshold_ns = threshold > MOST_NS ? MOST_NS : threshold < LEAST_NS ? 0 : threshold;
	session_set_stack_ns(r->session, r->threshold_ns);
}

static void each_set(struct stack_run *r, double ratio)
{
	double each = r->each > 0 ? r->each : 1;

	if (ratio > 1)
		each = each * ratio + 1;
	else if (ratio < 0.8)
		each *= ratio > 0.5 ? ratio : 0.5;
	r->each = each > MOST_EACH ? MOST_EACH : each;
	session_set_stack_requests(r->session, r->each);
}

/* Sets the probabilities so that as many stacks come as were asked for: of calls, and of requests.
 * Each stack has the weight that belongs to the probability at its time, so sums stay without
 * bias. */
static void rates_set(struct stack_run *r)
{
	uint64_t now = clock_ns(), ns = now - r->looked_ns;
	double wanted = (double)r->conf.per_second * ns / NS_PER_S;

	if (!r->conf.per_second || ns < (uint64_t)LOOK_MS * NS_PER_MS)
		return;
	wanted = wanted > 1 ? wanted : 1;
	threshold_set(r, r->taken / wanted);
	each_set(r, r->requests / wanted);
	r->looked_ns = now;
	r->taken = r->taken_ns = r->requests = 0;
}

void stack_run_beat(struct stack_run *r)
{
	stack_deputy_tables(&r->deputy, on_table, r);
	frames_note(r);
	rates_set(r);
}

static int name_frame(void *arg, unsigned long long frame, struct frame_name *ret_name)
{
	struct stack_run *r = arg;

	return stack_deputy_name(&r->deputy, frame, ret_name, on_table, r);
}

/* As frames_note(), and waits for the deputy where it has too much to do. */
static void frames_note_all(struct stack_run *r)
{
	const struct timespec short_time = { .tv_nsec = 5 * NS_PER_MS };

	for (unsigned int i = 0; i < NOTE_TRIES && frames_note(r) == -EAGAIN; i++) {
		stack_deputy_tables(&r->deputy, on_table, r);
		nanosleep(&short_time, NULL);
	}
}

int stack_run_take(struct stack_run *r, struct snapshot *sn)
{
	struct stacks *s;
	int err;

	session_take_stacks(r->session);
	submissions_flush(&r->submissions);
	frames_note_all(r);
	err = r->err;
	if (!err)
		err = stack_rows_take(&r->rows, &r->conf.hide, name_frame, r, &s);
	r->err = 0;
	if (err)
		return err;
	s->of = stacks_ops(sn);
	s->lost = session_stacks_lost(r->session, &s->lost_ns);
	for (size_t i = 0; i < s->n_ops; i++)
		s->ops[i].missing_layers = session_missing_layers(r->session, &s->ops[i]);
	sn->stacks = s;
	return 0;
}

void stack_run_end(struct stack_run *r)
{
	if (!r)
		return;
	stack_deputy_end(&r->deputy);
	submissions_done(&r->submissions);
	stack_rows_done(&r->rows);
	free(r);
}
