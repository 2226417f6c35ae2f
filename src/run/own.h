/* SPDX-License-Identifier: GPL-2.0-only */
/* own.h - runs a command of this program in another process, and takes its output. */
#ifndef IOSTRATA_RUN_OWN_H
#define IOSTRATA_RUN_OWN_H

#include <stdbool.h>
#include <stddef.h>

struct own_output {
	char *text; /* with a NUL; the caller frees it */
	size_t len;
	bool cut;   /* there was more than the limit */
	int status; /* the exit code: see program_status() */
};

/* Runs this program with @argv (argv[0] is its name), which has no input, for at most @seconds.
 * Takes at most @max bytes of its output, and its messages if @messages. Returns 0 or -errno. */
int own_run(char *const argv[], size_t max, unsigned int seconds, bool messages,
	    struct own_output *ret);

#endif
