// SPDX-License-Identifier: GPL-2.0-only
/*
 * run.c - the loop of tracing commands. Knows sources and commands by their functions alone.
 *
 * Signals: the first INT, TERM or HUP ends the run, and its result is printed. With a command, the
 * run waits for the command to end (the terminal interrupts the command, too). The second signal
 * ends the run at once if the run waits. Else it ends the process, since that may be stuck in a
 * write to a full pipe. A source with .open_sees_signals opens under the same rules; after that,
 * signals have their former actions until the run begins. USR1 ends the runs with .usr1_ends, even
 * if a command goes on, and asks the runs with .usr1_asks for something.
 */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/names.h"
#include "base/reason.h"
#include "base/text.h"
#include "host/pidns.h"
#include "host/privilege.h"
#include "host/rlimits.h"

const struct opt run_opts[] = {
	{ 'j', "json", OPT_FLAG(struct run, opts.json),
	  .help = "one JSON object per interval, times in ns" },
	{ 'D', "duration", OPT_DURATION(struct run, opts.duration_ns), .arg = "DUR", .min = 1,
	  .help = "end after this time; a command goes on running" },
	{ 0, "strict", OPT_FLAG(struct run, opts.strict),
	  .help = "exit with code 5 if anything was lost" },
	{ 0, "strict-but", OPT_CHOICES(struct run, opts.strict_but, lost_choices), .arg = "LOSSES",
	  .help = STRICT_BUT_HELP },
	{ 0, "overhead", OPT_FLAG(struct run, opts.overhead),
	  .help = "let the kernel measure the cost of tracing" },
	{},
};

const struct opt scope_opts[] = {
	{ 0, "system", OPT_FLAG(struct run, opts.filters.system),
	  .help = "with -- CMD: trace all processes, not only the command" },
	{ 0, "all-files", OPT_FLAG(struct run, opts.filters.all_files),
	  .help = "also trace pipes, sockets and terminals" },
	{ 0, "all-faults", OPT_FLAG(struct run, opts.filters.all_faults),
	  .help = "also count minor page faults as operations" },
	{ 0, "op-requests", OPT_FLAG(struct run, opts.filters.op_requests),
	  .help = "with --op: only requests that threads submitted in these operations" },
	{ 0, "children", OPT_FLAG(struct run, opts.filters.children),
	  .help = "with -p: also trace all descendants of these processes, including later ones" },
	{},
};

const struct opt run_args[] = {
	{ OPT_DURATION(struct run, opts.interval_ns), .arg = "INTERVAL", .min = 10000000,
	  .max = 1000000000000000000,
	  .help = "print after each interval of this length (seconds)" },
	{ OPT_UINT(struct run, opts.count), .arg = "COUNT", .min = 1,
	  .help = "end after this many intervals; a command goes on running" },
	{},
};

void run_say_of_ops(const char *of_ops)
{
	if (*of_ops)
		cmd_say("warning: only operations are filtered by %s", of_ops);
}

static void say_tracing(const struct run *r)
{
	char safe[TEXT_SAFE_CAP(sizeof(r->looked_for))];
	bool ends = r->opts.duration_ns || r->opts.count || r->keyboard;

	text_safe(safe, sizeof(safe), r->looked_for);
	if (r->keyboard && !safe[0])
		return; /* the screen shows it */
	if (r->command)
		cmd_say("tracing the command%s%s", safe[0] ? ", " : "", safe);
	else
		cmd_say("tracing%s%s%s", safe[0] ? " " : "", safe, ends ? "" : ", Ctrl-C ends");
}

/* Intervals are longer than requested if reports are slow: each waits until all programs in
 * progress have ended, some 10 ms or more. */
static void say_interval_reached(const struct run *r, uint64_t intervals, uint64_t took_ns)
{
	uint64_t each = intervals ? took_ns / intervals : 0;

	if (each > r->opts.interval_ns + r->opts.interval_ns / 4)
		cmd_say("warning: an interval took %s, not %s", text_ns(each).s,
			text_ns(r->opts.interval_ns).s);
}

static void say_ended(const struct run *r)
{
	if (r->opts.filters.pids.n == 1)
		cmd_say("process %llu has ended", (unsigned long long)r->opts.filters.pids.at[0]);
	else
		cmd_say("the processes have ended");
}

/* The terminal echoes ^C at the cursor. */
static void say_interrupted(int signo)
{
	if (signo == SIGINT && isatty(STDERR_FILENO))
		fprintf(stderr, "\n");
}

enum { BEAT_NS = 500000000, SAME_SIGNAL_NS = 50000000, FDS_OF_RUN = 4, TOOL_NICE = -10 };

static const int end_signals[] = { SIGINT, SIGTERM, SIGHUP };

enum { END_SIGNALS_N = sizeof(end_signals) / sizeof(*end_signals) };

/* The signals' actions and the mask before the run set its own. */
static struct sigaction signals_before[NSIG];
static sigset_t mask_before;

/* Written by the handler: the number of signals, and the last signal. */
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
	if (signals_before[signo].sa_handler == SIG_IGN)
		signal(signo, SIG_DFL);
	else
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

/* A SIGHUP ignored by our parent stays ignored, as nohup(1) wants. SIGINT ends a run always: a
 * shell ignores SIGINT for every job in the background of a script, and scripts end tracers by
 * SIGINT. */
static void signals_take(void)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	end_signals_set(&act.sa_mask);
	for (int i = 0; i < END_SIGNALS_N; i++) {
		struct sigaction *was = &signals_before[end_signals[i]];

		if (!sigaction(end_signals[i], NULL, was) &&
		    (was->sa_handler != SIG_IGN || end_signals[i] != SIGHUP))
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

bool run_asked(void)
{
	bool came = usr1_came;

	usr1_came = 0;
	return came;
}

/* 584 years after boot stands for never. */
static uint64_t later(uint64_t ns, uint64_t by)
{
	return ns + by < ns ? UINT64_MAX : ns + by;
}

static int resolve(struct run *r, struct reason *why)
{
	struct filters *f = &r->opts.filters;

	if (r->command && f->pids.n && !f->system)
		return reason_set(why, EXIT_USAGE, "-p and a command exclude one another");
	if (f->system && !r->command)
		return reason_set(why, EXIT_USAGE, "--system has no meaning without a command");
	if (f->children && !f->pids.n)
		return reason_set(why, EXIT_USAGE, "--children has no meaning without -p");
	if (filters_ops(f, why) || pidns_check(why) || filters_resolve(f, &r->lists, why))
		return -1;
	r->follow = r->command && !f->system;
	filters_text(f, r->looked_for, sizeof(r->looked_for));
	return r->ops->resolve ? r->ops->resolve(r, why) : 0;
}

/* Returns true if the run is over. */
static bool beat(struct run *r)
{
	r->ops->source->beat(r);
	return r->ops->beat && r->ops->beat(r);
}

/* Prints the results since the last call. Returns 0, or -1 with @why. */
static int report(struct run *r, struct reason *why)
{
	beat(r);
	return r->ops->source->report(r, why);
}

void run_count_lost(struct run *r, uint64_t lost)
{
	if ((r->opts.strict || r->opts.strict_but) && lost && !r->exit)
		r->exit = EXIT_INCOMPLETE;
}

int run_written(struct run *r, int err, struct reason *why)
{
	r->no_reader |= err == -EPIPE;
	if (err && !r->no_reader)
		return reason_set(why, EXIT_FAILED, "cannot write the output: %s", strerror(-err));
	return 0;
}

/* Waits for one of @fds or for a new signal, at most @ns. */
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
	if (usr1_came && r->usr1_ends)
		return true;
	if (signals_n == r->answered)
		return false;
	r->answered = signals_n;
	if (!r->command) {
		say_interrupted(signal_last);
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

	if (!r->lists.n_pids)
		return false;
	for (int i = 0; i < r->n_pidfds; i++) {
		if (fds[i].revents)
			close(r->pidfds[i]);
		else
			r->pidfds[left++] = r->pidfds[i];
	}
	r->n_pidfds = left;
	if (!left)
		say_ended(r);
	return !left;
}

static int source_poll_fd(struct run *r)
{
	return r->ops->source->poll_fd ? r->ops->source->poll_fd(r) : -1;
}

/* Waits until @until or until an event comes. 0; 1: the run is over; -1 with @why. */
static int wait_until(struct run *r, uint64_t until, struct reason *why)
{
	struct pollfd fds[FDS_OF_RUN + MAX_PIDS] = {
		{ .fd = source_poll_fd(r), .events = POLLIN },
		{ .fd = r->child.failed, .events = POLLIN },
		{ .fd = r->child.ended, .events = POLLIN },
		{ .fd = r->keyboard ? STDIN_FILENO : -1, .events = POLLIN },
	};
	uint64_t now = clock_ns(), ns = until < now ? 0 : until - now;
	uint64_t most = r->beat_ns ? r->beat_ns : BEAT_NS;

	for (int i = 0; i < r->n_pidfds; i++)
		fds[FDS_OF_RUN + i] = (struct pollfd){ .fd = r->pidfds[i], .events = POLLIN };
	wait_for(r, fds, FDS_OF_RUN + r->n_pidfds, ns < most ? ns : most);
	if (fds[1].revents && child_executed(&r->child, why))
		return -1;
	if (fds[2].revents) {
		/* with --strict, .exit may be set by an interval with losses */
		r->exit = child_reap(&r->child, r->exit);
		return 1;
	}
	/* an event other than POLLIN on the keyboard: the terminal is gone */
	if (signals_end(r) || processes_end(r, fds + FDS_OF_RUN) || fds[3].revents & ~POLLIN)
		return 1;
	return beat(r);
}

/* End of the interval that contains @now. The first interval began at @begin. */
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
		if (r->opts.interval_ns) /* a key press may have changed it */
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
		say_interval_reached(r, intervals, reached - start);
	return 0;
}

/* Opens pidfds: they tell the end of processes. A process that has ended already gets none. */
static int processes_open(struct run *r, struct reason *why)
{
	const struct filter_lists *lists = &r->lists;
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
	const struct run_source *source = r->ops->source;
	int err;

	if (!source->open_sees_signals)
		return source->open(r, why);
	signals_take();
	err = source->open(r, why);
	signals_give_back();
	if (!err && run_interrupted())
		return reason_set(why, EXIT_FAILED, "interrupted before anything was traced");
	return err;
}

/*
 * Keeps the tool's output and the command's apart. With data for a program, the command's output
 * goes to stderr. With tables, stdout is the command's if a file or pipe gets it, and the tables go
 * to stderr, as with perf stat. The stream is a second one on stderr, since stderr has no buffer.
 * Returns 0, or -1 with @why.
 */
static int outputs_choose(struct run *r, struct reason *why)
{
	int fd;

	r->out = stdout;
	r->child.output_to_stderr = (r->opts.json || r->stdout_taken) && !r->own_stdout;
	if (!r->command || r->own_stdout || r->child.output_to_stderr || isatty(STDOUT_FILENO))
		return 0;
	fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	r->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!r->out)
		return reason_set(why, EXIT_FAILED, "cannot print to the standard error: %s",
				  strerror(errno));
	return 0;
}

/* Forks the command, and opens the source: the probes are live. */
static int prepare(struct run *r, struct reason *why)
{
	rlimits_raise(&r->child.limits);
	if (outputs_choose(r, why))
		return -1;
	if (r->command && child_prepare(&r->child, r->command[0], why))
		return -1;
	if (processes_open(r, why) || source_open(r, why))
		return -1;
	return r->command ? child_start(&r->child, r->command, why) : 0;
}

/* The command is forked before the tool changes its own signals and priority, and is released last.
 */
static int start(struct run *r, struct reason *why)
{
	const struct run_ops *ops = r->ops;
	sigset_t set;

	if (prepare(r, why))
		return -1;
	/* rows must be drained before they are full, even on a busy machine; without this priority
	 * the run only loses more */
	setpriority(PRIO_PROCESS, 0, TOOL_NICE);
	tzset(); /* reads a file: privilege_drop() forbids this */
	end_signals_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL); /* a signal now would leave files of the run behind */
	if (ops->start && ops->start(r, why))
		return -1;
	if (privilege_drop(r->names_cgroups, why))
		cmd_warn(why);
	if (r->usr1_ends || r->usr1_asks)
		signal(SIGUSR1, on_usr1);
	signals_take();           /* after the screen: it sets handlers, too */
	signal(SIGCHLD, SIG_DFL); /* if ignored, the command's status would be lost */
	if (ops->source->say)
		ops->source->say(r);
	say_tracing(r);
	if (r->command)
		child_release(&r->child);
	return 0;
}

/* With a command in @argv, wrong options give EXIT_TOOL: smaller exit codes are the command's. */
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
	ops->source->close(r);
	if (r->out && r->out != stdout)
		fclose(r->out);
	return r->exit;
}

/* Commands without a run can be interrupted, too. */

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

bool keyboard_wait(unsigned int ms)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&fd, 1, ms) <= 0 || !(fd.revents & ~POLLIN);
}
