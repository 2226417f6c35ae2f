/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * objects.h - the object files of the BPF programs, which are packed inside the program: 5.8 MB, of
 * which 0.4 MB remain.
 */
#ifndef IOSTRATA_OBJECTS_H
#define IOSTRATA_OBJECTS_H

struct bpf_object_skeleton;

enum object_file { OBJECT_TRACE, OBJECT_TRACE_FUNCTIONS, OBJECT_FUNC };

/* Opens the skeleton @s over that file, which libbpf copies what it needs of. @types: a file of the
 * types for which its programs are loaded; NULL: the kernel's. 0 or -errno. */
int objects_open(struct bpf_object_skeleton *s, enum object_file which, const char *types);

#endif
