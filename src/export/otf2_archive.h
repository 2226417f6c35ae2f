/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * otf2_archive.h - writes an OTF2 archive: definitions, each with the next id of its kind, and
 * locations. Knows nothing of recordings.
 *
 * The first error stays in .err and ends all writing. Hostile text is written as UTF-8.
 */
#ifndef IOSTRATA_EXPORT_OTF2_ARCHIVE_H
#define IOSTRATA_EXPORT_OTF2_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <otf2/otf2.h>

/* A thread or a disk. */
struct otf2_location {
	OTF2_EvtWriter *w;
	uint64_t last_ns; /* of its last event, before the shift */
	uint32_t group, name;
};

/* A process or a disk. */
struct otf2_group {
	uint32_t name, node;
};

struct otf2_archive {
	OTF2_Archive *a;
	OTF2_GlobalDefWriter *defs;
	int err;             /* 0, or an OTF2_ErrorCode that failed */
	int cause;           /* likewise, the error of the system behind .err, if known */
	uint64_t operations; /* matching ids given so far: one counter for all */
	uint64_t moved;      /* events moved forward to the time of the event before */
	uint64_t shift_ns;   /* added to all times, modulo 2^64 */
	/* the next id of each kind */
	uint32_t strings, nodes, regions, files, handles, attributes, paradigms;
	struct otf2_location *locations;
	struct otf2_group *groups;
	size_t n_locations, locations_cap, n_groups, groups_cap;
};

/* Makes an archive in the empty directory @dir, with a clock in ns. 0, or an error. */
int otf2_open(struct otf2_archive *a, const char *dir);

/* Writes groups and locations, and closes the archive. 0, or the first error. Call once. */
int otf2_close(struct otf2_archive *a);

/* Removes the files of the closed archive @a in @dir: after an error they are unreadable. */
void otf2_remove(const struct otf2_archive *a, const char *dir);

/* The message for .err. */
const char *otf2_strerror(const struct otf2_archive *a);

/* Definitions: each returns its id. */
uint32_t otf2_string(struct otf2_archive *a, const char *text);
uint32_t otf2_node(struct otf2_archive *a, const char *name, const char *class_name,
		   uint32_t parent);
void otf2_node_property(struct otf2_archive *a, uint32_t node, const char *name, int64_t value);
uint32_t otf2_group(struct otf2_archive *a, const char *name, uint32_t node);
uint32_t otf2_region(struct otf2_archive *a, const char *name, OTF2_RegionRole role);
uint32_t otf2_paradigm(struct otf2_archive *a, const char *id);
uint32_t otf2_attribute(struct otf2_archive *a, const char *name, const char *what, OTF2_Type type);
uint32_t otf2_file(struct otf2_archive *a, const char *path, uint32_t node);
void otf2_file_property(struct otf2_archive *a, uint32_t file, const char *name, const char *value);

/* @file OTF2_UNDEFINED_IO_FILE: no file. A handle open from the beginning has a @mode. */
uint32_t otf2_handle(struct otf2_archive *a, const char *name, uint32_t file, uint32_t paradigm);
uint32_t otf2_handle_there(struct otf2_archive *a, const char *name, uint32_t file,
			   uint32_t paradigm, OTF2_IoHandleFlag flags, OTF2_IoAccessMode mode);

/* Makes a location in @group. Returns its number, also its id. SIZE_MAX: failed. */
size_t otf2_location(struct otf2_archive *a, const char *name, uint32_t group);

/* Give a group or a location another name: the last one is written. */
void otf2_group_name(struct otf2_archive *a, uint32_t group, const char *name);
void otf2_location_name(struct otf2_archive *a, size_t location, const char *name);

/* The time to write for an event at @ns: shifted, and not before the location's last event. */
uint64_t otf2_time(struct otf2_archive *a, size_t location, uint64_t ns);

/* Calls a function of the library, and notes an error. After an error, nothing is called: the
 * library would crash. */
#define otf2_note(a, call)                                                                         \
	do {                                                                                       \
		if (!(a)->err)                                                                     \
			(a)->err = (call);                                                         \
	} while (0)

#endif
