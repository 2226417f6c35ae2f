// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a recording, exported: an archive, or one error. */
#include "made.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"
#include "export/otf2.h"

static char dir[64];

static void dir_remove(void)
{
	rmdir(dir);
}

/* Once: archives are small, and gone at once. */
static void dir_make(void)
{
	strcpy(dir, access("/dev/shm", W_OK) ? "/tmp/fuzz.XXXXXX" : "/dev/shm/fuzz.XXXXXX");
	CHECK(mkdtemp(dir));
	atexit(dir_remove);
}

/* Removes what is in @path, and below. */
static void contents_remove(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char below[512];

	CHECK(d);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, e->d_name);
		if (!unlink(below))
			continue;
		contents_remove(below);
		CHECK(!rmdir(below));
	}
	closedir(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct otf2_counts counts = {};
	struct reason why = {};
	FILE *f;
	int got;

	if (!size)
		return 0;
	if (!dir[0])
		dir_make();
	f = recording_make(data, size);
	got = otf2_export(f, "fuzz", dir, no_call, &counts, &why);
	CHECK(got == 0 || got == 1 || got == -1);
	CHECK(!got || (why.exit == EXIT_FAILED && why.error[0]));
	fclose(f);
	contents_remove(dir);
	return 0;
}
