/* SPDX-License-Identifier: GPL-2.0-only */
/* terminal.h - what a terminal tells without being taken over, which is screen.h's. */
#ifndef IOSTRATA_TERMINAL_H
#define IOSTRATA_TERMINAL_H

/* Width of the output in columns, from the user or else the terminal at @fd; 0: neither tells. */
int terminal_width(int fd);

#endif
