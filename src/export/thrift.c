// SPDX-License-Identifier: GPL-2.0-only
#include "export/thrift.h"

#include <string.h>

enum { TYPE_TRUE = 1, TYPE_FALSE = 2, TYPE_I64 = 6, TYPE_LIST = 9 };

static void field(struct thrift *t, int id, int type)
{
	uint8_t byte = (uint8_t)((id - t->last[t->depth]) << 4 | type);

	bytes_put(t->out, &byte, 1); /* the ids of these structs ascend, by less than 16 */
	t->last[t->depth] = id;
}

void thrift_i32(struct thrift *t, int id, int32_t v)
{
	field(t, id, THRIFT_I32);
	bytes_put_zigzag(t->out, v);
}

void thrift_i64(struct thrift *t, int id, int64_t v)
{
	field(t, id, TYPE_I64);
	bytes_put_zigzag(t->out, v);
}

void thrift_bool(struct thrift *t, int id, bool v)
{
	field(t, id, v ? TYPE_TRUE : TYPE_FALSE);
}

void thrift_bytes(struct thrift *t, int id, const void *data, size_t n)
{
	field(t, id, THRIFT_BINARY);
	bytes_put_varint(t->out, n);
	bytes_put(t->out, data, n);
}

void thrift_text(struct thrift *t, int id, const char *text)
{
	thrift_bytes(t, id, text, strlen(text));
}

void thrift_begin(struct thrift *t, int id)
{
	if (id)
		field(t, id, THRIFT_STRUCT);
	t->last[++t->depth] = 0;
}

void thrift_end(struct thrift *t)
{
	bytes_put(t->out, "", 1);
	t->depth--;
}

void thrift_list(struct thrift *t, int id, enum thrift_type of, size_t n)
{
	uint8_t head = (uint8_t)((n < 15 ? n : 15) << 4 | of);

	field(t, id, TYPE_LIST);
	bytes_put(t->out, &head, 1);
	if (n >= 15)
		bytes_put_varint(t->out, n);
}

void thrift_item_i32(struct thrift *t, int32_t v)
{
	bytes_put_zigzag(t->out, v);
}

void thrift_item_text(struct thrift *t, const char *text)
{
	bytes_put_varint(t->out, strlen(text));
	bytes_put(t->out, text, strlen(text));
}
