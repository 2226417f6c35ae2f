// SPDX-License-Identifier: GPL-2.0-only
#include "capture/batch.h"

#define D PACK_DELTA
#define V PACK_VALUE

/* In the order of the members of the records in format.h. */
static const pack_codes op_codes = { D, D, D, V, V, V, V, V, D, D, D, D, V };
static const pack_codes request_codes = { D, V, V, V, D, D, D, D, D, V, V, V, V, V, V };
static const pack_codes name_codes = { V, D, V, V, V, V };
static const pack_codes loss_codes = { D, D, V, V };
static const pack_codes index_codes = { D, V, V, D, D };

#undef D
#undef V

_Static_assert(PACK_VALUE == 0, "the strata, which have no codes, are values");
_Static_assert(CAP_COLUMNS(struct cap_op) <= PACK_COLUMNS, "op");

#define COLUMNS(codes_, type)                                                                      \
	(struct rowpack)                                                                           \
	{                                                                                          \
		.codes = codes_, .n = CAP_COLUMNS(type)                                            \
	}

void batches_init(struct batch b[CHUNK_KINDS])
{
	b[CHUNK_OPS].columns = COLUMNS(op_codes, struct cap_op);
	b[CHUNK_HANDLES].columns = COLUMNS(op_codes, struct cap_op);
	b[CHUNK_REQUESTS].columns = COLUMNS(request_codes, struct cap_request);
	b[CHUNK_NAMES].columns = COLUMNS(name_codes, struct cap_name);
	b[CHUNK_LOSSES].columns = COLUMNS(loss_codes, struct cap_loss);
}

struct rowpack batch_index(void)
{
	return COLUMNS(index_codes, struct cap_index);
}

/* They ended from @first_ns to @last_ns; @is_first: there are no others. */
static void times_add(struct batch *b, uint64_t first_ns, uint64_t last_ns, bool is_first)
{
	if (is_first || first_ns < b->first_ns)
		b->first_ns = first_ns;
	if (is_first || last_ns > b->last_ns)
		b->last_ns = last_ns;
}

void batch_added(struct batch *b, uint64_t ns)
{
	times_add(b, ns, ns, !b->columns.rows);
	rowpack_added(&b->columns);
}

int batch_add_span(struct batch *b, const struct batch_span *span)
{
	bool is_first = !b->columns.rows;
	int err = rowpack_add_span(&b->columns, span->n, span->columns);

	if (!err)
		times_add(b, span->first_ns, span->last_ns, is_first);
	return err;
}
