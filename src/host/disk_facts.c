// SPDX-License-Identifier: GPL-2.0-only
#include "host/disk_facts.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell.h"

enum { PATH = 128 };

/* The first line of a file without blanks at both ends; "" if it cannot be read. */
static void line_read(const char *path, char dst[DISK_FACT])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char line[2 * DISK_FACT], *text = line;
	ssize_t n = -1;
	size_t len;

	if (fd >= 0) {
		n = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	text += strspn(text, " ");
	len = strlen(text);
	while (len && text[len - 1] == ' ')
		len--;
	snprintf(dst, DISK_FACT, "%.*s", (int)len, text);
}

static void fact_read(unsigned int dev, const char *what, char dst[DISK_FACT])
{
	char path[PATH];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", DEV_MAJOR(dev), DEV_MINOR(dev),
		 what);
	line_read(path, dst);
}

/* The chosen one of "[none] mq-deadline kyber", in place. */
static void scheduler_choose(char text[DISK_FACT])
{
	char *from = strchr(text, '['), *end = from ? strchr(from, ']') : NULL;

	if (!end)
		return;
	*end = '\0';
	memmove(text, from + 1, end - from);
}

/*
 * The figure @name of the drive's sensor, or CELSIUS_UNKNOWN. Drivers name the sensor's directory
 * in different ways: drivetemp is below the SCSI device, NVMe below its controller.
 */
static int celsius_read(unsigned int dev, const char *name)
{
	static const char *const places[] = { "device/hwmon", "device/hwmon/hwmon",
					      "device/device/hwmon/hwmon" };
	int celsius = CELSIUS_UNKNOWN;
	char path[PATH], text[DISK_FACT], *end;
	long value;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		glob_t found = {};

		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s[0-9]*/%s", DEV_MAJOR(dev),
			 DEV_MINOR(dev), places[i], name);
		if (celsius == CELSIUS_UNKNOWN && !glob(path, GLOB_NOSORT, NULL, &found)) {
			line_read(found.gl_pathv[0], text);
			value = strtol(text, &end, 10);
			if (end > text && !*end && value > -300000 && value < 1000000)
				celsius = value / 1000;
		}
		globfree(&found);
	}
	return celsius;
}

bool disk_facts_read(unsigned int dev, struct disk_facts *ret_facts)
{
	struct disk_facts f = { .dev = dev };

	fact_read(dev, "queue/scheduler", f.scheduler);
	scheduler_choose(f.scheduler);
	fact_read(dev, "device/model", f.model);
	fact_read(dev, "device/firmware_rev", f.firmware);
	if (!f.firmware[0])
		fact_read(dev, "device/rev", f.firmware);
	f.celsius = celsius_read(dev, "temp1_input");
	f.celsius_limit = celsius_read(dev, "temp1_max");
	if (!f.scheduler[0] && !f.model[0] && f.celsius == CELSIUS_UNKNOWN)
		return false;
	*ret_facts = f;
	return true;
}
