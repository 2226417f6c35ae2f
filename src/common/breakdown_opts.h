/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * breakdown_opts.h - the options of breakdown's tables: the same in every command with these
 * tables. Checks them, and translates them for the session (rows) and for the printers (view).
 */
#ifndef IOSTRATA_COMMON_BREAKDOWN_OPTS_H
#define IOSTRATA_COMMON_BREAKDOWN_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opts.h"
#include "show/breakdown.h"

struct reason;
struct container_names;
struct io_run;

enum { SLOWEST_MAX = 1000 };

struct breakdown_opts {
	const char *layer;    /* NULL: whole operations */
	int by;               /* enum by_key */
	uint64_t slowest_max; /* 0: none */
	uint64_t depth;       /* of directories; 0: no limit */
	bool queued, milliseconds, histograms, timeline, no_hist, pattern, csv;
	int detail;                /* how often -v is given */
	uint64_t rows_max;         /* 0: not given */
	const char *sort, *output; /* NULL: not given */
};

/* clang-format off */
/* The keys of every table of operations, and the words that others use for them. */
#define BREAKDOWN_BY_ALL \
	{ "pid", BY_PID }, { "tid", BY_TID }, { "comm", BY_COMM }, { "file", BY_FILE }, \
	{ "cgroup", BY_CGROUP }, { "dev", BY_DEV }, { "cache", BY_CACHE }, \
	{ "container", BY_CONTAINER }, { "server", BY_SERVER }
#define BREAKDOWN_BY_ALSO \
	{ "process", BY_PID }, { "thread", BY_TID }, { "command", BY_COMM }, \
	{ "device", BY_DEV }, { "disk", BY_DEV }
/* clang-format on */

extern const struct opt_choice breakdown_by_choices[];
extern const struct opt_choice breakdown_by_also[]; /* BREAKDOWN_BY_ALSO */
/* The keys of record's tables; and the words that it takes, too, some of which it refuses with a
 * reason. */
extern const struct opt_choice breakdown_by_recording[], breakdown_by_recording_also[];
extern const struct opt breakdown_measure_opts[];        /* over struct breakdown_opts */
extern const struct opt breakdown_output_opts[];         /* over struct breakdown_opts */
#define breakdown_table_opts (breakdown_output_opts + 1) /* without --output */

/* The layer called @text: syscall, vfs, fs or blk. Returns 0, or -ENOENT. */
int breakdown_layer(const char *text, enum layer *ret_layer);

/* Fails if an option would be ignored because of another. @layer: the value of o->layer; @json:
 * JSON instead of text. Returns 0, or -1 with @why. */
int breakdown_check(const struct breakdown_opts *o, enum layer layer, bool json,
		    struct reason *why);

/* Fails: --by host, for a run on one host. -1 with @why. */
int breakdown_no_hosts(struct reason *why);

/* Fails if recordings have no such key: client. Returns 0, or -1 with @why. */
int breakdown_check_recorded(int by, struct reason *why);

/* Fails if the key needs user stacks: @command has no rows by these. Returns 0, or -1 with @why. */
int breakdown_no_stacks(int by, const char *command, struct reason *why);

/* Fails with the message @error: -T leaves out whole operations. Returns -1 with @why. */
int breakdown_whole_alone(const char *error, struct reason *why);

/* Fails: user stacks, for which option @name asks, cannot go with option @other. Returns -1 with
 * @why. */
int breakdown_stacks_alone(const char *name, const char *other, struct reason *why);

/* The key by which rows are collected: for containers, the cgroup. */
enum by_key breakdown_rows_by(const struct breakdown_opts *o);

struct breakdown_output {
	FILE *f;
	bool json; /* else text */
	const struct breakdown_view *view;
	struct container_names *names; /* of containers, for --by container */
};

/* Joins the rows of @sn, which were collected by breakdown_rows_by(), by the key of @v. Returns 0
 * or -errno. */
int breakdown_join(const struct breakdown_view *v, struct snapshot *sn,
		   struct container_names *names);

/* Prints @sn, whose rows were collected by breakdown_rows_by(). Returns 0 or -errno. */
int breakdown_put(const struct breakdown_output *out, struct snapshot *sn,
		  const struct slow_op *slowest, size_t n_slowest);

/* Whether operations of kind meta and fsync have a row for each system call. */
bool breakdown_meta_calls(const struct breakdown_opts *o, enum layer layer);

/* The first given option about tables: "--by", or NULL if there is none. */
const char *breakdown_table_option(const struct breakdown_opts *o);

/* Sets the members derived from the options, and from the terminal if @fd is one. */
void breakdown_view_fill(struct breakdown_view *v, const struct breakdown_opts *o, enum layer layer,
			 int fd);

/* Sets the members derived from a live run. @io: its session is open. */
void breakdown_view_run(struct breakdown_view *v, const struct io_run *io);

#endif
