// SPDX-License-Identifier: GPL-2.0-only
#include "filters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "mounts.h"
#include "reason.h"

static const struct opt_choice ops[] = {
	{ "read", OP_READ },   { "write", OP_WRITE }, { "open", OP_OPEN }, { "close", OP_CLOSE },
	{ "fsync", OP_FSYNC }, { "copy", OP_COPY },   { "meta", OP_META }, {},
};

const struct opt filter_opts[] = {
	{ 'p', "pid", OPT_UINT(struct filters, pid), .arg = "PID", .min = 1, .max = INT_MAX,
	  .help = "only this process, all its threads" },
	{ 0, "comm", OPT_STRING(struct filters, comm), .arg = "NAME",
	  .help = "only threads of this name" },
	{ 0, "cgroup", OPT_STRING(struct filters, cgroup), .arg = "PATH",
	  .help = "only this cgroup (v2) and those below it" },
	{ 'd', "disk", OPT_STRING(struct filters, disk), .arg = "DISK",
	  .help = "only files on and requests of this disk or partition" },
	{ 0, "fs", OPT_STRING(struct filters, fs), .arg = "TYPE",
	  .help = "only files of this file system type" },
	{ 0, "op", OPT_CHOICE(struct filters, op, ops), .arg = "OP",
	  .help = "only operations of this kind" },
	{ 0, "file", OPT_STRING(struct filters, file), .arg = "PATH",
	  .help = "only operations on this file" },
	{ 0, "min", OPT_DURATION(struct filters, min_ns), .arg = "DUR",
	  .help = "only operations that took at least this long" },
	{ 0, "all-files", OPT_FLAG(struct filters, all_files),
	  .help = "pipes, sockets and terminals too" },
	{ 0, "system", OPT_FLAG(struct filters, system),
	  .help = "with -- CMD: everybody, not only the command" },
	{},
};

/* From user space's dev_t to the kernel's. */
static unsigned int kernel_dev(dev_t dev)
{
	return major(dev) << 20 | (minor(dev) & 0xfffff);
}

static int dev_add(struct session_conf *conf, unsigned int dev, struct reason *why)
{
	for (unsigned int i = 0; i < conf->n_devs; i++)
		if (conf->devs[i] == dev)
			return 0;
	if (conf->n_devs == MAX_DEVS)
		return reason_set(why, EXIT_FAILED, "more than %d partitions", MAX_DEVS);
	conf->devs[conf->n_devs++] = dev;
	return 0;
}

/* Reads "8:1" from @dir/@entry/dev; false if it is not there. */
static bool sysfs_dev(const char *dir, const char *entry, unsigned int *ret_dev)
{
	unsigned int maj, min;
	char path[PATH_MAX];
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/dev", dir, entry);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fscanf(f, "%u:%u", &maj, &min) == 2;
	fclose(f);
	if (ok)
		*ret_dev = maj << 20 | min;
	return ok;
}

static int partitions_add(struct session_conf *conf, const char *sysfs, struct reason *why)
{
	DIR *dir = opendir(sysfs);
	struct dirent *e;
	unsigned int dev;
	int err = 0;

	while (dir && !err && (e = readdir(dir)))
		if (e->d_name[0] != '.' && e->d_type == DT_DIR && sysfs_dev(sysfs, e->d_name, &dev))
			err = dev_add(conf, dev, why);
	if (dir)
		closedir(dir);
	return err;
}

/* File systems without a device number of their own (btrfs) that are on one of the devices. */
static int mounts_add(struct session_conf *conf, struct reason *why)
{
	struct mounts mounts;
	struct stat st;
	int err = 0;

	if (mounts_read(&mounts))
		return 0;
	for (size_t i = 0; i < mounts.n && !err; i++) {
		const struct mount *m = &mounts.list[i];

		if (m->dev >> 20 || m->source[0] != '/' || stat(m->source, &st) ||
		    !S_ISBLK(st.st_mode))
			continue;
		for (unsigned int d = 0; d < conf->n_devs && !err; d++)
			if (conf->devs[d] == kernel_dev(st.st_rdev))
				err = dev_add(conf, m->dev, why);
	}
	mounts_free(&mounts);
	return err;
}

static int resolve_disk(const char *disk, struct session_conf *conf, struct reason *why)
{
	char node[PATH_MAX], sysfs[64];
	struct stat st;

	snprintf(node, sizeof(node), "%s%s", disk[0] == '/' ? "" : "/dev/", disk);
	if (stat(node, &st) || !S_ISBLK(st.st_mode)) {
		reason_set(why, EXIT_FAILED, "no such disk '%.100s'", disk);
		return reason_hint(why, "'lsblk' lists the disks");
	}
	snprintf(sysfs, sizeof(sysfs), "/sys/dev/block/%u:%u", major(st.st_rdev),
		 minor(st.st_rdev));
	if (dev_add(conf, kernel_dev(st.st_rdev), why) || partitions_add(conf, sysfs, why))
		return -1;
	return mounts_add(conf, why);
}

/* stat(2) tells another device than the kernel's super block for some file systems (btrfs); the
 * mount that the file is on knows it. */
static unsigned int file_fs_dev(const char *path, const struct stat *st)
{
	unsigned int dev = kernel_dev(st->st_dev);
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

static int resolve_file(const char *path, struct session_conf *conf, struct reason *why)
{
	struct stat st;

	if (stat(path, &st))
		return reason_set(why, EXIT_FAILED, "cannot look at '%.200s': %s", path,
				  strerror(errno));
	conf->file_ino = st.st_ino;
	conf->file_dev = S_ISBLK(st.st_mode) ? kernel_dev(st.st_rdev) : file_fs_dev(path, &st);
	return 0;
}

static bool cgroup_root(char root[PATH_MAX])
{
	struct mounts mounts;
	bool found = false;

	if (mounts_read(&mounts))
		return false;
	for (size_t i = 0; i < mounts.n && !found; i++) {
		found = !strcmp(mounts.list[i].type, "cgroup2");
		if (found)
			snprintf(root, PATH_MAX, "%s", mounts.list[i].point);
	}
	mounts_free(&mounts);
	return found;
}

/* "/a/b" as a cgroup or as a directory below where cgroups are mounted. A cgroup's id is its
 * directory's inode number (kernfs, 64 bit). */
static int resolve_cgroup(const char *path, struct session_conf *conf, struct reason *why)
{
	char root[PATH_MAX], full[2 * PATH_MAX];
	const char *below = path;
	struct stat st;

	if (!cgroup_root(root)) {
		reason_set(why, EXIT_FAILED, "no cgroup v2 is mounted");
		return reason_hint(why, "mount -t cgroup2 none /sys/fs/cgroup");
	}
	if (!strncmp(path, root, strlen(root)))
		below = path + strlen(root);
	snprintf(full, sizeof(full), "%s/%s", root, below);
	if (stat(full, &st) || !S_ISDIR(st.st_mode))
		return reason_set(why, EXIT_FAILED, "no such cgroup '%.200s' in '%.60s'", path,
				  root);
	conf->cgroup = st.st_ino;
	for (const char *p = below; *p; p++)
		conf->cgroup_level += *p != '/' && (p == below || p[-1] == '/');
	return 0;
}

bool filters_fs_type_known(const char *type)
{
	FILE *f = fopen("/proc/filesystems", "re");
	char line[128], name[64];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = (sscanf(line, "nodev %63s", name) == 1 ||
			 sscanf(line, "%63s", name) == 1) && !strcmp(name, type);
	if (f)
		fclose(f);
	return found;
}

int filters_resolve(const struct filters *f, struct session_conf *conf, struct reason *why)
{
	if (f->pid && kill((pid_t)f->pid, 0) && errno == ESRCH)
		return reason_set(why, EXIT_FAILED, "no process has pid %llu",
				  (unsigned long long)f->pid);
	conf->pid = (pid_t)f->pid;
	conf->comm = f->comm;
	conf->min_ns = f->min_ns;
	conf->all_files = f->all_files;
	conf->kinds = f->op ? 1U << f->op : ~0U;
	if (f->fs && !filters_fs_type_known(f->fs)) {
		reason_set(why, EXIT_FAILED, "no file system type '%.60s'", f->fs);
		return reason_hint(why, "those that the kernel knows are in /proc/filesystems");
	}
	if (f->disk && resolve_disk(f->disk, conf, why))
		return -1;
	if (f->file && resolve_file(f->file, conf, why))
		return -1;
	if (f->cgroup && resolve_cgroup(f->cgroup, conf, why))
		return -1;
	return 0;
}

static void text_add(char *text, size_t cap, const char *option, const char *value)
{
	size_t len = strlen(text);

	if (value)
		snprintf(text + len, cap - len, "%s%s %s", len ? " " : "", option, value);
}

void filters_text(const struct filters *f, char *text, size_t cap)
{
	char number[32];

	text[0] = '\0';
	snprintf(number, sizeof(number), "%llu", (unsigned long long)f->pid);
	text_add(text, cap, "-p", f->pid ? number : NULL);
	text_add(text, cap, "--comm", f->comm);
	text_add(text, cap, "--cgroup", f->cgroup);
	text_add(text, cap, "-d", f->disk);
	text_add(text, cap, "--fs", f->fs);
	text_add(text, cap, "--file", f->file);
	for (const struct opt_choice *c = ops; c->name; c++)
		text_add(text, cap, "--op", f->op == c->value ? c->name : NULL);
}
