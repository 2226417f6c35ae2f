// SPDX-License-Identifier: GPL-2.0-only
#include "report_order.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/reason.h"
#include "capture/recording.h"

struct known {
	char *name;
	uint64_t began_ns;	/* CLOCK_REALTIME; 0: not known */
	int given;		/* as the how-manieth */
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

	if (!strcmp(k->name, "-") || stat(k->name, &st) || !S_ISREG(st.st_mode))
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

uint64_t report_order(char **names, int n)
{
	struct known *list = calloc(n, sizeof(*list));
	uint64_t sum = 0, size;
	bool all = list;

	for (int i = 0; list && i < n; i++) {
		list[i] = (struct known){ .name = names[i], .given = i };
		size = look(&list[i]);
		all = all && size;
		sum += size;
	}
	if (list)
		qsort(list, n, sizeof(*list), compare);
	for (int i = 0; list && i < n; i++)
		names[i] = list[i].name;
	free(list);
	return all ? sum : 0;
}
