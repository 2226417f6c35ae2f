// SPDX-License-Identifier: GPL-2.0-only
#include "run/io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "base/reason.h"
#include "base/text.h"
#include "cell.h"
#include "host/pidns.h"
#include "host/processes.h"
#include "run/stack_deputy.h"

static struct io_run *io_of(struct run *r)
{
	return (struct io_run *)r; /* its first member */
}

/* Adds the options of the run to the command's configuration. */
static void conf_fill(struct io_run *io)
{
	const struct filters *f = &io->run.opts.filters;
	struct session_conf *conf = &io->conf;

	conf->lists = io->run.lists;
	conf->file_names = f->files.at;
	conf->min_ns = f->min_ns;
	conf->kinds = f->ops ? f->ops : ~0U;
	conf->only = f->only;
	conf->all_files = f->all_files;
	conf->all_faults = f->all_faults;
	conf->op_requests = f->op_requests;
	conf->follow = io->run.follow;
	conf->children = f->children;
	conf->stats = io->run.opts.overhead;
}

/* Counts the processes below those of --pid, without the tool: those that --children would
 * trace. */
static void children_count(struct io_run *io)
{
	const struct filter_lists *lists = &io->conf.lists;
	struct processes all, below;

	if (!lists->n_pids || io->conf.children || processes_read(&all))
		return;
	if (!processes_below(&all, lists->pids, lists->n_pids, &below)) {
		for (size_t i = 0; i < below.n; i++)
			io->children += below.list[i].pid != (unsigned int)getpid();
		processes_free(&below);
	}
	for (size_t i = 0; i < all.n && lists->n_pids == 1; i++)
		if (all.list[i].pid == lists->pids[0])
			io->had_children = all.list[i].had_children;
	processes_free(&all);
}

/* A file with an operation that passed the filters; by its key of rows. */
struct chosen_file {
	unsigned long long by[2];
	UT_hash_handle hh;
};

/* Whether --file chooses requests: where they are counted by file, no record of each is sent, and
 * there is one table. An interval may have the requests of an operation that ends in a later one.
 */
static bool chooses_files(const struct io_run *io)
{
	return io->conf.by == BY_FILE && io->run.lists.n_files && !io->conf.sent_requests &&
	       !io->run.opts.interval_ns;
}

static struct chosen_file *chosen_find(const struct io_run *io, const unsigned long long by[2])
{
	struct chosen_file *f;

	HASH_FIND(hh, io->files, by, sizeof(f->by), f);
	return f;
}

/* Returns 0 or -ENOMEM. */
static int chosen_add(struct io_run *io, const unsigned long long by[2])
{
	struct chosen_file *f;

	if (!by[1] || chosen_find(io, by))
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	memcpy(f->by, by, sizeof(f->by));
	HASH_ADD(hh, io->files, by, sizeof(f->by), f);
	return 0;
}

static void chosen_free(struct io_run *io)
{
	struct chosen_file *f, *next;

	HASH_ITER (hh, io->files, f, next) {
		HASH_DEL(io->files, f);
		free(f);
	}
}

/* Whether --file names the file of a row of requests, or an operation of this run was on it. */
static bool is_of_chosen(const void *ctx, const struct rq_key *key)
{
	const struct io_run *io = ctx;
	const struct filter_lists *lists = &io->run.lists;

	for (unsigned int i = 0; i < lists->n_files; i++)
		if (lists->files[i].ino == key->by[1] &&
		    lists->files[i].dev == FILE_KEY_DEV(key->by[0]))
			return true;
	return chosen_find(io, key->by);
}

/* Drops requests for files that --file does not choose. Programs know the path of a file only from
 * its operations. Returns 0 or -ENOMEM. */
static int files_choose(struct io_run *io, struct snapshot *sn)
{
	int err = 0;

	if (!chooses_files(io))
		return 0;
	for (size_t i = 0; i < sn->n_ops && !err; i++)
		err = chosen_add(io, sn->ops[i].key.by);
	snapshot_keep_rqs(sn, is_of_chosen, io);
	return err;
}

static int stacks_start(struct io_run *io, struct reason *why)
{
	const struct filter_lists *lists = &io->conf.lists;

	const struct stack_begin begin = { lists->pids, lists->n_pids,
					   io->run.command ? io->run.command[0] : NULL };

	io->stack_conf.fs = &io->run.opts.filters.fs;
	return stack_run_start(&io->stack_conf, &begin, &io->stacks, why);
}

/* Tables are there before the first stack is taken. */
static int stacks_open(struct session *s, void *arg, struct reason *why)
{
	struct io_run *io = arg;

	return stack_run_open(io->stacks, s, why);
}

static int open_session(struct run *r, struct reason *why)
{
	struct io_run *io = io_of(r);

	if (filters_check_live(&r->opts.filters, why))
		return -1;
	conf_fill(io);
	filters_of_ops(&r->opts.filters, chooses_files(io), io->of_ops, sizeof(io->of_ops));
	r->names_cgroups = io->conf.by == BY_CGROUP || io->conf.by == BY_THREAD ||
			   io->conf.sent_ops || io->conf.sent_requests;
	if (io->conf.stacks && stacks_start(io, why))
		return -1;
	io->conf.prepare = io->stacks ? stacks_open : NULL;
	io->conf.prepare_arg = io;
	children_count(io); /* before privileges are dropped: reading /proc needs them */
	if (session_open(&io->conf, &io->session, why))
		return -1;
	machine_meter_open(&io->meter);
	diskstats_open(&io->diskstats);
	return 0;
}

static void say_refused(const struct io_run *io)
{
	const char *first;
	int n = session_refused(io->session, &first);

	if (!n)
		return;
	cmd_say("warning: this kernel refuses %d of the programs (%s%s)", n, first,
		n > 1 ? " ..." : "");
	cmd_say("hint: 'iostrata doctor --probes' lists them, with the reasons");
}

static void say_kernel_threads(const struct io_run *io)
{
	const struct filter_lists *lists = &io->conf.lists;

	for (unsigned int i = 0; i < lists->n_pids; i++)
		if (filters_kernel_thread(lists->pids[i]))
			cmd_say("warning: %u is a kernel thread: it has requests, but makes no "
				"system calls",
				lists->pids[i]);
}

/* A server's first process often leaves all I/O to its children. */
static void say_children(const struct io_run *io)
{
	const struct filter_lists *lists = &io->conf.lists;
	char who[32] = "the processes have";

	if (io->run.keyboard)
		return;
	if (!io->children && io->had_children)
		cmd_say("process %u had children, which have ended: --children traces new ones",
			lists->pids[0]);
	if (!io->children)
		return;
	if (lists->n_pids == 1)
		snprintf(who, sizeof(who), "process %u has", lists->pids[0]);
	cmd_say("%s %s child%s that %s not traced: --children traces %s", who,
		text_count(io->children).s, io->children == 1 ? "" : "ren",
		io->children == 1 ? "is" : "are", io->children == 1 ? "it" : "them");
}

/* Rows by process or thread have all processes outside of this pid namespace in one. */
static void say_outsiders(const struct io_run *io)
{
	enum by_key by = io->conf.by;

	if (io->conf.follow || io->conf.lists.n_pids || pidns_is_first() ||
	    !(by == BY_PID || by == BY_TID || by == BY_THREAD))
		return;
	cmd_say("warning: processes outside this pid namespace have no ids here: all of them are "
		"shown as 0, or as nobody");
	cmd_say("hint: 'docker run --pid=host' gives each its id");
}

static void say(struct run *r)
{
	const struct io_run *io = io_of(r);

	say_refused(io);
	say_kernel_threads(io);
	say_children(io);
	say_outsiders(io);
}

static int poll_fd(struct run *r)
{
	return session_poll_fd(io_of(r)->session);
}

static void beat(struct run *r)
{
	const char *module;
	char safe[128];

	session_beat(io_of(r)->session);
	if (io_of(r)->stacks)
		stack_run_beat(io_of(r)->stacks);
	module = session_module_gone(io_of(r)->session);
	if (!module)
		return;
	text_safe(safe, sizeof(safe), module);
	cmd_say("warning: module '%s' was unloaded; its file system is traced without its own "
		"layer",
		safe);
}

static int report(struct run *r, struct reason *why)
{
	struct io_run *io = io_of(r);
	struct snapshot sn;
	int err;

	if (session_snapshot(io->session, &sn, why))
		return -1;
	machine_meter_interval(&io->meter, &sn.machine);
	diskstats_interval(&io->diskstats, &sn);
	if ((io->stacks && stack_run_take(io->stacks, &sn)) || files_choose(io, &sn)) {
		snapshot_free(&sn);
		return reason_no_memory(why);
	}
	snapshot_keep_fs(&sn, &r->opts.filters.fs);
	snapshot_keep_ops(&sn, r->opts.filters.ops);
	run_count_lost(r, lost_sum_but(sn.lost, sn.missed, r->opts.strict_but));
	err = r->no_reader ? 0 : io->report(r, &sn);
	snapshot_free(&sn);
	return run_written(r, err, why);
}

/* Slow detaching goes on in another process, so the prompt need not wait. */
static void close_session(struct run *r)
{
	struct session *s = io_of(r)->session;
	int hold = session_is_slow_to_close(s) ? child_hold_open() : -1;

	session_close(s);
	stack_run_end(io_of(r)->stacks);
	chosen_free(io_of(r));
	machine_meter_done(&io_of(r)->meter);
	diskstats_done(&io_of(r)->diskstats);
	child_let_go(hold);
}

const struct run_source io_source = {
	.open = open_session,
	.say = say,
	.poll_fd = poll_fd,
	.beat = beat,
	.report = report,
	.close = close_session,
};
