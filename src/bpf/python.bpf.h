/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * python.bpf.h - frames of Python, in the place of the function that runs Python's code. One call
 * of this function runs a Python function, and those that it calls by Python alone.
 *
 * The interpreter keeps a list of frames for each thread. Current is in a system call, so its list
 * stands still. The list is read where this version of Python has it (`Include/internal` of
 * CPython, same for all releases of a version). The state that was found must have current's thread
 * pointer in it, else the stack says that frames could not be read.
 */
#ifndef IOSTRATA_PYTHON_BPF_H
#define IOSTRATA_PYTHON_BPF_H

#include "compat.bpf.h"
#include "insn.bpf.h"

/* Where members are; offsets in bytes. */
struct python_layout {
	u16 key;       /* the runtime's: of thread-specific data, which is the thread's state */
	u16 thread_id; /* the state's */
	u16 list;      /* the state's: the innermost frame, or with .in_list a structure with it */
	int in_list;   /* -1: none */
	/* a frame's: its code object, its caller, its instruction */
	u16 code, caller, instruction;
	u16 kind;            /* a byte of the frame, that is @last ... */
	u8 last;             /* ... for the last frame of a call */
	bool last_is_caller; /* which is no frame of Python */
	u16 code_start;      /* the code object's: instructions */
};

static const struct python_layout python_layouts[PYTHON_N] = {
	[PYTHON_3_11] = { 596, 152, 56, 8, 32, 48, 56, 68, 1, false, 184 },
	[PYTHON_3_12] = { 1548, 136, 56, 0, 0, 8, 56, 70, 3, true, 192 },
	[PYTHON_3_13] = { 2164, 152, 72, -1, 0, 8, 56, 70, 3, true, 200 },
};

_Static_assert(!(PYTHON_N & (PYTHON_N - 1)), "a version is cut to the layouts by a mask");

static __always_inline const struct python_layout *python_layout(u32 version)
{
	return &python_layouts[number(version) & (PYTHON_N - 1)];
}

/* Thread-specific data in the C library (glibc): the first keys' are in the thread itself. */
enum { PYTHON_SPECIFIC = 0x310, PYTHON_SPECIFIC_LEN = 16, PYTHON_KEYS = 32 };

static __always_inline u64 python_word(u64 at)
{
	u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)at);
	return word;
}

/* The innermost frame of current in the interpreter whose runtime is at @runtime, or 0. */
static __always_inline u64 python_innermost(const struct python_layout *l, u64 runtime)
{
	u64 thread = THREAD_POINTER(bpf_get_current_task_btf()), state, list;
	u32 key = PYTHON_KEYS;

	bpf_probe_read_user(&key, sizeof(key), (void *)(runtime + l->key));
	if (!thread || key >= PYTHON_KEYS)
		return 0;
	state = python_word(thread + PYTHON_SPECIFIC + key * PYTHON_SPECIFIC_LEN + 8);
	if (!state || python_word(state + l->thread_id) != thread)
		return 0;
	list = python_word(state + l->list);
	return l->in_list < 0 || !list ? list : python_word(list + l->in_list);
}

/* The word for frame @at, as in struct sent_stack, or 0. */
static __always_inline u64 python_frame(const struct python_layout *l, u32 version, u64 at)
{
	u64 code = python_word(at + l->code), instruction, place;

	if (!code || code & 15 || code >> 47)
		return 0;
	instruction = python_word(at + l->instruction);
	place = (instruction - code - l->code_start) / 2;
	if (place > STACK_PYTHON_PLACES)
		place = STACK_PYTHON_PLACES;
	return STACK_PYTHON_FRAME(version, code, place);
}

static __always_inline bool python_is_last(const struct python_layout *l, u64 at)
{
	u8 kind = 0;

	bpf_probe_read_user(&kind, sizeof(kind), (void *)(at + l->kind));
	return kind == l->last;
}

#endif
