// SPDX-License-Identifier: GPL-2.0-only
#include "funcs/func_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pattern.h"
#include "base/reason.h"
#include "funcs/func_find_elf.h"
#include "funcs/func_find_kernel.h"
#include "funcs/func_rows.h"
#include "funcs/func_session.h"

/* The patterns of the command line; free with patterns_done(). */
struct patterns {
	struct pattern **at;
	size_t n;
	bool user;
};

static void patterns_done(struct patterns *p)
{
	for (size_t i = 0; i < p->n; i++)
		pattern_free(p->at[i]);
	free(p->at);
}

/* If a pattern is the name of a file: explains how to write the pattern, or the command. */
static int file_hint(const char *name, struct reason *why)
{
	if (strchr(name, '/'))
		return reason_hint(why,
				   "'%.60s' is a file: its functions are '%.60s:*'; a command "
				   "comes after --",
				   name, name);
	return reason_hint(why,
			   "'%.60s' is a file: quote patterns, or the shell replaces them by "
			   "names of files",
			   name);
}

/* A scope without such a module: a program or library must be named by its path. */
static int module_hint(const char *module, struct reason *why)
{
	static const char *const dirs[] = { ".", "/usr/bin", "/usr/sbin", "/usr/local/bin" };
	char path[256];

	if (!strcmp(module, "libc"))
		return reason_hint(why, "the C library is 'c:...'");
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		snprintf(path, sizeof(path), "%s/%.200s", dirs[i], module);
		if (!access(path, X_OK))
			return reason_hint(why,
					   "no module has this name; functions of the program "
					   "are '%s:...'",
					   path);
	}
	return reason_hint(
		why,
		"no module '%.60s' is loaded; name a function built into the kernel without a "
		"module, and one of a program or library with its path: '/usr/bin/%.60s:...'",
		module, module);
}

/* The kernel and a program have separate stacks, so their calls cannot be traced together. */
static int patterns_check(struct patterns *p, const struct func_session_conf *conf,
			  struct reason *why)
{
	size_t kernel = 0, user = 0;
	const char *file = NULL;

	for (size_t i = 0; i < p->n; i++) {
		if (pattern_excludes(p->at[i]))
			continue;
		kernel += !pattern_is_user(p->at[i]);
		user += pattern_is_user(p->at[i]);
		if (!pattern_is_user(p->at[i]) && !access(conf->patterns[i], F_OK))
			file = conf->patterns[i];
	}
	if (!kernel && !user) {
		reason_set(why, EXIT_USAGE, "every pattern excludes functions");
		return reason_hint(why, "also name functions to trace: 'ext4_*' '!ext4_es_*'");
	}
	if (kernel && user) {
		reason_set(why, EXIT_USAGE,
			   "functions of the kernel and of programs cannot be "
			   "traced together");
		if (file)
			return file_hint(file, why);
		return reason_hint(why, "PATH:glob and c:glob match functions of programs, all "
					"other patterns those of the kernel");
	}
	p->user = user;
	return 0;
}

static int patterns_open(struct patterns *p, const struct func_session_conf *conf,
			 struct reason *why)
{
	p->at = calloc(conf->n_patterns, sizeof(*p->at));
	if (!p->at)
		return reason_no_memory(why);
	for (; p->n < conf->n_patterns; p->n++)
		if (pattern_open(conf->patterns[p->n], &p->at[p->n], why))
			return -1;
	return patterns_check(p, conf, why);
}

/* The first module named by a pattern but not loaded, or NULL. */
static const char *module_missing(const struct patterns *p)
{
	char path[128];

	for (size_t i = 0; i < p->n && !p->user; i++) {
		const char *scope = pattern_scope(p->at[i]);

		snprintf(path, sizeof(path), "/sys/module/%s/sections", scope);
		if (*scope && !pattern_excludes(p->at[i]) && access(path, F_OK))
			return scope;
	}
	return NULL;
}

enum which { INCLUDES, INCLUDES_AND_MATCHED, EXCLUDES_AND_MATCHED };

/* The first pattern that includes functions, or excludes some, or NULL if there is none. */
static const char *first_pattern(const struct patterns *p, const struct func_session_conf *conf,
				 enum which which)
{
	for (size_t i = 0; i < p->n; i++)
		if (pattern_excludes(p->at[i]) == (which == EXCLUDES_AND_MATCHED) &&
		    (which == INCLUDES || pattern_has_matched(p->at[i])))
			return conf->patterns[i];
	return NULL;
}

static int nothing_matches(const struct patterns *p, const struct func_session_conf *conf,
			   struct reason *why)
{
	const char *wanted = first_pattern(p, conf, INCLUDES), *module = module_missing(p);
	const char *excluding = first_pattern(p, conf, EXCLUDES_AND_MATCHED);
	char near[256] = "";

	if (excluding)
		return reason_set(why, EXIT_FAILED,
				  "'%.100s' excludes all functions that '%.100s' "
				  "matches",
				  excluding, first_pattern(p, conf, INCLUDES_AND_MATCHED));
	reason_set(why, EXIT_FAILED, "no function matches '%.100s'%s", wanted,
		   conf->n_patterns > 1 ? " ..." : "");
	if (!access(wanted, F_OK))
		return file_hint(wanted, why);
	if (module)
		return module_hint(module, why);
	if (!p->user)
		func_kernel_nearest(p->at, p->n, near, sizeof(near));
	if (near[0])
		return reason_hint(why, "did you mean: %s", near);
	return reason_hint(why, "a pattern matches whole names: '*read*' is every name with read "
				"in it; a function may also be inlined in all its callers");
}

/* Lists a pattern without a match as not traced, if other patterns match functions. */
static int unmatched_add(struct func_list *l, const struct patterns *p,
			 const struct func_session_conf *conf, struct reason *why)
{
	for (size_t i = 0; i < p->n; i++) {
		if (pattern_excludes(p->at[i]) || pattern_has_matched(p->at[i]))
			continue;
		if (func_list_add(l, conf->patterns[i], "", 0))
			return reason_no_memory(why);
		l->at[l->n - 1].refused =
			"no function matches; it may be inlined in all its callers";
	}
	return 0;
}

/* Tells each of several processes that does not use a file of @l. Such files are looked for as this
 * process sees them. Functions of one file are neighbours. */
static void unused_tell(const struct func_session_conf *conf, const struct func_list *l)
{
	for (size_t i = 0; i < l->n && conf->unused; i++) {
		const char *path = l->at[i].where;

		if (!*path || (i && path == l->at[i - 1].where))
			continue;
		for (unsigned int p = 0; p < conf->n_pids; p++)
			if (!func_elf_is_used(path, conf->pids[p]))
				conf->unused(conf->pids[p], path);
	}
}

static int list_patterns(const struct patterns *p, const struct func_session_conf *conf,
			 bool explain, struct func_list *l, struct reason *why)
{
	struct func_elf_conf elf = { .risk_exceptions = conf->risk_exceptions,
				     .unused = conf->unused,
				     .pids = conf->pids,
				     .n_pids = conf->n_pids,
				     .pid = conf->n_pids == 1 ? conf->pids[0] : 0 };
	int err;

	if (p->user)
		err = func_elf_list(l, p->at, p->n, &elf, why);
	else
		err = func_kernel_list(l, p->at, p->n, explain, why);
	if (err)
		return err;
	if (p->user && conf->n_pids > 1)
		unused_tell(conf, l);
	return l->n ? unmatched_add(l, p, conf, why) : nothing_matches(p, conf, why);
}

int func_find(const struct func_session_conf *conf, bool explain, struct func_list *l,
	      bool *ret_user, struct reason *why)
{
	struct patterns p = {};
	int err = patterns_open(&p, conf, why);

	if (!err)
		err = list_patterns(&p, conf, explain, l, why);
	*ret_user = p.user;
	patterns_done(&p);
	return err;
}
