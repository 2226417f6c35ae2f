/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * device_tree.h - rows of requests as a tree of their disks: those that lie on others come first,
 * and their own time is what remains without that of the disks below.
 */
#ifndef IOSTRATA_DEVICE_TREE_H
#define IOSTRATA_DEVICE_TREE_H

#include <stdbool.h>

#include "base/snapshot.h"

enum { TREE_DEPTH = 12 };	/* the most that is shown; in a recording it may be any */

/* A disk that has rows, in the order of the tree. */
struct tree_disk {
	unsigned int dev;
	unsigned int depth;		/* of disks on it, one on the other */
	bool placed;
};

struct device_tree {
	const struct devices *devices;	/* NULL: not known, there is no tree */
	const struct rq_row **rows;
	size_t n_rows;
	struct tree_disk *disks;	/* owned; NULL: rows are in another order */
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
