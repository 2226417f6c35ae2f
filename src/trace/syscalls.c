// SPDX-License-Identifier: GPL-2.0-only
/*
 * syscalls.c - the one list of system calls traced as operations. Each architecture has a file with
 * their numbers. The numbers in a recording are those of the machine it was made on.
 *
 * Calls such as access() read only an inode, but even so may need the device. The list has calls on
 * memory only if they read a whole mapping at once; other uses of a mapping are page faults.
 */
#include "trace/syscalls.h"

#include <stddef.h>
#include <string.h>

#include "base/async.h"
#include "trace/calls_aarch64.h"
#include "trace/calls_x86_64.h"

/* X(call, kind, enum call_file, enum call_offset): enum call_offset tells which argument of a
 * 64-bit call is its offset; 32-bit calls split the offset in two. */
/* clang-format off */
#define CALLS(X) \
	X(read, READ, ARG0, POS) X(pread64, READ, ARG0, ARG3) X(readv, READ, ARG0, VECTOR_POS) \
	X(preadv, READ, ARG0, VECTOR_ARG3) X(preadv2, READ, ARG0, VECTOR_FLAGS) \
	X(write, WRITE, ARG0, POS) X(pwrite64, WRITE, ARG0, ARG3) \
	X(writev, WRITE, ARG0, VECTOR_POS) X(pwritev, WRITE, ARG0, VECTOR_ARG3) \
	X(pwritev2, WRITE, ARG0, VECTOR_FLAGS) \
	X(open, OPEN, RESULT, PATH) X(openat, OPEN, RESULT, AT_PATH) \
	X(openat2, OPEN, RESULT, AT_PATH) X(creat, OPEN, RESULT, PATH) \
	X(open_by_handle_at, OPEN, RESULT, NONE) X(close, CLOSE, ARG0, NONE) \
	X(fsync, FSYNC, ARG0, NONE) X(fdatasync, FSYNC, ARG0, NONE) \
	X(sync_file_range, META, ARG0, NONE) X(sync, FSYNC, NONE, NONE) \
	X(syncfs, FSYNC, ARG0, NONE) X(msync, FSYNC, MAPPING, NONE) X(sendfile, COPY, ARG1, NONE) \
	X(splice, COPY, ARG0_OR_2, NONE) X(copy_file_range, COPY, ARG0_OR_2, NONE) \
	X(stat, META, NONE, PATH) X(fstat, META, ARG0, NONE) X(lstat, META, NONE, PATH) \
	X(newfstatat, META, NONE, AT_PATH) X(statx, META, NONE, AT_PATH) \
	X(access, META, NONE, PATH) \
	X(faccessat, META, NONE, AT_PATH) X(faccessat2, META, NONE, AT_PATH) \
	X(getdents, META, ARG0, NONE) X(getdents64, META, ARG0, NONE) \
	X(unlink, META, NONE, PARENT) X(unlinkat, META, NONE, AT_PARENT) \
	X(rename, META, NONE, PARENT) \
	X(renameat, META, NONE, AT_PARENT) X(renameat2, META, NONE, AT_PARENT) \
	X(mkdir, META, NONE, PARENT) \
	X(mkdirat, META, NONE, AT_PARENT) X(rmdir, META, NONE, PARENT) \
	X(truncate, META, NONE, PATH) \
	X(ftruncate, META, ARG0, NONE) X(fallocate, META, ARG0, NONE) X(link, META, NONE, PATH) \
	X(linkat, META, NONE, AT_PATH) X(symlink, META, NONE, PARENT_ARG1) \
	X(symlinkat, META, NONE, AT_PARENT_ARG2) \
	X(readlink, META, NONE, PATH) X(readlinkat, META, NONE, AT_PATH) \
	X(mknod, META, NONE, PARENT) X(mknodat, META, NONE, AT_PARENT) X(chmod, META, NONE, PATH) \
	X(fchmod, META, ARG0, NONE) X(fchmodat, META, NONE, AT_PATH) X(chown, META, NONE, PATH) \
	X(fchown, META, ARG0, NONE) X(lchown, META, NONE, PATH) X(fchownat, META, NONE, AT_PATH) \
	X(utime, META, NONE, PATH) X(utimes, META, NONE, PATH) X(utimensat, META, NONE, AT_PATH) \
	X(futimesat, META, NONE, AT_PATH) X(statfs, META, NONE, PATH) X(fstatfs, META, ARG0, NONE) \
	X(setxattr, META, NONE, PATH) X(lsetxattr, META, NONE, PATH) \
	X(fsetxattr, META, ARG0, NONE) X(getxattr, META, NONE, PATH) \
	X(lgetxattr, META, NONE, PATH) X(fgetxattr, META, ARG0, NONE) \
	X(listxattr, META, NONE, PATH) X(llistxattr, META, NONE, PATH) \
	X(flistxattr, META, ARG0, NONE) X(removexattr, META, NONE, PATH) \
	X(lremovexattr, META, NONE, PATH) X(fremovexattr, META, ARG0, NONE) \
	X(dup, HANDLE, ARG0, ARGS) X(dup2, CLOSE, BY_ARGS, DUP) X(dup3, CLOSE, BY_ARGS, DUP) \
	X(fcntl, LOCK, BY_ARGS, FLOCK) X(fcntl64, LOCK, BY_ARGS, FLOCK) \
	X(flock, LOCK, ARG0, ARGS) X(lseek, META, BY_ARGS, SEEK) X(io_submit, AIO, NONE, NONE) \
	X(io_getevents, AIO, NONE, NONE) X(io_pgetevents, AIO, NONE, NONE) \
	X(io_pgetevents_time64, AIO, NONE, NONE) X(truncate64, META, NONE, PATH) \
	X(ftruncate64, META, ARG0, NONE) X(stat64, META, NONE, PATH) \
	X(lstat64, META, NONE, PATH) X(fstat64, META, ARG0, NONE) \
	X(fstatat64, META, NONE, AT_PATH) X(sendfile64, COPY, ARG1, NONE) \
	X(oldstat, META, NONE, PATH) X(oldfstat, META, ARG0, NONE) \
	X(oldlstat, META, NONE, PATH) X(lchown32, META, NONE, PATH) \
	X(fchown32, META, ARG0, NONE) X(chown32, META, NONE, PATH) \
	X(statfs64, META, NONE, PATH) X(fstatfs64, META, ARG0, NONE) \
	X(readdir, META, ARG0, NONE) X(utimensat_time64, META, NONE, AT_PATH) \
	X(mmap, META, MAPPED, NONE) X(mlock, META, MAPPING, NONE) \
	X(mlock2, META, MAPPING, NONE) X(mlockall, META, NONE, NONE) \
	X(madvise, META, ADVISED, NONE) X(mincore, META, MAPPING, NONE) \
	X(readahead, META, ARG0, NONE) X(fadvise64, META, ARG0, NONE) \
	X(fadvise64_64, META, ARG0, NONE) X(memfd_create, OPEN, RESULT, NONE) \
	X(memfd_secret, OPEN, RESULT, NONE) X(mq_open, OPEN, RESULT, NONE) \
	X(fsopen, OPEN, RESULT, NONE) X(fspick, OPEN, RESULT, AT_PATH) \
	X(fsmount, OPEN, RESULT, NONE) X(open_tree, OPEN, RESULT, AT_PATH) \
	X(ioctl, META, BY_ARGS, IOCTL) X(mount, META, NONE, PATH_ARG1) X(umount, META, NONE, PATH) \
	X(umount2, META, NONE, PATH) X(move_mount, META, NONE, NONE) \
	X(fsconfig, META, NONE, NONE) X(quotactl, META, NONE, NONE) \
	X(quotactl_fd, META, ARG0, NONE) X(swapon, META, NONE, PATH) \
	X(swapoff, META, NONE, PATH) X(chdir, META, NONE, PATH) X(fchdir, META, ARG0, NONE) \
	X(chroot, META, NONE, PATH) X(name_to_handle_at, META, NONE, AT_PATH) \
	X(ustat, META, NONE, NONE) X(acct, META, NONE, PATH) X(finit_module, META, ARG0, NONE) \
	X(execve, EXEC, RESULT, PATH) X(execveat, EXEC, RESULT, AT_PATH) \
	X(uselib, META, NONE, PATH) X(kexec_file_load, META, ARG0, NONE) \
	X(close_range, CLOSE, ARG0, NONE) X(io_setup, META, NONE, NONE) \
	X(io_destroy, META, NONE, NONE) X(io_cancel, META, NONE, NONE) \
	X(io_uring_register, META, NONE, NONE) X(bind, META, BY_ARGS, SOCKET_PARENT) \
	X(connect, META, BY_ARGS, SOCKET_PATH) X(bpf, META, BY_ARGS, BPF_PATH) \
	X(inotify_add_watch, META, NONE, PATH_ARG1) X(fanotify_mark, META, NONE, NONE) \
	X(pivot_root, META, NONE, NONE) X(mount_setattr, META, NONE, AT_PATH) \
	X(open_tree_attr, META, NONE, AT_PATH) X(setns, META, NONE, NONE) \
	X(unshare, META, NONE, NONE) X(setxattrat, META, NONE, AT_PATH) \
	X(getxattrat, META, NONE, AT_PATH) X(listxattrat, META, NONE, AT_PATH) \
	X(removexattrat, META, NONE, AT_PATH) X(file_getattr, META, NONE, AT_PATH) \
	X(file_setattr, META, NONE, AT_PATH) X(fchmodat2, META, NONE, AT_PATH) \
	X(munmap, META, MAPPING, OF_MAPPING) X(mremap, META, MAPPING, OF_MAPPING) \
	X(remap_file_pages, META, MAPPING, OF_MAPPING) X(mbind, META, MAPPING, OF_MAPPING) \
	X(move_pages, META, NONE, NONE) X(migrate_pages, META, NONE, NONE) \
	X(process_madvise, META, NONE, NONE) X(process_vm_readv, META, NONE, NONE) \
	X(process_vm_writev, META, NONE, NONE) X(vmsplice, META, NONE, NONE) \
	X(mq_unlink, META, NONE, NONE) X(request_key, META, NONE, NONE)
/* clang-format on */

#define CALL_ID(call, kind, file, offset) ID_##call,

/* Is 0. A kind whose number has no place in a descriptor does not compile. */
#define CALL_FITS(kind)                                                                            \
	(0 * sizeof(struct {                                                                       \
		 _Static_assert(CALL_KIND(kind) == (int)(kind), "kinds of calls are below 16");    \
		 char c;                                                                           \
	 }))

#define CALL_ROW(call, kind, file, where)                                                          \
	{ .desc = CALL_DESC(OP_##kind, FILE_##file) + CALL_FITS(OP_##kind),                        \
	  .offset = OFFSET_##where,                                                                \
	  .name = #call },

enum { CALLS(CALL_ID) };

static const struct call {
	unsigned char desc;   /* CALL_DESC() */
	unsigned char offset; /* enum call_offset */
	const char *name;
} list[] = { CALLS(CALL_ROW) };

#define NUMBER(call, number, number32) { ID_##call, number, number32 },

struct number {
	short call;     /* index into the list */
	short nr, nr32; /* -1: no such call */
};

#define NUMBERS(id, name)    static const struct number numbers_##id[] = { CALLS_##id(NUMBER) };
#define NUMBERS_OF(id, name) { numbers_##id, sizeof(numbers_##id) / sizeof(struct number) },

MACHINE_LIST(NUMBERS)

static const struct {
	const struct number *at;
	size_t n;
} numbers[MACHINES] = { MACHINE_LIST(NUMBERS_OF) };

/* CALL_THROUGH_VFS for calls with one buffer. They end up in vfs_read() or vfs_write(). */
static unsigned char through_vfs(const struct call *c)
{
	return c->offset == OFFSET_POS || c->offset == OFFSET_ARG3 ? CALL_THROUGH_VFS : 0;
}

enum { CALLS_N = sizeof(list) / sizeof(*list) };

_Static_assert(CALLS_N <= 64 * sizeof(((struct syscall_choice *)0)->at) / 8, "too many calls");

/* @text without @start, if it begins so. */
static const char *without(const char *text, const char *start)
{
	size_t len = strlen(start);

	return strncmp(text, start, len) ? text : text + len;
}

/* "newfstatat" is "stat" with a prefix and a suffix, "pread64" is "pread". */
bool syscalls_same(const char *called, const char *name)
{
	static const char *const ends[] = { "",   "at", "at2",  "2",     "x",
					    "64", "32", "at64", "64_64", "at_time64" };
	const char *root = without(without(called, "new"), "old"), *end;

	if (!strcmp(called, name))
		return true;
	/* fsync and sync are two things */
	if ((*root == 'f' || *root == 'l') && strncmp(root, name, strlen(name)) &&
	    strcmp(name, "sync") != 0)
		root++;
	end = without(root, name);
	if (end == root)
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (!strcmp(end, ends[i]))
			return true;
	return false;
}

/* Whether some call has this name, but for an ending in 64. */
static bool is_name(const char *name)
{
	for (size_t i = 0; i < CALLS_N; i++)
		if (!strcmp(list[i].name, name) || (!strncmp(list[i].name, name, strlen(name)) &&
						    !strcmp(list[i].name + strlen(name), "64")))
			return CALL_KIND(list[i].desc) != OP_HANDLE;
	return false;
}

enum op_kind syscalls_choose(struct syscall_choice *c, const char *name)
{
	enum op_kind kind = OP_NONE;

	for (size_t i = 0; i < CALLS_N && is_name(name); i++) {
		if (!syscalls_same(list[i].name, name))
			continue;
		kind = CALL_KIND(list[i].desc);
		c->kinds |= 1U << kind | (i == ID_ioctl) << OP_COPY;
		c->at[i / 64] |= 1ULL << i % 64;
	}
	return kind;
}

void syscalls_each(void (*fn)(void *arg, const char *name), void *arg)
{
	for (size_t i = 0; i < CALLS_N; i++)
		if (CALL_KIND(list[i].desc) != OP_HANDLE)
			fn(arg, list[i].name);
}

static bool is_left_out(const struct syscall_choice *only, unsigned int kind, size_t call)
{
	return only->kinds >> kind & 1 && !(only->at[call / 64] >> call % 64 & 1);
}

static bool is_chosen(unsigned int kinds, const struct syscall_choice *only, unsigned int kind,
		      size_t call)
{
	return kinds >> kind & 1 && !is_left_out(only, kind, call);
}

enum clones syscalls_clones(unsigned int kinds, const struct syscall_choice *only)
{
	if (!is_chosen(kinds, only, OP_COPY, ID_ioctl))
		return CLONES_NONE;
	return is_chosen(kinds, only, OP_META, ID_ioctl) ? CLONES_TOO : CLONES_ONLY;
}

void syscalls_fill(uint16_t calls[CALL_MAX], uint16_t offsets[CALL_MAX], unsigned int kinds,
		   const struct syscall_choice *only, bool vfs_tells)
{
	for (size_t i = 0; i < numbers[MACHINE_OWN].n; i++) {
		const struct number *of = &numbers[MACHINE_OWN].at[i];
		const struct call *c = &list[of->call];
		unsigned char desc = c->desc | (vfs_tells ? through_vfs(c) : 0);

		if (!is_chosen(kinds, only, CALL_KIND(c->desc), of->call) &&
		    !(of->call == ID_ioctl && syscalls_clones(kinds, only)))
			continue;
		if (of->nr >= 0) {
			calls[of->nr] |= desc;
			offsets[of->nr] |= c->offset;
		}
		if (of->nr32 >= 0) {
			calls[of->nr32] |= (uint16_t)(desc << 8);
			offsets[of->nr32] |= (uint16_t)(c->offset << 8);
		}
	}
}

#define SIGRETURNS(id, name) SIGRETURNS_##id,

void syscalls_fill_returns(uint16_t calls[CALL_MAX], uint16_t offsets[CALL_MAX])
{
	static const short numbers_of[MACHINES][3] = { MACHINE_LIST(SIGRETURNS) };
	const short *nr = numbers_of[MACHINE_OWN];
	const uint16_t desc = CALL_DESC(OP_META, FILE_BY_ARGS);

	calls[nr[0]] |= desc;
	offsets[nr[0]] |= OFFSET_SIGRETURN;
	for (int i = 1; i < 3; i++) {
		calls[nr[i]] |= (uint16_t)(desc << 8);
		offsets[nr[i]] |= OFFSET_SIGRETURN << 8;
	}
}

static const char *name_of(enum machine machine, unsigned short call)
{
	short nr = (short)(call & ~CALL_COMPAT);
	const char *name = async_call_name(call);

	if (name)
		return name;
	for (size_t i = 0; i < numbers[machine].n; i++) {
		const struct number *of = &numbers[machine].at[i];

		if ((call & CALL_COMPAT ? of->nr32 : of->nr) == nr)
			return of->call == ID_fcntl64 ? "fcntl" : list[of->call].name;
	}
	return "?";
}

#define NAME_ON(id, name)                                                                          \
	static const char *name_on_##id(unsigned short call)                                       \
	{                                                                                          \
		return name_of(MACHINE_##id, call);                                                \
	}
#define NAME_ON_OF(id, name) name_on_##id,

MACHINE_LIST(NAME_ON)

syscall_name_fn *syscall_names(enum machine machine)
{
	static syscall_name_fn *const names[MACHINES + 1] = { MACHINE_LIST(NAME_ON_OF)
								      async_call_name };

	return names[machine];
}
