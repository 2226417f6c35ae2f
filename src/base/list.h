/* SPDX-License-Identifier: GPL-2.0-only */
/* list.h - room for an array that grows. */
#ifndef IOSTRATA_BASE_LIST_H
#define IOSTRATA_BASE_LIST_H

#include <stddef.h>

/*
 * Makes room for element @n, at most *@cap, of the array *@list with room for *@cap elements of
 * @size bytes; the caller frees the array. It grows by half. Returns 0, or -ENOMEM with nothing
 * changed.
 */
int list_reserve(void **list, size_t *cap, size_t n, size_t size);

#endif
