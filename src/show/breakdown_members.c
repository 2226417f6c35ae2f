// SPDX-License-Identifier: GPL-2.0-only
/* breakdown_members.c - describes what breakdown_json.c, joined.c and daemons.c write. */
#include "show/breakdown_members.h"

#include "base/names.h"
#include "capture/event_row.h"
#include "capture/header_members.h"
#include "show/breakdown.h"
#include "show/columns.h"
#include "show/joined.h"
#include "show/joined_events.h"
#include "show/stacks_json.h"

static const struct member strata_members[] = {
	{ .each = &strata_words, .type = MEMBER_TIME, .null = "not measured" }, {}
};
const struct object strata_object = { "strata",
				      "time by stratum, ns. Strata are disjoint, and add up to the "
				      "whole time",
				      strata_members };

static const struct member machine_members[] = {
	{ "ns", MEMBER_TIME,
	  .what = "how much time was measured; of several recordings, all of them together" },
	{ .each = &machine_sum_words, .type = MEMBER_TIME, .null = "the kernel does not tell" },
	{ .each = &machine_level_words, .type = MEMBER_BYTES, .null = "the kernel does not tell" },
	{}
};
static const struct object machine_object = { "machine", "how busy the machine was",
					      machine_members };

static const struct member disk_members[] = {
	{ "disk", MEMBER_TEXT, .what = "name of the disk; no partition" },
	{ "ns", MEMBER_TIME,
	  .what = "the time between the two readings of the kernel's counters; in a report, the "
		  "time shown",
	  .least = 1 },
	{ "busy_ns", MEMBER_TIME,
	  .what = "time in which the disk had requests in progress: with *ns* %util of iostat",
	  .null = "a recording" },
	{ "busy", MEMBER_SHARE, .what = "busy_ns of ns", .null = "a recording" },
	{ "depth", MEMBER_COUNT, .fraction = true,
	  .what = "mean number of requests in progress, aqu-sz of iostat: the time of the requests "
		  "that ended, by ns" },
	{}
};
const struct object disk_object = { "disk",
				    "how busy a disk was with the requests of everybody, as the "
				    "kernel counts it in /proc/diskstats; in a report, with the "
				    "recorded requests that pass the filters",
				    disk_members };

static const struct member overhead_members[] = {
	{ "bpf_run_ns", MEMBER_TIME, .what = "time in the programs" },
	{ "bpf_run_cnt", MEMBER_COUNT, .what = "runs of the programs" },
	{}
};
const struct object overhead_object = { NULL, "cost of the BPF programs", overhead_members };

const struct word_list missing_words = { breakdown_missing_name, .from = 0, .to = MISSING_N };

static const char *const layer_list[] = { "syscall", "vfs", "fs" };
static const struct word_list layer_words = { .list = layer_list, .to = 3 };

static const struct member pattern_of_op[] = { { .columns = op_pattern_columns }, {} };
static const struct member pattern_of_rq[] = { { .columns = rq_pattern_columns }, {} };
static const struct object op_pattern_object = { NULL, "sizes and pattern", pattern_of_op };
static const struct object rq_pattern_object = { NULL, "sizes and pattern", pattern_of_rq };

#define MEMBER_HIST(of)                                                                            \
	{                                                                                          \
		"hist", MEMBER_COUNT,                                                              \
			.what = "histogram of " of ": its ranges that are not empty, each "        \
				"as [low, high, count]",                                           \
			.null = "with --no-hist", .list = 2, .length = 3, .unit = "ns, ns, count", \
			.item = "lowest and highest time in the range, and count"                  \
	}

static const struct member file_members[] = {
	{ "dev", MEMBER_ASCII, .what = "device of its file system, \"major:minor\"",
	  .pattern = PATTERN_DEVICE },
	{ "ino", MEMBER_ID, .what = "its inode", .huge = true },
	{ "generation", MEMBER_ID, .what = "generation of its inode; 0: none, or not known" },
	{}
};
static const struct object file_object = { NULL, "a file", file_members };

static const struct member op_members[] = {
	{ "call", MEMBER_ASCII,
	  .what = "name of the system call, or the opcode of io_uring or libaio; kind of a page "
		  "fault which swapped, or which the kernel raised",
	  .only = "for io_uring and libaio, outside, for such page faults, and with -v for meta "
		  "and fsync" },
	{ .columns = op_columns },
	{ "strata", MEMBER_OBJECT,
	  .what = "time in each stratum; the sum is total_ns. Layers without a probed function for "
		  "such "
		  "operations are null, and so is reap for libaio",
	  .object = &strata_object },
	{ "pattern", MEMBER_OBJECT,
	  .what = "with --by file, in reports and with --pattern: sizes and pattern of the reads "
		  "or writes",
	  .null = "no offset is known, or not so", .object = &op_pattern_object },
	{ "files", MEMBER_OBJECT,
	  .what = "with --by file: the files of the row; several if they were made one after "
		  "another at one path",
	  .null = "not by file, or no file, or one that is known by its path alone",
	  .object = &file_object, .list = 1, .most = VIEW_FILES },
	{ "files_count", MEMBER_COUNT, .what = "number of files of the row, listed or not",
	  .null = "as in files", .least = 1 },
	MEMBER_HIST("the times of the operations"),
	{}
};
static const struct object op_object = { "op", "a row of operations", op_members };

static const struct member layer_members[] = {
	{ "layer", MEMBER_ASCII, .what = "the layer", .words = &layer_words },
	{ "call", MEMBER_ASCII,
	  .what = "name of the system call, or the opcode of io_uring or libaio",
	  .only = "with the layer syscall" },
	{ .columns = op_columns },
	MEMBER_HIST("the times of the operations"),
	{}
};
static const struct object layer_object = { "layer", "a row of operations in one layer (--layer)",
					    layer_members };

static const struct member request_members[] = {
	{ .columns = rq_columns },
	{ "parent", MEMBER_ASCII,
	  .what = "the disks which lie on this disk or on one of its partitions",
	  .null = "not known", .list = 1, .item = "name of a disk" },
	{ "pattern", MEMBER_OBJECT,
	  .what = "without --by, or with --by dev, cache or host, in reports and with --pattern: "
		  "sizes and "
		  "pattern of reads and writes",
	  .null = "no offset is known, or not so", .object = &rq_pattern_object },
	MEMBER_HIST("the times in the device, with -Q of tag, queue and device"),
	{}
};
static const struct object request_object = { "request", "a row of block requests",
					      request_members };

static const struct member minor_members[] = { { .columns = minor_columns }, {} };
static const struct object minor_object = { "minor_fault",
					    "a row of page faults that found their page",
					    minor_members };

static const struct member thread_members[] = {
	{ "pid", MEMBER_ID, .what = "its process", .null = "not known" },
	{ "tid", MEMBER_ID, .what = "its thread", .null = "not known" },
	{ "comm", MEMBER_TEXT, .what = "name of this thread", .null = "not known" },
	{}
};

static const struct member in_progress_members[] = {
	{ "op", MEMBER_ASCII, .what = "kind of the operation", .words = &op_words },
	{ "call", MEMBER_TEXT, .what = "name of the system call, once it has lasted for a second",
	  .null = "it is younger, a page fault or a request of io_uring or libaio, or not known, "
		  "as with a command, --follow, --file or --cgroup" },
	{ "fs", MEMBER_TEXT, .what = "type of the file system; bdev: a block device itself",
	  .null = "not known" },
	{ "age_ns", MEMBER_TIME, .what = "time since the operation began" },
	{ "stratum", MEMBER_ASCII,
	  .what = "stratum of the present moment, as far as it is known before the end; sleep: the "
		  "cause "
		  "of a sleep may not be known yet",
	  .words = &strata_words },
	{ "frozen", MEMBER_BOOL,
	  .what = "whether the operation waits until its file system is thawed (fsfreeze(8), a "
		  "snapshot); "
		  "the stratum is then lock" },
	{ "dev", MEMBER_TEXT,
	  .what = "disk of the request for which the thread waits; a thread in fsync(2) often "
		  "waits for "
		  "requests of the journal instead",
	  .null = "it waits for no request of its own, or the disk is not known" },
	{ "pid", MEMBER_ID, .what = "process of the thread" },
	{ "tid", MEMBER_ID, .what = "the thread" },
	{ "comm", MEMBER_TEXT, .what = "name of the thread", .null = "not known" },
	{ "file", MEMBER_TEXT,
	  .what = "with --by file, the path, if another operation on this file has ended in the "
		  "interval; the path that a call of a second or more looks up, as the process "
		  "gave it; "
		  "with --file, --disk, --slowest and --by dev or cache, device and inode",
	  .null = "not so, or not known" },
	{ "server", MEMBER_TEXT,
	  .what = "with the stratum server: address of the NFS server, with the exported directory "
		  "if one "
		  "is mounted, or mount point of the daemon",
	  .null = "another stratum, or not known" },
	{ "suspended", MEMBER_TEXT,
	  .what = "device of device mapper which is suspended, below the disk or the file: the "
		  "kernel's name, and in brackets the one of dmsetup(8)",
	  .null = "none is, or not known" },
	{}
};
static const struct object in_progress_object = { "in_progress", "an operation in progress",
						  in_progress_members };

static const char *const waits[] = { "sleep", "lock", "server" };
static const struct word_list wait_words = { .list = waits, .to = 3 };

static const struct member before_members[] = {
	{ "op", MEMBER_ASCII, .what = "kind of the operation",
	  .null = "the call is no operation (exit), or not known", .words = &op_words },
	{ "call", MEMBER_ASCII, .what = "name of the system call",
	  .null = "a page fault, or not known" },
	{ "fs", MEMBER_TEXT,
	  .what = "type of the file system of the call's descriptor, or of the one which the "
		  "look-up of "
		  "the path has reached",
	  .null = "the call has no descriptor and looks up no path, or not known" },
	{ "age_ns", MEMBER_TIME, .what = "time since tracing began; the wait is older" },
	{ "stratum", MEMBER_ASCII,
	  .what = "what the function waits for: server (or a daemon), lock (a frozen file system) "
		  "or sleep (anything else)",
	  .words = &wait_words },
	{ "symbol", MEMBER_TEXT,
	  .what = "function of the kernel in which the thread waits; it may be a general one",
	  .null = "not known" },
	{ "what", MEMBER_ASCII, .what = "object that the function waits for",
	  .null = "iostrata does not know the function" },
	{ "pid", MEMBER_ID, .what = "process of the thread" },
	{ "tid", MEMBER_ID, .what = "the thread" },
	{ "comm", MEMBER_TEXT, .what = "name of the thread", .null = "the name is empty" },
	{ "file", MEMBER_TEXT,
	  .what = "path of the descriptor's file; the path being looked up is as the process gave "
		  "it, cut "
		  "after 243 bytes",
	  .null = "the call has no descriptor and looks up no path, or not known" },
	{ "server", MEMBER_TEXT,
	  .what = "server of the file system with the exported directory, or mount point of the "
		  "daemon",
	  .null = "the file system has none, or is not known" },
	{ "suspended", MEMBER_TEXT,
	  .what = "device of device mapper which is suspended, below the disk or the file: the "
		  "kernel's name, and in brackets the one of dmsetup(8)",
	  .null = "none is, or not known" },
	{ "holder_pid", MEMBER_ID,
	  .what = "process which took the lock of a file that the thread waits for; others "
		  "may have inherited the lock",
	  .null = "it waits for no such lock, or the lock belongs to an open file" },
	{ "holder_comm", MEMBER_TEXT, .what = "name of this process",
	  .null = "as holder_pid, or the process has ended" },
	{}
};
static const struct object before_object = { "in_progress_before",
					     "a thread which has waited since before tracing began",
					     before_members };

static const struct member lock_members[] = {
	{ "wait_ns", MEMBER_TIME, .what = "length of the wait" },
	{ .also = thread_members },
	{ "op", MEMBER_ASCII,
	  .what = "kind of the operation of this thread when it let go of the lock",
	  .null = "none, or not known", .words = &op_words },
	{ "stratum", MEMBER_ASCII, .what = "stratum of this thread at this time",
	  .null = "the thread was in no operation, or not known", .words = &strata_words },
	{}
};
static const struct object lock_object = { NULL, "a wait for a lock", lock_members };

static const struct member known_thread_members[] = { { "pid", MEMBER_ID, .what = "its process" },
						      { "tid", MEMBER_ID, .what = "its thread" },
						      { "comm", MEMBER_TEXT, .what = "its name" },
						      {} };
static const struct member who_kind_members[] = {
	{ "kind", MEMBER_ASCII,
	  .what = "lock: it had a lock of the kernel; file_lock: a lock of the file; cpu: it ran "
		  "on "
		  "the CPU; scanner: it answered fanotify; freeze, freezer: it thawed the file "
		  "system, or the cgroup; userfault: it supplied the memory; helper: a kernel "
		  "thread which worked for it; server: it answered the request; waker: it woke "
		  "the thread, for another reason; dirtier: it had written most of the dirty data "
		  "on "
		  "the device, so that the kernel lets all who write wait; limit: nobody, but a "
		  "limit that the kernel keeps, and the process is the one that waited",
	  .words = &who_words },
	{}
};
static const struct member limit_members[] = {
	{ "name", MEMBER_ASCII,
	  .what = "io.max: what blk-throttle lets a cgroup read or write; io.latency: the target "
		  "of "
		  "another cgroup; io.cost: the cgroup's share; wbt: writes in progress at a disk; "
		  "dirty: dirty data in memory",
	  .words = &limit_words },
	{ "cgroup", MEMBER_TEXT, .what = "path of the cgroup that has the limit",
	  .null = "none has it, or not known" },
	{ "value", MEMBER_TEXT,
	  .what = "the limit as the kernel's files have it, such as \"sda wbps=1048576\"",
	  .null = "not found: the cgroup is gone, or has version 1" },
	{}
};
static const struct object limit_object = { NULL, "a limit of I/O", limit_members };
static const struct member who_limit_members[] = { { "limit", MEMBER_OBJECT, .what = "the limit",
						     .null = "of another kind",
						     .object = &limit_object },
						   {} };
static const struct member who_members[] = {
	{ .also = who_kind_members },
	{ "wait_ns", MEMBER_TIME, .what = "length of the wait, 100 us or more" },
	{ .also = known_thread_members },
	{ "command", MEMBER_TEXT, .what = "command line of its process",
	  .null = "as of the operation" },
	{ "op", MEMBER_ASCII, .what = "kind of the operation in which it was",
	  .null = "none, or not known", .words = &op_words },
	{ .also = who_limit_members },
	{}
};
static const struct member who_row_members[] = {
	{ .also = who_kind_members },
	{ "op", MEMBER_ASCII, .what = "kind of the operations that waited", .words = &op_words },
	{ "count", MEMBER_COUNT, .what = "number of waits", .least = 1 },
	{ "total_ns", MEMBER_TIME, .what = "time of all these waits" },
	{ "max_ns", MEMBER_TIME, .what = "the longest of them" },
	{ "pid", MEMBER_ID, .what = "the process to which they were due" },
	{ "comm", MEMBER_TEXT, .what = "name of its thread; limit: name of the limit" },
	{ "command", MEMBER_TEXT, .what = "command line of this process",
	  .null = "not known; live, only the first 16 of the list have one" },
	{ .also = who_limit_members },
	{}
};
static const struct object who_row_object = { "who", "waits for one process", who_row_members };
static const struct object who_object = { NULL, "somebody else", who_members };
static const struct object helper_thread_object = { NULL, "a helper", known_thread_members };

static const struct member waker_members[] = { { "sleep_ns", MEMBER_TIME,
						 .what = "length of the sleep", .least = 1 },
					       { .also = known_thread_members },
					       {} };
static const struct object waker_object = { NULL, "a thread that woke another", waker_members };

#define NO_SUBMISSION "its submission was not seen"

static const struct member slow_request_members[] = {
	{ "dev", MEMBER_TEXT, .what = "name of the disk" },
	{ "op", MEMBER_ASCII, .what = "kind of the request, as in requests", .words = &rq_words },
	{ "at_ns", MEMBER_TIME,
	  .what = "submission, after the beginning of the operation; below 0: before it. Dispatch, "
		  "if the "
		  "submission was not seen",
	  .negative = true },
	{ "bytes", MEMBER_BYTES, .what = "bytes done" },
	{ "tag_ns", MEMBER_TIME, .what = "from its submission to the allocation",
	  .null = NO_SUBMISSION },
	{ "queue_ns", MEMBER_TIME, .what = "from the allocation to the dispatch",
	  .null = NO_SUBMISSION },
	{ "device_ns", MEMBER_TIME, .what = "from the dispatch to the completion" },
	{ "failed", MEMBER_BOOL, .what = "whether it failed" },
	{ .also = thread_members },
	{}
};
static const struct object slow_request_object = { NULL, "a request of an operation",
						   slow_request_members };

static const struct member slow_members[] = {
	{ "op", MEMBER_ASCII, .what = "kind of the operation", .words = &op_words },
	{ "call", MEMBER_ASCII,
	  .what = "name of the system call, or the opcode of io_uring or libaio; a served "
		  "operation has "
		  "nfs_request, or the command of SMB, such as smb_read" },
	{ "fs", MEMBER_TEXT, .what = "type of the file system; bdev: a block device itself",
	  .null = "not known" },
	{ "cache", MEMBER_ASCII, .what = "how the page cache served the operation",
	  .null = "no read, write or page fault, or not known", .words = &cache_words },
	{ "start_ns", MEMBER_TIME, .what = "beginning of the operation, by CLOCK_MONOTONIC" },
	{ "at_ns", MEMBER_TIME, .what = "the same since the beginning of the recording",
	  .null = "the run was live" },
	{ "total_ns", MEMBER_TIME, .what = "time of the operation" },
	{ "strata", MEMBER_OBJECT, .what = "time in each stratum; the sum is total_ns",
	  .object = &strata_object },
	{ "segments", MEMBER_STEP,
	  .what = "strata in the order in which the operation was in them, each with its ns; the "
		  "first 64",
	  .null = "the order is not known", .list = 2, .length = 2,
	  .item = "name of the stratum, then its ns" },
	{ "segments_merged", MEMBER_COUNT,
	  .what = "later segments, whose times are in strata alone",
	  .null = "the order is not known" },
	{ "path", MEMBER_TEXT, .what = "path of the file as the process saw it",
	  .null = "no file, or not known" },
	{ "dev", MEMBER_ASCII, .what = "device of the file system, \"major:minor\"",
	  .pattern = PATTERN_DEVICE },
	{ "ino", MEMBER_ID, .what = "inode of the file; 0: none", .huge = true },
	{ "offset", MEMBER_BYTES,
	  .what = "position in the file; an append begins where the file ended, also with "
		  "pwrite(2), whose position Linux ignores on a file opened with O_APPEND",
	  .null = "the call has none, or several buffers; an append of io_uring or libaio; the "
		  "file changed its size otherwise during a pwrite(2)",
	  .huge = true },
	{ "len", MEMBER_BYTES, .what = "bytes asked for",
	  .null = "the call has none, or several buffers", .huge = true },
	{ "disks", MEMBER_ASCII,
	  .what = "disks of the file system by level, the uppermost first; each level lies on the "
		  "next",
	  .null = "not known", .list = 2, .item = "name of a disk" },
	{ "result", MEMBER_COUNT, .what = "return value of the call", .unit = "as of the call",
	  .negative = true },
	{ "error", MEMBER_ASCII, .what = "name of the error, ENOENT for example",
	  .null = "no error" },
	{ "requests", MEMBER_COUNT, .what = "bios submitted by the operation" },
	{ "device_bytes", MEMBER_BYTES, .what = "bytes read from devices by the operation",
	  .null = "not known" },
	{ "copied_up", MEMBER_BYTES,
	  .what = "bytes of files that overlayfs copied to its upper layer in the operation",
	  .null = "it copied none, or this is not known" },
	{ "pid", MEMBER_ID, .what = "process of the thread" },
	{ "tid", MEMBER_ID, .what = "the thread" },
	{ "comm", MEMBER_TEXT, .what = "name of the thread", .null = "the name is empty" },
	{ "command", MEMBER_TEXT,
	  .what = "command line of the process, each argument as a shell takes it; after 1,024 "
		  "bytes, ... follows",
	  .null = "the process ended before it was looked up, or has none, or the recording has "
		  "no command lines" },
	{ "cgroup", MEMBER_ID, .what = "id of the cgroup", .huge = true },
	{ "lock", MEMBER_OBJECT,
	  .what = "the longest wait for a lock of the kernel, and the thread which let go of the "
		  "lock",
	  .null = "it waited for none", .object = &lock_object },
	{ "helper", MEMBER_OBJECT,
	  .what = "the helper which ended the longest sleep in which a helper worked for the "
		  "operation",
	  .null = "none, or recorded by an older version", .object = &helper_thread_object },
	{ "woken_by", MEMBER_OBJECT,
	  .what = "the thread which ended the longest sleep for an unknown reason",
	  .null = "no such sleep; an interrupt, a helper or a completion ended it, or may have "
		  "ended it, since the kernel hides the interrupt level; or a recording is shown",
	  .object = &waker_object },
	{ "who", MEMBER_OBJECT,
	  .what = "the thread to which the longest wait for somebody else was due",
	  .null = "no such wait lasted for 100 us, or an interrupt ended it, or recorded by an "
		  "older "
		  "version",
	  .object = &who_object },
	{ "disk_requests", MEMBER_OBJECT,
	  .what = "in reports, the longest requests which belong to the operation, by their "
		  "submission; "
		  "iostrata-report(1) says which belong to it",
	  .null = "the run was live", .object = &slow_request_object, .list = 1, .most = 12 },
	{ "disk_requests_count", MEMBER_COUNT,
	  .what = "number of requests which belong to the operation, listed or not",
	  .null = "as in disk_requests" },
	{}
};
static const struct object slow_object = { "slow", "one of the slowest operations (--slowest)",
					   slow_members };

static const struct member helper_members[] = { { .columns = helper_columns }, {} };
static const struct object helper_object = { "helper", "requests submitted by a kernel thread",
					     helper_members };

static const struct member helper_time_members[] = { { .columns = helper_time_columns }, {} };
static const struct object helper_time_object = { "helper_time", "time of a kernel thread",
						  helper_time_members };

static const struct member site_members[] = { { .columns = site_columns }, {} };
static const struct object site_object = { "why", "sleeps in one function of the kernel",
					   site_members };

static const struct member daemon_members[] = {
	{ "count", MEMBER_COUNT, .what = "these requests", .least = 1 },
	{ "before_read_ns", MEMBER_TIME,
	  .what = "time until a thread of the daemon had read the request" },
	{ "cpu_ns", MEMBER_TIME, .what = "from there, time of this thread on the CPU" },
	{ "strata", MEMBER_OBJECT,
	  .what = "waits of this thread, by stratum; syscall, vfs and fs are null, since they are "
		  "in "
		  "cpu_ns",
	  .object = &strata_object },
	{}
};
static const struct object daemon_object = { NULL, "the work of a daemon", daemon_members };

static const struct member server_members[] = {
	{ .columns = server_columns },
	{ "daemon", MEMBER_OBJECT,
	  .what = "the work of a FUSE daemon of this machine, for those requests which one thread "
		  "read and "
		  "answered; these times add up to server_ns of these requests",
	  .null = "not known", .object = &daemon_object },
	{ "daemon_missing", MEMBER_ASCII, .what = "why daemon is null", .null = "it is not" },
	{}
};
const struct object server_object = { "server", "requests of one kind to a file server or a daemon",
				      server_members };

static const struct member joined_row_members[] = {
	{ .columns = joined_columns },
	{ "strata", MEMBER_OBJECT, .what = "time of the server's operations in each stratum",
	  .object = &strata_object },
	{}
};
static const struct object joined_row_object = {
	"joined_row",
	"joined requests of one kind; tag_ns, queue_ns, network_ns and strata add up to total_ns",
	joined_row_members
};

static const struct member joined_side_members[] = {
	{ "count", MEMBER_COUNT, .what = "all of them, joined or not" },
	{ "no_xid", MEMBER_COUNT, .what = "not joined: the kernel does not tell their xid" },
	{ "elsewhere", MEMBER_COUNT,
	  .what = "not joined: sent to an address from which no request is joined; always 0 for "
		  "operations" },
	{ "outside", MEMBER_COUNT,
	  .what = "not joined: the other side was not recorded at that time" },
	{ "alone", MEMBER_COUNT,
	  .what = "not joined: lost or left out on the other side, or of other clients" },
	{ "longer", MEMBER_COUNT,
	  .what = "not joined: the operation took longer than the request, since nfsd sends the "
		  "answer "
		  "before the operation ends; the network would have taken less than nothing" },
	{}
};
static const struct object joined_side_object = { "joined_side", "how many are not joined, and why",
						  joined_side_members };

static const struct member joined_members[] = {
	{ "rows", MEMBER_OBJECT, .what = "a row for each kind of request, most time first",
	  .object = &joined_row_object, .list = 1 },
	{ "requests", MEMBER_OBJECT, .what = "requests of NFS at the client",
	  .object = &joined_side_object },
	{ "served", MEMBER_OBJECT, .what = "operations of nfsd at the server",
	  .object = &joined_side_object },
	{}
};
static const struct object joined_object = {
	"joined", "requests of NFS, and the operations of nfsd which served them, joined by xid",
	joined_members
};

static const struct member busiest_members[] = {
	{ "pid", MEMBER_ID, .what = "its process" },
	{ "tid", MEMBER_ID, .what = "its thread id" },
	{ "comm", MEMBER_TEXT, .what = "its name",
	  .null = "it had ended before the name was read" },
	{ "io_ns", MEMBER_TIME,
	  .what = "time of its calls and page faults which ended in the interval, on any file "
		  "system which "
		  "--fs lets through",
	  .least = 1 },
	{ "lived_ns", MEMBER_TIME, .what = "how long it lived in the interval" },
	{}
};
static const struct object busiest_object = { NULL, "a thread", busiest_members };

static const struct member left_out_members[] = {
	{ "ops", MEMBER_COUNT, .what = "rows missing in ops", .only = "without --layer" },
	{ "layers", MEMBER_COUNT, .what = "rows missing in layers", .only = "with --layer" },
	{ "requests", MEMBER_COUNT, .what = "rows missing in requests" },
	{}
};
static const struct object left_out_object = { NULL, "rows left out", left_out_members };

static const struct member breakdown_members[] = {
	{ "kernel", MEMBER_TEXT, .what = "release of the traced kernel",
	  .null = "the recording does not tell" },
	{ "time", MEMBER_ASCII, .what = "local time at the end of the interval, by RFC 3339 in ms",
	  .null = "not known", .pattern = PATTERN_TIME },
	{ "duration_ns", MEMBER_TIME, .what = "length of the interval" },
	{ "without_ns", MEMBER_TIME,
	  .what = "time after the last record, which is not part of duration_ns", .least = 1,
	  .only = "for recordings which met a full disk or --max-size" },
	{ "command", MEMBER_TEXT, .what = "name of the traced command, live or recorded",
	  .null = "no command was given, or recordings are of several" },
	{ "threads_ns", MEMBER_TIME,
	  .what = "time of all threads of the command and its descendants, each from its beginning "
		  "to its end, and of the command's first from its execve. The part beyond "
		  "io_ns "
		  "was not I/O",
	  .null = "no command was given" },
	{ "busiest", MEMBER_OBJECT,
	  .what = "the thread of the command with most time in calls and page faults. A parent "
		  "which only "
		  "waits for its children makes io_ns a small part of threads_ns; this thread's "
		  "share "
		  "shows more",
	  .null = "no command was given, or no thread had such an operation",
	  .object = &busiest_object },
	{ "io_ns", MEMBER_TIME, .what = "time of all operations in ops",
	  .null = "with --layer, or operations were not traced" },
	{ "thread_ns", MEMBER_TIME,
	  .what = "the part of io_ns in which threads ran or were blocked. A thread goes on while "
		  "its "
		  "requests of io_uring or libaio are in progress, so these count with their time "
		  "on the "
		  "CPU only",
	  .null = "as io_ns" },
	{ "in_flight", MEMBER_COUNT,
	  .what = "requests of io_uring and libaio in progress, on average",
	  .null = "as io_ns, or the interval has no length", .fraction = true },
	{ "strata", MEMBER_OBJECT, .what = "io_ns by stratum", .only = "without --layer",
	  .object = &strata_object },
	{ "missing", MEMBER_ASCII,
	  .what = "things which could not be measured: strata, requests, calls (all operations), "
		  "uring, aio, fault, pages (of zram, brd and pmem), and paths (calls by absolute "
		  "path, which filters by file leave out)",
	  .words = &missing_words, .list = 1, .item = "name of such a thing" },
	{ "ops", MEMBER_OBJECT,
	  .what = "operations: a row for each kind, file system and key of --by; empty with "
		  "--layer",
	  .object = &op_object, .list = 1 },
	{ "layers", MEMBER_OBJECT, .what = "with --layer: a row for each operation of the layer",
	  .object = &layer_object, .list = 1 },
	{ "requests", MEMBER_OBJECT,
	  .what = "block requests: a row for each disk, kind and key of --by",
	  .null = "not measured, or --layer asks for another layer", .object = &request_object,
	  .list = 1 },
	{ "left_out", MEMBER_OBJECT, .what = "how many rows -n keeps out of these lists",
	  .only = "with -n", .object = &left_out_object },
	{ "minor_faults", MEMBER_OBJECT,
	  .what = "page faults which found their page: a row for each file system and key of --by",
	  .null = "not counted", .object = &minor_object, .list = 1 },
	{ "in_progress", MEMBER_OBJECT,
	  .what = "operations which had not ended, the oldest first; empty with --layer",
	  .object = &in_progress_object, .list = 1 },
	{ "in_progress_before", MEMBER_OBJECT,
	  .what = "threads which have waited since before tracing began, those for a server first",
	  .only = "if there are any", .object = &before_object, .list = 1 },
	{ "unseen_before", MEMBER_COUNT,
	  .what = "threads which may have waited since then, too, but whose calls cannot be read "
		  "(without "
		  "CAP_SYS_PTRACE), or which /proc no longer shows (its mount option hidepid)",
	  .only = "if there are any", .least = 1 },
	{ "unseen_threads", MEMBER_COUNT,
	  .what = "threads whose operations in progress are not looked at, since they share a "
		  "place in "
		  "the programs' memory with another thread" },
	{ "unnamed_cgroups", MEMBER_COUNT,
	  .what = "with --by container: cgroups which were removed before they were looked up; the "
		  "key of "
		  "each is like \"cgroup 12\"" },
	{ "unpatterned", MEMBER_COUNT,
	  .what = "with --pattern: reads and writes in no pattern, as there was no room for their "
		  "file or "
		  "disk" },
	{ "unreaped", MEMBER_COUNT,
	  .what = "requests of io_uring which are counted without the stratum reap: they end at "
		  "their "
		  "completion. Not a loss; iostrata(1) names the kinds",
	  .null = "they are not traced, or a recording is shown" },
	{ "who", MEMBER_OBJECT,
	  .what = "waits of operations for somebody else, by the process to which they were due: "
		  "waits of 100 us or more, for a CPU of 1 ms or more. From a recording, only the "
		  "longest wait of each operation. Live, *kind* has scanner, userfault and freezer "
		  "only with --slowest; else they are waker",
	  .null = "not measured: live with --fs, --file, -d or --min; with -T",
	  .object = &who_row_object, .list = 1 },
	{ "machine", MEMBER_OBJECT,
	  .what = "how busy the machine was, as its kernel counts it; filters do not change this",
	  .null = "an older recording, which does not have it", .object = &machine_object },
	{ "disks", MEMBER_OBJECT,
	  .what = "how busy each disk was that had requests in progress; live, filters do not "
		  "change this",
	  .null = "no requests, or the kernel does not tell", .object = &disk_object, .list = 1 },
	{ "lost", MEMBER_OBJECT, .what = "lost events by kind", .object = &lost_object },
	{ "lost_untimed", MEMBER_OBJECT,
	  .what = "losses of the whole recording whose time is not known; *lost* has those of this "
		  "part of the time. The first interval has them",
	  .only = "in iostrata report with --from, --to or --every", .object = &lost_object },
	{ "overhead", MEMBER_OBJECT, .what = "cost of the BPF programs so far",
	  .null = "without --overhead", .object = &overhead_object },
	{ "slowest", MEMBER_OBJECT, .what = "the slowest operations", .only = "with --slowest",
	  .object = &slow_object, .list = 1 },
	{ "helpers", MEMBER_OBJECT,
	  .what = "requests of helpers: a row for each helper, client, disk and "
		  "kind",
	  .null = "not measured", .only = "with --helpers", .object = &helper_object, .list = 1 },
	{ "helper_times", MEMBER_OBJECT,
	  .what = "working times of helpers: a row for each and its client", .null = "not measured",
	  .only = "with --helpers", .object = &helper_time_object, .list = 1 },
	{ "sleep_why", MEMBER_OBJECT,
	  .what = "where operations slept: a row for each kind, file system and function of the "
		  "kernel",
	  .null = "not measured", .only = "with --why", .object = &site_object, .list = 1 },
	{ "servers", MEMBER_OBJECT,
	  .what = "requests of file systems to servers and daemons: a row for each server, mount "
		  "of FUSE "
		  "or 9p, and kind",
	  .only = "if there were any", .object = &server_object, .list = 1 },
	{ "stacks", MEMBER_OBJECT,
	  .what = "user stacks: which functions of programs made the calls",
	  .only = "with --stacks, and --by function, line, library and stack",
	  .object = &stacks_object },
	{ "joined", MEMBER_OBJECT,
	  .what = "requests of NFS with the operations of nfsd which served them",
	  .only = "in reports of recordings with both", .object = &joined_object },
	{}
};
static const struct object breakdown_object = { NULL, "one interval", breakdown_members };

const struct schema breakdown_schema = { "iostrata.breakdown/1",
					 .what = "a line of breakdown --json, report --json and "
						 "record --breakdown --json: an interval",
					 .first = &breakdown_object };

static const struct object head_object = { "head", "the first line",
					   (const struct member[]){ {} } };

static const struct member event_members[] = { { .columns = event_columns }, {} };
static const struct object event_object = { "event", "an operation or a request", event_members };

const struct schema events_schema = {
	"iostrata.events/1",
	.what = "a line of report --events json: first the format, then each operation or request",
	.first = &head_object, .others = &event_object
};

static const struct member joined_event_members[] = { { .columns = joined_event_columns }, {} };
static const struct object joined_event_object = {
	"joined", "a request of NFS with the operation of the server which served it",
	joined_event_members
};

const struct schema joined_schema = { "iostrata.joined/1",
				      .what = "a line of report --events json --joined: first the "
					      "format, then each request of NFS",
				      .first = &head_object, .others = &joined_event_object };
