// SPDX-License-Identifier: GPL-2.0-only
#include "mounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* mountinfo writes space, tab, newline and backslash as \ooo (seq_path() in fs/seq_file.c). */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; to++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to = *s++;
		}
	}
	*to = '\0';
}

/* "36 35 98:0 /root /point options [tags ...] - type source superoptions" */
int mounts_parse_line(char *line, struct mount *ret_mount)
{
	unsigned int major, minor;
	struct mount m = {};
	char *save = NULL, *word;
	int n = 0;

	for (word = strtok_r(line, " \n", &save); word; word = strtok_r(NULL, " \n", &save), n++) {
		if (n == 0)
			m.id = strtoul(word, NULL, 10);
		if (n == 2 && sscanf(word, "%u:%u", &major, &minor) != 2)
			return -EINVAL;
		if (n == 3)
			m.root = word;
		if (n == 4)
			m.point = word;
		if (n >= 6 && !strcmp(word, "-"))
			break;
	}
	m.type = strtok_r(NULL, " \n", &save);
	m.source = strtok_r(NULL, " \n", &save);
	if (!word || !m.type || !m.source)
		return -EINVAL;
	m.dev = major << 20 | (minor & 0xfffff);
	unescape(m.root);
	unescape(m.point);
	unescape(m.type);
	unescape(m.source);
	*ret_mount = m;
	return 0;
}

static void mount_free(struct mount *m)
{
	free(m->root);
	free(m->point);
	free(m->type);
	free(m->source);
}

static int mount_copy(struct mount *to, const struct mount *from)
{
	to->id = from->id;
	to->dev = from->dev;
	to->root = strdup(from->root);
	to->point = strdup(from->point);
	to->type = strdup(from->type);
	to->source = strdup(from->source);
	if (to->root && to->point && to->type && to->source)
		return 0;
	mount_free(to);
	return -ENOMEM;
}

static int mounts_add(struct mounts *m, const struct mount *one)
{
	struct mount *list = reallocarray(m->list, m->n + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	m->list = list;
	if (mount_copy(&list[m->n], one))
		return -ENOMEM;
	m->n++;
	return 0;
}

int mounts_read(struct mounts *ret_mounts)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct mounts m = {};
	struct mount one;
	char *line = NULL;
	size_t cap = 0;
	int err = 0;

	if (!f)
		return -errno;
	while (!err && getline(&line, &cap, f) >= 0)
		if (!mounts_parse_line(line, &one))
			err = mounts_add(&m, &one);
	free(line);
	fclose(f);
	if (err)
		mounts_free(&m);
	else
		*ret_mounts = m;
	return err;
}

void mounts_free(struct mounts *m)
{
	for (size_t i = 0; i < m->n; i++)
		mount_free(&m->list[i]);
	free(m->list);
	m->list = NULL;
	m->n = 0;
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
