// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as a recording: read to the end, or to one error. Those that come packed and with sums
 * would seldom be anything but "damaged", so a chunk is also made of the bytes themselves.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "base/reason.h"
#include "capture/chunk.h"
#include "capture/replay.h"
#include "show/events.h"

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

static const char *no_call(unsigned short call)
{
	(void)call;
	return NULL;
}

static void recording_read(FILE *f)
{
	struct replay r = { .conf = { .by = BY_FILE, .slowest_max = 3, .every_ns = 1 << 30 } };
	static FILE *out;
	struct recording rec;
	struct cap_event ev;
	struct snapshot sn;
	struct reason why;
	int got = recording_open(&rec, f, "fuzz", &why), n = 0;

	if (!out)
		out = fopen("/dev/null", "w");
	if (!got) {
		while ((got = recording_next(&rec, &ev, &why)) > 0 && n++ < 2000) {
			events_put(out, EVENTS_TEXT + n % 3, &rec, &ev, no_call);
			if (replay_add(&r, &rec, &ev, &why))
				break;
		}
		replay_end(&r, &rec);
	}
	CHECK(got >= 0 || (why.exit == EXIT_FAILED && why.error[0]));
	recording_close(&rec);
	for (size_t i = 0; i < r.n_intervals; i++) {
		CHECK(!replay_take(&r, i, &sn));
		snapshot_free(&sn);
	}
	replay_done(&r);
}

static size_t chunk_make(uint8_t *dst, size_t cap, const struct chunk_head *head, const void *raw)
{
	struct chunk_head h = *head;

	h.packed = ZSTD_compress(dst + CHUNK_HEAD, cap - CHUNK_HEAD, raw, h.raw, 1);
	CHECK(!ZSTD_isError(h.packed));
	head_put(dst, &h);
	return CHUNK_HEAD + h.packed;
}

/* Chunks out of @data: each has a byte for its kind, one for its rows, two for its length. */
static size_t chunks_make(uint8_t *dst, size_t cap, const uint8_t *data, size_t size)
{
	static const char header[] = "{\"monotonic_ns\":1}";
	struct chunk_head h = { .kind = CHUNK_HEADER, .raw = sizeof(header) - 1, .rows = 1 };
	size_t n = CAPTURE_HEAD, len;

	memset(dst, 0, CAPTURE_HEAD);
	memcpy(dst, CAPTURE_MAGIC, 8);
	put_u32(dst + 8, CAPTURE_VERSION);
	n += chunk_make(dst + n, cap - n, &h, header);
	while (size >= 4 && cap - n > 200000) {
		len = data[2] | data[3] << 8;
		len = len < size - 4 ? len : size - 4;
		h = (struct chunk_head){ .kind = data[0] % 9, .raw = len, .rows = data[1],
					 .last_ns = ~0ULL };
		n += chunk_make(dst + n, cap - n, &h, data + 4);
		data += 4 + len;
		size -= 4 + len;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t made[1 << 20];
	FILE *f;

	if (!size)
		return 0;
	if (data[0] == 'i') {
		f = fmemopen((void *)data, size, "r");
	} else {
		size = chunks_make(made, sizeof(made), data + 1, size - 1);
		f = fmemopen(made, size, "r");
	}
	recording_read(f);
	fclose(f);
	return 0;
}
