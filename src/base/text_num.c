// SPDX-License-Identifier: GPL-2.0-only
/*
 * text_num.c - numbers for people: times, bytes, counts, rates, shares; see text.h.
 */
#include "base/text.h"

#include <string.h>

#include "base/clock.h"

/* @v with three significant digits, or all digits before the point if there are more. */
static struct text_num number(double v, const char *unit)
{
	struct text_num t;
	int decimals = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;

	snprintf(t.s, sizeof(t.s), "%.*f%s", decimals, v, unit);
	return t;
}

struct text_num text_ns(uint64_t ns)
{
	struct text_num t;
	double v = ns;

	if (ns < 1000) {
		snprintf(t.s, sizeof(t.s), "%u ns", (unsigned int)ns);
		return t;
	}
	if (v < 999.5e3)
		return number(v / 1e3, " us");
	if (v < 999.5e6)
		return number(v / 1e6, " ms");
	if (v < 99999.5e9)
		return number(v / 1e9, " s");
	if (v < 99999.5 * 3600e9)
		return number(v / 3600e9, " h");
	return number(v / (365.25 * 86400e9), " y");
}

struct text_num text_ms(uint64_t ns)
{
	struct text_num t;
	double v = ns / 1e6;
	int decimals = v < 0.1 ? 5 : v < 1 ? 4 : v < 10 ? 3 : v < 100 ? 2 : v < 1000 ? 1 : 0;

	if (!ns)
		snprintf(t.s, sizeof(t.s), "0");
	else if (v > 9999999.4)
		snprintf(t.s, sizeof(t.s), "%.1e", v);
	else
		snprintf(t.s, sizeof(t.s), "%.*f", decimals, v);
	return t;
}

/* Divides @v by @step until it is below @limit (three digits); the power picks the unit from
 * @units. */
static struct text_num scaled(double v, double step, double limit, const char *const *units)
{
	while (v >= limit && units[1]) {
		v /= step;
		units++;
	}
	return number(v, *units);
}

struct text_num text_bytes(uint64_t bytes)
{
	static const char *const units[] = { " B",   " KiB", " MiB", " GiB",
					     " TiB", " PiB", " EiB", NULL };
	struct text_num t;

	if (bytes >= 1024)
		return scaled(bytes / 1024.0, 1024, 1023.5, units + 1);
	snprintf(t.s, sizeof(t.s), "%u B", (unsigned int)bytes);
	return t;
}

static const char *const powers[] = { "", "k", "M", "G", "T", "P", "E", NULL };

struct text_num text_short(uint64_t n)
{
	struct text_num t;

	if (n >= 1000)
		return scaled(n / 1e3, 1e3, 999.5, powers + 1);
	snprintf(t.s, sizeof(t.s), "%u", (unsigned int)n);
	return t;
}

struct text_num text_count(uint64_t n)
{
	unsigned int v = n, low = v % 1000, mid = v / 1000 % 1000, high = v / 1000000;
	struct text_num t;

	if (n >= 1000000000)
		return text_short(n);
	if (high)
		snprintf(t.s, sizeof(t.s), "%u,%03u,%03u", high, mid, low);
	else if (mid)
		snprintf(t.s, sizeof(t.s), "%u,%03u", mid, low);
	else
		snprintf(t.s, sizeof(t.s), "%u", low);
	return t;
}

struct text_num text_count7(uint64_t n)
{
	return n < 1000000 ? text_count(n) : text_short(n);
}

const char *text_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

struct text_num text_rate(uint64_t n, uint64_t duration_ns)
{
	static const char *const units[] = { "/s",  "k/s", "M/s", "G/s",
					     "T/s", "P/s", "E/s", NULL };
	double rate;

	if (!duration_ns)
		return (struct text_num){ "-" };
	rate = n * 1e9 / duration_ns;
	if (rate >= 999.5e18)
		return (struct text_num){ ">999E/s" };
	if (!n)
		return (struct text_num){ "0/s" };
	if (rate < 0.005)
		return (struct text_num){ "<0.01/s" };
	return scaled(rate, 1e3, 999.5, units);
}

struct text_num text_clock(uint64_t day_ns, uint64_t apart_ns)
{
	struct text_num t = { "-" };
	time_t s = day_ns / NS_PER_S;
	uint64_t unit = NS_PER_S;
	int digits = 0;
	struct tm tm;
	size_t len;

	if (!localtime_r(&s, &tm))
		return t;
	len = strftime(t.s, sizeof(t.s), "%T", &tm);
	snprintf(t.s + len, sizeof(t.s) - len, ".%09u", (unsigned int)(day_ns % NS_PER_S));
	/* two of the last digit apart: they are not quite regular */
	for (; apart_ns && apart_ns < NS_PER_S && apart_ns < 2 * unit && unit > 1; digits++)
		unit /= 10;
	t.s[digits ? len + 1 + digits : len] = '\0';
	return t;
}

struct text_num text_percent(uint64_t part, uint64_t whole)
{
	struct text_num t;
	double v;

	if (!whole)
		return (struct text_num){ "-" };
	v = 100.0 * part / whole;
	if (part && v < 0.05)
		return (struct text_num){ "<0.1 %" };
	snprintf(t.s, sizeof(t.s), v < 999.95 ? "%.1f %%" : ">999 %%", v);
	return t;
}

struct text_num text_percent_whole(uint64_t part, uint64_t whole)
{
	struct text_num t = text_percent(part, whole);
	double v = whole ? 100.0 * part / whole : 0;

	if (whole && (!part || v > 0.5) && v < 999.5)
		snprintf(t.s, sizeof(t.s), "%.0f %%", v);
	return t;
}
