// SPDX-License-Identifier: GPL-2.0-only
#include "record_otf2.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"

static int prepare(void *arg)
{
	const struct record_otf2 *o = arg;

	return mkdir(o->dir, 0700) ? -errno : 0;
}

static void give_up(void *arg)
{
	const struct record_otf2 *o = arg;

	unlink(o->recording);
	rmdir(o->dir);
}

int record_otf2_start(struct record_otf2 *o, int (*work)(void *o), struct reason *why)
{
	const struct helper_work w = { prepare, work, give_up, o };
	int err = 0;

	if (snprintf(o->recording, sizeof(o->recording), "%s/recording.ios", o->dir) >=
	    (int)sizeof(o->recording))
		err = -ENAMETOOLONG;
	if (!err)
		err = helper_start(&o->exporter, &w);
	if (!err)
		return 0;
	reason_set(why, EXIT_FAILED, "cannot make '%.200s': %s", o->dir, strerror(-err));
	return err == -EEXIST ? reason_hint(why, "--otf2 DIR names one that is not there yet") : -1;
}
