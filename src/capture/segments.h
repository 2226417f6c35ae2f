/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * segments.h - the order of an operation's time (struct segments): as bytes of a recording, and
 * back, and as text. docs/FORMAT.md describes the bytes.
 */
#ifndef IOSTRATA_CAPTURE_SEGMENTS_H
#define IOSTRATA_CAPTURE_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

/* Bytes of all segments at most: their number, strata, durations below 2^56 ns, and the merged. */
enum { SEGMENTS_BYTES = 1 + SEGMENTS_MAX + SEGMENTS_MAX * 8 + 5 };

/* Writes @s, with n segments from 1 on, of an operation with @strata. Returns the length, at most
 * SEGMENTS_BYTES. Returns 0 if they do not add up to the strata: then the order is not known. */
size_t segments_pack(uint8_t *dst, const struct segments *s, const uint64_t strata[ST_N]);

/*
 * The order of the time of an operation with @strata, from @len hostile bytes, or NULL if these are
 * gone. An operation that never left the CPU has no stored segments: its order is the order of the
 * layers. Returns false if not known.
 *
 * The segments of a stratum add up to the time in it, unless some are merged: their time is the
 * rest.
 */
bool segments_unpack(struct segments *ret, const uint64_t strata[ST_N], const uint8_t *bytes,
		     size_t len);

/* Whether the segments of each stratum add up to its time, or to less if some are merged. */
bool segments_add_up(const struct segments *s, const uint64_t strata[ST_N]);

/* The most bytes of the text, with its NUL. */
enum { SEGMENTS_TEXT = (SEGMENTS_MAX + 1) * 32 };

/* "syscall:812 device:20011 runq:5", in ns; with "merged:3" at the end for merged segments. */
void segments_text(char dst[SEGMENTS_TEXT], const struct segments *s);

#endif
