/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * otf2_names.h - who and what of a recording is called what in an archive: threads, processes,
 * disks, files, descriptors, attributes. Each is defined when it is first met.
 *
 * Owns these tables, which grow with threads, files and open descriptors, not with events.
 */
#ifndef IOSTRATA_OTF2_NAMES_H
#define IOSTRATA_OTF2_NAMES_H

#include <uthash.h>

#include "capture/reader.h"
#include "export/otf2.h"
#include "export/otf2_archive.h"

#define NO_HANDLE OTF2_UNDEFINED_UINT32
#define NO_LOCK   OTF2_UNDEFINED_TYPE

/* What is known by a number of the recording: a thread (pid, tid), a disk, a process, a descriptor
 * of a process. */
struct known {
	uint64_t key[2];
	uint32_t ref;       /* location, group or handle */
	uint32_t handle;    /* of a disk */
	uint64_t file;      /* that a descriptor is of */
	uint64_t since_ns;  /* its open returned; 0: not seen */
	OTF2_LockType lock; /* that was had through it; NO_LOCK */
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
	ATTR_STRATA,
	ATTR_N = ATTR_STRATA + ST_N,
};

struct exporting {
	struct otf2_archive a;
	const struct recording *rec; /* that is being read */
	const char *(*call_name)(unsigned short call);
	struct otf2_counts *counts;
	uint32_t machine, posix, block;
	uint32_t attrs[ATTR_N];
	OTF2_AttributeList *list; /* the library empties it with each event */
	/* 64-bit, 32-bit, io_uring's, libaio's, and a page fault, + 1; 0: none yet */
	uint32_t regions[5][CALL_MAX];
	uint32_t everything; /* handle of sync(), + 1 */
	uint32_t *files;     /* by number in the recording, + 1 */
	size_t files_cap;
	struct known *threads, *processes, *disks, *descriptors;
	struct known *asyncs;      /* locations, by thread */
	struct known *lanes;       /* by thread, and number */
	struct known *async_files; /* by process, and file */
	size_t losses;             /* location, + 1 */
};

/* Defines what is there from the beginning. */
void names_begin(struct exporting *x, const char *machine);
void names_done(struct exporting *x);

/* Attributes of the next event. */
void attr_u64(struct exporting *x, int which, uint64_t v);
void attr_errno(struct exporting *x, int64_t ret); /* if it is negative */
void attr_strata(struct exporting *x, const uint64_t *strata);

/* The location of a thread. SIZE_MAX: it could not be made, which is noted. */
size_t thread_location(struct exporting *x, const struct catalog_thread *t);

/* That of a thread's requests of io_uring and libaio that are delivered in steps: they overlap, so
 * there are no regions on it. SIZE_MAX: likewise. */
size_t async_location(struct exporting *x, const struct catalog_thread *t);

/* One for a request of a thread that is a region, such as an open, and begins at @start_ns. Regions
 * of one location must not overlap, so there are several, but not more than LANES: in a throng the
 * beginning of a region is told late, and only its strata tell all of its time. SIZE_MAX:
 * likewise. */
size_t lane_location(struct exporting *x, const struct catalog_thread *t, uint64_t start_ns);

/* A disk, which has a node, a group and a location of its own. NULL: likewise. */
struct known *disk_known(struct exporting *x, uint64_t dev);

/* The handle that an operation goes through; NO_HANDLE: its file is not known. */
uint32_t handle_of(struct exporting *x, const struct cap_op *op, unsigned int pid);

/* That of a page fault, or of a request of io_uring or libaio, whose descriptor may not be known;
 * one for each file of a process. */
uint32_t handle_of_file(struct exporting *x, const struct cap_op *op, unsigned int pid);

/* One for what has no file: sync(), msync(). */
uint32_t handle_of_everything(struct exporting *x);

/* A descriptor of process @pid begins, by an open that returns at @end_ns; NO_HANDLE: no memory. */
uint32_t handle_begin(struct exporting *x, const struct cap_op *op, unsigned int pid,
		      uint64_t end_ns);

/* The lock of a descriptor that is known, or NULL. */
OTF2_LockType *handle_lock(struct exporting *x, unsigned int pid, uint64_t fd);

/* It ends; its handle, or NO_HANDLE if it is not known. */
uint32_t handle_end(struct exporting *x, unsigned int pid, uint64_t fd);

/* Whether @op began before the descriptor that is known: another thread closed an older one and was
 * given its number before @op returned. */
bool handle_is_newer(struct exporting *x, const struct cap_op *op, unsigned int pid);

OTF2_IoAccessMode access_mode(uint64_t open_flags);

#endif
