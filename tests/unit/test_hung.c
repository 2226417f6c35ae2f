// SPDX-License-Identifier: GPL-2.0-only
/* Threads which hung before the start, in a directory which stands for /proc. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bpf/conf.h"
#include "trace/hung.h"
#include "trace/session.h"
#include "trace/unfinished.h"

enum {
	PID = 5000011, /* above the largest id of a thread */
	SINCE = 1000,
	NOW = 3000,
	DEV = 8 << 20 | 1,
};

static char root[64], fuse[128];
static struct hung_places at = { root, fuse };
static struct hung_threads h;
static struct snapshot sn;
static struct hung_list listed;
static char waiting[160]; /* how many requests wait for a FUSE daemon */

/* A thread as /proc shows it. Empty: /proc says nothing. */
struct shown {
	unsigned int pid, tid;
	const char *comm, *state, *wchan, *call;
	unsigned int flags, began, switches;
	unsigned long long code;
};

static const struct shown reader = {
	PID, PID, "head", "D", "folio_wait_bit_common", "", 0, 500, 7, 0x5600000000,
};

/* Writes a file, with the directories of its path. */
static void put(const char *path, const char *text, size_t len)
{
	char name[PATH_MAX];
	FILE *f;

	for (const char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		snprintf(name, sizeof(name), "%.*s", (int)(p - path), path);
		mkdir(name, 0700);
	}
	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
}

/* The path of a file of a thread. Lives until the next call. */
static const char *file_of(const struct shown *t, const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%u/task/%u/%s", root, t->pid, t->tid, name);
	return path;
}

static void put_of(const struct shown *t, const char *name, const char *text)
{
	put(file_of(t, name), text, strlen(text));
}

static void show_stat(const struct shown *t)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "%u (%s) %s 1 2 3 0 -1 %u 131 0 1 0 0 0 0 0 20 0 1 0 %u 3039232 432 "
		 "18446744073709551615 %llu 9 9 0 0 0 0\n",
		 t->tid, t->comm, t->state, t->flags, t->began, t->code);
	put_of(t, "stat", text);
	snprintf(text, sizeof(text),
		 "Name:\tvoluntary_ctxt_switches:\\n3\nvoluntary_ctxt_switches:\t%u\n"
		 "nonvoluntary_ctxt_switches:\t99\n",
		 t->switches);
	put_of(t, "status", text);
}

/* Shows a thread which waits in the call @nr with descriptor 3. */
static void show(const struct shown *t, long nr)
{
	char text[256];

	show_stat(t);
	put_of(t, "wchan", t->wchan);
	snprintf(text, sizeof(text),
		 "%ld 0x3 0x560ab8f5e000 0x1000 0x7fd1b43d74f0 0x0 0x0 0x7ffea6fabdd8 "
		 "0x7fd1b44b6350\n",
		 nr);
	put_of(t, "syscall", *t->call ? t->call : text);
}

/* Gives the thread's descriptor 3 a file on the mount @id. */
static void show_file(const struct shown *t, const char *path, const char *id)
{
	char text[64];

	put_of(t, "fd/none", "");
	unlink(file_of(t, "fd/3"));
	assert_int_equal(symlink(path, file_of(t, "fd/3")), 0);
	snprintf(text, sizeof(text), "pos:\t0\nflags:\t0100000\nmnt_id:\t%s\nino:\t12\n", id);
	put_of(t, "fdinfo/3", text);
}

static int start(void **state)
{
	static const char mounts[] = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
				     "31 20 0:42 / /home rw shared:1 - nfs4 10.0.0.7:/home rw\n"
				     "32 20 0:43 / /mnt/a\\040b rw - fuse.sshfs ann@host: rw\n";
	char path[128];

	(void)state;
	listed = (struct hung_list){};
	alarm(60); /* a test which reads a FIFO waits for ever */
	strcpy(root, "/tmp/iostrata-hung-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(fuse, sizeof(fuse), "%s/connections", root);
	snprintf(path, sizeof(path), "%s/self/mountinfo", root);
	put(path, mounts, strlen(mounts));
	snprintf(waiting, sizeof(waiting), "%s/42/waiting", fuse);
	put(waiting, "0\n", 2);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int end(void **state)
{
	(void)state;
	alarm(0);
	hung_done(&h);
	snapshot_free(&sn);
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const struct session_conf all = { .kinds = ~0U };

/* The first look. Returns the number of threads that it found. */
static size_t look(const struct session_conf *conf)
{
	hung_done(&h);
	assert_int_equal(hung_look(&at, conf, &listed, SINCE, &h), 0);
	return h.n;
}

/* A later look. Returns the number of threads that are told. */
static size_t read_again(const struct hung_states *states, uint64_t min_ns)
{
	static const struct hung_states none;

	snapshot_free(&sn);
	assert_int_equal(hung_read(&h, &at, states ? states : &none, NOW, min_ns, &sn), 0);
	return sn.n_hung;
}

/* Writes @text to the file that stands for /proc/locks. */
static void show_locks(const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/locks", root);
	put(path, text, strlen(text));
}

static void a_wait_for_a_file_lock_has_the_holder(void **state)
{
	static const struct shown waiter = { PID, PID + 1, "flock", "S", "locks_lock_inode_wait",
					     "",  0,       500,     7,   0x5600000000 };
	static const struct shown sleeper = { PID, PID + 2, "flock", "S", "hrtimer_nanosleep",
					      "",  0,       500,     7,   0x5600000000 };
	static const char stat[] =
		"5000040 (apt) S 1 2 3 0 -1 0 131 0 1 0 0 0 0 0 20 0 1 0 9 3039232 "
		"432 18446744073709551615 7 9 9 0 0 0 0\n";
	char path[128];

	(void)state;
	show(&waiter, SYS_flock);
	show(&sleeper, SYS_nanosleep);
	show_file(&waiter, "/srv/lock", "20");
	assert_int_equal(look(&all), 0);
	show_locks("1: OFDLCK ADVISORY  READ -1 fe:00:9 0 1\n\nx\n2: -> \n"
		   "3: FLOCK  ADVISORY  WRITE 5000040 fe:00:7 0 EOF\n"
		   "3: -> FLOCK  ADVISORY  WRITE 5000011 fe:00:7 0 EOF\n"
		   "3:  -> FLOCK  ADVISORY  WRITE 5000011 fe:00:7 0 EOF\n");
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_int_equal(sn.hung[0].tid, PID + 1);
	assert_int_equal(sn.hung[0].op, OP_LOCK);
	assert_string_equal(sn.hung[0].call, "flock");
	assert_string_equal(sn.hung[0].what, "file lock");
	assert_string_equal(sn.hung[0].file, "/srv/lock");
	assert_int_equal(sn.hung[0].holder_pid, 5000040);
	assert_string_equal(sn.hung[0].holder_comm, "");
	snprintf(path, sizeof(path), "%s/5000040/stat", root);
	put(path, stat, strlen(stat));
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_string_equal(sn.hung[0].holder_comm, "apt");
	/* with the kernel's list of waits that cannot be interrupted, too; and a lock of an open
	 * file */
	listed.known = true;
	show_locks("3: OFDLCK  ADVISORY  WRITE -1 fe:00:7 0 EOF\n"
		   "3: -> FLOCK  ADVISORY  WRITE 5000011 fe:00:7 0 EOF\n");
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_int_equal(sn.hung[0].holder_pid, 0);
}

static void a_read_has_its_server(void **state)
{
	(void)state;
	show(&reader, SYS_read);
	show_file(&reader, "/srv/ann/f", "31");
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_int_equal(sn.hung[0].op, OP_READ);
	assert_string_equal(sn.hung[0].call, "read");
	assert_string_equal(sn.hung[0].fs, "nfs4");
	assert_string_equal(sn.hung[0].server, "10.0.0.7:/home");
	assert_string_equal(sn.hung[0].file, "/srv/ann/f");
	assert_string_equal(sn.hung[0].comm, "head");
	assert_string_equal(sn.hung[0].symbol, "folio_wait_bit_common");
	assert_string_equal(sn.hung[0].what, "NFS server (folio lock)");
	assert_int_equal(sn.hung[0].stratum, ST_SERVER);
	assert_int_equal(sn.hung[0].pid, PID);
	assert_int_equal(sn.hung[0].tid, PID);
	assert_int_equal(sn.hung[0].age_ns, NOW - SINCE);
	assert_int_equal(read_again(NULL, NOW - SINCE), 1);
	assert_int_equal(read_again(NULL, NOW - SINCE + 1), 0);
	assert_int_equal(read_again(NULL, 0), 1); /* it was too young, but waits on */
}

static void a_path_has_no_server(void **state)
{
	struct shown t = reader;

	(void)state;
	t.wchan = "rpc_wait_bit_killable.isra.0";
	show(&t, SYS_openat); /* its first argument is a directory */
	show_file(&t, "/home", "31");
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_int_equal(sn.hung[0].op, OP_OPEN);
	assert_string_equal(sn.hung[0].fs, "");
	assert_null(sn.hung[0].server);
	assert_null(sn.hung[0].file);
	assert_string_equal(sn.hung[0].what, "NFS server");
	assert_string_equal(sn.hung[0].symbol, "rpc_wait_bit_killable");
}

/* Each name that a process can give itself, and lines without an end. */
static void names_are_hostile(void **state)
{
	static const char *const comms[] = { "a b", ") S 1 (", "a)\n(b\n",   "(((((((((((((((",
					     ")",   "",        "\x1b[2J\xff" };
	struct shown t = reader;

	(void)state;
	for (size_t i = 0; i < sizeof(comms) / sizeof(*comms); i++) {
		t.comm = comms[i];
		show(&t, SYS_read);
		show_file(&t, "/srv/f", "31");
		assert_int_equal(look(&all), 1);
		assert_int_equal(read_again(NULL, 0), 1);
		assert_string_equal(sn.hung[0].comm, comms[i]);
	}
}

/* Any beginning of each file is one which the kernel may give: nothing is read past its end. */
static void texts_end_anywhere(void **state)
{
	static const char *const names[] = { "stat", "status", "syscall", "wchan", "fdinfo/3" };
	struct shown t = reader;
	char text[512];
	size_t len;
	FILE *f;

	(void)state;
	t.comm = "a) D (b";
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		show(&t, SYS_read);
		show_file(&t, "/srv/f", "31");
		f = fopen(file_of(&t, names[i]), "r");
		assert_non_null(f);
		len = fread(text, 1, sizeof(text), f);
		fclose(f);
		while (len--) {
			put(file_of(&t, names[i]), text, len);
			assert_true(look(&all) <= 1);
			assert_true(read_again(NULL, 0) <= h.n);
		}
		unlink(file_of(&t, names[i]));
		assert_true(look(&all) <= 1);
	}
}

/* Threads which are not in an uninterruptible wait for I/O. */
static void others_are_left_out(void **state)
{
	static const struct {
		const char *state, *wchan;
		unsigned int flags;
		long nr;
	} cases[] = {
		{ "S", "folio_wait_bit_common", 0, SYS_read },
		{ "R", "0", 0, SYS_read },
		{ "D", "folio_wait_bit_common", 0x200000, SYS_read }, /* a kernel thread */
		{ "D", "kernel_clone", 0, SYS_clone },                /* vfork(2) */
		{ "D", "msleep", 0, SYS_ioctl },
		{ "D", "a_driver_waits", 0, SYS_ioctl },
		{ "D", "rwsem_down_read_slowpath", 0, -1 }, /* for the lock of its memory */
		{ "D", "pipe_read", 0, SYS_read },
	};
	struct shown t = reader;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		t.state = cases[i].state;
		t.wchan = cases[i].wchan;
		t.flags = cases[i].flags;
		show(&t, cases[i].nr);
		show_file(&t, "/srv/f", "31");
		if (look(&all))
			fail_msg("case %zu", i);
	}
	t = reader;
	t.pid = t.tid = getpid();
	show(&t, SYS_read);
	assert_int_equal(look(&all), 0);
	/* a function of unknown meaning, but a call for I/O */
	t = reader;
	t.wchan = "rwsem_down_write_slowpath";
	show(&t, SYS_read);
	show_file(&t, "/srv/f", "20");
	assert_int_equal(look(&all), 1);
	show(&reader, SYS_read);
	show_file(&reader, "pipe:[12]", "31");
	assert_int_equal(look(&all), 0);
	show_file(&reader, "/srv/f", "31");
	assert_int_equal(look(&all), 1);
}

/* A wait for a daemon may be interrupted, so its thread sleeps like any other. */
static void a_daemon_is_waited_for(void **state)
{
	struct listed_task look_up = { .pid = PID, .tid = PID, .dev = 43 };
	struct shown t = reader;

	(void)state;
	t.state = "S";
	t.wchan = "request_wait_answer";
	show(&t, SYS_read);
	show_file(&t, "/mnt/a b/f", "32");
	assert_int_equal(look(&all), 0);
	put(waiting, "1\n", 2);
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_string_equal(sn.hung[0].fs, "fuse");
	assert_string_equal(sn.hung[0].server, "/mnt/a b");
	assert_int_equal(sn.hung[0].stratum, ST_SERVER);
	put_of(&t, "wchan", "do_poll");
	assert_int_equal(look(&all), 0);
	/* not told how many wait, so any may */
	put_of(&t, "wchan", "fuse_get_req");
	unlink(waiting);
	assert_int_equal(look(&all), 1);
	put(waiting, "0\n", 2);
	assert_int_equal(look(&all), 0);
	/* it looks up a path */
	listed = (struct hung_list){ &look_up, 1, true };
	show(&t, SYS_openat);
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_string_equal(sn.hung[0].server, "/mnt/a b");
	t.switches++;
	show_stat(&t);
	assert_int_equal(read_again(NULL, 0), 0);
}

static void numbers_are_of_32_bit_calls(void **state)
{
	struct shown t = reader;

	(void)state;
	t.call = "3 0x3 0x8048000 0x1000 0x0 0x0 0x0 0xffd9d6b8 0xf7fb2549\n";
	show(&t, 0);
	show_file(&t, "/srv/f", "31");
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_string_equal(sn.hung[0].call, "read");
	t.call = "running\n";
	show(&t, 0);
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_int_equal(sn.hung[0].op, OP_NONE);
	assert_null(sn.hung[0].call);
	t.call = "-1 0x7ffe8ec8d5a0 0x401136\n";
	show(&t, 0);
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_int_equal(sn.hung[0].op, OP_FAULT);
	t.call = "100000 0x3 0x0 0x0 0x0 0x0 0x0 0x7ffea6fabdd8 0x7fd1b44b6350\n";
	show(&t, 0);
	assert_int_equal(look(&all), 1);
}

/* A thread in execve(2) holds a lock: whoever reads its call waits as long as the thread does. */
static void nothing_is_read_which_hangs(void **state)
{
	struct shown t = reader;

	(void)state;
	t.code = 0;
	t.wchan = "rpc_wait_bit_killable";
	show(&t, SYS_read);
	unlink(file_of(&t, "syscall"));
	assert_int_equal(mkfifo(file_of(&t, "syscall"), 0600), 0);
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_int_equal(sn.hung[0].op, OP_NONE);
	/* drivers write what they like into fdinfo */
	show(&reader, SYS_read);
	show_file(&reader, "/dev/dri/card0", "31");
	unlink(file_of(&reader, "fdinfo/3"));
	assert_int_equal(mkfifo(file_of(&reader, "fdinfo/3"), 0600), 0);
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_string_equal(sn.hung[0].fs, "");
}

/* Without rights the kernel says "0", and 1 for an address. */
static void threads_refused_are_counted(void **state)
{
	struct shown t = reader;

	(void)state;
	t.code = 1;
	t.wchan = "0";
	show(&t, SYS_read);
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 0);
	assert_int_equal(sn.hung_refused, 1);
	t.switches++;
	show_stat(&t);
	assert_int_equal(read_again(NULL, 0), 0);
	assert_int_equal(sn.hung_refused, 0);
	/* the function alone tells enough */
	t.wchan = "rpc_wait_bit_killable";
	show(&t, SYS_read);
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_int_equal(sn.hung_refused, 0);
}

static void other_namespaces_have_mounts(void **state)
{
	static const char mounts[] = "77 1 0:42 / /data rw - nfs4 10.0.0.8:/data rw\n";
	char path[128];

	(void)state;
	show(&reader, SYS_read);
	show_file(&reader, "/data/f", "77");
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_null(sn.hung[0].server);
	snprintf(path, sizeof(path), "%s/%u/mountinfo", root, PID);
	put(path, mounts, strlen(mounts));
	assert_int_equal(look(&all), 1);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_string_equal(sn.hung[0].server, "10.0.0.8:/data");
}

/* A block device of this machine, with its number. Skips the test if /dev has none. */
static unsigned int disk_find(char *path, size_t cap)
{
	DIR *dir = opendir("/dev");
	struct dirent *e;
	struct stat st = {};

	while (dir && !S_ISBLK(st.st_mode) && (e = readdir(dir))) {
		snprintf(path, cap, "/dev/%s", e->d_name);
		if (lstat(path, &st))
			st = (struct stat){};
	}
	if (dir)
		closedir(dir);
	if (!S_ISBLK(st.st_mode))
		skip();
	return major(st.st_rdev) << 20 | minor(st.st_rdev);
}

static void a_read_of_a_disk_itself_passes_the_filter_of_its_disk(void **state)
{
	static const char dev[] = "77 1 0:6 / /dev rw - devtmpfs dev rw\n",
			  server[] = "77 1 0:6 / /dev rw - nfs4 10.0.0.8:/dev rw\n";
	struct session_conf conf = all;
	char disk[300], path[128];

	(void)state;
	conf.lists.n_devs = 1;
	conf.lists.devs[0] = disk_find(disk, sizeof(disk));
	snprintf(path, sizeof(path), "%s/%u/mountinfo", root, PID);
	put(path, dev, strlen(dev));
	show(&reader, SYS_read);
	show_file(&reader, disk, "77");
	assert_int_equal(look(&conf), 1);
	show_file(&reader, "/dev/null", "77");
	assert_int_equal(look(&conf), 0);
	show_file(&reader, disk, "77");
	conf.lists.devs[0]++;
	assert_int_equal(look(&conf), 0);
	conf.lists.devs[0]--;
	put(path, server, strlen(server)); /* it may hang: it is not asked */
	assert_int_equal(look(&conf), 0);
}

static void filters_choose(void **state)
{
	struct session_conf conf = all;
	struct filter_lists *lists = &conf.lists;

	(void)state;
	show(&reader, SYS_read);
	show_file(&reader, "/f", "20");
	lists->n_pids = 1;
	lists->pids[0] = PID + 1;
	assert_int_equal(look(&conf), 0);
	lists->pids[0] = PID;
	assert_int_equal(look(&conf), 1);
	lists->n_comms = 1;
	strcpy((char *)lists->comms[0], "heads");
	assert_int_equal(look(&conf), 0);
	memset(lists->comms, 0, sizeof(lists->comms));
	strcpy((char *)lists->comms[0], "head");
	assert_int_equal(look(&conf), 1);
	lists->n_devs = 1;
	lists->devs[0] = DEV + 1;
	assert_int_equal(look(&conf), 0);
	lists->devs[0] = DEV;
	assert_int_equal(look(&conf), 1);
	conf.kinds = 1U << OP_WRITE;
	assert_int_equal(look(&conf), 0);
	conf.kinds = 1U << OP_READ;
	assert_int_equal(look(&conf), 1);
	syscalls_choose(&conf.only, "pread");
	assert_int_equal(look(&conf), 0);
	/* the disk of a path, and the kind of an unknown call, are not known */
	conf = all;
	show(&reader, SYS_openat);
	assert_int_equal(look(&conf), 1);
	lists->n_devs = 1;
	assert_int_equal(look(&conf), 0);
	conf = all;
	show(&reader, SYS_vfork);
	assert_int_equal(look(&conf), 1);
	conf.kinds = ~0U & ~(1U << OP_META);
	assert_int_equal(look(&conf), 0);
}

/* Shows @t at the later look, after the first look at the reader. The number of threads told. */
static size_t later(const struct shown *t, const struct hung_states *states)
{
	show(&reader, SYS_read);
	show_file(&reader, "/srv/f", "31");
	assert_int_equal(look(&all), 1);
	show_stat(t);
	return read_again(states, 0);
}

static void waits_end(void **state)
{
	struct shown t = reader;

	(void)state;
	assert_int_equal(later(&t, NULL), 1);
	t.switches++;
	assert_int_equal(later(&t, NULL), 0);
	assert_int_equal(h.n, 0); /* for good */
	t = reader;
	t.state = "S";
	assert_int_equal(later(&t, NULL), 0);
	t = reader;
	t.began++; /* another thread */
	assert_int_equal(later(&t, NULL), 0);
	t = reader;
	t.flags = 4; /* it exits, and waits for that */
	assert_int_equal(later(&t, NULL), 0);
	assert_int_equal(later(&reader, NULL), 1);
	unlink(file_of(&reader, "status"));
	assert_int_equal(read_again(NULL, 0), 0);
	assert_int_equal(later(&reader, NULL), 1);
	unlink(file_of(&reader, "stat"));
	assert_int_equal(read_again(NULL, 0), 0);
	assert_int_equal(sn.hung_refused, 0);
}

/* A thread which exists, but not in /proc. */
static void hidden_threads_are_counted(void **state)
{
	struct shown t = reader;

	(void)state;
	t.pid = t.tid = 1;
	show(&t, SYS_read);
	show_file(&t, "/srv/f", "31");
	assert_int_equal(look(&all), 1);
	unlink(file_of(&t, "stat"));
	assert_int_equal(read_again(NULL, 0), 0);
	assert_int_equal(sn.hung_refused, 1);
	show_stat(&t);
	assert_int_equal(read_again(NULL, 0), 1);
	assert_int_equal(sn.hung_refused, 0);
}

/* A thread that wakes up to send a request again is in its call still, unless it has a state. */
static void calls_last_over_wakings(void **state)
{
	struct {
		uint64_t task, id;
		unsigned int collisions;
	} tasks[3] = { { 1, 12, 0 } };
	const struct state_layout layout = {
		.task_size = sizeof(*tasks),
		.n_tasks = 3,
		.id = offsetof(typeof(*tasks), id),
		.task = offsetof(typeof(*tasks), task),
		.collisions = offsetof(typeof(*tasks), collisions),
	};
	const struct hung_states states = { &layout, tasks };
	struct shown t = reader;

	(void)state;
	t.switches++;
	assert_int_equal(later(&t, &states), 1);
	tasks[2].collisions = 1; /* of whom, is not known */
	assert_int_equal(later(&t, &states), 0);
	assert_int_equal(later(&reader, &states), 1);
	tasks[2].collisions = 0;
	tasks[1].id = 7000000ULL << 32 | PID;
	assert_int_equal(later(&t, &states), 1); /* its former owner's */
	tasks[1].task = 2;
	assert_int_equal(later(&t, &states), 0);
	assert_int_equal(later(&reader, &states), 1);
	/* whoever sleeps in state S may do so outside of a call */
	tasks[1].task = 0;
	t.state = "S";
	t.wchan = "request_wait_answer";
	put(waiting, "1\n", 2);
	show(&t, SYS_read);
	assert_int_equal(look(&all), 1);
	t.switches++;
	show_stat(&t);
	assert_int_equal(read_again(&states, 0), 0);
	put(waiting, "0\n", 2);
	/* no program sees the end of this call */
	t = reader;
	t.switches++;
	tasks[1].task = 0;
	show(&reader, SYS_vfork);
	assert_int_equal(look(&all), 1);
	show_stat(&t);
	assert_int_equal(read_again(&states, 0), 0);
}

/* An operation that began since is told as such. */
static void operations_are_told_once(void **state)
{
	(void)state;
	show(&reader, SYS_read);
	show_file(&reader, "/srv/f", "31");
	assert_int_equal(look(&all), 1);
	sn.unfinished = calloc(1, sizeof(*sn.unfinished));
	assert_non_null(sn.unfinished);
	sn.n_unfinished = 1;
	sn.unfinished[0].tid = PID;
	assert_int_equal(hung_read(&h, &at, &(struct hung_states){}, NOW, 0, &sn), 0);
	assert_int_equal(sn.n_hung, 0);
}

/* Those which wait for a server come first. */
static void many_are_in_order(void **state)
{
	struct shown t = reader;

	(void)state;
	t.pid = t.tid = PID + 200;
	t.wchan = "rpc_wait_bit_killable";
	show(&t, SYS_openat);
	t.wchan = reader.wchan;
	for (int i = 0; i < 101; i++) {
		t.tid = PID + i * 37 % 101;
		t.pid = PID + i * 37 % 101 / 50;
		show(&t, SYS_read);
	}
	assert_int_equal(look(&all), 102);
	assert_int_equal(read_again(NULL, 0), 102);
	assert_int_equal(sn.hung[0].tid, PID + 200);
	for (unsigned int i = 0; i < 101; i++) {
		assert_int_equal(sn.hung[i + 1].tid, PID + i);
		assert_int_equal(sn.hung[i + 1].pid, PID + i / 50);
	}
}

/* A call of a second or more has its name, and its path if it looks one up. The list may tell a
 * later call of the thread, of another kind; and threads of requests and faults are in other calls.
 */
static void calls_in_progress_are_named(void **state)
{
	struct listed_task list[] = { { .tid = 11, .call = SYS_mkdir, .path = "../a" },
				      { .tid = 12, .call = SYS_mkdir },
				      { .tid = 13, .call = SYS_mkdir },
				      { .tid = 14, .call = -1 },
				      { .tid = 15, .call = SYS_fsync } };
	struct unfinished ops[] = {
		{ .tid = 11, .op = OP_META, .age_ns = 1000000000, .in_call = true },
		{ .tid = 12, .op = OP_META, .age_ns = 999999999, .in_call = true },
		{ .tid = 13, .op = OP_META, .age_ns = 1000000000 },
		{ .tid = 14, .op = OP_META, .age_ns = 1000000000, .in_call = true },
		{ .tid = 15, .op = OP_META, .age_ns = 1000000000, .in_call = true },
		{ .tid = 16, .op = OP_META, .age_ns = 1000000000, .in_call = true },
	};
	struct snapshot s = { .unfinished = ops, .n_unfinished = 6 };
	struct hung_list of = { list, 5, true };

	(void)state;
	memset(list[0].path + 4, 'b', sizeof(list[0].path) - 4); /* without a NUL */
	assert_true(hung_has_unnamed(&s));
	assert_int_equal(hung_name_calls(&all, &of, &s), 0);
	assert_string_equal(ops[0].call, "mkdir");
	assert_int_equal(strlen(ops[0].file), sizeof(list[0].path));
	for (int i = 1; i < 6; i++)
		assert_string_equal(ops[i].call, "");
	free(ops[0].file);
	s = (struct snapshot){ .unfinished = &ops[1], .n_unfinished = 2 };
	assert_false(hung_has_unnamed(&s));
}

/* The threads of the kernel's list are looked at, and no others; paths have their file system. */
static void paths_are_listed(void **state)
{
	struct listed_task list[] = { { .pid = PID, .tid = PID + 1, .dev = 42 },
				      { .pid = PID, .tid = PID + 2, .dev = 42, .path = "../a" },
				      { .pid = PID + 5, .tid = PID + 5 },
				      { .pid = PID + 6, .tid = PID + 6, .dev = 4711 } };
	struct session_conf conf = all;
	struct shown t = reader;

	(void)state;
	memset(list[0].path, 'a', sizeof(list[0].path)); /* without a NUL */
	t.wchan = "rpc_wait_bit_killable";
	show(&t, SYS_openat);
	t.tid = PID + 1;
	show(&t, SYS_openat);
	t.tid = PID + 2;
	show(&t, SYS_openat);
	assert_int_equal(look(&all), 3);
	listed = (struct hung_list){ list, 4, true }; /* the last two have ended */
	assert_int_equal(look(&all), 2);
	assert_int_equal(read_again(NULL, 0), 2);
	assert_int_equal(strlen(sn.hung[0].file), sizeof(list[0].path));
	assert_string_equal(sn.hung[1].file, "../a");
	assert_string_equal(sn.hung[1].fs, "nfs4");
	assert_string_equal(sn.hung[1].server, "10.0.0.7:/home");
	conf.lists.n_devs = 1;
	conf.lists.devs[0] = 42;
	assert_int_equal(look(&conf), 2);
	conf.lists.devs[0] = 43;
	assert_int_equal(look(&conf), 0);
	conf = all;
	conf.lists.n_pids = 1;
	conf.lists.pids[0] = PID;
	assert_int_equal(look(&conf), 2);
	conf.lists.pids[0] = PID + 5;
	assert_int_equal(look(&conf), 0);
	/* the call is told by its descriptor, if it has one */
	show(&t, SYS_read);
	show_file(&t, "/srv/f", "20");
	assert_int_equal(look(&all), 2);
	assert_int_equal(read_again(NULL, 0), 2);
	assert_string_equal(sn.hung[1].file, "/srv/f");
	assert_string_equal(sn.hung[1].fs, "ext4");
	/* the list has threads in state S only if they look up a path */
	put(waiting, "1\n", 2);
	assert_int_equal(look(&all), 3);
}

static void without_proc_there_are_none(void **state)
{
	const struct hung_places nowhere = { "/nonexistent", "/nonexistent" };

	(void)state;
	assert_int_equal(hung_look(&nowhere, &all, &listed, SINCE, &h), 0);
	assert_int_equal(h.n, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wait_for_a_file_lock_has_the_holder),
		TEST(a_read_has_its_server),
		TEST(a_path_has_no_server),
		TEST(names_are_hostile),
		TEST(texts_end_anywhere),
		TEST(others_are_left_out),
		TEST(a_daemon_is_waited_for),
		TEST(numbers_are_of_32_bit_calls),
		TEST(nothing_is_read_which_hangs),
		TEST(threads_refused_are_counted),
		TEST(other_namespaces_have_mounts),
		TEST(a_read_of_a_disk_itself_passes_the_filter_of_its_disk),
		TEST(filters_choose),
		TEST(waits_end),
		TEST(hidden_threads_are_counted),
		TEST(calls_last_over_wakings),
		TEST(operations_are_told_once),
		TEST(many_are_in_order),
		TEST(calls_in_progress_are_named),
		TEST(paths_are_listed),
		TEST(without_proc_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
