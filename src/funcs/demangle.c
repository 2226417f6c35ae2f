// SPDX-License-Identifier: GPL-2.0-only
#include "funcs/demangle.h"

#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

enum { MANGLED_LEN = 2048 }; /* libiberty takes half of this at most */

struct text {
	char *buf;
	size_t len;
	jmp_buf too_long;
};

/* A short name may repeat its parts so often that its text has no end in practice. The only way out
 * of libiberty is a jump. It holds no memory here, except that of one identifier in a name of Rust
 * that is not ASCII. */
static void text_add(const char *part, size_t len, void *arg)
{
	struct text *t = arg;

	if (len >= DEMANGLED_LEN - t->len)
		longjmp(t->too_long, 1);
	memcpy(t->buf + t->len, part, len);
	t->len += len;
	t->buf[t->len] = '\0';
}

bool demangle(const char *name, bool parameters, char buf[DEMANGLED_LEN])
{
	int options = DMGL_ANSI | DMGL_RET_DROP | (parameters ? DMGL_PARAMS : DMGL_NO_OPTS);
	size_t len = strcspn(name, "@"); /* then comes a version */
	struct text t = { .buf = buf };
	char mangled[MANGLED_LEN];

	if (strncmp(name, "_Z", 2) || len >= sizeof(mangled))
		return false;
	memcpy(mangled, name, len);
	mangled[len] = '\0';
	if (setjmp(t.too_long) || !cplus_demangle_v3_callback(mangled, options, text_add, &t))
		return false;
	buf[t.len] = '\0';
	return true;
}

/* Whether a type in @name may have thousands of lifetimes, "for<'a, 'b, ...>": "FG" or "DG", then
 * their number. libiberty counts them one by one, also in a part that it does not print. The same
 * letters in an identifier cost the name. */
static bool has_many_lifetimes(const char *name)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t len;

	for (const char *at = name; (at = strchr(at + 1, 'G'));) {
		len = strspn(at + 1, digits);
		if ((at[-1] == 'F' || at[-1] == 'D') && at[1 + len] == '_' && len > 2)
			return true;
	}
	return false;
}

bool demangle_rust(const char *name, char buf[DEMANGLED_LEN])
{
	struct text t = { .buf = buf };

	if (strncmp(name, "_R", 2) || strnlen(name, MANGLED_LEN) == MANGLED_LEN ||
	    has_many_lifetimes(name))
		return false;
	buf[0] = '\0';
	if (setjmp(t.too_long))
		return *buf;
	return rust_demangle_callback(name, DMGL_NO_OPTS, text_add, &t) && *buf;
}
