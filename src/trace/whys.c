// SPDX-License-Identifier: GPL-2.0-only
#include "trace/whys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/snapshot.h"
#include "base/wchan.h"

void symbols_done(struct symbols *s)
{
	free(s->list);
	*s = (struct symbols){};
}

static const struct symbol_at *symbol_find(const struct symbols *s, uint64_t at)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].at == at)
			return &s->list[i];
	return NULL;
}

static int symbol_want(struct symbols *s, uint64_t at)
{
	size_t cap = 2 * s->cap + 16;
	struct symbol_at *list;

	if (!at || symbol_find(s, at))
		return 0;
	if (s->n == s->cap) {
		list = reallocarray(s->list, cap, sizeof(*list));
		if (!list)
			return -ENOMEM;
		s->list = list;
		s->cap = cap;
	}
	s->list[s->n++] = (struct symbol_at){ .at = at };
	return 0;
}

/* "ffffffff81000000 t name.suffix [module]", for those from the @first on. An address is where a
 * call returns to, which may be the end of the function. */
static void look_at_line(struct symbols *s, size_t first, const char *line)
{
	char *end, name[SYMBOL_LEN];
	uint64_t from = strtoull(line, &end, 16);
	size_t len;

	if (!from || !*end || !strchr("tTwW", end[1]) || end[2] != ' ')
		return;
	len = strcspn(end + 3, ". \t\n");
	for (size_t i = first; i < s->n; i++) {
		struct symbol_at *sym = &s->list[i];

		if (from >= sym->at || from < sym->from)
			continue;
		sym->from = from;
		snprintf(name, sizeof(name), "%.*s", (int)len, end + 3);
		memcpy(sym->name, name, sizeof(name));
	}
}

static void symbols_look_up(struct symbols *s, size_t first, FILE *f)
{
	char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, f) >= 0)
		look_at_line(s, first, line);
	free(line);
}

static const char *name_of(const struct symbols *s, uint64_t at)
{
	const struct symbol_at *sym = symbol_find(s, at);

	return sym ? sym->name : "";
}

static void why_name(const struct symbols *s, struct why_row *r)
{
	const char *name = name_of(s, r->key.at[0]), *caller = name;

	for (int i = 1; i < WHY_CALLERS && wchan_is_general(caller); i++)
		caller = name_of(s, r->key.at[i]);
	r->what = wchan_what(*caller ? caller : name, caller != name);
	snprintf(r->symbol, sizeof(r->symbol), "%s", *caller ? caller : name);
}

/* The first of @n rows that is for the same as @r. */
static struct why_row *same_why(struct why_row *rows, size_t n, const struct why_row *r)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].key.op == r->key.op && rows[i].what == r->what &&
		    !strncmp(rows[i].fs, r->fs, sizeof(r->fs)) &&
		    !strcmp(rows[i].symbol, r->symbol))
			return &rows[i];
	return NULL;
}

static void whys_merge(struct snapshot *sn)
{
	struct why_row *same;
	size_t n = 0;

	for (size_t i = 0; i < sn->n_whys; i++) {
		same = same_why(sn->whys, n, &sn->whys[i]);
		if (!same)
			sn->whys[n++] = sn->whys[i];
		else
			why_row_add(same, &sn->whys[i].sums);
	}
	sn->n_whys = n;
}

int whys_name_from(FILE *f, struct symbols *s, struct snapshot *sn)
{
	size_t first = s->n;
	int err = 0;

	for (size_t i = 0; i < sn->n_whys && !err; i++) {
		for (int c = 0; c < WHY_CALLERS && !err; c++)
			err = symbol_want(s, sn->whys[i].key.at[c]);
	}
	if (err)
		return err;
	if (f && s->n > first)
		symbols_look_up(s, first, f);
	for (size_t i = 0; i < sn->n_whys; i++)
		why_name(s, &sn->whys[i]);
	whys_merge(sn);
	return 0;
}

int whys_name(struct symbols *s, struct snapshot *sn)
{
	FILE *f = sn->n_whys ? fopen("/proc/kallsyms", "re") : NULL;
	int err = whys_name_from(f, s, sn);

	if (f)
		fclose(f);
	return err;
}
