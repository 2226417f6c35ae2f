// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/report_list.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analyse/join.h"
#include "base/reason.h"
#include "base/text.h"
#include "capture/recording.h"
#include "run/cmd.h"
#include "show/events.h"
#include "show/joined.h"
#include "show/joined_events.h"
#include "trace/syscalls.h"

/* Of the standard output, which is in use until the end. A list would be written 4 KiB at a time.
 */
static char output_buffer[1 << 16];

static struct events_form form_of(const struct report_list *l)
{
	return (struct events_form){ l->format, l->width };
}

int report_list_begin(const struct report_list *l)
{
	const struct events_form form = form_of(l);

	if (l->format && l->out == stdout && !isatty(STDOUT_FILENO))
		setvbuf(l->out, output_buffer, _IOFBF, sizeof(output_buffer));
	return l->format && !l->joined ? events_head(l->out, &form) : 0;
}

int report_list_put(struct report_list *l, const struct recording *rec, struct stored_event *ev,
		    struct reason *why)
{
	const struct events_form form = form_of(l);
	int err = events_put(l->out, &form, rec, ev, syscall_names(rec->header.machine), &l->names);

	l->no_reader = err == -EPIPE;
	if (err)
		return reason_set(why, EXIT_FAILED, "cannot write the output: %s", strerror(-err));
	return 0;
}

void report_list_end(struct report_list *l)
{
	event_names_done(&l->names);
}

/* The list of --joined, while it is written. */
struct joined_list {
	struct text_out out;
	enum events_format format;
};

static void joined_tell(void *arg, const struct joined *one)
{
	struct joined_list *list = arg;

	joined_events_put(&list->out, list->format, one);
}

int report_list_joined(const struct report_list *l, struct join *j)
{
	struct joined_list list = { { .f = l->out }, l->format };
	struct reason why;
	char rest[512];
	int code;

	if (!join_has_both(j)) {
		reason_set(&why, EXIT_FAILED,
			   "nothing to join: a recording from an NFS client is missing, or one "
			   "from its server");
		reason_hint(&why,
			    "record on both hosts at the same time, and give both recordings");
		return cmd_fail(&why);
	}
	joined_events_head(&list.out, list.format);
	j->tell = joined_tell;
	j->tell_arg = &list;
	if (join_make(j)) {
		reason_no_memory(&why);
		return cmd_fail(&why);
	}
	code = cmd_written(text_end(&list.out));
	for (int side = 0; side < JOINED_SIDES && !code; side++)
		if (joined_rest(rest, sizeof(rest), j, side))
			cmd_say("%s", rest);
	return code;
}
