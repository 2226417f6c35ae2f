// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/report_source.h"

#include <string.h>

#include "base/reason.h"
#include "capture/replay.h"
#include "run/cmd.h"
#include "show/breakdown.h"
#include "trace/syscalls.h"

bool report_source_is_known(const struct report_source *s)
{
	return s->header.monotonic_ns;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void compare_first(struct report_source *s, const struct header *h)
{
	if (!same(h->host, s->header.host))
		s->together = OF_HOSTS;
	else if (s->together == OF_ONE_RUN && !same(h->argv, s->header.argv))
		s->together = OF_RUNS;
}

/* Moves the header of @rec to @s. Its mounts, disks, boot and trigger stay: its records need
 * them. */
static void header_move(struct report_source *s, struct recording *rec)
{
	struct header *from = &rec->header;

	s->header = *from;
	s->header.n_mounts = 0;
	s->header.mounts = NULL;
	s->header.disks = (struct header_disks){};
	s->header.devices = (struct devices){}; /* report_source_end() adds them */
	s->header.trigger = s->header.boot_id = NULL;
	s->header.host = from->host ? strdup(from->host) : NULL; /* rows need it, too */
	from->kernel = from->options = from->argv = from->command = NULL;
	for (int i = 0; i < ST_N; i++)
		from->stratum[i] = NULL;
	for (int i = 0; i < MISSING_IN_N; i++)
		from->missing[i] = NULL;
}

int report_source_add(struct report_source *s, struct recording *rec, struct reason *why)
{
	if (!report_source_is_known(s)) {
		header_move(s, rec);
		header_missing(&s->header, &s->missing);
		return 0;
	}
	if (!rec->header.has_device_bytes)
		s->missing.device_bytes = "not recorded";
	if (s->header.machine != rec->header.machine)
		return reason_set(
			why, EXIT_FAILED,
			"the recordings are from machines with different numbers of system "
			"calls");
	compare_first(s, &rec->header);
	s->of_commands = s->of_commands || !same(rec->header.command, s->header.command);
	return 0;
}

void report_source_end(struct report_source *s, struct recording *rec)
{
	if (s->header.devices.n) {
		devices_merge(&s->header.devices, &rec->header.devices);
		return;
	}
	s->header.devices = rec->header.devices;
	rec->header.devices = (struct devices){};
}

void report_source_view(const struct report_source *s, struct breakdown_view *v)
{
	v->source.kernel = s->header.kernel;
	v->source.call_name = syscall_names(s->header.machine);
	v->source.recorded_command = s->of_commands ? NULL : s->header.command;
	v->missing = &s->missing;
}

void report_source_done(struct report_source *s)
{
	container_names_done(&s->containers);
	header_done(&s->header);
}
