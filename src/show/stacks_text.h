/* SPDX-License-Identifier: GPL-2.0-only */
/* stacks_text.h - user stacks as text: the tree of callers, lines for flame graphs, and what the
 * stacks stand for. */
#ifndef IOSTRATA_SHOW_STACKS_TEXT_H
#define IOSTRATA_SHOW_STACKS_TEXT_H

#include <stdio.h>

#include "base/snapshot.h"
#include "base/stacks.h"
#include "base/text.h"
#include "show/breakdown.h"

enum { STACKS_WORDS = 400 }; /* room for each of the texts below */

/* "the stacks of 1,789 operations were taken", or from how many functions are estimated, with the
 * error. */
void stacks_taken_text(char *dst, size_t cap, const struct stacks *s);

/* "7 stacks ended early: ...". Returns false if none ended so, or if such stacks are whole. */
bool stacks_ended_text(char *dst, size_t cap, const struct stacks *s, unsigned int end);

/* Why an important caller has no name, and what gives it one. Returns false if all have. */
bool stacks_unnamed_text(char *dst, size_t cap, const struct stacks *s);

/* Writes why the callers beyond the last frame are not known: "(caller unknown: ...)". Returns
 * false if the stack is whole. */
bool stacks_end_caller(char *dst, size_t cap, const struct stack *s);

/* The callers of the operations with most time, if v->form.stacks; then how many stacks were taken,
 * how they ended, and the error of shares. Nothing if no stacks were taken. Returns 0 or -ENOMEM.
 */
int stacks_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn);

/* A line for each stack, operation and stratum: the frames from the outermost on, then its ns.
 * Returns 0 or -errno. */
int stacks_folded(FILE *f, const struct snapshot *sn);

/* Writes ", 61 % of it called by save_rows (store.c:14)" for the operations of @r, or nothing. */
void stacks_caller(char *dst, size_t cap, const struct snapshot *sn, const struct op_row *r);

#endif
