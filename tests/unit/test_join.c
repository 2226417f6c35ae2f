// SPDX-License-Identifier: GPL-2.0-only
/* Requests of NFS and the operations which served them: each request is joined with its own
 * operation, its parts add up, and what is not joined is counted with the reason; whatever the
 * clocks, the xids and the recordings are like. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/join.h"
#include "base/reason.h"
#include "capture/writer.h"
#include "host/mounts.h"

#define SECOND 1000000000ULL

static const char near[] = "10.0.0.7", far[] = "10.0.0.8";

/* A recording in the making; its clocks begin at 1000 s, and at @real_ns. */
struct made {
	FILE *f;
	struct writer w;
	const char *missing;
};

static void made_begin_on(struct made *m, uint64_t real_ns, const char *missing, const char *host)
{
	char header[256];

	*m = (struct made){ .f = tmpfile() };
	assert_non_null(m->f);
	snprintf(header, sizeof(header),
		 "{\"monotonic_ns\":%llu,\"realtime_ns\":%llu,\"ops\":true,\"requests\":true,"
		 "\"server\":true,\"reap\":true,\"missing\":{%s}%s}",
		 1000 * SECOND, (unsigned long long)real_ns, missing, host);
	assert_int_equal(writer_begin(&m->w, fileno(m->f), header), 0);
}

static void made_begin(struct made *m, uint64_t real_ns, const char *missing)
{
	made_begin_on(m, real_ns, missing, "");
}

static uint64_t text_put(struct made *m, const char *text)
{
	struct stored_name n = { .type = NAME_TEXT,
				 .id = mount_server_number(text),
				 .text_len = strlen(text) };

	writer_name(&m->w, &n, text);
	return n.id;
}

/* A request which is sent @at_ns after the beginning: 3 ns for a slot, 5 ns in the queue. */
static void asks_by(struct made *m, unsigned int protocol, uint64_t at_ns, uint64_t xid,
		    uint64_t server_ns, const char *op, const char *server)
{
	struct stored_server_request rq = { .q_ns = 1000 * SECOND + at_ns - 8,
					    .tag_ns = 3,
					    .queue_ns = 5,
					    .server_ns = server_ns,
					    .xid = xid,
					    .server = text_put(m, server),
					    .op = text_put(m, op),
					    .protocol = protocol };

	writer_server_request(&m->w, &rq);
}

static void asks(struct made *m, uint64_t at_ns, uint64_t xid, uint64_t server_ns, const char *op,
		 const char *server)
{
	asks_by(m, SERVER_NFS, at_ns, xid, server_ns, op, server);
}

/* An operation of nfsd: 2 ns in fs, the rest in device. */
static void serves(struct made *m, uint64_t at_ns, uint64_t xid, uint64_t total_ns)
{
	struct stored_op op = { .start_ns = 1000 * SECOND + at_ns, .kind = OP_SERVED, .xid = xid };

	op.strata[ST_FS] = total_ns < 2 ? total_ns : 2;
	op.strata[ST_DEVICE] = total_ns - op.strata[ST_FS];
	writer_op(&m->w, &op);
}

/* Ends the recording, which lasted @duration_ns, and adds it to @j. */
static void made_add(struct made *m, uint64_t duration_ns, struct join *j)
{
	struct recording rec;
	struct stored_event ev;
	struct reason why;
	char end[64];

	snprintf(end, sizeof(end), "{\"ended\":\"ended\",\"duration_ns\":%llu}",
		 (unsigned long long)duration_ns);
	writer_close(&m->w);
	assert_true(writer_end(&m->w, end));
	writer_done(&m->w);
	rewind(m->f);
	assert_int_equal(recording_open(&rec, m->f, "test", &why), 0);
	rec.server_requests = true;
	assert_int_equal(join_begin(j, &rec), 0);
	while (recording_next(&rec, &ev, &why) > 0)
		assert_int_equal(join_add(j, &rec, &ev), 0);
	join_end(j, &rec);
	recording_close(&rec);
	fclose(m->f);
}

/* Each row adds up, and nothing is left out of the counts. */
static void assert_whole(const struct join *j)
{
	const struct join_side *sides[] = { &j->requests, &j->served };
	uint64_t count = 0;

	for (size_t i = 0; i < j->n_rows; i++) {
		const struct join_row *r = &j->rows[i];
		uint64_t sum = r->tag_ns + r->queue_ns + r->network_ns;

		for (int st = 0; st < ST_N; st++)
			sum += r->strata[st];
		assert_true(sum == r->total_ns);
		assert_true(r->count > 0);
		assert_true(!i || j->rows[i - 1].total_ns >= r->total_ns);
		count += r->count;
	}
	assert_int_equal(count, j->joined);
	for (int s = 0; s < 2; s++) {
		for (int why = 0; why < JOIN_WHYS; why++)
			count += sides[s]->unjoined[why];
		assert_int_equal(count, sides[s]->count);
		count = j->joined;
	}
}

static void make(struct join *j)
{
	assert_true(join_has_both(j));
	assert_int_equal(join_make(j), 0);
	assert_whole(j);
}

static void assert_whys(const struct join_side *side, uint64_t no_xid, uint64_t elsewhere,
			uint64_t outside, uint64_t alone, uint64_t longer)
{
	assert_int_equal(side->unjoined[JOIN_NO_XID], no_xid);
	assert_int_equal(side->unjoined[JOIN_ELSEWHERE], elsewhere);
	assert_int_equal(side->unjoined[JOIN_OUTSIDE], outside);
	assert_int_equal(side->unjoined[JOIN_ALONE], alone);
	assert_int_equal(side->unjoined[JOIN_LONGER], longer);
}

/* The clocks of the hosts are an hour apart. */
static void parts_are_exact(void **state)
{
	struct join j = {};
	struct made m;

	(void)state;
	made_begin(&m, 7000 * SECOND, "");
	asks(&m, 1 * SECOND, 11, 1009, "READ", near);
	asks(&m, 2 * SECOND, 12, 2003, "WRITE", near);
	asks(&m, 3 * SECOND, 13, 499, "READ", near);
	asks_by(&m, SERVER_FUSE, 3 * SECOND, 13, 499, "READ", near); /* joined with nothing */
	made_add(&m, 10 * SECOND, &j);
	assert_false(join_has_both(&j));
	assert_int_equal(j.n_requests, 3);
	made_begin(&m, 7000 * SECOND + 3600 * SECOND, "\"lock\":\"no\"");
	serves(&m, 3 * SECOND + 17, 13, 499);
	serves(&m, 2 * SECOND + 23, 12, 1103);
	serves(&m, 1 * SECOND + 19, 11, 997);
	made_add(&m, 10 * SECOND, &j);
	make(&j);
	assert_int_equal(j.n_rows, 2);
	assert_string_equal(j.rows[0].op, "WRITE");
	assert_int_equal(j.rows[0].network_ns, 900);
	assert_string_equal(j.rows[1].op, "READ");
	assert_int_equal(j.rows[1].count, 2);
	assert_int_equal(j.rows[1].total_ns, 1009 + 499 + 2 * 8);
	assert_int_equal(j.rows[1].tag_ns, 2 * 3);
	assert_int_equal(j.rows[1].queue_ns, 2 * 5);
	assert_int_equal(j.rows[1].network_ns, 12);
	assert_int_equal(j.rows[1].strata[ST_FS], 4);
	assert_int_equal(j.rows[1].strata[ST_DEVICE], 997 + 499 - 4);
	assert_int_equal(j.rows[1].mean_ns[0], (1009 + 499 + 16) / 2);
	assert_int_equal(j.rows[1].mean_ns[3], 6);
	assert_int_equal(j.rows[1].mean_ns[4 + ST_DEVICE], (997 + 499 - 4) / 2);
	assert_int_equal(j.missing, 1U << ST_LOCK);
	assert_whys(&j.requests, 0, 0, 0, 0, 0);
	assert_whys(&j.served, 0, 0, 0, 0, 0);
	join_done(&j);
}

/* A client of @real_ns makes requests with xids 1 to 5, a second apart from @from on. */
static void client_make(struct join *j, uint64_t real_ns, uint64_t from_ns, const char *op)
{
	struct made m;

	made_begin(&m, real_ns, "");
	for (int i = 0; i < 5; i++)
		asks(&m, from_ns + i * SECOND, i + 1, 1000, op, near);
	asks(&m, from_ns + 5 * SECOND, from_ns, 1000, op, near); /* an xid of its own */
	made_add(&m, 20 * SECOND, j);
}

/* Two clients have the same xids, and clocks of their own. */
static void xids_of_two_clients(void **state)
{
	struct join j = {};
	struct made m;

	(void)state;
	client_make(&j, 5000 * SECOND, SECOND / 4, "READ");
	client_make(&j, 9000 * SECOND, SECOND / 4 * 3, "WRITE");
	made_begin(&m, 7000 * SECOND, "");
	for (int i = 0; i < 5; i++) {
		serves(&m, SECOND / 4 + i * SECOND + 100, i + 1, 300);
		serves(&m, SECOND / 4 * 3 + i * SECOND + 100, i + 1, 700);
	}
	serves(&m, SECOND / 4 + 5 * SECOND + 100, SECOND / 4, 300);
	serves(&m, SECOND / 4 * 3 + 5 * SECOND + 100, SECOND / 4 * 3, 700);
	made_add(&m, 20 * SECOND, &j);
	make(&j);
	assert_int_equal(j.joined, 12);
	assert_string_equal(j.rows[0].op, "READ");
	assert_int_equal(j.rows[0].network_ns, 6 * 700);
	assert_int_equal(j.rows[1].network_ns, 6 * 300);
	join_done(&j);
}

/* xids began anew, so several requests have one xid; some of them are missing on either side. */
static void xids_again(void **state)
{
	struct join j = {};
	struct made m;

	(void)state;
	made_begin(&m, 7000 * SECOND, "");
	asks(&m, 1 * SECOND, 99, 1000, "GETATTR", near);
	for (int i = 2; i < 9; i++)
		if (i != 3)
			asks(&m, i * SECOND, 1ULL << 32, 1000, "READ", near);
	made_add(&m, 20 * SECOND, &j);
	made_begin(&m, 8000 * SECOND, "");
	serves(&m, 1 * SECOND + 50, 99, 100);
	for (int i = 2; i < 9; i++)
		if (i != 2 && i != 6)
			serves(&m, i * SECOND + 50, 1ULL << 32, 100 + i);
	made_add(&m, 20 * SECOND, &j);
	make(&j);
	assert_int_equal(j.joined, 1 + 4);
	assert_string_equal(j.rows[0].op, "READ");
	assert_int_equal(j.rows[0].network_ns, 4 * 900 - 4 - 5 - 7 - 8);
	assert_whys(&j.requests, 0, 0, 0, 2, 0);
	assert_whys(&j.served, 0, 0, 0, 1, 0);
	join_done(&j);
}

/* The network never takes less than nothing: an operation of another request is longer. The
 * operation that is not is chosen, even if it is farther in time. */
static void too_long_to_be_joined(void **state)
{
	struct join j = {};
	struct made m;

	(void)state;
	made_begin(&m, 7000 * SECOND, "");
	asks(&m, 1 * SECOND, 1, 1000, "READ", near);
	asks(&m, 2 * SECOND, 2, 1000, "READ", near);
	asks(&m, 3 * SECOND, 3, 1000, "READ", near);
	made_add(&m, 20 * SECOND, &j);
	made_begin(&m, 7000 * SECOND, "");
	serves(&m, 1 * SECOND, 1, 1001);
	serves(&m, 2 * SECOND, 2, 1000);
	serves(&m, 3 * SECOND - 7, 3, 5000);
	serves(&m, 3 * SECOND + 30, 3, 400);
	made_add(&m, 20 * SECOND, &j);
	make(&j);
	assert_int_equal(j.rows[0].count, 2);
	assert_int_equal(j.rows[0].network_ns, 600);
	assert_whys(&j.requests, 0, 0, 0, 0, 1);
	assert_whys(&j.served, 0, 0, 0, 0, 2);
	join_done(&j);
}

/* A client's xid which another client had long before; and a host whose clock is far off. */
static void too_far_to_be_joined(void **state)
{
	struct join j = {};
	struct made m;

	(void)state;
	made_begin(&m, 7000 * SECOND, "");
	for (int i = 1; i < 4; i++)
		asks(&m, i * SECOND, i, 1000, "READ", near);
	asks(&m, 400 * SECOND, 9, 1000, "READ", near);
	made_add(&m, 500 * SECOND, &j);
	made_begin(&m, 1 * SECOND, "");
	for (int i = 1; i < 4; i++)
		serves(&m, i * SECOND, i, 100);
	serves(&m, 300 * SECOND, 9, 100);
	made_add(&m, 500 * SECOND, &j);
	make(&j);
	assert_int_equal(j.joined, 3);
	assert_whys(&j.requests, 0, 0, 0, 1, 0);
	assert_whys(&j.served, 0, 0, 0, 1, 0);
	join_done(&j);
}

static void reasons(void **state)
{
	struct join j = {};
	struct made m;

	(void)state;
	made_begin(&m, 7000 * SECOND, "");
	asks(&m, 1 * SECOND, 1, 1000, "READ", near);
	asks(&m, 2 * SECOND, 0, 1000, "READ", near);
	asks(&m, 3 * SECOND, 3, 1000, "READ", far);
	asks(&m, 4 * SECOND, 4, 1000, "READ", near);
	asks(&m, 5 * SECOND, 5, 1000, "READ", near);
	asks(&m, 9 * SECOND, 0, 1000, "READ", far);
	made_add(&m, 10 * SECOND, &j);
	made_begin(&m, 8000 * SECOND, "");
	serves(&m, 1 * SECOND + 9, 1, 100);
	serves(&m, 2 * SECOND, 0, 100);
	serves(&m, 3 * SECOND, 77, 100);
	serves(&m, 44 * SECOND, 78, 100);
	made_add(&m, 5 * SECOND, &j); /* half as long, by a clock 1000 s later */
	make(&j);
	assert_int_equal(j.joined, 1);
	assert_whys(&j.requests, 2, 1, 1, 1, 0);
	assert_whys(&j.served, 1, 0, 1, 1, 0);
	join_done(&j);
}

/* Where nothing is joined, the times of day tell what was recorded on both sides. */
static void nothing_is_joined(void **state)
{
	struct join j = {};
	struct made m;

	(void)state;
	made_begin(&m, 7000 * SECOND, "");
	asks(&m, 1 * SECOND, 1, 1000, "READ", near);
	asks(&m, 9 * SECOND, 2, 1000, "READ", far);
	made_add(&m, 10 * SECOND, &j);
	made_begin(&m, 7000 * SECOND, "");
	serves(&m, 1 * SECOND, 3, 100);
	made_add(&m, 5 * SECOND, &j);
	make(&j);
	assert_int_equal(j.n_rows, 0);
	assert_whys(&j.requests, 0, 0, 1, 1, 0);
	assert_whys(&j.served, 0, 0, 0, 1, 0);
	join_done(&j);
}

/* An operation of ksmbd is none of NFS: it is not joined, and not counted as not joined. */
static void ksmbd_is_left_out(void **state)
{
	struct stored_op smb = { .start_ns = 1000 * SECOND + 1 * SECOND,
				 .kind = OP_SERVED,
				 .call = CALL_SERVED | CALL_SMB | 8,
				 .xid = 1 };
	struct join j = {};
	struct made m;

	(void)state;
	made_begin(&m, 7000 * SECOND, "");
	asks(&m, 1 * SECOND, 1, 1000, "READ", near);
	made_add(&m, 10 * SECOND, &j);
	made_begin(&m, 7000 * SECOND, "");
	writer_op(&m.w, &smb);
	made_add(&m, 10 * SECOND, &j);
	assert_false(join_has_both(&j));
	join_done(&j);
}

/* A request may be in one part of a client's run, and its operation in any of a server's. */
static void both_sides_in_parts(void **state)
{
	struct join j = {};
	struct made m;

	(void)state;
	for (int part = 0; part < 3; part++) {
		made_begin(&m, (7000 + 10 * part) * SECOND, "");
		asks(&m, 1 * SECOND, 2 * part + 1, 1000, "READ", near);
		serves(&m, 2 * SECOND, 99, 7); /* of somebody else */
		asks(&m, 9 * SECOND, 2 * part + 2, 1000, "READ", near);
		made_add(&m, 10 * SECOND, &j);
	}
	made_begin(&m, 7000 * SECOND, "");
	for (int i = 0; i < 3; i++) {
		serves(&m, (1 + 10 * i) * SECOND, 2 * i + 1, 400);
		serves(&m, (9 + 10 * i) * SECOND, 2 * i + 2, 400);
	}
	made_add(&m, 30 * SECOND, &j);
	make(&j);
	assert_int_equal(j.joined, 6);
	assert_int_equal(j.rows[0].network_ns, 6 * 600);
	assert_whys(&j.served, 0, 0, 0, 3, 0);
	join_done(&j);
}

/* The copy of a client's recording finds its operations taken. */
static void nothing_is_joined_twice(void **state)
{
	struct join j = {};
	struct made m;

	(void)state;
	client_make(&j, 7000 * SECOND, SECOND, "READ");
	client_make(&j, 7000 * SECOND, SECOND, "READ");
	for (int copy = 0; copy < 2; copy++) {
		made_begin(&m, 7000 * SECOND, "");
		for (int i = 0; i < 5 - 2 * copy; i++)
			serves(&m, (1 + i) * SECOND + 100, i + 1, 300);
		made_add(&m, 20 * SECOND, &j);
	}
	make(&j);
	assert_int_equal(j.joined, 5 + 3);
	assert_whys(&j.requests, 0, 0, 0, 1 + 3, 0);
	join_done(&j);
}

/* The joined requests that were told. */
struct told {
	int n;
	struct joined list[4];
	uint64_t sum_ns;
};

static void tell(void *arg, const struct joined *one)
{
	struct told *t = arg;
	uint64_t served_ns = 0;

	for (int st = 0; st < ST_N; st++)
		served_ns += one->strata[st];
	assert_true(served_ns == one->served_ns);
	assert_true(one->tag_ns + one->queue_ns + one->network_ns + served_ns == one->total_ns);
	t->sum_ns += one->total_ns;
	if (t->n < 4)
		t->list[t->n] = *one;
	t->n++;
}

/* Each joined request is told with the hosts, and with times of the clocks of its hosts. */
static void joined_requests_are_told(void **state)
{
	struct told told = {};
	struct join j = { .tell = tell, .tell_arg = &told };
	const struct joined *one = told.list;
	struct made m;

	(void)state;
	made_begin_on(&m, 7000 * SECOND, "", ",\"host\":\"desk\"");
	asks(&m, 3, 13, 499, "READ", near); /* began 5 ns before the recording */
	asks(&m, 2 * SECOND, 12, 2003, "WRITE", near);
	asks(&m, 3 * SECOND, 14, 499, "", far);
	made_add(&m, 10 * SECOND, &j);
	made_begin(&m, 8000 * SECOND, "\"lock\":\"no\"");
	serves(&m, 101, 13, 307);
	serves(&m, 2 * SECOND + 23, 12, 1103);
	made_add(&m, 10 * SECOND, &j);
	made_begin_on(&m, 9000 * SECOND, "", ",\"host\":\"rack\"");
	serves(&m, 3 * SECOND + 5, 14, 11);
	made_add(&m, 10 * SECOND, &j);
	make(&j);
	assert_int_equal(told.n, 3);
	assert_int_equal(told.sum_ns, 499 + 2003 + 499 + 3 * 8);
	assert_string_equal(one->op, "WRITE"); /* by xid */
	assert_string_equal(one->client, "desk");
	assert_string_equal(one->served_by, "");
	assert_string_equal(one->server, near);
	assert_int_equal(one->xid, 11); /* as the kernel has it */
	assert_int_equal(one->start_ns, 1002 * SECOND - 8);
	assert_int_equal(one->since_ns, 2 * SECOND - 8);
	assert_int_equal(one->served_from_ns, 1002 * SECOND + 23);
	assert_int_equal(one->tag_ns, 3);
	assert_int_equal(one->queue_ns, 5);
	assert_int_equal(one->network_ns, 900);
	assert_int_equal(one->strata[ST_FS], 2);
	assert_int_equal(one->strata[ST_DEVICE], 1101);
	assert_int_equal(one->missing, 1U << ST_LOCK);
	one++;
	assert_int_equal(one->xid, 12);
	assert_int_equal(one->start_ns, 1000 * SECOND - 5);
	assert_int_equal((int64_t)one->since_ns, -5);
	one++;
	assert_string_equal(one->op, "");
	assert_string_equal(one->server, far);
	assert_string_equal(one->served_by, "rack");
	assert_int_equal(one->missing, 0);
	join_done(&j);
}

/* Numbers as large as they can be, one xid for all, and texts that nobody wrote. */
static void hostile_recordings(void **state)
{
	enum { MANY = 20011 };
	struct stored_server_request rq = { .q_ns = ~0ULL,
					    .tag_ns = ~0ULL,
					    .queue_ns = ~0ULL,
					    .server_ns = ~0ULL,
					    .xid = ~0ULL,
					    .server = ~0ULL,
					    .op = ~0ULL,
					    .dev = ~0ULL };
	struct stored_op op = { .start_ns = ~0ULL, .kind = OP_SERVED, .xid = ~0ULL };
	char text[1024];
	struct told told = {};
	struct join j = {};
	struct made m;

	(void)state;
	memset(text, '\x80', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	for (int i = 0; i < ST_N; i++)
		op.strata[i] = ~0ULL;
	made_begin(&m, 1ULL << 62, "");
	for (int i = 0; i < MANY; i++) {
		asks(&m, SECOND, 1, 1000, text, near);
		serves(&m, SECOND, 1, i % 2 ? 1001 : 999);
	}
	writer_server_request(&m.w, &rq);
	writer_op(&m.w, &op);
	made_add(&m, 1ULL << 62, &j);
	j.tell = tell;
	j.tell_arg = &told;
	assert_int_equal(join_make(&j), 0);
	assert_whole(&j);
	assert_int_equal(told.n, j.joined);
	assert_true(strlen(j.rows[0].op) < SERVER_OP_LEN);
	join_done(&j);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_exact),
		cmocka_unit_test(xids_of_two_clients),
		cmocka_unit_test(xids_again),
		cmocka_unit_test(too_long_to_be_joined),
		cmocka_unit_test(too_far_to_be_joined),
		cmocka_unit_test(reasons),
		cmocka_unit_test(nothing_is_joined),
		cmocka_unit_test(ksmbd_is_left_out),
		cmocka_unit_test(both_sides_in_parts),
		cmocka_unit_test(nothing_is_joined_twice),
		cmocka_unit_test(joined_requests_are_told),
		cmocka_unit_test(hostile_recordings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
