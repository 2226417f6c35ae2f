// SPDX-License-Identifier: GPL-2.0-only
#include "host/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell.h"
#include "host/lookup.h"
#include "host/mounts.h"

enum {
	FILE_BYTES = 4096, /* of a file; a kernel's file of limits is shorter */
	VALUE_BYTES = 512,
	GROUPS_MOST = 256, /* cgroups in a directory that are looked at */
	LEVELS_MOST = 64,  /* levels upwards on which neighbours are looked at */
	DISKS_MOST = 4,    /* disks of a value */
};

const struct limit_places *limit_places(void)
{
	static struct limit_places at = { NULL, "/sys/block", "/proc/sys/vm", "/sys/class/bdi" };

	if (!at.cgroups)
		at.cgroups = access("/sys/fs/cgroup/cgroup.controllers", F_OK)
				     ? "/sys/fs/cgroup/unified"
				     : "/sys/fs/cgroup";
	return &at;
}

enum limit_side limit_side(unsigned int op)
{
	switch (op) {
	case OP_READ:
	case OP_FAULT:
	case OP_EXEC:
		return LIMIT_READS;
	case OP_WRITE:
	case OP_FSYNC:
		return LIMIT_WRITES;
	default:
		return LIMIT_BOTH;
	}
}

uint64_t limit_id(uint64_t cgroup, enum limit_side side, enum io_limit limit)
{
	/* the kernel counts ids up (kernfs: a 31-bit number, and how often it was used up, above):
	 * the bits that are lost here are 0 until 2^55 nodes were made */
	return cgroup << 8 | side << 4 | limit;
}

enum io_limit limit_of_id(uint64_t id)
{
	return (id & 0xf) < LIMIT_N ? id & 0xf : LIMIT_NONE;
}

/* Reads a file as text. Returns false if it has none. */
static bool text_read(const char *dir, const char *group, const char *name, char text[FILE_BYTES])
{
	char path[PATH_MAX];
	ssize_t len = -1;
	int fd;

	if (snprintf(path, sizeof(path), "%s%s/%s", dir, group, name) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		len = read(fd, text, FILE_BYTES - 1);
		close(fd);
	}
	text[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/* Whether "wbps=10" is a limit for @side. */
static bool word_holds(const char *word, enum limit_side side)
{
	const char *value = strchr(word, '=');

	if (!value || !strcmp(value, "=max"))
		return false;
	return side == LIMIT_BOTH || (*word != 'r' && *word != 'w') ||
	       *word == (side == LIMIT_READS ? 'r' : 'w');
}

/* Adds "sda wbps=10 wiops=5" to @value, from a line "8:0 rbps=max wbps=10 riops=max wiops=5". */
static void line_add(char value[VALUE_BYTES], char *line, enum limit_side side)
{
	static const struct mounts none;
	size_t len = strlen(value);
	unsigned int major, minor;
	char name[64], *word;
	bool named = false;

	word = strsep(&line, " ");
	if (sscanf(word, "%u:%u", &major, &minor) != 2)
		return;
	lookup_dev(&none, major << 20 | (minor & 0xfffff), name, sizeof(name));
	while ((word = strsep(&line, " "))) {
		if (!word_holds(word, side))
			continue;
		if (!named)
			len += snprintf(value + len, VALUE_BYTES - len, "%s%s", len ? "; " : "",
					name);
		if (len < VALUE_BYTES)
			len += snprintf(value + len, VALUE_BYTES - len, " %s", word);
		named = true;
		if (len >= VALUE_BYTES)
			return;
	}
}

/* The limits of disks in a file of cgroup @group. Returns false if there is none for @side. */
static bool disks_read(const struct limit_places *at, const char *group, const char *file,
		       enum limit_side side, char ret_value[VALUE_BYTES])
{
	char text[FILE_BYTES], *rest = text, *line;

	*ret_value = '\0';
	if (!text_read(at->cgroups, group, file, text))
		return false;
	while ((line = strsep(&rest, "\n")))
		if (strlen(ret_value) < VALUE_BYTES - 1)
			line_add(ret_value, line, side);
	return *ret_value;
}

/* "weight=50" of a cgroup. */
static bool weight_read(const struct limit_places *at, const char *group,
			char ret_value[VALUE_BYTES])
{
	unsigned int weight = 0;
	char text[FILE_BYTES];

	if (!text_read(at->cgroups, group, "io.weight", text) ||
	    sscanf(text, "default %u", &weight) != 1)
		return false;
	snprintf(ret_value, VALUE_BYTES, "weight=%u", weight);
	return true;
}

/* "memory.high=1048576": a part of it may be dirty. */
static bool memory_read(const struct limit_places *at, const char *group,
			char ret_value[VALUE_BYTES])
{
	static const char *const files[] = { "memory.high", "memory.max" };
	char text[FILE_BYTES];

	for (size_t i = 0; i < 2; i++) {
		if (!text_read(at->cgroups, group, files[i], text) || *text < '0' || *text > '9')
			continue;
		text[strcspn(text, "\n")] = '\0';
		snprintf(ret_value, VALUE_BYTES, "%s=%.20s", files[i], text);
		return true;
	}
	return false;
}

/* The one that a cgroup beside @group has: whoever has none waits for those who have. Sets @group
 * to it. */
static bool neighbour_read(const struct limit_places *at, char group[PATH_MAX],
			   enum limit_side side, char ret_value[VALUE_BYTES])
{
	char *slash = strrchr(group, '/'), path[PATH_MAX], beside[PATH_MAX];
	bool found = false;
	struct dirent *e;
	DIR *dir;

	if (!slash)
		return false;
	if (snprintf(path, sizeof(path), "%s%.*s/", at->cgroups, (int)(slash - group), group) >=
	    (int)sizeof(path))
		return false;
	dir = opendir(path);
	for (int i = 0; dir && !found && i < GROUPS_MOST && (e = readdir(dir)); i++) {
		if (e->d_name[0] == '.' || e->d_type != DT_DIR || !strcmp(e->d_name, slash + 1))
			continue;
		if (snprintf(beside, sizeof(beside), "%.*s/%s", (int)(slash - group), group,
			     e->d_name) < (int)sizeof(beside))
			found = disks_read(at, beside, "io.latency", side, ret_value);
	}
	if (dir)
		closedir(dir);
	if (found)
		strcpy(group, beside);
	return found;
}

/* Looks for the limit in @group, and in the ones above. Sets @group to the one that has it. */
static bool group_read(const struct limit_places *at, char group[PATH_MAX], enum limit_side side,
		       enum io_limit limit, char ret_value[VALUE_BYTES])
{
	bool found = false;
	char *slash;

	for (int level = 0;; level++) {
		if (limit == LIMIT_IO_MAX)
			found = disks_read(at, group, "io.max", side, ret_value);
		else if (limit == LIMIT_IO_LATENCY)
			found = level < LEVELS_MOST && neighbour_read(at, group, side, ret_value);
		else if (limit == LIMIT_IO_COST)
			found = weight_read(at, group, ret_value);
		else
			found = memory_read(at, group, ret_value);
		slash = strrchr(group, '/');
		if (found || !slash)
			return found;
		*slash = '\0';
	}
}

/* "sda wbt_lat_usec=2000; sdb ..." of disks; those in use by others are among them. */
static bool wbt_read(const struct limit_places *at, char ret_value[VALUE_BYTES])
{
	char file[300], text[FILE_BYTES], *end;
	DIR *dir = opendir(at->disks);
	struct dirent *e;
	size_t len = 0;
	int n = 0;

	*ret_value = '\0';
	while (dir && n < DISKS_MOST && (e = readdir(dir))) {
		snprintf(file, sizeof(file), "%s/queue/wbt_lat_usec", e->d_name);
		if (e->d_name[0] == '.' || !strncmp(e->d_name, "loop", 4) ||
		    !text_read(at->disks, "", file, text) || strtol(text, &end, 10) <= 0 ||
		    strlen(e->d_name) > 32)
			continue;
		*end = '\0';
		len += snprintf(ret_value + len, VALUE_BYTES - len, "%s%s wbt_lat_usec=%.20s",
				n++ ? "; " : "", e->d_name, text);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* "vm.dirty_ratio=20", or vm.dirty_bytes, if that is set. */
static bool dirty_read(const struct limit_places *at, char ret_value[VALUE_BYTES])
{
	static const char *const files[] = { "dirty_bytes", "dirty_ratio" };
	char text[FILE_BYTES];

	for (size_t i = 0; i < 2; i++) {
		if (!text_read(at->vm, "", files[i], text) || strtoll(text, NULL, 10) <= 0)
			continue;
		text[strcspn(text, "\n")] = '\0';
		snprintf(ret_value, VALUE_BYTES, "vm.%s=%.20s", files[i], text);
		return true;
	}
	return false;
}

/* Adds "; sda max_ratio=1" for each device that has a limit for dirty data of its own. */
static void backing_add(const struct limit_places *at, char value[VALUE_BYTES])
{
	char file[300], text[FILE_BYTES], line[64], *end;
	DIR *dir = opendir(at->backing);
	struct dirent *e;
	long ratio;

	for (int n = 0; dir && n < DISKS_MOST && (e = readdir(dir));) {
		snprintf(file, sizeof(file), "%s/strict_limit", e->d_name);
		if (!text_read(at->backing, "", file, text) || *text != '1')
			continue;
		snprintf(file, sizeof(file), "%s/max_ratio", e->d_name);
		if (!text_read(at->backing, "", file, text))
			continue;
		ratio = strtol(text, &end, 10);
		snprintf(line, sizeof(line), "%.32s max_ratio=%ld", e->d_name, ratio);
		line_add(value, line, LIMIT_BOTH);
		n += end > text;
	}
	if (dir)
		closedir(dir);
}

char *limit_read(const struct limit_places *at, const char *cgroup, enum limit_side side,
		 enum io_limit limit)
{
	char group[PATH_MAX] = "", value[VALUE_BYTES] = "", *text = NULL;
	bool found = false;

	if (limit == LIMIT_WBT)
		found = wbt_read(at, value);
	else if (cgroup && *cgroup == '/' && strlen(cgroup) < sizeof(group) && cgroup[1])
		strcpy(group, cgroup);
	if (limit != LIMIT_WBT)
		found = group_read(at, group, side, limit, value);
	if (!found && limit == LIMIT_DIRTY)
		found = dirty_read(at, value);
	if (found && limit == LIMIT_DIRTY)
		backing_add(at, value);
	return found && asprintf(&text, "%s\t%s", value, group) >= 0 ? text : NULL;
}

char *limit_of_cgroup(uint64_t id, enum limit_side side, enum io_limit limit)
{
	char *path = lookup_cgroup(id), *text = NULL;

	if (path)
		text = limit_read(limit_places(), path, side, limit);
	free(path);
	return text;
}
