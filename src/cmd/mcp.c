// SPDX-License-Identifier: GPL-2.0-only
/* mcp.c - answers agents about the recordings of a folder; see mcp/tools.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/reason.h"
#include "base/text.h"
#include "host/processes.h"
#include "mcp/protocol.h"
#include "mcp/tools.h"
#include "run/cmd.h"

struct mcp_opts {
	const char *dir;
	bool live;
};

static const struct opt mcp_opts[] = {
	{ 0, "live", OPT_FLAG(struct mcp_opts, live),
	  .help = "agents may also trace this host, for at most 30 seconds a call" },
	{},
};

static const struct opt_group groups[] = { { "Tools", mcp_opts, 0 }, {} };

static const struct opt args[] = {
	{ OPT_STRING(struct mcp_opts, dir), .arg = "DIR", .required = true,
	  .help = "the folder of the recordings" },
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata mcp /var/lib/iostrata", "an agent may read these recordings" },
	{ "ssh db1 iostrata mcp /var/lib/iostrata", "on another host" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata mcp",
	.summary = "let an agent ask about recordings (Model Context Protocol)",
	.about =
		"Speaks the Model Context Protocol on standard input and output, for an agent that "
		"starts this command. The agent gets the answers of report, compare, explain and "
		"doctor about recordings in one folder. It can give no path and no option, and "
		"change nothing. Answers have no command lines of processes: these may hold "
		"secrets.",
	.groups = groups,
	.args = args,
	.examples = examples,
};

static int mcp(int argc, char **argv)
{
	struct mcp_opts opts = {};
	struct opts_result res;
	struct reason why = {};
	struct tools tools = {};
	char safe[256];
	int done = cmd_parse(&cmd_mcp, argc, argv, &opts, &res);

	if (done >= 0)
		return done;
	if (chdir(opts.dir)) {
		text_safe(safe, sizeof(safe), opts.dir);
		reason_set(&why, EXIT_FAILED, "cannot open the folder '%.200s': %s", safe,
			   strerror(errno));
		return cmd_fail(&why);
	}
	/* for the processes that make the answers */
	if (setenv(PROCESS_HIDES_COMMANDS, "1", true)) {
		reason_set(&why, EXIT_FAILED, "cannot hide command lines: %s", strerror(errno));
		return cmd_fail(&why);
	}
	tools.live = opts.live;
	return cmd_written(protocol_serve(&tools, IOSTRATA_VERSION, stdin, stdout));
}

const struct cmd cmd_mcp = { "mcp", &table, mcp, false };
