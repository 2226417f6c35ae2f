// SPDX-License-Identifier: GPL-2.0-only
#include "common/recorded_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/reason.h"
#include "base/stacks.h"
#include "base/text.h"
#include "host/memory_limit.h"
#include "run/cmd.h"

enum { UNFOUND_TEXT = 256 };

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

/* Names frame @id if a debug file knows more than the recording. Returns 0 or -ENOMEM. */
static int frame_name(struct recorded_symbols *s, struct catalog *c, size_t id)
{
	struct frame_name name;
	struct stack_frame f;

	catalog_stack_frame(c, id, &f);
	if ((f.function && f.source) || !f.library)
		return 0;
	s->without += !f.function;
	if (!f.build_id)
		return 0;
	if (!debug_files_name(&s->files, f.build_id, f.address, &name)) {
		if (!f.function)
			unfound_add(s, &f);
		return 0;
	}
	if (!*name.function)
		return 0;
	s->named += !f.function;
	return catalog_frame_name(c, id, name.function, name.source, name.line);
}

/* As struct frame_namer has it. */
static int frames_name(void *arg, struct catalog *c)
{
	struct recorded_symbols *s = arg;
	int err = 0;

	memory_limit(); /* packed symbols of a hostile debug file may want any */
	for (size_t id = 1; id < c->n_frames && !err; id++)
		err = frame_name(s, c, id);
	return err;
}

int recorded_symbols_check(const struct opt_strings *places, struct reason *why)
{
	for (unsigned int i = 0; i < places->n; i++)
		if (access(places->at[i], R_OK))
			return reason_set(why, EXIT_FAILED, "cannot read '%.200s': %s",
					  places->at[i], strerror(errno));
	return 0;
}

const struct frame_namer *recorded_symbols_namer(struct recorded_symbols *s)
{
	if (!s->places.n)
		return NULL;
	unsetenv("DEBUGINFOD_URLS"); /* nothing is fetched from the network */
	s->files.places = s->places;
	s->namer = (struct frame_namer){ frames_name, s };
	return &s->namer;
}

void recorded_symbols_say(const struct recorded_symbols *s)
{
	char safe[TEXT_SAFE_CAP(UNFOUND_TEXT)];

	if (!s->places.n || s->named == s->without)
		return;
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
