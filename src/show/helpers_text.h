/* SPDX-License-Identifier: GPL-2.0-only */
/* helpers_text.h - prints what kernel helpers did, for whom, and for how long. */
#ifndef IOSTRATA_HELPERS_TEXT_H
#define IOSTRATA_HELPERS_TEXT_H

#include "base/text.h"
#include "show/breakdown_view.h"

/* Two tables; nothing unless v->helpers. 0 or -ENOMEM. */
int helpers_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn);

#endif
