/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func_load.h - the ways to probe functions, and loading the programs for one or two of them.
 * Attaches nothing.
 */
#ifndef IOSTRATA_FUNCS_FUNC_LOAD_H
#define IOSTRATA_FUNCS_FUNC_LOAD_H

#include <stdbool.h>

#include "bpf/func.h"

struct bpf_program;
struct feature;
struct func_bpf;

/* How many functions a program serves: one, with a copy loaded for each function (EACH), or all at
 * once. And whether each end has a program, or one program serves both (SESSION). */
enum func_way { FUNC_EACH, FUNC_EACH_SESSION, FUNC_MULTI, FUNC_SESSION };

/* A way to probe functions. */
struct func_method {
	const char *name; /* as given to --probe */
	bool user;        /* functions of programs and libraries */
	enum func_way way;
	unsigned int attach_type; /* enum bpf_attach_type; 0: by an event of perf */
};

/* Best first; the last row has no name. */
extern const struct func_method func_methods[];

/* Finds a method by its name. Returns NULL if there is none. */
const struct func_method *func_method_find(const char *name);

/* Numbers of entries of the maps. */
struct func_sizes {
	unsigned int cells, hists, funcs, rows;
};

/*
 * Loads the programs of method @probe and, unless NULL, of @second, configured by @conf. Returns 0
 * with @ret_obj, freed by func_bpf__destroy(), or -errno: this kernel cannot do it.
 */
int func_load(const struct func_method *probe, const struct func_method *second,
	      const struct func_conf *conf, const struct func_sizes *sizes, struct feature *f,
	      struct func_bpf **ret_obj);

/* Whether a copy of the programs is loaded for each function. */
bool func_is_each(const struct func_method *m);

/* The programs for entry and return. They may be the same program. */
struct bpf_program *func_enter_program(const struct func_bpf *obj, const struct func_method *probe);
struct bpf_program *func_leave_program(const struct func_bpf *obj, const struct func_method *probe);

/* Loads a copy of @prog for function number @func. @type and @btf_fd identify the function's type,
 * see feature_function(); both are 0 with events of perf. Returns a descriptor or -errno. */
int func_copy(const struct bpf_program *prog, unsigned int func, unsigned int type, int btf_fd);

#endif
