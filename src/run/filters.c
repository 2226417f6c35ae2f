// SPDX-License-Identifier: GPL-2.0-only
#include "run/filters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/names.h"
#include "base/reason.h"
#include "base/text.h"
#include "cell.h"
#include "host/container.h"
#include "host/devices.h"
#include "host/mounts.h"
#include "host/pidns.h"

unsigned int filter_kernel_dev(dev_t dev)
{
	return DEV_OF(major(dev), minor(dev));
}

/* The device of the file system as its super block has it. For some file systems (btrfs), stat(2)
 * gives another device, and the mount of the file has the right one. */
static unsigned int file_fs_dev(const char *path, const struct stat *st)
{
	unsigned int dev = filter_kernel_dev(st->st_dev);
	struct mounts mounts;
	struct statx sx;

	if (statx(AT_FDCWD, path, 0, STATX_MNT_ID, &sx) || !(sx.stx_mask & STATX_MNT_ID) ||
	    mounts_read(&mounts))
		return dev;
	for (size_t i = 0; i < mounts.n; i++)
		if (mounts.list[i].id == sx.stx_mnt_id)
			dev = mounts.list[i].dev;
	mounts_free(&mounts);
	return dev;
}

/* Adds the file or directory at @path. Returns 0, or -1 with @why. */
static int add_file(const char *path, struct filter_lists *lists, struct reason *why)
{
	struct filter_file *file = &lists->files[lists->n_files];
	struct stat st;

	if (stat(path, &st)) {
		reason_set(why, EXIT_FAILED, "cannot look at '%.200s': %s", path, strerror(errno));
		return errno == ENOENT
			       ? reason_hint(why, "for a file that does not exist yet, give its "
						  "directory: it stands for all files below it")
			       : -1;
	}
	file->ino = st.st_ino;
	file->dev = S_ISBLK(st.st_mode) ? filter_kernel_dev(st.st_rdev) : file_fs_dev(path, &st);
	file->is_dir = S_ISDIR(st.st_mode);
	lists->n_files++;
	return 0;
}

/* Where the hierarchy of cgroups is mounted: all of it as the tool's cgroup namespace shows it, or
 * else a part. False: nowhere. */
static bool cgroup_root(char root[PATH_MAX])
{
	const struct mount *found = NULL;
	struct mounts mounts;

	if (mounts_read(&mounts))
		return false;
	for (size_t i = 0; i < mounts.n; i++) {
		const struct mount *m = &mounts.list[i];

		if (!strcmp(m->type, "cgroup2") &&
		    (!found || (strcmp(found->root, "/") && !strcmp(m->root, "/"))))
			found = m;
	}
	if (found)
		snprintf(root, PATH_MAX, "%s", found->point);
	mounts_free(&mounts);
	return found;
}

/* The id of the cgroup with the directory @path: the inode number (kernfs, 64 bit). False if @path
 * is not a directory of a cgroup. */
static bool cgroup_id(const char *path, unsigned long long *ret_id)
{
	struct statfs fs;
	struct stat st;

	if (stat(path, &st) || !S_ISDIR(st.st_mode) || statfs(path, &fs) ||
	    fs.f_type != CGROUP2_SUPER_MAGIC)
		return false;
	*ret_id = st.st_ino;
	return true;
}

/* Adds a cgroup, given by its directory, or by its path in the hierarchy as the tool's cgroup
 * namespace shows it. Returns 0, or -1 with @why. */
static int add_cgroup(const char *path, struct filter_lists *lists, struct reason *why)
{
	unsigned long long *id = &lists->cgroups[lists->n_cgroups];
	char root[PATH_MAX], below[2 * PATH_MAX];

	if (!cgroup_root(root)) {
		reason_set(why, EXIT_FAILED, "no cgroup v2 is mounted");
		return reason_hint(why, "mount -t cgroup2 none /sys/fs/cgroup");
	}
	snprintf(below, sizeof(below), "%s/%s", root, path);
	if (!cgroup_id(path, id) && !cgroup_id(below, id)) {
		reason_set(why, EXIT_FAILED, "no such cgroup '%.200s' in '%.60s'", path, root);
		return reason_hint(why, "/proc/PID/cgroup has the cgroup of a process: 0::PATH");
	}
	lists->n_cgroups++;
	return 0;
}

static int no_such_container(const char *id, struct reason *why)
{
	reason_set(why, EXIT_FAILED, "no container has an id that begins with '%.100s'", id);
	return reason_hint(why, "'iostrata breakdown --by container' shows those with I/O");
}

/* Adds the directory @e, if it is the cgroup of the container whose id begins with @id. Others
 * below belong to it. Returns 1 if it was added; 0; -1 with @why: another container begins so,
 * too. */
static int container_try(FTSENT *e, const char *below, const char *id, struct container *first,
			 struct filter_lists *lists, struct reason *why)
{
	struct container c;

	if (!container_find(below, &c) || strncmp(c.id, id, strlen(id)) != 0)
		return 0;
	if (*first->id && strcmp(first->id, c.id) != 0)
		return reason_set(why, EXIT_FAILED, "several containers begin with '%.100s'", id);
	if (lists->n_cgroups == MAX_CGROUPS)
		return reason_set(why, EXIT_FAILED, "more than %d cgroups", MAX_CGROUPS);
	*first = c;
	lists->cgroups[lists->n_cgroups++] = e->fts_statp->st_ino;
	return 1;
}

/* Adds the cgroups of a container, given by its id or the beginning of it. Returns 0, or -1 with
 * @why. */
static int add_container(const char *id, struct filter_lists *lists, struct reason *why)
{
	struct container first = {};
	char root[PATH_MAX];
	char *const paths[] = { root, NULL };
	size_t len;
	int got = 0;
	FTSENT *e;
	FTS *tree;

	if (!cgroup_root(root))
		return no_such_container(id, why);
	len = strlen(root);
	tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	while (tree && got >= 0 && (e = fts_read(tree))) {
		if (e->fts_info != FTS_D)
			continue;
		got = container_try(e, e->fts_path + len, id, &first, lists, why);
		if (got > 0)
			fts_set(tree, e, FTS_SKIP);
	}
	if (tree)
		fts_close(tree);
	if (got < 0)
		return -1;
	return *first.id ? 0 : no_such_container(id, why);
}

_Static_assert((int)OPT_LIST_MAX == MAX_PIDS && MAX_PIDS == MAX_COMMS, "lists");
_Static_assert(MAX_PIDS == MAX_CGROUPS && MAX_PIDS == MAX_FILES && MAX_PIDS == MAX_FS_TYPES,
	       "lists");

#define OP_CHOICE(number, id, name, ...) { name, OP_##id },

const struct opt_choice filter_ops[] = { OP_LIST(OP_CHOICE){} };

const struct opt filter_opts[] = {
	{ 'p', "pid", OPT_UINTS(struct filters, pids), .arg = "PID", .min = 1, .max = INT_MAX,
	  .no_number = "-p takes numbers, as from pgrep; --comm takes names",
	  .help = "only these processes, with all their threads; takes the output of pgrep or "
		  "pidof" },
	{ 0, "comm", OPT_STRINGS(struct filters, comms), .arg = "NAME",
	  .help = "only threads with this name" },
	{ 0, "cgroup", OPT_PATHS(struct filters, cgroups), .arg = "PATH",
	  .help = "only this cgroup (v2) and its descendants" },
	{ 0, "container", OPT_STRINGS(struct filters, containers), .arg = "ID",
	  .help = "only the container with this id, or with an id that begins with this text" },
	{ 'd', "disk", OPT_STRINGS(struct filters, disks), .arg = "DISK",
	  .help = "only requests of this disk or partition, and operations on its files; or only "
		  "operations on files of this mount or server" },
	{ 0, "fs", OPT_STRINGS(struct filters, fs), .arg = "TYPE",
	  .help = "only files of this file system type" },
	{ 0, "op", OPT_STRINGS(struct filters, op_names), .arg = "OP", .known = filter_ops,
	  .help = "only operations of this kind, or of this system call (fdatasync, stat ...): "
		  "read, write, open, close, fsync, copy, meta, uring, aio, getevents, submit, "
		  "fault, served, exec, lock; for recordings also exit, core, outside" },
	{ 0, "file", OPT_PATHS(struct filters, files), .arg = "PATH",
	  .help = "only operations on this file, or on all files below this directory" },
	{ 0, "min", OPT_DURATION(struct filters, min_ns), .arg = "DUR",
	  .help = "only operations of at least this duration; minor page faults without a time are "
		  "still counted" },
	{},
};

static void name_try(void *nearest, const char *name)
{
	nearest_try(nearest, name);
}

static int no_such_op(const char *name, struct reason *why)
{
	struct nearest meant = { .typed = name };

	for (const struct opt_choice *c = filter_ops; c->name; c++)
		nearest_try(&meant, c->name);
	syscalls_each(name_try, &meant);
	reason_set(why, EXIT_USAGE, "no operation is called '%.40s'", name);
	if (meant.name)
		return reason_hint(why, "did you mean '%s'?", meant.name);
	return reason_hint(
		why, "--op takes read, write, open, close, fsync, copy, meta, uring, aio, "
		     "getevents, submit, fault, served, exec and lock, and system calls such as "
		     "fdatasync; for recordings also exit, core and outside");
}

int filters_ops(struct filters *f, struct reason *why)
{
	unsigned int whole = 0, kind;

	f->only = (struct syscall_choice){};
	for (unsigned int i = 0; i < f->op_names.n; i++) {
		kind = op_called(f->op_names.at[i]);
		if (kind)
			whole |= 1U << kind;
		else if (!syscalls_choose(&f->only, f->op_names.at[i]))
			return no_such_op(f->op_names.at[i], why);
	}
	f->ops = whole | f->only.kinds;
	f->only.kinds &= ~whole;
	return 0;
}

static bool dev_listed(const struct filter_lists *lists, unsigned int dev)
{
	for (unsigned int i = 0; i < lists->n_devs; i++)
		if (lists->devs[i] == dev)
			return true;
	return false;
}

static int dev_add(struct filter_lists *lists, unsigned int dev, struct reason *why)
{
	if (dev_listed(lists, dev))
		return 0;
	if (lists->n_devs == MAX_DEVS)
		return reason_set(why, EXIT_FAILED, "more than %d disks and partitions", MAX_DEVS);
	lists->devs[lists->n_devs++] = dev;
	return 0;
}

static int partitions_add(struct filter_lists *lists, const char *sysfs, struct reason *why)
{
	DIR *dir = opendir(sysfs);
	struct dirent *e;
	unsigned int dev;
	int err = 0;

	while (dir && !err && (e = readdir(dir)))
		if (e->d_name[0] != '.' && e->d_type == DT_DIR &&
		    devices_sysfs(sysfs, e->d_name, &dev))
			err = dev_add(lists, dev, why);
	if (dir)
		closedir(dir);
	return err;
}

/* Whether a btrfs on the device @dev is also on a device of @lists: mounts name only one device of
 * a volume. */
static bool volume_listed(unsigned int dev, const struct filter_lists *lists)
{
	unsigned int volume[MAX_DEVS];
	size_t n = devices_of_volume(dev, volume, MAX_DEVS);

	for (size_t i = 0; i < n; i++)
		if (dev_listed(lists, volume[i]))
			return true;
	return false;
}

/* Adds file systems on one of the devices, if they have no separate device number (btrfs). */
static int mounts_add(struct filter_lists *lists, struct reason *why)
{
	struct mounts mounts;
	unsigned int dev;
	struct stat st;
	int err = 0;

	if (mounts_read(&mounts))
		return 0;
	for (size_t i = 0; i < mounts.n && !err; i++) {
		const struct mount *m = &mounts.list[i];

		if (DEV_MAJOR(m->dev) || m->source[0] != '/' || stat(m->source, &st) ||
		    !S_ISBLK(st.st_mode))
			continue;
		dev = filter_kernel_dev(st.st_rdev);
		if (dev_listed(lists, dev) ||
		    (!strcmp(m->type, "btrfs") && volume_listed(dev, lists)))
			err = dev_add(lists, m->dev, why);
	}
	mounts_free(&mounts);
	return err;
}

/* Finds a disk by its path, its name in /dev, or as lsblk(8) shows device mapper and md. Returns
 * false if there is none. */
static bool disk_stat(const char *disk, struct stat *ret_st)
{
	static const char *const dirs[] = { "/dev/", "/dev/mapper/", "/dev/md/" };
	char node[PATH_MAX];

	if (disk[0] == '/')
		return !stat(disk, ret_st) && S_ISBLK(ret_st->st_mode);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		snprintf(node, sizeof(node), "%s%s", dirs[i], disk);
		if (!stat(node, ret_st) && S_ISBLK(ret_st->st_mode))
			return true;
	}
	return false;
}

/* Adds a disk with its partitions, and the file systems on them. */
static int disk_add(const struct stat *st, struct filter_lists *lists, struct reason *why)
{
	char sysfs[64];

	snprintf(sysfs, sizeof(sysfs), "/sys/dev/block/%u:%u", major(st->st_rdev),
		 minor(st->st_rdev));
	if (dev_add(lists, filter_kernel_dev(st->st_rdev), why) ||
	    partitions_add(lists, sysfs, why))
		return -1;
	return mounts_add(lists, why);
}

/* Names with commas between them; those without room are "...". */
struct name_list {
	char text[100];
	size_t len;
	bool full;
};

static void name_list_add(struct name_list *l, const char *name)
{
	size_t room = sizeof(l->text) - sizeof(", ...") - l->len;

	if (l->full)
		return;
	l->full = strlen(name) + sizeof(", ") > room;
	l->len += sprintf(l->text + l->len, "%s%s", l->len ? ", " : "", l->full ? "..." : name);
}

static bool name_list_has(const struct name_list *l, const char *name)
{
	size_t len = strlen(name);
	const char *at = l->text;

	while ((at = strstr(at, name))) {
		if ((at == l->text || at[-1] == ' ') && (at[len] == ',' || !at[len]))
			return true;
		at++;
	}
	return false;
}

/* Whether the disk with the directory @name in /sys/block has a size: unused loop devices have
 * none. */
static bool disk_has_size(const char *name)
{
	unsigned long long sectors = 0;
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/block/%s/size", name);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%llu", &sectors) != 1)
		sectors = 0;
	fclose(f);
	return sectors;
}

static void disks_list(struct name_list *l)
{
	DIR *dir = opendir("/sys/block");
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.' && disk_has_size(e->d_name))
			name_list_add(l, e->d_name);
	if (dir)
		closedir(dir);
}

/* A name with a blank ("sshfs ann@host") is quoted, as a shell needs. */
static void servers_list(struct name_list *l, const struct mounts *mounts)
{
	char server[SERVER_TEXT], word[SERVER_TEXT + 2];
	const char *quote;

	for (size_t i = 0; i < mounts->n; i++) {
		const struct mount *m = &mounts->list[i];

		mount_server(server, m->type, m->type, m->source);
		quote = strchr(server, ' ') ? "'" : "";
		snprintf(word, sizeof(word), "%s%s%s", quote, server, quote);
		if (server[0] != '(' && !name_list_has(l, word))
			name_list_add(l, word);
	}
}

static int no_such_disk(const char *name, const struct mounts *mounts, struct reason *why)
{
	struct name_list disks = {}, servers = {};
	struct stat st;

	reason_set(why, EXIT_FAILED, "no disk, mount or server is called '%.100s'", name);
	if (name[0] == '/' && !stat(name, &st) && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
		return reason_hint(why, "nothing is mounted there; --file takes files, and "
					"directories with all files below them");
	disks_list(&disks);
	servers_list(&servers, mounts);
	return reason_hint(why,
			   "disks here: %s; servers: %s; 'lsblk' and 'findmnt' list all disks, "
			   "partitions and mounts",
			   disks.len ? disks.text : "none", servers.len ? servers.text : "none");
}

/* Adds the disk @name, or the file systems that are mounted at @name or from it, or from server
 * @name. */
static int add_disk(const char *name, struct filter_lists *lists, struct reason *why)
{
	struct mounts mounts = {};
	bool found = false;
	struct stat st;
	int err = 0;

	if (disk_stat(name, &st))
		return disk_add(&st, lists, why);
	mounts_read(&mounts); /* if this fails, there are none */
	for (size_t i = 0; i < mounts.n && !err; i++) {
		const struct mount *m = &mounts.list[i];

		if (!mount_is_named(name, m->type, m->point, m->source))
			continue;
		found = true;
		err = m->source[0] == '/' && disk_stat(m->source, &st)
			      ? disk_add(&st, lists, why)
			      : dev_add(lists, m->dev, why);
	}
	if (!found)
		err = no_such_disk(name, &mounts, why);
	mounts_free(&mounts);
	return err;
}

/* The process of thread @tid; 0 if /proc does not have it. */
static unsigned int process_of(uint64_t tid)
{
	char path[64], line[128];
	unsigned int tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%llu/status", (unsigned long long)tid);
	f = fopen(path, "re");
	while (f && !tgid && fgets(line, sizeof(line), f))
		sscanf(line, "Tgid: %u", &tgid);
	if (f)
		fclose(f);
	return tgid;
}

/* Looks for PF_KTHREAD (include/linux/sched.h) in the flags of /proc/PID/stat, behind the name in
 * brackets. */
bool filters_kernel_thread(uint64_t pid)
{
	char path[64], line[512], *end;
	unsigned int flags;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	f = fopen(path, "re");
	end = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (f)
		fclose(f);
	if (!end || sscanf(end, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		return false;
	return flags & 0x00200000;
}

static int add_pid(uint64_t pid, struct filter_lists *lists, struct reason *why)
{
	unsigned int process = process_of(pid);

	if (kill((pid_t)pid, 0) && errno == ESRCH)
		return reason_set(why, EXIT_FAILED, "no process has pid %llu",
				  (unsigned long long)pid);
	if (process && process != pid) {
		reason_set(why, EXIT_FAILED, "%llu is a thread of process %u",
			   (unsigned long long)pid, process);
		return reason_hint(why, "'-p %u' traces all its threads", process);
	}
	if (!pidns_is_first() && pidns_is_below(pid)) {
		reason_set(why, EXIT_FAILED, "process %llu is in a pid namespace below this one",
			   (unsigned long long)pid);
		return reason_hint(why, "trace it from that namespace, or from the host's "
					"(docker run --pid=host)");
	}
	lists->pids[lists->n_pids++] = (unsigned int)pid;
	return 0;
}

static int add_comm(const char *comm, struct filter_lists *lists, struct reason *why)
{
	if (strlen(comm) >= COMM_LEN) {
		reason_set(why, EXIT_USAGE,
			   "no thread is called '%.60s': the kernel keeps %d "
			   "characters",
			   comm, COMM_LEN - 1);
		return reason_hint(why, "--comm %.15s", comm);
	}
	memcpy(lists->comms[lists->n_comms++], comm, strlen(comm));
	return 0;
}

static int add_fs(const char *type, struct filter_lists *lists, struct reason *why)
{
	if (mounts_fs_kind(type) == FS_KIND_UNKNOWN) {
		reason_set(why, EXIT_FAILED, "no file system type '%.60s'", type);
		return reason_hint(why, "/proc/filesystems lists the types that the kernel knows");
	}
	memcpy(lists->fs[lists->n_fs++], type, strnlen(type, FS_NAME_LEN - 1));
	return 0;
}

static int lists_fill(const struct filters *f, struct filter_lists *lists, struct reason *why)
{
	int err = 0;

	if (f->children && !pidns_is_first()) {
		reason_set(why, EXIT_FAILED, "--children works only in the first pid namespace");
		return reason_hint(why, "docker run --pid=host");
	}
	for (unsigned int i = 0; i < f->pids.n && !err; i++)
		err = add_pid(f->pids.at[i], lists, why);
	for (unsigned int i = 0; i < f->comms.n && !err; i++)
		err = add_comm(f->comms.at[i], lists, why);
	for (unsigned int i = 0; i < f->disks.n && !err; i++)
		err = add_disk(f->disks.at[i], lists, why);
	for (unsigned int i = 0; i < f->files.n && !err; i++)
		err = add_file(f->files.at[i], lists, why);
	for (unsigned int i = 0; i < f->cgroups.n && !err; i++)
		err = add_cgroup(f->cgroups.at[i], lists, why);
	for (unsigned int i = 0; i < f->containers.n && !err; i++)
		err = add_container(f->containers.at[i], lists, why);
	for (unsigned int i = 0; i < f->fs.n && !err; i++)
		err = add_fs(f->fs.at[i], lists, why);
	return err;
}

int filters_resolve(const struct filters *f, struct filter_lists *lists, struct reason *why)
{
	if (f->all_faults && f->ops && !(f->ops & 1U << OP_FAULT))
		return reason_set(why, EXIT_USAGE,
				  "--all-faults is about page faults, but --op leaves them out");
	if (f->op_requests && !f->op_names.n)
		return reason_set(why, EXIT_USAGE, "--op-requests needs --op");
	return lists_fill(f, lists, why);
}

bool filters_choose_processes(const struct filters *f)
{
	return f->pids.n || f->comms.n || f->cgroups.n || f->containers.n;
}

static void text_add(char *text, size_t cap, const char *option, const char *value)
{
	size_t len = strlen(text);

	if (value)
		snprintf(text + len, cap - len, "%s%s%s%s", len ? " " : "", option,
			 *value ? " " : "", value);
}

static void text_add_list(char *text, size_t cap, const char *option,
			  const struct opt_strings *list)
{
	for (unsigned int i = 0; i < list->n; i++)
		text_add(text, cap, option, list->at[i]);
}

void filters_text(const struct filters *f, char *text, size_t cap)
{
	char number[32];

	text[0] = '\0';
	for (unsigned int i = 0; i < f->pids.n; i++) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)f->pids.at[i]);
		text_add(text, cap, "-p", number);
	}
	if (f->children)
		text_add(text, cap, "--children", "");
	text_add_list(text, cap, "--comm", &f->comms);
	text_add_list(text, cap, "--cgroup", &f->cgroups);
	text_add_list(text, cap, "--container", &f->containers);
	text_add_list(text, cap, "-d", &f->disks);
	text_add_list(text, cap, "--fs", &f->fs);
	text_add_list(text, cap, "--file", &f->files);
	text_add_list(text, cap, "--op", &f->op_names);
	if (f->min_ns)
		text_add(text, cap, "--min", text_ns(f->min_ns).s);
	if (f->all_files)
		text_add(text, cap, "--all-files", "");
	if (f->all_faults)
		text_add(text, cap, "--all-faults", "");
	if (f->op_requests)
		text_add(text, cap, "--op-requests", "");
}

void filters_of_ops(const struct filters *f, bool by_file, char *text, size_t cap)
{
	const char *const names[] = { f->fs.n ? "--fs" : NULL,
				      f->op_names.n && !f->op_requests ? "--op" : NULL,
				      f->files.n && !by_file ? "--file" : NULL,
				      f->min_ns ? "--min" : NULL };
	size_t n = 0;

	text[0] = '\0';
	for (int i = 0; i < 4; i++)
		if (names[i])
			n += snprintf(text + n, cap - n, "%s%s", n ? ", " : "", names[i]);
}

int filters_check_requests(const struct filters *f, const char *option, struct reason *why)
{
	char names[64];

	filters_of_ops(f, false, names, sizeof(names));
	if (!names[0] && !f->all_files && !f->all_faults)
		return 0;
	if (names[0])
		reason_set(why, EXIT_USAGE,
			   "%s is about requests, but only operations are filtered by %s", option,
			   names);
	else
		reason_set(why, EXIT_USAGE, "%s is about requests, %s about operations", option,
			   f->all_files ? "--all-files" : "--all-faults");
	return reason_hint(
		why, "-p, --comm, --cgroup and -d filter requests; to see operations, leave out %s",
		option);
}

/* The kinds of operations at a layer, 1 << enum op_kind. */
static unsigned int kinds_of_layer(enum layer layer)
{
	const unsigned int fs = 1U << OP_READ | 1U << OP_WRITE | 1U << OP_OPEN | 1U << OP_FSYNC;

	switch (layer) {
	case LAYER_SYSCALL:
		return ~(1U << OP_URING | 1U << OP_GETEVENTS | 1U << OP_SUBMIT | 1U << OP_FAULT |
			 1U << OP_SERVED | OUTSIDE_KINDS);
	case LAYER_VFS:
		return fs | 1U << OP_COPY | 1U << OP_META;
	case LAYER_FS:
		return fs;
	default:
		return ~0U;
	}
}

int filters_check_live(const struct filters *f, struct reason *why)
{
	if (f->ops & 1U << OP_GETEVENTS && !(f->ops & 1U << OP_URING)) {
		reason_set(why, EXIT_USAGE, "--op getevents needs uring");
		return reason_hint(why, "a wait counts if a request that is traced completed in "
					"it: --op uring,getevents");
	}
	if (f->ops & 1U << OP_SUBMIT && !(f->ops & (1U << OP_URING | 1U << OP_AIO))) {
		reason_set(why, EXIT_USAGE, "--op submit needs uring or aio");
		return reason_hint(why, "a wait counts if its request is traced: "
					"--op uring,aio,submit");
	}
	if (!(f->ops & OUTSIDE_KINDS))
		return 0;
	reason_set(why, EXIT_USAGE, "--op exit, core and outside are for recordings");
	return reason_hint(why, "only a run that traces all operations knows which sleeps are in "
				"none: leave out --op, or 'iostrata record', then 'iostrata report "
				"--op outside FILE'");
}

int filters_check_kinds(const struct filters *f, enum layer layer, const char *layer_name,
			struct reason *why)
{
	unsigned int never = f->ops & ~kinds_of_layer(layer);

	if (f->only.kinds && (layer == LAYER_VFS || layer == LAYER_FS))
		return reason_set(why, EXIT_USAGE,
				  "-T %.60s knows no system calls: --op takes kinds of operations",
				  layer_name);
	if (f->all_faults && layer != LAYER_OPS)
		return reason_set(why, EXIT_USAGE,
				  "--all-faults is about page faults, -T %.60s "
				  "has none",
				  layer_name);
	if (f->op_requests && layer != LAYER_OPS)
		return reason_set(why, EXIT_USAGE,
				  "--op-requests is about whole operations, -T %.60s about a layer",
				  layer_name);
	for (const struct opt_choice *c = filter_ops; c->name; c++)
		if (never & 1U << c->value)
			return reason_set(why, EXIT_USAGE, "-T %.60s has no operations of kind %s",
					  layer_name, c->name);
	return 0;
}
