// SPDX-License-Identifier: GPL-2.0-only
/* Devices as a tree: of this machine, of a header, good or hostile, and of a table's requests. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/snapshot.h"
#include "capture/header.h"
#include "host/devices.h"
#include "show/breakdown_json.h"
#include "show/breakdown_text.h"
#include "show/device_tree.h"

#define DEV(major, minor) ((major) << 20 | (minor))
#define MS                1000000ULL

enum { SDA = DEV(8, 0), SDA1, SDA2, SDB = DEV(8, 16), DM0 = DEV(253, 0), DM1, LOOP0 = DEV(7, 0) };

/* dm-0 is linear over sda1, sda2 and sdb; dm-1 lies on dm-0 and on sdb, loop0 on a file on sda2. */
static const char list_text[] =
	"[{\"name\":\"dm-1\",\"dev\":\"253:1\",\"on\":[\"dm-0\",\"sdb\"]},"
	"{\"name\":\"dm-0\",\"dev\":\"253:0\",\"on\":[\"sda1\",\"sda2\",\"sdb\"]},"
	"{\"name\":\"sda\",\"dev\":\"8:0\",\"on\":[]},"
	"{\"name\":\"sda1\",\"dev\":\"8:1\",\"on\":[],\"part_of\":\"sda\"},"
	"{\"name\":\"sda2\",\"dev\":\"8:2\",\"on\":[],\"part_of\":\"sda\"},"
	"{\"name\":\"sdb\",\"dev\":\"8:16\",\"on\":[]},"
	"{\"name\":\"loop0\",\"dev\":\"7:0\",\"on\":[\"sda2\"]}]";

static void parse(struct devices *d, const char *text)
{
	json_t *list = json_loads(text, 0, NULL);

	*d = (struct devices){};
	assert_non_null(list);
	header_parse_devices(d, list);
	json_decref(list);
}

static void assert_ends(const struct devices *d, bool above, unsigned int disk, unsigned int a,
			unsigned int b)
{
	unsigned int (*next)(const struct devices *, unsigned int, size_t *) =
		above ? devices_above : devices_below;
	size_t at = 0;

	assert_int_equal(next(d, disk, &at), a);
	if (a)
		assert_int_equal(next(d, disk, &at), b);
	if (b)
		assert_int_equal(next(d, disk, &at), 0);
}

static void what_lies_on_what(void **state)
{
	struct devices d;

	(void)state;
	parse(&d, list_text);
	assert_int_equal(d.n, 7);
	assert_string_equal(devices_find(&d, SDA2)->name, "sda2");
	assert_int_equal(devices_named(&d, "loop0")->dev, LOOP0);
	assert_null(devices_find(&d, DEV(8, 3)));
	assert_int_equal(devices_disk(&d, SDA1), SDA);
	assert_int_equal(devices_disk(&d, DM0), DM0);
	assert_ends(&d, true, SDA, LOOP0, DM0); /* each once */
	assert_ends(&d, true, SDB, DM0, DM1);
	assert_ends(&d, true, DM0, DM1, 0);
	assert_ends(&d, true, DM1, 0, 0);
	assert_ends(&d, false, DM0, SDA, SDB);
	assert_ends(&d, false, LOOP0, SDA, 0);
	assert_ends(&d, false, SDA, 0, 0);
	devices_done(&d);
}

/* A reader of a recording's header finds the same devices as on this machine. */
static void a_header_has_this_machine(void **state)
{
	struct devices here = {}, read;
	char *text = NULL;
	size_t len;
	struct json j = { .out = { .f = open_memstream(&text, &len) } };
	json_t *all;

	(void)state;
	devices_read(&here);
	json_put_begin(&j, NULL, '{');
	header_put_devices(&j);
	json_put_end(&j, '}');
	fclose(j.out.f);
	all = json_loads(text, 0, NULL);
	assert_non_null(all);
	read = (struct devices){};
	header_parse_devices(&read, json_object_get(all, "devices"));
	assert_true(here.n && read.n == here.n && read.n_links == here.n_links);
	for (size_t i = 0; i < here.n; i++) {
		assert_string_equal(read.list[i].name, here.list[i].name);
		assert_int_equal(read.list[i].disk, here.list[i].disk);
	}
	json_decref(all);
	free(text);
	devices_done(&read);
	devices_done(&here);
}

/* Devices noted while it was recorded add to those of the header; known ones keep their names. */
static void devices_are_merged(void **state)
{
	const struct device more[] = { { .name = "other", .dev = DM0 },
				       { .name = "sdc", .dev = DEV(8, 32) } };
	struct devices d, later = {};

	(void)state;
	parse(&d, list_text);
	devices_add(&later, &more[0]);
	devices_add(&later, &more[1]);
	devices_sort(&later);
	devices_link(&later, DM0, DEV(8, 32));
	for (int i = 0; i < 2; i++) {
		devices_merge(&d, &later);
		assert_int_equal(d.n, 8);
		assert_string_equal(devices_find(&d, DM0)->name, "dm-0");
		assert_string_equal(devices_find(&d, DEV(8, 32))->name, "sdc");
		assert_ends(&d, true, DEV(8, 32), DM0, 0);
		assert_ends(&d, false, DM1, SDB, DM0);
	}
	devices_done(&later);
	devices_done(&d);
}

static void hostile_lists(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"[1,null,[]]",
		"[{\"name\":\"a\"}]",
		"[{\"name\":1,\"dev\":\"1:1\"}]",
		"[{\"name\":\"a\",\"dev\":\"1:1\",\"on\":[\"a\",\"b\",7],\"part_of\":\"a\"}]",
		"[{\"name\":\"a\",\"dev\":\"1:1\",\"on\":[\"b\"]},"
		"{\"name\":\"b\",\"dev\":\"1:2\",\"on\":[\"a\"],\"part_of\":\"a\"},"
		"{\"name\":\"a\",\"dev\":\"4294967295:4294967295\"}]",
	};
	struct devices d;
	size_t at;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		parse(&d, texts[i]);
		for (size_t n = 0; n < d.n; n++) {
			at = 0;
			while (devices_above(&d, d.list[n].dev, &at))
				;
		}
		devices_done(&d);
	}
}

static void fill(struct rq_row *r, unsigned int dev, const char *disk, enum rq_op op,
		 uint64_t count, uint64_t bytes, uint64_t each_ns)
{
	*r = (struct rq_row){ .key = { .dev = dev, .op = op },
			      .count = count,
			      .bytes = bytes,
			      .device_ns = count * each_ns,
			      .max_ns = each_ns };
	snprintf(r->disk, sizeof(r->disk), "%s", disk);
}

enum { ROWS = 6 };

/* 30 ms in dm-0, 10 of them in either disk below; loop0 read a quarter of its bytes from sda. */
static void fill_rows(struct rq_row rows[ROWS])
{
	fill(&rows[0], SDA, "sda", RQ_READ, 10, 40960, 8 * MS);
	rows[0].queue_ns = 10 * MS;
	rows[0].tag_ns = 10 * MS;
	fill(&rows[1], SDA, "sda", RQ_WRITE, 1, 4096, 2 * MS);
	fill(&rows[2], SDB, "sdb", RQ_READ, 30, 122880, 10 * MS);
	rows[2].unqueued = 3;
	fill(&rows[3], DM0, "dm-0", RQ_READ, 40, 163840, 30 * MS);
	fill(&rows[4], LOOP0, "loop0", RQ_READ, 10, 163840, 5 * MS);
	fill(&rows[5], LOOP0, "loop0", RQ_WRITE, 7, 28672, 1 * MS);
}

static void print(char **text, bool json, enum by_key by, const struct devices *d)
{
	static const struct missing nothing;
	const struct breakdown_view v = {
		.by = by, .layer = LAYER_OPS, .form.detail = 1, .missing = &nothing
	};
	struct rq_row rows[ROWS];
	const struct snapshot sn = {
		.rqs = rows, .n_rqs = ROWS, .duration_ns = 1000 * MS, .devices = d
	};
	size_t len;
	FILE *f = open_memstream(text, &len);

	fill_rows(rows);
	assert_int_equal((json ? breakdown_json : breakdown_text)(f, &v, &sn, NULL, 0), 0);
	fclose(f);
}

/* Of dm-0 and loop0, both on sda, dm-0 is shown as on disks without rows. */
static void disks_without_rows_are_told(void **state)
{
	struct rq_row rows[ROWS];
	const struct rq_row *shown[] = { &rows[4], &rows[3], &rows[5] };
	struct device_tree t = { .rows = shown, .n_rows = 3 };
	struct devices d;
	char text[512];

	(void)state;
	fill_rows(rows);
	assert_false(device_tree_without_rows_text(&t, text, sizeof(text)));
	parse(&d, list_text);
	t.devices = &d;
	assert_true(device_tree_without_rows_text(&t, text, sizeof(text)));
	assert_string_equal(text, "sda, below loop0; sda and sdb, below dm-0");
	shown[2] = &rows[2];
	assert_true(device_tree_without_rows_text(&t, text, sizeof(text)));
	assert_string_equal(text, "sda, below loop0");
	shown[2] = &rows[0];
	assert_false(device_tree_without_rows_text(&t, text, sizeof(text)));
	devices_done(&d);
}

/* Only where processes are chosen: elsewhere the disks below had no requests. */
static void disks_without_rows_have_a_line(void **state)
{
	static const struct missing nothing;
	struct breakdown_view v = { .layer = LAYER_OPS, .missing = &nothing };
	struct rq_row rows[ROWS];
	struct devices d;
	struct snapshot sn = {
		.rqs = &rows[3], .n_rqs = 3, .duration_ns = 1000 * MS, .devices = &d
	};

	(void)state;
	parse(&d, list_text);
	for (int i = 0; i < 4; i++) {
		char *text;
		size_t len;
		FILE *f = open_memstream(&text, &len);

		fill_rows(rows);
		v.chosen.processes = i / 2;
		v.form.detail = i % 2;
		assert_int_equal(breakdown_text(f, &v, &sn, NULL, 0), 0);
		fclose(f);
		assert_int_equal(!!strstr(text,
					  "\nno rows: sda and sdb, below dm-0; sda, below loop0 "
					  "(requests of kernel threads\n"
					  "  are filtered out)\n"),
				 v.chosen.processes);
		free(text);
	}
	devices_done(&d);
}

static void the_table_is_a_tree(void **state)
{
	struct devices d;
	char *text;

	(void)state;
	parse(&d, list_text);
	print(&text, false, BY_DEV, &d);
	assert_non_null(strstr(
		text,
		"disk  requests count   rate     tag   queue  device     own  p99     max\n"
		"dm-0  read        40 40.0/s    0 ns    0 ns 30.0 ms 20.0 ms 0 ns 30.0 ms\n"
		"  sdb read        30 30.0/s    0 ns    0 ns 10.0 ms       - 0 ns 10.0 ms\n"
		"loop0 read        10 10.0/s    0 ns    0 ns 5.00 ms 2.50 ms 0 ns 5.00 ms\n"
		"loop0 write        7 7.00/s    0 ns    0 ns 1.00 ms  714 us 0 ns 1.00 ms\n"
		"  sda read        10 10.0/s 1.00 ms 1.00 ms 8.00 ms       - 0 ns 8.00 ms\n"
		"  sda write        1 1.00/s    0 ns    0 ns 2.00 ms       - 0 ns 2.00 ms\n"
		"tag, queue and device are means; own is device without the disks below; p99 and\n"
		"  max are of device\n"
		"sda is below loop0 and dm-0: its rows have the requests of all\n"
		"sdb read: no time in tag and queue for 3 requests, handed over by a device\n"
		"  above: the time is in the queue there\n"));
	free(text);
	print(&text, false, BY_NONE, &d); /* in the order of their time, the same figures */
	assert_non_null(strstr(text, "\nsdb "));
	assert_non_null(strstr(text, " 30.0 ms 20.0 ms "));
	free(text);
	print(&text, false, BY_PID, &d);
	assert_null(strstr(text, " own "));
	free(text);
	print(&text, false, BY_DEV, NULL);
	assert_null(strstr(text, " own "));
	assert_null(strstr(text, "is below"));
	assert_non_null(strstr(text, "sdb read: no time in tag and queue for 3 requests, because "
				     "the submission was\n  not traced\n"));
	free(text);
	devices_done(&d);
}

static void json_has_parents(void **state)
{
	struct devices d;
	char *text;

	(void)state;
	parse(&d, list_text);
	print(&text, true, BY_NONE, &d);
	assert_non_null(strstr(text, ",\"dev\":\"dm-0\","));
	assert_non_null(strstr(text, "\"device_mean_ns\":30000000,\"own_mean_ns\":20000000,"));
	assert_non_null(strstr(text, "\"parent\":[\"dm-1\"],\"pattern\":null,\"hist\":[]},"));
	assert_non_null(strstr(text, "\"parent\":[\"dm-0\",\"dm-1\"],"));
	assert_non_null(strstr(text, "\"parent\":[\"loop0\",\"dm-0\"],"));
	assert_non_null(strstr(text, "\"parent\":[],"));
	free(text);
	print(&text, true, BY_NONE, NULL);
	assert_non_null(strstr(text, "\"own_mean_ns\":null,"));
	assert_non_null(strstr(text, "\"parent\":null,"));
	free(text);
	devices_done(&d);
}

#define ROUND "[\"a\"],[\"\\u001B\"]"

static void check_chain(const struct devices *d, unsigned int dev, const char *text,
			const char *json)
{
	struct json j = { .out = { .f = NULL } };
	char chain[128] = "", *got = NULL;
	size_t len;

	assert_int_equal(device_chain_text(d, dev, chain, sizeof(chain)), text != NULL);
	if (text)
		assert_string_equal(chain, text);
	j.out.f = open_memstream(&got, &len);
	json_put_begin(&j, NULL, '{');
	device_chain_json(&j, d, dev);
	json_put_end(&j, '}');
	fclose(j.out.f);
	assert_string_equal(got, json);
	free(got);
}

/* A file system's disk, and what is below it by level, each disk once in it; a circle ends. */
static void disks_below_a_file_system(void **state)
{
	struct devices d;

	(void)state;
	parse(&d, list_text);
	check_chain(&d, DM1, "dm-1, on sdb and dm-0, on sda and sdb",
		    "{\"disks\":[[\"dm-1\"],[\"sdb\",\"dm-0\"],[\"sda\",\"sdb\"]]}");
	check_chain(&d, LOOP0, "loop0, on sda", "{\"disks\":[[\"loop0\"],[\"sda\"]]}");
	check_chain(&d, SDA1, NULL, "{\"disks\":[[\"sda\"]]}");
	check_chain(&d, DEV(0, 42), NULL, "{\"disks\":null}");
	check_chain(NULL, SDA, NULL, "{\"disks\":null}");
	devices_done(&d);
	parse(&d, "[{\"name\":\"a\",\"dev\":\"1:1\",\"on\":[\"\\u001b\"]},"
		  "{\"name\":\"\\u001b\",\"dev\":\"1:2\",\"on\":[\"a\"]}]");
	check_chain(&d, DEV(1, 1),
		    "a, on \\x1b, on a, on \\x1b, on a, on \\x1b, on a, on \\x1b, on a, on \\x1b"
		    ", on a, on \\x1b",
		    "{\"disks\":[" ROUND "," ROUND "," ROUND "," ROUND "," ROUND "," ROUND "]}");
	devices_done(&d);
}

/* Facts about disks: what is known, unknown, too long, or no number. */
static void facts_are_read_from_hostile_json(void **state)
{
	static const char text[] =
		"[{\"dev\":\"8:0\",\"model\":\"X\",\"firmware\":\"1\",\"scheduler\":\"none\","
		"\"celsius\":41,\"celsius_limit\":70},{\"dev\":\"8:16\",\"model\":null,"
		"\"celsius\":99999},{\"dev\":7},3,{\"model\":\"Y\"},{\"dev\":\"8:32\",\"model\":"
		"\"0123456789012345678901234567890123456789012345678901234567890123456789\"}]";
	json_t *list = json_loads(text, 0, NULL);
	struct header_disks d = {};
	const struct disk_facts *f;

	(void)state;
	assert_non_null(list);
	assert_int_equal(header_parse_disks(&d, list), 0);
	assert_int_equal(d.n, 3);
	f = header_disk(&d, SDA);
	assert_string_equal(f->model, "X");
	assert_string_equal(f->firmware, "1");
	assert_string_equal(f->scheduler, "none");
	assert_int_equal(f->celsius, 41);
	assert_int_equal(f->celsius_limit, 70);
	f = header_disk(&d, SDB);
	assert_string_equal(f->model, "");
	assert_int_equal(f->celsius, CELSIUS_UNKNOWN);
	assert_int_equal(strlen(header_disk(&d, DEV(8, 32))->model), DISK_FACT - 1);
	assert_null(header_disk(&d, DM0));
	header_disks_done(&d);
	json_decref(list);
	assert_int_equal(header_parse_disks(&d, NULL), 0);
	assert_int_equal(d.n, 0);
	header_disks_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_are_read_from_hostile_json),
		cmocka_unit_test(what_lies_on_what),
		cmocka_unit_test(a_header_has_this_machine),
		cmocka_unit_test(devices_are_merged),
		cmocka_unit_test(hostile_lists),
		cmocka_unit_test(disks_without_rows_are_told),
		cmocka_unit_test(disks_without_rows_have_a_line),
		cmocka_unit_test(the_table_is_a_tree),
		cmocka_unit_test(json_has_parents),
		cmocka_unit_test(disks_below_a_file_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
