// SPDX-License-Identifier: GPL-2.0-only
/*
 * opts_help.c - prints an option table as help and as parts of a manual page, and completes words
 * for shells.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/columns.h"
#include "base/opts_table.h"
#include "base/schema.h"
#include "base/text.h"

enum {
	HELP_WIDTH = 80,
	HELP_COLUMN = 28, /* where sentences begin */
	TERM_COLUMN = 17, /* where words' explanations begin */
};

const struct opt opts_builtin[] = {
	{ .short_name = 'h', .long_name = "help", .help = "print this help and exit" },
	{ .short_name = 'V', .long_name = "version", .help = "print the version and exit" },
	{}
};

bool opts_has_commas(const struct opt *o)
{
	return o->type == OPT_TYPE_UINTS || o->type == OPT_TYPE_STRINGS ||
	       o->type == OPT_TYPE_CHOICES;
}

void opts_list_choices(char *dst, size_t cap, const struct opt_choice *c)
{
	size_t len = 0;

	dst[0] = '\0';
	for (const struct opt_choice *i = c; i->name && len < cap; i++) {
		const char *sep = i == c ? "" : i[1].name ? ", " : " or ";

		len += snprintf(dst + len, cap - len, "%s%s", sep, i->name);
	}
}

/* "[INTERVAL [COUNT]]", each with @quote on both sides. */
static void put_args(struct text_out *o, const struct opt *args, const char *quote)
{
	int open = 0;

	for (const struct opt *a = args; a && a->arg; a++) {
		if (!a->required)
			open++;
		text_put(o, " %s%s%s%s%s", a->required ? "" : "[", quote, a->arg, quote,
			 a->many ? "..." : "");
	}
	text_fill(o, ']', open);
}

/* "PID", "PID,..." */
static const char *list_dots(const struct opt *o)
{
	return opts_has_commas(o) ? ",..." : "";
}

/* The sentence of an option, with the values of a choice. */
static void sentence(char *dst, size_t cap, const struct opt *o)
{
	char names[256] = "";

	if (o->choices)
		opts_list_choices(names, sizeof(names), o->choices);
	snprintf(dst, cap, "%s%s%s%s", o->help, *names ? ": " : "", names,
		 o->type == OPT_TYPE_PATHS ? "; may be repeated" : "");
}

static void help_row_at(struct text_out *o, const char *names, const struct opt *opt, int column)
{
	char text[512];
	int at = strlen(names);

	sentence(text, sizeof(text), opt);
	text_put(o, "%s", names);
	if (at >= column - 1) {
		text_put(o, "\n");
		at = 0;
	}
	text_fill(o, ' ', column - at);
	text_wrap(o, text, column, column, HELP_WIDTH);
}

static void help_row(struct text_out *o, const char *names, const struct opt *opt)
{
	help_row_at(o, names, opt, HELP_COLUMN);
}

static void help_opts(struct text_out *o, const char *title, const struct opt *opts)
{
	text_put(o, "\n%s:\n", title);
	for (; opts->long_name; opts++) {
		char letter[] = { '-', opts->short_name, ',', '\0' }, names[80];

		snprintf(names, sizeof(names), "  %3s --%s%s%s%s", opts->short_name ? letter : "",
			 opts->long_name, opts->arg ? "=" : "", opts->arg ? opts->arg : "",
			 list_dots(opts));
		help_row(o, names, opts);
	}
}

static void help_args(struct text_out *o, const struct opt_table *t)
{
	static const struct opt command = {
		.help = "run this command, trace it and its children, and end when it ends",
	};
	char name[80];

	if ((t->args && t->args->arg) || t->command)
		text_put(o, "\nArguments:\n");
	for (const struct opt *a = t->args; a && a->arg; a++) {
		snprintf(name, sizeof(name), "  %s", a->arg);
		help_row(o, name, a);
	}
	if (t->command)
		help_row(o, "  -- CMD ARGS", &command);
}

static void help_examples(struct text_out *o, const struct opt_example *e)
{
	if (e && e->command)
		text_put(o, "\nExamples:\n");
	for (; e && e->command; e++) {
		text_put(o, "  %s\n        ", e->command);
		text_wrap(o, e->what, 8, 8, HELP_WIDTH);
	}
}

static void help_terms(struct text_out *o, const struct opt_table *t)
{
	char name[80];

	if (t->terms)
		text_put(o, "\n%s:\n", t->terms_title);
	for (const struct opt_term *term = t->terms; term && term->name; term++) {
		const struct opt row = { .help = term->help };

		snprintf(name, sizeof(name), "  %s", term->label);
		help_row_at(o, name, &row, TERM_COLUMN);
	}
}

int opts_help(FILE *f, const struct opt_table *t)
{
	struct text_out o = { .f = f };

	text_put(&o, "Usage: %s [OPTION]...", t->name);
	put_args(&o, t->args, "");
	text_put(&o, "%s\n\n", t->command ? " [-- CMD ARGS]" : "");
	text_wrap(&o, t->summary, 0, 0, HELP_WIDTH);
	if (t->about) {
		text_put(&o, "\n");
		text_wrap(&o, t->about, 0, 0, HELP_WIDTH);
	}
	help_args(&o, t);
	for (const struct opt_group *g = t->groups; g && g->opts; g++)
		help_opts(&o, g->title, g->opts);
	help_opts(&o, "Other", opts_builtin);
	help_terms(&o, t);
	help_examples(&o, t->examples);
	return text_end(&o);
}

/* Writes text with the mark-up of scdoc(5) escaped. */
static void put_plain(struct text_out *o, const char *text)
{
	for (; *text; text++)
		text_put(o, "%s%c", strchr("\\*_#[]", *text) ? "\\" : "", *text);
}

/* Writes a sentence of the manual, with a capital and a full stop. */
static void put_sentence(struct text_out *o, const char *text)
{
	text_put(o, "%c", text_capital(text));
	put_plain(o, text + 1);
	text_put(o, ".\n\n");
}

static void scdoc_row(struct text_out *o, const struct opt *opt)
{
	char text[512];

	sentence(text, sizeof(text), opt);
	text_put(o, "\n\t");
	put_sentence(o, text);
}

static void scdoc_opts(struct text_out *o, const char *title, const struct opt *opts)
{
	text_put(o, "*%s*\n\n", title);
	for (; opts->long_name; opts++) {
		if (opts->short_name)
			text_put(o, "*-%c*, ", opts->short_name);
		text_put(o, "*--%s*", opts->long_name);
		if (opts->arg)
			text_put(o, "=_%s_%s", opts->arg, list_dots(opts));
		scdoc_row(o, opts);
	}
}

static void scdoc_args(struct text_out *o, const struct opt *args)
{
	for (; args && args->arg; args++) {
		text_put(o, "_%s_", args->arg);
		scdoc_row(o, args);
	}
}

static void scdoc_name(struct text_out *o, const struct opt_table *t)
{
	for (const char *c = t->name; *c; c++)
		text_put(o, "%c", *c == ' ' ? '-' : *c);
	text_put(o, " - ");
	put_plain(o, t->summary);
	text_put(o, "\n");
}

static void scdoc_synopsis(struct text_out *o, const struct opt_table *t)
{
	text_put(o, "*%s* [_OPTION_]...", t->name);
	put_args(o, t->args, "_");
	text_put(o, "%s\n", t->command ? " [-- _CMD_ _ARGS_]" : "");
}

static void scdoc_about(struct text_out *o, const struct opt_table *t)
{
	put_plain(o, t->about ? t->about : t->summary);
	text_put(o, "%s\n", t->about ? "" : ".");
}

static void scdoc_options(struct text_out *o, const struct opt_table *t)
{
	scdoc_args(o, t->args);
	for (const struct opt_group *g = t->groups; g && g->opts; g++)
		scdoc_opts(o, g->title, g->opts);
	scdoc_opts(o, "Other", opts_builtin);
}

static void scdoc_examples(struct text_out *o, const struct opt_table *t)
{
	for (const struct opt_example *e = t->examples; e && e->command; e++) {
		text_put(o, "*");
		put_plain(o, e->command);
		text_put(o, "*\n\t");
		put_sentence(o, e->what);
	}
}

static void scdoc_terms(struct text_out *o, const struct opt_table *t)
{
	for (const struct opt_term *term = t->terms; term && term->name; term++) {
		text_put(o, "_%s_", term->label);
		if (strcmp(term->label, term->name))
			text_put(o, ", in JSON _%s_", term->name);
		text_put(o, "\n\t");
		put_sentence(o, term->help);
	}
}

/* The head of a column or member: "_mean_ (mean_ns)". @second: its other name, or NULL. */
static void scdoc_head(struct text_out *o, const char *name, const char *second)
{
	text_put(o, "_");
	put_plain(o, name);
	text_put(o, "_");
	if (second && strcmp(name, second)) {
		text_put(o, " (");
		put_plain(o, second);
		text_put(o, ")");
	}
	text_put(o, "\n\t");
}

static void scdoc_column(struct text_out *o, const struct column *c)
{
	if (!c->title || !c->help)
		return;
	scdoc_head(o, c->title, c->name);
	put_sentence(o, c->help);
}

/* The list of columns for @part "columns of TITLE". */
static bool scdoc_columns(struct text_out *o, const struct opt_columns *l, const char *part)
{
	const size_t len = strlen("columns of ");

	if (strncmp(part, "columns of ", len))
		return false;
	while (l && l->title && strcmp(l->title, part + len))
		l++;
	if (!l || !l->title)
		return false;
	for (const struct column *c = l->list; column_is(c); c++)
		scdoc_column(o, c);
	return true;
}

/* The members of an object as written. Members of objects without a name follow their owner. */
struct scdoc_members {
	struct text_out *o;
	const char *owner; /* "lock.", "refused[]." */
};

static void scdoc_member(const struct member *m, const char *title, void *arg)
{
	const struct scdoc_members *w = arg;
	char name[128], owner[sizeof(name) + 3], text[MEMBER_TEXT_CAP];
	struct scdoc_members inner = { w->o, owner };

	snprintf(name, sizeof(name), "%s%s", w->owner, m->name);
	scdoc_head(w->o, name, title);
	member_describe(m, text);
	put_sentence(w->o, text);
	if (!m->object || m->object->name)
		return;
	snprintf(owner, sizeof(owner), "%s%s.", name, m->list ? "[]" : "");
	members_walk(m->object->members, scdoc_member, &inner);
}

/* The members for @part "members of NAME" or "members of NAME.OBJECT". */
static bool scdoc_members(struct text_out *o, const struct opt_table *t, const char *part)
{
	const size_t len = strlen("members of ");
	const size_t dot = strcspn(part, "."), end = strlen(part);
	struct scdoc_members all = { o, "" };
	const struct object *object;

	if (strncmp(part, "members of ", len))
		return false;
	for (const struct opt_choice *n = t->schema_names; n && n->name; n++) {
		if (strncmp(n->name, part + len, dot - len) || n->name[dot - len])
			continue;
		object = schema_object(t->schemas[n->value], part + dot + (dot < end));
		if (!object)
			return false;
		members_walk(object->members, scdoc_member, &all);
		return true;
	}
	return false;
}

static const struct scdoc_part {
	const char *name;
	void (*write)(struct text_out *o, const struct opt_table *t);
} scdoc_parts[] = { { "name", scdoc_name },
		    { "synopsis", scdoc_synopsis },
		    { "about", scdoc_about },
		    { "options", scdoc_options },
		    { "terms", scdoc_terms },
		    { "examples", scdoc_examples },
		    {} };

/* The names of all parts, for a test that the manual has them all. */
static void scdoc_list_parts(struct text_out *o, const struct opt_table *t)
{
	for (const struct scdoc_part *p = scdoc_parts; p->name; p++)
		if (p->write != scdoc_terms || t->terms)
			text_put(o, "%s\n", p->name);
	for (const struct opt_columns *l = t->columns; l && l->title; l++)
		text_put(o, "%s\n", l->title);
}

int opts_scdoc(FILE *f, const struct opt_table *t, const char *part)
{
	const struct scdoc_part *p = scdoc_parts;
	struct text_out o = { .f = f };

	while (part && p->name && strcmp(p->name, part))
		p++;
	if (!part)
		scdoc_list_parts(&o, t);
	else if (p->name)
		p->write(&o, t);
	else if (!scdoc_columns(&o, t->columns, part) && !scdoc_members(&o, t, part))
		return -EINVAL;
	return text_end(&o);
}

/*
 * Completion of the word under the cursor, from the same tables as help and manual.
 */

/* A completion under way. */
struct completion {
	struct text_out out;
	const char *typed; /* the word so far; candidates begin with it */
	int keep;          /* bytes of the word to keep before candidates: "--op=", "read," */
};

static void candidate(struct completion *c, const char *word, const char *help)
{
	const char *rest = c->typed + c->keep;

	if (*word && !strncmp(word, rest, strlen(rest)))
		text_put(&c->out, "%.*s%s\t%s\n", c->keep, c->typed, word, help ? help : "");
}

/* The last line, for the shell to complete files or commands itself, after @done bytes or words. */
static void leave_to_shell(struct completion *c, const char *what, int done)
{
	text_put(&c->out, ":%s\t%d\n", what, done);
}

static void candidate_choices(struct completion *c, const struct opt *o,
			      const struct opt_choice *list)
{
	char seen[512];

	/* values already in the list */
	snprintf(seen, sizeof(seen), ",%.*s", c->keep, c->typed);
	for (char *p = seen; *p; p++)
		*p = *p == '=' ? ',' : *p;
	for (const struct opt_choice *i = list; i && i->name; i++) {
		char item[64];

		snprintf(item, sizeof(item), ",%.60s,", i->name);
		if (!opts_has_commas(o) || !strstr(seen, item))
			candidate(c, i->name, NULL);
	}
}

static bool is_number(const char *s)
{
	return *s && !s[strspn(s, "0123456789")];
}

/* The first line of a file, made safe; "" if it cannot be read. */
static void line_of(const char *path, char *dst, size_t cap)
{
	char line[64] = "";
	FILE *f = fopen(path, "re");

	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = '\0';
	text_safe(dst, cap, line);
}

static void candidate_entries(struct completion *c, const char *dir, bool numbers)
{
	char path[300], help[TEXT_SAFE_CAP(64)];
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));) {
		if (e->d_name[0] == '.' || (numbers && !is_number(e->d_name)))
			continue;
		snprintf(path, sizeof(path), "%s/%s/comm", dir, e->d_name);
		help[0] = '\0';
		if (numbers)
			line_of(path, help, sizeof(help));
		candidate(c, e->d_name, help);
	}
	if (d)
		closedir(d);
}

static void candidate_filesystems(struct completion *c)
{
	FILE *f = fopen("/proc/filesystems", "re");
	char line[80], *name;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		name = strchr(line, '\t'); /* "nodev\tproc": no block device */
		if (name == line)
			candidate(c, name + 1, "file system");
	}
	if (f)
		fclose(f);
}

static void candidate_columns(struct completion *c, const struct column *list)
{
	for (; list && column_is(list); list++)
		candidate(c, list->name ? list->name : "", list->help);
}

/* Values of an option or argument, by the name of the value in the help. */
static void values(struct completion *c, const struct opt *o)
{
	const char *arg = o->arg ? o->arg : "", *rest = c->typed + c->keep, *comma;

	comma = opts_has_commas(o) ? strrchr(rest, ',') : NULL;
	if (comma)
		c->keep = comma + 1 - c->typed;
	candidate_choices(c, o, o->choices);
	candidate_choices(c, o, o->known);
	candidate_columns(c, o->columns);
	if (!strcmp(arg, "FILE") || !strcmp(arg, "FILES") || !strcmp(arg, "PATH"))
		leave_to_shell(c, "files", c->keep);
	else if (!strcmp(arg, "DIR"))
		leave_to_shell(c, "dirs", c->keep);
	else if (!strcmp(arg, "PID"))
		candidate_entries(c, "/proc", true);
	else if (!strcmp(arg, "DISK"))
		candidate_entries(c, "/sys/class/block", false);
	else if (!strcmp(arg, "TYPE") || !strcmp(arg, "LAYER"))
		candidate_filesystems(c);
}

static void candidate_options(struct completion *c, const struct opt *opts)
{
	char name[80];

	for (; opts->long_name; opts++) {
		snprintf(name, sizeof(name), "--%s", opts->long_name);
		candidate(c, name, opts->help);
		snprintf(name, sizeof(name), "-%c", opts->short_name);
		if (opts->short_name && c->typed[0])
			candidate(c, name, opts->help);
	}
}

static void all_options(struct completion *c, const struct opt_table *t)
{
	for (const struct opt_group *g = t->groups; g && g->opts; g++)
		candidate_options(c, g->opts);
	candidate_options(c, opts_builtin);
	if (t->command)
		candidate(c, "--", "a command to run and trace follows");
}

static bool has_value(const struct opt *o)
{
	return o->type != OPT_TYPE_FLAG && o->type != OPT_TYPE_TIMES;
}

static bool is_named(const struct opt *o, const char *name, size_t len)
{
	return strlen(o->long_name) == len && !memcmp(o->long_name, name, len);
}

/* The option of @letter, or of a long name if @letter is 0. */
static const struct opt *find(const struct opt_table *t, const char *name, size_t len, char letter)
{
	for (const struct opt_group *g = t->groups; g && g->opts; g++)
		for (const struct opt *o = g->opts; o->long_name; o++)
			if (letter ? o->short_name == letter : is_named(o, name, len))
				return o;
	return NULL;
}

/* The option of @word, or at its end ("-vp"), if the value is the next word. */
static const struct opt *awaits_value(const struct opt_table *t, const char *word)
{
	const struct opt *o = NULL;

	if (!strncmp(word, "--", 2)) {
		o = find(t, word + 2, strlen(word + 2), 0);
		return o && has_value(o) ? o : NULL;
	}
	for (const char *p = word + 1; word[0] == '-' && *p; p++) {
		o = find(t, NULL, 0, *p);
		if (o && has_value(o))
			return p[1] ? NULL : o;
	}
	return NULL;
}

/* "--op=re" */
static bool value_in_word(struct completion *c, const struct opt_table *t)
{
	const char *eq = strchr(c->typed, '=');
	const struct opt *o;

	if (strncmp(c->typed, "--", 2) || !eq)
		return false;
	o = find(t, c->typed + 2, eq - c->typed - 2, 0);
	c->keep = eq + 1 - c->typed;
	if (o && has_value(o))
		values(c, o);
	return true;
}

/* The words of command @t; @words[0] is its name. */
static void complete_command(struct completion *c, const struct opt_table *t, char **words, int n)
{
	const struct opt *o = NULL, *arg = t->args;

	for (int i = 1; i < n - 1; i++) {
		if (o) {
			o = NULL;
			continue;
		}
		if (!strcmp(words[i], "--")) {
			leave_to_shell(c, "command", i + 1);
			return;
		}
		o = awaits_value(t, words[i]);
		if (words[i][0] != '-' && arg && arg->arg && !arg->many)
			arg++;
	}
	if (o)
		values(c, o);
	else if (value_in_word(c, t))
		return;
	else if (arg && arg->arg && (arg->choices || !strcmp(arg->arg, "FILE")) &&
		 c->typed[0] != '-')
		values(c, arg);
	else
		all_options(c, t);
}

static const char *short_name(const struct opt_table *t)
{
	const char *blank = strrchr(t->name, ' ');

	return blank ? blank + 1 : t->name;
}

int opts_complete(FILE *f, const struct opt_table *const *tables, int tables_n, char **words, int n)
{
	struct completion c = { .out = { .f = f }, .typed = n ? words[n - 1] : "" };
	bool help = n == 2 && !strcmp(words[0], "help");

	for (int i = 0; i < tables_n; i++) {
		if (n <= 1 || help)
			candidate(&c, short_name(tables[i]), tables[i]->summary);
		else if (!strcmp(words[0], short_name(tables[i])))
			complete_command(&c, tables[i], words, n);
	}
	if (n <= 1) {
		candidate(&c, "help", "open the manual page of a command");
		candidate_options(&c, opts_builtin);
	}
	return text_end(&c.out);
}
