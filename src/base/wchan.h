/* SPDX-License-Identifier: GPL-2.0-only */
/* wchan.h - what threads wait for in the functions of the kernel in which they sleep. */
#ifndef IOSTRATA_WCHAN_H
#define IOSTRATA_WCHAN_H

#include <stdbool.h>

/* Whether what is waited for in @function depends on who calls it, so its caller says more. */
bool wchan_is_general(const char *function);

/* What is waited for in @function, "journal commit", which is without suffixes; @general: in a
 * general function that it calls. NULL: not known. */
const char *wchan_what(const char *function, bool general);

#endif
