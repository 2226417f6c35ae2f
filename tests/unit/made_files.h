/* SPDX-License-Identifier: GPL-2.0-only */
/* made_files.h - for tests whose files are made up: the program opens them by the C library's
 * names. The test defines place(), the path to open instead. */
#ifndef IOSTRATA_TESTS_MADE_FILES_H
#define IOSTRATA_TESTS_MADE_FILES_H

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

static const char *place(const char *path, char to[PATH_MAX]);

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *, const char *) =
		(FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
	char to[PATH_MAX];

	return real(place(path, to), mode);
}

DIR *opendir(const char *path)
{
	DIR *(*real)(const char *) = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
	char to[PATH_MAX];

	return real(place(path, to));
}

#endif
