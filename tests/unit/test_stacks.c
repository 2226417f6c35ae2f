// SPDX-License-Identifier: GPL-2.0-only
/*
 * User stacks in user space: tables of this test's own file, names by the deputy, sums by stack,
 * the program's own code, rows by function, and text.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rows.h"
#include "base/snapshot.h"
#include "base/stacks.h"
#include "base/reason.h"
#include "capture/recording.h"
#include "capture/writer.h"
#include "common/recorded_stacks.h"
#include "common/recorded_symbols.h"
#include "show/stacks_text.h"
#include "run/stack_deputy.h"
#include "sanitized.h"
#include "host/regular_file.h"
#include "stacks/debug_files.h"
#include "stacks/mapped_file.h"
#include "stacks/own_code.h"
#include "stacks/program_files.h"
#include "stacks/python_file.h"
#include "run/copy.h"
#include "stacks/stack_join.h"
#include "stacks/stack_rows.h"
#include "stacks/unwind_table.h"

/* A function known by its name. */
__attribute__((noinline, used)) int function_to_find(int n)
{
	return n * 3;
}

/* One with more than 32 KiB of variables, as programs with large buffers have. */
enum { LARGE_FRAME = 41003 };

__attribute__((noinline, used)) int function_with_a_large_frame(int n)
{
	volatile char buffer[LARGE_FRAME];

	buffer[n] = 1;
	return buffer[n / 2];
}

/* The mapping of this test's code. */
static struct sent_stack_file own_code(void)
{
	struct sent_stack_file of = { .what = SENT_STACK_FILE, .pid = getpid() };
	unsigned long long at = (unsigned long long)(uintptr_t)function_to_find;
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long long start, end, ino;
	unsigned int major, minor;
	char line[1024];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx %*s %*x %x:%x %llu", &start, &end, &major, &minor,
			   &ino) != 5 ||
		    at < start || at >= end)
			continue;
		of.start = start;
		of.end = end;
		of.key.ino = ino;
		of.key.dev = major << 20 | minor;
	}
	fclose(f);
	assert_true(of.start);
	return of;
}

struct met {
	struct sent_stack_file own;
	unsigned int own_n, files;
};

static bool file_meet(void *arg, const struct sent_stack_file *of, int fd, const char *path)
{
	struct met *met = arg;

	met->files++;
	if (of->key.ino == met->own.key.ino && of->key.dev == met->own.key.dev) {
		met->own_n++;
		assert_true(fd >= 0);
		assert_non_null(strstr(path, "test_stacks"));
	}
	if (fd >= 0)
		assert_int_equal(close(fd), 0);
	return true;
}

/* A process may have mapped its files many thousand times. */
static void a_file_is_told_once(void **state)
{
	enum { N = 101, PAGE = 4096 };
	struct met before = { .own = own_code() }, after = { .own = before.own };
	int fd = open("/proc/self/exe", O_RDONLY);
	char *at = mmap(NULL, 2 * N * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	mapped_files_each(getpid(), file_meet, &before);
	for (int i = 0; i < N; i++)
		assert_true(mmap(at + 2 * i * PAGE, PAGE, PROT_READ | PROT_EXEC,
				 MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED);
	mapped_files_each(getpid(), file_meet, &after);
	assert_int_equal(before.own_n, 1);
	assert_int_equal(after.own_n, 1);
	assert_int_equal(after.files, before.files);
	assert_true(after.files > 1);
	munmap(at, 2 * N * PAGE);
	close(fd);
}

static unsigned long long place_of(uintptr_t address)
{
	struct sent_stack_file of = own_code();
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long long start, offset, at = 0;
	char line[1024];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx-%*x %*s %llx", &start, &offset) == 2 && start == of.start)
			at = address - start + offset;
	fclose(f);
	return at;
}

static const struct unwind_row *row_at(const struct unwind_row *rows, size_t n,
				       unsigned long long at)
{
	const struct unwind_row *found = NULL;

	for (size_t i = 0; i < n && rows[i].at <= at; i++)
		found = &rows[i];
	return found;
}

/* At the first instruction of a function, only the return address is on the stack. */
static void a_table_of_this_file(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	const struct unwind_row *row;
	struct unwind_table t;
	unsigned long long at;
	bool found = false;

	(void)state;
	assert_int_equal(unwind_table_make(&t, fd), 0);
	assert_true(t.n > 1009);
	for (size_t i = 1; i < t.n; i++)
		assert_true(t.rows[i - 1].at < t.rows[i].at);
	row = row_at(t.rows, t.n, place_of((uintptr_t)function_to_find));
	assert_non_null(row);
	assert_int_equal(row->rule, UNWIND_SP);
	assert_int_equal(row->cfa, 1);
	assert_int_equal(row->fp, 0);
	at = place_of((uintptr_t)function_with_a_large_frame);
	for (row = t.rows; row < t.rows + t.n; row++)
		found |= row->at > at && row->at < at + 64 &&
			 (row->rule == UNWIND_FP || row->cfa >= LARGE_FRAME / 8);
	assert_true(found);
	unwind_table_done(&t);
	close(fd);
}

/* The dynamic linker has no row at its entry point, where each program begins. */
static void an_entry_point_is_the_last_frame(void **state)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	struct unwind_table t;
	unsigned long long at = 0;
	int fd = open("/lib64/ld-linux-x86-64.so.2", O_RDONLY);

	(void)state;
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	for (int i = 0; i < header.e_phnum && !at; i++) {
		assert_int_equal(
			pread(fd, &segment, sizeof(segment), header.e_phoff + i * sizeof(segment)),
			sizeof(segment));
		if (segment.p_type == PT_LOAD &&
		    header.e_entry - segment.p_vaddr < segment.p_filesz)
			at = header.e_entry - segment.p_vaddr + segment.p_offset;
	}
	assert_int_equal(unwind_table_make(&t, fd), 0);
	assert_int_equal(row_at(t.rows, t.n, at)->rule, UNWIND_LAST);
	assert_int_equal(row_at(t.rows, t.n, at + 47)->rule, UNWIND_LAST);
	assert_int_not_equal(row_at(t.rows, t.n, at + 65)->rule, UNWIND_LAST);
	for (size_t i = 1; i < t.n; i++)
		assert_true(t.rows[i - 1].at < t.rows[i].at);
	unwind_table_done(&t);
	close(fd);
}

/* The paths of a program's files, one a line. */
struct listed {
	char text[8192];
	unsigned int n;
};

static bool path_list(void *arg, int fd, const char *path)
{
	struct listed *l = arg;
	size_t len = strlen(l->text);

	snprintf(l->text + len, sizeof(l->text) - len, "%s\n", path);
	l->n++;
	assert_int_equal(close(fd), 0);
	return true;
}

static struct listed files_of(const char *program, const char *root)
{
	struct listed l = {};

	program_files_each(program, root, path_list, &l);
	return l;
}

static void file_write(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

/* This test's file needs the dynamic linker and the C library, as a command, as the interpreter of
 * a script, and by its name alone. */
static void the_files_of_a_program(void **state)
{
	char dir[] = "/tmp/test_stacks.XXXXXX", self[256] = "", path[128], text[512], *dirs;
	enum { DIRS = 70001 };
	struct listed l;

	(void)state;
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_non_null(mkdtemp(dir));
	l = files_of(self, "");
	assert_non_null(strstr(l.text, self));
	assert_non_null(strstr(l.text, "/libc.so.6\n"));
	assert_non_null(strstr(l.text, "/ld-linux-x86-64.so.2\n"));
	assert_non_null(strstr(l.text, "/libcmocka.so.0\n"));
	snprintf(path, sizeof(path), "%s/script", dir);
	snprintf(text, sizeof(text), "#! %s -x\nexit\n", self);
	file_write(path, text, strlen(text));
	assert_int_equal(files_of(path, "").n, l.n + 1);
	assert_non_null(strstr(files_of(path, "").text, "/libcmocka.so.0\n"));
	file_write(path, "#!/usr/bin/env -S A=b true", 26);
	assert_non_null(strstr(files_of(path, "").text, "/true\n"));
	assert_int_equal(chdir(dir), 0);
	assert_non_null(strstr(files_of("./script", "").text, "/script\n"));
	/* only the C library and its dynamic linker */
	l = files_of("no-such-program", "");
	assert_non_null(strstr(l.text, "/libc.so.6\n"));
	assert_non_null(strstr(l.text, "/ld-linux-x86-64.so.2\n"));
	assert_null(strstr(l.text, "/libcmocka"));
	assert_int_equal(files_of(NULL, "").n, l.n);
	assert_int_equal(setenv("LD_LIBRARY_PATH", dir, 1), 0);
	snprintf(path, sizeof(path), "%s/libc.so.6", dir);
	file_write(path, "none", 4);
	assert_string_equal(files_of(NULL, "").text + strlen(path), "\n");
	/* so many directories that the search is given up before the last one */
	dirs = malloc(DIRS + sizeof(dir));
	assert_non_null(dirs);
	memset(dirs, ':', DIRS);
	memcpy(dirs + DIRS, dir, sizeof(dir));
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(setenv("LD_LIBRARY_PATH", dirs, 1), 0);
	assert_int_equal(files_of(NULL, "").n, 0);
	unsetenv("LD_LIBRARY_PATH");
	free(dirs);
	unlink(path);
	snprintf(path, sizeof(path), "%s/script", dir);
	unlink(path);
	rmdir(dir);
}

/* A cache of the dynamic linker, in another root directory, whole and cut off anywhere. */
static void a_cache_of_libraries(void **state)
{
	struct {
		char magic[20];
		uint32_t n, strings, unused[5];
		uint32_t entry[6];
		char name[10], path[18];
	} cache = { "glibc-ld.so.cache1.1", 1, 0, { 0 }, { 0x303, 72, 82 }, "libc.so.6",
		    "/there/libc.so.6" };
	char dir[] = "/tmp/test_stacks.XXXXXX", etc[64], there[64], path[128], file[128];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(etc, sizeof(etc), "%s/etc", dir);
	snprintf(there, sizeof(there), "%s/there", dir);
	snprintf(path, sizeof(path), "%s/ld.so.cache", etc);
	snprintf(file, sizeof(file), "%s/libc.so.6", there);
	assert_int_equal(mkdir(etc, 0700) || mkdir(there, 0700), 0);
	file_write(file, "none", 4);
	file_write(path, &cache, sizeof(cache));
	assert_string_equal(files_of(NULL, dir).text, "/there/libc.so.6\n");
	for (size_t len = 0; len < sizeof(cache) - 2; len++) {
		file_write(path, &cache, len);
		assert_int_equal(files_of(NULL, dir).n, 0);
	}
	cache.entry[0] = 3; /* for another machine */
	file_write(path, &cache, sizeof(cache));
	assert_int_equal(files_of(NULL, dir).n, 0);
	cache.entry[0] = 0x303;
	cache.n = UINT32_MAX;
	cache.entry[1] = UINT32_MAX;
	file_write(path, &cache, sizeof(cache));
	assert_int_equal(files_of(NULL, dir).n, 0);
	unlink(file);
	unlink(path);
	rmdir(etc);
	rmdir(there);
	rmdir(dir);
}

/* Nothing calls the function with which a goroutine begins; in any other language it would be a
 * stack that was cut. */
static void the_end_of_a_goroutine(void **state)
{
	static const struct {
		const char *outermost;
		enum stack_end end, judged;
	} all[] = {
		{ "runtime.goexit.abi0", STACK_NO_ROWS, STACK_WHOLE },
		{ "runtime.mstart.abi0", STACK_NO_ROWS, STACK_WHOLE },
		{ "runtime.rt0_go.abi0", STACK_NO_ROWS, STACK_WHOLE },
		{ "runtime.goexit.abi0", STACK_MEMORY, STACK_MEMORY },
		{ "runtime.main", STACK_NO_ROWS, STACK_NO_ROWS },
		{ NULL, STACK_NO_ROWS, STACK_NO_ROWS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct stack_frame inner = { .function = (char *)"runtime.goexit" };
		const struct stack_frame outer = { .function = (char *)all[i].outermost };
		const struct stack_frame *frames[] = { &inner, &outer };
		struct stack s = { .frames = frames, .n = 2, .end = all[i].end };

		stack_end_judge(&s);
		assert_int_equal(s.end, all[i].judged);
		s.n = 0;
		s.end = STACK_NO_ROWS;
		stack_end_judge(&s);
		assert_int_equal(s.end, STACK_NO_ROWS);
	}
}

/* The kernel's identity of a mapping, without a mapping of code. */
static void the_key_of_a_file(void **state)
{
	struct sent_stack_file of = own_code();
	int fd = open("/proc/self/exe", O_RDONLY), empty = memfd_create("empty", MFD_CLOEXEC);
	struct unwind_key key = {};

	(void)state;
	assert_true(mapped_file_key(fd, &key));
	assert_true(key.ino == of.key.ino && key.dev == of.key.dev);
	assert_false(mapped_file_key(-1, &key));
	assert_true(mapped_file_key(empty, &key));
	close(fd);
	close(empty);
}

/* A file whose tables of symbols are all the same bytes would take @SAME times its size. */
static void a_file_with_tables_at_one_place(void **state)
{
	enum { SAME = 101, BYTES = 24 * 100003, MEMORY_KB = 32 << 10 };
	static const struct {
		Elf64_Ehdr head;
		Elf64_Shdr none;
	} start = {
		.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_shoff = sizeof(Elf64_Ehdr),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = SAME + 1 },
	};
	const Elf64_Shdr table = { .sh_type = SHT_DYNSYM,
				   .sh_size = BYTES,
				   .sh_addralign = 8,
				   .sh_entsize = sizeof(Elf64_Sym) };
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct unwind_python python;
	struct rusage before, after;

	(void)state;
	assert_int_equal(write(fd, &start, sizeof(start)), sizeof(start));
	for (int i = 0; i < SAME; i++)
		assert_int_equal(write(fd, &table, sizeof(table)), sizeof(table));
	assert_int_equal(ftruncate(fd, BYTES), 0);
	assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
	python_file_find(fd, &python);
	assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
	assert_true(after.ru_maxrss - before.ru_maxrss < MEMORY_KB);
	close(fd);
}

/* A library with the symbols of Python, loaded at an address other than its place. */
struct python_elf {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[5];
	char names[128];
	uint64_t version;
};

enum { PYTHON_AT = 0x400000, RUN_AT = PYTHON_AT + 0x40, RUN_LEN = 0x123 };

static void python_elf_fill(struct python_elf *e, uint64_t version)
{
	static const char names[] = "\0_PyEval_EvalFrameDefault\0_PyRuntime\0Py_Version\0"
				    "_Py_MergeZeroLocalRefcount";

	*e = (struct python_elf){
		.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = offsetof(struct python_elf, segment),
			  .e_shoff = offsetof(struct python_elf, sections),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 1,
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = 3 },
		.segment = { .p_type = PT_LOAD,
			     .p_offset = 8,
			     .p_vaddr = PYTHON_AT + 8,
			     .p_filesz = sizeof(*e) - 8 },
		.sections = { [1] = { .sh_type = SHT_DYNSYM,
				      .sh_link = 2,
				      .sh_offset = offsetof(struct python_elf, symbols),
				      .sh_size = sizeof(e->symbols),
				      .sh_entsize = sizeof(Elf64_Sym) },
			      [2] = { .sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(struct python_elf, names),
				      .sh_size = sizeof(e->names) } },
		.symbols = { [1] = { .st_name = 1,
				     .st_shndx = 1,
				     .st_value = RUN_AT,
				     .st_size = RUN_LEN },
			     [2] = { .st_name = 26, .st_shndx = 1, .st_value = PYTHON_AT + 8 },
			     [3] = { .st_name = 37,
				     .st_shndx = 1,
				     .st_value =
					     PYTHON_AT + offsetof(struct python_elf, version) } },
		.version = version,
	};
	memcpy(e->names, names, sizeof(names));
}

static struct unwind_python python_in(const struct python_elf *e)
{
	int fd = memfd_create("python", MFD_CLOEXEC);
	struct unwind_python python;

	assert_int_equal(write(fd, e, sizeof(*e)), sizeof(*e));
	python_file_find(fd, &python);
	close(fd);
	return python;
}

/* Where Python runs code, by what a library exports. */
static void python_in_a_file(void **state)
{
	static const struct {
		uint64_t hex;
		unsigned int version;
	} all[] = { { 0x030b02f0, PYTHON_3_11 },
		    { 0x030c01f0, PYTHON_3_12 },
		    { 0x030d00f0, PYTHON_3_13 },
		    { 0x030a00f0, PYTHON_UNKNOWN },
		    { 0x040b00f0, PYTHON_UNKNOWN } };
	struct unwind_python python;
	struct python_elf e;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		python_elf_fill(&e, all[i].hex);
		python = python_in(&e);
		assert_int_equal(python.from, RUN_AT - PYTHON_AT);
		assert_int_equal(python.to, RUN_AT - PYTHON_AT + RUN_LEN);
		assert_int_equal(python.runtime, 8);
		assert_int_equal(python.version, all[i].version);
	}
	/* a build without the interpreter's lock has other objects */
	python_elf_fill(&e, 0x030d00f0);
	e.symbols[4] = e.symbols[2];
	e.symbols[4].st_name = 48;
	assert_int_equal(python_in(&e).version, PYTHON_UNKNOWN);
	/* a program that only uses them */
	python_elf_fill(&e, 0x030d00f0);
	e.symbols[1].st_shndx = SHN_UNDEF;
	assert_int_equal(python_in(&e).to, 0);
}

static int file_with(const void *data, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_int_equal(write(fd, data, len), len);
	return fd;
}

/* A file that is none, or is cut off anywhere, gives an error or a table, and no more. */
static void hostile_files(void **state)
{
	static char bytes[1 << 20];
	int own = open("/bin/true", O_RDONLY), fd;
	ssize_t n = read(own, bytes, sizeof(bytes));
	struct unwind_table t;

	(void)state;
	close(own);
	assert_true(n > 1009);
	fd = file_with("no ELF file", 11);
	assert_int_equal(unwind_table_make(&t, fd), -ENOEXEC);
	close(fd);
	for (ssize_t len = 1; len < n; len += n / 101) {
		fd = file_with(bytes, len);
		if (!unwind_table_make(&t, fd))
			unwind_table_done(&t);
		close(fd);
	}
	for (ssize_t at = 0; at < n; at += n / 211) {
		bytes[at] ^= 0x55;
		fd = file_with(bytes, n);
		if (!unwind_table_make(&t, fd))
			unwind_table_done(&t);
		close(fd);
	}
}

struct got {
	struct stack_table table;
	unsigned int n;
	unsigned int rule;
};

static void on_table(void *arg, const struct stack_table *t)
{
	struct got *got = arg;
	const struct unwind_row *row = row_at(t->rows, t->n, place_of((uintptr_t)function_to_find));

	got->table = *t;
	got->rule = row ? row->rule : UNWIND_UNKNOWN;
	got->n++;
}

static void tables_wait(struct stack_deputy *d, struct got *got, unsigned int n)
{
	for (int i = 0; i < 1000 && got->n < n; i++) {
		assert_int_equal(stack_deputy_tables(d, on_table, got), 0);
		usleep(10000);
	}
	assert_int_equal(got->n, n);
}

static const struct stack_begin none = {};

/* The limit on memory of process @pid, or 0 if there is none. */
static unsigned long long memory_most(pid_t pid)
{
	unsigned long long bytes = 0;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/limits", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (!bytes && fgets(line, sizeof(line), f))
		sscanf(line, "Max data size %llu", &bytes);
	fclose(f);
	return bytes;
}

/* The deputy reads this test's file, names a function in it, and says what it cannot read. */
static void the_deputy(void **state)
{
	struct sent_stack_file of = own_code(), gone = of;
	struct stack_deputy d;
	struct frame_name name;
	unsigned int first, number;
	struct got got = {};

	(void)state;
	assert_int_equal(stack_deputy_start(&d, &none), 0);
	assert_int_equal(stack_deputy_wait_begin(&d, on_table, &got), 0);
	assert_true(d.begun && got.n > 0);
	assert_true(memory_most(d.pid) >= 1ULL << 30);
	first = got.n;
	assert_int_equal(stack_deputy_ask(&d, &of), 0);
	tables_wait(&d, &got, first + 1);
	assert_int_equal(got.table.state, STACK_FILE_READ);
	number = got.table.number;
	assert_int_equal(number, first + 1);
	assert_int_equal(got.rule, UNWIND_SP);
	assert_memory_equal(&got.table.key, &of.key, sizeof(of.key));
	assert_non_null(strstr(got.table.path, "test_stacks"));
	assert_int_equal(stack_deputy_name(&d,
					   STACK_FRAME((unsigned long long)got.table.number,
						       place_of((uintptr_t)function_to_find)),
					   &name, on_table, &got),
			 0);
	assert_string_equal(name.function, "function_to_find");
	assert_non_null(strstr(name.source, "test_stacks.c"));
	assert_in_range(name.line, 20, 60);
	assert_int_equal(stack_deputy_name(&d, STACK_FRAME(1009ULL, 5), &name, on_table, &got), 0);
	assert_string_equal(name.function, "");
	assert_int_equal(stack_deputy_ask(&d, &of), 0); /* its rows have left */
	tables_wait(&d, &got, first + 2);
	assert_int_equal(got.table.number, number);
	assert_int_equal(got.rule, UNWIND_SP);
	gone.start += 4096;
	assert_int_equal(stack_deputy_ask(&d, &gone), 0);
	tables_wait(&d, &got, first + 3);
	assert_int_equal(got.table.state, STACK_FILE_GONE);
	gone = of;
	gone.key.ino++; /* another file is there */
	assert_int_equal(stack_deputy_ask(&d, &gone), 0);
	tables_wait(&d, &got, first + 4);
	assert_int_equal(got.table.state, STACK_FILE_GONE);
	assert_int_equal(got.table.number, 0);
	stack_deputy_end(&d);
	assert_int_equal(stack_deputy_ask(&d, &of), -EPIPE);
}

/* An answer as `src/run/stack_deputy.c` has it. */
struct forged {
	unsigned int about;
	struct unwind_key key;
	unsigned int number;
	enum stack_file_state state;
	char path[FRAME_TEXT];
	struct unwind_python python;
	size_t n;
};

static unsigned int answers_taken;

static void on_forged(void *arg, const struct stack_table *t)
{
	(void)arg;
	assert_int_equal(t->number, STACK_FILES - 1);
	assert_int_equal(t->path[FRAME_TEXT - 1], '\0');
	answers_taken++;
}

/* The files of a process that a command needs, too, have one table. */
static void the_deputy_reads_a_file_once(void **state)
{
	const unsigned int self = getpid();
	const struct stack_begin alone = { &self, 1, NULL }, both = { &self, 1, "/proc/self/exe" };
	struct got once = {}, again = {};
	struct stack_deputy d;

	(void)state;
	assert_int_equal(stack_deputy_start(&d, &alone), 0);
	assert_int_equal(stack_deputy_wait_begin(&d, on_table, &once), 0);
	stack_deputy_end(&d);
	assert_int_equal(stack_deputy_start(&d, &both), 0);
	assert_int_equal(stack_deputy_wait_begin(&d, on_table, &again), 0);
	stack_deputy_end(&d);
	assert_true(once.n > 1);
	assert_int_equal(again.n, once.n);
}

/* A deputy reads hostile files. One that was taken over can neither number a file beyond the table,
 * nor make the tool wait for more rows than a table has. */
static void a_deputy_that_was_taken_over_is_ended(void **state)
{
	static const struct {
		unsigned int number;
		size_t n;
		int result;
	} cases[] = {
		{ STACK_FILES - 1, 0, 0 },
		{ STACK_FILES, 0, -EPIPE },
		{ ~0U, 0, -EPIPE },
		{ STACK_FILES - 1, UNWIND_ROWS, 0 }, /* the rows are still to come */
		{ STACK_FILES - 1, UNWIND_ROWS + 1, -EPIPE },
	};

	(void)state;
	answers_taken = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct forged a = { .number = cases[i].number, .n = cases[i].n };
		struct stack_deputy d = {};
		int ends[2];

		memset(a.path, 'x', sizeof(a.path));
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		d.fd = ends[0];
		d.pid = fork();
		if (!d.pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL); /* if a check fails */
			pause();
			_exit(0);
		}
		assert_int_equal(write(ends[1], &a, sizeof(a)), sizeof(a));
		assert_int_equal(stack_deputy_tables(&d, on_forged, NULL), cases[i].result);
		assert_int_equal(d.pid > 0, !cases[i].result);
		stack_deputy_end(&d);
		close(ends[1]);
	}
	assert_int_equal(answers_taken, 1);
}

/* Nobody waits for the other one if questions are more than the sockets hold. */
static void the_deputy_is_asked_too_much(void **state)
{
	struct sent_stack_file of = own_code();
	struct stack_deputy d;
	struct frame_name name;
	struct got got = {};
	unsigned long long number;
	unsigned int asked = 0;

	(void)state;
	assert_int_equal(stack_deputy_start(&d, &none), 0);
	assert_int_equal(stack_deputy_wait_begin(&d, on_table, &got), 0);
	number = got.table.number + 1;
	while (!stack_deputy_ask(&d, &of))
		asked++;
	assert_in_range(asked, 10, 100000);
	assert_int_equal(stack_deputy_ask(&d, &of), -EAGAIN);
	assert_int_equal(
		stack_deputy_name(&d, STACK_FRAME(number, place_of((uintptr_t)function_to_find)),
				  &name, on_table, &got),
		0);
	assert_string_equal(name.function, "function_to_find");
	assert_true(got.n >= asked);
	stack_deputy_end(&d);
}

static struct stack_frame frame(const char *function, const char *library)
{
	return (struct stack_frame){ .function = (char *)function, .library = (char *)library };
}

/* A deputy that is killed, as by a file that libdw cannot stand, is missed by nobody. */
static void a_dead_deputy_has_no_names(void **state)
{
	struct sent_stack_file of = own_code();
	struct got got = {};
	struct frame_name name;
	struct stack_deputy d;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(stack_deputy_start(&d, &none), 0);
		assert_int_equal(kill(d.pid, SIGSTOP), 0);
		if (i == 1) /* a question that it does not read */
			assert_int_equal(stack_deputy_ask(&d, &of), 0);
		assert_int_equal(kill(d.pid, SIGKILL), 0);
		if (i == 2)
			assert_int_equal(
				stack_deputy_name(&d, STACK_FRAME(1ULL, 9), &name, on_table, &got),
				-EPIPE);
		while (!stack_deputy_tables(&d, on_table, &got))
			usleep(1009);
		assert_int_equal(stack_deputy_tables(&d, on_table, &got), -EPIPE);
		assert_int_equal(d.pid, 0);
		stack_deputy_end(&d);
	}
}

static void own_code_is_known(void **state)
{
	static const struct opt_strings none, hide = { { "libsqlite3" }, 1 };
	static const struct {
		const char *function, *library;
		bool hidden, hidden_too; /* with --hide libsqlite3 */
	} all[] = {
		{ "fdatasync", "libc.so.6", true, true },
		{ "anything", "libc-2.31.so", true, true },
		{ "compress", "libcompress.so.1", false, false },
		{ "_dl_start", "ld-linux-x86-64.so.2", true, true },
		{ "sqlite3_step", "libsqlite3.so.0.8.6", false, true },
		{ "sqlite3_step", "libsqlite3x.so", false, false },
		{ "save_rows", "store", false, false },
		{ "write", "store", true, true }, /* a static program */
		{ "_IO_new_file_write", "store", true, true },
		{ "std::fs::File::sync_all", "store", true, true },
		{ "store::save", "store", false, false },
		{ "os.(*File).Write", "store", true, true },
		{ "runtime/internal/syscall.Syscall6", "store", true, true },
		{ "encoding/json.(*Encoder).Encode", "store", true, true },
		{ "example.com/net/store.Save", "store", false, false },
		{ "main.save", "store", false, false },
		{ NULL, "store", false, false },
		{ NULL, NULL, false, false },
		{ "os_fdatasync", "python3.11", true, true },
		{ "PyObject_Call", "libpython3.13.so.1.0", true, true },
		{ "save", "python3.py", false, false },
		{ "java.io.FileDescriptor.sync", NULL, true, true },
		{ "Store.saveRows", NULL, false, false },
		{ "Builtins_CEntry", "node", true, true },
		{ "Builtins_InterpreterEntryTrampoline", "node", false, false },
	};
	static const struct {
		char *source;
		bool hidden;
	} sources[] = {
		{ "/usr/lib/python3.11/shutil.py", true },
		{ "/usr/lib/python3/dist-packages/yaml/loader.py", false },
		{ "/venv/lib/python3.11/site-packages/numpy/lib/format.py", false },
		{ "<frozen importlib._bootstrap>", true },
		{ "<string>", false },
		{ "node:fs", true },
		{ "/app/loader.py", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct stack_frame f = frame(all[i].function, all[i].library);

		assert_int_equal(frame_is_hidden(&f, &none), all[i].hidden);
		assert_int_equal(frame_is_hidden(&f, &hide), all[i].hidden_too);
	}
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		struct stack_frame f = frame("f", NULL);

		f.source = sources[i].source;
		assert_int_equal(frame_is_hidden(&f, &none), sources[i].hidden);
	}
}

/* A worker of libuv has no caller; the thread that runs libuv's loop has. */
static void a_pool_worker_has_no_caller(void **state)
{
	static const struct stack_frame call = { .function = "fdatasync", .hidden = true };
	static const struct stack_frame pool = { .function = "uv__fs_work", .hidden = true };
	static const struct stack_frame start = { .function = "__libc_start_main", .hidden = true };
	const struct stack_frame *frames[] = { &call, &pool, &start };
	struct stack s = { .frames = frames, .n = 2 };
	char text[128];

	(void)state;
	s.own = stack_own_frame(&s);
	assert_int_equal(s.own, -1);
	assert_true(stacks_end_caller(text, sizeof(text), &s));
	assert_string_equal(text, "(caller unknown: libuv worker)");
	s.n = 3;
	assert_int_equal(stack_own_frame(&s), 0);
}

/* Frame 0x1: save_rows, 0x2: save_index, 0x9: write of the C library. */
static int named(void *arg, unsigned long long at, struct frame_name *ret_name)
{
	(void)arg;
	*ret_name = (struct frame_name){ .line = 10 * STACK_FRAME_AT(at) };
	strcpy(ret_name->source, "/src/store.c");
	strcpy(ret_name->function, STACK_FRAME_AT(at) == 9   ? "write"
				   : STACK_FRAME_AT(at) == 1 ? "save_rows"
							     : "save_index");
	return 0;
}

static struct sent_stack op(unsigned long long frame, uint64_t ns, uint64_t threshold)
{
	struct sent_stack s = { .what = SENT_STACK,
				.kind = OP_WRITE,
				.n = 2,
				.fs = 77,
				.total_ns = ns,
				.threshold_ns = threshold,
				.ret = 4096 };

	s.frames[0] = STACK_FRAME(1ULL, 9);
	s.frames[1] = STACK_FRAME(1ULL, frame);
	s.strata[ST_FS] = ns - ns / 4;
	s.strata[ST_DEVICE] = ns / 4;
	return s;
}

static frame_name_fn *namer = named;

static struct stacks *taken(struct stack_rows *r)
{
	static const struct opt_strings none;
	struct stacks *s;

	stack_rows_file(r, 1, "/opt/store");
	assert_int_equal(stack_rows_take(r, &none, namer, NULL, &s), 0);
	return s;
}

static const struct op_row *row_of(const struct snapshot *sn, const char *by)
{
	for (size_t i = 0; i < sn->n_ops; i++)
		if (sn->ops[i].by && !strcmp(sn->ops[i].by, by))
			return &sn->ops[i];
	return NULL;
}

/* 23 operations of one function and 7 of another, all taken. */
static void rows_by_function(void **state)
{
	unsigned int number;
	struct stack_rows *r = calloc(1, sizeof(*r));
	struct sent_stack s;
	struct snapshot sn = { .ops = calloc(2, sizeof(*sn.ops)), .n_ops = 2 };
	const struct op_row *row;

	(void)state;
	for (int i = 0; i < 23; i++) {
		s = op(1, 1000, 0);
		assert_int_equal(stack_rows_add(r, &s, "ext4", &number), 0);
	}
	for (int i = 0; i < 7; i++) {
		s = op(2, 100, 0);
		assert_int_equal(stack_rows_add(r, &s, "ext4", &number), 0);
	}
	s = op(3, 50, 0);
	s.end = STACK_MEMORY;
	s.n = 1;
	assert_int_equal(stack_rows_add(r, &s, "ext4", &number), 0);
	/* the programs' rows: writes go, page faults stay */
	sn.ops[0] = (struct op_row){ .key.op = OP_WRITE, .count = 31, .total_ns = 1 };
	sn.ops[1] = (struct op_row){ .key.op = OP_EXEC, .count = 5, .total_ns = 90 };
	sn.stacks = taken(r);
	assert_int_equal(sn.stacks->taken, 31);
	assert_int_equal(sn.stacks->ended[STACK_MEMORY], 1);
	assert_false(sn.stacks->sampled);
	assert_int_equal(stack_join(&sn, BY_LINE), 0);
	assert_int_equal(sn.n_ops, 4);
	row = row_of(&sn, "save_rows (store.c:10)");
	assert_non_null(row);
	assert_int_equal(row->count, 23);
	assert_int_equal(row->total_ns, 23000);
	assert_int_equal(row->bytes, 23 * 4096);
	assert_int_equal(row->strata[ST_FS], 23 * 750);
	assert_int_equal(row->strata[ST_DEVICE], 23 * 250);
	assert_string_equal(row->fs, "ext4");
	assert_int_equal(row_of(&sn, "save_index (store.c:20)")->count, 7);
	assert_int_equal(
		row_of(&sn, "(caller unknown: the memory of the stack was not there)")->count, 1);
	assert_int_equal(row_of(&sn, "(no stack)")->count, 5);
	snapshot_free(&sn);
	stack_rows_done(r);
	free(r);
}

/* Rows by caller of @counted writes: 5 of function 1 are certain; two stacks of it and one of
 * function 2 were drawn, which stand for 100 writes each. @lost stacks found no room. */
static void drawn_numbers(uint64_t counted, uint64_t lost, uint64_t first, uint64_t second)
{
	unsigned int number;
	struct stack_rows *r = calloc(1, sizeof(*r));
	struct snapshot sn = { .ops = calloc(1, sizeof(*sn.ops)), .n_ops = 1 };
	const struct op_row *row;
	struct sent_stack s;

	for (int i = 0; i < 8; i++) {
		s = i < 5 ? op(1, 1000, 0) : op(i < 7 ? 1 : 2, 100, 10000);
		assert_int_equal(stack_rows_add(r, &s, "ext4", &number), 0);
	}
	sn.ops[0] = (struct op_row){ .key = { .op = OP_WRITE, .fs = 77 }, .count = counted };
	sn.stacks = taken(r);
	sn.stacks->lost = lost;
	assert_int_equal(stack_join(&sn, BY_LINE), 0);
	row = row_of(&sn, "save_rows (store.c:10)");
	assert_int_equal(row->count, first);
	assert_int_equal(row->total_ns, 5 * 1000 + 200 * 100);
	assert_in_range(row->bytes, first * 4096 - 1, first * 4096);
	assert_int_equal(hist_percentile(&row->hist, 100, row->max_ns), 1000);
	assert_int_equal(row_of(&sn, "save_index (store.c:20)")->count, second);
	snapshot_free(&sn);
	stack_rows_done(r);
	free(r);
}

static void drawn_numbers_are_those_counted(void **state)
{
	(void)state;
	drawn_numbers(68, 0, 5 + 42, 21);
	drawn_numbers(5 + 3 * 331, 0, 5 + 662, 331);
	drawn_numbers(5 + 3 * 331, 7, 5 + 200, 100); /* some of them have no stack */
	drawn_numbers(68, 7, 5 + 42, 21);
	drawn_numbers(6, 0, 5, 1); /* rows have an operation each at least */
}

static uint64_t next_random(uint64_t *random)
{
	*random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
	return *random >> 33;
}

/* Draws from 2,003 short operations, of which the first caller has three quarters; and one long
 * operation of the second caller, which is certain to be drawn and gives it half of all. Returns
 * how far its share is from the truth, divided by the told error. */
static double drawn_once(uint64_t *random, double *ret_told)
{
	struct stack_rows *r = calloc(1, sizeof(*r));
	double all_ns = 0, first_ns = 0, ns = 0;
	unsigned int number;
	struct stacks *s;

	for (int i = 0; i < 2004; i++) {
		uint64_t took = i ? 100 + next_random(random) % 2000 : 1002 * 1100;
		struct sent_stack one = op(i % 4 ? 1 : 2, took, 90000);

		all_ns += one.total_ns;
		first_ns += i % 4 ? one.total_ns : 0;
		if (next_random(random) % 90000 < one.total_ns)
			assert_int_equal(stack_rows_add(r, &one, "xfs", &number), 0);
	}
	s = taken(r);
	for (size_t i = 0; i < s->n_ops; i++)
		ns += s->ops[i].total_ns;
	*ret_told = stacks_error(s, 0.5);
	/* the first row has the first operation, the long one */
	ns = 100 * fabs(s->ops[0].total_ns / ns - (all_ns - first_ns) / all_ns);
	stacks_free(s);
	stack_rows_done(r);
	free(r);
	return ns / *ret_told;
}

/* It was told that a share of half is right within 65 %, because one long operation had most of the
 * time. But nothing is uncertain about an operation that is always drawn. */
static void long_operations_are_not_uncertain(void **state)
{
	uint64_t random = 12345;
	double told, sum = 0;
	int within = 0;

	(void)state;
	for (int i = 0; i < 101; i++) {
		within += drawn_once(&random, &told) <= 1;
		sum += told;
	}
	assert_in_range(within, 90, 100); /* 95 of 100 should be */
	assert_true(sum / 101 > 8 && sum / 101 < 18);
}

/* Samples drawn with the probability total / threshold give the sums of all, within the error that
 * is told. */
static void samples_have_no_bias(void **state)
{
	unsigned int number;
	struct stack_rows *r = calloc(1, sizeof(*r));
	double all_ns = 0, share, told;
	uint64_t random = 12345, n = 0, ns = 0;
	struct stacks *s;

	(void)state;
	for (int i = 0; i < 20011; i++) {
		struct sent_stack one;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		one = op(1 + i % 4 / 3, 100 + (random >> 33) % 2000, 9000);
		all_ns += one.total_ns;
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		if ((random >> 33) % 9000 < one.total_ns)
			assert_int_equal(stack_rows_add(r, &one, "xfs", &number), 0);
	}
	s = taken(r);
	assert_true(s->sampled);
	assert_in_range(s->taken, 2000, 3000);
	for (size_t i = 0; i < s->n_ops; i++) {
		n += s->ops[i].count;
		ns += s->ops[i].total_ns;
	}
	told = stacks_error(s, 0.75);
	assert_true(fabs(ns / all_ns - 1) < 0.05);
	assert_in_range(n, 19000, 21000);
	share = 100.0 * s->ops[0].total_ns / ns;
	assert_true(share > 50 ? fabs(share - 75) < 1.5 * told : fabs(share - 25) < 1.5 * told);
	assert_true(told > 1 && told < 3);
	stacks_free(s);
	stack_rows_done(r);
	free(r);
}

static char *text_of(const struct snapshot *sn, bool folded)
{
	static const struct breakdown_view v = { .form.stacks = true };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct text_out o = { .f = f };

	if (folded)
		assert_int_equal(stacks_folded(f, sn), 0);
	else
		assert_int_equal(stacks_put(&o, &v, sn), 0);
	fclose(f);
	return text;
}

/* Stacks whose texts are too long to be whole differ by their innermost frames, too. */
static void rows_by_long_stacks(void **state)
{
	char name[9000] = {};
	const struct stack_frame outer = { .function = name };
	const struct stack_frame inner[2] = { { .function = (char *)"save_rows" },
					      { .function = (char *)"save_index" } };
	struct snapshot sn = { .stacks = calloc(1, sizeof(*sn.stacks)) };
	struct stacks *s = sn.stacks;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	s->n = s->n_ops = 3;
	s->stacks = calloc(3, sizeof(*s->stacks));
	s->ops = calloc(3, sizeof(*s->ops));
	for (int i = 0; i < 3; i++) {
		s->stacks[i] = (struct stack){ .frames = calloc(2, sizeof(void *)), .n = 2 };
		s->stacks[i].frames[0] = &inner[i / 2];
		s->stacks[i].frames[1] = &outer;
		s->ops[i] = (struct op_row){ .key.op = OP_WRITE, .count = 7 + i };
		s->ops[i].key.by[0] = i + 1;
	}
	assert_int_equal(stack_join(&sn, BY_STACK), 0);
	assert_int_equal(sn.n_ops, 2);
	assert_int_equal(sn.ops[0].count + 10 * sn.ops[1].count, 7 + 8 + 10 * 9);
	snapshot_free(&sn);
}

static void text_of_stacks(void **state)
{
	unsigned int number;
	struct stack_rows *r = calloc(1, sizeof(*r));
	struct sent_stack s = op(1, 1000, 0);
	struct snapshot sn = {};
	char build_id[64 + 1] = "00ff"; /* of 32 bytes */
	const struct stack_frame stripped = { .library = (char *)"store",
					      .at = 0x1234,
					      .build_id = build_id };
	struct stack *stack;
	char *text, caller[256];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(stack_rows_add(r, &s, "ext4", &number), 0);
	s = op(2, 1000, 0);
	assert_int_equal(stack_rows_add(r, &s, "ext4", &number), 0);
	sn.stacks = taken(r);
	text = text_of(&sn, false);
	assert_non_null(strstr(text, "called by: write ext4, 4.00 us"));
	assert_non_null(strstr(text, " 75.0 %  save_rows (store.c:10)"));
	assert_non_null(strstr(text, " 25.0 %  save_index (store.c:20)"));
	assert_non_null(strstr(text, "the stacks of 4 operations were taken"));
	free(text);
	text = text_of(&sn, true);
	assert_non_null(strstr(text, "save_rows;write;write ext4;device 750\n"));
	assert_non_null(strstr(text, "save_index;write;write ext4;device 250\n"));
	free(text);
	stacks_caller(caller, sizeof(caller), &sn, &sn.stacks->ops[0]);
	assert_string_equal(caller, ", 75 % of it called by save_rows (store.c:10)");
	text = text_of(&sn, false);
	assert_null(strstr(text, "no symbol"));
	free(text);
	stack = &sn.stacks->stacks[sn.stacks->ops[0].key.by[0] - 1];
	stack->frames[stack->own] = &stripped;
	memset(build_id + 4, 'c', 60);
	stacks_unnamed_note(sn.stacks);
	text = text_of(&sn, false);
	assert_non_null(strstr(text, "\n0x1234 [store] has no symbol: install"));
	assert_non_null(strstr(text, build_id));
	free(text);
	/* rows by caller have taken the operations */
	assert_int_equal(stack_join(&sn, BY_FUNCTION), 0);
	text = text_of(&sn, false);
	assert_non_null(strstr(text, "\n0x1234 [store] has no symbol: install"));
	free(text);
	snapshot_free(&sn);
	stack_rows_done(r);
	free(r);
}

/* A recording of these stacks, with the names in @named or cut off before them. */
static FILE *recording_of(struct stack_rows *r, const struct sent_stack *all, unsigned int n,
			  bool named_too)
{
	struct stored_name fs = { .type = NAME_FS, .id = STORED_FS_FIRST, .text_len = 4 };
	struct stored_stack s;
	struct stacks *stacks;
	struct writer w = {};
	FILE *f = tmpfile();
	unsigned int number;

	assert_int_equal(writer_begin(&w, fileno(f), "{\"monotonic_ns\":1,\"stacks\":true}"), 0);
	writer_name(&w, &fs, "ext4");
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(stack_rows_add(r, &all[i], "ext4", &number), 0);
		s = (struct stored_stack){ .start_ns = 1009 + i,
					   .kind = all[i].kind,
					   .fs = STORED_FS_FIRST,
					   .ret = all[i].ret,
					   .stack = number,
					   .threshold_ns = all[i].threshold_ns };
		memcpy(s.strata, all[i].strata, sizeof(s.strata));
		writer_stack(&w, &s, all[i].total_ns);
	}
	stacks = taken(r);
	writer_flush(&w);
	if (named_too)
		recorded_stacks_write(&w, stacks);
	writer_close(&w);
	assert_true(writer_end(&w, "{\"ended\":\"ended\",\"stacks_lost\":3,\"stacks_lost_ns\":5}"));
	assert_int_equal(w.err, 0);
	stacks_free(stacks);
	writer_done(&w);
	return f;
}

/* As of struct recording. */
static const struct frame_namer *names_later;

/* Reads @f to its end or to damage. Returns as recording_next(). */
static int recorded_add(FILE *f, struct recorded_stacks *s, struct replay *replay)
{
	struct recording rec;
	struct stored_event ev;
	struct reason why;
	int got;

	rewind(f);
	got = recording_open(&rec, f, "test", &why);
	rec.stacks = true;
	rec.namer = names_later;
	while (!got && (got = recording_next(&rec, &ev, &why)) > 0) {
		assert_int_equal(ev.kind, CHUNK_STACKS);
		assert_int_equal(recorded_stacks_add(s, replay, &rec, &ev), 0);
		got = 0;
	}
	assert_int_equal(recorded_stacks_end(s, &rec), 0);
	recording_close(&rec);
	return got;
}

/* The same, of one recording. */
static int recorded(FILE *f, struct recorded_stacks *s, struct snapshot *sn)
{
	struct replay replay = {};
	int got = recorded_add(f, s, &replay);

	assert_int_equal(recorded_stacks_take(s, &replay, sn), 0);
	replay_done(&replay);
	return got;
}

/* This program, without its names. */
static char build_id[BUILD_ID_TEXT];
static uint64_t address_to_find;
static const char *function_before, *source_before; /* what was known when it was recorded */

static int stripped(void *arg, unsigned long long at, struct frame_name *ret_name)
{
	named(arg, at, ret_name);
	if (STACK_FRAME_AT(at) == 9)
		return 0;
	*ret_name = (struct frame_name){ .address = address_to_find };
	strcpy(ret_name->build_id, build_id);
	if (function_before)
		strcpy(ret_name->function, function_before);
	if (source_before)
		strcpy(ret_name->source, source_before);
	ret_name->line = source_before ? 3 : 0;
	return 0;
}

static int own_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uint64_t *)arg = info->dlpi_addr;
	return 1; /* the first is the program */
}

/* The rows' caller, with names from files in @place: for free(). */
static char *caller_later(FILE *f, const char *place, const char **ret_build_id)
{
	struct recorded_symbols symbols = { .places = { { place }, 1 } };
	struct recorded_stacks *s = calloc(1, sizeof(*s));
	const struct stack_frame *own;
	struct snapshot sn = {};
	char *text;

	names_later = recorded_symbols_namer(&symbols);
	assert_int_equal(recorded(f, s, &sn), 0);
	names_later = NULL;
	assert_int_equal(sn.stacks->n, 1);
	own = sn.stacks->stacks[0].frames[1];
	assert_int_equal(own->at, 1);
	assert_int_equal(own->address, address_to_find);
	*ret_build_id = strcmp(own->build_id, build_id) ? "another" : build_id;
	assert_int_equal(stack_join(&sn, BY_LINE), 0);
	text = strdup(sn.ops[0].by);
	assert_int_equal(symbols.named, !function_before && !strstr(text, "0x1"));
	snapshot_free(&sn);
	recorded_stacks_done(s);
	free(s);
	recorded_symbols_done(&symbols);
	return text;
}

/* A frame without a name gets one from a file with its build id, and from no other. */
static void names_after_recording(void **state)
{
	struct stack_rows *r = calloc(1, sizeof(*r));
	struct sent_stack one = op(1, 1000, 0);
	struct frame_file *file;
	const char *found;
	uint64_t base = 0;
	struct rlimit before, limit;
	char *text;
	FILE *f;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
	dl_iterate_phdr(own_base, &base);
	address_to_find = (uintptr_t)function_to_find - base;
	file = frame_file_open(open("/proc/self/exe", O_RDONLY), "exe");
	frame_file_build_id(file, build_id);
	frame_file_close(file);
	assert_int_equal(strlen(build_id), 40);
	namer = stripped;
	f = recording_of(r, &one, 1, true);
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
	text = caller_later(f, "/proc/self/exe", &found);
	unsetenv("DEBUGINFOD_URLS");
	assert_non_null(strstr(text, "function_to_find (test_stacks.c:"));
	assert_ptr_equal(found, build_id);
	free(text);
	/* only the copy that reads debug files has a limit */
	assert_int_equal(getrlimit(RLIMIT_DATA, &limit), 0);
	assert_int_equal(limit.rlim_cur, before.rlim_cur);
	text = caller_later(f, "/nowhere", &found);
	assert_string_equal(text, "0x1 [store]");
	free(text);
	/* another build of the program */
	build_id[0] = build_id[0] == '0' ? '1' : '0';
	fclose(f);
	stack_rows_done(r);
	f = recording_of(r, &one, 1, true);
	text = caller_later(f, "/proc/self/exe", &found);
	assert_string_equal(text, "0x1 [store]");
	free(text);
	namer = named;
	fclose(f);
	stack_rows_done(r);
	free(r);
}

/* The caller of a recording with a frame at @address of this program. */
static void assert_caller_later(uint64_t address, const char *has)
{
	struct stack_rows *r = calloc(1, sizeof(*r));
	struct sent_stack one = op(1, 1000, 0);
	const char *found;
	char *text;
	FILE *f;

	address_to_find = address;
	namer = stripped;
	f = recording_of(r, &one, 1, true);
	text = caller_later(f, "/proc/self/exe", &found);
	assert_non_null(strstr(text, has));
	free(text);
	namer = named;
	fclose(f);
	stack_rows_done(r);
	free(r);
}

/* A debug file adds the line to a function, but changes nothing that is known. */
static void names_before_are_kept(void **state)
{
	struct frame_file *file;
	uint64_t base = 0, at;

	(void)state;
	dl_iterate_phdr(own_base, &base);
	at = (uintptr_t)function_to_find - base;
	file = frame_file_open(open("/proc/self/exe", O_RDONLY), "exe");
	frame_file_build_id(file, build_id);
	frame_file_close(file);
	assert_caller_later(1ULL << 40, "0x1 [store]"); /* the file has nothing there */
	function_before = "known";
	assert_caller_later(at, "function_to_find (test_stacks.c:");
	source_before = "known.c";
	assert_caller_later(at, "known (known.c:3)");
	function_before = source_before = NULL;
}

/* Whether function_to_find() of the file with @id is found in @place. */
static bool is_found(const char *place, const char *id)
{
	struct debug_files s = { .places = { { place }, 1 } };
	struct frame_name name = {};
	bool found = debug_files_name(&s, id, address_to_find, &name);

	assert_true(!found || !strcmp(name.function, "function_to_find"));
	debug_files_done(&s);
	return found;
}

/* A link to this program whose name is that of the debug file with @id below @place. */
static void debug_file_link(const char *place, const char *id)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "mkdir -p %s/.build-id/%.2s && ln -s /proc/%d/exe %s/.build-id/%.2s/%s.debug",
		 place, id, getpid(), place, id, id + 2);
	assert_int_equal(system(text), 0);
}

/* A debug file is found by its name, but only if its build id is that of the name. */
static void debug_files_have_places(void **state)
{
	char place[] = "/tmp/test_stacks.XXXXXX", id[BUILD_ID_TEXT], text[64];
	struct frame_file *file;
	uint64_t base = 0;

	(void)state;
	assert_non_null(mkdtemp(place));
	dl_iterate_phdr(own_base, &base);
	address_to_find = (uintptr_t)function_to_find - base;
	file = frame_file_open(open("/proc/self/exe", O_RDONLY), "exe");
	frame_file_build_id(file, id);
	frame_file_close(file);
	assert_false(is_found(place, id));
	assert_false(is_found(place, "1"));
	assert_false(is_found(place, "../../etc"));
	snprintf(text, sizeof(text), "%s/other", place);
	debug_file_link(text, "0123456789abcdef");
	assert_false(is_found(text, "0123456789abcdef"));
	snprintf(text, sizeof(text), "%s/debug", place);
	debug_file_link(text, id);
	assert_true(is_found(text, id));
	snprintf(text, sizeof(text), "%s/root/usr/lib/debug", place);
	debug_file_link(text, id);
	snprintf(text, sizeof(text), "%s/root", place);
	assert_true(is_found(text, id));
	snprintf(text, sizeof(text), "rm -r %s", place);
	assert_int_equal(system(text), 0);
}

/* What is recorded has the rows of the run, on a machine without the programs. */
static void a_recording_has_stacks(void **state)
{
	struct stack_rows *r = calloc(1, sizeof(*r));
	struct recorded_stacks *s = calloc(1, sizeof(*s));
	struct sent_stack all[30];
	struct snapshot sn = {};
	FILE *f;

	(void)state;
	for (int i = 0; i < 30; i++)
		all[i] = op(i < 23 ? 1 : 2, 1000, i < 23 ? 0 : 3000);
	f = recording_of(r, all, 30, true);
	assert_int_equal(recorded(f, s, &sn), 0);
	assert_int_equal(sn.stacks->taken, 30);
	assert_int_equal(sn.stacks->n, 2);
	assert_int_equal(sn.stacks->lost, 3);
	assert_int_equal(sn.stacks->lost_ns, 5);
	assert_int_equal(sn.stacks->ended[STACK_WHOLE], 30);
	assert_true(sn.stacks->sampled);
	assert_int_equal(stack_join(&sn, BY_LINE), 0);
	assert_int_equal(row_of(&sn, "save_rows (store.c:10)")->count, 23);
	assert_int_equal(row_of(&sn, "save_rows (store.c:10)")->strata[ST_DEVICE], 23 * 250);
	assert_int_equal(row_of(&sn, "save_rows (store.c:10)")->bytes, 23 * 4096);
	assert_string_equal(row_of(&sn, "save_rows (store.c:10)")->fs, "ext4");
	assert_int_equal(row_of(&sn, "save_index (store.c:20)")->count, 7 * 3);
	assert_int_equal(row_of(&sn, "save_index (store.c:20)")->total_ns, 7 * 3000);
	snapshot_free(&sn);
	recorded_stacks_done(s);
	fclose(f);
	*s = (struct recorded_stacks){};
	f = recording_of(r, all, 30, false);
	assert_int_equal(recorded(f, s, &sn), 0);
	assert_int_equal(sn.stacks->ended[STACK_UNNAMED], 30);
	assert_int_equal(stack_join(&sn, BY_FUNCTION), 0);
	assert_int_equal(sn.n_ops, 1);
	snapshot_free(&sn);
	recorded_stacks_done(s);
	fclose(f);
	stack_rows_done(r);
	free(r);
	free(s);
}

/* Stacks of each recording have their own numbers; losses are added. */
static void several_recordings_have_stacks(void **state)
{
	struct recorded_stacks *s = calloc(1, sizeof(*s));
	struct replay replay = {};
	struct snapshot sn = {};

	(void)state;
	for (unsigned int i = 1; i <= 2; i++) {
		struct stack_rows *r = calloc(1, sizeof(*r));
		struct sent_stack all[] = { op(i, 1000, 0), op(3 - i, 100, 0), op(i, 1000, 0) };
		FILE *f;

		all[2].ret = -5;
		f = recording_of(r, all, 3, true);
		assert_int_equal(recorded_add(f, s, &replay), 0);
		fclose(f);
		stack_rows_done(r);
		free(r);
	}
	assert_int_equal(recorded_stacks_take(s, &replay, &sn), 0);
	replay_done(&replay);
	assert_int_equal(sn.stacks->taken, 6);
	assert_int_equal(sn.stacks->lost, 6);
	assert_int_equal(sn.stacks->lost_ns, 10);
	assert_int_equal(stack_join(&sn, BY_LINE), 0);
	for (int i = 0; i < 2; i++) {
		const struct op_row *row =
			row_of(&sn, i ? "save_index (store.c:20)" : "save_rows (store.c:10)");

		assert_int_equal(row->count, 3);
		assert_int_equal(row->total_ns, 2100);
		assert_int_equal(row->errors, 1);
		assert_int_equal(row->bytes, 2 * 4096);
	}
	snapshot_free(&sn);
	recorded_stacks_done(s);
	free(s);
}

/* Names and numbers of a recording may be anything. */
static void hostile_recordings(void **state)
{
	static const struct stored_name bad[] = {
		{ .type = NAME_STACK, .id = 2 },                   /* not in sequence */
		{ .type = NAME_STACK, .id = 1, .text_len = 3 },    /* no whole frame */
		{ .type = NAME_STACK, .id = 1, .text_len = 4 },    /* a frame without a name */
		{ .type = NAME_STACK, .id = 1, .a = STACK_END_N }, /* an unknown end */
		{ .type = NAME_STACK, .id = 1, .text_len = 4 * (STACK_FRAMES + 1) },
		{ .type = NAME_FRAME, .id = 3 },
		{ .type = NAME_FRAME, .id = 1, .c = 1ULL << 32 }, /* no line */
	};
	static const char text[4 * (STACK_FRAMES + 1)] = { 1 };
	struct stored_stack one = { .kind = OP_WRITE,
				    .stack = 1ULL << 40,
				    .ret = 1ULL << 62,
				    .device_bytes = ~0ULL,
				    .threshold_ns = ~0ULL };
	struct recorded_stacks *s = calloc(1, sizeof(*s));
	struct snapshot sn = {};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct writer w = {};
		FILE *f = tmpfile();

		assert_int_equal(writer_begin(&w, fileno(f), "{}"), 0);
		writer_name(&w, &bad[i], text);
		writer_close(&w);
		assert_true(writer_end(&w, "{}"));
		assert_int_equal(recorded(f, s, &sn), -1);
		snapshot_free(&sn);
		writer_done(&w);
		fclose(f);
	}
	for (int i = 0; i < 3; i++) {
		struct writer w = {};
		FILE *f = tmpfile();

		one.strata[ST_DEVICE] = i;
		assert_int_equal(writer_begin(&w, fileno(f), "{}"), 0);
		writer_stack(&w, &one, i);
		one.stack = i;
		writer_stack(&w, &one, i);
		writer_close(&w);
		assert_true(writer_end(&w, "{}"));
		assert_int_equal(recorded(f, s, &sn), 0);
		snapshot_free(&sn);
		writer_done(&w);
		fclose(f);
	}
	recorded_stacks_done(s);
	free(s);
}

/* To open a FIFO would wait, and to open a device may act on it. */
static void only_regular_files(void **state)
{
	char dir[] = "/tmp/iostrata-test-XXXXXX", path[64], link[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(regular_file_open(path), -ENOENT);
	assert_int_equal(symlink("a", link), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(regular_file_open(path), -EINVAL);
	assert_int_equal(regular_file_open(link), -EINVAL);
	assert_int_equal(regular_file_open("/dev/null"), -EINVAL);
	/* regular, but 256 GiB long, or a reader takes messages away from others */
	assert_int_equal(regular_file_open("/proc/self/pagemap"), -EINVAL);
	assert_true(regular_file_open("/proc/kmsg") < 0);
	assert_true(regular_file_open("/sys/kernel/mm/transparent_hugepage/enabled") < 0);
	fd = open("/proc/self/pagemap", O_RDONLY);
	assert_false(regular_file_has_crc(fd, 0, 1 << 20));
	close(fd);
	assert_int_equal(regular_file_open(dir), -EINVAL);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(regular_file_open(link), -EINVAL); /* it is empty */
	assert_int_equal(write(fd, "7", 1), 1);
	close(fd);
	fd = regular_file_open(link);
	assert_true(fd >= 0);
	assert_true(regular_file_has_crc(fd, 0x6abf4a82, 1));
	assert_false(regular_file_has_crc(fd, 0x6abf4a82, 0));
	close(fd);
	unlink(path);
	unlink(link);
	rmdir(dir);
}

/* Names of this program, one after the other, with no more memory than for the first. */
static void names_until_memory_is_out(void)
{
	struct frame_file *file;
	struct frame_name name;
	struct rlimit limit;
	unsigned long pages;
	FILE *f;

	frame_files_no_memory(copy_end_no_memory);
	file = frame_file_open(open("/proc/self/exe", O_RDONLY), "exe");
	frame_file_name(file, 0x10000, &name);
	f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%lu", &pages) != 1)
		_exit(1);
	limit.rlim_cur = limit.rlim_max = pages * getpagesize();
	setrlimit(RLIMIT_AS, &limit);
	for (size_t size = 1 << 24; size >= 1 << 15; size /= 2)
		while (malloc(size))
			;
	for (uint64_t at = 0x10000; at < 4 << 20; at += 16)
		frame_file_name(file, at, &name);
	_exit(0);
}

/* libdw would print a message, and call exit(): in a fork, what the tool has not written yet would
 * be written twice. */
static void no_memory_for_names(void **state)
{
	pid_t pid;

	(void)state;
	if (SANITIZED) /* its allocator ends the process */
		return;
	pid = fork();
	if (!pid)
		names_until_memory_is_out();
	assert_true(copy_had_no_memory(pid));
}

static int without_memory(void *arg, unsigned long long at, struct frame_name *ret_name)
{
	(void)at;
	(void)ret_name;
	return *(int *)arg;
}

/* Why names are missing is told: the first reason. */
static void missing_names_have_a_reason(void **state)
{
	static const struct {
		int err;
		const char *why;
	} cases[] = {
		{ -ENOMEM, "; names are missing: no memory was left to read programs" },
		{ -ETIMEDOUT, "; names are missing: a program took too long to read" },
		{ -EPIPE, "; names are missing: the process that reads programs has ended" },
	};
	static const struct opt_strings none;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stack_rows *r = calloc(1, sizeof(*r));
		struct sent_stack one = op(1, 1000, 0);
		char text[STACKS_WORDS];
		unsigned int number;
		struct stacks *s;
		int err = cases[i].err;

		assert_int_equal(stack_rows_add(r, &one, "ext4", &number), 0);
		assert_int_equal(stack_rows_take(r, &none, without_memory, &err, &s), 0);
		stacks_taken_text(text, sizeof(text), s);
		assert_non_null(strstr(text, cases[i].why));
		stacks_free(s);
		stack_rows_done(r);
		free(r);
	}
}

/* A program with ever new functions, over several intervals. */
static void too_many_functions(void **state)
{
	struct stack_rows *r = calloc(1, sizeof(*r));
	struct sent_stack one = op(1, 1000, 0);
	unsigned int number, last = 0;
	struct stacks *s = NULL;
	uint64_t at = 16;

	(void)state;
	one.n = STACK_FRAMES;
	for (int interval = 0; interval < 3; interval++) {
		stacks_free(s);
		for (unsigned int i = 0; i < FRAMES_MOST / STACK_FRAMES / 2; i++) {
			for (unsigned int f = 0; f < STACK_FRAMES; f++)
				one.frames[f] = STACK_FRAME(1ULL, at++);
			assert_int_equal(stack_rows_add(r, &one, "ext4", &number), 0);
			last = number;
		}
		s = taken(r);
		if (interval < 2)
			assert_null(s->nameless);
		else
			assert_string_equal(s->nameless, "there are too many functions");
	}
	assert_string_equal(s->stacks[last - 1].frames[0]->function, "(too many functions)");
	assert_int_equal(s->ended[STACK_WHOLE], FRAMES_MOST / STACK_FRAMES / 2);
	stacks_free(s);
	/* known ones keep their names */
	one.frames[0] = STACK_FRAME(1ULL, 16);
	assert_int_equal(stack_rows_add(r, &one, "ext4", &number), 0);
	s = taken(r);
	assert_string_equal(s->stacks[0].frames[0]->function, "save_index");
	stacks_free(s);
	stack_rows_done(r);
	free(r);
}

/* 16 stacks for 2^60 operations each would be no operation. */
static void forged_weights(void **state)
{
	struct stack_rows *r = calloc(1, sizeof(*r));
	struct recorded_stacks *s = calloc(1, sizeof(*s));
	struct sent_stack all[16];
	struct snapshot sn = {};
	FILE *f;

	(void)state;
	for (int i = 0; i < 16; i++)
		all[i] = op(1, 1, 1ULL << 60);
	f = recording_of(r, all, 16, true);
	assert_int_equal(recorded(f, s, &sn), 0);
	assert_int_equal(stack_join(&sn, BY_LINE), 0);
	assert_int_equal(row_of(&sn, "save_rows (store.c:10)")->count, 16 * 1000000000000ULL);
	snapshot_free(&sn);
	recorded_stacks_done(s);
	free(s);
	stack_rows_done(r);
	free(r);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_told_once),
		cmocka_unit_test(a_table_of_this_file),
		cmocka_unit_test(an_entry_point_is_the_last_frame),
		cmocka_unit_test(the_files_of_a_program),
		cmocka_unit_test(a_cache_of_libraries),
		cmocka_unit_test(the_end_of_a_goroutine),
		cmocka_unit_test(the_key_of_a_file),
		cmocka_unit_test(a_file_with_tables_at_one_place),
		cmocka_unit_test(python_in_a_file),
		cmocka_unit_test(hostile_files),
		cmocka_unit_test(the_deputy),
		cmocka_unit_test(the_deputy_reads_a_file_once),
		cmocka_unit_test(a_deputy_that_was_taken_over_is_ended),
		cmocka_unit_test(the_deputy_is_asked_too_much),
		cmocka_unit_test(a_dead_deputy_has_no_names),
		cmocka_unit_test(own_code_is_known),
		cmocka_unit_test(a_pool_worker_has_no_caller),
		cmocka_unit_test(rows_by_function),
		cmocka_unit_test(drawn_numbers_are_those_counted),
		cmocka_unit_test(rows_by_long_stacks),
		cmocka_unit_test(samples_have_no_bias),
		cmocka_unit_test(long_operations_are_not_uncertain),
		cmocka_unit_test(text_of_stacks),
		cmocka_unit_test(a_recording_has_stacks),
		cmocka_unit_test(names_after_recording),
		cmocka_unit_test(names_before_are_kept),
		cmocka_unit_test(debug_files_have_places),
		cmocka_unit_test(several_recordings_have_stacks),
		cmocka_unit_test(hostile_recordings),
		cmocka_unit_test(only_regular_files),
		cmocka_unit_test(no_memory_for_names),
		cmocka_unit_test(missing_names_have_a_reason),
		cmocka_unit_test(too_many_functions),
		cmocka_unit_test(forged_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
