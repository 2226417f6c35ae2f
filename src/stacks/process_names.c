// SPDX-License-Identifier: GPL-2.0-only
/*
 * process_names.c - a perf map is in /tmp of the process's mount namespace, with the process's
 * number in its PID namespace. Anybody may write there: the file must be a regular one, not reached
 * by a link, and belong to the process's user, or to root if all may read it. Whoever has a mount
 * namespace can have any file there, also one that he may not read.
 */
#include "stacks/process_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event.h"
#include "stacks/perf_map.h"
#include "stacks/python_code.h"

enum { PLACES = 64 /* processes whose directory is open at a time */ };

/* Where the perf map of a process is. */
struct place {
	unsigned int pid, inner_pid;
	unsigned long long process_start;
	uid_t uid;
	int directory;           /* its /tmp */
	unsigned long long used; /* 0: free */
};

/* A frame that was noted. */
struct noted {
	struct process_frame frame;
	char *function, *source; /* NULL: not known */
	unsigned int line;
	bool is_looked_up; /* in the perf map of its process */
};

struct process_names {
	struct noted *list[PROCESS_FRAMES_MOST];
	struct place places[PLACES];
	unsigned long long uses;
};

struct process_names *process_names_new(void)
{
	return calloc(1, sizeof(struct process_names));
}

static void place_free(struct place *at)
{
	if (at->used)
		close(at->directory);
	*at = (struct place){};
}

void process_names_free(struct process_names *p)
{
	if (!p)
		return;
	for (int i = 0; i < PLACES; i++)
		place_free(&p->places[i]);
	for (unsigned int i = 0; i < PROCESS_FRAMES_MOST; i++) {
		if (!p->list[i])
			continue;
		free(p->list[i]->function);
		free(p->list[i]->source);
		free(p->list[i]);
	}
	free(p);
}

/* The effective user, and the number in the innermost PID namespace. Returns false if the process
 * is gone. */
static bool status_read(unsigned int pid, uid_t *ret_uid, unsigned int *ret_inner)
{
	char name[64], line[256], *last;
	unsigned int found = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%u/status", pid);
	f = fopen(name, "re");
	*ret_inner = pid;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Uid: %*u %u", ret_uid) == 1)
			found++;
		last = !strncmp(line, "NSpid:", 6) ? strrchr(line, '\t') : NULL;
		if (last)
			*ret_inner = strtoul(last, NULL, 10);
	}
	if (f)
		fclose(f);
	return found;
}

/* Opens /tmp as process @pid sees it. Returns a descriptor, or -1. A /tmp that is a link could lead
 * out of the process's root. */
static int directory_open(unsigned int pid)
{
	char name[64];
	int root, tmp;

	snprintf(name, sizeof(name), "/proc/%u/root/", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	tmp = openat(root, "tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	close(root);
	return tmp;
}

static struct place *place_find(struct process_names *p, const struct process_frame *f)
{
	for (int i = 0; i < PLACES; i++)
		if (p->places[i].used && p->places[i].pid == f->pid &&
		    p->places[i].process_start == f->process_start)
			return &p->places[i];
	return NULL;
}

/* Opens the directory of a process that was not seen before, in place of the one used last. */
static void place_note(struct process_names *p, const struct process_frame *f)
{
	struct place *at = place_find(p, f), new = { .pid = f->pid };

	if (!at) {
		new.process_start = f->process_start;
		if (!status_read(f->pid, &new.uid, &new.inner_pid))
			return;
		new.directory = directory_open(f->pid);
		if (new.directory < 0)
			return;
		at = p->places;
		for (int i = 1; i < PLACES; i++)
			if (p->places[i].used < at->used)
				at = &p->places[i];
		place_free(at);
		*at = new;
	}
	at->used = ++p->uses;
}

static bool is_map(const struct stat *st, uid_t uid)
{
	return S_ISREG(st->st_mode) &&
	       (st->st_uid == uid || (!st->st_uid && st->st_mode & S_IROTH));
}

/* Opens the perf map of the process. Returns a descriptor, or -1. The process may hold a lease on
 * its file: the open does not wait for its end. */
static int map_open(const struct place *at)
{
	char name[64], again[64];
	int place, fd = -1;
	struct stat st;

	snprintf(name, sizeof(name), "perf-%u.map", at->inner_pid);
	place = openat(at->directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (place < 0)
		return -1;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
	if (!fstat(place, &st) && is_map(&st, at->uid))
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	close(place);
	return fd;
}

static void noted_name(struct noted *n, const struct frame_name *name)
{
	n->function = strdup(name->function);
	n->source = strdup(name->source);
	n->line = name->line;
}

/* Looks up all frames of the process that were noted since its map was read last. */
static void frames_look_up(struct process_names *p, const struct process_frame *of,
			   const struct perf_map *m)
{
	struct frame_name name;
	const char *text;

	for (unsigned int i = 0; i < PROCESS_FRAMES_MOST; i++) {
		struct noted *n = p->list[i];

		if (!n || n->is_looked_up || n->frame.frame & STACK_PYTHON ||
		    n->frame.pid != of->pid || n->frame.process_start != of->process_start)
			continue;
		n->is_looked_up = true;
		text = perf_map_find(m, STACK_FRAME_AT(n->frame.frame));
		if (!text)
			continue;
		perf_map_name(text, &name);
		noted_name(n, &name);
	}
}

/* A map may be long, and grow all the time: it is read once for all frames noted so far. */
static void map_look_up(struct process_names *p, const struct process_frame *of)
{
	const struct place *at = place_find(p, of);
	int fd = at ? map_open(at) : -1;
	struct perf_map m;

	if (fd < 0)
		return;
	if (!perf_map_read(&m, fd)) {
		frames_look_up(p, of, &m);
		perf_map_done(&m);
	}
	close(fd);
}

static bool memory_read(void *arg, uint64_t at, void *to, size_t len)
{
	return at <= INT64_MAX && pread(*(int *)arg, to, len, at) == (ssize_t)len;
}

static void python_note(struct noted *n)
{
	struct frame_name name;
	char path[64];
	int memory;

	snprintf(path, sizeof(path), "/proc/%u/mem", n->frame.pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		return;
	if (python_code_name(n->frame.frame, memory_read, &memory, &name))
		noted_name(n, &name);
	close(memory);
}

void process_names_note(struct process_names *p, unsigned int number,
			const struct process_frame *frame)
{
	struct noted *n;

	if (!number || number >= PROCESS_FRAMES_MOST || p->list[number])
		return;
	n = calloc(1, sizeof(*n));
	if (!n)
		return;
	n->frame = *frame;
	p->list[number] = n;
	if (frame->frame & STACK_PYTHON)
		python_note(n);
	else
		place_note(p, frame);
}

void process_names_name(struct process_names *p, unsigned int number, struct frame_name *ret_name)
{
	const struct noted *n = number < PROCESS_FRAMES_MOST ? p->list[number] : NULL;

	*ret_name = (struct frame_name){};
	if (!n)
		return;
	if (!(n->frame.frame & STACK_PYTHON) && !n->is_looked_up)
		map_look_up(p, &n->frame);
	snprintf(ret_name->function, FRAME_TEXT, "%s", n->function ? n->function : "");
	snprintf(ret_name->source, FRAME_TEXT, "%s", n->source ? n->source : "");
	ret_name->line = n->line;
}
