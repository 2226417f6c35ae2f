// SPDX-License-Identifier: GPL-2.0-only
/* header_members.c - describes what header.c writes. */
#include "capture/header_members.h"

#include "base/machine.h"
#include "base/names.h"
#include "base/protocols.h"
#include "capture/header.h"
#include "capture/header_disks.h"
#include "capture/stored.h"

static const struct member lost_members[] = {
	{ .each = &lost_words, .type = MEMBER_COUNT },
	{ "missed", MEMBER_COUNT, .what = "hits of probes which the kernel did not take" },
	{}
};
const struct object lost_object = { "lost", "lost events by kind", lost_members };

static const struct word_list missing_more = { .list = header_missing_names, .to = MISSING_IN_N };

static const struct member missing_members[] = { { .each = &strata_words,
						   .type = MEMBER_ASCII,
						   .what = "reason why there is no stratum",
						   .only = "if it is not measured" },
						 { .each = &missing_more,
						   .type = MEMBER_ASCII,
						   .what = "reason why there is no",
						   .only = "if it is not recorded" },
						 {} };
const struct object missing_object = { "missing", "strata and events without measurement",
				       missing_members };

static const char *name_of_machine(unsigned int machine)
{
	return machine_name(machine);
}

static const struct word_list machine_words = { name_of_machine, .from = 0, .to = MACHINES };

const struct member recorded_members[] = {
	{ "machine", MEMBER_ASCII, .what = "machine, as uname -m prints it",
	  .words = &machine_words },
	{ "boot_id", MEMBER_ASCII, .what = "id of this boot of the kernel", .null = "not known" },
	{ "monotonic_ns", MEMBER_TIME,
	  .what = "CLOCK_MONOTONIC at the beginning of the file's time; with --keep, at the end of "
		  "its "
		  "first record" },
	{ "realtime_ns", MEMBER_TIME, .what = "CLOCK_REALTIME at the same time" },
	{ "ops", MEMBER_BOOL, .what = "whether operations were recorded" },
	{ "requests", MEMBER_BOOL, .what = "whether requests were recorded" },
	{ "device_bytes", MEMBER_BOOL, .what = "whether operations have device_bytes" },
	{ "missing", MEMBER_OBJECT,
	  .what = "strata and events without measurement: the reason for each",
	  .object = &missing_object },
	{}
};

static const struct member trigger_members[] = {
	{ "condition", MEMBER_ASCII, .what = "the condition as given, or SIGUSR1" },
	{ "monotonic_ns", MEMBER_TIME, .what = "CLOCK_MONOTONIC when it was met first" },
	{ "value", MEMBER_COUNT,
	  .what = "the largest value that met it: a time in ns, or a number of errors or requests",
	  .null = "SIGUSR1 has none", .unit = "ns or count" },
	{}
};
static const struct object trigger_object = { NULL, "a condition", trigger_members };

static const struct member device_members[] = {
	{ "name", MEMBER_ASCII, .what = "name of the device" },
	{ "dev", MEMBER_ASCII, .what = "its number, \"major:minor\"", .pattern = PATTERN_DEVICE },
	{ "on", MEMBER_ASCII,
	  .what = "the devices below this one; for a loop device, the one of its file's file "
		  "system",
	  .list = 1, .item = "name of a device" },
	{ "part_of", MEMBER_ASCII, .what = "disk of a partition", .only = "for partitions" },
	{}
};
static const struct object device_object = { NULL, "a block device", device_members };

static const struct member mount_members[] = {
	{ "dev", MEMBER_ASCII, .what = "number of the file system's device, \"major:minor\"",
	  .pattern = PATTERN_DEVICE },
	{ "type", MEMBER_ASCII, .what = "type of the file system" },
	{ "source", MEMBER_TEXT, .what = "mounted device, or name", .null = "none" },
	{ "root", MEMBER_TEXT, .what = "directory of the file system at the mount",
	  .null = "not known" },
	{ "point", MEMBER_TEXT, .what = "directory of the mount" },
	{ "options", MEMBER_TEXT, .what = "options of the mount", .null = "none" },
	{ "fs_options", MEMBER_TEXT, .what = "options of the file system", .null = "none",
	  .only = "in files of versions that know them" },
	{}
};
static const struct object mount_object = { NULL, "a mount", mount_members };

static const struct word_list newer_strata = { stratum_name, .from = STRATA_ALWAYS, .to = ST_N };

static const struct member header_members[] = {
	{ "version", MEMBER_ASCII, .what = "version of the tool" },
	{ "argv", MEMBER_ASCII, .what = "command line of the tool", .list = 1,
	  .item = "an argument", .item_null = "an empty one" },
	{ "kernel", MEMBER_ASCII, .what = "release of the kernel, as uname -r prints it" },
	{ "host", MEMBER_ASCII, .what = "name of the host", .null = "none" },
	{ .also = recorded_members },
	{ "trigger", MEMBER_OBJECT,
	  .what = "the conditions that were met, the first of which caused the recording",
	  .only = "in recordings of watch", .object = &trigger_object, .list = 1 },
	{ "stacks", MEMBER_BOOL, .what = "whether user stacks were recorded",
	  .only = "in files of versions that know it" },
	{ "cpus", MEMBER_COUNT, .what = "CPUs online", .least = 1 },
	{ .each = &newer_strata,
	  .type = MEMBER_BOOL,
	  .what = "whether operations have the stratum",
	  .only = "in files of versions that know it" },
	{ "vfs_ops", MEMBER_ASCII, .what = "kinds of operations whose time in the VFS is measured",
	  .words = &op_words, .list = 1, .item = "a kind of operations" },
	{ "devices", MEMBER_OBJECT, .what = "block devices", .object = &device_object, .list = 1 },
	{ "disks", MEMBER_OBJECT, .what = "what sysfs tells of the disks",
	  .object = &header_disk_object, .list = 1 },
	{ "mounts", MEMBER_OBJECT, .what = "mounted file systems", .object = &mount_object,
	  .list = 1 },
	{}
};
static const struct object header_object = { "header", "the first chunk of a recording",
					     header_members };

static const struct member server_members[] = {
	{ "server", MEMBER_TEXT,
	  .what = "address of the NFS server; name of the SMB server or the FUSE daemon; virtiofs; "
		  "name of "
		  "the 9p device",
	  .null = "not known" },
	{ "protocol", MEMBER_ASCII, .what = "how the server is asked",
	  .only = "in files of versions that know several", .words = &protocol_words },
	{ "mount", MEMBER_TEXT, .what = "where the file system of FUSE or 9p is mounted",
	  .null = "of NFS or SMB, or not known" },
	{ "pid", MEMBER_ID, .what = "process of the FUSE daemon; 0: no process of this machine" },
	{ "op", MEMBER_TEXT, .what = "kind of the request", .null = "FUSE" },
	{ "opcode", MEMBER_ID, .what = "number of the kind of request of FUSE; 0: not FUSE" },
	{ "count", MEMBER_COUNT, .what = "number of finished requests", .least = 1 },
	{ "errors", MEMBER_COUNT, .what = "number of failed requests" },
	{ "resent", MEMBER_COUNT, .what = "how often requests were sent again" },
	{ "sent_bytes", MEMBER_BYTES, .what = "bytes of the requests, headers included",
	  .null = "not known for 9p and SMB" },
	{ "received_bytes", MEMBER_BYTES, .what = "bytes of the answers, headers included",
	  .null = "not known for 9p and SMB" },
	{ "tag_ns", MEMBER_TIME, .what = "time that requests waited for a slot" },
	{ "queue_ns", MEMBER_TIME, .what = "time from the slot until the requests were sent" },
	{ "server_ns", MEMBER_TIME, .what = "time from the sending to the answer" },
	{ "max_ns", MEMBER_TIME, .what = "the longest time with the server" },
	{ "split", MEMBER_COUNT,
	  .what = "requests of FUSE which one thread of the daemon read and answered", .least = 1,
	  .only = "if there were any" },
	{ "before_read_ns", MEMBER_TIME, .what = "their time until the thread had read them",
	  .only = "with split" },
	{ "daemon", MEMBER_TIME,
	  .what = "the rest of their time by stratum, in the order of enum stratum in event.h; the "
		  "first: "
		  "on the CPU, in any layer",
	  .only = "with split", .list = 1, .item = "time in one stratum" },
	{ "hist", MEMBER_COUNT, .what = "histogram of the time with the server",
	  .unit = "id, count", .list = 2, .length = 2,
	  .item = "the bucket (hist_bucket() in cell.h), then the count" },
	{}
};
static const struct object server_object = { "server",
					     "requests of one kind to a file server or a daemon",
					     server_members };

static const char *const endings[] = { "ended", "full", "max-size" };
static const struct word_list ending_words = { .list = endings, .to = 3 };

static const struct member end_members[] = {
	{ "ended", MEMBER_ASCII,
	  .what = "why the file ends: the recording did, the disk was full, or the limit of "
		  "--max-size",
	  .words = &ending_words },
	{ "duration_ns", MEMBER_TIME, .what = "length of the time in the file" },
	{ "ops", MEMBER_COUNT, .what = "operations in the file" },
	{ "requests", MEMBER_COUNT, .what = "requests in the file" },
	{ "lost", MEMBER_OBJECT, .what = "losses by kind, also those in no chunk of losses",
	  .object = &lost_object },
	{ "dropped_ops", MEMBER_COUNT,
	  .what = "operations too old for --keep; with --max-files, recorded or lost in replaced "
		  "files" },
	{ "dropped_requests", MEMBER_COUNT, .what = "requests, likewise" },
	{ "stacks_lost", MEMBER_COUNT, .what = "user stacks which found no room",
	  .only = "if user stacks were recorded" },
	{ "stacks_lost_ns", MEMBER_TIME, .what = "time of their operations",
	  .only = "if user stacks were recorded" },
	{ "servers", MEMBER_OBJECT, .what = "requests of file systems to servers and daemons",
	  .only = "if there were any, and if the file has all of the run", .object = &server_object,
	  .list = 1 },
	{ "disks", MEMBER_OBJECT,
	  .what = "the drives with a sensor, as they were at the end of the recording",
	  .only = "in files of versions that know them", .object = &ending_disk_object, .list = 1 },
	{}
};
static const struct object end_object = { "end", "the last chunk of a whole recording",
					  end_members };

const struct schema capture_schema = {
	"iostrata.capture/1",
	.what = "the header and the end of a recording; older versions wrote fewer members",
	.first = &header_object, .others = &end_object
};
