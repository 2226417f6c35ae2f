// SPDX-License-Identifier: GPL-2.0-only
/* opts_number.c - the strict parsers of numbers and durations; see opts.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/opts.h"
#include "base/text.h"

/* Reads decimal digits; returns their end, or NULL if there are none or the value does not fit. */
static const char *digits(const char *s, uint64_t *ret_value)
{
	uint64_t v = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
			return NULL;
	}
	*ret_value = v;
	return s;
}

static int refuse(const char *why, int err, const char **ret_why)
{
	*ret_why = why;
	return err;
}

/* Says why @s does not begin with digits that fit. */
static int refuse_digits(const char *s, const char **ret_why)
{
	if (!*s)
		return refuse("empty", -EINVAL, ret_why);
	if (*s >= '0' && *s <= '9')
		return refuse("too large", -ERANGE, ret_why);
	if (s[0] == '-' && s[1] >= '0' && s[1] <= '9')
		return refuse("must not be negative", -EINVAL, ret_why);
	if (s[0] == '.' && s[1] >= '0' && s[1] <= '9')
		return refuse("not a whole number", -EINVAL, ret_why);
	return refuse("not a number", -EINVAL, ret_why);
}

int opts_uint(const char *s, uint64_t *ret_value, const char **ret_why)
{
	uint64_t value;
	const char *end = digits(s, &value);

	if (!end)
		return refuse_digits(s, ret_why);
	if (*end)
		return refuse("not a whole number", -EINVAL, ret_why);
	*ret_value = value;
	return 0;
}

/* Nanoseconds in the unit @s, 0 if there is no such unit. */
static uint64_t unit_ns(const char *s)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", 1000000000 }, { "ns", 1 },	 { "us", 1000 },
		{ "ms", 1000000 },  { "s", 1000000000 }, { "m", 60 * 1000000000ull },
		{ "h", 3600 * 1000000000ull },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(s, units[i].name))
			return units[i].ns;
	}
	return 0;
}

/* Value of the digits after the point, in a unit of @unit ns; -ERANGE if finer than 1 ns. */
static int fraction_ns(const char *s, size_t len, uint64_t unit, uint64_t *ret_ns)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < len; i++, unit /= 10) {
		if (unit % 10 && s[i] != '0')
			return -ERANGE;
		ns += (s[i] - '0') * (unit / 10);
	}
	*ret_ns = ns;
	return 0;
}

int opts_duration(const char *s, uint64_t *ret_ns, const char **ret_why)
{
	uint64_t whole = 0, unit, fraction;
	bool no_whole = s[0] == '.' && s[1] >= '0' && s[1] <= '9';
	const char *end = no_whole ? s : digits(s, &whole), *point = "";
	size_t places = 0;

	if (!end)
		return refuse_digits(s, ret_why);
	if (*end == '.') {
		point = end + 1;
		places = strspn(point, "0123456789");
		end = point + places;
		if (!places)
			return refuse("no digit after the point", -EINVAL, ret_why);
	}
	unit = unit_ns(end);
	if (!unit)
		return refuse("the unit is none of ns, us, ms, s, m, h", -EINVAL, ret_why);
	if (fraction_ns(point, places, unit, &fraction))
		return refuse("finer than a nanosecond", -ERANGE, ret_why);
	if (__builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(whole, fraction, &whole))
		return refuse("too large", -ERANGE, ret_why);
	*ret_ns = whole;
	return 0;
}

/* A limit as the user would type it. */
static struct text_num limit_text(const struct opt *o, uint64_t v)
{
	struct text_num t;

	if (o->type == OPT_TYPE_DURATION)
		return text_ns(v);
	snprintf(t.s, sizeof(t.s), "%llu", (unsigned long long)v);
	return t;
}

static int check_limits(const struct opt *o, uint64_t v, struct opts_wrong *ret_wrong)
{
	bool small = v < o->min;

	if (!small && (!o->max || v <= o->max))
		return 0;
	*ret_wrong = (struct opts_wrong){ .hint = "", .is_limit = true };
	snprintf(ret_wrong->why, sizeof(ret_wrong->why), "must be %s or %s",
		 limit_text(o, small ? o->min : o->max).s, small ? "more" : "less");
	return -ERANGE;
}

int opts_number(const struct opt *o, const char *text, uint64_t *ret_value,
		struct opts_wrong *ret_wrong)
{
	bool duration = o->type == OPT_TYPE_DURATION;
	const char *why = "";
	uint64_t v = 0;
	int err = (duration ? opts_duration : opts_uint)(text, &v, &why);

	if (err) {
		*ret_wrong = (struct opts_wrong){
			.hint = duration ? "durations are like 5, .5, 1.5s, 100us, 2m" : "",
		};
		snprintf(ret_wrong->why, sizeof(ret_wrong->why), "%s", why);
	} else {
		err = check_limits(o, v, ret_wrong);
	}
	if (!err)
		*ret_value = v;
	return err;
}
