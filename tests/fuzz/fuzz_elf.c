// SPDX-License-Identifier: GPL-2.0-only
/* Files that are programs or libraries, more or less: their functions are listed, and their names
 * in C++ are made. They have tables to unwind by, and name the libraries that they need, also by a
 * cache of the dynamic linker, which is any bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pattern.h"
#include "base/reason.h"
#include "funcs/demangle.h"
#include "funcs/elf_file.h"
#include "funcs/func_find_elf.h"
#include "funcs/func_rows.h"
#include "stacks/go_names.h"
#include "stacks/program_files.h"
#include "stacks/python_file.h"
#include "stacks/unwind_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void list(const char *path)
{
	const struct func_elf_conf conf = { .risk_exceptions = true };
	struct func_list l = {};
	struct reason why = {};
	char text[64];
	struct pattern *p;

	snprintf(text, sizeof(text), "%s:*", path);
	if (pattern_open(text, &p, &why))
		abort();
	func_elf_list(&l, &p, 1, &conf, &why);
	for (size_t i = 0; i < l.n; i++)
		if (!*l.at[i].name || !l.at[i].addr)
			abort();
	func_list_free(&l);
	pattern_free(p);
}

/* The input as a name. */
static void name(const uint8_t *data, size_t len)
{
	char *text = strndup((const char *)data, len), buf[DEMANGLED_LEN];

	if (text && demangle(text, true, buf) && strlen(buf) >= DEMANGLED_LEN)
		abort();
	free(text);
}

static void file_write(const char *path, const char *before, const uint8_t *data, size_t len)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(before, f) < 0 || fwrite(data, 1, len, f) != len || fclose(f))
		abort();
}

static bool file_take(void *arg, int fd, const char *path)
{
	unsigned int *n = arg;

	if (path[0] != '/' || ++*n > 128)
		abort();
	return !close(fd);
}

/* The input is a program and the cache of the dynamic linker in another root directory. */
static void needed(const uint8_t *data, size_t len)
{
	char root[] = "/tmp/fuzz_elf.XXXXXX", etc[64], cache[64], program[64];
	unsigned int n = 0;

	if (!mkdtemp(root))
		abort();
	snprintf(etc, sizeof(etc), "%s/etc", root);
	snprintf(cache, sizeof(cache), "%s/ld.so.cache", etc);
	snprintf(program, sizeof(program), "%s/program", root);
	mkdir(etc, 0700);
	file_write(cache, "glibc-ld.so.cache1.1", data, len);
	file_write(program, "", data, len);
	program_files_each("/program", root, file_take, &n);
	unlink(program);
	unlink(cache);
	rmdir(etc);
	rmdir(root);
}

static void table(int fd)
{
	struct unwind_python python;
	struct unwind_table t = {};

	python_file_find(fd, &python);
	if (!unwind_table_make(&t, fd))
		for (size_t i = 1; i < t.n; i++)
			if (t.rows[i - 1].at >= t.rows[i].at)
				abort();
	unwind_table_done(&t);
}

/* Names in Go's own table: of many addresses, since the code can be anywhere. */
static void go_table(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const char *found;

	for (GElf_Addr at = 0; elf && at < 0x500000; at += 0x10007) {
		found = go_name(elf, at);
		if (found && !*found)
			abort();
	}
	elf_end(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int fd = memfd_create("elf", 0);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	list(path);
	table(fd);
	go_table(fd);
	needed(data, len);
	close(fd);
	name(data, len);
	return 0;
}
