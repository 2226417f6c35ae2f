/* SPDX-License-Identifier: GPL-2.0-only */
/* why_text.h - prints where threads were in sleeps that nothing explains. */
#ifndef IOSTRATA_WHY_TEXT_H
#define IOSTRATA_WHY_TEXT_H

#include "base/text.h"
#include "show/breakdown_view.h"

/* A table; nothing unless v->why. 0 or -ENOMEM. */
int why_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn);

#endif
