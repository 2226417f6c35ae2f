/* SPDX-License-Identifier: GPL-2.0-only */
/* notes_text.h - what is missing from the figures of a first screen, in its last line. */
#ifndef IOSTRATA_NOTES_TEXT_H
#define IOSTRATA_NOTES_TEXT_H

struct breakdown_view;
struct snapshot;
struct text_out;

/* "nothing lost; not measured: vfs, fs; -v says why" */
void notes_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn);

#endif
