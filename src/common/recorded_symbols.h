/* SPDX-License-Identifier: GPL-2.0-only */
/* recorded_symbols.h - option --symbols: names for frames of a recording whose programs had none
 * while it was recorded. A forked process reads the debug files. */
#ifndef IOSTRATA_COMMON_RECORDED_SYMBOLS_H
#define IOSTRATA_COMMON_RECORDED_SYMBOLS_H

#include "base/opts.h"
#include "capture/recording.h"
#include "stacks/debug_files.h"

enum { SYMBOLS_UNFOUND = 3 };

struct reason;

struct recorded_symbols {
	struct opt_strings places; /* the option's */
	/* private */
	bool asks; /* servers, for debug files */
	struct debug_files files;
	struct frame_namer namer;
	uint64_t without, named;        /* frames without a name, and those that got one */
	char *unfound[SYMBOLS_UNFOUND]; /* files without a debug file, as text; owned; hostile */
	size_t n_unfound;
	char ended[256]; /* why not all frames were looked for; "" */
};

#define SYMBOLS_HELP                                                                               \
	"for functions without a name: look into this directory for files with the same build "    \
	"id, as /usr/lib/debug, or plain files; debuginfod: ask the servers in $DEBUGINFOD_URLS"

/* Fails if one of @places does not exist, or servers cannot be asked. Returns 0, or -1 with @why.
 */
int recorded_symbols_check(const struct opt_strings *places, struct reason *why);

/* What to put into struct recording: NULL without the option. @s stays where it is. */
const struct frame_namer *recorded_symbols_namer(struct recorded_symbols *s);

/* Tells for which files no debug file was found. */
void recorded_symbols_say(const struct recorded_symbols *s);

void recorded_symbols_done(struct recorded_symbols *s);

#endif
