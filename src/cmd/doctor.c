// SPDX-License-Identifier: GPL-2.0-only
/*
 * doctor.c - tells which features work on this kernel, and for the others why not and how to get
 * them. The measuring is done in trace/: feature.h, plan.h and trials.h.
 */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/json.h"
#include "base/protocols.h"
#include "base/reason.h"
#include "base/schema.h"
#include "base/text.h"
#include "host/privilege.h"
#include "host/rlimits.h"
#include "run/cmd.h"
#include "trace/feature.h"
#include "trace/feature_types.h"
#include "trace/first_process.h"
#include "trace/plan.h"
#include "trace/session.h"
#include "trace/trials.h"

struct doctor_opts {
	bool probes, json;
};

static const struct opt doctor_opts[] = {
	{ 0, "probes", OPT_FLAG(struct doctor_opts, probes),
	  .help = "try every program: print its hook, its size and whether it loads here" },
	{ 'j', "json", OPT_FLAG(struct doctor_opts, json), .help = "one JSON object" },
	{},
};

static const struct opt_group groups[] = { { "Options", doctor_opts, 0 }, {} };

static const struct opt_example examples[] = {
	{ "iostrata doctor", "the features of this kernel, with advice for missing ones" },
	{ "iostrata doctor --probes", "also every single program" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata doctor",
	.summary = "features of this kernel; what is missing and why",
	.about = "Looks at the running kernel and tries the features that the other commands need. "
		 "Exit code 0: operations can be traced; 3: this kernel cannot trace them; 4: no "
		 "permission.",
	.groups = groups,
	.examples = examples,
};

/* One line of the report. */
struct finding {
	const char *what;
	const char *label; /* for text; "yes" must be the good answer */
	bool works;
	const char *how;    /* its means, or why it does not work; one sentence */
	const char *advice; /* how to make it work, or NULL */
};

struct findings {
	struct finding at[64]; /* add() drops what has no place here */
	int n;
	bool for_root; /* the user may not trace: root would find the same */
};

static void add(struct findings *l, const char *what, bool works, const char *how,
		const char *advice)
{
	if (l->n < (int)(sizeof(l->at) / sizeof(*l->at)))
		l->at[l->n++] = (struct finding){ what, what, works, how, works ? NULL : advice };
}

/* An ability made of tracepoints in the plan. It works if each of its programs with .without has
 * its hook. */
static void add_ability(struct findings *l, const struct plan *plan, const char *what, enum ask ask,
			const char *how)
{
	const char *why;

	for (const struct program *row = programs; row < programs + programs_n; row++) {
		why = plan_why_not(plan, row);
		if (!(row->asks & ask) || !row->without || !why || !plan_is_for(plan, row))
			continue;
		add(l, what, false, row->target, why);
		return;
	}
	add(l, what, true, how, NULL);
}

/* A minor ability that depends on a single program. */
static void add_program(struct findings *l, const struct plan *plan, const char *what,
			const char *target)
{
	for (const struct program *row = programs; row < programs + programs_n; row++) {
		const char *why = plan_why_not(plan, row);

		if (strcmp(row->target, target) || !plan_is_for(plan, row) || !why)
			continue;
		add(l, what, false, why, NULL);
		return;
	}
	add(l, what, true, target, NULL);
}

/* The hooks of requests to servers of a protocol. */
static void add_server(struct findings *l, const struct plan *plan, const struct protocol *p)
{
	for (const struct program *row = programs; row < programs + programs_n; row++) {
		const char *why = plan_why_not(plan, row);

		if (!row->module || strcmp(row->module, p->module) || !plan_is_for(plan, row) ||
		    !why)
			continue;
		if (row->hook == HOOK_FEXIT)
			continue; /* it only tells that no more threads are woken */
		add(l, p->title, false, why, "its waits for the server are in sleep");
		return;
	}
	add(l, p->title, true, p->hooks, NULL);
}

/* Clients and daemons of all protocols, then servers in the kernel. */
static void add_servers(struct findings *l, const struct plan *plan)
{
	for (const struct protocol *p = protocols; p < protocols + SERVER_PROTOCOLS; p++) {
		add_server(l, plan, p);
		if (p->answer_hook)
			add_program(l, plan, p->daemon, p->answer_hook);
	}
	for (const struct protocol *p = protocols; p < protocols + SERVER_PROTOCOLS; p++)
		if (p->served_hook)
			add_program(l, plan, p->server, p->served_hook);
}

static const char *why_no_aio(const struct feature *f)
{
	return f->func ? "this kernel has its functions inlined" : f->no_functions;
}

static void add_layers(struct findings *l, const struct plan *plan, struct feature *f)
{
	const char *func = f->func == FUNC_FENTRY ? "fentry and fexit" : "kprobe and kretprobe";
	const char *advice = "use a kernel with CONFIG_KPROBES and CONFIG_FUNCTION_TRACER";

	add_ability(l, plan, "syscall", ASK_CALLS, "tracepoints sys_enter and sys_exit");
	add(l, "vfs", f->func, f->func ? func : f->no_functions, advice);
	add(l, "file systems", f->func, f->func ? func : f->no_functions, advice);
	add_program(l, plan, "files of paths", "terminate_walk");
	add_ability(l, plan, "waits", ASK_WAITS,
		    "tracepoints sched_switch, sched_waking and balance_dirty_pages");
	add_ability(l, plan, "locks", ASK_LOCKS, "tracepoints contention_begin and contention_end");
	add_ability(l, plan, "block", ASK_REQUESTS | ASK_TAG, "block tracepoints");
	add_program(l, plan, "completion's end", "block_io_done");
	if (feature_has_function(f, "bdev_read_page"))
		add_program(l, plan, "pages", "bdev_read_page");
	else
		add(l, "pages", true, "zram, brd and pmem get each page in a bio", NULL);
	add_ability(l, plan, "io_uring", ASK_URING, "tracepoints of io_uring");
	add(l, "libaio", feature_aio(f), feature_aio(f) ? func : why_no_aio(f),
	    "io_submit and io_getevents are shown as calls instead");
	add_servers(l, plan);
	add_ability(l, plan, "page faults", ASK_FAULTS,
		    f->func == FUNC_FENTRY
			    ? "exceptions, and the function that handles them"
			    : "exceptions, and perf's events; minor faults only with "
			      "--all-faults");
}

static void add_preemption(struct findings *l, struct feature *f)
{
	if (f->preemptible_tracepoints && !f->perf_calls)
		add(l, "preemption", false, f->preemption,
		    "mount tracefs at /sys/kernel/tracing: programs at perf's tracepoints are not "
		    "preempted");
	else
		add(l, "preemption", !f->preemptible, f->preemption,
		    "while a program is preempted, programs for other threads do not run on that "
		    "CPU; "
		    "these events are counted as missed, and their time is in the layer above");
	l->at[l->n - 1].label = "no preemption";
}

/* Without programs in process 1, requests whose completion interrupts it are lost. */
static void add_first_process(struct findings *l)
{
	switch (first_process_watch()) {
	case FIRST_PROCESS_UNSEEN:
		add(l, "process 1", false,
		    "this kernel runs no programs while process 1 runs, not even in an interrupt",
		    "a request whose completion interrupts process 1 is counted as lost "
		    "(unmatched_requests); with --strict-but unmatched_requests, these do not fail "
		    "a run");
		break;
	case FIRST_PROCESS_SEEN:
		add(l, "process 1", true, "programs run while process 1 runs", NULL);
		break;
	case FIRST_PROCESS_IDLE:
		add(l, "process 1", true, "did not run while doctor looked, for a second", NULL);
		break;
	case FIRST_PROCESS_HIDDEN:
		break;
	}
}

static void add_features(struct findings *l, struct feature *f)
{
	add(l, "BTF", true, "/sys/kernel/btf/vmlinux", NULL);
	add(l, "fentry", !f->no_fentry[0], f->no_fentry[0] ? f->no_fentry : "function entry, exit",
	    "a kernel with CONFIG_FUNCTION_TRACER; not locked down");
	add(l, "kprobes", !f->no_kprobe[0], f->no_kprobe[0] ? f->no_kprobe : "any function",
	    "a kernel with CONFIG_KPROBES");
	add(l, "module types", !f->no_module_btf,
	    f->no_module_btf ? f->no_module_btf : "modules describe their types",
	    f->no_kprobe[0] ? "their functions would need kprobes"
			    : "modules' functions are probed by kprobe instead");
	add(l, "interrupt level", f->interrupt_level,
	    f->interrupt_level ? "tells interrupts from threads"
			       : "programs cannot see the preemption count",
	    "a newer kernel, or a kernel with CONFIG_KALLSYMS_ALL; without it, a wake-up by an "
	    "interrupt may be taken for a wake-up by the interrupted thread");
	add_preemption(l, f);
	add_first_process(l);
	add(l, "open files", f->file_iter,
	    f->file_iter ? "iterator over open files" : "no iterator over open files",
	    "file systems' functions are found by name");
}

static void add_missing(struct findings *l, const struct privilege *p)
{
	add(l, p->name, false, p->without, NULL);
	l->at[l->n - 1].label = p->name + strlen("CAP_");
}

/* The privileges to trace are not among those missing: without them, doctor has ended before. */
static void add_privileges(struct findings *l)
{
	int n = l->n;

	for (const struct privilege *p = privileges; p->name; p++)
		if (!privilege_has(p->cap))
			add_missing(l, p);
	if (l->n == n)
		add(l, "privileges", true, "everything that any command uses", NULL);
}

static bool works(const struct findings *l, const char *what)
{
	for (int i = 0; i < l->n; i++)
		if (!strcmp(l->at[i].what, what))
			return l->at[i].works;
	return false;
}

/* The findings as the user needs them, with one line for commands of equal needs: "breakdown, top
 * and record work here, but without: vfs, file systems". */
struct verdict {
	char tracing[160];
	const char *funcs, *others;
};

static void verdict_make(struct verdict *v, const struct findings *l)
{
	static const char *const parts[] = { "vfs", "file systems", "waits", "block" };
	bool calls = works(l, "syscall"), first = true;
	size_t n;

	n = snprintf(v->tracing, sizeof(v->tracing), "breakdown, top and record %s here%s",
		     calls               ? "work"
		     : works(l, "block") ? "show requests alone"
					 : "do not work",
		     l->for_root ? " for root" : "");
	for (int i = 0; i < 4 && calls; i++) {
		if (works(l, parts[i]))
			continue;
		n += snprintf(v->tracing + n, sizeof(v->tracing) - n, "%s%s",
			      first ? ", but without: " : ", ", parts[i]);
		first = false;
	}
	v->funcs = works(l, "fentry") || works(l, "kprobes")
			   ? "funcs works here"
			   : "funcs works here for functions of programs, not for the kernel's";
	v->others = "report and export work everywhere";
}

static int print_findings(const struct findings *l)
{
	struct text_out o = { .f = stdout };
	struct verdict v;

	text_put(&o, "%-17s %-6s %s\n", "what", "works", "how, or why not");
	for (int i = 0; i < l->n; i++) {
		const struct finding *f = &l->at[i];

		text_put(&o, "%-17s %-6s ", f->label, f->works ? "yes" : "no");
		text_wrap(&o, f->how, 25, 25, 80);
		if (!f->advice)
			continue;
		text_put(&o, "%25s", "");
		text_wrap(&o, f->advice, 25, 25, 80);
	}
	verdict_make(&v, l);
	text_put(&o, "\n");
	text_wrap(&o, v.tracing, 0, 2, 80);
	text_put(&o, "%s\n%s\n", v.funcs, v.others);
	return text_end(&o);
}

static const struct member finding_members[] = {
	{ "what", MEMBER_ASCII, .what = "name of the feature" },
	{ "works", MEMBER_BOOL, .what = "whether it works here" },
	{ "how", MEMBER_ASCII, .what = "how it works, or why not" },
	{ "advice", MEMBER_ASCII, .what = "advice for the user",
	  .null = "it works, or nothing helps" },
	{}
};
static const struct object finding_object = { "finding", "a feature", finding_members };

static const struct member probe_members[] = {
	{ "program", MEMBER_ASCII, .what = "name of the program" },
	{ "hook", MEMBER_ASCII, .what = "where it is attached", .null = "not known" },
	{ "insns", MEMBER_COUNT, .what = "its size in instructions", .unit = "instructions" },
	{ "loads", MEMBER_BOOL, .what = "whether the kernel takes it" },
	{ "why", MEMBER_ASCII, .what = "reason why it does not load", .null = "it loads" },
	{}
};
static const struct object probe_object = { "probe", "a BPF program", probe_members };

static const struct member doctor_members[] = {
	{ "kernel", MEMBER_ASCII, .what = "release of the kernel, as uname -r prints it" },
	{ "findings", MEMBER_OBJECT, .what = "features of this kernel and of the caller",
	  .object = &finding_object, .list = 1 },
	{ "verdict", MEMBER_ASCII,
	  .what = "one sentence: which commands work here, and without what" },
	{ "probes", MEMBER_OBJECT, .what = "each BPF program", .only = "with --probes",
	  .object = &probe_object, .list = 1 },
	{}
};
static const struct object doctor_object = { NULL, "findings", doctor_members };

const struct schema doctor_schema = { "iostrata.doctor/1", .what = "the line of doctor --json",
				      .first = &doctor_object };

static void json_findings(struct json *j, const struct findings *l)
{
	json_put_begin(j, "findings", '[');
	for (int i = 0; i < l->n; i++) {
		json_put_begin(j, NULL, '{');
		json_put_string(j, "what", l->at[i].what);
		json_put_bool(j, "works", l->at[i].works);
		json_put_string(j, "how", l->at[i].how);
		json_put_string(j, "advice", l->at[i].advice);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void print_probe(void *arg, const struct trial *p)
{
	struct text_out *o = arg;

	text_put(o, "%-26s %6zu ", p->program, p->insns);
	if (p->other) {
		text_put(o, "-   another program is for this kernel\n");
	} else if (p->why || p->err) {
		text_put(o, "no  ");
		text_wrap(o, p->why ? p->why : strerror(-p->err), 38, 38, 80);
	} else {
		text_put(o, "yes %s\n", p->hook);
	}
}

static void json_probe(void *arg, const struct trial *p)
{
	struct json *j = arg;

	json_put_begin(j, NULL, '{');
	json_put_string(j, "program", p->program);
	json_put_string(j, "hook", p->hook);
	json_put_uint(j, "insns", p->insns);
	json_put_bool(j, "loads", !p->why && !p->err);
	json_put_string(j, "why", p->why ? p->why : p->err ? strerror(-p->err) : NULL);
	json_put_end(j, '}');
}

/* 0 if the output has no reader any more, else -1 with @why. */
static int not_written(int err, struct reason *why)
{
	if (err == -EPIPE)
		return 0;
	return reason_set(why, EXIT_FAILED, "cannot write the output: %s", strerror(-err));
}

static int show_text(const struct findings *l, struct feature *f, bool probes, struct reason *why)
{
	struct text_out o = { .f = stdout };

	int err = print_findings(l);

	if (err)
		return not_written(err, why);
	if (!probes)
		return 0;
	text_put(&o, "\n%-26s %6s %s\n", "program", "insns", "loads here, and its hook or why not");
	if (trials_run(print_probe, &o, f))
		return reason_no_memory(why);
	err = text_end(&o);
	return err ? not_written(err, why) : 0;
}

static int show_json(const struct findings *l, struct feature *f, bool probes, struct reason *why)
{
	struct json j = { .out = { .f = stdout } };
	struct utsname uts;
	char text[320];
	struct verdict v;
	int err;

	uname(&uts);
	json_put_begin(&j, NULL, '{');
	json_put_string(&j, "schema", doctor_schema.id);
	json_put_string(&j, "kernel", uts.release);
	json_findings(&j, l);
	verdict_make(&v, l);
	snprintf(text, sizeof(text), "%s; %s; %s", v.tracing, v.funcs, v.others);
	json_put_string(&j, "verdict", text);
	if (probes) {
		json_put_begin(&j, "probes", '[');
		if (trials_run(json_probe, &j, f))
			return reason_no_memory(why);
		json_put_end(&j, ']');
	}
	json_put_end(&j, '}');
	err = json_end_line(&j);
	return err ? not_written(err, why) : 0;
}

static int doctor(int argc, char **argv)
{
	struct doctor_opts opts = {};
	struct findings list = {};
	struct opts_result res;
	struct reason why = {}, none;
	struct rlimits limits;
	struct feature f;
	struct plan plan;
	int done = cmd_parse(&cmd_doctor, argc, argv, &opts, &res);

	if (done >= 0)
		return done;
	rlimits_raise(&limits);
	if (feature_probe(&f, &why)) {
		list.for_root = why.exit == EXIT_PERMISSION && !feature_look(&f, &none);
		if (!list.for_root)
			return cmd_fail(&why);
	}
	plan_init(&plan, &f, ~0U, ~0U);
	add_layers(&list, &plan, &f);
	add_features(&list, &f);
	add_privileges(&list);
	done = (opts.json ? show_json : show_text)(&list, &f, opts.probes && !list.for_root,
						   list.for_root ? &none : &why);
	feature_done(&f);
	if (done)
		return cmd_fail(list.for_root ? &none : &why);
	if (list.for_root) /* the kernel has this, but nobody else may use it */
		return cmd_fail(&why);
	return list.at[0].works ? 0 : EXIT_KERNEL;
}

const struct cmd cmd_doctor = { "doctor", &table, doctor, true };
