/* SPDX-License-Identifier: GPL-2.0-only */
/* calls_x86_64.h - numbers of system calls on x86-64 and on i386, or -1 if there is no such call.
 * The kernel never changes these numbers: arch/x86/entry/syscalls/syscall_64.tbl,
 * syscall_32.tbl. */
#ifndef IOSTRATA_TRACE_CALLS_X86_64_H
#define IOSTRATA_TRACE_CALLS_X86_64_H

/* clang-format off */
/* Calls that return from a signal's handler: the 64-bit one, and two of 32 bits. */
#define SIGRETURNS_X86_64 { 15, 173, 119 }

#define CALLS_X86_64(X) \
	X(read, 0, 3) X(pread64, 17, 180) X(readv, 19, 145) X(preadv, 295, 333) \
	X(preadv2, 327, 378) X(write, 1, 4) X(pwrite64, 18, 181) X(writev, 20, 146) \
	X(pwritev, 296, 334) X(pwritev2, 328, 379) X(open, 2, 5) X(openat, 257, 295) \
	X(openat2, 437, 437) X(creat, 85, 8) X(open_by_handle_at, 304, 342) X(close, 3, 6) \
	X(fsync, 74, 118) X(fdatasync, 75, 148) X(sync_file_range, 277, 314) X(sync, 162, 36) \
	X(syncfs, 306, 344) X(msync, 26, 144) X(sendfile, 40, 187) X(splice, 275, 313) \
	X(copy_file_range, 326, 377) X(stat, 4, 106) X(fstat, 5, 108) X(lstat, 6, 107) \
	X(newfstatat, 262, -1) X(statx, 332, 383) X(access, 21, 33) X(faccessat, 269, 307) \
	X(faccessat2, 439, 439) X(getdents, 78, 141) X(getdents64, 217, 220) \
	X(unlink, 87, 10) X(unlinkat, 263, 301) X(rename, 82, 38) X(renameat, 264, 302) \
	X(renameat2, 316, 353) X(mkdir, 83, 39) X(mkdirat, 258, 296) X(rmdir, 84, 40) \
	X(truncate, 76, 92) X(ftruncate, 77, 93) X(fallocate, 285, 324) X(link, 86, 9) \
	X(linkat, 265, 303) X(symlink, 88, 83) X(symlinkat, 266, 304) X(readlink, 89, 85) \
	X(readlinkat, 267, 305) X(mknod, 133, 14) X(mknodat, 259, 297) X(chmod, 90, 15) \
	X(fchmod, 91, 94) X(fchmodat, 268, 306) X(chown, 92, 182) X(fchown, 93, 95) \
	X(lchown, 94, 16) X(fchownat, 260, 298) X(utime, 132, 30) X(utimes, 235, 271) \
	X(utimensat, 280, 320) X(futimesat, 261, 299) X(statfs, 137, 99) X(fstatfs, 138, 100) \
	X(setxattr, 188, 226) X(lsetxattr, 189, 227) X(fsetxattr, 190, 228) \
	X(getxattr, 191, 229) X(lgetxattr, 192, 230) X(fgetxattr, 193, 231) \
	X(listxattr, 194, 232) X(llistxattr, 195, 233) X(flistxattr, 196, 234) \
	X(removexattr, 197, 235) X(lremovexattr, 198, 236) X(fremovexattr, 199, 237) \
	X(dup, 32, 41) X(dup2, 33, 63) X(dup3, 292, 330) X(fcntl, 72, 55) X(fcntl64, -1, 221) \
	X(flock, 73, 143) X(lseek, 8, 19) X(io_submit, 209, 248) X(io_getevents, 208, 247) \
	X(io_pgetevents, 333, 385) X(io_pgetevents_time64, -1, 416) X(truncate64, -1, 193) \
	X(ftruncate64, -1, 194) X(stat64, -1, 195) X(lstat64, -1, 196) X(fstat64, -1, 197) \
	X(fstatat64, -1, 300) X(sendfile64, -1, 239) X(oldstat, -1, 18) X(oldfstat, -1, 28) \
	X(oldlstat, -1, 84) X(lchown32, -1, 198) X(fchown32, -1, 207) X(chown32, -1, 212) \
	X(statfs64, -1, 268) X(fstatfs64, -1, 269) X(readdir, -1, 89) \
	X(utimensat_time64, -1, 412) \
	X(mmap, 9, -1) X(mlock, 149, 150) X(mlock2, 325, 376) X(mlockall, 151, 152) \
	X(madvise, 28, 219) X(mincore, 27, 218) X(readahead, 187, 225) X(fadvise64, 221, 250) \
	X(fadvise64_64, -1, 272) X(memfd_create, 319, 356) X(memfd_secret, 447, 447) \
	X(mq_open, 240, 277) X(fsopen, 430, 430) X(fspick, 433, 433) X(fsmount, 432, 432) \
	X(open_tree, 428, 428) X(ioctl, 16, 54) X(mount, 165, 21) X(umount, -1, 22) \
	X(umount2, 166, 52) X(move_mount, 429, 429) X(fsconfig, 431, 431) \
	X(quotactl, 179, 131) X(quotactl_fd, 443, 443) X(swapon, 167, 87) \
	X(swapoff, 168, 115) X(chdir, 80, 12) X(fchdir, 81, 133) X(chroot, 161, 61) \
	X(name_to_handle_at, 303, 341) X(ustat, 136, 62) X(acct, 163, 51) \
	X(finit_module, 313, 350) \
	X(execve, 59, 11) X(execveat, 322, 358) X(uselib, 134, 86) X(kexec_file_load, 320, -1) \
	X(close_range, 436, 436) X(io_setup, 206, 245) X(io_destroy, 207, 246) \
	X(io_cancel, 210, 249) X(io_uring_register, 427, 427) X(bind, 49, 361) \
	X(connect, 42, 362) X(bpf, 321, 357) X(inotify_add_watch, 254, 292) \
	X(fanotify_mark, 301, 339) X(pivot_root, 155, 217) X(mount_setattr, 442, 442) \
	X(open_tree_attr, 467, 467) X(setns, 308, 346) X(unshare, 272, 310) \
	X(setxattrat, 463, 463) X(getxattrat, 464, 464) X(listxattrat, 465, 465) \
	X(removexattrat, 466, 466) X(file_getattr, 468, 468) X(file_setattr, 469, 469) \
	X(fchmodat2, 452, 452) X(munmap, 11, 91) X(mremap, 25, 163) \
	X(remap_file_pages, 216, 257) X(mbind, 237, 274) X(move_pages, 279, 317) \
	X(migrate_pages, 256, 294) X(process_madvise, 440, 440) X(process_vm_readv, 310, 347) \
	X(process_vm_writev, 311, 348) X(vmsplice, 278, 316) X(mq_unlink, 241, 278) \
	X(request_key, 249, 287)
/* clang-format on */

#endif
