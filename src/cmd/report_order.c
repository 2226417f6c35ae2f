// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/report_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"
#include "capture/recording.h"

struct known {
	char *name;
	uint64_t began_ns; /* CLOCK_REALTIME; 0: not known */
	int given;         /* its position on the command line */
	dev_t dev;         /* with .ino, the identity of the file */
	ino_t ino;         /* 0: not known */
	bool no_recording; /* a file without a recording */
	char *host;        /* NULL: not known; owned */
};

static int by_beginning(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->began_ns != y->began_ns)
		return x->began_ns < y->began_ns ? -1 : 1;
	return x->given - y->given;
}

/* Sets the beginning and the identity of @k. Returns the size of the file, or 0 if @k is no
 * file. */
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
	if (!recording_open(&rec, f, k->name, &why)) {
		k->began_ns = rec.header.realtime_ns;
		k->host = rec.header.host ? strdup(rec.header.host) : NULL;
	} else {
		k->no_recording = true;
	}
	recording_close(&rec);
	fclose(f);
	return st.st_size;
}

/* Fails if @list[@i] is the same file as one before it. Returns 0, or -1 with @why. */
static int order_check(const struct known *list, int i, struct reason *why)
{
	for (int j = 0; j < i; j++) {
		if (!list[i].ino || list[j].ino != list[i].ino || list[j].dev != list[i].dev)
			continue;
		reason_set(why, EXIT_USAGE, "'%.100s' and '%.100s' are the same file", list[j].name,
			   list[i].name);
		return reason_hint(why,
				   "name each recording once, or its records are counted twice");
	}
	return 0;
}

static void order_fill(struct report_order *o, const struct known *list, int n)
{
	const struct known *first = NULL;

	for (int i = 0; i < n; i++) {
		if (list[i].no_recording)
			continue;
		if (o->recordings++)
			o->many_hosts |=
				!first->host || !list[i].host || strcmp(list[i].host, first->host);
		else
			first = &list[i];
	}
}

int report_order(char **names, int n, struct report_order *ret, struct reason *why)
{
	struct known *list = calloc(n, sizeof(*list));
	struct report_order order = {};
	uint64_t sum = 0, size;
	bool all = true;
	int err = 0;

	if (!list)
		return reason_no_memory(why);
	for (int i = 0; i < n && !err; i++) {
		list[i] = (struct known){ .name = names[i], .given = i };
		size = look(&list[i]);
		err = order_check(list, i, why);
		all = all && size;
		sum += size;
	}
	if (!err) {
		qsort(list, n, sizeof(*list), by_beginning);
		for (int i = 0; i < n; i++)
			names[i] = list[i].name;
		order.bytes = all ? sum : 0;
		order_fill(&order, list, n);
		*ret = order;
	}
	for (int i = 0; i < n; i++)
		free(list[i].host);
	free(list);
	return err;
}
