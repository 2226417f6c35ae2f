/* SPDX-License-Identifier: GPL-2.0-only */
/* python_file.h - finds Python in an ELF file, for the programs that walk its frames. The file is
 * hostile. */
#ifndef IOSTRATA_STACKS_PYTHON_FILE_H
#define IOSTRATA_STACKS_PYTHON_FILE_H

#include "event.h"

/* Looks for Python in ELF file @fd. All 0: there is none. */
void python_file_find(int fd, struct unwind_python *ret_python);

#endif
