/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * plan.h - the table of programs: for each its hook, the kernel features it needs, and the strata
 * not measured without it. The table decides which programs a run loads, which figures are missing
 * and why, and the output of doctor.
 *
 * Does not know what the programs do, and loads nothing. A new program is a new row of programs[].
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

/* Things for which a command asks, as a set of bits. */
enum ask {
	ASK_THREADS = 1 << 0,    /* ends of threads; every run needs them */
	ASK_CHILD = 1 << 1,      /* follow a process and its descendants */
	ASK_CALLS = 1 << 2,      /* system calls: operations begin and end */
	ASK_CALL_FILES = 1 << 3, /* vfs_read() and vfs_write() give the file of a call: cheaper */
	ASK_WAITS = 1 << 4,      /* sleeps of operations, split by cause */
	ASK_REQUESTS = 1 << 5,   /* block requests */
	ASK_VFS = 1 << 6,        /* functions of the VFS */
	ASK_FS = 1 << 7,         /* functions of file systems */
	ASK_ISSUERS = 1 << 8,    /* submitters of bios, where another thread queues the bio */
	ASK_BEHALF = 1 << 9,     /* on behalf of which thread a kernel thread submits a request */
	ASK_LOCKS = 1 << 10,     /* which sleeps wait for a lock of the kernel */
	ASK_URING = 1 << 11,     /* requests of io_uring as operations */
	ASK_AIO = 1 << 12,       /* requests of libaio as operations */
	ASK_FAULTS = 1 << 13,    /* page faults as operations */
	ASK_TAG = 1 << 14,       /* when a bio gets its request: separates tag from queue */
	ASK_QUEUED = 1 << 15,    /* ends of reads and writes that outlive their function call */
	ASK_CGROUPS = 1 << 17,   /* paths of new cgroups */
	ASK_SERVERS = 1 << 16,   /* requests of file systems to servers and daemons */
	ASK_SERVED = 1 << 18,    /* requests to nfsd or ksmbd as operations */
	ASK_HUNG = 1 << 19,      /* threads that have waited since before the start */
	ASK_OUTSIDE = 1 << 20,   /* sleeps in no other operation as operations */
	ASK_COMMANDS = 1 << 21,  /* command lines of processes that execute a program */
	ASK_STACKS = 1 << 22,    /* user stacks of calls */
	ASK_PATHS = 1 << 23,     /* files of calls by path, or their file systems alone */
	ASK_COPIED_UP = 1 << 25, /* copies to the upper layer of overlayfs, for records */
	ASK_FOUND = 1 << 24,     /* these files: needs ASK_PATHS and plan_has_files() */
};

enum hook {
	HOOK_TP_BTF, /* tracepoint with typed arguments */
	HOOK_TP,     /* tracepoint of perf, "group/name" */
	HOOK_ITER,
	HOOK_FAULTS, /* software events of page faults, on all CPUs; see struct fault_links */
	HOOK_FENTRY,
	HOOK_FEXIT,
	HOOK_KPROBE,
	HOOK_KRETPROBE,
};

/*
 * One program.
 *
 * A function has four programs, in this order: fexit, fentry, kretprobe, kprobe. The program at the
 * return is attached first, so its row precedes the row of the entry. A template is for functions
 * of file systems. These are found at run time; the template is loaded as if for @target.
 */
struct program {
	size_t at; /* offset in struct trace_bpf */
	enum hook hook;
	const char *target;  /* tracepoint or function */
	const char *module;  /* which may have @target instead of the kernel; NULL: none */
	unsigned int asks;   /* set of enum ask: each of them needs the program */
	unsigned int needs;  /* set of enum need */
	unsigned int strata; /* set of 1 << stratum, not measured without it */
	bool requests;       /* without the program there are no requests either */
	bool pages;          /* without the program, pages of disks in memory have no rows */
	/* Has a second copy. On a tracepoint: where the kernel preempts tracepoint programs; on a
	 * function's entry: always; on its return: where the kernel preempts. */
	bool backup;
	bool last;   /* attached after all others */
	bool called; /* tail-called by the program on the same hook, instead of attached */
	bool alone;  /* on a function, without a program at its other end */
	bool is_template;
	/* of a function or template: the kind of operation whose calls all pass through it, or
	 * OP_NONE */
	enum op_kind op;
	enum fs_method method; /* of a template */
	const char *without;   /* why @strata are not measured */
};

/* Properties of the kernel. They decide on the program for a hook. */
enum need {
	NEED_LEVEL = 1 << 0, /* programs can read the interrupt level */
	NEED_NO_LEVEL = 1 << 1,
	NEED_TP_CALLS = 1 << 2,     /* system calls by typed tracepoints */
	NEED_PERF_CALLS = 1 << 3,   /* by perf's tracepoints, whose programs are not preempted */
	NEED_FILE_ITER = 1 << 4,    /* there is an iterator over open files */
	NEED_PAUSE = 1 << 5,        /* balance_dirty_pages reports how long the thread will sleep */
	NEED_URING = 1 << 6,        /* tracepoints of io_uring identify their request */
	NEED_URING_REQ = 1 << 7,    /* the tracepoint of its submission has this name */
	NEED_URING_SQE = 1 << 8,    /* or this name, before 6.4 */
	NEED_AIO = 1 << 9,          /* the kernel functions behind libaio can be probed */
	NEED_FIND_VMA = 1 << 10,    /* programs can look up mappings */
	NEED_EXCEPTION = 1 << 11,   /* a tracepoint reports the beginning of page faults */
	NEED_ABORT = 1 << 12,       /* or, on arm64, function do_mem_abort() is their beginning */
	NEED_FAULT_EXIT = 1 << 13,  /* the return of handle_mm_fault() is their end */
	NEED_FAULT_EVENT = 1 << 14, /* or software events are, where functions cannot be probed */
	NEED_FUSE_EVENTS = 1 << 15, /* tracepoints report the requests of FUSE (6.11) */
	NEED_FUSE_FUNCTIONS = 1 << 16, /* or functions do */
	NEED_TASK_ITER = 1 << 18,      /* there is an iterator over threads */
	NEED_NFSD = 1 << 17,           /* nfsd is there, and its functions can be probed */
	NEED_KSMBD = 1 << 19,          /* ksmbd is there, and its functions can be probed */
	NEED_MD = 1 << 20,             /* md is there, and counts the parts of a bio (5.14) */
	NEED_PAGE_IO = 1 << 21,        /* disks in memory take pages without a bio (before 6.3) */
	/* pairs: a kernel has one need of each pair */
	NEED_ALTERNATIVES = NEED_URING_REQ | NEED_URING_SQE | NEED_EXCEPTION | NEED_ABORT |
			    NEED_FAULT_EXIT | NEED_FAULT_EVENT | NEED_FUSE_EVENTS |
			    NEED_FUSE_FUNCTIONS | NEED_PAGE_IO,
};

enum { MAX_PROGRAMS = 224, MAX_REFUSED = 32 };

/* The programs for one run. */
struct plan {
	unsigned int asked;   /* set of enum ask */
	unsigned int kinds;   /* kinds of operations whose functions are probed: set of 1 << enum
			       * op_kind */
	enum func_probe func; /* how functions are probed on this kernel */
	bool module_btf;
	const char *why_not[MAX_PROGRAMS]; /* by row of programs[]; NULL: the kernel has the hook */
	const struct program *refused[MAX_REFUSED]; /* refused by the kernel */
	int n_refused;
};

extern const struct program programs[];
extern const size_t programs_n;

/* Set of enum ask: asked for by a run with @conf. */
unsigned int plan_asked(const struct session_conf *conf);

/* Whether operations need more of their file than its file system: its rows, names or filters. */
bool plan_has_files(const struct session_conf *conf);

/* Whether programs can look up mappings. */
bool plan_finds_mappings(struct feature *f);

/* Kinds of operations whose functions a run with @conf probes: set of 1 << enum op_kind. */
unsigned int plan_kinds(const struct session_conf *conf);

/* Looks up the hooks of programs[] in the kernel's types. @feat outlives the plan. */
void plan_init(struct plan *p, struct feature *feat, unsigned int asked, unsigned int kinds);

/* Whether @prog was written for a run like this: the run needs @prog, and no other program serves
 * this hook on this kernel. */
bool plan_is_for(const struct plan *p, const struct program *prog);

/* Whether this run loads @prog: the run needs @prog, and the kernel has its hook and features and
 * has not refused it. */
bool plan_wants(const struct plan *p, const struct program *prog);

/* Why @prog cannot be used on this kernel; NULL: loading can be tried. */
const char *plan_why_not(const struct plan *p, const struct program *prog);

/* Leaves @prog out of the plan. Returns false if it was left out before, or MAX_REFUSED programs
 * are. */
bool plan_refuse(struct plan *p, const struct program *prog);

/* The program of a row in @obj. */
struct bpf_program *program_of(const struct trace_bpf *obj, const struct program *prog);

/* The row of a program of @obj; NULL if it has none. */
const struct program *program_row(const struct trace_bpf *obj, const struct bpf_program *prog);

/* Writes the hook as text: "tp_btf/sys_enter", "fentry/vfs_read". */
void program_hook_text(const struct program *prog, char *text, size_t cap);

/* Whether @prog is on a function that bounds a layer. Unless this layer is traced alone, no
 * operation ends in such a program. */
bool program_bounds_layer(const struct program *prog);

#endif
