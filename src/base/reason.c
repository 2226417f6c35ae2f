// SPDX-License-Identifier: GPL-2.0-only
#include "base/reason.h"

#include <stdarg.h>
#include <stdio.h>

int reason_set(struct reason *r, int exit, const char *fmt, ...)
{
	va_list ap;

	r->exit = exit;
	r->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(r->error, sizeof(r->error), fmt, ap);
	va_end(ap);
	return -1;
}

int reason_hint(struct reason *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->hint, sizeof(r->hint), fmt, ap);
	va_end(ap);
	return -1;
}

int reason_no_memory(struct reason *r)
{
	return reason_set(r, EXIT_FAILED, "out of memory");
}
