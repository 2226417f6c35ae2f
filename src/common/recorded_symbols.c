// SPDX-License-Identifier: GPL-2.0-only
#include "common/recorded_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <unistd.h>

#include "base/reason.h"
#include "base/stacks.h"
#include "base/text.h"
#include "host/memory_limit.h"
#include "host/privilege.h"
#include "run/caller.h"
#include "run/cmd.h"
#include "run/copy.h"
#include "run/debuginfod.h"

enum { UNFOUND_TEXT = 256, FETCHED_MOST = 256 };

static const char servers[] = "debuginfod"; /* in place of a directory */

/* Notes a file without a debug file, once. */
static void unfound_add(struct recorded_symbols *s, const struct stack_frame *f)
{
	char text[UNFOUND_TEXT];

	snprintf(text, sizeof(text), "%.100s (build id %.129s)", f->library, f->build_id);
	for (size_t i = 0; i < s->n_unfound; i++)
		if (!strcmp(s->unfound[i], text))
			return;
	if (s->n_unfound == SYMBOLS_UNFOUND)
		return;
	s->unfound[s->n_unfound] = strdup(text);
	s->n_unfound += !!s->unfound[s->n_unfound];
}

/* What the copy tells of a frame, or at the end. All of it may be made by a hostile debug file. */
struct found {
	size_t id; /* 0: the end, with the reason why there is no more in @name.function, or "" */
	bool has_file; /* a debug file with the build id */
	struct frame_name name;
};

/* Frames on their way to names. */
struct search {
	struct recorded_symbols *symbols;
	const struct catalog *catalog;
	int to; /* a pipe */
};

/* A frame that a debug file may name, and the build id of its file. */
struct wanted {
	size_t id;
	uint64_t address;
	const char *build_id;
};

/* Whether a debug file may know more than the recording. */
static bool is_wanted(const struct stack_frame *f)
{
	return !(f->function && f->source) && f->library && f->build_id;
}

/* By file, so that each debug file is open once. */
static int file_order(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;
	int order = strcmp(x->build_id, y->build_id);

	return order ? order : (x->address > y->address) - (x->address < y->address);
}

static struct wanted *wanted_list(const struct catalog *c, size_t *ret_n)
{
	struct wanted *list = calloc(c->n_frames + 1, sizeof(*list));
	struct stack_frame f;
	size_t n = 0;

	for (size_t id = 1; list && id < c->n_frames; id++) {
		catalog_stack_frame(c, id, &f);
		if (is_wanted(&f))
			list[n++] = (struct wanted){ id, f.address, f.build_id };
	}
	if (n)
		qsort(list, n, sizeof(*list), file_order);
	*ret_n = n;
	return list;
}

static bool found_send(int to, const struct found *f)
{
	const char *at = (const char *)f;
	size_t left = sizeof(*f);
	ssize_t n;

	while (left && ((n = write(to, at, left)) > 0 || (n < 0 && errno == EINTR))) {
		at += n > 0 ? n : 0;
		left -= n > 0 ? n : 0;
	}
	return !left;
}

/* Debug files from servers. */
struct fetched {
	char *paths[FETCHED_MOST];
	size_t n;
};

/* Fetches the debug file of each file, in the copy that still has its privileges: as the caller of
 * sudo. Nothing is read of what comes. */
static void fetch(const struct wanted *list, size_t n, struct fetched *ret)
{
	struct reason why;
	struct caller c = {};

	if (caller_find(&c, &why))
		return;
	for (size_t i = 0; i < n && ret->n < FETCHED_MOST; i++) {
		if ((i && !strcmp(list[i].build_id, list[i - 1].build_id)) ||
		    !is_build_id(list[i].build_id))
			continue;
		ret->paths[ret->n] = debuginfod_fetch(&c, list[i].build_id);
		ret->n += !!ret->paths[ret->n];
	}
	caller_done(&c);
}

/* Looks for all names, in the copy: debug files are hostile, so it has no privilege but to read. */
static int frames_find(void *arg)
{
	struct search *s = arg;
	struct found f = {}, end = {};
	struct fetched fetched = {};
	struct wanted *list;
	struct reason why;
	size_t n;

	list = wanted_list(s->catalog, &n);
	if (list && s->symbols->asks)
		fetch(list, n, &fetched);
	unsetenv("DEBUGINFOD_URLS"); /* libraries fetch nothing */
	memory_limit();              /* packed symbols may want any */
	frame_files_no_memory(copy_end_no_memory);
	/* root of a user namespace may have nobody to become: its capabilities are gone all the
	 * same */
	if (privilege_drop_but_reading(&why) && privilege_has(CAP_DAC_OVERRIDE)) {
		snprintf(end.name.function, sizeof(end.name.function), "%s", why.error);
		return !found_send(s->to, &end);
	}
	for (size_t i = 0; i < fetched.n; i++)
		debug_files_add(&s->symbols->files, fetched.paths[i]);
	for (size_t i = 0; list && i < n; i++) {
		f.id = list[i].id;
		f.name = (struct frame_name){};
		f.has_file = debug_files_name(&s->symbols->files, list[i].build_id, list[i].address,
					      &f.name);
		if (!found_send(s->to, &f))
			return -EPIPE;
	}
	return !list || !found_send(s->to, &end);
}

/* Returns false at the end, also if it comes too early. */
static bool found_receive(int from, struct found *ret)
{
	char *at = (char *)ret;
	size_t left = sizeof(*ret);
	ssize_t n;

	while (left && ((n = read(from, at, left)) > 0 || (n < 0 && errno == EINTR))) {
		at += n > 0 ? n : 0;
		left -= n > 0 ? n : 0;
	}
	ret->name.function[FRAME_TEXT - 1] = ret->name.source[FRAME_TEXT - 1] = '\0';
	return !left;
}

/* Takes the name of a frame. Returns 0 or -ENOMEM. */
static int found_take(struct recorded_symbols *s, struct catalog *c, const struct found *found)
{
	struct stack_frame f;

	catalog_stack_frame(c, found->id, &f);
	if (!is_wanted(&f))
		return 0;
	if (!found->has_file && !f.function)
		unfound_add(s, &f);
	if (!found->has_file || !*found->name.function)
		return 0;
	s->named += !f.function;
	return catalog_frame_name(c, found->id, found->name.function, found->name.source,
				  found->name.line);
}

/* Takes all names. Returns 0 or -ENOMEM. */
static int found_take_all(struct recorded_symbols *s, struct catalog *c, int from)
{
	struct found f;
	int err = 0;

	snprintf(s->ended, sizeof(s->ended), "it ended");
	while (!err && found_receive(from, &f)) {
		if (!f.id)
			snprintf(s->ended, sizeof(s->ended), "%.255s", f.name.function);
		if (!f.id || f.id >= c->n_frames)
			break;
		err = found_take(s, c, &f);
	}
	return err;
}

/* As struct frame_namer has it. */
static int frames_name(void *arg, struct catalog *c)
{
	struct recorded_symbols *s = arg;
	struct search search = { .symbols = s, .catalog = c };
	struct stack_frame f;
	int ends[2], err;
	pid_t copy;

	for (size_t id = 1; id < c->n_frames; id++) {
		catalog_stack_frame(c, id, &f);
		s->without += !f.function && f.library;
	}
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	search.to = ends[1];
	copy = copy_start(frames_find, &search, (int[]){ ends[1], ends[1] });
	close(ends[1]);
	err = copy < 0 ? copy : found_take_all(s, c, ends[0]);
	close(ends[0]);
	if (copy > 0 && copy_had_no_memory(copy))
		snprintf(s->ended, sizeof(s->ended), "%s", strerror(ENOMEM));
	return err;
}

int recorded_symbols_check(const struct opt_strings *places, struct reason *why)
{
	for (unsigned int i = 0; i < places->n; i++)
		if (!strcmp(places->at[i], servers)) {
			if (debuginfod_check(why))
				return -1;
		} else if (access(places->at[i], R_OK)) {
			reason_set(why, EXIT_FAILED, "cannot read '%.200s': %s", places->at[i],
				   strerror(errno));
			return reason_hint(why, "--symbols takes a directory with debug files: "
						"/usr/lib/debug");
		}
	return 0;
}

const struct frame_namer *recorded_symbols_namer(struct recorded_symbols *s)
{
	if (!s->places.n)
		return NULL;
	s->files.places.n = 0;
	for (unsigned int i = 0; i < s->places.n; i++)
		if (strcmp(s->places.at[i], servers) != 0)
			s->files.places.at[s->files.places.n++] = s->places.at[i];
	s->asks = s->files.places.n < s->places.n;
	s->namer = (struct frame_namer){ frames_name, s };
	return &s->namer;
}

void recorded_symbols_say(const struct recorded_symbols *s)
{
	char safe[TEXT_SAFE_CAP(UNFOUND_TEXT)];

	if (!s->places.n || s->named == s->without)
		return;
	if (*s->ended) {
		text_safe(safe, sizeof(safe), s->ended);
		cmd_say("the process that reads debug files has not named all: %s", safe);
	}
	cmd_say("--symbols named %s of %s places in code without a name", text_count(s->named).s,
		text_count(s->without).s);
	for (size_t i = 0; i < s->n_unfound; i++) {
		text_safe(safe, sizeof(safe), s->unfound[i]);
		cmd_say("no debug file for %s", safe);
	}
}

void recorded_symbols_done(struct recorded_symbols *s)
{
	for (size_t i = 0; i < s->n_unfound; i++)
		free(s->unfound[i]);
	s->n_unfound = 0;
	debug_files_done(&s->files);
}
