/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * first_screen.h - the default screen, answer first. At most 24 lines of 80 columns, however much
 * was traced; rows left out are counted, and -v shows them.
 */
#ifndef IOSTRATA_SHOW_FIRST_SCREEN_H
#define IOSTRATA_SHOW_FIRST_SCREEN_H

#include <limits.h>
#include <stdbool.h>

#include "base/text.h"
#include "show/breakdown.h"

enum { FIRST_SCREEN_ANSWER = 3 * TEXT_SAFE_CAP(2 * PATH_MAX) + 256 };

/*
 * Writes, from top to bottom: a sentence with the answer, the shares of all time, a table of
 * operations (of keys with --by), the strata of the operation with most time, requests by disk, and
 * what is missing from the figures.
 *
 * Changes @rows: with --by, to one for each key. Returns 0 or -ENOMEM; a failed write is in @o.
 */
int first_screen_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		     struct breakdown_rows *rows);

/* The sentence with the answer: which operation took most time, and what it waited for. Safe. @cap
 * FIRST_SCREEN_ANSWER is enough. */
void first_screen_answer(char *text, size_t cap, const struct breakdown_view *v,
			 const struct snapshot *sn, const struct breakdown_rows *rows);

/*
 * The shares of the operations' time in which threads ran or were blocked: "D device 49 %, C cpu
 * 40 %, rest 1.0 %". If there are requests of io_uring or libaio, too, "time of threads: " stands
 * before. "" without such time. At most 512 bytes.
 */
void first_screen_shares(char *text, size_t cap, const struct breakdown_view *v,
			 const struct breakdown_whole *whole);

/*
 * Who had the operations wait: "waited 1.30 s for a file lock that python3 had (pid 24036):
 * python3 holder.py". Only somebody who has most of a stratum's time and at least a tenth of all
 * time is named, by the number @nth of such: at most FIRST_SCREEN_WHOS. @commands: with command
 * lines. Returns false if there is none. Safe. @cap FIRST_SCREEN_ANSWER is enough.
 */
enum { FIRST_SCREEN_WHOS = 2 };

bool first_screen_who(char *text, size_t cap, const struct breakdown_view *v,
		      const struct snapshot *sn, const struct breakdown_whole *whole,
		      unsigned int nth, bool commands);

/* Says that no operation passed the filters: then the screen has requests only. */
void first_screen_no_ops(struct text_out *o, const struct breakdown_view *v,
			 const struct breakdown_rows *rows);

/* Writes a line for each of them. */
void first_screen_whos(struct text_out *o, const struct breakdown_view *v,
		       const struct snapshot *sn, const struct breakdown_rows *rows);

/*
 * The shares of the time of all requests of io_uring and libaio, from each one's submission to its
 * end: "time of asynchronous requests: 23.7 s, D device 97 %, q queue 3 %; 98 % of it uring read
 * ext4, mostly waiting for the device vda; 343 in flight on average". "" without requests. Safe.
 * @cap FIRST_SCREEN_ANSWER is enough.
 */
void first_screen_async(char *text, size_t cap, const struct breakdown_view *v,
			const struct snapshot *sn, const struct breakdown_rows *rows);

#endif
