/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * debug_files.h - names of frames from debug files that the user has: by the build id of a file,
 * and an address in it. The files are hostile, and so are build ids.
 */
#ifndef IOSTRATA_STACKS_DEBUG_FILES_H
#define IOSTRATA_STACKS_DEBUG_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opts.h"
#include "stacks/frame_names.h"

struct debug_file;

enum { DEBUG_FILES_OPEN = 16 }; /* most at a time */

/* Begins as all 0, but for .places. */
struct debug_files {
	struct opt_strings places; /* directories or files */
	/* private */
	struct debug_file *files; /* by build id, those that were looked for */
	struct debug_file *open[DEBUG_FILES_OPEN];
	unsigned int n_opened;
	char *search; /* for libdwfl; owned */
	bool scanned; /* the plain files below the directories are among them */
};

/* Whether @text, from a hostile recording, can be a build id: a part of a path. */
bool is_build_id(const char *text);

/* Names @address of the file with @build_id (hexadecimal digits). Returns false if there is no
 * debug file for it, or out of memory. */
bool debug_files_name(struct debug_files *s, const char *build_id, uint64_t address,
		      struct frame_name *ret_name);

/* Adds a debug file that is in none of the places. Its build id is read from it. */
void debug_files_add(struct debug_files *s, const char *path);

void debug_files_done(struct debug_files *s);

#endif
