// SPDX-License-Identifier: GPL-2.0-only
#include "report_order.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"
#include "capture/reader.h"

struct known {
	char *name;
	uint64_t began_ns;	/* CLOCK_REALTIME; 0: not known */
	int given;		/* as the how-manieth */
	dev_t dev;		/* which file it is; ino 0: not known */
	ino_t ino;
};

static int compare(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->began_ns != y->began_ns)
		return x->began_ns < y->began_ns ? -1 : 1;
	return x->given - y->given;
}

/* Its size; 0: it is no file. */
static uint64_t look(struct known *k)
{
	struct recording rec;
	struct reason why;
	struct stat st;
	FILE *f;

	if (strcmp(k->name, "-") ? stat(k->name, &st) : fstat(STDIN_FILENO, &st))
		return 0;
	k->dev = st.st_dev;
	k->ino = st.st_ino;
	if (!strcmp(k->name, "-") || !S_ISREG(st.st_mode))
		return 0;
	f = fopen(k->name, "re");
	if (!f)
		return 0;
	if (!recording_open(&rec, f, k->name, &why))
		k->began_ns = rec.header.realtime_ns;
	recording_close(&rec);
	fclose(f);
	return st.st_size;
}

/* That @list[@i] is none of those before. 0, or -1 with @why. */
static int check(const struct known *list, int i, struct reason *why)
{
	for (int j = 0; j < i; j++) {
		if (!list[i].ino || list[j].ino != list[i].ino || list[j].dev != list[i].dev)
			continue;
		reason_set(why, EXIT_USAGE, "'%.100s' and '%.100s' are one file", list[j].name,
			   list[i].name);
		return reason_hint(why, "it would be added up twice");
	}
	return 0;
}

int report_order(char **names, int n, uint64_t *ret_bytes, struct reason *why)
{
	struct known *list = calloc(n, sizeof(*list));
	uint64_t sum = 0, size;
	bool all = true;
	int err = 0;

	if (!list)
		return reason_set(why, EXIT_FAILED, "out of memory");
	for (int i = 0; i < n && !err; i++) {
		list[i] = (struct known){ .name = names[i], .given = i };
		size = look(&list[i]);
		err = check(list, i, why);
		all = all && size;
		sum += size;
	}
	if (!err) {
		qsort(list, n, sizeof(*list), compare);
		for (int i = 0; i < n; i++)
			names[i] = list[i].name;
		*ret_bytes = all ? sum : 0;
	}
	free(list);
	return err;
}
