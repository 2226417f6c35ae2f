// SPDX-License-Identifier: GPL-2.0-only
#include "trace/objects.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/libbpf.h>
#include <zstd.h>

/* The linker's symbols name_begin and name_end around the packed file. */
#define PACKED(name)                                                                               \
	__asm__(".section .rodata\n" #name "_begin: .incbin \"" OBJECTS_DIR #name                  \
		".bpf.o.zst\"\n" #name "_end:\n.previous\n");                                      \
	extern const char name##_begin[], name##_end[]

PACKED(trace);
PACKED(trace_functions);
PACKED(func);

static const struct {
	const char *begin, *end;
} packed[] = {
	[OBJECT_TRACE] = { trace_begin, trace_end },
	[OBJECT_TRACE_FUNCTIONS] = { trace_functions_begin, trace_functions_end },
	[OBJECT_FUNC] = { func_begin, func_end },
};

int objects_open(struct bpf_object_skeleton *s, enum object_file which, const char *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types);
	const char *from = packed[which].begin;
	size_t len = packed[which].end - from, plain = ZSTD_getFrameContentSize(from, len);
	void *file = malloc(plain);
	int err = -ENOMEM;

	if (file && ZSTD_decompress(file, plain, from, len) == plain) {
		s->data = file;
		s->data_sz = plain;
		err = bpf_object__open_skeleton(s, &opts);
		s->data = NULL;
	}
	free(file);
	return err;
}
