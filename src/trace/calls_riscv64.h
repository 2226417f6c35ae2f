/* SPDX-License-Identifier: GPL-2.0-only */
/* calls_riscv64.h - numbers of system calls of riscv64 and of riscv32; -1: no such call. They
 * never change: include/uapi/asm-generic/unistd.h. */
#ifndef IOSTRATA_CALLS_RISCV64_H
#define IOSTRATA_CALLS_RISCV64_H

/* clang-format off */
#define CALLS_RISCV64(X) \
	X(read, 63, 63) X(pread64, 67, 67) X(readv, 65, 65) X(preadv, 69, 69) \
	X(preadv2, 286, 286) X(write, 64, 64) X(pwrite64, 68, 68) X(writev, 66, 66) \
	X(pwritev, 70, 70) X(pwritev2, 287, 287) X(openat, 56, 56) X(openat2, 437, 437) \
	X(open_by_handle_at, 265, 265) X(close, 57, 57) X(fsync, 82, 82) X(fdatasync, 83, 83) \
	X(sync_file_range, 84, 84) X(sync, 81, 81) X(syncfs, 267, 267) X(msync, 227, 227) \
	X(sendfile, 71, -1) X(splice, 76, 76) X(copy_file_range, 285, 285) X(fstat, 80, -1) \
	X(newfstatat, 79, -1) X(statx, 291, 291) X(faccessat, 48, 48) X(faccessat2, 439, 439) \
	X(getdents64, 61, 61) X(unlinkat, 35, 35) X(renameat2, 276, 276) X(mkdirat, 34, 34) \
	X(truncate, 45, -1) X(ftruncate, 46, -1) X(fallocate, 47, 47) X(linkat, 37, 37) \
	X(symlinkat, 36, 36) X(readlinkat, 78, 78) X(mknodat, 33, 33) X(fchmod, 52, 52) \
	X(fchmodat, 53, 53) X(fchown, 55, 55) X(fchownat, 54, 54) X(utimensat, 88, -1) \
	X(statfs, 43, -1) X(fstatfs, 44, -1) X(setxattr, 5, 5) X(lsetxattr, 6, 6) \
	X(fsetxattr, 7, 7) X(getxattr, 8, 8) X(lgetxattr, 9, 9) X(fgetxattr, 10, 10) \
	X(listxattr, 11, 11) X(llistxattr, 12, 12) X(flistxattr, 13, 13) X(removexattr, 14, 14) \
	X(lremovexattr, 15, 15) X(fremovexattr, 16, 16) X(dup, 23, 23) X(dup3, 24, 24) \
	X(fcntl, 25, -1) X(fcntl64, -1, 25) X(flock, 32, 32) X(lseek, 62, -1) X(io_submit, 2, 2) \
	X(io_getevents, 4, -1) X(io_pgetevents, 292, -1) X(io_pgetevents_time64, -1, 416) \
	X(truncate64, -1, 45) X(ftruncate64, -1, 46) X(sendfile64, -1, 71) X(statfs64, -1, 43) \
	X(fstatfs64, -1, 44) X(utimensat_time64, -1, 412) \
	X(mmap, 222, -1) X(mlock, 228, 228) X(mlock2, 284, 284) X(mlockall, 230, 230) \
	X(madvise, 233, 233) X(mincore, 232, 232) X(readahead, 213, 213) X(fadvise64, 223, -1) \
	X(fadvise64_64, -1, 223) X(memfd_create, 279, 279) X(memfd_secret, 447, 447) \
	X(mq_open, 180, 180) X(fsopen, 430, 430) X(fspick, 433, 433) X(fsmount, 432, 432) \
	X(open_tree, 428, 428)
/* clang-format on */

#endif
