/* SPDX-License-Identifier: GPL-2.0-only */
/* mapped_file.h - opens the file of a mapping of another process, also one in a container, deleted
 * or replaced. */
#ifndef IOSTRATA_STACKS_MAPPED_FILE_H
#define IOSTRATA_STACKS_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "event.h"

/* Opens the file that process @of->pid has mapped at @of->start, for reading. Returns a descriptor
 * with @ret_path, or -errno: -ESTALE if the process or the mapping is gone, or has another file
 * now. */
int mapped_file_open(const struct sent_stack_file *of, char *ret_path, size_t cap);

/* Calls @fn for each file whose code process @pid has mapped, as a stack that meets the file would
 * tell it. The files are STACK_FILES at most. @fd and @path are as of mapped_file_open(); @fn
 * closes
 * @fd. */
typedef bool mapped_file_fn(void *arg, const struct sent_stack_file *of, int fd,
			    const char *path); /* false: no further */
void mapped_files_each(unsigned int pid, mapped_file_fn *fn, void *arg);

/* Finds the identity that a stack would meet if a process had mapped file @fd: the kernel says it
 * for a mapping alone, and may say another for the file. Returns false if it cannot be mapped. */
bool mapped_file_key(int fd, struct unwind_key *ret_key);

#endif
