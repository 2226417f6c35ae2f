// SPDX-License-Identifier: GPL-2.0-only
/*
 * opts.c - reads a command line by its table and prints the table as help; see opts.h.
 *
 * Owns the syntax of values and nothing of what they mean.
 */
#include "opts.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>

#include "text.h"

enum {
	HELP_WIDTH = 80,
	HELP_COLUMN = 28,	/* where sentences begin */
	MAX_OPTS = 64,		/* of one command, its groups together */
	LONG_ONLY = 256,	/* getopt's value of the first option; above any character */
};

static const struct opt builtin_opts[] = {
	{ .short_name = 'h', .long_name = "help", .help = "print this help and exit" },
	{ .short_name = 'V', .long_name = "version", .help = "print the version and exit" },
	{}
};

/* A parse under way: the options of all groups in one list, as getopt_long wants them. */
struct parse {
	const struct opt_table *t;
	struct opts_result *res;
	char *out;
	const struct opt *opts[MAX_OPTS];
	size_t base[MAX_OPTS];
	int n;
	struct option longs[MAX_OPTS + 1];
	char shorts[2 * MAX_OPTS + 3];
	const struct opt *next_arg;
};

/* "1" .. digits; their end, or NULL if there are none or they do not fit. */
static const char *digits(const char *s, uint64_t *ret_value)
{
	uint64_t v = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
			return NULL;
	}
	*ret_value = v;
	return s;
}

static int refuse(const char *why, int err, const char **ret_why)
{
	*ret_why = why;
	return err;
}

/* Why @s does not begin with digits that fit. */
static int refuse_digits(const char *s, const char **ret_why)
{
	if (!*s)
		return refuse("empty", -EINVAL, ret_why);
	if (*s >= '0' && *s <= '9')
		return refuse("too large", -ERANGE, ret_why);
	if (s[0] == '-' && s[1] >= '0' && s[1] <= '9')
		return refuse("must not be negative", -EINVAL, ret_why);
	return refuse("not a number", -EINVAL, ret_why);
}

int opts_uint(const char *s, uint64_t *ret_value, const char **ret_why)
{
	uint64_t value;
	const char *end = digits(s, &value);

	if (!end)
		return refuse_digits(s, ret_why);
	if (*end)
		return refuse("not a whole number", -EINVAL, ret_why);
	*ret_value = value;
	return 0;
}

/* Nanoseconds in the unit @s, 0 if there is none of that name. */
static uint64_t unit_ns(const char *s)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", 1000000000 }, { "ns", 1 },	 { "us", 1000 },
		{ "ms", 1000000 },  { "s", 1000000000 }, { "m", 60 * 1000000000ull },
		{ "h", 3600 * 1000000000ull },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(s, units[i].name))
			return units[i].ns;
	}
	return 0;
}

/* Digits after the point, of a unit of @unit ns; -ERANGE if they are finer than 1 ns. */
static int fraction_ns(const char *s, size_t len, uint64_t unit, uint64_t *ret_ns)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < len; i++, unit /= 10) {
		if (unit % 10 && s[i] != '0')
			return -ERANGE;
		ns += (s[i] - '0') * (unit / 10);
	}
	*ret_ns = ns;
	return 0;
}

int opts_duration(const char *s, uint64_t *ret_ns, const char **ret_why)
{
	uint64_t whole, unit, fraction;
	const char *end = digits(s, &whole), *point = "";
	size_t places = 0;

	if (!end)
		return refuse_digits(s, ret_why);
	if (*end == '.') {
		point = end + 1;
		places = strspn(point, "0123456789");
		end = point + places;
		if (!places)
			return refuse("no digit after the point", -EINVAL, ret_why);
	}
	unit = unit_ns(end);
	if (!unit)
		return refuse("the unit is none of ns, us, ms, s, m, h", -EINVAL, ret_why);
	if (fraction_ns(point, places, unit, &fraction))
		return refuse("finer than a nanosecond", -ERANGE, ret_why);
	if (__builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(whole, fraction, &whole))
		return refuse("too large", -ERANGE, ret_why);
	*ret_ns = whole;
	return 0;
}

__attribute__((format(printf, 3, 4))) static int fail(struct parse *p, const char *hint,
						      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->res->error, sizeof(p->res->error), fmt, ap);
	va_end(ap);
	if (hint)
		snprintf(p->res->hint, sizeof(p->res->hint), "%s", hint);
	else
		snprintf(p->res->hint, sizeof(p->res->hint), "see '%s --help'", p->t->name);
	return -EINVAL;
}

/* What the user typed, fit to be printed. */
struct quoted {
	char s[80];
};

static struct quoted quote(const char *typed)
{
	struct quoted q;
	char safe[256];

	text_safe(safe, sizeof(safe), typed);
	text_fit(q.s, sizeof(q.s), safe, 40, TEXT_CUT_TAIL);
	return q;
}

static int bad_value(struct parse *p, const struct opt *o, const char *value, const char *why,
		     const char *hint)
{
	return fail(p, hint, "invalid value '%s' for %s%s: %s", quote(value).s,
		    o->long_name ? "--" : "", o->long_name ? o->long_name : o->arg, why);
}

/* A limit as the user would type it. */
static struct text_num limit_text(const struct opt *o, uint64_t v)
{
	struct text_num t;

	if (o->type == OPT_TYPE_DURATION)
		return text_ns(v);
	snprintf(t.s, sizeof(t.s), "%llu", (unsigned long long)v);
	return t;
}

static int check_limits(struct parse *p, const struct opt *o, const char *text, uint64_t v)
{
	char why[80];

	if (v < o->min)
		snprintf(why, sizeof(why), "must be %s or more", limit_text(o, o->min).s);
	else if (o->max && v > o->max)
		snprintf(why, sizeof(why), "must be %s or less", limit_text(o, o->max).s);
	else
		return 0;
	return bad_value(p, o, text, why, NULL);
}

static int store_number(struct parse *p, const struct opt *o, void *dst, const char *text)
{
	bool duration = o->type == OPT_TYPE_DURATION;
	const char *why = "";
	uint64_t v = 0;
	int err = duration ? opts_duration(text, &v, &why) : opts_uint(text, &v, &why);

	if (err && !o->long_name && p->t->command)
		return bad_value(p, o, text, why, "put -- before a command to run");
	if (err)
		return bad_value(p, o, text, why,
				 duration ? "durations are like 5, 1.5s, 100us, 2m" : NULL);
	err = check_limits(p, o, text, v);
	if (!err)
		*(uint64_t *)dst = v;
	return err;
}

/* "a, b or c"; cut if it does not fit. */
static void list_choices(char *dst, size_t cap, const struct opt_choice *c)
{
	size_t len = 0;

	dst[0] = '\0';
	for (const struct opt_choice *i = c; i->name && len < cap; i++) {
		const char *sep = i == c ? "" : i[1].name ? ", " : " or ";

		len += snprintf(dst + len, cap - len, "%s%s", sep, i->name);
	}
}

static int store_choice(struct parse *p, const struct opt *o, void *dst, const char *text)
{
	char names[160], why[sizeof(p->res->error)];

	for (const struct opt_choice *c = o->choices; c->name; c++) {
		if (!strcmp(c->name, text)) {
			*(int *)dst = c->value;
			return 0;
		}
	}
	list_choices(names, sizeof(names), o->choices);
	snprintf(why, sizeof(why), "must be %s", names);
	return bad_value(p, o, text, why, NULL);
}

static int store(struct parse *p, const struct opt *o, size_t base, const char *text)
{
	void *dst = p->out + base + o->offset;

	switch (o->type) {
	case OPT_TYPE_FLAG:
		*(bool *)dst = true;
		return 0;
	case OPT_TYPE_UINT:
	case OPT_TYPE_DURATION:
		return store_number(p, o, dst, text);
	case OPT_TYPE_CHOICE:
		return store_choice(p, o, dst, text);
	case OPT_TYPE_STRING:
		break;
	}
	if (!*text)
		return bad_value(p, o, text, "empty", NULL);
	*(const char **)dst = text;
	return 0;
}

/* An argument; those of the last, .many one are gathered at the beginning of argv, which getopt has
 * passed already. */
static int store_arg(struct parse *p, char **argv, char *text)
{
	const struct opt *a = p->next_arg;

	if (!a || !a->arg)
		return fail(p, p->t->command ? "put -- before a command to run" : NULL,
			    "unexpected argument '%s'", quote(text).s);
	if (a->many) {
		p->res->rest = argv + 1;
		argv[1 + p->res->n_rest++] = text;
		return 0;
	}
	p->next_arg++;
	return store(p, a, 0, text);
}

static int add_opts(struct parse *p, const struct opt *o, size_t base)
{
	for (; o->long_name; o++) {
		bool flag = o->type == OPT_TYPE_FLAG;

		if (p->n == MAX_OPTS)
			return -E2BIG;
		p->opts[p->n] = o;
		p->base[p->n] = base;
		p->longs[p->n] = (struct option){ o->long_name,
						  flag ? no_argument : required_argument, NULL,
						  LONG_ONLY + p->n };
		p->n++;
		if (o->short_name)
			strcat(p->shorts, (char[]){ o->short_name, flag ? '\0' : ':', '\0' });
	}
	return 0;
}

/* Gathers the options of all groups for getopt_long: in order ("-"), silent (":"). */
static int parse_init(struct parse *p)
{
	int err;

	strcpy(p->shorts, "-:");
	p->next_arg = p->t->args;
	err = add_opts(p, builtin_opts, 0);
	for (const struct opt_group *g = p->t->groups; !err && g && g->opts; g++)
		err = add_opts(p, g->opts, g->base);
	if (err)
		return fail(p, NULL, "%s has more than %d options", p->t->name, MAX_OPTS);
	opterr = 0;
	optind = 0;
	return 0;
}

/* Index of the option that getopt calls @val, -1 if none. */
static int find_opt(const struct parse *p, int val)
{
	if (val >= LONG_ONLY)
		return val - LONG_ONLY;
	for (int i = 0; i < p->n; i++) {
		if (val && p->opts[i]->short_name == val)
			return i;
	}
	return -1;
}

/* getopt refused @typed, or the option it calls @val. */
static int fail_option(struct parse *p, bool no_value, int val, const char *typed)
{
	int i = find_opt(p, val);

	if (i >= 0 && no_value)
		return fail(p, NULL, "--%s needs a value: %s", p->opts[i]->long_name,
			    p->opts[i]->arg);
	if (i >= 0)
		return fail(p, NULL, "--%s takes no value", p->opts[i]->long_name);
	if (val)
		return fail(p, NULL, "unknown option '-%s'", quote((char[]){ val, '\0' }).s);
	return fail(p, NULL, "unknown option '%s'", quote(typed).s);
}

static int parse_one(struct parse *p, int val, char **argv)
{
	int i;

	if (val == 1)
		return store_arg(p, argv, optarg);
	if (val == ':' || val == '?')
		return fail_option(p, val == ':', optopt, argv[optind - 1]);
	i = find_opt(p, val);
	if (i == 0)
		return OPTS_HELP;
	if (i == 1)
		return OPTS_VERSION;
	return store(p, p->opts[i], p->base[i], optarg);
}

/* Splits off what follows the first "--"; how many of argv remain. */
static int split_command(struct parse *p, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--")) {
			p->res->command = argv + i + 1;
			return i;
		}
	}
	return argc;
}

static int check_command(struct parse *p)
{
	const struct opt *a = p->next_arg;

	if (a && a->arg && a->required && !p->res->n_rest)
		return fail(p, NULL, "%s is missing", a->arg);
	if (!p->res->command)
		return 0;
	if (!p->t->command)
		return fail(p, NULL, "%s takes no command after --", p->t->name);
	if (!*p->res->command)
		return fail(p, NULL, "no command after --");
	return 0;
}

int opts_parse(const struct opt_table *t, int argc, char **argv, void *out,
	       struct opts_result *res)
{
	struct parse p = { .t = t, .res = res, .out = out };
	int val, err;

	*res = (struct opts_result){};
	argc = split_command(&p, argc, argv);
	err = parse_init(&p);
	while (!err && (val = getopt_long(argc, argv, p.shorts, p.longs, NULL)) != -1)
		err = parse_one(&p, val, argv);
	return err ? err : check_command(&p);
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

/* The sentence of an option, with what it accepts where that is a list. */
static void sentence(char *dst, size_t cap, const struct opt *o)
{
	char names[256];

	if (o->type != OPT_TYPE_CHOICE) {
		snprintf(dst, cap, "%s", o->help);
		return;
	}
	list_choices(names, sizeof(names), o->choices);
	snprintf(dst, cap, "%s: %s", o->help, names);
}

static void help_row(struct text_out *o, const char *names, const struct opt *opt)
{
	char text[512];
	int at = strlen(names);

	sentence(text, sizeof(text), opt);
	text_put(o, "%s", names);
	if (at >= HELP_COLUMN - 1) {
		text_put(o, "\n");
		at = 0;
	}
	text_fill(o, ' ', HELP_COLUMN - at);
	text_wrap(o, text, HELP_COLUMN, HELP_COLUMN, HELP_WIDTH);
}

static void help_opts(struct text_out *o, const char *title, const struct opt *opts)
{
	text_put(o, "\n%s:\n", title);
	for (; opts->long_name; opts++) {
		char letter[] = { '-', opts->short_name, ',', '\0' }, names[80];

		snprintf(names, sizeof(names), "  %3s --%s%s%s", opts->short_name ? letter : "",
			 opts->long_name, opts->arg ? "=" : "", opts->arg ? opts->arg : "");
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
	help_opts(&o, "Other", builtin_opts);
	help_examples(&o, t->examples);
	return text_end(&o);
}

/* Text in which scdoc(5) must see no mark-up. */
static void put_plain(struct text_out *o, const char *text)
{
	for (; *text; text++)
		text_put(o, "%s%c", strchr("\\*_#[]", *text) ? "\\" : "", *text);
}

/* As a sentence of the manual: with a capital and a full stop. */
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
			text_put(o, "=_%s_", opts->arg);
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
	scdoc_opts(&o, "Other", builtin_opts);
	scdoc_examples(&o, t->examples);
	return text_end(&o);
}
