// SPDX-License-Identifier: GPL-2.0-only
#include "base/pattern.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/reason.h"

enum { NAME_MAX_LEN = 512 }; /* the kernel's KSYM_NAME_LEN since 6.1 */

struct pattern {
	bool excludes, user, has_matched;
	char *scope; /* owned */
	const char *name;
	pcre2_code *regex; /* NULL: a glob */
	pcre2_match_data *match;
};

static bool is_file(const char *path, size_t len)
{
	char *copy = strndup(path, len);
	bool is = copy && !access(copy, F_OK);

	free(copy);
	return is;
}

/* The last colon that is alone: names of C++ have two ("ns::f"). Returns NULL if there is none. */
static const char *lone_colon(const char *text)
{
	for (size_t i = strlen(text); i-- > 0;)
		if (text[i] == ':' && text[i + 1] != ':' && (!i || text[i - 1] != ':'))
			return text + i;
	return NULL;
}

/* Where the path before a name ends: at the last colon behind a file, since both may have colons.
 * If there is no such file here, at the last colon that is alone. */
static const char *path_end(const char *text)
{
	for (size_t i = strlen(text); i-- > 1;)
		if (text[i] == ':' && is_file(text, i))
			return text + i;
	return lone_colon(text);
}

/* Where the scope ends, or NULL. A path may contain colons, and so may a regular expression. */
static const char *scope_end(const char *text)
{
	size_t len = strlen(text);
	const char *end;

	if (text[0] != '/' && !strchr(text, '/'))
		return strchr(text, ':');
	if (text[0] != '/' && text[len - 1] == '/')
		return strstr(text, ":/");
	if (len < 2 || text[len - 1] != '/')
		return path_end(text);
	end = strstr(text, ":/");
	return end && is_file(text, end - text) ? end : NULL;
}

static int regex_open(struct pattern *p, struct reason *why)
{
	const char *text = p->name + 1;
	size_t len = strlen(text) - 1, at;
	PCRE2_UCHAR said[128];
	int err;

	p->regex = pcre2_compile((PCRE2_SPTR)text, len, 0, &err, &at, NULL);
	if (!p->regex) {
		pcre2_get_error_message(err, said, sizeof(said));
		reason_set(why, EXIT_USAGE, "wrong regular expression '%.100s': %s", p->name,
			   (char *)said);
		return reason_hint(why, "at character %zu: %.*s <-- here", at + 1, (int)at, text);
	}
	p->match = pcre2_match_data_create(1, NULL);
	return p->match ? 0 : reason_no_memory(why);
}

static int pattern_read(struct pattern *p, const char *text, struct reason *why)
{
	const char *end, *whole = text;
	size_t len;

	if (text[0] == '!') {
		p->excludes = true;
		text++;
	}
	end = scope_end(text);
	p->scope = end ? strndup(text, end - text) : strdup("");
	if (!p->scope)
		return reason_no_memory(why);
	p->name = end ? end + 1 : text;
	p->user = strchr(p->scope, '/') || !strcmp(p->scope, "c");
	len = strlen(p->name);
	if (!len || (end && !*p->scope)) {
		reason_set(why, EXIT_USAGE, "'%.100s' names no function", whole);
		return reason_hint(why, "for example 'ext4_*', '/^ext4_.*write/', 'xfs:*' or "
					"'c:pread*'");
	}
	return len > 1 && p->name[0] == '/' && p->name[len - 1] == '/' ? regex_open(p, why) : 0;
}

int pattern_open(const char *text, struct pattern **ret_pattern, struct reason *why)
{
	struct pattern *p = calloc(1, sizeof(*p));

	if (!p)
		return reason_no_memory(why);
	if (pattern_read(p, text, why)) {
		pattern_free(p);
		return -1;
	}
	*ret_pattern = p;
	return 0;
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	pcre2_match_data_free(p->match);
	pcre2_code_free(p->regex);
	free(p->scope);
	free(p);
}

bool pattern_excludes(const struct pattern *p)
{
	return p->excludes;
}

bool pattern_is_user(const struct pattern *p)
{
	return p->user;
}

const char *pattern_scope(const struct pattern *p)
{
	return p->scope;
}

const char *pattern_name(const struct pattern *p)
{
	return p->name;
}

bool glob_matches(const char *glob, const char *name)
{
	static const char special[] = "*?[\\";
	size_t plain = strcspn(glob, special);

	if (strncmp(glob, name, plain))
		return false;
	glob += plain;
	name += plain;
	plain = strspn(glob, "*");
	return memmem(name, strlen(name), glob + plain, strcspn(glob + plain, special)) &&
	       !fnmatch(glob, name, 0);
}

bool pattern_matches(struct pattern *p, const char *name)
{
	bool is = p->regex ? pcre2_match(p->regex, (PCRE2_SPTR)name, strlen(name), 0, 0, p->match,
					 NULL) >= 0
			   : glob_matches(p->name, name);

	p->has_matched |= is;
	return is;
}

static bool is_in_scope(const struct pattern *p, const char *scope)
{
	return !*p->scope || !strcmp(p->scope, scope);
}

static bool matches_any(struct pattern *p, const char *const names[], size_t n_names)
{
	bool is = false;

	for (size_t i = 0; i < n_names && !is; i++)
		is = names[i] && pattern_matches(p, names[i]);
	return is;
}

bool patterns_mean_any(struct pattern *const patterns[], size_t n, const char *scope,
		       const char *const names[], size_t n_names)
{
	bool meant = false;

	for (size_t i = 0; i < n; i++)
		if (!patterns[i]->excludes && is_in_scope(patterns[i], scope))
			meant |= matches_any(patterns[i], names, n_names);
	for (size_t i = 0; i < n && meant; i++)
		if (patterns[i]->excludes && is_in_scope(patterns[i], scope))
			meant = !matches_any(patterns[i], names, n_names);
	return meant;
}

bool patterns_mean(struct pattern *const patterns[], size_t n, const char *scope, const char *name)
{
	return patterns_mean_any(patterns, n, scope, &name, 1);
}

bool pattern_has_matched(const struct pattern *p)
{
	return p->has_matched;
}

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int d = a < b ? a : b;

	return d < c ? d : c;
}

/* Edit distance row by row; '*' matches any number of characters at no cost. */
unsigned int pattern_distance(const struct pattern *p, const char *name)
{
	unsigned int row[NAME_MAX_LEN + 1], diagonal, above;
	size_t len = strlen(name);

	if (p->regex || len > NAME_MAX_LEN)
		return PATTERN_FAR;
	for (size_t i = 0; i <= len; i++)
		row[i] = i;
	for (const char *c = p->name; *c; c++) {
		diagonal = row[0];
		row[0] += *c != '*';
		for (size_t i = 1; i <= len; i++) {
			above = row[i];
			if (*c == '*')
				row[i] = above < row[i - 1] ? above : row[i - 1];
			else
				row[i] = least(diagonal + (*c != name[i - 1] && *c != '?'),
					       above + 1, row[i - 1] + 1);
			diagonal = above;
		}
	}
	return row[len];
}
