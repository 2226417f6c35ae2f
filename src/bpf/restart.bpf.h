/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * restart.bpf.h - a call that a signal interrupts, and which the kernel then begins again: one
 * operation, from its first entry to its last return. The time of a signal's handler is not in it.
 *
 * Such a call returns an error that no process gets to see (ERESTARTSYS ...). What follows depends
 * on the next signal. Without a handler, the call begins again at once. With a handler, it begins
 * again when the handler has returned, or it has failed (EINTR). So the signals that are pending
 * are looked at when the call returns: its operation ends, or it is put aside in @interrupted.
 *
 * While its operation is put aside, a thread is in the stage OP_RESTARTS when its next call may be
 * the same one: at once, or from the handler's return on (rt_sigreturn). It is the same one if it
 * has the same number and stack pointer. A handler has its frame below, or a stack of its own, so
 * its calls are operations of their own. A handler that never returns (siglongjmp) leaves the
 * operation behind: its thread's next interrupted call, or its end, counts it as lost.
 *
 * In the stage OP_RESTARTS, op.charging is set: no switch charges anything. Page faults in it are
 * not traced.
 */
#ifndef IOSTRATA_RESTART_BPF_H
#define IOSTRATA_RESTART_BPF_H

#include "function.bpf.h"
#include "task.bpf.h"

/* include/linux/errno.h; 515 is no result of a call. The last one goes on as restart_syscall(),
 * which is no operation: only calls that wait for time or descriptors return it. */
enum {
	RESTART_SYS = 512,
	RESTART_NOINTR = 513,
	RESTART_NOHAND = 514,
	RESTART_BLOCK = 516,
	ERROR_INTR = 4
};

enum { SA_RESTART = 0x10000000 }; /* asm-generic/signal-defs.h, for all */

/* Sets of signals by number, as the kernel's (asm-generic/signal.h, for all architectures). */
#define SIGNAL(n) (1ULL << ((n)-1))
/* SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS come first. */
#define SIGNALS_SYNCHRONOUS                                                                        \
	(SIGNAL(4) | SIGNAL(5) | SIGNAL(7) | SIGNAL(8) | SIGNAL(11) | SIGNAL(31))
#define SIGNAL_KILL SIGNAL(9)
/* Without a handler: SIGCHLD, SIGCONT, SIGURG, SIGWINCH have no effect; SIGSTOP, SIGTSTP, SIGTTIN,
 * SIGTTOU stop the process; the others end it. */
#define SIGNALS_IGNORED  (SIGNAL(17) | SIGNAL(18) | SIGNAL(23) | SIGNAL(28))
#define SIGNALS_STOPPING (SIGNAL(19) | SIGNAL(20) | SIGNAL(21) | SIGNAL(22))

enum { HANDLER_DEFAULT, HANDLER_IGNORE };
enum { SIGNALS_TRIED = 4 };

/* How an interrupted call goes on. */
enum restart { RESTART_NOT, RESTART_AT_ONCE, RESTART_AFTER_HANDLER };

/* Whether the low half of @ret is that of one of the errors above. The verifier learns nothing of
 * @ret itself, or it would walk all later code once for each range of @ret. */
static __always_inline bool may_restart(long ret)
{
	return (u32)ret + RESTART_BLOCK <= RESTART_BLOCK - RESTART_SYS;
}

/* The signal of @set that the kernel delivers first, as a set, or 0 if there is none. */
static __always_inline u64 signal_first(u64 set)
{
	u64 early = set & SIGNALS_SYNCHRONOUS;

	set = early ? early : set;
	return set & -set;
}

/* Current's handler of the signal number @index + 1: the address, and its flags in @ret_flags. */
static __always_inline u64 signal_handler(u32 index, u64 *ret_flags)
{
	struct task_struct *task = (struct task_struct *)current_task();
	u64 at = (u64)BPF_CORE_READ(task, sighand);
	struct k_sigaction *action;

	at += bpf_core_field_offset(struct sighand_struct, action);
	action = (struct k_sigaction *)(at + index * bpf_core_type_size(struct k_sigaction));
	*ret_flags = BPF_CORE_READ(action, sa.sa_flags);
	return (u64)BPF_CORE_READ(action, sa.sa_handler);
}

/* How current's call goes on, which returns @ret: as its next signal wants. A signal that comes
 * only now is not seen, nor one that another thread of the process takes. */
static __always_inline enum restart restart_of(long ret)
{
	struct task_struct *task = (struct task_struct *)current_task();
	u64 open = ~BPF_CORE_READ(task, blocked.sig[0]), flags, handler, next;
	u64 own = BPF_CORE_READ(task, pending.signal.sig[0]) & open;
	u64 shared = BPF_CORE_READ(task, signal, shared_pending.signal.sig[0]) & open;

	if (ret == -RESTART_BLOCK || (own | shared) & SIGNAL_KILL)
		return RESTART_NOT;
#pragma clang loop unroll(disable)
	for (int i = 0; i < SIGNALS_TRIED; i++) {
		next = signal_first(own ? own : shared);
		if (!next)
			return RESTART_AT_ONCE;
		handler = signal_handler(hist_log2(next), &flags);
		if (handler > HANDLER_IGNORE)
			return ret == -RESTART_NOINTR || (ret == -RESTART_SYS && flags & SA_RESTART)
				       ? RESTART_AFTER_HANDLER
				       : RESTART_NOT;
		if (handler == HANDLER_DEFAULT && !(next & SIGNALS_IGNORED))
			return next & SIGNALS_STOPPING ? RESTART_AT_ONCE : RESTART_NOT;
		own &= ~next;
		shared &= ~next;
	}
	return RESTART_NOT;
}

/* From now on, the next call of @t may be the one of the operation that is put aside. */
static __always_inline void restart_expect(struct task_state *t)
{
	t->op.flags = 0;
	t->op.charging = 1;
	barrier();
	t->op.stage = STAGE(OP_RESTARTS, ST_SYSCALL, 0, 0);
}

/* Current's call returns @ret at @now, perhaps one of the errors above, with @sp and number @nr in
 * its registers. Returns 0 if its operation is put aside, else the result that its process sees. */
GLOBAL s64 call_interrupted(s64 ret, u64 now, u64 sp, u64 nr)
{
	struct task_state *t = current_lookup();
	u64 task = current_task();
	struct interrupted *put;
	enum restart how;

	if (ret < -RESTART_BLOCK || ret > -RESTART_SYS || !t || t->op.progress < OP_EXECS ||
	    t->op.progress == OP_RESTARTS)
		return ret;
	how = restart_of(ret);
	if (how == RESTART_NOT)
		return -ERROR_INTR;
	if (bpf_map_update_elem(&interrupted, &task, zeroes, BPF_ANY)) {
		count_lost(LOST_MAP_FULL);
		return -ERROR_INTR;
	}
	put = bpf_map_lookup_elem(&interrupted, &task);
	if (!put)
		return -ERROR_INTR;
	if (t->interrupted)
		count_lost(LOST_UNMATCHED_START);
	t->op.charging = 1;
	barrier();
	if (CONF(layer) == LAYER_OPS)
		op_settle(&t->op, t->op.layer, now);
	put->op = t->op;
	put->since = now;
	put->sp = sp;
	put->nr = nr;
	put->handled = how == RESTART_AFTER_HANDLER;
	t->interrupted = 1;
	barrier();
	if (how == RESTART_AT_ONCE)
		restart_expect(t);
	else
		t->op.stage = 0;
	return 0;
}

/* Current, which may begin its interrupted call again, begins the call number @nr with the stack
 * pointer @sp. Returns 1 if it is this call: its operation goes on. */
GLOBAL int call_goes_on(u64 sp, u64 nr, u64 now)
{
	struct task_state *t = current_lookup();
	u64 task = current_task();
	struct interrupted *put = bpf_map_lookup_elem(&interrupted, &task);
	struct segments *list;
	u32 progress;

	if (!t || !put || put->sp != sp || put->nr != nr)
		return 0;
	t->op.stage = 0;
	barrier();
	progress = put->op.progress == OP_RETURNS ? OP_ACTIVE : put->op.progress;
	put->op.stage = 0;
	op_move(&t->op, &put->op);
	list = put->handled ? op_segment_list(&t->op) : NULL;
	if (list) /* the handler's calls have used it */
		list->n = list->merged = 0;
	t->op.start += positive(now - put->since);
	t->op.at[AT_CHARGED] = now;
	t->interrupted = 0;
	bpf_map_delete_elem(&interrupted, &task);
	barrier();
	t->op.charging = 0;
	t->op.stage = STAGE(progress, ST_SYSCALL, 0, 0);
	return 1;
}

/* Current @task returns from a signal's handler. */
static __always_inline void handler_returns(u64 task)
{
	struct task_state *t = task_lookup(task);

	if (t && t->interrupted && !t->op.stage)
		restart_expect(t);
}

/* The thread @task ends, and has put an operation aside. */
static __always_inline void interrupted_forget(u64 task)
{
	count_lost(LOST_UNMATCHED_START);
	bpf_map_delete_elem(&interrupted, &task);
}

#endif
