/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fsprobes.h - probes on the functions of file systems, both mounted ones and those touched by
 * operations.
 *
 * The programs are templates in the one BPF object. With fentry, a template is first loaded for a
 * function present in every kernel, then again for each function of a file system. With kprobes,
 * the template itself is attached. Owns the copies and their links.
 */
#ifndef IOSTRATA_TRACE_FSPROBES_H
#define IOSTRATA_TRACE_FSPROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/fsfuncs.h"

struct bpf_program;
struct feature;
struct filter_lists;
struct fs_entry;
struct fsprobes;

/* Template programs by method, and the iterator over all open files. */
struct fs_templates {
	struct bpf_program *fentry[FS_METHODS], *fexit[FS_METHODS];
	struct bpf_program *kprobe[FS_METHODS], *kretprobe[FS_METHODS];
	struct bpf_program *iter;
};

/* The loaded programs of @templates, @feat and @seen (FS_SLOTS types) outlive the result. @only:
 * probe this type alone, or NULL. If @lists has disks: for mounted types and types with open files
 * that cannot be on these disks, only write functions are probed. No operation on their files
 * counts, but a copy may write to them. Returns NULL if out of memory. */
struct fsprobes *fsprobes_new(const struct fs_templates *templates, struct feature *feat,
			      const struct fs_entry *seen, const char *only,
			      const struct filter_lists *lists);
void fsprobes_free(struct fsprobes *p); /* detaches; NULL is fine */

/* Probes the functions of mounted file systems and of those with open files. */
void fsprobes_attach(struct fsprobes *p);

/* Probes the functions of types touched by operations since the last call, and then of types with
 * open files. Cheap if operations touched no new type. */
void fsprobes_attach_new(struct fsprobes *p);

/*
 * Whether a module was unloaded although kprobes are on its functions: the kernel allows this
 * silently. @ret_module is the module's name. From then on its functions count as not probed. They
 * are probed anew if the module is loaded again.
 */
bool fsprobes_module_gone(struct fsprobes *p, char ret_module[FUNC_NAME_LEN]);

/* Whether, for operations of kind @op, time in file system @type can be separated from time in the
 * VFS: the functions on their way are probed. Always false for close and meta: they pass through
 * too many functions. */
bool fsprobes_can_tell(const struct fsprobes *p, const char *type, enum op_kind op);

/* Number of probed functions. NULL: 0. */
int fsprobes_count(const struct fsprobes *p);

/* Calls @fn with the descriptor of every program loaded from a template. */
void fsprobes_programs(const struct fsprobes *p, void (*fn)(void *arg, int prog_fd), void *arg);

/* Missed hits of kprobes and kretprobes; see links_missed(). */
unsigned long long fsprobes_missed(const struct fsprobes *p);

#endif
