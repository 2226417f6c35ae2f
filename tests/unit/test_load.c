// SPDX-License-Identifier: GPL-2.0-only
/* The kernels that bear programs with functions, by their names; settings in instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/bpf.h>

#include "bpf/conf.h"
#include "trace/load.h"

static void test_has_fix(void **state)
{
	static const struct {
		struct utsname uts;
		bool has;
	} known[] = {
		{ { .release = "6.1.36" }, true },
		{ { .release = "6.1.128-150.amzn2023.x86_64" }, true },
		{ { .release = "6.1.0-10-amd64", .version = "#1 Debian 6.1.37-1 (2023)" }, true },
		{ { .release = "6.1.0-7-amd64", .version = "#1 Debian 6.1.20-2 (2023)" }, false },
		{ { .release = "6.1.35", .version = "Debian 6.1.37-1" }, false },
		{ { .release = "6.1.0-36-oem", .version = "#36-Ubuntu SMP" }, false },
		{ { .release = "6.1" }, false },
		{ { .release = "6.1.-5" }, false },
		{ { .release = "6.1. 40" }, false },
		{ { .release = "6.1.20240101" }, false },
		{ { .release = "6.1.0-18-amd64", .version = "#1 Debian 6.1.-1 (2023)" }, false },
		{ { .release = "6.1.", .version = "Debian 6.1." }, false },
		{ { .release = "6.10.36" }, false },
		{ { .release = "6.2.36" }, false },
		{ { .release = "5.10.0-46-amd64", .version = "Debian 5.10.36-1" }, false },
		{ { .release = "5.10.0", .version = "Debian 6.1.37-1" }, false },
		{ { .release = "" }, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_int_equal(load_has_fix(&known[i].uts), known[i].has);
}

#define BLANK(field)                                                                               \
	BLANK_CONF(offsetof(struct bpf_conf, field), sizeof(((struct bpf_conf *)0)->field))

/* All numbers are prime. */
static void test_settings(void **state)
{
	static const struct bpf_conf conf = { .records = 251,
					      .cpus = 4294967291U,
					      .min_ns = 18446744073709551557ULL };
	enum { MOV = BPF_ALU | BPF_MOV | BPF_K, LONG = BPF_LD | BPF_DW | BPF_IMM };
	struct bpf_insn insns[] = {
		{ .code = MOV, .imm = BLANK(records) },
		{ .code = MOV, .imm = BLANK(cpus) },
		{ .code = LONG, .imm = BLANK(min_ns) },
		{ .imm = 0 },
		{ .code = MOV, .imm = 17 },
		{ .code = BPF_ALU | BPF_ADD | BPF_K, .imm = BLANK(records) },
		{ .code = MOV, .imm = BLANK(sites) },
	};

	(void)state;
	load_settings_fill(insns, sizeof(insns) / sizeof(*insns), &conf);
	assert_int_equal(insns[0].imm, 251);
	assert_int_equal((unsigned int)insns[1].imm, conf.cpus);
	assert_int_equal((unsigned int)insns[2].imm, conf.min_ns & 0xffffffff);
	assert_int_equal((unsigned int)insns[3].imm, conf.min_ns >> 32);
	assert_int_equal(insns[4].imm, 17);
	assert_int_equal(insns[5].imm, BLANK(records)); /* a number that only looks like a blank */
	assert_int_equal(insns[6].imm, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_has_fix),
		cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
