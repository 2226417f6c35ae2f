// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/watch_spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/reason.h"
#include "base/text.h"
#include "cmd/watch_files.h"
#include "run/cmd.h"
#include "run/program.h"

enum {
	LOOK_MS = 200,      /* between looks while the program runs */
	PATIENCE = 5,       /* failed calls, after which a recording no longer stops the others */
	ROUND_FAILURES = 8, /* failed calls after which a round ends */
	TIME_LEN = 22,      /* "watch-20260131T120000Z" */
	CALLS_MAX = 1000,   /* counted ones */
	ORPHAN_S = 60,      /* a marker of this age without a recording is removed */
};

#define PAUSE_NS     ((uint64_t)NS_PER_S)
#define PAUSE_MAX_NS ((uint64_t)300 * NS_PER_S)

static void marker_path(char path[STORE_PATH], const char *dir, const char *name)
{
	snprintf(path, STORE_PATH, "%s/.%s.waits", dir, name);
}

int watch_spool_note(const char *dir, const char *name)
{
	char path[STORE_PATH];
	int fd;

	marker_path(path, dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

bool watch_spool_forget(const char *dir, const char *name)
{
	char path[STORE_PATH];

	marker_path(path, dir, name);
	return !unlink(path);
}

/* What waits. */

/* Fills @ret from the name of a marker. Returns false if @file is none, or its recording is gone.
 */
static bool waiting_read(struct waiting *ret, const char *dir, const char *file)
{
	static const char suffix[] = ".waits";
	size_t len = strlen(file), end = sizeof(suffix) - 1;
	char path[STORE_PATH];
	struct stat marker, st;

	if (file[0] != '.' || len <= end + 1 || strcmp(file + len - end, suffix))
		return false;
	*ret = (struct waiting){};
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(len - end - 1), file + 1);
	if (!watch_file_is_ours(ret->name))
		return false;
	marker_path(path, dir, ret->name);
	if (lstat(path, &marker) || !S_ISREG(marker.st_mode))
		return false;
	snprintf(path, sizeof(path), "%s/%s", dir, ret->name);
	if (lstat(path, &st)) {
		if (time(NULL) - marker.st_mtime > ORPHAN_S)
			watch_spool_forget(dir, ret->name);
		return false;
	}
	ret->made_ns = st.st_mtim.tv_sec * (uint64_t)NS_PER_S + st.st_mtim.tv_nsec;
	ret->calls = marker.st_size;
	ret->called_s = marker.st_mtime;
	return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
}

/* Names have seconds; within a second, the time of the file decides. */
static int waiting_compare(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;
	int by_time = strncmp(x->name, y->name, TIME_LEN);

	if (by_time || x->made_ns != y->made_ns)
		return by_time ? by_time : x->made_ns < y->made_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The oldest in @dir that is younger than @after. Returns whether there is one. */
static bool waiting_next(const char *dir, const struct waiting *after, struct waiting *ret)
{
	struct waiting one, next = {};
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d)))
		if (waiting_read(&one, dir, e->d_name) &&
		    (!after->name[0] || waiting_compare(&one, after) > 0) &&
		    (!next.name[0] || waiting_compare(&one, &next) < 0))
			next = one;
	if (d)
		closedir(d);
	if (next.name[0])
		*ret = next;
	return next.name[0];
}

/* The calls. A round begins with the oldest recording, and ends with a pause. */

static void round_end(struct spool *p, uint64_t now)
{
	p->pause_ns = p->pause_ns ? 2 * p->pause_ns : PAUSE_NS;
	if (p->pause_ns > PAUSE_MAX_NS)
		p->pause_ns = PAUSE_MAX_NS;
	p->next_ns = now + p->pause_ns;
	p->after = (struct waiting){};
	p->failures = 0;
}

static void call_worked(struct spool *p)
{
	char path[STORE_PATH], safe[TEXT_SAFE_CAP(sizeof(p->running.name))];
	int err = 0;

	watch_spool_forget(p->dir, p->running.name);
	if (!p->failures)
		p->pause_ns = 0;
	if (!p->deletes)
		return;
	snprintf(path, sizeof(path), "%s/%s", p->dir, p->running.name);
	text_safe(safe, sizeof(safe), p->running.name);
	err = watch_file_remove(path);
	if (err && err != -ENOENT)
		cmd_say("warning: cannot remove %s: %s", safe, strerror(-err));
	else
		cmd_say("removed %s: --run-then delete", safe);
}

/* A recording that fails again and again does not stop those behind it. */
static void call_failed(struct spool *p, uint64_t now)
{
	struct waiting *one = &p->running;

	one->calls++;
	if (one->calls < CALLS_MAX && write(p->marker, "!", 1) < 0)
		cmd_say("warning: cannot count a failed call of --run: %s", strerror(errno));
	p->after = *one;
	p->failures++;
	if (one->calls < PATIENCE || p->failures == ROUND_FAILURES)
		round_end(p, now);
}

static void call_ended(struct spool *p, int status, uint64_t now)
{
	char safe[TEXT_SAFE_CAP(200)], name[TEXT_SAFE_CAP(sizeof(p->running.name))];

	p->is_running = false;
	if (status) {
		text_safe_n(safe, sizeof(safe), p->run, strnlen(p->run, 200));
		text_safe(name, sizeof(name), p->running.name);
		cmd_say("warning: '%s' ended with status %d: it is called again for %s", safe,
			status, name);
		call_failed(p, now);
	} else {
		call_worked(p);
	}
	close(p->marker);
}

/* Locks the marker, so that two processes with the same directory do not both have the recording.
 */
static int marker_open(const struct spool *p, const char *name)
{
	char path[STORE_PATH];
	int fd, err;

	marker_path(path, p->dir, name);
	fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB))
		return fd < 0 ? -errno : fd;
	err = -errno;
	close(fd);
	return err;
}

/* Starts the program for the next recording of this round. Returns whether there is one. */
static bool call_next(struct spool *p)
{
	char path[STORE_PATH];
	int err;

	while (waiting_next(p->dir, &p->after, &p->running)) {
		p->marker = marker_open(p, p->running.name);
		if (p->marker < 0) { /* another process has it, or has ended with it */
			p->after = p->running;
			continue;
		}
		snprintf(path, sizeof(path), "%s/%s", p->dir, p->running.name);
		err = program_start(p->run, path);
		if (!err) {
			p->is_running = true;
			return true;
		}
		cmd_say("warning: cannot start the program of --run: %s", strerror(-err));
		close(p->marker);
		break;
	}
	return false;
}

void watch_spool_added(struct spool *p)
{
	p->next_ns = 0;
}

int watch_spool_look(struct spool *p, uint64_t now)
{
	int status;

	if (!p->run)
		return -1;
	if (p->is_running) {
		status = program_ended(false);
		if (status < 0)
			return LOOK_MS;
		call_ended(p, status, now);
	}
	if (now >= p->next_ns && !call_next(p)) {
		if (!waiting_next(p->dir, &(struct waiting){}, &p->running))
			return -1;
		round_end(p, now);
	}
	return p->is_running ? LOOK_MS : (int)((p->next_ns - now) / NS_PER_MS) + 1;
}

void watch_spool_end(struct spool *p)
{
	p->next_ns = 0;
	while (p->run && !p->next_ns && (p->is_running || call_next(p)))
		call_ended(p, program_ended(true), clock_ns());
	if (p->run && waiting_next(p->dir, &(struct waiting){}, &p->running))
		cmd_say("recordings wait for --run: 'iostrata watch --status' has their names");
}

/* The list. */

static void status_print(const struct waiting *list, size_t n)
{
	char safe[TEXT_SAFE_CAP(sizeof(list->name))];
	time_t now = time(NULL);

	printf("%s recording%s wait%s for the program of --run\n", text_count(n).s, text_plural(n),
	       n == 1 ? "s" : "");
	for (size_t i = 0; i < n; i++) {
		int64_t ago = now > list[i].called_s ? now - list[i].called_s : 0;

		text_safe(safe, sizeof(safe), list[i].name);
		printf("%s: %s failed call%s", safe, text_count(list[i].calls).s,
		       text_plural(list[i].calls));
		if (list[i].calls && ago)
			printf(", the last one %s ago", text_ns(ago * NS_PER_S).s);
		else if (list[i].calls)
			printf(", the last one less than a second ago");
		printf("\n");
	}
}

int watch_spool_status(const char *dir, struct reason *why)
{
	struct waiting *list = NULL, one;
	size_t n = 0, cap = 0;
	int err = 0;
	struct dirent *e;
	DIR *d = opendir(dir);

	if (!d)
		return reason_set(why, EXIT_FAILED, "cannot open '%.200s': %s", dir,
				  strerror(errno));
	while (!err && (e = readdir(d))) {
		if (!waiting_read(&one, dir, e->d_name))
			continue;
		err = list_reserve((void **)&list, &cap, n, sizeof(*list));
		if (!err)
			list[n++] = one;
	}
	closedir(d);
	if (n)
		qsort(list, n, sizeof(*list), waiting_compare);
	if (!err)
		status_print(list, n);
	free(list);
	return err ? reason_no_memory(why) : 0;
}
