// SPDX-License-Identifier: GPL-2.0-only
/* The functions named by several patterns and by long names; functions that must not be probed;
 * names of C++. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/pattern.h"
#include "base/reason.h"
#include "funcs/demangle.h"
#include "funcs/func_find_kernel.h"
#include "funcs/func_rows.h"
#include "funcs/func_unsafe.h"

enum { LONGEST = 511 };

static void patterns_open(const char *const texts[], struct pattern **p, size_t n)
{
	struct reason why = {};

	for (size_t i = 0; i < n; i++)
		assert_int_equal(pattern_open(texts[i], &p[i], &why), 0);
}

static void patterns_free(struct pattern **p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pattern_free(p[i]);
}

static void an_exclusion_knows_what_it_took(void **state)
{
	static const char *const texts[] = { "!ext4_*", "!vfs_*", "vfs_read", "xfs:*" };
	struct pattern *p[4];

	(void)state;
	patterns_open(texts, p, 4);
	assert_false(patterns_mean(p, 4, "", "ext4_sync_file"));
	assert_false(patterns_mean(p, 4, "", "vfs_write"));
	for (int i = 0; i < 4; i++)
		assert_false(pattern_has_matched(p[i]));
	assert_false(patterns_mean(p, 4, "", "vfs_read"));
	assert_true(patterns_mean(p, 4, "xfs", "xfs_read"));
	assert_false(patterns_mean(p, 4, "ext4", "xfs_read"));
	assert_false(pattern_has_matched(p[0]));
	for (int i = 1; i < 4; i++)
		assert_true(pattern_has_matched(p[i]));
	patterns_free(p, 4);
}

/* One for a module is none for another. */
static void exclusions_have_a_scope(void **state)
{
	static const char *const texts[] = { "*_read", "!xfs:*_read" };
	struct pattern *p[2];

	(void)state;
	patterns_open(texts, p, 2);
	assert_true(patterns_mean(p, 2, "ext4", "ext4_read"));
	assert_true(patterns_mean(p, 2, "", "vfs_read"));
	assert_false(pattern_has_matched(p[1]));
	assert_false(patterns_mean(p, 2, "xfs", "xfs_read"));
	assert_true(pattern_has_matched(p[1]));
	patterns_free(p, 2);
}

/* As long as the kernel's names can be, and a module behind it. */
static void long_names_are_whole(void **state)
{
	static const char *const texts[] = { "_Z*" };
	char name[LONGEST + 1], text[2 * LONGEST];
	struct func_list l = {};
	struct pattern *p[1];
	FILE *f;

	(void)state;
	memset(name, 'x', LONGEST);
	memcpy(name, "_Z", 2);
	name[LONGEST] = '\0';
	snprintf(text, sizeof(text),
		 "ffffffff81000010 D _Z_data\n"
		 "ffffffffc0000010 t %s\t[%s]\n"
		 "ffffffffc0000020 t _Zy\t[b]\n",
		 name, "nf_conntrack");
	f = fmemopen(text, strlen(text), "r");
	patterns_open(texts, p, 1);
	assert_int_equal(func_kernel_list_from(&l, f, p, 1, false), 0);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.at[0].name, name);
	assert_string_equal(l.at[0].where, "nf_conntrack");
	assert_string_equal(l.at[1].name, "_Zy");
	func_list_free(&l);
	patterns_free(p, 1);
	fclose(f);
}

static void some_returns_are_not_probed(void **state)
{
	static const char *const unsafe[] = { "swapcontext",
					      "setcontext@@GLIBC_2.2.5",
					      "_setjmp",
					      "__sigsetjmp",
					      "getcontext",
					      "_start",
					      "__cxa_throw",
					      "_dl_runtime_resolve_xsavec",
					      "coroutine_transfer",
					      "qemu_switch_fiber",
					      "_Unwind_Resume",
					      "pthread_exit@@GLIBC_2.2.5" };
	static const char *const safe[] = {
		"main",        "swapcontexts",  "krb5_setcontext",   "longjmp",
		"makecontext", "_start_here",   "__libc_start_main", "pread64@@GLIBC_2.2.5",
		"_",           "pthread_exits", "pthread_cancel"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(*unsafe); i++)
		assert_non_null(func_unsafe(unsafe[i]));
	for (size_t i = 0; i < sizeof(safe) / sizeof(*safe); i++)
		assert_null(func_unsafe(safe[i]));
}

#if defined(__x86_64__)
/* The first instructions of functions: as the kernel's uprobes read them, and as the CPU does. */
static void functions_with_a_first_instruction_that_uprobes_misread_are_refused(void **state)
{
	static const unsigned char misread[][ENTRY_LEN] = {
		{ 0x62, 0xe2, 0x7d, 0x28, 0x7a, 0xce }, /* vpbroadcastb %esi,%ymm17: jp */
		{ 0xc4, 0xe2, 0x7d, 0x78, 0xc0 },       /* vpbroadcastb %xmm0,%ymm0: js */
		{ 0xc5, 0xf8, 0x77 },                   /* vzeroupper: ja */
		{ 0xc5, 0xfa, 0x7f, 0x07 },             /* vmovdqu %xmm0,(%rdi): jg */
		{ 0xc5, 0xf9, 0xe8, 0xc1 },             /* vpsubsb %xmm1,%xmm0,%xmm0: call */
		{ 0xc5, 0xf9, 0xeb, 0xc1 },             /* vpor %xmm1,%xmm0,%xmm0: jmp */
		{ 0xc5, 0xf8, 0xc2, 0xc1, 0x00 },       /* vcmpeqps %xmm1,%xmm0,%xmm0: ret */
	};
	static const unsigned char refused[][ENTRY_LEN] = {
		{ 0xc5, 0xf9, 0xef, 0xc1 },             /* vpxor %xmm1,%xmm0,%xmm0: out */
		{ 0xc5, 0xfa, 0x6f, 0x07 },             /* vmovdqu (%rdi),%xmm0: outs */
		{ 0x62, 0xe1, 0xfe, 0x28, 0x6f, 0x17 }, /* vmovdqu64 (%rdi),%ymm18: outs */
	};
	static const unsigned char right[][ENTRY_LEN] = {
		{ 0xc5, 0xf9, 0xfe, 0xc1 },       /* vpaddd %xmm1,%xmm0,%xmm0 */
		{ 0xc5, 0xf8, 0x57, 0xc1 },       /* vxorps: as long as no push is */
		{ 0xf3, 0x0f, 0x1e, 0xfa },       /* endbr64 */
		{ 0x7a, 0x05 },                   /* jp */
		{ 0xe9, 0x00, 0x00, 0x00, 0x00 }, /* jmp */
		{ 0x55 },                         /* push %rbp */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(misread) / sizeof(*misread); i++)
		assert_non_null(strstr(func_entry_unsafe(misread[i], ENTRY_LEN), "would break"));
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		assert_non_null(strstr(func_entry_unsafe(refused[i], ENTRY_LEN), "cannot probe"));
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
		assert_null(func_entry_unsafe(right[i], ENTRY_LEN));
	assert_non_null(func_entry_unsafe(misread[0], 5));
	for (size_t n = 0; n < 5; n++) /* the end of the file */
		assert_null(func_entry_unsafe(misread[0], n));
}
#endif

static void assert_demangled(const char *name, const char *full, const char *plain)
{
	char buf[DEMANGLED_LEN];

	assert_true(demangle(name, true, buf));
	assert_string_equal(buf, full);
	assert_true(demangle(name, false, buf));
	assert_string_equal(buf, plain);
}

static void names_of_cpp(void **state)
{
	static const char *const others[] = { "", "_", "_Z", "main", "_Zx", "Z1fv", "_ZN2ns" };
	char buf[DEMANGLED_LEN], name[4096] = "_Z1f1AIiiE";

	(void)state;
	assert_demangled("_ZN2ns5Class6methodEi", "ns::Class::method(int)", "ns::Class::method");
	assert_demangled("_ZN2ns1fEv@@V_1.2", "ns::f()", "ns::f");
	assert_demangled("_Z1fIiEvT_", "f<int>(int)", "f<int>");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(demangle(others[i], true, buf));
	/* each parameter is twice as long as the one before: the last has 2^31 parts */
	for (int i = 0; i < 30; i++) {
		char digit = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];

		snprintf(name + strlen(name), 16, "S_IS%c_S%c_E", digit, digit);
		assert_int_equal(demangle(name, true, buf), i < 6);
	}
	assert_demangled("_Z1fv", "f()", "f");
	memset(name, 'P', sizeof(name) - 1);
	memcpy(name, "_Z1f", 4);
	assert_false(demangle(name, true, buf));
}

static void names_of_rust(void **state)
{
	static const char *const others[] = { "", "_R", "_Rx", "main", "_ZN1a1bE", "_RNvC1a" };
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char buf[DEMANGLED_LEN], name[DEMANGLED_LEN] = "_RIC1aTuuE";
	size_t at = 4, next;

	(void)state;
	assert_true(demangle_rust("_RNvC7mycrate3run", buf));
	assert_string_equal(buf, "mycrate::run");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(demangle_rust(others[i], buf));
	/* each parameter is twice the one before: the whole name has 2^31 parts, and is cut */
	for (int i = 0; i < 30; i++) {
		char number[] = { digits[(at - 1) / 62], digits[(at - 1) % 62], '\0' };

		next = strlen(name) - 2;
		snprintf(name + strlen(name), 16, "TB%s_B%s_E", number, number);
		at = next;
	}
	strcat(name, "E");
	assert_true(demangle_rust(name, buf));
	assert_true(strlen(buf) > DEMANGLED_LEN / 2);
	assert_memory_equal(buf, "a::<((), ()), (((), ())", 22);
	/* lifetimes in a part that is not printed: of all, 2^48 */
	assert_true(demangle_rust("_RXIC1aFGz_EuEuC1b", buf));
	assert_string_equal(buf, "<() as b>");
	assert_false(demangle_rust("_RXIC1aFGzzzzzzzz_EuEuC1b", buf));
	memset(name, 'T', sizeof(name) - 1);
	memcpy(name, "_RIC1a", 6);
	assert_false(demangle_rust(name, buf));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exclusion_knows_what_it_took),
		cmocka_unit_test(exclusions_have_a_scope),
		cmocka_unit_test(long_names_are_whole),
		cmocka_unit_test(some_returns_are_not_probed),
#if defined(__x86_64__)
		cmocka_unit_test(
			functions_with_a_first_instruction_that_uprobes_misread_are_refused),
#endif
		cmocka_unit_test(names_of_cpp),
		cmocka_unit_test(names_of_rust),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
