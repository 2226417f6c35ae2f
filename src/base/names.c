// SPDX-License-Identifier: GPL-2.0-only
/*
 * names.c - one table per enum of event.h; see names.h.
 */
#include "base/names.h"

#include <stddef.h>
#include <string.h>

#include "cell.h"

#define NAME_OF(table, id) ((id) < sizeof(table) / sizeof((table)[0]) ? (table)[id] : "?")

#define OP_CASE(number, id, name, ...)                                                             \
	case OP_##id:                                                                              \
		return name;

/* The compiler refuses a number that two kinds have. */
const char *op_known(unsigned int op)
{
	switch (op) {
	case OP_NONE:
		return "none";
		OP_LIST(OP_CASE)
	case OP_COPY_TO:
		return "copy_to";
	case OP_HANDLE:
	case OP_MINOR_FAULT:
		break;
	}
	return NULL;
}

const char *op_name(unsigned int op)
{
	const char *name = op_known(op);

	return name ? name : "?";
}

unsigned int op_called(const char *name)
{
	for (unsigned int op = OP_NONE + 1; op < OP_N; op++)
		if (op_known(op) && !strcmp(name, op_known(op)))
			return op;
	return OP_NONE;
}

#define OP_NOUNS(number, id, name, one, many) [OP_##id] = { one, many },

const char *op_noun(unsigned int op, uint64_t n)
{
	static const char *const nouns[OP_N][2] = { OP_LIST(OP_NOUNS) };

	return op < OP_N && nouns[op][0] ? nouns[op][n != 1] : n == 1 ? "operation" : "operations";
}

#define STRATUM_TERM(id, name, label, letter, share, rank, mostly, help)                           \
	[ST_##id] = { #name, label, help },

const struct opt_term strata_terms[] = { STRATUM_LIST(STRATUM_TERM){} };

const char *stratum_name(unsigned int st)
{
	return st < ST_N ? strata_terms[st].name : "?";
}

const char *stratum_label(unsigned int st)
{
	return st < ST_N ? strata_terms[st].label : "?";
}

#define STRATUM_LETTER(id, name, label, letter, ...) [ST_##id] = letter,

char stratum_letter(unsigned int st)
{
	static const char letters[ST_N + 1] = { STRATUM_LIST(STRATUM_LETTER) };

	return st < ST_N ? letters[st] : '?';
}

const char *cache_name(unsigned int cache)
{
	static const char *const names[CACHE_N] = {
		"-", "hit", "miss", "readahead", "direct", "not known", "hit (read ahead)"
	};

	return NAME_OF(names, cache);
}

const char *cache_known(unsigned int cache)
{
	if (cache == CACHE_HIT_AHEAD)
		return "hit_ahead";
	return cache == CACHE_NONE || cache == CACHE_UNKNOWN ? NULL : cache_name(cache);
}

const char *rq_op_name(unsigned int op)
{
	static const char *const names[RQ_N] = { "read",  "write",  "flush", "discard",
						 "erase", "zeroes", "zone",  "other" };

	return NAME_OF(names, op);
}

const char *rq_op_code(unsigned int op)
{
	static const char *const codes[RQ_N] = { "R", "W", "F", "D", "DE", "WZ", "Z", "N" };

	return NAME_OF(codes, op);
}

const char *by_name(unsigned int by)
{
	static const char *const names[] = { "-",    "pid",     "comm",   "file", "cgroup",
					     "dev",  "cache",   "tid",    "task", "container",
					     "host", "server",  "client", "dir",  "function",
					     "line", "library", "stack" };

	return NAME_OF(names, by);
}

const char *layer_name(unsigned int layer)
{
	static const char *const names[] = { "ops", "syscall", "vfs", "fs", "blk" };

	return NAME_OF(names, layer);
}

const char *behalf_name(unsigned int behalf)
{
	static const char *const names[BEHALF_N] = { NULL, "writeback", "helper" };

	return behalf < BEHALF_N ? names[behalf] : NULL;
}

#define LOST_WORDS(id, name, one, more) [LOST_##id] = { name, one, more },

/* The last are hits that the kernel missed: recordings do not store them as a kind. */
static const struct {
	const char *name, *one, *more;
} losses[LOST_N + 1] = {
	LOST_LIST(LOST_WORDS)[LOST_N] = { "missed", "probe hit was not run by the kernel",
					  "probe hits were not run by the kernel" },
};

#define LOST_CHOICE(id, name, one, more) { name, LOST_##id },

const struct opt_choice lost_choices[] = { LOST_LIST(LOST_CHOICE){ "missed", LOST_N }, {} };

const char *lost_name(unsigned int lost)
{
	return lost < LOST_N ? losses[lost].name : "?";
}

const char *lost_what(unsigned int lost, uint64_t n)
{
	if (lost > LOST_N)
		return "?";
	return n == 1 ? losses[lost].one : losses[lost].more;
}

static const char *stratum_help(unsigned int st)
{
	return strata_terms[st].help;
}

static const char *lost_help(unsigned int lost)
{
	const char *what = lost_what(lost, 2);

	return what ? what
		    : "calls were seen to end but not to begin, mostly since they are older than "
		      "the tracing; no loss";
}

static const struct who_row {
	const char *name, *before, *after;
	unsigned int strata;
} who_rows[WHO_N] = {
#define WHO_ROW(number, id, name, before, after, functions, strata)                                \
	[number] = { name, before, after, strata },
	WHO_LIST(WHO_ROW)
#undef WHO_ROW
};

const char *who_known(unsigned int who)
{
	return who < WHO_N ? who_rows[who].name : NULL;
}

const char *who_name(unsigned int who)
{
	return who_known(who) ? who_known(who) : "?";
}

const char *who_before(unsigned int who)
{
	return who_known(who) ? who_rows[who].before : "";
}

const char *who_after(unsigned int who)
{
	return who_known(who) ? who_rows[who].after : "";
}

unsigned int who_strata(unsigned int who)
{
	return who_known(who) ? who_rows[who].strata : 0;
}

const char *limit_known(unsigned int limit)
{
	static const char *const names[LIMIT_N] = {
#define LIMIT_NAME(number, id, name, functions) [number] = name,
		LIMIT_LIST(LIMIT_NAME)
#undef LIMIT_NAME
	};

	return limit < LIMIT_N ? names[limit] : NULL;
}

const struct word_list op_words = { op_known, .from = OP_READ, .to = OP_N };
static const struct word_list copy_words = { op_known, .from = OP_COPY_TO, .to = OP_COPY_TO + 1 };
const struct word_list row_words = { op_known, .from = OP_READ, .to = OP_N, .more = &copy_words };
const struct word_list strata_words = { stratum_name, .from = 0, .to = ST_N, .help = stratum_help };
const struct word_list cache_words = { cache_known, .from = 0, .to = CACHE_N };
const struct word_list rq_words = { rq_op_code, .from = 0, .to = RQ_N };
const struct word_list behalf_words = { behalf_name, .from = 0, .to = BEHALF_N };
const struct word_list who_words = { who_known, .from = WHO_NONE + 1, .to = WHO_N };
const struct word_list limit_words = { limit_known, .from = LIMIT_NONE + 1, .to = LIMIT_N };
const struct word_list lost_words = { lost_name, .from = 0, .to = LOST_N, .help = lost_help };
