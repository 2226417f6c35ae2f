/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * devices.h - a file system's disk, the disks that it lies on, those that these lie on, and so
 * on: a level each. All names are hostile.
 */
#ifndef IOSTRATA_SHOW_DEVICES_H
#define IOSTRATA_SHOW_DEVICES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/snapshot.h"

struct devices;
struct json;

/* "loop0, on dm-0, on sda and sdb", safe. False: the disk of @dev is not known, or lies on none. */
bool device_chain_text(const struct devices *d, unsigned int dev, char *ret_text, size_t cap);

/* Member "disks": a list of levels, each a list of names; null: not known. */
void device_chain_json(struct json *j, const struct devices *d, unsigned int dev);

/*
 * Rows of requests as a tree of their disks: those that lie on others come first,
 * and their own time is what remains without that of the disks below.
 */

enum { TREE_DEPTH = 12 }; /* the most that is shown; in a recording it may be any */

/* A disk that has rows, in the order of the tree. */
struct tree_disk {
	unsigned int dev;
	unsigned int depth; /* of disks on it, one on the other */
	bool placed;
};

struct device_tree {
	const struct devices *devices; /* NULL: not known, there is no tree */
	const struct rq_row **rows;
	size_t n_rows;
	struct tree_disk *disks; /* owned; NULL: rows are in another order */
	size_t n;
};

/* Puts @rows, which are in order, in the order of the tree: a disk comes after all that lie on it,
 * and below the last of them. 0 or -ENOMEM. */
int device_tree_order(struct device_tree *t);
void device_tree_done(struct device_tree *t);

/* How deep the disk of a row is in the tree. */
unsigned int device_tree_depth(const struct device_tree *t, const struct rq_row *r);

/*
 * Of rows that have no keys: the mean time of @r in its device that was not spent in the disks
 * below. False: nothing lies below, or it cannot be told, since those took longer than @r itself.
 *
 * Each of @r is taken to have waited for one request below, of mean length, or for the share of one
 * that its bytes had: what a cache above the lower disk had was not read from that.
 */
bool device_tree_own(const struct device_tree *t, const struct rq_row *r, uint64_t *ret_ns);

#endif
