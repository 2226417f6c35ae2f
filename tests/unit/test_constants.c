// SPDX-License-Identifier: GPL-2.0-only
/* What stands for a field of struct conf in a program is replaced by its number, all else stays. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include <linux/bpf.h>

#include "bpf/conf.h"
#include "trace/constants.h"

#define PLACEHOLDER(where)                                                                         \
	{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 3, .imm = (int)(where) },                  \
	{ .imm = (int)CONF_MARK }

static unsigned long long value_of(const struct bpf_insn *insn)
{
	return (unsigned int)insn[0].imm | (unsigned long long)(unsigned int)insn[1].imm << 32;
}

static void numbers_of_every_size_are_filled_in(void **state)
{
	const struct conf conf = { .min_ns = 0x123456789abcdef0ULL, .tool_tgid = 0xfffffffeU,
				   .layer = 0xff, .comm = { 1, 0x8000000000000000ULL } };
	struct bpf_insn insns[] = { PLACEHOLDER(CONF_WHERE(min_ns)),
				    PLACEHOLDER(CONF_WHERE(tool_tgid)),
				    PLACEHOLDER(CONF_WHERE(layer)),
				    PLACEHOLDER(CONF_WHERE(comm[1])) };

	(void)state;
	assert_int_equal(constants_fill(insns, 8, &conf), 0);
	assert_int_equal(value_of(insns), conf.min_ns);
	assert_int_equal(value_of(insns + 2), conf.tool_tgid);
	assert_int_equal(value_of(insns + 4), conf.layer);
	assert_int_equal(value_of(insns + 6), conf.comm[1]);
	for (int i = 0; i < 8; i += 2)
		assert_int_equal(insns[i].dst_reg, 3);
}

static void all_else_stays(void **state)
{
	const struct conf conf = { .layer = 1 };
	struct bpf_insn insns[] = {
		/* the address of a map; another constant; a move; one that is cut off */
		PLACEHOLDER(CONF_WHERE(layer)), PLACEHOLDER(CONF_WHERE(layer)),
		PLACEHOLDER(CONF_WHERE(layer)), PLACEHOLDER(CONF_WHERE(layer)),
	};
	struct bpf_insn before[8];

	(void)state;
	insns[0].src_reg = BPF_PSEUDO_MAP_FD;
	insns[3].imm = 1;
	insns[4].code = BPF_ALU64 | BPF_MOV | BPF_K;
	memcpy(before, insns, sizeof(before));
	assert_int_equal(constants_fill(insns, 7, &conf), 0);
	assert_memory_equal(insns, before, sizeof(before));
}

static void what_is_no_field_is_refused(void **state)
{
	const struct conf conf = { 0 };
	struct bpf_insn past[] = { PLACEHOLDER(1 << 16 | sizeof(conf)) };
	struct bpf_insn across[] = { PLACEHOLDER(8 << 16 | (sizeof(conf) - 4)) };
	struct bpf_insn wide[] = { PLACEHOLDER(16 << 16) };

	(void)state;
	assert_int_equal(constants_fill(past, 2, &conf), -EINVAL);
	assert_int_equal(constants_fill(across, 2, &conf), -EINVAL);
	assert_int_equal(constants_fill(wide, 2, &conf), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_every_size_are_filled_in),
		cmocka_unit_test(all_else_stays),
		cmocka_unit_test(what_is_no_field_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
