// SPDX-License-Identifier: GPL-2.0-only
#include "capture/header.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/names.h"
#include "base/protocols.h"
#include "base/snapshot.h"
#include "capture/header_members.h"
#include "capture/stored.h"
#include "host/devices.h"
#include "host/mounts.h"

static void put_device(struct json *j, const struct devices *d, const struct device *device)
{
	const struct device *disk = devices_find(d, device->disk), *lower;
	char dev[24];

	snprintf(dev, sizeof(dev), "%u:%u", DEV_MAJOR(device->dev), DEV_MINOR(device->dev));
	json_put_begin(j, NULL, '{');
	json_put_string(j, "name", device->name);
	json_put_string(j, "dev", dev);
	json_put_begin(j, "on", '[');
	for (size_t i = 0; i < d->n_links; i++) {
		lower = devices_find(d, d->links[i].lower);
		if (d->links[i].upper == device->dev && lower)
			json_put_string(j, NULL, lower->name);
	}
	json_put_end(j, ']');
	if (disk)
		json_put_string(j, "part_of", disk->name);
	json_put_end(j, '}');
}

void header_put_devices(struct json *j)
{
	struct devices d = {};

	devices_read(&d);
	json_put_begin(j, "devices", '[');
	for (size_t i = 0; i < d.n; i++)
		put_device(j, &d, &d.list[i]);
	json_put_end(j, ']');
	devices_done(&d);
}

static int by_dev_name(const void *a, const void *b)
{
	return strcmp(((const struct device *)a)->name, ((const struct device *)b)->name);
}

/* The dev_t of the device @name, in a list sorted by names; 0: not in the list. */
static unsigned int dev_named(const struct devices *d, const json_t *name)
{
	const char *s = json_string_value(name);
	struct device key = {}, *e;

	if (!s || !d->n)
		return 0;
	snprintf(key.name, sizeof(key.name), "%s", s);
	e = bsearch(&key, d->list, d->n, sizeof(key), by_dev_name);
	return e ? e->dev : 0;
}

/* Sets a device's disk and lower devices. @named: all devices, sorted by names. */
static void device_link(struct devices *d, const struct devices *named, const json_t *one)
{
	unsigned int dev = dev_named(named, json_object_get(one, "name"));
	const struct device *e = devices_find(d, dev);
	json_t *lower;
	size_t i;

	if (!e)
		return;
	d->list[e - d->list].disk = dev_named(named, json_object_get(one, "part_of"));
	json_array_foreach(json_object_get(one, "on"), i, lower)
		devices_link(d, dev, dev_named(named, lower));
}

void header_parse_devices(struct devices *d, const json_t *list)
{
	struct devices named = {};
	unsigned int major, minor;
	const char *name, *dev;
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		struct device e = {};

		name = json_string_value(json_object_get(one, "name"));
		dev = json_string_value(json_object_get(one, "dev"));
		if (!name || !dev || sscanf(dev, "%u:%u", &major, &minor) != 2)
			continue;
		e.dev = DEV_OF(major, minor);
		snprintf(e.name, sizeof(e.name), "%s", name);
		devices_add(d, &e);
		devices_add(&named, &e);
	}
	devices_sort(d);
	if (named.n)
		qsort(named.list, named.n, sizeof(*named.list), by_dev_name);
	json_array_foreach(list, i, one) device_link(d, &named, one);
	devices_done(&named);
}

static void put_clocks(struct json *j, uint64_t begin_ns)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	json_put_int(j, "monotonic_ns", begin_ns);
	json_put_int(j, "realtime_ns", ts.tv_sec * NS_PER_S + ts.tv_nsec - clock_ns() + begin_ns);
}

/* The first line of a file; null if it cannot be read. */
static void put_line_of(struct json *j, const char *name, int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	char line[128];
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	json_put_string(j, name, line);
}

static void put_mounts(struct json *j)
{
	struct mounts mounts = {};
	char dev[24];

	json_put_begin(j, "mounts", '[');
	mounts_read(&mounts); /* on failure, the list is empty */
	for (size_t i = 0; i < mounts.n; i++) {
		const struct mount *m = &mounts.list[i];

		snprintf(dev, sizeof(dev), "%u:%u", DEV_MAJOR(m->dev), DEV_MINOR(m->dev));
		json_put_begin(j, NULL, '{');
		json_put_string(j, "dev", dev);
		json_put_string(j, "type", m->type);
		json_put_string(j, "source", m->source);
		json_put_string(j, "root", m->root);
		json_put_string(j, "point", m->point);
		json_put_string(j, "options", m->options);
		json_put_string(j, "fs_options", m->fs_options);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	mounts_free(&mounts);
}

const char *const header_missing_names[MISSING_IN_N] = { "requests", "uring", "aio",
							 "fault",    "pages", "paths" };

static void put_missing(struct json *j, const struct missing *m)
{
	const char *const kinds[MISSING_IN_N] = { m->requests, m->uring, m->aio,
						  m->faults,   m->pages, m->paths };

	json_put_begin(j, "missing", '{');
	for (int i = 0; i < ST_N; i++)
		if (m->stratum[i])
			json_put_string(j, stratum_name(i), m->stratum[i]);
	for (int i = 0; i < MISSING_IN_N; i++)
		if (kinds[i])
			json_put_string(j, header_missing_names[i], kinds[i]);
	json_put_end(j, '}');
}

static void put_kinds(struct json *j, const char *name, unsigned int kinds)
{
	json_put_begin(j, name, '[');
	for (int i = 0; i < OP_N; i++)
		if (kinds >> i & 1)
			json_put_string(j, NULL, op_name(i));
	json_put_end(j, ']');
}

static void put_argv(struct json *j, char *const *argv)
{
	json_put_begin(j, "argv", '[');
	for (; *argv; argv++)
		json_put_string(j, NULL, *argv);
	json_put_end(j, ']');
}

static void put_triggers(struct json *j, const struct header_run *run)
{
	if (!run->n_triggers)
		return;
	json_put_begin(j, "trigger", '[');
	for (unsigned int i = 0; i < run->n_triggers; i++) {
		const struct header_trigger *t = &run->triggers[i];

		json_put_begin(j, NULL, '{');
		json_put_string(j, "condition", t->condition);
		json_put_uint(j, "monotonic_ns", t->at_ns);
		if (t->has_value)
			json_put_uint(j, "value", t->value);
		else
			json_put_string(j, "value", NULL);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void put_header(struct json *j, const struct header_run *run)
{
	struct utsname uts;

	uname(&uts);
	json_put_begin(j, NULL, '{');
	json_put_string(j, "schema", capture_schema.id);
	json_put_string(j, "version", run->version);
	put_argv(j, run->argv);
	json_put_string(j, "kernel", uts.release);
	json_put_string(j, "machine", machine_name(MACHINE_OWN));
	json_put_string(j, "host", uts.nodename);
	put_line_of(j, "boot_id", AT_FDCWD, "/proc/sys/kernel/random/boot_id");
	put_clocks(j, run->begin_ns);
	put_triggers(j, run);
	json_put_int(j, "cpus", get_nprocs());
	json_put_bool(j, "ops", run->has_ops);
	json_put_bool(j, "requests", run->has_requests);
	json_put_bool(j, "stacks", run->has_stacks);
	json_put_bool(j, "device_bytes", !run->missing->device_bytes);
	for (int st = STRATA_ALWAYS; st < ST_N; st++)
		json_put_bool(j, stratum_name(st), true);
	put_missing(j, run->missing);
	put_kinds(j, "vfs_ops", run->vfs_kinds);
	header_put_devices(j);
	header_put_disks(j);
	put_mounts(j);
	json_put_end(j, '}');
}

/* Ends the JSON written by @j to an open_memstream() with its text in *@text. Returns the text, or
 * NULL if out of memory. */
static char *text_taken(struct json *j, char **text)
{
	int err = text_end(&j->out);

	if (j->out.f && fclose(j->out.f))
		err = -ENOMEM;
	if (!err)
		return *text;
	free(*text);
	return NULL;
}

char *header_text(const struct header_run *run)
{
	char *text = NULL;
	size_t len;
	struct json j = { .out = { .f = open_memstream(&text, &len) } };

	if (!j.out.f)
		return NULL;
	put_header(&j, run);
	return text_taken(&j, &text);
}

static int member_text(const json_t *j, const char *name, char **ret_text)
{
	const char *s = json_string_value(json_object_get(j, name));

	if (!s)
		return 0;
	*ret_text = strdup(s);
	return *ret_text ? 0 : -ENOMEM;
}

static uint64_t member_number(const json_t *j, const char *name)
{
	return json_integer_value(json_object_get(j, name));
}

/* Whether @word is the option for the output file; @ret_takes_next: its value is the next word. */
static bool is_output(const char *word, bool *ret_takes_next)
{
	*ret_takes_next = !strcmp(word, "-o") || !strcmp(word, "--output");
	return *ret_takes_next || !strncmp(word, "-o", 2) || !strncmp(word, "--output=", 9);
}

/* The options in one text, without the output file, and the name of the command behind "--". */
static int options_parse(const json_t *argv, char **ret_options, char **ret_command)
{
	const char *command = NULL;
	size_t len = 0, n = json_array_size(argv);
	const char *word;
	bool next;
	char *text;
	FILE *f = n ? open_memstream(&text, &len) : NULL;

	if (!f)
		return n ? -ENOMEM : 0;
	for (size_t i = 1; i < n; i++) { /* the first is the command */
		word = json_string_value(json_array_get(argv, i));
		if (word && !strcmp(word, "--")) {
			command = json_string_value(json_array_get(argv, i + 1));
			fprintf(f, "%s-- CMD", ftell(f) > 0 ? " " : "");
			break;
		}
		if (word && is_output(word, &next))
			i += next;
		else if (word)
			fprintf(f, "%s%s", ftell(f) > 0 ? " " : "", word);
	}
	if (command)
		*ret_command = strdup(command);
	if (fclose(f) || (command && !*ret_command)) {
		free(text);
		return -ENOMEM;
	}
	*ret_options = text;
	return 0;
}

/* The conditions in one text. */
static int trigger_parse(const json_t *list, char **ret_text)
{
	const char *one;
	size_t len, i;
	json_t *t;
	char *text;
	FILE *f = json_array_size(list) ? open_memstream(&text, &len) : NULL;

	if (!f)
		return json_array_size(list) ? -ENOMEM : 0;
	json_array_foreach(list, i, t)
	{
		one = json_string_value(json_object_get(t, "condition"));
		fprintf(f, "%s%s", i ? ", " : "", one ? one : "?");
	}
	if (fclose(f)) {
		free(text);
		return -ENOMEM;
	}
	*ret_text = text;
	return 0;
}

static int mounts_parse(struct header *h, const json_t *list)
{
	unsigned int maj, min;
	const char *dev;
	json_t *one;
	size_t i;
	int err = 0;

	h->mounts = calloc(json_array_size(list) + 1, sizeof(*h->mounts));
	if (!h->mounts)
		return -ENOMEM;
	json_array_foreach(list, i, one)
	{
		struct header_mount *m = &h->mounts[h->n_mounts];

		dev = json_string_value(json_object_get(one, "dev"));
		if (err || !dev || sscanf(dev, "%u:%u", &maj, &min) != 2)
			continue;
		m->dev = DEV_OF(maj, min);
		h->n_mounts++;
		err = member_text(one, "type", &m->type);
		if (!err)
			err = member_text(one, "point", &m->point);
		if (!err)
			err = member_text(one, "source", &m->source);
		if (!err)
			err = member_text(one, "options", &m->options);
		if (!err)
			err = member_text(one, "fs_options", &m->fs_options);
	}
	return err;
}

const struct header_mount *header_mount(const struct header *h, unsigned int dev)
{
	for (size_t i = 0; i < h->n_mounts; i++)
		if (h->mounts[i].dev == dev && h->mounts[i].point && h->mounts[i].source)
			return &h->mounts[i];
	return NULL;
}

void header_server(const struct header *h, unsigned int dev, const char *fs, char dst[SERVER_TEXT])
{
	const struct header_mount *m = header_mount(h, dev);

	mount_server(dst, fs, m && m->type ? m->type : "", m ? m->source : NULL);
}

int header_parse(struct header *h, const char *text, size_t len)
{
	json_t *j = json_loadb(text, len, JSON_ALLOW_NUL, NULL), *missing, *kind;
	const char *name;
	size_t i;
	int err;

	*h = (struct header){};
	if (!json_is_object(j)) {
		json_decref(j);
		return -EBADMSG;
	}
	h->monotonic_ns = member_number(j, "monotonic_ns");
	h->realtime_ns = member_number(j, "realtime_ns");
	h->has_ops = json_is_true(json_object_get(j, "ops"));
	h->has_requests = json_is_true(json_object_get(j, "requests"));
	h->has_stacks = json_is_true(json_object_get(j, "stacks"));
	h->has_device_bytes = json_is_true(json_object_get(j, "device_bytes"));
	name = json_string_value(json_object_get(j, "machine"));
	h->machine = name ? machine_find(name)
			  : MACHINE_X86_64; /* recordings without a machine are of x86_64 */
	missing = json_object_get(j, "missing");
	h->argv = json_dumps(json_object_get(j, "argv"), JSON_COMPACT | JSON_ENSURE_ASCII);
	if (member_text(j, "kernel", &h->kernel) || member_text(j, "host", &h->host) ||
	    member_text(j, "boot_id", &h->boot_id) ||
	    options_parse(json_object_get(j, "argv"), &h->options, &h->command) ||
	    trigger_parse(json_object_get(j, "trigger"), &h->trigger))
		err = -ENOMEM;
	else
		err = mounts_parse(h, json_object_get(j, "mounts"));
	if (!err)
		err = header_parse_disks(&h->disks, json_object_get(j, "disks"));
	header_parse_devices(&h->devices, json_object_get(j, "devices"));
	for (int st = 0; st < ST_N && !err; st++)
		err = member_text(missing, stratum_name(st), &h->stratum[st]);
	/* in an older recording the time of these strata is in others, or in none */
	for (int st = STRATA_ALWAYS; st < ST_N && !err; st++) {
		if (h->stratum[st] || json_is_true(json_object_get(j, stratum_name(st))))
			continue;
		h->stratum[st] = strdup("not recorded");
		err = h->stratum[st] ? 0 : -ENOMEM;
	}
	for (int k = 0; k < MISSING_IN_N && !err; k++)
		err = member_text(missing, header_missing_names[k], &h->missing[k]);
	json_array_foreach(json_object_get(j, "vfs_ops"), i, kind)
	{
		name = json_string_value(kind);
		if (name && op_called(name))
			h->vfs_kinds |= 1U << op_called(name);
	}
	json_decref(j);
	return err;
}

void header_missing(const struct header *h, struct missing *ret)
{
	*ret = (struct missing){
		.syscalls = h->has_ops ? NULL : "not recorded",
		.requests = h->has_requests ? h->missing[MISSING_IN_REQUESTS] : "not recorded",
		.uring = h->missing[MISSING_IN_URING],
		.aio = h->missing[MISSING_IN_AIO],
		.faults = h->missing[MISSING_IN_FAULTS],
		.pages = h->missing[MISSING_IN_PAGES],
		.paths = h->missing[MISSING_IN_PATHS],
		.minor_faults = "not recorded",
		.device_bytes = h->has_device_bytes ? NULL : "not recorded",
	};
	for (int i = 0; i < ST_N; i++)
		ret->stratum[i] = h->stratum[i];
}

void header_done(struct header *h)
{
	free(h->kernel);
	free(h->host);
	free(h->boot_id);
	free(h->argv);
	free(h->options);
	free(h->command);
	free(h->trigger);
	for (size_t i = 0; i < h->n_mounts; i++) {
		free(h->mounts[i].type);
		free(h->mounts[i].point);
		free(h->mounts[i].source);
		free(h->mounts[i].options);
		free(h->mounts[i].fs_options);
	}
	free(h->mounts);
	devices_done(&h->devices);
	header_disks_done(&h->disks);
	for (int k = 0; k < MISSING_IN_N; k++)
		free(h->missing[k]);
	for (int st = 0; st < ST_N; st++)
		free(h->stratum[st]);
	*h = (struct header){};
}

/* The daemon's time, if the daemon is known. */
static void put_daemon(struct json *j, const struct server_sums *s)
{
	if (!s->split)
		return;
	json_put_uint(j, "split", s->split);
	json_put_uint(j, "before_read_ns", s->before_read_ns);
	json_put_begin(j, "daemon", '[');
	for (int st = 0; st < ST_N; st++)
		json_put_uint(j, NULL, s->daemon_ns[st]);
	json_put_end(j, ']');
}

static void put_bytes(struct json *j, const char *name, const struct server_row *r, uint64_t bytes)
{
	if (protocol_at(r->key.protocol)->has_bytes)
		json_put_uint(j, name, bytes);
	else
		json_put_null(j, name);
}

static void put_server(struct json *j, const struct server_row *r)
{
	const struct server_sums *s = &r->sums;

	json_put_begin(j, NULL, '{');
	json_put_text(j, "server", r->key.server, sizeof(r->key.server));
	json_put_string(j, "protocol", protocol_at(r->key.protocol)->name);
	json_put_string(j, "mount", r->mount);
	json_put_uint(j, "pid", r->key.pid);
	json_put_text(j, "op", r->key.op, sizeof(r->key.op));
	json_put_uint(j, "opcode", r->key.opcode);
	json_put_uint(j, "count", s->count);
	json_put_uint(j, "errors", s->errors);
	json_put_uint(j, "resent", s->resent);
	put_bytes(j, "sent_bytes", r, s->sent_bytes);
	put_bytes(j, "received_bytes", r, s->received_bytes);
	json_put_uint(j, "tag_ns", s->tag_ns);
	json_put_uint(j, "queue_ns", s->queue_ns);
	json_put_uint(j, "server_ns", s->server_ns);
	json_put_uint(j, "max_ns", s->max_ns);
	put_daemon(j, s);
	json_put_begin(j, "hist", '[');
	for (unsigned int i = 0; i < r->hist.n; i++) {
		json_put_begin(j, NULL, '[');
		json_put_uint(j, NULL, r->hist.bins[i].bucket);
		json_put_uint(j, NULL, r->hist.bins[i].count);
		json_put_end(j, ']');
	}
	json_put_end(j, ']');
	json_put_end(j, '}');
}

static void put_servers(struct json *j, const struct ending *e)
{
	if (!e->n_servers)
		return;
	json_put_begin(j, "servers", '[');
	for (size_t i = 0; i < e->n_servers; i++)
		put_server(j, &e->servers[i]);
	json_put_end(j, ']');
}

static void put_ending(struct json *j, const struct ending *e, const char *how)
{
	json_put_begin(j, NULL, '{');
	json_put_string(j, "ended", how);
	json_put_uint(j, "duration_ns", e->duration_ns);
	json_put_uint(j, "ops", e->ops);
	json_put_uint(j, "requests", e->requests);
	json_put_begin(j, "lost", '{');
	for (int i = 0; i < LOST_N; i++)
		json_put_uint(j, lost_name(i), e->lost[i]);
	json_put_uint(j, "missed", e->missed);
	json_put_end(j, '}');
	json_put_uint(j, "dropped_ops", e->dropped_ops);
	json_put_uint(j, "dropped_requests", e->dropped_requests);
	if (e->has_stacks) {
		json_put_uint(j, "stacks_lost", e->stacks_lost);
		json_put_uint(j, "stacks_lost_ns", e->stacks_lost_ns);
	}
	put_servers(j, e);
	ending_put_disks(j);
	json_put_end(j, '}');
}

char *ending_text(const struct ending *e, const char *how)
{
	char *text = NULL;
	size_t len;
	struct json j = { .out = { .f = open_memstream(&text, &len) } };

	if (!j.out.f)
		return NULL;
	put_ending(&j, e, how);
	return text_taken(&j, &text);
}

/* Copies a text; a longer one is cut. */
static void member_copy(char *dst, size_t cap, const json_t *j, const char *name)
{
	const char *text = json_string_value(json_object_get(j, name));

	snprintf(dst, cap, "%s", text ? text : "");
}

static int server_hist_parse(struct hist *h, const json_t *bins)
{
	json_int_t bucket, count;
	json_t *bin;
	size_t i;
	int err = 0;

	json_array_foreach(bins, i, bin)
	{
		bucket = json_integer_value(json_array_get(bin, 0));
		count = json_integer_value(json_array_get(bin, 1));
		if (bucket < 0 || bucket >= HIST_N || count <= 0)
			return -EBADMSG;
		err = err ? err : hist_add(h, bucket, count);
	}
	return err;
}

static void daemon_parse(struct server_sums *s, const json_t *j)
{
	const json_t *ns = json_object_get(j, "daemon");

	s->split = member_number(j, "split");
	s->before_read_ns = member_number(j, "before_read_ns");
	for (int st = 0; st < ST_N; st++)
		s->daemon_ns[st] = json_integer_value(json_array_get(ns, st));
}

/* Older recordings have NFS and FUSE, without their names. Returns 0 or -EBADMSG. */
static int protocol_parse(struct server_key *key, const json_t *name)
{
	const char *text = json_string_value(name);

	key->protocol = key->opcode ? SERVER_FUSE : SERVER_NFS;
	if (!text)
		return 0;
	key->protocol = protocol_named(text);
	return key->protocol < SERVER_PROTOCOLS ? 0 : -EBADMSG;
}

static int server_parse(struct server_row *r, const json_t *j)
{
	struct server_sums *s = &r->sums;
	int err;

	member_copy(r->key.server, sizeof(r->key.server), j, "server");
	member_copy(r->key.op, sizeof(r->key.op), j, "op");
	r->key.pid = member_number(j, "pid");
	r->key.opcode = member_number(j, "opcode");
	s->count = member_number(j, "count");
	s->errors = member_number(j, "errors");
	s->resent = member_number(j, "resent");
	s->sent_bytes = member_number(j, "sent_bytes");
	s->received_bytes = member_number(j, "received_bytes");
	s->tag_ns = member_number(j, "tag_ns");
	s->queue_ns = member_number(j, "queue_ns");
	s->server_ns = member_number(j, "server_ns");
	s->max_ns = member_number(j, "max_ns");
	daemon_parse(s, j);
	if (!s->count || s->split > s->count ||
	    protocol_parse(&r->key, json_object_get(j, "protocol")))
		return -EBADMSG;
	err = member_text(j, "mount", &r->mount);
	return err ? err : server_hist_parse(&r->hist, json_object_get(j, "hist"));
}

static int servers_parse(struct ending *e, const json_t *list)
{
	json_t *one;
	size_t i;
	int err = 0;

	e->servers = calloc(json_array_size(list) + 1, sizeof(*e->servers));
	if (!e->servers)
		return -ENOMEM;
	json_array_foreach(list, i, one)
	{
		if (!err)
			err = server_parse(&e->servers[e->n_servers++], one);
	}
	return err;
}

void ending_done(struct ending *e)
{
	for (size_t i = 0; i < e->n_servers; i++) {
		free(e->servers[i].mount);
		free(e->servers[i].hist.bins);
	}
	free(e->servers);
	header_disks_done(&e->disks);
	e->servers = NULL;
	e->n_servers = 0;
}

int ending_parse(struct ending *ret_ending, const char *text, size_t len)
{
	json_t *j = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
	json_t *lost = json_object_get(j, "lost");
	struct ending e = {};
	const char *how;
	int err;

	if (!json_is_object(j)) {
		json_decref(j);
		return -EBADMSG;
	}
	e.duration_ns = member_number(j, "duration_ns");
	how = json_string_value(json_object_get(j, "ended"));
	e.is_early = how && strcmp(how, "ended") != 0;
	e.ops = member_number(j, "ops");
	e.requests = member_number(j, "requests");
	e.dropped_ops = member_number(j, "dropped_ops");
	e.dropped_requests = member_number(j, "dropped_requests");
	e.has_stacks = json_object_get(j, "stacks_lost");
	e.stacks_lost = member_number(j, "stacks_lost");
	e.stacks_lost_ns = member_number(j, "stacks_lost_ns");
	for (int i = 0; i < LOST_N; i++)
		e.lost[i] = member_number(lost, lost_name(i));
	e.missed = member_number(lost, "missed");
	err = servers_parse(&e, json_object_get(j, "servers"));
	if (!err)
		err = header_parse_disks(&e.disks, json_object_get(j, "disks"));
	json_decref(j);
	if (err)
		ending_done(&e);
	else
		*ret_ending = e;
	return err;
}
