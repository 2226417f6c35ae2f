// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as /proc/kallsyms, and as what it is searched for: no overrun, and every name is
 * ended. Any bytes as the files that tell how busy the machine is, as a perf map, and as the memory
 * of a process with Python: no overrun. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "event.h"
#include "host/machine_meter.h"
#include "stacks/perf_map.h"
#include "stacks/python_code.h"
#include "trace/fsfuncs.h"

static void check(int ok)
{
	if (!ok)
		abort();
}

/* A type is called as the input begins, and has the address that it begins with. */
static void check_symbols(const char *text, size_t len)
{
	struct fs_type types[2] = { { .name = "ext4" } };
	FILE *f = len ? fmemopen((void *)text, len, "r") : NULL;

	if (!f)
		return;
	snprintf(types[1].name, sizeof(types[1].name), "%s", text);
	types[1].addr[FS_READ] = strtoull(text, NULL, 16);
	check(!fsfuncs_resolve_from(f, types, 2));
	for (int i = 0; i < 2 * FS_METHODS; i++) {
		const struct fs_type *t = &types[i / FS_METHODS];

		check(strnlen(t->func[i % FS_METHODS], FUNC_NAME_LEN) < FUNC_NAME_LEN);
		check(strnlen(t->module[i % FS_METHODS], FUNC_NAME_LEN) < FUNC_NAME_LEN);
	}
	fclose(f);
}

static void check_meter(const char *text)
{
	struct machine_load l = {};

	for (unsigned int source = 0; source < MACHINE_FILES; source++)
		machine_meter_parse(source, text, &l);
}

static void check_map(const uint8_t *data, size_t len)
{
	int fd = memfd_create("map", 0);
	struct frame_name name;
	struct perf_map m;
	const char *found;

	check(fd >= 0 && write(fd, data, len) == (ssize_t)len && !lseek(fd, 0, SEEK_SET));
	check(!perf_map_read(&m, fd));
	for (size_t i = 0; i < m.n; i++) {
		found = perf_map_find(&m, m.codes[i].start);
		check(found != NULL);
		perf_map_name(found, &name);
		check(strnlen(name.function, FRAME_TEXT) < FRAME_TEXT &&
		      strnlen(name.source, FRAME_TEXT) < FRAME_TEXT);
	}
	perf_map_done(&m);
	close(fd);
}

/* The input, again and again. */
struct memory {
	const uint8_t *data;
	size_t len;
};

static bool memory_read(void *arg, uint64_t at, void *to, size_t len)
{
	const struct memory *m = arg;

	for (size_t i = 0; i < len; i++)
		((uint8_t *)to)[i] = m->data[(at + i) % m->len];
	return true;
}

static void check_python(const uint8_t *data, size_t len)
{
	struct memory m = { data, len };
	struct frame_name name;
	unsigned long long frame;

	if (len < sizeof(frame))
		return;
	memcpy(&frame, data, sizeof(frame));
	if (python_code_name(frame, memory_read, &m, &name))
		check(strnlen(name.function, FRAME_TEXT) < FRAME_TEXT &&
		      strnlen(name.source, FRAME_TEXT) < FRAME_TEXT);
	python_line(data, len, data[0], data[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	check(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	check_symbols(text, size);
	check_meter(text);
	check_map(data, size);
	check_python(data, size);
	free(text);
	return 0;
}
