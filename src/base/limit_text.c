// SPDX-License-Identifier: GPL-2.0-only
#include "base/limit_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

enum { WORDS = 512, GROUP = 300 };

/* Adds "1.00 MiB/s of writes", for "wbps=1048576". Other words stay as they are. */
static size_t word_add(char *dst, size_t cap, const char *word)
{
	unsigned long long n = strchr(word, '=') ? strtoull(strchr(word, '=') + 1, NULL, 10) : 0;
	const char *what = *word == 'r' ? "reads" : "writes";

	if (!strncmp(word, "rbps=", 5) || !strncmp(word, "wbps=", 5))
		return snprintf(dst, cap, "%s/s of %s", text_bytes(n).s, what);
	if (!strncmp(word, "riops=", 6) || !strncmp(word, "wiops=", 6))
		return snprintf(dst, cap, "%s %s/s", text_count(n).s, what);
	if (!strncmp(word, "target=", 7))
		return snprintf(dst, cap, "%s", text_ns(n * 1000).s);
	return snprintf(dst, cap, "%s", word);
}

/* Writes "1.00 MiB/s of writes on sda, 10 reads/s on sdb", for "sda wbps=1048576; sdb riops=10". */
static void value_text(char dst[WORDS], const char *value, size_t value_len)
{
	char copy[WORDS], *rest = copy, *disk, *words, *word;
	size_t len = 0;

	snprintf(copy, sizeof(copy), "%.*s", (int)value_len, value);
	*dst = '\0';
	while ((words = strsep(&rest, ";"))) {
		words += strspn(words, " ");
		disk = strchr(words, ' ') ? strsep(&words, " ") : NULL;
		while ((word = strsep(&words, " ")) && len < WORDS - 1) {
			len += snprintf(dst + len, WORDS - len, "%s", len ? ", " : "");
			if (len < WORDS)
				len += word_add(dst + len, WORDS - len, word);
			if (disk && len < WORDS)
				len += snprintf(dst + len, WORDS - len, " on %s", disk);
		}
	}
}

/* The words for @limit, before those for its cgroup and value. */
static const char *limit_before(enum io_limit limit)
{
	switch (limit) {
	case LIMIT_IO_MAX:
		return "the limit";
	case LIMIT_IO_LATENCY:
		return "the latency target";
	case LIMIT_IO_COST:
		return "the share of the disk";
	case LIMIT_WBT:
		return "writes in progress, few so that reads are fast";
	default:
		return "the limit for dirty data";
	}
}

void limit_text_raw(char dst[LIMIT_TEXT_RAW], enum io_limit limit, const char *found)
{
	const char *tab = found ? strchr(found, '\t') : NULL, *name = limit_known(limit);
	const char *group = tab ? tab + 1 : "";
	char words[WORDS] = "";

	if (!tab && limit == LIMIT_IO_MAX) {
		snprintf(dst, LIMIT_TEXT_RAW, "a limit of its cgroup (io.max or blkio.throttle)");
		return;
	}
	if (tab)
		value_text(words, found, tab - found);
	snprintf(dst, LIMIT_TEXT_RAW, "%s%s%.*s%s%s (%s)", limit_before(limit),
		 *group ? " of cgroup " : "", GROUP, group, *words ? ": " : "", words,
		 name ? name : "?");
}

void limit_text(char dst[LIMIT_TEXT], enum io_limit limit, const char *found)
{
	char raw[LIMIT_TEXT_RAW];

	limit_text_raw(raw, limit, found);
	text_safe(dst, LIMIT_TEXT, raw);
}

void json_put_limit(struct json *j, enum io_limit limit, const char *found)
{
	const char *tab = found ? strchr(found, '\t') : NULL;

	if (!limit_known(limit)) {
		json_put_null(j, "limit");
		return;
	}
	json_put_begin(j, "limit", '{');
	json_put_string(j, "name", limit_known(limit));
	if (tab && tab[1])
		json_put_text(j, "cgroup", tab + 1, strlen(tab + 1));
	else
		json_put_null(j, "cgroup");
	if (tab)
		json_put_text(j, "value", found, tab - found);
	else
		json_put_null(j, "value");
	json_put_end(j, '}');
}
