// SPDX-License-Identifier: GPL-2.0-only
/* Limits of I/O: from the kernel's files to words. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/limit_text.h"
#include "base/names.h"
#include "host/limits.h"

static char root[] = "/tmp/test_limits.XXXXXX";
static char groups[64], disks[64], vm[64], backing[64];
static const struct limit_places at = { groups, disks, vm, backing };

/* Writes a file below @root, and the directories above it. */
static void file_write(const char *path, const char *text)
{
	char whole[512], *slash = whole;
	FILE *f;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int begin(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(groups, sizeof(groups), "%s/cgroup", root);
	snprintf(disks, sizeof(disks), "%s/block", root);
	snprintf(vm, sizeof(vm), "%s/vm", root);
	snprintf(backing, sizeof(backing), "%s/bdi", root);
	return 0;
}

static int end(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void assert_limit(const char *cgroup, enum limit_side side, enum io_limit limit,
			 const char *found, const char *words)
{
	char *text = limit_read(&at, cgroup, side, limit), said[LIMIT_TEXT];

	if (found)
		assert_string_equal(text, found);
	else
		assert_null(text);
	limit_text(said, limit, text);
	assert_string_equal(said, words);
	free(text);
}

/* The numbers of devices have no name on this machine. */
static void io_max_is_looked_for_upwards(void **state)
{
	(void)state;
	file_write("cgroup/a/io.max", "4000:1 rbps=max wbps=1048576 riops=max wiops=101\n"
				      "4000:2 rbps=max wbps=max riops=max wiops=max\n"
				      "4000:3 rbps=2097152 wbps=max riops=7 wiops=max\n"
				      "no line\n");
	file_write("cgroup/a/b/io.max", "");
	assert_limit(
		"/a/b/c", LIMIT_WRITES, LIMIT_IO_MAX, "4000:1 wbps=1048576 wiops=101\t/a",
		"the limit of cgroup /a: 1.00 MiB/s of writes on 4000:1, 101 writes/s on 4000:1 "
		"(io.max)");
	assert_limit("/a/b", LIMIT_READS, LIMIT_IO_MAX, "4000:3 rbps=2097152 riops=7\t/a",
		     "the limit of cgroup /a: 2.00 MiB/s of reads on 4000:3, 7 reads/s on 4000:3 "
		     "(io.max)");
	assert_limit("/a", LIMIT_BOTH, LIMIT_IO_MAX,
		     "4000:1 wbps=1048576 wiops=101; 4000:3 rbps=2097152 riops=7\t/a",
		     "the limit of cgroup /a: 1.00 MiB/s of writes on 4000:1, 101 writes/s on "
		     "4000:1, 2.00 MiB/s of reads on 4000:3, 7 reads/s on 4000:3 (io.max)");
	assert_limit("/other", LIMIT_BOTH, LIMIT_IO_MAX, NULL,
		     "a limit of its cgroup (io.max or blkio.throttle)");
	assert_limit("/", LIMIT_BOTH, LIMIT_IO_MAX, NULL,
		     "a limit of its cgroup (io.max or blkio.throttle)");
	assert_limit("cgroup 12", LIMIT_BOTH, LIMIT_IO_MAX, NULL,
		     "a limit of its cgroup (io.max or blkio.throttle)");
}

static void a_name_of_a_cgroup_is_hostile(void **state)
{
	(void)state;
	file_write("cgroup/x\033[31m\ty/io.max", "4000:1 rbps=1 wbps=max riops=max wiops=max\n");
	assert_limit("/x\033[31m\ty", LIMIT_READS, LIMIT_IO_MAX, "4000:1 rbps=1\t/x\033[31m\ty",
		     "the limit of cgroup /x\\x1b[31m\\x09y: 1 B/s of reads on 4000:1 (io.max)");
}

static void the_latency_target_is_a_neighbours(void **state)
{
	(void)state;
	file_write("cgroup/l/fast/io.latency", "4000:1 target=75\n");
	file_write("cgroup/l/slow/io.latency", "");
	assert_limit("/l/slow/deep", LIMIT_BOTH, LIMIT_IO_LATENCY, "4000:1 target=75\t/l/fast",
		     "the latency target of cgroup /l/fast: 75.0 us on 4000:1 (io.latency)");
	/* a cgroup does not wait for its own target */
	assert_limit("/l/fast", LIMIT_BOTH, LIMIT_IO_LATENCY, NULL,
		     "the latency target (io.latency)");
}

/* A user may make 2,000 levels of cgroups: a search of all neighbours would take
 * seconds. */
static void neighbours_of_few_levels_are_looked_at(void **state)
{
	char group[2 * 100 + sizeof("/l/slow")] = "/l/slow";
	char *text;

	(void)state;
	for (int i = 0; i < 100; i++) {
		strcat(group, "/d");
		text = limit_read(&at, group, LIMIT_BOTH, LIMIT_IO_LATENCY);
		assert_int_equal(text != NULL, i < 63); /* those of slow are the 64th */
		free(text);
	}
}

static void a_weight_is_the_share(void **state)
{
	(void)state;
	file_write("cgroup/w/io.weight", "default 50\n8:0 70\n");
	assert_limit("/w", LIMIT_BOTH, LIMIT_IO_COST, "weight=50\t/w",
		     "the share of the disk of cgroup /w: weight=50 (io.cost)");
	assert_limit("/v", LIMIT_BOTH, LIMIT_IO_COST, NULL, "the share of the disk (io.cost)");
}

static void disks_limit_writes_in_progress(void **state)
{
	(void)state;
	assert_limit("/", LIMIT_WRITES, LIMIT_WBT, NULL,
		     "writes in progress, few so that reads are fast (wbt)");
	file_write("block/sda/queue/wbt_lat_usec", "2000\n");
	file_write("block/sdb/queue/wbt_lat_usec", "0\n");
	file_write("block/sdc/queue/other", "1\n");
	file_write("block/loop7/queue/wbt_lat_usec", "2000\n");
	/* no cgroup has this limit */
	assert_limit("/m", LIMIT_WRITES, LIMIT_WBT, "sda wbt_lat_usec=2000\t",
		     "writes in progress, few so that reads are fast: wbt_lat_usec=2000 on sda "
		     "(wbt)");
}

static void of_many_disks_some_are_told(void **state)
{
	static const char words[] = " wbt_lat_usec=2000";
	char name[64], *text, *at_word;
	unsigned int n = 0;

	(void)state;
	for (int i = 0; i < 7; i++) {
		snprintf(name, sizeof(name), "block/sd%c/queue/wbt_lat_usec", 'e' + i);
		file_write(name, "2000\n");
	}
	text = limit_read(&at, NULL, LIMIT_WRITES, LIMIT_WBT);
	assert_non_null(text);
	for (at_word = text; (at_word = strstr(at_word, words)); at_word++)
		n++;
	assert_int_equal(n, 4);
	free(text);
}

static void dirty_data_has_the_limit_of_memory_or_of_the_machine(void **state)
{
	(void)state;
	file_write("vm/dirty_bytes", "0\n");
	file_write("vm/dirty_ratio", "20\n");
	assert_limit("/m", LIMIT_WRITES, LIMIT_DIRTY, "vm.dirty_ratio=20\t",
		     "the limit for dirty data: vm.dirty_ratio=20 (dirty)");
	file_write("vm/dirty_bytes", "4096\n");
	assert_limit("/m", LIMIT_WRITES, LIMIT_DIRTY, "vm.dirty_bytes=4096\t",
		     "the limit for dirty data: vm.dirty_bytes=4096 (dirty)");
	assert_limit("cgroup 12", LIMIT_WRITES, LIMIT_DIRTY, "vm.dirty_bytes=4096\t",
		     "the limit for dirty data: vm.dirty_bytes=4096 (dirty)");
	file_write("cgroup/m/memory.high", "max\n");
	file_write("cgroup/m/memory.max", "8388608\n");
	assert_limit("/m/n", LIMIT_WRITES, LIMIT_DIRTY, "memory.max=8388608\t/m",
		     "the limit for dirty data of cgroup /m: memory.max=8388608 (dirty)");
	file_write("cgroup/m/memory.high", "4194304\n");
	assert_limit("/m", LIMIT_WRITES, LIMIT_DIRTY, "memory.high=4194304\t/m",
		     "the limit for dirty data of cgroup /m: memory.high=4194304 (dirty)");
	/* a device with a limit that holds however little is dirty elsewhere */
	file_write("bdi/4000:1/strict_limit", "1\n");
	file_write("bdi/4000:1/max_ratio", "7\n");
	file_write("bdi/4000:2/strict_limit", "0\n");
	file_write("bdi/4000:2/max_ratio", "8\n");
	file_write("bdi/vboxsf/strict_limit", "1\n");
	assert_limit(
		"/", LIMIT_WRITES, LIMIT_DIRTY, "vm.dirty_bytes=4096; 4000:1 max_ratio=7\t",
		"the limit for dirty data: vm.dirty_bytes=4096, max_ratio=7 on 4000:1 (dirty)");
}

static void a_number_has_cgroup_side_and_limit(void **state)
{
	(void)state;
	assert_int_equal(limit_of_id(limit_id(101, LIMIT_WRITES, LIMIT_WBT)), LIMIT_WBT);
	assert_int_equal(limit_of_id(limit_id(101, LIMIT_WRITES, LIMIT_N)), LIMIT_NONE);
	assert_int_equal(limit_of_id(0), LIMIT_NONE);
	assert_true(limit_id(101, LIMIT_READS, LIMIT_WBT) !=
		    limit_id(101, LIMIT_WRITES, LIMIT_WBT));
	assert_int_equal(limit_side(OP_READ), LIMIT_READS);
	assert_int_equal(limit_side(OP_FAULT), LIMIT_READS);
	assert_int_equal(limit_side(OP_EXEC), LIMIT_READS);
	assert_int_equal(limit_side(OP_WRITE), LIMIT_WRITES);
	assert_int_equal(limit_side(OP_FSYNC), LIMIT_WRITES);
	assert_int_equal(limit_side(OP_META), LIMIT_BOTH);
}

/* A recording may have any text. */
static void a_damaged_text_is_told_as_far_as_possible(void **state)
{
	static char longest[4096];
	char said[LIMIT_TEXT];

	(void)state;
	memset(longest, ';', sizeof(longest) - 1);
	memcpy(longest, "sda wbps=x", 10);
	longest[2048] = '\t';
	limit_text(said, LIMIT_IO_MAX, longest);
	assert_non_null(strstr(said, "0 B/s of writes on sda"));
	memset(longest, '\001', sizeof(longest) - 1);
	longest[2048] = '\t';
	limit_text(said, LIMIT_N, longest);
	assert_true(strlen(said) < LIMIT_TEXT);
	/* neither a character nor an escape is cut, and the limit's name is not */
	memset(longest + 2049, '\002', 300);
	limit_text(said, LIMIT_IO_MAX, longest);
	assert_string_equal(said + strlen(said) - 13, "\\x01 (io.max)");
	limit_text(said, LIMIT_WBT, "no tab");
	assert_string_equal(said, "writes in progress, few so that reads are fast (wbt)");
}

static void json_tells_what_is_not_known(void **state)
{
	struct json j = {};
	char *text;
	size_t len;

	(void)state;
	j.out.f = open_memstream(&text, &len);
	assert_non_null(j.out.f);
	json_put_begin(&j, NULL, '[');
	json_put_begin(&j, NULL, '{');
	json_put_limit(&j, LIMIT_DIRTY, "vm.dirty_ratio=20\t");
	json_put_end(&j, '}');
	json_put_begin(&j, NULL, '{');
	json_put_limit(&j, LIMIT_IO_MAX, NULL);
	json_put_end(&j, '}');
	json_put_begin(&j, NULL, '{');
	json_put_limit(&j, LIMIT_N, "x\t/y");
	json_put_end(&j, '}');
	json_put_end(&j, ']');
	assert_int_equal(json_end_line(&j), 0);
	fclose(j.out.f);
	assert_string_equal(text, "[{\"limit\":{\"name\":\"dirty\",\"cgroup\":null,"
				  "\"value\":\"vm.dirty_ratio=20\"}},"
				  "{\"limit\":{\"name\":\"io.max\",\"cgroup\":null,"
				  "\"value\":null}},{\"limit\":null}]\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(io_max_is_looked_for_upwards),
		cmocka_unit_test(a_name_of_a_cgroup_is_hostile),
		cmocka_unit_test(the_latency_target_is_a_neighbours),
		cmocka_unit_test(neighbours_of_few_levels_are_looked_at),
		cmocka_unit_test(a_weight_is_the_share),
		cmocka_unit_test(disks_limit_writes_in_progress),
		cmocka_unit_test(of_many_disks_some_are_told),
		cmocka_unit_test(dirty_data_has_the_limit_of_memory_or_of_the_machine),
		cmocka_unit_test(a_number_has_cgroup_side_and_limit),
		cmocka_unit_test(json_tells_what_is_not_known),
		cmocka_unit_test(a_damaged_text_is_told_as_far_as_possible),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
