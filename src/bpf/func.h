/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func.h - what the programs on functions and user space share: what to trace, and what is counted.
 */
#ifndef IOSTRATA_FUNC_H
#define IOSTRATA_FUNC_H

#include "conf.h"

enum {
	FUNC_FRAMES = 64,       /* calls of traced functions that a thread can be in */
	FUNC_THREADS_LOG2 = 10, /* threads whose state has a slot */
	FUNC_IDS_LOG2 = 12,     /* slots of struct func_id */
};

/*
 * In each copy of a program on one function, its number replaces the first of these. A BPF helper
 * call with the second as its number becomes a call of the kernel's function
 * bpf_session_is_return(); see func_load.c.
 */
enum { FUNC_ID_MARK = 0x46756e63, FUNC_IS_RETURN_MARK = 0x46756e64 };

/* What a row stands for. */
enum func_rows {
	FUNC_ROWS,      /* a function */
	FUNC_ROWS_TREE, /* a function below the traced functions that called it */
	FUNC_ROWS_PID,  /* a function in a process, thread ... */
	FUNC_ROWS_TID,
	FUNC_ROWS_COMM,
	FUNC_ROWS_CGROUP,
};

/* Read-only data of the programs. */
struct func_conf {
	unsigned int n_funcs;        /* ids of functions are 0 .. n_funcs - 1; the next is for
				      * measuring the probes themselves */
	unsigned int hists;          /* copies of the histograms, shared by the CPUs; 2^n */
	unsigned int user_stacks;    /* the functions are a program's */
	unsigned char rows;          /* enum func_rows */
	unsigned char subtract;      /* what probes cost is no part of any time */
	unsigned char tracked;       /* only the tool's child and its descendants */
	unsigned char n_pids;        /* only these thread groups; 0: all */
	unsigned char hists_shared;  /* hists are fewer than CPUs */
	unsigned int pids[MAX_PIDS]; /* in the tool's pid namespace */
	unsigned int tool_tgid;
	unsigned long long pidns_dev, pidns_ino; /* the tool's; 0: the initial one */
};

/* Sums of the calls of a row that returned; ns. */
struct func_sums {
	unsigned long long count;    /* not with FUNC_ROWS: the histogram counts them */
	unsigned long long total_ns; /* from entry to return */
	unsigned long long self_ns;  /* without that of the traced functions that it called */
	unsigned long long max_ns;
	unsigned long long min_inverse; /* ~min_ns; 0: no call */
	unsigned long long parent;      /* with FUNC_ROWS_TREE: path of the row above; 0: none */
};

/* A row in the hash of rows: not with FUNC_ROWS. */
struct func_key {
	unsigned long long path;  /* FUNC_ROWS_TREE: see func_path(); else 0 */
	unsigned long long by[2]; /* pid | tid | comm | cgroup */
	unsigned int func;
	unsigned int bucket; /* with a key: of the histogram of these calls; else 0 */
};

/* The number of a function of the kernel, in a slot by its address. User space writes it before the
 * function is probed. */
struct func_id {
	unsigned long long addr; /* 0: nobody's */
	unsigned int func;
	unsigned int pad;
};

static inline unsigned int func_id_slot(unsigned long long addr)
{
	return (unsigned int)addr * 0x9e3779b1U >> (32 - FUNC_IDS_LOG2);
}

/* A call in progress. */
struct func_frame {
	unsigned long long start;
	unsigned long long sp;        /* where the stack was at the entry */
	unsigned long long nested_ns; /* in traced functions that it called */
	unsigned long long path;      /* only with FUNC_ROWS_TREE */
	unsigned int func;
	unsigned int below; /* only with conf.subtract: calls that came in between */
};

struct func_thread {
	unsigned long long task; /* of a slot: struct task_struct *, 0: nobody's */
	unsigned int depth;      /* frames in use */
	unsigned int filling;    /* the last of them is not written yet, or some are being
				  * given up: who interrupts that leaves them as they are */
	unsigned int crowd;      /* of the slot: threads whose state is elsewhere */
	unsigned int pad;
	struct func_frame frames[FUNC_FRAMES];
};

/* Every way to lose a call. */
enum func_lost {
	FUNC_LOST_THREADS, /* no room for the state of a thread */
	FUNC_LOST_ROWS,    /* no room for a row */
	FUNC_LOST_DEPTH,   /* the thread was in FUNC_FRAMES traced functions already */
	FUNC_LOST_END,     /* returned, but the entry was not seen */
	FUNC_LOST_RETURN,  /* return not seen; not counted by function */
	FUNC_LOST_N,
};

/* What changes while programs run. They write @lost, @sp_seen and @learned, user space the rest. */
struct func_live {
	unsigned long long since_ns;  /* all probes are live; 0: not yet */
	unsigned long long call_ns;   /* with conf.subtract: what a probe adds to callers' time */
	unsigned long long inside_ns; /* and to the call's own; both 0 while it is measured */
	long long sp_shift;           /* from the stack at a return to that at the entry */
	unsigned int learning;        /* @sp_shift is not known */
	unsigned int sp_seen;         /* @learned was written */
	long long learned;
	unsigned long long lost[FUNC_LOST_N];
};

#endif
