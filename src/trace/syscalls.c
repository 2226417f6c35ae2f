// SPDX-License-Identifier: GPL-2.0-only
/*
 * syscalls.c - the one list of system calls that are operations.
 *
 * The numbers of 64-bit calls come from the headers. Those of 32-bit calls (i386, which never
 * change; arch/x86/entry/syscalls/syscall_32.tbl) are written here, since the two headers exclude
 * each other. Calls like "access" read only an inode, but that may take a device's time.
 */
#include "trace/syscalls.h"

#include <stddef.h>
#include <sys/syscall.h>

#include "base/async.h"

struct call {
	short nr;		/* -1: no such call */
	short nr32;
	unsigned char desc;	/* CALL_DESC() */
	unsigned char offset;	/* enum call_offset, 64 bit (32-bit calls split it in two) */
	const char *name;
};

#define CALL(nr, nr32, name, kind, file, offset)                                                   \
	{ nr, nr32, CALL_DESC(OP_##kind, FILE_##file), OFFSET_##offset, name }

/* clang-format off */
static const struct call list[] = {
	CALL(__NR_read, 3, "read", READ, ARG0, POS),
	CALL(__NR_pread64, 180, "pread64", READ, ARG0, ARG3),
	CALL(__NR_readv, 145, "readv", READ, ARG0, NONE),
	CALL(__NR_preadv, 333, "preadv", READ, ARG0, NONE),
	CALL(__NR_preadv2, 378, "preadv2", READ, ARG0, NONE),
	CALL(__NR_write, 4, "write", WRITE, ARG0, POS),
	CALL(__NR_pwrite64, 181, "pwrite64", WRITE, ARG0, ARG3),
	CALL(__NR_writev, 146, "writev", WRITE, ARG0, NONE),
	CALL(__NR_pwritev, 334, "pwritev", WRITE, ARG0, NONE),
	CALL(__NR_pwritev2, 379, "pwritev2", WRITE, ARG0, NONE),
	CALL(__NR_open, 5, "open", OPEN, RESULT, NONE),
	CALL(__NR_openat, 295, "openat", OPEN, RESULT, NONE),
	CALL(__NR_openat2, 437, "openat2", OPEN, RESULT, NONE),
	CALL(__NR_creat, 8, "creat", OPEN, RESULT, NONE),
	CALL(__NR_open_by_handle_at, 342, "open_by_handle_at", OPEN, RESULT, NONE),
	CALL(__NR_close, 6, "close", CLOSE, ARG0, NONE),
	CALL(__NR_fsync, 118, "fsync", FSYNC, ARG0, NONE),
	CALL(__NR_fdatasync, 148, "fdatasync", FSYNC, ARG0, NONE),
	CALL(__NR_sync_file_range, 314, "sync_file_range", FSYNC, ARG0, NONE),
	CALL(__NR_sync, 36, "sync", FSYNC, NONE, NONE),
	CALL(__NR_syncfs, 344, "syncfs", FSYNC, ARG0, NONE),
	CALL(__NR_msync, 144, "msync", FSYNC, NONE, NONE),
	CALL(__NR_sendfile, 187, "sendfile", COPY, ARG1, NONE),
	CALL(__NR_splice, 313, "splice", COPY, ARG0_OR_2, NONE),
	CALL(__NR_copy_file_range, 377, "copy_file_range", COPY, ARG0, NONE),
	CALL(__NR_stat, 106, "stat", META, NONE, NONE),
	CALL(__NR_fstat, 108, "fstat", META, ARG0, NONE),
	CALL(__NR_lstat, 107, "lstat", META, NONE, NONE),
	CALL(__NR_newfstatat, -1, "newfstatat", META, NONE, NONE),
	CALL(__NR_statx, 383, "statx", META, NONE, NONE),
	CALL(__NR_access, 33, "access", META, NONE, NONE),
	CALL(__NR_faccessat, 307, "faccessat", META, NONE, NONE),
	CALL(__NR_faccessat2, 439, "faccessat2", META, NONE, NONE),
	CALL(__NR_getdents, 141, "getdents", META, ARG0, NONE),
	CALL(__NR_getdents64, 220, "getdents64", META, ARG0, NONE),
	CALL(__NR_unlink, 10, "unlink", META, NONE, NONE),
	CALL(__NR_unlinkat, 301, "unlinkat", META, NONE, NONE),
	CALL(__NR_rename, 38, "rename", META, NONE, NONE),
	CALL(__NR_renameat, 302, "renameat", META, NONE, NONE),
	CALL(__NR_renameat2, 353, "renameat2", META, NONE, NONE),
	CALL(__NR_mkdir, 39, "mkdir", META, NONE, NONE),
	CALL(__NR_mkdirat, 296, "mkdirat", META, NONE, NONE),
	CALL(__NR_rmdir, 40, "rmdir", META, NONE, NONE),
	CALL(__NR_truncate, 92, "truncate", META, NONE, NONE),
	CALL(__NR_ftruncate, 93, "ftruncate", META, ARG0, NONE),
	CALL(__NR_fallocate, 324, "fallocate", META, ARG0, NONE),
	CALL(__NR_link, 9, "link", META, NONE, NONE),
	CALL(__NR_linkat, 303, "linkat", META, NONE, NONE),
	CALL(__NR_symlink, 83, "symlink", META, NONE, NONE),
	CALL(__NR_symlinkat, 304, "symlinkat", META, NONE, NONE),
	CALL(__NR_readlink, 85, "readlink", META, NONE, NONE),
	CALL(__NR_readlinkat, 305, "readlinkat", META, NONE, NONE),
	CALL(__NR_mknod, 14, "mknod", META, NONE, NONE),
	CALL(__NR_mknodat, 297, "mknodat", META, NONE, NONE),
	CALL(__NR_chmod, 15, "chmod", META, NONE, NONE),
	CALL(__NR_fchmod, 94, "fchmod", META, ARG0, NONE),
	CALL(__NR_fchmodat, 306, "fchmodat", META, NONE, NONE),
	CALL(__NR_chown, 182, "chown", META, NONE, NONE),
	CALL(__NR_fchown, 95, "fchown", META, ARG0, NONE),
	CALL(__NR_lchown, 16, "lchown", META, NONE, NONE),
	CALL(__NR_fchownat, 298, "fchownat", META, NONE, NONE),
	CALL(__NR_utime, 30, "utime", META, NONE, NONE),
	CALL(__NR_utimes, 271, "utimes", META, NONE, NONE),
	CALL(__NR_utimensat, 320, "utimensat", META, NONE, NONE),
	CALL(__NR_futimesat, 299, "futimesat", META, NONE, NONE),
	CALL(__NR_statfs, 99, "statfs", META, NONE, NONE),
	CALL(__NR_fstatfs, 100, "fstatfs", META, ARG0, NONE),
	CALL(__NR_setxattr, 226, "setxattr", META, NONE, NONE),
	CALL(__NR_lsetxattr, 227, "lsetxattr", META, NONE, NONE),
	CALL(__NR_fsetxattr, 228, "fsetxattr", META, ARG0, NONE),
	CALL(__NR_getxattr, 229, "getxattr", META, NONE, NONE),
	CALL(__NR_lgetxattr, 230, "lgetxattr", META, NONE, NONE),
	CALL(__NR_fgetxattr, 231, "fgetxattr", META, ARG0, NONE),
	CALL(__NR_listxattr, 232, "listxattr", META, NONE, NONE),
	CALL(__NR_llistxattr, 233, "llistxattr", META, NONE, NONE),
	CALL(__NR_flistxattr, 234, "flistxattr", META, ARG0, NONE),
	CALL(__NR_removexattr, 235, "removexattr", META, NONE, NONE),
	CALL(__NR_lremovexattr, 236, "lremovexattr", META, NONE, NONE),
	CALL(__NR_fremovexattr, 237, "fremovexattr", META, ARG0, NONE),
	CALL(__NR_dup, 41, "dup", HANDLE, ARG0, ARGS),
	CALL(__NR_dup2, 63, "dup2", HANDLE, ARG0, ARGS),
	CALL(__NR_dup3, 330, "dup3", HANDLE, ARG0, ARGS),
	CALL(__NR_fcntl, 55, "fcntl", HANDLE, ARG0, FLOCK),
	CALL(-1, 221, "fcntl", HANDLE, ARG0, FLOCK),
	CALL(__NR_flock, 143, "flock", HANDLE, ARG0, ARGS),
	CALL(__NR_lseek, 19, "lseek", HANDLE, ARG0, ARGS),
	CALL(__NR_io_submit, 248, "io_submit", AIO, NONE, NONE),
	CALL(__NR_io_getevents, 247, "io_getevents", AIO, NONE, NONE),
	CALL(__NR_io_pgetevents, 385, "io_pgetevents", AIO, NONE, NONE),
	CALL(-1, 416, "io_pgetevents_time64", AIO, NONE, NONE),
	CALL(-1, 193, "truncate64", META, NONE, NONE),
	CALL(-1, 194, "ftruncate64", META, ARG0, NONE),
	CALL(-1, 195, "stat64", META, NONE, NONE),
	CALL(-1, 196, "lstat64", META, NONE, NONE),
	CALL(-1, 197, "fstat64", META, ARG0, NONE),
	CALL(-1, 300, "fstatat64", META, NONE, NONE),
	CALL(-1, 239, "sendfile64", COPY, ARG1, NONE),
	CALL(-1, 18, "oldstat", META, NONE, NONE),
	CALL(-1, 28, "oldfstat", META, ARG0, NONE),
	CALL(-1, 84, "oldlstat", META, NONE, NONE),
	CALL(-1, 198, "lchown32", META, NONE, NONE),
	CALL(-1, 207, "fchown32", META, ARG0, NONE),
	CALL(-1, 212, "chown32", META, NONE, NONE),
	CALL(-1, 268, "statfs64", META, NONE, NONE),
	CALL(-1, 269, "fstatfs64", META, ARG0, NONE),
	CALL(-1, 89, "readdir", META, ARG0, NONE),
	CALL(-1, 412, "utimensat_time64", META, NONE, NONE),
};
/* clang-format on */

enum { LIST_N = sizeof(list) / sizeof(*list) };

/* The calls that end up in vfs_read() or vfs_write() are those with one buffer. */
static unsigned char through_vfs(const struct call *c)
{
	return c->offset == OFFSET_POS || c->offset == OFFSET_ARG3 ? CALL_THROUGH_VFS : 0;
}

void syscalls_fill(uint16_t calls[CALL_MAX], uint16_t offsets[CALL_MAX], unsigned int kinds,
		   bool vfs_tells)
{
	for (size_t i = 0; i < LIST_N; i++) {
		const struct call *c = &list[i];
		unsigned char desc = c->desc | (vfs_tells ? through_vfs(c) : 0);

		if (!(kinds & 1u << CALL_KIND(c->desc)))
			continue;
		if (c->nr >= 0) {
			calls[c->nr] |= desc;
			offsets[c->nr] |= c->offset;
		}
		if (c->nr32 >= 0) {
			calls[c->nr32] |= (uint16_t)(desc << 8);
			offsets[c->nr32] |= (uint16_t)(c->offset << 8);
		}
	}
}

const char *syscall_name(unsigned short call)
{
	short nr = (short)(call & ~CALL_COMPAT);
	const char *name = async_call_name(call);

	if (name)
		return name;
	for (size_t i = 0; i < LIST_N; i++)
		if ((call & CALL_COMPAT ? list[i].nr32 : list[i].nr) == nr)
			return list[i].name;
	return "?";
}
