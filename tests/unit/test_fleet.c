// SPDX-License-Identifier: GPL-2.0-only
/* Explanations over hosts: what is planted is named first, and equal hosts have no finding. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <unistd.h>

#include "../planted_hosts.h"
#include "base/reason.h"
#include "capture/writer.h"

static void first_is(const struct world *w)
{
	for (unsigned int d = 0; d < 7; d++) {
		struct fleet f = {};

		world_draw(&f, w, d);
		assert_true(f.n_findings > 0);
		assert_true(is_right(w, f.findings[0].text));
		assert_true(f.findings[0].p < 0.01);
		for (size_t i = 0; i < f.n_findings; i++)
			assert_true(is_right(w, f.findings[i].text));
		fleet_done(&f);
	}
}

static void bad_host_is_first(void **state)
{
	const struct world w = { .hosts = 23, .ops = 1009, .more = 20, .cause = "host", .bad = 1 };

	(void)state;
	first_is(&w);
}

static void two_bad_hosts_do_not_hide_one_another(void **state)
{
	const struct world w = { .hosts = 23, .ops = 1009, .more = 20, .cause = "two", .bad = 2 };
	struct fleet f = {};

	(void)state;
	first_is(&w);
	world_draw(&f, &w, 0);
	assert_int_equal(f.n_findings, 2);
	fleet_done(&f);
}

static void bad_model_and_kernel_are_first(void **state)
{
	struct world w = { .hosts = 23, .ops = 1009, .more = 10, .cause = "model", .bad = 5 };

	(void)state;
	first_is(&w);
	w.cause = "kernel";
	w.unequal = 0.3;
	first_is(&w);
}

static void bad_cgroup_is_found_within_hosts(void **state)
{
	const struct world w = {
		.hosts = 23, .ops = 1009, .unequal = 1, .more = 10, .cause = "cgroup"
	};
	struct fleet f = {};

	(void)state;
	first_is(&w);
	world_draw(&f, &w, 0);
	assert_true(f.findings[0].is_within);
	assert_int_equal(f.findings[0].hosts, 23);
	fleet_done(&f);
}

/* Of 622 draws at most 1 % may have a finding. */
static void equal_hosts_have_no_finding(void **state)
{
	unsigned int found = 0;

	(void)state;
	for (unsigned int d = 0; d < 311; d++)
		for (int bursts = 0; bursts < 2; bursts++) {
			const struct world w = { .hosts = d % 2 ? 23 : 7,
						 .ops = 307,
						 .unequal = d % 3 * 0.3,
						 .more = 1,
						 .cause = "",
						 .bursts = bursts };
			struct fleet f = {};

			world_draw(&f, &w, d);
			found += f.n_findings > 0;
			fleet_done(&f);
		}
	assert_true(found <= 622 / 100);
}

/* A thousand slow operations of one burst are one. */
static void one_burst_is_no_bad_host(void **state)
{
	struct fleet f = {};

	(void)state;
	for (int i = 0; i < 23; i++) {
		char name[16];
		struct fleet_host *h;

		snprintf(name, sizeof(name), "h%d", i);
		h = fleet_host(&f, name);
		assert_non_null(h);
		for (int op = 0; op < 10007; op++)
			fleet_host_count(h, i == 7 && op > 5000 && op <= 6000);
		f.sums.n += h->n;
		f.sums.n_slow += h->slow;
	}
	assert_int_equal(f.sums.n_slow, 1000);
	assert_int_equal(fleet_judge(&f), 0);
	assert_int_equal(f.n_findings, 0);
	assert_string_equal(f.hosts[0].name, "h7");
	fleet_done(&f);
}

/* So few slow operations are chance, however alike the hosts of a model are: 10 of 28 on 5 of 23
 * hosts. Ten times as many are not. */
static void few_slow_operations_are_no_bad_model(void **state)
{
	(void)state;
	for (unsigned int times = 1; times <= 10; times += 9) {
		struct fleet f = {};
		char name[16];

		for (unsigned int i = 0; i < 23; i++) {
			unsigned int every = i < 5 ? 500 : 1000;
			struct fleet_host *h;

			snprintf(name, sizeof(name), "h%u", i);
			h = fleet_host(&f, name);
			assert_non_null(h);
			for (unsigned int op = 0; op < 1000 * times; op++)
				fleet_host_count(h, op % every == 43 * i % every);
			assert_int_equal(
				fleet_cell_add(h, fleet_value(&f, FLEET_MODEL, i < 5 ? "X" : "Y"),
					       h->n, h->slow),
				0);
			f.sums.n += h->n;
			f.sums.n_slow += h->slow;
		}
		assert_int_equal(f.sums.n_slow, 28 * times);
		assert_int_equal(fleet_judge(&f), 0);
		assert_int_equal(f.n_findings, times == 10);
		fleet_done(&f);
	}
}

/* What only the bad host has, and what the hosts of a bad model also have, is told with them. */
static void confounded_properties_are_told(void **state)
{
	struct fleet f = {};
	char name[16];

	(void)state;
	for (int i = 0; i < 23; i++) {
		bool bad = i < 7;
		struct fleet_host *h;

		snprintf(name, sizeof(name), "h%d", i);
		h = fleet_host(&f, name);
		assert_non_null(h);
		for (int op = 0; op < 1009; op++)
			fleet_host_count(h, op % (bad ? 10 : 101) == i % 10);
		fleet_cell_add(h, fleet_value(&f, FLEET_MODEL, bad ? "X" : "Y"), h->n, h->slow);
		fleet_cell_add(h, fleet_value(&f, FLEET_FIRMWARE, bad ? "1" : "2"), h->n, h->slow);
		f.sums.n += h->n;
		f.sums.n_slow += h->slow;
	}
	assert_int_equal(fleet_judge(&f), 0);
	assert_int_equal(f.n_findings, 1);
	assert_string_equal(f.findings[0].text, "with disk model X");
	assert_string_equal(f.findings[0].note,
			    "Exactly these hosts are also with disk firmware 1.");
	fleet_done(&f);
}

static void too_few_hosts_are_not_judged(void **state)
{
	const struct world w = { .hosts = 3, .ops = 1009, .more = 50, .cause = "host", .bad = 1 };
	struct fleet f = {};

	(void)state;
	world_draw(&f, &w, 0);
	assert_int_equal(f.n_findings, 0);
	fleet_done(&f);
}

/* Names a device of a header: "d5", a disk of one model above all disks @on. */
static void device_put(FILE *devices, FILE *disks, unsigned int n, unsigned int on)
{
	fprintf(devices, "%s{\"name\":\"d%u\",\"dev\":\"8:%u\",\"on\":[", n ? "," : "", n, 16 * n);
	for (unsigned int i = n + 1; i < on; i++)
		fprintf(devices, "%s\"d%u\"", i > n + 1 ? "," : "", i);
	fprintf(devices, "]}");
	fprintf(disks,
		"%s{\"dev\":\"8:%u\",\"model\":\"M\",\"firmware\":\"F\",\"celsius\":%d,"
		"\"celsius_limit\":55}",
		n ? "," : "", 16 * n, n % 2 ? 41 : 47);
}

/* The header of a recording with @n disks, each above all after it, below a file system. */
static char *header_make(unsigned int n)
{
	char *devices, *disks, *header;
	size_t len;
	FILE *f = open_memstream(&devices, &len), *g = open_memstream(&disks, &len);

	for (unsigned int i = 0; i < n; i++)
		device_put(f, g, i, n);
	fclose(f);
	fclose(g);
	assert_true(asprintf(&header,
			     "{\"monotonic_ns\":1,\"ops\":true,\"host\":\"h\",\"devices\":[%s],"
			     "\"disks\":[%s],\"mounts\":[{\"dev\":\"8:0\",\"type\":\"ext4\","
			     "\"source\":\"/dev/d0\",\"point\":\"/\",\"options\":\"rw,noatime\","
			     "\"fs_options\":\"rw,errors=continue\"},{\"dev\":\"0:40\","
			     "\"type\":\"btrfs\",\"source\":\"/dev/d0\",\"point\":\"/b\","
			     "\"options\":\"ro\"}]}",
			     devices, disks) > 0);
	free(devices);
	free(disks);
	return header;
}

static uint64_t value_count(const struct fleet *f, enum fleet_attribute attribute, const char *text)
{
	const struct fleet_host *h = &f->hosts[0];
	const struct fleet_value *v;

	for (size_t i = 0; i < h->n_cells; i++) {
		v = &f->values[h->cells[i].value];
		if (v->attribute == attribute && !strcmp(v->text, text))
			return h->cells[i].n;
	}
	return 0;
}

/* An operation counts once for a value that several of its disks have, or both sorts of options;
 * and disks that are below one another in many ways are looked at once. */
static void operations_count_once_for_a_value(void **state)
{
	char name[] = "/tmp/test_fleet.XXXXXX", *header = header_make(47), *names[] = { name };
	struct stored_name file = { NAME_FILE, 1, FILE_KEY(8 << 20, 0, 1), 7, 0, 0 };
	const struct fleet_conf conf = { .explain = { .kinds = ~0U, .above_ns = 1000000 } };
	struct stored_op op = { .owner = 1, .file = 1, .kind = OP_READ };
	struct fleet f = {};
	struct writer w = {};
	struct reason why;
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(writer_begin(&w, fd, header), 0);
	writer_name(&w, &file, "");
	file.id = 2;
	file.a = FILE_KEY(40, 0, 1); /* btrfs is found by its mounted disk */
	writer_name(&w, &file, "");
	for (int i = 0; i < 28; i++) {
		op.start_ns = 1000 + 100 * i;
		op.file = i < 23 ? 1 : 2;
		writer_op(&w, &op);
	}
	writer_flush(&w);
	writer_close(&w);
	assert_true(writer_end(&w, "{\"disks\":[{\"dev\":\"8:0\",\"celsius\":55},"
				   "{\"dev\":\"8:16\",\"celsius\":31}]}"));
	writer_done(&w);
	close(fd);
	assert_int_equal(fleet_read(&f, names, 1, &conf, &why), 0);
	assert_int_equal(f.n_hosts, 1);
	assert_int_equal(f.hosts[0].n, 28);
	assert_int_equal(value_count(&f, FLEET_MODEL, "M"), 28);
	assert_int_equal(value_count(&f, FLEET_FIRMWARE, "F"), 28);
	assert_int_equal(value_count(&f, FLEET_TEMPERATURE, "at 40 to 49 °C"), 28);
	assert_int_equal(value_count(&f, FLEET_TEMPERATURE, "at 50 to 59 °C"), 28);
	assert_int_equal(value_count(&f, FLEET_TEMPERATURE, "at 30 to 39 °C"), 0);
	assert_int_equal(value_count(&f, FLEET_TEMPERATURE, "at its limit of temperature"), 28);
	assert_int_equal(value_count(&f, FLEET_OPTION, "rw"), 23);
	assert_int_equal(value_count(&f, FLEET_OPTION, "errors=continue"), 23);
	assert_int_equal(value_count(&f, FLEET_FS, "ext4"), 23);
	assert_int_equal(value_count(&f, FLEET_OPTION, "ro"), 5);
	fleet_done(&f);
	unlink(name);
	free(header);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_host_is_first),
		cmocka_unit_test(two_bad_hosts_do_not_hide_one_another),
		cmocka_unit_test(bad_model_and_kernel_are_first),
		cmocka_unit_test(bad_cgroup_is_found_within_hosts),
		cmocka_unit_test(equal_hosts_have_no_finding),
		cmocka_unit_test(one_burst_is_no_bad_host),
		cmocka_unit_test(few_slow_operations_are_no_bad_model),
		cmocka_unit_test(confounded_properties_are_told),
		cmocka_unit_test(too_few_hosts_are_not_judged),
		cmocka_unit_test(operations_count_once_for_a_value),
	};

	return cmocka_run_group_tests_name("fleet", tests, NULL, NULL);
}
