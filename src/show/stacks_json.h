/* SPDX-License-Identifier: GPL-2.0-only */
/* stacks_json.h - user stacks as JSON, and the description of this JSON. */
#ifndef IOSTRATA_SHOW_STACKS_JSON_H
#define IOSTRATA_SHOW_STACKS_JSON_H

#include "base/schema.h"
#include "base/snapshot.h"

struct json;

extern const struct object stacks_object;

/* Member "stacks". @m: as breakdown_view.missing. */
void stacks_json(struct json *j, const struct stacks *s, const struct missing *m);

#endif
