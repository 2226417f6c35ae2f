// SPDX-License-Identifier: GPL-2.0-only
#include "trace/trials.h"

#include <errno.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "trace/configure.h"
#include "trace/feature.h"
#include "trace/load.h"
#include "trace/plan.h"
#include "trace/session.h"

#include "trace.skel.h"

/* Sets the program's name and hook; both are known before the object is loaded. */
static void name_of(const struct trace_bpf *obj, const struct program *row, struct trial *t)
{
	snprintf(t->program, sizeof(t->program), "%s", bpf_program__name(program_of(obj, row)));
	program_hook_text(row, t->hook, sizeof(t->hook));
}

/* The maps and members that programs access depend on these settings. All settings are tried, with
 * all of their maps. */
static const struct session_conf variants[] = {
	{ .follow = true,
	  .kinds = ~0U,
	  .commands = true,
	  .stacks = true,
	  .records = true,
	  .by = BY_FILE,
	  .minor_faults = true,
	  .patterns = true },
	{ .follow = true,
	  .kinds = ~0U,
	  .commands = true,
	  .stacks = true,
	  .records = true,
	  .by = BY_FILE,
	  .sent_ops = true,
	  .segments = true,
	  .sent_requests = true,
	  .buffer_bytes = 1 },
	{ .follow = true,
	  .kinds = ~0U,
	  .commands = true,
	  .stacks = true,
	  .records = true,
	  .by = BY_PID,
	  .minor_faults = true },
	{ .follow = true,
	  .kinds = ~0U,
	  .commands = true,
	  .stacks = true,
	  .records = true,
	  .by = BY_CGROUP,
	  .minor_faults = true },
	{ .follow = true,
	  .kinds = ~0U,
	  .commands = true,
	  .stacks = true,
	  .records = true,
	  .by = BY_THREAD,
	  .segments = true },
	{ .follow = true,
	  .kinds = ~0U,
	  .commands = true,
	  .stacks = true,
	  .sent_ops = true,
	  .segments = true,
	  .sent_requests = true,
	  .helpers = true,
	  .patterns = true,
	  .buffer_bytes = 4 << 20 },
};

/* Loads the programs without an error in @errs, configured by @sc. Notes the errors of programs
 * refused by the kernel. */
static void load_variant(const struct session_conf *sc, int errs[], struct feature *f)
{
	const struct program *refused = NULL;
	bool wanted[MAX_PROGRAMS];
	struct bpf_conf conf = {};
	int err;

	configure(&conf, sc, f);
	do {
		for (size_t i = 0; i < programs_n; i++)
			wanted[i] = !errs[i];
		err = load_try(wanted, sc, &conf, f, &refused);
		if (refused)
			errs[refused - programs] = err;
	} while (refused);
	for (size_t i = 0; i < programs_n && err; i++)
		errs[i] = errs[i] ? errs[i] : err;
}

int trials_run(void (*fn)(void *arg, const struct trial *t), void *arg, struct feature *f)
{
	struct trace_bpf *names = load_open(false, NULL);
	unsigned int asked = ASK_HUNG; /* a run of a command does not look for hung threads */
	int errs[MAX_PROGRAMS] = {};
	struct plan plan;

	if (!names)
		return -errno;
	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++)
		asked |= plan_asked(&variants[i]);
	plan_init(&plan, f, asked, ~0U);
	for (size_t i = 0; i < programs_n; i++)
		errs[i] = plan_why_not(&plan, &programs[i]) ? -ENOENT : 0;
	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++)
		load_variant(&variants[i], errs, f);
	for (const struct program *row = programs; row < programs + programs_n; row++) {
		struct trial t = { .why = plan_why_not(&plan, row),
				   .other = !plan_is_for(&plan, row) };

		name_of(names, row, &t);
		t.insns = bpf_program__insn_cnt(program_of(names, row));
		if (!t.why)
			t.err = errs[row - programs];
		fn(arg, &t);
	}
	trace_bpf__destroy(names);
	return 0;
}
