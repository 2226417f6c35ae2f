// SPDX-License-Identifier: GPL-2.0-only
/* explain_hosts.c - explain for several recordings: bad hosts, and what they have in common. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>
#include <zlib.h>

#include "analyse/fleet.h"
#include "base/list.h"
#include "base/reason.h"
#include "base/text.h"
#include "cmd/explain.h"
#include "run/cmd.h"
#include "run/run.h"
#include "show/fleet.h"

enum {
	LEVELS_OPEN = 16,
	MAGIC = 8,
	COPY_END = 4096,  /* bytes at each end of a file by which a copy is known */
	REFUSED_TOLD = 5, /* files and directories that cannot be read, one by one */
};

/* Keys of hashes: no holes. */
struct file_identity {
	uint64_t dev, ino; /* ino 0: not known */
};

struct file_ends {
	uint64_t bytes; /* of the whole file */
	uint32_t crc, n;
};

struct found_file {
	char *name;
	struct file_identity is;
	struct file_ends ends;
	bool again; /* another file before it has its records */
	UT_hash_handle by_identity, by_ends;
};

/* The files found so far. nftw() has no argument for its function. */
static struct found {
	struct found_file *list;
	size_t n, cap;
	uint64_t refused; /* files and directories that cannot be read */
} found;

/* Adds a file. @st is NULL if there is none. A pipe has no identity: whoever writes into it would
 * notice a look. Returns 0 or -1. */
static int file_add(const char *name, const struct stat *st)
{
	struct found_file file = {};

	if (st && S_ISREG(st->st_mode))
		file = (struct found_file){ .is = { st->st_dev, st->st_ino },
					    .ends.bytes = st->st_size };

	if (list_reserve((void **)&found.list, &found.cap, found.n, sizeof(*found.list)))
		return -1;
	file.name = strdup(name);
	if (!file.name)
		return -1;
	found.list[found.n++] = file;
	return 0;
}

/* Tells of @path, which may be, or have, a recording. */
static void refused_tell(const char *path, int err)
{
	struct reason why;

	if (err == ENOENT || found.refused++ >= REFUSED_TOLD)
		return;
	reason_set(&why, EXIT_FAILED, "cannot read '%.200s': %s", path, strerror(err));
	cmd_fail(&why);
}

static void refused_tell_more(void)
{
	struct reason why;

	if (found.refused <= REFUSED_TOLD)
		return;
	reason_set(&why, EXIT_FAILED, "cannot read %llu more files and directories",
		   (unsigned long long)(found.refused - REFUSED_TOLD));
	cmd_fail(&why);
}

/* Adds a file that begins as recordings do. It may be replaced by a pipe meanwhile. Returns 1 after
 * Ctrl-C, which ends the scan. */
static int file_look(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char magic[MAGIC];
	bool is;
	int fd;

	(void)ftw;
	if (interrupt_came())
		return 1;
	if (type == FTW_D || type == FTW_SL || (type == FTW_F && !S_ISREG(st->st_mode)))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0) {
		refused_tell(path, errno);
		return 0;
	}
	is = read(fd, magic, sizeof(magic)) == sizeof(magic) && !memcmp(magic, "iostrata", MAGIC);
	close(fd);
	return is ? file_add(path, st) : 0;
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(((const struct found_file *)a)->name, ((const struct found_file *)b)->name);
}

/* Adds the recordings in directory @name and below, in the order of their names. Links below are
 * not followed; @name may be one. */
static int directory_add(const char *name, struct reason *why)
{
	size_t before = found.n, len = strlen(name);
	char path[PATH_MAX], to[1];
	int got;

	while (len > 1 && name[len - 1] == '/')
		len--;
	snprintf(path, sizeof(path) - 2, "%.*s", (int)len, name);
	if (readlink(path, to, sizeof(to)) >= 0)
		strcat(path, "/.");
	got = nftw(path, file_look, LEVELS_OPEN, FTW_PHYS);
	if (got > 0)
		return reason_set(why, EXIT_FAILED, "interrupted");
	if (got)
		return reason_set(why, EXIT_FAILED, "cannot read directory '%.200s': %s", name,
				  strerror(errno));
	if (found.n == before)
		return reason_set(why, EXIT_FAILED, "no recording is in directory '%.200s'", name);
	qsort(found.list + before, found.n - before, sizeof(*found.list), name_compare);
	return 0;
}

/* Reads the first and the last bytes of @f. Returns their number, or 0 if they cannot be read. */
static ssize_t ends_read(const struct found_file *f, char ret_ends[2 * COPY_END])
{
	int fd = open(f->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n, more = 0;

	if (fd < 0)
		return 0;
	n = pread(fd, ret_ends, COPY_END, 0);
	if (n == COPY_END)
		more = pread(fd, ret_ends + n, COPY_END, f->ends.bytes - COPY_END);
	close(fd);
	return n < 0 || more < 0 ? 0 : n + more;
}

/* Whether @b is a copy of @a: their ends, which tell when the recording began and what it has, are
 * equal. */
static bool is_copy(const struct found_file *a, const struct found_file *b)
{
	char ends[2][2 * COPY_END];
	ssize_t n = ends_read(a, ends[0]);

	return n && ends_read(b, ends[1]) == n && !memcmp(ends[0], ends[1], n);
}

/* The files before the next one. */
struct met {
	struct found_file *by_identity; /* all */
	struct found_file *by_ends;     /* those that are no copies */
};

/* The file of @met that is @f, or has its records, or NULL. @f is met. */
static const struct found_file *same_met(struct met *met, struct found_file *f)
{
	struct found_file *other;
	char ends[2 * COPY_END];

	if (!f->is.ino)
		return NULL;
	HASH_FIND(by_identity, met->by_identity, &f->is, sizeof(f->is), other);
	if (other)
		return other;
	HASH_ADD(by_identity, met->by_identity, is, sizeof(f->is), f);
	f->ends.n = ends_read(f, ends);
	if (!f->ends.n)
		return NULL;
	f->ends.crc = crc32(0, (const unsigned char *)ends, f->ends.n);
	HASH_FIND(by_ends, met->by_ends, &f->ends, sizeof(f->ends), other);
	if (!other)
		HASH_ADD(by_ends, met->by_ends, ends, sizeof(f->ends), f);
	return other && is_copy(other, f) ? other : NULL;
}

static void same_tell(const struct found_file *first, const struct found_file *f)
{
	char safe[TEXT_SAFE_CAP(200)], safe_first[TEXT_SAFE_CAP(200)];
	bool is_one = first->is.ino == f->is.ino && first->is.dev == f->is.dev;

	text_safe_n(safe, sizeof(safe), f->name, strnlen(f->name, 200));
	text_safe_n(safe_first, sizeof(safe_first), first->name, strnlen(first->name, 200));
	if (is_one)
		cmd_say("'%s' and '%s' are the same file, and count once", safe_first, safe);
	else
		cmd_say("'%s' is a copy of '%s', and they count once", safe, safe_first);
}

/* Gives @o the names that were found, one for each file. Returns 0 or -1. */
static int names_take(struct explain_cmd *o)
{
	const struct found_file *first;
	struct met met = {};

	o->files = calloc(found.n + 1, sizeof(*o->files));
	for (size_t i = 0; i < found.n && o->files; i++) {
		first = same_met(&met, &found.list[i]);
		if (first)
			same_tell(first, &found.list[i]);
		else
			o->files[o->n_files++] = found.list[i].name;
		found.list[i].again = first;
	}
	HASH_CLEAR(by_identity, met.by_identity);
	HASH_CLEAR(by_ends, met.by_ends);
	for (size_t i = 0; i < found.n; i++)
		if (found.list[i].again || !o->files)
			free(found.list[i].name);
	free(found.list);
	return o->files ? 0 : -1;
}

int explain_files_set(struct explain_cmd *o, char *const *given, int n, struct reason *why)
{
	struct stat st;
	int err = 0, got;

	found = (struct found){};
	for (int i = 0; i < n && !err; i++) {
		got = strcmp(given[i], "-") ? stat(given[i], &st) : -1;
		if (!got && S_ISDIR(st.st_mode))
			err = directory_add(given[i], why);
		else if (file_add(given[i], got ? NULL : &st))
			err = reason_no_memory(why);
	}
	refused_tell_more();
	o->is_refused = found.refused;
	if (names_take(o))
		err = reason_no_memory(why);
	o->file = o->n_files == 1 ? o->files[0] : NULL;
	return err;
}

void explain_files_done(struct explain_cmd *o)
{
	for (size_t i = 0; i < o->n_files; i++)
		free(o->files[i]);
	free(o->files);
}

static void damaged(void *arg, const struct reason *why)
{
	(void)arg;
	cmd_fail(why);
}

/* The option of report and explain that chooses operations with this property. */
static const char *option_of(const struct fleet_finding *found)
{
	if (found->attribute == FLEET_CGROUP)
		return "--cgroup";
	if (found->attribute == FLEET_COMM)
		return "--comm";
	return found->attribute == FLEET_FS ? "--fs" : NULL;
}

struct hosts {
	struct explain_cmd *o;
	struct fleet fleet;
};

/* "fsync>12345us": the condition with the limit of all recordings. */
static void put_condition(FILE *f, const struct explain_cmd *o, uint64_t limit_ns)
{
	char text[160];

	snprintf(text, sizeof(text), "%.*s>%lluus", (int)strcspn(o->text, ">"), o->text,
		 (unsigned long long)limit_ns / 1000);
	text_shell_word(f, text);
}

static char *command(const void *arg, const struct fleet_finding *finding)
{
	const struct hosts *h = arg;
	const char *option = option_of(finding);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, "iostrata explain");
	text_shell_word(f, h->o->files[finding->worst]);
	put_condition(f, h->o, h->fleet.sums.threshold_ns);
	explain_put_filters(f, h->o, option);
	if (option) {
		fprintf(f, " %s", option);
		text_shell_word(f, h->fleet.values[finding->value].text);
	}
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

static uint64_t bytes_of(const struct explain_cmd *o)
{
	struct stat st;
	uint64_t sum = 0;

	for (size_t i = 0; i < o->n_files; i++)
		sum += stat(o->files[i], &st) ? 0 : (uint64_t)st.st_size;
	return o->conf.percentile > 0 ? 2 * sum : sum;
}

static int print(struct hosts *h)
{
	struct explain_cmd *o = h->o;
	const struct fleet_view v = {
		.f = &h->fleet,
		.sums = { .e = &h->fleet.sums,
			  .conf = &o->conf,
			  .condition = o->text,
			  .noun = condition_noun(&o->condition, 2),
			  .detail = o->detail,
			  .color = cmd_wants_color(fileno(o->out)) },
		.names = o->files,
		.command = command,
		.arg = h,
	};

	return cmd_written(o->json ? fleet_json(o->out, &v) : fleet_text(o->out, &v));
}

int explain_hosts(struct explain_cmd *o)
{
	struct hosts h = { .o = o };
	const struct fleet_conf conf = { .explain = o->conf, .damaged = damaged };
	struct reason why;
	int status;

	progress_begin(&o->progress, stderr, bytes_of(o));
	status = fleet_read(&h.fleet, o->files, o->n_files, &conf, &why) ? cmd_fail(&why) : 0;
	progress_end(&o->progress);
	if (!status)
		status = print(&h);
	if (!status && h.fleet.n_damaged)
		status = EXIT_FAILED;
	fleet_done(&h.fleet);
	return status;
}
