/* SPDX-License-Identifier: GPL-2.0-only */
/* thrift.h - structs in Thrift's compact protocol (its document thrift-compact-protocol.md). */
#ifndef IOSTRATA_EXPORT_THRIFT_H
#define IOSTRATA_EXPORT_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/parquet_encode.h"

enum { THRIFT_DEPTH = 8 };

/* A struct being written, and the structs around it. Only .out is set before the first use. */
struct thrift {
	struct bytes *out;
	int last[THRIFT_DEPTH]; /* id of the last field, by depth */
	int depth;
};

void thrift_i32(struct thrift *t, int id, int32_t v);
void thrift_i64(struct thrift *t, int id, int64_t v);
void thrift_bool(struct thrift *t, int id, bool v);
void thrift_bytes(struct thrift *t, int id, const void *data, size_t n);
void thrift_text(struct thrift *t, int id, const char *text);

/* A struct as field @id, or as an element of a list: @id is 0. */
void thrift_begin(struct thrift *t, int id);
void thrift_end(struct thrift *t);

/* Begins a list of @n elements; the caller writes these as structs, or by thrift_item_...(). */
enum thrift_type { THRIFT_I32 = 5, THRIFT_BINARY = 8, THRIFT_STRUCT = 12 };
void thrift_list(struct thrift *t, int id, enum thrift_type of, size_t n);
void thrift_item_i32(struct thrift *t, int32_t v);
void thrift_item_text(struct thrift *t, const char *text);

#endif
