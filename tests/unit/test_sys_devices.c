// SPDX-License-Identifier: GPL-2.0-only
/* The devices of a machine, as /sys has them, and devices which have changed when met again. */
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host/devices.h"

#include "made_files.h"

#define DEV(major, minor) ((major) << 20 | (minor))

enum {
	SDA = DEV(8, 0),
	SDA1,
	SDA2,
	SDB = DEV(8, 16),
	DM0 = DEV(253, 0),
	LOOP0 = DEV(7, 0),
	LOOP1,
	LOOP2,
	ZRAM = DEV(254, 0xfffff),
	NVME = DEV(0xfff, 1),
};

static char root[128];

/* Attributes, and where a link leads. */
static const struct {
	const char *path, *text;
} attributes[] = {
	{ "/devices/sda/dev", "8:0\n" },
	{ "/devices/sda/sda1/dev", "8:1\n" },
	{ "/devices/sda/sda1/partition", "1\n" },
	{ "/devices/sda/sda2/dev", "8:2\n" },
	{ "/devices/sda/sda2/partition", "2\n" },
	{ "/devices/sdb/dev", "8:16\n" },
	{ "/devices/dm-0/dev", "253:0\n" },
	{ "/devices/dm-0/slaves/sdb/dev", "8:16\n" },
	{ "/devices/dm-0/slaves/sda1/dev", "8:1\n" },
	{ "/devices/dm-0/slaves/bad/dev", "8\n" },
	{ "/devices/dm-0/dm/suspended", "0\n" },
	{ "/devices/dm-1/dm/suspended", "1\n" },
	{ "/devices/dm-1/dm/name", "vg-\033[1m\n" },
	{ "/devices/dm-2/slaves/dm-0/dev", "253:0\n" },
	{ "/devices/dm-2/slaves/dm-1/dev", "253:1\n" },
	{ "/devices/dm-3/slaves/dm-3/dev", "253:3\n" }, /* a circle cannot be, but must end */
	{ "/devices/loop0/loop/backing_file", "/images/a\n" },
	{ "/devices/loop1/loop/backing_file", "/dev/sda2\n" },
	{ "/devices/loop2/loop/backing_file", "/nowhere/a\n" },
	{ "/devices/zram/backing_dev", "/dev/sdb\n" },
	{ "/devices/a-name-of-more-than-31-characters/dev", "4095:1\n" },
	{ "/self/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
			     "21 20 0:42 / /images rw - btrfs /dev/sda2 rw\n"
			     "22 20 0:43 / /nowhere rw - tmpfs none rw\n" },
}, links[] = {
	{ "8:0", "../../devices/sda" }, { "8:1", "../../devices/sda/sda1" },
	{ "8:2", "../../devices/sda/sda2" }, { "8:16", "../../devices/sdb" },
	{ "253:0", "../../devices/dm-0" }, { "7:0", "../../devices/loop0" },
	{ "7:1", "../../devices/loop1" }, { "7:2", "../../devices/loop2" },
	{ "254:1048575", "../../devices/zram" },
	{ "4095:1", "../../devices/a-name-of-more-than-31-characters" },
	{ "4096:0", "../../devices/sda" }, { "8:1048576", "../../devices/sda" },
	{ "none", "../../devices/sda" },
};

static const char *place(const char *path, char to[PATH_MAX])
{
	if (!strncmp(path, "/proc/self/mountinfo", 20))
		path += 5;
	else if (strncmp(path, "/sys/dev/block", 14) != 0)
		return path;
	snprintf(to, PATH_MAX, "%s%s", root, !strncmp(path, "/sys/", 5) ? path + 4 : path);
	return to;
}

/* Instead of the C library's, as in made_files.h. */
int open(const char *path, int flags, ...)
{
	char to[PATH_MAX];

	return openat(AT_FDCWD, place(path, to), flags, 0);
}

ssize_t readlink(const char *path, char *text, size_t cap)
{
	char to[PATH_MAX];

	return readlinkat(AT_FDCWD, place(path, to), text, cap);
}

int stat(const char *path, struct stat *st)
{
	static const struct {
		const char *path;
		unsigned int minor;
	} disks[] = { { "/dev/sda1", 1 }, { "/dev/sda2", 2 }, { "/dev/sdb", 16 } };

	*st = (struct stat){ .st_mode = S_IFREG, .st_rdev = makedev(8, 3) };
	for (int i = 0; i < 3; i++)
		if (!strcmp(path, disks[i].path)) {
			st->st_mode = S_IFBLK;
			st->st_rdev = makedev(8, disks[i].minor);
		}
	return strcmp(path, "none") ? 0 : -1;
}

static void make_at(const char *path, const char *text, bool is_link)
{
	char to[PATH_MAX];
	FILE *f;

	snprintf(to, sizeof(to), "%s%s", root, path);
	for (char *p = to + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(to, 0700);
	}
	if (is_link) {
		assert_int_equal(symlink(text, to), 0);
		return;
	}
	f = fopen(to, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int machine_make(void **state)
{
	char path[PATH_MAX];

	(void)state;
	snprintf(root, sizeof(root), "%s/iostrata-unit.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(root))
		return -1;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		make_at(attributes[i].path, attributes[i].text, false);
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		snprintf(path, sizeof(path), "/dev/block/%s", links[i].path);
		make_at(path, links[i].text, true);
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

static void check_device(const struct devices *d, unsigned int dev, const char *name,
			 unsigned int disk)
{
	const struct device *e = devices_find(d, dev);

	assert_non_null(e);
	assert_string_equal(e->name, name);
	assert_int_equal(e->disk, disk);
	assert_true(e->fresh);
	assert_ptr_equal(devices_named(d, name), e);
	assert_int_equal(devices_disk(d, dev), disk ? disk : dev);
}

static void check_links(const struct devices *d, const struct device_link *want, size_t n)
{
	assert_int_equal(d->n_links, n);
	assert_memory_equal(d->links, want, n * sizeof(*want));
}

static const struct device_link all_links[] = {
	{ LOOP0, SDA2, 0 }, { LOOP1, SDA2, 0 }, { DM0, SDA1, 0 }, { DM0, SDB, 0 }, { ZRAM, SDB, 0 },
};

static void all_devices_are_read(void **state)
{
	struct devices d = {};

	(void)state;
	devices_read(&d);
	assert_int_equal(d.n, 10);
	check_device(&d, SDA, "sda", 0);
	check_device(&d, SDA1, "sda1", SDA);
	check_device(&d, SDA2, "sda2", SDA);
	check_device(&d, SDB, "sdb", 0);
	check_device(&d, DM0, "dm-0", 0);
	check_device(&d, LOOP2, "loop2", 0);
	check_device(&d, ZRAM, "zram", 0);
	check_device(&d, NVME, "a-name-of-more-than-31-characte", 0);
	assert_null(devices_named(&d, "nosuch"));
	check_links(&d, all_links, 5);
	devices_done(&d);
	assert_null(d.list);
}

/* A device that is met brings the devices on which it lies. The disk of a partition is known. */
static void a_device_is_met(void **state)
{
	struct devices d = {};

	(void)state;
	devices_meet(&d, 0);
	assert_int_equal(d.n, 0);
	devices_meet(&d, DM0);
	assert_int_equal(d.n, 3);
	check_device(&d, DM0, "dm-0", 0);
	check_device(&d, SDA1, "sda1", SDA);
	check_device(&d, SDB, "sdb", 0);
	check_links(&d, all_links + 2, 2);
	devices_meet(&d, LOOP1);
	assert_int_equal(d.n, 5);
	devices_meet(&d, DEV(9, 9)); /* not there */
	assert_string_equal(devices_find(&d, DEV(9, 9))->name, "");
	devices_done(&d);
}

/* Since the last interval it lies on another, and on the former for a while; one that is gone is as
 * it was. */
static void devices_change(void **state)
{
	char path[PATH_MAX], away[PATH_MAX];
	struct devices d = {};

	(void)state;
	devices_read(&d);
	make_at("/devices/dm-0/slaves/sda2/dev", "8:2\n", false);
	snprintf(path, sizeof(path), "%s/devices/dm-0/slaves/sda1/dev", root);
	assert_int_equal(unlink(path), 0);
	devices_meet(&d, DM0);
	check_links(&d, all_links, 5); /* looked at in this interval */
	devices_age(&d);
	for (size_t i = 0; i < d.n; i++)
		assert_false(d.list[i].fresh);
	devices_meet(&d, DM0);
	check_links(&d,
		    (const struct device_link[]){ { LOOP0, SDA2, 0 },
						  { LOOP1, SDA2, 0 },
						  { DM0, SDA1, 1 },
						  { DM0, SDA2, 0 },
						  { DM0, SDB, 0 },
						  { ZRAM, SDB, 0 } },
		    6);
	for (int i = 0; i < 2; i++) {
		devices_age(&d);
		devices_meet(&d, DM0);
	}
	check_links(&d,
		    (const struct device_link[]){ { LOOP0, SDA2, 0 },
						  { LOOP1, SDA2, 0 },
						  { DM0, SDA2, 0 },
						  { DM0, SDB, 0 },
						  { ZRAM, SDB, 0 } },
		    5);
	assert_true(devices_find(&d, DM0)->fresh);
	assert_false(devices_find(&d, SDB)->fresh);
	snprintf(path, sizeof(path), "%s/dev/block/253:0", root);
	snprintf(away, sizeof(away), "%s/away", root);
	assert_int_equal(rename(path, away), 0);
	devices_age(&d);
	devices_meet(&d, DM0);
	check_device(&d, DM0, "dm-0", 0);
	assert_int_equal(d.n_links, 5);
	assert_int_equal(d.n, 10);
	devices_done(&d);
}

static void links_are_in_order_once_and_so_many(void **state)
{
	struct devices d = {};

	(void)state;
	for (unsigned int i = 1; i <= DEVICE_LINKS + 7; i++) {
		devices_link(&d, 1 + i * 7919 % 101, 200 + i);
		devices_link(&d, 1 + i * 7919 % 101, 200 + i);
		devices_link(&d, i, i);
		devices_link(&d, 0, i);
		devices_link(&d, i, 0);
	}
	assert_int_equal(d.n_links, DEVICE_LINKS);
	for (size_t i = 1; i < d.n_links; i++)
		assert_true(d.links[i - 1].upper < d.links[i].upper ||
			    (d.links[i - 1].upper == d.links[i].upper &&
			     d.links[i - 1].lower < d.links[i].lower));
	devices_done(&d);
}

/* A hostile recording notes very many, in any order. */
static void noted_devices_are_in_order_once_and_so_many(void **state)
{
	struct devices d = {};
	struct device one = {};

	(void)state;
	for (unsigned int i = 1; i <= DEVICES_NOTED + 7; i++) {
		one.dev = i * 7919 % 65521;
		snprintf(one.name, sizeof(one.name), "first %u", one.dev);
		devices_note(&d, &one);
		snprintf(one.name, sizeof(one.name), "again %u", one.dev);
		devices_note(&d, &one);
	}
	assert_int_equal(d.n, DEVICES_NOTED);
	for (size_t i = 0; i < d.n; i++) {
		assert_true(!i || d.list[i - 1].dev < d.list[i].dev);
		snprintf(one.name, sizeof(one.name), "first %u", d.list[i].dev);
		assert_string_equal(d.list[i].name, one.name);
	}
	devices_done(&d);
}

/* A device of device mapper that is suspended is named, also below another one. */
static void a_suspended_device_is_named(void **state)
{
	char text[64] = "";

	(void)state;
	make_at("/dev/block/253:1", "../../devices/dm-1", true);
	make_at("/dev/block/253:2", "../../devices/dm-2", true);
	make_at("/dev/block/253:3", "../../devices/dm-3", true);
	assert_false(devices_suspended(0, text, sizeof(text)));
	assert_false(devices_suspended(SDA, text, sizeof(text)));
	assert_false(devices_suspended(DM0, text, sizeof(text)));
	assert_false(devices_suspended(DM0 + 3, text, sizeof(text)));
	assert_string_equal(text, "");
	assert_true(devices_suspended(DM0 + 1, text, sizeof(text)));
	assert_string_equal(text, "dm-1 (vg-\033[1m)");
	text[0] = '\0';
	assert_true(devices_suspended(DM0 + 2, text, 8));
	assert_string_equal(text, "dm-1 (v");
	/* by the mount: on sda1; the file itself is not looked at */
	assert_false(devices_suspended_below("/a", text, sizeof(text)));
	make_at("/devices/sda/sda1/dm/suspended", "1\n", false);
	assert_true(devices_suspended_below("/a", text, sizeof(text)));
	assert_string_equal(text, "sda1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_devices_are_read),
		cmocka_unit_test(a_device_is_met),
		cmocka_unit_test(links_are_in_order_once_and_so_many),
		cmocka_unit_test(noted_devices_are_in_order_once_and_so_many),
		cmocka_unit_test(devices_change), /* the machine is another one then */
		cmocka_unit_test(a_suspended_device_is_named),
	};

	return cmocka_run_group_tests(tests, machine_make, machine_remove);
}
