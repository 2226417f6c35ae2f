// SPDX-License-Identifier: GPL-2.0-only
/* Files that are programs or libraries, more or less: their functions are listed, and their names
 * in C++ are made. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/pattern.h"
#include "base/reason.h"
#include "funcs/demangle.h"
#include "funcs/elf_file.h"
#include "funcs/func_find_elf.h"
#include "funcs/func_rows.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int fd = memfd_create("elf", 0);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	list(path);
	close(fd);
	name(data, len);
	return 0;
}
