/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * feature.h - what this kernel can do, probed once, by looking at its BTF and by trying. Never
 * concluded from the kernel's version.
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
	struct known_name *known;     /* other looked up names; owned */
	struct known_name *structs;   /* looked up names of structures; owned */
	struct module_types *modules; /* modules whose types were read; owned */
	bool rdonly_cast;             /* bpf_rdonly_cast() (6.2) */
	bool names_functions;         /* bpf_snprintf() (5.13) */
	const char *no_module_btf;    /* why modules' types cannot be read (5.11); NULL: they can */
	bool map_alloc;               /* hashes may allocate in any program (6.1) */
	bool file_iter, task_iter;    /* the iterators iter/task_file and iter/task exist */
	bool interrupt_level;         /* programs can read the preemption count */
	bool preemptible; /* programs on functions are preempted, or this is not known */
	bool preemptible_tracepoints; /* programs on tp_btf are preempted, too (7.0), or this is not
				       * known */
	char preemption[160];         /* where the two members above come from, as text */
	bool perf_calls; /* perf's tracepoints sys_enter and sys_exit are available (tracefs) */
	enum func_probe func;
	char no_fentry[160]; /* why fentry does not work; "": it works */
	char no_kprobe[160];
	char no_functions[176]; /* why neither way works; "": functions can be probed */
};

/* Whether the messages of libbpf and of the verifier were asked for (IOSTRATA_LIBBPF_LOG). */
bool feature_logs(void);

/* Returns 0, or -1 with @why: no permission (EXIT_PERMISSION), or no BTF. */
int feature_probe(struct feature *f, struct reason *why);

/* Looks at the kernel without permission to trace. Nothing is tried: the result only says whether
 * the kernel has what is needed. Returns 0, or -1 with @why. */
int feature_look(struct feature *f, struct reason *why);
void feature_done(struct feature *f);

/* Whether the tracepoints of io_uring identify their request (6.0). */
bool feature_uring(struct feature *f);

/* Whether the kernel functions behind libaio can be probed. */
bool feature_aio(struct feature *f);

/* Whether the kernel serves NFS now, and programs can trace this. */
bool feature_nfsd(struct feature *f);

/* Whether the kernel serves SMB now, and programs can trace this. */
bool feature_ksmbd(struct feature *f);

/*
 * Whether this kernel preempts threads while our programs run in them.
 *
 * A preempted program is busy on its CPU and misses the events of other threads there. Plain
 * additions to the cells of a CPU then race. So a kernel counts as preemptible unless known
 * otherwise.
 */
enum preemption_model { PREEMPTION_UNKNOWN, PREEMPTION_NONE, PREEMPTION_FULL };

/*
 * The preemption model according to one source:
 *
 * debugfs: "none voluntary (full) lazy" from /sys/kernel/debug/sched/preempt, with the model in
 * force in brackets. cmdline: the last preempt=MODEL of a command line. config_line: one line of a
 * kernel's configuration. version: the kernel's version line (utsname.version).
 */
enum preemption_model preemption_of_debugfs(const char *text);
enum preemption_model preemption_of_cmdline(const char *text);
enum preemption_model preemption_of_config_line(const char *line);
enum preemption_model preemption_of_version(const char *version);

#endif
