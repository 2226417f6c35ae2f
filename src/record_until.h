/* SPDX-License-Identifier: GPL-2.0-only */
/* record_until.h - the option --until: "fsync>100ms". */
#ifndef IOSTRATA_RECORD_UNTIL_H
#define IOSTRATA_RECORD_UNTIL_H

struct intake_until;
struct reason;

/* 0, or -1 with @why. */
int record_until_parse(const char *text, struct intake_until *ret_until, struct reason *why);

#endif
