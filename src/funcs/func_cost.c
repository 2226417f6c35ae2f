// SPDX-License-Identifier: GPL-2.0-only
#include "funcs/func_cost.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/func.h"
#include "funcs/func_attach.h"
#include "funcs/func_load.h"
#include "funcs/func_rows.h"

enum { ROUNDS = 8, CALLS = 250 };

/* An empty function of this program. */
__attribute__((noinline, used)) static void nothing(void)
{
	__asm__ volatile("");
}

/* Names, by architecture, of a kernel function with hardly any work. */
static const char *const nothing_names[] = { "__do_sys_getppid", "__x64_sys_getppid",
					     "__arm64_sys_getppid", "sys_getppid" };

/* Nanoseconds per call: the minimum of several rounds, since a disturbance only makes a round
 * longer. */
static double call_ns(bool user)
{
	uint64_t best = UINT64_MAX, from, took;

	for (int round = 0; round < ROUNDS; round++) {
		from = clock_ns();
		for (int i = 0; i < CALLS; i++) {
			if (user)
				nothing();
			else
				syscall(SYS_getppid);
		}
		took = clock_ns() - from;
		best = took < best ? took : best;
	}
	return (double)best / CALLS;
}

/* Finds the file offset of @addr, an address in this program. Returns 0 or -ENOENT. */
static int own_offset(uintptr_t addr, uint64_t *ret_offset)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long from, to, offset;
	char line[PATH_MAX + 128];
	int err = -ENOENT;

	while (f && err && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) != 3 || addr < from ||
		    addr >= to)
			continue;
		*ret_offset = addr - from + offset;
		err = 0;
	}
	if (f)
		fclose(f);
	return err;
}

static int attach_own(struct func_attached *a, unsigned int func)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct func f = { .name = "nothing", .where = path };
	int err;

	if (len < 0)
		return -errno;
	path[len] = '\0';
	err = own_offset((uintptr_t)nothing, &f.addr);
	if (err)
		return err;
	return func_attach(a, &f, 1, func, NULL);
}

/* Probes the kernel function by its address, or by its name if addresses are hidden (0). */
static int attach_kernel(struct func_attached *a, unsigned int func)
{
	char line[256], name[128];
	unsigned long long addr;
	FILE *f = fopen("/proc/kallsyms", "re");
	int got = -ENOENT;

	while (f && got <= 0 && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %127s", &addr, name) != 2)
			continue;
		for (size_t i = 0; i < sizeof(nothing_names) / sizeof(*nothing_names); i++) {
			struct func fn = { .name = name, .where = "", .addr = addr };

			if (!strcmp(name, nothing_names[i]))
				got = func_attach(a, &fn, 1, func, NULL);
		}
	}
	if (f)
		fclose(f);
	return got;
}

/* Nanoseconds of the shortest call; UINT64_MAX: no call was traced. */
static uint64_t shortest_ns(const struct func_sums *cells, size_t stride, size_t n)
{
	uint64_t inverse = 0;

	for (size_t i = 0; i < n; i++)
		if (cells[i * stride].min_inverse > inverse)
			inverse = cells[i * stride].min_inverse;
	return ~inverse;
}

/* Measures the cost of entries alone: they count calls and measure no time. */
static int measure_entries(const struct func_memory *m, unsigned int func, bool user,
			   double without_ns, struct func_cost *ret_cost)
{
	double with_ns = call_ns(user);

	if (!m->unreturned[func])
		return -EOPNOTSUPP;
	ret_cost->call_ns = with_ns > without_ns ? with_ns - without_ns : 0;
	ret_cost->inside_ns = 0;
	return 0;
}

/* Measures the cost. The first calls are for learning sp_shift, the next ones are timed. */
static int measure(struct func_live *live, bool user, const struct func_memory *m,
		   unsigned int func, double without_ns, struct func_cost *ret_cost)
{
	uint64_t inside_ns;
	double with_ns;

	live->learning = 1;
	call_ns(user);
	live->learning = 0;
	if (live->sp_seen)
		live->sp_shift = live->learned;
	with_ns = call_ns(user);
	inside_ns = shortest_ns(m->cells + func, m->n_funcs + 1, m->n_cpus);
	if (inside_ns == UINT64_MAX)
		return -EOPNOTSUPP;
	ret_cost->call_ns = with_ns > without_ns ? with_ns - without_ns : 0;
	ret_cost->inside_ns = inside_ns;
	if (ret_cost->inside_ns > ret_cost->call_ns)
		ret_cost->inside_ns = ret_cost->call_ns;
	return 0;
}

int func_cost_measure(struct func_attached *a, struct func_live *live, unsigned int func,
		      const struct func_memory *m, struct func_cost *ret_cost)
{
	bool user = a->probe->user;
	double without_ns = call_ns(user);
	size_t keep = a->n;
	int got = user ? attach_own(a, func) : attach_kernel(a, func);

	if (got > 0)
		got = a->entries_only ? measure_entries(m, func, user, without_ns, ret_cost)
				      : measure(live, user, m, func, without_ns, ret_cost);
	else if (!got)
		got = -(a->err ? a->err : EOPNOTSUPP);
	func_detach(a, keep);
	a->err = 0;
	return got;
}
