// SPDX-License-Identifier: GPL-2.0-only
/* The servers of file systems, by type and source of their mounts. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/protocols.h"
#include "capture/header.h"
#include "cell.h"
#include "host/mounts.h"

static void servers_of_mounts(void **state)
{
	static const struct {
		const char *fs, *type, *source, *want;
	} cases[] = {
		{ "nfs4", "nfs4", "10.0.0.7:/home", "10.0.0.7" },
		{ "nfs", "nfs", "[fe80::1]:/", "[fe80::1]" },
		{ "cifs", "cifs", "//nas.example/share/dir", "nas.example" },
		{ "smb3", "smb3", "//nas.example", "nas.example" },
		{ "ceph", "ceph", "10.0.0.1,10.0.0.2:/", "10.0.0.1,10.0.0.2" },
		{ "9p", "9p", "tag", "tag" },
		{ "virtiofs", "virtiofs", "tag", "tag" },
		{ "fuse", "fuse.sshfs", "ann@host:/srv/ann", "sshfs ann@host" },
		{ "fuse", "fuse.sshfs", "ann@host:", "sshfs ann@host" },
		{ "fuse", "fuse.bindfs", "/srv/a", "bindfs /srv/a" },
		{ "fuse", "fuse", "fuser", "fuser" },
		{ "fuseblk", "fuseblk", "/dev/sdb1", "/dev/sdb1" },
		{ "fuse", NULL, NULL, "(not known)" },
		{ "nfs4", "nfs4", "", "(not known)" },
		{ "ext4", "ext4", "/dev/sda1", "(no server)" },
		{ "", NULL, NULL, "(no server)" },
	};
	char text[SERVER_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mount_server(text, cases[i].fs, cases[i].type, cases[i].source);
		assert_string_equal(text, cases[i].want);
	}
}

static void names_of_mounts(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = { "/mnt", "/mnt/", "10.0.0.7:/home",
						     "10.0.0.7" };

		assert_true(mount_is_named(names[i], "nfs4", "/mnt", "10.0.0.7:/home"));
	}
	assert_false(mount_is_named("/mn", "nfs4", "/mnt", "10.0.0.7:/home"));
	assert_false(mount_is_named("/mnt/a", "nfs4", "/mnt", "10.0.0.7:/home"));
	assert_false(mount_is_named("", "nfs4", "/mnt", "10.0.0.7:/home"));
	assert_true(mount_is_named("/", "ext4", "/", "/dev/sda1"));
	assert_true(mount_is_named("sshfs ann@host", "fuse.sshfs", "/mnt", "ann@host:/a"));
	assert_false(mount_is_named("(no server)", "ext4", "/mnt", "/dev/sda1"));
}

/* A source of any length is cut, and still a text. */
static void long_sources(void **state)
{
	char source[4 * SERVER_TEXT], text[SERVER_TEXT];

	(void)state;
	memset(source, 'a', sizeof(source));
	source[sizeof(source) - 1] = '\0';
	mount_server(text, "fuse", "fuse.x", source);
	assert_int_equal(strlen(text), SERVER_TEXT - 1);
}

static void numbers_of_servers(void **state)
{
	(void)state;
	assert_true(mount_server_number("10.0.0.7") == mount_server_number("10.0.0.7"));
	assert_true(mount_server_number("10.0.0.7") != mount_server_number("10.0.0.8"));
}

/* The mounts of the recorded machine. */
static void servers_in_recordings(void **state)
{
	static const char json[] =
		"{\"schema\":\"iostrata.capture/1\",\"mounts\":[{\"dev\":\"0:52\","
		"\"type\":\"nfs4\",\"source\":\"10.0.0.7:/home\",\"root\":\"/\","
		"\"point\":\"/mnt\"}]}";
	char text[SERVER_TEXT];
	struct header h = {};

	(void)state;
	assert_int_equal(header_parse(&h, json, strlen(json)), 0);
	header_server(&h, DEV_OF(0, 52), "nfs4", text);
	assert_string_equal(text, "10.0.0.7");
	header_server(&h, DEV_OF(0, 53), "nfs4", text);
	assert_string_equal(text, "(not known)");
	header_server(&h, DEV_OF(0, 53), "ext4", text);
	assert_string_equal(text, "(no server)");
	header_done(&h);
}

/* Mounts of a device of 9p: of its root, not of a directory in it, nor of another type. */
static void mounts_of_a_9p_device(void **state)
{
	struct mount list[] = {
		{ .type = "virtiofs", .source = "home", .root = "/", .point = "/a" },
		{ .type = "9p", .source = "home2", .root = "/", .point = "/b" },
		{ .type = "9p", .source = "home", .root = "/ann", .point = "/c" },
		{ .type = "9p", .source = "home", .root = "/", .point = "/d" },
		{ .type = "9p", .source = "home", .root = "/", .point = "/e" },
	};
	struct mounts mounts = { .list = list, .n = 5 };

	(void)state;
	assert_string_equal(mounts_by_source(&mounts, SERVER_9P, "home")->point, "/d");
	assert_null(mounts_by_source(&mounts, SERVER_9P, ""));
	mounts.n = 3;
	assert_null(mounts_by_source(&mounts, SERVER_9P, "home"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_of_mounts),     cmocka_unit_test(names_of_mounts),
		cmocka_unit_test(long_sources),          cmocka_unit_test(numbers_of_servers),
		cmocka_unit_test(servers_in_recordings), cmocka_unit_test(mounts_of_a_9p_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
