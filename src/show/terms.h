/* SPDX-License-Identifier: GPL-2.0-only */
/* terms.h - descriptions of common terminals, for where there is no terminfo. */
#ifndef IOSTRATA_TERMS_H
#define IOSTRATA_TERMS_H

#include <stdbool.h>

/* Lets ncurses take ours of the terminal @term; false: there is none. */
bool terms_use(const char *term);

#endif
