// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs on functions in a machine that is made up: single cases, each with what is counted;
 * and threads that call functions at random, are interrupted, and do not return from some, while
 * the test knows how long each call took and what of that was its own.
 */
#include "kernel/func_machine.h"

/* Programs see a return whether or not they saw the entry. */
static const enum way unpaired[] = { KPROBE, FENTRY, MULTI };

static void test_call(void **state)
{
	struct figures f;

	(void)state;
	for (u32 w = 0; w < WAYS; w++) {
		funcs_start((struct func_conf){});
		way = w;
		call(A, STACK - 96, 97);
		machine.cpu = 3;
		call(A, STACK - 96, 1009);
		call(B, STACK - 96, 31);
		machine.cpu = 0;
		call(E, STACK - 96, 0);
		assert_calls(A, 2, 97 + 1009, 97 + 1009);
		assert_calls(B, 1, 31, 31);
		assert_calls(E, 1, 0, 0);
		f = figures_by(A, NULL);
		assert_int_equal(f.max, 1009);
		assert_int_equal(f.min, 97);
		assert_int_equal(hist_count(A, 97, false), 1);
		assert_int_equal(hist_count(A, 1009, false), 1);
		assert_int_equal(lost_all(), 0);
		assert_nobody_inside();
	}
}

/* Each CPU has cells of its own, and so has each function. */
static void test_cells(void **state)
{
	struct func_sums *cells;

	(void)state;
	funcs_start((struct func_conf){});
	for (machine.cpu = 0; machine.cpu < CPUS; machine.cpu++)
		for (u32 func = 0; func < FUNCS; func++)
			call(func, STACK - 96, 100 * machine.cpu + 10 * func + 1);
	cells = (void *)map_of(&func_cells)->array;
	for (u32 cpu = 0; cpu < CPUS; cpu++)
		for (u32 func = 0; func < FUNCS; func++)
			assert_int_equal(cells[cpu * (FUNCS + 1) + func].total_ns,
					 100 * cpu + 10 * func + 1);
}

/* With many CPUs and functions, some CPUs share a copy of the histograms. */
static void test_shared_histograms(void **state)
{
	u32 *hists;

	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		funcs_start(
			(struct func_conf){ .hists = shared ? 2 : CPUS, .hists_shared = shared });
		for (machine.cpu = 0; machine.cpu < CPUS; machine.cpu++)
			call(B, STACK - 96, 7 + machine.cpu);
		hists = (void *)map_of(&func_hists)->array;
		for (u32 cpu = 0; cpu < CPUS; cpu++) {
			u32 copy = shared ? cpu % 2 : cpu;

			assert_int_equal(hists[(copy * (FUNCS + 1) + B) * HIST_N + 7 + cpu], 1);
		}
		assert_calls(B, 4, 7 + 8 + 9 + 10, 7 + 8 + 9 + 10);
	}
}

static void test_nested(void **state)
{
	(void)state;
	for (u32 w = 0; w < WAYS; w++) {
		funcs_start((struct func_conf){});
		way = w;
		enter(A, STACK - 96);
		tick(11);
		enter(B, STACK - 192);
		tick(13);
		call(C, STACK - 288, 17);
		call(C, STACK - 288, 19);
		tick(23);
		leave(B, STACK - 192);
		tick(29);
		call(B, STACK - 192, 31);
		leave(A, STACK - 96);
		assert_calls(A, 1, 11 + 13 + 17 + 19 + 23 + 29 + 31, 11 + 29);
		assert_calls(B, 2, 13 + 17 + 19 + 23 + 31, 13 + 23 + 31);
		assert_calls(C, 2, 17 + 19, 17 + 19);
		assert_nobody_inside();
	}
}

/* The time of a function that calls itself counts for each call. */
static void test_recursion(void **state)
{
	(void)state;
	for (u32 w = 0; w < WAYS; w++) {
		funcs_start((struct func_conf){});
		way = w;
		for (int i = 1; i <= 5; i++) {
			enter(A, STACK - 96 * i);
			tick(7);
		}
		for (int i = 5; i >= 1; i--)
			leave(A, STACK - 96 * i);
		assert_calls(A, 5, 7 * (1 + 2 + 3 + 4 + 5), 7 * 5);
		assert_int_equal(lost_all(), 0);
	}
}

/* A calls B in its last statement, which is a jump: B has A's place. Where a trampoline calls A, it
 * does not. */
static void test_jump(void **state)
{
	static const enum way ways[] = { KPROBE, MULTI, SESSION };

	(void)state;
	for (u32 w = 0; w < 3; w++) {
		funcs_start((struct func_conf){});
		way = ways[w];
		enter(A, STACK - 96);
		tick(11);
		enter(B, STACK - 96);
		tick(13);
		call(C, STACK - 192, 17);
		leave(B, STACK - 96);
		leave(A, STACK - 96);
		assert_calls(A, 1, 11 + 13 + 17, 11);
		assert_calls(B, 1, 13 + 17, 13);
		assert_int_equal(lost_all() + unreturned(A) + unreturned(B), 0);
		assert_nobody_inside();
	}
}

/* A calls B by a jump. The return of a function called by B is missed, or the return of B. */
static void test_jump_and_missed_return(void **state)
{
	(void)state;
	funcs_start((struct func_conf){});
	enter(D, STACK - 64);
	enter(A, STACK - 96);
	tick(11);
	enter(B, STACK - 96);
	tick(13);
	enter(C, STACK - 192);
	tick(17);
	leave(B, STACK - 96);
	leave(A, STACK - 96);
	leave(D, STACK - 64);
	assert_calls(A, 1, 11 + 13 + 17, 11);
	assert_calls(B, 1, 13 + 17, 13 + 17);
	assert_calls(D, 1, 11 + 13 + 17, 0);
	assert_int_equal(unreturned(C), 1);
	enter(D, STACK - 64);
	enter(A, STACK - 96);
	tick(19);
	enter(B, STACK - 96);
	tick(23);
	leave(A, STACK - 96);
	leave(D, STACK - 64);
	assert_calls(A, 2, 11 + 13 + 17 + 19 + 23, 11 + 19 + 23);
	assert_calls(B, 1, 13 + 17, 13 + 17);
	assert_int_equal(unreturned(B), 1);
	/* and where A is the first */
	enter(A, STACK - 96);
	tick(29);
	enter(B, STACK - 96);
	tick(31);
	enter(C, STACK - 192);
	leave(B, STACK - 96);
	leave(A, STACK - 96);
	assert_calls(A, 3, 11 + 13 + 17 + 19 + 23 + 29 + 31, 11 + 19 + 23 + 29);
	assert_calls(B, 2, 13 + 17 + 31, 13 + 17 + 31);
	assert_int_equal(unreturned(C), 2);
	assert_int_equal(lost_all(), 0);
	assert_nobody_inside();
}

/* A missed return is noticed when the caller returns. The call is in no sum, and its time is the
 * caller's own. */
static void test_missed_return(void **state)
{
	(void)state;
	for (u32 w = 0; w < WAYS; w++) {
		funcs_start((struct func_conf){});
		way = w;
		enter(A, STACK - 96);
		tick(11);
		enter(B, STACK - 192);
		tick(13);
		call(C, STACK - 288, 17);
		leave(A, STACK - 96);
		assert_calls(A, 1, 11 + 13 + 17, 11 + 13 + 17);
		assert_calls(B, 0, 0, 0);
		assert_calls(C, 1, 17, 17);
		assert_int_equal(unreturned(A), 0);
		assert_int_equal(unreturned(B), 1);
		assert_int_equal(lost_all(), 0);
		assert_nobody_inside();
	}
}

/* Or when another function is entered where it has its place on the stack, or further up; or the
 * same at the same place. */
static void test_missed_return_known_at_entry(void **state)
{
	static const struct {
		u32 func;
		u64 sp;
		u64 own; /* of A, if it returns after 11 + 13 + 17 ns */
		u64 dead;
	} cases[] = {
		{ C, STACK - 184, 11 + 13, 1 },
		{ C, STACK - 191, 11 + 13, 1 },
		{ B, STACK - 192, 11 + 13, 1 },
		{ B, STACK - 191, 11 + 13, 1 },
		/* a jump from B: only A's return tells */
		{ C, STACK - 192, 11 + 13 + 17, 1 },
		/* below B: B seems to have called it */
		{ C, STACK - 193, 11 + 13 + 17, 1 },
		{ B, STACK - 193, 11 + 13 + 17, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		funcs_start((struct func_conf){});
		enter(A, STACK - 96);
		tick(11);
		enter(B, STACK - 192);
		tick(13);
		call(cases[i].func, cases[i].sp, 17);
		assert_calls(cases[i].func, 1, 17, 17);
		leave(A, STACK - 96);
		assert_calls(A, 1, 11 + 13 + 17, cases[i].own);
		assert_int_equal(unreturned(B), cases[i].dead);
		assert_int_equal(unreturned(A) + unreturned(C), 0);
		assert_int_equal(lost_all(), 0);
		assert_nobody_inside();
	}
}

/* All calls of a thread turn out to be over when something is entered above the first. */
static void test_missed_return_of_the_first(void **state)
{
	(void)state;
	funcs_start((struct func_conf){});
	enter(A, STACK - 96);
	enter(B, STACK - 192);
	tick(11);
	call(A, STACK - 96, 13);
	call(C, STACK - 64, 17);
	assert_calls(A, 1, 13, 13);
	assert_calls(C, 1, 17, 17);
	assert_int_equal(unreturned(A), 1);
	assert_int_equal(unreturned(B), 1);
	assert_nobody_inside();
	/* and the same where that has jumped to another before: to A again, it would not jump */
	enter(A, STACK - 96);
	enter(B, STACK - 96);
	tick(19);
	call(B, STACK - 96, 23);
	leave(A, STACK - 96);
	assert_calls(A, 2, 13 + 19 + 23, 13 + 19);
	assert_calls(B, 1, 23, 23);
	assert_int_equal(unreturned(B), 2);
	assert_int_equal(lost_all(), 0);
	assert_nobody_inside();
}

/* When many missed returns are noticed at once, the four outermost calls count by function. */
static void test_many_missed_returns(void **state)
{
	static const u32 funcs[] = { A, B, C, D, E, E, E, E };

	(void)state;
	for (u64 n = 0; n < 8; n++) {
		funcs_start((struct func_conf){});
		for (u64 i = 0; i <= n; i++)
			enter(funcs[i], STACK - 96 * (i + 1));
		tick(11);
		leave(A, STACK - 96);
		assert_calls(A, 1, 11, 11);
		assert_int_equal(unreturned(A), 0);
		assert_int_equal(unreturned(B), n >= 1);
		assert_int_equal(unreturned(C), n >= 2);
		assert_int_equal(unreturned(D), n >= 3);
		assert_int_equal(unreturned(E), n >= 4);
		assert_int_equal(func_live.lost[FUNC_LOST_RETURN], n > 4 ? n - 4 : 0);
		assert_int_equal(lost_all(), n > 4 ? n - 4 : 0);
		assert_nobody_inside();
	}
	/* the same at an entry */
	funcs_start((struct func_conf){});
	for (u64 i = 0; i < 7; i++)
		enter(funcs[i], STACK - 96 * (i + 1));
	enter(A, STACK - 191);
	leave(A, STACK - 191);
	assert_int_equal(unreturned(A), 0);
	assert_int_equal(unreturned(B) + unreturned(C) + unreturned(D) + unreturned(E), 4);
	assert_int_equal(lost_all(), 2);
}

/* A return is matched with its call, whatever the number of calls and the place of this call. */
static void test_return_of_any(void **state)
{
	struct figures f;

	(void)state;
	for (u64 n = 1; n <= FUNC_FRAMES; n += n < 9 || n > 61 ? 1 : 4) {
		for (u64 k = 0; k < n; k++) {
			funcs_start((struct func_conf){});
			for (u64 i = 0; i < n; i++) {
				enter(A, STACK - 96 * (i + 1));
				tick(3);
			}
			leave(A, STACK - 96 * (k + 1));
			f = figures_by(A, NULL);
			assert_int_equal(f.count, 1);
			assert_int_equal(f.total, 3 * (n - k));
			assert_int_equal(f.self, 3 * (n - k));
			assert_int_equal(unreturned(A) + lost_all(), n - k - 1);
			/* those below it go on */
			for (u64 i = k; i-- > 0;)
				leave(A, STACK - 96 * (i + 1));
			f = figures_by(A, NULL);
			assert_int_equal(f.count, k + 1);
			assert_int_equal(f.self, 3 * n);
			assert_int_equal(unreturned(A) + lost_all(), n - k - 1);
			assert_nobody_inside();
		}
	}
}

/* The entry was missed: whatever was called there before. */
static void test_missed_entry(void **state)
{
	(void)state;
	/* of a thread that was not seen before */
	for (u32 w = 0; w < WAYS; w++) {
		funcs_start((struct func_conf){});
		way = w;
		leave(B, STACK - 192);
		assert_int_equal(func_live.lost[FUNC_LOST_END], 1);
		assert_int_equal(map_count(&func_owners), 0);
	}
	for (u32 w = 0; w < sizeof(unpaired) / sizeof(*unpaired); w++) {
		funcs_start((struct func_conf){});
		way = unpaired[w];
		leave(B, STACK - 192);
		assert_int_equal(func_live.lost[FUNC_LOST_END], 1);
		enter(A, STACK - 96);
		tick(11);
		leave(B, STACK - 192);
		call(B, STACK - 192, 13);
		leave(B, STACK - 192);
		call(B, STACK - 192, 17);
		call(C, STACK - 192, 19);
		leave(B, STACK - 192);
		leave(C, STACK - 64);
		leave(B, STACK - 96);
		leave(A, STACK - 88);
		leave(A, STACK - 96);
		leave(A, STACK - 96);
		assert_calls(A, 1, 11 + 13 + 17 + 19, 11);
		assert_calls(B, 2, 13 + 17, 13 + 17);
		assert_calls(C, 1, 19, 19);
		assert_int_equal(func_live.lost[FUNC_LOST_END], 8);
		assert_int_equal(lost_all(), 8);
		assert_int_equal(unreturned(A) + unreturned(B) + unreturned(C), 0);
		assert_nobody_inside();
	}
}

/* A return without a known call does not change what is on top of the thread's calls. An entry
 * there is still a call of the last function, and calls on top are still found to be over. */
static void test_missed_entry_changes_nothing(void **state)
{
	(void)state;
	funcs_start((struct func_conf){});
	enter(A, STACK - 96);
	enter(B, STACK - 192);
	tick(11);
	leave(C, STACK - 240);
	call(D, STACK - 288, 13);
	leave(C, STACK - 144);
	leave(B, STACK - 192);
	enter(B, STACK - 192);
	tick(17);
	leave(C, STACK - 144);
	call(B, STACK - 192, 19);
	leave(A, STACK - 96);
	assert_calls(A, 1, 11 + 13 + 17 + 19, 17);
	assert_calls(B, 2, 11 + 13 + 19, 11 + 19);
	assert_calls(D, 1, 13, 13);
	assert_int_equal(unreturned(B), 1);
	assert_int_equal(lost_all(), 3);
	assert_nobody_inside();
}

/* Calls that were in progress when tracing began have no entry; nor have others', whom nobody
 * traces. */
static void test_returns_that_do_not_count(void **state)
{
	(void)state;
	funcs_start((struct func_conf){ .n_pids = 1, .pids = { 2003 } });
	func_live.since_ns = 0;
	leave(A, STACK - 96);
	assert_int_equal(lost_all(), 0);
	func_live.since_ns = machine.now;
	machine.current->t.tgid = 2011;
	leave(A, STACK - 96);
	assert_int_equal(lost_all(), 0);
	machine.current->t.tgid = 2003;
	leave(A, STACK - 96);
	assert_int_equal(lost_all(), 1);
}

/* The kernel does not show returns from what a session did not want to see the return of; all it
 * shows are those of calls that were counted, so the place alone identifies a call. */
static void test_session(void **state)
{
	(void)state;
	funcs_start((struct func_conf){ .n_pids = 1, .pids = { 2003 } });
	way = SESSION;
	assert_true(enter(A, STACK - 96));
	tick(11);
	/* the cookie of another function would say otherwise */
	leave(B, STACK - 96);
	assert_calls(A, 1, 11, 11);
	assert_calls(B, 0, 0, 0);
	assert_true(enter(C, STACK - 96));
	assert_true(enter(D, STACK - 192));
	tick(7);
	leave(B, STACK - 192);
	leave(B, STACK - 96);
	assert_calls(C, 1, 7, 0);
	assert_calls(D, 1, 7, 7);
	assert_int_equal(lost_all() + unreturned(C) + unreturned(D), 0);
	machine.current->t.tgid = 2011;
	assert_false(enter(A, STACK - 96));
	machine.current->t.tgid = 2003;
	assert_int_equal(lost_all(), 0);
	/* B's return is missed */
	assert_true(enter(A, STACK - 96));
	tick(13);
	assert_true(enter(B, STACK - 192));
	leave(A, STACK - 96);
	assert_calls(A, 2, 11 + 13, 11 + 13);
	assert_int_equal(unreturned(B), 1);
	/* all is over, whatever comes */
	leave(A, STACK - 96);
	assert_int_equal(func_live.lost[FUNC_LOST_END], 1);
	assert_nobody_inside();
}

/* A function's number is found by its address; or, if its slot is another's, by the cookie. */
static void test_function_numbers(void **state)
{
	(void)state;
	funcs_start((struct func_conf){});
	way = MULTI;
	func_ids[func_id_slot(0x1000 + A)] = (struct func_id){ .addr = 0x1000 + A, .func = C };
	func_ids[func_id_slot(0x1000 + B)] = (struct func_id){ .addr = 0x2000, .func = D };
	call(A, STACK - 96, 11);
	call(B, STACK - 96, 13);
	assert_calls(A, 0, 0, 0);
	assert_calls(B, 1, 13, 13);
	assert_calls(C, 1, 11, 11);
	assert_calls(D, 0, 0, 0);
}

/* An interrupt has a stack of its own, wherever that is: what it interrupted is not over. */
static void test_interrupts(void **state)
{
	static const u64 stacks[] = { IRQ_BELOW, IRQ_ABOVE };

	(void)state;
	for (u32 w = 0; w < WAYS; w++) {
		for (int i = 0; i < 2; i++) {
			funcs_start((struct func_conf){});
			way = w;
			enter(A, STACK - 96);
			tick(11);
			/* several, of which the first goes deep */
			for (int n = 0; n < 3; n++) {
				enter(C, stacks[i] - 48);
				tick(13);
				if (!n) {
					enter(D, stacks[i] - 96);
					enter(E, NMI - 48);
					tick(17);
					leave(E, NMI - 48);
					leave(D, stacks[i] - 96);
				}
				leave(C, stacks[i] - 48);
			}
			call(B, STACK - 192, 19);
			leave(A, STACK - 96);
			assert_calls(A, 1, 11 + 3 * 13 + 17 + 19, 11);
			assert_calls(B, 1, 19, 19);
			assert_calls(C, 3, 3 * 13 + 17, 3 * 13);
			assert_calls(D, 1, 17, 0);
			assert_calls(E, 1, 17, 17);
			assert_int_equal(lost_all() + unreturned(C) + unreturned(D), 0);
			assert_nobody_inside();
		}
	}
}

/* A return missed in an interrupt is noticed at the interrupt's next call; the interrupted call
 * stays untouched. */
static void test_missed_return_in_interrupt(void **state)
{
	(void)state;
	funcs_start((struct func_conf){});
	enter(A, STACK - 96);
	tick(11);
	enter(B, IRQ_ABOVE - 48);
	enter(C, IRQ_ABOVE - 96);
	tick(13);
	call(D, IRQ_ABOVE - 88, 17);
	leave(B, IRQ_ABOVE - 48);
	leave(A, STACK - 96);
	assert_calls(A, 1, 11 + 13 + 17, 11);
	assert_calls(B, 1, 13 + 17, 13);
	assert_calls(D, 1, 17, 17);
	assert_int_equal(unreturned(C), 1);
	assert_int_equal(lost_all(), 0);
	assert_nobody_inside();
}

/* If nothing comes at its place, the return of the interrupted call tells that it is over. */
static void test_missed_return_in_last_interrupt(void **state)
{
	static const u64 stacks[] = { IRQ_BELOW, IRQ_ABOVE };

	(void)state;
	for (u32 w = 0; w < WAYS; w++) {
		for (int i = 0; i < 2; i++) {
			funcs_start((struct func_conf){});
			way = w;
			enter(A, STACK - 96);
			enter(B, STACK - 192);
			tick(11);
			enter(C, stacks[i] - 48);
			enter(D, stacks[i] - 96);
			tick(13);
			leave(B, STACK - 192);
			enter(D, stacks[i] - 16);
			tick(17);
			leave(A, STACK - 96);
			assert_calls(A, 1, 11 + 13 + 17, 17);
			assert_calls(B, 1, 11 + 13, 11 + 13);
			assert_int_equal(unreturned(C), 1);
			assert_int_equal(unreturned(D), 2);
			assert_int_equal(lost_all(), 0);
			assert_nobody_inside();
		}
	}
}

/* Stacks of the kernel are multiples of 16 KB: what is in another is no caller, nor over. */
static void test_kernel_stacks(void **state)
{
	(void)state;
	funcs_start((struct func_conf){});
	enter(A, STACK + 16);
	call(B, STACK + (1 << KERNEL_STACK_SHIFT) - 8, 11); /* the same stack: A is over */
	leave(A, STACK + 16);
	assert_int_equal(unreturned(A), 1);
	assert_int_equal(func_live.lost[FUNC_LOST_END], 1);
	enter(A, STACK + 16);
	call(B, STACK + (1 << KERNEL_STACK_SHIFT) + 16, 13);
	leave(A, STACK + 16);
	assert_calls(A, 1, 13, 0);
	assert_int_equal(unreturned(A), 1);
	assert_int_equal(lost_all(), 1);
}

/* A program's stack may be 8 MiB long: what is further up is on another, as coroutines have. */
static void test_user_stacks(void **state)
{
	const u64 far = 1ULL << USER_STACK_SHIFT;

	(void)state;
	funcs_start((struct func_conf){ .user_stacks = 1 });
	enter(A, USER_STACK);
	call(B, USER_STACK + 1, 11);
	enter(A, USER_STACK);
	call(B, USER_STACK + far, 13);
	assert_int_equal(unreturned(A), 2);
	assert_nobody_inside();
	enter(A, USER_STACK);
	call(B, USER_STACK + far + 1, 17);
	call(B, USER_STACK + 3 * far, 19);
	call(B, USER_STACK - 16, 23);
	call(B, USER_STACK - 2 * far, 29);
	leave(A, USER_STACK);
	assert_calls(A, 1, 17 + 19 + 23 + 29, 0);
	assert_calls(B, 6, 11 + 13 + 17 + 19 + 23 + 29, 11 + 13 + 17 + 19 + 23 + 29);
	assert_int_equal(unreturned(A), 2);
	assert_int_equal(lost_all(), 0);
	assert_nobody_inside();
}

/* A handler of signals has a stack of its own, within 8 MiB of the program's, below or above. */
static void test_stack_for_signals(void **state)
{
	enum { LEN = 8192 };

	(void)state;
	for (int above = 0; above < 2; above++) {
		u64 signals = above ? USER_STACK + 65536 : USER_STACK - 65536;

		funcs_start((struct func_conf){ .user_stacks = 1 });
		machine.current->t.sas_ss_sp = signals;
		machine.current->t.sas_ss_size = LEN;
		/* it has interrupted what runs elsewhere, from its first byte to its last */
		enter(A, USER_STACK);
		tick(11);
		call(B, signals + 1, 13);
		call(B, signals + LEN, 17);
		enter(B, signals + LEN - 64);
		tick(19);
		call(C, signals + LEN - 128, 23);
		enter(D, signals + LEN - 128); /* its return is missed */
		tick(29);
		call(C, signals + LEN - 120, 31);
		leave(B, signals + LEN - 64);
		leave(A, USER_STACK);
		assert_calls(A, 1, 11 + 13 + 17 + 19 + 23 + 29 + 31, 11);
		assert_calls(B, 3, 13 + 17 + 19 + 23 + 29 + 31, 13 + 17 + 19 + 29);
		assert_calls(C, 2, 23 + 31, 23 + 31);
		assert_int_equal(unreturned(D), 1);
		/* the handler has jumped back: it is over when something runs elsewhere */
		enter(A, USER_STACK);
		enter(B, signals + LEN - 64);
		enter(C, signals + LEN - 128);
		tick(37);
		call(D, USER_STACK - 64, 41);
		leave(A, USER_STACK);
		assert_int_equal(unreturned(B), 1);
		assert_int_equal(unreturned(C), 1);
		assert_calls(D, 1, 41, 41);
		/* one further up seems to have called D, until A returns */
		assert_calls(A, 2, 11 + 13 + 17 + 19 + 23 + 29 + 31 + 37 + 41,
			     11 + 37 + (above ? 41 : 0));
		enter(A, USER_STACK);
		enter(B, signals + LEN - 64);
		leave(A, USER_STACK);
		assert_int_equal(unreturned(B), 2);
		assert_int_equal(unreturned(A), 0);
		assert_int_equal(lost_all(), 0);
		assert_nobody_inside();
	}
}

/* Where that stack ends it is none any more: what is there, further up, ends what is below it. */
static void test_stack_for_signals_ends(void **state)
{
	enum { LEN = 8192 };

	(void)state;
	funcs_start((struct func_conf){ .user_stacks = 1 });
	machine.current->t.sas_ss_sp = USER_STACK + 65536;
	machine.current->t.sas_ss_size = LEN;
	enter(A, USER_STACK);
	call(B, USER_STACK + 65536, 11);
	assert_int_equal(unreturned(A), 1);
	enter(A, USER_STACK);
	call(B, USER_STACK + 65536 + LEN + 1, 13);
	assert_int_equal(unreturned(A), 2);
	assert_nobody_inside();
	/* what is just below it was interrupted by what is on it */
	enter(A, USER_STACK + 65536 - 1);
	call(B, USER_STACK + 65536 + LEN, 17);
	leave(A, USER_STACK + 65536 - 1);
	assert_calls(A, 1, 17, 0);
	enter(A, USER_STACK + 65536);
	call(B, USER_STACK + 65536 + LEN, 19);
	assert_int_equal(unreturned(A), 3);
	assert_int_equal(lost_all(), 0);
	assert_nobody_inside();
}

/* Calls below the 64th are lost, and nothing else is: neither they nor those above are taken for
 * calls that were not seen to begin. */
static void test_too_deep(void **state)
{
	u64 last = STACK - 96 * FUNC_FRAMES, to;

	(void)state;
	for (u32 w = 0; w < WAYS; w++) {
		funcs_start((struct func_conf){});
		way = w;
		to = way == FENTRY || way == FSESSION ? last - 64 : last; /* see test_jump() */
		for (u64 i = 1; i <= FUNC_FRAMES; i++)
			assert_true(enter(A, STACK - 96 * i));
		tick(11);
		/* one that the last has jumped to, and one that that has called */
		assert_int_equal(enter(B, to), way != SESSION);
		tick(13);
		assert_int_equal(enter(C, last - 96), way != SESSION);
		tick(17);
		if (way != SESSION) {
			leave(C, last - 96);
			leave(B, to);
		}
		for (u64 i = FUNC_FRAMES; i; i--)
			leave(A, STACK - 96 * i);
		assert_calls(A, FUNC_FRAMES, FUNC_FRAMES * (11 + 13 + 17), 11 + 13 + 17);
		assert_calls(B, 0, 0, 0);
		assert_calls(C, 0, 0, 0);
		assert_int_equal(func_live.lost[FUNC_LOST_DEPTH], 2);
		assert_int_equal(lost_all(), 2);
		assert_int_equal(unreturned(A) + unreturned(B) + unreturned(C), 0);
		assert_nobody_inside();
		/* and later all is as ever */
		enter(A, STACK - 96);
		enter(B, STACK - 192);
		call(A, STACK - 96, 19);
		assert_int_equal(unreturned(B), 1);
	}
}

/* With 64 calls, some of which are over, there is room again; a return above the last was not lost
 * for it. */
static void test_deep_and_missed(void **state)
{
	(void)state;
	funcs_start((struct func_conf){});
	for (u64 i = 1; i <= FUNC_FRAMES; i++)
		enter(A, STACK - 96 * i);
	leave(B, STACK - 96 * FUNC_FRAMES + 1);
	assert_int_equal(func_live.lost[FUNC_LOST_END], 1);
	/* the last is over */
	call(B, STACK - 96 * FUNC_FRAMES + 1, 11);
	assert_int_equal(unreturned(A), 1);
	/* of 63, nothing is lost for depth */
	leave(B, STACK - 96 * FUNC_FRAMES - 96);
	assert_int_equal(func_live.lost[FUNC_LOST_END], 2);
	assert_int_equal(func_live.lost[FUNC_LOST_DEPTH], 0);
	for (u64 i = FUNC_FRAMES - 1; i; i--)
		leave(A, STACK - 96 * i);
	assert_calls(A, FUNC_FRAMES - 1, 11 * (FUNC_FRAMES - 1), 0);
	assert_nobody_inside();
}

/* Calls that a thread is in when it ends, or whose program does, never return. */
static void thread_ends_with(void (*ends)(struct ktask *), u64 n)
{
	static const u32 funcs[] = { A, B, C, D, E };
	struct ktask *other = thread_of_same_slot(0), *t;

	for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
		funcs_start((struct func_conf){ .user_stacks = ends == thread_executes });
		thread_init(other, 3001, 3001, "other");
		call(A, STACK - 96, 3); /* takes the slot */
		t = elsewhere ? other : &threads[0];
		machine.current = t;
		for (u64 i = 0; i < n; i++)
			enter(funcs[i % FUNCS], STACK - 96 * (i + 1));
		ends(t);
		for (u64 i = 0; i < FUNCS; i++)
			assert_int_equal(unreturned(funcs[i]), (n + FUNCS - 1 - i) / FUNCS);
		assert_int_equal(lost_all(), 0);
		assert_nobody_inside();
		/* again: there is nothing left */
		ends(t);
		assert_int_equal(unreturned(A), (n + FUNCS - 1) / FUNCS);
		call(A, STACK - 480, 13);
		assert_calls(A, 2, 3 + 13, 3 + 13);
		assert_int_equal(lost_all(), 0);
		assert_nobody_inside();
	}
}

static void test_ends(void **state)
{
	(void)state;
	for (u64 n = 0; n < 8; n++) {
		thread_ends_with(thread_exits, n);
		thread_ends_with(thread_executes, n);
		thread_ends_with(thread_is_freed, n);
	}
	thread_ends_with(thread_exits, FUNC_FRAMES);
}

/* A thread of which nothing is known ends, with somebody else's slot and with none's. */
static void test_unknown_ends(void **state)
{
	struct ktask *other;

	(void)state;
	funcs_start((struct func_conf){});
	other = thread_of_same_slot(0);
	thread_exits(other);
	thread_is_freed(other);
	enter(A, STACK - 96);
	thread_exits(other);
	thread_executes(other);
	thread_is_freed(other);
	tick(11);
	leave(A, STACK - 96);
	assert_calls(A, 1, 11, 11);
	assert_int_equal(unreturned(A) + lost_all(), 0);
	assert_int_equal(map_count(&func_owners), 1);
	assert_nobody_inside();
}

/* Each thread has its own calls, also of those that have the same slot; whoever is first has it
 * until it is freed. */
static void test_threads_of_one_slot(void **state)
{
	struct ktask *t[3] = { &threads[0] };

	(void)state;
	for (u32 w = 0; w < WAYS; w++) {
		funcs_start((struct func_conf){});
		way = w;
		t[1] = thread_of_same_slot(0);
		t[2] = thread_of_same_slot(1);
		for (int i = 0; i < 3; i++) {
			machine.current = t[i];
			enter(A, STACK - 96);
			tick(11);
			enter(B, STACK - 192);
			tick(13);
		}
		assert_int_equal(map_count(&func_others), 2);
		for (int i = 0; i < 3; i++) {
			machine.current = t[i];
			leave(B, STACK - 192);
			tick(17);
			assert_int_equal(map_count(&func_others), i < 1 ? 2 : 3 - i);
			leave(A, STACK - 96);
			assert_int_equal(map_count(&func_others), 2 - i);
		}
		assert_calls(A, 3, 89 + 82 + 75, 3 * (11 + 17));
		assert_calls(B, 3, 61 + 54 + 47, 61 + 54 + 47);
		assert_nobody_inside();
		/* the owner is gone: another has its slot */
		thread_is_freed(t[0]);
		assert_int_equal(map_count(&func_owners), 0);
		machine.current = t[1];
		enter(C, STACK - 96);
		assert_int_equal(map_count(&func_others), 0);
		machine.current = t[0];
		call(D, STACK - 96, 19);
		machine.current = t[1];
		leave(C, STACK - 96);
		assert_calls(C, 1, 19, 19);
		assert_calls(D, 1, 19, 19);
		assert_int_equal(lost_all(), 0);
		assert_nobody_inside();
	}
}

/* No room for the state of one more thread: its calls are lost, and nobody else's. */
static void test_no_room_for_thread(void **state)
{
	struct ktask *other;

	(void)state;
	for (u32 w = 0; w < WAYS; w++) {
		funcs_start((struct func_conf){});
		way = w;
		other = thread_of_same_slot(0);
		enter(A, STACK - 96);
		tick(11);
		machine.current = other;
		map_of(&func_others)->refusals = 1;
		assert_int_equal(enter(B, STACK - 96), way != SESSION);
		assert_int_equal(func_live.lost[FUNC_LOST_THREADS], 1);
		assert_int_equal(lost_all(), 1);
		assert_int_equal(func_threads[func_slot((u64)other)].crowd, 0);
		tick(13);
		call(C, STACK - 192, 17);
		assert_calls(C, 1, 17, 17);
		machine.current = &threads[0];
		leave(A, STACK - 96);
		assert_calls(A, 1, 11 + 13 + 17, 11 + 13 + 17);
		assert_calls(B, 0, 0, 0);
		assert_int_equal(lost_all(), 1);
		assert_nobody_inside();
	}
}

/* Most slots are somebody's when there are as many threads. These lie as task_struct does in a
 * slab.
 */
static void test_slots_are_used(void **state)
{
	enum { TASK_STRUCT = 9792 }; /* bytes, Debian's Linux 6.1 */
	char *slab = calloc(1 << FUNC_THREADS_LOG2, TASK_STRUCT);
	u32 n;

	(void)state;
	assert_non_null(slab);
	funcs_start((struct func_conf){});
	for (u32 i = 0; i < 1 << FUNC_THREADS_LOG2; i++) {
		machine.current = (struct ktask *)(slab + (size_t)i * TASK_STRUCT);
		call(A, STACK - 96, 1);
	}
	n = map_count(&func_owners);
	assert_in_range(n, 600, 1 << FUNC_THREADS_LOG2);
	assert_nobody_inside();
	machine.current = &threads[0];
	free(slab);
}

/* Where returns are not probed, calls are counted at their entry, and no thread has a state. */
static void test_counted_only(void **state)
{
	(void)state;
	for (u32 w = 0; w < WAYS; w++) {
		funcs_start((struct func_conf){ .counted_only = 1, .user_stacks = 1 });
		way = w;
		for (int i = 0; i < 23; i++)
			assert_int_equal(enter(A, STACK - 96), way != SESSION);
		assert_int_equal(unreturned(A), 23);
		assert_calls(A, 0, 0, 0);
		assert_nobody_inside();
		/* by key: with the count alone */
		funcs_start((struct func_conf){ .counted_only = 1, .rows = FUNC_ROWS_PID });
		way = w;
		enter(B, STACK - 96);
		enter(B, STACK - 96);
		assert_by(B, 2003, 0, 2, 0);
		assert_int_equal(unreturned(B) + lost_all(), 0);
	}
}

static void assert_killed(unsigned int tgid, unsigned int by)
{
	assert_int_equal(func_live.killed_tgid, tgid);
	assert_int_equal(func_live.killed_by, by);
}

/* A fault that ends a thread which called traced functions is noted: the first one. */
static void test_killed(void **state)
{
	static const unsigned int faults[] = { 4, 5, 6, 7, 11 },
				  others[] = { 0, 1, 2, 8, 9, 15, 31 };

	(void)state;
	for (u32 i = 0; i < 5; i++) {
		funcs_start((struct func_conf){ .user_stacks = 1 });
		thread_init(&threads[1], 3001, 3001, "another");
		threads[0].t.exit_code = faults[i];
		thread_exits(&threads[0]);
		assert_killed(0, 0); /* it called nothing */
		call(A, STACK - 96, 3);
		threads[0].t.exit_code = faults[i] | 0x80; /* with a core dump */
		thread_exits(&threads[0]);
		assert_killed(2003, faults[i]);
		machine.current = &threads[1];
		call(A, STACK - 96, 3);
		threads[1].t.exit_code = faults[4 - i];
		thread_exits(&threads[1]);
		assert_killed(2003, faults[i]);
	}
	for (u32 i = 0; i < 8; i++) {
		funcs_start((struct func_conf){ .user_stacks = i < 7 });
		call(A, STACK - 96, 3);
		threads[0].t.exit_code = i < 7 ? others[i] : 11; /* of the kernel: not its fault */
		thread_exits(&threads[0]);
		assert_killed(0, 0);
	}
}

/* Rows of functions by process, thread, name and cgroup. */
static void test_rows_by(void **state)
{
	u64 comm[2];

	(void)state;
	for (u32 rows = FUNC_ROWS_PID; rows <= FUNC_ROWS_CGROUP; rows++) {
		funcs_start((struct func_conf){ .rows = rows });
		thread_init(&threads[1], 2003, 2011, "sibling");
		thread_init(&threads[2], 2017, 2017, "sibling");
		for (int i = 0; i < 3; i++) {
			machine.current = &threads[i];
			enter(A, STACK - 96);
			tick(11);
			call(B, STACK - 192, 1009 * (i + 1));
			leave(A, STACK - 96);
		}
		if (rows == FUNC_ROWS_PID) {
			assert_by(B, 2003, 0, 2, 1009 * 3);
			assert_by(B, 2017, 0, 1, 1009 * 3);
			assert_by(A, 2017, 0, 1, 1009 * 3 + 11);
		} else if (rows == FUNC_ROWS_TID) {
			assert_by(B, 2003, 2003, 1, 1009);
			assert_by(B, 2011, 2003, 1, 1009 * 2);
			assert_by(B, 2017, 2017, 1, 1009 * 3);
		} else if (rows == FUNC_ROWS_COMM) {
			memcpy(comm, "thread\0\0\0\0\0\0\0\0\0", 16);
			assert_by(B, comm[0], comm[1], 1, 1009);
			memcpy(comm, "sibling\0\0\0\0\0\0\0\0", 16);
			assert_by(B, comm[0], comm[1], 2, 1009 * 5);
		} else {
			assert_by(B, 7000 + 2003, 0, 2, 1009 * 3);
			assert_by(B, 7000 + 2017, 0, 1, 1009 * 3);
		}
		assert_calls(A, 3, 1009 * 6 + 33, 33);
		assert_calls(B, 3, 1009 * 6, 1009 * 6);
		assert_int_equal(hist_count(A, 0, true) + hist_count(B, 0, true), 0);
		assert_int_equal(lost_all(), 0);
		assert_nobody_inside();
	}
}

/* The key has the bucket of a histogram, so calls of other lengths have another row. */
static void test_rows_have_buckets(void **state)
{
	static const u64 took[] = { 7, 7, 1009 };
	u64 n[HIST_N] = {};
	const struct func_key *key;
	const struct func_sums *s;

	(void)state;
	funcs_start((struct func_conf){ .rows = FUNC_ROWS_PID });
	for (int i = 0; i < 3; i++)
		call(A, STACK - 96, took[i]);
	assert_int_equal(map_count(&func_rows), 2);
	for (struct entry *e = map_of(&func_rows)->entries; e; e = e->hh.next) {
		key = (const void *)e->key;
		s = (const void *)e->value;
		assert_int_equal(key->path, 0);
		assert_int_equal(s->parent, 0);
		n[key->bucket] = s->count;
	}
	assert_int_equal(n[hist_bucket(7)], 2);
	assert_int_equal(n[hist_bucket(1009)], 1);
}

static void test_no_room_for_row(void **state)
{
	(void)state;
	funcs_start((struct func_conf){ .rows = FUNC_ROWS_PID });
	call(A, STACK - 96, 7);
	map_of(&func_rows)->refusals = 2;
	call(B, STACK - 96, 11);
	enter(A, STACK - 96);
	tick(7 - 7);
	call(C, STACK - 192, 7);
	leave(A, STACK - 96);
	assert_calls(A, 2, 14, 7);
	assert_calls(B, 0, 0, 0);
	assert_calls(C, 0, 0, 0);
	assert_int_equal(func_live.lost[FUNC_LOST_ROWS], 2);
	assert_int_equal(lost_all(), 2);
	assert_nobody_inside();
}

/* The row of @func whose sums are @count and @total. */
static const struct func_key *row_find(u32 func, u64 count, u64 total, u64 *ret_parent)
{
	const struct func_key *key;
	const struct func_sums *s;

	for (struct entry *e = map_of(&func_rows)->entries; e; e = e->hh.next) {
		key = (const void *)e->key;
		s = (const void *)e->value;
		if (key->func != func || s->count != count || s->total_ns != total)
			continue;
		*ret_parent = s->parent;
		assert_int_equal(key->bucket | key->by[0] | key->by[1], 0);
		assert_int_not_equal(key->path, 0);
		return key;
	}
	return NULL;
}

/* A row for each way by which a function was called. */
static void test_tree(void **state)
{
	u64 of_a, of_ab, of_abc, of_ac, of_b, of_ba, of_c;
	const struct func_key *a, *ab, *abc, *ac, *b, *ba, *c;

	(void)state;
	funcs_start((struct func_conf){ .rows = FUNC_ROWS_TREE, .hists = 2, .hists_shared = 1 });
	machine.cpu = 3;
	for (int i = 0; i < 2; i++) {
		enter(A, STACK - 96);
		tick(11);
		enter(B, STACK - 192);
		tick(13);
		call(C, STACK - 288, 17);
		call(C, STACK - 288, 17);
		leave(B, STACK - 192);
		call(C, STACK - 192, 19);
		leave(A, STACK - 96);
	}
	call(C, STACK - 96, 23);
	a = row_find(A, 2, 2 * (11 + 13 + 2 * 17 + 19), &of_a);
	ab = row_find(B, 2, 2 * (13 + 2 * 17), &of_ab);
	abc = row_find(C, 4, 4 * 17, &of_abc);
	ac = row_find(C, 2, 2 * 19, &of_ac);
	c = row_find(C, 1, 23, &of_c);
	assert_true(a && ab && abc && ac && c);
	assert_int_equal(of_a, 0);
	assert_int_equal(of_ab, a->path);
	assert_int_equal(of_abc, ab->path);
	assert_int_equal(of_ac, a->path);
	assert_int_equal(of_c, 0);
	assert_int_equal(map_count(&func_rows), 5);
	assert_calls(A, 2, 2 * 77, 2 * 11);
	assert_calls(B, 2, 2 * 47, 2 * 13);
	/* the same two the other way round are another way */
	enter(B, STACK - 96);
	call(A, STACK - 192, 29);
	leave(B, STACK - 96);
	b = row_find(B, 1, 29, &of_b);
	ba = row_find(A, 1, 29, &of_ba);
	assert_true(b && ba);
	assert_int_equal(of_b, 0);
	assert_int_equal(of_ba, b->path);
	assert_int_not_equal(ba->path, ab->path);
	assert_int_equal(map_count(&func_rows), 7);
	/* histograms are by function, CPUs 1 and 3 have one */
	assert_int_equal(((u32(*)[HIST_N])map_of(&func_hists)->array)[FUNCS + 1 + C][17], 4);
	assert_int_equal(hist_count(C, 19, false), 2);
	assert_int_equal(hist_count(C, 0, true), 7);
	assert_int_equal(lost_all(), 0);
}

/* The first call of a thread has no parent, however deep others were before it. */
static void test_tree_after_deep(void **state)
{
	u64 parent = 1;

	(void)state;
	funcs_start((struct func_conf){ .rows = FUNC_ROWS_TREE });
	map_of(&func_rows)->max = 128;
	for (u64 i = 1; i <= FUNC_FRAMES; i++)
		enter(A, STACK - 96 * i);
	for (u64 i = FUNC_FRAMES; i; i--)
		leave(A, STACK - 96 * i);
	assert_int_equal(map_count(&func_rows), FUNC_FRAMES);
	call(B, STACK - 96, 11);
	assert_non_null(row_find(B, 1, 11, &parent));
	assert_int_equal(parent, 0);
}

/* The cost of probes is no part of any time: a call's own, and that of each below it. */
static void test_subtract(void **state)
{
	(void)state;
	for (u32 w = 0; w < WAYS; w++) {
		funcs_start((struct func_conf){ .subtract = 1 });
		way = w;
		func_live.inside_ns = 101;
		func_live.call_ns = 211;
		for (int i = 0; i < 2; i++) {
			enter(A, STACK - 96);
			tick(11);
			enter(B, STACK - 192);
			tick(13);
			for (int n = 0; n < 3; n++)
				call(C, STACK - 288, 17 + 101);
			tick(3 * (211 - 101) + 101);
			leave(B, STACK - 192);
			tick(211 - 101);
			tick(101);
			leave(A, STACK - 96);
		}
		assert_calls(C, 6, 6 * 17, 6 * 17);
		assert_calls(B, 2, 2 * (13 + 3 * 17), 2 * 13);
		assert_calls(A, 2, 2 * (11 + 13 + 3 * 17), 2 * 11);
		/* one that is shorter than the probe on the average was */
		call(D, STACK - 96, 100);
		call(D, STACK - 96, 101);
		call(D, STACK - 96, 102);
		assert_calls(D, 3, 1, 1);
	}
}

/* What was taken off is summed, and so is the part of the time in which the thread waited for a
 * CPU: in each call that was in progress. */
static void test_preempted(void **state)
{
	const struct func_sums *s;
	u64 *run_delay;

	(void)state;
	funcs_start((struct func_conf){ .subtract = 1 });
	run_delay = &machine.current->t.sched_info.run_delay;
	func_live.inside_ns = 101;
	func_live.call_ns = 211;
	*run_delay += 1009;
	enter(A, STACK - 96);
	tick(11 + 101);
	*run_delay += 7;
	enter(B, STACK - 192);
	tick(13 + 101);
	*run_delay += 5;
	leave(B, STACK - 192);
	tick(211 - 101);
	leave(A, STACK - 96);
	*run_delay += 1013;
	/* shorter than the probe is on the average, though it waited */
	enter(C, STACK - 96);
	tick(97);
	*run_delay += 3;
	leave(C, STACK - 96);
	assert_true(func_live.preempted_known);
	s = &((struct func_sums *)map_of(&func_cells)->array)[func_index(machine.cpu, A)];
	assert_int_equal(s[0].total_ns, 11 + 13);
	assert_int_equal(s[0].probe_ns, 101 + 211);
	assert_int_equal(s[0].preempted_ns, 12);
	assert_int_equal(s[B - A].total_ns, 13);
	assert_int_equal(s[B - A].probe_ns, 101);
	assert_int_equal(s[B - A].preempted_ns, 5);
	assert_int_equal(s[C - A].total_ns, 0);
	assert_int_equal(s[C - A].probe_ns, 97);
	assert_int_equal(s[C - A].preempted_ns, 0);
}

/* The cost of probes is not subtracted unless this is asked for. */
static void test_no_subtract(void **state)
{
	(void)state;
	funcs_start((struct func_conf){});
	func_live.inside_ns = 101;
	func_live.call_ns = 211;
	call(A, STACK - 96, 1009);
	assert_calls(A, 1, 1009, 1009);
	assert_false(func_live.preempted_known);
}

/* The clock may step back a little: that is no time, not ages. */
static void test_clock_steps_back(void **state)
{
	(void)state;
	funcs_start((struct func_conf){});
	enter(A, STACK - 96);
	tick(11);
	enter(B, STACK - 192);
	tick(-3);
	leave(B, STACK - 192);
	leave(A, STACK - 96);
	assert_calls(A, 1, 8, 8);
	assert_calls(B, 1, 0, 0);
	/* a call within seems to have taken longer than the caller */
	enter(A, STACK - 96);
	call(B, STACK - 192, 17);
	tick(-5);
	leave(A, STACK - 96);
	assert_calls(A, 2, 8 + 12, 8);
	assert_calls(B, 2, 17, 17);
}

/* Where a function returns is learned from calls of one that does nothing, by the tool. */
static void test_learning(void **state)
{
	struct pt_regs regs = { .sp = STACK - 96 };

	(void)state;
	funcs_start((struct func_conf){});
	machine.current->t.tgid = TOOL;
	func_live.sp_shift = 0;
	func_live.since_ns = 0;
	func_live.learning = 1;
	probed.copy = NOTHING;
	func_kprobe(&regs);
	tick(11);
	regs.sp += POPPED;
	func_kretprobe(&regs);
	assert_int_equal(func_live.sp_seen, 1);
	assert_int_equal(func_live.learned, -POPPED);
	assert_int_equal(lost_all(), 0);
	assert_nobody_inside();
	/* the next time it need not */
	func_live.sp_seen = 0;
	func_live.learned = 0;
	func_live.sp_shift = -POPPED;
	call(NOTHING, STACK - 96, 13);
	assert_int_equal(func_live.sp_seen, 0);
	/* from a shift that is wrong */
	func_live.sp_shift = 24;
	call(NOTHING, STACK - 96, 17);
	assert_int_equal(func_live.sp_seen, 1);
	assert_int_equal(func_live.learned, -POPPED);
	assert_calls(NOTHING, 3, 11 + 13 + 17, 11 + 13 + 17);
	/* nothing is learned from others, nor later */
	func_live.sp_seen = 0;
	enter(A, STACK - 96);
	leave(A, STACK - 96);
	enter(NOTHING, STACK - 192);
	leave(A, STACK - 96);
	assert_int_equal(func_live.sp_seen, 0);
	func_live.learning = 0;
	call(NOTHING, STACK - 192, 19);
	assert_int_equal(func_live.sp_seen, 0);
}

/* The tool measures the cost of probes by its own calls alone, whoever is traced. This cost is in
 * cells, whatever the rows are. */
static void test_measurement(void **state)
{
	(void)state;
	for (u32 rows = FUNC_ROWS; rows <= FUNC_ROWS_CGROUP; rows++) {
		funcs_start((struct func_conf){
			.rows = rows, .n_pids = 1, .pids = { 2003 }, .tracked = rows & 1 });
		machine.cpu = 1;
		call(NOTHING, STACK - 96, 11);
		assert_calls(NOTHING, 0, 0, 0);
		thread_init(&threads[1], TOOL, TOOL, "iostrata");
		machine.current = &threads[1];
		call(NOTHING, STACK - 96, 13);
		call(A, STACK - 96, 17);
		assert_int_equal(hist_count(NOTHING, 13, false), 1);
		assert_calls(NOTHING, 1, 13, 13);
		assert_calls(A, 0, 0, 0);
		assert_int_equal(map_count(&func_rows), 0);
		assert_int_equal(lost_all(), 0);
	}
}

/* Only listed processes are traced, and none that is outside of the tool's namespace. */
static void test_listed(void **state)
{
	struct func_conf c = { .n_pids = 2, .pids = { 2003, 2017 } };

	(void)state;
	for (int in_namespace = 0; in_namespace < 2; in_namespace++) {
		if (in_namespace)
			c = (struct func_conf){ .n_pids = 2,
						.pids = { 1003, 1017 },
						.pidns_dev = 4,
						.pidns_ino = 4026532001 };
		funcs_start(c);
		thread_init(&threads[1], 2017, 2011, "second");
		thread_init(&threads[2], 2011, 2011, "unlisted");
		thread_init(&threads[3], 0, 0, "swapper");
		for (int i = 0; i < 4; i++) {
			machine.current = &threads[i];
			call(i, STACK - 96, 11);
		}
		assert_calls(A, 1, 11, 11);
		assert_calls(B, 1, 11, 11);
		assert_calls(C, 0, 0, 0);
		assert_calls(D, 0, 0, 0);
		assert_int_equal(lost_all(), 0);
	}
	/* as many as there is room for */
	c = (struct func_conf){ .n_pids = MAX_PIDS };
	for (u32 i = 0; i < MAX_PIDS; i++)
		c.pids[i] = 2003 + i;
	funcs_start(c);
	call(A, STACK - 96, 11);
	machine.current->t.tgid = 2003 + MAX_PIDS - 1;
	call(A, STACK - 96, 11);
	machine.current->t.tgid = 2003 + MAX_PIDS;
	call(A, STACK - 96, 11);
	assert_calls(A, 2, 22, 22);
}

/* Ids of rows are those of the tool's namespace, 0 if it does not have the thread. */
static void test_namespace(void **state)
{
	(void)state;
	funcs_start((struct func_conf){ .rows = FUNC_ROWS_TID, .pidns_dev = 4, .pidns_ino = 1009 });
	thread_init(&threads[1], 2003, 2011, "sibling");
	thread_init(&threads[2], 901, 907, "outside");
	for (int i = 0; i < 3; i++) {
		machine.current = &threads[i];
		call(A, STACK - 96, 11 + i);
	}
	assert_by(A, 1003, 1003, 1, 11);
	assert_by(A, 1011, 1003, 1, 12);
	assert_by(A, 0, 0, 1, 13);
}

/* The command that the tool runs, and all that it starts. */
static void test_tracked(void **state)
{
	static struct ktask tool, tools_thread, child, thread, grandchild, other, others_child,
		huge;

	(void)state;
	funcs_start((struct func_conf){ .tracked = 1 });
	thread_init(&tool, TOOL, TOOL, "iostrata");
	thread_init(&tools_thread, TOOL, TOOL + 1, "iostrata");
	thread_init(&child, 2003, 2003, "child");
	thread_init(&thread, 2003, 2005, "thread");
	thread_init(&grandchild, 2047, 2047, "grandchild");
	thread_init(&other, 2002, 2002, "other");
	thread_init(&others_child, 2004, 2004, "others_child");
	thread_init(&huge, PID_LIMIT + 64, PID_LIMIT + 64, "huge");
	machine.current = &tool;
	forks(&tools_thread);
	forks(&child);
	machine.current = &child;
	forks(&thread);
	machine.current = &thread;
	forks(&grandchild);
	machine.current = &other;
	forks(&others_child);
	forks(&huge);
	for (int i = 0; i < 2; i++) {
		machine.current = &child;
		call(A, STACK - 96, 11);
		machine.current = &thread;
		call(A, STACK - 96, 13);
		machine.current = &grandchild;
		call(B, STACK - 96, 17);
		machine.current = &other;
		call(C, STACK - 96, 19);
		machine.current = &others_child;
		call(C, STACK - 96, 19);
		machine.current = &tool;
		call(C, STACK - 96, 19);
		machine.current = &huge;
		call(C, STACK - 96, 19);
		assert_calls(A, 2 * (i + 1), 24 * (i + 1), 24 * (i + 1));
		assert_calls(B, i + 1, 17 * (i + 1), 17 * (i + 1));
		assert_calls(C, 0, 0, 0);
		/* once more of all: nothing changes */
		machine.current = &tool;
		forks(&child);
		machine.current = &child;
		forks(&grandchild);
		forks(&huge);
		machine.current = &other;
		forks(&others_child);
	}
	/* another process has got the id of one that was tracked */
	forks(&grandchild);
	machine.current = &grandchild;
	call(B, STACK - 96, 23);
	assert_calls(B, 2, 34, 34);
	machine.current = &child;
	call(A, STACK - 96, 29);
	assert_calls(A, 5, 48 + 29, 48 + 29);
	assert_int_equal(lost_all(), 0);
}

/* The tool is known by its id in its own namespace, all others by theirs in the first. */
static void test_tracked_in_namespace(void **state)
{
	static struct ktask tool, child;

	(void)state;
	funcs_start((struct func_conf){ .tracked = 1, .pidns_dev = 4, .pidns_ino = 1009 });
	thread_init(&tool, TOOL + 1000, TOOL + 1000, "iostrata");
	thread_init(&child, 2203, 2203, "child");
	machine.current = &tool;
	forks(&child);
	machine.current = &child;
	call(A, STACK - 96, 11);
	assert_calls(A, 1, 11, 11);
	thread_init(&tool, TOOL, TOOL, "not it");
	thread_init(&child, 2207, 2207, "its child");
	machine.current = &tool;
	forks(&child);
	machine.current = &child;
	call(A, STACK - 96, 13);
	assert_calls(A, 1, 11, 11);
}

/* Where each interrupt that comes on top of a program has its stack; and how many came. */
static u64 interrupt_sp;
static u32 interrupts;

static u64 interrupt_ns;

static void interrupt_calls(void)
{
	u64 was = machine.cookie;
	typeof(probed) then = probed;

	enter(D, interrupt_sp);
	call(E, interrupt_sp - 48, interrupt_ns);
	leave(D, interrupt_sp);
	interrupts++;
	probed = then;
	machine.cookie = was;
}

static void interrupt_after(u32 steps)
{
	interrupt.comes = interrupt_calls;
	interrupt.in_steps = steps;
}

/* Thread @t makes calls of all kinds, so that an interrupt can come at each step of a program. */
static void calls_of_all_kinds(struct ktask *t, u64 sp)
{
	machine.current = t;
	enter(A, sp - 96);
	tick(11);
	enter(B, sp - 192);
	tick(13);
	call(C, sp - 288, 17);
	leave(B, sp - 192);
	enter(C, sp - 6000); /* it is seen to be over, when the stack is not as deep any more */
	tick(19);
	call(B, sp - 144, 23);
	enter(C, sp - 6000); /* and again */
	tick(29);
	leave(A, sp - 96);
}

/* An interrupt, or an NMI, between any two steps of a program, or a function that the program
 * called, on its own stack: it changes nothing of what is counted, and what it calls counts. */
static void test_interrupts_at_every_step(void **state)
{
	static const u64 places[] = { IRQ_BELOW - 48, IRQ_ABOVE - 48, STACK - 4096 };
	struct ktask *t;
	u32 steps, all = 0;

	(void)state;
	for (u32 n = 0; n < WAYS * 3 * 3 * 2; n++) {
		u32 before = n / (WAYS * 3) % 3;

		interrupt_sp = places[n / WAYS % 3];
		for (steps = 1; steps; steps++) {
			funcs_start((struct func_conf){ .rows = n / (WAYS * 9) ? FUNC_ROWS_TREE
									       : FUNC_ROWS });
			way = n % WAYS;
			t = &threads[0];
			/* the slot is the thread's, or another's; or nobody's, as yet */
			if (before == 1)
				calls_of_all_kinds(t, STACK - 7000);
			if (before == 2) {
				call(A, STACK - 96, 0);
				t = thread_of_same_slot(0);
			}
			memset(map_of(&func_unreturned)->array, 0, (FUNCS + 1) * sizeof(u64));
			memset(map_of(&func_cells)->array, 0,
			       CPUS * (FUNCS + 1) * sizeof(struct func_sums));
			interrupts = 0;
			interrupt_after(steps);
			calls_of_all_kinds(t, STACK);
			if (!interrupts)
				break;
			all++;
			if (!FUNC_CONF(rows)) {
				struct figures a = figures_by(A, NULL), b = figures_by(B, NULL),
					       c = figures_by(C, NULL);

				assert_int_equal(a.total, 11 + 13 + 17 + 19 + 23 + 29);
				assert_int_equal(a.self, 11 + 19 + 29);
				assert_int_equal(b.total, 13 + 17 + 23);
				assert_int_equal(b.self, 13 + 23);
				assert_int_equal(c.total, 17);
			}
			assert_int_equal(unreturned(C), 2);
			assert_int_equal(unreturned(A) + unreturned(B) + unreturned(D), 0);
			assert_int_equal(figures_by(D, NULL).count, 1);
			assert_int_equal(figures_by(E, NULL).count, 1);
			assert_int_equal(lost_all(), 0);
			assert_nobody_inside();
		}
	}
	assert_in_range(all, 1000, 100000);
}

/* The time of an interrupt belongs to the call that it is on top of: to none of those that have
 * been given up by then. */
static void test_interrupt_while_calls_are_given_up(void **state)
{
	struct figures a;
	u32 own = 0;

	(void)state;
	for (u32 steps = 1; steps; steps++) {
		funcs_start((struct func_conf){});
		enter(A, STACK - 96);
		tick(11);
		enter(B, STACK - 192);
		enter(C, STACK - 288);
		tick(13);
		interrupts = 0;
		interrupt_sp = IRQ_ABOVE - 48;
		interrupt_ns = 7;
		interrupt_after(steps);
		leave(A, STACK - 96);
		interrupt_ns = 0;
		if (!interrupts)
			break;
		a = figures_by(A, NULL);
		assert_calls(D, 1, 7, 0);
		assert_calls(E, 1, 7, 7);
		assert_int_equal(unreturned(B) + unreturned(C), 2);
		assert_int_equal(lost_all(), 0);
		assert_nobody_inside();
		/* it may come when A's time is over; before the others are given up it is theirs */
		assert_true(a.total == 24 || a.total == 24 + 7);
		assert_true(a.self == 24 || a.self == a.total);
		own += a.total == 24 + 7 && a.self == 24;
	}
	assert_true(own);
}

/* Threads that call functions at random. */

enum { ACTORS = 7, DEEPEST = 48, ON_STACK = 40 };

struct one_call {
	u32 func;
	u64 sp, start, nested;
	bool seen; /* by the program at the entry */
};

struct actor {
	struct ktask *task;
	struct one_call calls[DEEPEST];
	u32 n, n_dead; /* the last n_dead calls have returned, but no program has seen that */
	u32 n_thread;  /* while it is interrupted: so many calls are its own */
};

static struct actor actors[ACTORS];
static struct figures truth[FUNCS];
static u64 truth_unreturned, truth_lost_returns, truth_lost_ends;
static unsigned int seed;

static u32 pick(u32 n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

static void be(const struct actor *a)
{
	machine.current = a->task;
	machine.cpu = pick(CPUS);
	tick(1 + pick(pick(8) ? 300 : 30000));
}

/* The last call that is not over. */
static struct one_call *innermost(struct actor *a)
{
	u32 n = a->n - a->n_dead;

	return n > a->n_thread ? &a->calls[n - 1] : NULL;
}

/* The program finds out about calls that are over. */
static void dead_are_found(struct actor *a)
{
	u64 n = 0;

	for (u32 i = 0; i < a->n_dead; i++)
		n += a->calls[a->n - 1 - i].seen;
	a->n -= a->n_dead;
	a->n_dead = 0;
	truth_unreturned += n < 4 ? n : 4;
	truth_lost_returns += n < 4 ? 0 : n - 4;
}

/* The stack pointer of the outermost call that is over: a call entered there makes the program
 * notice. */
static u64 where_dead_are(const struct actor *a)
{
	for (u32 i = a->n - a->n_dead; i < a->n; i++)
		if (a->calls[i].seen)
			return a->calls[i].sp;
	return 0;
}

static void actor_enters(struct actor *a, u64 base, bool seen)
{
	struct one_call *above = innermost(a), *c;
	u64 dead = where_dead_are(a), sp;

	/* a caller's stack has room for what its calls need */
	sp = (above ? above->sp : base) - 16 * (2 + pick(8));
	if (dead)
		sp = dead + 8; /* not below them, or the last of them would be its caller */
	be(a);
	if (dead)
		dead_are_found(a);
	c = &a->calls[a->n++];
	*c = (struct one_call){ .func = pick(FUNCS), .sp = sp, .start = machine.now, .seen = seen };
	if (seen)
		assert_true(enter(c->func, sp));
}

static void actor_leaves(struct actor *a)
{
	struct one_call *c = innermost(a);
	struct figures *f = &truth[c->func];
	u64 dur;

	be(a);
	if (!c->seen && way != SESSION && way != FSESSION)
		truth_lost_ends++;
	if (c->seen || (way != SESSION && way != FSESSION))
		leave(c->func, c->sp);
	if (c->seen)
		dead_are_found(a);
	a->n--;
	if (!c->seen)
		return;
	dur = machine.now - c->start;
	f->count++;
	f->total += dur;
	f->self += dur - c->nested;
	f->max = dur > f->max ? dur : f->max;
	f->min = dur < f->min ? dur : f->min;
	while (c-- > a->calls)
		if (c->seen) {
			c->nested += dur;
			return;
		}
}

/* The last few calls return, and no program sees it. */
static void actor_leaves_unseen(struct actor *a)
{
	u32 most = a->n - a->n_thread - a->n_dead;

	be(a);
	a->n_dead += 1 + pick(most < 6 ? most : 6);
}

/* Something calls functions on another stack, and all of them return before the thread goes on; or
 * no program sees the last ones return, but that of the thread's own call, just then. */
static void actor_is_interrupted(struct actor *a, u32 level)
{
	static const u64 stacks[] = { IRQ_BELOW, IRQ_ABOVE, NMI };
	u64 base = stacks[level ? 2 : pick(2)];
	u32 was = a->n_thread, own = a->n;

	a->n_thread = own;
	for (u32 i = pick(9); i; i--) {
		if (innermost(a) && pick(2))
			actor_leaves(a);
		else if (a->n < DEEPEST)
			actor_enters(a, base, pick(8));
		if (!level && !pick(8))
			actor_is_interrupted(a, 1);
	}
	if (own > was && a->calls[own - 1].seen && !pick(4)) {
		a->n_dead = a->n - own;
		a->n_thread = was;
		actor_leaves(a);
		return;
	}
	while (innermost(a))
		actor_leaves(a);
	a->n_thread = was;
}

/* The thread's calls end with the thread; another thread has its address. */
static void actor_ends(struct actor *a)
{
	be(a);
	for (u32 i = 0; i < a->n; i++)
		truth_unreturned += a->calls[i].seen;
	a->n = a->n_dead = 0;
	thread_exits(a->task);
	if (pick(2))
		thread_is_freed(a->task);
}

static void actor_step(struct actor *a)
{
	u32 what = pick(32);

	if (a->n_dead) {
		/* what comes next must be where they were, or further up */
		if (innermost(a) && innermost(a)->seen && pick(2))
			actor_leaves(a);
		else if (where_dead_are(a))
			actor_enters(a, STACK, true);
		else
			a->n -= a->n_dead, a->n_dead = 0;
	} else if (what < 14 && a->n < DEEPEST - 16) {
		actor_enters(a, STACK, what);
	} else if (what < 27 && a->n) {
		actor_leaves(a);
	} else if (what < 29 && a->n) {
		actor_leaves_unseen(a);
	} else if (what < 31) {
		actor_is_interrupted(a, 0);
	} else if (!pick(8)) {
		actor_ends(a);
	}
}

static void storm_start(enum way by, u32 rows, unsigned int with_seed)
{
	funcs_start((struct func_conf){ .rows = rows });
	way = by;
	seed = with_seed;
	map_of(&func_rows)->max = 100000;
	memset(actors, 0, sizeof(actors));
	for (u32 i = 0; i < ACTORS; i++) {
		actors[i].task = i < 3 ? &threads[i] : thread_of_same_slot(i - 3);
		thread_init(actors[i].task, 2003, 2003 + i, "actor");
	}
	for (u32 i = 0; i < FUNCS; i++)
		truth[i] = (struct figures){ .min = ~0ULL };
	truth_unreturned = truth_lost_returns = truth_lost_ends = 0;
}

static void assert_storm_counted(void)
{
	u64 missed = 0;

	assert_true(truth_unreturned > 300 && truth_lost_returns > 5);
	for (u32 i = 0; i < FUNCS; i++) {
		struct figures f = figures_by(i, NULL);

		assert_int_equal(f.count, truth[i].count);
		assert_int_equal(f.total, truth[i].total);
		assert_int_equal(f.self, truth[i].self);
		assert_int_equal(f.max, truth[i].max);
		assert_int_equal(f.min, truth[i].min);
		missed += unreturned(i);
		if (FUNC_CONF(rows) <= FUNC_ROWS_TREE)
			assert_int_equal(hist_count(i, 0, true), f.count);
	}
	assert_int_equal(missed, truth_unreturned);
	assert_int_equal(func_live.lost[FUNC_LOST_RETURN], truth_lost_returns);
	assert_int_equal(func_live.lost[FUNC_LOST_END], truth_lost_ends);
	assert_int_equal(lost_all(), truth_lost_returns + truth_lost_ends);
}

static void test_storm(void **state)
{
	(void)state;
	for (unsigned int s = 1; s <= 2 * WAYS; s++) {
		storm_start(s % WAYS, s < WAYS ? FUNC_ROWS : s % (FUNC_ROWS_CGROUP + 1), s);
		for (u32 i = 0; i < 4001; i++)
			actor_step(&actors[pick(ACTORS)]);
		for (u32 i = 0; i < ACTORS; i++)
			actor_ends(&actors[i]);
		assert_storm_counted();
		assert_nobody_inside();
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_teardown(f, funcs_stop)
	const struct CMUnitTest tests[] = {
		TEST(test_call),
		TEST(test_cells),
		TEST(test_shared_histograms),
		TEST(test_nested),
		TEST(test_recursion),
		TEST(test_jump),
		TEST(test_jump_and_missed_return),
		TEST(test_missed_return),
		TEST(test_missed_return_known_at_entry),
		TEST(test_missed_return_of_the_first),
		TEST(test_many_missed_returns),
		TEST(test_return_of_any),
		TEST(test_missed_entry),
		TEST(test_missed_entry_changes_nothing),
		TEST(test_returns_that_do_not_count),
		TEST(test_session),
		TEST(test_function_numbers),
		TEST(test_interrupts),
		TEST(test_missed_return_in_interrupt),
		TEST(test_missed_return_in_last_interrupt),
		TEST(test_kernel_stacks),
		TEST(test_user_stacks),
		TEST(test_stack_for_signals),
		TEST(test_stack_for_signals_ends),
		TEST(test_too_deep),
		TEST(test_deep_and_missed),
		TEST(test_ends),
		TEST(test_unknown_ends),
		TEST(test_threads_of_one_slot),
		TEST(test_no_room_for_thread),
		TEST(test_slots_are_used),
		TEST(test_counted_only),
		TEST(test_killed),
		TEST(test_rows_by),
		TEST(test_rows_have_buckets),
		TEST(test_no_room_for_row),
		TEST(test_tree),
		TEST(test_tree_after_deep),
		TEST(test_subtract),
		TEST(test_preempted),
		TEST(test_no_subtract),
		TEST(test_clock_steps_back),
		TEST(test_learning),
		TEST(test_measurement),
		TEST(test_listed),
		TEST(test_namespace),
		TEST(test_tracked),
		TEST(test_tracked_in_namespace),
		TEST(test_interrupts_at_every_step),
		TEST(test_interrupt_while_calls_are_given_up),
		TEST(test_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
