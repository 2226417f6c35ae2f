// SPDX-License-Identifier: GPL-2.0-only
/* How busy disks were: from the kernel's text to the figures of an interval. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/devices.h"
#include "host/diskstats.h"

#define LINE(name, busy, requests) "   8       0 " name " 1 2 3 4 5 6 7 8 0 " busy " " requests

static void texts_of_any_kernel_are_parsed(void **state)
{
	static const char text[] = LINE("sda", "101", "1009") "\n" /* 4.17 */
		LINE("sdb", "23", "7") " 1 1 1 1\n"                /* 4.18 */
		LINE("a-name-of-just-31-bytes-of-text", "1",
		     "2") " 1 1 1 1 1 1\n"              /* 5.5 */
			  "   8       3 sda3 1 2 3 4\n" /* 2.6 */
			  "\nno line of a disk\n" LINE("sdc", "4294967295", "4294967295");
	struct disk_busy *list;

	(void)state;
	assert_int_equal(diskstats_parse(text, &list), 4);
	assert_string_equal(list[0].disk, "sda");
	assert_int_equal(list[0].busy_ns, 101000000);
	assert_int_equal(list[0].requests_ns, 1009000000);
	assert_string_equal(list[1].disk, "sdb");
	assert_int_equal(list[1].busy_ns, 23000000);
	assert_string_equal(list[2].disk, "a-name-of-just-31-bytes-of-text");
	assert_string_equal(list[3].disk, "sdc");
	assert_int_equal(list[3].requests_ns, 4294967295000000);
	free(list);
	assert_int_equal(diskstats_parse("", &list), 0);
	assert_null(list);
}

/* The kernel's file, replaced by one that is written here. */
static void stats_write(int fd, const char *text)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
}

static void an_interval_has_what_was_added(void **state)
{
	struct devices devices = {};
	struct device part = { .name = "sda1", .dev = 8 << 20 | 1, .disk = 8 << 20 };
	struct diskstats d = { .fd = memfd_create("diskstats", 0) };
	struct snapshot sn = {};

	(void)state;
	assert_true(d.fd > 0);
	devices_add(&devices, &part);
	devices_sort(&devices);
	stats_write(d.fd, LINE("sda", "100", "1000") "\n" LINE("sda1", "1", "1") "\n" LINE(
				  "sdb", "50", "60") "\n" LINE("sdc", "5", "5") "\n");
	diskstats_interval(&d, &sn);
	assert_null(sn.disks); /* nothing is known before */
	/* another order; sdb is another disk now, sdd is new, sdc gone */
	stats_write(d.fd, LINE("sdb", "40", "70") "\n" LINE("sda", "123", "1101") "\n" LINE(
				  "sda1", "2", "2") "\n" LINE("sdd", "9", "9") "\n");
	sn.devices = &devices;
	diskstats_interval(&d, &sn);
	assert_int_equal(sn.n_disks, 1);
	assert_string_equal(sn.disks[0].disk, "sda");
	assert_int_equal(sn.disks[0].busy_ns, 23000000);
	assert_int_equal(sn.disks[0].requests_ns, 101000000);
	assert_true(sn.disks_ns > 0);
	sn.disks_ns = 202000000;
	assert_true(snapshot_disk_depth(&sn, snapshot_disk(&sn, "sda")) == 0.5);
	assert_null(snapshot_disk(&sn, "sdb"));
	snapshot_free(&sn);
	/* the file cannot be read any more */
	stats_write(d.fd, "");
	diskstats_interval(&d, &sn);
	assert_int_equal(sn.n_disks, 0);
	snapshot_free(&sn);
	diskstats_done(&d);
	devices_done(&devices);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_any_kernel_are_parsed),
		cmocka_unit_test(an_interval_has_what_was_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
