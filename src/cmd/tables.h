/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tables.h - the options of breakdown's tables, the same in every command that prints them,
 * and what they mean to the printers.
 */
#ifndef IOSTRATA_CMD_TABLES_H
#define IOSTRATA_CMD_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opts.h"
#include "show/view.h"

struct reason;
struct run;

enum { SLOWEST_MAX = 1000 };

struct breakdown_opts {
	const char *layer;    /* NULL: whole operations */
	int by;               /* enum by_key */
	uint64_t slowest_max; /* 0: none */
	bool queued, milliseconds, histograms;
	int detail;                /* how often -v is given */
	uint64_t rows_max;         /* 0: not given */
	const char *sort, *output; /* NULL: not given */
};

extern const struct opt_choice breakdown_by_choices[];
extern const struct opt breakdown_measure_opts[];        /* over struct breakdown_opts */
extern const struct opt breakdown_output_opts[];         /* likewise */
#define breakdown_table_opts (breakdown_output_opts + 1) /* without --output */

/* syscall, vfs, fs or blk. 0, or -ENOENT. */
int breakdown_layer(const char *text, enum layer *ret_layer);

/* Checks that the options make sense together, so that none is ignored. @layer is the value of
 * o->layer. 0, or -1 with @why. */
int breakdown_check(const struct breakdown_opts *o, enum layer layer, bool json,
		    struct reason *why);

/* What rows are collected by: for containers by cgroup. */
enum by_key breakdown_rows_by(const struct breakdown_opts *o);

/* Prints @sn, whose rows were collected so: breakdown_json() or breakdown_text(). 0 or -errno. */
int breakdown_put(FILE *f, bool json, const struct breakdown_view *v, struct snapshot *sn,
		  const struct op_record *slowest, size_t n_slowest);

/* Whether operations of kind meta are to have a row for each call. */
bool breakdown_meta_calls(const struct breakdown_opts *o, enum layer layer);

/* An option in use that is about tables: "--by"; NULL: there is none. */
const char *breakdown_table_option(const struct breakdown_opts *o);

/* Sets what follows from the options and, if @fd is one, from the terminal. */
void breakdown_view_fill(struct breakdown_view *v, const struct breakdown_opts *o, enum layer layer,
			 int fd);

/* Sets what a run that traces knows; its session is open. */
void breakdown_view_run(struct breakdown_view *v, const struct run *r);

#endif
