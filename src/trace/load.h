/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load.h - loads the programs of a plan. A program refused by the kernel is left out of the plan;
 * all others are loaded. Attaches nothing.
 */
#ifndef IOSTRATA_TRACE_LOAD_H
#define IOSTRATA_TRACE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/utsname.h>

struct bpf_conf;
struct bpf_insn;
struct bpf_object_skeleton;
struct bpf_program;
struct feature;
struct plan;
struct program;
struct reason;
struct session_conf;
struct trace_bpf;

/* Opens the object whose programs call functions, or the one with all functions inlined. @types:
 * path of a file with the types for relocations, or NULL. The caller frees the result with
 * trace_bpf__destroy(). NULL: see errno. */
struct trace_bpf *load_open(bool functions, const char *types);

/* Whether @uts is a 6.1 kernel of at least 6.1.36, by its release, or, where Debian keeps the
 * release at 6.1.0, by Debian's version. */
bool load_has_fix(const struct utsname *uts);

/*
 * Whether the kernel can safely run programs that call functions.
 *
 * For the main function of such a program, kernels before 6.4 may search the wrong one of two
 * entries for a fault's fix-up. They find no table there and crash (kernel commit 0108a4e9f358,
 * "bpf: ensure main program has an extable"). The tracepoint block_io_done, looked up here, came in
 * 6.5. 6.1.36 has the fix, 5.10 does not; whether 5.15 has it is not known.
 */
bool load_bears_functions(struct feature *f);

/* Fills in the blanks of CONF() in @n instructions of a program: BLANK_CONF(). */
void load_settings_fill(struct bpf_insn *insns, size_t n, const struct bpf_conf *conf);

/*
 * Opens, configures and loads the programs of @plan. Returns 0 with @ret_obj, or -1 with @why. The
 * caller frees @ret_obj with trace_bpf__destroy().
 */
int load(struct plan *plan, const struct session_conf *sc, const struct bpf_conf *conf,
	 struct feature *f, struct trace_bpf **ret_obj, struct reason *why);

/* Loads a copy of @prog. load() has loaded @prog for @row, and its object still exists. Returns a
 * descriptor owned by the caller, or -errno. */
int load_copy(const struct bpf_program *prog, const struct program *row);

/* Tries to load the @wanted programs of programs[], all together, and unloads them. Returns 0, or
 * -errno with the program refused by the kernel; @ret_refused is NULL if no program caused the
 * failure. */
int load_try(const bool *wanted, const struct session_conf *sc, const struct bpf_conf *conf,
	     struct feature *f, const struct program **ret_refused);

/* Whether @err (an errno) means a limit of this process, or of the machine's memory. Such an error
 * says nothing about the kernel's abilities. */
bool load_is_limit(int err);

/* Sets @why: "cannot @what BPF programs" because of such a limit; @what is "load" or "attach".
 * Returns -1. */
int load_limit_reached(struct reason *why, const char *what, int err);

/* The object files of the BPF programs, packed inside the executable: 5.8 MB take 0.4 MB. */
enum object_file { OBJECT_TRACE, OBJECT_TRACE_FUNCTIONS, OBJECT_FUNC };

/* Opens skeleton @s over an object file; libbpf copies the parts it needs. @types: path of a file
 * with the types for relocations; NULL: the kernel's. Returns 0 or -errno. */
int objects_open(struct bpf_object_skeleton *s, enum object_file which, const char *types);

#endif
