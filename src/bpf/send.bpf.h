/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * send.bpf.h - sends finished operations and requests to user space as records (struct sent_... in
 * event.h), and the name of each file once.
 *
 * There is a ring for each group of CPUs. A record without room in its ring is counted as lost.
 * Most operations wait for nothing and end where one program runs at a time. These go into the lane
 * of their CPU (struct lane), and into the ring only if the lane is full.
 */
#ifndef IOSTRATA_SEND_BPF_H
#define IOSTRATA_SEND_BPF_H

#include "name.bpf.h"
#include "row.bpf.h"
#include "who.bpf.h"

volatile struct lane lanes[MAX_LANES];

static __always_inline void *ring_here(void)
{
	u32 group = current_cpu() % CONF(rings);

	return bpf_map_lookup_elem(&rings, &group);
}

/*
 * User space looks at the rings now and then by itself. Each time @mask + 1 bytes have come, it is
 * also woken, by the first record at a multiple of this number: the record's address tells.
 */
static __always_inline void sent_wake(void *record, u32 size, u32 mask)
{
	u32 at = low_half((u64)record) & mask;

	bpf_ringbuf_submit(record, at < size + 8 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

static __always_inline void sent_submit(void *record, u32 size)
{
	sent_wake(record, size, CONF(wake_mask));
}

static __always_inline u64 file_key_of(const struct file_info *f)
{
	return FILE_KEY(f->dev, f->fs == FS_BDEV, f->generation);
}

/* Sends the name of a file seen for the first time, or whose name could not be read before. Returns
 * 0 if the name is still not sent. For CONF(sent_ops) see async_index(): it is for the verifier. */
GLOBAL u64 file_send(const struct file_info *f, u64 key)
{
	struct sent_file_id *sent;
	struct sent_file *s;
	u32 slot, i;
	bool read;

	if (!op_may_end() || !f || !CONF(sent_ops))
		return 0;
	slot = (u32)(f->ino ^ key ^ key >> 32) * HASH_FACTOR >> 16;
	i = slot % FILES_SENT;
	sent = bpf_map_lookup_elem(&files_sent, &i);
	if (!sent || (sent->ino == f->ino && sent->key == key))
		return !!sent;
	s = bpf_ringbuf_reserve(&sent_files, sizeof(*s), 0);
	if (!s)
		return 0; /* the next operation on the file may find room */
	s->what = SENT_FILE;
	s->id.key = key;
	s->id.ino = f->ino;
	file_name_read(&s->name, f);
	read = !s->name.nameless;
	if (read) {
		sent->ino = f->ino;
		sent->key = key;
	}
	sent_wake(s, sizeof(*s), NAMES_BYTES / 8 - 1);
	return read;
}

static __always_inline u8 fs_sent_as(const struct file_info *f)
{
	u64 slot;

	if (f->fs <= FS_UNKNOWN)
		return f->fs == FS_BDEV ? SENT_FS_BDEV : SENT_FS_UNKNOWN;
	slot = fs_slot(f->fs);
	if (slot >= FS_SLOTS)
		return SENT_FS_UNKNOWN;
	if (!live.fs_types[slot].read_iter)
		file_note_fs(f);
	return SENT_FS_FIRST + slot;
}

/* Sets @to to @who, or to current if @who is NULL. User space clears the bytes of a comm after its
 * NUL. */
static __always_inline void who_set(struct sent_who *to, const struct sent_who *who)
{
	u64 id;

	if (who) {
		*to = *who;
		return;
	}
	id = current_pid_tgid();
	to->pid = id >> 32;
	to->tid = id;
	to->cgroup = bpf_get_current_cgroup_id();
	current_comm_raw((u64 *)to->comm);
}

/* The end of an operation: what struct op does not have. */
struct op_end {
	u64 total;      /* elapsed time, ns */
	const u64 *cpu; /* its part on the CPU, ns: ST_SYSCALL to ST_FS */
	long ret;
	u32 what;                     /* key of its row, without the file system: ROW_WHAT() */
	u8 acts;                      /* as for op_cache_class() */
	const struct file_info *file; /* &op->file; or &no_file: code to name files is left out */
	const struct sent_who *who;   /* its thread; NULL: current */
};

/* Fills all members of a record but the file system. @key: of the operation's file. An unknown file
 * is all 0. */
static __always_inline void op_fill_sent(struct sent_op *s, u8 what, u64 key, const struct op *op,
					 u8 cache, const struct op_end *end)
{
	s->what = what;
	s->kind = op->kind;
	s->cache = cache;
	s->call = op->call;
	s->open_flags = end->file->open_flags;
	s->requests = what != SENT_OP && op->submitted ? op->requests : 0;
	s->fd = op->kind == OP_OPEN && end->ret >= 0 ? end->ret : op->fd;
	s->file.key = key;
	s->file.ino = end->file->ino;
	s->start_ns = op->start;
	s->offset = op->offset;
	s->len = op->len;
	s->ret = end->ret;
	for (int i = 0; i < SENT_ON_CPU; i++)
		s->on_cpu[i] = end->cpu[i];
	who_set(&s->who, end->who);
}

/* Fills all members of the record of an operation that waited, but the file system. */
static __always_inline void op_fill_waited(struct sent_op_waited *w, u8 what, u64 key,
					   const struct op *op, u8 cache, const struct op_end *end)
{
	/* all ones for a copy of two files: without a branch, for the verifier */
	u64 copied = CONF(sent_ops) ? -(u64) !!(op->noted & NOTED_COPY) : 0;

	barrier_var(copied);
	op_fill_sent(&w->op, what, key, op, cache, end);
	w->copied_to.key = op->copied.key & copied;
	w->copied_to.ino = op->copied.ino & copied;
	w->copied_fs = op->copied_fs & copied;
	for (int i = 0; i < ST_N - SENT_ON_CPU; i++)
		w->waits[i] = op->settled ? op->strata[SENT_ON_CPU + i] : 0;
	w->device_bytes = op->own_reads ? op->device_bytes : 0;
	w->copied_up = op->len & -(u64)(op->noted / NOTED_COPIED_UP & 1);
}

static __always_inline void op_fill_helper(struct waker *to, const struct op *op)
{
	*to = op->helper;
	if (!(op->noted & NOTED_HELPER))
		to->tid = 0;
}

/* A record with few segments is cut off after these. */
struct sent_op_few {
	struct sent_op_waited waited;
	struct waker helper;
	struct sent_by by;
	struct few_segments segments;
};

#define BY_TO_SEGMENTS(type) (__builtin_offsetof(type, segments) - __builtin_offsetof(type, by))
_Static_assert(BY_TO_SEGMENTS(struct sent_op_few) == sizeof(struct sent_by) &&
		       BY_TO_SEGMENTS(struct sent_op_ordered) == sizeof(struct sent_by) &&
		       BY_TO_SEGMENTS(struct op_list) == sizeof(struct sent_by),
	       "one copy has both");

/* The list of @op, or the empty one of nobody. There is no branch, and @by and the segments are
 * copied by the kernel: for the verifier. That of 5.10 gave on_sys_exit() up. */
static __always_inline struct op_list *op_list_to_send(const struct op *op)
{
	u32 settled = -(u32) !!op->settled, at;

	barrier_var(settled);
	at = op->segments & settled;
	return bpf_map_lookup_elem(&op_segments, &at);
}

/* op_send() of an operation that waited, with its segments. Returns false if there is no room. */
static __always_inline bool op_send_ordered(void *ring, const struct op *op, u8 fs, u64 key,
					    u8 cache, const struct op_end *end)
{
	struct op_list *list = op_list_to_send(op);
	struct sent_op_ordered *o;
	struct sent_op_few *f;

	if (!list)
		return false;
	if (list->segments.n <= SEGMENTS_FEW) {
		f = bpf_ringbuf_reserve(ring, sizeof(*f), 0);
		if (!f)
			return false;
		f->waited.op.fs = fs;
		op_fill_waited(&f->waited, SENT_OP_ORDERED, key, op, cache, end);
		op_fill_helper(&f->helper, op);
		bpf_probe_read_kernel(&f->by, sizeof(f->by) + sizeof(f->segments), &list->by);
		sent_submit(f, sizeof(*f));
		return true;
	}
	o = bpf_ringbuf_reserve(ring, sizeof(*o), 0);
	if (!o)
		return false;
	o->waited.op.fs = fs;
	op_fill_waited(&o->waited, SENT_OP_ORDERED, key, op, cache, end);
	op_fill_helper(&o->helper, op);
	bpf_probe_read_kernel(&o->by, sizeof(o->by) + sizeof(o->segments), &list->by);
	sent_submit(o, sizeof(*o));
	return true;
}

/* Wakes user space. */
static __always_inline void lane_wake(void)
{
	void *ring = ring_here();
	u64 *nothing = ring ? bpf_ringbuf_reserve(ring, sizeof(*nothing), 0) : NULL;

	if (nothing) /* else the full ring has woken user space */
		bpf_ringbuf_discard(nothing, BPF_RB_FORCE_WAKEUP);
}

/* Sends current's operation by the lane of this CPU. The operation waited for nothing. @key: of the
 * operation's file. Returns false if there is no room. */
static __always_inline bool lane_send(const struct op *op, u64 key, u8 cache,
				      const struct op_end *end)
{
	const struct file_info *f = end->file;
	u64 here = current_cpu(), at, fs = f->fs;
	volatile struct lane *l = &lanes[here % MAX_LANES];
	struct sent_op *s;
	u32 i;

	at = l->written;
	if (unlikely(here >= MAX_LANES || at - l->read > CONF(lane_mask)))
		return false;
	i = here * (CONF(lane_mask) + 1) + (at & CONF(lane_mask));
	s = bpf_map_lookup_elem(&lane_ops, &i);
	if (!s)
		return false;
	/* code with many branches comes last: the verifier walks all later code for each */
	op_fill_sent(s, SENT_OP, key, op, cache, end);
	if (unlikely(l->fs != fs)) {
		l->fs_sent_as = fs_sent_as(f);
		/* a directory does not show the functions of its type, but the next file may */
		l->fs = (f->mode & S_IFMT) == S_IFDIR ? 0 : fs;
	}
	s->fs = l->fs_sent_as;
	if (unlikely(l->named.ino != f->ino || l->named.key != key) && f->ino &&
	    file_send(f, key)) {
		l->named.ino = f->ino;
		l->named.key = key;
	}
	barrier();
	l->written = ++at;
	if (unlikely(!(at & CONF(lane_wake))))
		lane_wake();
	return true;
}

/* Sends an operation. @single_writer: as for op_keep(). Inlined on purpose: programs that end page
 * faults have no stack left for a call. */
static __always_inline void op_send(const struct op *op, u8 cache, const struct op_end *end,
				    bool single_writer)
{
	const struct file_info *f = end->file;
	u64 key = file_key_of(f);
	struct sent_op_waited *w;
	struct sent_op *s;
	void *ring;
	u8 fs;

	if (CONF(lane_mask) && single_writer && !op->flags && lane_send(op, key, cache, end))
		return;
	ring = ring_here();
	fs = fs_sent_as(f);
	if (f->ino)
		file_send(f, key);
	if (ring && !op->flags) {
		s = bpf_ringbuf_reserve(ring, sizeof(*s), 0);
		if (s) {
			s->fs = fs;
			op_fill_sent(s, SENT_OP, key, op, cache, end);
			sent_submit(s, sizeof(*s));
			return;
		}
	} else if (ring && CONF(segments)) {
		if (op_send_ordered(ring, op, fs, key, cache, end))
			return;
	} else if (ring) {
		w = bpf_ringbuf_reserve(ring, sizeof(*w), 0);
		if (w) {
			w->op.fs = fs;
			op_fill_waited(w, SENT_OP_WAITED, key, op, cache, end);
			sent_submit(w, sizeof(*w));
			return;
		}
	}
	count_lost(op->kind == OP_HANDLE ? LOST_RING : LOST_OPS);
}

/* Sends @io. It stands for @n requests. */
static __always_inline void request_send(const struct io_state *io, const struct rq_times *times,
					 u32 n)
{
	void *ring = ring_here();
	struct sent_request *s = ring ? bpf_ringbuf_reserve(ring, sizeof(*s), 0) : NULL;

	if (!s) {
		count_lost_many(LOST_REQUESTS, n);
		return;
	}
	s->what = SENT_REQUEST;
	s->op = io->op;
	s->flags = (io->failed ? SENT_FAILED : 0) | (io->outside ? SENT_OUTSIDE : 0);
	s->bio_based = io->bio_based;
	s->dev = io->dev;
	s->cmd_flags = io->cmd_flags;
	s->error = io->error;
	s->requeues = io->requeues;
	s->merges = io->merges;
	s->sector = io->sector;
	s->bytes = io->bytes;
	s->q = io->q ? times->q : 0;
	s->g = times->g;
	s->d = times->d;
	s->c = times->c;
	s->who = io->who;
	s->file = io->file;
	sent_submit(s, sizeof(*s));
}

#endif
