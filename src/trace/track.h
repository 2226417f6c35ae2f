/* SPDX-License-Identifier: GPL-2.0-only */
/* track.h - tells the programs which processes to track that are older than the tracing. */
#ifndef IOSTRATA_TRACE_TRACK_H
#define IOSTRATA_TRACE_TRACK_H

/*
 * Tracks the processes @roots and their descendants: sets their bits in the map @fd, an array of
 * words with a bit for each process, while the programs track the processes born from now on. Call
 * it when these programs are attached. Returns 0 or -errno.
 */
int track_older(int fd, const unsigned int *roots, unsigned int n_roots);

#endif
