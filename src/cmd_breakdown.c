// SPDX-License-Identifier: GPL-2.0-only
/* cmd_breakdown.c - one run, all layers: where the time of I/O operations went. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "breakdown_json.h"
#include "breakdown_text.h"
#include "child.h"
#include "cmd.h"
#include "filters.h"
#include "mounts.h"
#include "privilege.h"
#include "reason.h"
#include "session.h"
#include "syscalls.h"
#include "text.h"

enum { MAX_SLOWEST = 1000, TICK_MS = 500, MAX_COLUMNS = 160 };

struct breakdown_opts {
	struct filters filters;
	const char *layer;
	int by;
	uint64_t slowest;
	uint64_t duration_ns, interval_ns, count;
	bool queued, milliseconds, histograms, json, strict, overhead;
};

static const struct opt_choice by_choices[] = {
	{ "pid", BY_PID },	 { "comm", BY_COMM }, { "file", BY_FILE },
	{ "cgroup", BY_CGROUP }, { "dev", BY_DEV },   { "cache", BY_CACHE }, {},
};

static const struct opt measure_opts[] = {
	{ 'T', "layer", OPT_STRING(struct breakdown_opts, layer), .arg = "LAYER",
	  .help = "this layer alone: syscall, vfs, fs, a file system type (ext4 ...) or blk; a "
		  "histogram per operation and total time" },
	{ 'Q', "queued", OPT_FLAG(struct breakdown_opts, queued),
	  .help = "count the time in queues to the requests' time" },
	{ 0, "by", OPT_CHOICE(struct breakdown_opts, by, by_choices), .arg = "KEY",
	  .help = "a row per key" },
	{ 0, "slowest", OPT_UINT(struct breakdown_opts, slowest), .arg = "N", .min = 1,
	  .max = MAX_SLOWEST,
	  .help = "show the N slowest operations, each with its whole waterfall" },
	{},
};

static const struct opt output_opts[] = {
	{ 'H', "histograms", OPT_FLAG(struct breakdown_opts, histograms),
	  .help = "a histogram for every row" },
	{ 'm', "milliseconds", OPT_FLAG(struct breakdown_opts, milliseconds),
	  .help = "times in milliseconds (default: the unit that fits)" },
	{ 'j', "json", OPT_FLAG(struct breakdown_opts, json),
	  .help = "one JSON object per interval, times in ns" },
	{ 'D', "duration", OPT_DURATION(struct breakdown_opts, duration_ns), .arg = "DUR", .min = 1,
	  .help = "end after this time; a command goes on" },
	{ 0, "strict", OPT_FLAG(struct breakdown_opts, strict),
	  .help = "exit with 5 if anything was lost" },
	{ 0, "overhead", OPT_FLAG(struct breakdown_opts, overhead),
	  .help = "let the kernel measure what tracing costs" },
	{},
};

static const struct opt_group groups[] = {
	{ "What to measure", measure_opts, 0 },
	{ "Whose I/O", filter_opts, offsetof(struct breakdown_opts, filters) },
	{ "Output", output_opts, 0 },
	{},
};

static const struct opt args[] = {
	{ OPT_DURATION(struct breakdown_opts, interval_ns), .arg = "INTERVAL", .min = 10000000,
	  .help = "print every so often (seconds)" },
	{ OPT_UINT(struct breakdown_opts, count), .arg = "COUNT", .min = 1,
	  .help = "end after so many intervals" },
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata breakdown", "everybody's I/O, until Ctrl-C" },
	{ "iostrata breakdown -- make -j8", "of a command and all that it starts" },
	{ "iostrata breakdown -p 6681 1", "of a process, every second" },
	{ "iostrata breakdown --by file -D 10", "which files, for 10 seconds" },
	{ "iostrata breakdown --slowest 5 --op fsync", "the five slowest fsyncs, step by step" },
	{ "iostrata breakdown -T ext4", "ext4 alone: a histogram per operation" },
	{ "iostrata breakdown -T blk -d nvme0n1 -Q", "a disk's requests with their queue time" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata breakdown",
	.summary = "where every nanosecond of an I/O operation went",
	.about = "Accounts for each operation (read, write, open, close, fsync, copy, meta) as a "
		 "whole: its time on CPU by layer, and its waits by what they were for. The parts "
		 "are disjoint and add up to the operation's elapsed time.",
	.groups = groups,
	.args = args,
	.command = true,
	.examples = examples,
};

/* A run: what it was asked, and what it holds until it ends. */
struct run {
	struct breakdown_opts opts;
	struct session_conf conf;
	struct breakdown_view view;
	struct session *session;
	struct child child;
	bool has_child;
	int exit;
	int signals, pidfd;		/* -1: none */
	struct op_record *slowest;	/* biggest first, n_slowest of opts.slowest */
	size_t n_slowest;
	struct utsname uts;
	char looked_for[512];
};

static int layer_of(const char *text, enum layer *ret_layer)
{
	static const struct opt_choice layers[] = {
		{ "syscall", LAYER_SYSCALL }, { "vfs", LAYER_VFS }, { "fs", LAYER_FS },
		{ "blk", LAYER_BLK },	      {},
	};

	for (const struct opt_choice *c = layers; c->name; c++) {
		if (!strcmp(text, c->name)) {
			*ret_layer = c->value;
			return 0;
		}
	}
	return -ENOENT;
}

static int resolve_layer(struct run *r, struct reason *why)
{
	const char *layer = r->opts.layer;

	if (!layer || !layer_of(layer, &r->conf.layer))
		return 0;
	if (!filters_fs_type_known(layer)) {
		reason_set(why, EXIT_FAILED, "no layer or file system '%.60s'", layer);
		return reason_hint(why, "layers are syscall, vfs, fs and blk; file systems are "
					"those in /proc/filesystems");
	}
	r->conf.layer = LAYER_FS;
	r->conf.fs = layer;
	r->view.fs_filter = layer;
	return 0;
}

static int resolve(struct run *r, bool command, struct reason *why)
{
	const struct breakdown_opts *o = &r->opts;

	if (command && o->filters.pid && !o->filters.system)
		return reason_set(why, EXIT_USAGE, "-p and a command exclude one another");
	if (filters_resolve(&o->filters, &r->conf, why) || resolve_layer(r, why))
		return -1;
	if (o->slowest && r->conf.layer != LAYER_OPS)
		return reason_set(why, EXIT_USAGE, "--slowest shows whole operations, -T a layer");
	if (o->by && r->conf.layer == LAYER_BLK)
		return reason_set(why, EXIT_USAGE, "--by has no meaning with -T blk");
	r->conf.by = o->by;
	r->conf.queued = o->queued;
	r->conf.records = o->slowest;
	r->conf.stats = o->overhead;
	if (o->filters.fs)
		r->view.fs_filter = o->filters.fs;
	filters_text(&o->filters, r->looked_for, sizeof(r->looked_for));
	return 0;
}

/* Columns of the terminal, 0: not known, or less than the 80 that everything fits in. */
static int terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < 80)
		return 0;
	return size.ws_col < MAX_COLUMNS ? size.ws_col : MAX_COLUMNS;
}

static void view_fill(struct run *r)
{
	struct breakdown_view *v = &r->view;

	uname(&r->uts);
	v->layer = r->conf.layer;
	v->layer_name = r->opts.layer;
	v->by = r->opts.by;
	v->queued = r->opts.queued;
	v->milliseconds = r->opts.milliseconds;
	v->histograms = r->opts.histograms;
	v->width = terminal_width();
	v->color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	v->kernel = r->uts.release;
	v->looked_for = r->looked_for[0] ? r->looked_for : NULL;
	v->missing = session_missing(r->session);
	v->call_name = syscall_name;
}

/* Keeps the slowest operations, and raises the threshold once there are enough. */
static void on_record(void *arg, const struct op_record *rec)
{
	struct run *r = arg;
	size_t max = r->opts.slowest, i;
	char fs[FS_NAME_LEN];

	session_fs_name(r->session, rec->fs, fs);
	if (r->view.fs_filter && strcmp(fs, r->view.fs_filter))
		return;
	if (r->n_slowest == max && rec->total_ns <= r->slowest[max - 1].total_ns)
		return;
	if (r->n_slowest < max)
		r->n_slowest++;
	for (i = r->n_slowest - 1; i > 0 && r->slowest[i - 1].total_ns < rec->total_ns; i--)
		r->slowest[i] = r->slowest[i - 1];
	r->slowest[i] = *rec;
	if (r->n_slowest == max)
		session_set_slow_ns(r->session, r->slowest[max - 1].total_ns);
}

static bool anything_lost(const struct snapshot *sn)
{
	uint64_t sum = sn->missed;

	for (int i = 0; i < LOST_N; i++)
		sum += sn->lost[i];
	return sum;
}

static void say_refused(const struct run *r)
{
	const char *first;
	int n = session_refused(r->session, &first);

	if (n)
		fprintf(stderr, "warning: this kernel refuses %d of the programs (%s%s)\n"
				"hint: 'iostrata doctor --probes' tells which, and why\n",
			n, first, n > 1 ? " ..." : "");
}

static void say_module_gone(const struct run *r)
{
	const char *module = session_module_gone(r->session);
	char safe[128];

	if (!module)
		return;
	text_safe(safe, sizeof(safe), module);
	fprintf(stderr, "warning: module '%s' was unloaded; its file system is traced without its "
			"own layer\n", safe);
}

/* Prints what the last interval summed up. 0, or -1 with @why. */
static int report(struct run *r, struct reason *why)
{
	struct mounts mounts = {};
	struct snapshot sn;
	int err;

	session_tick(r->session);
	say_module_gone(r);
	if (session_snapshot(r->session, &sn, why))
		return -1;
	if (r->n_slowest && !mounts_read(&mounts))
		r->view.mounts = &mounts;
	err = (r->opts.json ? breakdown_json : breakdown_text)(
		stdout, &r->view, &sn, r->slowest, r->n_slowest);
	if (r->opts.strict && anything_lost(&sn) && !r->exit)
		r->exit = EXIT_INCOMPLETE;
	snapshot_free(&sn);
	mounts_free(&mounts);
	r->view.mounts = NULL;
	r->n_slowest = 0;
	session_set_slow_ns(r->session, 0);
	if (err)
		return reason_set(why, EXIT_FAILED, "cannot write the output: %s", strerror(-err));
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* True if a signal says that the run is over. */
static bool signals_end(struct run *r)
{
	struct signalfd_siginfo si;
	bool end = false;
	int status;

	while (read(r->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo != SIGCHLD) {
			end = true;
		} else if (r->has_child && waitpid(r->child.pid, &status, WNOHANG) > 0) {
			r->exit = child_exit_code(status);
			r->has_child = false;
			end = true;
		}
	}
	return end;
}

/* Waits until @until or something to do; true if the run is over. */
static bool wait_until(struct run *r, uint64_t until)
{
	struct pollfd fds[] = {
		{ .fd = r->signals, .events = POLLIN },
		{ .fd = r->pidfd, .events = POLLIN },
		{ .fd = session_poll_fd(r->session), .events = POLLIN },
	};
	uint64_t now = now_ns();
	int ms = until <= now ? 0 : until - now > TICK_MS * 1000000ULL ?
					TICK_MS : (int)((until - now + 999999) / 1000000);

	if (poll(fds, 3, ms) < 0 && errno != EINTR)
		return true;
	if (fds[0].revents && signals_end(r))
		return true;
	session_tick(r->session);
	say_module_gone(r);
	return fds[1].revents;
}

static int trace(struct run *r, struct reason *why)
{
	uint64_t start = now_ns(), next = start + r->opts.interval_ns, end = UINT64_MAX, until;
	uint64_t left = r->opts.count;

	if (r->opts.duration_ns)
		end = start + r->opts.duration_ns;
	if (!r->opts.interval_ns)
		next = UINT64_MAX;
	for (;;) {
		until = next < end ? next : end;
		if (wait_until(r, until) || now_ns() >= end)
			return report(r, why);
		if (now_ns() < next)
			continue;
		if (report(r, why))
			return -1;
		next += r->opts.interval_ns;
		if (left && !--left)
			return 0;
	}
}

static void say_tracing(const struct run *r)
{
	char safe[TEXT_SAFE_CAP(sizeof(r->looked_for))];

	text_safe(safe, sizeof(safe), r->looked_for);
	if (r->has_child)
		fprintf(stderr, "tracing the command%s%s\n", safe[0] ? ", " : "", safe);
	else
		fprintf(stderr, "tracing%s%s%s\n", safe[0] ? " " : "", safe,
			r->opts.duration_ns || r->opts.count ? "" : ", Ctrl-C ends");
}

/* Everything between the options and the exit code. */
static int run(struct run *r, char **command, struct reason *why)
{
	if (resolve(r, command, why))
		return -1;
	if (r->opts.slowest) {
		r->slowest = calloc(r->opts.slowest, sizeof(*r->slowest));
		if (!r->slowest)
			return reason_set(why, EXIT_FAILED, "out of memory");
	}
	r->signals = signals_open();
	r->conf.follow = command && !r->opts.filters.system;
	if (r->conf.pid)
		r->pidfd = syscall(SYS_pidfd_open, r->conf.pid, 0);
	if (session_open(&r->conf, &r->session, why))
		return -1;
	if (command && child_start(&r->child, command, why))
		return -1;
	r->has_child = command;
	view_fill(r);
	session_on_record(r->session, on_record, r);
	privilege_drop(); /* as far as the kernel allows */
	say_refused(r);
	say_tracing(r);
	if (r->has_child && child_release(&r->child, why)) {
		r->has_child = false;
		return -1;
	}
	return trace(r, why);
}

/* The options were not understood, but a command was to be run: its exit codes are not ours. */
static bool has_command(char **argv)
{
	while (*argv && strcmp(*argv, "--") != 0)
		argv++;
	return *argv && argv[1];
}

static int breakdown(int argc, char **argv)
{
	struct run r = { .signals = -1, .pidfd = -1 };
	struct reason why = {};
	struct opts_result res;
	int done = cmd_parse(&cmd_breakdown, argc, argv, &r.opts, &res);

	if (done >= 0)
		return done == EXIT_USAGE && has_command(argv) ? EXIT_TOOL : done;
	if (run(&r, res.command, &why)) {
		r.exit = cmd_fail(&why);
		if (res.command && r.exit < EXIT_TOOL)
			r.exit = EXIT_TOOL;
	}
	if (r.has_child && r.child.go >= 0)
		child_abandon(&r.child);
	session_close(r.session);
	free(r.slowest);
	return r.exit;
}

const struct cmd cmd_breakdown = { "breakdown", &table, breakdown };
