// SPDX-License-Identifier: GPL-2.0-only
#include "run_say.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/privilege.h"
#include "base/text.h"

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
		"layer", safe);
}

void run_say_kernel_threads(const struct run *r)
{
	const struct opt_uints *pids = &r->opts.filters.pids;

	for (unsigned int i = 0; i < pids->n; i++)
		if (filters_kernel_thread(pids->at[i]))
			cmd_say("warning: %llu is a kernel thread: it has requests, but makes no "
				"system calls", (unsigned long long)pids->at[i]);
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
			r->opts.duration_ns || r->opts.count || r->keyboard || !interruptible ? "" :
									 ", Ctrl-C ends");
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
		cmd_say("process %llu has ended",
			(unsigned long long)r->opts.filters.pids.at[0]);
	else
		cmd_say("the processes have ended");
}

void run_say_interrupted(int signo)
{
	/* the terminal echoes ^C at the cursor */
	if (signo == SIGINT && isatty(STDERR_FILENO))
		fprintf(stderr, "\n");
}
