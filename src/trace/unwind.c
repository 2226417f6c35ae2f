// SPDX-License-Identifier: GPL-2.0-only
#include "trace/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/reason.h"
#include "bpf/conf.h"
#include "trace/grace.h"
#include "trace/maps.h"

#include "trace.skel.h"

/* A file that was met within this time does not leave: else files in use would push out each
 * other. */
#define IDLE_NS (10ULL * NS_PER_S)

/* Rows of a file. When its entry has been removed, a program that found the entry before may still
 * read them, until the end of a grace period. */
struct unwind_area {
	struct unwind_key key;
	unsigned int number; /* 0: the entry has been removed */
	unsigned int first, n;
};

int unwind_open(struct unwind *u, const struct trace_bpf *obj, const struct grace *grace,
		struct reason *why)
{
	u->files_fd = bpf_map__fd(obj->maps.unwind_files);
	u->grace = grace;
	u->used_ns = calloc(STACK_FILES, sizeof(*u->used_ns));
	if (!u->used_ns)
		return reason_no_memory(why);
	return maps_map(obj->maps.unwind_rows, (void **)&u->rows, &u->rows_len, why);
}

void unwind_close(struct unwind *u)
{
	if (u->rows)
		munmap(u->rows, u->rows_len);
	free(u->areas);
	free(u->used_ns);
	*u = (struct unwind){};
}

void unwind_use(struct unwind *u, const struct sent_stack *s)
{
	unsigned int n = s->n < STACK_FRAMES ? s->n : STACK_FRAMES, number;

	for (unsigned int i = 0; i < n && u->used_ns; i++) {
		number = STACK_FRAME_FILE(s->frames[i]);
		if (number < STACK_FILES)
			u->used_ns[number] = s->start_ns + s->total_ns;
	}
}

/* When the file was met last; 1 if it has left. */
static unsigned long long area_used(const struct unwind *u, const struct unwind_area *a)
{
	return a->number ? u->used_ns[a->number] : 1;
}

/* Finds the first place for @n rows, if all files leave that were not met after @time. Returns the
 * place, or -1. With @time 0, no file leaves. */
static long place_find(const struct unwind *u, size_t n, unsigned long long time)
{
	size_t from = 0;

	for (unsigned int i = 0; i < u->n_areas; i++) {
		const struct unwind_area *a = &u->areas[i];

		if (area_used(u, a) <= time)
			continue;
		if (a->first - from >= n)
			return from;
		from = a->first + a->n;
	}
	return u->rows_len / sizeof(*u->rows) - from >= n ? (long)from : -1;
}

/* Removes the entries of all files with rows among the @n from @first on, and waits until no
 * program reads these rows. Returns 0 or -errno; then the rows are not free. */
static int files_leave(struct unwind *u, size_t first, size_t n)
{
	unsigned int n_left = 0;
	int err;

	for (unsigned int i = 0; i < u->n_areas; i++) {
		struct unwind_area *a = &u->areas[i];

		if (!a->number || a->first >= first + n || first >= a->first + a->n)
			continue;
		if (bpf_map_delete_elem(u->files_fd, &a->key) && errno != ENOENT)
			return -errno;
		a->number = 0;
	}
	err = grace_wait(u->grace);
	if (err)
		return err;
	for (unsigned int i = 0; i < u->n_areas; i++)
		if (u->areas[i].number)
			u->areas[n_left++] = u->areas[i];
	u->n_areas = n_left;
	return 0;
}

/* The time nearest after @time at which a file was met last, or 0. */
static unsigned long long used_after(const struct unwind *u, unsigned long long time)
{
	unsigned long long next = 0, used;

	for (unsigned int i = 0; i < u->n_areas; i++) {
		used = area_used(u, &u->areas[i]);
		if (used > time && (!next || used < next))
			next = used;
	}
	return next;
}

/* Makes a place for @n rows; files leave if need be, those first that were not met for the longest
 * time. Returns the place, or -1. */
static long place_make(struct unwind *u, size_t n)
{
	unsigned long long time = 0, now = clock_ns();
	long first = place_find(u, n, 0);

	while (first < 0 && (time = used_after(u, time)) && time + IDLE_NS <= now) {
		first = place_find(u, n, time);
		if (first >= 0 && files_leave(u, first, n))
			return -1;
	}
	return first;
}

/* Returns the new area, which is free for @n rows, or NULL: there is no room. */
static struct unwind_area *area_add(struct unwind *u, size_t n)
{
	struct unwind_area *a = reallocarray(u->areas, u->n_areas + 1, sizeof(struct unwind_area));
	unsigned int at = 0;
	long first;

	if (!a)
		return NULL;
	u->areas = a;
	first = place_make(u, n);
	if (first < 0)
		return NULL;
	while (at < u->n_areas && u->areas[at].first < first)
		at++;
	a = &u->areas[at];
	memmove(a + 1, a, (u->n_areas++ - at) * sizeof(*a));
	*a = (struct unwind_area){ .first = first, .n = n };
	return a;
}

int unwind_add(struct unwind *u, const struct unwind_key *key, unsigned int number,
	       const struct unwind_row *rows, size_t n, const struct unwind_python *python)
{
	struct unwind_file file = { .number = number, .python = *python };
	struct unwind_area *a = NULL;
	struct unwind_file known;

	if (!u->rows || !number || number >= STACK_FILES)
		return -EINVAL;
	if (!bpf_map_lookup_elem(u->files_fd, key, &known) && known.number)
		return 0; /* a stack met the file while its table was on the way */
	if (n)
		a = area_add(u, n);
	if (a) {
		memcpy(u->rows + a->first, rows, n * sizeof(*rows));
		__atomic_thread_fence(__ATOMIC_RELEASE);
		file.first = a->first;
		file.n = n;
	}
	file.full = n && !a;
	if (bpf_map_update_elem(u->files_fd, key, &file, BPF_ANY))
		return -errno; /* no entry has the area, which is free after the next wait */
	if (a) {
		a->key = *key;
		a->number = number;
		u->used_ns[number] = clock_ns();
	}
	return 0;
}

/* Only user space writes numbers, so the table cannot come in between. */
void unwind_forget(struct unwind *u, const struct unwind_key *key)
{
	struct unwind_file file;

	if (!bpf_map_lookup_elem(u->files_fd, key, &file) && !file.number)
		bpf_map_delete_elem(u->files_fd, key);
}
