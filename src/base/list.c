// SPDX-License-Identifier: GPL-2.0-only
#include "base/list.h"

#include <errno.h>
#include <stdlib.h>

int list_reserve(void **list, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap + *cap / 2 + 64;
	void *p;

	if (n < *cap)
		return 0;
	p = reallocarray(*list, more, size);
	if (!p)
		return -ENOMEM;
	*list = p;
	*cap = more;
	return 0;
}
