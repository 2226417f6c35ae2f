/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * columns.h - the figures of operations, of requests and of kernel helpers: each is
 * described once, for text, JSON and the manual.
 */
#ifndef IOSTRATA_SHOW_COLUMNS_H
#define IOSTRATA_SHOW_COLUMNS_H

#include "base/columns.h"
#include "base/container.h"
#include "show/view.h"

/* Of struct op_row and of struct rq_row; .ctx is a struct breakdown_whole. */
extern const struct column op_columns[], rq_columns[];

/* Of struct op_row, for faults that found their page. No .ctx. */
extern const struct column minor_columns[];

/* Of struct helper_row: its requests, and its time with HELPER_TIME. No .ctx. */
extern const struct column helper_columns[], helper_time_columns[];

/* Of struct why_row. No .ctx. */
extern const struct column why_columns[];

/* What both have of a row's container; @of: op, rq. */
#define GET_CONTAINER(of, name, what)                                                              \
	static void of##_##name(struct value *ret, const void *row, const void *ctx)               \
	{                                                                                          \
		const struct of##_row *r = row;                                                    \
		const struct container *c = container_of_row(r->by, r->contained);                 \
                                                                                                   \
		(void)ctx;                                                                         \
		ret->text = c ? (what) : NULL;                                                     \
	}

#define GETS_CONTAINER(of)                                                                         \
	GET_CONTAINER(of, container, c->id)                                                        \
	GET_CONTAINER(of, runtime, c->runtime)                                                     \
	GET_CONTAINER(of, pod, *c->pod ? c->pod : NULL)

#define COLUMNS_CONTAINER(of)                                                                      \
	{ "container", NULL, VALUE_TEXT, .get = of##_container,                                    \
	  .help = "id or name of the container, with --by container; null: outside of "            \
		  "containers, or not known" },                                                    \
		{ "runtime",                                                                       \
		  "runtime",                                                                       \
		  VALUE_TEXT,                                                                      \
		  .get = of##_runtime,                                                             \
		  .max = 10,                                                                       \
		  .rank = 16,                                                                      \
		  .optional = true,                                                                \
		  .help = "runtime of the container: docker, containerd, cri-o, podman, lxc or "   \
			  "systemd; null: the cgroup's path does not tell" },                      \
	{                                                                                          \
		"pod", "pod", VALUE_TEXT,                                                          \
			.get = of##_pod, .max = 36, .rank = 21, .optional = true,                  \
			.help = "id of the pod of the container; null: the container is in none"   \
	}

#endif
