/* SPDX-License-Identifier: GPL-2.0-only */
/* demangle.h - names of C++ and Rust functions as people write them. */
#ifndef IOSTRATA_FUNCS_DEMANGLE_H
#define IOSTRATA_FUNCS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

enum { DEMANGLED_LEN = 4096 };

/*
 * Writes the C++ name of symbol @name to @buf: with parameters, "ns::Class::method(int)", or
 * without, "ns::Class::method". Returns false if @name is not of C++, or the result is longer. The
 * name is hostile: the time is bounded by its length and by DEMANGLED_LEN.
 */
bool demangle(const char *name, bool parameters, char buf[DEMANGLED_LEN]);

/* Likewise writes the Rust name of symbol @name, "krate::module::function". A longer one is cut.
 * The older form of Rust is that of C++. */
bool demangle_rust(const char *name, char buf[DEMANGLED_LEN]);

#endif
