/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * device_tree.h - the disk of a file system, the disks below this disk, and so on: one level for
 * each step. Orders rows of requests as a tree of disks. All names are hostile.
 */
#ifndef IOSTRATA_SHOW_DEVICE_TREE_H
#define IOSTRATA_SHOW_DEVICE_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/snapshot.h"

struct devices;
struct json;

/* Writes "loop0, on dm-0, on sda and sdb", safe. Returns false if the disk of @dev is not known, or
 * is one without disks below. @dev may also be that of a mounted btrfs. */
bool device_chain_text(const struct devices *d, unsigned int dev, char *ret_text, size_t cap);

/* Writes the member "disks": a list of levels, each a list of names; null: not known. */
void device_chain_json(struct json *j, const struct devices *d, unsigned int dev);

/*
 * Rows of requests as a tree of their disks. The upper disks come first; their own time is the time
 * without the disks below.
 */

enum { TREE_DEPTH = 12 }; /* deepest level shown; a recording may have more */

/* A disk with rows, in the order of the tree. */
struct tree_disk {
	unsigned int dev;
	unsigned int depth; /* number of levels above this disk */
	bool placed;
};

struct device_tree {
	const struct devices *devices; /* NULL: not known, so there is no tree */
	const struct rq_row **rows;
	size_t n_rows;
	struct tree_disk *disks; /* owned; NULL: rows are not in the order of a tree */
	size_t n;
};

/* Puts the sorted @rows in the order of the tree: a disk comes after all disks above it, directly
 * below the last of them. Returns 0 or -ENOMEM. */
int device_tree_order(struct device_tree *t);
void device_tree_done(struct device_tree *t);

/* The level of a row's disk; 0 is the top. */
unsigned int device_tree_depth(const struct device_tree *t, const struct rq_row *r);

/* Writes "dm-0 and dm-1", safe: the disks with rows directly above @disk. Returns their number. */
unsigned int device_tree_above_text(const struct device_tree *t, const struct tree_disk *disk,
				    char *ret_text, size_t cap);

/* Writes "na and nb, below dm-0", safe: disks without rows below a disk with rows, each of whose
 * disks below has none. Returns false if there are none. */
bool device_tree_without_rows_text(const struct device_tree *t, char *ret_text, size_t cap);

/*
 * The mean time of @r in its device, in ns, without the time in the disks below. Only for rows
 * without keys. Returns false if there is no disk below, or the disks below took longer than @r
 * itself.
 *
 * The estimate: each request of @r waited for one request below, of mean length. If fewer bytes
 * were moved below (a cache served the rest), it waited for the same share of one request.
 */
bool device_tree_own(const struct device_tree *t, const struct rq_row *r, uint64_t *ret_ns);

#endif
