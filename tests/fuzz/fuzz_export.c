// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a recording, exported in every format: what that makes, or one error. */
#include "made.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"
#include "capture/recording.h"
#include "export/blktrace.h"
#include "export/chrome.h"
#include "export/fio.h"
#include "export/otf2.h"
#include "export/parquet_tables.h"
#include "export/pprof.h"
#include "export/speedscope.h"

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

static void result_check(int got, const struct reason *why)
{
	CHECK(got == 0 || got == 1 || got == -1);
	CHECK(!got || (why->exit == EXIT_FAILED && why->error[0]));
}

static void to_otf2(FILE *f, bool lean)
{
	const struct otf2_conf conf = { dir, lean };
	struct otf2_input in = { f, "fuzz", no_call };
	struct otf2_counts counts = {};
	struct reason why = {};

	rewind(f);
	result_check(otf2_export(&in, 1, &conf, &counts, &why), &why);
	contents_remove(dir);
}

static void to_parquet(FILE *f, bool partitions)
{
	struct tables_conf conf = {
		.dir = dir, .writer = "fuzz version 1", .by_host = partitions, .by_hour = partitions
	};
	struct tables *t = parquet_tables_new(&conf);
	struct recording rec;
	struct reason why = {};
	int got;

	CHECK(t);
	rewind(f);
	got = recording_open(&rec, f, "fuzz", &why) ? 1 : 0;
	if (!got)
		got = parquet_tables_add(t, &rec, "fuzz", no_call, &why);
	result_check(got, &why);
	recording_close(&rec);
	if (got >= 0)
		result_check(parquet_tables_end(t, &why), &why);
	parquet_tables_free(t);
	contents_remove(dir);
}

static void to_chrome(FILE *f)
{
	struct chrome_counts counts;
	struct reason why = {};

	rewind(f);
	result_check(chrome_export(f, "fuzz", dir, 10000, no_call, &counts, &why), &why);
	contents_remove(dir);
}

/* With room for each call in its order, or for few. */
static void to_pprof(FILE *f)
{
	struct pprof_counts counts;
	struct reason why = {};

	rewind(f);
	result_check(pprof_export(f, "fuzz", dir, &counts, &why), &why);
	contents_remove(dir);
}

static void to_speedscope(FILE *f, uint64_t max_events)
{
	struct speedscope_counts counts;
	struct reason why = {};

	rewind(f);
	result_check(speedscope_export(f, "fuzz", dir, max_events, no_call, &counts, &why), &why);
	contents_remove(dir);
}

static void to_blktrace(FILE *f)
{
	struct blktrace_counts counts;
	struct reason why = {};

	rewind(f);
	result_check(blktrace_export(f, "fuzz", dir, &counts, &why), &why);
	contents_remove(dir);
}

/* A process that tests/records.c makes, or none. */
static void to_fio(FILE *f, uint64_t pid, const char *disk)
{
	struct fio_conf conf = { dir, pid, disk };
	struct fio_counts counts;
	struct reason why = {};

	rewind(f);
	result_check(fio_export(f, "fuzz", &conf, &counts, &why), &why);
	contents_remove(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *f;

	if (!size)
		return 0;
	if (!dir[0])
		dir_make();
	f = recording_make(data, size);
	to_otf2(f, false);
	to_otf2(f, true);
	to_parquet(f, false);
	to_parquet(f, true);
	to_chrome(f);
	to_speedscope(f, 10000);
	to_speedscope(f, 23);
	to_pprof(f);
	to_blktrace(f);
	to_fio(f, 101, NULL);
	to_fio(f, 0, "loop3");
	fclose(f);
	return 0;
}
