// SPDX-License-Identifier: GPL-2.0-only
/*
 * mounts.c - reads /proc/self/mountinfo and /proc/filesystems.
 */
#include "host/mounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/protocols.h"
#include "cell.h"

static bool is_octal(const char *s)
{
	for (int i = 0; i < 3; i++)
		if (s[i] < '0' || s[i] > '7')
			return false;
	return true;
}

/* The next word of @line, with the kernel's escapes (\ooo) decoded. */
static const char *next_word(char **line)
{
	char *word = strsep(line, " "), *to = word;

	for (const char *from = word; from && (*to = *from); to++) {
		if (*from == '\\' && is_octal(from + 1)) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			from++;
		}
	}
	return word ? word : "";
}

/* "36 35 98:0 /root /point options tag... - type source options"; see proc(5). */
static bool mount_parse(struct mount *m, char *line)
{
	unsigned int major, minor;

	m->id = strtoul(next_word(&line), NULL, 10);
	next_word(&line);
	if (sscanf(next_word(&line), "%u:%u", &major, &minor) != 2)
		return false;
	m->dev = DEV_OF(major, minor);
	m->root = next_word(&line);
	m->point = next_word(&line);
	m->options = next_word(&line);
	while (line && strcmp(next_word(&line), "-") != 0)
		;
	m->type = next_word(&line);
	m->source = next_word(&line);
	m->fs_options = next_word(&line);
	return true;
}

/* The whole file @path; the caller frees it. NULL: see errno. */
static char *mountinfo_read(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t cap = 0;

	if (f && getdelim(&text, &cap, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

int mounts_read(struct mounts *ret_mounts)
{
	return mounts_read_from("/proc/self/mountinfo", ret_mounts);
}

int mounts_read_from(const char *path, struct mounts *ret_mounts)
{
	struct mounts m = { .text = mountinfo_read(path) };
	char *rest = m.text, *line;
	size_t lines = 1;

	if (!m.text)
		return errno ? -errno : -EIO;
	for (const char *p = m.text; (p = strchr(p, '\n')); p++)
		lines++;
	m.list = calloc(lines, sizeof(*m.list));
	if (!m.list) {
		mounts_free(&m);
		return -ENOMEM;
	}
	while ((line = strsep(&rest, "\n")))
		m.n += mount_parse(&m.list[m.n], line);
	*ret_mounts = m;
	return 0;
}

void mounts_free(struct mounts *m)
{
	free(m->list);
	free(m->text);
	*m = (struct mounts){};
}

enum fs_kind mounts_fs_kind(const char *type)
{
	FILE *f = fopen("/proc/filesystems", "re");
	enum fs_kind kind = FS_KIND_UNKNOWN;
	char line[128], name[64];

	while (f && !kind && fgets(line, sizeof(line), f)) {
		bool no_disk = sscanf(line, "nodev %63s", name) == 1;

		if ((no_disk || sscanf(line, "%63s", name) == 1) && !strcmp(name, type))
			kind = no_disk ? FS_KIND_NO_DISK : FS_KIND_DISK;
	}
	if (f)
		fclose(f);
	return kind;
}

bool mounts_may_be_on(const struct mounts *m, const char *type, const unsigned int *devs,
		      unsigned int n_devs)
{
	bool may = !strcmp(type, "bdev") || mounts_fs_kind(type) != FS_KIND_NO_DISK;

	for (size_t i = 0; i < m->n; i++)
		for (unsigned int d = 0; d < n_devs; d++)
			may |= m->list[i].dev == devs[d] && !strcmp(m->list[i].type, type);
	return may;
}

const struct mount *mounts_by_source(const struct mounts *m, unsigned int protocol,
				     const char *source)
{
	for (size_t i = 0; i < m->n; i++)
		if (protocol_of_fs(m->list[i].type) == protocol &&
		    !strcmp(m->list[i].source, source) && !strcmp(m->list[i].root, "/"))
			return &m->list[i];
	return NULL;
}

const struct mount *mounts_by_id(const struct mounts *m, unsigned int id)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->list[i].id == id)
			return &m->list[i];
	return NULL;
}

const struct mount *mounts_by_dev(const struct mounts *m, unsigned int dev)
{
	const struct mount *any = NULL;

	for (size_t i = 0; i < m->n; i++) {
		if (m->list[i].dev != dev)
			continue;
		if (!strcmp(m->list[i].root, "/"))
			return &m->list[i];
		any = &m->list[i];
	}
	return any;
}

void mount_server(char dst[SERVER_TEXT], const char *fs, const char *type, const char *source)
{
	const char *program, *end;

	if (!fs_has_server(fs)) {
		snprintf(dst, SERVER_TEXT, "(no server)");
		return;
	}
	if (!source || !*source) {
		snprintf(dst, SERVER_TEXT, "(not known)");
		return;
	}
	program = strncmp(type, "fuse.", 5) != 0 ? "" : type + 5;
	if (!strncmp(source, "//", 2)) {
		source += 2;
		end = source + strcspn(source, "/");
	} else {
		end = strstr(source, ":/");
		if (!end) /* also "ann@host:", a home directory */
			end = source + strlen(source) - (source[strlen(source) - 1] == ':');
	}
	snprintf(dst, SERVER_TEXT, "%s%s%.*s", program, *program ? " " : "", (int)(end - source),
		 source);
}

bool mount_is_named(const char *name, const char *type, const char *point, const char *source)
{
	size_t len = strlen(name);
	char server[SERVER_TEXT];

	len -= len > 1 && name[len - 1] == '/';
	if ((!strncmp(point, name, len) && !point[len]) || !strcmp(source, name))
		return true;
	mount_server(server, type, type, source);
	return server[0] != '(' && !strcmp(server, name);
}

unsigned long long mount_server_number(const char *name)
{
	unsigned long long n = 0xcbf29ce484222325; /* FNV-1a */

	for (; *name; name++)
		n = (n ^ (unsigned char)*name) * 0x100000001b3;
	return n;
}

const struct mount *mounts_by_path(const struct mounts *m, const char *path)
{
	const struct mount *on = NULL;
	size_t longest = 0, len;

	for (size_t i = 0; i < m->n; i++) {
		len = strlen(m->list[i].point);
		len -= len == 1; /* "/" */
		if (len < longest || strncmp(m->list[i].point, path, len) || path[len] != '/')
			continue;
		longest = len; /* of several mounts at one point, the last is on top */
		on = &m->list[i];
	}
	return on;
}

bool mounts_fs_is_pseudo(const char *type, size_t cap)
{
	static const char *const names[] = { "proc",       "sysfs",     "cgroup",   "cgroup2",
					     "tracefs",    "debugfs",   "configfs", "securityfs",
					     "bpf",        "selinuxfs", "fusectl",  "binfmt_misc",
					     "rpc_pipefs", "resctrl",   "smackfs",  "nsfs",
					     "devpts",     "mqueue",    "efivarfs", "pstore",
					     "autofs",     "functionfs" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(type, names[i], cap))
			return true;
	return false;
}
