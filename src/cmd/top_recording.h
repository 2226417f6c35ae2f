/* SPDX-License-Identifier: GPL-2.0-only */
/* top_recording.h - `top FILE`: the intervals of a recording on top's screen, or as text or JSON.
 */
#ifndef IOSTRATA_CMD_TOP_RECORDING_H
#define IOSTRATA_CMD_TOP_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/recorded_symbols.h"
#include "run/filters.h"
#include "top/top_table.h"

struct top_replay_conf {
	const char *file;
	enum top_view view;
	const char *sort;
	uint64_t max_rows, interval_ns;
	uint64_t count; /* intervals of text or JSON; 0: all */
	bool json, screen;
	const struct filters *filters;
	struct opt_strings hide; /* libraries that are not the program's own code */
	struct recorded_symbols *symbols;
};

/* Returns the exit code. */
int top_replay_main(const struct top_replay_conf *conf);

#endif
