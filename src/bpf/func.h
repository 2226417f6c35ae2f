/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func.h - shared by the programs on functions and user space: the functions and threads to trace,
 * and the counts.
 */
#ifndef IOSTRATA_FUNC_H
#define IOSTRATA_FUNC_H

#include "conf.h"

enum {
	FUNC_FRAMES = 64,       /* nested calls of traced functions per thread */
	FUNC_THREADS_LOG2 = 10, /* threads whose state has a slot */
	FUNC_IDS_LOG2 = 12,     /* slots of struct func_id */
};

/* Constants in the programs. func_load() replaces them. */
enum {
	/* in each copy of a program on one function: becomes the function's number */
	FUNC_ID_MARK = 0x46756e63,
	/* the number of a BPF helper: its call becomes a call of bpf_session_is_return() */
	FUNC_IS_RETURN_MARK = 0x46756e64,
};

/* The meaning of a row. */
enum func_rows {
	FUNC_ROWS,      /* a function */
	FUNC_ROWS_TREE, /* a function below its traced callers */
	FUNC_ROWS_PID,  /* a function in a process, thread ... */
	FUNC_ROWS_TID,
	FUNC_ROWS_COMM,
	FUNC_ROWS_CGROUP,
};

/* Read-only data of the programs. */
struct func_conf {
	unsigned int n_funcs;        /* ids: 0 .. n_funcs - 1; n_funcs is for the probes' cost */
	unsigned int hists;          /* copies of the histograms, shared by CPUs; a power of 2 */
	unsigned int user_stacks;    /* the functions are a user program's */
	unsigned char rows;          /* enum func_rows */
	unsigned char subtract;      /* subtract the cost of probes from all times */
	unsigned char tracked;       /* only the tool's child and its descendants */
	unsigned char n_pids;        /* only the thread groups in @pids; 0: all */
	unsigned char hists_shared;  /* hists is less than the number of CPUs */
	unsigned char counted_only;  /* returns are not probed */
	unsigned int pids[MAX_PIDS]; /* in the tool's pid namespace */
	unsigned int tool_tgid;
	unsigned long long pidns_dev, pidns_ino; /* the tool's pid namespace; 0: the initial one */
};

/* Sums of a row's completed function calls; ns. */
struct func_sums {
	unsigned long long count;    /* not with FUNC_ROWS: there the histogram counts the calls */
	unsigned long long total_ns; /* from entry to return */
	unsigned long long self_ns;  /* total_ns less the time in traced callees */
	unsigned long long max_ns;
	unsigned long long min_inverse; /* ~min_ns; 0: no call */
	unsigned long long parent;      /* with FUNC_ROWS_TREE: path of the row above; 0: none */
	/* only with conf.subtract: the probes' time, in no other sum; and the part of total_ns in
	 * which the thread waited for a CPU */
	unsigned long long probe_ns, preempted_ns;
};

/* A row in the hash of rows: not with FUNC_ROWS. */
struct func_key {
	unsigned long long path;  /* FUNC_ROWS_TREE: see func_path(); else 0 */
	unsigned long long by[2]; /* pid | tid | comm | cgroup */
	unsigned int func;
	unsigned int bucket; /* with @by: bucket of these calls in the histogram; else 0 */
};

/* The id of a kernel function, in a slot by its address. User space writes the entry before the
 * function is probed. */
struct func_id {
	unsigned long long addr; /* 0: a free slot */
	unsigned int func;
	unsigned int pad;
};

static inline unsigned int func_id_slot(unsigned long long addr)
{
	return (unsigned int)addr * 0x9e3779b1U >> (32 - FUNC_IDS_LOG2);
}

/* A function call in progress. */
struct func_frame {
	unsigned long long start;
	unsigned long long sp;        /* the stack pointer at the entry */
	unsigned long long nested_ns; /* time in traced callees */
	unsigned long long path;      /* only with FUNC_ROWS_TREE */
	unsigned int func;
	/* only with conf.subtract */
	unsigned int below;              /* traced calls below this one */
	unsigned long long preempted_ns; /* func_preempted() at the entry */
};

struct func_thread {
	unsigned long long task; /* of a slot: struct task_struct *; 0: a free slot */
	unsigned int depth;      /* frames in use */
	unsigned int filling;    /* the last frame is not written yet, or some are being given
				  * up: interrupting code leaves these frames as they are */
	unsigned int crowd;      /* of the slot: threads whose state is in func_others */
	unsigned int pad;
	struct func_frame frames[FUNC_FRAMES];
};

/* Every way to lose a function call. */
enum func_lost {
	FUNC_LOST_THREADS, /* no room for the state of a thread */
	FUNC_LOST_ROWS,    /* no room for a row */
	FUNC_LOST_DEPTH,   /* the thread was in FUNC_FRAMES traced functions already */
	FUNC_LOST_END,     /* returned, but the entry was missed */
	FUNC_LOST_RETURN,  /* unreturned, and not counted by function */
	FUNC_LOST_N,
};

/* Data changing while the programs run. The programs write @lost, @sp_seen, @learned,
 * @preempted_known and @killed_*, user space the rest. */
struct func_live {
	unsigned long long since_ns;  /* when all probes were live; 0: not yet */
	unsigned long long call_ns;   /* with conf.subtract: time added to the callers by a probe */
	unsigned long long inside_ns; /* and to the call itself; both 0 while this is measured */
	long long sp_shift;           /* stack pointer at the entry less the one at the return */
	unsigned int learning;        /* @sp_shift is not known */
	unsigned int sp_seen;         /* @learned was written */
	long long learned;
	unsigned long long lost[FUNC_LOST_N];
	/* thread group of a thread that called traced functions and was killed by its own fault,
	 * and the signal; @killed_tgid is in the tool's pid namespace. 0: none was */
	unsigned int killed_tgid, killed_by;
	unsigned int preempted_known; /* with conf.subtract: preempted_ns is measured */
};

#endif
