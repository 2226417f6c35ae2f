// SPDX-License-Identifier: GPL-2.0-only
/*
 * feature_types.c - looks up names in the kernel's types (BTF) and in those of modules.
 *
 * libbpf searches all types (100,000 in the kernel) for each name. So names are collected, found in
 * one pass over the types, and remembered.
 */
#include "trace/feature_types.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/conf.h"
#include "trace/feature.h"
#include "trace/kallsyms.h"

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
	/* libbpf loads the program from this copy */
	struct bpf_insn *insns = (struct bpf_insn *)bpf_program__insns(prog);

	for (size_t i = 0; i < bpf_program__insn_cnt(prog); i++)
		if (insns[i].imm >= BLANK_RDONLY_CAST && insns[i].imm < BLANK_END)
			blank_fill(&insns[i],
				   feature_type(f, blank_names[insns[i].imm - BLANK_RDONLY_CAST]));
}

/* The kernel's types, read again if they were freed since feature_probe(). Returns NULL if out of
 * memory. */
static const struct btf *types(struct feature *f)
{
	if (!f->btf)
		f->btf = btf__load_vmlinux_btf();
	return f->btf;
}

const struct btf *feature_types(struct feature *f)
{
	return types(f);
}

/* A looked up name, and the id of its type. Id 0: the kernel has no such type. */
struct known_name {
	char name[96];
	__u32 id;
	UT_hash_handle hh;
};

/* The table for *@name. Removes "struct " from *@name. */
static struct known_name **table_of(struct feature *f, const char **name)
{
	const char prefix[] = "struct ";

	if (strncmp(*name, prefix, strlen(prefix)) != 0)
		return &f->known;
	*name += strlen(prefix);
	return &f->structs;
}

/* Adds @name, not found so far. Returns false if the name is there already, is too long, or there
 * is no memory. */
static bool name_add(struct feature *f, const char *name)
{
	struct known_name **table = table_of(f, &name), *k;

	HASH_FIND_STR(*table, name, k);
	if (k || strlen(name) >= sizeof(k->name))
		return false;
	k = calloc(1, sizeof(*k));
	if (!k)
		return false;
	strcpy(k->name, name);
	HASH_ADD_STR(*table, name, k);
	return true;
}

static void look_for_known(struct feature *f, const struct name_filter *filter)
{
	const struct btf *btf = types(f);
	const struct btf_type *t;
	struct known_name *k;
	const char *name;

	for (__u32 id = 1; btf && id < btf__type_cnt(btf); id++) {
		t = btf__type_by_id(btf, id);
		if (!btf_is_func(t) && !btf_is_typedef(t) && !btf_is_var(t) && !btf_is_struct(t))
			continue;
		name = btf__name_by_offset(btf, t->name_off);
		if (!name_filter_passes(filter, name))
			continue;
		HASH_FIND_STR(btf_is_struct(t) ? f->structs : f->known, name, k);
		if (k)
			k->id = id;
	}
}

void feature_look_for(struct feature *f, const char *const names[], int n)
{
	struct name_filter filter = {};
	bool any = false;

	for (int i = 0; i < n; i++) {
		const char *name = names[i];

		if (!name_add(f, name))
			continue;
		table_of(f, &name);
		name_filter_add(&filter, name);
		any = true;
	}
	if (any)
		look_for_known(f, &filter);
}

unsigned int feature_type(struct feature *f, const char *name)
{
	const char *key = name;
	struct known_name **table = table_of(f, &key), *k;

	HASH_FIND_STR(*table, key, k);
	if (k)
		return k->id;
	feature_look_for(f, &name, 1);
	HASH_FIND_STR(*table, key, k);
	return k ? k->id : 0;
}

/* The types of a module, by name. */
struct module_types {
	char name[64];
	int fd;
	struct btf *btf;
	UT_hash_handle hh;
};

/* Descriptor of the BTF object called @name, and the object's id, or -ENOENT if there is none. A
 * module that is not loaded has no file in sysfs: then the objects of all others need not be
 * opened. */
static int module_types_open(const char *name, __u32 *ret_id)
{
	struct bpf_btf_info info;
	__u32 id = 0, len;
	char text[96];
	int fd;

	snprintf(text, sizeof(text), "/sys/kernel/btf/%s", name);
	if (access(text, F_OK))
		return -ENOENT;
	while (!bpf_btf_get_next_id(id, &id)) {
		fd = bpf_btf_get_fd_by_id(id);
		if (fd < 0)
			continue;
		memset(&info, 0, sizeof(info));
		info.name = (uintptr_t)text;
		info.name_len = sizeof(text);
		len = sizeof(info);
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.kernel_btf &&
		    !strcmp(text, name)) {
			*ret_id = id;
			return fd;
		}
		close(fd);
	}
	return -ENOENT;
}

static struct module_types *module_types(struct feature *f, const char *name)
{
	struct module_types *m;
	__u32 id;
	int fd;

	HASH_FIND_STR(f->modules, name, m);
	if (m || strlen(name) >= sizeof(m->name))
		return m;
	fd = module_types_open(name, &id);
	m = fd < 0 ? NULL : calloc(1, sizeof(*m));
	if (!m) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	strcpy(m->name, name);
	m->fd = fd;
	m->btf = btf__load_from_kernel_by_id_split(id, (struct btf *)types(f));
	HASH_ADD_STR(f->modules, name, m);
	return m;
}

/* The id of @name, a struct or else a function or typedef, among the module's own types, or 0 if
 * there is none. libbpf would search all of the kernel's first. */
static __u32 module_type(struct feature *f, const struct module_types *m, const char *name,
			 bool is_struct)
{
	const struct btf_type *t;

	for (__u32 id = btf__type_cnt(types(f)); m && m->btf && id < btf__type_cnt(m->btf); id++) {
		t = btf__type_by_id(m->btf, id);
		if ((is_struct ? btf_is_struct(t) : btf_is_func(t) || btf_is_typedef(t)) &&
		    !strcmp(btf__name_by_offset(m->btf, t->name_off), name))
			return id;
	}
	return 0;
}

static int module_function(struct feature *f, const char *module, const char *function,
			   int *ret_btf_fd)
{
	const struct module_types *m = module_types(f, module);
	__u32 id = module_type(f, m, function, false);

	if (!id)
		return -ENOENT;
	*ret_btf_fd = m->fd;
	return id;
}

/* Type id of the kernel's struct @type, or 0 if there is none. */
static __u32 kernel_struct(struct feature *f, const char *type)
{
	char name[96];

	snprintf(name, sizeof(name), "struct %s", type);
	return feature_type(f, name);
}

int feature_function(struct feature *f, const char *function, const char *module,
		     unsigned int *ret_id, int *ret_btf_fd)
{
	int fd = 0, id = *module ? module_function(f, module, function, &fd)
				 : (int)feature_type(f, function);

	if (id <= 0)
		return -ENOENT;
	*ret_id = id;
	*ret_btf_fd = fd;
	return 0;
}

int feature_hook(struct feature *f, const char *hook, const char *module, unsigned int *ret_id,
		 int *ret_btf_fd)
{
	if (!feature_function(f, hook, "", ret_id, ret_btf_fd))
		return 0;
	return feature_function(f, hook, module, ret_id, ret_btf_fd);
}

/* Offset of @field in @t or in its anonymous members, in bytes; -1 if there is none. */
static int field_offset(const struct btf *btf, const struct btf_type *t, const char *field)
{
	const struct btf_member *m = btf_members(t);
	const struct btf_type *inner;
	int at;

	for (int i = 0; i < btf_vlen(t); i++) {
		if (!strcmp(btf__name_by_offset(btf, m[i].name_off), field))
			return btf_member_bit_offset(t, i) / 8;
		inner = btf__type_by_id(btf, m[i].type);
		at = m[i].name_off || !btf_is_composite(inner) ? -1
							       : field_offset(btf, inner, field);
		if (at >= 0)
			return btf_member_bit_offset(t, i) / 8 + at;
	}
	return -1;
}

int feature_member(struct feature *f, const char *module, const char *type, const char *member)
{
	struct module_types *m = module_types(f, module);
	__u32 own = module_type(f, m, type, true), id = own ? own : kernel_struct(f, type);
	const struct btf *btf = own ? m->btf : types(f);

	return id ? field_offset(btf, btf__type_by_id(btf, id), member) : -ENOENT;
}

/* The prototype behind typedef btf_trace_<name>. Its first argument is the data of the tracepoint's
 * user. */
static const struct btf_type *tracepoint_proto(struct feature *f, const char *name)
{
	char type_name[96];
	const struct btf_type *t;
	__u32 id;

	snprintf(type_name, sizeof(type_name), "btf_trace_%s", name);
	id = feature_type(f, type_name);
	if (!id || !types(f))
		return NULL;
	t = btf__type_by_id(types(f), btf__type_by_id(types(f), id)->type);
	if (!t || !btf_is_ptr(t))
		return NULL;
	t = btf__type_by_id(types(f), t->type);
	return t && btf_is_func_proto(t) ? t : NULL;
}

bool feature_has_tracepoint(struct feature *f, const char *name)
{
	return tracepoint_proto(f, name);
}

bool feature_has_function(struct feature *f, const char *name)
{
	return feature_type(f, name);
}

static bool is_pointer_to(const struct btf *btf, unsigned int id, const char *type)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	if (!t || !btf_is_ptr(t))
		return false;
	t = btf__type_by_id(btf, t->type);
	while (t && btf_is_mod(t))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_struct(t) && !strcmp(btf__name_by_offset(btf, t->name_off), type);
}

int feature_tracepoint_arg(struct feature *f, const char *name, const char *type)
{
	const struct btf_type *proto = tracepoint_proto(f, name);

	for (int i = 1; proto && i < btf_vlen(proto); i++)
		if (is_pointer_to(types(f), btf_params(proto)[i].type, type))
			return i - 1;
	return -1;
}

/* The prototype of the typedef has no names of arguments. __traceiter_<name>() calls the probes,
 * and has them. */
int feature_tracepoint_arg_named(struct feature *f, const char *name, const char *arg)
{
	char func[96];
	const struct btf_type *proto;
	__u32 id;

	snprintf(func, sizeof(func), "__traceiter_%s", name);
	id = feature_type(f, func);
	if (!id || !types(f))
		return -1;
	proto = btf__type_by_id(types(f), btf__type_by_id(types(f), id)->type);
	for (int i = 1; proto && i < btf_vlen(proto); i++)
		if (!strcmp(btf__name_by_offset(types(f), btf_params(proto)[i].name_off), arg))
			return i - 1;
	return -1;
}

int feature_enumerator(struct feature *f, const char *name, int otherwise)
{
	for (__u32 id = 1; types(f) && id < btf__type_cnt(types(f)); id++) {
		const struct btf_type *t = btf__type_by_id(types(f), id);

		if (!btf_is_enum(t))
			continue;
		for (int i = 0; i < btf_vlen(t); i++)
			if (!strcmp(btf__name_by_offset(types(f), btf_enum(t)[i].name_off), name))
				return btf_enum(t)[i].val;
	}
	return otherwise;
}

int feature_field_offset(struct feature *f, const char *type, const char *field)
{
	__u32 id = types(f) ? kernel_struct(f, type) : 0;

	return id ? field_offset(types(f), btf__type_by_id(types(f), id), field) : -1;
}

void feature_forget_types(struct feature *f)
{
	struct module_types *m, *next;

	HASH_ITER (hh, f->modules, m, next) {
		HASH_DEL(f->modules, m);
		btf__free(m->btf);
		close(m->fd);
		free(m);
	}
	btf__free(f->btf);
	f->btf = NULL;
	kallsyms_forget();
}

static void names_free(struct known_name **table)
{
	struct known_name *k, *next;

	HASH_ITER (hh, *table, k, next) {
		HASH_DEL(*table, k);
		free(k);
	}
}

void feature_done(struct feature *f)
{
	feature_forget_types(f);
	names_free(&f->known);
	names_free(&f->structs);
}
