// SPDX-License-Identifier: GPL-2.0-only
#include "base/nearest.h"

#include <string.h>

enum { LONGEST = 40 };

static int least(int a, int b, int c)
{
	int ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Damerau and Levenshtein's distance (optimal string alignment). */
static int distance(const char *a, int a_len, const char *b, int b_len)
{
	int d[LONGEST + 1][LONGEST + 1];

	for (int i = 0; i <= a_len; i++)
		d[i][0] = i;
	for (int j = 0; j <= b_len; j++)
		d[0][j] = j;
	for (int i = 1; i <= a_len; i++) {
		for (int j = 1; j <= b_len; j++) {
			d[i][j] = least(d[i - 1][j] + 1, d[i][j - 1] + 1,
					d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[a_len][b_len];
}

void nearest_try(struct nearest *n, const char *name)
{
	size_t typed_len = strlen(n->typed), len = strlen(name);
	int found;

	if (typed_len > LONGEST || len > LONGEST)
		return;
	found = distance(n->typed, typed_len, name, len);
	/* a third of the letters may be wrong, but no more than two */
	if (found > 2 || 3 * found > (int)len || (n->name && found >= n->distance))
		return;
	n->name = name;
	n->distance = found;
}
