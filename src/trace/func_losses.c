// SPDX-License-Identifier: GPL-2.0-only
#include "trace/func_losses.h"

#include <string.h>

#include "bpf/func.h"

/* A call for whose thread there was no room is lost when it begins; where its return is seen, the
 * programs cannot tell it from one that they never saw to begin. */
static uint64_t ends_unmatched(const struct func_losses *l, const struct func_live *live,
			       bool sessions)
{
	uint64_t n = live->lost[FUNC_LOST_END];
	uint64_t counted = live->lost[FUNC_LOST_THREADS] - l->threads_before;

	if (!sessions)
		n = n > counted ? n - counted : 0;
	return n > l->last[FUNC_LOSS_END] ? n : l->last[FUNC_LOSS_END];
}

void func_losses_take(struct func_losses *l, const struct func_live *live, uint64_t missed,
		      bool sessions, uint64_t ret_lost[FUNC_LOSS_N])
{
	const uint64_t now[FUNC_LOSS_N] = {
		[FUNC_LOSS_THREADS] = live->lost[FUNC_LOST_THREADS],
		[FUNC_LOSS_ROWS] = live->lost[FUNC_LOST_ROWS],
		[FUNC_LOSS_DEPTH] = live->lost[FUNC_LOST_DEPTH],
		[FUNC_LOSS_END] = ends_unmatched(l, live, sessions),
		[FUNC_LOSS_RETURN] = live->lost[FUNC_LOST_RETURN],
		[FUNC_LOSS_MISSED] = missed,
	};

	if (!live->since_ns)
		l->threads_before = live->lost[FUNC_LOST_THREADS];
	for (int i = 0; i < FUNC_LOSS_N; i++)
		ret_lost[i] = now[i] - l->last[i];
	memcpy(l->last, now, sizeof(now));
}
