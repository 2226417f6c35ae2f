// SPDX-License-Identifier: GPL-2.0-only
#include "base/machine.h"

#include <string.h>

#define NAME(id, name) name,

static const char *const names[MACHINES] = { MACHINE_LIST(NAME) };

const char *machine_name(enum machine machine)
{
	return names[machine];
}

enum machine machine_find(const char *name)
{
	enum machine m = 0;

	while (m < MACHINES && strcmp(names[m], name) != 0)
		m++;
	return m;
}
