// SPDX-License-Identifier: GPL-2.0-only
#include "trace/drain.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "bpf/conf.h"

/*
 * Seconds between drains. Overflowing a 32-bit bucket within DRAIN_CELLS_S takes 400 million
 * operations a second.
 *
 * With --by only requests have such buckets; overflowing one within DRAIN_REQUESTS_S takes 14
 * million a second. This interval is longer because of 7.x: the hash lookups for --by keep perf's
 * tracepoints from running on the CPU.
 *
 * A cgroup is named when its row is drained, and it may soon be gone.
 */
enum { DRAIN_CELLS_S = 10, DRAIN_REQUESTS_S = 300, DRAIN_CGROUPS_S = 1 };

int drain_open(struct drain *d, const struct cell_maps *maps, struct live *live)
{
	*d = (struct drain){ .maps = *maps, .live = live, .drained_ns = clock_ns() };
	if (maps->requests)
		devices_read(&d->got.devices);
	return grace_open(&d->grace);
}

void drain_done(struct drain *d)
{
	if (!d->live)
		return;
	grace_done(&d->grace);
	rows_done(&d->got.rows);
	filenames_done(&d->got.files);
	threadnames_done(&d->got.threads);
	devices_done(&d->got.devices);
	cgroups_done(&d->got.cgroups);
	commands_done(&d->commands);
	*d = (struct drain){};
}

static int drain(struct drain *d)
{
	volatile struct live *live = d->live;
	unsigned int old = live->epoch & 1;
	int err;

	live->op_rows_made[!old] = live->rq_rows_made[!old] = 0;
	live->helper_rows_made[!old] = live->site_rows_made[!old] = 0;
	live->server_rows_made[!old] = live->access_sizes_made[!old] = 0;
	live->who_rows_made[!old] = 0;
	live->drain_wanted = 0;
	__atomic_store_n(&live->epoch, !old, __ATOMIC_RELEASE);
	d->drained_ns = clock_ns();
	err = grace_wait(&d->grace);
	return err ? err : collect(&d->maps, old, &d->got);
}

void drain_beat(struct drain *d)
{
	uint64_t every_s = d->maps.slots ? DRAIN_CELLS_S : DRAIN_REQUESTS_S;
	const volatile struct live *live = d->live;
	int err;

	if (d->maps.by == BY_CGROUP)
		every_s = DRAIN_CGROUPS_S;
	if (!live->drain_wanted && clock_ns() - d->drained_ns < every_s * NS_PER_S)
		return;
	err = drain(d);
	if (err)
		d->err = err;
}

/* Many processes have one name: titles and command lines tell what they do. */
static void commands_read(struct commands *commands, struct snapshot *sn)
{
	const struct command *c;

	commands_begin(commands);
	for (size_t i = 0; i < sn->n_ops; i++) {
		struct op_row *r = &sn->ops[i];

		c = commands_find(commands, (unsigned int)r->key.by[0], r->comm);
		r->command = c && c->line ? strdup(c->line) : NULL;
	}
}

int drain_take(struct drain *d, struct snapshot *sn)
{
	int err = d->err;

	d->err = 0;
	if (!err)
		err = drain(d);
	if (err)
		return err;
	rows_take(&d->got.rows, sn);
	sn->unpatterned = d->live->unpatterned - d->unpatterned;
	d->unpatterned += sn->unpatterned;
	sn->devices = &d->got.devices;
	if (d->maps.by == BY_THREAD)
		return threadnames_list(&d->got.threads, sn);
	if (BY_NAMES_THREADS(d->maps.by))
		threadnames_name(&d->got.threads, sn);
	if (d->maps.by == BY_PID)
		commands_read(&d->commands, sn);
	return d->maps.by == BY_FILE ? filenames_name(&d->got.files, sn) : 0;
}
