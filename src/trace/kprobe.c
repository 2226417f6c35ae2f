// SPDX-License-Identifier: GPL-2.0-only
#include "trace/kprobe.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "trace/kallsyms.h"

/* Reads a number from a sysfs file, possibly after "config:"; -1. */
static int sysfs_number(const char *pmu, const char *file)
{
	char path[128];
	int value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/%s", pmu, file);
	f = fopen(path, "re");
	if (f && fscanf(f, "config:%d", &value) != 1) {
		rewind(f);
		if (fscanf(f, "%d", &value) != 1)
			value = -1;
	}
	if (f)
		fclose(f);
	return value;
}

int kprobe_open(const char *pmu, const char *name, uint64_t address, bool is_return)
{
	int type = sysfs_number(pmu, "type"), bit = sysfs_number(pmu, "format/retprobe"), fd;
	struct perf_event_attr attr = { .size = sizeof(attr) };

	if (type < 0 || bit < 0)
		return -EOPNOTSUPP;
	attr.type = type;
	attr.config = is_return ? 1ULL << bit : 0;
	attr.config1 = (uintptr_t)name;
	attr.config2 = address;
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

struct bpf_link *kprobe_attach(const struct bpf_program *prog, const char *function, bool is_return)
{
	uint64_t address = kallsyms_kept(function);
	int fd = address ? kprobe_open("kprobe", NULL, address, is_return) : -1;
	struct bpf_link *link;

	if (fd < 0)
		return bpf_program__attach_kprobe(prog, is_return, function);
	link = bpf_program__attach_perf_event(prog, fd);
	if (!link)
		close(fd);
	return link;
}
