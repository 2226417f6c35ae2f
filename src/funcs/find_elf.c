// SPDX-License-Identifier: GPL-2.0-only
/*
 * find_elf.c - reads the functions of programs and libraries from ELF files, and refuses those
 * whose returns must not be probed.
 */
#include "funcs/find_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <lzma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/pattern.h"
#include "base/reason.h"
#include "funcs/rows.h"

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

/* Signs of switching or unwinding stacks in a file. */
struct signs {
	const char *found; /* symbol of a function for switching stacks, except setcontext() */
	const char *throws;
	const char *ends_threads;
	bool cleans_up;
	bool setcontext;
	bool async_jobs; /* asynchronous jobs of OpenSSL, which contain setcontext(); few programs
			  * use them */
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
		/* .gopclntab, or .data.rel.ro.gopclntab in position-independent programs */
		s->go |= name && strstr(name, ".gopclntab");
		if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM)
			symbols_look(s, elf, scn, &sh);
	}
}

#define KERNEL_HINT "the kernel functions it uses can be traced: 'vfs_*' -p PID"

static int go_refuse(const char *path, struct reason *why)
{
	reason_set(why, EXIT_FAILED,
		   "'%.200s' is a Go program: its stacks move, and probing "
		   "returns would crash it",
		   path);
	return reason_hint(why, KERNEL_HINT);
}

static int switch_refuse(const char *path, const char *found, struct reason *why)
{
	reason_set(why, EXIT_FAILED,
		   "'%.150s' switches stacks (%.*s): probing returns would "
		   "crash it",
		   path, (int)strcspn(found, "@"), found);
	return reason_hint(why, KERNEL_HINT "; so can its libraries");
}

/* Only the user knows whether the program will unwind its stack. */
static int unwinding_refuse(const char *path, const char *found, const char *does, const char *harm,
			    struct reason *why)
{
	reason_set(why, EXIT_FAILED, "'%.150s' %s (%.*s): %s", path, does, (int)strcspn(found, "@"),
		   found, harm);
	return reason_hint(
		why, "--risk-exceptions traces it nevertheless; without this risk, " KERNEL_HINT);
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
		return unwinding_refuse(
			path, s->throws, "has exceptions",
			"one thrown through a traced function would end the program", why);
	if (s->ends_threads && s->cleans_up)
		return unwinding_refuse(path, s->ends_threads,
					"ends threads by unwinding their stacks",
					"a thread that ends in a traced function would clean up "
					"nothing and keep its locks",
					why);
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

enum { MAX_DEBUGDATA = 256 << 20, MAX_DEBUGDATA_GROWTH = 64 };

/* Receives a function symbol; a result other than 0 ends the search. */
typedef int symbol_fn(void *arg, const char *name, uint64_t offset);

/* File offset of @addr, from the executable segment there; 0: none. */
static uint64_t file_offset(Elf *elf, uint64_t addr)
{
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, i, &ph) && ph.p_type == PT_LOAD && (ph.p_flags & PF_X) &&
		    addr >= ph.p_vaddr && addr - ph.p_vaddr < ph.p_filesz)
			return addr - ph.p_vaddr + ph.p_offset;
	return 0;
}

/* Reads the functions of one symbol table; @file has the segments. 0, or the result of @fn other
 * than 0. */
static int table_read(Elf *elf, Elf *file, Elf_Scn *scn, const GElf_Shdr *sh, symbol_fn *fn,
		      void *arg)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	const char *name;
	uint64_t offset;
	GElf_Sym sym;
	int err;

	for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		offset = file_offset(file, sym.st_value);
		err = name && *name && offset ? fn(arg, name, offset) : 0;
		if (err)
			return err;
	}
	return 0;
}

static Elf_Scn *section_find(Elf *elf, const char *name, GElf_Word type, GElf_Shdr *ret_sh)
{
	Elf_Scn *scn = NULL;
	const char *is;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, ret_sh) || ret_sh->sh_type != type)
			continue;
		is = elf_strptr(elf, names, ret_sh->sh_name);
		if (!name || (is && !strcmp(is, name)))
			return scn;
	}
	return NULL;
}

/* Reads the symbol table of @type. 0, the result of @fn, or 1: there is no such table. */
static int tables_read(Elf *elf, Elf *file, GElf_Word type, symbol_fn *fn, void *arg)
{
	GElf_Shdr sh;
	Elf_Scn *scn = section_find(elf, NULL, type, &sh);

	return scn ? table_read(elf, file, scn, &sh, fn, arg) : 1;
}

/* Unpacks xz data; the caller frees the result. NULL: not xz, too large, or out of memory. */
static char *unpack(const void *from, size_t len, size_t *ret_len)
{
	uint64_t limit = 64 << 20;
	size_t in = 0, out = 0, cap = len * MAX_DEBUGDATA_GROWTH;
	char *to;
	lzma_ret err;

	if (len > MAX_DEBUGDATA / MAX_DEBUGDATA_GROWTH)
		cap = MAX_DEBUGDATA;
	to = malloc(cap);
	if (!to)
		return NULL;
	err = lzma_stream_buffer_decode(&limit, 0, NULL, from, &in, len, (uint8_t *)to, &out, cap);
	if (err != LZMA_OK) {
		free(to);
		return NULL;
	}
	*ret_len = out;
	return to;
}

/* Reads the small symbol table of a stripped file, as distributions make it (.gnu_debugdata).
 * Results as tables_read(). */
static int debugdata_read(Elf *elf, symbol_fn *fn, void *arg)
{
	GElf_Shdr sh;
	Elf_Scn *scn = section_find(elf, ".gnu_debugdata", SHT_PROGBITS, &sh);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	Elf *inner;
	char *image;
	size_t len;
	int err = 1;

	image = data && data->d_buf ? unpack(data->d_buf, data->d_size, &len) : NULL;
	if (!image)
		return 1;
	inner = elf_memory(image, len);
	if (inner)
		err = tables_read(inner, elf, SHT_SYMTAB, fn, arg);
	elf_end(inner);
	free(image);
	return err;
}

/* Whether the file is for another architecture and runs in an emulator. A probe would patch
 * instructions of this machine into it. */
static bool is_foreign(Elf *elf)
{
	GElf_Ehdr head;

	return gelf_getehdr(elf, &head) && !MACHINE_IS_OWN(head.e_machine);
}

/* Reads the best symbol table of the file. 0; 1: there is none; or the result of @fn. */
static int elf_read(int fd, symbol_fn *fn, void *arg)
{
	Elf *elf;
	int err, more;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return -ENOEXEC;
	}
	if (is_foreign(elf)) {
		elf_end(elf);
		return -ELIBBAD;
	}
	err = tables_read(elf, elf, SHT_SYMTAB, fn, arg);
	if (err == 1) {
		err = tables_read(elf, elf, SHT_DYNSYM, fn, arg);
		more = err < 0 ? 1 : debugdata_read(elf, fn, arg);
		err = more == 1 ? err : more;
	}
	elf_end(elf);
	return err;
}

/* A file being read, and its patterns. */
struct reading {
	struct func_list *l;
	struct pattern *const *patterns;
	size_t n;
	const char *scope, *path;
	const struct func_elf_conf *conf;
	size_t seen;
};

static int function_add(void *arg, const char *name, uint64_t offset)
{
	struct reading *r = arg;
	int err;

	r->seen++;
	if (!patterns_mean(r->patterns, r->n, r->scope, name))
		return 0;
	err = func_list_add(r->l, name, r->path, offset);
	if (!err)
		r->l->at[r->l->n - 1].refused = func_unsafe(name);
	return err;
}

/* Whether the file is the C library, by its name. The C library has functions for switching stacks,
 * but does not use them itself. */
static bool is_libc(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && (!strncmp(base, "/libc.so", 8) || !strncmp(base, "/libc-", 6) ||
			!strncmp(base, "/ld-musl", 8));
}

/* Copy of @path as process @pid, which may be in a container, sees it. */
static const char *path_of(struct func_list *l, const char *path, unsigned int pid)
{
	char its[PATH_MAX + 32];
	struct stat here, there;

	snprintf(its, sizeof(its), "/proc/%u/root%s", pid, path);
	if (!pid || stat(its, &there) ||
	    (!stat(path, &here) && here.st_dev == there.st_dev && here.st_ino == there.st_ino))
		return func_list_place(l, path, strlen(path));
	return func_list_place(l, its, strlen(its));
}

/* Whether process @pid maps the file @path, or another with its inode number: the device in maps is
 * not always that of stat(2), as with btrfs and overlayfs. */
static bool is_used(const char *path, unsigned int pid)
{
	char line[PATH_MAX + 128], maps[32];
	unsigned long long ino;
	bool found = false;
	struct stat st;
	FILE *f;

	snprintf(maps, sizeof(maps), "/proc/%u/maps", pid);
	f = stat(path, &st) ? NULL : fopen(maps, "re");
	if (!f)
		return true; /* not known */
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*s %*s %*s %llu", &ino) == 1 && ino == st.st_ino;
	fclose(f);
	return found;
}

/* Path of the C library of process @pid; 0: of this program. NULL: it has none. */
static const char *libc_path(struct func_list *l, unsigned int pid)
{
	char line[PATH_MAX + 128], path[PATH_MAX], maps[32] = "/proc/self/maps";
	const char *found = NULL;
	FILE *f;

	if (pid)
		snprintf(maps, sizeof(maps), "/proc/%u/maps", pid);
	f = fopen(maps, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*s %*s %*s %*s %4095s", path) == 1 && is_libc(path))
			found = path_of(l, path, pid);
	if (f)
		fclose(f);
	return found;
}

static int file_failed(const char *path, int err, struct reason *why)
{
	if (err == 1) {
		reason_set(why, EXIT_FAILED, "'%.200s' has no symbols", path);
		return reason_hint(why, "install its debuginfo, or a build that is not stripped or "
					"has .gnu_debugdata, and name that file");
	}
	if (err == -ENOEXEC)
		return reason_set(why, EXIT_FAILED, "'%.200s' is no program or library", path);
	if (err == -ELIBBAD)
		return reason_set(why, EXIT_FAILED, "'%.200s' is for another architecture", path);
	return reason_set(why, EXIT_FAILED, "cannot read '%.200s': %s", path, strerror(-err));
}

static int file_read(struct reading *r, int fd, struct reason *why)
{
	int err;

	if (!is_libc(r->path) && func_unsafe_file(fd, r->path, r->conf->risk_exceptions, why))
		return -1;
	err = elf_read(fd, function_add, r);
	if (!err && !r->seen)
		err = 1;
	return err ? file_failed(r->path, err, why) : 0;
}

static int file_list(struct reading *r, struct reason *why)
{
	int fd, err;

	if (!strcmp(r->scope, "c"))
		r->path = libc_path(r->l, r->conf->pid);
	else
		r->path = path_of(r->l, r->scope, r->scope[0] == '/' ? r->conf->pid : 0);
	if (r->path && r->conf->pid && r->conf->unused && !is_used(r->path, r->conf->pid))
		r->conf->unused(r->conf->pid, r->path);
	if (!r->path && r->conf->pid)
		return reason_set(why, EXIT_FAILED, "process %u uses no C library", r->conf->pid);
	if (!r->path)
		return reason_set(why, EXIT_FAILED, "cannot find the C library");
	fd = open(r->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return file_failed(r->path, -errno, why);
	err = file_read(r, fd, why);
	close(fd);
	return err;
}

static int by_place(const void *a, const void *b)
{
	const struct func *x = a, *y = b;
	int by = strcmp(x->where, y->where);

	if (by)
		return by;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Keeps a function with several names once, under the first name. */
static void aliases_remove(struct func_list *l)
{
	size_t left = 0;

	qsort(l->at, l->n, sizeof(*l->at), by_place);
	for (size_t i = 0; i < l->n; i++) {
		struct func *last = left ? &l->at[left - 1] : NULL, *f = &l->at[i];

		if (!last || last->addr != f->addr || last->where != f->where) {
			l->at[left++] = *f;
			continue;
		}
		last->refused = last->refused ? last->refused : f->refused;
		free(f->name);
	}
	l->n = left;
}

int func_elf_list(struct func_list *l, struct pattern *const patterns[], size_t n,
		  const struct func_elf_conf *conf, struct reason *why)
{
	for (size_t i = 0; i < n; i++) {
		struct reading r = { .l = l,
				     .patterns = patterns,
				     .n = n,
				     .scope = pattern_scope(patterns[i]),
				     .conf = conf };
		bool again = pattern_excludes(patterns[i]);

		for (size_t k = 0; k < i; k++)
			again |= !pattern_excludes(patterns[k]) &&
				 !strcmp(pattern_scope(patterns[k]), r.scope);
		if (!again && file_list(&r, why))
			return -1;
	}
	aliases_remove(l);
	return 0;
}
