/* SPDX-License-Identifier: GPL-2.0-only */
/* sudo.h - who called sudo, from the variables it sets. */
#ifndef IOSTRATA_SUDO_H
#define IOSTRATA_SUDO_H

#include <sys/types.h>

struct reason;

/*
 * 1: this process is root through sudo, and its caller has these ids. 0: it is not. -1 with @why
 * (.exit is EXIT_TOOL): the variables are incomplete, or make no sense.
 */
int sudo_ids(uid_t *ret_uid, gid_t *ret_gid, struct reason *why);

#endif
