/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stacks.h - user stacks with their operations, as plain data: which functions of programs made the
 * calls of a run, or of one interval. Figures are estimates if not all stacks were taken. All text
 * is hostile.
 */
#ifndef IOSTRATA_BASE_STACKS_H
#define IOSTRATA_BASE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

struct op_row;
struct snapshot;

/* A named frame. */
struct stack_frame {
	char *function; /* NULL: not known */
	char *library;  /* name of the file without directories; NULL: memory without a file */
	char *source;   /* path as the compiler had it; NULL: not known */
	unsigned int line;
	uint64_t at; /* place in the file, or the address */
	/* the build id of the file in hexadecimal digits, NULL: not known; and the place as an
	 * address of the file */
	const char *build_id;
	uint64_t address;
	bool hidden; /* of the C library, a language's runtime, or of --hide */
};

/* A stack: frames from the innermost on. */
struct stack {
	const struct stack_frame **frames;
	unsigned int n;
	enum stack_end end;
	bool by_frame_pointers; /* in part */
	int own; /* the innermost frame of the program's own code; -1: none is known */
};

struct stacks {
	struct stack *stacks; /* key.by[0] - 1 of a row of @ops is the index */
	size_t n;
	struct op_row *ops; /* by operation, file system and stack; .by is NULL */
	size_t n_ops;
	uint64_t taken;         /* stacks */
	uint64_t of;            /* operations of the kinds that have stacks; counted, not
				 * estimated */
	uint64_t lost, lost_ns; /* stacks that found no room, and their operations' time */
	uint64_t dropped;       /* stacks that are not among @stacks: too many different ones */
	uint64_t ended[STACK_END_N];       /* stacks by their end */
	uint64_t by_frame_pointers;        /* stacks with frames found by frame pointers */
	double weight;                     /* the time that the stacks stand for, ns */
	double variance;                   /* the variance of @weight, due to the drawing */
	bool sampled;                      /* not all were taken */
	const char *nameless;              /* why names could not be looked up; NULL: they could */
	const struct stack_frame *unnamed; /* see stacks_unnamed_note() */
};

/* Name of @end in JSON, and its reason in text; NULL: the stack is whole. */
const char *stack_end_name(unsigned int end);
const char *stack_end_reason(unsigned int end);

/* Why the caller of @s, whose .own is -1, is not known. */
const char *stack_unknown_reason(const struct stack *s);

/* How a frame is written: its function, or its place without one; with its library, "save_rows
 * [store]"; with its line, "save_rows (store.c:14)", or its library if that is not known. */
enum frame_form { FRAME_NAME, FRAME_LIBRARY, FRAME_LINE };

void stack_frame_text(char *dst, size_t cap, const struct stack_frame *f, enum frame_form form);

/* The number of operations in @sn of kinds that can have stacks. */
uint64_t stacks_ops(const struct snapshot *sn);

/* Sets s->unnamed: the caller with most time among those that have only an address in a file. NULL
 * if such callers in its file have less than a twentieth of the time. Call it while s->ops are
 * there: rows by caller take them. */
void stacks_unnamed_note(struct stacks *s);

/* Adds the time of an operation with a stack that stands for @scale operations. */
void stacks_draw_add(struct stacks *s, double scale, uint64_t total_ns);

/* Half the width of the 95 % interval around a share of @part in [0, 1], in percent. The stacks
 * tell as much as so many equal samples: the square of the weight, divided by its variance. */
double stacks_error(const struct stacks *s, double part);

/* Adds the sums of @more, of another time, to those of @to. Lists stay. */
void stacks_sums_add(struct stacks *to, const struct stacks *more);

/* Frees all but the frames. */
void stacks_free(struct stacks *s);

#endif
