/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * feature.h - what this kernel can do, found out once by looking at its BTF and by trying; never
 * from its version.
 */
#ifndef IOSTRATA_FEATURE_H
#define IOSTRATA_FEATURE_H

#include <stdbool.h>

struct btf;
struct known_name;
struct module_types;

/* How functions can be probed. */
enum func_probe { FUNC_NONE, FUNC_FENTRY, FUNC_KPROBE };

struct feature {
	struct btf *btf;		/* vmlinux, NULL while not needed; owned */
	struct known_name *known;	/* names that were looked for; owned */
	struct module_types *modules;	/* whose types were looked at; owned */
	bool rdonly_cast;		/* bpf_rdonly_cast() (6.2) */
	bool module_btf;		/* modules describe their types, too (5.11) */
	bool task_iter;			/* iter/task_file */
	bool interrupt_level;		/* programs may look at the preemption count */
	bool preemptible;		/* programs on functions can be preempted */
	bool preempt_disable;		/* programs can forbid that (6.10) */
	bool preemptible_tracepoints;	/* those of tp_btf, too (7.0) */
	bool perf_calls;		/* perf's sys_enter and sys_exit can be had (tracefs) */
	enum func_probe func;
	char no_fentry[160];		/* why not, "" if it works */
	char no_kprobe[160];
};

struct reason;

/* 0, or -1 with @why: no permission, no BTF. */
int feature_probe(struct feature *f, struct reason *why);
void feature_done(struct feature *f);

/* Frees the kernel's types (some MiB) until they are asked for again. */
void feature_forget_types(struct feature *f);

/*
 * Looks for many names at once, since each search goes through all of the kernel's types: a
 * tracepoint's as "btf_trace_NAME", a function's or variable's as it is.
 */
void feature_look_for(struct feature *f, const char *const names[], int n);

/*
 * Where the type of @function stands: its id, and a descriptor of the module's types (0 for the
 * kernel's own; owned by @f). @module is "" for none. 0 or -ENOENT.
 */
int feature_function(struct feature *f, const char *function, const char *module,
		     unsigned int *ret_id, int *ret_btf_fd);

/* Type of a function, typedef or variable of that name; 0 if there is none. */
unsigned int feature_type(struct feature *f, const char *name);

bool feature_has_tracepoint(struct feature *f, const char *name);
bool feature_has_function(struct feature *f, const char *name);

/* Number of arguments that a BPF program at tracepoint @name sees, -1 if there is none. */
int feature_tracepoint_args(struct feature *f, const char *name);

/* Which argument of tracepoint @name is a pointer to struct @type, counted from 0; -1 if none. */
int feature_tracepoint_arg(struct feature *f, const char *name, const char *type);

/* Value of enumerator @name of any enum, also one without a name; @otherwise if there is none. */
int feature_enumerator(struct feature *f, const char *name, int otherwise);

/* Which argument of tracepoint @name is called @arg; -1 if none or if BTF has no names. */
int feature_tracepoint_arg_named(struct feature *f, const char *name, const char *arg);

#endif
