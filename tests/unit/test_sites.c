// SPDX-License-Identifier: GPL-2.0-only
/* Addresses of the kernel's functions get names, and the names words. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/sites.h"

static char symbols_text[] = "ffffffff81000000 T folio_wait_bit_common\n"
			     "ffffffff81000100 t ext4_da_write_begin\n"
			     "ffffffff81000180 d not_a_function\n"
			     "not a line\n"
			     "ffffffff81000200 T folio_wait_writeback\n"
			     "ffffffff81000300 t jbd2_log_wait_commit.part.0\t[jbd2]\n"
			     "ffffffff81000400 T the_end\n";

static void fill(struct site_row *r, enum op_kind op, uint64_t first, uint64_t second)
{
	*r = (struct site_row){ .key = { .op = op, .at = { first, second } },
				.fs = "ext4",
				.sums = { 1, 100, 100 } };
}

static void places_have_names(void **state)
{
	struct snapshot sn = { .sites = calloc(6, sizeof(*sn.sites)), .n_sites = 6 };
	struct symbols symbols = {};
	FILE *f = fmemopen(symbols_text, strlen(symbols_text), "r");
	const struct site_row *r = sn.sites;

	(void)state;
	assert_true(f && sn.sites);
	/* a return address may be right behind its function */
	fill(&sn.sites[0], OP_FSYNC, 0xffffffff81000310, 0);
	fill(&sn.sites[1], OP_FSYNC, 0xffffffff81000400, 0);
	fill(&sn.sites[2], OP_WRITE, 0xffffffff81000020, 0xffffffff81000190);
	fill(&sn.sites[3], OP_WRITE, 0xffffffff81000020, 0xffffffff81000210);
	fill(&sn.sites[4], OP_WRITE, 0xffffffff81000020, 0);
	fill(&sn.sites[5], OP_WRITE, 0, 0);
	assert_int_equal(sites_name_from(f, &symbols, &sn), 0);
	assert_int_equal(sn.n_sites, 5);
	assert_string_equal(r[0].symbol, "jbd2_log_wait_commit");
	assert_string_equal(r[0].what, "journal commit");
	assert_int_equal(r[0].sums.count, 2);
	assert_int_equal(r[0].sums.total_ns, 200);
	assert_string_equal(r[1].symbol, "ext4_da_write_begin");
	assert_string_equal(r[1].what, "folio lock");
	assert_string_equal(r[2].symbol, "folio_wait_writeback");
	assert_string_equal(r[2].what, "folio writeback");
	assert_string_equal(r[3].symbol, "folio_wait_bit_common");
	assert_string_equal(r[3].what, "folio lock or writeback");
	assert_string_equal(r[4].symbol, "");
	assert_null(r[4].what);
	fclose(f);
	snapshot_free(&sn);
	symbols_done(&symbols);
}

static void names_are_looked_up_once(void **state)
{
	struct snapshot sn = { .sites = calloc(1, sizeof(*sn.sites)), .n_sites = 1 };
	struct symbols symbols = {};
	FILE *f = fmemopen(symbols_text, strlen(symbols_text), "r");

	(void)state;
	assert_true(f && sn.sites);
	fill(&sn.sites[0], OP_FSYNC, 0xffffffff81000310, 0);
	assert_int_equal(sites_name_from(f, &symbols, &sn), 0);
	fill(&sn.sites[0], OP_FSYNC, 0xffffffff81000310, 0);
	assert_int_equal(sites_name_from(NULL, &symbols, &sn), 0);
	assert_string_equal(sn.sites[0].symbol, "jbd2_log_wait_commit");
	/* without the kernel's list there is no name */
	fill(&sn.sites[0], OP_FSYNC, 0xffffffff81000320, 0);
	assert_int_equal(sites_name_from(NULL, &symbols, &sn), 0);
	assert_string_equal(sn.sites[0].symbol, "");
	fclose(f);
	snapshot_free(&sn);
	symbols_done(&symbols);
}

/* A read that waits for a folio of such a file system waits for its server; a write may not. */
static void folios_of_servers(void **state)
{
	struct snapshot sn = { .sites = calloc(3, sizeof(*sn.sites)), .n_sites = 3 };
	struct symbols symbols = {};
	FILE *f = fmemopen(symbols_text, strlen(symbols_text), "r");

	(void)state;
	assert_true(f && sn.sites);
	fill(&sn.sites[0], OP_READ, 0xffffffff81000020, 0xffffffff81000190);
	fill(&sn.sites[1], OP_WRITE, 0xffffffff81000020, 0xffffffff81000190);
	fill(&sn.sites[2], OP_READ, 0xffffffff81000020, 0xffffffff81000190);
	strcpy(sn.sites[0].fs, "virtiofs");
	strcpy(sn.sites[1].fs, "virtiofs");
	assert_int_equal(sites_name_from(f, &symbols, &sn), 0);
	assert_string_equal(sn.sites[0].what, "FUSE server (folio lock)");
	assert_string_equal(sn.sites[1].what, "folio lock");
	assert_string_equal(sn.sites[2].what, "folio lock");
	fclose(f);
	snapshot_free(&sn);
	symbols_done(&symbols);
}

static void words_of_functions(void **state)
{
	(void)state;
	assert_string_equal(wchan_what("handle_userfault", false), "userfault");
	assert_string_equal(wchan_what("blk_queue_enter", false), "frozen queue");
	assert_string_equal(wchan_what("p9_client_rpc", false), "9p server");
	assert_string_equal(wchan_what("md_write_start", false), "superblock of an md array");
	assert_string_equal(wchan_what("netfs_wait_for_read", false),
			    "network file system's server");
	assert_null(wchan_what("vfs_read", false));
	assert_true(wchan_is_general("wait_on_page_bit_common"));
	assert_false(wchan_is_general("folio_wait_writeback"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_have_names),
		cmocka_unit_test(names_are_looked_up_once),
		cmocka_unit_test(folios_of_servers),
		cmocka_unit_test(words_of_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
