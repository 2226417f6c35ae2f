// SPDX-License-Identifier: GPL-2.0-only
/*
 * User stacks, by the programs of src/bpf in a machine that is made up: which frames, how each
 * stack ends, and which operations are drawn. The stack is the test's own memory.
 */
#include "kernel/machine.h"

enum {
	CODE = 0x70000,   /* of the mapping */
	IN_FILE = 0x1000, /* place of the mapping in its file */
	NUMBER = 7,
};

static struct ktask task;
static struct kfile file, program;
static struct vm_area_struct area;
static u64 stack[64];
static u64 ip, sp, fp; /* of the thread in user space */

static int takes_stack(void *ctx, u32 i)
{
	return i ? -1 : on_stack(ctx);
}

static void start(void)
{
	machine_start();
	conf.stacks = 1;
	MAP(unwind_files, 16);
	MAP_ARRAY(unwind_rows, 64);
	task_init(&task, 1201, 1207, "store", 0);
	task.t.group_leader->start_time = 4711;
	file_init(&file, "ext4", 0x800001, 17, S_IFREG);
	file_init(&program, "ext4", 0x800001, 19, S_IFREG);
	cpu_is(1, &task);
	area = (struct vm_area_struct){ .vm_start = CODE,
					.vm_end = CODE + 0x10000,
					.vm_pgoff = IN_FILE >> 12,
					.vm_file = &program.f };
	machine.vma = &area;
	machine.goes_on = takes_stack;
	memset(stack, 0, sizeof(stack));
	ip = CODE + 0x110;
	sp = fp = (u64)stack;
}

/* The thread reads, which takes @ns. */
static void reads(u64 ns)
{
	sys_enter(NR_READ, 3, 0, 4096, 0);
	task.regs.ip = ip;
	task.regs.sp = sp;
	task.regs.bp = fp;
	vfs_in(OP_READ, &file);
	tick(ns);
	vfs_out(OP_READ, 4096);
	sys_exit(4096);
}

static int takes_fault_stack(void *ctx, u32 i)
{
	return i ? -1 : on_fault_stack(ctx);
}

/* The thread touches a mapped page of the file, and sleeps for @ns until it is there. */
static void faults(struct vm_area_struct *vma, u64 result, u64 ns)
{
	conf.faults = conf.waits = 1;
	vma->vm_file = &file.f;
	fault_at(CODE + 0x20123);
	task.regs.ip = ip;
	task.regs.sp = sp;
	task.regs.bp = fp;
	switch_to(&idle[1], true);
	tick(ns);
	wake(&task);
	switch_to(&task, false);
	fault_handled(vma, BY_USER, result);
}

static u32 sent(u8 what, const void **ret_last)
{
	u32 n = 0;

	for (const struct message *m = messages; m; m = m->next) {
		if (m->ring != &stacks || *(const u8 *)m->data != what)
			continue;
		if (!n++)
			*ret_last = m->data;
	}
	return n;
}

static const struct sent_stack *last_stack(u32 n)
{
	const void *last = NULL;

	assert_int_equal(sent(SENT_STACK, &last), n);
	return last;
}

static void file_known(u32 n)
{
	struct unwind_key key = { .ino = 19, .dev = program.inode.i_sb->s_dev };
	struct unwind_file f = { .number = NUMBER, .first = 3, .n = n };

	bpf_map_update_elem(&unwind_files, &key, &f, 0);
}

static void row(u32 i, u32 at, u8 rule, int cfa, signed char saved)
{
	struct unwind_row r = { .at = at, .rule = rule, .cfa = cfa / 8, .fp = saved };
	u32 key = 3 + i;

	memcpy(bpf_map_lookup_elem(&unwind_rows, &key), &r, sizeof(r));
}

/* A file is told once. Until its table is there, stacks end in it. */
static void test_new_file(void **state)
{
	const struct sent_stack_file *f;
	const struct sent_stack *s;
	const void *last = NULL;

	(void)state;
	start();
	reads(11);
	reads(13);
	s = last_stack(2);
	assert_int_equal(s->end, STACK_NOT_READY);
	assert_int_equal(s->n, 0);
	assert_int_equal(s->total_ns, 13);
	assert_int_equal(s->process_start, 4711);
	assert_int_equal(sent(SENT_STACK_FILE, &last), 1);
	f = last;
	assert_int_equal(f->key.ino, 19);
	assert_int_equal(f->start, CODE);
	assert_int_equal(f->end, CODE + 0x10000);
	assert_int_equal(f->pid, 1201);
}

/* Three functions: one without a frame, one that saves the frame pointer, and the outermost. */
static void test_rows(void **state)
{
	const struct sent_stack *s;

	(void)state;
	start();
	file_known(4);
	row(0, IN_FILE + 0x100, UNWIND_SP, 8, 0);
	row(1, IN_FILE + 0x200, UNWIND_SP, 32, -2);
	row(2, IN_FILE + 0x300, UNWIND_FP, 16, -2);
	row(3, IN_FILE + 0x400, UNWIND_LAST, 0, 0);
	stack[0] = CODE + 0x210;     /* return address of the first */
	stack[3] = (u64)&stack[10];  /* the second saves the frame pointer */
	stack[4] = CODE + 0x300 + 1; /* its caller calls with its first byte */
	stack[10] = 0x1234;
	stack[11] = CODE + 0x410;
	fp = 0;
	reads(17);
	s = last_stack(1);
	assert_int_equal(s->end, STACK_WHOLE);
	assert_int_equal(s->n, 4);
	assert_int_equal(s->frames[0], STACK_FRAME((u64)NUMBER, IN_FILE + 0x110));
	assert_int_equal(s->frames[1], STACK_FRAME((u64)NUMBER, IN_FILE + 0x20f));
	assert_int_equal(s->frames[2], STACK_FRAME((u64)NUMBER, IN_FILE + 0x300));
	assert_int_equal(s->frames[3], STACK_FRAME((u64)NUMBER, IN_FILE + 0x40f));
	assert_int_equal(s->by_frame_pointers, 0);
	assert_int_equal(s->kind, OP_READ);
	assert_int_equal(s->who.pid, 1201);
	assert_int_equal(s->who.tid, 1207);
	assert_int_equal(s->total_ns, 17);
	assert_int_equal(s->ret, 4096);
	assert_int_equal(s->strata[ST_VFS] + s->strata[ST_SYSCALL] + s->strata[ST_FS], 17);
	for (int st = ST_FS + 1; st < ST_N; st++)
		assert_int_equal(s->strata[st], 0);
}

/* A function has 37,064 bytes of variables, as fio's. */
static void test_large_frame(void **state)
{
	static u64 large[37072 / 8];
	const struct sent_stack *s;

	(void)state;
	start();
	file_known(2);
	row(0, IN_FILE + 0x100, UNWIND_SP, sizeof(large), 0);
	row(1, IN_FILE + 0x200, UNWIND_LAST, 0, 0);
	large[sizeof(large) / 8 - 1] = CODE + 0x210;
	sp = (u64)large;
	reads(17);
	s = last_stack(1);
	assert_int_equal(s->end, STACK_WHOLE);
	assert_int_equal(s->n, 2);
	assert_int_equal(s->frames[1], STACK_FRAME((u64)NUMBER, IN_FILE + 0x20f));
}

/* What user space and the kernel do while a program reads the entry of a file. */
static void entry_is_removed(void)
{
	struct unwind_key key = { .ino = 19, .dev = program.inode.i_sb->s_dev };

	assert_int_equal(bpf_map_delete_elem(&unwind_files, &key), 0);
}

static void entry_is_of_a_new_file(void)
{
	struct unwind_key key = { .ino = 19, .dev = program.inode.i_sb->s_dev };
	struct unwind_file f = {};

	bpf_map_update_elem(&unwind_files, &key, &f, 0);
}

static void entry_was_of_another_file(void)
{
	struct unwind_key key = { .ino = 19, .dev = program.inode.i_sb->s_dev };
	struct unwind_file f = { .number = NUMBER + 1, .first = 3, .n = 4 };

	bpf_map_update_elem(&unwind_files, &key, &f, 0);
}

static void (*after_the_copy)(void);

static void before_the_copy(void)
{
	map_of(&unwind_files)->before_lookup = after_the_copy;
}

/* A file leaves while a program copies its entry: the copy may have parts of two entries, so the
 * stack ends there. No other frame is named. */
static void test_file_leaves(void **state)
{
	void (*const cases[])(void) = { entry_is_removed, entry_is_of_a_new_file,
					entry_was_of_another_file };

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		start();
		file_known(1);
		row(0, IN_FILE + 0x100, UNWIND_LAST, 0, 0);
		after_the_copy = cases[i];
		map_of(&unwind_files)->before_lookup = before_the_copy;
		reads(5);
		assert_int_equal(last_stack(1)->end, STACK_NOT_READY);
		assert_int_equal(last_stack(1)->n, 0);
		assert_null(map_of(&unwind_files)->before_lookup);
		file_known(1);
		reads(5);
		assert_int_equal(last_stack(2)->end, STACK_WHOLE);
	}
}

/* Where no rule is known, there is no caller. */
static void test_no_rule(void **state)
{
	(void)state;
	start();
	file_known(1);
	row(0, IN_FILE + 0x100, UNWIND_UNKNOWN, 0, 0);
	reads(5);
	assert_int_equal(last_stack(1)->end, STACK_EXPRESSION);
	ip = CODE + 0x10; /* before the first row */
	reads(5);
	assert_int_equal(last_stack(2)->end, STACK_EXPRESSION);
	assert_int_equal(last_stack(2)->n, 1);
}

/* A file without rows is walked by frame pointers, as long as they look like some. */
static void test_frame_pointers(void **state)
{
	const struct sent_stack *s;

	(void)state;
	start();
	file_known(0);
	stack[0] = (u64)&stack[8];
	stack[1] = CODE + 0x210;
	stack[8] = (u64)stack - 8; /* below */
	stack[9] = CODE + 0x310;
	reads(5);
	s = last_stack(1);
	assert_int_equal(s->n, 3);
	assert_int_equal(s->end, STACK_NO_ROWS);
	assert_int_equal(s->by_frame_pointers, 1);
	fp = 3; /* no frame pointer at all */
	reads(5);
	s = last_stack(2);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->end, STACK_NO_ROWS);
	assert_int_equal(s->by_frame_pointers, 0);
}

static void test_other_ends(void **state)
{
	(void)state;
	start();
	machine.vma_busy = 1;
	reads(5);
	assert_int_equal(last_stack(1)->end, STACK_BUSY);
	ip = CODE - 1;
	reads(5);
	assert_int_equal(last_stack(2)->end, STACK_OUTSIDE);
	ip = CODE + 0x110;
	area.vm_file = NULL;
	fp = 0;
	reads(5);
	assert_int_equal(last_stack(3)->end, STACK_OUTSIDE);
	assert_int_equal(last_stack(3)->frames[0], STACK_FRAME(0ULL, CODE + 0x110));
}

/* A stack that never ends has as many frames as there is room for. */
static void test_deep(void **state)
{
	(void)state;
	start();
	file_known(1);
	row(0, IN_FILE + 0x100, UNWIND_FP, 16, 0);
	stack[1] = CODE + 0x110;
	reads(5);
	assert_int_equal(last_stack(1)->n, STACK_FRAMES);
	assert_int_equal(last_stack(1)->end, STACK_DEEP);
}

/* Python in the file, and the memory of a thread that is in two calls of its interpreter: the first
 * runs inner(), the second middle() and outer(). */
enum { INNER = 0x123450, MIDDLE = 0x123460, OUTER = 0x123470, KEY = 3 };

struct python_memory {
	unsigned char runtime[4096];
	unsigned char thread[2048] __attribute__((aligned(16)));
	unsigned char state[256], list[16];
	unsigned char frames[5][80];
};

static struct python_memory python;

static void put(unsigned char *at, u32 offset, u64 word)
{
	memcpy(at + offset, &word, sizeof(word));
}

static void python_frame_is(u32 i, u64 code, u64 instruction, u32 caller)
{
	const struct python_layout *l = &python_layouts[PYTHON_3_11];

	put(python.frames[i], l->code, code);
	put(python.frames[i], l->instruction, instruction);
	put(python.frames[i], l->caller, caller ? (u64)python.frames[caller] : 0);
}

static void python_is_here(u32 version)
{
	struct unwind_key key = { .ino = 19, .dev = program.inode.i_sb->s_dev };
	struct unwind_file f = { .number = NUMBER, .first = 3, .n = 4 };
	u32 id = KEY;

	memset(&python, 0, sizeof(python));
	f.python = (struct unwind_python){ .from = IN_FILE + 0x200,
					   .to = IN_FILE + 0x300,
					   .version = version,
					   .runtime = (u64)python.runtime - (CODE - IN_FILE) };
	bpf_map_update_elem(&unwind_files, &key, &f, 0);
	row(0, IN_FILE + 0x100, UNWIND_SP, 8, 0);
	row(1, IN_FILE + 0x200, UNWIND_SP, 16, 0);
	row(2, IN_FILE + 0x300, UNWIND_SP, 8, 0);
	row(3, IN_FILE + 0x400, UNWIND_LAST, 0, 0);
	stack[0] = CODE + 0x201; /* runs Python: the function's first place */
	stack[2] = CODE + 0x301; /* a function in C that Python calls: the place behind it */
	stack[3] = CODE + 0x221; /* runs Python */
	stack[5] = CODE + 0x411;
	memcpy(python.runtime + python_layouts[PYTHON_3_11].key, &id, sizeof(id));
	put(python.thread, PYTHON_SPECIFIC + KEY * PYTHON_SPECIFIC_LEN + 8, (u64)python.state);
	put(python.state, 152, (u64)python.thread);
	put(python.state, 56, (u64)python.list);
	put(python.list, 8, (u64)python.frames[0]);
	python_frame_is(0, INNER, INNER + 184 + 2 * 5, 1);
	python_frame_is(1, MIDDLE, MIDDLE + 184 + 2 * 7, 2);
	python_frame_is(2, OUTER, OUTER + 184 + 2 * 9, 0);
	python.frames[0][68] = python.frames[2][68] = 1; /* the last of a call */
	task.t.thread.fsbase = (u64)python.thread;
}

/* Frames of Python are in the place of those of its interpreter, with C between them. */
static void test_python(void **state)
{
	const u64 frames[] = {
		STACK_FRAME((u64)NUMBER, IN_FILE + 0x110),
		STACK_PYTHON_FRAME(PYTHON_3_11, (u64)INNER, 5),
		STACK_FRAME((u64)NUMBER, IN_FILE + 0x300),
		STACK_PYTHON_FRAME(PYTHON_3_11, (u64)MIDDLE, 7),
		STACK_PYTHON_FRAME(PYTHON_3_11, (u64)OUTER, 9),
		STACK_FRAME((u64)NUMBER, IN_FILE + 0x410),
	};
	const struct sent_stack *s;

	(void)state;
	start();
	python_is_here(PYTHON_3_11);
	reads(5);
	s = last_stack(1);
	assert_int_equal(s->end, STACK_WHOLE);
	assert_int_equal(s->n, 6);
	assert_memory_equal(s->frames, frames, sizeof(frames));
	assert_int_equal(STACK_PYTHON_CODE(s->frames[3]), MIDDLE);
	assert_int_equal(STACK_PYTHON_PLACE(s->frames[3]), 7);
	assert_int_equal(STACK_PYTHON_VERSION(s->frames[3]), PYTHON_3_11);
	/* a place that does not fit */
	python_frame_is(1, MIDDLE, MIDDLE, 2);
	reads(5);
	assert_int_equal(STACK_PYTHON_PLACE(last_stack(2)->frames[3]), STACK_PYTHON_PLACES);
}

/* From 3.12 on, the last frame of a call is none of Python. The numbers are those of CPython's
 * headers once more: taken from the programs, they could not be wrong here. */
static void later_python_is_here(u32 version)
{
	const u32 key = version == PYTHON_3_12 ? 1548 : 2164,
		  thread = version == PYTHON_3_12 ? 136 : 152,
		  list = version == PYTHON_3_12 ? 56 : 72,
		  instructions = version == PYTHON_3_12 ? 192 : 200;
	u32 id = KEY;

	python_is_here(version);
	memset(python.runtime, 0, sizeof(python.runtime));
	memset(python.state, 0, sizeof(python.state));
	memset(python.frames, 0, sizeof(python.frames));
	memcpy(python.runtime + key, &id, sizeof(id));
	put(python.state, thread, (u64)python.thread);
	put(python.state, list, (u64)(version == PYTHON_3_12 ? python.list : python.frames[0]));
	put(python.list, 0, (u64)python.frames[0]);
	put(python.list, 8, 0);
	for (u32 i = 0; i < 5; i++) {
		put(python.frames[i], 0, INNER + 16 * i);
		put(python.frames[i], 8, i < 4 ? (u64)python.frames[i + 1] : 0);
		put(python.frames[i], 56, INNER + 16 * i + instructions + 2 * i);
	}
	python.frames[1][70] = python.frames[4][70] = 3;
}

static void test_later_python(void **state)
{
	const struct sent_stack *s;

	(void)state;
	start();
	for (u32 version = PYTHON_3_12; version <= PYTHON_3_13; version++) {
		later_python_is_here(version);
		reads(5);
		s = last_stack(version - PYTHON_3_12 + 1);
		assert_int_equal(s->end, STACK_WHOLE);
		assert_int_equal(s->n, 6);
		assert_int_equal(s->frames[1], STACK_PYTHON_FRAME(version, (u64)INNER, 0));
		assert_int_equal(s->frames[2], STACK_FRAME((u64)NUMBER, IN_FILE + 0x300));
		assert_int_equal(s->frames[3], STACK_PYTHON_FRAME(version, (u64)INNER + 32, 2));
		assert_int_equal(s->frames[4], STACK_PYTHON_FRAME(version, (u64)INNER + 48, 3));
	}
}

/* Calls of Python without a frame of Python: the walk ends, and says that it did not come to the
 * end of the stack. */
static void test_python_without_frames(void **state)
{
	(void)state;
	start();
	later_python_is_here(PYTHON_3_12);
	python.frames[0][70] = 3;
	put(python.frames[0], 8, (u64)python.frames[0]);
	row(1, IN_FILE + 0x200, UNWIND_FP, 16, 0);
	fp = (u64)&stack[8];
	stack[9] = CODE + 0x201;
	reads(5);
	assert_int_equal(last_stack(1)->n, 1);
	assert_int_equal(last_stack(1)->end, STACK_DEEP);
	ip = CODE + 0x210; /* the last step is one of Python */
	reads(5);
	assert_int_equal(last_stack(2)->end, STACK_DEEP);
}

/* Where Python's frames cannot be read, the interpreter's are there, and the stack says so. */
static void test_no_python(void **state)
{
	const struct sent_stack *s;

	(void)state;
	start();
	python_is_here(PYTHON_UNKNOWN);
	reads(5);
	s = last_stack(1);
	assert_int_equal(s->end, STACK_NO_PYTHON);
	assert_int_equal(s->n, 5);
	assert_int_equal(s->frames[1], STACK_FRAME((u64)NUMBER, IN_FILE + 0x200));
	python_is_here(PYTHON_3_11);
	put(python.state, 152, 1); /* another thread's */
	reads(5);
	assert_int_equal(last_stack(2)->end, STACK_NO_PYTHON);
	assert_int_equal(last_stack(2)->n, 5);
	python_is_here(PYTHON_3_11);
	python_frame_is(2, OUTER + 1, 0, 0); /* no code object */
	reads(5);
	s = last_stack(3);
	assert_int_equal(s->end, STACK_NO_PYTHON);
	assert_int_equal(s->n, 5); /* without outer() */
	python_is_here(PYTHON_3_11);
	python.frames[2][68] = 0; /* the list ends, the call does not */
	reads(5);
	assert_int_equal(last_stack(4)->end, STACK_NO_PYTHON);
	assert_int_equal(last_stack(4)->n, 5); /* without outer() */
	task.t.thread.fsbase = 0;
	reads(5);
	assert_int_equal(last_stack(5)->end, STACK_NO_PYTHON);
	/* a key whose data are elsewhere */
	python_is_here(PYTHON_3_11);
	memcpy(python.runtime + 596, &(u32){ PYTHON_KEYS }, sizeof(u32));
	put(python.thread, PYTHON_SPECIFIC + PYTHON_KEYS * PYTHON_SPECIFIC_LEN + 8,
	    (u64)python.state);
	reads(5);
	assert_int_equal(last_stack(6)->end, STACK_NO_PYTHON);
	/* a list that leads back to itself */
	python_is_here(PYTHON_3_11);
	python_frame_is(1, MIDDLE, 0, 1);
	reads(5);
	assert_int_equal(last_stack(7)->end, STACK_DEEP);
	assert_int_equal(last_stack(7)->n, STACK_FRAMES);
}

/* An operation of a tenth of the threshold is drawn with a tenth of all random numbers. */
static void test_drawn(void **state)
{
	(void)state;
	start();
	live.stack_ns = 1000;
	machine.random = 0x19999999;
	reads(100);
	assert_int_equal(last_stack(1)->threshold_ns, 1000);
	machine.random = 0x1999999b;
	reads(100);
	last_stack(1);
	machine.random = ~0U;
	reads(1000);
	last_stack(2);
}

/* A page fault has the stack of the access. */
static void test_fault(void **state)
{
	struct vm_area_struct data = { .vm_start = CODE + 0x20000, .vm_end = CODE + 0x30000 };
	const struct sent_stack *s;

	(void)state;
	start();
	machine.goes_on = takes_fault_stack;
	file_known(2);
	row(0, IN_FILE + 0x100, UNWIND_SP, 8, 0);
	row(1, IN_FILE + 0x200, UNWIND_LAST, 0, 0);
	stack[0] = CODE + 0x210;
	faults(&data, 0, 31);
	s = last_stack(1);
	assert_int_equal(s->end, STACK_WHOLE);
	assert_int_equal(s->n, 2);
	assert_int_equal(s->frames[0], STACK_FRAME((u64)NUMBER, IN_FILE + 0x110));
	assert_int_equal(s->kind, OP_FAULT);
	assert_int_equal(s->total_ns, 31);
	assert_int_equal(s->strata[ST_SLEEP], 31);
	assert_int_equal(ops_counted(OP_FAULT, NULL).count, 1);
	/* no program takes it: there is none, or a signal ends the fault */
	machine.goes_on = NULL;
	faults(&data, 0, 37);
	s = last_stack(2);
	assert_int_equal(s->end, STACK_NO_PROBE);
	assert_int_equal(s->n, 0);
	assert_int_equal(s->total_ns, 37);
	ring_room = 0;
	faults(&data, 0, 41);
	assert_int_equal(live.stacks_lost, 1);
	assert_int_equal(live.stacks_lost_ns, 41);
	last_stack(2);
	assert_int_equal(ops_counted(OP_FAULT, NULL).count, 3);
	conf.stacks = 0;
	faults(&data, 0, 43);
	assert_int_equal(live.stacks_lost, 1);
	assert_int_equal(ops_counted(OP_FAULT, NULL).count, 4);
}

enum { URING_READ = 22, URING_ENTER = 426 };

static struct io_rings shared;
static struct io_ring_ctx uring = { .rings = &shared };
static struct io_kiocb requests[3];

static void starts_uring(void)
{
	static const u8 kinds[URING_OPS] = { [URING_READ] = OP_READ };

	start();
	conf.async = conf.uring = conf.op_owner = 1;
	conf.reap_rings = 1;
	data_set(uring_kinds, kinds, sizeof(kinds));
	shared = (struct io_rings){};
	uring.cached_cq_tail = 0;
	for (int i = 0; i < 3; i++)
		requests[i] =
			(struct io_kiocb){ .opcode = URING_READ, .ctx = &uring, .file = &file.f };
	file_known(2);
	row(0, IN_FILE + 0x100, UNWIND_SP, 8, 0);
	row(1, IN_FILE + 0x200, UNWIND_LAST, 0, 0);
	stack[0] = CODE + 0x210;
}

/* The thread submits the first @n requests in a call that takes 7 ns. */
static void submits(u32 n)
{
	sys_enter(URING_ENTER, 5, n, 0, 0);
	task.regs.ip = ip;
	task.regs.sp = sp;
	task.regs.bp = fp;
	for (u32 i = 0; i < n; i++)
		uring_submit(&requests[i]);
	tick(7);
	sys_exit(n);
}

/* Request @i completes, and its thread takes the completion 5 ns later. */
static void completes(u32 i, int res)
{
	uring_complete(&requests[i], res);
	uring.cached_cq_tail++;
	shared.cq.head++;
	tick(5);
	sys_enter(URING_ENTER, 5, 0, 0, 0);
	uring_wait(&uring);
	sys_exit(0);
}

static const struct sent_stack *last_submitted(u32 n)
{
	const void *last = NULL;

	assert_int_equal(sent(SENT_SUBMITTED, &last), n);
	return last;
}

static const struct sent_stack *last_submission(u32 n)
{
	const void *last = NULL;

	assert_int_equal(sent(SENT_SUBMISSION, &last), n);
	return last;
}

/* Requests have the stack of the call that submitted them, which is taken once. */
static void test_submitted(void **state)
{
	const struct sent_stack *s;

	(void)state;
	starts_uring();
	submits(2);
	s = last_submission(1);
	assert_int_equal(s->end, STACK_WHOLE);
	assert_int_equal(s->n, 2);
	assert_int_equal(s->frames[1], STACK_FRAME((u64)NUMBER, IN_FILE + 0x20f));
	assert_int_equal(s->submission, 1);
	assert_int_equal(s->submitted, 2);
	assert_int_equal(s->who.tid, 1207);
	assert_int_equal(s->process_start, 4711);
	last_submitted(0);
	tick(11);
	completes(1, 4096);
	s = last_submitted(1);
	assert_int_equal(s->submission, 1);
	assert_int_equal(s->kind, OP_URING);
	assert_int_equal(s->who.tid, 1207);
	assert_int_equal(s->ret, 4096);
	assert_int_equal(s->total_ns, 18 + 0);
	assert_int_equal(s->threshold_ns, s->total_ns);
	assert_int_equal(s->end, STACK_WHOLE);
	completes(0, -5);
	assert_int_equal(last_submitted(2)->ret, -5);
	/* calls that submit nothing have no stack, and the next that does has another number */
	submits(0);
	last_submission(1);
	submits(1);
	assert_int_equal(last_submission(2)->submission, 2);
	assert_int_equal(last_submission(2)->submitted, 1);
	completes(0, 1);
	assert_int_equal(last_submitted(3)->submission, 2);
	last_stack(0);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 3);
	/* of more requests than it can count, a call has the most */
	sys_enter(URING_ENTER, 5, 1, 0, 0);
	current_lookup()->submits = 0xffff;
	uring_submit(&requests[1]);
	assert_int_equal(current_lookup()->submits, 0xffff);
}

/* A thread is killed in its call. The next thread with its state has submitted nothing yet. */
static void test_submitted_and_killed(void **state)
{
	(void)state;
	starts_uring();
	sys_enter(URING_ENTER, 5, 1, 0, 0);
	uring_submit(&requests[0]);
	assert_int_equal(current_lookup()->submits, 1);
	EVENT(on_exit, &task.t);
	assert_null(current_lookup());
	submits(1);
	assert_int_equal(last_submission(1)->submitted, 1);
}

/* A wait for completions in the same call has the same stack, which comes once. */
static void test_submitted_and_awaited(void **state)
{
	const struct sent_stack *s;

	(void)state;
	starts_uring();
	conf.ring_waits = 1;
	sys_enter(URING_ENTER, 5, 1, 1, 0);
	task.regs.ip = ip;
	task.regs.sp = sp;
	task.regs.bp = fp;
	uring_submit(&requests[0]);
	tick(7);
	uring_wait(&uring);
	tick(11);
	uring_complete(&requests[0], 4096);
	uring.cached_cq_tail++;
	shared.cq.head++;
	sys_exit(1);
	last_submission(0);
	s = last_stack(1);
	assert_int_equal(s->kind, OP_GETEVENTS);
	assert_int_equal(s->total_ns, 11);
	assert_int_equal(s->submission, 1);
	assert_int_equal(s->submitted, 1);
	assert_int_equal(s->n, 2);
	submits(1);
	assert_int_equal(last_submitted(1)->submission, 1);
	assert_int_equal(last_submission(1)->submission, 2);
	/* without room, the wait is lost; the request tells that its stack did not come */
	sys_enter(URING_ENTER, 5, 0, 1, 0);
	uring_wait(&uring);
	tick(13);
	uring_complete(&requests[0], 4096);
	ring_room = 0;
	sys_exit(1);
	assert_int_equal(live.stacks_lost, 1);
	assert_int_equal(live.stacks_lost_ns, 13);
}

/* An operation that goes on after its call is left alone: a wait for completions after a signal. */
static void test_submitted_and_goes_on(void **state)
{
	(void)state;
	starts_uring();
	conf.ring_waits = 1;
	sys_enter(URING_ENTER, 5, 1, 1, 0);
	uring_submit(&requests[0]);
	tick(7);
	uring_wait(&uring);
	tick(11);
	current_lookup()->op.progress = OP_RESTARTS;
	sys_exit(-4);
	last_stack(0);
	assert_int_equal(last_submission(1)->submitted, 1);
	assert_int_equal(current_lookup()->op.kind, OP_GETEVENTS);
	current_lookup()->op.progress = OP_AWAITS;
	uring_complete(&requests[0], 4096);
	uring.cached_cq_tail++;
	shared.cq.head++;
	sys_exit(1);
	assert_int_equal(last_stack(1)->total_ns, 11);
	assert_int_equal(last_stack(1)->submitted, 0);
}

/* One of three requests is drawn, and stands for three. */
static void test_submitted_drawn(void **state)
{
	(void)state;
	starts_uring();
	live.stack_requests = 3;
	machine.random = 0x55555555;
	submits(1);
	last_submission(1);
	live.stack_requests = 5;
	completes(0, 1);
	assert_int_equal(last_submitted(1)->threshold_ns, 3 * last_submitted(1)->total_ns);
	live.stack_requests = 3;
	machine.random = 0x55555556;
	submits(2);
	last_submission(1);
	completes(0, 1);
	completes(1, 1);
	last_submitted(1);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 3);
}

/* A thread of the kernel has no stack. */
static void test_submitted_by_kernel(void **state)
{
	const struct sent_stack *s;

	(void)state;
	starts_uring();
	conf.reap_rings = 0;
	task.t.flags |= PF_IO_WORKER;
	uring_submit(&requests[0]);
	tick(7);
	uring_complete(&requests[0], 1);
	s = last_submitted(1);
	assert_int_equal(s->end, STACK_BY_KERNEL);
	assert_int_equal(s->submission, 0);
	assert_int_equal(s->n, 0);
	last_submission(0);
	assert_int_equal(live.stacks_lost, 0);
}

/* A submission without room is told by its requests; requests without room are lost. */
static void test_submitted_no_room(void **state)
{
	(void)state;
	starts_uring();
	ring_room = 0;
	submits(1);
	assert_int_equal(live.stacks_lost, 0);
	ring_room = ~0U;
	completes(0, 1);
	assert_int_equal(last_submitted(1)->submission, 1);
	submits(1);
	assert_int_equal(last_submission(1)->submission, 2);
	ring_room = 0;
	tick(4);
	completes(0, 1);
	assert_int_equal(live.stacks_lost, 1);
	assert_int_equal(live.stacks_lost_ns, 11);
	conf.stacks = 0;
	submits(1);
	completes(0, 1);
	assert_int_equal(live.stacks_lost, 1);
}

static void test_no_room(void **state)
{
	(void)state;
	start();
	ring_room = 0;
	reads(29);
	last_stack(0);
	assert_int_equal(live.stacks_lost, 1);
	assert_int_equal(live.stacks_lost_ns, 29);
	assert_int_equal(ops_counted(OP_READ, NULL).count, 1);
}

static void test_off(void **state)
{
	(void)state;
	start();
	conf.stacks = 0;
	reads(29);
	last_stack(0);
	assert_int_equal(ops_counted(OP_READ, NULL).count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_new_file, machine_stop),
		cmocka_unit_test_teardown(test_rows, machine_stop),
		cmocka_unit_test_teardown(test_large_frame, machine_stop),
		cmocka_unit_test_teardown(test_file_leaves, machine_stop),
		cmocka_unit_test_teardown(test_no_rule, machine_stop),
		cmocka_unit_test_teardown(test_frame_pointers, machine_stop),
		cmocka_unit_test_teardown(test_other_ends, machine_stop),
		cmocka_unit_test_teardown(test_deep, machine_stop),
		cmocka_unit_test_teardown(test_python, machine_stop),
		cmocka_unit_test_teardown(test_later_python, machine_stop),
		cmocka_unit_test_teardown(test_python_without_frames, machine_stop),
		cmocka_unit_test_teardown(test_no_python, machine_stop),
		cmocka_unit_test_teardown(test_drawn, machine_stop),
		cmocka_unit_test_teardown(test_fault, machine_stop),
		cmocka_unit_test_teardown(test_submitted, machine_stop),
		cmocka_unit_test_teardown(test_submitted_and_killed, machine_stop),
		cmocka_unit_test_teardown(test_submitted_and_awaited, machine_stop),
		cmocka_unit_test_teardown(test_submitted_and_goes_on, machine_stop),
		cmocka_unit_test_teardown(test_submitted_drawn, machine_stop),
		cmocka_unit_test_teardown(test_submitted_by_kernel, machine_stop),
		cmocka_unit_test_teardown(test_submitted_no_room, machine_stop),
		cmocka_unit_test_teardown(test_no_room, machine_stop),
		cmocka_unit_test_teardown(test_off, machine_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
