/* SPDX-License-Identifier: GPL-2.0-only */
/* unfinished_text.h - lines about operations that have been in progress for long. */
#ifndef IOSTRATA_UNFINISHED_TEXT_H
#define IOSTRATA_UNFINISHED_TEXT_H

#include "base/text.h"
#include "show/breakdown_view.h"

/* The oldest ones of more than 0.1 s, and how many more there are. */
void unfinished_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn);

#endif
