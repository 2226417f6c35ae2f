// SPDX-License-Identifier: GPL-2.0-only
#include "constants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "bpf/conf.h"

/* A 64-bit constant has two instructions' room: the low half in the first, the high one after it.
 * One with a source register is none, but stands for a map or a variable. */
static bool is_placeholder(const struct bpf_insn *insn)
{
	return insn[0].code == (BPF_LD | BPF_DW | BPF_IMM) && !insn[0].src_reg &&
	       (unsigned int)insn[1].imm == CONF_MARK;
}

/* Little-endian, as x86 is. */
static int constant_fill(struct bpf_insn *insn, const struct conf *conf)
{
	unsigned int where = insn[0].imm, size = CONF_SIZE(where), offset = CONF_OFFSET(where);
	unsigned long long value = 0;

	if (size > sizeof(value) || offset > sizeof(*conf) - size)
		return -EINVAL;
	memcpy(&value, (const char *)conf + offset, size);
	insn[0].imm = (int)value;
	insn[1].imm = (int)(value >> 32);
	return 0;
}

int constants_fill(struct bpf_insn *insns, size_t n, const struct conf *conf)
{
	int err = 0;

	for (size_t i = 0; i + 1 < n && !err; i++)
		if (is_placeholder(insns + i))
			err = constant_fill(insns + i, conf);
	return err;
}

int constants_write(struct bpf_program *prog, const struct conf *conf)
{
	size_t n = bpf_program__insn_cnt(prog);
	struct bpf_insn *insns = malloc(n * sizeof(*insns));
	int err;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
	err = constants_fill(insns, n, conf);
	if (!err)
		err = bpf_program__set_insns(prog, insns, n);
	free(insns);
	return err;
}
