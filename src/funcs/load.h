/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load.h - the ways to probe functions, and the programs of one of them, loaded.
 */
#ifndef IOSTRATA_FUNCS_LOAD_H
#define IOSTRATA_FUNCS_LOAD_H

#include <stdbool.h>

#include "bpf/func.h"

struct bpf_program;
struct feature;
struct func_bpf;

/* How many functions a program serves: one, for which a copy of it is loaded (EACH), or all at
 * once; and whether there is one program per end or one for both (SESSION). */
enum func_way { FUNC_EACH, FUNC_EACH_SESSION, FUNC_MULTI, FUNC_SESSION };

/* A way to probe functions. */
struct func_method {
	const char *name; /* as typed */
	bool user;        /* functions of programs and libraries */
	enum func_way way;
	unsigned int attach_type; /* enum bpf_attach_type, 0: perf's probe */
};

/* Best first; ends with a row without a name. */
extern const struct func_method func_methods[];

/* By its name; NULL: none. */
const struct func_method *func_method_find(const char *name);

/* The sizes that the maps are made for. */
struct func_sizes {
	unsigned int cells, hists, funcs, rows;
};

/*
 * Loads the programs for @probe and, unless it is NULL, @second, configured by @conf. 0 with
 * @ret_obj for func_bpf__destroy(), or -errno: this kernel cannot.
 */
int func_load(const struct func_method *probe, const struct func_method *second,
	      const struct func_conf *conf, const struct func_sizes *sizes, struct feature *f,
	      struct func_bpf **ret_obj);

/* Whether each function has programs of its own. */
bool func_is_each(const struct func_method *m);

/* The programs for entry and return, which may be the same. */
struct bpf_program *func_enter_program(const struct func_bpf *obj, const struct func_method *probe);
struct bpf_program *func_leave_program(const struct func_bpf *obj, const struct func_method *probe);

/* Loads a copy of @prog for function number @func; @type and @btf_fd are the function's, 0 for
 * perf's probes. Its descriptor, or -errno. */
int func_copy(const struct bpf_program *prog, unsigned int func, unsigned int type, int btf_fd);

#endif
