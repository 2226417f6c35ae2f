// SPDX-License-Identifier: GPL-2.0-only
#include "base/machine_load.h"

#include <stddef.h>

enum { IS_SUM, IS_LEVEL };

#define FIGURE(id, name_, source_, type, what_)                                                    \
	[MACHINE_##id] = { #name_, what_, MACHINE_##source_, IS_##type },
static const struct {
	const char *name, *what;
	unsigned char source, is_level;
} figures[] = { MACHINE_LOAD_LIST(FIGURE) };
#undef FIGURE

const char *machine_figure_name(unsigned int figure)
{
	return figure < MACHINE_FIGURES ? figures[figure].name : NULL;
}

static const char *figure_what(unsigned int figure)
{
	return figures[figure].what;
}

static const char *sum_name(unsigned int figure)
{
	return figures[figure].is_level ? NULL : figures[figure].name;
}

static const char *level_name(unsigned int figure)
{
	return figures[figure].is_level ? figures[figure].name : NULL;
}

const struct word_list machine_figure_words = {
	.name = machine_figure_name, .from = 0, .to = MACHINE_FIGURES, .help = figure_what
};
const struct word_list machine_sum_words = {
	.name = sum_name, .from = 0, .to = MACHINE_FIGURES, .help = figure_what
};
const struct word_list machine_level_words = {
	.name = level_name, .from = 0, .to = MACHINE_FIGURES, .help = figure_what
};

bool machine_figure_is_level(unsigned int figure)
{
	return figures[figure].is_level;
}

bool machine_load_knows(const struct machine_load *l, unsigned int figure)
{
	return l->ns && l->known >> figures[figure].source & 1;
}

void machine_load_add(struct machine_load *to, const struct machine_load *from)
{
	if (!from->ns)
		return;
	to->known = to->ns ? to->known & from->known : from->known;
	to->ns += from->ns;
	for (unsigned int i = 0; i < MACHINE_FIGURES; i++) {
		if (!figures[i].is_level)
			to->figure[i] += from->figure[i];
		else if (from->figure[i] > to->figure[i])
			to->figure[i] = from->figure[i];
	}
}
