/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * state.bpf.h - the programs' memory: all maps, and the state that they keep per thread, helper
 * thread, bio and request. Sizes are adjusted to the machine by session.c.
 */
#ifndef IOSTRATA_STATE_BPF_H
#define IOSTRATA_STATE_BPF_H

#include "compat.bpf.h"
#include "insn.bpf.h"
#include "../cell.h"

/* The times of one request, ns: submission, request allocated, dispatch, completion. A bio-based
 * device holds a bio from @held until it passes it down (@q); on others @held == @q. @held 0:
 * blk-throttle kept it back until @q, since when is not known. */
struct rq_times {
	u64 held, q, g, d, c;
};

/* A sleep, split as far as is known at the time of the waking. */
struct split {
	u64 throttle, tag, queue, device, complete, runq;
};

/* What a row needs to know of a file. */
struct file_info {
	u64 file; /* struct file *, only for names, may be gone; 0: none */
	u64 fs;
	u64 ino; /* this, dev and direct: only with file_details */
	u32 dev;
	u32 generation; /* only with BY_FILE */
	u16 mode;
	u8 direct;     /* opened with O_DIRECT */
	u8 op, wanted; /* only for a frame: here they take no room */
	u8 pad;
	u16 open_flags; /* the low half; only with sent_ops */
};

/* A timed call in progress; see layer.bpf.h. */
struct frame {
	u64 start;
	u64 sp; /* where the stack was at the entry */
	struct file_info info;
};

enum { FRAMES = 6 };

/* No operation; one of io_uring or libaio; a page fault; a call whose file vfs_read() or
 * vfs_write() will tell; one whose file is known; one that has been in the file system and returns
 * from it. Up to OP_BEGUN, the end of a call needs a closer look. */
enum op_progress { OP_IDLE, OP_ASYNC, OP_FAULTS, OP_BEGUN, OP_ACTIVE, OP_RETURNS };

/* How far an operation has come, as one number. */
#define STAGE(progress, layer, vfs_depth, fs_depth)                                                \
	((u32)(progress) | (layer) << 8 | (vfs_depth) << 16 | (fs_depth) << 24)

/* Offset of an operation: not known; and the file's position, to be read when the file is known. */
#define OFFSET_UNKNOWN (~0ULL)
#define OFFSET_LATER   (~1ULL)

/* The times of an operation. All time before AT_CHARGED is charged to its strata, if @settled; the
 * others are boundaries, which it has crossed since if they are later. */
enum op_time { AT_CHARGED, AT_VFS_IN, AT_FS_IN, AT_FS_OUT, AT_VFS_OUT, AT_N };

enum { SUBMITTED_KEPT_BACK = 2 }; /* some, with 1: and blk-throttle kept one back */

/*
 * An operation. Its own thread writes it, and so does the CPU that switches to or from that thread.
 * The two never write at once: at most, a switch comes between two instructions of a program that
 * can be preempted.
 */
struct op {
	union {
		u32 stage; /* 0: none is in progress, nothing else is valid */
		struct {
			u8 progress, layer, vfs_depth, fs_depth; /* layer: stratum on CPU */
		};
	};
	u16 call;      /* only with call_noted, OP_URING and OP_AIO */
	u8 kind, acts; /* acts: with OP_ASYNC, the kind of a call that does this */
	u64 start;
	u64 at[AT_N];
	/* all 0 when an op starts; bytes, so that a switch may come while another is written */
	union {
		u64 flags;
		struct {
			u8 settled;     /* its strata are valid */
			u8 charging;    /* right now: a switch leaves it alone */
			u8 throttled;   /* will sleep in balance_dirty_pages */
			u8 waited_read; /* waited for a read */
			u8 submitted;   /* bios; see SUBMITTED_KEPT_BACK */
			u8 own_reads;   /* among them */
			u8 locked;      /* waits for @lock */
			u8 lock_held;   /* has waited for one */
		};
	};
	struct file_info file;
	u64 offset, len;
	int fd;      /* only with sent_ops */
	u64 lock;    /* a kernel lock's address, if @locked */
	u64 lock_ns; /* the longest wait, if @lock_held; for a record */
	struct waker lock_holder;
	u64 last_bio;     /* the bio submitted last, if @submitted */
	u32 bio_cpu;      /* the CPU that it was submitted on */
	u32 requests;     /* bios submitted, if @submitted */
	u64 device_bytes; /* that they read */
	u64 strata[ST_N];
};

/* When a layer is timed alone: the calls of that layer that a thread is in. */
struct calls {
	u32 depth; /* frames in use, may be more than FRAMES */
	u64 sp;    /* of the call that is being entered */
	struct frame frames[FRAMES];
};

/* A thread's time off the CPU. The CPU that switches writes this; wakers read @asleep. */
struct wait {
	u64 off;    /* since when; 0: it is on a CPU */
	u64 asleep; /* the same if it sleeps; else 0 */
	u64 woken;  /* time of the waking that ended its last sleep */
};

/* The last waking of a thread. Its waker alone writes this (see wait.bpf.h). */
struct waking {
	u64 at;
	u64 asleep;         /* since when; 0: it was not yet off the CPU */
	struct split split; /* of that sleep */
	u8 helped;          /* by a helper thread */
	u8 is_read;         /* what it waited for */
	struct waker waker; /* last, and only with conf.records */
};

/* What a thread is doing. */
struct task_state {
	union {
		u32 busy; /* both begin with what is 0 if it does nothing */
		struct {
			struct op op; /* first: it has the state's address, one register */
			struct wait wait;
			struct waking waking;
		};
		struct calls calls;
	};
	u64 id;          /* of that thread, for user space: process << 32 | thread */
	u64 task;        /* whose state it is, a struct task_struct *; 0: nobody's */
	u64 async;       /* the request that op is, if its progress is OP_ASYNC */
	u32 async_at;    /* its slot */
	u64 uring_ended; /* the request that it completed last; 0: it submits */
	u16 async_batch; /* how often it began to submit requests */
	u8 uring_polls;  /* it does not sleep while it waits for @async */
	u32 collisions;  /* of the slot: threads whose state is elsewhere */
	u8 row_slot;     /* of the row that it was last counted in */
	u8 fault_slot;   /* the same of a fault that found its page */
};

/* A wait of a helper thread: off CPU, woken, on CPU again; and the request that it waited for. */
struct helper_wait {
	u64 out, wake, in;
	struct rq_times times; /* times.c == 0: not for a request */
	u8 is_read;
};

/* The last waking of a helper, like struct waking. */
struct helper_waking {
	u64 at;
	u64 asleep;
	struct rq_times times; /* the request that it waited for, as above */
	u8 is_read;
};

struct helper {
	/* written by the CPU that switches to or from it; its wakers read @wait.asleep, it reads
	 * the others itself when it wakes somebody */
	struct wait wait;
	u32 n; /* waits seen; the last HELPER_WAITS are kept */
	struct helper_wait waits[HELPER_WAITS];
	u32 bios_before; /* of @bios; this and @idle when it last left the CPU, and
			  * only with conf.helpers */
	u8 idle;         /* a worker without work */
	/* written by the thread itself */
	u32 bio_cpu;
	u32 bios;            /* submitted; this and @work only with conf.helpers */
	char work[COMM_LEN]; /* workqueue that the last one was submitted for */
	u64 last_bio;
	/* written by its waker */
	struct helper_waking waking;
};

/* Whether an I/O passed the filters: no; yes; only as what a helper does for one who does. */
enum counted { COUNTED_NOT, COUNTED, COUNTED_HELPER };

/* Whether blk-throttle kept back a bio: no; before its submission was seen; after, until it has a
 * request. */
enum throttled { THROTTLED_NOT, THROTTLED, THROTTLED_AGAIN };

/* An I/O: a bio from its submission until it is done or, if it is the first of a request, until the
 * request is; or a request without such a bio. See io.bpf.h. */
struct io_state {
	u64 key;     /* the bio, or the request; 0: a free slot */
	u64 q, g, d; /* 0: submission not seen; no request yet; not dispatched */
	u64 bytes;   /* of a bio; of a request: completed so far */
	u32 tid;     /* who submitted it; 0: nobody known */
	u32 dev;
	u32 requeues;
	u32 async;    /* the slot of its request of io_uring or libaio; 0: it
		       * has none; only with conf.async */
	u8 op;        /* enum rq_op */
	u8 bio_based; /* of a device that has no requests */
	u8 counted;   /* enum counted */
	u8 requeued;  /* waits to be dispatched again */
	u8 failed;
	u8 hashed;    /* kept in the hash */
	u8 throttled; /* enum throttled */
	u8 outside;   /* submitted outside of any operation */
	int error;    /* the last; only with sent_requests, as most below */
	u64 sector;   /* of the whole disk */
	u32 cmd_flags;
	u32 merges; /* bios of a request beside the first, when dispatched */
	union {
		struct {
			u64 by[2]; /* of its row, as in rq_key; only with conf.rq_by */
			union {
				struct sent_who who;
				struct task_name name; /* of by[0]; only with BY_TASK */
			};
			struct sent_file_id file;
		};
		struct helper_key helper; /* only with conf.helpers; tid 0: of no helper */
	};
};

/* The completion in progress at an interrupt level of a CPU. What runs there writes it. On kernels
 * that hide the level, all levels share one. */
struct mark {
	struct rq_times times; /* times.c == 0: none */
	u64 until;             /* over then, if nothing says so before */
	u32 cpu;
	u32 pid;
	u32 tid; /* thread that submitted the request; 0: not known */
	u8 is_read;
};

/* The last request that a thread submitted and that is done, or was merged into another. Several
 * CPUs may write it at once; @check reveals a torn copy. */
struct done {
	u64 whose;             /* thread id, | DONE_READ */
	struct rq_times times; /* times.c == 0: merged; then held and d are 0, too */
	u64 check;             /* exclusive or of all others */
};
#define DONE_READ (1ULL << 32)

/* Variables, not maps of their own: the address of a slot takes one multiplication, without the
 * checks and the key on the stack that an array's element needs. */
static struct task_state tasks[TASK_SLOTS];
static struct io_state io_slots[IO_SLOTS];
static struct mark marks[MARK_SLOTS * MARK_LEVELS];
static struct done dones[DONE_SLOTS];

/* Slots of tasks that have an owner; the value is not used. */
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

/* A bit per thread group: the tool's child and its descendants; see on_fork(). */
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

/* Rows that have no slot, of the even and of the odd epoch: a key has an entry for each bucket of
 * its histogram that counts something. Preallocated; user space empties them in time. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct op_key);
	__type(value, struct op_sums);
} op_rows_even SEC(".maps"), op_rows_odd SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct rq_key);
	__type(value, struct rq_sums);
} rq_rows_even SEC(".maps"), rq_rows_odd SEC(".maps");

/* Wakes user space to drain them. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wakes SEC(".maps");

/* The cells of rows that have a slot; see SLOT_CELL(). With conf.hists_apart only their sums. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__uint(max_entries, 1);
	__type(key, u32);
	__uint(value_size, sizeof(struct op_cell));
} slot_cells SEC(".maps");

/* With conf.hists_apart, their histograms, which CPUs share; see row_hist_add(). */
struct slot_hist {
	u32 n[HIST_N];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct slot_hist);
} slot_hists SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rq_cell);
} slot_rq_cells SEC(".maps");

/* Where on_sys_enter() goes on if the file is that of a mapping; empty where programs cannot look
 * one up: then it is not known. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} mapping_calls SEC(".maps");

/*
 * What was split off a bio for a device without requests; it has no Q of its own. That device may
 * pass it on, or do something else for it, and then nothing tells its end. So it is not in the
 * hash, and goes when there are too many.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, struct io_state);
} splits SEC(".maps");

/*
 * A request of io_uring or libaio. Who writes what is told in async.bpf.h.
 *
 * It is in a slot that its address finds, in one of ASYNC_TRIES places, and keeps that after its
 * end: io_uring uses the same addresses again and again, so the usual request finds its slot with
 * one look, and on any CPU. A slot that was idle for ASYNC_IDLE_NS may be claimed for another
 * address. Slot 0 is nobody's.
 */
struct async_op {
	u64 req;      /* the address; 0: never used, ASYNC_GONE: no longer */
	u64 task;     /* who submitted it; 0: it has ended */
	struct op op; /* as it was parked; stage 0: a thread executes it */
	u64 parked;   /* since when nobody does; of one that has ended, since when it has */
	u64 begun;    /* op.start, also while a thread executes it */
	union {
		u64 flags;
		struct {
			u16 batch; /* of that thread's, when it was parked */
			u8 queued; /* for a worker */
			u8 linked; /* to a request that comes first */
			u8 polls;  /* its thread, for requests or for their completion */
			u8 vague;  /* nobody saw when its thread stopped to execute it */
		};
	};
	u64 private;         /* what its first bio is private to; this and @strays only if @polls */
	u64 strays;          /* the last bio of its thread was for something else */
	u64 worker_bios;     /* that the worker submitted */
	u64 worker_reads;    /* bytes, as op.device_bytes */
	struct done last;    /* the bio that was done last; whose: 1, | DONE_READ, | DONE_EARLIER */
	struct sent_who who; /* only with op_owner */
};

#define ASYNC_GONE 1

enum { ASYNC_TRIES = 16, ASYNC_IDLE_NS = 10000000 };

/* A bio that read ahead for an earlier request in this slot, and outlived it. A buffered read may
 * have waited for it; any other request has not. */
#define DONE_EARLIER (1ULL << 33)

/* conf.async_slots + 1 of them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct async_op);
} async_ops SEC(".maps");

struct dirty_key {
	u64 inode, page; /* page: of a block device only */
};

struct dirtier {
	u64 task; /* current_pid_tgid() */
	struct task_name name;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct dirty_key);
	__type(value, struct dirtier);
} dirtiers SEC(".maps");

enum { CLIENT_STEPS = 3 };

/* Who a kernel thread works for. A worker writes this itself when it takes work; for any other
 * thread its waker does, and wakers exclude each other (see wait.bpf.h). The thread reads it when
 * it submits something, which it does not do between setting its state and going to sleep, when it
 * may be woken. */
struct client {
	u64 task; /* current_pid_tgid(); 0: nobody known */
	struct task_name name;
	u32 steps;
	u32 taken; /* of a work: a worker has it, and it is not queued again */
};

/* By thread id of the kernel thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct client);
} clients SEC(".maps");

/* For whom the work is that is queued, by its address. Most are queued again and again: an entry is
 * written in place, by who queues the work, which one thread at a time does, and by the worker that
 * takes it. The kernel lets both run at once for a moment; then that worker may have the new client
 * already, or its number with the name of the one before. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct client);
} works SEC(".maps");

enum { ASYNC_CLAIMS = 256 };

/* Slots of live.rows that are taken, then those of live.fs_types, then, for a moment, those of
 * async_ops that are claimed; the value is not used. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ROW_SLOTS + FS_SLOTS + ASYNC_CLAIMS);
	__type(key, u32);
	__type(value, u32);
} slots_taken SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* The initial value of every new entry; read-only data, since the stack is 512 bytes. */
const char zeroes[1024];

_Static_assert(sizeof(zeroes) >= sizeof(struct op_sums), "op_sums");
_Static_assert(sizeof(zeroes) >= sizeof(struct rq_sums), "rq_sums");
_Static_assert(sizeof(zeroes) >= sizeof(struct file_name), "file_name");
_Static_assert(sizeof(zeroes) >= sizeof(struct helper_sums), "helper_sums");
_Static_assert(sizeof(zeroes) >= sizeof(struct helper), "helper");
_Static_assert(sizeof(zeroes) >= sizeof(struct task_state), "task_state");

volatile struct live live;

/* Multiplicative hashing: the high bits of the product depend on all bits of the key. */
enum { HASH_FACTOR = 0x61c88647 };

static __always_inline void count_lost(u32 what)
{
	atomic_add(&live.lost[what], 1);
}

#endif
