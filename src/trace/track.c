// SPDX-License-Identifier: GPL-2.0-only
/*
 * track.c - sets bits in a map to which programs write at the same time. A program changes the bit
 * of a process only at its birth, and by addition. So a bit is set here only if the process is some
 * ticks old, and by one atomic operation.
 */
#include "trace/track.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bpf/conf.h"
#include "host/processes.h"

enum {
	NEWBORN_TICKS = 3,
	TRIES = 50, /* of a tick: some process may fork all the time */
	MAP_BYTES = PID_LIMIT / 8,
};

/* Sets the bit of @pid. Returns false if the bit was set. */
static bool bit_set(uint64_t *words, unsigned int pid)
{
	uint64_t bit = 1ULL << pid % 64, *word = &words[pid % PID_LIMIT / 64];

	return !(__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST) & bit);
}

static bool bit_is_set(const uint64_t *words, unsigned int pid)
{
	return __atomic_load_n(&words[pid % PID_LIMIT / 64], __ATOMIC_SEQ_CST) >> pid % 64 & 1;
}

static uint64_t ticks_now(void)
{
	uint64_t hz = sysconf(_SC_CLK_TCK);
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * hz + t.tv_nsec / (1000000000 / hz);
}

/* Tracks all descendants that are old enough. The number of those whose birth may have been missed,
 * or -errno. */
static int below_track(uint64_t *words, const unsigned int *roots, unsigned int n_roots)
{
	uint64_t now = ticks_now();
	struct processes all, below;
	int err = processes_read(&all), left = 0;

	if (err)
		return err;
	err = processes_below(&all, roots, n_roots, &below);
	processes_free(&all);
	if (err)
		return err;
	for (size_t i = 0; i < below.n; i++) {
		const struct process *p = &below.list[i];

		if (bit_is_set(words, p->pid))
			continue;
		left++;
		if (p->began_ticks + NEWBORN_TICKS < now)
			bit_set(words, p->pid);
	}
	processes_free(&below);
	return left;
}

int track_older(int fd, const unsigned int *roots, unsigned int n_roots)
{
	uint64_t *words = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct timespec tick = { .tv_nsec = 1000000000 / sysconf(_SC_CLK_TCK) };
	int left = 1;

	if (words == MAP_FAILED)
		return -errno;
	for (unsigned int i = 0; i < n_roots; i++)
		bit_set(words, roots[i]);
	/* a process that is not tracked yet may have had a child since the look at it: one more
	 * look */
	for (int i = 0; left > 0 && i < TRIES; i++) {
		left = below_track(words, roots, n_roots);
		if (left > 0)
			nanosleep(&tick, NULL);
	}
	munmap(words, MAP_BYTES);
	return left < 0 ? left : 0;
}
