/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * otf2_names.h - the definitions in an archive of a recording's threads, processes, disks, servers,
 * files, descriptors and attributes. Each is defined at its first use.
 *
 * Owns these tables. They grow with threads, files and open descriptors, not with events.
 */
#ifndef IOSTRATA_EXPORT_OTF2_NAMES_H
#define IOSTRATA_EXPORT_OTF2_NAMES_H

#include <uthash.h>

#include "capture/recording.h"
#include "export/otf2.h"
#include "export/otf2_archive.h"

#define NO_HANDLE OTF2_UNDEFINED_UINT32
#define NO_LOCK   OTF2_UNDEFINED_TYPE

/* An item of a recording with its definition: a thread (pid, tid), a disk, a process, or a
 * descriptor of a process. */
struct known {
	uint64_t key[2];
	uint32_t ref;        /* location, group or handle */
	uint32_t handle;     /* of a disk or server */
	uint32_t group;      /* of a disk or server, for its locations */
	uint64_t file;       /* of a descriptor */
	uint64_t since_ns;   /* the time when open returned; 0: not recorded */
	char comm[COMM_LEN]; /* of a thread or process: the name in its definition */
	bool is_leaders;     /* of a process: this is the name of its leader */
	OTF2_LockType lock;  /* held through a descriptor; NO_LOCK */
	UT_hash_handle hh;
};

enum attr {
	ATTR_OFFSET,
	ATTR_ERRNO,
	ATTR_BLOCK_FLAGS,
	ATTR_THREAD,
	ATTR_ISSUER,
	ATTR_CACHE,
	ATTR_REQUESTS,
	ATTR_CALL,
	ATTR_MERGES,
	ATTR_REQUEUES,
	ATTR_MERGED,
	ATTR_STRATA,
	ATTR_N = ATTR_STRATA + ST_N,
};

struct exporting {
	struct otf2_archive a;
	const struct recording *rec; /* being read */
	const char *(*call_name)(unsigned short call);
	struct otf2_counts *counts;
	bool lean; /* see struct otf2_conf */
	uint32_t machine, posix, block;
	uint32_t server_paradigm; /* + 1; 0: none yet */
	uint32_t attrs[ATTR_N];
	OTF2_AttributeList *list; /* the library empties it with each event */
	/* 64-bit, 32-bit, io_uring's, libaio's, a page fault, nfsd's, and ksmbd's, + 1; 0: none
	 * yet */
	uint32_t regions[7][CALL_MAX];
	uint32_t rq_regions[RQ_N];   /* of requests, + 1; 0: none yet */
	uint32_t st_regions[ST_N];   /* of segments, likewise */
	uint32_t wait_regions[OP_N]; /* of waits for servers, likewise */
	uint32_t everything;         /* handle of sync(), + 1 */
	uint32_t *files;             /* by number in the recording, + 1 */
	size_t files_cap;
	struct known *threads, *processes, *disks, *descriptors;
	struct known *asyncs;       /* locations, by thread */
	struct known *strands;      /* by thread, and number */
	struct known *disk_strands; /* by disk, and number */
	struct known *servers;      /* groups, by the number of the name */
	struct known *server_strands;
	struct known *asked; /* servers with recorded requests, by the number of the name */
	struct known *asked_strands;
	struct known *asked_regions; /* by the number of the kind of a request */
	struct known *async_files;   /* by process, and file */
	size_t losses;               /* location, + 1 */
	uint64_t numbers;            /* first number of a step of this recording in the archive */
	uint64_t next_number;        /* above all numbers so far */
	uint64_t lost[LOST_N];       /* in all recordings */
};

/* Writes the definitions needed from the beginning. */
void otf2_names_begin(struct exporting *x);

/* Defines the machine of the next recording, and forgets the names of the recording before. */
void otf2_names_machine(struct exporting *x, const char *machine);
void otf2_names_done(struct exporting *x);

/* Attributes of the next event. */
void otf2_attr_u64(struct exporting *x, int which, uint64_t v);
void otf2_attr_errno(struct exporting *x, int64_t ret);             /* if it is negative */
void otf2_attr_strata(struct exporting *x, const uint64_t *strata); /* without those that are 0 */

/* The location of a thread. SIZE_MAX: failed, and the archive has the error. */
size_t otf2_thread_location(struct exporting *x, const struct catalog_thread *t);

/* The location of a thread's requests of io_uring and libaio delivered in steps. They overlap, so
 * this location has no regions. SIZE_MAX: failed. */
size_t otf2_async_location(struct exporting *x, const struct catalog_thread *t);

/* A location for a thread's request written as a region, such as an open. It begins at @start_ns.
 * Regions of one location must not overlap, so a thread has up to LANES locations. If all are busy,
 * the region begins late; its strata still give the full time. SIZE_MAX: failed. */
size_t otf2_strand_location(struct exporting *x, const struct catalog_thread *t, uint64_t start_ns);

/* A disk, with its own node, group and location. NULL: failed. */
struct known *otf2_disk_known(struct exporting *x, uint64_t dev);

/* As otf2_strand_location(), for a request of @disk: requests overlap, and readers of regions want
 * to see their times, too. */
size_t otf2_disk_strand_location(struct exporting *x, const struct known *disk, uint64_t start_ns);

/* As otf2_strand_location(), for the server of @op's file: operations wait for it at the same time.
 */
size_t otf2_server_location(struct exporting *x, const struct stored_op *op, uint64_t start_ns);

/* The server of a recorded request, with location and handle. NULL: failed. */
struct known *otf2_asked_known(struct exporting *x, const struct stored_server_request *rq);

/* As otf2_disk_strand_location(), for a request to @server. */
size_t otf2_asked_strand_location(struct exporting *x, const struct known *server,
				  uint64_t start_ns);

/* The region of a request to a server, "nfs READ". OTF2_UNDEFINED_REGION: no memory. */
uint32_t otf2_asked_region(struct exporting *x, const struct stored_server_request *rq);

/* The handle used by an operation, or NO_HANDLE if the file is not known. */
uint32_t otf2_handle_of(struct exporting *x, const struct stored_op *op, unsigned int pid);

/* The handle of a page fault, or of a request of io_uring or libaio, for which the descriptor may
 * not be known: one for each file of a process. */
uint32_t otf2_handle_of_file(struct exporting *x, const struct stored_op *op, unsigned int pid);

/* The handle of operations without a file: sync(), msync(). */
uint32_t otf2_handle_of_everything(struct exporting *x);

/* A descriptor of process @pid begins, by an open that returns at @end_ns, or NO_HANDLE if there is
 * no memory. */
uint32_t otf2_handle_begin(struct exporting *x, const struct stored_op *op, unsigned int pid,
			   uint64_t end_ns);

/* The lock of a descriptor that is known, or NULL. */
OTF2_LockType *otf2_handle_lock(struct exporting *x, unsigned int pid, uint64_t fd);

/* A descriptor of process @pid ends. Returns its handle, or NO_HANDLE if not known. */
uint32_t otf2_handle_end(struct exporting *x, unsigned int pid, uint64_t fd);

/* The file of a known descriptor, NAME_FILE, or 0 if not known. */
uint64_t otf2_handle_file(struct exporting *x, unsigned int pid, uint64_t fd);

/* Whether the known descriptor is newer than @op: another thread closed the older one and got its
 * number again before @op returned. */
bool otf2_handle_is_newer(struct exporting *x, const struct stored_op *op, unsigned int pid);

OTF2_IoAccessMode otf2_access_mode(uint64_t open_flags);

#endif
