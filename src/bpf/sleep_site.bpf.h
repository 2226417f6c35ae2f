/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sleep_site.bpf.h - in which function of conf.sleep_sites a thread sleeps, by a return address
 * from its stack.
 *
 * The kernel names the function when a thread first sleeps there, so user space need not read all
 * symbols of the kernel at the start. A name takes some thousand instructions, so the answer is
 * kept. It stays true, because a function of a module has the module after its name, and is
 * none of these.
 *
 * Writers: any CPU, one number at a time. CPUs that learn the same address write the same.
 */
#ifndef IOSTRATA_SLEEP_SITE_BPF_H
#define IOSTRATA_SLEEP_SITE_BPF_H

#include "compat.bpf.h"
#include "function.bpf.h"
#include "state.bpf.h"

enum { SITE_ANSWERS = 256, SITE_SHIFT = 48 };

/* The lower 48 bits of an address, with its site's conf.sleep_sites.who above. */
static u64 site_answers[SITE_ANSWERS] SEC(MORE_VARIABLES);

/* Whether a function can be found: by its name, or by its code, which connect()'s site has then. */
static __always_inline bool sites_are_known(void)
{
	return CONF(names_functions) || CONF_AT(sleep_sites, 0).from;
}

/* 0 if the site @i is the function @name or, where programs cannot name functions, has the code
 * before @at. */
static __always_inline u64 site_differs(int i, u64 at, const u64 name[FUNCTION_WORDS])
{
	u64 differs = 0;

	if (!CONF(names_functions))
		return ~((CONF_AT(sleep_sites, i).from - at) &
			 (at - 1 - CONF_AT(sleep_sites, i).to)) >>
		       63;
	for (int j = 0; j < FUNCTION_WORDS; j++)
		differs |= name[j] ^ CONF_AT(sleep_sites, i).name[j];
	return differs;
}

/* sleep_site.who of the same function, or 0. The verifier would walk the code after each branch, so
 * there is none. */
static __always_inline u64 site_of(u64 at, const u64 name[FUNCTION_WORDS])
{
	u64 who = 0, differs;

	for (int i = 0; i < SLEEP_SITES; i++) {
		differs = site_differs(i, at, name);
		who |= CONF_AT(sleep_sites, i).who & (((differs | -differs) >> 63) - 1);
	}
	return who;
}

/* The site whose function returns to @at: sleep_site.who, or 0. */
GLOBAL int site_find(u64 at)
{
	volatile u64 *answer = &site_answers[at / 4 % SITE_ANSWERS];
	u64 known = *answer;
	u64 name[FUNCTION_WORDS] = {};
	u64 who;

	if (CONF(names_functions) && !((known ^ at) << (64 - SITE_SHIFT)))
		return known >> SITE_SHIFT;
	if (CONF(names_functions) && function_name(at - 1, name, sizeof(name)) < 0)
		return 0;
	who = site_of(at, name);
	if (CONF(names_functions))
		*answer = who << SITE_SHIFT | at << (64 - SITE_SHIFT) >> (64 - SITE_SHIFT);
	return who;
}

#endif
