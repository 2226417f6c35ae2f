/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * plan.h - the table of programs: each with its hook, what it needs from the kernel, and what is
 * not measured without it. What a run loads, what is missing and why, and doctor's output come from
 * this table.
 *
 * Does not know what the programs do, and loads nothing. A new program is a row in plan.c.
 */
#ifndef IOSTRATA_TRACE_PLAN_H
#define IOSTRATA_TRACE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "event.h"
#include "trace/feature.h"
#include "trace/fsfuncs.h"

struct bpf_program;
struct session_conf;
struct trace_bpf;

/* What a command needs, as a set of bits. */
enum capability {
	CAP_THREADS = 1 << 0,    /* threads that end; every run needs it */
	CAP_CHILD = 1 << 1,      /* follow a process and its descendants */
	CAP_CALLS = 1 << 2,      /* system calls: operations begin and end */
	CAP_CALL_FILES = 1 << 3, /* the VFS gives read's and write's file, which is cheaper */
	CAP_WAITS = 1 << 4,      /* operations' sleeps, split by cause */
	CAP_REQUESTS = 1 << 5,   /* block requests */
	CAP_VFS = 1 << 6,        /* functions of the VFS */
	CAP_FS = 1 << 7,         /* functions of file systems */
	CAP_ISSUERS = 1 << 8,    /* who submitted bios that another thread queues */
	CAP_BEHALF = 1 << 9,     /* for whom a request is that another submits */
	CAP_LOCKS = 1 << 10,     /* which sleeps are for a lock of the kernel */
	CAP_URING = 1 << 11,     /* requests of io_uring as operations */
	CAP_AIO = 1 << 12,       /* those of libaio */
	CAP_FAULTS = 1 << 13,    /* page faults as operations */
	CAP_TAG = 1 << 14,       /* when a bio gets its request */
};

enum hook {
	HOOK_TP_BTF, /* tracepoint with typed arguments */
	HOOK_TP,     /* perf's tracepoint, "group/name" */
	HOOK_ITER,
	HOOK_FAULTS, /* perf's events of page faults, on all CPUs; see faults.h */
	HOOK_FENTRY,
	HOOK_FEXIT,
	HOOK_KPROBE,
	HOOK_KRETPROBE,
};

/*
 * One program. A function has four, in this order: fexit, fentry, kretprobe, kprobe; the return's
 * program is attached first and precedes the entry's. A template (@method) is for functions of file
 * systems, which are found at run time; it is loaded as if for @target.
 */
struct program {
	size_t at; /* offset in struct trace_bpf */
	enum hook hook;
	const char *target;  /* tracepoint or function */
	unsigned int caps;   /* set of enum capability: any of them needs it */
	unsigned int needs;  /* set of enum need */
	unsigned int strata; /* set of 1 << stratum, not measured without it */
	bool requests;       /* without it there are no requests either */
	bool backup;         /* of a tracepoint: has a second copy where that can be preempted;
			      * of a function: always, or where the kernel preempts */
	bool last;           /* attached after all others */
	bool called;         /* by the program on the same hook, instead of attached */
	bool entry_only;     /* of a function, without a program at its return */
	bool is_template;
	enum op_kind op;       /* of a function or template: the operations that all go through
				* it; or none */
	enum fs_method method; /* of a template */
	const char *without;   /* why @strata are not measured */
};

/* Properties of the kernel that decide which program serves a hook. */
enum need {
	NEED_LEVEL = 1 << 0, /* programs can read the interrupt level */
	NEED_NO_LEVEL = 1 << 1,
	NEED_TP_CALLS = 1 << 2,   /* system calls by typed tracepoints */
	NEED_PERF_CALLS = 1 << 3, /* by perf's, which are not preempted */
	NEED_TASK_ITER = 1 << 4,
	NEED_PAUSE = 1 << 5,        /* balance_dirty_pages reports how long it will sleep */
	NEED_URING = 1 << 6,        /* io_uring's tracepoints tell which request they are for */
	NEED_URING_REQ = 1 << 7,    /* its submission has this name */
	NEED_URING_SQE = 1 << 8,    /* or, before 6.4, this */
	NEED_AIO = 1 << 9,          /* libaio's functions can be probed */
	NEED_FIND_VMA = 1 << 10,    /* programs can look up mappings */
	NEED_EXCEPTION = 1 << 11,   /* a tracepoint tells where page faults begin */
	NEED_ABORT = 1 << 12,       /* or, on arm64, this function */
	NEED_FAULT_EXIT = 1 << 13,  /* a function's return tells where they end */
	NEED_FAULT_EVENT = 1 << 14, /* or, where functions cannot be probed, perf's events */
	/* of each two, a kernel has one */
	NEED_ALTERNATIVES = NEED_URING_REQ | NEED_URING_SQE | NEED_EXCEPTION | NEED_ABORT |
			    NEED_FAULT_EXIT | NEED_FAULT_EVENT,
};

enum { MAX_PROGRAMS = 136, MAX_REFUSED = 32 };

/* What one run loads. */
struct plan {
	unsigned int asked;   /* set of enum capability */
	unsigned int kinds;   /* whose functions are probed: set of 1 << enum op_kind */
	enum func_probe func; /* how functions are probed here */
	bool module_btf;
	const char *why_not[MAX_PROGRAMS]; /* of programs[]; NULL: the kernel has its hook */
	const struct program *refused[MAX_REFUSED]; /* by the kernel */
	int n_refused;
};

extern const struct program programs[];
extern const size_t programs_n;

/* The capabilities that a run with @conf needs. */
unsigned int plan_asked(const struct session_conf *conf);

/* Whose functions operations of a run with @conf go through: a set of 1 << enum op_kind. */
unsigned int plan_kinds(const struct session_conf *conf);

/* Looks up the hooks of the table in the kernel's types. @feat outlives the plan. */
void plan_init(struct plan *p, struct feature *feat, unsigned int asked, unsigned int kinds);

/* Whether @prog was written for a run like this: the run needs what it provides, and no other
 * program serves its hook here. */
bool plan_is_for(const struct plan *p, const struct program *prog);

/* Whether this run loads @prog: the run needs it, the kernel has its hook and properties, and has
 * not refused it. */
bool plan_wants(const struct plan *p, const struct program *prog);

/* Why @prog cannot be used on this kernel; NULL if it can be tried. */
const char *plan_why_not(const struct plan *p, const struct program *prog);

/* Leaves @prog out from now on; false if it is left out already, or if too many are. */
bool plan_refuse(struct plan *p, const struct program *prog);

/* The program of a row in @obj. */
struct bpf_program *program_of(const struct trace_bpf *obj, const struct program *prog);

/* The row of a program of @obj; NULL if it has none. */
const struct program *program_row(const struct trace_bpf *obj, const struct bpf_program *prog);

/* "tp_btf/sys_enter", "fentry/vfs_read". */
void program_hook_text(const struct program *prog, char *text, size_t cap);

#endif
