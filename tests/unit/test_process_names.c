// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of frames that a process alone can name: code objects of Python in memory that is made up,
 * their tables of lines, and perf maps of this process.
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "event.h"
#include "stacks/perf_map.h"
#include "stacks/process_frames.h"
#include "stacks/process_names.h"
#include "stacks/python_code.h"

/* The table of a code object whose first line is 17: an entry in each form. A unit is an
 * instruction. */
static const unsigned char lines[] = {
	0x80,     0x00,              /* 1 unit: 17, short */
	0xd8 | 1, 0x0d,        0x12, /* 2 units: line + 1 (kind 11) */
	0xe0 | 2, 0x08,        0x18, /* 3 units: line + 2 (kind 12) */
	0xe8 | 0, 0x03,              /* 1 unit: line - 1 (kind 13) */
	0xf8 | 0,                    /* 1 unit: no line */
	0xf0 | 0, 0x60 | 0x0a, 0x03,
	0,        1,           1,    /* 1 unit: line + 117 (kind 14: 0x2a | 3 << 6, halved) */
	0xd0 | 7, 0x00,        0x01, /* 8 units: same line (kind 10) */
};

static void lines_of_python(void **state)
{
	static const unsigned int all[] = { 17, 18, 18, 20, 20, 20, 19, 0, 136, 136 };

	(void)state;
	for (unsigned int i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_int_equal(python_line(lines, sizeof(lines), 17, i), all[i]);
	assert_int_equal(python_line(lines, sizeof(lines), 17, 16), 136);
	assert_int_equal(python_line(lines, sizeof(lines), 17, 17), 0); /* beyond the code */
	assert_int_equal(python_line(lines, 13, 17, 8), 0);             /* cut within a number */
	assert_int_equal(python_line(lines, 0, 17, 0), 0);
	assert_int_equal(python_line(lines, sizeof(lines), INT32_MAX, 1), 0);
	assert_int_equal(python_line(lines, sizeof(lines), -40, 0), 0);
}

/* The memory of a process that runs Python: addresses begin at BASE. */
enum { BASE = 0x10000, CODE = 0x100, TYPE_CODE = 0x400, TYPE_STR = 0x500, TYPE_BYTES = 0x600 };

static unsigned char memory[0x2000];
static enum python_version version = PYTHON_3_11;

static bool memory_read(void *arg, uint64_t at, void *to, size_t len)
{
	(void)arg;
	if (at < BASE || len > sizeof(memory) || at - BASE > sizeof(memory) - len)
		return false;
	memcpy(to, memory + (at - BASE), len);
	return true;
}

static void put(unsigned int at, uint64_t word)
{
	memcpy(memory + at, &word, sizeof(word));
}

static void type_is(unsigned int at, const char *name)
{
	put(at + 24, BASE + at + 64);
	strcpy((char *)memory + at + 64, name);
}

/* A text object of @n characters of @width bytes. */
static void text_is(unsigned int at, const void *text, size_t n, unsigned int width, bool ascii)
{
	put(at + 8, BASE + TYPE_STR);
	put(at + 16, n);
	memory[at + 32] = width << 2 | 1 << 5 | ascii << 6;
	if (version == PYTHON_3_11)
		memcpy(memory + at + (ascii ? 48 : 72), text, n * width);
	else
		memcpy(memory + at + (ascii ? 40 : 56), text, n * width);
}

static void code_is(void)
{
	unsigned int first = 17;

	memset(memory, 0, sizeof(memory));
	type_is(TYPE_CODE, "code");
	type_is(TYPE_STR, "str");
	type_is(TYPE_BYTES, "bytes");
	put(CODE + 8, BASE + TYPE_CODE);
	memcpy(memory + CODE + (version == PYTHON_3_11 ? 72 : 68), &first, sizeof(first));
	put(CODE + 112, BASE + 0x800);
	put(CODE + 128, BASE + 0x1000);
	put(CODE + 136, BASE + 0x1800);
	text_is(0x800, "/app/loader.py", 14, 1, true);
	text_is(0x1000, "Loader.load_rows", 16, 1, true);
	put(0x1800 + 8, BASE + TYPE_BYTES);
	put(0x1800 + 16, sizeof(lines));
	memcpy(memory + 0x1800 + 32, lines, sizeof(lines));
}

static bool code_named(unsigned int place, struct frame_name *name)
{
	return python_code_name(STACK_PYTHON_FRAME(version, (uint64_t)BASE + CODE, place),
				memory_read, NULL, name);
}

static void code_of_python(void **state)
{
	static const uint16_t wide[] = { 'l', 0xe4, 0x20ac };
	static const uint32_t wider[] = { 'x', 0x1f600 };
	struct frame_name name;

	(void)state;
	code_is();
	assert_true(code_named(4, &name));
	assert_string_equal(name.function, "Loader.load_rows");
	assert_string_equal(name.source, "/app/loader.py");
	assert_int_equal(name.line, 20);
	assert_true(code_named(STACK_PYTHON_PLACES, &name));
	assert_int_equal(name.line, 0);
	text_is(0x1000, "\xe4h", 2, 1, false);
	assert_true(code_named(0, &name));
	assert_string_equal(name.function, "\xc3\xa4h");
	text_is(0x1000, wide, 3, 2, false);
	assert_true(code_named(0, &name));
	assert_string_equal(name.function, "l\xc3\xa4\xe2\x82\xac");
	text_is(0x1000, wider, 2, 4, false);
	assert_true(code_named(0, &name));
	assert_string_equal(name.function, "x\xf0\x9f\x98\x80");
}

static void code_of_later_python(void **state)
{
	struct frame_name name;

	(void)state;
	for (version = PYTHON_3_12; version < PYTHON_N; version++) {
		code_is();
		assert_true(code_named(4, &name));
		assert_string_equal(name.function, "Loader.load_rows");
		assert_string_equal(name.source, "/app/loader.py");
		assert_int_equal(name.line, 20);
		text_is(0x1000, "\xe4h", 2, 1, false);
		assert_true(code_named(0, &name));
		assert_string_equal(name.function, "\xc3\xa4h");
	}
	version = PYTHON_3_11;
}

/* What is no code object, or is damaged, has no name; nothing is read beyond limits. */
static void hostile_code_of_python(void **state)
{
	struct frame_name name;

	(void)state;
	code_is();
	type_is(TYPE_CODE, "cod");
	assert_false(code_named(4, &name));
	code_is();
	put(CODE + 8, 0);
	assert_false(code_named(4, &name));
	code_is();
	type_is(TYPE_STR, "dict");
	assert_false(code_named(4, &name));
	code_is();
	memory[0x1000 + 32] = 5 << 2 | 1 << 5; /* characters of 5 bytes */
	assert_false(code_named(4, &name));
	code_is();
	memory[0x1000 + 32] = 1 << 2; /* characters elsewhere */
	assert_false(code_named(4, &name));
	code_is();
	put(0x1000 + 16, ~0ULL); /* a text that is longer than its memory is cut */
	assert_true(code_named(4, &name));
	code_is();
	put(0x1800 + 16, ~0ULL);
	assert_true(code_named(4, &name));
	assert_int_equal(name.line, 0);
	code_is();
	type_is(TYPE_BYTES, "list");
	assert_true(code_named(4, &name));
	assert_int_equal(name.line, 0);
	assert_false(python_code_name(STACK_PYTHON_FRAME(7, (uint64_t)BASE + CODE, 4), memory_read,
				      NULL, &name));
}

static void map_of(struct perf_map *m, const char *text)
{
	int fd = memfd_create("map", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(perf_map_read(m, fd), 0);
	close(fd);
}

static void perf_maps(void **state)
{
	struct perf_map m;

	(void)state;
	map_of(&m, "1000 100 first\n"
		   "3000 80 third one\n"
		   "0x2000 0x10 second\n"
		   "1080 10 newer\n"
		   "zz 10 no\n"
		   "5000 0 empty\n"
		   "6000 -1 no\n"
		   "ffffffffffffff00 fff beyond\n"
		   "\n"
		   "7000 10\n"
		   "1000 8 newest\n"
		   "8000 10 cut off");
	assert_int_equal(m.n, 5);
	assert_string_equal(perf_map_find(&m, 0x1050), "first");
	assert_string_equal(perf_map_find(&m, 0x1085), "newer");
	assert_string_equal(perf_map_find(&m, 0x1090), "first");
	assert_string_equal(perf_map_find(&m, 0x1007), "newest");
	assert_string_equal(perf_map_find(&m, 0x200f), "second");
	assert_string_equal(perf_map_find(&m, 0x3000), "third one");
	assert_null(perf_map_find(&m, 0x2010));
	assert_null(perf_map_find(&m, 0xfff));
	assert_null(perf_map_find(&m, 0x8000));
	perf_map_done(&m);
	map_of(&m, "");
	assert_null(perf_map_find(&m, 0));
	perf_map_done(&m);
}

static void names_in_perf_maps(void **state)
{
	static const struct {
		const char *text, *function, *source;
		unsigned int line;
	} all[] = {
		{ "JS:*saveRows /app/my store.js:4:18", "saveRows", "/app/my store.js", 4 },
		{ "LazyCompile:~get size file:///a.mjs:12:5", "get size", "/a.mjs", 12 },
		{ "JS:^fdatasyncSync node:fs:1292:23", "fdatasyncSync", "node:fs", 1292 },
		{ "JS:~ /app/store.js:1:1", "(anonymous)", "/app/store.js", 1 },
		{ "JS:*lone", "lone", "", 0 },
		{ "JS:*odd :", "odd", "", 0 },
		{ "JS:", "", "", 0 },
		{ "void Store.down(int, boolean)", "Store.down", "", 0 },
		{ "void java.io.FileDescriptor.sync()", "java.io.FileDescriptor.sync", "", 0 },
		{ "Interpreter", "Interpreter", "", 0 },
		{ "(odd)", "(odd)", "", 0 },
		{ "two words", "two words", "", 0 },
	};
	struct frame_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		perf_map_name(all[i].text, &name);
		assert_string_equal(name.function, all[i].function);
		assert_string_equal(name.source, all[i].source);
		assert_int_equal(name.line, all[i].line);
	}
}

static const char *map_path(char path[64])
{
	snprintf(path, 64, "/tmp/perf-%d.map", getpid());
	return path;
}

static void map_write(const char *text)
{
	char path[64];
	FILE *f = fopen(map_path(path), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void name_is(struct process_names *p, unsigned int number, const char *function)
{
	struct frame_name name;

	process_names_name(p, number, &name);
	assert_string_equal(name.function, function);
}

/* Notes a frame at @at of this process. */
static void frame_note(struct process_names *p, unsigned int number, unsigned long long at)
{
	const struct process_frame f = { .pid = getpid(), .frame = STACK_FRAME(0ULL, at) };

	process_names_note(p, number, &f);
}

/* A map is read when a name is asked for, and again for frames that were noted since. It may belong
 * to the process's user, but may be no link and nothing else than a file. */
static void a_perf_map_of_this_process(void **state)
{
	struct process_names *p = process_names_new();
	char path[64], other[80];

	(void)state;
	assert_non_null(p);
	unlink(map_path(path));
	frame_note(p, 1, 0x1004);
	frame_note(p, 2, 0x2004);
	name_is(p, 1, "");
	map_write("1000 10 save_rows\n");
	name_is(p, 1, "save_rows");
	name_is(p, 2, "");
	map_write("1000 10 save_rows\n2000 10 save_index\n");
	frame_note(p, 3, 0x2004);
	name_is(p, 3, "save_index");
	name_is(p, 4, "");
	name_is(p, PROCESS_FRAMES_MOST, "");
	frame_note(p, 4, 0x2004);
	snprintf(other, sizeof(other), "%s.other", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	name_is(p, 4, "");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	name_is(p, 4, "");
	assert_int_equal(unlink(path), 0);
	if (!geteuid()) {
		assert_int_equal(chown(other, 4711, 4711), 0);
		assert_int_equal(rename(other, path), 0);
		name_is(p, 4, "");
		assert_int_equal(chown(path, 0, 0), 0);
		name_is(p, 4, "save_index");
		unlink(path);
	}
	unlink(other);
	process_names_free(p);
	process_names_free(NULL);
}

/* A process below the root directory @root, with other numbers of processes, and as effective user
 * 4711. Returns 0 if it may not be there. */
static pid_t process_elsewhere(const char *root)
{
	int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC), ready[2];
	pid_t pid;
	char c;

	assert_true(own >= 0 && !pipe(ready));
	pid = geteuid() || unshare(CLONE_NEWPID) ? 0 : fork();
	if (!pid && getpid() == 1) {
		if (!chroot(root) && !seteuid(4711) && !prctl(PR_SET_PDEATHSIG, SIGKILL))
			write(ready[1], "", 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	if (pid) {
		assert_int_equal(setns(own, CLONE_NEWPID), 0);
		assert_int_equal(read(ready[0], &c, 1), 1);
	}
	close(ready[0]);
	close(own);
	return pid;
}

/* The map is in the process's /tmp, has the number that the process sees, and belongs to its
 * effective user. Where /tmp is a link, it may lead out of the process's root directory. */
static void a_perf_map_of_a_process_elsewhere(void **state)
{
	char root[] = "/tmp/test_process_names.XXXXXX", tmp[64], map[96], other[64];
	struct process_frame f = { .frame = STACK_FRAME(0ULL, 0x1004ULL) };
	struct process_names *p = process_names_new();
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(root));
	f.pid = process_elsewhere(root);
	snprintf(tmp, sizeof(tmp), "%s/tmp", root);
	snprintf(other, sizeof(other), "%s/other", root);
	snprintf(map, sizeof(map), "%s/perf-1.map", tmp);
	assert_int_equal(mkdir(tmp, 0700), 0);
	file = fopen(map, "w");
	assert_non_null(file);
	fputs("1000 10 save_rows\n", file);
	fclose(file);
	if (f.pid) {
		assert_int_equal(chown(map, 4711, 4711), 0);
		process_names_note(p, 1, &f);
		name_is(p, 1, "save_rows");
		assert_int_equal(rename(tmp, other), 0);
		assert_int_equal(symlink(other, tmp), 0);
		f.process_start = 1; /* another one with the same number */
		process_names_note(p, 2, &f);
		name_is(p, 2, "");
		assert_int_equal(unlink(tmp) || rename(other, tmp), 0);
		assert_int_equal(kill(f.pid, SIGKILL), 0);
		waitpid(f.pid, NULL, 0);
	}
	process_names_free(p);
	unlink(map);
	rmdir(tmp);
	rmdir(root);
	if (!f.pid)
		skip(); /* only root may make such a process */
}

/* One reading is enough for all frames, however many are asked for: the map of a busy process
 * grows all the time. */
static void a_perf_map_is_read_once(void **state)
{
	struct process_names *p = process_names_new();
	char path[64];

	(void)state;
	assert_non_null(p);
	frame_note(p, 1, 0x1004);
	frame_note(p, 2, 0x2004);
	map_write("1000 10 save_rows\n2000 10 save_index\n");
	name_is(p, 1, "save_rows");
	map_write("1000 10 other\n2000 10 other\n");
	name_is(p, 2, "save_index");
	unlink(map_path(path));
	process_names_free(p);
}

/* A process that has a lease on its map could let the reader wait for 45 s. */
static void a_lease_on_a_perf_map(void **state)
{
	struct process_names *p = process_names_new();
	char path[64];
	int fd;

	(void)state;
	assert_non_null(p);
	frame_note(p, 1, 0x1004);
	map_write("1000 10 save_rows\n");
	fd = open(map_path(path), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	signal(SIGIO, SIG_IGN);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
	alarm(7);
	name_is(p, 1, "");
	alarm(0);
	close(fd);
	name_is(p, 1, "save_rows");
	unlink(path);
	process_names_free(p);
}

/* Another user may have root's file in the place of the map, by a mount in his own namespace. It is
 * read only if he may read it. */
static void a_perf_map_that_its_user_may_not_read(void **state)
{
	struct process_names *p = process_names_new();
	struct process_frame f = { .frame = STACK_FRAME(0ULL, 0x1004) };
	char path[64];
	pid_t child;

	(void)state;
	assert_non_null(p);
	if (geteuid()) { /* cannot be another user */
		process_names_free(p);
		skip();
	}
	child = fork();
	if (!child) {
		if (!setuid(4711) && !prctl(PR_SET_PDEATHSIG, SIGKILL))
			raise(SIGSTOP);
		_exit(1);
	}
	assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
	map_write("1000 10 secret\n");
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", child);
	assert_int_equal(rename(map_path((char[64]){ "" }), path), 0);
	assert_int_equal(chmod(path, 0600), 0);
	f.pid = child;
	process_names_note(p, 1, &f);
	name_is(p, 1, "");
	assert_int_equal(chmod(path, 0644), 0);
	name_is(p, 1, "secret");
	unlink(path);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	process_names_free(p);
}

/* Frames of two processes are two, even at one address; there is an end to their number. */
static void frames_of_processes(void **state)
{
	struct process_frame f = { .pid = 11, .frame = 0x1004, .process_start = 1 };
	struct process_frames all = {};
	unsigned long long a, b, c;

	(void)state;
	assert_true(process_frame_is(0x1004));
	assert_true(process_frame_is(STACK_PYTHON_FRAME(PYTHON_3_11, 0x7fff0000ULL, 1)));
	assert_false(process_frame_is(STACK_FRAME(7ULL, 0x1004)));
	assert_int_equal(process_frames_number(&all, &f, &a), 0);
	f.process_start = 2;
	assert_int_equal(process_frames_number(&all, &f, &b), 0);
	f.process_start = 1;
	assert_int_equal(process_frames_number(&all, &f, &c), 0);
	assert_int_equal(a, STACK_FRAME((unsigned long long)STACK_OF_PROCESS, 1));
	assert_int_equal(b, STACK_FRAME((unsigned long long)STACK_OF_PROCESS, 2));
	assert_int_equal(c, a);
	assert_int_equal(process_frames_get(&all, 2)->process_start, 2);
	for (f.frame = 1; f.frame < 2 * PROCESS_FRAMES_MOST; f.frame++)
		assert_int_equal(process_frames_number(&all, &f, &a), 0);
	assert_int_equal(a, STACK_FRAME((unsigned long long)STACK_OF_PROCESS, 0));
	assert_int_equal(all.n, PROCESS_FRAMES_MOST - 1);
	assert_null(process_frames_get(&all, 0));
	assert_null(process_frames_get(&all, PROCESS_FRAMES_MOST));
	process_frames_done(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_python),
		cmocka_unit_test(code_of_python),
		cmocka_unit_test(code_of_later_python),
		cmocka_unit_test(hostile_code_of_python),
		cmocka_unit_test(perf_maps),
		cmocka_unit_test(names_in_perf_maps),
		cmocka_unit_test(a_perf_map_of_this_process),
		cmocka_unit_test(a_perf_map_of_a_process_elsewhere),
		cmocka_unit_test(a_perf_map_is_read_once),
		cmocka_unit_test(a_lease_on_a_perf_map),
		cmocka_unit_test(a_perf_map_that_its_user_may_not_read),
		cmocka_unit_test(frames_of_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
