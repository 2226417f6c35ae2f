// SPDX-License-Identifier: GPL-2.0-only
#include "trace/links.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "trace/kallsyms.h"

/* Reads a number from a sysfs file, with or without "config:" before it. Returns -1 if it cannot be
 * read. */
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
	uint64_t address = kallsyms_cached(function);
	int fd = address ? kprobe_open("kprobe", NULL, address, is_return) : -1;
	struct bpf_link *link;

	if (fd < 0)
		return bpf_program__attach_kprobe(prog, is_return, function);
	link = bpf_program__attach_perf_event(prog, fd);
	if (!link)
		close(fd);
	return link;
}

bool links_add(struct links *l, struct bpf_link *link)
{
	if (!link)
		return false;
	if (l->n == MAX_LINKS) {
		bpf_link__destroy(link);
		return false;
	}
	l->list[l->n++] = link;
	return true;
}

bool links_add_pair(struct links *l, struct bpf_link *leave, struct bpf_link *enter)
{
	if (leave && enter && l->n + 2 <= MAX_LINKS)
		return links_add(l, leave) && links_add(l, enter);
	bpf_link__destroy(enter);
	bpf_link__destroy(leave);
	return false;
}

void links_done(struct links *l)
{
	while (l->n)
		bpf_link__destroy(l->list[--l->n]);
}

/* Beginning of struct bpf_link_info for a kprobe, as in include/uapi/linux/bpf.h since 6.7. */
struct kprobe_link_info {
	__u32 type, id, prog_id, pad;
	__u32 perf_type, perf_pad;
	__u64 func_name;
	__u32 name_len, offset;
	__u64 addr, missed, cookie;
};

enum { LINK_PERF_EVENT = 7, PERF_KPROBE = 3, PERF_KRETPROBE = 4 };

unsigned long long links_missed(const struct links *l)
{
	unsigned long long sum = 0;

	for (int i = 0; i < l->n; i++) {
		struct kprobe_link_info info = {};
		__u32 len = sizeof(info);

		if (bpf_obj_get_info_by_fd(bpf_link__fd(l->list[i]), &info, &len) ||
		    info.type != LINK_PERF_EVENT ||
		    (info.perf_type != PERF_KPROBE && info.perf_type != PERF_KRETPROBE))
			continue;
		sum += info.missed;
	}
	return sum;
}
