/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * names.h - the names of the ids in event.h, as typed, printed and stored in JSON. An id that is
 * out of range (a damaged record) is "?".
 */
#ifndef IOSTRATA_BASE_NAMES_H
#define IOSTRATA_BASE_NAMES_H

#include <stdbool.h>

#include "base/opts.h"
#include "base/words.h"
#include "event.h"

/* The activity of the thread in each stratum; ends with an empty row. */
extern const struct opt_term strata_terms[];

const char *op_name(unsigned int op);  /* read write open close fsync copy meta */
const char *op_known(unsigned int op); /* as in JSON; NULL: no kind has this number */

/* "read" or "reads"; "operation" or "operations" if the kind is not known. */
const char *op_noun(unsigned int op, uint64_t n);

/* The kind of operation with this name; OP_NONE if there is none. */
unsigned int op_called(const char *name);

const char *stratum_name(unsigned int st);    /* syscall vfs fs ... sleep */
const char *stratum_label(unsigned int st);   /* in text: "run queue" for runq */
char stratum_letter(unsigned int st);         /* in a bar; all layers on the CPU: 'C' */
const char *cache_name(unsigned int cache);   /* hit miss ...; "-": none */
const char *cache_known(unsigned int cache);  /* as in JSON; NULL: none, or not known */
const char *rq_op_name(unsigned int op);      /* read write flush ... */
const char *rq_op_code(unsigned int op);      /* as blkparse: R W F D DE WZ Z N */
const char *by_name(unsigned int by);         /* pid comm file cgroup dev cache ... */
const char *layer_name(unsigned int layer);   /* ops syscall vfs fs blk */
const char *who_name(unsigned int who);       /* lock file_lock cpu ... */
const char *who_known(unsigned int who);      /* as in JSON; NULL: nobody */
const char *who_before(unsigned int who);     /* "for a lock that", between wait and thread */
const char *who_after(unsigned int who);      /* "had", after the thread */
unsigned int who_strata(unsigned int who);    /* of such waits: set of 1 << enum stratum */
const char *limit_known(unsigned int limit);  /* io.max wbt ...; NULL: none, or not known */
const char *behalf_name(unsigned int behalf); /* writeback helper; NULL: of nobody else */
const char *lost_name(unsigned int lost);     /* ring map_full unmatched_start ... */

/* The kinds of losses as values of an option; LOST_N: hits that the kernel missed. */
extern const struct opt_choice lost_choices[];

/* The names above that texts of JSON have; @row_words: kinds of rows. */
extern const struct word_list op_words, row_words, strata_words, cache_words, rq_words,
	behalf_words, lost_words, who_words, limit_words;

/* The kind of loss @lost as the end of a sentence that begins with the number @n; LOST_N: hits that
 * the kernel missed. Returns NULL if it is no loss, since the calls began before tracing did. */
const char *lost_what(unsigned int lost, uint64_t n);

#endif
