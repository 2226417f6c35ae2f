// SPDX-License-Identifier: GPL-2.0-only
#include "trace/stream.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/machine.h"
#include "base/reason.h"
#include "trace/maps.h"
#include "trace/session.h"

#include "trace.skel.h"

/* RECORDS_AT_A_TIME is per ring and takes some 100 ms of work. */
enum {
	RECORDS_AT_A_TIME = 100000,
	RING_MIN = 4096,
	WAKE_BYTES = 1 << 18,
	LANE_MIN = 64, /* records */
	LANE_MAX = 1 << 14,
	LANE_READ = 1 << 10, /* records read before the programs may reuse their room */
};

/* Bytes of each ring; the kernel requires a power of two. */
static size_t ring_bytes(size_t bytes, unsigned int rings)
{
	size_t size = RING_MIN;

	while (2 * size * rings <= bytes)
		size *= 2;
	return size;
}

/* Records per lane. Lanes get half of the memory if each lane then holds at least LANE_MIN records;
 * else there are no lanes: 0. */
static unsigned int lane_size(unsigned int cpus, size_t bytes)
{
	unsigned int size = LANE_MAX;

	while (size >= LANE_MIN && maps_lanes(cpus) * size * sizeof(struct sent_op) > bytes / 2)
		size /= 2;
	return size >= LANE_MIN ? size : 0;
}

/* Bytes for the rings, after the lanes. */
static size_t rings_bytes(const struct bpf_conf *c, size_t bytes)
{
	return c->lane_mask ? bytes / 2 : bytes;
}

void stream_conf(const struct session_conf *sc, bool lanes, struct bpf_conf *c)
{
	/* A program stores a record, then its count, and user space must see them in this order.
	 * Programs have no store-release before 6.15, and only x86 does not need it. */
	bool ordered = MACHINE_OWN == MACHINE_X86_64;
	bool useful = sc->sent_ops && c->single_writer && ordered;
	unsigned int lane = lanes && useful ? lane_size(c->cpus, sc->buffer_bytes) : 0;
	size_t bytes;

	c->rings = maps_rings(c->cpus);
	c->lane_mask = lane ? lane - 1 : 0;
	c->lane_wake = lane ? lane / 4 - 1 : 0;
	bytes = ring_bytes(rings_bytes(c, sc->buffer_bytes), c->rings) / 8;
	c->wake_mask = (bytes < WAKE_BYTES ? bytes : WAKE_BYTES) - 1;
}

static int on_sent(void *ctx, void *data, size_t len)
{
	struct stream_target *t = ctx;

	if (t->record)
		t->record(t->arg, data, len);
	return --t->left ? 0 : -EAGAIN;
}

static int on_name(void *ctx, void *data, size_t len)
{
	struct stream_target *t = ctx;

	if (t->name)
		t->name(t->arg, data, len);
	return 0;
}

static int ring_make(struct stream *s, int rings, unsigned int i, size_t size)
{
	s->fds[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "sent", 0, 0, size, NULL);
	if (s->fds[i] < 0)
		return -errno;
	s->n++;
	if (bpf_map_update_elem(rings, &i, &s->fds[i], BPF_ANY))
		return -errno;
	s->rings[i] = ring_buffer__new(s->fds[i], on_sent, s->target, NULL);
	return s->rings[i] ? 0 : -errno;
}

int stream_open(struct stream *s, const struct trace_bpf *obj, const struct bpf_conf *c,
		size_t bytes, struct stream_target *target, struct reason *why)
{
	unsigned int n = bpf_map__max_entries(obj->maps.rings);
	int err = 0;

	*s = (struct stream){ .target = target, .lanes = (struct lane *)obj->bss->lanes };
	if (c->lane_mask) {
		s->lane_size = c->lane_mask + 1;
		s->lanes_n = maps_lanes(c->cpus);
		if (maps_map(obj->maps.lane_ops, (void **)&s->lane_ops, &s->lane_ops_len, why))
			return -1;
	}
	for (unsigned int i = 0; i < n && !err; i++)
		err = ring_make(s, bpf_map__fd(obj->maps.rings), i,
				ring_bytes(rings_bytes(c, bytes), n));
	if (!err) {
		s->names =
			ring_buffer__new(bpf_map__fd(obj->maps.sent_files), on_name, target, NULL);
		err = s->names ? 0 : -errno;
	}
	return err ? reason_set(why, EXIT_FAILED, "cannot make the ring buffers: %s",
				strerror(-err))
		   : 0;
}

void stream_close(struct stream *s)
{
	for (unsigned int i = 0; i < s->n; i++) {
		ring_buffer__free(s->rings[i]);
		close(s->fds[i]);
	}
	ring_buffer__free(s->names);
	if (s->lane_ops)
		munmap(s->lane_ops, s->lane_ops_len);
	*s = (struct stream){};
}

/* Delivers the records now in a lane. */
static void lane_consume(struct stream *s, unsigned int cpu)
{
	const struct sent_op *ops = s->lane_ops + (size_t)cpu * s->lane_size;
	unsigned long long written = __atomic_load_n(&s->lanes[cpu].written, __ATOMIC_ACQUIRE);
	unsigned long long read = s->lanes[cpu].read, at, n;

	for (; read != written; read += n) {
		at = read & (s->lane_size - 1);
		n = written - read;
		n = n < s->lane_size - at ? n : s->lane_size - at;
		n = n < LANE_READ ? n : LANE_READ;
		if (s->target->record)
			s->target->record(s->target->arg, ops + at, n * sizeof(*ops));
		__atomic_store_n(&s->lanes[cpu].read, read + n, __ATOMIC_RELEASE);
	}
}

int stream_consume(struct stream *s)
{
	int more = 0;

	for (unsigned int i = 0; s->lane_ops && i < s->lanes_n; i++)
		lane_consume(s, i);
	for (unsigned int i = 0; i < s->n; i++) {
		s->target->left = RECORDS_AT_A_TIME;
		more |= ring_buffer__consume(s->rings[i]) == -EAGAIN;
	}
	return more;
}

void stream_names(struct stream *s)
{
	ring_buffer__consume(s->names);
}

void stream_names_again(const struct trace_bpf *obj)
{
	const struct sent_file_id none = {};
	int fd = bpf_map__fd(obj->maps.files_sent);

	for (unsigned int i = 0; i < FILES_SENT; i++)
		bpf_map_update_elem(fd, &i, &none, BPF_ANY);
}

int stream_watch(const struct stream *s, int epoll)
{
	struct epoll_event ev = { .events = EPOLLIN };

	for (unsigned int i = 0; i < s->n; i++)
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, ring_buffer__epoll_fd(s->rings[i]), &ev))
			return -errno;
	return epoll_ctl(epoll, EPOLL_CTL_ADD, ring_buffer__epoll_fd(s->names), &ev) ? -errno : 0;
}
