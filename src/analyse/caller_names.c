// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/caller_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/list.h"
#include "base/stacks.h"
#include "capture/catalog.h"

enum { CALLER_TEXT = 2048 };

struct caller_name {
	char *text; /* owned */
	uint32_t number;
	UT_hash_handle hh;
};

static void text_make(char *dst, size_t cap, const struct stack_frame *f, enum by_key by,
		      enum frame_form form)
{
	if (by == BY_LIBRARY)
		snprintf(dst, cap, "%s", f->library ? f->library : "(no file)");
	else
		stack_frame_text(dst, cap, f,
				 by == BY_LINE  ? FRAME_LINE
				 : !f->function ? FRAME_LIBRARY
						: form);
}

/* The number of @text, or 0 if out of memory. */
static uint32_t text_number(struct caller_names *names, const char *text)
{
	struct caller_name *one;

	HASH_FIND_STR(names->all, text, one);
	if (one)
		return one->number;
	if (list_reserve((void **)&names->list, &names->cap, names->n, sizeof(*names->list)))
		return 0;
	one = calloc(1, sizeof(*one));
	if (!one)
		return 0;
	one->text = strdup(text);
	if (!one->text) {
		free(one);
		return 0;
	}
	names->list[names->n++] = one;
	one->number = names->n;
	HASH_ADD_KEYPTR(hh, names->all, one->text, strlen(one->text), one);
	return one->number;
}

int caller_names_make(struct caller_names *names, const struct catalog *c, enum by_key by,
		      enum frame_form form, own_frame_fn *own_frame, void *arg)
{
	struct stack_frame frame;
	char text[CALLER_TEXT];
	int own;

	names->of = calloc(c->n_stacks + 1, sizeof(*names->of));
	if (!names->of)
		return -ENOMEM;
	names->n_of = c->n_stacks;
	for (size_t i = 1; i < c->n_stacks; i++) {
		own = own_frame(arg, c, &c->stacks[i]);
		if (own < 0)
			continue;
		catalog_stack_frame(c, c->stacks[i].frames[own], &frame);
		text_make(text, sizeof(text), &frame, by, form);
		names->of[i] = text_number(names, text);
		if (!names->of[i])
			return -ENOMEM;
	}
	return 0;
}

void caller_names_done(struct caller_names *names)
{
	struct caller_name *one, *next;

	HASH_ITER (hh, names->all, one, next) {
		HASH_DEL(names->all, one);
		free(one->text);
		free(one);
	}
	free(names->list);
	free(names->of);
	*names = (struct caller_names){};
}

uint32_t caller_number(const struct caller_names *names, uint64_t stack)
{
	return stack < names->n_of ? names->of[stack] : 0;
}

const char *caller_text(const struct caller_names *names, uint32_t number)
{
	return names->list[number - 1]->text;
}
