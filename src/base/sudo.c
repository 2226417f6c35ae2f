// SPDX-License-Identifier: GPL-2.0-only
#include "base/sudo.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/opts.h"
#include "base/reason.h"

static int refuse(struct reason *why, const char *variable, const char *text, const char *what)
{
	reason_set(why, EXIT_TOOL, "cannot tell who called sudo: %s '%.40s': %s", variable, text,
		   what);
	return reason_hint(why, "to go on as root, unset SUDO_UID, SUDO_GID and SUDO_USER");
}

static int id_of(const char *variable, unsigned int *ret_id, struct reason *why)
{
	const char *text = getenv(variable), *what;
	uint64_t id;

	if (!text)
		return refuse(why, variable, "", "not set");
	if (opts_uint(text, &id, &what))
		return refuse(why, variable, text, what);
	if (id >= UINT_MAX) /* to the kernel this means "do not change" */
		return refuse(why, variable, text, "too large");
	*ret_id = id;
	return 0;
}

int sudo_ids(uid_t *ret_uid, gid_t *ret_gid, struct reason *why)
{
	uid_t uid;
	gid_t gid;

	if (geteuid() != 0 || !(getenv("SUDO_UID") || getenv("SUDO_GID") || getenv("SUDO_USER")))
		return 0;
	if (id_of("SUDO_UID", &uid, why) || id_of("SUDO_GID", &gid, why))
		return -1;
	*ret_uid = uid;
	*ret_gid = gid;
	return 1;
}
