/* SPDX-License-Identifier: GPL-2.0-only */
/* calls_aarch64.h - numbers of system calls on arm64 and on 32-bit ARM (EABI), or -1 if there is no
 * such call. The kernel never changes these numbers: include/uapi/asm-generic/unistd.h,
 * arch/arm/tools/syscall.tbl. */
#ifndef IOSTRATA_TRACE_CALLS_AARCH64_H
#define IOSTRATA_TRACE_CALLS_AARCH64_H

/* clang-format off */
/* Calls that return from a signal's handler: the 64-bit one, and two of 32 bits. */
#define SIGRETURNS_AARCH64 { 139, 173, 119 }

#define CALLS_AARCH64(X) \
	X(read, 63, 3) X(pread64, 67, 180) X(readv, 65, 145) X(preadv, 69, 361) \
	X(preadv2, 286, 392) X(write, 64, 4) X(pwrite64, 68, 181) X(writev, 66, 146) \
	X(pwritev, 70, 362) X(pwritev2, 287, 393) X(open, -1, 5) X(openat, 56, 322) \
	X(openat2, 437, 437) X(creat, -1, 8) X(open_by_handle_at, 265, 371) X(close, 57, 6) \
	X(fsync, 82, 118) X(fdatasync, 83, 148) X(sync_file_range, 84, 341) X(sync, 81, 36) \
	X(syncfs, 267, 373) X(msync, 227, 144) X(sendfile, 71, 187) X(splice, 76, 340) \
	X(copy_file_range, 285, 391) X(stat, -1, 106) X(fstat, 80, 108) X(lstat, -1, 107) \
	X(newfstatat, 79, -1) X(statx, 291, 397) X(access, -1, 33) X(faccessat, 48, 334) \
	X(faccessat2, 439, 439) X(getdents, -1, 141) X(getdents64, 61, 217) X(unlink, -1, 10) \
	X(unlinkat, 35, 328) X(rename, -1, 38) X(renameat, 38, 329) X(renameat2, 276, 382) \
	X(mkdir, -1, 39) X(mkdirat, 34, 323) X(rmdir, -1, 40) X(truncate, 45, 92) \
	X(ftruncate, 46, 93) X(fallocate, 47, 352) X(link, -1, 9) X(linkat, 37, 330) \
	X(symlink, -1, 83) X(symlinkat, 36, 331) X(readlink, -1, 85) X(readlinkat, 78, 332) \
	X(mknod, -1, 14) X(mknodat, 33, 324) X(chmod, -1, 15) X(fchmod, 52, 94) \
	X(fchmodat, 53, 333) X(chown, -1, 182) X(fchown, 55, 95) X(lchown, -1, 16) \
	X(fchownat, 54, 325) X(utimes, -1, 269) X(utimensat, 88, 348) X(futimesat, -1, 326) \
	X(statfs, 43, 99) X(fstatfs, 44, 100) X(setxattr, 5, 226) X(lsetxattr, 6, 227) \
	X(fsetxattr, 7, 228) X(getxattr, 8, 229) X(lgetxattr, 9, 230) X(fgetxattr, 10, 231) \
	X(listxattr, 11, 232) X(llistxattr, 12, 233) X(flistxattr, 13, 234) \
	X(removexattr, 14, 235) X(lremovexattr, 15, 236) X(fremovexattr, 16, 237) \
	X(dup, 23, 41) X(dup2, -1, 63) X(dup3, 24, 358) X(fcntl, 25, 55) X(fcntl64, -1, 221) \
	X(flock, 32, 143) X(lseek, 62, 19) X(io_submit, 2, 246) X(io_getevents, 4, 245) \
	X(io_pgetevents, 292, 399) X(io_pgetevents_time64, -1, 416) X(truncate64, -1, 193) \
	X(ftruncate64, -1, 194) X(stat64, -1, 195) X(lstat64, -1, 196) X(fstat64, -1, 197) \
	X(fstatat64, -1, 327) X(sendfile64, -1, 239) X(lchown32, -1, 198) \
	X(fchown32, -1, 207) X(chown32, -1, 212) X(statfs64, -1, 266) X(fstatfs64, -1, 267) \
	X(utimensat_time64, -1, 412) \
	X(mmap, 222, -1) X(mlock, 228, 150) X(mlock2, 284, 390) X(mlockall, 230, 152) \
	X(madvise, 233, 220) X(mincore, 232, 219) X(readahead, 213, 225) X(fadvise64, 223, -1) \
	X(memfd_create, 279, 385) X(memfd_secret, 447, -1) X(mq_open, 180, 274) \
	X(fsopen, 430, 430) X(fspick, 433, 433) X(fsmount, 432, 432) X(open_tree, 428, 428) \
	X(ioctl, 29, 54) X(mount, 40, 21) X(umount2, 39, 52) X(move_mount, 429, 429) \
	X(fsconfig, 431, 431) X(quotactl, 60, 131) X(quotactl_fd, 443, 443) \
	X(swapon, 224, 87) X(swapoff, 225, 115) X(chdir, 49, 12) X(fchdir, 50, 133) \
	X(chroot, 51, 61) X(name_to_handle_at, 264, 370) X(ustat, -1, 62) X(acct, 89, 51) \
	X(finit_module, 273, 379) \
	X(execve, 221, 11) X(execveat, 281, 387) X(uselib, -1, 86) \
	X(kexec_file_load, 294, 401) X(close_range, 436, 436) X(io_setup, 0, 243) \
	X(io_destroy, 1, 244) X(io_cancel, 3, 247) X(io_uring_register, 427, 427) \
	X(bind, 200, 282) X(connect, 203, 283) X(bpf, 280, 386) X(inotify_add_watch, 27, 317) \
	X(fanotify_mark, 263, 368) X(pivot_root, 41, 218) X(mount_setattr, 442, 442) \
	X(open_tree_attr, 467, 467) X(setns, 268, 375) X(unshare, 97, 337) \
	X(setxattrat, 463, 463) X(getxattrat, 464, 464) X(listxattrat, 465, 465) \
	X(removexattrat, 466, 466) X(file_getattr, 468, 468) X(file_setattr, 469, 469) \
	X(fchmodat2, 452, 452) X(munmap, 215, 91) X(mremap, 216, 163) \
	X(remap_file_pages, 234, 253) X(mbind, 235, 319) X(move_pages, 239, 344) \
	X(migrate_pages, 238, 400) X(process_madvise, 440, 440) X(process_vm_readv, 270, 376) \
	X(process_vm_writev, 271, 377) X(vmsplice, 75, 343) X(mq_unlink, 181, 275) \
	X(request_key, 218, 310)
/* clang-format on */

#endif
