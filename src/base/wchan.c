// SPDX-License-Identifier: GPL-2.0-only
#include "base/wchan.h"

#include <stddef.h>
#include <string.h>

static const char *const general[] = {
	"folio_wait_bit_common", "folio_wait_bit", "folio_wait_bit_killable",
	"wait_on_page_bit_common", "wait_on_page_bit", "wait_on_page_bit_killable",
};

/* From 5.10 on, as functions are called in one kernel or another. */
static const struct {
	const char *function, *what;
} known[] = {
	{ "__folio_lock", "folio lock" },
	{ "__folio_lock_killable", "folio lock" },
	{ "__folio_lock_or_retry", "folio lock" },
	{ "__lock_page", "folio lock" },
	{ "__lock_page_killable", "folio lock" },
	{ "filemap_update_page", "folio lock" },
	{ "filemap_get_pages", "folio lock" },
	{ "filemap_read", "folio lock" },
	{ "filemap_fault", "folio lock" },
	{ "__filemap_get_folio", "folio lock" },
	{ "folio_put_wait_locked", "folio lock" },
	{ "put_and_wait_on_page_locked", "folio lock" },
	{ "generic_file_buffered_read", "folio lock" },
	{ "folio_wait_bit_common", "folio lock or writeback" },
	{ "folio_wait_bit", "folio lock or writeback" },
	{ "wait_on_page_bit_common", "folio lock or writeback" },
	{ "wait_on_page_bit", "folio lock or writeback" },
	{ "folio_wait_writeback", "folio writeback" },
	{ "folio_wait_writeback_killable", "folio writeback" },
	{ "folio_wait_stable", "folio writeback" },
	{ "wait_on_page_writeback", "folio writeback" },
	{ "wait_for_stable_page", "folio writeback" },
	{ "__filemap_fdatawait_range", "folio writeback" },
	{ "__wait_on_buffer", "buffer" },
	{ "__lock_buffer", "buffer lock" },
	{ "jbd2_log_wait_commit", "journal commit" },
	{ "jbd2_journal_commit_transaction", "journal commit" },
	{ "do_get_write_access", "journal commit" },
	{ "__jbd2_log_wait_for_space", "journal space" },
	{ "add_transaction_credits", "journal space" },
	{ "wait_transaction_locked", "journal transaction" },
	{ "wait_transaction_switching", "journal transaction" },
	{ "start_this_handle", "journal transaction" },
	{ "xlog_grant_head_wait", "log space" },
	{ "xlog_grant_head_check", "log space" },
	{ "xlog_wait_on_iclog", "log commit" },
	{ "xfs_log_force_seq", "log commit" },
	{ "xfs_log_force_lsn", "log commit" },
	{ "xlog_state_get_iclog_space", "log commit" },
	{ "xlog_cil_force_seq", "log commit" },
	{ "xfs_buf_iowait", "metadata" },
	{ "xfs_buf_lock", "metadata lock" },
	{ "wait_current_trans", "transaction commit" },
	{ "btrfs_wait_for_commit", "transaction commit" },
	{ "btrfs_commit_transaction", "transaction commit" },
	{ "btrfs_start_ordered_extent", "ordered extent" },
	{ "handle_userfault", "userfault" },
	{ "blk_queue_enter", "frozen queue" },
	{ "__bio_queue_enter", "frozen queue" },
	{ "blk_mq_freeze_queue_wait", "requests of a queue that is being frozen" },
	{ "percpu_rwsem_wait", "frozen file system" },
	{ "__percpu_down_read", "frozen file system" },
	{ "submit_bio_wait", "its request" },
	{ "__iomap_dio_rw", "its direct I/O" },
	{ "__blkdev_direct_IO", "its direct I/O" },
	{ "__blkdev_direct_IO_simple", "its direct I/O" },
	{ "inode_dio_wait", "direct I/O on the inode" },
	{ "__inode_dio_wait", "direct I/O on the inode" },
	{ "rq_qos_wait", "a limit on writeback" },
	{ "blk_mq_get_tag", "tag" },
	{ "balance_dirty_pages", "dirty pages" },
	{ "wb_wait_for_completion", "flusher" },
	{ "inode_sleep_on_writeback", "inode writeback" },
	{ "__inode_wait_for_writeback", "inode writeback" },
	{ "inode_wait_for_writeback", "inode writeback" },
	{ "__wait_on_freeing_inode", "inode that is being freed" },
	{ "d_alloc_parallel", "lookup of the same name" },
	{ "request_wait_answer", "FUSE server" },
	{ "rpc_wait_bit_killable", "NFS server" },
	{ "nfs_wait_bit_killable", "NFS server" },
	{ "anon_pipe_read", "pipe" },
	{ "anon_pipe_write", "pipe" },
	{ "pipe_read", "pipe" },
	{ "pipe_write", "pipe" },
	{ "pipe_wait_readable", "pipe" },
	{ "pipe_wait_writable", "pipe" },
	{ "wait_for_partner", "the other end of a FIFO" },
	{ "__refrigerator", "freezer" },
	{ "msleep", "time" },
	{ "usleep_range_state", "time" },
};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

bool wchan_is_general(const char *function)
{
	for (size_t i = 0; i < COUNT(general); i++)
		if (!strcmp(function, general[i]))
			return true;
	return false;
}

/* Where a folio is waited for, those who lock it leave no frame on the stack, since they end with
 * the call; those who wait for its writeback do. */
const char *wchan_what(const char *function, bool general)
{
	for (size_t i = 0; i < COUNT(known); i++)
		if (!strcmp(function, known[i].function))
			return known[i].what;
	return general ? "folio lock" : NULL;
}
