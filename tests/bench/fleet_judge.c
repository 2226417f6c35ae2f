// SPDX-License-Identifier: GPL-2.0-only
/*
 * fleet_judge.c - how often explain over hosts names first what is planted (planted_hosts.h), and
 * how often it names anything else.
 *
 * fleet_judge [HOSTS [DRAWS]]
 */
#include "../planted_hosts.h"

static void world_try(const struct world *w, unsigned int draws)
{
	unsigned int first = 0, wrong = 0;

	for (unsigned int d = 0; d < draws; d++) {
		struct fleet f = {};
		bool other = false;

		world_draw(&f, w, d);
		first += f.n_findings && is_right(w, f.findings[0].text);
		for (size_t i = 0; i < f.n_findings; i++)
			other |= !is_right(w, f.findings[i].text);
		wrong += other;
		fleet_done(&f);
	}
	printf("| %s | %u of %u | %.1f | %s | %.0f | %.1f %% | %.1f %% |\n",
	       *w->cause ? w->cause : "nothing", w->bad, w->hosts, w->unequal,
	       w->bursts ? "yes" : "no", w->more, 100.0 * first / draws, 100.0 * wrong / draws);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const char *const causes[] = { "", "host", "two", "model", "kernel", "cgroup" };
	unsigned int hosts = argc > 1 ? atoi(argv[1]) : 24, draws = argc > 2 ? atoi(argv[2]) : 300;

	puts("| planted | hosts | unequal | bursts | times | first | anything else |");
	puts("|---|---|---|---|---|---|---|");
	for (int c = 0; c < 11; c++)
		for (int noise = 0; noise < 4; noise++) {
			struct world w = { .hosts = hosts,
					   .ops = 4000,
					   .unequal = noise % 2 ? 0.5 : 0.1,
					   .bursts = noise / 2,
					   .more = c == 0  ? 1
						   : c < 6 ? 5
							   : 20,
					   .cause = causes[c < 6 ? c : c - 5] };

			w.bad = !strcmp(w.cause, "host")             ? 1
				: !strcmp(w.cause, "two")            ? 2
				: strchr("mk", *w.cause) && *w.cause ? hosts / 4
								     : 0;
			world_try(&w, draws);
		}
	return 0;
}
