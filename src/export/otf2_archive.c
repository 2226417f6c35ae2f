// SPDX-License-Identifier: GPL-2.0-only
#include "export/otf2_archive.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/text.h"

/* The library's least size; by default, definitions take 4 MiB for every location. */
enum { CHUNK_BYTES = 256 << 10, CHUNKS = 2 };

#define NONE OTF2_UNDEFINED_UINT32

/* Chunks of one buffer: when all are used, the library writes the buffer. */
struct chunks {
	void *at[CHUNKS];
	int n;
};

static void *chunk_new(void *user, OTF2_FileType type, OTF2_LocationRef location, void **buffer,
		       uint64_t size)
{
	struct chunks *c = *buffer;

	(void)user, (void)type, (void)location;
	if (!c)
		*buffer = c = calloc(1, sizeof(*c));
	if (!c || c->n == CHUNKS)
		return NULL;
	c->at[c->n] = malloc(size);
	return c->at[c->n] ? c->at[c->n++] : NULL;
}

static void chunks_free(void *user, OTF2_FileType type, OTF2_LocationRef location, void **buffer,
			bool final)
{
	struct chunks *c = *buffer;

	(void)user, (void)type, (void)location;
	if (!c)
		return;
	while (c->n)
		free(c->at[--c->n]);
	if (final) {
		free(c);
		*buffer = NULL;
	}
}

/* Without this callback the library would not write. A callback after writing would have to return
 * a time, for an event with the duration of the write. */
static OTF2_FlushType before_flush(void *user, OTF2_FileType type, OTF2_LocationRef location,
				   void *caller, bool final)
{
	(void)user, (void)type, (void)location, (void)caller, (void) final;
	return OTF2_FLUSH;
}

static const OTF2_FlushCallbacks flush = { .otf2_pre_flush = before_flush };
static const OTF2_MemoryCallbacks memory = { chunk_new, chunks_free };

/* Replaces the library's messages. An errno of the system is reported first, and only here: the
 * library's own error code says less. */
static OTF2_ErrorCode cause_keep(void *user, const char *file, uint64_t line, const char *function,
				 OTF2_ErrorCode code, const char *format, va_list args)
{
	struct otf2_archive *a = user;

	(void)file, (void)line, (void)function, (void)format, (void)args;
	if (!a->cause && code > OTF2_ERROR_INVALID && code < OTF2_ERROR_END_OF_FUNCTION)
		a->cause = code;
	return code;
}

int otf2_open(struct otf2_archive *a, const char *dir)
{
	*a = (struct otf2_archive){};
	OTF2_Error_RegisterCallback(cause_keep, a);
	a->a = OTF2_Archive_Open(dir, "traces", OTF2_FILEMODE_WRITE, CHUNK_BYTES, CHUNK_BYTES,
				 OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (!a->a)
		return a->err = OTF2_ERROR_FILE_CAN_NOT_OPEN;
	otf2_note(a, OTF2_Archive_SetFlushCallbacks(a->a, &flush, NULL));
	otf2_note(a, OTF2_Archive_SetMemoryCallbacks(a->a, &memory, NULL));
	otf2_note(a, OTF2_Archive_SetSerialCollectiveCallbacks(a->a));
	otf2_note(a, OTF2_Archive_SetCreator(a->a, "iostrata"));
	otf2_note(a, OTF2_Archive_OpenEvtFiles(a->a));
	a->defs = OTF2_Archive_GetGlobalDefWriter(a->a);
	if (!a->defs)
		otf2_note(a, OTF2_ERROR_FILE_CAN_NOT_OPEN);
	otf2_string(a, "");
	return a->err;
}

static void groups_write(struct otf2_archive *a)
{
	for (size_t i = 0; i < a->n_groups; i++)
		otf2_note(a, OTF2_GlobalDefWriter_WriteLocationGroup(
				     a->defs, i, a->groups[i].name,
				     OTF2_LOCATION_GROUP_TYPE_PROCESS, a->groups[i].node, NONE));
}

/* Called at the end, when event counts are known. Local definitions of a location are empty, but
 * must exist. */
static void locations_write(struct otf2_archive *a)
{
	OTF2_DefWriter *defs;
	uint64_t events;

	for (size_t i = 0; i < a->n_locations; i++) {
		struct otf2_location *l = &a->locations[i];

		events = 0;
		otf2_note(a, OTF2_EvtWriter_GetNumberOfEvents(l->w, &events));
		otf2_note(a, OTF2_Archive_CloseEvtWriter(a->a, l->w));
		otf2_note(a, OTF2_GlobalDefWriter_WriteLocation(a->defs, i, l->name,
								OTF2_LOCATION_TYPE_CPU_THREAD,
								events, l->group));
	}
	otf2_note(a, OTF2_Archive_CloseEvtFiles(a->a));
	otf2_note(a, OTF2_Archive_OpenDefFiles(a->a));
	for (size_t i = 0; i < a->n_locations && !a->err; i++) {
		defs = OTF2_Archive_GetDefWriter(a->a, i);
		otf2_note(a, defs ? OTF2_Archive_CloseDefWriter(a->a, defs)
				  : OTF2_ERROR_FILE_CAN_NOT_OPEN);
	}
	otf2_note(a, OTF2_Archive_CloseDefFiles(a->a));
}

int otf2_close(struct otf2_archive *a)
{
	if (!a->a)
		return a->err;
	if (a->defs) {
		groups_write(a);
		locations_write(a);
	}
	otf2_note(a, OTF2_Archive_Close(a->a));
	a->a = NULL;
	free(a->groups);
	free(a->locations);
	a->groups = NULL;
	a->locations = NULL;
	return a->err;
}

void otf2_remove(const struct otf2_archive *a, const char *dir)
{
	static const char *const kinds[] = { "evt", "def" };
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[48];

	if (fd < 0)
		return;
	for (size_t i = 0; i < a->n_locations; i++) {
		for (int kind = 0; kind < 2; kind++) {
			snprintf(name, sizeof(name), "traces/%zu.%s", i, kinds[kind]);
			unlinkat(fd, name, 0);
		}
	}
	unlinkat(fd, "traces", AT_REMOVEDIR);
	unlinkat(fd, "traces.def", 0);
	unlinkat(fd, "traces.otf2", 0);
	close(fd);
}

const char *otf2_strerror(const struct otf2_archive *a)
{
	return OTF2_Error_GetDescription(a->cause ? a->cause : a->err);
}

uint32_t otf2_string(struct otf2_archive *a, const char *text)
{
	char *utf8 = text_json(text);

	if (utf8)
		otf2_note(a, OTF2_GlobalDefWriter_WriteString(a->defs, a->strings, utf8));
	else
		otf2_note(a, OTF2_ERROR_MEM_ALLOC_FAILED);
	free(utf8);
	return a->strings++;
}

uint32_t otf2_node(struct otf2_archive *a, const char *name, const char *class_name,
		   uint32_t parent)
{
	uint32_t n = otf2_string(a, name), c = otf2_string(a, class_name);

	otf2_note(a, OTF2_GlobalDefWriter_WriteSystemTreeNode(a->defs, a->nodes, n, c, parent));
	return a->nodes++;
}

void otf2_node_property(struct otf2_archive *a, uint32_t node, const char *name, int64_t value)
{
	OTF2_AttributeValue v = { .int64 = value };

	otf2_note(a, OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty(
			     a->defs, node, otf2_string(a, name), OTF2_TYPE_INT64, v));
}

uint32_t otf2_group(struct otf2_archive *a, const char *name, uint32_t node)
{
	if (list_reserve((void **)&a->groups, &a->groups_cap, a->n_groups, sizeof(*a->groups))) {
		otf2_note(a, OTF2_ERROR_MEM_ALLOC_FAILED);
		return 0;
	}
	a->groups[a->n_groups] = (struct otf2_group){ otf2_string(a, name), node };
	return a->n_groups++;
}

void otf2_group_name(struct otf2_archive *a, uint32_t group, const char *name)
{
	if (group < a->n_groups)
		a->groups[group].name = otf2_string(a, name);
}

uint32_t otf2_region(struct otf2_archive *a, const char *name, OTF2_RegionRole role)
{
	uint32_t n = otf2_string(a, name);

	otf2_note(a, OTF2_GlobalDefWriter_WriteRegion(a->defs, a->regions, n, n, 0, role,
						      OTF2_PARADIGM_NONE, OTF2_REGION_FLAG_NONE,
						      NONE, 0, 0));
	return a->regions++;
}

uint32_t otf2_paradigm(struct otf2_archive *a, const char *id)
{
	uint32_t n = otf2_string(a, id);

	otf2_note(a, OTF2_GlobalDefWriter_WriteIoParadigm(
			     a->defs, a->paradigms, n, n, OTF2_IO_PARADIGM_CLASS_SERIAL,
			     OTF2_IO_PARADIGM_FLAG_OS, 0, NULL, NULL, NULL));
	return a->paradigms++;
}

uint32_t otf2_attribute(struct otf2_archive *a, const char *name, const char *what, OTF2_Type type)
{
	uint32_t n = otf2_string(a, name), w = otf2_string(a, what);

	otf2_note(a, OTF2_GlobalDefWriter_WriteAttribute(a->defs, a->attributes, n, w, type));
	return a->attributes++;
}

uint32_t otf2_file(struct otf2_archive *a, const char *path, uint32_t node)
{
	uint32_t n = otf2_string(a, path);

	otf2_note(a, OTF2_GlobalDefWriter_WriteIoRegularFile(a->defs, a->files, n, node));
	return a->files++;
}

void otf2_file_property(struct otf2_archive *a, uint32_t file, const char *name, const char *value)
{
	OTF2_AttributeValue v = {};
	uint32_t n = otf2_string(a, name);

	v.stringRef = otf2_string(a, value);
	otf2_note(a,
		  OTF2_GlobalDefWriter_WriteIoFileProperty(a->defs, file, n, OTF2_TYPE_STRING, v));
}

static uint32_t handle_write(struct otf2_archive *a, const char *name, uint32_t file,
			     uint32_t paradigm, OTF2_IoHandleFlag flags)
{
	uint32_t n = otf2_string(a, name);

	otf2_note(a, OTF2_GlobalDefWriter_WriteIoHandle(a->defs, a->handles, n, file, paradigm,
							flags, NONE, NONE));
	return a->handles++;
}

uint32_t otf2_handle(struct otf2_archive *a, const char *name, uint32_t file, uint32_t paradigm)
{
	return handle_write(a, name, file, paradigm, OTF2_IO_HANDLE_FLAG_NONE);
}

uint32_t otf2_handle_there(struct otf2_archive *a, const char *name, uint32_t file,
			   uint32_t paradigm, OTF2_IoHandleFlag flags, OTF2_IoAccessMode mode)
{
	uint32_t h = handle_write(a, name, file, paradigm, OTF2_IO_HANDLE_FLAG_PRE_CREATED | flags);

	otf2_note(a, OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState(a->defs, h, mode,
								       OTF2_IO_STATUS_FLAG_NONE));
	return h;
}

size_t otf2_location(struct otf2_archive *a, const char *name, uint32_t group)
{
	struct otf2_location l = { .group = group };

	if (a->err)
		return SIZE_MAX;
	if (list_reserve((void **)&a->locations, &a->locations_cap, a->n_locations, sizeof(l))) {
		otf2_note(a, OTF2_ERROR_MEM_ALLOC_FAILED);
		return SIZE_MAX;
	}
	l.w = OTF2_Archive_GetEvtWriter(a->a, a->n_locations);
	if (!l.w) {
		otf2_note(a, OTF2_ERROR_FILE_CAN_NOT_OPEN);
		return SIZE_MAX;
	}
	l.name = otf2_string(a, name);
	a->locations[a->n_locations] = l;
	return a->n_locations++;
}

void otf2_location_name(struct otf2_archive *a, size_t location, const char *name)
{
	a->locations[location].name = otf2_string(a, name);
}

uint64_t otf2_time(struct otf2_archive *a, size_t location, uint64_t ns)
{
	struct otf2_location *l = &a->locations[location];

	if (ns < l->last_ns) {
		a->moved++;
		ns = l->last_ns;
	}
	l->last_ns = ns;
	return ns + a->shift_ns;
}
