// SPDX-License-Identifier: GPL-2.0-only
/* opts_help.c - prints an option table as help and as a section of the manual; see opts.h. */
#include "base/opts_table.h"

#include <string.h>

#include "base/columns.h"
#include "base/text.h"

enum {
	HELP_WIDTH = 80,
	HELP_COLUMN = 28,	/* where sentences begin */
	TERM_COLUMN = 17,	/* where words' explanations begin */
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

/* "[INTERVAL [COUNT]]", each with @mark on both sides. */
static void put_args(struct text_out *o, const struct opt *args, const char *mark)
{
	int open = 0;

	for (const struct opt *a = args; a && a->arg; a++) {
		if (!a->required)
			open++;
		text_put(o, " %s%s%s%s%s", a->required ? "" : "[", mark, a->arg, mark,
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
		.help = "run this command, trace it and its children, end with it",
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

/* Writes text so that scdoc(5) sees no mark-up in it. */
static void put_plain(struct text_out *o, const char *text)
{
	for (; *text; text++)
		text_put(o, "%s%c", strchr("\\*_#[]", *text) ? "\\" : "", *text);
}

/* Writes a sentence of the manual, with a capital and a full stop. */
static void put_sentence(struct text_out *o, const char *text)
{
	char first = *text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text;

	text_put(o, "%c", first);
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

static void scdoc_examples(struct text_out *o, const struct opt_example *e)
{
	if (e && e->command)
		text_put(o, "*Examples*\n\n");
	for (; e && e->command; e++) {
		text_put(o, "*");
		put_plain(o, e->command);
		text_put(o, "*\n\t");
		put_sentence(o, e->what);
	}
}

static void scdoc_terms(struct text_out *o, const struct opt_table *t)
{
	if (t->terms)
		text_put(o, "*%s*\n\n", t->terms_title);
	for (const struct opt_term *term = t->terms; term && term->name; term++) {
		text_put(o, "_%s_", term->label);
		if (strcmp(term->label, term->name))
			text_put(o, ", in JSON _%s_", term->name);
		text_put(o, "\n\t");
		put_sentence(o, term->help);
	}
}

/* Names in JSON, with the titles of the columns that show them. */
static void scdoc_columns(struct text_out *o, const struct opt_columns *l)
{
	for (; l && l->title; l++) {
		text_put(o, "*%s in JSON, and their columns*\n\n", l->title);
		for (const struct column *c = l->list; column_is(c); c++) {
			if (!c->name)
				continue;
			text_put(o, "_");
			put_plain(o, c->name);
			text_put(o, c->title ? "_ (" : "_");
			put_plain(o, c->title ? c->title : "");
			text_put(o, c->title ? ")\n\t" : "\n\t");
			put_sentence(o, c->help);
		}
	}
}

int opts_scdoc(FILE *f, const struct opt_table *t)
{
	struct text_out o = { .f = f };

	text_put(&o, "*%s* [_OPTION_]...", t->name);
	put_args(&o, t->args, "_");
	text_put(&o, "%s\n\n", t->command ? " [-- _CMD_ _ARGS_]" : "");
	put_sentence(&o, t->summary);
	if (t->about) {
		put_plain(&o, t->about);
		text_put(&o, "\n\n");
	}
	scdoc_args(&o, t->args);
	for (const struct opt_group *g = t->groups; g && g->opts; g++)
		scdoc_opts(&o, g->title, g->opts);
	scdoc_opts(&o, "Other", opts_builtin);
	scdoc_terms(&o, t);
	scdoc_columns(&o, t->columns);
	scdoc_examples(&o, t->examples);
	return text_end(&o);
}
