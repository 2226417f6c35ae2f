// SPDX-License-Identifier: GPL-2.0-only
#include "top/top_replay.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

void top_replay_nothing(struct presses *p)
{
	(void)p;
}

static void typed_take(struct top_replay *r)
{
	enum top_typing typing = r->typing;

	r->typing = TOP_TYPES_NOTHING;
	if (!*r->typed)
		return;
	if (typing == TOP_TYPES_TIME)
		r->ops->go(r->arg, r->typed);
	else
		r->ops->find(r->arg, r->typed);
}

/* Times and conditions are ASCII. */
static void typing_press(struct top_replay *r, int key)
{
	size_t len = strlen(r->typed);

	if (key == SCREEN_ENTER)
		typed_take(r);
	else if (key == SCREEN_ESCAPE)
		r->typing = TOP_TYPES_NOTHING;
	else if (key == SCREEN_BACKSPACE && len)
		r->typed[len - 1] = '\0';
	else if (key >= ' ' && key < 0x7f && len + 1 < sizeof(r->typed))
		memcpy(r->typed + len, (char[]){ key, '\0' }, 2);
}

static void typing_begin(struct top_replay *r, struct presses *p, enum top_typing typing)
{
	p->help = false;
	r->typing = typing;
	r->typed[0] = '\0';
}

bool top_replay_press(struct top_replay *r, struct presses *p, int key)
{
	r->said[0] = '\0';
	if (r->typing) {
		typing_press(r, key);
		return true;
	}
	switch (key) {
	case SCREEN_LEFT:
	case SCREEN_RIGHT:
		p->paused = true;
		r->ops->step(r->arg, key == SCREEN_LEFT ? -1 : 1);
		return true;
	case 'J':
	case 'K':
		p->paused = true;
		r->ops->incident(r->arg, key == 'J' ? 1 : -1);
		return true;
	case 'g':
		typing_begin(r, p, TOP_TYPES_TIME);
		return true;
	case '/':
		typing_begin(r, p, TOP_TYPES_CONDITION);
		return true;
	default:
		return false;
	}
}

bool top_replay_text(const struct top_replay *r, char *dst, size_t cap)
{
	char safe[TEXT_SAFE_CAP(TOP_TYPED)];

	text_safe(safe, sizeof(safe), r->typed);
	if (r->typing == TOP_TYPES_TIME)
		snprintf(dst, cap, "time: %s_  (Enter goes there: 12.5, 2m, 14:05:09; Esc leaves)",
			 safe);
	else if (r->typing == TOP_TYPES_CONDITION)
		snprintf(dst, cap, "condition: %s_  (Enter finds its incidents; Esc leaves)", safe);
	else if (*r->said)
		snprintf(dst, cap, "%s", r->said);
	else
		return false;
	return true;
}
