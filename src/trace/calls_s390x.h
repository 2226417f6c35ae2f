/* SPDX-License-Identifier: GPL-2.0-only */
/* calls_s390x.h - numbers of system calls of s390x and of its 31-bit programs; -1: no such
 * call. They never change: arch/s390/kernel/syscalls/syscall.tbl. */
#ifndef IOSTRATA_CALLS_S390X_H
#define IOSTRATA_CALLS_S390X_H

/* clang-format off */
#define CALLS_S390X(X) \
	X(read, 3, 3) X(pread64, 180, 180) X(readv, 145, 145) X(preadv, 328, 328) \
	X(preadv2, 376, 376) X(write, 4, 4) X(pwrite64, 181, 181) X(writev, 146, 146) \
	X(pwritev, 329, 329) X(pwritev2, 377, 377) X(open, 5, 5) X(openat, 288, 288) \
	X(openat2, 437, 437) X(creat, 8, 8) X(open_by_handle_at, 336, 336) X(close, 6, 6) \
	X(fsync, 118, 118) X(fdatasync, 148, 148) X(sync_file_range, 307, 307) X(sync, 36, 36) \
	X(syncfs, 338, 338) X(msync, 144, 144) X(sendfile, 187, 187) X(splice, 306, 306) \
	X(copy_file_range, 375, 375) X(stat, 106, 106) X(fstat, 108, 108) X(lstat, 107, 107) \
	X(newfstatat, 293, -1) X(statx, 379, 379) X(access, 33, 33) X(faccessat, 300, 300) \
	X(faccessat2, 439, 439) X(getdents, 141, 141) X(getdents64, 220, 220) X(unlink, 10, 10) \
	X(unlinkat, 294, 294) X(rename, 38, 38) X(renameat, 295, 295) X(renameat2, 347, 347) \
	X(mkdir, 39, 39) X(mkdirat, 289, 289) X(rmdir, 40, 40) X(truncate, 92, 92) \
	X(ftruncate, 93, 93) X(fallocate, 314, 314) X(link, 9, 9) X(linkat, 296, 296) \
	X(symlink, 83, 83) X(symlinkat, 297, 297) X(readlink, 85, 85) X(readlinkat, 298, 298) \
	X(mknod, 14, 14) X(mknodat, 290, 290) X(chmod, 15, 15) X(fchmod, 94, 94) \
	X(fchmodat, 299, 299) X(chown, 212, 182) X(fchown, 207, 95) X(lchown, 198, 16) \
	X(fchownat, 291, 291) X(utime, 30, 30) X(utimes, 313, 313) X(utimensat, 315, 315) \
	X(futimesat, 292, 292) X(statfs, 99, 99) X(fstatfs, 100, 100) X(setxattr, 224, 224) \
	X(lsetxattr, 225, 225) X(fsetxattr, 226, 226) X(getxattr, 227, 227) \
	X(lgetxattr, 228, 228) X(fgetxattr, 229, 229) X(listxattr, 230, 230) \
	X(llistxattr, 231, 231) X(flistxattr, 232, 232) X(removexattr, 233, 233) \
	X(lremovexattr, 234, 234) X(fremovexattr, 235, 235) X(dup, 41, 41) X(dup2, 63, 63) \
	X(dup3, 326, 326) X(fcntl, 55, 55) X(fcntl64, -1, 221) X(flock, 143, 143) \
	X(lseek, 19, 19) X(io_submit, 246, 246) X(io_getevents, 245, 245) \
	X(io_pgetevents, 382, 382) X(io_pgetevents_time64, -1, 416) X(truncate64, -1, 193) \
	X(ftruncate64, -1, 194) X(stat64, -1, 195) X(lstat64, -1, 196) X(fstat64, -1, 197) \
	X(fstatat64, -1, 293) X(sendfile64, -1, 223) X(lchown32, -1, 198) X(fchown32, -1, 207) \
	X(chown32, -1, 212) X(statfs64, 265, 265) X(fstatfs64, 266, 266) X(readdir, 89, 89) \
	X(utimensat_time64, -1, 412) \
	X(mmap, 90, -1) X(mlock, 150, 150) X(mlock2, 374, 374) X(mlockall, 152, 152) \
	X(madvise, 219, 219) X(mincore, 218, 218) X(readahead, 222, 222) X(fadvise64, 253, 253) \
	X(fadvise64_64, -1, 264) X(memfd_create, 350, 350) \
	X(mq_open, 271, 271) X(fsopen, 430, 430) X(fspick, 433, 433) X(fsmount, 432, 432) \
	X(open_tree, 428, 428)
/* clang-format on */

#endif
