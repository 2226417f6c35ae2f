// SPDX-License-Identifier: GPL-2.0-only
/*
 * top_recording.c - `top FILE`. Each interval is read when it is shown, so memory does not grow
 * with the recording. An interval begins at a multiple of its length, so its figures are those of
 * `report --from --to`.
 */
#include "cmd/top_recording.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyse/until.h"
#include "base/clock.h"
#include "base/reason.h"
#include "base/snapshot.h"
#include "capture/losses.h"
#include "capture/replay.h"
#include "common/recorded_stacks.h"
#include "common/recording_filter.h"
#include "export/order.h"
#include "host/newfile.h"
#include "run/cmd.h"
#include "run/run.h"
#include "show/screen.h"
#include "stacks/stack_join.h"
#include "top/top_print.h"
#include "top/top_screen.h"

enum {
	TEXT_WIDTH = 160,
	SLOWEST_READ = 256,       /* operations of an interval, of which a row has its own */
	INCIDENTS_MOST = 1 << 16, /* of a condition */
	LOOK_MS = 500,            /* signals are looked for, and messages are forgotten */
};

#define INCIDENT_GAP_NS ((uint64_t)NS_PER_S) /* times of an incident are not further apart */

/* A part of the recording: its rows, and the names, which live as long as the recording is open. */
struct part {
	FILE *f;
	struct recording rec;
	struct replay replay;
	struct recorded_stacks stacks; /* their frames live as long, too */
	struct snapshot sn;
	bool is_open;
};

/* Times at which a condition was met, since the beginning. */
struct incident {
	uint64_t from_ns, to_ns;
};

struct replay_run {
	const struct top_replay_conf *conf;
	struct recording_filter filter;
	uint64_t duration_ns, real_ns; /* of the recording: its length, and its beginning */
	char *kernel;                  /* owned */
	uint64_t interval_ns, at_ns;   /* the interval shown, and its beginning */
	struct part interval, total;
	struct missing missing;
	struct top_names names;
	struct slow_op slowest[TOP_SLOWEST]; /* copies of those in .interval */
	char of_ops[64];
	struct top_ui ui;
	enum by_key callers; /* the rows of the interval; BY_NONE: threads or files */
	struct top_replay keys;
	char condition[TOP_TYPED];
	struct incident *incidents; /* owned */
	size_t n_incidents;
	uint64_t more_incidents; /* beyond the list's length */
	uint64_t untimed;        /* losses that no interval has, because their time is not known */
	struct reason damage;    /* why the recording ends early */
	bool is_damaged;
	struct reason why; /* of a failure while a press is handled */
	bool failed;
};

static void part_close(struct part *p)
{
	snapshot_free(&p->sn);
	replay_done(&p->replay);
	recorded_stacks_done(&p->stacks);
	if (p->is_open)
		recording_close(&p->rec);
	if (p->f)
		infile_close(p->f);
	*p = (struct part){};
}

static uint64_t thread_id(const struct catalog_thread *t)
{
	return (uint64_t)t->pid << 32 | t->tid;
}

/* The order of pointers into the catalog: by id, a later name after an earlier one. */
static int thread_order(const void *a, const void *b)
{
	const struct catalog_thread *x = *(const struct catalog_thread *const *)a,
				    *y = *(const struct catalog_thread *const *)b;
	uint64_t i = thread_id(x), j = thread_id(y);

	return i != j ? (i > j) - (i < j) : (x > y) - (x < y);
}

/* Sets the threads of the recording: the last name of each. Returns 0 or -ENOMEM. */
static int threads_set(struct snapshot *sn, const struct catalog *c)
{
	const struct catalog_thread **sorted = calloc(c->n_threads + 1, sizeof(*sorted));
	struct thread *list = calloc(c->n_threads + 1, sizeof(*list));
	size_t n = 0;

	sn->threads = list;
	if (!sorted || !list) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 1; i < c->n_threads; i++)
		sorted[n++] = &c->threads[i];
	qsort(sorted, n, sizeof(*sorted), thread_order);
	for (size_t i = 0; i < n; i++) {
		const struct catalog_thread *t = sorted[i];

		if (i + 1 < n && thread_id(t) == thread_id(sorted[i + 1]))
			continue;
		list->id = thread_id(t);
		list->cgroup = t->cgroup;
		memcpy(list->comm, t->comm, COMM_LEN);
		list++;
	}
	sn->n_threads = list - sn->threads;
	free(sorted);
	return 0;
}

/* Reads the next record. Returns false at the end, at a signal, or where the recording is damaged:
 * then @r keeps the reason. */
static bool record_read(struct replay_run *r, struct recording *rec, struct stored_event *ev)
{
	struct reason why;
	int got = interrupt_came() ? 0 : recording_next(rec, ev, &why);

	if (got < 0 && !interrupt_came() && !r->is_damaged) {
		r->damage = why;
		r->is_damaged = true;
	}
	return got > 0;
}

/* Adds a record that the filters chose. Returns 0, or -1 with @why. */
static int record_add(struct part *p, const struct stored_event *ev, struct reason *why)
{
	uint64_t end = stored_event_end(ev);

	if (ev->kind != CHUNK_STACKS)
		return replay_add(&p->replay, &p->rec, ev, why);
	if (end < p->rec.from_ns || end >= p->rec.to_ns)
		return 0;
	return recorded_stacks_add(&p->stacks, &p->replay, &p->rec, ev) ? reason_no_memory(why) : 0;
}

/* Puts rows of callers in place of those of threads. Returns 0 or -ENOMEM. */
static int callers_take(struct part *p, enum by_key by)
{
	if (recorded_stacks_end(&p->stacks, &p->rec) ||
	    recorded_stacks_take(&p->stacks, &p->replay, &p->sn))
		return -ENOMEM;
	return stack_join(&p->sn, by);
}

/* Reads the records of @p->rec. Returns 0, or -1 with @why; a damaged recording is read as far as
 * possible. */
static int part_read(struct replay_run *r, struct part *p, struct reason *why)
{
	struct stored_event ev;

	recording_filter_begin(&r->filter);
	while (record_read(r, &p->rec, &ev))
		if (recording_filter_passes(&r->filter, &p->rec, &ev) && record_add(p, &ev, why))
			return -1;
	if (replay_end(&p->replay, &p->rec, why))
		return -1;
	if (p->replay.n_intervals && replay_take(&p->replay, 0, &p->sn))
		return reason_no_memory(why);
	if (p->rec.stacks && callers_take(p, top_view_callers(r->ui.view)))
		return reason_no_memory(why);
	return threads_set(&p->sn, &p->rec.catalog) ? reason_no_memory(why) : 0;
}

/* Opens the recording. Returns 0, or -1 with @why. */
static int part_open(const struct replay_run *r, struct part *p, struct reason *why)
{
	const char *name = r->conf->file;

	p->f = infile_open(name, why);
	if (!p->f)
		return -1;
	p->is_open = true;
	return recording_open(&p->rec, p->f, name, why);
}

/* Reads the part from @from_ns to before @to_ns since the beginning. Returns 0, or -1 with @why. */
static int part_load(struct replay_run *r, struct part *p, uint64_t from_ns, uint64_t to_ns,
		     struct reason *why)
{
	uint64_t begin;

	part_close(p);
	if (part_open(r, p, why))
		return -1;
	begin = p->rec.header.monotonic_ns;
	p->rec.stacks = top_view_callers(r->ui.view);
	p->stacks.hide = r->conf->hide;
	if (p->rec.stacks)
		p->rec.namer = recorded_symbols_namer(r->conf->symbols);
	p->rec.from_ns = begin + from_ns;
	/* records of the last moment end at the end */
	p->rec.to_ns = to_ns < r->duration_ns ? begin + to_ns : UINT64_MAX;
	p->replay.conf = (struct replay_conf){ .layer = LAYER_OPS,
					       .by = r->ui.view == TOP_FILE ? BY_FILE : BY_THREAD,
					       .queued = true,
					       .first_ns = r->real_ns + from_ns,
					       .slowest_max = r->conf->screen ? SLOWEST_READ : 0 };
	if (part_read(r, p, why))
		return -1;
	to_ns = to_ns < r->duration_ns ? to_ns : r->duration_ns;
	p->sn.duration_ns = to_ns > from_ns ? to_ns - from_ns : 0;
	p->sn.is_part = true;
	p->sn.devices = &p->rec.header.devices;
	return snapshot_disks_sum(&p->sn) ? reason_no_memory(why) : 0;
}

/* Learns the length of the recording, and its losses that have no time. Returns 0, or -1 with
 * @why. */
static int length_learn(struct replay_run *r, struct reason *why)
{
	struct part p = {};
	struct stored_event ev;
	uint64_t lost[LOST_N] = {};
	int err = part_open(r, &p, why);

	if (!err) {
		r->real_ns = p.rec.header.realtime_ns;
		r->kernel = p.rec.header.kernel ? strdup(p.rec.header.kernel) : NULL;
		r->ui.no_stacks = !p.rec.header.has_stacks;
		p.rec.from_ns = UINT64_MAX; /* chunks before are left out */
		while (record_read(r, &p.rec, &ev))
			;
		r->duration_ns = recording_covers(&p.rec);
		losses_untimed(&p.rec.losses, p.rec.ending.lost, lost);
		r->untimed = lost_sum_but(lost, p.rec.ending.missed, 0);
	}
	part_close(&p);
	if (!err && !r->duration_ns && r->is_damaged) {
		*why = r->damage;
		return -1;
	}
	if (!err && !r->duration_ns)
		return reason_set(why, EXIT_FAILED, "'%.200s' has no records", r->conf->file);
	return err;
}

static char *cgroup_path(void *arg, unsigned long long id)
{
	const struct replay_run *r = arg;
	const char *path = catalog_cgroup(&r->interval.rec.catalog, id);
	char *text = NULL;

	if (path)
		return strdup(path);
	return asprintf(&text, "cgroup %llu", id) < 0 ? NULL : text;
}

/* The beginning of the last interval. */
static uint64_t last_at(const struct replay_run *r)
{
	return (r->duration_ns - 1) / r->interval_ns * r->interval_ns;
}

static void slowest_choose(struct replay_run *r)
{
	const struct replay *from = &r->interval.replay;
	size_t n = 0;

	for (size_t i = 0; from->n_intervals && i < from->intervals[0].n_slowest; i++)
		if (n < TOP_SLOWEST && top_ui_record_wanted(&r->ui, &from->intervals[0].slowest[i]))
			r->slowest[n++] = from->intervals[0].slowest[i];
	r->ui.data.n_slowest = n;
}

static void where_set(struct replay_run *r)
{
	snprintf(r->keys.where, sizeof(r->keys.where), "+%s of %s", text_ns(r->at_ns).s,
		 text_ns(r->duration_ns).s);
}

/* Reads what is to be shown. Returns 0, or -1 with @why. */
static int show_load(struct replay_run *r, struct reason *why)
{
	struct top_data *d = &r->ui.data;
	uint64_t end = r->at_ns + r->interval_ns;

	r->names.by_file = r->ui.by_file = r->ui.view == TOP_FILE;
	r->callers = top_view_callers(r->ui.view);
	if (part_load(r, &r->interval, r->at_ns, end, why))
		return -1;
	if (r->ui.mode == TOP_TOTAL && part_load(r, &r->total, 0, end, why))
		return -1;
	header_missing(&r->interval.rec.header, &r->missing);
	d->interval = &r->interval.sn;
	d->total = r->ui.mode == TOP_TOTAL ? &r->total.sn : d->interval;
	d->day_ns = r->real_ns + r->at_ns + r->interval.sn.duration_ns;
	where_set(r);
	top_ui_new(&r->ui);
	return 0;
}

/* Shows the interval at @at_ns. Latencies over time begin anew unless it is the next one. */
static void show_at(struct replay_run *r, uint64_t at_ns)
{
	if (at_ns != r->at_ns + r->interval_ns)
		r->ui.heat = (struct heat){};
	r->at_ns = at_ns;
	r->failed = r->failed || show_load(r, &r->why);
}

static void on_step(void *arg, int intervals)
{
	struct replay_run *r = arg;
	uint64_t last = last_at(r);

	if (intervals < 0 && !r->at_ns)
		snprintf(r->keys.said, sizeof(r->keys.said), "this is the beginning");
	else if (intervals < 0)
		show_at(r, r->at_ns - r->interval_ns);
	else if (r->at_ns >= last)
		snprintf(r->keys.said, sizeof(r->keys.said), "this is the end");
	else
		show_at(r, r->at_ns + r->interval_ns);
}

/* Reads "14:05:09", a time of the day in the recording's days. Returns false if @text is none. */
static bool clock_parse(const struct replay_run *r, const char *text, uint64_t *ret_ns)
{
	time_t begin = r->real_ns / NS_PER_S, at;
	unsigned int h, m, s = 0;
	struct tm tm;
	int len = 0;

	if (sscanf(text, "%2u:%2u%n:%2u%n", &h, &m, &len, &s, &len) < 2 || text[len] || h > 23 ||
	    m > 59 || s > 59 || !localtime_r(&begin, &tm))
		return false;
	tm.tm_hour = h;
	tm.tm_min = m;
	tm.tm_sec = s;
	tm.tm_isdst = -1;
	at = mktime(&tm);
	if (at < begin) {
		tm.tm_mday++;
		tm.tm_isdst = -1;
		at = mktime(&tm);
	}
	if (at < begin)
		return false;
	*ret_ns = (uint64_t)at * NS_PER_S;
	*ret_ns = *ret_ns > r->real_ns ? *ret_ns - r->real_ns : 0;
	return true;
}

static void on_go(void *arg, const char *time)
{
	struct replay_run *r = arg;
	const char *why;
	uint64_t ns;

	if (!clock_parse(r, time, &ns) && opts_duration(time, &ns, &why)) {
		snprintf(r->keys.said, sizeof(r->keys.said),
			 "no time: 12.5 and 2m are since the beginning, 14:05:09 is a time of the "
			 "day");
		return;
	}
	if (ns >= r->duration_ns)
		snprintf(r->keys.said, sizeof(r->keys.said),
			 "the recording is %s long: this is its end", text_ns(r->duration_ns).s);
	ns = ns < r->duration_ns ? ns : r->duration_ns - 1;
	show_at(r, ns / r->interval_ns * r->interval_ns);
}

/* Incidents of a condition: the recording in the order of time, as watch sees it live. */

struct finding {
	struct replay_run *r;
	struct until until;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
};

/* Notes that the condition was met. Returns 0, or -1 with @why. */
static int incident_note(struct finding *f, struct reason *why)
{
	struct until_cond *c = &f->until.conds[0];
	struct replay_run *r = f->r;
	uint64_t from = c->first_ns > f->begin_ns ? c->first_ns - f->begin_ns : 0;
	uint64_t to = c->last_ns > f->begin_ns ? c->last_ns - f->begin_ns : 0;
	struct incident *last = r->n_incidents ? &r->incidents[r->n_incidents - 1] : NULL, *list;

	if (!c->met)
		return 0;
	c->met = false;
	if (last && from <= last->to_ns + INCIDENT_GAP_NS) {
		last->to_ns = to > last->to_ns ? to : last->to_ns;
		return 0;
	}
	if (r->n_incidents == INCIDENTS_MOST) {
		r->more_incidents++;
		return 0;
	}
	list = r->incidents;
	if (!(r->n_incidents & (r->n_incidents - 1))) /* full: its room is a power of two */
		list = reallocarray(list, r->n_incidents ? 2 * r->n_incidents : 1, sizeof(*list));
	if (!list)
		return reason_no_memory(why);
	r->incidents = list;
	list[r->n_incidents++] = (struct incident){ from, to };
	return 0;
}

static int event_see(struct finding *f, const struct until_event *e, struct reason *why)
{
	until_look(&f->until, e->end_ns);
	until_see(&f->until, e);
	return incident_note(f, why);
}

static int on_op(void *arg, const struct recording *rec, const struct stored_event *ev,
		 struct reason *why)
{
	struct finding *f = arg;
	struct stored_event one = *ev;
	const struct until_event e = { .kind = ev->op.kind < OP_N ? ev->op.kind : OP_NONE,
				       .error = (int64_t)ev->op.ret < 0 ? -(int64_t)ev->op.ret : 0,
				       .end_ns = stored_event_end(ev),
				       .took_ns = stored_event_total(ev) };

	if (ev->op.kind == OP_HANDLE || !recording_filter_passes(&f->r->filter, rec, &one))
		return 0;
	return event_see(f, &e, why);
}

static int on_op_step(struct finding *f, const struct recording *rec, const struct step_event *ev,
		      struct reason *why)
{
	struct stored_event one = { .kind = CHUNK_OPS, .segments = ev->segments, .op = ev->op };

	return on_op(f, rec, &one, why);
}

static int on_step_of(void *arg, const struct recording *rec, const struct step_event *ev,
		      struct reason *why)
{
	struct finding *f = arg;
	struct stored_event one = { .kind = CHUNK_REQUESTS, .request = ev->rq };
	struct until_event e = { .is_request = true, .end_ns = ev->at_ns };

	if (ev->step != STEP_END)
		return 0;
	if (ev->kind == CHUNK_OPS)
		return on_op_step(f, rec, ev, why);
	if (ev->kind != CHUNK_REQUESTS || !recording_filter_passes(&f->r->filter, rec, &one))
		return 0;
	e.dev = ev->rq.dev;
	e.failed = ev->rq.flags & STORED_RQ_FAILED;
	e.took_ns = stored_event_total(&one);
	return event_see(f, &e, why);
}

/* Reads the recording @file twice. Returns 0, or -1 with @why. */
static int incidents_read(struct finding *f, FILE *file, struct reason *why)
{
	const struct order_target to = { .op = on_op, .step = on_step_of, .arg = f };
	struct replay_run *r = f->r;
	struct order order = {};
	struct recording rec;
	int got = order_learn(&order, file, r->conf->file, why);

	if (got) {
		order_done(&order);
		return -1;
	}
	rewind(file);
	got = recording_open(&rec, file, r->conf->file, why);
	f->begin_ns = rec.header.monotonic_ns;
	recording_filter_begin(&r->filter);
	if (!got)
		got = until_add(&f->until, r->condition, &rec.header.devices, why);
	if (!got)
		got = order_deliver(&order, &rec, &to, why);
	if (got >= 0) {
		until_end(&f->until, f->begin_ns + r->duration_ns);
		got = incident_note(f, why);
	}
	recording_close(&rec);
	order_done(&order);
	return got;
}

/* Finds the incidents of r->condition. Returns 0, or -1 with @why. */
static int incidents_find(struct replay_run *r, struct reason *why)
{
	struct finding f = { .r = r };
	FILE *file = infile_open(r->conf->file, why);
	int err;

	free(r->incidents);
	r->incidents = NULL;
	r->n_incidents = r->more_incidents = 0;
	if (!file)
		return -1;
	err = incidents_read(&f, file, why);
	until_done(&f.until);
	infile_close(file);
	return err;
}

static void on_incident(void *arg, int direction)
{
	struct replay_run *r = arg;
	size_t i = direction > 0 ? 0 : r->n_incidents;
	uint64_t end = r->at_ns + r->interval_ns;

	if (!*r->condition) {
		snprintf(r->keys.said, sizeof(r->keys.said), "no condition yet: press /");
		return;
	}
	if (direction > 0)
		while (i < r->n_incidents && r->incidents[i].from_ns < end)
			i++;
	else
		while (i > 0 && r->incidents[i - 1].from_ns >= r->at_ns)
			i--;
	if (direction > 0 ? i == r->n_incidents : !i) {
		snprintf(r->keys.said, sizeof(r->keys.said), "no incident %s: %s in all",
			 direction > 0 ? "after this" : "before this",
			 text_count(r->n_incidents).s);
		return;
	}
	i -= direction > 0 ? 0 : 1;
	show_at(r, r->incidents[i].from_ns / r->interval_ns * r->interval_ns);
	snprintf(r->keys.said, sizeof(r->keys.said), "incident %s of %s, at +%s, %s long",
		 text_count(i + 1).s, text_count(r->n_incidents).s,
		 text_ns(r->incidents[i].from_ns).s,
		 text_ns(r->incidents[i].to_ns - r->incidents[i].from_ns).s);
}

/* Also goes to the first incident from the shown interval on. */
static void on_find(void *arg, const char *text)
{
	struct replay_run *r = arg;
	struct reason why;
	char safe[TEXT_SAFE_CAP(sizeof(why.error))];
	size_t i = 0;

	snprintf(r->condition, sizeof(r->condition), "%s", text);
	if (incidents_find(r, &why)) {
		r->condition[0] = '\0';
		text_safe(safe, sizeof(safe), why.error);
		snprintf(r->keys.said, sizeof(r->keys.said), "%.*s", TOP_SAID - 1, safe);
		return;
	}
	while (i < r->n_incidents && r->incidents[i].from_ns < r->at_ns)
		i++;
	if (i < r->n_incidents)
		show_at(r, r->incidents[i].from_ns / r->interval_ns * r->interval_ns);
	text_safe_n(safe, sizeof(safe), text, strnlen(text, TOP_SAID / 8));
	snprintf(r->keys.said, sizeof(r->keys.said), "%s incident%s of %.100s%s%s",
		 text_count(r->n_incidents).s, text_plural(r->n_incidents), safe,
		 r->more_incidents ? ", and more, not listed" : "",
		 r->n_incidents ? ": J goes on, K back" : "");
}

/* A press may ask for more before the screen is drawn: there is no table of other keys. */
static void on_view(void *arg)
{
	struct replay_run *r = arg;

	if (r->ui.by_file != (r->ui.view == TOP_FILE) || r->callers != top_view_callers(r->ui.view))
		show_at(r, r->at_ns);
}

static const struct top_replay_ops replay_ops = {
	.step = on_step,
	.go = on_go,
	.find = on_find,
	.incident = on_incident,
	.view = on_view,
};

/* After presses: the interval, or the mode, may be another. */
static void changes_follow(struct replay_run *r)
{
	bool has_total = r->total.is_open;

	if (r->ui.presses.interval_ns != r->interval_ns) {
		r->interval_ns = r->ui.presses.interval_ns;
		show_at(r, r->at_ns / r->interval_ns * r->interval_ns);
	} else if ((r->ui.mode == TOP_TOTAL) != has_total) {
		if (has_total)
			part_close(&r->total);
		show_at(r, r->at_ns);
	}
}

/* Waits for a press, or while the recording plays for the next interval. Returns false if the
 * terminal is gone. */
static bool press_wait(const struct replay_run *r, uint64_t next_ns)
{
	uint64_t now = clock_ns(), ms = LOOK_MS;

	if (!r->ui.presses.paused)
		ms = next_ns > now ? (next_ns - now) / NS_PER_MS + 1 : 0;
	return keyboard_wait(ms < LOOK_MS ? ms : LOOK_MS);
}

/* Goes on if it is time. */
static bool play(struct replay_run *r, uint64_t *next_ns)
{
	uint64_t now = clock_ns();

	if (r->ui.presses.paused) {
		*next_ns = now + r->interval_ns;
		return false;
	}
	if (now < *next_ns)
		return false;
	*next_ns = now + r->interval_ns;
	on_step(r, 1);
	r->ui.presses.paused = r->at_ns >= last_at(r);
	return true;
}

static int screen_run(struct replay_run *r, struct reason *why)
{
	uint64_t next_ns = 0;
	int err = 0;
	bool changed = true;

	if (screen_open(stdin, stdout, !getenv("NO_COLOR"), why))
		return -1;
	r->failed = show_load(r, &r->why);
	while (!err && !r->failed && !r->ui.presses.quit && !interrupt_came()) {
		if (changed) {
			slowest_choose(r);
			err = top_ui_draw(&r->ui);
		}
		if (!press_wait(r, next_ns))
			break;
		changed = presses_handle(&r->ui.presses);
		changes_follow(r);
		changed = play(r, &next_ns) || changed;
	}
	screen_close();
	if (r->failed)
		*why = r->why;
	return r->failed ? -1 : err ? reason_no_memory(why) : 0;
}

static int interval_text(struct replay_run *r, const struct snapshot *sn)
{
	char head[128];
	const struct top_text v = { .view = r->ui.view,
				    .names = &r->names,
				    .head = head,
				    .sort = r->conf->sort,
				    .max_rows = r->conf->max_rows,
				    .width = TEXT_WIDTH,
				    .uncut = !isatty(STDOUT_FILENO),
				    .missing = &r->missing };

	snprintf(head, sizeof(head), "%s +%s of %s",
		 text_clock(r->ui.data.day_ns, r->interval_ns).s, text_ns(r->at_ns).s,
		 text_ns(r->duration_ns).s);
	return top_text(stdout, &v, sn);
}

static int interval_json(struct replay_run *r, const struct snapshot *sn)
{
	const struct top_json v = { .view = r->ui.view,
				    .names = &r->names,
				    .kernel = r->kernel,
				    .until_ns = r->ui.data.day_ns,
				    .missing = &r->missing };

	return top_json(stdout, &v, sn);
}

/* Prints one interval after the other. Returns 0, or -1 with @why. */
static int intervals_print(struct replay_run *r, struct reason *why)
{
	uint64_t left = r->conf->count ? r->conf->count : UINT64_MAX;
	int err = 0;

	for (; left && r->at_ns < r->duration_ns && !interrupt_came(); left--) {
		if (show_load(r, why))
			return -1;
		if (interrupt_came())
			break; /* not all of the interval was read */
		err = r->conf->json ? interval_json(r, &r->interval.sn)
				    : interval_text(r, &r->interval.sn);
		if (err)
			break;
		r->at_ns += r->interval_ns;
	}
	if (err && err != -EPIPE)
		return reason_set(why, EXIT_FAILED, "cannot write the output: %s", strerror(-err));
	return 0;
}

static void ui_fill(struct replay_run *r)
{
	struct top_ui *ui = &r->ui;

	top_ui_init(ui, r->interval_ns);
	r->keys = (struct top_replay){ .ops = &replay_ops, .arg = r };
	top_ui_replay(ui, &r->keys);
	ui->view = r->conf->view;
	snprintf(ui->sort, sizeof(ui->sort), "%s", r->conf->sort);
	ui->data.missing = &r->missing;
	ui->data.names = &r->names;
	ui->data.slowest = r->slowest;
	ui->data.load = "-";
	ui->data.gone = "";
	ui->data.of_ops = r->of_ops;
}

/* Fails if options do not fit a recording. Returns 0, or -1 with @why. */
static int options_check(struct replay_run *r, struct reason *why)
{
	struct stat st;

	if (!strcmp(r->conf->file, "-") ||
	    (!stat(r->conf->file, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return reason_set(why, EXIT_USAGE,
				  "top reads a recording again and again: '%.200s' is no file",
				  r->conf->file);
	if (r->conf->view == TOP_SERVER) {
		reason_set(why, EXIT_USAGE,
			   "--by server is live only: recordings have no times of such requests");
		return reason_hint(why, "'iostrata report' shows them for the whole recording");
	}
	if (!r->conf->screen && !r->conf->json && !top_view_callers(r->conf->view) &&
	    filters_check_requests(&r->filter.given, "top's text", why))
		return reason_hint(why, "the full screen and --json have operations, too");
	return filters_ops(&r->filter.given, why);
}

/* Says which figures no interval has. */
static void doubts_say(struct replay_run *r)
{
	char text[TOP_SAID];

	if (!r->untimed)
		return;
	snprintf(text, sizeof(text), "%s event%s lost at unknown times %s in no interval",
		 text_count(r->untimed).s, text_plural(r->untimed), r->untimed == 1 ? "is" : "are");
	if (r->conf->screen)
		snprintf(r->keys.said, sizeof(r->keys.said), "%s", text);
	else
		fprintf(stderr, "warning: %s\n", text);
}

static int replay_run(struct replay_run *r, struct reason *why)
{
	int err;

	if (options_check(r, why))
		return -1;
	r->filter.by_file = r->conf->view == TOP_FILE;
	filters_of_ops(&r->filter.given, r->filter.by_file, r->of_ops, sizeof(r->of_ops));
	recording_filter_init(&r->filter);
	if (length_learn(r, why)) {
		if (isdigit((unsigned char)*r->conf->file))
			reason_hint(why, "an interval is a number of seconds, or like 500ms");
		return -1;
	}
	if (top_view_callers(r->conf->view) && r->ui.no_stacks) {
		reason_set(why, EXIT_FAILED, "'%.200s' has no user stacks", r->conf->file);
		return reason_hint(why, "'iostrata record --stacks' records them");
	}
	doubts_say(r);
	if (!r->conf->screen)
		run_say_of_ops(r->of_ops);
	err = r->conf->screen ? screen_run(r, why) : intervals_print(r, why);
	if (!err && r->is_damaged)
		*why = r->damage;
	return err || r->is_damaged ? -1 : 0;
}

int top_replay_main(const struct top_replay_conf *conf)
{
	struct replay_run r = { .conf = conf,
				.filter.given = *conf->filters,
				.interval_ns = conf->interval_ns };
	struct reason why;
	int status;

	interrupt_catch();
	r.names = (struct top_names){ .cgroup_path = cgroup_path, .arg = &r };
	ui_fill(&r);
	status = replay_run(&r, &why) ? cmd_fail(&why) : 0;
	top_ui_done(&r.ui);
	top_names_done(&r.names);
	part_close(&r.interval);
	part_close(&r.total);
	recording_filter_done(&r.filter);
	free(r.incidents);
	free(r.kernel);
	return status;
}
