// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/own_code.h"

#include <string.h>

/* Libraries without their version: "libc" stands for libc.so.6. */
static const char *const runtimes[] = {
	"libc",      "ld-linux-x86-64", "ld-musl-x86_64", "libpthread", "librt",    "libdl",
	"libm",      "libaio",          "liburing",       "libstdc++",  "libgcc_s", "libc++",
	"libc++abi", "libuv",           "libnode",        "node",       "libjvm",   "libjava",
	"libnio",    "libnet",          "libzip",
};

/* Beginnings of functions of a language's own library, which is linked into the program or made at
 * run time: Rust, Go, C++, Java, JavaScript (V8). */
static const char *const prefixes[] = {
	"std::",    "core::",    "alloc::",   "<std::",   "<core::",   "<alloc::",
	"runtime.", "internal/", "syscall.",  "os.",      "io.",       "io/",
	"runtime/", "archive/",  "compress/", "crypto/",  "database/", "encoding/",
	"html/",    "net/",      "text/",     "bufio.",   "fmt.",      "log.",
	"poll.",    "java.",     "javax.",    "jdk.",     "sun.",      "com.sun.",
	"node::",   "v8::",      "uv_",       "Builtin:", "Builtins_", "BytecodeHandler:",
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

/* Python, as "python3.11" or "libpython3.11.so.1.0". */
static bool is_python(const char *file)
{
	if (!strncmp(file, "lib", 3))
		file += 3;
	return !strncmp(file, "python3.", 8) && file[8] >= '0' && file[8] <= '9';
}

/* Whether the source is in the language's own library: Python's, or Node's. */
static bool is_runtime_source(const char *source)
{
	if (!strncmp(source, "<frozen ", 8) || !strncmp(source, "node:", 5))
		return true;
	return strstr(source, "/lib/python3.") && !strstr(source, "/site-packages/") &&
	       !strstr(source, "/dist-packages/");
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
	/* V8 interprets a function of the program, whose name only Node's options tell */
	if (f->function && !strcmp(f->function, "Builtins_InterpreterEntryTrampoline"))
		return false;
	if (f->source && is_runtime_source(f->source))
		return true;
	if (f->library) {
		if (is_python(f->library))
			return true;
		for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
			if (is_library(f->library, runtimes[i]))
				return true;
		for (unsigned int i = 0; i < hide->n; i++)
			if (is_library(f->library, hide->at[i]))
				return true;
	}
	return f->function && is_runtime_function(f->function);
}

/* A function of libuv, which Node has in it. */
static bool is_pool_frame(const struct stack_frame *f)
{
	return (f->library && is_library(f->library, "libuv")) ||
	       (f->function && !strncmp(f->function, "uv__", 4));
}

static bool is_start_of_program(const struct stack_frame *f)
{
	return f->function && (!strcmp(f->function, "_start") || !strcmp(f->function, "main") ||
			       strstr(f->function, "libc_start"));
}

/* Whether a worker of libuv's pool made the call, for somebody who is not on its stack. */
static bool is_pool_worker(const struct stack *s)
{
	bool pool = false;

	for (unsigned int i = 0; i < s->n; i++) {
		if (is_start_of_program(s->frames[i]))
			return false;
		pool |= is_pool_frame(s->frames[i]);
	}
	return pool;
}

void stack_end_judge(struct stack *s)
{
	const char *outermost = s->n ? s->frames[s->n - 1]->function : NULL;

	if (s->end == STACK_NO_ROWS && outermost &&
	    (!strncmp(outermost, "runtime.goexit", 14) ||
	     !strncmp(outermost, "runtime.rt0_go", 14) ||
	     !strncmp(outermost, "runtime.mstart", 14)))
		s->end = STACK_WHOLE;
}

/* A program that is all hidden, as the dynamic linker at the start of one, is known by the frame
 * that made the call. A stack that was cut before its own code is not: the caller is unknown. */
int stack_own_frame(const struct stack *s)
{
	for (unsigned int i = 0; i < s->n; i++)
		if (!s->frames[i]->hidden)
			return i;
	return s->n && s->end == STACK_WHOLE && !is_pool_worker(s) ? 0 : -1;
}
