/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fsprobes.h - probes on the functions of file systems: those that are mounted, and those that
 * operations touch.
 *
 * The programs are templates in the one object: loaded for a function that every kernel has, then
 * once more for each function of a file system (fentry), or attached to it as they are (kprobe).
 */
#ifndef IOSTRATA_FSPROBES_H
#define IOSTRATA_FSPROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "fsfuncs.h"

struct bpf_object;
struct bpf_program;
struct feature;
struct fs_seen;
struct fsprobes;

/* @obj is loaded; it, @feat and @seen (FS_SLOTS types) outlive the result. @only: this type alone,
 * or NULL. NULL if there is no memory. */
struct fsprobes *fsprobes_new(struct bpf_object *obj, struct feature *feat,
			      const struct fs_seen *seen, const char *only);
void fsprobes_free(struct fsprobes *p);	/* detaches; NULL is fine */

/* Probes the functions of what is mounted or has files open. */
void fsprobes_attach(struct fsprobes *p);

/* Probes those of types that operations have touched since; cheap if there are none. */
void fsprobes_attach_new(struct fsprobes *p);

/*
 * Whether a module was unloaded under kprobes, which the kernel allows without a word: its name.
 * Its functions count as not probed from then on; if it comes back they are probed anew.
 */
bool fsprobes_module_gone(struct fsprobes *p, char ret_module[FUNC_NAME_LEN]);

/* Whether the time in file system @type can be told from the VFS's in operations of kind @op: the
 * functions that they go through are probed. Not so for close and meta, which go through many. */
bool fsprobes_can_tell(const struct fsprobes *p, const char *type, enum op_kind op);

/* How many functions are probed. */
int fsprobes_count(const struct fsprobes *p);

/* Calls @fn with the descriptor of every program that was loaded from a template. */
void fsprobes_programs(const struct fsprobes *p, void (*fn)(void *arg, int prog_fd), void *arg);

/* A function that every kernel has, to load template @prog for; NULL if it is none. */
const char *fsprobes_template_target(const struct bpf_program *prog);

#endif
