// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor.bpf.c - programs that do nothing, on the hooks that breakdown uses: what no tool on these
 * hooks can be cheaper than. A program's name begins with the group that it belongs to.
 */
#define SEC(name) __attribute__((section(name), used))

char LICENSE[] SEC("license") = "GPL";

#define EMPTY(section, name)                                                                       \
	SEC("?" section) int name(void *ctx)                                                       \
	{                                                                                          \
		return 0;                                                                          \
	}
#define TRACEPOINT(group, hook) EMPTY("tp_btf/" #hook, group##__##hook)
#define FUNCTION(group, func)                                                                      \
	EMPTY("fentry/" #func, group##__enter_##func)                                              \
	EMPTY("fexit/" #func, group##__leave_##func)

TRACEPOINT(syscall, sys_enter)
TRACEPOINT(syscall, sys_exit)

FUNCTION(vfs, vfs_read)
FUNCTION(vfs, vfs_readv)
FUNCTION(vfs, vfs_iter_read)
FUNCTION(vfs, vfs_write)
FUNCTION(vfs, vfs_writev)
FUNCTION(vfs, vfs_iter_write)
FUNCTION(vfs, vfs_open)
FUNCTION(vfs, vfs_fsync_range)

FUNCTION(ext4, ext4_file_read_iter)
FUNCTION(ext4, ext4_file_write_iter)
FUNCTION(ext4, ext4_sync_file)
FUNCTION(ext4, ext4_file_open)

TRACEPOINT(sched, sched_switch)
TRACEPOINT(sched, sched_waking)
TRACEPOINT(sched, sched_process_exit)
TRACEPOINT(sched, balance_dirty_pages)

TRACEPOINT(block, block_bio_queue)
TRACEPOINT(block, block_getrq)
TRACEPOINT(block, block_bio_backmerge)
TRACEPOINT(block, block_bio_frontmerge)
TRACEPOINT(block, block_split)
TRACEPOINT(block, block_rq_merge)
TRACEPOINT(block, block_rq_issue)
TRACEPOINT(block, block_rq_requeue)
TRACEPOINT(block, block_rq_complete)
TRACEPOINT(block, block_bio_complete)
TRACEPOINT(block, block_io_done)
