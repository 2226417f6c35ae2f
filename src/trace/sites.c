// SPDX-License-Identifier: GPL-2.0-only
#include "trace/sites.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/protocols.h"
#include "base/rows.h"
#include "base/snapshot.h"

/* Functions that wait for a folio, for any reason. */
static const char *const general[] = {
	"folio_wait_bit_common",   "folio_wait_bit",   "folio_wait_bit_killable",
	"wait_on_page_bit_common", "wait_on_page_bit", "wait_on_page_bit_killable",
};

/* Causes of waits, by function. Names of all kernels from 5.10 on. */
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
	{ "jbd2_journal_stop", "journal batch" }, /* for more handles of the transaction */
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
	{ "locks_lock_inode_wait", "file lock" },
	{ "flock_lock_inode_wait", "file lock" },
	{ "posix_lock_inode_wait", "file lock" },
	{ "do_lock_file_wait", "file lock" },
	{ "fcntl_setlk", "file lock" },
	{ "__break_lease", "file lease" },
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
	{ "fuse_get_req", "FUSE request slot" },
	{ "fuse_set_nowrite", "writes of the FUSE file" },
	{ "rpc_wait_bit_killable", "NFS server" },
	{ "nfs_wait_bit_killable", "NFS server" },
	{ "nfs_wait_on_request", "NFS server" },
	{ "nfs_direct_wait", "NFS server" },
	{ "nfs_file_direct_read", "NFS server" },
	{ "nfs_file_direct_write", "NFS server" },
	{ "nfs4_wait_clnt_recover", "recovery of the NFS client" },
	{ "p9_client_rpc", "9p server" },
	{ "p9_virtio_zc_request", "9p server" },
	{ "wait_for_response", "SMB server" },
	{ "compound_send_recv", "SMB server" },
	{ "wait_for_free_credits", "credits of the SMB server" },
	{ "smb2_wait_mtu_credits", "credits of the SMB server" },
	{ "cifs_wait_for_server_reconnect", "connection to the SMB server" },
	{ "netfs_wait_for_read", "network file system's server" },
	{ "netfs_wait_for_request", "network file system's server" },
	{ "netfs_wait_for_in_progress", "network file system's server" },
	{ "netfs_begin_read", "network file system's server" },
	{ "ceph_mdsc_wait_request", "Ceph server" },
	{ "ceph_mdsc_do_request", "Ceph server" },
	{ "ceph_osdc_wait_request", "Ceph server" },
	{ "wait_request_timeout", "Ceph server" },
	{ "ceph_get_caps", "Ceph capabilities" },
	{ "afs_wait_for_call_to_complete", "AFS server" },
	{ "afs_wait_for_operation", "AFS server" },
	{ "md_write_start", "superblock of an md array" },
	{ "md_handle_request", "suspended md array" },
	{ "anon_pipe_read", "pipe" },
	{ "anon_pipe_write", "pipe" },
	{ "pipe_read", "pipe" },
	{ "pipe_write", "pipe" },
	{ "pipe_wait_readable", "pipe" },
	{ "pipe_wait_writable", "pipe" },
	{ "wait_for_partner", "the other end of a FIFO" },
	{ "unix_wait_for_peer", "the unix socket's other end" },
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

/* If the caller of a wait on a folio is not known, the answer is the lock. Waiters for a folio's
 * lock leave no frame on the stack, since their function ends with this call (a tail call). Waiters
 * for its writeback do leave a frame. */
const char *wchan_what(const char *function, bool general)
{
	for (size_t i = 0; i < COUNT(known); i++)
		if (!strcmp(function, known[i].function))
			return known[i].what;
	return general ? "folio lock" : NULL;
}

void symbols_done(struct symbols *s)
{
	free(s->list);
	*s = (struct symbols){};
}

static const struct symbol_at *symbol_find(const struct symbols *s, uint64_t at)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].at == at)
			return &s->list[i];
	return NULL;
}

static int symbol_want(struct symbols *s, uint64_t at)
{
	if (!at || symbol_find(s, at))
		return 0;
	if (list_reserve((void **)&s->list, &s->cap, s->n, sizeof(*s->list)))
		return -ENOMEM;
	s->list[s->n++] = (struct symbol_at){ .at = at };
	return 0;
}

/* Parses "ffffffff81000000 t name.suffix [module]" for the symbols from @first on. Each address is
 * where a call returns to. This may be the end of the function. */
static void look_at_line(struct symbols *s, size_t first, const char *line)
{
	char *end, name[SYMBOL_LEN];
	uint64_t from = strtoull(line, &end, 16);
	size_t len;

	if (!from || !*end || !strchr("tTwW", end[1]) || end[2] != ' ')
		return;
	len = strcspn(end + 3, ". \t\n");
	for (size_t i = first; i < s->n; i++) {
		struct symbol_at *sym = &s->list[i];

		if (from >= sym->at || from < sym->from)
			continue;
		sym->from = from;
		snprintf(name, sizeof(name), "%.*s", (int)len, end + 3);
		memcpy(sym->name, name, sizeof(name));
	}
}

static void symbols_look_up(struct symbols *s, size_t first, FILE *f)
{
	char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, f) >= 0)
		look_at_line(s, first, line);
	free(line);
}

static const char *name_of(const struct symbols *s, uint64_t at)
{
	const struct symbol_at *sym = symbol_find(s, at);

	return sym ? sym->name : "";
}

/* If the folios of a file system are read from a server, a read that waits for the lock of a folio
 * waits for the answer: the answer unlocks the folio. */
const char *wchan_what_on(const char *what, unsigned int op, const char fs[FS_NAME_LEN])
{
	bool reads = op == OP_READ || op == OP_FAULT;

	if (!what || strncmp(what, "folio lock", strlen("folio lock")) != 0)
		return what;
	return reads && fs_has_server(fs) ? protocols[protocol_of_fs(fs)].folio_lock : what;
}

/* Names the function in which the thread slept, or the first caller that is not general. */
static void site_name(const struct symbols *s, struct site_row *r)
{
	const char *name = name_of(s, r->key.at[0]), *caller = name;

	for (int i = 1; i < SITE_CALLERS && wchan_is_general(caller); i++)
		caller = name_of(s, r->key.at[i]);
	r->what = wchan_what(*caller ? caller : name, caller != name);
	r->what = wchan_what_on(r->what, r->key.op, r->fs);
	snprintf(r->symbol, sizeof(r->symbol), "%s", *caller ? caller : name);
}

/* The first of @n rows for the same operation, file system and function as @r. */
static struct site_row *same_site(struct site_row *rows, size_t n, const struct site_row *r)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].key.op == r->key.op && rows[i].what == r->what &&
		    !strncmp(rows[i].fs, r->fs, sizeof(r->fs)) &&
		    !strcmp(rows[i].symbol, r->symbol))
			return &rows[i];
	return NULL;
}

static void sites_merge(struct snapshot *sn)
{
	struct site_row *same;
	size_t n = 0;

	for (size_t i = 0; i < sn->n_sites; i++) {
		same = same_site(sn->sites, n, &sn->sites[i]);
		if (!same)
			sn->sites[n++] = sn->sites[i];
		else
			site_row_add(same, &sn->sites[i].sums);
	}
	sn->n_sites = n;
}

int sites_name_from(FILE *f, struct symbols *s, struct snapshot *sn)
{
	size_t first = s->n;
	int err = 0;

	for (size_t i = 0; i < sn->n_sites && !err; i++) {
		for (int c = 0; c < SITE_CALLERS && !err; c++)
			err = symbol_want(s, sn->sites[i].key.at[c]);
	}
	if (err)
		return err;
	if (f && s->n > first)
		symbols_look_up(s, first, f);
	for (size_t i = 0; i < sn->n_sites; i++)
		site_name(s, &sn->sites[i]);
	sites_merge(sn);
	return 0;
}

int sites_name(struct symbols *s, struct snapshot *sn)
{
	FILE *f = sn->n_sites ? fopen("/proc/kallsyms", "re") : NULL;
	int err = sites_name_from(f, s, sn);

	if (f)
		fclose(f);
	return err;
}
