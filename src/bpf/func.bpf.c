// SPDX-License-Identifier: GPL-2.0-only
/*
 * func.bpf.c - the programs on functions: a pair for each way to probe functions, or one program
 * for entry and return. func.bpf.h does the work.
 *
 * All are optional ("?"): func_load() loads those needed by the chosen way. For ways of probing one
 * function at a time it loads a copy for each function, with the function's number in its
 * instructions.
 */
#include "func.bpf.h"
#include "insn.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline u32 func_own(void)
{
	return TO_CHANGE(FUNC_ID_MARK);
}

struct func_id func_ids[1 << FUNC_IDS_LOG2];

/* The number of the function, where many functions share a program. The kernel searches among all
 * functions for the cookie. So the cookie is only for functions of user programs, and for kernel
 * functions whose slot belongs to another. */
static __always_inline u32 func_number(void *ctx)
{
	u64 addr = bpf_get_func_ip(ctx);
	struct func_id *id = &func_ids[func_id_slot(addr)];

	barrier_var(id);
	return likely(id->addr == addr) ? id->func : (u32)bpf_get_attach_cookie(ctx);
}

static u64 (*const func_is_return)(void *ctx) = (void *)FUNC_IS_RETURN_MARK;

/* The programs at entry and return of a function call run in one trampoline, so the address of
 * their context identifies the call. */
static __always_inline u64 func_context(u64 *ctx)
{
	return number((u64)ctx);
}

SEC("?fentry/vfs_read")
int func_fentry(u64 *ctx)
{
	func_enter(func_own(), func_context(ctx));
	return 0;
}

SEC("?fexit/vfs_read")
int func_fexit(u64 *ctx)
{
	func_leave(func_own(), func_context(ctx));
	return 0;
}

/* func_fentry() and func_fexit() in one. The kernel refuses this program if it may return anything
 * but 0. */
SEC("?fentry/vfs_read")
int func_fsession(u64 *ctx)
{
	u64 at = func_context(ctx);

	if (!(func_is_return(ctx) & 1))
		func_enter(func_own(), at);
	else if (!func_leave_paired(at))
		func_leave(func_own(), at);
	return 0;
}

/* The stack pointer at the entry of the returning function. */
static __always_inline u64 func_entry_sp(struct pt_regs *ctx)
{
	return REGS_SP(ctx) + func_live.sp_shift;
}

SEC("?kprobe")
int func_kprobe(struct pt_regs *ctx)
{
	func_enter(func_own(), REGS_SP(ctx));
	return 0;
}

SEC("?kretprobe")
int func_kretprobe(struct pt_regs *ctx)
{
	func_leave(func_own(), func_entry_sp(ctx));
	return 0;
}

SEC("?kprobe")
int func_multi(struct pt_regs *ctx)
{
	func_enter(func_number(ctx), REGS_SP(ctx));
	return 0;
}

SEC("?kretprobe")
int func_multi_return(struct pt_regs *ctx)
{
	func_leave(func_number(ctx), func_entry_sp(ctx));
	return 0;
}

/* Returns 1 at the entry if the return need not be seen. */
SEC("?kprobe")
int func_session(struct pt_regs *ctx)
{
	if (!(func_is_return(ctx) & 1))
		return !func_enter(func_number(ctx), REGS_SP(ctx));
	if (!func_leave_paired(func_entry_sp(ctx)))
		func_leave(func_number(ctx), func_entry_sp(ctx));
	return 0;
}

/* Function calls in progress do not return when their thread exits. The exiting thread goes on to
 * call other functions. These do return. */
SEC("?tp_btf/sched_process_exit")
int func_on_exit(u64 *ctx)
{
	func_killed_note(func_thread_find(ctx[0]));
	func_calls_end(ctx[0]);
	return 0;
}

/* Function calls in progress do not return either when a user program executes another, whose stack
 * is somewhere else. */
SEC("?tp_btf/sched_process_exec")
int func_on_exec(u64 *ctx)
{
	func_calls_end(ctx[0]);
	return 0;
}

/* Frees the state of a thread for another. */
SEC("?tp_btf/sched_process_free")
int func_on_free(u64 *ctx)
{
	u64 task = ctx[0];
	u32 slot = func_slot(task);
	struct func_thread *t = func_thread_find(task);

	if (!t)
		return 0;
	func_frames_end(t);
	if (func_threads[func_slot(task)].task != task) {
		func_thread_leave(task, t);
		return 0;
	}
	func_threads[func_slot(task)].task = 0;
	bpf_map_delete_elem(&func_owners, &slot);
	return 0;
}

/* The tool's child runs the command after "--". The child and all its descendants are tracked. */
SEC("?tp_btf/sched_process_fork")
int func_on_fork(u64 *ctx)
{
	struct task_struct *child = (void *)ctx[1];

	if (child->pid == child->tgid)
		func_group_track(child->tgid,
				 func_group_tracked(bpf_get_current_pid_tgid() >> 32) ||
					 func_pid_tgid() >> 32 == FUNC_CONF(tool_tgid));
	return 0;
}
