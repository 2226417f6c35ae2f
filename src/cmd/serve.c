// SPDX-License-Identifier: GPL-2.0-only
/*
 * serve.c - the command for many machines: figures since the start for Prometheus, and a live page.
 * This process traces. Every second it sends a snapshot to another process without privileges
 * (serve/process.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reason.h"
#include "common/breakdown_opts.h"
#include "host/container.h"
#include "host/container_names.h"
#include "run/listener.h"
#include "run/io.h"
#include "serve/feed.h"
#include "serve/listen.h"
#include "serve/process.h"
#include "serve/totals.h"

struct serve {
	struct io_run io;
	/* options */
	const char *listen, *token_file;
	int by, buckets;
	uint64_t keys_max, series;
	/* state */
	struct listening listening;
	struct serve_conf conf;
	struct utsname uts;
	struct listener listener;
	struct container_names names;
	int statm;
};

static const struct opt_choice by_choices[] = {
	{ "comm", BY_COMM },
	{ "cgroup", BY_CGROUP },
	{ "container", BY_CONTAINER },
	{},
};

static const struct opt_choice by_also[] = { { "command", BY_COMM }, {} };

static const struct opt_choice buckets_choices[] = { { "9", 9 }, { "25", 25 }, { "50", 50 }, {} };

static const struct opt serve_opts[] = {
	{ 0, "listen", OPT_STRING(struct serve, listen), .arg = "ADDRESS:PORT",
	  .help = "serve on this IP address and port (default: 127.0.0.1:9740); on an address that "
		  "other machines can reach, requests need a token" },
	{ 0, "token-file", OPT_STRING(struct serve, token_file), .arg = "FILE",
	  .help = "requests need the token in the first line of this file (default: a new one, "
		  "which is printed)" },
	{ 'D', "duration", OPT_DURATION(struct serve, io.run.opts.duration_ns), .arg = "DUR",
	  .min = 1, .help = "end after this time" },
	{},
};

static const struct opt metrics_opts[] = {
	{ 0, "by", OPT_CHOICE(struct serve, by, by_choices), .also = by_also, .arg = "KEY",
	  .help = "more series, with a label for each" },
	{ 0, "max-keys", OPT_UINT(struct serve, keys_max), .arg = "N", .min = 1, .max = 10000,
	  .help = "with --by: labels for at most this many keys, the most used; others count as "
		  "\"other\" (default: 100)" },
	{ 0, "buckets", OPT_CHOICE(struct serve, buckets, buckets_choices), .arg = "N",
	  .help = "buckets of a histogram: one for three octaves, for each octave, or for each "
		  "half (default: 25; with --by 9)" },
	{ 0, "series", OPT_UINT(struct serve, series), .arg = "N", .min = SERIES_MIN,
	  .max = 10000000,
	  .help = "at most this many series; what has no room counts in rows \"other\" "
		  "(default: 2000; with --by 5000)" },
	{},
};

static const struct opt_group groups[] = {
	{ "Server", serve_opts, 0 },
	{ "Metrics", metrics_opts, 0 },
	{ "Filters", filter_opts, offsetof(struct serve, io.run.opts.filters) },
	{ "Scope", scope_opts_without_command, 0 },
	{ "Run", run_opts_without_duration, 0 },
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata serve", "a page and metrics on http://127.0.0.1:9740/" },
	{ "iostrata serve --by container", "also for each container" },
	{ "iostrata serve --listen 0.0.0.0:9740 --token-file /etc/iostrata/token",
	  "for a Prometheus elsewhere" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata serve",
	.summary = "metrics for Prometheus, and a live page",
	.about = "Sums up all I/O as breakdown does, until it is stopped, and serves the sums: "
		 "/metrics "
		 "for Prometheus, and a page for people. The serving process has no privileges.",
	.groups = groups,
	.examples = examples,
};

enum {
	KEYS_MAX = 100, /* without --max-keys */
	/* without --series and --buckets; with --by: */
	SERIES = 2000,
	SERIES_BY = 5000,
	BUCKETS = 25,
	BUCKETS_BY = 9,
};

static struct serve *serve_of(struct run *r)
{
	return (struct serve *)r; /* its first member */
}

static int token_read(const char *path, char ret_token[TOKEN_CAP], struct reason *why)
{
	FILE *f = fopen(path, "re");
	char line[TOKEN_CAP + 2];

	if (!f) {
		reason_set(why, EXIT_FAILED, "cannot open '%.120s': %s", path, strerror(errno));
		return reason_hint(why,
				   "--token-file names a file, and its first line is the token");
	}
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	line[strcspn(line, "\r\n")] = '\0';
	if (guard_is_token(line)) {
		strcpy(ret_token, line);
		return 0;
	}
	reason_set(why, EXIT_FAILED, "no token in the first line of '%.120s'", path);
	return reason_hint(why, "a token has 16 to 255 letters, digits, - and _: "
				"'openssl rand -hex 16' makes one");
}

/* The token, and whether to print it. */
static int resolve_token(struct serve *s, struct reason *why)
{
	char *token = s->conf.guard.token;
	int err;

	if (s->token_file)
		return token_read(s->token_file, token, why);
	if (s->listening.loopback)
		return 0;
	err = guard_new_token(token);
	return err ? reason_set(why, EXIT_FAILED, "cannot make a token: %s", strerror(-err)) : 0;
}

static void conf_fill(struct serve *s)
{
	const struct breakdown_opts opts = { .by = s->by };

	uname(&s->uts);
	breakdown_view_fill(&s->conf.view, &opts, LAYER_OPS, -1);
	s->conf.view.source.kernel = s->uts.release;
	s->conf.view.chosen.fs = s->io.run.opts.filters.fs;
	s->conf.view.source.cpus = sysconf(_SC_NPROCESSORS_ONLN);
	s->conf.listener = s->listening.fd;
	s->conf.buckets = s->buckets;
	s->conf.keys_max = s->keys_max;
	s->conf.series = s->series;
	s->conf.version = IOSTRATA_VERSION;
}

static void warn(const struct reason *why)
{
	cmd_warn(why);
}

/* In the listener. */
static int work(void *arg, int feed)
{
	struct serve *s = arg;
	struct reason why = {};

	return serve_process(&s->conf, feed, warn, &why) ? cmd_fail(&why) : 0;
}

/* The listener is forked before anything is in the kernel, so it has no descriptor of the kernel.
 */
static int resolve(struct run *r, struct reason *why)
{
	struct serve *s = serve_of(r);
	struct session_conf *conf = &s->io.conf;
	int err;

	if (s->keys_max && s->by == BY_NONE)
		return reason_set(why, EXIT_USAGE, "--max-keys has no meaning without --by");
	if (!s->keys_max)
		s->keys_max = KEYS_MAX;
	if (!s->series)
		s->series = s->by == BY_NONE ? SERIES : SERIES_BY;
	if (!s->buckets)
		s->buckets = s->by == BY_NONE ? BUCKETS : BUCKETS_BY;
	if (filters_check_kinds(&r->opts.filters, LAYER_OPS, NULL, why) ||
	    listen_open(s->listen, &s->listening, why))
		return -1;
	if (resolve_token(s, why))
		return -1;
	r->opts.interval_ns = NS_PER_S;
	conf->by = s->by == BY_CONTAINER ? BY_CGROUP : s->by;
	conf->minor_faults = true;
	conf_fill(s);
	err = listener_start(&s->listener, work, s);
	close(s->listening.fd);
	return err ? reason_set(why, EXIT_FAILED, "cannot start a process: %s", strerror(-err)) : 0;
}

static int start(struct run *r, struct reason *why)
{
	const struct serve *s = serve_of(r);
	bool made = s->conf.guard.token[0] && !s->token_file;

	(void)why;
	cmd_say("serving %s%s%s", s->listening.url, made ? "?token=" : "",
		made ? s->conf.guard.token : "");
	return 0;
}

/* Returns 0 or -errno. */
static int send_all(int feed, const char *data, size_t len)
{
	ssize_t n;

	for (; len; data += n, len -= n) {
		n = send(feed, data, len, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return -errno;
		n = n < 0 ? 0 : n;
	}
	return 0;
}

/* A process that has ended is told by beat(). */
static int report(struct run *r, struct snapshot *sn)
{
	struct serve *s = serve_of(r);
	int err = s->by == BY_CONTAINER ? container_rows(sn, &s->names) : 0;
	struct feed_self self;
	char *frame;
	size_t len;

	if (err || s->listener.pid <= 0)
		return err;
	feed_self(&self, s->statm);
	/* the end of the interval, not now: intervals must not overlap on the page */
	self.until_ns -= clock_ns() - sn->taken_ns;
	frame = feed_pack(sn, session_missing(s->io.session), &self, &len);
	if (!frame)
		return -ENOMEM;
	err = send_all(s->listener.feed, frame, len);
	free(frame);
	if (err != -EAGAIN) /* else it is stopped, or has far too much to do */
		return err == -EPIPE || err == -ECONNRESET ? 0 : err;
	cmd_say("error: the serving process has taken no figures for %d seconds", FEED_WAIT_S);
	r->exit = EXIT_FAILED;
	r->no_reader = true;
	return 0;
}

static bool beat(struct run *r)
{
	struct serve *s = serve_of(r);

	if (!listener_has_ended(&s->listener))
		return false;
	cmd_say("error: the serving process has ended");
	r->exit = EXIT_FAILED;
	return true;
}

static void close_both(struct run *r)
{
	struct serve *s = serve_of(r);

	listener_end(&s->listener);
	container_names_done(&s->names);
	io_source.close(r);
	if (s->statm >= 0)
		close(s->statm);
}

static int serve(int argc, char **argv)
{
	struct run_source source = io_source;
	struct run_ops ops = {
		.source = &source, .resolve = resolve, .start = start, .beat = beat
	};
	struct serve s = {
		.io.report = report,
		.listen = "127.0.0.1:9740",
		.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC),
	};

	source.close = close_both;
	return run_main(&s.io.run, &ops, &cmd_serve, argc, argv);
}

const struct cmd cmd_serve = { "serve", &table, serve, true };
