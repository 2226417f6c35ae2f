/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page_callers.h - user stacks in a page's JSON: the tree of functions, the outermost first, with
 * the times of the operations that the innermost made. The tree has a limit: the narrowest
 * functions are added up and counted.
 */
#ifndef IOSTRATA_SHOW_PAGE_CALLERS_H
#define IOSTRATA_SHOW_PAGE_CALLERS_H

#include "base/schema.h"
#include "base/stacks.h"

struct json;

enum {
	CALLERS_MOST = 2000,        /* functions in the tree, the root included */
	CALLERS_OPERATIONS = 64,    /* kinds of operations; all further ones are one */
	CALLERS_NAME_COLUMNS = 100, /* longer names are cut in the middle */
};

/* The description of what page_callers_put() writes. */
extern const struct object page_callers_object;

/* Writes member "callers". Returns 0 or -ENOMEM. */
int page_callers_put(struct json *j, const struct stacks *s);

#endif
