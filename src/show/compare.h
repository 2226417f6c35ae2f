/* SPDX-License-Identifier: GPL-2.0-only */
/* compare.h - a comparison as text, JSON (iostrata.compare/2) or CSV. */
#ifndef IOSTRATA_SHOW_COMPARE_H
#define IOSTRATA_SHOW_COMPARE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyse/compare.h"
#include "analyse/fail_if.h"

struct compare_view {
	const struct compare *c;
	const struct fail_if *limits; /* of --fail-if */
	size_t n_limits;
	enum by_key by;
	uint64_t rows_max; /* of operations, and of requests */
	bool detail;       /* all figures of every row */
	bool color;
	const char *at; /* moment of --at; NULL: the sides are files; hostile */
};

/* 0 or -errno. */
int compare_text(FILE *f, const struct compare_view *v);
int compare_json(FILE *f, const struct compare_view *v);
extern const struct schema compare_schema;
int compare_csv(FILE *f, const struct compare_view *v);

/* The result of the comparison, in lines without the last newline; raw. The caller frees the
 * result; NULL if out of memory. */
char *compare_answer(const struct compare *c);

/* The method in some sentences; raw. The caller frees the result; NULL if out of memory. */
char *compare_how(const struct compare *c);

/* A limit and its result, in a sentence; raw. The caller frees the result; NULL if out of memory.
 */
char *compare_limit(const struct compare *c, const struct fail_if *limit);

enum { COMPARE_NAME = 512 };

/* "fsync on ext4", "write requests of vda", "fsync on ext4 of /a/b", "fsync on ext4 of 12 (fio)";
 * raw. */
void compare_name(char *dst, size_t cap, const struct series_key *key);

/* "+1.35 ms", "-210 us", "0 ns". */
struct text_num compare_signed_ns(int64_t ns);

/* "sure", "likely", "drift", "not sure"; "too few" without a test; "not judged": too small a part
 * of the run, or a figure of -v that is not in the levels. */
const char *compare_verdict(const struct compare_figure *f);

/* A figure as it is shown; @f: an enum figure. */
struct text_num compare_value(enum figure f, double v);

/* The figures of a whole run: "I/O time of a run". */
const char *compare_whole_label(const struct compare *c, enum whole_figure f);
struct text_num compare_whole_value(const struct compare *c, enum whole_figure f, double v);

/* The name of a figure for people: "p99.9", "time each", "run queue". */
const char *compare_label(const struct series_key *key, enum figure f);

/* A difference of logarithms as a change: "+58 %", "-0.31 %", "x19.9". */
struct text_num compare_ratio(double logs);

/* A difference as a share of the base: "+18 %", "-0.3 %", "+12 times"; "-" if the base is 0. */
struct text_num compare_percent(double difference, double base);

#endif
