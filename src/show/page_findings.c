// SPDX-License-Identifier: GPL-2.0-only
#include "show/page_findings.h"

#include <string.h>

#include "base/names.h"

enum { SHOWN = 2 }; /* of a kind of operations */

static void put_attribute(struct text_out *o, const char *name, const char *value)
{
	text_put(o, " data-%s=\"", name);
	text_html(o, value, strlen(value));
	text_put(o, "\"");
}

/* A property: its words, and for the script what chooses the operations. */
static void put_property(struct text_out *o, const struct page_finding *of,
			 const struct explain_finding *f)
{
	const struct explain *e = &of->e;

	text_put(o, "<li data-from=%llu data-to=%llu", (unsigned long long)f->from_ns,
		 (unsigned long long)f->to_ns);
	put_attribute(o, "op", op_name(of->op));
	if (f->option) {
		put_attribute(o, "property", explain_attribute_name(f->attribute));
		put_attribute(o, "value", f->value);
	}
	text_put(o, ">%s of %s %s took more than %s: <span>", text_count(e->n_slow).s,
		 text_count(e->n).s, op_noun(of->op, e->n), text_ns(e->threshold_ns).s);
	text_put(o, "%s of these were ", text_percent_whole(f->slow, e->n_slow).s);
	text_html(o, f->text, strlen(f->text));
	text_put(o, "</span>, %s of the others were</li>\n",
		 text_percent(f->others, e->n - e->n_slow).s);
}

/* Names the kinds of which nothing is told. */
static void put_nothing(struct text_out *o, const struct page *p)
{
	const char *comma = "";

	for (size_t i = 0; i < p->n_findings; i++) {
		if (p->findings[i].e.n_chosen)
			continue;
		text_put(o, "%s%s",
			 *comma ? comma
				: "<p class=hint>Of other kinds, slow operations have nothing in "
				  "common beyond chance: ",
			 op_name(p->findings[i].op));
		comma = ", ";
	}
	text_put(o, *comma ? ".</p>\n" : "");
}

void page_findings_put(struct text_out *o, const struct page *p)
{
	if (!p->n_findings && !p->not_explained)
		return;
	text_put(o, "<section id=findings><h2>What slow operations have in common</h2>\n<ul>\n");
	for (size_t i = 0; i < p->n_findings; i++)
		for (size_t k = 0; k < p->findings[i].e.n_chosen && k < SHOWN; k++)
			put_property(o, &p->findings[i], &p->findings[i].e.findings[k]);
	text_put(o, "</ul>\n");
	put_nothing(o, p);
	if (p->not_explained)
		text_put(o,
			 "<p class=hint>Not looked for: %s. <code>iostrata explain</code> looks "
			 "for it.</p>\n",
			 p->not_explained);
	text_put(o, "</section>\n");
}
