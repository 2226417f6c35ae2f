// SPDX-License-Identifier: GPL-2.0-only
#include "show/notes_text.h"

#include "show/view_text.h"

static bool any_libaio(const struct snapshot *sn)
{
	for (size_t i = 0; i < sn->n_ops; i++)
		if (sn->ops[i].key.op == OP_AIO)
			return true;
	return false;
}

/* "; not measured: vfs, fs"; libaio only if it was used: its calls tell. */
static int missing_text(char *dst, size_t cap, const struct breakdown_view *v,
			const struct snapshot *sn)
{
	int n = 0;

	for (int i = 0; i < MISSING_N; i++)
		if (breakdown_missing(v, i) && (i != MISSING_AIO || any_libaio(sn)))
			n += snprintf(dst + n, cap - n, "%s%s", n ? ", " : "; not measured: ",
				      breakdown_missing_label(i));
	return n;
}

/* "23 events lost, and the names of 5 files" */
static int lost_text(char *dst, size_t cap, const struct snapshot *sn)
{
	uint64_t names = sn->lost[LOST_NAMES], events = lost_sum(sn->lost, sn->missed) - names;
	int n = 0;

	if (!events && !names)
		return snprintf(dst, cap, "nothing lost");
	if (events)
		n = snprintf(dst, cap, "%s event%s lost%s", text_count(events).s,
			     text_plural(events), names ? ", and " : "");
	if (names)
		n += snprintf(dst + n, cap - n, "the name%s of %s file%s%s",
			      text_plural(names), text_count(names).s, text_plural(names),
			      events ? "" : " lost");
	return n;
}

void notes_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	char text[512];
	int n = lost_text(text, sizeof(text), sn), missing;

	if (sn->unnamed_cgroups)
		n += snprintf(text + n, sizeof(text) - n, "; %s cgroup%s gone without a name",
			      text_count(sn->unnamed_cgroups).s,
			      text_plural(sn->unnamed_cgroups));
	if (sn->n_unfinished)
		n += snprintf(text + n, sizeof(text) - n, "; %s operation%s in progress",
			      text_count(sn->n_unfinished).s, text_plural(sn->n_unfinished));
	if (sn->unseen_threads)
		n += snprintf(text + n, sizeof(text) - n, ", of %s thread%s not known",
			      text_count(sn->unseen_threads).s, text_plural(sn->unseen_threads));
	missing = v->later ? 0 : missing_text(text + n, sizeof(text) - n, v, sn);
	n += missing;
	if (lost_sum(sn->lost, sn->missed) || missing)
		n += snprintf(text + n, sizeof(text) - n, "; -v says why");
	if (sn->lost[LOST_UNMATCHED_END])
		snprintf(text + n, sizeof(text) - n, "; %s operation%s had begun before",
			 text_count(sn->lost[LOST_UNMATCHED_END]).s,
			 text_plural(sn->lost[LOST_UNMATCHED_END]));
	view_line(o, v, text);
}
