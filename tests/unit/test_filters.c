// SPDX-License-Identifier: GPL-2.0-only
/* Filters are translated for the programs, on a machine made here: a directory with its files. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/reason.h"
#include "host/mounts.h"
#include "run/filters.h"

#include "made_files.h"

enum { SDA = 8 << 20, SDB = SDA | 16, SDC = SDA | 32, SDD = SDA | 48 };
enum { BTRFS = 42, GONE = 300, ANOTHERS = 301 };

static char root[128];

static const struct {
	const char *path, *text;
} made[] = {
	{ "/proc/self/mountinfo", "24 1 0:46 / /files/first rw - btrfs /dev/sdd rw\n"
				  "23 1 0:43 / / rw - btrfs /dev/sdb rw\n"
				  "20 23 8:1 / /files rw - ext4 /dev/sda1 rw\n"
				  "21 20 0:42 / /btrfs rw - btrfs /dev/sda rw\n"
				  "22 20 0:42 /sub /again rw - btrfs /dev/sda rw\n"
				  "19 20 0:44 / /tmp rw - tmpfs sda rw\n"
				  "25 20 0:45 / /net rw - nfs /files/f rw\n"
				  "26 20 1:5 / /ram rw - ext4 /dev/sda rw\n"
				  "30 20 8:2 / /part rw - ext4 /dev/sda rw\n"
				  "27 20 0:50 /part /part-of-cgroups rw - cgroup2 cgroup rw\n"
				  "28 20 0:50 / /cgroups rw - cgroup2 cgroup rw\n"
				  "29 20 0:50 / /later rw - cgroup2 cgroup rw\n"
				  "31 20 0:60 / /home rw - nfs4 10.0.0.7:/home rw\n"
				  "32 20 0:61 / /data rw - nfs4 10.0.0.7:/data rw\n"
				  "33 20 0:62 / /bind rw - fuse.bindfs /home rw\n" },
	{ "/proc/filesystems", "nodev\tproc\n\text4\nnodev\tbtrfs-like\n\txfs\n" },
	{ "/proc/70/status", "Name:\tdd\nUmask:\t0022\nTgid:\t70\nPid:\t70\nNSpid:\t70\t1\n" },
	{ "/proc/71/status", "Name:\tTgid: 9\nTgid:\t70\nNgid:\t5\nPid:\t71\n" },
	{ "/proc/301/status", "Tgid:\t301\n" },
	{ "/proc/70/stat", "70 (a) R 2) S 2 0 0 0 -1 4194560 9 2097152\n" },
	{ "/proc/72/stat", "72 (kworker/0) I 2 0 0 0 -1 69238880 2 3\n" },
	{ "/proc/73/stat", "" },
	{ "/proc/74/stat", "74 (cut) S 2 0\n" },
	{ "/sys/dev/block/8:0/sda1/dev", "8:1\n" },
	{ "/sys/dev/block/8:0/sda2/dev", "259:1048577\n" },
	{ "/sys/dev/block/8:0/.hidden/dev", "8:3\n" },
	{ "/sys/dev/block/8:0/dev", "8:0\n" },
	{ "/sys/dev/block/8:0/bad/dev", "8\n" },
	{ "/sys/dev/block/8:0/queue/size", "1\n" },
	{ "/sys/dev/block/8:16/dev", "8:16\n" },
	{ "/sys/block/sda/size", "2048\n" },
	{ "/sys/block/loop0/size", "0\n" },
	{ "/part-of-cgroups/a/cgroup.procs", "" },
	{ "/cgroups/a/cgroup.procs", "" },
	{ "/cgroups/a/b/cgroup.procs", "" },
	{ "/files/f", "text" },
	{ "/files/old", "text" },
	{ "/files/btrfs", "text" },
	{ "/files/first", "text" },
	{ "/files/unmounted", "text" },
	{ "/dev/notes", "no disk" },
};

/* Whether the program means this machine's file of that name. */
static bool is_made(const char *path)
{
	return !strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5) ||
	       !strncmp(path, "/files", 6) || !strncmp(path, "/cgroups", 8) ||
	       !strncmp(path, "/part-of", 8) || !strncmp(path, "/later", 6) ||
	       !strncmp(path, "/dev/notes", 10);
}

static const char *place(const char *path, char to[PATH_MAX])
{
	snprintf(to, PATH_MAX, "%s%s", is_made(path) ? root : "", path);
	return to;
}

/* Instead of the C library's, as in made_files.h. */
int stat(const char *path, struct stat *st)
{
	static const struct {
		const char *path;
		unsigned int minor;
	} disks[] = {
		{ "/dev/sda", 0 },
		{ "/dev/sdb", 16 },
		{ "/dev/sdc", 32 },
		{ "/dev/sdd", 48 },
		{ "/dev/mapper/vg--data-lv--x", 32 },
		{ "/dev/md/home", 32 },
	};
	char to[PATH_MAX];
	int err = fstatat(AT_FDCWD, place(path, to), st, 0);

	st->st_dev = makedev(8, 99);
	for (size_t i = 0; i < sizeof(disks) / sizeof(*disks); i++)
		if (!strcmp(path, disks[i].path)) {
			*st = (struct stat){ .st_mode = S_IFBLK | 0600,
					     .st_ino = 5,
					     .st_rdev = makedev(8, disks[i].minor) };
			return 0;
		}
	return err;
}

int statfs(const char *path, struct statfs *fs)
{
	*fs = (struct statfs){ .f_type = strstr(path, "cgroups") ? CGROUP2_SUPER_MAGIC
								 : TMPFS_MAGIC };
	return 0;
}

int statx(int fd, const char *path, int flags, unsigned int mask, struct statx *sx)
{
	assert_int_equal(fd, AT_FDCWD);
	assert_int_equal(flags, 0);
	assert_true(mask & STATX_MNT_ID);
	*sx = (struct statx){ .stx_mask = STATX_MNT_ID, .stx_mnt_id = 20 };
	if (!strcmp(path, "/files/old"))
		*sx = (struct statx){ .stx_mnt_id = 21 };
	if (!strcmp(path, "/files/unmounted"))
		return -1;
	if (!strcmp(path, "/files/btrfs"))
		sx->stx_mnt_id = 21;
	if (!strcmp(path, "/files/first"))
		sx->stx_mnt_id = 24;
	return 0;
}

int kill(pid_t pid, int sig)
{
	assert_int_equal(sig, 0);
	errno = pid == GONE ? ESRCH : EPERM;
	return pid == GONE || pid == ANOTHERS ? -1 : 0;
}

static int files_before;

static int open_files(void)
{
	DIR *dir = opendir("/dev/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static int machine_make(void **state)
{
	char path[PATH_MAX];
	FILE *f;

	(void)state;
	files_before = open_files();
	snprintf(root, sizeof(root), "%s/iostrata-unit.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(root))
		return -1;
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		snprintf(path, sizeof(path), "%s%s", root, made[i].path);
		for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
			*p = '\0';
			mkdir(path, 0700);
		}
		f = fopen(path, "w");
		if (!f || fputs(made[i].text, f) < 0 || fclose(f))
			return -1;
	}
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int machine_remove(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct filter_lists lists;
static struct reason why;

static int resolve(struct filters f)
{
	lists = (struct filter_lists){};
	why = (struct reason){};
	return filters_resolve(&f, &lists, &why);
}

static void refused(struct filters f, int exit, const char *error, const char *hint)
{
	assert_int_equal(resolve(f), -1);
	assert_int_equal(why.exit, exit);
	assert_string_equal(why.error, error);
	assert_string_equal(why.hint, hint);
}

static void without_filters_the_lists_are_empty(void **state)
{
	(void)state;
	assert_int_equal(resolve((struct filters){}), 0);
	assert_memory_equal(&lists, &(struct filter_lists){}, sizeof(lists));
}

static void all_faults_need_faults(void **state)
{
	(void)state;
	assert_int_equal(resolve((struct filters){ .all_faults = true }), 0);
	assert_int_equal(resolve((struct filters){ .all_faults = true,
						   .ops = 1 << OP_READ | 1 << OP_FAULT }),
			 0);
	refused((struct filters){ .all_faults = true, .ops = 1 << OP_READ }, EXIT_USAGE,
		"--all-faults is about page faults, but --op leaves them out", "");
}

static void requests_of_operations_need_op(void **state)
{
	(void)state;
	assert_int_equal(
		resolve((struct filters){ .op_requests = true, .op_names = { { "read" }, 1 } }), 0);
	refused((struct filters){ .op_requests = true }, EXIT_USAGE, "--op-requests needs --op",
		"");
}

static void processes_are_no_threads(void **state)
{
	(void)state;
	assert_int_equal(resolve((struct filters){ .pids = { { 70, ANOTHERS, 75 }, 3 } }), 0);
	assert_int_equal(lists.n_pids, 3);
	assert_int_equal(lists.pids[0], 70);
	assert_int_equal(lists.pids[1], ANOTHERS);
	assert_int_equal(lists.pids[2], 75); /* not in /proc, but there is one */
	refused((struct filters){ .pids = { { 70, GONE, 71 }, 3 } }, EXIT_FAILED,
		"no process has pid 300", "");
	refused((struct filters){ .pids = { { 71 }, 1 } }, EXIT_FAILED,
		"71 is a thread of process 70", "'-p 70' traces all its threads");
}

/* From the first namespace all are traced; from another those below it are not. */
static void processes_are_of_this_namespace(void **state)
{
	char path[PATH_MAX];
	FILE *f;

	(void)state;
	assert_int_equal(resolve((struct filters){ .pids = { { 70 }, 1 } }), 0);
	assert_int_equal(mkdir(place("/proc/self/ns", path), 0700), 0);
	f = fopen("/proc/self/ns/pid", "w");
	assert_non_null(f);
	fclose(f);
	refused((struct filters){ .pids = { { ANOTHERS, 70 }, 2 } }, EXIT_FAILED,
		"process 70 is in a pid namespace below this one",
		"trace it from that namespace, or from the host's (docker run --pid=host)");
	assert_int_equal(lists.n_pids, 1);
	assert_int_equal(remove(place("/proc/self/ns/pid", path)), 0);
}

static void kernel_threads_are_told_by_their_flags(void **state)
{
	(void)state;
	assert_false(filters_kernel_thread(70));
	assert_true(filters_kernel_thread(72));
	assert_false(filters_kernel_thread(73));
	assert_false(filters_kernel_thread(74));
	assert_false(filters_kernel_thread(GONE));
}

static void names_fit_the_kernel(void **state)
{
	(void)state;
	assert_int_equal(resolve((struct filters){ .comms = { { "dd", "fifteen-letters" }, 2 } }),
			 0);
	assert_int_equal(lists.n_comms, 2);
	assert_string_equal((char *)lists.comms[0], "dd");
	assert_string_equal((char *)lists.comms[1], "fifteen-letters");
	refused((struct filters){ .comms = { { "sixteen-letters-" }, 1 } }, EXIT_USAGE,
		"no thread is called 'sixteen-letters-': the kernel keeps 15 characters",
		"--comm sixteen-letters");
}

static void disks_have_partitions_and_file_systems(void **state)
{
	const unsigned int sda[] = { SDA, SDA | 1, 259 << 20 | 1048577, BTRFS };
	unsigned int n = 0;

	(void)state;
	assert_int_equal(resolve((struct filters){ .disks = { { "sda" }, 1 } }), 0);
	assert_int_equal(lists.n_devs, 4);
	assert_int_equal(lists.devs[0], SDA);
	assert_int_equal(lists.devs[3], BTRFS);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 4; k++)
			n += lists.devs[i] == sda[k];
	assert_int_equal(n, 4);
	/* once each */
	assert_int_equal(resolve((struct filters){ .disks = { { "/dev/sda", "sda", "sdb" }, 3 } }),
			 0);
	assert_int_equal(lists.n_devs, 6);
	assert_int_equal(lists.devs[4], SDB);
	assert_int_equal(lists.devs[5], 43);
	/* not in /sys, and nothing is mounted from it */
	assert_int_equal(resolve((struct filters){ .disks = { { "sdc" }, 1 } }), 0);
	assert_int_equal(lists.n_devs, 1);
	assert_int_equal(lists.devs[0], SDC);
	/* as lsblk(8) calls device mapper and md */
	assert_int_equal(resolve((struct filters){ .disks = { { "vg--data-lv--x" }, 1 } }), 0);
	assert_int_equal(lists.n_devs, 1);
	assert_int_equal(lists.devs[0], SDC);
	assert_int_equal(resolve((struct filters){ .disks = { { "home" }, 1 } }), 0);
	assert_int_equal(lists.n_devs, 1);
	assert_int_equal(lists.devs[0], SDC);
	/* not in /sys, but the first that is mounted is on it */
	assert_int_equal(resolve((struct filters){ .disks = { { "sdd" }, 1 } }), 0);
	assert_int_equal(lists.n_devs, 2);
	assert_int_equal(lists.devs[0], SDD);
	assert_int_equal(lists.devs[1], 46);
}

static void an_unknown_disk_is_told_with_disks_and_servers(void **state)
{
	static const char hint[] = "disks here: sda; servers: /files/f, 10.0.0.7, 'bindfs /home'; "
				   "'lsblk' and 'findmnt' list all disks, partitions and mounts";

	(void)state;
	refused((struct filters){ .disks = { { "sda", "nosuch" }, 2 } }, EXIT_FAILED,
		"no disk, mount or server is called 'nosuch'", hint);
	refused((struct filters){ .disks = { { "notes" }, 1 } }, EXIT_FAILED,
		"no disk, mount or server is called 'notes'", hint);
	/* the beginning of a server's name, and of a mount's */
	refused((struct filters){ .disks = { { "10.0.0" }, 1 } }, EXIT_FAILED,
		"no disk, mount or server is called '10.0.0'", hint);
	refused((struct filters){ .disks = { { "/files/old" }, 1 } }, EXIT_FAILED,
		"no disk, mount or server is called '/files/old'",
		"nothing is mounted there; --file takes files, and directories with all files "
		"below "
		"them");
	assert_int_equal(resolve((struct filters){ .disks = { { "10.0.0.7" }, 1 } }), 0);
	assert_int_equal(lists.n_devs, 2);
	assert_int_equal(resolve((struct filters){ .disks = { { "/bind/", "bindfs /home" }, 2 } }),
			 0);
	assert_int_equal(lists.n_devs, 1);
}

static void a_disk_has_only_so_many_partitions(void **state)
{
	char path[PATH_MAX];
	FILE *f;

	(void)state;
	for (int i = 1; i <= MAX_DEVS; i++) {
		snprintf(path, sizeof(path), "%s/sys/dev/block/8:16/p%d", root, i);
		assert_int_equal(mkdir(path, 0700), 0);
		strcat(path, "/dev");
		f = fopen(path, "w");
		assert_non_null(f);
		fprintf(f, "259:%d\n", i);
		fclose(f);
		if (i == MAX_DEVS - 2) { /* itself, and a file system */
			assert_int_equal(resolve((struct filters){ .disks = { { "sdb" }, 1 } }), 0);
			assert_int_equal(lists.n_devs, MAX_DEVS);
		}
		if (i > MAX_DEVS - 2)
			refused((struct filters){ .disks = { { "sdb" }, 1 } }, EXIT_FAILED,
				"more than 64 disks and partitions", "");
	}
}

static void file_systems_are_known(void **state)
{
	struct mount list[1] = { { .dev = 23, .type = "proc" } };
	struct mounts mounts = { .list = list, .n = 1 };
	const unsigned int devs[] = { 8 << 20, 23 };

	(void)state;
	assert_int_equal(mounts_fs_kind("proc"), FS_KIND_NO_DISK);
	assert_int_equal(mounts_fs_kind("ext4"), FS_KIND_DISK);
	assert_int_equal(mounts_fs_kind("xfs"), FS_KIND_DISK);
	assert_int_equal(mounts_fs_kind("btrfs"), FS_KIND_UNKNOWN);
	assert_int_equal(mounts_fs_kind("nodev"), FS_KIND_UNKNOWN);
	assert_true(mounts_may_be_on(&mounts, "bdev", devs, 2));
	assert_true(mounts_may_be_on(&mounts, "ext4", devs, 2));
	assert_true(mounts_may_be_on(&mounts, "btrfs", devs, 2));
	assert_true(mounts_may_be_on(&mounts, "proc", devs, 2));
	assert_false(mounts_may_be_on(&mounts, "proc", devs, 1));
	list[0].type = "sysfs";
	assert_false(mounts_may_be_on(&mounts, "proc", devs, 2));
	assert_int_equal(resolve((struct filters){ .fs = { { "xfs" }, 1 } }), 0);
	refused((struct filters){ .fs = { { "nosuch" }, 1 } }, EXIT_FAILED,
		"no file system type 'nosuch'",
		"/proc/filesystems lists the types that the kernel knows");
}

static void files_are_known_by_device_and_inode(void **state)
{
	static const unsigned int devs[] = { SDA | 1, SDA | 99, BTRFS, SDA | 99, SDA, SDA | 1, 46 };
	struct stat st;

	(void)state;
	assert_int_equal(
		resolve((struct filters){
			.files = { { "/files/f", "/files/old", "/files/btrfs", "/files/unmounted",
				     "/dev/sda", "/files", "/files/first" },
				   7 } }),
		0);
	assert_int_equal(lists.n_files, 7);
	for (int i = 0; i < 7; i++)
		assert_int_equal(lists.files[i].dev, devs[i]);
	assert_int_equal(stat("/files/f", &st), 0);
	assert_int_equal(lists.files[0].ino, st.st_ino);
	assert_false(lists.files[0].is_dir);
	assert_true(lists.files[5].is_dir);
	refused((struct filters){ .files = { { "/files/f", "/files/nosuch" }, 2 } }, EXIT_FAILED,
		"cannot look at '/files/nosuch': No such file or directory",
		"for a file that does not exist yet, give its directory: it stands for all files "
		"below it");
	assert_int_equal(filter_kernel_dev(makedev(300, 1048577)), 300 << 20 | 1);
}

static void cgroups_are_directories_of_the_hierarchy(void **state)
{
	struct stat a, b;

	(void)state;
	assert_int_equal(stat("/cgroups/a", &a) || stat("/cgroups/a/b", &b), 0);
	assert_int_equal(
		resolve((struct filters){ .cgroups = { { "/cgroups/a", "/a/b", "a" }, 3 } }), 0);
	assert_int_equal(lists.n_cgroups, 3);
	assert_int_equal(lists.cgroups[0], a.st_ino);
	assert_int_equal(lists.cgroups[1], b.st_ino);
	assert_int_equal(lists.cgroups[2], a.st_ino);
	refused((struct filters){ .cgroups = { { "/a", "/nosuch" }, 2 } }, EXIT_FAILED,
		"no such cgroup '/nosuch' in '/cgroups'",
		"/proc/PID/cgroup has the cgroup of a process: 0::PATH");
	refused((struct filters){ .cgroups = { { "/cgroups/a/cgroup.procs" }, 1 } }, EXIT_FAILED,
		"no such cgroup '/cgroups/a/cgroup.procs' in '/cgroups'",
		"/proc/PID/cgroup has the cgroup of a process: 0::PATH");
	refused((struct filters){ .cgroups = { { "/files" }, 1 } }, EXIT_FAILED,
		"no such cgroup '/files' in '/cgroups'",
		"/proc/PID/cgroup has the cgroup of a process: 0::PATH");
}

static void without_proc_nothing_is_known(void **state)
{
	char types[PATH_MAX], away[PATH_MAX];

	(void)state;
	place("/proc/filesystems", types);
	place("/proc/away", away);
	assert_int_equal(rename(types, away), 0);
	assert_int_equal(mounts_fs_kind("ext4"), FS_KIND_UNKNOWN);
	assert_int_equal(rename(away, types), 0);
}

static void without_mounts_there_is_less(void **state)
{
	char mounts[PATH_MAX], away[PATH_MAX];
	FILE *f;

	(void)state;
	place("/proc/self/mountinfo", mounts);
	place("/proc/self/away", away);
	assert_int_equal(rename(mounts, away), 0);
	for (int parts = 0; parts < 2; parts++) {
		refused((struct filters){ .cgroups = { { "/a" }, 1 } }, EXIT_FAILED,
			"no cgroup v2 is mounted", "mount -t cgroup2 none /sys/fs/cgroup");
		assert_int_equal(resolve((struct filters){ .disks = { { "sdc" }, 1 } }), 0);
		assert_int_equal(resolve((struct filters){ .files = { { "/files/btrfs" }, 1 } }),
				 0);
		assert_int_equal(lists.files[0].dev, SDA | 99);
		f = fopen("/proc/self/mountinfo", "w");
		assert_non_null(f);
		fputs("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n", f);
		fclose(f);
	}
	/* where only a part is mounted */
	f = fopen("/proc/self/mountinfo", "w");
	assert_non_null(f);
	fputs("27 20 0:50 /part /part-of-cgroups rw - cgroup2 cgroup rw\n", f);
	fclose(f);
	assert_int_equal(resolve((struct filters){ .cgroups = { { "/a" }, 1 } }), 0);
	assert_int_equal(rename(away, mounts), 0);
}

static void nothing_is_left_open(void **state)
{
	(void)state;
	assert_int_equal(open_files(), files_before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_filters_the_lists_are_empty),
		cmocka_unit_test(all_faults_need_faults),
		cmocka_unit_test(requests_of_operations_need_op),
		cmocka_unit_test(processes_are_no_threads),
		cmocka_unit_test(processes_are_of_this_namespace),
		cmocka_unit_test(kernel_threads_are_told_by_their_flags),
		cmocka_unit_test(names_fit_the_kernel),
		cmocka_unit_test(disks_have_partitions_and_file_systems),
		cmocka_unit_test(an_unknown_disk_is_told_with_disks_and_servers),
		cmocka_unit_test(a_disk_has_only_so_many_partitions),
		cmocka_unit_test(file_systems_are_known),
		cmocka_unit_test(files_are_known_by_device_and_inode),
		cmocka_unit_test(cgroups_are_directories_of_the_hierarchy),
		cmocka_unit_test(without_proc_nothing_is_known),
		cmocka_unit_test(without_mounts_there_is_less),
		cmocka_unit_test(nothing_is_left_open), /* by any of these */
	};

	return cmocka_run_group_tests(tests, machine_make, machine_remove);
}
