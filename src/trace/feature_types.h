/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * feature_types.h - the kernel's types by name, and their ids in programs. Does not load programs.
 */
#ifndef IOSTRATA_TRACE_FEATURE_TYPES_H
#define IOSTRATA_TRACE_FEATURE_TYPES_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct btf;
struct feature;

/* The kernel's types, owned by @f, or NULL if out of memory. */
const struct btf *feature_types(struct feature *f);

/* Frees the kernel's and modules' types, and the cached symbols (some MiB). All are read again when
 * needed. */
void feature_forget_types(struct feature *f);

/*
 * Looks up many names in one pass over all of the kernel's types. A tracepoint is called
 * "btf_trace_NAME", a structure "struct NAME"; a function or variable has its own name.
 */
void feature_look_for(struct feature *f, const char *const names[], int n);

/*
 * Finds the type id of @function and a descriptor of its BTF: 0 for the kernel's own, else the
 * module's, owned by @f. @module is "" for the kernel. Returns 0 or -ENOENT.
 */
int feature_function(struct feature *f, const char *function, const char *module,
		     unsigned int *ret_id, int *ret_btf_fd);

/* Finds the type id and a descriptor of the BTF of @hook, as feature_function() does. @hook is a
 * function or "btf_trace_NAME": of the kernel, or else of @module. */
int feature_hook(struct feature *f, const char *hook, const char *module, unsigned int *ret_id,
		 int *ret_btf_fd);

/* Offset in bytes of @member in struct @type of @module, or of the kernel if the module is not
 * loaded; -ENOENT. */
int feature_member(struct feature *f, const char *module, const char *type, const char *member);

/* Type id of a name as feature_look_for() takes it; 0 if there is none. */
unsigned int feature_type(struct feature *f, const char *name);

bool feature_has_tracepoint(struct feature *f, const char *name);
bool feature_has_function(struct feature *f, const char *name);

/* The argument of tracepoint @name that points to a struct @type, counted from 0, or -1 if there is
 * none. */
int feature_tracepoint_arg(struct feature *f, const char *name, const char *type);

/* Offset of @field in struct @type or in its anonymous members, in bytes; -1 if there is none. */
int feature_field_offset(struct feature *f, const char *type, const char *field);

/* Value of enumerator @name of any enum, even of an anonymous one; @otherwise if there is none. */
int feature_enumerator(struct feature *f, const char *name, int otherwise);

/* The argument of tracepoint @name that is called @arg, counted from 0; -1: none, or BTF has no
 * names of arguments. */
int feature_tracepoint_arg_named(struct feature *f, const char *name, const char *arg);

/*
 * A filter for names, by their first three characters. The kernel has 100,000 names of types:
 * hashing each of them would take five times as long.
 */
enum { NAME_FILTER_LOG2 = 14 };

struct name_filter {
	uint8_t set[1 << NAME_FILTER_LOG2];
};

static inline uint32_t name_filter_slot(const char *name)
{
	uint32_t start = (uint8_t)name[0];

	if (name[0])
		start |= (uint32_t)(uint8_t)name[1] << 8;
	if (name[0] && name[1])
		start |= (uint32_t)(uint8_t)name[2] << 16;
	return start * 2654435761U >> (32 - NAME_FILTER_LOG2);
}

static inline void name_filter_add(struct name_filter *f, const char *name)
{
	f->set[name_filter_slot(name)] = 1;
}

static inline bool name_filter_passes(const struct name_filter *f, const char *name)
{
	return f->set[name_filter_slot(name)];
}

/*
 * Fills in the blanks of @prog: ids and addresses known only to the running kernel, see enum blank.
 * Call it before @prog is loaded. A program must not reach code whose type or function this kernel
 * lacks. A missing variable has address 0.
 */
void blanks_fill(struct bpf_program *prog, struct feature *f);

/* Names for blanks_fill() to look up, BLANKS_N of them. */
enum { BLANKS_N = 7 };
extern const char *const blank_names[BLANKS_N];

#endif
