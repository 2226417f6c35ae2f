/* SPDX-License-Identifier: GPL-2.0-only */
/* memory_limit.h - limits what hostile files can cost the machine. */
#ifndef IOSTRATA_HOST_MEMORY_LIMIT_H
#define IOSTRATA_HOST_MEMORY_LIMIT_H

/* From now on, this process gets at most another quarter of the machine's memory, or 1 GB if that
 * is more. It is enough for large programs. A lower limit stays. */
void memory_limit(void);

#endif
