// SPDX-License-Identifier: GPL-2.0-only
#include "run/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/reason.h"
#include "base/text.h"

enum { COMMANDS_NAMED = 5 }; /* in a hint */

void cmd_say(const char *fmt, ...)
{
	char text[TEXT_SAFE_CAP(512)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_message(stderr, text);
}

static void say(const char *kind, const char *text)
{
	char safe[TEXT_SAFE_CAP(320)];

	text_safe(safe, sizeof(safe), text);
	cmd_say("%s: %s", kind, safe);
}

static void say_reason(const char *kind, const struct reason *why)
{
	say(kind, why->error);
	if (why->hint[0])
		say("hint", why->hint);
}

int cmd_fail(const struct reason *why)
{
	say_reason("error", why);
	return why->exit;
}

void cmd_warn(const struct reason *why)
{
	say_reason("warning", why);
}

bool cmd_wants_color(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

int cmd_written(int err)
{
	if (!err && (fflush(stdout) || ferror(stdout)))
		err = errno ? -errno : -EIO;
	if (!err || err == -EPIPE) /* the reader has seen enough */
		return 0;
	cmd_say("error: cannot write the output: %s", strerror(-err));
	return EXIT_FAILED;
}

/* Sets @dst to the hint about an option that other commands have: "breakdown and report have
 * --slowest: 'iostrata breakdown --help'". It stays if no command has it, or too many have. */
static void elsewhere(char *dst, size_t cap, const char *option)
{
	const struct cmd *has[COMMANDS_NAMED];
	size_t n = 0, len = 0;

	for (const struct cmd *const *c = commands_all; c && *c; c++) {
		if (!opts_have((*c)->table, option))
			continue;
		if (n == COMMANDS_NAMED)
			return;
		has[n++] = *c;
	}
	for (size_t i = 0; i < n; i++)
		len += snprintf(dst + len, cap - len, "%s%s",
				!i          ? ""
				: i < n - 1 ? ", "
					    : " and ",
				has[i]->name);
	if (n)
		snprintf(dst + len, cap - len, " %s --%s: 'iostrata %s --help'",
			 n == 1 ? "has" : "have", option, has[0]->name);
}

int cmd_parse(const struct cmd *cmd, int argc, char **argv, void *out, struct opts_result *res)
{
	int got = opts_parse(cmd->table, argc, argv, out, res);

	switch (got) {
	case 0:
		return -1;
	case OPTS_HELP:
		return cmd_written(opts_help(stdout, cmd->table));
	case OPTS_VERSION:
		return cmd_written(printf("iostrata " IOSTRATA_VERSION "\n") < 0 ? -errno : 0);
	}
	cmd_say("error: %s", res->error); /* already safe */
	if (res->unknown[0])
		elsewhere(res->hint, sizeof(res->hint), res->unknown);
	if (res->hint[0])
		cmd_say("hint: %s", res->hint);
	return EXIT_USAGE;
}
