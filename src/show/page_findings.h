/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page_findings.h - what the slow operations of a page have in common, as HTML. The script makes
 * each a link that chooses these operations.
 */
#ifndef IOSTRATA_SHOW_PAGE_FINDINGS_H
#define IOSTRATA_SHOW_PAGE_FINDINGS_H

#include "base/text.h"
#include "show/page.h"

void page_findings_put(struct text_out *o, const struct page *p);

#endif
