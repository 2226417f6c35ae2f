// SPDX-License-Identifier: GPL-2.0-only
#include "trace/first_process.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "base/clock.h"

enum {
	FIRST_NAMESPACE = 0xEFFFFFFC, /* inode of the machine's own pid namespace */
	SWITCHES = 3,                 /* as many of process 1 decide */
	LOOKS = 20,
	LOOK_NS = NS_PER_S / LOOKS,
};

/* A program on sched_switch that counts the hits while process 1 is current. Returns its
 * descriptor, or a negative number. */
static int program_load(int counter)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_pid_tgid },
		{ .code = BPF_ALU64 | BPF_RSH | BPF_K, .dst_reg = 0, .imm = 32 },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 0, .imm = 1, .off = 9 },
		{ .code = BPF_ST | BPF_W | BPF_MEM, .dst_reg = 10, .off = -4, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4 },
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = 1,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = counter },
		{},
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .imm = 0, .off = 2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_STX | BPF_DW | BPF_ATOMIC,
		  .dst_reg = 0,
		  .src_reg = 1,
		  .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "first_process", "GPL", insns,
			     sizeof(insns) / sizeof(*insns), NULL);
}

/* Adds the switches of a thread of process 1. */
static void thread_switches(const char *tid, uint64_t *sum)
{
	char path[64], line[128];
	uint64_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/1/task/%.20s/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &n) == 1)
			*sum += n;
	if (f)
		fclose(f);
}

/* How often process 1 has been switched away from. */
static uint64_t switches(void)
{
	DIR *dir = opendir("/proc/1/task");
	const struct dirent *d;
	uint64_t sum = 0;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			thread_switches(d->d_name, &sum);
	if (dir)
		closedir(dir);
	return sum;
}

static enum first_process watch(int counter)
{
	uint64_t before = switches(), seen = 0;
	bool more;
	const uint32_t key = 0;

	for (int i = 0; i < LOOKS && !seen; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
		more = switches() >= before + SWITCHES;
		if (bpf_map_lookup_elem(counter, &key, &seen))
			return FIRST_PROCESS_HIDDEN;
		if (!seen && more)
			return FIRST_PROCESS_UNSEEN;
	}
	return seen ? FIRST_PROCESS_SEEN : FIRST_PROCESS_IDLE;
}

enum first_process first_process_watch(void)
{
	enum first_process found = FIRST_PROCESS_HIDDEN;
	int counter, program, link = -1;
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino != FIRST_NAMESPACE)
		return found;
	counter = bpf_map_create(BPF_MAP_TYPE_ARRAY, "first_process", 4, 8, 1, NULL);
	program = counter < 0 ? -1 : program_load(counter);
	if (program >= 0)
		link = bpf_raw_tracepoint_open("sched_switch", program);
	if (link >= 0) {
		found = watch(counter);
		close(link);
	}
	if (program >= 0)
		close(program);
	if (counter >= 0)
		close(counter);
	return found;
}
