// SPDX-License-Identifier: GPL-2.0-only
#include "trace/core_types.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include <uthash.h>

#include "trace/feature_types.h"

struct wanted_name {
	const char *name; /* the name is the first len bytes */
	size_t len;
	UT_hash_handle hh;
};

/* A growing array of bytes. */
struct bytes {
	char *at;
	size_t len, cap;
};

struct maker {
	const struct btf *kernel;
	struct wanted_name *names;
	struct name_filter filter;
	uint32_t *new_id; /* by the kernel's id; 0: not taken */
	uint32_t *taken;  /* the kernel's ids, ordered by new id, from 1 on */
	uint32_t n_taken;
	struct bytes types, strings;
	bool failed; /* out of memory */
};

static void bytes_add(struct maker *m, struct bytes *b, const void *from, size_t len)
{
	char *at;

	if (b->len + len > b->cap) {
		b->cap = 2 * b->cap + len + 4096;
		at = realloc(b->at, b->cap);
		if (!at) {
			m->failed = true;
			b->cap = b->len;
			return;
		}
		b->at = at;
	}
	memcpy(b->at + b->len, from, len);
	b->len += len;
}

static uint32_t string_add(struct maker *m, uint32_t name_off)
{
	const char *name = btf__name_by_offset(m->kernel, name_off);
	uint32_t at = m->strings.len;

	if (!name || !name[0])
		return 0;
	bytes_add(m, &m->strings, name, strlen(name) + 1);
	return at;
}

/* Length without the flavour: "task_struct___5_14" means the kernel's task_struct. */
static size_t essential_len(const char *name)
{
	const char *flavor = strstr(name, "___");

	return flavor && flavor != name ? (size_t)(flavor - name) : strlen(name);
}

static bool has_candidates(const struct btf_type *t)
{
	return btf_is_composite(t) || btf_is_any_enum(t);
}

static void name_want(struct maker *m, const char *name)
{
	size_t len = essential_len(name);
	struct wanted_name *w;

	HASH_FIND(hh, m->names, name, len, w);
	if (w || !len)
		return;
	w = calloc(1, sizeof(*w));
	if (!w) {
		m->failed = true;
		return;
	}
	w->name = name;
	w->len = len;
	HASH_ADD_KEYPTR(hh, m->names, w->name, len, w);
	name_filter_add(&m->filter, name);
}

static void names_want(struct maker *m, const struct btf *local)
{
	for (uint32_t id = 1; id < btf__type_cnt(local); id++) {
		const struct btf_type *t = btf__type_by_id(local, id);

		if (has_candidates(t) && t->name_off)
			name_want(m, btf__name_by_offset(local, t->name_off));
	}
}

/* The new id of the kernel's type @id. Takes the type into the result if it was not there. */
static uint32_t take(struct maker *m, uint32_t id)
{
	if (id && !m->new_id[id]) {
		m->new_id[id] = ++m->n_taken;
		m->taken[m->n_taken] = id;
	}
	return m->new_id[id];
}

static void take_named(struct maker *m)
{
	uint32_t n = btf__type_cnt(m->kernel);
	const struct btf_type *t;
	struct wanted_name *w;
	const char *name;

	for (uint32_t id = 1; id < n; id++) {
		t = btf__type_by_id(m->kernel, id);
		if (!has_candidates(t) || !t->name_off)
			continue;
		name = btf__name_by_offset(m->kernel, t->name_off);
		if (!name_filter_passes(&m->filter, name))
			continue;
		HASH_FIND(hh, m->names, name, strlen(name), w);
		if (w)
			take(m, id);
	}
}

static void members_add(struct maker *m, const struct btf_type *t)
{
	for (int i = 0; i < btf_vlen(t); i++) {
		struct btf_member member = btf_members(t)[i];

		member.name_off = string_add(m, member.name_off);
		member.type = take(m, member.type);
		bytes_add(m, &m->types, &member, sizeof(member));
	}
}

/* Adds the enumerators of @t, @size bytes each. Each begins with the offset of its name. */
static void values_add(struct maker *m, const struct btf_type *t, size_t size)
{
	const char *at = (const char *)(t + 1);

	for (int i = 0; i < btf_vlen(t); i++, at += size) {
		uint32_t name;

		memcpy(&name, at, sizeof(name));
		name = string_add(m, name);
		bytes_add(m, &m->types, &name, sizeof(name));
		bytes_add(m, &m->types, at + sizeof(name), size - sizeof(name));
	}
}

static void array_add(struct maker *m, const struct btf_type *t)
{
	struct btf_array array = *btf_array(t);

	array.type = take(m, array.type);
	array.index_type = take(m, array.index_type);
	bytes_add(m, &m->types, &array, sizeof(array));
}

static void type_add(struct maker *m, const struct btf_type *t)
{
	struct btf_type head = *t;

	head.name_off = string_add(m, t->name_off);
	if (btf_is_ptr(t))
		head.type = 0;
	else if (btf_is_mod(t) || btf_is_typedef(t))
		head.type = take(m, t->type);
	bytes_add(m, &m->types, &head, sizeof(head));
	if (btf_is_composite(t))
		members_add(m, t);
	else if (btf_is_enum(t))
		values_add(m, t, sizeof(struct btf_enum));
	else if (btf_is_enum64(t))
		values_add(m, t, sizeof(struct btf_enum64));
	else if (btf_is_array(t))
		array_add(m, t);
	else if (btf_is_int(t))
		bytes_add(m, &m->types, t + 1, sizeof(uint32_t));
}

static void *put_together(struct maker *m, size_t *ret_len)
{
	struct btf_header h = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(h),
		.type_len = m->types.len,
		.str_off = m->types.len,
		.str_len = m->strings.len,
	};
	struct bytes all = {};

	bytes_add(m, &all, &h, sizeof(h));
	bytes_add(m, &all, m->types.at, m->types.len);
	bytes_add(m, &all, m->strings.at, m->strings.len);
	if (m->failed) {
		free(all.at);
		errno = ENOMEM;
		return NULL;
	}
	*ret_len = all.len;
	return all.at;
}

void *core_types_make(const struct btf *kernel, const struct btf *local, size_t *ret_len)
{
	struct maker m = { .kernel = kernel };
	struct wanted_name *w, *next;
	void *made;

	m.new_id = calloc(btf__type_cnt(kernel), sizeof(*m.new_id));
	m.taken = calloc(btf__type_cnt(kernel), sizeof(*m.taken));
	m.failed = !m.new_id || !m.taken;
	bytes_add(&m, &m.strings, "", 1);
	names_want(&m, local);
	if (!m.failed)
		take_named(&m);
	/* an added type may take further types, so n_taken grows */
	for (uint32_t i = 1; i <= m.n_taken; i++)
		type_add(&m, btf__type_by_id(kernel, m.taken[i]));
	made = put_together(&m, ret_len);
	HASH_ITER (hh, m.names, w, next) {
		HASH_DEL(m.names, w);
		free(w);
	}
	free(m.new_id);
	free(m.taken);
	free(m.types.at);
	free(m.strings.at);
	return made;
}
