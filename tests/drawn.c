// SPDX-License-Identifier: GPL-2.0-only
/*
 * drawn FILE: draws the full screen of top for an interval that it makes up, and writes the JSON of
 * the same interval to FILE. Keys do what they do in top.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/reason.h"
#include "show/screen.h"
#include "top/top_print.h"
#include "top/top_screen.h"

/* Primes, so that no two figures are alike by chance. */
enum { PROCESSES = 53, SEED = 4711 };

static uint64_t random_below(uint64_t limit)
{
	return ((uint64_t)rand() << 31 | rand()) % limit + 1;
}

/* Times from some ns to some minutes, bytes from few to TiB. */
static uint64_t random_of_any_size(int most_bits)
{
	return random_below(1ULL << random_below(most_bits));
}

static void fill_op(struct op_row *r, uint64_t id)
{
	r->key = (struct op_key){ .op = OP_NONE + random_below(OP_N - 1), .by = { id } };
	if (r->key.op == OP_HANDLE) /* never in a row */
		r->key.op = OP_READ;
	r->count = random_of_any_size(22);
	r->bytes = random_of_any_size(44);
	for (int st = 0; st < ST_N; st++)
		r->total_ns += r->strata[st] = random_of_any_size(40);
	r->max_ns = r->total_ns;
	hist_add(&r->hist, hist_bucket(r->total_ns / r->count), r->count);
}

static void fill_rq(struct rq_row *r, uint64_t id)
{
	unsigned int minor = random_below(7);

	r->key = (struct rq_key){ .dev = 8 << 20 | minor,
				  .op = RQ_READ + random_below(2) - 1,
				  .by = { id, random_below(2) - 1 } };
	snprintf(r->disk, sizeof(r->disk), "sd%c", 'a' + minor);
	r->major = 8;
	r->minor = minor;
	r->count = random_of_any_size(22);
	r->bytes = random_of_any_size(44);
	r->tag_ns = random_of_any_size(30);
	r->queue_ns = random_of_any_size(36);
	r->device_ns = random_of_any_size(40);
	r->max_ns = r->tag_ns + r->queue_ns + r->device_ns;
	hist_add(&r->hist, hist_bucket(r->max_ns / r->count), r->count);
}

/* A row of each kind for each process, but some have only one. */
static void make_up(struct snapshot *sn)
{
	static struct op_row ops[PROCESSES];
	static struct rq_row rqs[PROCESSES];
	static struct thread threads[PROCESSES];

	srand(SEED);
	*sn = (struct snapshot){ .ops = ops,
				 .rqs = rqs,
				 .threads = threads,
				 .duration_ns = 997000000,
				 .n_threads = PROCESSES };
	for (int i = 0; i < PROCESSES; i++) {
		threads[i].id = (1009ULL + i) << 32 | (1009 + i);
		snprintf(threads[i].comm, COMM_LEN, "made-up-%d", i);
		if (i % 7 != 3)
			fill_op(&ops[sn->n_ops++], threads[i].id);
		if (i % 5 != 2)
			fill_rq(&rqs[sn->n_rqs++], threads[i].id);
	}
	strcpy(threads[0].comm, "na\xc3\xafve"); /* a letter that ASCII does not have */
}

static int write_json(const char *path, const struct snapshot *sn, struct top_names *names)
{
	struct top_json v = { .view = TOP_PROCESS, .names = names, .kernel = "made up" };
	FILE *f = fopen(path, "w");
	int err = f ? top_json(f, &v, sn) : -1;

	if (f)
		fclose(f);
	return err;
}

int main(int argc, char **argv)
{
	static struct top_ui ui;
	struct pollfd keyboard = { .fd = STDIN_FILENO, .events = POLLIN };
	struct top_names names = {};
	struct reason why = {};
	struct snapshot sn;

	make_up(&sn);
	if (argc != 2 || write_json(argv[1], &sn, &names))
		return 1;
	if (!screen_possible(stdin, stdout) ||
	    screen_open(stdin, stdout, !getenv("NO_COLOR"), &why))
		return 1;
	top_ui_init(&ui, 1000000000);
	strcpy(ui.sort, "bytes");
	ui.data = (struct top_data){ .interval = &sn,
				     .total = &sn,
				     .names = &names,
				     .load = "1 2 3",
				     .of_ops = "",
				     .gone = "" };
	for (top_ui_draw(&ui); !ui.presses.quit; top_ui_draw(&ui)) {
		poll(&keyboard, 1, 1000);
		presses_handle(&ui.presses);
	}
	screen_close();
	return 0;
}
