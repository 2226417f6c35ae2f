/* SPDX-License-Identifier: GPL-2.0-only */
/* program.h - programs of the user that a deputy starts. Does not wait for them. */
#ifndef IOSTRATA_RUN_PROGRAM_H
#define IOSTRATA_RUN_PROGRAM_H

#include <stdbool.h>

/* Whether the program @file can be executed, as far as is known now: 0, -ENOENT or -EACCES. */
int program_check(const char *file);

/* For a deputy: starts the program @file with one argument and the signals of a new program, and
 * does not wait. Returns 0, or -errno if there is no process for it; a failed exec is the status
 * 126 or 127. */
int program_start(const char *file, const char *arg);

/* The exit status of a started program that has ended: 128 + its signal if one ended it. @wait:
 * wait for one to end. Returns -1 if none has ended. */
int program_ended(bool wait);

/* The exit code for a status of waitpid(2): 128 + the signal if one ended the process. */
int program_status(int status);

#endif
