// SPDX-License-Identifier: GPL-2.0-only
/* cmd_doctor.c - what this kernel can, what is missing, why, and what to do about it. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/utsname.h>

#include "cmd.h"
#include "feature.h"
#include "reason.h"
#include "session.h"
#include "text.h"

struct doctor_opts {
	bool probes, json;
};

static const struct opt doctor_opts[] = {
	{ 0, "probes", OPT_FLAG(struct doctor_opts, probes),
	  .help = "try every program: its hook, its size and whether it loads here" },
	{ 'j', "json", OPT_FLAG(struct doctor_opts, json), .help = "one JSON object" },
	{},
};

static const struct opt_group groups[] = { { "Options", doctor_opts, 0 }, {} };

static const struct opt_example examples[] = {
	{ "iostrata doctor", "what works here, and what would help" },
	{ "iostrata doctor --probes", "every program by itself" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata doctor",
	.summary = "what this kernel can, what is missing and why",
	.about = "Looks at the running kernel and tries what the other commands rely on. Exit code "
		 "0 if operations can be traced, 3 if this kernel cannot, 4 without permission.",
	.groups = groups,
	.examples = examples,
};

/* One line of the report. */
struct finding {
	const char *what;
	bool works;
	const char *how;	/* what it works with, or why it does not; one sentence */
	const char *advice;	/* what to do, or NULL */
};

struct findings {
	struct finding at[32];
	int n;
};

static void add(struct findings *l, const char *what, bool works, const char *how,
		const char *advice)
{
	l->at[l->n++] = (struct finding){ what, works, how, works ? NULL : advice };
}

/* Tracepoints that a layer rests on: all must be there. */
static void add_tracepoints(struct findings *l, struct feature *f, const char *what,
			    const char *const names[], const char *how)
{
	for (int i = 0; names[i]; i++) {
		if (!feature_has_tracepoint(f, names[i])) {
			add(l, what, false, names[i], "this kernel's BTF has no such tracepoint");
			return;
		}
	}
	add(l, what, true, how, NULL);
}

static void add_layers(struct findings *l, struct feature *f)
{
	static const char *const calls[] = { "sys_enter", "sys_exit", NULL };
	static const char *const waits[] = { "sched_switch", "sched_waking", NULL };
	static const char *const block[] = { "block_bio_queue", "block_getrq", "block_rq_issue",
					     "block_rq_complete", NULL };
	static const char *const done[] = { "block_io_done", NULL };
	const char *func = f->func == FUNC_FENTRY ? "fentry and fexit" : "kprobe and kretprobe";
	const char *advice = "use a kernel with CONFIG_KPROBES and CONFIG_FUNCTION_TRACER";
	bool pause = feature_tracepoint_arg_named(f, "balance_dirty_pages", "pause") >= 0;

	add_tracepoints(l, f, "syscall", calls, "tracepoints sys_enter and sys_exit");
	add(l, "vfs", f->func, f->func ? func : f->no_fentry, advice);
	add(l, "file systems", f->func, f->func ? func : f->no_kprobe, advice);
	add(l, "throttle", pause, pause ? "tracepoint balance_dirty_pages" :
					  "balance_dirty_pages does not tell its pause", NULL);
	add_tracepoints(l, f, "waits", waits, "tracepoints sched_switch and sched_waking");
	add_tracepoints(l, f, "block", block, "block tracepoints");
	add_tracepoints(l, f, "completion's end", done, "tracepoint block_io_done");
}

static void add_preemption(struct findings *l, struct feature *f)
{
	const char *what = "preemption";

	if (f->preemptible_tracepoints && !f->perf_calls)
		add(l, what, false,
		    "a program that is preempted misses calls of others on that CPU",
		    "mount tracefs at /sys/kernel/tracing: perf's tracepoints are not preempted");
	else if (f->preemptible)
		add(l, what, false,
		    "programs on functions are preempted, and may miss what others do on that CPU",
		    "what is missed is counted; its time is in the layer above");
	else
		add(l, what, true, "programs are not preempted", NULL);
}

static void add_features(struct findings *l, struct feature *f)
{
	add(l, "BTF", true, "/sys/kernel/btf/vmlinux", NULL);
	add(l, "fentry", !f->no_fentry[0], f->no_fentry[0] ? f->no_fentry : "function entry, exit",
	    "a kernel with CONFIG_FUNCTION_TRACER; not locked down");
	add(l, "kprobes", !f->no_kprobe[0], f->no_kprobe[0] ? f->no_kprobe : "any function",
	    "a kernel with CONFIG_KPROBES");
	add(l, "module types", f->module_btf,
	    f->module_btf ? "functions of modules by fentry" : "modules have no BTF",
	    "modules' functions are probed by kprobe instead");
	add(l, "interrupt level", f->interrupt_level,
	    f->interrupt_level ? "tells interrupts from threads" :
				 "programs cannot see the preemption count",
	    "a newer kernel, or one with CONFIG_KALLSYMS_ALL; a wake-up by an interrupt may be "
	    "taken for one by the thread that it interrupted");
	add_preemption(l, f);
	add(l, "open files", f->task_iter,
	    f->task_iter ? "iterator over open files" : "no iterator over open files",
	    "file systems' functions are found by name");
}

static int print_findings(const struct findings *l)
{
	struct text_out o = { .f = stdout };

	text_put(&o, "%-17s %-6s %s\n", "what", "works", "how, or why not");
	for (int i = 0; i < l->n; i++) {
		const struct finding *f = &l->at[i];

		text_put(&o, "%-17s %-6s ", f->what, f->works ? "yes" : "no");
		text_wrap(&o, f->how, 25, 25, 80);
		if (!f->advice)
			continue;
		text_put(&o, "%25s", "");
		text_wrap(&o, f->advice, 25, 25, 80);
	}
	return text_end(&o);
}

static json_t *json_findings(const struct findings *l)
{
	json_t *list = json_array();

	for (int i = 0; i < l->n; i++)
		json_array_append_new(list, json_pack("{s:s, s:b, s:s, s:s?}", "what",
						      l->at[i].what, "works", l->at[i].works,
						      "how", l->at[i].how, "advice",
						      l->at[i].advice));
	return list;
}

static void print_probe(void *arg, const struct session_probe *p)
{
	struct text_out *o = arg;

	text_put(o, "%-26s %6zu ", p->program, p->insns);
	if (p->why || p->err) {
		text_put(o, "no  ");
		text_wrap(o, p->why ? p->why : strerror(-p->err), 38, 38, 80);
	} else {
		text_put(o, "yes %s\n", p->hook);
	}
}

static void json_probe(void *arg, const struct session_probe *p)
{
	bool loads = !p->why && !p->err;
	const char *why = p->why ? p->why : p->err ? strerror(-p->err) : NULL;

	json_array_append_new(arg, json_pack("{s:s, s:s, s:I, s:b, s:s?}", "program", p->program,
					     "hook", p->hook, "insns",
					     (json_int_t)p->insns, "loads", loads, "why", why));
}

static int not_written(int err, struct reason *why)
{
	return reason_set(why, EXIT_FAILED, "cannot write the output: %s", strerror(-err));
}

static int show_text(const struct findings *l, bool probes, struct reason *why)
{
	struct text_out o = { .f = stdout };

	int err = print_findings(l);

	if (err)
		return not_written(err, why);
	if (!probes)
		return 0;
	text_put(&o, "\n%-26s %6s %s\n", "program", "insns", "loads here, and its hook or why not");
	if (session_try_probes(print_probe, &o, why))
		return -1;
	err = text_end(&o);
	return err ? not_written(err, why) : 0;
}

static int show_json(const struct findings *l, bool probes, struct reason *why)
{
	struct utsname uts;
	json_t *root, *list = NULL;
	int err;

	uname(&uts);
	root = json_pack("{s:s, s:s, s:o}", "schema", "iostrata.doctor/1", "kernel", uts.release,
			 "findings", json_findings(l));
	if (probes) {
		list = json_array();
		json_object_set_new(root, "probes", list);
		if (session_try_probes(json_probe, list, why)) {
			json_decref(root);
			return -1;
		}
	}
	errno = 0;
	err = json_dumpf(root, stdout, JSON_COMPACT) || fputc('\n', stdout) < 0 || fflush(stdout);
	if (err)
		err = errno ? -errno : -EIO;
	json_decref(root);
	return err ? not_written(err, why) : 0;
}

static int doctor(int argc, char **argv)
{
	struct doctor_opts opts = {};
	struct findings list = {};
	struct opts_result res;
	struct reason why = {};
	struct feature f;
	int done = cmd_parse(&cmd_doctor, argc, argv, &opts, &res);

	if (done >= 0)
		return done;
	if (feature_probe(&f, &why))
		return cmd_fail(&why);
	add_layers(&list, &f);
	add_features(&list, &f);
	done = (opts.json ? show_json : show_text)(&list, opts.probes, &why);
	feature_done(&f);
	if (done)
		return cmd_fail(&why);
	return list.at[0].works ? 0 : EXIT_KERNEL;
}

const struct cmd cmd_doctor = { "doctor", &table, doctor };
