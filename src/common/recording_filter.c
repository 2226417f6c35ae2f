// SPDX-License-Identifier: GPL-2.0-only
#include "common/recording_filter.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/reason.h"
#include "base/text.h"
#include "cell.h"
#include "host/container.h"
#include "host/path.h"

/* @path without the directory @dir at its beginning; @path if it is not in @dir. */
static const char *without(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) || (path[len] && path[len] != '/') ? path : path + len;
}

/* The name of a disk. It may be given as a path below /dev. */
static const char *disk_of(const char *path)
{
	const char *name = without(path, "/dev");

	return name == path ? path : name + strspn(name, "/");
}

void recording_filter_init(struct recording_filter *f)
{
	struct filters *g = &f->given;

	for (unsigned int i = 0; i < g->files.n; i++) {
		f->real_files[i] = realpath(g->files.at[i], NULL);
		f->local_files[i] = local_file_at(g->files.at[i]);
	}
	if (g->files.n)
		local_boot_id(f->boot_id, sizeof(f->boot_id));
	for (unsigned int i = 0; i < g->disks.n; i++)
		g->disks.at[i] = disk_of(g->disks.at[i]);
	for (unsigned int i = 0; i < g->cgroups.n; i++)
		g->cgroups.at[i] = without(without(g->cgroups.at[i], "/sys/fs/cgroup"), "/unified");
}

/* Whether @path is @above or below @above. Slashes at their beginning and end do not matter. */
static bool is_below(const char *path, const char *above)
{
	size_t len;

	path += strspn(path, "/");
	above += strspn(above, "/");
	len = strlen(above);
	while (len && above[len - 1] == '/')
		len--;
	return !len || (!strncmp(path, above, len) && (!path[len] || path[len] == '/'));
}

/* Whether a cgroup on the way to @path is of the container whose id begins with @id. */
static bool is_of_container(const char *path, const char *id)
{
	char above[PATH_MAX], *end;
	struct container c;

	snprintf(above, sizeof(above), "%s", path);
	for (; *above; *end = '\0') {
		if (container_find(above, &c) && !strncmp(c.id, id, strlen(id)))
			return true;
		end = strrchr(above, '/');
		if (!end)
			return false;
	}
	return false;
}

static bool cgroup_passes(const struct recording_filter *f, const struct recording *rec,
			  uint64_t id)
{
	const char *path;

	if (!f->given.cgroups.n && !f->given.containers.n)
		return true;
	path = catalog_cgroup(&rec->catalog, id);
	for (unsigned int i = 0; path && i < f->given.cgroups.n; i++)
		if (is_below(path, f->given.cgroups.at[i]))
			return true;
	for (unsigned int i = 0; path && i < f->given.containers.n; i++)
		if (is_of_container(path, f->given.containers.at[i]))
			return true;
	return false;
}

static bool owner_passes(const struct recording_filter *f, const struct recording *rec,
			 uint64_t owner)
{
	const struct catalog_thread *t = catalog_thread(&rec->catalog, owner);
	const struct filters *g = &f->given;
	bool pid = !g->pids.n, comm = !g->comms.n;

	for (unsigned int i = 0; i < g->pids.n; i++)
		pid |= g->pids.at[i] == t->pid;
	for (unsigned int i = 0; i < g->comms.n; i++)
		comm |= !strncmp(g->comms.at[i], t->comm, COMM_LEN - 1);
	return pid && comm && cgroup_passes(f, rec, t->cgroup);
}

/* Whether a filter names the disk or partition @name, or the disk of this partition. */
static bool disk_listed(const struct recording_filter *f, const struct header *h, const char *name)
{
	const struct device *device = name ? devices_named(&h->devices, name) : NULL;
	const struct device *disk = device ? devices_find(&h->devices, device->disk) : NULL;

	for (unsigned int i = 0; name && i < f->given.disks.n; i++)
		if (!strcmp(f->given.disks.at[i], name) ||
		    (disk && !strcmp(f->given.disks.at[i], disk->name)))
			return true;
	return false;
}

/* Whether a filter names where file system @dev was mounted, its source, or its server. */
static bool mount_listed(const struct recording_filter *f, const struct header *h, uint64_t dev)
{
	for (size_t i = 0; i < h->n_mounts; i++) {
		const struct header_mount *m = &h->mounts[i];

		if (m->dev != dev || !m->type || !m->point || !m->source)
			continue;
		for (unsigned int n = 0; n < f->given.disks.n; n++)
			if (mount_is_named(f->given.disks.at[n], m->type, m->point, m->source))
				return true;
	}
	return false;
}

/* A file system without a separate device number (btrfs) is found by its mounted disk. */
static bool dev_passes(struct recording_filter *f, const struct recording *rec, uint64_t dev)
{
	const struct header_mount *m;

	if (!f->given.disks.n || (f->dev == dev && dev))
		return !f->given.disks.n || f->dev_wanted;
	m = header_mount(&rec->header, dev);
	f->dev = dev;
	f->dev_wanted = disk_listed(f, &rec->header, catalog_device(&rec->catalog, dev)) ||
			(m && disk_listed(f, &rec->header, disk_of(m->source))) ||
			mount_listed(f, &rec->header, dev);
	return f->dev_wanted;
}

/* Whether a filter names @file, which now has another path, or has it in a container. */
static bool file_is_local(const struct recording_filter *f, const struct header *h,
			  const struct catalog_file *file)
{
	if (!h->boot_id || !f->boot_id[0] || strcmp(h->boot_id, f->boot_id))
		return false;
	for (unsigned int i = 0; i < f->given.files.n; i++)
		if (local_file_is(&f->local_files[i], file))
			return true;
	return false;
}

/* Whether a filter names @file or a directory above it. The path is as the processes saw it. */
static bool file_matches(const struct recording_filter *f, const struct header *h,
			 const struct catalog_file *file)
{
	struct file_name name;
	char path[PATH_CAP];

	if (file_is_local(f, h, file))
		return true;
	catalog_file_name(file, &name);
	if (!file->ino || name.nameless || name.unmounted || !name.complete)
		return false;
	path_join(path, sizeof(path), &name);
	for (unsigned int i = 0; i < f->given.files.n; i++)
		if (is_below(path, f->given.files.at[i]) ||
		    (f->real_files[i] && is_below(path, f->real_files[i])))
			return true;
	return false;
}

static bool file_passes(struct recording_filter *f, const struct recording *rec, uint64_t id)
{
	const struct catalog_file *file = catalog_file(&rec->catalog, id);
	size_t n = rec->catalog.n_files;
	unsigned char *files;
	bool matches;

	if (!f->given.files.n)
		return true;
	if (n > f->n_files && (files = realloc(f->files, 2 * n))) {
		memset(files + f->n_files, 0, 2 * n - f->n_files);
		f->files = files;
		f->n_files = 2 * n;
	}
	if (id >= f->n_files || file->flags & STORED_FILE_NAMELESS) {
		matches =
			file_matches(f, &rec->header, file); /* a later record may have its name */
		f->has_file |= matches;
		return matches;
	}
	if (!f->files[id]) {
		matches = file_matches(f, &rec->header, file);
		f->has_file |= matches;
		f->files[id] = matches ? 2 : 1;
	}
	return f->files[id] == 2;
}

/* Whether --op names a call; the answer is kept for the next operation. */
static bool call_passes(struct recording_filter *f, const struct recording *rec,
			unsigned short call)
{
	const struct filters *g = &f->given;
	syscall_name_fn *name = syscall_names(rec->header.machine);
	const char *called = name ? name(call) : NULL;

	if (f->call_known && f->call == call)
		return f->call_wanted;
	f->call_known = true;
	f->call = call;
	f->call_wanted = false;
	for (unsigned int i = 0; called && i < g->op_names.n; i++)
		f->call_wanted |= syscalls_same(called, g->op_names.at[i]);
	return f->call_wanted;
}

/* Whether the filters by file choose the file @id on file system @fs. */
static bool op_file_passes(struct recording_filter *f, const struct recording *rec, uint64_t id,
			   uint64_t fs)
{
	const struct catalog_file *file = catalog_file(&rec->catalog, id);

	return opt_strings_pass(&f->given.fs, catalog_fs(&rec->catalog, fs), FS_NAME_LEN) &&
	       dev_passes(f, rec, FILE_KEY_DEV(file->key)) && file_passes(f, rec, id);
}

/* Whether the filters by file choose one of the two files of a copy. If they choose one only, the
 * operation belongs to this one, as in the programs. */
static bool copy_passes(struct recording_filter *f, const struct recording *rec,
			struct stored_op *op)
{
	bool to = op_file_passes(f, rec, op->copied_to, op->copied_fs);

	if (op_file_passes(f, rec, op->file, op->fs)) {
		op->copied_to = to ? op->copied_to : 0;
		return true;
	}
	op->file = op->copied_to;
	op->fs = op->copied_fs;
	op->copied_to = 0;
	return to;
}

static bool op_passes(struct recording_filter *f, const struct recording *rec, struct stored_op *op)
{
	const struct filters *g = &f->given;

	if (g->ops && (op->kind >= OP_N || !(g->ops >> op->kind & 1)))
		return false;
	if (op->kind < OP_N && g->only.kinds >> op->kind & 1 && !call_passes(f, rec, op->call))
		return false;
	if (stored_op_total(op) < g->min_ns || !owner_passes(f, rec, op->owner))
		return false;
	return op->copied_to ? copy_passes(f, rec, op) : op_file_passes(f, rec, op->file, op->fs);
}

bool recording_filter_passes(struct recording_filter *f, const struct recording *rec,
			     struct stored_event *ev)
{
	if (ev->kind == CHUNK_OPS || ev->kind == CHUNK_STACKS)
		return op_passes(f, rec, &ev->op);
	return ev->kind == CHUNK_REQUESTS && owner_passes(f, rec, ev->request.owner) &&
	       dev_passes(f, rec, ev->request.dev) &&
	       (!f->by_file || file_passes(f, rec, ev->request.file));
}

void recording_filter_begin(struct recording_filter *f)
{
	free(f->files);
	f->files = NULL;
	f->n_files = 0;
	f->dev = 0;
	f->call_known = false;
}

void recording_filter_end(struct recording_filter *f, const struct recording *rec)
{
	for (unsigned int i = 0; i < f->given.files.n && !f->has_file; i++)
		files_alike_add(&f->alike, &rec->catalog, f->given.files.at[i]);
}

bool recording_filter_hint(const struct recording_filter *f, char *text, size_t cap)
{
	char path[TEXT_SAFE_CAP(PATH_CAP)];
	size_t n;

	if (f->has_file || !f->alike.n)
		return false;
	n = snprintf(text, cap, "hint: recorded with this name:");
	for (size_t i = 0; i < f->alike.n && n < cap; i++) {
		text_safe(path, sizeof(path), f->alike.path[i]);
		n += snprintf(text + n, cap - n, "%s %s", i ? "," : "", path);
	}
	return true;
}

void recording_filter_done(struct recording_filter *f)
{
	files_alike_done(&f->alike);
	free(f->files);
	for (unsigned int i = 0; i < OPT_LIST_MAX; i++)
		free(f->real_files[i]);
}

const struct opt recording_part_opts[] = {
	{ 0, "from", OPT_DURATION(struct recording_part, from_ns), .arg = "DUR",
	  .help = "ignore events that end before this time, counted from the beginning of the "
		  "recording" },
	{ 0, "to", OPT_DURATION(struct recording_part, to_ns), .arg = "DUR", .min = 1,
	  .help = "ignore events that end at or after this time" },
	{},
};

int recording_part_check(const struct recording_part *part, struct reason *why)
{
	if (!part->to_ns || part->to_ns > part->from_ns)
		return 0;
	reason_set(why, EXIT_USAGE, "--to %s is not after --from %s", text_ns(part->to_ns).s,
		   text_ns(part->from_ns).s);
	return reason_hint(why, "both count from the beginning of the recording");
}

int recording_part_past(const struct recording_part *part, const char *file, struct reason *why)
{
	reason_set(why, EXIT_FAILED, "--from %s is past the end of '%.200s'",
		   text_ns(part->from_ns).s, file);
	return reason_hint(why, "--from counts from the beginning of the recording");
}
