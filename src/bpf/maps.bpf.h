/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * maps.bpf.h - the programs' memory: all maps, and the state that they keep per thread, helper
 * thread, bio and request. Sizes are adjusted to the machine by session.c.
 */
#ifndef IOSTRATA_MAPS_BPF_H
#define IOSTRATA_MAPS_BPF_H

#include "compat.bpf.h"
#include "../cell.h"

/* The times of one request, ns: submission, request allocated, dispatch, completion. A bio-based
 * device holds a bio from @held until it hands it down (@q); without, @held == @q. */
struct cut {
	u64 held, q, g, d, c;
};

enum task_on { ON_CPU, OFF_PREEMPTED, OFF_ASLEEP };

/* Sleep, as far as it can be told apart by the time of the waking. */
struct split {
	u64 tag, queue, device, complete, runq;
};

/* What a row needs to know of a file. */
struct row_file {
	u64 file;	/* struct file *, only for names, may be gone; 0: none */
	u64 fs;
	u64 ino;		/* this, dev and direct: only with file_details */
	u32 dev;
	u16 mode;
	u8 direct;		/* opened with O_DIRECT */
	u8 pad;
};

/* A timed call in progress; see layer.bpf.h. */
struct frame {
	u64 start;
	u64 sp;			/* where the stack was at the entry */
	struct row_file row;
	u8 op;
	u8 wanted;
	u8 pad[6];
};

enum { FRAMES = 6 };

/* No operation; one whose file vfs_read() or vfs_write() will tell; one that is known. */
enum op_progress { OP_IDLE, OP_BEGUN, OP_ACTIVE };

/* How far an operation is, as one number. */
#define STAGE(progress, layer, vfs_depth, fs_depth)                                                \
	((u32)(progress) | (layer) << 8 | (vfs_depth) << 16 | (fs_depth) << 24)

/* What a thread is doing. With whole operations: the one in progress, and its wait; everything is
 * charged up to @mark. With a layer alone: the calls of that layer that it is in. */
struct task_state {
	u64 task;			/* whose state it is, a struct task_struct *; 0: nobody's */
	union {
		u32 stage;		/* 0: no op is in progress, its fields are not valid */
		struct {
			u8 progress;	/* enum op_progress */
			u8 layer;	/* stratum on CPU, ST_SYSCALL to ST_FS */
			u8 vfs_depth, fs_depth;
		};
	};
	u32 crowd;			/* of the slot: threads that have their state elsewhere */
	u8 depth;			/* frames in use, may be more than FRAMES */
	u8 row_slot;			/* of the row that it was last counted in */
	union {
		struct {
			u64 start, mark;
			u64 wake;	/* last waking; 0: none since it last ran */
			u64 last_bio;	/* the bio submitted last, if @submitted */
			struct row_file row;
			u64 offset, len;
			u32 requests;	/* bios submitted by this op, likewise */
			u32 bio_cpu;	/* that last_bio was submitted on */
			u16 call;	/* only with call_noted */
			u8 kind;
			/* all 0 when an op starts: ON_CPU */
			union {
				u64 now;
				struct {
					u8 on;		/* enum task_on */
					u8 helped : 1;	/* woken by a helper thread */
					u8 waited_read : 1; /* it waited for a read */
					u8 waited : 1;	/* it was off the CPU */
					/* bytes of their own: where programs can be preempted,
					 * a switch may come while one sets them */
					u8 throttled;	/* will sleep in balance_dirty_pages */
					u8 submitted;	/* bios */
					u8 own_reads;	/* among them */
				};
			};
			struct split split;
			u64 strata[ST_N];
		};
		struct {
			struct frame frames[FRAMES];
			u64 sp;		/* of the call that is being entered */
		};
	};
};

/* A wait of a helper thread: off CPU, woken, on CPU again; and the request that it waited for. */
struct helper_wait {
	u64 out, wake, in;
	struct cut cut;			/* cut.c == 0: not for a request */
	u8 is_read;
};

struct helper {
	u64 last_bio;
	u32 bio_cpu;
	u32 n;				/* waits seen; the last HELPER_WAITS are kept */
	u8 on;
	u8 current_is_read;
	u64 out, wake;
	struct cut cut;
	struct helper_wait waits[HELPER_WAITS];
};

/*
 * An I/O: a bio from its submission until it is done, or until the request is that it is the first
 * of; a request, if that has no such bio. See io.bpf.h.
 */
struct io_state {
	u64 key;			/* the bio, or the request; 0: a free slot */
	u64 q, g, d;			/* 0: submission was not seen; waits for a request; waits
					 * to be dispatched */
	u64 bytes;			/* of a bio; of a request: completed so far */
	u32 tid;			/* who submitted it; 0: nobody known */
	u32 dev;
	u32 requeues;
	u8 op;				/* enum rq_op */
	u8 bio_based;			/* of a device that has no requests */
	u8 counted;			/* passed the filters */
	u8 requeued;			/* waits to be dispatched again */
	u8 failed;
	u8 hashed;			/* kept in the hash */
	u8 pad[6];
};

/* The completion that a CPU is in the middle of. */
struct mark {
	struct cut cut;			/* cut.c == 0: none */
	u32 cpu;
	u32 level;
	u32 pid;
	u8 is_read;
};

/* The last request that a thread submitted and that is done. */
struct done {
	u32 tid;
	u8 is_read;
	struct cut cut;
};

/* Variables, not maps of their own: a slot's address is a multiplication, without the checks and
 * the key on the stack that an element of an array needs. */
static struct task_state tasks[TASK_SLOTS];
static struct io_state io_slots[IO_SLOTS];
static struct mark marks[MARK_SLOTS];
static struct done dones[DONE_SLOTS];

/* Block events that a thread's first program has dealt with, for the second; see first_to_see(). */
struct handled {
	u64 obj[2];
	u8 event[2];	/* 0: none; two, for an interrupt between the programs has its own */
	u32 tid;
};
static struct handled handled[HANDLED_SLOTS];

/* Slots of tasks that have an owner; the value is of no use. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TASK_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u32);
} task_owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct task_state);
} tasks_overflown SEC(".maps");

/* A bit per thread id: it was seen to begin a call that was not asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PID_LIMIT / 64);
	__type(key, u32);
	__type(value, u64);
} seen SEC(".maps");

/* A bit per thread id: the tool's child and its descendants. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PID_LIMIT / 64);
	__type(key, u32);
	__type(value, u64);
} tracked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2048);
	__type(key, u32);
	__type(value, struct helper);
} helpers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct io_state);
} ios SEC(".maps");

/* When a device's flush machinery last sent a flush to the driver. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u64);
} flushes SEC(".maps");

/* Type and key size are set by session.c: per CPU and short without --by, shared and long with. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__uint(key_size, sizeof(struct op_key));
	__uint(value_size, sizeof(struct op_cell));
} op_cells SEC(".maps");

/* The cells of rows that have a slot; see DIRECT_CELL(). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct op_cell);
} direct_cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rq_cell);
} direct_rq_cells SEC(".maps");

/* Slots of live.rows that are taken, then those of live.fs_seen; the value is of no use. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ROW_SLOTS + FS_SLOTS);
	__type(key, u32);
	__type(value, u32);
} slots_taken SEC(".maps");

/* Preallocated: updated in interrupts. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 128);
	__type(key, struct rq_key);
	__type(value, struct rq_cell);
} rq_cells SEC(".maps");

struct file_id {
	u64 dev, ino;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct file_id);
	__type(value, struct file_name);
} file_names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* What every new row begins as; read-only data, since the stack is 512 bytes. */
const char zeroes[sizeof(struct op_cell)];

_Static_assert(sizeof(zeroes) >= sizeof(struct rq_cell), "rq_cell");
_Static_assert(sizeof(zeroes) >= sizeof(struct helper), "helper");
_Static_assert(sizeof(zeroes) >= sizeof(struct task_state), "task_state");
_Static_assert(sizeof(zeroes) >= sizeof(struct file_name), "file_name");

volatile struct live live;

/* The low half of what may be a pointer: as a number, which a program may calculate with. */
static __always_inline u32 low_half(u64 key)
{
	u32 half;

	asm volatile("%0 = %1" : "=w"(half) : "w"((u32)key));
	return half;
}

/* Multiplicative hashing: the high bits of the product depend on all bits of the key. */
enum { HASH_FACTOR = 0x61c88647 };

static __always_inline void count_lost(u32 what)
{
	atomic_add(&live.lost[what], 1);
}

#endif
