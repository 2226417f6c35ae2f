// SPDX-License-Identifier: GPL-2.0-only
#include "links.h"

#include <stdio.h>

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

struct bpf_program *links_program(struct bpf_object *obj, const char *prefix, const char *tag)
{
	char name[PROGRAM_NAME_LEN];

	snprintf(name, sizeof(name), "%s%s", prefix, tag);
	return bpf_object__find_program_by_name(obj, name);
}
