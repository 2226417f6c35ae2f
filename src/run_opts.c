// SPDX-License-Identifier: GPL-2.0-only
/* run_opts.c - the options of every command that traces, and of those that trace I/O; see run.h. */
#include "run.h"

const struct opt run_opts[] = {
	{ 'j', "json", OPT_FLAG(struct run, opts.json),
	  .help = "one JSON object per interval, times in ns" },
	{ 'D', "duration", OPT_DURATION(struct run, opts.duration_ns), .arg = "DUR", .min = 1,
	  .help = "end after this time; a command goes on" },
	{ 0, "strict", OPT_FLAG(struct run, opts.strict),
	  .help = "exit with 5 if anything was lost" },
	{ 0, "overhead", OPT_FLAG(struct run, opts.overhead),
	  .help = "let the kernel measure what tracing costs" },
	{},
};

const struct opt scope_opts[] = {
	{ 0, "all-files", OPT_FLAG(struct run, opts.filters.all_files),
	  .help = "pipes, sockets and terminals too" },
	{ 0, "all-faults", OPT_FLAG(struct run, opts.filters.all_faults),
	  .help = "page faults that found their page, as operations, too" },
	{ 0, "system", OPT_FLAG(struct run, opts.filters.system),
	  .help = "with -- CMD: everybody, not only the command" },
	{},
};

const struct opt run_args[] = {
	{ OPT_DURATION(struct run, opts.interval_ns), .arg = "INTERVAL", .min = 10000000,
	  .max = 1000000000000000000, .help = "print every so often (seconds)" },
	{ OPT_UINT(struct run, opts.count), .arg = "COUNT", .min = 1,
	  .help = "end after so many intervals; a command goes on" },
	{},
};
