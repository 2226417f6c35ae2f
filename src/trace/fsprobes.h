/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fsprobes.h - probes on the functions of file systems: those that are mounted, and those that
 * operations touch.
 *
 * The programs are templates in the one object. With fentry, a template is loaded for a function
 * that every kernel has, then once more for each function of a file system; with kprobes, it is
 * attached as it is.
 */
#ifndef IOSTRATA_FSPROBES_H
#define IOSTRATA_FSPROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/fsfuncs.h"

struct bpf_program;
struct feature;
struct filter_lists;
struct fs_entry;
struct fsprobes;

/* The template programs, by method, and the program that iterates over all open files. */
struct fs_templates {
	struct bpf_program *fentry[FS_METHODS], *fexit[FS_METHODS];
	struct bpf_program *kprobe[FS_METHODS], *kretprobe[FS_METHODS];
	struct bpf_program *iter;
};

/* The loaded programs of @templates, @feat and @seen (FS_SLOTS types) outlive the result. @only:
 * probe this type alone, or NULL. @lists: with disks, of types that are mounted or have open files
 * but cannot be on these, only their write is probed: no operation on their files counts, and only
 * a copy to them goes there. NULL if there is no memory. */
struct fsprobes *fsprobes_new(const struct fs_templates *templates, struct feature *feat,
			      const struct fs_entry *seen, const char *only,
			      const struct filter_lists *lists);
void fsprobes_free(struct fsprobes *p); /* detaches; NULL is fine */

/* Probes the functions of file systems that are mounted or have open files. */
void fsprobes_attach(struct fsprobes *p);

/* Probes the functions of types that operations have touched since, and then of those that have
 * open files by now; cheap if no operation has touched a new one. */
void fsprobes_attach_new(struct fsprobes *p);

/*
 * Whether a module was unloaded under kprobes, which the kernel allows silently, and its name. Its
 * functions count as not probed from then on; if it is loaded again they are probed anew.
 */
bool fsprobes_module_gone(struct fsprobes *p, char ret_module[FUNC_NAME_LEN]);

/* Whether time in file system @type can be told from time in the VFS for operations of kind @op:
 * the functions that they go through are probed. Never for close and meta, which go through
 * many. */
bool fsprobes_can_tell(const struct fsprobes *p, const char *type, enum op_kind op);

/* How many functions are probed. */
int fsprobes_count(const struct fsprobes *p);

/* Calls @fn with the descriptor of every program that was loaded from a template. */
void fsprobes_programs(const struct fsprobes *p, void (*fn)(void *arg, int prog_fd), void *arg);

/* Hits of kretprobes that had no instance left; see links_missed(). */
unsigned long long fsprobes_missed(const struct fsprobes *p);

#endif
