// SPDX-License-Identifier: GPL-2.0-only
#include "show/page_pack.h"

#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"

enum { BYTES_MOST = 10 }; /* of a number */

void pack_uint(struct pack *p, uint64_t n)
{
	char *bytes;

	if (p->n + BYTES_MOST > p->cap) {
		bytes = realloc(p->bytes, 2 * p->cap + 256);
		if (!bytes) {
			p->err = -ENOMEM;
			return;
		}
		p->bytes = bytes;
		p->cap = 2 * p->cap + 256;
	}
	for (; n >= 0x80; n >>= 7)
		p->bytes[p->n++] = n | 0x80;
	p->bytes[p->n++] = n;
}

void pack_int(struct pack *p, int64_t n)
{
	pack_uint(p, (uint64_t)n << 1 ^ (uint64_t)(n >> 63));
}

int pack_put(struct pack *p, struct json *j, const char *name)
{
	char *text = p->err ? NULL : text_base64(p->bytes, p->n);
	int err = text ? 0 : -ENOMEM;

	json_put_string(j, name, text ? text : "");
	free(text);
	free(p->bytes);
	*p = (struct pack){};
	return err;
}
