/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page_io.bpf.h - a page that a disk in memory (zram, brd, pmem) reads or writes without a bio:
 * bdev_read_page() and bdev_write_page(), before 6.3. Swap and the page cache call them first, and
 * make a bio only if the driver refuses.
 */
#ifndef IOSTRATA_PAGE_IO_BPF_H
#define IOSTRATA_PAGE_IO_BPF_H

#include "request.bpf.h"

/* Current begins to read or write @page, for which the state has the page's address as its key. */
static __always_inline int page_io_begins(u64 bdev, u64 sector, u64 page, u8 op)
{
	struct block_device *b = (struct block_device *)bdev;
	struct task_state *t = CONF(waits) ? current_lookup() : NULL;
	u64 id = bpf_get_current_pid_tgid();
	struct io_state io = { .key = page };

	io.dev = DEV_OF(BPF_CORE_READ(b, bd_disk, major), BPF_CORE_READ(b, bd_disk, first_minor));
	io.op = op;
	io.bytes = 1ULL << CONF(page_shift);
	io.bio_based = BIO_BASED;
	io.counted = dev_wanted(io.dev) || dev_wanted(BPF_CORE_READ(b, bd_dev));
	if (!io.counted)
		return 0;
	io.outside = CONF(waits) && (!t || !t->op.stage);
	if (CONF(sent_requests) || CONF(rq_accesses))
		io.sector = sector;
	io.counted = current_wanted(id);
	io_own(&io, t, id);
	io.q = io.g = io.d = bpf_ktime_get_ns();
	io_hash(&io);
	return 0;
}

/* The driver is done with @page; or it refused, and the page gets a bio. */
static __always_inline int page_io_ends(u64 page, long error)
{
	struct io_state *io = io_hashed(page), done;
	struct rq_times times;

	if (!io)
		return 0;
	done = *io;
	io_unhash(page);
	if (error || !done.counted)
		return 0;
	times = (struct rq_times){
		.held = done.q, .q = done.q, .g = done.q, .d = done.q, .c = bpf_ktime_get_ns()
	};
	request_done(&done, &times, 1);
	return 0;
}

#endif
