// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/own_code.h"

#include <string.h>

/* Libraries without their version: "libc" stands for libc.so.6. */
static const char *const runtimes[] = {
	"libc",   "ld-linux-x86-64", "ld-musl-x86_64", "libpthread", "librt",  "libdl",     "libm",
	"libaio", "liburing",        "libstdc++",      "libgcc_s",   "libc++", "libc++abi",
};

/* Beginnings of functions of a language's own library, which is linked into the program: Rust, Go,
 * C++. */
static const char *const prefixes[] = {
	"std::",    "core::", "alloc::", "<std::", "<core::", "<alloc::", "runtime.", "internal/",
	"syscall.", "os.",    "io.",     "io/",    "bufio.",  "fmt.",     "log.",     "poll.",
};

/* Functions of a C library that may be linked into the program. "_" and "_IO_" begin the names that
 * belong to it. */
static const char *const functions[] = {
	"read",
	"pread",
	"pread64",
	"readv",
	"preadv",
	"preadv64",
	"write",
	"pwrite",
	"pwrite64",
	"writev",
	"pwritev",
	"pwritev64",
	"open",
	"open64",
	"openat",
	"openat64",
	"creat",
	"close",
	"fsync",
	"fdatasync",
	"sync",
	"syncfs",
	"msync",
	"sync_file_range",
	"fopen",
	"fopen64",
	"fclose",
	"fread",
	"fread_unlocked",
	"fwrite",
	"fwrite_unlocked",
	"fflush",
	"fgets",
	"getline",
	"getdelim",
	"fputs",
	"fprintf",
	"vfprintf",
	"fputc",
	"putc",
	"getc",
	"fgetc",
	"stat",
	"lstat",
	"fstat",
	"fstatat",
	"fstatat64",
	"statx",
	"unlink",
	"unlinkat",
	"rename",
	"renameat",
	"renameat2",
	"mkdir",
	"mkdirat",
	"rmdir",
	"ftruncate",
	"ftruncate64",
	"truncate",
	"fallocate",
	"fallocate64",
	"posix_fallocate",
	"opendir",
	"readdir",
	"readdir64",
	"closedir",
	"getdents64",
	"sendfile",
	"sendfile64",
	"copy_file_range",
	"syscall",
	"flock",
	"fcntl",
	"lockf",
	"access",
	"faccessat",
	"readlink",
	"chmod",
	"chown",
	"utimensat",
};

/* Whether @file is library @name with or without a version: "libc.so.6", "libc-2.31.so". */
static bool is_library(const char *file, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(file, name, len))
		return false;
	return !file[len] || !strncmp(file + len, ".so", 3) ||
	       (file[len] == '-' && file[len + 1] >= '0' && file[len + 1] <= '9');
}

static bool is_runtime_function(const char *name)
{
	if (!strncmp(name, "__", 2) || !strncmp(name, "_IO_", 4) || !strcmp(name, "_start"))
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcmp(name, functions[i]))
			return true;
	return false;
}

bool frame_is_hidden(const struct stack_frame *f, const struct opt_strings *hide)
{
	if (f->library) {
		for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
			if (is_library(f->library, runtimes[i]))
				return true;
		for (unsigned int i = 0; i < hide->n; i++)
			if (is_library(f->library, hide->at[i]))
				return true;
	}
	return f->function && is_runtime_function(f->function);
}

/* A program that is all hidden, as the dynamic linker at the start of one, is known by the frame
 * that made the call. A stack that was cut before its own code is not: the caller is unknown. */
int stack_own_frame(const struct stack *s)
{
	for (unsigned int i = 0; i < s->n; i++)
		if (!s->frames[i]->hidden)
			return i;
	return s->n && s->end == STACK_WHOLE ? 0 : -1;
}
