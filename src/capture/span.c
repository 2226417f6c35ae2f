// SPDX-License-Identifier: GPL-2.0-only
#include "capture/span.h"

/* Two words at once. */
typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));

enum { STEP = sizeof(struct sent_op) / sizeof(uint64_t) };

_Static_assert(offsetof(struct sent_op, start_ns) == 4 * sizeof(pair), "four are the same");
_Static_assert(SPAN_DIFFER * sizeof(uint64_t) == 3 * sizeof(pair), "three differ");
_Static_assert(sizeof(struct sent_op) % sizeof(uint64_t) == 0, "whole words");

void span_look(const struct sent_op *s, size_t n, struct span *ret_span)
{
	const pair *first = (const pair *)s, *range = (const pair *)&s->offset, *at;
	unsigned int i, most = n < PACK_SPAN ? n : PACK_SPAN;
	uint64_t first_ns = ~0ULL, last_ns = 0, end;
	pair other, differ[3] = {};

	for (i = 0; i < most; i++, s++) {
		at = (const pair *)s;
		other = (at[0] ^ first[0]) | (at[1] ^ first[1]) | (at[2] ^ first[2]) |
			(at[3] ^ first[3]);
		if (other[0] | other[1])
			break;
		at = (const pair *)&s->offset;
		differ[0] |= at[0] ^ range[0];
		differ[1] |= at[1] ^ range[1];
		differ[2] |= at[2] ^ range[2];
		end = s->start_ns + s->on_cpu[0] + s->on_cpu[1] + s->on_cpu[2];
		first_ns = end < first_ns ? end : first_ns;
		last_ns = end > last_ns ? end : last_ns;
	}
	*ret_span = (struct span){ .n = i, .first_ns = first_ns, .last_ns = last_ns };
	for (i = 0; i < SPAN_DIFFER; i++)
		ret_span->differ[i] = differ[i / 2][i % 2];
}

void span_batch(const struct span *span, const struct sent_op *s, const struct cap_op *same,
		struct batch_span *ret_batch)
{
	/* columns of what differs, in the order of struct sent_op */
	static const unsigned char columns[SPAN_DIFFER] = {
		CAP_OP_COLUMN(offset), CAP_OP_COLUMN(len), CAP_OP_COLUMN(ret),
		CAP_OP_COLUMN(strata), CAP_OP_COLUMN(strata) + 1, CAP_OP_COLUMN(strata) + 2,
	};
	struct pack_values *to = ret_batch->columns;

	for (unsigned int i = 0; i < CAP_COLUMNS(struct cap_op); i++)
		to[i] = (struct pack_values){ (const uint64_t *)same + i, 0 };
	to[CAP_OP_COLUMN(start_ns)] = (struct pack_values){ (const uint64_t *)&s->start_ns, STEP };
	for (unsigned int i = 0; i < SPAN_DIFFER; i++)
		if (span->differ[i])
			to[columns[i]] = (struct pack_values){ (const uint64_t *)&s->offset + i,
							       STEP };
	ret_batch->n = span->n;
	ret_batch->first_ns = span->first_ns;
	ret_batch->last_ns = span->last_ns;
}
