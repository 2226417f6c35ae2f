// SPDX-License-Identifier: GPL-2.0-only
#include "trace/maps.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/reason.h"
#include "bpf/conf.h"
#include "cell.h"
#include "trace/feature.h"
#include "trace/feature_types.h"
#include "trace/plan.h"
#include "trace/session.h"

/* An entry takes some 200 bytes. A hash is drained once it is a quarter full: programs need some 20
 * ms to switch to the other epoch, and must not fill the rest meanwhile. */
enum {
	BY_ROWS = 32768,
	CALL_ROWS = 2048, /* -T syscall has more rows than there are slots */
	OP_ROWS = 1024,
	NAMES = BY_ROWS / 4, /* where a name takes room also before it is known */
	CPU_RQ_ROWS = 4096,  /* as many as BY_ROWS with 8 CPUs: requests are made by CPUs */
	DIRTIERS = BY_ROWS,  /* files, and pages of metadata: new entries replace the oldest */
	RQ_ROWS = 512,
	HELPER_ROWS = 8192,
	WHY_ROWS = 4096,
	WHO_ROWS = 1024,
	DIRTIED = 1024, /* processes; new entries replace the oldest */
	DISKS_WITH_SLOTS = ROW_SLOTS / 4,
	SERVER_REQUESTS = 2048, /* in flight */
	RPC_PLACES = 4096,      /* the same of NFS, and places of such requests */
	SERVER_ROWS = 2048,
	DAEMON_THREADS = 1024,
	ROWS_PER_DISK = 64,
	STACK_RING = 1 << 20, /* bytes: 1,300 stacks */
	CPUS_MOST = 8192,     /* NR_CPUS at most */
};

bool rowmaps_in_slots(const struct rowmaps *r)
{
	return r->ops && (r->by == BY_NONE || r->by == BY_CACHE);
}

bool rowmaps_rq_by(enum by_key by)
{
	return BY_NAMES_THREADS(by) || by == BY_COMM || by == BY_FILE || by == BY_CGROUP;
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

void rowmaps_size(const struct rowmaps *r, struct rowmaps_size *ret_size)
{
	struct rowmaps_size z = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, false, false };
	unsigned int names = r->allocates ? BY_ROWS : NAMES;

	if (r->ops)
		z.op_rows = !rowmaps_in_slots(r) ? BY_ROWS : r->by_call ? CALL_ROWS : OP_ROWS;
	if (r->by == BY_FILE)
		z.file_names = names;
	if (BY_NAMES_THREADS(r->by))
		z.thread_names = r->by == BY_THREAD ? BY_ROWS : names;
	if (r->by == BY_THREAD || r->helpers)
		z.dirtiers = DIRTIERS;
	if (r->helpers)
		z.helper_rows = HELPER_ROWS;
	if (r->sites)
		z.site_rows = WHY_ROWS;
	if (r->requests && rowmaps_rq_by(r->by)) {
		z.rq_rows = least(CPU_RQ_ROWS * (r->cpus < 2 ? 2 : r->cpus), BY_ROWS);
	} else if (r->requests) {
		z.rq_rows = RQ_ROWS;
		if (r->disks > DISKS_WITH_SLOTS)
			z.rq_rows += least((r->disks - DISKS_WITH_SLOTS) * ROWS_PER_DISK, BY_ROWS);
		z.rq_in_cells = rowmaps_in_slots(r) && r->cpus <= HIST_CPUS;
		z.slot_rq_cells = z.rq_in_cells ? 1 : SLOT_CELLS(least(r->cpus, RQ_CPUS));
	}
	if (rowmaps_in_slots(r)) {
		z.slot_cells = SLOT_CELLS(r->cpus);
		z.hists_apart = r->cpus > HIST_CPUS;
	}
	if (z.hists_apart)
		z.slot_hists = SLOT_CELLS(HIST_CPUS);
	*ret_size = z;
}

void rowmaps_conf(const struct rowmaps_size *size, struct bpf_conf *c)
{
	c->op_rows_limit = size->op_rows / 4;
	if (size->file_names > 1) /* each row may be for a different file */
		c->op_rows_limit = least(c->op_rows_limit, size->file_names / 2);
	c->rq_rows_limit = size->rq_rows / 4;
	c->helper_rows_limit = size->helper_rows / 4;
	c->site_rows_limit = size->site_rows / 4;
	c->server_rows_limit = SERVER_ROWS / 4;
	c->who_rows_limit = WHO_ROWS / 4;
	c->hists_apart = size->hists_apart;
	c->rq_in_cells = size->rq_in_cells;
}

static void resize(struct bpf_object *obj, const char *name, unsigned int entries)
{
	bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, name), entries);
}

void rowmaps_resize(const struct rowmaps_size *size, struct bpf_object *obj)
{
	resize(obj, "op_rows_even", size->op_rows);
	resize(obj, "op_rows_odd", size->op_rows);
	resize(obj, "rq_rows_even", size->rq_rows);
	resize(obj, "rq_rows_odd", size->rq_rows);
	resize(obj, "helper_rows_even", size->helper_rows);
	resize(obj, "helper_rows_odd", size->helper_rows);
	resize(obj, "site_rows_even", size->site_rows);
	resize(obj, "site_rows_odd", size->site_rows);
	resize(obj, "file_names_even", size->file_names);
	resize(obj, "file_names_odd", size->file_names);
	resize(obj, "thread_names_even", size->thread_names);
	resize(obj, "thread_names_odd", size->thread_names);
	resize(obj, "dirtiers", size->dirtiers);
	resize(obj, "slot_cells", size->slot_cells);
	resize(obj, "slot_hists", size->slot_hists);
	resize(obj, "slot_rq_cells", size->slot_rq_cells);
	if (size->hists_apart)
		bpf_map__set_value_size(bpf_object__find_map_by_name(obj, "slot_cells"),
					sizeof(struct op_sums));
}

/* Whether this run needs the map. Other maps are not created; only dead code refers to them. */
static bool map_wanted(const struct session_conf *sc, const struct bpf_conf *c, const char *name)
{
	if (!strcmp(name, "async_ops") || !strcmp(name, "async_bios"))
		return c->async;
	if (!strcmp(name, "op_segments"))
		return c->segments;
	if (!strcmp(name, "queued_calls"))
		return c->completes[0];
	if (!strcmp(name, "lane_ops"))
		return c->lane_mask;
	if (!strncmp(name, "access_", strlen("access_")))
		return c->access_slots;
	if (!strncmp(name, "helper_rows", strlen("helper_rows")))
		return sc->helpers;
	if (!strncmp(name, "site_rows", strlen("site_rows")))
		return sc->sites;
	if (!strncmp(name, "who_rows", strlen("who_rows")))
		return c->who_rows;
	if (!strcmp(name, "dirtied_pages"))
		return c->who;
	if (!strcmp(name, "server_requests"))
		return sc->layer == LAYER_OPS;
	if (!strncmp(name, "server_rows", strlen("server_rows")) || !strcmp(name, "server_slots"))
		return c->servers;
	if (!strcmp(name, "turns"))
		return c->daemons;
	if (!strcmp(name, "busiest"))
		return c->busiest;
	if (!strcmp(name, "stacks") || !strcmp(name, "stack_calls") ||
	    !strcmp(name, "fault_stack_calls") || !strncmp(name, "unwind_", strlen("unwind_")))
		return c->stacks;
	if (!strcmp(name, "tracked"))
		return sc->follow || sc->children;
	if (!strcmp(name, "rings") || !strcmp(name, "sent_files") || !strcmp(name, "files_sent"))
		return sc->sent_ops || sc->sent_requests;
	if (!strcmp(name, "commands"))
		return sc->commands;
	return strcmp(name, "ring") || sc->records;
}

bool maps_have_requests(const struct session_conf *sc)
{
	return sc->layer == LAYER_OPS || sc->layer == LAYER_BLK;
}

static unsigned int disks_count(void)
{
	unsigned int disks = 0;
	DIR *dir = opendir("/sys/block");

	while (dir && readdir(dir))
		disks++;
	if (dir)
		closedir(dir);
	return disks;
}

unsigned int maps_cpus_in(const char *list)
{
	const char *last = list + strlen(list);

	while (last > list && last[-1] != ',' && last[-1] != '-')
		last--;
	return *last >= '0' && *last <= '9' ? strtoul(last, NULL, 10) + 1 : 0;
}

unsigned int maps_cpus(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	unsigned int cpus = 0;
	char list[4096];

	if (f && fgets(list, sizeof(list), f))
		cpus = maps_cpus_in(list);
	if (f)
		fclose(f);
	return cpus ? cpus : (unsigned int)libbpf_num_possible_cpus();
}

void maps_rows_size(const struct session_conf *sc, const struct feature *f, unsigned int cpus,
		    struct rowmaps_size *ret_size)
{
	struct rowmaps r = { .ops = sc->layer != LAYER_BLK && !sc->uncounted,
			     .requests = maps_have_requests(sc) && !sc->uncounted,
			     .by_call = sc->meta_calls || sc->layer == LAYER_SYSCALL,
			     .by = sc->by,
			     .helpers = sc->helpers,
			     .sites = sc->sites,
			     .allocates = f->map_alloc,
			     .cpus = cpus,
			     .disks = disks_count() };

	rowmaps_size(&r, ret_size);
}

/* Upper limit of kernel threads waiting at once. With few CPUs each CPU has many workers, with many
 * CPUs each has few. */
static unsigned int helpers_max(unsigned int cpus)
{
	enum { BUSY_CPUS = 32, MOST_CPUS = 512 };
	unsigned int busy = cpus > BUSY_CPUS ? BUSY_CPUS : cpus;

	if (cpus > MOST_CPUS)
		cpus = MOST_CPUS;
	return 512 + 128 * busy + 16 * (cpus - busy);
}

unsigned int maps_access_slots(enum by_key by)
{
	enum { DISK_SLOTS = 1024, FILE_SLOTS = 16384 };

	return by == BY_FILE ? FILE_SLOTS : DISK_SLOTS;
}

unsigned int maps_server_slots(const struct bpf_conf *c)
{
	return c->servers && c->at.rpc_msg ? SERVER_SLOTS : 0;
}

unsigned int maps_rings(unsigned int cpus)
{
	return cpus < MAX_RINGS ? cpus : MAX_RINGS;
}

unsigned int maps_lanes(unsigned int cpus)
{
	return cpus < MAX_LANES ? cpus : MAX_LANES;
}

/* The maps of patterns. Each CPU may claim a slot's place for a size. */
static void accesses_resize(const struct bpf_conf *c, struct bpf_object *obj)
{
	struct bpf_map *taken = bpf_object__find_map_by_name(obj, "slots_taken");

	resize(obj, "access_slots", c->access_slots);
	resize(obj, "access_sizes_even", ACCESS_SIZE_ROWS);
	resize(obj, "access_sizes_odd", ACCESS_SIZE_ROWS);
	bpf_map__set_max_entries(taken, bpf_map__max_entries(taken) + c->access_slots + c->cpus);
}

/* The rows of NFS that have slots, and their claims. */
static void servers_resize(const struct bpf_conf *c, struct bpf_object *obj)
{
	struct bpf_map *taken = bpf_object__find_map_by_name(obj, "slots_taken");

	resize(obj, "server_rows_even", SERVER_ROWS);
	resize(obj, "server_rows_odd", SERVER_ROWS);
	if (c->at.protocols) /* else no program on their events is loaded */
		resize(obj, "server_requests", c->at.rpc_msg ? RPC_PLACES : SERVER_REQUESTS);
	if (!maps_server_slots(c))
		return;
	resize(obj, "server_slots", maps_server_slots(c));
	bpf_map__set_max_entries(taken, bpf_map__max_entries(taken) + maps_server_slots(c));
}

/* Sizes maps by the number of CPUs, as the I/O in flight grows with it. The kernel allocates these
 * maps at once. */
static void maps_resize(const struct session_conf *sc, const struct bpf_conf *c,
			struct bpf_object *obj)
{
	bool waits = sc->layer == LAYER_OPS, behalf = sc->by == BY_THREAD || sc->helpers;
	unsigned int listed = c->reap_rings ? c->async_slots : 0;
	unsigned int async = c->async ? c->async_slots + 1 + listed : 1;
	unsigned int cpus = c->cpus < 2 ? 2 : c->cpus;

	resize(obj, "async_ops", async);
	if (c->segments)
		resize(obj, "op_segments", 1 + TASK_SLOTS + async);
	if (c->who_rows) {
		resize(obj, "who_rows_even", WHO_ROWS);
		resize(obj, "who_rows_odd", WHO_ROWS);
	}
	if (c->who)
		resize(obj, "dirtied_pages", DIRTIED);
	if (c->access_slots)
		accesses_resize(c, obj);
	if (sc->by == BY_CGROUP)
		resize(obj, "wakes", 1 << 16);
	resize(obj, "async_bios", 2048 * (cpus > 8 ? 8 : cpus));
	resize(obj, "queued_calls", 2048 * (cpus > 8 ? 8 : cpus));
	resize(obj, "helpers", waits ? helpers_max(cpus) : 1);
	servers_resize(c, obj);
	resize(obj, "clients", behalf ? helpers_max(cpus) : 1);
	if (c->daemons)
		resize(obj, "turns", DAEMON_THREADS);
	/* an entry stays after a worker took the work; it must not push out waiting work */
	resize(obj, "works", behalf ? 4 * helpers_max(cpus) : 1);
	if (sc->sent_ops || sc->sent_requests)
		resize(obj, "rings", c->rings);
	if (c->lane_mask)
		resize(obj, "lane_ops", maps_lanes(c->cpus) * (c->lane_mask + 1));
	if (c->stacks) {
		resize(obj, "unwind_rows", UNWIND_ROWS);
		resize(obj, "unwind_files", STACK_FILES);
		resize(obj, "stacks", STACK_RING);
	}
	resize(obj, "ios", maps_have_requests(sc) ? 2048 * (cpus > 32 ? 32 : cpus) : 1);
	resize(obj, "tasks_overflown", 8192 * (cpus > 8 ? 8 : cpus));
}

/*
 * Lets maps allocate an entry when a program makes the entry, also in an interrupt. The kernel then
 * takes the entry from a reserve of the CPU, and refills the reserve as soon as interrupts are on.
 *
 * This is for entries that are made outside of interrupts. Only completions of libaio add rows of
 * operations there: see maps_fill_reserves(). Rows of requests are preallocated.
 */
static void maps_allocate(struct bpf_object *obj)
{
	static const char *const names[] = { "op_rows_even",      "op_rows_odd",
					     "file_names_even",   "file_names_odd",
					     "thread_names_even", "thread_names_odd",
					     "server_rows_even",  "server_rows_odd" };
	struct bpf_map *map;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		map = bpf_object__find_map_by_name(obj, names[i]);
		bpf_map__set_type(map, BPF_MAP_TYPE_HASH);
		bpf_map__set_map_flags(map, BPF_F_NO_PREALLOC);
	}
}

/* Makes and removes an entry, and so refills the reserve of this CPU. */
static void reserve_fill(const struct bpf_map *map)
{
	size_t key_len = bpf_map__key_size(map), value_len = bpf_map__value_size(map);
	char *zeros = calloc(1, key_len > value_len ? key_len : value_len);

	if (zeros && !bpf_map_update_elem(bpf_map__fd(map), zeros, zeros, BPF_ANY))
		bpf_map_delete_elem(bpf_map__fd(map), zeros);
	free(zeros);
}

void maps_fill_reserves(struct bpf_object *obj)
{
	const struct bpf_map *even = bpf_object__find_map_by_name(obj, "op_rows_even");
	const struct bpf_map *odd = bpf_object__find_map_by_name(obj, "op_rows_odd");
	size_t len = CPU_ALLOC_SIZE(CPUS_MOST);
	cpu_set_t *allowed = CPU_ALLOC(CPUS_MOST), *one = CPU_ALLOC(CPUS_MOST);

	if (allowed && one && !sched_getaffinity(0, len, allowed)) {
		for (int cpu = 0; cpu < CPUS_MOST; cpu++) {
			if (!CPU_ISSET_S(cpu, len, allowed))
				continue;
			CPU_ZERO_S(len, one);
			CPU_SET_S(cpu, len, one);
			if (sched_setaffinity(0, len, one))
				continue;
			reserve_fill(even);
			reserve_fill(odd);
		}
		sched_setaffinity(0, len, allowed);
	}
	CPU_FREE(allowed);
	CPU_FREE(one);
}

/* Makes maps preallocated. Kernels before 6.1 warn in their log when a program on a kprobe uses any
 * other map. Some of these kernels need kprobes for functions of modules. */
static void maps_preallocate(struct bpf_object *obj)
{
	enum { THREADS = 8192, OTHERS = 2048 }; /* a thread's state takes half a KiB */
	struct bpf_map *map;
	unsigned int most;

	bpf_object__for_each_map (map, obj) {
		if (!(bpf_map__map_flags(map) & BPF_F_NO_PREALLOC))
			continue;
		bpf_map__set_map_flags(map, bpf_map__map_flags(map) & ~BPF_F_NO_PREALLOC);
		most = strncmp(bpf_map__name(map), "task", 4) &&
				       strncmp(bpf_map__name(map), "thread_names",
					       strlen("thread_names"))
			       ? OTHERS
			       : THREADS;
		if (bpf_map__max_entries(map) > most)
			bpf_map__set_max_entries(map, most);
	}
}

void maps_configure(struct bpf_object *obj, const struct session_conf *sc, const struct bpf_conf *c,
		    struct feature *f)
{
	struct rowmaps_size rows;
	struct bpf_map *map;

	bpf_object__for_each_map (map, obj)
		bpf_map__set_autocreate(map, map_wanted(sc, c, bpf_map__name(map)));
	maps_resize(sc, c, obj);
	maps_rows_size(sc, f, c->cpus, &rows);
	rowmaps_resize(&rows, obj);
	if (f->map_alloc)
		maps_allocate(obj);
	else if (f->no_module_btf && f->func != FUNC_NONE)
		maps_preallocate(obj);
}

int maps_map(const struct bpf_map *array, void **ret_map, size_t *ret_len, struct reason *why)
{
	size_t len = (size_t)bpf_map__max_entries(array) * bpf_map__value_size(array);
	void *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(array), 0);

	if (map == MAP_FAILED)
		return reason_set(why, EXIT_FAILED, "cannot map the counters: %s", strerror(errno));
	*ret_map = map;
	*ret_len = len;
	return 0;
}
