// SPDX-License-Identifier: GPL-2.0-only
/*
 * fleet_read.c - reads recordings one after the other: how long operations take, then the slow ones
 * and the others of each host, by the values of their properties.
 *
 * While a recording is read, operations are counted by device and by thread. At its end their
 * properties are known, also the temperature then, and the counts go to the cells of the host.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/fleet.h"
#include "analyse/time_counts.h"
#include "base/list.h"
#include "base/reason.h"
#include "capture/recording.h"
#include "host/newfile.h"

enum {
	LOOK_EVENTS = 32768,
	DEVS = 4096,       /* of a recording, at most */
	THREADS = 1 << 22, /* likewise */
	DISKS = 256,       /* a disk and those below, at most */
	VALUE_TEXT = 256,  /* a longer value is cut */
	CELSIUS_STEP = 10,
};

struct counts {
	uint64_t n, slow;
};

/* Operations of this recording with a value. */
struct value_counts {
	struct counts counts;
	uint64_t group; /* the last one that was counted */
};

struct dev_counts {
	unsigned int dev;
	struct counts counts;
};

/* A pass over all recordings. */
struct pass {
	struct fleet *f;
	const struct fleet_conf *conf;
	struct time_counts *times; /* the first pass; NULL: the second */
	uint64_t bytes;            /* read before this recording */
	struct recording rec;      /* this one */
	struct fleet_host *host;
	struct dev_counts *devs; /* owned */
	size_t n_devs, devs_cap, last_dev;
	struct counts *threads; /* by id; owned */
	size_t n_threads;
	/* A group is the operations of one device or thread. It may have a value twice, as disks of
	 * a RAID have one model: they are counted once. */
	struct value_counts values[FLEET_VALUES];
	uint64_t group;
};

static struct counts *dev_place(struct pass *p, unsigned int dev)
{
	size_t i = 0;

	if (p->last_dev < p->n_devs && p->devs[p->last_dev].dev == dev)
		return &p->devs[p->last_dev].counts;
	while (i < p->n_devs && p->devs[i].dev != dev)
		i++;
	if (i == p->n_devs) {
		if (i == DEVS || list_reserve((void **)&p->devs, &p->devs_cap, i, sizeof(*p->devs)))
			return NULL;
		p->devs[p->n_devs++] = (struct dev_counts){ .dev = dev };
	}
	p->last_dev = i;
	return &p->devs[i].counts;
}

static struct counts *thread_place(struct pass *p, uint64_t id)
{
	size_t n = p->rec.catalog.n_threads;
	struct counts *grown;

	if (id >= n || id >= THREADS)
		return NULL;
	if (id >= p->n_threads) {
		n = 2 * n;
		grown = realloc(p->threads, n * sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + p->n_threads, 0, (n - p->n_threads) * sizeof(*grown));
		p->threads = grown;
		p->n_threads = n;
	}
	return &p->threads[id];
}

static void count(struct counts *c, bool is_slow)
{
	if (!c)
		return;
	c->n++;
	c->slow += is_slow;
}

static void strata_add(struct explain *e, const struct stored_event *ev, bool is_slow)
{
	uint64_t *sums = is_slow ? e->slow_ns : e->others_ns;

	if (ev->kind == CHUNK_REQUESTS) {
		sums[ST_TAG] += ev->request.tag_ns;
		sums[ST_QUEUE] += ev->request.queue_ns;
		sums[ST_DEVICE] += ev->request.device_ns;
		return;
	}
	for (int st = 0; st < ST_N; st++)
		sums[st] += ev->op.strata[st];
}

static void event_count(struct pass *p, struct stored_event *ev)
{
	struct explain *e = &p->f->sums;
	const struct catalog *c = &p->rec.catalog;
	uint64_t total = stored_event_total(ev);
	bool is_op = ev->kind == CHUNK_OPS, is_slow = total > e->threshold_ns;

	if (p->times) {
		time_counts_add(p->times, total);
		return;
	}
	e->n++;
	e->n_slow += is_slow;
	strata_add(e, ev, is_slow);
	fleet_host_count(p->host, is_slow);
	count(dev_place(p,
			is_op ? FILE_KEY_DEV(catalog_file(c, ev->op.file)->key) : ev->request.dev),
	      is_slow);
	count(thread_place(p, is_op ? ev->op.owner : ev->request.owner), is_slow);
}

static void value_add(struct pass *p, enum fleet_attribute attribute, const char *text,
		      const struct counts *c)
{
	char cut[VALUE_TEXT];
	uint32_t value;

	if (!text || !*text || !c->n)
		return;
	snprintf(cut, sizeof(cut), "%s", text);
	value = fleet_value(p->f, attribute, cut);
	if (value == FLEET_VALUES || p->values[value].group == p->group)
		return;
	p->values[value].group = p->group;
	p->values[value].counts.n += c->n;
	p->values[value].counts.slow += c->slow;
}

/* Gives the host the counts of this recording. */
static int values_take(struct pass *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->f->n_values && !err; i++) {
		struct counts *c = &p->values[i].counts;

		err = c->n ? fleet_cell_add(p->host, i, c->n, c->slow) : 0;
		*c = (struct counts){};
	}
	return err;
}

/* "at 50 to 59 °C", by the warmest moment known. */
static void temperature_add(struct pass *p, const struct disk_facts *d, const struct counts *c)
{
	const struct disk_facts *end = header_disk(&p->rec.ending.disks, d->dev);
	int celsius = d->celsius, from;
	char text[VALUE_TEXT];

	if (end && end->celsius > celsius)
		celsius = end->celsius;
	if (celsius == CELSIUS_UNKNOWN)
		return;
	from = celsius < 0 ? -CELSIUS_STEP : celsius / CELSIUS_STEP * CELSIUS_STEP;
	snprintf(text, sizeof(text), celsius < 0 ? "below 0 °C" : "at %d to %d °C", from,
		 from + CELSIUS_STEP - 1);
	value_add(p, FLEET_TEMPERATURE, text, c);
	if (d->celsius_limit != CELSIUS_UNKNOWN && celsius >= d->celsius_limit)
		value_add(p, FLEET_TEMPERATURE, "at its limit of temperature", c);
}

/* Adds what is known about a disk. */
static void disk_add(struct pass *p, unsigned int disk, const struct counts *c)
{
	const struct disk_facts *d = header_disk(&p->rec.header.disks, disk);

	if (!d)
		return;
	value_add(p, FLEET_MODEL, d->model, c);
	value_add(p, FLEET_FIRMWARE, d->firmware, c);
	value_add(p, FLEET_SCHEDULER, d->scheduler, c);
	temperature_add(p, d, c);
}

/* Adds what is known about @disk and all disks below, each once. */
static void disks_add(struct pass *p, unsigned int disk, const struct counts *c)
{
	unsigned int disks[DISKS] = { disk }, n = 1, below, same;
	size_t at;

	for (unsigned int i = 0; i < n; i++) {
		disk_add(p, disks[i], c);
		at = 0;
		while (n < DISKS &&
		       (below = devices_below(&p->rec.header.devices, disks[i], &at))) {
			for (same = 0; same < n && disks[same] != below;)
				same++;
			if (same == n)
				disks[n++] = below;
		}
	}
}

/* Adds each of "rw,noatime". */
static int options_add(struct pass *p, const char *options, const struct counts *c)
{
	char *copy = options ? strdup(options) : NULL, *rest = copy, *one;

	if (options && !copy)
		return -ENOMEM;
	while ((one = strsep(&rest, ",")))
		value_add(p, FLEET_OPTION, one, c);
	free(copy);
	return 0;
}

/* A file system without a device number (btrfs) is found by its mounted disk. */
static int dev_add(struct pass *p, const struct dev_counts *d)
{
	const struct header *h = &p->rec.header;
	const struct header_mount *m = header_mount(h, d->dev);
	const struct device *device = devices_find(&h->devices, d->dev);
	int err;

	p->group++;
	if (!device && m && !strncmp(m->source, "/dev/", 5))
		device = devices_named(&h->devices, m->source + 5);
	if (device)
		disks_add(p, devices_disk(&h->devices, device->dev), &d->counts);
	if (!m)
		return 0;
	value_add(p, FLEET_FS, m->type, &d->counts);
	err = options_add(p, m->options, &d->counts);
	return err ? err : options_add(p, m->fs_options, &d->counts);
}

static void thread_add(struct pass *p, size_t id)
{
	const struct catalog *c = &p->rec.catalog;
	const struct catalog_thread *t = catalog_thread(c, id);
	char comm[COMM_LEN + 1];

	p->group++;
	snprintf(comm, sizeof(comm), "%.*s", COMM_LEN, t->comm);
	value_add(p, FLEET_COMM, comm, &p->threads[id]);
	value_add(p, FLEET_CGROUP, catalog_cgroup(c, t->cgroup), &p->threads[id]);
}

static bool has_options(const struct header *h)
{
	for (size_t i = 0; i < h->n_mounts; i++)
		if (h->mounts[i].options)
			return true;
	return false;
}

/* Adds the counts of a recording to its host. @nth: its number. Returns 0 or -ENOMEM. */
static int recording_count(struct pass *p, size_t nth, uint64_t slow_before)
{
	const struct header *h = &p->rec.header;
	uint64_t slow = p->host->slow - slow_before;
	struct counts all = {};
	int err = 0;

	for (size_t i = 0; i < p->n_devs; i++) {
		all.n += p->devs[i].counts.n;
		all.slow += p->devs[i].counts.slow;
		err = err ? err : dev_add(p, &p->devs[i]);
	}
	for (size_t i = 1; i < p->n_threads && i < p->rec.catalog.n_threads; i++)
		thread_add(p, i);
	p->group++;
	value_add(p, FLEET_KERNEL, h->kernel, &all);
	value_add(p, FLEET_MACHINE, machine_name(h->machine), &all);
	err = err ? err : values_take(p);
	p->f->lacks_disks |= !h->disks.n;
	p->f->lacks_options |= !has_options(h);
	p->host->recordings++;
	if (slow > p->host->worst_slow || p->host->recordings == 1) {
		p->host->worst_slow = slow;
		p->host->worst = nth;
	}
	return err;
}

/* Reads the events of the recording. Returns 0, 1 with @why if it is damaged, or -1 with @why. */
static int events_read(struct pass *p, struct reason *why)
{
	const struct explain_conf *conf = &p->conf->explain;
	struct stored_event ev;
	unsigned int n = 0;
	int got;

	while ((got = recording_next(&p->rec, &ev, why)) > 0) {
		if (n++ % LOOK_EVENTS == 0 && conf->goes_on &&
		    !conf->goes_on(conf->arg, p->bytes + p->rec.reader.bytes)) {
			reason_set(why, EXIT_FAILED, "interrupted");
			return -1;
		}
		if ((ev.kind == CHUNK_OPS || ev.kind == CHUNK_REQUESTS) &&
		    explain_means(conf, &p->rec, &ev))
			event_count(p, &ev);
	}
	return got < 0;
}

/* As events_read(), for a recording that is open. */
static int recording_take(struct pass *p, const char *name, size_t nth, struct reason *why)
{
	const struct explain_conf *conf = &p->conf->explain;
	const struct header *h = &p->rec.header;
	uint64_t slow_before = 0;
	int got;

	if (conf->from_ns)
		p->rec.from_ns = h->monotonic_ns + conf->from_ns;
	if (conf->to_ns)
		p->rec.to_ns = h->monotonic_ns + conf->to_ns;
	if (conf->begins)
		conf->begins(conf->arg);
	if (!p->times) {
		p->host = fleet_host(p->f, h->host && *h->host ? h->host : name);
		if (!p->host)
			return reason_set(why, EXIT_FAILED,
					  "more than %d hosts, or too little memory", FLEET_HOSTS);
		slow_before = p->host->slow;
	}
	got = events_read(p, why);
	if (got < 0 || p->times)
		return got;
	explain_lost_add(&p->f->sums, &p->rec);
	p->f->sums.strata_missing |= p->rec.strata_missing;
	return recording_count(p, nth, slow_before) ? reason_no_memory(why) : got;
}

/* Returns 0, or -1 with @why. Damaged recordings are told in the second pass. */
static int file_read(struct pass *p, const char *name, size_t nth, struct reason *why)
{
	FILE *f = infile_open(name, why);
	int got;

	p->n_devs = p->last_dev = 0;
	if (p->threads)
		memset(p->threads, 0, p->n_threads * sizeof(*p->threads));
	if (!f) {
		got = 1;
	} else {
		got = recording_open(&p->rec, f, name, why) ? 1 : recording_take(p, name, nth, why);
		p->bytes += p->rec.reader.bytes;
		recording_close(&p->rec);
		infile_close(f);
	}
	if (got > 0 && !p->times) {
		p->f->n_damaged++;
		if (p->conf->damaged)
			p->conf->damaged(p->conf->explain.arg, why);
	}
	return got < 0 ? -1 : 0;
}

static int pass_run(struct pass *p, char *const *names, size_t n, struct reason *why)
{
	int got = 0;

	for (size_t i = 0; i < n && !got; i++)
		got = file_read(p, names[i], i, why);
	return got;
}

/* Sets the limit, from a percentile of all operations of all hosts. */
static int limit_set(struct pass *p, char *const *names, size_t n, struct reason *why)
{
	struct time_counts times;
	double percentile = p->conf->explain.percentile;
	int got;

	p->f->sums.threshold_ns = p->conf->explain.above_ns;
	if (percentile <= 0)
		return 0;
	if (time_counts_init(&times))
		return reason_no_memory(why);
	p->times = &times;
	got = pass_run(p, names, n, why);
	p->times = NULL;
	p->f->sums.threshold_ns = time_counts_within(&times, percentile / 100);
	time_counts_done(&times);
	return got;
}

int fleet_read(struct fleet *f, char *const *names, size_t n, const struct fleet_conf *conf,
	       struct reason *why)
{
	struct pass *p = calloc(1, sizeof(*p));
	int got;

	if (!p)
		return reason_no_memory(why);
	p->f = f;
	p->conf = conf;
	got = limit_set(p, names, n, why);
	f->n_recordings = n;
	if (!got)
		got = pass_run(p, names, n, why);
	free(p->devs);
	free(p->threads);
	free(p);
	if (!got && fleet_judge(f))
		got = reason_no_memory(why);
	return got;
}
