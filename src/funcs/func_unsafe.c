// SPDX-License-Identifier: GPL-2.0-only
#include "funcs/func_unsafe.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"
#include "funcs/elf_file.h"
#include "funcs/maps.h"
#include "host/regular_file.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* Names of functions; "*" at the end stands for any text. First: functions that are never called,
 * so their stack has no return address. */
static const char *const no_address[] = {
	"_start",       "__start_context",      "_dl_start_user",
	"__restore_rt", "_dl_runtime_resolve*", "_dl_runtime_profile*"
};
/* Functions with two returns. */
static const char *const twice[] = { "getcontext", "setjmp",    "_setjmp",
				     "__setjmp",   "sigsetjmp", "__sigsetjmp" };
/* Functions for unwinding the stack. */
static const char *const unwinders[] = { "_Unwind_*",    "__cxa_throw", "__cxa_rethrow",
					 "pthread_exit", "thrd_exit",   "__pthread_unwind*" };

/* Functions for switching stacks: of the C library, and parts of the names of those in libraries
 * for coroutines. */
static const char *const switches[] = { "swapcontext", "setcontext" };
static const char *const fiber_switches[] = { "_switch_fiber", "fiber_switch", "jump_fcontext",
					      "ontop_fcontext", "coroutine_transfer" };

/* Functions of modules for coroutines whose switch of stacks has no symbol: greenlet and fibers of
 * Python, and Coro of Perl. */
static const char *const coroutines[] = { "PyInit__greenlet", "PyInit_greenlet", "slp_switch",
					  "PyInit__cfibers", "boot_Coro__State" };

/* Functions of languages with exceptions. */
static const char *const throws[] = { "__cxa_throw",         "__cxa_rethrow",
				      "__gxx_personality_*", "__objc_personality_*",
				      "rust_eh_personality", "__gnat_personality_*",
				      "__gdc_personality_*" };

/* These count as imports only, since every statically linked C program has them: a function for
 * throwing, functions for ending a thread by unwinding its stack, and the C function for the
 * cleanup. */
static const char *const raise_exception = "_Unwind_RaiseException";
static const char *const thread_ends[] = { "pthread_exit", "pthread_cancel", "thrd_exit" };
static const char *const cleans_up = "__gcc_personality_*";

/* Compares names without the version of a symbol ("@GLIBC_2.34"). */
static bool is_named(const char *name, const char *as)
{
	size_t len = strlen(as);

	if (as[len - 1] == '*')
		return !strncmp(name, as, len - 1);
	return !strncmp(name, as, len) && (!name[len] || name[len] == '@');
}

static bool is_one_of(const char *name, const char *const list[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_named(name, list[i]))
			return true;
	return false;
}

static bool is_fiber_switch(const char *name)
{
	for (size_t i = 0; i < COUNT(fiber_switches); i++)
		if (strstr(name, fiber_switches[i]))
			return true;
	return false;
}

const char *func_unsafe(const char *name)
{
	if (is_one_of(name, switches, COUNT(switches)) || is_fiber_switch(name))
		return "it switches stacks: probing its return would crash the program";
	if (is_one_of(name, twice, COUNT(twice)))
		return "it returns twice: probing its return would crash the program";
	if (is_one_of(name, no_address, COUNT(no_address)))
		return "nothing calls it: probing its return would crash the program";
	if (is_one_of(name, unwinders, COUNT(unwinders)))
		return "it unwinds the stack: with its return probed, it would find no caller";
	return NULL;
}

#if defined(__x86_64__)
/* The opcode of the vector instruction @code, or -1: it is none (VEX and EVEX have three prefixes;
 * in 64-bit programs, these bytes begin nothing else). */
static int vector_opcode(const unsigned char *code, size_t n)
{
	size_t at = !n ? 0 : code[0] == 0xc5 ? 2 : code[0] == 0xc4 ? 3 : code[0] == 0x62 ? 4 : 0;

	return at && at < n ? code[at] : -1;
}

/*
 * Uprobes do not execute the first instruction in place. They refuse some instructions, and do the
 * work of jumps, calls and nops themselves. For both, those of x86 heed only the opcode. But with a
 * VEX or EVEX prefix the same opcode is another instruction: 7a, a jump, is vpbroadcastb, with
 * which strchr() of glibc begins.
 */
static bool opcode_is_misread(int opcode)
{
	switch (opcode) {
	case 0x70 ... 0x7f: /* conditional jumps */
	case 0x90:          /* nop */
	case 0x9d:          /* popf */
	case 0xc2 ... 0xc3: /* returns */
	case 0xca ... 0xcb:
	case 0xe8 ... 0xe9: /* call and jumps */
	case 0xeb:
	case 0xff: /* indirect calls and jumps */
		return true;
	default:
		return false;
	}
}

/* Uprobes take the opcode for one that is invalid or needs privileges, as that of "out". They
 * refuse it when a program maps the file, and tell nobody. */
static bool opcode_is_refused(int opcode)
{
	static const unsigned char refused[] = { 0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27,
						 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x62, 0x6c, 0x6d,
						 0x6e, 0x6f, 0x82, 0x9a, 0xcd, 0xce, 0xcf, 0xd4,
						 0xd6, 0xe4, 0xe5, 0xe6, 0xe7, 0xea, 0xec, 0xed,
						 0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xfa, 0xfb };

	return opcode > 0 && memchr(refused, opcode, sizeof(refused));
}

const char *func_entry_unsafe(const unsigned char *code, size_t n)
{
	int opcode = vector_opcode(code, n);

	if (opcode_is_misread(opcode))
		return "a probe would break it: the kernel takes its first instruction (AVX) for "
		       "a jump";
	return opcode_is_refused(opcode) ? "the kernel cannot probe its first instruction (AVX)"
					 : NULL;
}
#else
const char *func_entry_unsafe(const unsigned char *code, size_t n)
{
	(void)code;
	(void)n;
	return NULL;
}
#endif

/* Keeps @name without its version. */
static void sign_set(char sign[SIGN_LEN], const char *name)
{
	snprintf(sign, SIGN_LEN, "%.*s", (int)strcspn(name, "@"), name);
}

static void import_look(struct func_signs *s, const char *name)
{
	s->cleans_up |= is_named(name, cleans_up);
	if (is_named(name, raise_exception))
		sign_set(s->throws, name);
	if (is_one_of(name, thread_ends, COUNT(thread_ends)))
		sign_set(s->ends_threads, name);
}

static int symbol_look(void *arg, const struct elf_symbol *symbol)
{
	struct func_signs *s = arg;
	const char *name = symbol->name;

	s->async_jobs |= is_named(name, "ASYNC_start_job");
	s->setcontext |= is_named(name, "setcontext");
	if (is_named(name, "swapcontext") || is_fiber_switch(name) ||
	    is_one_of(name, coroutines, COUNT(coroutines)))
		sign_set(s->switches, name);
	if (is_one_of(name, throws, COUNT(throws)))
		sign_set(s->throws, name);
	if (symbol->is_import)
		import_look(s, name);
	return 0;
}

int func_signs_read(struct func_signs *s, struct elf_file *f)
{
	*s = (struct func_signs){};
	/* .gopclntab, or .data.rel.ro.gopclntab in position-independent programs */
	s->go = elf_file_has_section(f, ".gopclntab");
	return elf_file_symbols(f, symbol_look, s);
}

const char *func_signs_switch(const struct func_signs *s)
{
	if (*s->switches)
		return s->switches;
	return s->setcontext && !s->async_jobs ? "setcontext" : NULL;
}

/* Only the user knows whether the program will unwind its stack. */
static int unwinding_refuse(const char *path, const char *found, const char *does, const char *harm,
			    struct reason *why)
{
	reason_set(why, EXIT_FAILED, "'%.150s' %s (%s): %s", path, does, found, harm);
	return reason_hint(why, "--risk-exceptions traces it nevertheless; to avoid the risk, "
				"trace the kernel functions that it uses: 'vfs_*' -p PID");
}

int func_signs_refuse(const struct func_signs *s, const char *path, struct reason *why)
{
	if (*s->throws)
		return unwinding_refuse(
			path, s->throws, "has exceptions",
			"one thrown through a traced function would end the program", why);
	if (*s->ends_threads && s->cleans_up)
		return unwinding_refuse(path, s->ends_threads,
					"ends threads by unwinding their stacks",
					"a thread that ends in a traced function would clean up "
					"nothing and keep its locks",
					why);
	return 0;
}

bool func_is_libc(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && (!strncmp(base, "/libc.so", 8) || !strncmp(base, "/libc-", 6) ||
			!strncmp(base, "/ld-musl", 8));
}

/* Opens a mapped file. It may have been removed, or belong to other mounts. Returns -1 if it is not
 * regular, or cannot be opened. */
static int mapped_open(unsigned int pid, const struct mapping *m)
{
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid, m->from, m->to);
	fd = regular_file_open(path);
	if (fd >= 0)
		return fd;
	/* without CAP_SYS_ADMIN; and a process whose first thread has ended has no root */
	snprintf(path, sizeof(path), "/proc/%u/root%s", pid, m->path);
	fd = regular_file_open(path);
	return fd < 0 ? regular_file_open(m->path) : fd;
}

/* A file that cannot be read shows nothing. */
static bool mapping_switches(unsigned int pid, const struct mapping *m, char *ret_sign, size_t len)
{
	const char *base = strrchr(m->path, '/'), *sign;
	struct func_signs signs;
	struct elf_file *f;
	bool found = false;
	int fd = mapped_open(pid, m);

	if (fd < 0)
		return false;
	if (!elf_file_open(fd, &f)) {
		func_signs_read(&signs, f);
		sign = func_signs_switch(&signs);
		found = sign != NULL;
		if (found)
			snprintf(ret_sign, len, "%.100s: %s", base + 1, sign);
		elf_file_close(f);
	}
	close(fd);
	return found;
}

bool func_process_switches(unsigned int pid, char *ret_sign, size_t len)
{
	unsigned long long last_ino = 0;
	struct mapping m;
	bool found = false;
	FILE *maps = maps_open(pid);

	while (maps && !found && maps_next(maps, &m)) {
		if (!m.executable || m.path[0] != '/' || m.ino == last_ino || func_is_libc(m.path))
			continue;
		last_ino = m.ino;
		found = mapping_switches(pid, &m, ret_sign, len);
	}
	if (maps)
		fclose(maps);
	return found;
}
