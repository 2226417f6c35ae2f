// SPDX-License-Identifier: GPL-2.0-only
/* The operations and requests of a recording that pass, by owner and by kind. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/reason.h"
#include "capture/writer.h"
#include "cell.h"
#include "common/recording_filter.h"

enum { MANY_FILES = 300, LATE_FILE = 7, SDA = 8 << 20, SDA1 = SDA | 1, SDB = SDA | 16, BTRFS = 42 };

static const char header[] =
	"{\"monotonic_ns\":1000,\"devices\":["
	"{\"name\":\"sda\",\"dev\":\"8:0\"},"
	"{\"name\":\"sda1\",\"dev\":\"8:1\",\"part_of\":\"sda\"},"
	"{\"name\":\"sda2\",\"dev\":\"8:2\",\"part_of\":\"sda\"},"
	"{\"name\":\"sdb\",\"dev\":\"8:16\"}],"
	"\"mounts\":[{\"dev\":\"0:42\",\"point\":\"/btrfs\",\"source\":\"/dev/sda1\"}]}";

static struct recording rec;

static void name(struct writer *w, struct stored_name n, const char *text, size_t len)
{
	n.text_len = len;
	writer_name(w, &n, text);
}

static void file(struct writer *w, uint64_t id, uint64_t dev, uint64_t flags, const char *names,
		 size_t len)
{
	name(w, (struct stored_name){ NAME_FILE, id, FILE_KEY(dev, 0, 3), 100 + id, flags, 0 },
	     names, len);
}

static void add_names(struct writer *w)
{
	name(w, (struct stored_name){ NAME_THREAD, 1, 11, 11, 5, 0 }, "dd", 2);
	name(w, (struct stored_name){ NAME_THREAD, 2, 22, 23, 6, 0 }, "postgres", 8);
	name(w, (struct stored_name){ NAME_THREAD, 3, 33, 33, 7, 0 }, "d", 1);
	name(w, (struct stored_name){ NAME_THREAD, 4, 44, 44, 7, 0 }, "fifteen-letters!", 16);
	name(w, (struct stored_name){ NAME_CGROUP, 5, 0, 0, 0, 0 }, "/a/b", 4);
	name(w, (struct stored_name){ NAME_CGROUP, 6, 0, 0, 0, 0 }, "/a/bc", 5);
	name(w, (struct stored_name){ NAME_DEVICE, SDA, 0, 0, 0, 0 }, "sda", 3);
	name(w, (struct stored_name){ NAME_DEVICE, SDA1, 0, 0, 0, 0 }, "sda1", 4);
	name(w, (struct stored_name){ NAME_DEVICE, SDB, 0, 0, 0, 0 }, "sdb", 3);
	name(w, (struct stored_name){ NAME_FS, STORED_FS_FIRST, 0, 0, 0, 0 }, "ext4", 4);
	file(w, 1, SDA1, STORED_FILE_COMPLETE, "f\0d", 4);
	file(w, 2, SDB, STORED_FILE_COMPLETE, "g\0d", 4);
	file(w, 3, BTRFS, STORED_FILE_COMPLETE, "h\0dd", 5);
	file(w, 4, SDA, 0, "f\0d", 4);
	file(w, 5, SDA, STORED_FILE_COMPLETE | STORED_FILE_UNMOUNTED, "f\0d", 4);
	file(w, 6, SDA, STORED_FILE_COMPLETE | STORED_FILE_DELETED, "f\0d", 4);
	file(w, LATE_FILE, SDA, STORED_FILE_NAMELESS | STORED_FILE_COMPLETE, "f\0d", 4);
	for (uint64_t id = LATE_FILE + 1; id < MANY_FILES; id++)
		file(w, id, SDA, STORED_FILE_COMPLETE, id % 2 ? "f\0d" : "g\0d", 4);
	for (uint64_t i = 0; i <= FILES_ALIKE; i++) { /* one too many to be told */
		char names[] = "many\0a";

		names[5] += i;
		file(w, MANY_FILES + i, SDA, STORED_FILE_COMPLETE, names, sizeof(names));
	}
}

static int recording_make(void **state)
{
	const struct stored_op op = { .start_ns = 2000, .owner = 1 };
	FILE *f = tmpfile();
	struct writer w = {};
	struct stored_event ev;
	struct reason why;

	if (!f || writer_begin(&w, fileno(f), header))
		return -1;
	add_names(&w);
	writer_op(&w, &op);
	writer_close(&w);
	while (!writer_end(&w, "{\"ended\":\"ended\"}"))
		;
	writer_done(&w);
	rewind(f);
	*state = f;
	if (recording_open(&rec, f, "test", &why))
		return -1;
	while (recording_next(&rec, &ev, &why) > 0)
		;
	return rec.catalog.n_files == MANY_FILES + FILES_ALIKE + 1 ? 0 : -1;
}

static int recording_end(void **state)
{
	recording_close(&rec);
	return fclose(*state);
}

static struct stored_event an_op(uint64_t owner, uint64_t file_id)
{
	return (struct stored_event){ .kind = CHUNK_OPS,
				      .op = { .owner = owner,
					      .file = file_id,
					      .kind = OP_READ,
					      .fs = STORED_FS_FIRST,
					      .strata = { 60, 40 } } };
}

static struct stored_event a_request(uint64_t owner, uint64_t dev)
{
	return (struct stored_event){ .kind = CHUNK_REQUESTS,
				      .request = { .owner = owner, .dev = dev } };
}

/* Sets of which of the threads, files and disks pass alone, bit 1 for the first. */
struct passed {
	unsigned int threads, rq_threads, files, disks;
};

static struct passed passed(const struct filters *given)
{
	static const unsigned int disks[] = { 0, SDA, SDB, SDA1, 9 << 20 };
	struct recording_filter f = { .given = *given };
	struct passed p = {};
	struct stored_event ev;

	recording_filter_init(&f);
	recording_filter_begin(&f);
	for (int i = 0; i < 4; i++) {
		ev = an_op(i, 1);
		p.threads |= (unsigned int)recording_filter_passes(&f, &rec, &ev) << i;
		ev = a_request(i, SDA);
		p.rq_threads |= (unsigned int)recording_filter_passes(&f, &rec, &ev) << i;
	}
	for (int twice = 0; twice < 2; twice++) {
		p.files = p.disks = 0;
		for (int i = 0; i <= LATE_FILE; i++) {
			ev = an_op(1, i);
			p.files |= (unsigned int)recording_filter_passes(&f, &rec, &ev) << i;
		}
		for (int i = 0; i < 5; i++) {
			ev = a_request(1, disks[i]);
			p.disks |= (unsigned int)recording_filter_passes(&f, &rec, &ev) << i;
		}
	}
	recording_filter_done(&f);
	return p;
}

static void check(struct filters given, struct passed want)
{
	struct passed got = passed(&given);

	assert_int_equal(got.threads, want.threads);
	assert_int_equal(got.rq_threads, want.rq_threads);
	assert_int_equal(got.files, want.files);
	assert_int_equal(got.disks, want.disks);
}

static void everything_passes_without_filters(void **state)
{
	(void)state;
	check((struct filters){}, (struct passed){ 15, 15, 255, 31 });
}

static void owners_pass_by_process_and_name(void **state)
{
	struct recording_filter long_name = { .given.comms = { { "fifteen-letters" }, 1 } };
	struct stored_event ev;

	(void)state;
	check((struct filters){ .pids = { { 11 }, 1 } }, (struct passed){ 2, 2, 255, 31 });
	check((struct filters){ .pids = { { 22, 11 }, 2 } }, (struct passed){ 6, 6, 255, 31 });
	check((struct filters){ .pids = { { 23 }, 1 } }, (struct passed){ 0, 0, 0, 0 });
	check((struct filters){ .comms = { { "dd" }, 1 } }, (struct passed){ 2, 2, 255, 31 });
	check((struct filters){ .comms = { { "postgres", "d" }, 2 } },
	      (struct passed){ 12, 12, 0, 0 });
	/* the kernel keeps 15 letters */
	ev = an_op(4, 1);
	assert_true(recording_filter_passes(&long_name, &rec, &ev));
	long_name.given.comms.at[0] = "fifteen-letterz";
	assert_false(recording_filter_passes(&long_name, &rec, &ev));
	/* both lists must let it pass */
	check((struct filters){ .pids = { { 22 }, 1 }, .comms = { { "dd" }, 1 } },
	      (struct passed){});
	check((struct filters){ .pids = { { 22, 33 }, 2 }, .comms = { { "d" }, 1 } },
	      (struct passed){ 8, 8, 0, 0 });
}

static void owners_pass_by_cgroup(void **state)
{
	static const char *const same[] = { "/a/b",
					    "a/b",
					    "a/b/",
					    "//a/b//",
					    "/sys/fs/cgroup/a/b",
					    "/sys/fs/cgroup/unified/a/b",
					    "/unified/a/b" };

	(void)state;
	for (int i = 0; i < 7; i++)
		check((struct filters){ .cgroups = { { same[i] }, 1 } },
		      (struct passed){ 2, 2, 255, 31 });
	check((struct filters){ .cgroups = { { "/sys/fs/cgroupa/b", "/unifieda/b" }, 2 } },
	      (struct passed){});
	check((struct filters){ .cgroups = { { "/a/b", "/a/bc" }, 2 } },
	      (struct passed){ 6, 6, 255, 31 });
	check((struct filters){ .cgroups = { { "/a" }, 1 } }, (struct passed){ 6, 6, 255, 31 });
	check((struct filters){ .cgroups = { { "/" }, 1 } }, (struct passed){ 6, 6, 255, 31 });
	check((struct filters){ .cgroups = { { "/a/b/c" }, 1 } }, (struct passed){});
	check((struct filters){ .cgroups = { { "/a/bc", "/z" }, 2 } },
	      (struct passed){ 4, 4, 0, 0 });
}

/* Files: 1 is on sda1, 2 on sdb, 3 on a btrfs of sda1, 4 to 7 on sda. */
static void disks_pass_with_their_partitions(void **state)
{
	(void)state;
	check((struct filters){ .disks = { { "sda" }, 1 } }, (struct passed){ 15, 15, 0xfa, 10 });
	check((struct filters){ .disks = { { "/dev/sda" }, 1 } },
	      (struct passed){ 15, 15, 0xfa, 10 });
	check((struct filters){ .disks = { { "sda1" }, 1 } }, (struct passed){ 15, 0, 0x0a, 8 });
	check((struct filters){ .disks = { { "sda2" }, 1 } }, (struct passed){ 0, 0, 0, 0 });
	check((struct filters){ .disks = { { "sdb" }, 1 } }, (struct passed){ 0, 0, 0x04, 4 });
	check((struct filters){ .disks = { { "sdb", "sda1" }, 2 } },
	      (struct passed){ 15, 0, 0x0e, 12 });
	check((struct filters){ .disks = { { "sd" }, 1 } }, (struct passed){});
	check((struct filters){ .disks = { { "sda" }, 1 }, .pids = { { 22 }, 1 } },
	      (struct passed){ 4, 4, 0, 0 });
}

/* Names that are not complete, or not of this hierarchy, are nobody's; a deleted file has one. */
static void files_pass_by_their_paths(void **state)
{
	(void)state;
	check((struct filters){ .files = { { "/d/f" }, 1 } }, (struct passed){ 15, 15, 0x42, 31 });
	check((struct filters){ .files = { { "/d" }, 1 } }, (struct passed){ 15, 15, 0x46, 31 });
	check((struct filters){ .files = { { "/d/" }, 1 } }, (struct passed){ 15, 15, 0x46, 31 });
	check((struct filters){ .files = { { "/dd", "/d/g" }, 2 } },
	      (struct passed){ 0, 15, 0x0c, 31 });
	check((struct filters){ .files = { { "/d/f/x" }, 1 } }, (struct passed){ 0, 15, 0, 31 });
	check((struct filters){ .files = { { "/" }, 1 } }, (struct passed){ 15, 15, 0x4e, 31 });
}

/* Of a copy of file 1 to file 3, the filters choose both files, one, or none. The operation belongs
 * to the file that is chosen. */
static void assert_copy(struct filters given, uint64_t file, uint64_t to, uint64_t fs)
{
	struct recording_filter f = { .given = given };
	struct stored_event ev = an_op(1, 1);

	ev.op.kind = OP_COPY;
	ev.op.copied_to = 3;
	ev.op.copied_fs = STORED_FS_BDEV;
	recording_filter_init(&f);
	recording_filter_begin(&f);
	assert_int_equal(recording_filter_passes(&f, &rec, &ev), !!file);
	recording_filter_done(&f);
	if (!file)
		return;
	assert_int_equal(ev.op.file, file);
	assert_int_equal(ev.op.copied_to, to);
	assert_int_equal(ev.op.fs, fs);
}

static void copies_pass_with_each_file(void **state)
{
	(void)state;
	assert_copy((struct filters){}, 1, 3, STORED_FS_FIRST);
	assert_copy((struct filters){ .files = { { "/d/f", "/dd/h" }, 2 } }, 1, 3, STORED_FS_FIRST);
	assert_copy((struct filters){ .files = { { "/d/f" }, 1 } }, 1, 0, STORED_FS_FIRST);
	assert_copy((struct filters){ .files = { { "/dd" }, 1 } }, 3, 0, STORED_FS_BDEV);
	assert_copy((struct filters){ .files = { { "/d/g" }, 1 } }, 0, 0, 0);
	assert_copy((struct filters){ .disks = { { "sda1" }, 1 } }, 1, 3, STORED_FS_FIRST);
	assert_copy((struct filters){ .files = { { "/dd" }, 1 }, .min_ns = 101 }, 0, 0, 0);
	assert_copy((struct filters){ .fs = { { "ext4" }, 1 } }, 1, 0, STORED_FS_FIRST);
	assert_copy((struct filters){ .fs = { { "xfs" }, 1 } }, 0, 0, 0);
}

/* A file recorded as /d/f was opened through a link to it, as far as this machine knows. */
static void links_lead_to_files(void **state)
{
	char link[128];

	(void)state;
	snprintf(link, sizeof(link), "%s/iostrata-unit.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	assert_true(mkstemp(link) >= 0);
	unlink(link);
	assert_int_equal(symlink("/", link), 0);
	check((struct filters){ .files = { { link }, 1 } }, (struct passed){ 15, 15, 0x4e, 31 });
	unlink(link);
}

/* A file with another path now is known by device, inode and generation, but not after a boot. */
static void files_pass_by_their_inode(void **state)
{
	struct recording_filter f = { .given = { .files = { { "/new" }, 1 } } };
	struct stored_event ev;

	(void)state;
	recording_filter_init(&f);
	strcpy(f.boot_id, "1234");
	for (int i = 0; i < 5; i++) {
		f.local_files[0] = (struct local_file){ FILE_KEY(SDA, 0, 3 + (i == 1)), 105 };
		f.local_files[0].ino -= i == 2;
		rec.header.boot_id = i == 3 ? "1235" : i == 4 ? NULL : "1234";
		recording_filter_begin(&f);
		ev = an_op(1, 5);
		assert_int_equal(recording_filter_passes(&f, &rec, &ev), i == 0);
	}
	rec.header.boot_id = NULL;
	recording_filter_done(&f);
}

/* "" if there is no hint. */
static const char *hint_of(const char *given, uint64_t file)
{
	struct recording_filter f = { .given = { .files = { { given }, 1 } } };
	struct stored_event ev = an_op(1, file);
	static char text[256];

	text[0] = '\0';
	recording_filter_init(&f);
	recording_filter_begin(&f);
	recording_filter_passes(&f, &rec, &ev);
	recording_filter_end(&f, &rec);
	recording_filter_end(&f, &rec); /* as for two recordings: each path is told once */
	recording_filter_hint(&f, text, sizeof(text));
	recording_filter_done(&f);
	return text;
}

static void files_with_the_same_name_are_told(void **state)
{
	(void)state;
	assert_string_equal(hint_of("/x/h", 1), "hint: recorded with this name: /dd/h");
	assert_string_equal(hint_of("/x/h//", 1), "hint: recorded with this name: /dd/h");
	assert_string_equal(hint_of("f", 2), "hint: recorded with this name: /d/f, .../d/f");
	assert_string_equal(hint_of("/d/f", 1), "");
	assert_string_equal(hint_of("/d/ff", 1), "");
	assert_string_equal(hint_of("/x/many", 1),
			    "hint: recorded with this name: /a/many, /b/many, /c/many");
	assert_string_equal(hint_of("/x/man", 1), "");
	assert_string_equal(hint_of("/", 0), "");
	assert_string_equal(hint_of("", 0), "");
}

/* Each file is looked at once, but for those whose name is not known yet. */
static void answers_are_kept_for_a_recording(void **state)
{
	struct recording_filter f = { .given = { .files = { { "/d/f" }, 1 } } };
	struct catalog_file *late = &rec.catalog.files[LATE_FILE];
	struct catalog_file before = *late;
	struct stored_event ev;

	(void)state;
	recording_filter_init(&f);
	recording_filter_begin(&f);
	for (int twice = 0; twice < 2; twice++)
		for (uint64_t id = LATE_FILE; id < MANY_FILES; id++) {
			ev = an_op(1, id);
			assert_int_equal(recording_filter_passes(&f, &rec, &ev),
					 id > LATE_FILE && id % 2);
		}
	*late = rec.catalog.files[1];
	ev = an_op(1, LATE_FILE);
	assert_true(recording_filter_passes(&f, &rec, &ev));
	*late = rec.catalog.files[2];
	assert_true(recording_filter_passes(&f, &rec, &ev)); /* remembered */
	recording_filter_begin(&f);
	assert_false(recording_filter_passes(&f, &rec, &ev));
	*late = before;
	recording_filter_done(&f);
}

/* As many are known as were read up to then. */
static void files_become_known(void **state)
{
	static const size_t known[] = { 100, 150, MANY_FILES };
	struct recording_filter f = {};
	struct recording part = rec;
	struct stored_event ev;

	(void)state;
	for (f.given.files.n = 0; f.given.files.n < OPT_LIST_MAX; f.given.files.n++)
		f.given.files.at[f.given.files.n] = "/d/f";
	recording_filter_init(&f);
	recording_filter_begin(&f);
	part.catalog.n_files = 1; /* none */
	ev = an_op(1, 0);
	assert_false(recording_filter_passes(&f, &part, &ev));
	for (int i = 0; i < 3; i++) {
		part.catalog.n_files = known[i];
		for (uint64_t id = LATE_FILE + 1; id < MANY_FILES; id++) {
			ev = an_op(1, id);
			if (id < known[i])
				assert_int_equal(recording_filter_passes(&f, &part, &ev), id % 2);
		}
	}
	recording_filter_done(&f);
}

static void disks_are_others_in_another_recording(void **state)
{
	struct recording_filter f = { .given = { .disks = { { "sda" }, 1 } } };
	struct stored_event ev = a_request(1, SDA);
	struct recording other = rec;

	(void)state;
	other.catalog.devices = NULL;
	recording_filter_init(&f);
	recording_filter_begin(&f);
	assert_true(recording_filter_passes(&f, &rec, &ev));
	assert_true(recording_filter_passes(&f, &other, &ev)); /* remembered */
	recording_filter_begin(&f);
	assert_false(recording_filter_passes(&f, &other, &ev));
	ev = a_request(1, 1);
	assert_false(recording_filter_passes(&f, &rec, &ev));
	ev = a_request(1, SDA);
	assert_false(recording_filter_passes(&f, &other, &ev));
	recording_filter_done(&f);
}

static void operations_pass_by_kind_type_and_time(void **state)
{
	struct stored_event ev = an_op(1, 1);

	(void)state;
	check((struct filters){ .ops = 1 << OP_READ }, (struct passed){ 15, 15, 255, 31 });
	check((struct filters){ .ops = 1 << OP_READ | 1 << OP_OPEN },
	      (struct passed){ 15, 15, 255, 31 });
	check((struct filters){ .ops = 1 << OP_WRITE }, (struct passed){ 0, 15, 0, 31 });
	check((struct filters){ .fs = { { "ext4" }, 1 } }, (struct passed){ 15, 15, 255, 31 });
	check((struct filters){ .fs = { { "ext" }, 1 } }, (struct passed){ 0, 15, 0, 31 });
	check((struct filters){ .min_ns = 100 }, (struct passed){ 15, 15, 255, 31 });
	check((struct filters){ .min_ns = 101 }, (struct passed){ 0, 15, 0, 31 });
	for (int kind = 0; kind < OP_N + 40; kind++) {
		struct recording_filter f = { .given = { .ops = ~0U } };

		ev.op.kind = kind;
		recording_filter_begin(&f);
		assert_int_equal(recording_filter_passes(&f, &rec, &ev), kind < OP_N);
		recording_filter_done(&f);
	}
	ev.kind = CHUNK_LOSSES;
	assert_false(recording_filter_passes(&(struct recording_filter){}, &rec, &ev));
}

static const struct opt_group groups[] = { { "Whose I/O", filter_opts, 0 }, {} };
static const struct opt_table table = { .name = "test", .summary = "tests", .groups = groups };

/* A filter that report accepts and ignores would show all I/O as the chosen part. */
static void each_filter_leaves_something_out(void **state)
{
	struct stored_event ev = an_op(1, 1);
	struct opts_result res = {};
	struct reason why;

	(void)state;
	for (const struct opt *o = filter_opts; o->long_name; o++) {
		struct recording_filter none = {}, some = {};
		char option[64], value[] = "7", close[] = "close", command[] = "test";
		char *argv[] = { command, option, o->known ? close : value, NULL };

		snprintf(option, sizeof(option), "--%s", o->long_name);
		assert_int_equal(opts_parse(&table, 3, argv, &some.given, &res), 0);
		assert_int_equal(filters_ops(&some.given, &why), 0);
		recording_filter_init(&some);
		assert_true(recording_filter_passes(&none, &rec, &ev));
		if (recording_filter_passes(&some, &rec, &ev))
			fail_msg("recordings ignore %s", option);
		recording_filter_done(&none);
		recording_filter_done(&some);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_passes_without_filters),
		cmocka_unit_test(each_filter_leaves_something_out),
		cmocka_unit_test(owners_pass_by_process_and_name),
		cmocka_unit_test(owners_pass_by_cgroup),
		cmocka_unit_test(disks_pass_with_their_partitions),
		cmocka_unit_test(files_pass_by_their_paths),
		cmocka_unit_test(copies_pass_with_each_file),
		cmocka_unit_test(links_lead_to_files),
		cmocka_unit_test(files_pass_by_their_inode),
		cmocka_unit_test(files_with_the_same_name_are_told),
		cmocka_unit_test(answers_are_kept_for_a_recording),
		cmocka_unit_test(files_become_known),
		cmocka_unit_test(disks_are_others_in_another_recording),
		cmocka_unit_test(operations_pass_by_kind_type_and_time),
	};

	return cmocka_run_group_tests(tests, recording_make, recording_end);
}
