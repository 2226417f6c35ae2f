/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * state.bpf.h - the memory of the programs: all maps, and the state of each thread, helper, bio,
 * request and completion. User space adjusts the sizes of maps to the machine. Has no logic.
 */
#ifndef IOSTRATA_STATE_BPF_H
#define IOSTRATA_STATE_BPF_H

#include "compat.bpf.h"
#include "insn.bpf.h"
#include "../cell.h"

/* The times of one request, ns: submission, request allocated, dispatch, completion. A bio-based
 * device holds a bio from @held until the device passes the bio down (@q). On other devices @held
 * ==
 * @q. @held 0: a throttled bio, held back until @q from an unknown time on. */
struct rq_times {
	u64 held, q, g, d, c;
	u64 server; /* 1: of a request to a server; see server.bpf.h */
};

/* A sleep, cut into strata as far as known at the waking. */
struct split {
	u64 throttle, tag, queue, device, complete, runq, server;
};

/* The properties of a file that a row needs. */
struct file_info {
	/* The address of the struct file, to read names from: the kernel may have freed it. 0 if
	 * there is no file. If mode is 0, it points to the member at of a struct walk, which
	 * stands where a struct file has f_path. */
	u64 file;
	u64 fs;
	u64 ino; /* ino, dev and direct: only with conf.file_details */
	u32 dev;
	u32 generation; /* only with BY_FILE */
	u16 mode;
	u8 direct;     /* opened with O_DIRECT */
	u8 op, wanted; /* only in struct frame; stand here because they take no room */
	u8 pad;
	u16 open_flags; /* the low half; only with sent_ops */
};

/* A timed function call in progress; see frame_push(). */
struct frame {
	u64 start;
	u64 sp;    /* stack pointer at the entry */
	u64 kiocb; /* its struct kiocb *, if the I/O may outlive the function call; else 0 */
	struct file_info info;
};

enum { FRAMES = 6 };

/* Progress, running layer and depth of nested layer functions, as one number. */
#define STAGE(progress, layer, vfs_depth, fs_depth)                                                \
	((u32)(progress) | (layer) << 8 | (vfs_depth) << 16 | (fs_depth) << 24)

/* Offset of an operation: not known; or the position of the file (to be read when the file is
 * known; an append has ended before it); or the end of the file, for an append that leaves the
 * position alone. */
#define OFFSET_UNKNOWN (~0ULL)
#define OFFSET_LATER   (~1ULL)
#define OFFSET_END     (~2ULL)

/* The times of an operation. All time before AT_CHARGED is charged to strata, if op.settled. The
 * others are boundaries: the operation has crossed a boundary since then if its time is later. */
enum op_time { AT_CHARGED, AT_VFS_IN, AT_FS_IN, AT_FS_OUT, AT_VFS_OUT, AT_N };

/* Bits of op.submitted other than 1: blk-throttle held back one of the bios; the operation has made
 * a request to a server, and its thread has not got the answer. */
enum { SUBMITTED_THROTTLED = 2, SUBMITTED_ASKED = 4 };

/* Will sleep in balance_dirty_pages(). PAUSES_TAG: slept for a request, until this is charged. */
enum pause { PAUSES_NOT, PAUSES, PAUSES_TAG };

/* How a call by path has its file: the directory at the end of its look-up is the file, or has it;
 * or the path as given names it, below that directory or, if there is none, the root. */
enum walk_name { WALK_NAMES_FILE, WALK_NAMES_DIRECTORY, WALK_NAMES_NOTHING };

/* Bits of walk.how: the look-up was successful; it is at the file that its last name names; this
 * name is a part of the path as given, at walk.offset, and not of a link's. */
enum { WALK_FOUND = 1, WALK_THERE = 2, WALK_IN_PATH = 4 };

/* The look-up of a path; see path.bpf.h. Only its thread writes it. */
struct walk {
	union { /* where it ended; dentry or inode NULL: not known */
		struct path at;
		struct { /* without conf.file_details */
			u64 unused;
			struct inode *inode;
		};
	};
	union {
		struct {
			u16 offset;
			u8 how; /* set of WALK_FOUND ... */
		};
		u64 named; /* from the end of the call on: WALK_NAMED() */
	};
};

/* Where in the program's memory the name of the file is, or the path as given; enum walk_name; and
 * whether there is no such file. Addresses of programs have 56 bits. */
#define WALK_NAMED(user, name, missing)                                                            \
	(((user) & ~0ULL >> 8) | (u64)(name) << 56 | (u64)(missing) << 58)
#define WALK_USER(named)       ((named) & ~0ULL >> 8)
#define WALK_NAME(named)       ((named) >> 56 & 3)
#define WALK_IS_MISSING(named) ((named) >> 58)

/* Bits of op.noted: which members of an operation are valid. */
enum {
	NOTED_LOCK = 1,
	NOTED_HELPER = 2,
	NOTED_SLEEP = 4,
	NOTED_COPY = 8,
	NOTED_CLONE = 16,
	NOTED_COPIED_UP = 32, /* op.len has the bytes that overlayfs copied up */
};

/* The end of an operation whose stack is taken. Its thread alone writes and reads this, between the
 * end of the operation and its next one. */
struct op_taken {
	u64 total, threshold;
	long ret;
};

/*
 * An operation. Its thread writes it, and so does the CPU that switches to or from this thread. The
 * two never write at the same time. At most, a switch comes between two instructions of a program
 * that can be preempted.
 */
struct op {
	union {
		u32 stage; /* 0: no operation is in progress, no other member is valid */
		struct {
			u8 progress, layer, vfs_depth, fs_depth; /* layer: stratum on CPU */
		};
	};
	u16 call; /* only with call_noted, OP_URING and OP_AIO */
	/* acts: with OP_ASYNC, the kind of a call that does this; with OP_FAULTS, 1: the kernel
	 * raised the fault */
	u8 kind, acts;
	u64 start;
	union {
		u64 at[AT_N];
		struct op_taken taken; /* of an operation that has ended, for on_stack() */
	};
	/* all 0 when an operation starts; bytes, so that a switch may write one while the thread
	 * writes another */
	union {
		u64 flags;
		struct {
			u8 settled;     /* the strata are valid */
			u8 charging;    /* op_change_layer() is at work: a switch charges nothing */
			u8 pauses;      /* enum pause */
			u8 waited_read; /* waited for a read */
			u8 submitted;   /* has submitted bios or asked a server; see above */
			u8 own_reads;   /* has submitted bios that read, or asked for data */
			u8 locked;      /* waits for @lock: enum locked */
			u8 noted;       /* set of NOTED_LOCK ... */
		};
	};
	struct file_info file;
	u64 offset, len;
	int fd;      /* only with sent_ops */
	u64 lock;    /* address of the kernel lock, if @locked; of the backing device, if @pauses */
	u64 lock_ns; /* the longest wait for a lock, if NOTED_LOCK; for a record */
	struct waker lock_holder;
	u64 helped_ns; /* the longest sleep that @helper ended, if NOTED_HELPER; for a record */
	struct waker helper;
	u64 slept_ns; /* the longest sleep for an unknown reason, if NOTED_SLEEP; for a record */
	struct waker woken_by;
	union {
		u64 copied_to; /* the file to which a copy writes, as file.file, if NOTED_COPY */
		u64 size;      /* of the file before an append, if @offset is OFFSET_END */
		struct {       /* for a record: that file, when the copy has ended */
			struct sent_file_id copied;
			u64 copied_fs;
		};
		struct walk walk; /* only of kinds meta, open and exec */
	};
	u64 last_bio;     /* the bio submitted last, if @submitted */
	u32 bio_cpu;      /* the CPU on which @last_bio was submitted */
	u32 requests;     /* number of bios submitted, if @submitted */
	u64 device_bytes; /* bytes that these bios read, if @own_reads */
	u32 segments;     /* index of its list in op_segments; 0: none; only with conf.segments */
	u64 strata[ST_N];
};

/* With -T of a layer: the function calls of this layer in which a thread is. */
struct layer_frames {
	u32 depth; /* frames in use; may be more than FRAMES */
	u64 sp;    /* stack pointer of the function call being entered */
	struct frame frames[FRAMES];
};

/* A thread's time off the CPU. The switching CPU writes it; wakers read @asleep. */
struct wait {
	u64 off;    /* start of the wait; 0: the thread is on a CPU */
	u64 asleep; /* = off if the thread sleeps; else 0 */
	u64 woken;  /* time of the waking that ended the last sleep */
};

/* The last waking of a thread. Only the waker writes it; see woken(). */
struct waking {
	u64 at;
	u64 asleep;         /* start of the sleep; 0: the thread was still on the CPU */
	struct split split; /* the sleep, cut into strata */
	u64 unhelped; /* the part not in @split in which the helper was not at work, if @helped */
	u8 helped;    /* a helper woke the thread */
	u8 is_read;   /* the thread waited for a read */
	u8 completed; /* the split ends with this waking, at the completion of a request */
	u8 written;   /* a worker of writeback ended a sleep in no other operation */
	struct waker waker; /* only for records; must be the last member */
};

/* The last time at which a thread outside of any operation waited for a CPU; only of threads that
 * submit requests of io_uring or libaio. The CPU that switches to the thread writes it. */
struct cpu_wait {
	u64 from, to;
	u8 asleep; /* the thread had slept until @from; else it was taken off its CPU */
};

/* Whether a thread of a FUSE daemon is in a turn. */
enum { TURN_NONE /* it has no entry in @turns */, TURN_OVER, TURN_NOW };

/* The state of a thread. */
struct task_state {
	union {
		u32 busy; /* op.stage or calls.depth: 0 if the thread is in no operation */
		struct {
			struct op op; /* the first: then one register is the address of both */
			struct wait wait;
			struct waking waking;
		};
		struct layer_frames frames_in_layer;
	};
	u64 id;          /* for user space, as are the next: process << 32 | thread */
	u32 kernel_tid;  /* the thread in the initial pid namespace, as io_state.tid */
	u32 async_at;    /* slot of @async in async_ops */
	u64 task;        /* the thread's struct task_struct *; 0: this slot is free */
	u64 async;       /* the request that @op is, if op.progress is OP_ASYNC */
	u64 uring_ended; /* the request that the thread completed last; 0: it submits now */
	struct cpu_wait cpu_wait;
	u16 async_batch; /* how often the thread began to submit requests */
	u8 uring_polls;  /* the thread does not sleep while it waits for @async */
	u8 ring_entered; /* the thread has entered @ring, and not left the kernel since */
	u32 ring;        /* the ring entered last: its place in @uring_rings, + 1; 0: none */
	u8 rings;        /* the thread has entered a ring that has a place there */
	u8 only_submits; /* on_stack() is to take the stack of no operation */
	u32 collisions;  /* threads that hash to this slot and are in tasks_overflown */
	u8 asked;        /* it has made a request to a server, in no operation */
	u8 turn;         /* TURN_NONE ...; only with conf.daemons */
	u16 submits;     /* drawn requests in its call; as @submission, only with conf.stacks */
	u32 submission;  /* calls that submitted drawn requests, before this one */
	u64 client[2];   /* of a thread of nfsd, with BY_CLIENT: the address of its client */
	u8 row_slot;     /* slot of the row to which an operation was added last */
	u8 fault_slot;   /* slot of the row to which a minor fault was added last */
	u8 interrupted;  /* the thread has an entry in @interrupted */
	u16 io_interval; /* the low half of live.interval when @io_ns was added to */
	u64 io_ns;       /* time in operations in this interval; only with conf.busiest */
};

/* A wait of a helper: times off the CPU, of the waking, on the CPU again; and the request for which
 * the helper waited. */
struct helper_wait {
	u64 out, wake, in;
	struct rq_times times; /* C is 0: it waited for no request */
	u8 is_read;
};

/* The last waking of a helper; compare struct waking. */
struct helper_waking {
	u64 at;
	u64 asleep;
	u64 working;           /* a helper woke it, at work since then; 0: no helper did */
	struct rq_times times; /* the request for which the helper waited; c == 0: none */
	u8 is_read;
};

struct helper {
	/* Written by the CPU that switches to or from the helper. Wakers of the helper read
	 * wait.asleep. The helper itself reads the others when it wakes a thread. */
	struct wait wait;
	u32 n; /* number of waits; the last HELPER_WAITS of them are in @waits */
	struct helper_wait waits[HELPER_WAITS];
	u64 working; /* since then it ran, or waited for requests or for other helpers at work */
	/* as the helper last left the CPU; only with conf.helpers */
	u32 bios_before; /* @bios at that time */
	u8 idle;         /* was a worker without work */
	/* written by the helper itself */
	u32 bio_cpu;         /* the CPU on which @last_bio was submitted */
	u32 bios;            /* number of bios submitted; only with conf.helpers */
	char work[COMM_LEN]; /* workqueue for which @last_bio was submitted; likewise */
	u64 last_bio;
	/* written by the helper's waker */
	struct helper_waking waking;
};

/* Whether an I/O passed the filters. */
enum counted {
	COUNTED_NOT,    /* no */
	COUNTED,        /* yes */
	COUNTED_HELPER, /* only the client of the helper that submitted it did */
};

/* Whether the device of a bio has no requests, and who counts the parts of the bio. */
enum bio_based {
	BIO_BASED_NOT,
	BIO_BASED,         /* block_split tells of each part */
	BIO_BASED_COUNTED, /* the device has counted the bio or a part, and counts all parts */
};

/* An I/O: a bio from its submission until it is done. The first bio of a request stands for the
 * request until that is done. A request without such a bio has a separate state. */
struct io_state {
	u64 key;     /* the bio, or the request; 0: a free slot */
	u64 q, g, d; /* ns; 0: submission not seen; no request yet; not dispatched */
	u64 bytes;   /* length of the bio; bytes of the request completed so far */
	u32 tid;     /* the thread that submitted it; 0: not known */
	u32 dev;
	u32 requeues;
	u32 async;    /* slot of its request of io_uring or libaio; 0: none; only with conf.async */
	u8 op;        /* enum rq_op */
	u8 bio_based; /* enum bio_based */
	u8 counted;   /* enum counted */
	u8 requeued;  /* waits to be dispatched again */
	u8 failed;
	u8 hashed;    /* this state is in the map @ios, not in a slot */
	u8 throttled; /* enum throttled */
	u8 outside;   /* submitted outside of any operation */
	int error;    /* the last one; this and most below only with conf.sent_requests */
	u64 sector;   /* of the whole disk; also with conf.rq_accesses */
	u32 cmd_flags;
	u32 merges; /* bios of the request other than the first, at its dispatch; for a bio of a
		     * device without requests: the parts that were split off */
	union {
		struct {
			u64 by[2]; /* key of its row, as in rq_key; only with conf.rq_by */
			union {
				struct sent_who who;
				struct thread_name name; /* name of by[0]; only with BY_THREAD */
			};
			struct sent_file_id file;
		};
		struct helper_key helper; /* only with conf.helpers; tid 0: no helper */
	};
};

/* The completion in progress at an interrupt level of a CPU. Only code at this level writes it. On
 * kernels that hide the level, all levels share one mark. */
struct mark {
	struct rq_times times; /* C is 0: none */
	u64 until;             /* the completion is over by then, if no event ends it before */
	u32 cpu;
	u32 pid;
	u32 tid; /* the thread that submitted the request; 0: not known */
	u8 is_read;
};

/* The last request of a thread that is done, or was merged into another. Several CPUs may write it
 * at once; @check reveals a torn copy. */
struct done {
	u64 thread;            /* thread id, | DONE_READ */
	struct rq_times times; /* C is 0: merged; then held and d are 0, too */
	u64 check;             /* exclusive or of all other members */
};
#define DONE_READ (1ULL << 32)

/* A ring of io_uring; see reap.bpf.h. io_uring orders the writers of @put and @tail, and those of
 * the others may write at the same time. */
struct uring_ring {
	u64 ctx;    /* the struct io_ring_ctx * of the ring, or 0 if the place is free */
	u64 task;   /* the thread that entered the ring last, or 0 if it has ended */
	u64 left;   /* when a thread that had entered it returned to user space last */
	u32 put;    /* number of completions that came into the list, and of places passed over */
	u32 got;    /* number of those that were taken */
	u32 tail;   /* position of the next completion */
	u8 entered; /* the thread that entered it last has not left it */
	u8 behind;  /* the tail of the ring was lower than @tail at the last entry */
	u8 mixed;   /* IORING_SETUP_CQE_MIXED */
	u8 pad;
};

/* A second section of variables: one has no more than 4 MiB on 5.10, KMALLOC_MAX_SIZE. libbpf
 * before 1.5 knows only one section .bss. */
#define MORE_VARIABLES ".data.more"

/* Variables, not maps: the address of a slot takes one multiplication. An element of an array needs
 * checks and a key on the stack. */
static struct task_state tasks[TASK_SLOTS];
static struct io_state io_slots[IO_SLOTS];
static struct mark marks[MARK_SLOTS * MARK_LEVELS];
static struct done dones[DONE_SLOTS] SEC(MORE_VARIABLES);
static struct uring_ring uring_rings[REAP_RINGS] SEC(MORE_VARIABLES);

/* The slots of @tasks that have an owner. The value is not used. */
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

/* The operation of a call that a signal has interrupted; see restart.bpf.h. */
struct interrupted {
	struct op op;
	u64 since; /* when the call returned */
	u64 sp;    /* the stack pointer of user code, and the call's number */
	u64 nr;
	u8 handled; /* a handler runs first */
};

/* By address of the thread's task_struct. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct interrupted);
} interrupted SEC(".maps");

/* The segments of an operation in progress, and the thread to which its wait was due. */
struct op_list {
	struct sent_by by;
	struct segments segments;
};

/* The segments of operations in progress. Each slot of @tasks, and each of @async_ops, owns one
 * list at a time, written by the writers of its operation. Entry 0 belongs to nobody. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct op_list);
} op_segments SEC(".maps");

/* A bit for each thread group: set for the tracked ones; see on_fork(). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__uint(max_entries, PID_LIMIT / 64);
	__type(key, u32);
	__type(value, u64);
} tracked SEC(".maps");

/* The busiest thread of each CPU, in the even and in the odd interval. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct busy_thread);
} busiest SEC(".maps");

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

/* By disk: the last time at which the flush machinery sent a flush to the driver. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u64);
} flushes SEC(".maps");

/* Rows without a slot, of the even and of the odd epoch. A key has an entry for each bucket of its
 * histogram that is not 0. Preallocated; user space drains them before they are full. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct op_key);
	__type(value, struct op_entry);
} op_rows_even SEC(".maps"), op_rows_odd SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct rq_key);
	__type(value, struct rq_sums);
} rq_rows_even SEC(".maps"), rq_rows_odd SEC(".maps");

/* Wakes user space to drain rows. With rows by cgroup, also has a struct made_cgroup for each new
 * cgroup. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wakes SEC(".maps");

/* The command lines of processes that execute a program: struct executed. Written by on_command()
 * alone; user space looks a process up there that has ended. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 19);
} commands SEC(".maps");

/* The cells of rows with a slot; see SLOT_CELL(). With conf.hists_apart, their sums only. With
 * conf.rq_in_cells, a cell may be a struct rq_cell: its slot is of a row of requests. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__uint(max_entries, 1);
	__type(key, u32);
	__uint(value_size, sizeof(struct op_cell));
} slot_cells SEC(".maps");

/* With conf.hists_apart: the histograms of these rows, shared by CPUs; see row_hist_add(). */
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

/* on_sys_enter() goes on with this program if a call is about a mapping. Empty where programs
 * cannot look up mappings: then the file of such a call is not known. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} mapping_calls SEC(".maps");

/*
 * Bios that were split off a bio for a device without requests. No event tells their Q. If the
 * device does not pass such a bio on, no event tells its end. So these bios are not in @ios, and
 * the oldest goes when there are too many.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, struct io_state);
} splits SEC(".maps");

/*
 * A request of io_uring or libaio; async.bpf.h says who writes that member.
 *
 * Its address hashes to ASYNC_TRIES slots. One of these is the request's, also after its end:
 * io_uring uses the same addresses again and again, so the usual request finds its slot with one
 * look, on any CPU. A slot that was idle for ASYNC_IDLE_NS may be claimed for another address. Slot
 * 0 is not used.
 */
struct async_op {
	u64 req;      /* the request's address, 0 if the slot was never used, ASYNC_GONE if it is no
		       * longer used; with @posted the ring's number, and 0 once it is taken */
	u64 task;     /* the thread that submitted it; 0: it has ended */
	struct op op; /* as it was parked; stage 0: a thread executes it */
	u64 parked;   /* time at which it was parked, or ended */
	u64 begun;    /* op.start, valid also while a thread executes it */
	union {
		u64 flags;
		struct {
			u16 batch; /* task_state.async_batch of its thread when it was parked */
			u8 queued; /* left to a worker */
			u8 linked; /* to a request that must end first */
			u8 polls;  /* its thread polls, for requests or for their completion */
			u8 vague;  /* no event told when its thread stopped to execute it */
			u8 posted; /* it is done, and its thread is to take the completion */
		};
	};
	u32 position; /* only if @posted: of the completion in its ring */
	int ret;      /* only if @posted */
	u64 private;  /* bi_private of its first bio; only if @polls */
	u64 strays;   /* the last bio of its thread was not for it; only if @polls */
	/* parts of its strata: charged before its completion, but while no thread executed it */
	u64 slept, helped;
	u64 worker_bios;     /* number of bios that the worker submitted */
	u64 worker_reads;    /* bytes that they read, as op.device_bytes */
	struct done last;    /* its last finished bio; whose: 1, | DONE_READ, | DONE_EARLIER */
	struct sent_who who; /* only with conf.op_owner */
	/* only with conf.submit_waits, between async_waits_begin() and async_waits_end() */
	struct {
		u64 cpu[ST_FS + 1], charged, flags;
		u16 call;
		u8 kind, acts;
	} whole;
	/* only with conf.stacks; written as the request begins */
	u32 stack_weight; /* the requests for which its stack stands, or 0 if none is taken */
	u32 submission;   /* as in struct sent_stack */
};

#define ASYNC_GONE 1

enum { ASYNC_TRIES = 16, ASYNC_IDLE_NS = 10000000 };

/* The bio read ahead for an earlier request in this slot, and outlived that request. A buffered
 * read may have waited for such a bio; no other request has. */
#define DONE_EARLIER (1ULL << 33)

/* conf.async_slots + 1 slots. With conf.reap_rings, conf.async_slots more: the completions in the
 * lists of rings; see reap.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct async_op);
} async_ops SEC(".maps");

/* With -T of a file system: a read or write that goes on after its function has returned, until
 * io_uring or libaio completes it. */
struct queued_call {
	u64 start;
	struct file_info info;
	struct sent_who who; /* only with conf.op_owner */
};

/* By struct kiocb *. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct queued_call);
} queued_calls SEC(".maps");

struct dirty_key {
	u64 inode, page; /* page: of a block device only */
};

struct dirtier {
	u64 task; /* current_pid_tgid() */
	struct thread_name name;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct dirty_key);
	__type(value, struct dirtier);
} dirtiers SEC(".maps");

/* A request to a server, from its beginning to its answer; see server.bpf.h. */
struct server_request {
	u64 task; /* struct task_struct * of the thread that made it; 0: the request is over, but
		   * the place is kept for the next one of the same address */
	u64 q, g, d;
	u32 tid; /* of this thread */
	u32 dev; /* FUSE: of the file system; else 0 */
	u8 is_read;
	u8 counted;              /* the thread passed the filters */
	u16 slot;                /* NFS: of its names in @server_slots, + 1; 0: not looked for */
	u32 transports;          /* NFS: live.transports when the names were read */
	char server[SERVER_LEN]; /* NFS: its address */
	/* NFS: the name of the procedure; where the kernel has this and the address. A kept place
	 * keeps these, too. */
	char op[SERVER_OP_LEN];
	u64 op_at, server_at;
};

/* By address of the kernel's structure: struct fuse_req, struct rpc_task. If the end of some was
 * missed, the oldest goes when there are too many. Places of struct rpc_task are kept: the kernel
 * uses the addresses again, and to make a place takes longer than to find it. Where the kernel does
 * not use an address again, its place is the oldest some time. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct server_request);
} server_requests SEC(".maps");

/* The work of a FUSE daemon's thread on one request; see daemon.bpf.h. */
struct turn {
	u64 req;          /* the struct fuse_req * */
	u64 since;        /* when the thread had read it */
	u64 waited[ST_N]; /* by stratum; none on the CPU */
	u64 before[ST_N]; /* op.strata when the thread left the CPU in an operation */
};

/* By struct task_struct * of the thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct turn);
} turns SEC(".maps");

enum { CLIENT_STEPS = 3 };

/* The client of a kernel thread. A worker writes it when it takes work. For other kernel threads
 * the waker writes it, and wakers exclude each other (see woken()). The thread reads it when it
 * submits a bio. It never does so between setting its state and going to sleep, when it may be
 * woken. */
struct client {
	u64 task; /* current_pid_tgid() of the client; 0: not known */
	struct thread_name name;
	u32 steps; /* kernel threads between the client and this one, + 1 */
	u32 taken; /* in @works: a worker has taken the work, and it is not queued again */
};

/* By thread id of the kernel thread: its client. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct client);
} clients SEC(".maps");

/* The client of each queued work (struct work_struct), by its address. Most works are queued again
 * and again, so an entry is written in place: by the thread that queues the work, one at a time,
 * and by the worker that takes it. The two may run at once for a moment. Then the worker may get
 * the new client already, or its id with the name of the former one. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct client);
} works SEC(".maps");

enum {
	ASYNC_CLAIMS = 256,
	CLAIM_ACCESS = 1 << 24,
	CLAIM_ACCESS_SIZE = 1 << 25,
	CLAIM_SERVER = 1 << 26,
};

/* The taken slots of live.rows, then those of live.fs_types, then those of async_ops while they are
 * claimed; with CLAIM_ACCESS those of access_slots; with CLAIM_ACCESS_SIZE those that give a place
 * to a size; and with CLAIM_SERVER those of server_slots. The value is not used. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ROW_SLOTS + FS_SLOTS + ASYNC_CLAIMS);
	__type(key, u32);
	__type(value, u32);
} slots_taken SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 21); /* room for SLOWEST_MAX records */
} ring SEC(".maps");

/* The request of io_uring or libaio to which a bio belongs, if no state in a slot says so: the bio
 * was merged into another, or its state is in the hash. */
struct async_ref {
	u64 q; /* of the bio */
	u32 at;
	u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct async_ref);
} async_bios SEC(".maps");

/*
 * NVMe multipath: a disk without requests passes its bios on to paths, hidden disks whose requests
 * count as those of the disk. The first bio that is passed on tells to which disk a path belongs.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u32);
} paths SEC(".maps");

/* The names of the files that an epoch has rows of, by FILE_KEY() and inode. */
struct file_id {
	u64 key, ino;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct file_id);
	__type(value, struct file_name);
} file_names_even SEC(".maps"), file_names_odd SEC(".maps");

/* The names of the threads or processes that an epoch has rows of, by id. If there are many more
 * than fit, some are dropped; only their names are lost then. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct thread_name);
} thread_names_even SEC(".maps"), thread_names_odd SEC(".maps");

/* With conf.helpers: the rows of helpers, of the even and of the odd epoch. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct helper_key);
	__type(value, struct helper_sums);
} helper_rows_even SEC(".maps"), helper_rows_odd SEC(".maps");

/* With conf.sites: the rows of sites, of the even and of the odd epoch. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct site_key);
	__type(value, struct site_sums);
} site_rows_even SEC(".maps"), site_rows_odd SEC(".maps");

/* With conf.who_rows: the rows of those to whom waits were due, likewise. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct who_key);
	__type(value, struct who_sums);
} who_rows_even SEC(".maps"), who_rows_odd SEC(".maps");

/* With conf.who: pages that a process made dirty on one backing device, in one window of time, as
 * balance_dirty_pages() counts them. The processes' own threads write. */
struct dirtied_key {
	u64 bdi; /* struct backing_dev_info */
	u32 pid;
	u32 window;
};

struct dirtied {
	u64 pages;
	u64 start;            /* of the thread's last stay in balance_dirty_pages(), jiffies */
	struct waker dirtier; /* the last of the process's threads */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct dirtied_key);
	__type(value, struct dirtied);
} dirtied_pages SEC(".maps");

/* The rows of servers, of the even and of the odd epoch. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct server_key);
	__type(value, struct server_sums);
} server_rows_even SEC(".maps"), server_rows_odd SEC(".maps");

/* Rows of servers that are found without their names. The program that has claimed a slot writes
 * its names. All write to its cells. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct server_slot);
} server_slots SEC(".maps");

/* With conf.access_slots: the patterns of files and disks; see access.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct access_slot);
} access_slots SEC(".maps");

/* The number of accesses whose size has no place in their slot, of the even and of the odd epoch.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct access_size);
	__type(value, u64);
} access_sizes_even SEC(".maps"), access_sizes_odd SEC(".maps");

/* User space makes a ring for each group of CPUs. */
struct sent_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAX_RINGS);
	__type(key, u32);
	__array(values, struct sent_ring);
} rings SEC(".maps");

/* The records of all lanes, one lane after another. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sent_op);
} lane_ops SEC(".maps");

/* Names have a separate ring, so that user space can read them before the records that refer to
 * them. */
enum { NAMES_BYTES = 1 << 20 };

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, NAMES_BYTES);
} sent_files SEC(".maps");

/* Files whose names were sent, by their hash; after a torn entry a name is sent again, or is
 * missing. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FILES_SENT);
	__type(key, u32);
	__type(value, struct sent_file_id);
} files_sent SEC(".maps");

/* on_sys_exit() goes on with on_stack() if the stack of the operation that has ended is taken. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} stack_calls SEC(".maps");

/* The same for the program at which faults end. All programs of such a map have one hook. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} fault_stack_calls SEC(".maps");

/* With conf.stacks: the rows to unwind by, of all files, each file's in the order of its addresses.
 * User space writes them before it tells of them in @unwind_files. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_row);
} unwind_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct unwind_key);
	__type(value, struct unwind_file);
} unwind_files SEC(".maps");

/* struct sent_stack and struct sent_stack_file. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} stacks SEC(".maps");

/* The initial value of every new entry. Read-only data, because the stack has 512 bytes only. */
const char zeroes[1024] = {};

_Static_assert(sizeof(zeroes) >= sizeof(struct op_entry), "op_entry");
_Static_assert(sizeof(zeroes) >= sizeof(struct rq_sums), "rq_sums");
_Static_assert(sizeof(zeroes) >= sizeof(struct file_name), "file_name");
_Static_assert(sizeof(zeroes) >= sizeof(struct helper_sums), "helper_sums");
_Static_assert(sizeof(zeroes) >= sizeof(struct helper), "helper");
_Static_assert(sizeof(zeroes) >= sizeof(struct task_state), "task_state");
_Static_assert(sizeof(zeroes) >= sizeof(struct turn), "turn");
_Static_assert(sizeof(zeroes) >= sizeof(struct interrupted), "interrupted");
_Static_assert(sizeof(zeroes) >= sizeof(struct server_request), "server_request");

volatile struct live live;

/* Multiplicative hashing: the high bits of the product depend on all bits of the key. */
enum { HASH_FACTOR = 0x61c88647 };
#define NAME_FACTOR 0x61c8864680b583ebULL

static __always_inline void count_lost_many(u32 what, u32 n)
{
	atomic_add(&live.lost[what], n);
}

static __always_inline void count_lost(u32 what)
{
	count_lost_many(what, 1);
}

#endif
