// SPDX-License-Identifier: GPL-2.0-only
#include "trace/state_layout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

/* Finds member @name of the struct or union @type, also inside an unnamed one; its type, or 0. */
static unsigned int member_find(const struct btf *btf, unsigned int type, const char *name,
				size_t *at)
{
	const struct btf_type *t = btf__type_by_id(btf, type);
	const struct btf_member *m = btf_members(t);

	for (int i = 0; btf_is_composite(t) && i < btf_vlen(t); i++) {
		const char *found = btf__name_by_offset(btf, m[i].name_off);
		size_t inner = *at + btf_member_bit_offset(t, i) / 8;
		unsigned int member = m[i].type;

		if (strcmp(found, name) != 0)
			member = *found ? 0 : member_find(btf, member, name, &inner);
		if (!member)
			continue;
		*at = inner;
		return member;
	}
	return 0;
}

/* Offset of a path like "op.file.fs" in @type. */
static int path_find(const struct btf *btf, unsigned int type, const char *path, size_t *ret_at)
{
	char name[32];
	size_t at = 0;

	while (*path) {
		int len = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", len, path);
		type = member_find(btf, type, name, &at);
		if (!type)
			return -ENOENT;
		path += len + (path[len] == '.');
	}
	*ret_at = at;
	return 0;
}

/* Finds array variable @name in .bss; the type of its elements, or 0. */
static unsigned int array_find(const struct btf *btf, const char *name, size_t *ret_at,
			       size_t *ret_size, size_t *ret_n)
{
	int section = btf__find_by_name_kind(btf, ".bss", BTF_KIND_DATASEC);
	const struct btf_type *t = section < 0 ? NULL : btf__type_by_id(btf, section), *var, *array;
	const struct btf_var_secinfo *v = t ? btf_var_secinfos(t) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		var = btf__type_by_id(btf, v[i].type);
		array = btf__type_by_id(btf, var->type);
		if (strcmp(btf__name_by_offset(btf, var->name_off), name) || !btf_is_array(array))
			continue;
		*ret_at = v[i].offset;
		*ret_n = btf_array(array)->nelems;
		*ret_size = v[i].size / *ret_n;
		return btf_array(array)->type;
	}
	return 0;
}

int state_layout_init(struct state_layout *l, const struct bpf_object *obj,
		      const struct bpf_conf *conf)
{
	const struct btf *btf = bpf_object__btf(obj);
	const struct bpf_map *parked = bpf_object__find_map_by_name(obj, "async_ops");
	const struct bpf_map *hash = bpf_object__find_map_by_name(obj, "ios");
	unsigned int task = array_find(btf, "tasks", &l->tasks, &l->task_size, &l->n_tasks);
	unsigned int io = array_find(btf, "io_slots", &l->ios, &l->io_size, &l->n_ios);
	unsigned int async = btf__find_by_name_kind(btf, "async_op", BTF_KIND_STRUCT);
	const struct {
		unsigned int type;
		const char *path;
		size_t *at;
	} all[] = {
		{ task, "op.progress", &l->progress },
		{ task, "op.layer", &l->layer },
		{ task, "op.kind", &l->kind },
		{ task, "op.throttled", &l->throttled },
		{ task, "op.locked", &l->locked },
		{ task, "op.submitted", &l->submitted },
		{ task, "op.start", &l->start },
		{ task, "op.last_bio", &l->last_bio },
		{ task, "op.file.fs", &l->fs },
		{ task, "op.file.dev", &l->dev },
		{ task, "op.file.ino", &l->ino },
		{ task, "op.file.mode", &l->mode },
		{ task, "op.file.generation", &l->generation },
		{ task, "op.file.file", &l->file },
		{ task, "id", &l->id },
		{ task, "task", &l->task },
		{ task, "collisions", &l->collisions },
		{ task, "wait.off", &l->off },
		{ task, "wait.asleep", &l->asleep },
		{ task, "waking.at", &l->waking_at },
		{ task, "waking.asleep", &l->waking_asleep },
		{ io, "key", &l->key },
		{ io, "q", &l->q },
		{ io, "g", &l->g },
		{ io, "d", &l->d },
		{ io, "throttled", &l->io_throttled },
		{ io, "bio_based", &l->bio_based },
		{ async, "task", &l->async_task },
		{ async, "queued", &l->queued },
		{ async, "op", &l->async_op },
	};
	int err = task && io && (int)async > 0 && parked && hash ? 0 : -ENOENT;

	l->has_file = conf->file_details;
	l->has_names = conf->by == BY_FILE;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && !err; i++)
		err = path_find(btf, all[i].type, all[i].path, all[i].at);
	if (err)
		return err;
	l->async = conf->async ? bpf_map__fd(parked) : -1;
	l->async_size = bpf_map__value_size(parked);
	l->io_hash = bpf_map__fd(hash);
	return 0;
}
