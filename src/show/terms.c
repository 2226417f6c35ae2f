// SPDX-License-Identifier: GPL-2.0-only
#include "show/terms.h"

#include <stdlib.h>
#include <string.h>

/* In terminfo's binary form, by base64, which ncurses takes in place of a directory. */
static const struct {
	const char *name, *base64;
} terms[] = {
#include "terminfo.h"
};

bool terms_use(const char *term)
{
	for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++)
		if (!strcmp(terms[i].name, term))
			return !setenv("TERMINFO", terms[i].base64, 1);
	return false;
}
