// SPDX-License-Identifier: GPL-2.0-only
/* How the kernel is made to wait for programs: by replacing a map in a map. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "trace/grace.h"

static int made, made_fds[2], fail_at, first_at, replaced, replace_err;

/* Instead of the kernel's: descriptors that can be closed. */
int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size, __u32 value_size,
		   __u32 max_entries, const struct bpf_map_create_opts *opts)
{
	(void)name;
	assert_int_equal(key_size, 4);
	assert_int_equal(value_size, 4);
	assert_int_equal(max_entries, 1);
	assert_int_equal(type, made ? BPF_MAP_TYPE_ARRAY_OF_MAPS : BPF_MAP_TYPE_ARRAY);
	if (made)
		assert_int_equal(opts->inner_map_fd, made_fds[0]);
	if (++made == fail_at) {
		errno = EPERM;
		return -1;
	}
	if (made == first_at)
		close(0);
	return made_fds[made - 1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	assert_int_equal(fd, made_fds[1]);
	assert_int_equal(*(const unsigned int *)key, 0);
	assert_int_equal(*(const int *)value, made_fds[0]);
	assert_int_equal(flags, BPF_ANY);
	replaced++;
	errno = replace_err;
	return replace_err ? -1 : 0;
}

static int setup(void **state)
{
	(void)state;
	made = fail_at = first_at = replaced = replace_err = 0;
	return 0;
}

static void each_wait_replaces_the_map(void **state)
{
	struct grace g;

	(void)state;
	assert_int_equal(grace_open(&g), 0);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(grace_wait(&g), 0);
		assert_int_equal(replaced, i);
	}
	replace_err = ENOMEM;
	assert_int_equal(grace_wait(&g), -ENOMEM);
	grace_done(&g);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fcntl(made_fds[i], F_GETFD), -1);
	assert_int_equal(g.outer, -1);
	assert_int_equal(g.inner, -1);
	grace_done(&g);
}

/* If the caller closed stdin, one of the maps may have descriptor 0. */
static void descriptor_0_is_one_like_others(void **state)
{
	(void)state;
	for (first_at = 1; first_at <= 2; first_at++) {
		struct grace g;

		made = 0;
		assert_int_equal(grace_open(&g), 0);
		assert_int_equal(made_fds[first_at - 1], 0);
		assert_int_equal(grace_wait(&g), 0);
		grace_done(&g);
		for (int i = 0; i < 2; i++)
			assert_int_equal(fcntl(made_fds[i], F_GETFD), -1);
		assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
	}
}

static void what_cannot_be_made_leaves_nothing(void **state)
{
	struct grace g = { 7, 7 };

	(void)state;
	fail_at = 1;
	assert_int_equal(grace_open(&g), -EPERM);
	assert_int_equal(made, 1);
	assert_int_equal(g.outer, -1);
	made = 0;
	fail_at = 2;
	assert_int_equal(grace_open(&g), -EPERM);
	assert_int_equal(fcntl(made_fds[0], F_GETFD), -1);
	assert_int_equal(g.inner, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_wait_replaces_the_map, setup),
		cmocka_unit_test_setup(descriptor_0_is_one_like_others, setup),
		cmocka_unit_test_setup(what_cannot_be_made_leaves_nothing, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
