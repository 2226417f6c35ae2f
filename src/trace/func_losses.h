/* SPDX-License-Identifier: GPL-2.0-only */
/* func_losses.h - calls that were lost, each counted once. */
#ifndef IOSTRATA_FUNC_LOSSES_H
#define IOSTRATA_FUNC_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/funcs.h"

struct func_live;

struct func_losses {
	uint64_t last[FUNC_LOSS_N];	/* at the last look */
	uint64_t threads_before;	/* of those, before the probes were live */
};

/* What was lost since the last look (the first is at the beginning, before the probes are live).
 * @missed: see func_missed(). @sessions: a return is seen only if the entry was counted. */
void func_losses_take(struct func_losses *l, const struct func_live *live, uint64_t missed,
		      bool sessions, uint64_t ret_lost[FUNC_LOSS_N]);

#endif
