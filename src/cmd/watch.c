// SPDX-License-Identifier: GPL-2.0-only
/*
 * watch.c - the recorder that is always on: keeps the last records in memory, and each time a
 * condition is met, lets the store (watch_store.h) write them, with what follows, as a separate
 * recording. Knows incidents; the store knows files.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/reason.h"
#include "base/text.h"
#include "capture/header.h"
#include "capture/writer.h"
#include "cmd/watch_at_most.h"
#include "cmd/watch_store.h"
#include "common/recorder.h"
#include "event.h"
#include "run/io.h"
#include "run/program.h"
#include "show/breakdown_text.h"

enum { BUFFER_KIB = 8192, MEMORY_MIB = 32 };

#define FLUSH_NS   ((uint64_t)NS_PER_S)
#define WRITING_NS ((uint64_t)100 * NS_PER_MS) /* between looks while a recording is due */
#define LONG_NS    ((uint64_t)60 * NS_PER_S)   /* an incident of this length is told */

/* A condition, and its present incident: all times at which it was met, with less than --after
 * between them. */
struct watched {
	uint64_t since_ns, last_ns; /* the incident; .last_ns 0: none yet */
	bool told;                  /* that it goes on */
};

/* The recording to be written. */
struct due {
	bool is;
	uint64_t at_ns; /* when it ends */
	struct header_trigger triggers[UNTIL_MAX + 1];
	unsigned int n;
};

struct watch_run {
	struct io_run io;
	/* options */
	struct opt_strings until;
	uint64_t keep_ns, after_ns, buffer_kib, memory_mib;
	const char *at_most_text, *budget_text;
	bool ops, requests, status;
	struct store store;
	/* state */
	struct recorder recorder;
	struct writer w;
	struct watched watched[UNTIL_MAX];
	struct due due;
	struct at_most at_most;
	struct stored_loss *losses; /* of the records in memory; owned */
	size_t n_losses, losses_cap;
	uint64_t missed;    /* by the programs, since the last recording */
	uint64_t copied_ns; /* when a copy was last seen */
	bool short_said;    /* that memory is too small for --keep */
};

static const struct opt watch_opts[] = {
	{ 0, "until", OPT_PATHS(struct watch_run, until), .arg = "COND",
	  .help = "write a recording when this condition is met, or any one of several; without a "
		  "condition, only SIGUSR1 writes recordings" },
	{ 0, "keep", OPT_DURATION(struct watch_run, keep_ns), .arg = "DUR", .min = NS_PER_S,
	  .help = "record from this long before the condition is met (default: 60)" },
	{ 0, "after", OPT_DURATION(struct watch_run, after_ns), .arg = "DUR", .min = NS_PER_S,
	  .help = "record until this long after the condition is met; if it is met again within "
		  "this time, the incident goes on (default: 5)" },
	{ 0, "at-most", OPT_STRING(struct watch_run, at_most_text), .arg = "N/TIME",
	  .help = "write at most this many recordings in a second, minute, hour or day: 10/h, 1/m, "
		  "50/d" },
	{ 0, "ops", OPT_FLAG(struct watch_run, ops),
	  .help = "only operations; with --requests: both (default: both)" },
	{ 0, "requests", OPT_FLAG(struct watch_run, requests),
	  .help = "only requests; with --ops: both" },
	{},
};

static const struct opt_choice run_thens[] = { { "keep", false }, { "delete", true }, {} };

static const struct opt store_opts[] = {
	{ 'o', "output", OPT_STRING(struct watch_run, store.dir), .arg = "DIR",
	  .help = "write recordings into this directory, and make it if necessary (default: the "
		  "current one)" },
	{ 0, "budget", OPT_STRING(struct watch_run, budget_text), .arg = "SIZE",
	  .help = "space for all recordings in DIR, such as 500M or 5G; the oldest are removed "
		  "first" },
	{ 0, "parquet", OPT_FLAG(struct watch_run, store.tables),
	  .help = "write a directory of Parquet tables instead of each recording" },
	{ 0, "no-commands", OPT_FLAG(struct watch_run, recorder.no_commands),
	  .help = RECORDER_NO_COMMANDS_HELP },
	{ 0, "run", OPT_STRING(struct watch_run, store.spool.run), .arg = "CMD",
	  .help = "after each recording, run this program as the caller; its only argument is the "
		  "recording's name; if it does not end with 0, run it again later" },
	{ 0, "run-then", OPT_CHOICE(struct watch_run, store.spool.deletes, run_thens),
	  .arg = "WHAT",
	  .help = "what to do with a recording when CMD has ended with 0 (default: keep)" },
	{ 0, "status", OPT_FLAG(struct watch_run, status),
	  .help = "print the recordings in DIR that wait for CMD, and end" },
	{},
};

static const struct opt memory_opts[] = {
	{ 0, "memory", OPT_UINT(struct watch_run, memory_mib), .arg = "MIB", .min = 1,
	  .max = 1 << 20,
	  .help = "memory for the records before an incident; if it is too small, less time is "
		  "kept (default: 32)" },
	{ 0, "buffer", OPT_UINT(struct watch_run, buffer_kib), .arg = "KIB", .min = 4,
	  .max = 4 << 20,
	  .help = "memory for records on their way from the kernel (default: 8192)" },
	{},
};

static const struct opt_group groups[] = {
	{ "Incidents", watch_opts, 0 },
	{ "Recordings", store_opts, 0 },
	{ "Memory", memory_opts, 0 },
	{ "Filters", filter_opts, offsetof(struct watch_run, io.run.opts.filters) },
	{ "Scope", scope_opts, 0 },
	{ "Run", run_opts_without_json, 0 },
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata watch --until 'fsync>100ms' -o slow", "the minute before each slow fsync" },
	{ "iostrata watch --until 'request vda>p99.9x3'",
	  "requests three times slower than usual" },
	{ "iostrata watch --until 'fsync p99>50ms over 10s'", "a percentile of ten seconds" },
	{ "iostrata watch --until 'errors>0' --at-most 10/h --budget 5G -o /var/lib/io",
	  "failures, for ever, in 5 GB" },
	{ "iostrata watch --until 'queue vda>64 over 5s' --run ./tell", "tell somebody" },
	{ "iostrata watch --until 'errors>0' -o d --run ./put-s3 --run-then delete",
	  "put each recording into a store" },
	{ "iostrata watch --status -o d", "what waits to be put there" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata watch",
	.summary = "trace always, and record what led to each incident",
	.about = "Keeps the last records in memory. Each time a condition is met, writes these "
		 "records and those from the next seconds as a recording, with the condition in "
		 "its header and in its name. Then tracing goes on. 'iostrata report' shows a "
		 "recording. SIGUSR1 writes a recording at once.",
	.groups = groups,
	.command = true,
	.examples = examples,
};

static struct watch_run *watch_run_of(struct run *r)
{
	return (struct watch_run *)r; /* its first member */
}

static int budget_invalid(const char *text, struct reason *why)
{
	reason_set(why, EXIT_USAGE, "invalid --budget '%.60s'", text);
	return reason_hint(why, "SIZE is like 500M or 5G");
}

/* Reads "500M". Returns 0, or -1 with @why. */
static int budget_parse(const char *text, uint64_t *ret_bytes, struct reason *why)
{
	static const char units[] = "KMGT";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] ? strchr(units, text[digits]) : NULL, *wrong;
	unsigned int shift = unit ? 10 * (unit - units + 1) : 0;
	char number[24];
	uint64_t n;

	if (!digits || digits >= sizeof(number) || (text[digits] && (!unit || text[digits + 1])))
		return budget_invalid(text, why);
	snprintf(number, sizeof(number), "%.*s", (int)digits, text);
	if (opts_uint(number, &n, &wrong) || !n || n > UINT64_MAX >> shift)
		return budget_invalid(text, why);
	*ret_bytes = n << shift;
	return 0;
}

/* A typing error would be told at the first incident only. */
static int run_check(const char *program, struct reason *why)
{
	int err = program ? program_check(program) : 0;

	if (!err)
		return 0;
	reason_set(why, EXIT_FAILED, "cannot execute '%.60s' (--run): %s", program, strerror(-err));
	return strchr(program, ' ') ? reason_hint(why, "CMD is the name of a program, without "
						       "arguments: a script can add them")
				    : -1;
}

static int resolve(struct run *r, struct reason *why)
{
	struct watch_run *w = watch_run_of(r);
	struct session_conf *conf = &w->io.conf;
	bool both = w->ops == w->requests;

	if (w->status)
		return watch_spool_status(w->store.dir, why) ? -1 : 1;
	if (w->store.spool.deletes && !w->store.spool.run)
		return reason_set(why, EXIT_USAGE, "--run-then has no meaning without --run");
	if ((w->at_most_text && watch_at_most_parse(&w->at_most, w->at_most_text, why)) ||
	    (w->budget_text && budget_parse(w->budget_text, &w->store.budget, why)))
		return -1;
	conf->layer = w->ops || both ? LAYER_OPS : LAYER_BLK;
	if (conf->layer == LAYER_BLK && filters_check_requests(&r->opts.filters, "--requests", why))
		return -1;
	conf->sent_ops = conf->segments = w->ops || both;
	conf->sent_requests = w->requests || both;
	conf->commands = !w->recorder.no_commands;
	conf->uncounted = true;
	conf->buffer_bytes = w->buffer_kib * 1024;
	r->usr1_asks = true;
	if (recorder_until(&w->recorder, &w->until, why) || run_check(w->store.spool.run, why) ||
	    watch_store_open(&w->store, why))
		return -1;
	w->recorder.deputy = watch_store_pid(&w->store);
	return 0;
}

/* Tells systemd that tracing has begun (Type=notify): sd_notify(3) without its library. */
static void notify_ready(void)
{
	static const char ready[] = "READY=1";
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (len < 2 || len >= sizeof(to.sun_path) || !strchr("/@", path[0]))
		return;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, ready, sizeof(ready) - 1, MSG_NOSIGNAL, (struct sockaddr *)&to,
		   offsetof(struct sockaddr_un, sun_path) + len) < 0)
		cmd_say("warning: cannot notify the service manager: %s", strerror(errno));
	close(fd);
}

static int start(struct run *r, struct reason *why)
{
	struct watch_run *w = watch_run_of(r);
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), err;

	/* a second more, since chunks and looks are up to a second apart */
	w->w.keep_ns = w->keep_ns + w->after_ns + FLUSH_NS;
	w->w.keep_bytes = w->memory_mib << 20;
	err = nowhere < 0 ? -errno : writer_begin(&w->w, nowhere, "");
	if (err)
		return reason_set(why, EXIT_FAILED, "cannot record: %s", strerror(-err));
	w->recorder.flushed_ns = clock_ns();
	recorder_begin(&w->recorder, &w->w);
	if (w->ops == w->requests)
		run_say_of_ops(w->io.of_ops);
	watch_store_go(&w->store);
	recorder_say_times(&w->recorder, "a recording is written");
	if (!w->until.n)
		cmd_say("no --until: only 'kill -USR1 %d' writes recordings", (int)getpid());
	notify_ready();
	return 0;
}

/* Losses of the records in memory. */

static void loss_add(struct watch_run *w, const struct stored_loss *loss)
{
	/* if memory runs out, the recording has the loss between the records */
	if (!list_reserve((void **)&w->losses, &w->losses_cap, w->n_losses, sizeof(*w->losses)))
		w->losses[w->n_losses++] = *loss;
}

/* Flushes, and notes the losses since the last call. */
static void flush(struct watch_run *w, uint64_t now)
{
	uint64_t before[LOST_N], old = now > w->w.keep_ns ? now - w->w.keep_ns : 0;
	size_t gone = 0;

	memcpy(before, w->recorder.lost, sizeof(before));
	recorder_flush(&w->recorder, now);
	while (gone < w->n_losses && w->losses[gone].to_ns < old)
		gone++;
	w->n_losses -= gone;
	if (gone)
		memmove(w->losses, w->losses + gone, w->n_losses * sizeof(*w->losses));
	for (int i = 0; i < LOST_N; i++)
		if (w->recorder.lost[i] != before[i])
			loss_add(w,
				 &(struct stored_loss){ .to_ns = now,
							.kind = i,
							.count = w->recorder.lost[i] - before[i] });
}

/* Recordings. */

/* Writes "fsync>100ms" as "fsync-over-100ms". */
static void name_safe(char *dst, size_t cap, const char *text)
{
	size_t n = 0;

	for (; *text && n + 6 < cap; text++) {
		if (*text == '>')
			n += sprintf(dst + n, "-over-");
		else if (isalnum((unsigned char)*text) || strchr(".-+_", *text))
			dst[n++] = *text;
		else if (n && dst[n - 1] != '-')
			dst[n++] = '-';
	}
	dst[n] = '\0';
}

/* Makes a name like "watch-20260131T120000Z-fsync-over-100ms", of the time of the first trigger. */
static void shot_name(const struct due *due, uint64_t now, char name[SHOT_NAME])
{
	time_t at = (clock_day_ns() - (now - due->triggers[0].at_ns)) / NS_PER_S;
	char when[32], safe[100];
	struct tm tm;

	gmtime_r(&at, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	name_safe(safe, sizeof(safe), due->triggers[0].condition);
	snprintf(name, SHOT_NAME, "watch-%s-%s", when, safe);
}

struct shot_text {
	struct writer *w;
	const char *header, *end;
	uint64_t unnamed_ids;
};

/* Runs in the copy. */
static int shot_write(void *arg, int fd)
{
	const struct shot_text *t = arg;

	return writer_tail_copy(t->w, fd, t->header, t->end, t->unnamed_ids);
}

/* The counts of the records in memory. */
static struct ending ending_of(struct watch_run *w, uint64_t since, uint64_t now)
{
	struct ending e = { .duration_ns = now - since,
			    .ops = w->w.ops,
			    .requests = w->w.requests,
			    .missed = w->missed };

	for (size_t i = 0; i < w->n_losses; i++)
		e.lost[w->losses[i].kind] += w->losses[i].count;
	return e;
}

/* Adds the events missed by programs since the last call. */
static void missed_take(struct watch_run *w)
{
	struct snapshot sn;
	struct reason why;

	if (session_snapshot(w->io.session, &sn, &why))
		return;
	w->missed += sn.missed;
	run_count_lost(&w->io.run, lost_sum_but(sn.lost, sn.missed, w->io.run.opts.strict_but));
	snapshot_free(&sn);
}

static void say_short(struct watch_run *w, uint64_t before_ns)
{
	if (!w->w.cut_ns || w->short_said || before_ns >= w->keep_ns)
		return;
	w->short_said = true;
	cmd_say("warning: --memory %llu holds only %s before an incident",
		(unsigned long long)w->memory_mib, text_ns(before_ns).s);
}

/* Lets the records in memory be written. Returns 0 or -errno. */
static int shot_begin(struct watch_run *w, uint64_t now)
{
	uint64_t since;
	struct shot_text text = { .w = &w->w };
	struct ending end;
	struct shot shot = {};
	int err = -ENOMEM;

	missed_take(w);
	intake_end(&w->recorder.intake);
	recorder_tell_load(&w->recorder);
	flush(w, now);
	since = writer_tail_since(&w->w);
	since = since && since < now ? since : now;
	end = ending_of(w, since, now);
	shot.ops = end.ops;
	shot.requests = end.requests;
	shot.lost = end.lost[LOST_OPS] + end.lost[LOST_REQUESTS];
	shot.duration_ns = end.duration_ns;
	shot.keep_ns = w->keep_ns;
	if (since < w->due.triggers[0].at_ns)
		shot.before_ns = w->due.triggers[0].at_ns - since;
	shot_name(&w->due, now, shot.name);
	text.header = recorder_header(&w->recorder, since, w->due.triggers, w->due.n);
	text.end = ending_text(&end, "ended");
	text.unnamed_ids = intake_unnamed_ids(&w->recorder.intake);
	if (text.header && text.end)
		err = watch_store_begin(&w->store, &shot, shot_write, &text);
	free((char *)text.header);
	free((char *)text.end);
	if (err)
		return err;
	say_short(w, shot.before_ns);
	writer_tail_forget(&w->w);
	w->n_losses = 0;
	w->missed = 0;
	w->recorder.copy = watch_store_copy(&w->store);
	w->copied_ns = now;
	return 0;
}

/* Incidents. */

static void due_add(struct due *due, const struct header_trigger *t)
{
	for (unsigned int i = 0; i < due->n; i++)
		if (due->triggers[i].condition == t->condition) {
			due->triggers[i].value = t->value > due->triggers[i].value
							 ? t->value
							 : due->triggers[i].value;
			return;
		}
	due->triggers[due->n++] = *t;
}

static void due_begin(struct watch_run *w, const struct header_trigger *t)
{
	w->due = (struct due){ .is = true, .at_ns = t->at_ns + w->after_ns };
	due_add(&w->due, t);
}

static void say_met(const struct until_cond *c)
{
	bool is_one = c->asked.measure == CONDITION_TIME || c->asked.measure == CONDITION_USUAL;

	cmd_say("%s: %s%s", c->asked.text, is_one ? "one took " : "", until_value(c).s);
}

/* A condition not met for --after begins another incident. */
static void incident_begin(struct watch_run *w, const struct until_cond *c,
			   const struct header_trigger *t, uint64_t now)
{
	say_met(c);
	if (watch_at_most_allows(&w->at_most, now))
		due_begin(w, t);
	else
		cmd_say("no recording: --at-most %s", w->at_most_text);
}

static void condition_met(struct watch_run *w, unsigned int i, uint64_t now)
{
	struct until_cond *c = &w->recorder.until.conds[i];
	struct watched *at = &w->watched[i];
	struct header_trigger t = { c->asked.text, c->first_ns, true, c->value };
	bool fresh = !at->last_ns || c->first_ns > at->last_ns + w->after_ns;

	if (fresh)
		*at = (struct watched){ .since_ns = c->first_ns };
	at->last_ns = c->last_ns > at->last_ns ? c->last_ns : at->last_ns;
	if (w->due.is)
		due_add(&w->due, &t);
	else if (fresh)
		incident_begin(w, c, &t, now);
	if (!at->told && at->last_ns - at->since_ns >= LONG_NS) {
		at->told = true;
		cmd_say("%s: met again and again; the next recording begins after it is not met "
			"for %s",
			c->asked.text, text_ns(w->after_ns).s);
	}
	c->met = false;
}

static void conditions_take(struct watch_run *w, uint64_t now)
{
	for (unsigned int i = 0; i < w->recorder.until.n; i++)
		if (w->recorder.until.conds[i].met)
			condition_met(w, i, now);
}

static void conditions_look(struct watch_run *w, uint64_t now)
{
	until_look(&w->recorder.until, now);
	conditions_take(w, now);
	if (run_asked()) {
		struct header_trigger t = { "SIGUSR1", now, false, 0 };

		if (w->due.is)
			due_add(&w->due, &t);
		else
			due_begin(w, &t);
		w->due.at_ns = now; /* who asks wants it now */
	}
}

/* Writes the recording that is due. Returns false if the deputy is gone. */
static bool due_look(struct watch_run *w, uint64_t now)
{
	int err;

	if (watch_store_is_busy(&w->store) || !w->due.is || now < w->due.at_ns)
		return true;
	err = shot_begin(w, now);
	if (err == -EAGAIN)
		return true;
	w->due.is = false;
	if (err)
		cmd_say("error: cannot write a recording: %s", strerror(-err));
	return err != -EPIPE;
}

/* After the end of a copy, its last records come; later, its process id is another's. */
static void copy_note(struct watch_run *w, uint64_t now)
{
	if (watch_store_is_busy(&w->store))
		w->copied_ns = now;
	else if (now - w->copied_ns > 2 * FLUSH_NS)
		w->recorder.copy = 0;
}

/* Without the deputy, the next incident would have no recording: a service is to start anew. */
static bool deputy_is_there(struct watch_run *w)
{
	if (!watch_store_has_ended(&w->store))
		return true;
	cmd_say("error: cannot write recordings: the process that writes them was killed");
	return false;
}

/* Returns true if it cannot go on. */
static bool beat(struct run *r)
{
	struct watch_run *w = watch_run_of(r);
	uint64_t now = clock_ns();

	if (now - w->recorder.flushed_ns >= FLUSH_NS)
		flush(w, now);
	conditions_look(w, now);
	copy_note(w, now);
	if (w->w.err)
		cmd_say("error: cannot record: %s", strerror(-w->w.err));
	if (!due_look(w, now) || w->w.err || !deputy_is_there(w)) {
		r->exit = EXIT_FAILED;
		return true;
	}
	r->beat_ns = w->due.is ? WRITING_NS : 0;
	return false;
}

static void say_lost(const struct watch_run *w)
{
	uint64_t ops = w->recorder.lost[LOST_OPS] + w->w.lost_ops;
	uint64_t requests = w->recorder.lost[LOST_REQUESTS] + w->w.lost_requests;

	if (ops || requests)
		cmd_say("warning: lost %s operation%s, %s request%s since the beginning",
			text_count(ops).s, text_plural(ops), text_count(requests).s,
			text_plural(requests));
}

/* At the end of the run: writes the recording that is due, as far as it goes. */
static int report(struct run *r, struct snapshot *sn)
{
	struct watch_run *w = watch_run_of(r);
	uint64_t now = clock_ns();

	w->missed += sn->missed;
	until_end(&w->recorder.until, now);
	conditions_take(w, now);
	while (w->due.is && watch_store_is_busy(&w->store))
		watch_store_wait(&w->store);
	w->due.at_ns = 0;
	due_look(w, clock_ns());
	if (w->due.is) {
		cmd_say("error: cannot write a recording: earlier ones are not written yet");
		r->exit = EXIT_FAILED;
	}
	recorder_tell_losses(&w->recorder, clock_ns());
	say_lost(w);
	if (w->at_most.left_out)
		cmd_say("%s incident%s without a recording: --at-most %s",
			text_count(w->at_most.left_out).s, text_plural(w->at_most.left_out),
			w->at_most_text);
	if (sn->has_overhead)
		overhead_say(stderr, sn->bpf_run_ns, sn->bpf_run_cnt);
	return 0;
}

static const struct run_ops ops = {
	.source = &io_source,
	.resolve = resolve,
	.start = start,
	.beat = beat,
};

static int watch(int argc, char **argv)
{
	struct watch_run w = {
		.io.report = report,
		.keep_ns = (uint64_t)60 * NS_PER_S,
		.after_ns = (uint64_t)5 * NS_PER_S,
		.buffer_kib = BUFFER_KIB,
		.memory_mib = MEMORY_MIB,
		.store.dir = ".",
		.recorder = { .io = &w.io, .argv = argv, .for_ever = true },
	};
	int status = run_main(&w.io.run, &ops, &cmd_watch, argc, argv), written;

	written = watch_store_close(&w.store);
	if (written && w.io.run.command)
		written = EXIT_TOOL;
	recorder_done(&w.recorder);
	writer_done(&w.w);
	free(w.losses);
	return status ? status : written;
}

const struct cmd cmd_watch = { "watch", &table, watch, true };
