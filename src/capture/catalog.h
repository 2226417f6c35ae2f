/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * catalog.h - the names in a recording, by the ids in records. Memory grows only with names
 * actually read. All text is hostile.
 */
#ifndef IOSTRATA_CAPTURE_CATALOG_H
#define IOSTRATA_CAPTURE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/devices.h"
#include "capture/rowpack.h"
#include "event.h"

struct catalog_block;
struct stack_frame;
struct catalog_text;
struct container_names;

struct catalog_file {
	uint64_t key, ino;         /* FILE_KEY() */
	unsigned short flags, len; /* enum stored_file_flag; length of names */
	unsigned short directory;  /* as in struct file_name */
	unsigned short room;       /* bytes at names */
	uint64_t path; /* the same for files made one after another at one path, else their own */
	char *names;   /* as in struct file_name; in a block of the catalog */
};

struct catalog_thread {
	unsigned int pid, tid;
	uint64_t cgroup;
	char comm[COMM_LEN]; /* may lack a NUL */
	const char *command; /* of its process; NULL: not known */
};

/* A frame of user stacks. */
struct catalog_frame {
	uint64_t code, at;
	unsigned int line;             /* 0: not known */
	const char *function, *source; /* NULL: not known */
	char *text;                    /* has both; owned */
};

struct catalog_stack {
	unsigned int end; /* enum stack_end */
	bool by_frame_pointers;
	unsigned int n;
	unsigned int *frames; /* ids, the innermost first; owned */
};

enum { CATALOG_FS = 256 };

struct catalog {
	struct catalog_file *files;     /* [0]: no file */
	struct catalog_thread *threads; /* [0]: no thread */
	size_t n_files, n_threads, files_cap, threads_cap;
	struct catalog_block *blocks; /* names of files; owned */
	size_t block_left;            /* bytes free in the first one */
	struct catalog_text *cgroups, *devices, *containers, *texts, *limits;
	struct catalog_text *commands; /* by pid; the last of each */
	struct devices disks;          /* noted while it was recorded, and what they lie on */
	char **old_commands;           /* earlier ones, which threads may have */
	size_t n_old, old_cap;
	struct catalog_frame *frames; /* [0]: not known */
	struct catalog_stack *stacks; /* [0]: likewise */
	size_t n_frames, n_stacks, frames_cap, stacks_cap;
	struct catalog_text *codes;
	uint64_t version; /* grows with each chunk of names: the chunk may replace names */
	struct {
		char name[FS_NAME_LEN];
		unsigned int probed; /* kinds of operations, 1 << kind */
	} fs[CATALOG_FS];
};

/* Returns 0 or -ENOMEM. */
int catalog_init(struct catalog *c);
void catalog_done(struct catalog *c);

/* Adds the rows of a chunk of names. 0, -EBADMSG (not names) or -ENOMEM. */
int catalog_add(struct catalog *c, struct cursor *rows);

/* The file or thread of an id in a record; an unknown id gives the entry of id 0. */
const struct catalog_file *catalog_file(const struct catalog *c, uint64_t id);
const struct catalog_thread *catalog_thread(const struct catalog *c, uint64_t id);

/* Name of a cgroup, of its container or of a device, or NULL if not known. */
const char *catalog_cgroup(const struct catalog *c, uint64_t id);
const char *catalog_container(const struct catalog *c, uint64_t cgroup);
const char *catalog_device(const struct catalog *c, uint64_t dev);

/* The text of an id in a request to a server; "": not known. */
const char *catalog_server_text(const struct catalog *c, uint64_t id);

/* The text of a limit, as in limits.h; NULL: not known. */
const char *catalog_limit(const struct catalog *c, uint64_t id);

/* Adds the names of all containers to @names. */
void catalog_container_names(const struct catalog *c, struct container_names *names);

/* The name of a program or library with code; NULL: not known. */
const char *catalog_code(const struct catalog *c, uint64_t id);

/* Its build id, as the recording has it: hexadecimal digits, if it is right. NULL: not known. */
const char *catalog_build_id(const struct catalog *c, uint64_t id);

/* Gives frame @id another name. The texts are copied; "": not known. Returns 0 or -ENOMEM. */
int catalog_frame_name(struct catalog *c, size_t id, const char *function, const char *source,
		       unsigned int line);

/* Frame @id of a stack of @c; its text stays the catalog's. */
void catalog_stack_frame(const struct catalog *c, unsigned int id, struct stack_frame *ret_frame);

/* Type of the file system @fs of a record; "": not known. */
const char *catalog_fs(const struct catalog *c, uint64_t fs);

/* Fills a struct file_name from @f. */
void catalog_file_name(const struct catalog_file *f, struct file_name *ret_name);

#endif
