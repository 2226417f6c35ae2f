// SPDX-License-Identifier: GPL-2.0-only
#include "host/diskstats.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/devices.h"

enum { READ_STEP = 16384 };

void diskstats_open(struct diskstats *d)
{
	*d = (struct diskstats){ .fd = open("/proc/diskstats", O_RDONLY | O_CLOEXEC) };
	diskstats_interval(d, &(struct snapshot){});
}

void diskstats_done(struct diskstats *d)
{
	if (d->fd > 0)
		close(d->fd);
	free(d->last);
}

size_t diskstats_parse(const char *text, struct disk_busy **ret_list)
{
	struct disk_busy *list = NULL, *more, one;
	unsigned long long busy_ms, requests_ms;
	size_t n = 0, cap = 0;

	*ret_list = NULL;
	for (const char *at = text; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
		/* reads 4, writes 4, in progress, time with requests in progress, and time of all
		 * requests */
		one = (struct disk_busy){};
		if (sscanf(at, "%*u %*u %31s %*u %*u %*u %*u %*u %*u %*u %*u %*u %llu %llu",
			   one.disk, &busy_ms, &requests_ms) != 3)
			continue;
		one.busy_ns = busy_ms * NS_PER_MS;
		one.requests_ns = requests_ms * NS_PER_MS;
		if (n == cap) {
			cap = cap ? 2 * cap : 16;
			more = realloc(list, cap * sizeof(*list));
			if (!more)
				break;
			list = more;
		}
		list[n++] = one;
	}
	*ret_list = list;
	return n;
}

/* The whole file. Returns NULL if it cannot be read. */
static char *read_all(int fd)
{
	char *text = NULL, *more;
	size_t len = 0;
	ssize_t n;

	do {
		more = realloc(text, len + READ_STEP + 1);
		n = more ? pread(fd, more + len, READ_STEP, len) : -1;
		text = more ? more : text;
		if (n < 0)
			break;
		len += n;
	} while (n);
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[len] = '\0';
	return text;
}

/* The sum of @disk in the last text, or in @n other disks. Disks nearly always keep their order. */
static const struct disk_busy *find(const struct diskstats *d, const char *disk, size_t hint)
{
	if (hint < d->n && !strcmp(d->last[hint].disk, disk))
		return &d->last[hint];
	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->last[i].disk, disk))
			return &d->last[i];
	return NULL;
}

/* What each disk did since the last text, or NULL if there is none. */
static struct disk_busy *grow(const struct diskstats *d, const struct disk_busy *now, size_t n,
			      size_t *ret_n)
{
	struct disk_busy *grown = d->n && n ? malloc(n * sizeof(*grown)) : NULL;
	const struct disk_busy *was;

	*ret_n = 0;
	for (size_t i = 0; grown && i < n; i++) {
		was = find(d, now[i].disk, i);
		/* a disk of the same name which came anew begins at 0 */
		if (!was || was->busy_ns > now[i].busy_ns || was->requests_ns > now[i].requests_ns)
			continue;
		grown[*ret_n] = now[i];
		grown[*ret_n].busy_ns -= was->busy_ns;
		grown[(*ret_n)++].requests_ns -= was->requests_ns;
	}
	return grown;
}

static bool is_partition(const struct devices *d, const char *name)
{
	const struct device *device = d ? devices_named(d, name) : NULL;

	return device && device->disk;
}

void diskstats_interval(struct diskstats *d, struct snapshot *sn)
{
	uint64_t now_ns = clock_ns();
	char *text = d->fd >= 0 ? read_all(d->fd) : NULL;
	struct disk_busy *now = NULL;
	size_t n = text ? diskstats_parse(text, &now) : 0, whole = 0;

	free(text);
	free(sn->disks);
	sn->disks = grow(d, now, n, &sn->n_disks);
	sn->disks_ns = sn->disks ? now_ns - d->last_ns : 0;
	for (size_t i = 0; i < sn->n_disks; i++)
		if (!is_partition(sn->devices, sn->disks[i].disk))
			sn->disks[whole++] = sn->disks[i];
	sn->n_disks = whole;
	free(d->last);
	d->last = now;
	d->n = n;
	d->last_ns = now_ns;
}
