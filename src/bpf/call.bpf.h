/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * call.bpf.h - begins and ends the operation of a system call: its file, offset and length, from
 * its registers. Knows nothing of the layers below.
 */
#ifndef IOSTRATA_CALL_BPF_H
#define IOSTRATA_CALL_BPF_H

#include "op.bpf.h"
#include "copy.bpf.h"
#include "uring.bpf.h"
#include "mapping.bpf.h"
#include "path.bpf.h"

/* Low byte: the 64-bit call of that number, high byte: the 32-bit one. */
const volatile unsigned short calls[CALL_MAX] = {};
/* By number: enum call_offset of the 64-bit call in the low byte, of the 32-bit one in the high. */
const volatile unsigned short call_offsets[CALL_MAX] = {};

/* The descriptor of a call. @descs: its entry of calls[], for the 64-bit and the 32-bit call. */
static __always_inline u32 call_desc(u32 descs, bool compat)
{
	return compat ? descs >> 8 : descs & 0xff;
}

#define F_SETFL 4

/* F_GETLK to F_SETLKW, F_GETLK64 to F_SETLKW64, F_OFD_GETLK to F_OFD_SETLKW (asm-generic/fcntl.h).
 */
static __always_inline bool is_lock_command(u64 cmd)
{
	return (cmd >= 5 && cmd <= 7) || (cmd >= 12 && cmd <= 14) || (cmd >= 36 && cmd <= 38);
}

/* Arguments of mmap() and madvise(): asm-generic/mman.h and mman-common.h, for all architectures.
 */
enum { MAP_LOCKED = 0x2000, MAP_POPULATE = 0x8000, MAP_NONBLOCK = 0x10000 };
enum { MADV_WILLNEED = 3, MADV_POPULATE_READ = 22, MADV_POPULATE_WRITE = 23 };

/* The commands of ioctl() that read or write a file system or a block device, by their type
 * (their second byte): FS_IOC_..., FICLONE, FITRIM, of btrfs, ext4, XFS and f2fs, BLK..., SG_IO,
 * those of NVMe, and FIBMAP. On other files than storage, they mean something else. */
static __always_inline bool ioctl_is_io(u32 command)
{
	switch (command >> 8 & 0xff) {
	case 0x00:
		return command == 1;
	case 0x12:
	case 0x22:
	case 0x94:
	case 0xf5:
	case 'N':
	case 'X':
	case 'f':
	case 'v':
		return true;
	default:
		return false;
	}
}

/* Whether an ioctl() with this command is traced. */
static __always_inline bool ioctl_is_wanted(u32 command)
{
	return clone_is_command(command) ? CONF(clones)
					 : CONF(clones) != CLONES_ONLY && ioctl_is_io(command);
}

/* F_SETLEASE and F_GETLEASE. A lease is broken like a lock. */
static __always_inline bool is_lease_command(u64 cmd)
{
	return cmd == 1024 || cmd == 1025;
}

/* SEEK_DATA and SEEK_HOLE read the map of the file's blocks. */
static __always_inline bool seek_is_io(u64 whence)
{
	return whence == 3 || whence == 4;
}

/* BPF_OBJ_PIN and BPF_OBJ_GET. */
static __always_inline bool bpf_has_path(u64 cmd)
{
	return cmd == 6 || cmd == 7;
}

/* Whether a socket's address at @address, in user memory, is a path: AF_UNIX, and no name without a
 * file. Such a name begins with a NUL. */
static __always_inline bool address_is_path(u64 address)
{
	struct {
		unsigned short family;
		char first;
	} a = {};

	return !bpf_probe_read_user(&a, 3, (void *)address) && a.family == 1 && a.first;
}

/* The entry of call number @nr in call_offsets[]: enum call_offset. */
static __always_inline u32 call_where(u32 nr, bool compat)
{
	u32 where = call_offsets[nr % CALL_MAX];

	return compat ? where >> 8 : where & 0xff;
}

/* The descriptor of a call whose arguments decide: of kind handle if it only changes a descriptor,
 * or 0 if it is neither. */
static __always_inline u32 call_desc_by_args(struct pt_regs *regs, u32 nr, u32 desc, bool compat)
{
	u32 handle = CONF(sent_ops) ? CALL_DESC(OP_HANDLE, FILE_ARG0) : 0;
	u64 second = call_arg(regs, 1, compat);
	struct open_file f;

	switch (call_where(nr, compat)) {
	case OFFSET_FLOCK:
		if (is_lock_command(second) || is_lease_command(second))
			return CALL_DESC(CALL_KIND(desc), FILE_ARG0);
		return handle;
	case OFFSET_SEEK:
		if (seek_is_io(call_arg(regs, 2, compat)))
			return CALL_DESC(CALL_KIND(desc), FILE_ARG0);
		return handle;
	case OFFSET_IOCTL:
		return ioctl_is_wanted(second) ? CALL_DESC(CALL_KIND(desc), FILE_ARG0) : 0;
	case OFFSET_DUP:
		f = fd_look(second, false);
		return f.file && mode_wanted(f.mode) ? CALL_DESC(CALL_KIND(desc), FILE_ARG1)
						     : handle;
	case OFFSET_SOCKET_PATH:
	case OFFSET_SOCKET_PARENT:
		return address_is_path(second) ? CALL_DESC(CALL_KIND(desc), FILE_NONE) : 0;
	case OFFSET_BPF_PATH:
		return bpf_has_path(call_arg(regs, 0, compat))
			       ? CALL_DESC(CALL_KIND(desc), FILE_NONE)
			       : 0;
	case OFFSET_SIGRETURN:
		handler_returns(current_task());
		return 0;
	default:
		return desc;
	}
}

/* The descriptor of a call with these arguments, or 0 if it is no operation. mmap() and madvise()
 * are one only if they read the file at once. */
static __always_inline u32 call_desc_now(struct pt_regs *regs, u32 nr, u32 desc, bool compat)
{
	bool is_op = true;
	u64 arg;

	if (CALL_FILE(desc) < FILE_BY_ARGS)
		return desc;
	if (CALL_FILE(desc) == FILE_BY_ARGS)
		return CALL_KIND(desc) == OP_COPY ? desc
						  : call_desc_by_args(regs, nr, desc, compat);
	if (CALL_FILE(desc) == FILE_MAPPED) {
		arg = mmap_flags(regs);
		is_op = arg & MAP_LOCKED || (arg & (MAP_POPULATE | MAP_NONBLOCK)) == MAP_POPULATE;
	} else if (CALL_FILE(desc) == FILE_ADVISED) {
		arg = call_arg(regs, 2, compat);
		is_op = arg == MADV_WILLNEED || arg == MADV_POPULATE_READ ||
			arg == MADV_POPULATE_WRITE;
	}
	return is_op ? desc : 0;
}

/* Whether an argument of the call is a descriptor of its file. */
static __always_inline bool call_has_fd(u32 desc)
{
	u32 how = CALL_FILE(desc);

	return how != FILE_NONE && how != FILE_RESULT && how < FILE_MAPPING;
}

/* The file of a call that has a descriptor; file NULL: the descriptor is bad. */
static __always_inline struct open_file call_file(struct pt_regs *regs, u32 desc, bool compat,
						  bool cast)
{
	u32 how = CALL_FILE(desc);
	struct open_file f;

	if (how == FILE_MAPPED)
		return fd_look(mmap_fd(regs), cast);
	f = fd_look(call_arg(regs, how == FILE_ARG1, compat), cast);
	if (desc == CALL_DESC(OP_COPY, FILE_ARG0_OR_2) && (!f.file || !mode_is_storage(f.mode)))
		f = fd_look(call_arg(regs, 2, compat), cast);
	return f;
}

/* Whether a call may be traced, judged by its file. A call without a file (a bad descriptor, a
 * path) is traced only if there is no filter by file; mmap() of no file never is. */
static __always_inline bool call_file_wanted(u32 desc, const struct open_file *f)
{
	if (CALL_FILE(desc) == FILE_RESULT)
		return true;
	if (f->file)
		return mode_wanted(f->mode);
	return CALL_FILE(desc) != FILE_MAPPED && !file_filtered();
}

/* Notes the arguments of a call that changes a descriptor or a lock. */
static __always_inline void call_note_args(struct op *op, struct pt_regs *regs, u32 where,
					   bool compat)
{
	u64 third = call_arg(regs, 2, compat);
	short type = 0;

	op->len = (u32)call_arg(regs, 1, compat);
	op->offset = where == OFFSET_FLOCK && op->len == F_SETFL ? RECORDED_FLAGS(third) : third;
	if (where == OFFSET_FLOCK && is_lock_command(op->len)) {
		/* l_type is the first member of struct flock */
		if (bpf_probe_read_user(&type, sizeof(type), (void *)third))
			op->offset = OFFSET_UNKNOWN;
		else
			op->offset = type;
	}
}

/* The offset of a call among its arguments; OFFSET_LATER: the call uses the file's position. A
 * write with RWF_APPEND ignores its offset and writes to the end. */
static __always_inline u64 call_offset(struct pt_regs *regs, u32 where, bool compat)
{
	u64 offset;

	if (where == OFFSET_ARG3)
		return call_arg(regs, 3, compat);
	if (where != OFFSET_VECTOR_ARG3 && where != OFFSET_VECTOR_FLAGS)
		return OFFSET_LATER;
	offset = call_arg(regs, 4, compat);
	if (where == OFFSET_VECTOR_ARG3)
		return offset;
	if (call_arg(regs, 5, compat) & RWF_APPEND)
		return OFFSET_END;
	return offset == ~0ULL ? OFFSET_LATER : offset;
}

/* Notes offset and length. Only records and patterns need them. */
static __always_inline void call_note_range(struct op *op, struct pt_regs *regs, u32 nr, u8 kind,
					    bool compat, bool begun)
{
	u32 where = call_where(nr, compat);
	struct file *file = (struct file *)op->file.file;

	op->offset = OFFSET_UNKNOWN;
	op->len = ~0ULL;
	if (!where)
		return;
	if (where >= OFFSET_ARGS) {
		if (CONF(sent_ops) && where < OFFSET_IOCTL && !begun)
			call_note_args(op, regs, where, compat);
		return;
	}
	if (where < OFFSET_VECTOR_POS)
		op->len = call_arg(regs, 2, compat);
	op->offset = call_offset(regs, where, compat);
	if (begun)
		return;
	/* the flag of this write overrides the one of the open file */
	if (where == OFFSET_VECTOR_FLAGS && call_arg(regs, 5, compat) & RWF_NOAPPEND)
		kind = OP_NONE;
	if (file)
		op_learn_offset(op, kind, file, false);
	else if (op->offset == OFFSET_END)
		op->offset = OFFSET_UNKNOWN;
}

/* The file descriptor among the arguments of a call, or -1 if there is none. */
static __always_inline int call_fd(struct pt_regs *regs, u32 desc, bool compat)
{
	u32 how = CALL_FILE(desc);

	if (!call_has_fd(desc))
		return -1;
	if (desc == CALL_DESC(OP_CLOSE, FILE_ARG1)) /* dup2: it returns the one that is closed */
		return call_arg(regs, 0, compat);
	return how == FILE_MAPPED ? mmap_fd(regs) : call_arg(regs, how == FILE_ARG1, compat);
}

/* Whether offset and length of a call of kind @kind are wanted: patterns have reads and writes
 * only. */
static __always_inline bool range_wanted(u32 kind)
{
	return CONF(records) || CONF(sent_ops) || (CONF(op_accesses) && kind <= OP_WRITE);
}

/* Notes number, descriptor, offset and length of a call, as far as the run needs them. */
static __always_inline void call_note(struct op *op, struct pt_regs *regs, u32 nr, u32 desc,
				      bool compat, bool begun)
{
	op->call = nr | (compat ? CALL_COMPAT : 0);
	if (CONF(sent_ops))
		op->fd = call_fd(regs, desc, compat);
	if (range_wanted(CALL_KIND(desc)))
		call_note_range(op, regs, nr % CALL_MAX, CALL_KIND(desc), compat, begun);
}

static __always_inline struct pt_regs *call_regs(void *ctx, bool perf)
{
	return perf ? current_regs() : (struct pt_regs *)((u64 *)ctx)[0];
}

/* The task_struct of current, and whether its call is a 32-bit one. @ctx, @perf: see call_regs().
 */
static __always_inline u64 call_task(void *ctx, bool perf, bool *ret_compat)
{
#ifdef COMPAT_FIELD
	return current_caller(ret_compat);
#else
	*ret_compat = regs_are_compat(call_regs(ctx, perf));
	return current_task();
#endif
}

/* Whether current's call, whose registers are @regs, is a 32-bit one. */
static __always_inline bool call_is_compat(struct pt_regs *regs)
{
#ifdef COMPAT_FIELD
	bool compat;

	current_caller(&compat);
	return compat;
#else
	return regs_are_compat(regs);
#endif
}

/* The first argument of current's call. */
static __always_inline u64 call_first_arg(struct pt_regs *regs)
{
	return call_arg(regs, 0, call_is_compat(regs));
}

/* Begins the operation of a call, or goes on with that of an interrupted one. For the rest see
 * op_start(). */
static __always_inline void call_starts(struct op *op, struct pt_regs *regs, u32 kind,
					enum op_progress progress)
{
	u64 now = bpf_ktime_get_ns();

	if (op->stage && op->progress == OP_RESTARTS &&
	    call_goes_on(REGS_SP(regs), REGS_CALL(regs), now))
		return;
	op_start(op, kind, progress, now);
}

/* Begins a call whose file is looked up now, at its entry. */
static __always_inline void call_begins_with_file(struct pt_regs *regs, u32 nr, u32 desc,
						  bool compat, u64 task, bool cast)
{
	struct open_file f = {};
	struct task_state *t;
	bool wanted;

	if (call_has_fd(desc))
		f = call_file(regs, desc, compat, cast);
	wanted = call_file_wanted(desc, &f);
	/* its file is known when it ends */
	if (CONF(paths) && file_filtered() && !wanted)
		wanted = OFFSET_IS_PATH(call_where(nr, compat));
	/* close() has no file when it ends: only the thread's state tells that its entry was seen
	 */
	if (!wanted && (CALL_KIND(desc) != OP_CLOSE || !current_is_older()))
		return;
	t = task_get(task);
	if (!t || !wanted)
		return;
	if (!f.file)
		row_clear(&t->op.file);
	else if (!file_learn(&t->op.file, f, cast))
		return;
	if (CONF(paths) && !f.file) {
		t->op.walk.at.dentry = NULL;
		t->op.walk.named = 0;
	}
	if (CONF(call_noted))
		call_note(&t->op, regs, nr, desc, compat, false);
	call_starts(&t->op, regs, CALL_KIND(desc),
		    CALL_KIND(desc) == OP_EXEC ? OP_EXECS : OP_ACTIVE);
}

/* The filters by process have rejected current. Whether they may accept this call: exec makes the
 * tool's child the command, and gives a thread another name. */
static __always_inline bool exec_may_pass(u32 desc)
{
	return CALL_KIND(desc) == OP_EXEC &&
	       (CONF(n_comms) || is_child(bpf_get_current_pid_tgid() >> 32));
}

/* Begins a call that copies from one file to another. */
static __always_inline void copy_begins(struct pt_regs *regs, u32 nr, u32 desc, bool compat,
					u64 task)
{
	bool second = CALL_FILE(desc) == FILE_ARG1;
	u64 from = (u64)current_file(call_arg(regs, second, compat), false);
	u64 to = (u64)current_file(call_arg(regs, second ? 0 : 2, compat), false);
	struct task_state *t;
	u32 files;

	if (!copy_may_be_wanted(from, to))
		return;
	t = task_get(task);
	files = t ? copy_learn(&t->op, from, to) : 0;
	if (!files)
		return;
	if (CONF(call_noted))
		call_note(&t->op, regs, nr, desc, compat, false);
	call_starts(&t->op, regs, OP_COPY, OP_ACTIVE);
	if (files == COPY_OF_TWO)
		t->op.noted |= NOTED_COPY;
}

/* Begins an ioctl() after which two files share blocks. Returns whether it is one. */
static __always_inline bool ioctl_clones(struct pt_regs *regs, u32 nr, bool compat)
{
	u64 command = call_arg(regs, 1, compat);

	if (!clone_is_command(command))
		return false;
	clone_begins(nr | (compat ? CALL_COMPAT : 0), call_arg(regs, 0, compat), command,
		     call_arg(regs, 2, compat));
	return true;
}

static __always_inline void call_begins(void *ctx, bool perf, u32 nr, u32 descs)
{
	struct task_state *t;
	bool compat;
	u64 task = call_task(ctx, perf, &compat);
	u32 desc = call_desc(descs, compat);

	if (!desc || (!current_passes() && !exec_may_pass(desc)))
		return;
	if (desc < CALL_THROUGH_VFS) {
		if (CALL_FILE(desc) >= FILE_ARG1) {
			desc = call_desc_now(call_regs(ctx, perf), nr, desc, compat);
			if (!desc)
				return;
			if (CONF(clones) && call_where(nr, compat) == OFFSET_IOCTL &&
			    ioctl_clones(call_regs(ctx, perf), nr, compat))
				return;
			if (CALL_FILE(desc) >= FILE_MAPPING) {
				bpf_tail_call(ctx, &mapping_calls, 0);
				if (call_where(nr, compat) == OFFSET_OF_MAPPING)
					return;
			}
			if (CALL_KIND(desc) == OP_COPY) {
				copy_begins(call_regs(ctx, perf), nr, desc, compat, task);
				return;
			}
		}
		if (CONF(rdonly_cast))
			call_begins_with_file(call_regs(ctx, perf), nr, desc, compat, task, true);
		else
			call_begins_with_file(call_regs(ctx, perf), nr, desc, compat, task, false);
		return;
	}
	t = task_get(task);
	if (!t)
		return;
	if (CONF(call_noted))
		call_note(&t->op, call_regs(ctx, perf), nr, desc, compat, true);
	call_starts(&t->op, call_regs(ctx, perf), CALL_KIND(desc), OP_BEGUN);
}

/* Learns the file behind current's @fd. Returns false if it is not traced. */
static __always_inline bool fd_learn(struct op *op, u32 fd, bool cast)
{
	struct open_file f = fd_look(fd, cast);

	if (f.file)
		return mode_wanted(f.mode) && file_learn(&op->file, f, cast);
	row_clear(&op->file);
	return !file_filtered();
}

/* Gives up the state of current. It was made for an exec that the filters by process reject now.
 * The end of a thread needs the state if the thread has a turn, a ring or an interrupted call. */
static __always_inline void exec_forget(struct task_state *t)
{
	t->op.stage = 0;
	barrier();
	if (!t->turn && !t->rings && !t->interrupted)
		task_forget(current_task());
}

/* Learns the file of an exec with the result @ret: the program that current executes now. Returns
 * false if it is not traced. */
static __always_inline bool exec_learn(struct op *op, long ret)
{
	struct task_struct *task = (struct task_struct *)current_task();
	struct file *file = ret ? NULL : BPF_CORE_READ(task, mm, exe_file);

	if (file)
		return file_learn(&op->file, file_look(file, false), false);
	return !file_filtered();
}

/*
 * A call returns whose entry was not seen. It is counted as lost if it would have been traced. Such
 * a call was in progress when tracing began: its thread is older, and has only one such call. (A
 * call denied by seccomp or ptrace has no entry event either.)
 */
static __always_inline void call_unmatched(struct pt_regs *regs, u64 nr)
{
	u32 descs = nr < CALL_MAX ? calls[nr] : 0, desc;
	u64 id = bpf_get_current_pid_tgid();
	struct open_file f = {};
	struct file_info info;
	bool compat;

	if (!descs)
		return;
	compat = call_is_compat(regs);
	desc = call_desc_now(regs, nr, call_desc(descs, compat), compat);
	if (!desc || CONF(all_young) || !current_is_older() || !current_wanted(id))
		return;
	if (call_has_fd(desc))
		f = call_file(regs, desc, compat, false);
	if (!call_file_wanted(desc, &f) || (f.file && !file_learn(&info, f, false)))
		return;
	count_lost(LOST_UNMATCHED_END);
	task_get(current_task());
}

/* Sets the offset of an operation that returned @ret and has none yet: an append. It ended at the
 * position of its file or, if it leaves this alone, at the end of the file. If others have changed
 * the end since the operation began, nobody knows. */
static __always_inline void call_note_append(struct op *op, long ret)
{
	struct file *file = (struct file *)op->file.file;
	u64 offset = op->offset;

	if (op->kind > OP_WRITE)
		return;
	op->offset = OFFSET_UNKNOWN;
	if (!file || ret <= 0)
		return;
	if (offset == OFFSET_LATER)
		op->offset = BPF_CORE_READ(file, f_pos) - ret;
	else if (offset == OFFSET_END &&
		 (u64)BPF_CORE_READ(file, f_inode, i_size) - ret == op->size)
		op->offset = op->size;
}

/* Current's call has no descriptor of its file, and returns @ret. Returns whether it is traced. */
static __always_inline bool call_by_path_ends(struct pt_regs *regs, long ret)
{
	bool compat = call_is_compat(regs);
	u32 where = call_where(REGS_CALL(regs), compat);

	return OFFSET_IS_PATH(where) ? call_learn_path(regs, where, compat, ret) : !file_filtered();
}

/* Returns whether no descriptor, but a path alone tells the file of the call that returns @ret. */
static __always_inline bool call_has_path_alone(const struct op *op, long ret)
{
	if (op->progress == OP_EXECS)
		return ret < 0;
	return !op->file.file && (op->kind == OP_META || (op->kind == OP_OPEN && ret < 0));
}

/* Returns whether the user stack of the operation that has ended is to be taken. */
static __always_inline bool call_ends(struct task_state *t, void *ctx, bool perf, long ret)
{
	struct op *op = &t->op;
	bool late, wanted = true;
	struct pt_regs *regs;
	u64 now;
	u32 fd;

	if (!op->stage) {
		if (CONF(reap_rings) && unlikely(t->ring_entered))
			ring_left(t, bpf_ktime_get_ns());
		return false;
	}
	now = bpf_ktime_get_ns();
	if (unlikely(may_restart(ret))) {
		regs = call_regs(ctx, perf);
		ret = call_interrupted(ret, now, REGS_SP(regs), REGS_CALL(regs));
		if (!ret)
			return false;
	}

	/* a call that reached neither vfs_read() nor vfs_write() has a bad descriptor, or nothing
	 * to do; the file of open() is the descriptor that it returns */
	late = op->progress <= OP_BEGUN;
	if (unlikely(late || op->kind > OP_WRITE)) {
		if (op->progress == OP_RESTARTS)
			return false;
		if ((CONF(faults) && op->progress == OP_FAULTS) || op->progress == OP_SLEEPS) {
			op->stage = 0;
			return false;
		}
		if (CONF(async) && op->progress == OP_ASYNC) {
			async_batch_ends();
			if (CONF(reap_rings))
				ring_left(t, now);
			return false;
		}
		if (op->progress == OP_EXECS && !current_passes()) { /* by the thread's new name */
			exec_forget(t);
			return false;
		}
		if (CONF(paths) && call_has_path_alone(op, ret)) {
			wanted = call_by_path_ends(call_regs(ctx, perf), ret);
		} else if (op->progress == OP_EXECS) {
			wanted = exec_learn(op, ret);
		} else if (CONF(ring_waits) && op->progress == OP_AWAITS) {
			wanted = ring_waited(now);
		} else if (late || op->kind == OP_OPEN) {
			fd = late ? call_first_arg(call_regs(ctx, perf)) : ret;
			wanted = CONF(rdonly_cast) ? fd_learn(op, fd, true)
						   : fd_learn(op, fd, false);
		} else if (op->kind == OP_COPY) {
			ret = copy_bytes(op, ret);
			if (op->noted & NOTED_COPY)
				copy_ends(ret, now);
		}
	}
	if (offsets_wanted() && unlikely(op->offset >= OFFSET_END))
		call_note_append(op, ret);
	if (likely(wanted))
		return op_finish(t, ret, now, 0, CONF(single_writer));
	op->stage = 0;
	return false;
}

/*
 * Calls on a mapping (msync, mlock, madvise ...): on_sys_enter() goes on here for them. This is a
 * separate program, because kernels that cannot look up mappings refuse the code for it.
 */

/* Learns the file of the mapping at @m->address. Returns false if the call is not traced, as memory
 * without a file. Where nothing is mapped the call fails, and is treated like one with a bad
 * descriptor, except with @only_file. */
static __always_inline bool mapping_call_learn(struct op *op, struct mapping *m, bool only_file)
{
	mapping_find(m);
	if (!m->err)
		return m->file && mapping_learn_file(&op->file, (struct file *)m->file);
	row_clear(&op->file);
	if (file_filtered() && m->err == -ERROR_BUSY)
		count_lost(LOST_UNATTRIBUTED);
	return !only_file && !file_filtered();
}

static __always_inline int mapping_call_begins(void *ctx, bool perf, u64 nr)
{
	bool compat;
	u64 task = call_task(ctx, perf, &compat);
	struct pt_regs *regs = call_regs(ctx, perf);
	struct mapping m = { .address = call_arg(regs, 0, compat) };
	struct task_state *t = task_get(task);
	bool only_file = call_where(nr, compat) == OFFSET_OF_MAPPING;
	u32 desc;

	if (!t || !mapping_call_learn(&t->op, &m, only_file))
		return 0;
	desc = call_desc(calls[nr % CALL_MAX], compat);
	if (CONF(call_noted)) {
		call_note(&t->op, regs, nr, desc, compat, false);
		t->op.offset = m.err ? OFFSET_UNKNOWN : m.offset;
		t->op.len = call_arg(regs, 1, compat);
	}
	call_starts(&t->op, regs, CALL_KIND(desc), OP_ACTIVE);
	return 0;
}

#endif
