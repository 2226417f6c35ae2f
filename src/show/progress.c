// SPDX-License-Identifier: GPL-2.0-only
#include "show/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

enum {
	FIRST_NS = 1000000000, /* shorter work shows nothing */
	EVERY_NS = 100000000,  /* between drawings, at least */
	BAR = 40,              /* columns of the bar */
};

void progress_begin(struct progress *p, FILE *f, uint64_t total)
{
	*p = (struct progress){ .total = total,
				.terminal = isatty(fileno(f)) ? f : NULL,
				.start_ns = clock_ns() };
}

static void bar(const struct progress *p, uint64_t done, uint64_t took_ns)
{
	double part = done < p->total ? (double)done / p->total : 1;
	char text[BAR + 1];

	for (int i = 0; i < BAR; i++)
		text[i] = i < part * BAR ? '#' : '.';
	text[BAR] = '\0';
	fprintf(p->terminal, "\r\033[K[%s] %2.0f %%, %.0f s left", text, part * 100,
		part > 0 ? took_ns / 1e9 * (1 - part) / part : 0);
}

void progress_show(struct progress *p, uint64_t done)
{
	uint64_t now;

	if (!p->terminal)
		return;
	now = clock_ns();
	if (now - p->start_ns < FIRST_NS || now - p->shown_ns < EVERY_NS)
		return;
	if (p->total)
		bar(p, done, now - p->start_ns);
	else
		fprintf(p->terminal, "\r\033[K%s read", text_bytes(done).s);
	p->shown_ns = now;
}

void progress_end(struct progress *p)
{
	if (p->shown_ns)
		fprintf(p->terminal, "\r\033[K");
	p->terminal = NULL;
	p->shown_ns = 0;
}
