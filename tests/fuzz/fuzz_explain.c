// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a recording whose slow operations are explained, alone and as those of several
 * hosts: findings, or one error; no figure is NaN. */
#include "made.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyse/fleet.h"
#include "base/reason.h"
#include "common/recorded_stacks.h"
#include "show/explain.h"
#include "show/fleet.h"

static char *no_command(const void *arg, const struct explain_finding *f)
{
	(void)arg;
	return strdup(f->text);
}

static int own_frame(void *arg, const struct catalog *c, const struct catalog_stack *s)
{
	const struct opt_strings hide = {};

	(void)arg;
	return recorded_own_frame(&hide, c, s);
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

enum { HOSTS = 5, CUT = 101 };

static char *no_fleet_command(const void *arg, const struct fleet_finding *f)
{
	(void)arg;
	return strdup(f->text);
}

static void fleet_show(const struct fleet *f, const struct explain_conf *conf, char *const *names)
{
	const struct fleet_view v = { .f = f,
				      .sums = { .e = &f->sums,
						.conf = conf,
						.condition = "fuzz>1",
						.noun = "operations",
						.detail = true },
				      .names = names,
				      .command = no_fleet_command };
	static FILE *out;

	if (!out)
		out = fopen("/dev/null", "w");
	for (size_t i = 0; i < f->n_findings; i++)
		CHECK(f->findings[i].p >= 0 && f->findings[i].p <= 1 &&
		      f->findings[i].slow <= f->sums.n_slow && f->findings[i].n <= f->sums.n);
	for (size_t i = 0; i < f->n_hosts; i++)
		for (size_t c = 0; c < f->hosts[i].n_cells; c++)
			CHECK(f->hosts[i].cells[c].n <= f->hosts[i].n &&
			      f->hosts[i].cells[c].slow <= f->hosts[i].slow);
	CHECK(!fleet_text(out, &v) && !fleet_json(out, &v));
}

/* The recording as that of several hosts, each with a bit less of it. */
static void explain_hosts(FILE *f, const struct explain_conf *conf)
{
	static char all[1 << 20], text[HOSTS][32];
	const struct fleet_conf of = { .explain = *conf };
	struct fleet fleet = {};
	struct reason why = {};
	char *names[HOSTS];
	int fds[HOSTS];
	ssize_t n;

	rewind(f);
	n = fread(all, 1, sizeof(all), f);
	for (int i = 0; i < HOSTS; i++) {
		fds[i] = memfd_create("host", 0);
		CHECK(fds[i] >= 0 && write(fds[i], all, n) == n);
		n -= n > CUT ? CUT : 0;
		snprintf(text[i], sizeof(text[i]), "/proc/self/fd/%d", fds[i]);
		names[i] = text[i];
	}
	if (fleet_read(&fleet, names, HOSTS, &of, &why))
		CHECK(why.exit && why.error[0]);
	else
		fleet_show(&fleet, conf, names);
	fleet_done(&fleet);
	for (int i = 0; i < HOSTS; i++)
		close(fds[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct explain_conf conf = { .percentile = size % 3 ? 90 : 0,
				     .above_ns = 1,
				     .kinds = size % 2 ? ~0U : 0,
				     .from_ns = size % 5 ? 0 : 10,
				     .call_name = no_call,
				     .own_frame = size % 7 ? own_frame : NULL };
	FILE *f;

	if (!size)
		return 0;
	f = recording_make(data, size);
	explain(f, &conf);
	explain_hosts(f, &conf);
	fclose(f);
	return 0;
}
