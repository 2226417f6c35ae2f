/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * feature.h - what this kernel can do, found out once by looking at its BTF and by trying; never
 * from its version.
 */
#ifndef IOSTRATA_TRACE_FEATURE_H
#define IOSTRATA_TRACE_FEATURE_H

#include <stdbool.h>
#include <stddef.h>

struct btf;
struct known_name;
struct module_types;
struct reason;

/* How functions can be probed. */
enum func_probe { FUNC_NONE, FUNC_FENTRY, FUNC_KPROBE };

struct feature {
	struct btf *btf;              /* vmlinux, NULL while not needed; owned */
	struct known_name *known;     /* names that were looked for; owned */
	struct known_name *structs;   /* the same of structures */
	struct module_types *modules; /* whose types were looked at; owned */
	bool rdonly_cast;             /* bpf_rdonly_cast() (6.2) */
	const char *no_module_btf;    /* why not: modules describe their types, too (5.11) */
	bool task_iter;               /* iter/task_file */
	bool interrupt_level;         /* programs may look at the preemption count */
	bool preemptible;             /* programs on functions can be preempted, or may be */
	bool preemptible_tracepoints; /* those of tp_btf, too (7.0), or may be */
	char preemption[160];         /* how preemptible and preemptible_tracepoints are known */
	bool perf_calls;              /* perf's sys_enter and sys_exit are available (tracefs) */
	enum func_probe func;
	char no_fentry[160]; /* why fentry does not work, "" if it does */
	char no_kprobe[160];
	char no_functions[176]; /* why neither way works, "" if functions can be probed */
};

/* Whether libbpf's messages and the verifier's are asked for. */
bool feature_logs(void);

/* 0, or -1 with @why: no permission, no BTF. */
int feature_probe(struct feature *f, struct reason *why);
void feature_done(struct feature *f);

/* The kernel's types; NULL: out of memory. */
const struct btf *feature_types(struct feature *f);

/* Frees them, and what is kept of the symbols (some MiB), until they are needed again. */
void feature_forget_types(struct feature *f);

/*
 * Looks up many names at once, since each search goes through all of the kernel's types: a
 * tracepoint as "btf_trace_NAME", a structure as "struct NAME", a function or variable by its own
 * name.
 */
void feature_look_for(struct feature *f, const char *const names[], int n);

/*
 * Finds the type of @function: its id, and a descriptor of the module's types (0 for the kernel's
 * own; owned by @f). @module is "" for none. 0 or -ENOENT.
 */
int feature_function(struct feature *f, const char *function, const char *module,
		     unsigned int *ret_id, int *ret_btf_fd);

/* Offset of @member in struct @type of @module, or of the kernel if the module is not loaded;
 * -ENOENT. */
int feature_member(struct feature *f, const char *module, const char *type, const char *member);

/* Type of such a name; 0 if there is none. */
unsigned int feature_type(struct feature *f, const char *name);

bool feature_has_tracepoint(struct feature *f, const char *name);
bool feature_has_function(struct feature *f, const char *name);

/* Which argument of tracepoint @name is a pointer to struct @type, counted from 0; -1 if none. */
int feature_tracepoint_arg(struct feature *f, const char *name, const char *type);

/* Whether the tracepoints of io_uring tell which request they are for (6.0). */
bool feature_uring(struct feature *f);

/* Whether the functions that libaio's requests go through can be probed. */
bool feature_aio(struct feature *f);

/* Offset of @field in struct @type, in bytes; -1 if there is none. */
int feature_field_offset(struct feature *f, const char *type, const char *field);

/* Value of enumerator @name of any enum, also one without a name; @otherwise if there is none. */
int feature_enumerator(struct feature *f, const char *name, int otherwise);

/* Which argument of tracepoint @name is called @arg; -1 if none or if BTF has no names. */
int feature_tracepoint_arg_named(struct feature *f, const char *name, const char *arg);

/*
 * Whether this kernel preempts the threads that our programs run in.
 *
 * A program that is preempted is busy on that CPU and misses what other threads do there, and plain
 * additions to a CPU's cells race. So a kernel is taken for preemptible unless known otherwise.
 */

enum preemption_model { PREEMPTION_UNKNOWN, PREEMPTION_NONE, PREEMPTION_FULL };

/* Fills in the preemption members of @f. */
void preemption_probe(struct feature *f);

/*
 * The model according to one source: "none voluntary (full) lazy" with the one in force in brackets
 * (/sys/kernel/debug/sched/preempt); the last preempt=MODEL of a command line; one line of a
 * kernel's configuration; the kernel's version line (utsname.version).
 */
enum preemption_model preemption_of_debugfs(const char *text);
enum preemption_model preemption_of_cmdline(const char *text);
enum preemption_model preemption_of_config_line(const char *line);
enum preemption_model preemption_of_version(const char *version);

#endif
