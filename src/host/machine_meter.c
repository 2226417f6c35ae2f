// SPDX-License-Identifier: GPL-2.0-only
#include "host/machine_meter.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cell.h"

/* The lines that are read stand at the begin of these files: the first of /proc/stat, and the first
 * 20 of /proc/meminfo on all kernels so far. */
enum { FILE_BYTES = 2048, NS_PER_US = 1000, BYTES_PER_KIB = 1024 };

static const char *const files[MACHINE_FILES] = {
	[MACHINE_CPU] = "/proc/stat",
	[MACHINE_CPU_PRESSURE] = "/proc/pressure/cpu",
	[MACHINE_IO_PRESSURE] = "/proc/pressure/io",
	[MACHINE_MEMORY_PRESSURE] = "/proc/pressure/memory",
	[MACHINE_PAGES] = "/proc/meminfo",
};

/* "cpu  user nice system idle iowait irq softirq steal ...", in ticks. The time of guests is in
 * user and nice, too. */
static bool stat_parse(const char *text, struct machine_load *l)
{
	unsigned long long n[8];
	const long ticks = sysconf(_SC_CLK_TCK);
	const uint64_t tick_ns = NS_PER_S / (ticks > 0 ? ticks : 100);
	uint64_t all = 0;

	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &n[0], &n[1], &n[2], &n[3],
		   &n[4], &n[5], &n[6], &n[7]) != 8)
		return false;
	for (int i = 0; i < 8; i++)
		all += n[i];
	l->figure[MACHINE_CPU_NS] = all * tick_ns;
	l->figure[MACHINE_USER_NS] = (n[0] + n[1]) * tick_ns;
	l->figure[MACHINE_SYSTEM_NS] = (n[2] + n[5] + n[6]) * tick_ns;
	l->figure[MACHINE_IOWAIT_NS] = n[4] * tick_ns;
	l->figure[MACHINE_STEAL_NS] = n[7] * tick_ns;
	return true;
}

/* The number behind @name, at the begin of a line. */
static bool number_after(const char *text, const char *name, const char *format, uint64_t *ret)
{
	unsigned long long n;

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, name, strlen(name)) &&
		    sscanf(at + strlen(name), format, &n) == 1) {
			*ret = n;
			return true;
		}
	}
	return false;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=4711", in us. The full line of the CPU is always 0.
 */
static bool pressure_parse(const char *text, uint64_t *ret_some, uint64_t *ret_full)
{
	static const char format[] = " avg10=%*f avg60=%*f avg300=%*f total=%llu";
	uint64_t some, full = 0;

	if (!number_after(text, "some", format, &some))
		return false;
	if (ret_full && !number_after(text, "full", format, &full))
		return false;
	*ret_some = some * NS_PER_US;
	if (ret_full)
		*ret_full = full * NS_PER_US;
	return true;
}

static bool pages_parse(const char *text, struct machine_load *l)
{
	uint64_t dirty, writeback;

	if (!number_after(text, "Dirty:", "%llu kB", &dirty) ||
	    !number_after(text, "Writeback:", "%llu kB", &writeback))
		return false;
	l->figure[MACHINE_DIRTY_BYTES] = dirty * BYTES_PER_KIB;
	l->figure[MACHINE_WRITEBACK_BYTES] = writeback * BYTES_PER_KIB;
	return true;
}

bool machine_meter_parse(enum machine_source source, const char *text, struct machine_load *l)
{
	switch (source) {
	case MACHINE_CPU:
		return stat_parse(text, l);
	case MACHINE_CPU_PRESSURE:
		return pressure_parse(text, &l->figure[MACHINE_CPU_SOME_NS], NULL);
	case MACHINE_IO_PRESSURE:
		return pressure_parse(text, &l->figure[MACHINE_IO_SOME_NS],
				      &l->figure[MACHINE_IO_FULL_NS]);
	case MACHINE_MEMORY_PRESSURE:
		return pressure_parse(text, &l->figure[MACHINE_MEMORY_SOME_NS],
				      &l->figure[MACHINE_MEMORY_FULL_NS]);
	case MACHINE_PAGES:
		return pages_parse(text, l);
	}
	return false;
}

/* All figures as they are now. */
static void meter_read(const struct machine_meter *m, struct machine_load *ret)
{
	char text[FILE_BYTES];
	ssize_t n;

	*ret = (struct machine_load){ .ns = 1 };
	for (unsigned int source = 0; source < MACHINE_FILES; source++) {
		n = m->fds[source] < 0 ? -1 : pread(m->fds[source], text, sizeof(text) - 1, 0);
		if (n <= 0)
			continue;
		text[n] = '\0';
		ret->known |= (uint64_t)machine_meter_parse(source, text, ret) << source;
	}
}

void machine_meter_open(struct machine_meter *m)
{
	for (int i = 0; i < MACHINE_FILES; i++)
		m->fds[i] = open(files[i], O_RDONLY | O_CLOEXEC);
	meter_read(m, &m->last);
	m->last_ns = clock_ns();
}

void machine_meter_done(struct machine_meter *m)
{
	for (int i = 0; i < MACHINE_FILES; i++)
		if (m->fds[i] > 0)
			close(m->fds[i]);
	*m = (struct machine_meter){};
}

void machine_meter_interval(struct machine_meter *m, struct machine_load *ret)
{
	struct machine_load now;
	uint64_t now_ns;

	meter_read(m, &now);
	now_ns = clock_ns();
	*ret = now;
	ret->ns = now_ns - m->last_ns;
	ret->known &= m->last.known;
	for (unsigned int i = 0; i < MACHINE_FIGURES; i++) {
		if (!machine_load_knows(ret, i))
			ret->figure[i] = 0;
		else if (!machine_figure_is_level(i)) /* iowait and idle time may go back a bit */
			ret->figure[i] = now.figure[i] > m->last.figure[i]
						 ? now.figure[i] - m->last.figure[i]
						 : 0;
	}
	m->last = now;
	m->last_ns = now_ns;
}
