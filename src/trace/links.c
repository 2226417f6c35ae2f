// SPDX-License-Identifier: GPL-2.0-only
#include "trace/links.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

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

/* The beginning of struct bpf_link_info for a kprobe, include/uapi/linux/bpf.h since 6.7. */
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
