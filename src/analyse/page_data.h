/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page_data.h - the figures of a page (report --html) that breakdown's rows do not have: operations
 * by combination and time, requests by disk and time, latencies over time, examples of operations,
 * and operations by file, process, cgroup, disk and call. One pass over the recordings; memory does
 * not grow with the number of records. Names are hostile.
 */
#ifndef IOSTRATA_ANALYSE_PAGE_DATA_H
#define IOSTRATA_ANALYSE_PAGE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/cube.h"
#include "analyse/disk_times.h"
#include "analyse/latencies.h"
#include "analyse/loss_times.h"
#include "analyse/offsets.h"
#include "analyse/page_places.h"
#include "base/rows.h"
#include "base/snapshot.h"
#include "capture/recording.h"
#include "host/filenames.h"

enum {
	PAGE_KEYS = 40000, /* rows of a table in memory; further keys share a row for each disk */
	PAGE_ROWS = 100,   /* rows of a table on the page */
};

/* Where the row of an id of a recording is: its index + 1; 0: not looked up yet. */
struct page_ids {
	uint32_t *row; /* owned */
	size_t n;
};

/* Histograms of the first rows of a table, as arrays: the rows with most operations are among them,
 * and searching a bucket costs more than all else. */
enum { PAGE_COUNTED = 256 };

struct page_counts {
	unsigned int (*hist)[HIST_N]; /* PAGE_COUNTED of them, by the index of the row; owned */
};

enum {
	PAGE_FILE_MAPS = 48, /* a file with more operations takes the place of one with fewer */
	PAGE_DISK_MAPS = 16, /* the first disks with requests */
};

/* A host, and the names of its files. */
struct page_host {
	char *name; /* NULL: all recordings are of one host; owned */
	struct filenames files;
};

/* Where a file's reads and writes, or a disk's requests went. */
struct page_map {
	uint32_t row;           /* of a file: the index of its row + 1 */
	unsigned int dev, host; /* of a disk; host: op_key.fs of its row */
	uint64_t since_ns;      /* complete from this time on */
	struct offset_map *map; /* owned */
};

enum { PAGE_FS = 250 };

/* A file system type. */
struct page_fs {
	char name[FS_NAME_LEN]; /* may lack a NUL */
	bool is_pseudo;
};

/* At first all 0, but for .hosts; page_data_done() in any case. */
struct page_data {
	bool commands; /* processes have their command lines, which may hold secrets */
	bool hosts;    /* the recordings are from several hosts: keys and disks name the host */
	/* keys: .file and .thread are indices + 1 of rows of @files and @threads */
	struct cube cube;
	struct latencies latencies;
	struct disks disks;
	struct loss_times losses;
	struct page_fs fs[PAGE_FS]; /* by cube_key.fs - 1 */
	size_t n_fs;
	uint64_t duration_ns, last_ns; /* of the time axis; the latest end */
	struct page_map file_maps[PAGE_FILE_MAPS], disk_maps[PAGE_DISK_MAPS];
	size_t n_file_maps, n_disk_maps;
	/* private */
	struct rows files, threads; /* threads: rows by process and cgroup */
	struct page_counts file_counts, thread_counts;
	struct page_ids file_ids, thread_ids;
	struct page_places places;
	unsigned char map_of[PAGE_KEYS + 1];     /* by index of a file's row: its map's + 1 */
	struct rows processes, cgroups, devices; /* empty rows, which have the names */
	struct page_host *host_list; /* by number, which is op_key.fs of all these rows; owned */
	size_t n_hosts;
	unsigned int host;         /* of the recording being read */
	uint8_t fs_of[CATALOG_FS]; /* by number in this recording: cube_key.fs */
};

/* Call before the first event of each recording. Returns 0 or -ENOMEM. */
int page_data_begin(struct page_data *d, const struct recording *rec);

/* Adds @ev, an operation or request of @rec. It ended @at_ns after the begin of the page. Returns 0
 * or -ENOMEM. */
int page_data_add(struct page_data *d, const struct recording *rec, const struct stored_event *ev,
		  uint64_t at_ns);

/* Call after the last event of each recording: keeps the names of its ids. Returns 0 or -ENOMEM. */
int page_data_end(struct page_data *d, const struct recording *rec);

/* Adds the losses of @rec that have a time. The page begins @begin_ns, CLOCK_MONOTONIC of @rec.
 * Call after its last event. */
void page_data_losses(struct page_data *d, const struct recording *rec, uint64_t begin_ns);

/* Sets the length of the time axis, at least up to the latest end. Call after the last record of
 * all.
 */
void page_data_measure(struct page_data *d, uint64_t duration_ns);

/* The pid and the cgroup of a thread's number in the cube, and the index of its host. */
struct page_thread {
	unsigned long long pid, cgroup, host;
};
struct page_thread page_data_thread(const struct page_data *d, uint32_t thread);

/*
 * Rows of operations with the key @by, BY_FILE, BY_PID, BY_CGROUP or BY_DEV. They have the key as
 * text. Takes the rows of files out of @d: ask for BY_DEV before BY_FILE, and for each only once.
 * The caller frees @ret by snapshot_free(). Returns 0 or -ENOMEM.
 */
int page_data_rows(struct page_data *d, enum by_key by, struct snapshot *ret);

/* @sn has a row for each call (replay_conf.calls). Joins these to the rows that @sn would have
 * without calls, and makes @ret_calls: rows with the call as key, one for each file system. The
 * caller frees it by snapshot_free(). Returns 0 or -ENOMEM. */
int page_data_calls(struct snapshot *sn, struct snapshot *ret_calls);

/* Joins the rows of @sn, of operations by a key and of requests by a key, to the rows that it would
 * have without the key. @ret_keys gets those by key, for snapshot_free(). Returns 0 or -ENOMEM. */
int page_data_kinds(struct snapshot *sn, struct snapshot *ret_keys);

void page_data_done(struct page_data *d);

#endif
