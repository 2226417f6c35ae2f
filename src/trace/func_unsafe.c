// SPDX-License-Identifier: GPL-2.0-only
#include "trace/func_unsafe.h"

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/reason.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* Names; "*" at the end: and what follows. */
static const char *const no_address[] = { "_start", "__start_context", "_dl_start_user",
					  "__restore_rt", "_dl_runtime_resolve*",
					  "_dl_runtime_profile*" };
static const char *const twice[] = { "getcontext", "setjmp", "_setjmp", "__setjmp", "sigsetjmp",
				     "__sigsetjmp" };
static const char *const unwinders[] = { "_Unwind_*", "__cxa_throw", "__cxa_rethrow",
					 "pthread_exit", "thrd_exit", "__pthread_unwind*" };

/* Of the C library, and of libraries for coroutines, as they are called or begin or end. */
static const char *const switches[] = { "swapcontext", "setcontext" };
static const char *const fiber_switches[] = { "_switch_fiber", "fiber_switch", "jump_fcontext",
					      "ontop_fcontext", "coroutine_transfer" };

/* Of languages that have exceptions. */
static const char *const throws[] = { "__cxa_throw", "__cxa_rethrow", "__gxx_personality_*",
				      "__objc_personality_*", "rust_eh_personality",
				      "__gnat_personality_*", "__gdc_personality_*" };

/* As imports only, since programs in C that are linked statically have them all: what throws, what
 * ends a thread by unwinding its stack, and what then cleans up in C. */
static const char *const raise_exception = "_Unwind_RaiseException";
static const char *const thread_ends[] = { "pthread_exit", "pthread_cancel", "thrd_exit" };
static const char *const cleans_up = "__gcc_personality_*";

/* A symbol's version is no part of its name. */
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
		return "it switches stacks: if its return were probed, the program would crash";
	if (is_one_of(name, twice, COUNT(twice)))
		return "it returns twice: if its return were probed, the program would crash";
	if (is_one_of(name, no_address, COUNT(no_address)))
		return "nothing calls it: if its return were probed, the program would crash";
	if (is_one_of(name, unwinders, COUNT(unwinders)))
		return "it unwinds the stack: if its return were probed, it would find nothing "
		       "there";
	return NULL;
}

/* What tells of a file that it switches stacks, or unwinds them. */
struct signs {
	const char *found;	/* a symbol, but for setcontext() */
	const char *throws;
	const char *ends_threads;
	bool cleans_up;
	bool setcontext;
	bool async_jobs;	/* OpenSSL's, which need setcontext(); few programs use them */
	bool go;
};

static void import_look(struct signs *s, const char *name)
{
	s->cleans_up |= is_named(name, cleans_up);
	if (is_named(name, raise_exception))
		s->throws = name;
	if (is_one_of(name, thread_ends, COUNT(thread_ends)))
		s->ends_threads = name;
}

static void symbols_look(struct signs *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	const char *name;
	GElf_Sym sym;

	for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (!name)
			continue;
		s->async_jobs |= is_named(name, "ASYNC_start_job");
		s->setcontext |= is_named(name, "setcontext");
		if (is_named(name, "swapcontext") || is_fiber_switch(name))
			s->found = name;
		if (is_one_of(name, throws, COUNT(throws)))
			s->throws = name;
		if (sym.st_shndx == SHN_UNDEF)
			import_look(s, name);
	}
}

static void sections_look(struct signs *s, Elf *elf)
{
	Elf_Scn *scn = NULL;
	const char *name;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		/* .gopclntab, or .data.rel.ro.gopclntab in programs for any address */
		s->go |= name && strstr(name, ".gopclntab");
		if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM)
			symbols_look(s, elf, scn, &sh);
	}
}

#define KERNEL_HINT "what it has the kernel do can be traced: 'vfs_*' -p PID"

static int go_refuse(const char *path, struct reason *why)
{
	reason_set(why, EXIT_FAILED, "'%.200s' is a Go program: its stacks move, and it would "
				     "crash if returns were probed",
		   path);
	return reason_hint(why, KERNEL_HINT);
}

static int switch_refuse(const char *path, const char *found, struct reason *why)
{
	reason_set(why, EXIT_FAILED, "'%.150s' switches stacks (%.*s) and would crash if returns "
				     "were probed",
		   path, (int)strcspn(found, "@"), found);
	return reason_hint(why, KERNEL_HINT "; so can the libraries that it uses");
}

/* Whether that will happen is for the user to know. */
static int unwinding_refuse(const char *path, const char *found, const char *does, const char *harm,
			    struct reason *why)
{
	reason_set(why, EXIT_FAILED, "'%.150s' %s (%.*s): %s", path, does,
		   (int)strcspn(found, "@"), found, harm);
	return reason_hint(why, "--risk-exceptions traces it nevertheless; without that risk, "
				KERNEL_HINT);
}

static int file_refuse(const struct signs *s, const char *path, bool risk_exceptions,
		       struct reason *why)
{
	if (s->go)
		return go_refuse(path, why);
	if (s->found || (s->setcontext && !s->async_jobs))
		return switch_refuse(path, s->found ? s->found : "setcontext", why);
	if (risk_exceptions)
		return 0;
	if (s->throws)
		return unwinding_refuse(path, s->throws, "has exceptions",
					"one thrown through a traced function would end it", why);
	if (s->ends_threads && s->cleans_up)
		return unwinding_refuse(path, s->ends_threads, "ends threads by unwinding",
					"one that ends in a traced function would clean up nothing "
					"and keep its locks", why);
	return 0;
}

int func_unsafe_file(int fd, const char *path, bool risk_exceptions, struct reason *why)
{
	struct signs s = {};
	int err = 0;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		sections_look(&s, elf);
		err = file_refuse(&s, path, risk_exceptions, why);
	}
	elf_end(elf);
	return err;
}
