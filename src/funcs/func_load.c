// SPDX-License-Identifier: GPL-2.0-only
#include "funcs/func_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "func.skel.h"
#include "trace/feature.h"
#include "trace/feature_types.h"
#include "trace/load.h"

/* Values of enum bpf_attach_type, in include/uapi/linux/bpf.h since 6.6, 6.10, 6.13 and 7.0. The
 * installed headers may be older. */
enum {
	TRACE_UPROBE_MULTI = 48,
	TRACE_KPROBE_SESSION = 56,
	TRACE_UPROBE_SESSION = 57,
	TRACE_FSESSION = 58,
};

const struct func_method func_methods[] = {
	{ "kprobe.session", false, FUNC_SESSION, TRACE_KPROBE_SESSION },
	{ "kprobe.multi", false, FUNC_MULTI, BPF_TRACE_KPROBE_MULTI },
	{ "fsession", false, FUNC_EACH_SESSION, TRACE_FSESSION },
	{ "fentry", false, FUNC_EACH, BPF_TRACE_FENTRY },
	{ "kprobe", false, FUNC_EACH, 0 },
	{ "uprobe.session", true, FUNC_SESSION, TRACE_UPROBE_SESSION },
	{ "uprobe.multi", true, FUNC_MULTI, TRACE_UPROBE_MULTI },
	{ "uprobe", true, FUNC_EACH, 0 },
	{},
};

const struct func_method *func_method_find(const char *name)
{
	for (const struct func_method *p = func_methods; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

bool func_is_each(const struct func_method *m)
{
	return m->way == FUNC_EACH || m->way == FUNC_EACH_SESSION;
}

struct bpf_program *func_enter_program(const struct func_bpf *obj, const struct func_method *probe)
{
	switch (probe->way) {
	case FUNC_EACH_SESSION:
		return obj->progs.func_fsession;
	case FUNC_SESSION:
		return obj->progs.func_session;
	case FUNC_MULTI:
		return obj->progs.func_multi;
	default:
		return probe->attach_type ? obj->progs.func_fentry : obj->progs.func_kprobe;
	}
}

struct bpf_program *func_leave_program(const struct func_bpf *obj, const struct func_method *probe)
{
	switch (probe->way) {
	case FUNC_EACH_SESSION:
		return obj->progs.func_fsession;
	case FUNC_SESSION:
		return obj->progs.func_session;
	case FUNC_MULTI:
		return obj->progs.func_multi_return;
	default:
		return probe->attach_type ? obj->progs.func_fexit : obj->progs.func_kretprobe;
	}
}

/* Copies the instructions of @prog for editing. Their number must stay the same, or relocations
 * would be wrong. Returns 0 or -ENOMEM. */
static int instructions_copy(const struct bpf_program *prog, struct bpf_insn **ret_insns)
{
	size_t len = bpf_program__insn_cnt(prog) * sizeof(**ret_insns);
	struct bpf_insn *insns = malloc(len);

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), len);
	*ret_insns = insns;
	return 0;
}

/* Fills in calls of bpf_session_is_return(). This kernel function takes the context since 7.0, and
 * no argument before; libbpf cannot declare it both ways. */
static int session_prepare(struct bpf_program *prog, struct feature *f)
{
	unsigned int id = feature_type(f, "bpf_session_is_return");
	struct bpf_insn *insns;
	int err;

	if (!id)
		return -ENOENT;
	err = instructions_copy(prog, &insns);
	if (err)
		return err;
	for (size_t i = 0; i < bpf_program__insn_cnt(prog); i++) {
		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].imm != FUNC_IS_RETURN_MARK)
			continue;
		insns[i].src_reg = BPF_PSEUDO_KFUNC_CALL;
		insns[i].imm = id;
	}
	err = bpf_program__set_insns(prog, insns, bpf_program__insn_cnt(prog));
	free(insns);
	return err;
}

static void maps_configure(struct func_bpf *obj, const struct func_conf *conf,
			   const struct func_sizes *sizes)
{
	bpf_map__set_max_entries(obj->maps.func_cells, sizes->cells);
	bpf_map__set_max_entries(obj->maps.func_hists, sizes->hists);
	bpf_map__set_max_entries(obj->maps.func_unreturned, sizes->funcs);
	bpf_map__set_max_entries(obj->maps.func_rows, sizes->rows);
	bpf_map__set_autocreate(obj->maps.func_tracked, conf->tracked);
}

static int programs_choose(struct func_bpf *obj, const struct func_method *probe,
			   const struct func_method *second, const struct func_conf *conf,
			   struct feature *f)
{
	struct bpf_program *enter = func_enter_program(obj, probe), *prog;
	struct bpf_program *leave = func_leave_program(obj, probe);

	bpf_object__for_each_program (prog, obj->obj)
		bpf_program__set_autoload(prog, prog == enter || prog == leave);
	if (second) {
		bpf_program__set_autoload(func_enter_program(obj, second), true);
		bpf_program__set_autoload(func_leave_program(obj, second), true);
	}
	bpf_program__set_autoload(obj->progs.func_on_exit, true);
	bpf_program__set_autoload(obj->progs.func_on_free, true);
	bpf_program__set_autoload(obj->progs.func_on_exec, conf->user_stacks);
	bpf_program__set_autoload(obj->progs.func_on_fork, conf->tracked);
	if (probe->way == FUNC_EACH)
		return 0;
	bpf_program__set_expected_attach_type(enter, probe->attach_type);
	bpf_program__set_expected_attach_type(leave, probe->attach_type);
	return enter == leave ? session_prepare(enter, f) : 0;
}

int func_load(const struct func_method *probe, const struct func_method *second,
	      const struct func_conf *conf, const struct func_sizes *sizes, struct feature *f,
	      struct func_bpf **ret_obj)
{
	struct func_bpf *obj;
	int err;

	if (probe->way == FUNC_EACH_SESSION &&
	    feature_enumerator(f, "BPF_TRACE_FSESSION", 0) != TRACE_FSESSION)
		return -EOPNOTSUPP;
	obj = calloc(1, sizeof(*obj));
	err = obj ? func_bpf__create_skeleton(obj) : -ENOMEM;
	if (!err)
		err = objects_open(obj->skeleton, OBJECT_FUNC, NULL);
	if (err) {
		func_bpf__destroy(obj);
		return err;
	}
	memcpy((void *)&obj->rodata->func_conf, conf, sizeof(*conf));
	maps_configure(obj, conf, sizes);
	err = programs_choose(obj, probe, second, conf, f);
	if (!err)
		err = func_bpf__load(obj);
	if (err) {
		func_bpf__destroy(obj);
		return err;
	}
	*ret_obj = obj;
	return 0;
}

int func_copy(const struct bpf_program *prog, unsigned int func, unsigned int type, int btf_fd)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = bpf_program__expected_attach_type(prog),
		    .attach_btf_id = type, .attach_btf_obj_fd = btf_fd);
	size_t n = bpf_program__insn_cnt(prog);
	struct bpf_insn *insns;
	int fd, err = instructions_copy(prog, &insns);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		if (insns[i].code == (BPF_ALU64 | BPF_MOV | BPF_K) && insns[i].imm == FUNC_ID_MARK)
			insns[i].imm = func;
	fd = bpf_prog_load(bpf_program__type(prog), bpf_program__name(prog), "GPL", insns, n,
			   &opts);
	free(insns);
	return fd;
}
