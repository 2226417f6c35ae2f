// SPDX-License-Identifier: GPL-2.0-only
/*
 * opts_complete.c - what a shell may put in place of the word that is being typed, from the same
 * tables as help and manual; see opts.h.
 */
#include "base/opts_table.h"

#include <dirent.h>
#include <string.h>

#include "base/columns.h"
#include "base/text.h"

/* A completion under way. */
struct completion {
	struct text_out out;
	const char *typed;	/* the word so far; candidates begin with it */
	int keep;		/* so much of it stays in front of candidates: "--op=", "read," */
};

static void candidate(struct completion *c, const char *word, const char *help)
{
	const char *rest = c->typed + c->keep;

	if (*word && !strncmp(word, rest, strlen(rest)))
		text_put(&c->out, "%.*s%s\t%s\n", c->keep, c->typed, word, help ? help : "");
}

/* The last line may say what the shell itself knows; @kept is not part of that. */
static void leave_to_shell(struct completion *c, const char *what, int kept)
{
	text_put(&c->out, ":%s\t%d\n", what, kept);
}

static void candidate_choices(struct completion *c, const struct opt *o)
{
	char seen[512];

	/* values that the list has already */
	snprintf(seen, sizeof(seen), ",%.*s", c->keep, c->typed);
	for (char *p = seen; *p; p++)
		*p = *p == '=' ? ',' : *p;
	for (const struct opt_choice *i = o->choices; i && i->name; i++) {
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

/* The first line of a file of one line, safe; "" if there is none. */
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
		name = strchr(line, '\t'); /* "nodev\tproc" has none of its own data */
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

/* Values of an option or argument, by the name that its value has in the help. */
static void values(struct completion *c, const struct opt *o)
{
	const char *arg = o->arg ? o->arg : "", *rest = c->typed + c->keep, *comma;

	comma = opts_has_commas(o) ? strrchr(rest, ',') : NULL;
	if (comma)
		c->keep = comma + 1 - c->typed;
	candidate_choices(c, o);
	for (const struct opt_choice *i = o->known; i && i->name; i++)
		candidate(c, i->name, NULL);
	candidate_columns(c, o->columns);
	if (!strcmp(arg, "FILE") || !strcmp(arg, "PATH"))
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

/* The option of @letter, or if that is 0 of a long name. */
static const struct opt *find(const struct opt_table *t, const char *name, size_t len, char letter)
{
	for (const struct opt_group *g = t->groups; g && g->opts; g++)
		for (const struct opt *o = g->opts; o->long_name; o++)
			if (letter ? o->short_name == letter : is_named(o, name, len))
				return o;
	return NULL;
}

/* The option that @word is, or ends with ("-vp"), if its value is the next word. */
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
	else if (arg && arg->arg && !strcmp(arg->arg, "FILE") && c->typed[0] != '-')
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
		candidate(&c, "help", "tell about a command, with examples");
		candidate_options(&c, opts_builtin);
	}
	return text_end(&c.out);
}
