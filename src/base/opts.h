/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * opts.h - typed tables of options: parsing, -h, the manual and shell completion use the same rows,
 * so they cannot differ.
 *
 * An option is a row: names, type, a member of the command's struct of options, and one sentence.
 * Options shared by commands are a table of their own, for a struct embedded in each command's:
 *
 *	static const struct opt output_opts[] = {
 *		{ 'm', "milliseconds", OPT_FLAG(struct my_opts, milliseconds),
 *		  .help = "print times in milliseconds" },
 *		{ 'D', "duration", OPT_DURATION(struct my_opts, duration_ns), .arg = "DUR",
 *		  .min = 1, .help = "end after this time" },
 *		{}
 *	};
 *	static const struct opt_group groups[] = {
 *		{ "Filters", filter_opts, offsetof(struct my_opts, filter) },
 *		{ "Output", output_opts, 0 },
 *		{}
 *	};
 *
 * -h, --help and -V, --version need no row. Only opts_help(), opts_scdoc() and opts_complete()
 * print; nothing exits.
 */
#ifndef IOSTRATA_BASE_OPTS_H
#define IOSTRATA_BASE_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct column;
struct schema;

enum opt_type {
	OPT_TYPE_FLAG,     /* bool */
	OPT_TYPE_UINT,     /* uint64_t */
	OPT_TYPE_DURATION, /* uint64_t, ns */
	OPT_TYPE_STRING,   /* const char *, points into argv; empty is refused */
	OPT_TYPE_CHOICE,   /* int */
	OPT_TYPE_UINTS,    /* struct opt_uints */
	OPT_TYPE_STRINGS,  /* struct opt_strings */
	OPT_TYPE_PATHS,    /* struct opt_strings; a comma is part of the value */
	OPT_TYPE_CHOICES,  /* unsigned int, a set of 1 << value */
	OPT_TYPE_TIMES,    /* int: how often the option is given, -vv */
};

/*
 * Options that take a list may be given several times, each time with several values separated by
 * commas; argv is cut at the commas. All values add up.
 */
enum { OPT_LIST_MAX = 16 };

struct opt_uints {
	uint64_t at[OPT_LIST_MAX];
	unsigned int n;
};

struct opt_strings {
	const char *at[OPT_LIST_MAX]; /* point into argv; none is empty */
	unsigned int n;
};

/* Whether the filter @list lets @text pass, which has @cap bytes or a NUL: the list has it, or is
 * empty or NULL. */
bool opt_strings_pass(const struct opt_strings *list, const char *text, size_t cap);

/* A list of choices ends with an empty row. */
struct opt_choice {
	const char *name;
	int value;
};

/* Offset of a member. Does not compile if the member has the wrong type for the option. */
#define OPT_AT(s, m, type)                                                                         \
	(offsetof(s, m) +                                                                          \
	 0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((s *)0)->m), type) ? 1 : -1]))

#define OPT_FLAG(s, m)     .type = OPT_TYPE_FLAG, .offset = OPT_AT(s, m, bool)
#define OPT_UINT(s, m)     .type = OPT_TYPE_UINT, .offset = OPT_AT(s, m, uint64_t)
#define OPT_DURATION(s, m) .type = OPT_TYPE_DURATION, .offset = OPT_AT(s, m, uint64_t)
#define OPT_STRING(s, m)   .type = OPT_TYPE_STRING, .offset = OPT_AT(s, m, const char *)
#define OPT_CHOICE(s, m, list)                                                                     \
	.type = OPT_TYPE_CHOICE, .offset = OPT_AT(s, m, int), .choices = (list)
#define OPT_TIMES(s, m)   .type = OPT_TYPE_TIMES, .offset = OPT_AT(s, m, int)
#define OPT_UINTS(s, m)   .type = OPT_TYPE_UINTS, .offset = OPT_AT(s, m, struct opt_uints)
#define OPT_STRINGS(s, m) .type = OPT_TYPE_STRINGS, .offset = OPT_AT(s, m, struct opt_strings)
#define OPT_PATHS(s, m)   .type = OPT_TYPE_PATHS, .offset = OPT_AT(s, m, struct opt_strings)
#define OPT_CHOICES(s, m, list)                                                                    \
	.type = OPT_TYPE_CHOICES, .offset = OPT_AT(s, m, unsigned int), .choices = (list)

/*
 * A list of options or arguments ends with an empty row. Options have a long name, arguments have
 * none (only .arg, .type, .offset, .help, limits). The member of an option not given stays
 * unchanged: the caller sets defaults. An option with a value may be given once, or several times
 * if it takes a list.
 */
struct opt {
	char short_name; /* 0: none */
	const char *long_name;
	enum opt_type type;
	size_t offset;
	const struct opt_choice *choices;
	const struct opt_choice *also;  /* other words for the same values, not listed */
	const struct opt_choice *known; /* of a text: some of its values, for completion */
	const struct column *columns;   /* likewise, the names of these columns */
	const char *arg;  /* name of the value in the help: "PID"; says what may be completed, see
			     opts_complete() */
	const char *help; /* one sentence, no capital, no full stop */
	const char *no_number; /* of a number: the hint for a value that is none */
	uint64_t min, max;     /* for uint and duration (ns); max 0: no limit */
	bool required;         /* the argument must be given */
	/* Its values go to .rest. It is the last argument, or the last but one, which then takes
	 * the last value. */
	bool many;
	bool no_duration; /* an argument of text: left out if the word is a duration */
	bool more_words;  /* of paths: the words after the value are values, too, as a shell expands
			     a pattern */
};

struct opt_group {
	const char *title;
	const struct opt *opts;
	size_t base; /* added to every offset: where the struct is embedded */
};

struct opt_example {
	const char *command;
	const char *what;
};

/* The columns of a command's output, for the manual. */
struct opt_columns {
	const char *title; /* "Operations" */
	const struct column *list;
};

/* A word in a command's output, for help and manual. */
struct opt_term {
	const char *name;  /* in JSON */
	const char *label; /* in text */
	const char *help;
};

/* One command: all text of -h and the manual. Lists end with an empty row or are NULL. */
struct opt_table {
	const char *name;    /* as typed: "iostrata breakdown" */
	const char *summary; /* one line */
	const char *about;   /* a paragraph, or NULL */
	const struct opt_group *groups;
	const struct opt *args; /* in order */
	bool command;           /* takes "-- CMD ARGS" */
	const struct opt_example *examples;
	const struct opt_columns *columns;
	const struct opt_choice *schema_names; /* their values: indexes in .schemas */
	const struct schema *const *schemas;   /* for the manual of JSON */
	const struct opt_term *terms;
	const char *terms_title;
};

struct opts_result {
	char **command; /* the words after "--", ends with NULL; NULL: no command */
	char **rest;    /* values of a .many argument, inside argv */
	int n_rest;
	char error[256];  /* one line, safe to print: "invalid value 'abc' for ..." */
	char hint[256];   /* advice for the user, or "" */
	char unknown[64]; /* the name of a long option that is none of the command's, or "" */
};

/* Results of opts_parse() other than 0 and -EINVAL. */
enum { OPTS_HELP = 1, OPTS_VERSION = 2 };

/*
 * Parses argv[1..] (argv[0] is the command's name). Options and arguments may be mixed; the first
 * "--" ends both and begins the command. argv before it may be reordered. Values go into @out.
 * Returns 0; OPTS_HELP or OPTS_VERSION at the first such option; or -EINVAL with res->error and
 * res->hint, when @out may hold some values. Not reentrant, because getopt_long(3) is not.
 */
int opts_parse(const struct opt_table *t, int argc, char **argv, void *out,
	       struct opts_result *res);

/* Whether the command has the long option @name. */
bool opts_have(const struct opt_table *t, const char *name);

/* Usage, options in groups, examples; fits 80 columns. Returns 0 or -errno of a failed write. */
int opts_help(FILE *f, const struct opt_table *t);

/*
 * A part of the command's manual page in scdoc(5) syntax, without its heading: "name", "synopsis",
 * "about", "options", "terms", "examples"; "columns of TITLE", a list of columns; "members of
 * NAME", the members of a schema's first object, or "members of NAME.OBJECT". NULL: lists the names
 * of all parts. Returns 0, -EINVAL if there is no such part, or -errno of a failed write.
 */
int opts_scdoc(FILE *f, const struct opt_table *t, const char *part);

/*
 * For a shell: prints candidates for the last of @words (@n words, without the program's name; the
 * last may be empty). A line each: the word, a tab, its description. If the shell must complete the
 * word itself, a last line begins with a colon: ":files" or ":dirs", a tab, and the number of bytes
 * of the word before the file's name; or ":command", a tab, and the number of @words before the
 * command. Returns 0 or -errno of a failed write.
 */
int opts_complete(FILE *f, const struct opt_table *const *tables, int tables_n, char **words,
		  int n);

/*
 * The strict parsers. Decimal digits only: no sign, space, hexadecimal or exponent; the whole text
 * must match. Returns 0, or -EINVAL / -ERANGE with @ret_why, the reason ("not a number").
 */
int opts_uint(const char *s, uint64_t *ret_value, const char **ret_why);

/* Digits, a point and digits, or both, then ns us ms s m h or nothing (seconds). A
 * value finer than a nanosecond is refused, not rounded. */
int opts_duration(const char *s, uint64_t *ret_ns, const char **ret_why);

/* The reason why a value is refused. */
struct opts_wrong {
	char why[80];
	const char *hint; /* "" if there is none */
	bool is_limit;    /* a number, but outside its limits */
};

/* The value of @o, a number or a duration within its limits. Returns 0, or -EINVAL or -ERANGE with
 * @ret_wrong. */
int opts_number(const struct opt *o, const char *text, uint64_t *ret_value,
		struct opts_wrong *ret_wrong);

/* The known name nearest to a mistyped one. */

struct nearest {
	const char *typed;
	const char *name; /* the nearest name tried so far; NULL: no name is near */
	int distance;     /* edits: letters added, left out, mistaken or swapped */
};

void nearest_try(struct nearest *n, const char *name);

#endif
