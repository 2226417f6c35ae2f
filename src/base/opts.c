// SPDX-License-Identifier: GPL-2.0-only
/*
 * opts.c - parses a command line by its table of options.
 *
 * Owns the syntax of values, not their meaning.
 */
#include "base/opts.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/opts_table.h"
#include "base/text.h"

enum { LONGEST = 40 };

bool opt_strings_pass(const struct opt_strings *list, const char *text, size_t cap)
{
	bool found = !list || !list->n;

	for (unsigned int i = 0; !found && i < list->n; i++)
		found = !strncmp(list->at[i], text, cap);
	return found;
}

static int least(int a, int b, int c)
{
	int ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Damerau and Levenshtein's distance (optimal string alignment). */
static int distance(const char *a, int a_len, const char *b, int b_len)
{
	int d[LONGEST + 1][LONGEST + 1];

	for (int i = 0; i <= a_len; i++)
		d[i][0] = i;
	for (int j = 0; j <= b_len; j++)
		d[0][j] = j;
	for (int i = 1; i <= a_len; i++) {
		for (int j = 1; j <= b_len; j++) {
			d[i][j] = least(d[i - 1][j] + 1, d[i][j - 1] + 1,
					d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[a_len][b_len];
}

void nearest_try(struct nearest *n, const char *name)
{
	size_t typed_len = strlen(n->typed), len = strlen(name);
	int found;

	if (typed_len > LONGEST || len > LONGEST)
		return;
	found = distance(n->typed, typed_len, name, len);
	/* a third of the letters may be wrong, but no more than two; of two letters, one may be */
	if (found > 2 || (3 * found > (int)len && !(found == 1 && len == 2 && typed_len == 3)) ||
	    (n->name && found >= n->distance))
		return;
	n->name = name;
	n->distance = found;
}

/* Reads decimal digits; returns their end, or NULL if there are none or the value does not fit. */
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

/* Says why @s does not begin with digits that fit. */
static int refuse_digits(const char *s, const char **ret_why)
{
	if (!*s)
		return refuse("empty", -EINVAL, ret_why);
	if (*s >= '0' && *s <= '9')
		return refuse("too large", -ERANGE, ret_why);
	if (s[0] == '-' && s[1] >= '0' && s[1] <= '9')
		return refuse("must not be negative", -EINVAL, ret_why);
	if (s[0] == '.' && s[1] >= '0' && s[1] <= '9')
		return refuse("not a whole number", -EINVAL, ret_why);
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

/* Nanoseconds in the unit @s, 0 if there is no such unit. */
static uint64_t unit_ns(const char *s)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", 1000000000 },
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", 1000000000 },
		{ "m", 60 * 1000000000ull },
		{ "h", 3600 * 1000000000ull },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(s, units[i].name))
			return units[i].ns;
	}
	return 0;
}

/* Value of the digits after the point, in a unit of @unit ns; -ERANGE if finer than 1 ns. */
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
	uint64_t whole = 0, unit, fraction;
	bool no_whole = s[0] == '.' && s[1] >= '0' && s[1] <= '9';
	const char *end = no_whole ? s : digits(s, &whole), *point = "";
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
		return refuse("units are ns, us, ms, s, m, h", -EINVAL, ret_why);
	if (fraction_ns(point, places, unit, &fraction))
		return refuse("finer than a nanosecond", -ERANGE, ret_why);
	if (__builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(whole, fraction, &whole))
		return refuse("too large", -ERANGE, ret_why);
	*ret_ns = whole;
	return 0;
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

static int check_limits(const struct opt *o, uint64_t v, struct opts_wrong *ret_wrong)
{
	bool small = v < o->min;

	if (!small && (!o->max || v <= o->max))
		return 0;
	*ret_wrong = (struct opts_wrong){ .hint = "", .is_limit = true };
	snprintf(ret_wrong->why, sizeof(ret_wrong->why), "must be %s or %s",
		 limit_text(o, small ? o->min : o->max).s, small ? "more" : "less");
	return -ERANGE;
}

int opts_number(const struct opt *o, const char *text, uint64_t *ret_value,
		struct opts_wrong *ret_wrong)
{
	bool duration = o->type == OPT_TYPE_DURATION;
	const char *why = "";
	uint64_t v = 0;
	int err = (duration ? opts_duration : opts_uint)(text, &v, &why);

	if (err) {
		*ret_wrong = (struct opts_wrong){
			.hint = duration ? "durations are like 5, .5, 1.5s, 100us, 2m" : "",
		};
		snprintf(ret_wrong->why, sizeof(ret_wrong->why), "%s", why);
	} else {
		err = check_limits(o, v, ret_wrong);
	}
	if (!err)
		*ret_value = v;
	return err;
}

enum {
	MAX_OPTS = 64, /* of one command, its groups together */
	LONGEST_NAME = 64,
	LONG_ONLY = 256, /* getopt's value of the first option; above any character */
};

/* A parse under way: the options of all groups in one list, as getopt_long wants them. */
struct parse {
	const struct opt_table *t;
	struct opts_result *res;
	char *out;
	const struct opt *opts[MAX_OPTS];
	size_t base[MAX_OPTS];
	bool given[MAX_OPTS];
	int n;
	struct option longs[MAX_OPTS + 1];
	char shorts[2 * MAX_OPTS + 3];
	const struct opt *next_arg;
	int argc;         /* without the command */
	bool in_numbers;  /* numbers are taken for values of the last option */
	const char *file; /* the argument that is no duration, if given */
	char hint[200];
};

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

/* A word from the command line, made safe to print. */
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

/* Likely a number, not a command: few commands begin with a digit (7z). */
static bool is_like_number(const char *text)
{
	return strspn(text + (*text == '.'), "0123456789") > 0;
}

/* The hint for a word that may be a command. */
static const char *command_hint(struct parse *p)
{
	int n = 0;

	if (p->file)
		n = snprintf(p->hint, sizeof(p->hint),
			     "'%s' is taken for a recording: after it come INTERVAL and COUNT; ",
			     quote(p->file).s);
	snprintf(p->hint + n, sizeof(p->hint) - n, "put -- before a command to run");
	return p->hint;
}

static int parse_number(struct parse *p, const struct opt *o, const char *text, uint64_t *ret_value)
{
	struct opts_wrong wrong;
	int err = opts_number(o, text, ret_value, &wrong);

	if (err && !o->long_name && p->t->command && !wrong.is_limit && !is_like_number(text))
		return bad_value(p, o, text, wrong.why, command_hint(p));
	if (err && !wrong.is_limit && o->no_number)
		return bad_value(p, o, text, wrong.why, o->no_number);
	return err ? bad_value(p, o, text, wrong.why, *wrong.hint ? wrong.hint : NULL) : 0;
}

/* Sets the value of the choice @text. Returns false if it is not in @list, and @meant may be. */
static bool choice_find(const struct opt_choice *list, const char *text, int *ret_value,
			struct nearest *meant)
{
	for (const struct opt_choice *c = list; c && c->name; c++) {
		if (!strcmp(c->name, text)) {
			*ret_value = c->value;
			return true;
		}
		nearest_try(meant, c->name);
	}
	return false;
}

static int parse_choice(struct parse *p, const struct opt *o, const char *text, int *ret_value)
{
	struct nearest meant = { .typed = text };
	char names[160], why[sizeof(p->res->error)], hint[80];

	if (choice_find(o->choices, text, ret_value, &meant) ||
	    choice_find(o->also, text, ret_value, &meant))
		return 0;
	opts_list_choices(names, sizeof(names), o->choices);
	snprintf(why, sizeof(why), "must be %s", names);
	snprintf(hint, sizeof(hint), "did you mean '%s'?", meant.name ? meant.name : "");
	return bad_value(p, o, text, why, meant.name ? hint : NULL);
}

static int parse_string(struct parse *p, const struct opt *o, const char *text,
			const char **ret_value)
{
	if (!*text)
		return bad_value(p, o, text, "empty", NULL);
	*ret_value = text;
	return 0;
}

static int list_full(struct parse *p, const struct opt *o)
{
	return fail(p, o->more_words ? "put the pattern into quotes, as one value" : NULL,
		    "more than %d values for --%s", OPT_LIST_MAX, o->long_name);
}

static int add_uint(struct parse *p, const struct opt *o, struct opt_uints *list, const char *text)
{
	int err = list->n == OPT_LIST_MAX ? list_full(p, o)
					  : parse_number(p, o, text, &list->at[list->n]);

	if (!err)
		list->n++;
	return err;
}

static int add_string(struct parse *p, const struct opt *o, struct opt_strings *list,
		      const char *text)
{
	int err = list->n == OPT_LIST_MAX ? list_full(p, o)
					  : parse_string(p, o, text, &list->at[list->n]);

	if (!err)
		list->n++;
	return err;
}

static int add_choice(struct parse *p, const struct opt *o, unsigned int *set, const char *text)
{
	int value, err = parse_choice(p, o, text, &value);

	if (!err)
		*set |= 1U << value;
	return err;
}

/* One value of an option or argument. */
static int store_one(struct parse *p, const struct opt *o, void *dst, const char *text)
{
	switch (o->type) {
	case OPT_TYPE_FLAG:
		*(bool *)dst = true;
		return 0;
	case OPT_TYPE_TIMES:
		++*(int *)dst;
		return 0;
	case OPT_TYPE_UINT:
	case OPT_TYPE_DURATION:
		return parse_number(p, o, text, dst);
	case OPT_TYPE_CHOICE:
		return parse_choice(p, o, text, dst);
	case OPT_TYPE_STRING:
		return parse_string(p, o, text, dst);
	case OPT_TYPE_UINTS:
		return add_uint(p, o, dst, text);
	case OPT_TYPE_STRINGS:
	case OPT_TYPE_PATHS:
		return add_string(p, o, dst, text);
	case OPT_TYPE_CHOICES:
		return add_choice(p, o, dst, text);
	}
	return -EINVAL;
}

/* Numbers may be separated as pgrep(1) and pidof(1) print them: by newlines or blanks. */
static void blanks_to_commas(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		size_t blanks = strspn(from, " \t\n");

		from += blanks;
		if (blanks && to > text && to[-1] != ',' && *from && *from != ',')
			*to++ = ',';
		if (*from)
			*to++ = *from++;
	}
	*to = '\0';
}

static int store(struct parse *p, const struct opt *o, size_t base, char *text)
{
	void *dst = p->out + base + o->offset;
	int err = 0;

	if (!opts_has_commas(o))
		return store_one(p, o, dst, text);
	if (o->type == OPT_TYPE_UINTS)
		blanks_to_commas(text);
	for (char *comma; text && !err; text = comma) {
		comma = strchr(text, ',');
		if (comma)
			*comma++ = '\0';
		err = store_one(p, o, dst, text);
	}
	return err;
}

/* Stores an argument. Values of a .many argument are collected at the start of argv, where getopt
 * has passed. */
static int store_arg(struct parse *p, char **argv, char *text)
{
	const struct opt *a = p->next_arg;
	const char *why;
	uint64_t ns;

	if (a && a->arg && a->no_duration && !opts_duration(text, &ns, &why))
		a = ++p->next_arg;
	if (!a || !a->arg)
		return fail(p, p->t->command ? command_hint(p) : NULL, "unexpected argument '%s'",
			    quote(text).s);
	if (a->many) {
		p->res->rest = argv + 1;
		argv[1 + p->res->n_rest++] = text;
		return 0;
	}
	p->next_arg++;
	p->file = a->no_duration ? text : p->file;
	return store(p, a, 0, text);
}

static int add_opts(struct parse *p, const struct opt *o, size_t base)
{
	for (; o->long_name; o++) {
		bool flag = o->type == OPT_TYPE_FLAG || o->type == OPT_TYPE_TIMES;

		if (p->n == MAX_OPTS)
			return -E2BIG;
		p->opts[p->n] = o;
		p->base[p->n] = base;
		p->longs[p->n] =
			(struct option){ o->long_name, flag ? no_argument : required_argument, NULL,
					 LONG_ONLY + p->n };
		p->n++;
		if (o->short_name)
			strcat(p->shorts, (char[]){ o->short_name, flag ? '\0' : ':', '\0' });
	}
	return 0;
}

/* Collects the options of all groups for getopt_long: in order ("-"), silent (":"). */
static int parse_init(struct parse *p)
{
	int err;

	strcpy(p->shorts, "-:");
	p->next_arg = p->t->args;
	err = add_opts(p, opts_builtin, 0);
	for (const struct opt_group *g = p->t->groups; !err && g && g->opts; g++)
		err = add_opts(p, g->opts, g->base);
	if (err)
		return fail(p, NULL, "%s has more than %d options", p->t->name, MAX_OPTS);
	opterr = 0;
	optind = 0;
	return 0;
}

/* Index of the option with getopt's value @val, or -1. */
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

/* The long name that @typed is, or begins ("min-time" for "min"), or NULL if there is none. */
static const char *begins_with_name(const struct parse *p, const char *typed)
{
	const char *found = NULL;

	for (int i = 0; i < p->n; i++) {
		const char *name = p->opts[i]->long_name;
		size_t len = strlen(name);

		if (!strncmp(typed, name, len) && (!typed[len] || typed[len] == '-') &&
		    (!found || len > strlen(found)))
			found = name;
	}
	return found;
}

/* The argument called @typed, as in "--interval", or NULL if there is none. */
static const char *argument_called(const struct parse *p, const char *typed)
{
	for (const struct opt *a = p->t->args; a && a->arg; a++)
		if (!strcasecmp(a->arg, typed))
			return a->arg;
	return NULL;
}

bool opts_have(const struct opt_table *t, const char *name)
{
	for (const struct opt_group *g = t->groups; g && g->opts; g++)
		for (const struct opt *o = g->opts; o->long_name; o++)
			if (!strcmp(o->long_name, name))
				return true;
	return false;
}

static int unknown_option(struct parse *p, const char *typed)
{
	char name[LONGEST_NAME], hint[128] = "";
	struct nearest meant = { .typed = name };
	const char *arg;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(typed + 2, "="), typed + 2);
	snprintf(p->res->unknown, sizeof(p->res->unknown), "%s", name);
	arg = argument_called(p, name);
	for (int i = 0; i < p->n; i++)
		nearest_try(&meant, p->opts[i]->long_name);
	if (!meant.name)
		meant.name = begins_with_name(p, name);
	if (arg)
		snprintf(hint, sizeof(hint), "%s stands alone, without an option: see '%s --help'",
			 arg, p->t->name);
	else if (meant.name)
		snprintf(hint, sizeof(hint), "did you mean '--%s'? see '%s --help'", meant.name,
			 p->t->name);
	return fail(p, hint[0] ? hint : NULL, "unknown option '%s'", quote(typed).s);
}

/* An unknown letter @val in the word @typed: "-json" for "--json", or "-P" for "-p". */
static int unknown_letter(struct parse *p, int val, const char *typed)
{
	const char *name = begins_with_name(p, typed + 1);
	int other = find_opt(p, islower(val) ? toupper(val) : tolower(val));
	char letter[] = { val, '\0' }, hint[128] = "";

	if (typed[0] == '-' && name && !strcmp(name, typed + 1))
		snprintf(hint, sizeof(hint), "did you mean '--%s'? see '%s --help'", name,
			 p->t->name);
	else if (other >= 0)
		snprintf(hint, sizeof(hint), "did you mean '-%c' (--%s)? see '%s --help'",
			 p->opts[other]->short_name, p->opts[other]->long_name, p->t->name);
	return fail(p, hint[0] ? hint : NULL, "unknown option '-%s'", quote(letter).s);
}

/* getopt refused the word before argv[optind], or the option with the value @val in that word or
 * the next one: at the end of a word, getopt has gone on already. */
static int fail_option(struct parse *p, bool no_value, int val, char **argv)
{
	const char *typed = argv[optind - 1];
	int i = find_opt(p, val);

	if (i >= 0 && no_value)
		return fail(p, NULL, "--%s needs a value: %s", p->opts[i]->long_name,
			    p->opts[i]->arg);
	if (i >= 0)
		return fail(p, NULL, "--%s takes no value", p->opts[i]->long_name);
	if (val && optind < p->argc && argv[optind][0] == '-' && strchr(argv[optind], val))
		typed = argv[optind];
	if (val)
		return unknown_letter(p, val, typed);
	return unknown_option(p, typed);
}

static bool takes_one_value(const struct opt *o)
{
	return o->type == OPT_TYPE_UINT || o->type == OPT_TYPE_DURATION ||
	       o->type == OPT_TYPE_STRING || o->type == OPT_TYPE_CHOICE;
}

/*
 * Whether the next word is one more value of an option with a list of numbers, as in "-p $(pgrep
 * name)". It is, if it is a whole number that cannot be an INTERVAL or a COUNT. There are too many
 * numbers for these, or the number is too large for an interval in seconds.
 */
static bool more_numbers(struct parse *p, char **argv)
{
	enum { LONG_INTERVAL = 300 };
	uint64_t value;
	const char *why;
	int n = 0, args = 0;

	if (!p->t->command) /* other commands have names of files */
		return false;
	for (const struct opt *a = p->next_arg; a && a->arg; a++)
		args += a->many ? 2 : 1;
	while (optind + n < p->argc && !opts_uint(argv[optind + n], &value, &why))
		n++;
	p->in_numbers = n && (p->in_numbers || n > args ||
			      (!opts_uint(argv[optind], &value, &why) && value > LONG_INTERVAL));
	return p->in_numbers;
}

static int parse_one(struct parse *p, int val, char **argv)
{
	int i, err;

	if (val == 1)
		return store_arg(p, argv, optarg);
	if (val == ':' || val == '?')
		return fail_option(p, val == ':', optopt, argv);
	i = find_opt(p, val);
	if (i == 0)
		return OPTS_HELP;
	if (i == 1)
		return OPTS_VERSION;
	if (p->given[i] && takes_one_value(p->opts[i]))
		return fail(p, NULL, "--%s is given twice", p->opts[i]->long_name);
	p->given[i] = true;
	p->in_numbers = false;
	err = store(p, p->opts[i], p->base[i], optarg);
	while (!err && p->opts[i]->type == OPT_TYPE_UINTS && more_numbers(p, argv))
		err = store(p, p->opts[i], p->base[i], argv[optind++]);
	while (!err && p->opts[i]->more_words && optind < p->argc && argv[optind][0] != '-')
		err = store(p, p->opts[i], p->base[i], argv[optind++]);
	return err;
}

/* Splits off the command after the first "--". Returns the number of words before it. */
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

/* The hint is the first example of the command. */
static int argument_missing(struct parse *p, const struct opt *argument)
{
	const struct opt_example *example = p->t->examples;
	char hint[sizeof(p->res->hint)];

	if (!example || !example->command)
		return fail(p, NULL, "%s is missing", argument->arg);
	snprintf(hint, sizeof(hint), "for example: %s", example->command);
	return fail(p, hint, "%s is missing", argument->arg);
}

/* The argument after one with many values has taken no value so far: it takes the last one. */
static int last_taken(struct parse *p)
{
	const struct opt *a = p->next_arg;

	if (!a || !a->arg || !a->many || !a[1].arg || p->res->n_rest < 1)
		return 0;
	p->next_arg++;
	if (p->res->n_rest < 2)
		return argument_missing(p, p->next_arg);
	return store(p, p->next_arg++, 0, p->res->rest[--p->res->n_rest]);
}

/* Without a command, the words after "--" are arguments, though they may begin with "-". */
static int store_after(struct parse *p, char **argv)
{
	char **word = p->res->command;
	int err = 0;

	if (!word || p->t->command || !p->t->args || !p->t->args[0].arg)
		return 0;
	for (p->res->command = NULL; *word && !err; word++)
		err = store_arg(p, argv, *word);
	return err;
}

static int check_command(struct parse *p)
{
	const struct opt *a = p->next_arg;

	if (a && a->arg && a->required && !p->res->n_rest)
		return argument_missing(p, a);
	if (!p->res->command)
		return 0;
	if (!p->t->command)
		return fail(p, NULL, "%s takes no command after --", p->t->name);
	if (!*p->res->command)
		return fail(p, NULL, "no command after --");
	return 0;
}

int opts_parse(const struct opt_table *t, int argc, char **argv, void *out, struct opts_result *res)
{
	struct parse p = { .t = t, .res = res, .out = out };
	int val, err;

	*res = (struct opts_result){};
	argc = p.argc = split_command(&p, argc, argv);
	err = parse_init(&p);
	while (!err && (val = getopt_long(argc, argv, p.shorts, p.longs, NULL)) != -1)
		err = parse_one(&p, val, argv);
	err = err ? err : store_after(&p, argv);
	err = err ? err : last_taken(&p);
	return err ? err : check_command(&p);
}
