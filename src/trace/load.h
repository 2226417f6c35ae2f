/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load.h - loads the programs of a plan, each on its own: one that the kernel refuses is left out
 * of the plan, and all others are loaded.
 *
 * Attaches nothing.
 */
#ifndef IOSTRATA_TRACE_LOAD_H
#define IOSTRATA_TRACE_LOAD_H

#include <stdbool.h>
#include <sys/utsname.h>

struct bpf_conf;
struct bpf_object_skeleton;
struct bpf_program;
struct feature;
struct plan;
struct program;
struct reason;
struct session_conf;
struct trace_bpf;

/* Opens the programs, with functions or with all inlined, for the types in a file, or NULL; for
 * trace_bpf__destroy(). NULL: see errno. */
struct trace_bpf *load_open(bool functions, const char *types);

/* Whether @uts is of 6.1.36 or later of 6.1: by its release, or, where a distribution has that stay
 * at 6.1.0, by Debian's version. */
bool load_has_fix(const struct utsname *uts);

/*
 * Opens, configures and loads the programs of @plan. 0 with @ret_obj for trace_bpf__destroy(), or
 * -1 with @why.
 */
int load(struct plan *plan, const struct session_conf *sc, const struct bpf_conf *conf,
	 struct feature *f, struct trace_bpf **ret_obj, struct reason *why);

/* Loads @prog, which load() has loaded for @row, once more; its object still exists. The new
 * descriptor, the caller's, or -errno. */
int load_copy(const struct bpf_program *prog, const struct program *row);

/* Tries those of programs[] that are @wanted. 0; or -errno with the one that the kernel refused, or
 * NULL if it was none of them. */
int load_try(const bool *wanted, const struct session_conf *sc, const struct bpf_conf *conf,
	     struct feature *f, const struct program **ret_refused);

/* Whether @err (an errno) is a limit of this process or of the machine's memory, and so says
 * nothing about the kernel. */
bool load_is_limit(int err);

/* Sets @why: cannot @what ("load") BPF programs because of such a limit. Returns -1. */
int load_limit_reached(struct reason *why, const char *what, int err);

/*
 * The object files of the BPF programs, which are packed inside the program: 5.8 MB, of
 * which 0.4 MB remain.
 */

enum object_file { OBJECT_TRACE, OBJECT_TRACE_FUNCTIONS, OBJECT_FUNC };

/* Opens the skeleton @s over that file, which libbpf copies what it needs of. @types: a file of the
 * types for which its programs are loaded; NULL: the kernel's. 0 or -errno. */
int objects_open(struct bpf_object_skeleton *s, enum object_file which, const char *types);

#endif
