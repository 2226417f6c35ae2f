// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/record_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reason.h"
#include "base/snapshot.h"
#include "host/newfile.h"

/* Makes a name like "iostrata-dd-20260131-120000.ios". */
static void name_make(struct record_files *f, char *const *argv)
{
	const char *comm = "system", *slash;
	char when[32];
	time_t now = time(NULL);

	while (*argv && strcmp(*argv, "--") != 0)
		argv++;
	if (*argv && argv[1]) {
		slash = strrchr(argv[1], '/');
		comm = slash && slash[1] ? slash + 1 : argv[1];
	}
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", localtime(&now));
	snprintf(f->name, sizeof(f->name), "iostrata-%.100s-%s.ios", comm, when);
}

static void path_of(const struct record_files *f, unsigned int i, char *ret_path, size_t cap)
{
	if (f->n == 1)
		snprintf(ret_path, cap, "%s", f->name);
	else
		snprintf(ret_path, cap, "%s.%u", f->name, i + 1);
}

/* Removes @path if it is a file or a symbolic link; the target of a link stays. */
static void file_remove(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
		unlink(path);
}

/* Creates file @i for the user who called sudo. Returns 0, or -1 with @why. */
static int file_create(struct record_files *f, unsigned int i, struct reason *why)
{
	char path[sizeof(f->name) + 16];
	struct stat st;

	path_of(f, i, path, sizeof(path));
	if (f->replace)
		file_remove(path);
	f->list[i].out = newfile_open(path, why);
	if (f->list[i].out)
		return 0;
	if (lstat(path, &st))
		return -1;
	if (f->replace || !(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
		return reason_hint(why, "--force replaces files, not directories or devices");
	return reason_hint(why, "--force replaces it");
}

/* Creates all files. Returns 0, or -1 with @why: then none was created. */
static int files_create(struct record_files *f, struct reason *why)
{
	char path[sizeof(f->name) + 16];

	for (unsigned int i = 0; i < f->n; i++) {
		if (!file_create(f, i, why))
			continue;
		while (i--) {
			path_of(f, i, path, sizeof(path));
			file_remove(path);
		}
		return -1;
	}
	return 0;
}

static void add(struct ending *sum, const struct ending *more)
{
	sum->duration_ns += more->duration_ns;
	sum->ops += more->ops;
	sum->requests += more->requests;
	for (int i = 0; i < LOST_N; i++)
		sum->lost[i] += more->lost[i];
	sum->missed += more->missed;
}

/* The ending of the file being written. @total: the ending of the run so far. */
static struct ending ending_of(const struct record_files *f, const struct ending *total)
{
	uint64_t before = f->closed.duration_ns;
	struct ending e = *total;

	/* the last records are written after the run: then @before can be more than the total */
	e.duration_ns -= before < e.duration_ns ? before : e.duration_ns;
	e.ops = f->w.ops - f->closed.ops;
	e.requests = f->w.requests - f->closed.requests;
	e.lost[LOST_OPS] += f->w.lost_ops;
	e.lost[LOST_REQUESTS] += f->w.lost_requests;
	e.lost[LOST_RING] += f->w.lost_others;
	for (int i = 0; i < LOST_N; i++)
		e.lost[i] -= f->closed.lost[i];
	e.missed -= f->closed.missed;
	/* losses of a replaced file are in no other file, so they count as dropped here */
	e.dropped_ops = f->w.dropped_ops + f->removed.ops + f->removed.lost[LOST_OPS];
	e.dropped_requests =
		f->w.dropped_requests + f->removed.requests + f->removed.lost[LOST_REQUESTS];
	return e;
}

/* Ends the file being written. */
static void file_end(struct record_files *f, const struct ending *total)
{
	struct record_file *file = &f->list[f->at];
	struct writer *w = &f->w;
	bool done;
	char *text;

	do {
		file->end = ending_of(f, total);
		text = ending_text(&file->end, w->err == WRITER_FULL ? "max-size"
					       : w->err              ? "full"
								     : "ended");
		done = !text || writer_end(w, text);
		free(text);
	} while (!done);
	file->bytes = w->bytes;
	f->bytes += w->bytes;
	add(&f->closed, &file->end);
	f->ended = true;
}

/* Empties @file if records were written to it. Returns 0 or -errno. */
static int file_empty(struct record_files *f, struct record_file *file)
{
	int fd = fileno(file->out);

	if (!file->used)
		return 0;
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	add(&f->removed, &file->end);
	f->bytes -= file->bytes;
	return 0;
}

/* Called by the writer when the file is full. The next file is emptied first: this may make room on
 * the disk for the end of the full file. */
static int file_next(void *arg)
{
	struct record_files *f = arg;
	unsigned int next = (f->at + 1) % f->n;
	struct ending total = f->ending(f->arg);
	int err = file_empty(f, &f->list[next]);
	char *header;

	if (err)
		return err;
	file_end(f, &total);
	if (f->w.err)
		return f->w.err;
	header = f->header(f->arg, clock_ns());
	if (!header)
		return -ENOMEM;
	f->at = next;
	f->list[next].used = true;
	f->ended = false;
	err = writer_restart(&f->w, fileno(f->list[next].out), header);
	free(header);
	return err;
}

static int write_failed(const struct record_files *f, int err, struct reason *why)
{
	return reason_set(why, EXIT_FAILED, "cannot write '%.200s': %s", f->name, strerror(-err));
}

/* Removes all created files, unless a path has another file now. */
static void files_remove(const struct record_files *f)
{
	char path[sizeof(f->name) + 16];
	struct stat ours, there;

	for (unsigned int i = 0; i < f->n; i++) {
		path_of(f, i, path, sizeof(path));
		if (f->list[i].out != f->standard && !fstat(fileno(f->list[i].out), &ours) &&
		    !lstat(path, &there) && ours.st_dev == there.st_dev &&
		    ours.st_ino == there.st_ino)
			unlink(path);
	}
}

/* Begins the first file. Returns 0, or -1 with @why. */
static int file_first(struct record_files *f, struct reason *why)
{
	uint64_t now = clock_ns();
	char *header = f->header(f->arg, now);
	int err = header ? 0 : -ENOMEM;

	f->began_ns = now;
	f->w.max_bytes = f->max_bytes;
	f->w.keep_ns = f->keep_ns;
	if (f->n > 1) {
		f->w.next = file_next;
		f->w.next_arg = f;
	}
	f->list[0].used = true;
	if (!err)
		err = writer_begin(&f->w, fileno(f->list[0].out), header);
	free(header);
	return err ? write_failed(f, err, why) : 0;
}

int record_files_open(struct record_files *f, const char *name, char *const *argv,
		      struct reason *why)
{
	if (name)
		snprintf(f->name, sizeof(f->name), "%s", name);
	else
		name_make(f, argv);
	f->n = f->max_files ? f->max_files : 1;
	f->list = calloc(f->n, sizeof(*f->list));
	if (!f->list)
		return reason_no_memory(why);
	if (!strcmp(f->name, "-"))
		f->list[0].out = f->standard;
	else if (files_create(f, why))
		return -1;
	if (!file_first(f, why))
		return 0;
	files_remove(f); /* they are empty */
	return -1;
}

/* Turns the unused files of a ring into recordings without records. */
static void files_fill(struct record_files *f)
{
	const struct ending nothing = {};
	char *header = f->header(f->arg, clock_ns()), *end = ending_text(&nothing, "ended");

	for (unsigned int i = 0; i < f->n && header && end; i++) {
		struct writer w = {};

		if (f->list[i].used)
			continue;
		if (!writer_begin(&w, fileno(f->list[i].out), header))
			writer_end(&w, end);
		writer_done(&w);
	}
	free(header);
	free(end);
}

/* With --keep: lets the file begin with its first record, and shortens the duration of @total. */
static void tail_begin(struct record_files *f, struct ending *total)
{
	uint64_t since = writer_tail_since(&f->w), before;
	char *header;

	if (!since)
		since = clock_ns();
	header = f->header(f->arg, since);
	if (!header)
		return; /* the header of the whole recording stays */
	writer_tail_begin(&f->w, header);
	free(header);
	before = since > f->began_ns ? since - f->began_ns : 0;
	total->duration_ns -= before < total->duration_ns ? before : total->duration_ns;
}

int record_files_end(struct record_files *f, const struct ending *whole, struct reason *why)
{
	struct ending total = *whole;
	struct writer *w = &f->w;

	if (f->keep_ns)
		tail_begin(f, &total);
	writer_close(w);
	if (!f->ended) /* else the disk was full when the next file was begun */
		file_end(f, &total);
	if (f->n > 1)
		files_fill(f);
	for (unsigned int i = 0; i < f->n; i++) {
		if (f->list[i].out != f->standard && fclose(f->list[i].out) && !w->err)
			w->err = -errno;
		f->list[i].out = NULL;
	}
	return w->err && w->err != WRITER_FULL ? write_failed(f, w->err, why) : 0;
}

struct record_files_size record_files_size(const struct record_files *f)
{
	return (struct record_files_size){ f->w.ops - f->removed.ops,
					   f->w.requests - f->removed.requests,
					   f->bytes + (f->ended ? 0 : f->w.bytes) };
}

uint64_t record_files_lost(const struct record_files *f, unsigned int but)
{
	const uint64_t lost[LOST_N] = { [LOST_OPS] = f->w.lost_ops,
					[LOST_REQUESTS] = f->w.lost_requests,
					[LOST_RING] = f->w.lost_others };

	return lost_sum_but(lost, 0, but);
}

void record_files_close(struct record_files *f)
{
	for (unsigned int i = 0; f->list && i < f->n; i++)
		if (f->list[i].out && f->list[i].out != f->standard)
			fclose(f->list[i].out);
	free(f->list);
	writer_done(&f->w);
}
