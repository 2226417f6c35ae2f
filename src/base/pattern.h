/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pattern.h - patterns of functions to trace: "ext4_*", "/^ext4_(da_)?write/", "xfs:*", "c:pread*",
 * "/usr/bin/x:main", "./x:ns::Class::f", "!ext4_es_*". Knows no functions, only names.
 */
#ifndef IOSTRATA_BASE_PATTERN_H
#define IOSTRATA_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stddef.h>

struct reason;
struct pattern;

/*
 * Reads @text. It outlives the result: [!][SCOPE:]GLOB or [!][SCOPE:]/REGEX/. A scope with a slash
 * is the path of a program or library, "c" is the C library, any other a module. Returns 0 with
 * @ret_pattern, or -1 with @why: the error in the regular expression, and its place.
 */
int pattern_open(const char *text, struct pattern **ret_pattern, struct reason *why);
void pattern_free(struct pattern *p); /* NULL is fine */

bool pattern_excludes(const struct pattern *p);

/* Whether the scope is a program or library, not the kernel. */
bool pattern_is_user(const struct pattern *p);

/* The module, the path or "c"; "" for none. */
const char *pattern_scope(const struct pattern *p);

/* The pattern for names: a glob, or a regular expression with its slashes. */
const char *pattern_name(const struct pattern *p);

/* Whether @name matches @glob. Compares the text before the second wildcard first, and rejects most
 * names so. This is much faster than fnmatch() alone: in a UTF-8 locale, fnmatch() converts both
 * texts.
 * */
bool glob_matches(const char *glob, const char *name);

/* Whether function @name matches; the scope is not checked. */
bool pattern_matches(struct pattern *p, const char *name);

/* Whether the patterns select function @name of module or file @scope: one matches, and none
 * excludes it. */
bool patterns_mean(struct pattern *const patterns[], size_t n, const char *scope, const char *name);

/* As patterns_mean(), for a function with @n_names names. NULL among them is no name. A pattern
 * matches the function if it matches one of these names. */
bool patterns_mean_any(struct pattern *const patterns[], size_t n, const char *scope,
		       const char *const names[], size_t n_names);

/* Whether any name has matched. For an excluding pattern: any name selected by the others. */
bool pattern_has_matched(const struct pattern *p);

/*
 * The distance of @name from the text of the pattern: the number of edits (Levenshtein), at most
 * PATTERN_FAR. Characters matched by '*' cost nothing, so "ext4_*_wirte" is near to
 * "ext4_buffered_write".
 */
enum { PATTERN_FAR = 1000 };
unsigned int pattern_distance(const struct pattern *p, const char *name);

#endif
