// SPDX-License-Identifier: GPL-2.0-only
#include "trace/blanks.h"

#include <linux/bpf.h>

#include <bpf/libbpf.h>

#include "bpf/conf.h"
#include "trace/feature.h"

#define AT(blank) [(blank)-BLANK_RDONLY_CAST]

const char *const blank_names[] = {
	AT(BLANK_RDONLY_CAST) = "bpf_rdonly_cast", AT(BLANK_TASK_STRUCT) = "struct task_struct",
	AT(BLANK_REQUEST) = "struct request",      AT(BLANK_BIO) = "struct bio",
	AT(BLANK_KIOCB) = "struct kiocb",          AT(BLANK_PREEMPT_COUNT) = "__preempt_count",
	AT(BLANK_PCPU_HOT) = "pcpu_hot",
};

_Static_assert(sizeof(blank_names) / sizeof(*blank_names) == BLANK_END - BLANK_RDONLY_CAST,
	       "names");

static void blank_fill(struct bpf_insn *insn, unsigned int id)
{
	switch (insn->code) {
	case BPF_JMP | BPF_CALL:
		if (id)
			insn->src_reg = BPF_PSEUDO_KFUNC_CALL;
		break;
	case BPF_LD | BPF_DW | BPF_IMM:
		if (id)
			insn->src_reg = BPF_PSEUDO_BTF_ID;
		break;
	}
	insn->imm = id;
}

void blanks_fill(struct bpf_program *prog, struct feature *f)
{
	/* libbpf's own copy, which it will load from */
	struct bpf_insn *insns = (struct bpf_insn *)bpf_program__insns(prog);

	for (size_t i = 0; i < bpf_program__insn_cnt(prog); i++)
		if (insns[i].imm >= BLANK_RDONLY_CAST && insns[i].imm < BLANK_END)
			blank_fill(&insns[i],
				   feature_type(f, blank_names[insns[i].imm - BLANK_RDONLY_CAST]));
}
