// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a recording whose slow operations are explained: findings, or one error; no figure
 * is NaN. */
#include "made.h"

#include <math.h>

#include "analyse/explain.h"
#include "base/reason.h"
#include "show/explain.h"

static char *no_command(const void *arg, const struct explain_finding *f)
{
	(void)arg;
	return strdup(f->text);
}

static void finding_check(const struct explain *e, const struct explain_finding *f)
{
	CHECK(f->text && f->slow <= e->n_slow && f->others <= e->n - e->n_slow);
	CHECK(isfinite(f->expected) && f->p >= 0 && f->p <= EXPLAIN_FALSE);
}

static void explain(FILE *f, const struct explain_conf *conf)
{
	struct explain e = {};
	struct explain_view v = { .e = &e,
				  .conf = conf,
				  .condition = "fuzz>1",
				  .noun = "operations",
				  .detail = true,
				  .command = no_command };
	struct reason why = {};
	static FILE *out;
	int got = explain_read(&e, f, "fuzz", conf, &why);

	if (!out)
		out = fopen("/dev/null", "w");
	CHECK(!got || (why.exit && why.error[0]));
	for (size_t i = 0; i < e.n_findings; i++)
		finding_check(&e, &e.findings[i]);
	CHECK(got < 0 || (!explain_text(out, &v) && !explain_json(out, &v)));
	explain_done(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct explain_conf conf = { .percentile = size % 3 ? 90 : 0,
				     .above_ns = 1,
				     .kinds = size % 2 ? ~0U : 0,
				     .from_ns = size % 5 ? 0 : 10,
				     .call_name = no_call };
	FILE *f;

	if (!size)
		return 0;
	f = recording_make(data, size);
	explain(f, &conf);
	fclose(f);
	return 0;
}
