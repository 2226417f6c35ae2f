/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * header.h - the JSON at the two ends of a recording. The header: the machine, its devices and
 * mounts, and missing figures. The end: counts of records, lost and dropped ones.
 */
#ifndef IOSTRATA_CAPTURE_HEADER_H
#define IOSTRATA_CAPTURE_HEADER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/machine.h"
#include "capture/header_disks.h"
#include "event.h"
#include "host/devices.h"
#include "host/mounts.h"

struct devices;
struct json;
struct missing;
struct snapshot;

struct header_mount {
	unsigned int dev;            /* major << 20 | minor */
	char *type, *point, *source; /* owned; NULL: not in the recording */
	char *options, *fs_options;  /* likewise */
};

/* Figures that may be missing, other than strata. */
enum {
	MISSING_IN_REQUESTS,
	MISSING_IN_URING,
	MISSING_IN_AIO,
	MISSING_IN_FAULTS,
	MISSING_IN_PAGES,
	MISSING_IN_PATHS,
	MISSING_IN_N
};

/* The names of MISSING_IN_* in a header. */
extern const char *const header_missing_names[MISSING_IN_N];

/* Text is hostile; owned, and freed by header_done(). */
struct header {
	char *kernel, *host, *boot_id; /* NULL: not known */
	char *command; /* the name behind "--": a command was recorded; NULL: none, or not known */
	char *argv;    /* the command line, a list in JSON; NULL: not known */
	/* the options of the command line, without the name of the recording and without the words
	 * of a command, for which "-- CMD" stands, or NULL if not known */
	char *options;
	enum machine machine;                        /* the architecture of system call numbers */
	char *stratum[ST_N], *missing[MISSING_IN_N]; /* why a stratum or figure was not measured;
							NULL: measured */
	unsigned int vfs_kinds; /* operations for which the VFS is probed, 1 << op */
	char *trigger;          /* the conditions that caused it, separated by ", "; NULL: none */
	uint64_t monotonic_ns, realtime_ns; /* the same moment on two clocks */
	bool has_ops, has_requests;
	bool has_device_bytes;       /* operations have device_bytes */
	bool has_stacks;             /* user stacks were taken */
	struct header_mount *mounts; /* owned */
	size_t n_mounts;
	struct devices devices;    /* when the recording began */
	struct header_disks disks; /* likewise */
};

/* Why a recording was written, in the header of a recording of watch. */
struct header_trigger {
	const char *condition; /* as given to --until; "SIGUSR1" */
	uint64_t at_ns;        /* CLOCK_MONOTONIC */
	bool has_value;
	uint64_t value; /* the largest value so far that met the condition: ns, or a number */
};

/* A run as described by header_text(). */
struct header_run {
	const char *version; /* of the tool */
	char *const *argv;   /* the command line; NULL at the end */
	const struct missing *missing;
	unsigned int vfs_kinds;
	bool has_ops, has_requests;
	uint64_t begin_ns; /* the beginning of the run, CLOCK_MONOTONIC */
	const struct header_trigger *triggers;
	unsigned int n_triggers;
	bool has_stacks;
};

/* Describes a run on this machine, as JSON. The caller frees the result; NULL if out of memory. */
char *header_text(const struct header_run *run);

/* Reads @len hostile bytes. 0, -EBADMSG or -ENOMEM; call header_done() in any case. */
int header_parse(struct header *h, const char *text, size_t len);
void header_done(struct header *h);

/* Where file system @dev was mounted, or NULL. */
const struct header_mount *header_mount(const struct header *h, unsigned int dev);

/* Names the server of file system @dev, of type @fs, as mount_server() does. */
void header_server(const struct header *h, unsigned int dev, const char *fs, char dst[SERVER_TEXT]);

/* Sets the reasons why figures are missing in the recording. They live as long as @h. */
void header_missing(const struct header *h, struct missing *ret);

/* How the run ended. */
struct ending {
	uint64_t duration_ns;
	uint64_t ops, requests; /* in the file */
	uint64_t lost[LOST_N], missed;
	uint64_t dropped_ops, dropped_requests; /* too old, with --keep; replaced, in a ring */
	bool is_early; /* read only: the disk or the file was full before the run ended */
	/* The requests to servers in all of the run, in its only file; else none. Read: owned.
	 * Their keys have no dev and no bucket. */
	struct server_row *servers;
	size_t n_servers;
	struct header_disks disks;            /* read only: temperatures at the end */
	uint64_t stacks_lost, stacks_lost_ns; /* user stacks, and the time of their operations */
	bool has_stacks;                      /* the last two are known */
};

char *ending_text(const struct ending *e, const char *how);

/* Reads @len hostile bytes; for ending_done(). 0, -EBADMSG or -ENOMEM: then @ret_ending is
 * untouched. */
int ending_parse(struct ending *ret_ending, const char *text, size_t len);
void ending_done(struct ending *e);

/* The devices of the machine, in the header of a recording. */

/* Writes the disks and partitions of this machine, each with its disk and lower devices. */
void header_put_devices(struct json *j);

/* Reads devices from the hostile @list. It may be NULL. @d must be all 0. */
void header_parse_devices(struct devices *d, const json_t *list);

#endif
