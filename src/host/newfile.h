/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * newfile.h - opens the files named on the command line: creates output files, and reads input
 * files.
 */
#ifndef IOSTRATA_HOST_NEWFILE_H
#define IOSTRATA_HOST_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>

struct reason;

/* Opens the input file @name; "-" is the standard input. Close it with infile_close(). NULL with
 * @why. */
FILE *infile_open(const char *name, struct reason *why);
void infile_close(FILE *f);

/*
 * Output files. newfile_open() creates @path, mode 0600; under sudo the file belongs to the user
 * who called sudo. An existing file is not touched, and no link is followed. But /dev/null is
 * written to, and so are /dev/stderr and /dev/fd/N, as a shell's >(command) has it. The caller
 * closes the stream; NULL with @why.
 */
FILE *newfile_open(const char *path, struct reason *why);

/* Opens @path as newfile_open() does, but an existing regular file of this user is written to at
 * its end. If another program truncates the file, as logrotate's copytruncate does, no hole is
 * left. */
FILE *newfile_append(const char *path, struct reason *why);

/* Makes the directory @path, mode 0700, with the same owner as a new file. Returns 0, 1 if the
 * directory is there already, or -1 with @why. */
int newfile_dir(const char *path, struct reason *why);

/* Renames a complete file or directory, unless @to exists. Returns 0 or -errno. */
int newfile_rename(const char *from, const char *to);

/* A new file in a directory. It gets its name only when it is complete; before, it is hidden as
 * .NAME.tmp. All 0: none. */
struct newfile {
	FILE *f; /* not to be closed */
	/* private */
	char *hidden, *path;
};

/* Opens the hidden file. Returns 0, or -1 with @why. */
int newfile_begin(struct newfile *n, const char *dir, const char *name, struct reason *why);

/* Closes the file; if @complete, gives it its name, else removes it. Does nothing if @n is all 0,
 * and makes it so. Returns 0 or -errno, and then there is no file. */
int newfile_end(struct newfile *n, bool complete);

/* Whether @path, the value of an option or NULL, means the standard output. */
bool newfile_is_standard(const char *path);

/* The output file: @standard if @path means the standard output, else by newfile_open(). */
FILE *newfile_output(const char *path, FILE *standard, struct reason *why);

/* Closes @f, if created as @path. With @give_up and nothing written, also removes the file, so that
 * the next try can create it. */
void newfile_close(FILE *f, const char *path, bool give_up);

#endif
