// SPDX-License-Identifier: GPL-2.0-only
/*
 * run.c - see run.h.
 *
 * Signals: after the first INT, TERM or HUP the run ends and the result is printed; with a command,
 * the run waits for that to end (it was interrupted, too). The second ends at once: the run if it
 * waits, else the process, which may be stuck in a write to a full pipe. So it is while a source
 * opens, too; then signals are as we got them, until the run begins. USR1 ends the runs that want
 * that, even if a command goes on.
 */
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/privilege.h"
#include "base/reason.h"
#include "base/text.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signo)
{
	(void)signo;
	interrupted = 1;
}

void interrupt_catch(void)
{
	static const int signals[] = { SIGINT, SIGTERM };
	struct sigaction act = { .sa_handler = on_interrupt, .sa_flags = SA_RESETHAND }, was;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &was) && was.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
}

bool interrupt_came(void)
{
	return interrupted;
}

/* The options of every command that traces, and of those that trace I/O; see run.h. */

const struct opt run_opts[] = {
	{ 'j', "json", OPT_FLAG(struct run, opts.json),
	  .help = "one JSON object per interval, times in ns" },
	{ 'D', "duration", OPT_DURATION(struct run, opts.duration_ns), .arg = "DUR", .min = 1,
	  .help = "end after this time; a command goes on" },
	{ 0, "strict", OPT_FLAG(struct run, opts.strict),
	  .help = "exit with 5 if anything was lost" },
	{ 0, "overhead", OPT_FLAG(struct run, opts.overhead),
	  .help = "let the kernel measure what tracing costs" },
	{},
};

const struct opt scope_opts[] = {
	{ 0, "all-files", OPT_FLAG(struct run, opts.filters.all_files),
	  .help = "pipes, sockets and terminals too" },
	{ 0, "all-faults", OPT_FLAG(struct run, opts.filters.all_faults),
	  .help = "page faults that found their page, as operations, too" },
	{ 0, "system", OPT_FLAG(struct run, opts.filters.system),
	  .help = "with -- CMD: everybody, not only the command" },
	{},
};

const struct opt run_args[] = {
	{ OPT_DURATION(struct run, opts.interval_ns), .arg = "INTERVAL", .min = 10000000,
	  .max = 1000000000000000000, .help = "print every so often (seconds)" },
	{ OPT_UINT(struct run, opts.count), .arg = "COUNT", .min = 1,
	  .help = "end after so many intervals; a command goes on" },
	{},
};

void run_say_refused(const struct run *r)
{
	const char *first;
	int n = session_refused(r->session, &first);

	if (n)
		cmd_say("warning: this kernel refuses %d of the programs (%s%s)", n, first,
			n > 1 ? " ..." : "");
	if (n)
		cmd_say("hint: 'iostrata doctor --probes' tells which, and why");
}

void run_say_module_gone(const struct run *r)
{
	const char *module = session_module_gone(r->session);
	char safe[128];

	if (!module)
		return;
	text_safe(safe, sizeof(safe), module);
	cmd_say("warning: module '%s' was unloaded; its file system is traced without its own "
		"layer",
		safe);
}

void run_say_kernel_threads(const struct run *r)
{
	const struct opt_uints *pids = &r->opts.filters.pids;

	for (unsigned int i = 0; i < pids->n; i++)
		if (filters_kernel_thread(pids->at[i]))
			cmd_say("warning: %llu is a kernel thread: it has requests, but makes no "
				"system calls",
				(unsigned long long)pids->at[i]);
}

void run_say_outsiders(const struct run *r)
{
	enum by_key by = r->conf.by;

	if (r->conf.follow || r->conf.lists.n_pids || pidns_is_first() ||
	    !(by == BY_PID || by == BY_TID || by == BY_TASK))
		return;
	cmd_say("warning: processes outside of this pid namespace have no ids here: all of them "
		"are 0, or nobody");
	cmd_say("hint: 'docker run --pid=host' tells them apart");
}

void run_say_of_ops(const char *of_ops)
{
	if (*of_ops)
		cmd_say("warning: requests are not chosen by %s", of_ops);
}

void run_say_attaching(size_t done, size_t all)
{
	enum { FEW = 16, STEP = 8, WIDTH = 40 };
	int stars = all ? done * WIDTH / all : WIDTH;

	if (all <= FEW || !isatty(STDERR_FILENO))
		return;
	if (done == all)
		fprintf(stderr, "\r\033[K");
	else if (done % STEP == 0)
		fprintf(stderr, "\rattaching [%.*s%*s] %zu/%zu", stars,
			"****************************************", WIDTH - stars, "", done, all);
	fflush(stderr);
}

void run_say_tracing(const struct run *r, bool interruptible)
{
	char safe[TEXT_SAFE_CAP(sizeof(r->looked_for))];

	text_safe(safe, sizeof(safe), r->looked_for);
	if (r->keyboard && !safe[0])
		return; /* the screen shows it */
	if (r->command)
		cmd_say("tracing the command%s%s", safe[0] ? ", " : "", safe);
	else
		cmd_say("tracing%s%s%s", safe[0] ? " " : "", safe,
			r->opts.duration_ns || r->opts.count || r->keyboard || !interruptible
				? ""
				: ", Ctrl-C ends");
}

void run_say_interval_reached(const struct run *r, uint64_t intervals, uint64_t took_ns)
{
	uint64_t each = intervals ? took_ns / intervals : 0;

	if (each > r->opts.interval_ns + r->opts.interval_ns / 4)
		cmd_say("warning: an interval took %s, not %s", text_ns(each).s,
			text_ns(r->opts.interval_ns).s);
}

void run_say_ended(const struct run *r)
{
	if (r->opts.filters.pids.n == 1)
		cmd_say("process %llu has ended", (unsigned long long)r->opts.filters.pids.at[0]);
	else
		cmd_say("the processes have ended");
}

void run_say_interrupted(int signo)
{
	/* the terminal echoes ^C at the cursor */
	if (signo == SIGINT && isatty(STDERR_FILENO))
		fprintf(stderr, "\n");
}

enum { TICK_NS = 500000000, SAME_SIGNAL_NS = 50000000, FDS_OF_RUN = 4, TOOL_NICE = -10 };

static const int end_signals[] = { SIGINT, SIGTERM, SIGHUP };

enum { END_SIGNALS_N = sizeof(end_signals) / sizeof(*end_signals) };

/* The signals' actions and the mask before the run set its own. */
static struct sigaction signals_before[NSIG];
static sigset_t mask_before;

/* Written by the handler: how many signals came, and the last. */
static volatile sig_atomic_t signals_n, signal_last;
/* SIGUSR1 came. */
static volatile sig_atomic_t usr1_came;
/* The run waits and will handle signals at once. */
static volatile sig_atomic_t run_waits;

/* timeout(1) sends its signal twice, to the process and to its group: both count as one. */
static void on_signal(int signo)
{
	static uint64_t last_ns;
	uint64_t now = clock_ns();

	if (now - last_ns < SAME_SIGNAL_NS)
		return;
	last_ns = now;
	signal_last = signo;
	if (signals_n++ == 0 || run_waits)
		return;
	sigaction(signo, &signals_before[signo], NULL);
	raise(signo); /* ends the process when this handler returns */
}

static void on_usr1(int signo)
{
	(void)signo;
	usr1_came = 1;
}

static void end_signals_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGUSR1);
	for (int i = 0; i < END_SIGNALS_N; i++)
		sigaddset(set, end_signals[i]);
}

/* Signals ignored when we were started stay ignored: HUP under nohup(1), INT in the background. */
static void signals_take(void)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	end_signals_set(&act.sa_mask);
	for (int i = 0; i < END_SIGNALS_N; i++) {
		struct sigaction *was = &signals_before[end_signals[i]];

		if (!sigaction(end_signals[i], NULL, was) && was->sa_handler != SIG_IGN)
			sigaction(end_signals[i], &act, NULL);
	}
	sigprocmask(SIG_UNBLOCK, &act.sa_mask, &mask_before);
}

static void signals_give_back(void)
{
	for (int i = 0; i < END_SIGNALS_N; i++)
		sigaction(end_signals[i], &signals_before[end_signals[i]], NULL);
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

bool run_interrupted(void)
{
	return signals_n > 0;
}

static bool is_ignored(int signo)
{
	struct sigaction now;

	return !sigaction(signo, NULL, &now) && now.sa_handler == SIG_IGN;
}

/* 584 years after boot stands for never. */
static uint64_t later(uint64_t ns, uint64_t by)
{
	return ns + by < ns ? UINT64_MAX : ns + by;
}

static int resolve(struct run *r, struct reason *why)
{
	const struct filters *f = &r->opts.filters;

	if (r->command && f->pids.n && !f->system)
		return reason_set(why, EXIT_USAGE, "-p and a command exclude one another");
	if (f->system && !r->command)
		return reason_set(why, EXIT_USAGE, "--system has no meaning without a command");
	if (f->all_faults && f->ops && !(f->ops & 1U << OP_FAULT))
		return reason_set(why, EXIT_USAGE, "--all-faults: --op leaves out page faults");
	if (pidns_check(why) || filters_resolve(f, &r->conf, why))
		return -1;
	r->conf.follow = r->command && !f->system;
	r->conf.stats = r->opts.overhead;
	filters_text(f, r->looked_for, sizeof(r->looked_for));
	filters_of_ops(f, r->of_ops, sizeof(r->of_ops));
	return r->ops->resolve ? r->ops->resolve(r, why) : 0;
}

/* True: the command is done. */
static bool tick(struct run *r)
{
	if (r->ops->source) {
		r->ops->source->tick(r);
	} else {
		session_tick(r->session);
		run_say_module_gone(r);
	}
	return r->ops->tick && r->ops->tick(r);
}

/* Shows what was seen since the last time. 0, or -1 with @why. */
static int report(struct run *r, struct reason *why)
{
	struct snapshot sn;
	int err;

	tick(r);
	if (r->ops->source)
		return r->ops->source->report(r, why);
	if (session_snapshot(r->session, &sn, why))
		return -1;
	snapshot_keep_fs(&sn, r->opts.filters.fs);
	snapshot_keep_ops(&sn, r->opts.filters.ops);
	if (r->opts.strict && lost_sum(sn.lost, sn.missed) && !r->exit)
		r->exit = EXIT_INCOMPLETE;
	err = r->no_reader ? 0 : r->ops->report(r, &sn);
	snapshot_free(&sn);
	r->no_reader |= err == -EPIPE;
	if (err && !r->no_reader)
		return reason_set(why, EXIT_FAILED, "cannot write the output: %s", strerror(-err));
	return 0;
}

/* Waits at most @ns for one of @fds or for a new signal. */
static void wait_for(struct run *r, struct pollfd *fds, int n, uint64_t ns)
{
	struct timespec time = { ns / 1000000000, ns % 1000000000 };
	sigset_t set, mask;

	end_signals_set(&set);
	sigprocmask(SIG_BLOCK, &set, &mask);
	run_waits = 1;
	if (signals_n != r->answered || usr1_came)
		time = (struct timespec){};
	ppoll(fds, n, &time, &mask);
	run_waits = 0;
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* True if a signal ends the run. */
static bool signals_end(struct run *r)
{
	if (usr1_came)
		return true;
	if (signals_n == r->answered)
		return false;
	r->answered = signals_n;
	if (!r->command) {
		run_say_interrupted(signal_last);
		return true;
	}
	if (r->answered == 1)
		return false; /* wait for the command to end */
	r->exit = 128 + signal_last;
	return true;
}

/* True if all processes of --pid have ended. */
static bool processes_end(struct run *r, const struct pollfd *fds)
{
	int left = 0;

	if (!r->conf.lists.n_pids)
		return false;
	for (int i = 0; i < r->n_pidfds; i++) {
		if (fds[i].revents)
			close(r->pidfds[i]);
		else
			r->pidfds[left++] = r->pidfds[i];
	}
	r->n_pidfds = left;
	if (!left)
		run_say_ended(r);
	return !left;
}

/* Waits until @until or until something happens. 0; 1: the run is over; -1 with @why. */
static int wait_until(struct run *r, uint64_t until, struct reason *why)
{
	struct pollfd fds[FDS_OF_RUN + MAX_PIDS] = {
		{ .fd = r->session ? session_poll_fd(r->session) : -1, .events = POLLIN },
		{ .fd = r->child.failed, .events = POLLIN },
		{ .fd = r->child.ended, .events = POLLIN },
		{ .fd = r->keyboard ? STDIN_FILENO : -1, .events = POLLIN },
	};
	uint64_t now = clock_ns(), ns = until < now ? 0 : until - now;
	uint64_t most = r->tick_ns ? r->tick_ns : TICK_NS;

	for (int i = 0; i < r->n_pidfds; i++)
		fds[FDS_OF_RUN + i] = (struct pollfd){ .fd = r->pidfds[i], .events = POLLIN };
	wait_for(r, fds, FDS_OF_RUN + r->n_pidfds, ns < most ? ns : most);
	if (fds[1].revents && child_executed(&r->child, why))
		return -1;
	if (fds[2].revents) {
		r->exit = child_reap(&r->child, r->exit); /* of an interval with losses */
		return 1;
	}
	/* the last condition: the terminal is gone */
	if (signals_end(r) || processes_end(r, fds + FDS_OF_RUN) || fds[3].revents & ~POLLIN)
		return 1;
	return tick(r);
}

/* End of the interval that began at @begin; intervals that have passed already are skipped. */
static uint64_t interval_end(const struct run *r, uint64_t begin, uint64_t now)
{
	uint64_t interval = r->opts.interval_ns;

	return later(begin, ((now - begin) / interval + 1) * interval);
}

static int trace(struct run *r, struct reason *why)
{
	uint64_t start = clock_ns(), end = UINT64_MAX, next = UINT64_MAX;
	uint64_t begun = start, reached = start, intervals = 0;
	int over;

	if (r->opts.duration_ns)
		end = later(start, r->opts.duration_ns);
	for (;;) {
		if (r->opts.interval_ns) /* a key may have changed it */
			next = interval_end(r, begun, begun);
		over = wait_until(r, next < end ? next : end, why);
		if (over < 0)
			return -1;
		over = over || clock_ns() >= end;
		if (!over && clock_ns() < next)
			continue;
		if (report(r, why))
			return -1;
		if (over || (r->no_reader && !r->command))
			break;
		reached = clock_ns();
		if (++intervals == r->opts.count)
			break;
		begun = interval_end(r, next, reached) - r->opts.interval_ns;
	}
	if (!r->keyboard)
		run_say_interval_reached(r, intervals, reached - start);
	return 0;
}

/* Opens pidfds to see the processes end; there is none for one that has ended already. */
static int processes_open(struct run *r, struct reason *why)
{
	const struct filter_lists *lists = &r->conf.lists;
	int fd;

	for (unsigned int i = 0; i < lists->n_pids; i++) {
		fd = syscall(SYS_pidfd_open, lists->pids[i], 0);
		if (fd >= 0)
			r->pidfds[r->n_pidfds++] = fd;
		else if (errno != ESRCH)
			return reason_set(why, EXIT_FAILED, "cannot watch process %u: %s",
					  lists->pids[i], strerror(errno));
	}
	return 0;
}

static int source_open(struct run *r, struct reason *why)
{
	int err;

	signals_take();
	err = r->ops->source->open(r, why);
	signals_give_back();
	return err || !run_interrupted()
		       ? err
		       : reason_set(why, EXIT_FAILED, "interrupted before anything was traced");
}

/* The command is forked before we change anything that it would inherit, and released last. */
static int start(struct run *r, struct reason *why)
{
	sigset_t set;

	rlimits_raise(&r->child.limits);
	/* otherwise the command's output would be mixed with output for a program */
	r->child.output_to_stderr = (r->opts.json || r->stdout_taken) && !r->own_stdout;
	if (r->command && child_prepare(&r->child, r->command[0], why))
		return -1;
	if (processes_open(r, why))
		return -1;
	if (r->ops->source ? source_open(r, why) : session_open(&r->conf, &r->session, why))
		return -1;
	if (r->command && child_start(&r->child, r->command, why))
		return -1;
	/* rows must be drained before they are full, however busy the machine is; the command is
	 * forked already. If this fails, only the priority is missing. */
	setpriority(PRIO_PROCESS, 0, TOOL_NICE);
	tzset(); /* reads a file, which privilege_drop() forbids */
	end_signals_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL); /* or files of the run would be left behind */
	if (r->ops->start && r->ops->start(r, why))
		return -1;
	if (privilege_drop(r->conf.by == BY_CGROUP || r->conf.by == BY_TASK, why))
		cmd_warn(why);
	if (r->usr1_ends)
		signal(SIGUSR1, on_usr1);
	signals_take();           /* after the screen, which has handlers of its own */
	signal(SIGCHLD, SIG_DFL); /* ignored, the command's status would be lost */
	if (r->session)
		run_say_refused(r);
	run_say_kernel_threads(r);
	run_say_outsiders(r);
	run_say_tracing(r, !is_ignored(SIGINT));
	if (r->command)
		child_release(&r->child);
	return 0;
}

/* What is slow to detach is detached behind the prompt. */
static void session_end(struct session *s)
{
	int hold = session_is_slow_to_close(s) ? child_hold_open() : -1;

	session_close(s);
	child_let_go(hold);
}

/* The options are wrong, but a command was to be run: its exit codes are not ours to use. */
static bool command_given(char **argv)
{
	while (*argv && strcmp(*argv, "--") != 0)
		argv++;
	return *argv && argv[1];
}

int run_main(struct run *r, const struct run_ops *ops, const struct cmd *cmd, int argc, char **argv)
{
	struct reason why = {};
	struct opts_result res;
	int done = cmd_parse(cmd, argc, argv, r, &res);

	if (done >= 0)
		return done == EXIT_USAGE && command_given(argv) ? EXIT_TOOL : done;
	r->ops = ops;
	r->command = res.command;
	r->rest = res.rest;
	r->n_rest = res.n_rest;
	r->child = (struct child)CHILD_NONE;
	done = resolve(r, &why);
	if (done < 0 || (!done && (start(r, &why) || trace(r, &why)))) {
		r->exit = cmd_fail(&why);
		if (r->command && r->exit < EXIT_TOOL)
			r->exit = EXIT_TOOL;
	}
	child_done(&r->child);
	for (int i = 0; i < r->n_pidfds; i++)
		close(r->pidfds[i]);
	session_end(r->session);
	if (ops->source)
		ops->source->close(r);
	return r->exit;
}
