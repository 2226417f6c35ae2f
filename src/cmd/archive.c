// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/archive.h"

#include <errno.h>
#include <string.h>

#include "base/privilege.h"
#include "base/reason.h"
#include "base/text.h"
#include "capture/reader.h"
#include "trace/syscalls.h"

int archive_write(const char *file, const char *dir, struct otf2_counts *counts, struct reason *why)
{
	FILE *f = fopen(file, "re");
	enum machine machine = MACHINES;
	struct recording rec;
	struct rlimits limits;
	int got;

	if (!f)
		return reason_set(why, EXIT_FAILED, "cannot open '%.200s': %s", file,
				  strerror(errno));
	rlimits_raise(&limits);                  /* each location has a file */
	if (!recording_open(&rec, f, file, why)) /* else otf2_export() fails in the same way */
		machine = rec.header.machine;
	recording_close(&rec);
	rewind(f);
	got = otf2_export(f, file, dir, syscall_names(machine), counts, why);
	fclose(f);
	return got;
}

void archive_say(FILE *f, const char *dir, const struct otf2_counts *counts)
{
	char safe[TEXT_SAFE_CAP(256)];

	text_safe(safe, sizeof(safe), dir);
	fprintf(f, "%s: %s operation%s, %s request%s, %s location%s, %s handle%s\n", safe,
		text_count(counts->ops).s, text_plural(counts->ops), text_count(counts->requests).s,
		text_plural(counts->requests), text_count(counts->locations).s,
		text_plural(counts->locations), text_count(counts->handles).s,
		text_plural(counts->handles));
}
