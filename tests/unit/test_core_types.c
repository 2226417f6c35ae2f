// SPDX-License-Identifier: GPL-2.0-only
/* The small BTF for relocations: what is in it of a larger one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <bpf/btf.h>

#include "trace/core_types.h"

/* struct task { int pid; const struct inner inner; struct far *far; const struct inner four[4]; },
 * and others. */
static struct btf *kernel_types(void)
{
	struct btf *btf = btf__new_empty();
	int num = btf__add_int(btf, "int", 4, BTF_INT_SIGNED), inner, far, pointer, constant, four;

	btf__add_struct(btf, "not_asked_for", 4);
	btf__add_field(btf, "pid", num, 0, 0);
	inner = btf__add_struct(btf, "inner", 8);
	btf__add_field(btf, "first", num, 0, 0);
	btf__add_field(btf, "second", num, 32, 0);
	far = btf__add_struct(btf, "far", 4);
	btf__add_field(btf, "value", num, 0, 0);
	pointer = btf__add_ptr(btf, far);
	constant = btf__add_const(btf, inner);
	four = btf__add_array(btf, num, constant, 4);
	btf__add_struct(btf, "task", 56);
	btf__add_field(btf, "pid", num, 0, 0);
	btf__add_field(btf, "inner", constant, 32, 0);
	btf__add_field(btf, "far", pointer, 128, 0);
	btf__add_field(btf, "four", four, 192, 0);
	btf__add_enum(btf, "colour", 4);
	btf__add_enum_value(btf, "RED", 3);
	btf__add_enum_value(btf, "GREEN", 7);
	return btf;
}

/* The types made for the one type which the programs name: "task", "task___old" or "colour". */
static struct btf *made(const char *named, bool is_enum)
{
	struct btf *kernel = kernel_types(), *local = btf__new_empty(), *btf;
	size_t len = 0;
	void *bytes;

	if (is_enum)
		btf__add_enum(local, named, 4);
	else
		btf__add_struct(local, named, 4);
	bytes = core_types_make(kernel, local, &len);
	assert_non_null(bytes);
	btf = btf__new(bytes, len);
	assert_non_null(btf);
	free(bytes);
	btf__free(local);
	btf__free(kernel);
	return btf;
}

static void holds_what_members_are(void **state)
{
	struct btf *btf = made("task", false);
	int id = btf__find_by_name_kind(btf, "task", BTF_KIND_STRUCT);
	int inner = btf__find_by_name_kind(btf, "inner", BTF_KIND_STRUCT);
	const struct btf_type *t = btf__type_by_id(btf, id), *at;

	(void)state;
	assert_int_equal(btf_vlen(t), 4);
	assert_string_equal(btf__name_by_offset(btf, btf_members(t)[1].name_off), "inner");
	assert_int_equal(btf_member_bit_offset(t, 1), 32);
	at = btf__type_by_id(btf, btf_members(t)[1].type);
	assert_true(btf_is_const(at));
	assert_int_equal(at->type, inner);
	assert_int_equal(btf_vlen(btf__type_by_id(btf, inner)), 2);
	assert_int_equal(btf__resolve_size(btf, btf_members(t)[3].type), 32);
	btf__free(btf);
}

static void pointers_are_to_nothing(void **state)
{
	struct btf *btf = made("task", false);
	int id = btf__find_by_name_kind(btf, "task", BTF_KIND_STRUCT);
	const struct btf_type *t = btf__type_by_id(btf, id);
	const struct btf_type *far = btf__type_by_id(btf, btf_members(t)[2].type);

	(void)state;
	assert_true(btf_is_ptr(far));
	assert_int_equal(far->type, 0);
	assert_true(btf__find_by_name_kind(btf, "far", BTF_KIND_STRUCT) < 0);
	assert_true(btf__find_by_name_kind(btf, "not_asked_for", BTF_KIND_STRUCT) < 0);
	assert_true(btf__find_by_name_kind(btf, "colour", BTF_KIND_ENUM) < 0);
	btf__free(btf);
}

static void flavors_have_the_name_before(void **state)
{
	struct btf *btf = made("task___5_14", false);

	(void)state;
	assert_true(btf__find_by_name_kind(btf, "task", BTF_KIND_STRUCT) > 0);
	btf__free(btf);
}

static void enums_have_their_values(void **state)
{
	struct btf *btf = made("colour___any", true);
	int id = btf__find_by_name_kind(btf, "colour", BTF_KIND_ENUM);
	const struct btf_type *t = btf__type_by_id(btf, id);

	(void)state;
	assert_int_equal(btf_vlen(t), 2);
	assert_string_equal(btf__name_by_offset(btf, btf_enum(t)[1].name_off), "GREEN");
	assert_int_equal(btf_enum(t)[1].val, 7);
	assert_int_equal(btf__type_cnt(btf), 2);
	btf__free(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_what_members_are),
		cmocka_unit_test(pointers_are_to_nothing),
		cmocka_unit_test(flavors_have_the_name_before),
		cmocka_unit_test(enums_have_their_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
