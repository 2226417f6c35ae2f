// SPDX-License-Identifier: GPL-2.0-only
/* Joined requests of NFS as text, JSON and CSV: the parts of a request's time, what is not joined,
 * and one request after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "show/joined.h"
#include "show/joined_events.h"

/* The output of the module under test. */
struct printed {
	struct text_out out;
	char *text;
	size_t len;
};

static void printed_begin(struct printed *p)
{
	*p = (struct printed){};
	p->out.f = open_memstream(&p->text, &p->len);
	assert_non_null(p->out.f);
}

static void printed_end(struct printed *p)
{
	assert_int_equal(p->out.err, 0);
	assert_int_equal(fclose(p->out.f), 0);
}

static void assert_has(const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("'%s' is not in '%s'", wanted, text);
}

static void assert_has_not(const char *text, const char *unwanted)
{
	if (strstr(text, unwanted))
		fail_msg("'%s' is in '%s'", unwanted, text);
}

/* A lock was measured on one of two servers, and reap on none. */
enum { MISSING = 1 << ST_LOCK | 1 << ST_REAP };

static void rows_fill(struct join_row rows[3])
{
	rows[0] = (struct join_row){ .op = "READ",
				     .count = 4,
				     .total_ns = 4000,
				     .tag_ns = 40,
				     .queue_ns = 400,
				     .network_ns = 1000 };
	rows[0].strata[ST_DEVICE] = 2000;
	rows[0].strata[ST_QUEUE] = 8;
	rows[0].strata[ST_LOCK] = 404;
	rows[0].strata[ST_SLEEP] = 100;
	rows[0].strata[ST_RUNQ] = 28;
	rows[0].strata[ST_SERVER] = 20;
	rows[1] = (struct join_row){ .op = "a\nb", .count = 1, .total_ns = 10, .network_ns = 10 };
	rows[2] = (struct join_row){ .op = "", .count = 1, .total_ns = 9, .network_ns = 9 };
	for (int i = 0; i < 3; i++) {
		const struct join_row *r = &rows[i];
		const uint64_t sums[] = { r->total_ns, r->tag_ns, r->queue_ns, r->network_ns };

		for (int part = 0; part < 4; part++)
			rows[i].mean_ns[part] = sums[part] / r->count;
		for (int st = 0; st < ST_N; st++)
			rows[i].mean_ns[4 + st] = r->strata[st] / r->count;
	}
}

static struct join joined_of(struct join_row rows[3])
{
	rows_fill(rows);
	return (struct join){
		.rows = rows,
		.n_rows = 3,
		.joined = 6,
		.requests = { .count = 1013, .unjoined = { 1, 2, 3, 1001, 4 } },
		.served = { .count = 7, .unjoined = { [JOIN_ALONE] = 1, [JOIN_LONGER] = 2 } },
		.missing = MISSING,
	};
}

/* The text of @j, for free(). */
static char *text_of(const struct join *j, uint64_t rows_max)
{
	const struct breakdown_view v = { .form.width = 120, .form.rows_max = rows_max };
	struct printed p;

	printed_begin(&p);
	joined_put(&p.out, &v, j);
	printed_end(&p);
	return p.text;
}

static void text_has_all_parts(void **state)
{
	struct join_row rows[3];
	struct join j = joined_of(rows);
	char *text = text_of(&j, 0);

	(void)state;
	assert_has(text, "\nNFS READ takes 1.00 us at the client: 500 ns server's device, 250 ns "
			 "network, 101 ns server's lock, 100 ns queue, 25 ns\n  server's other "
			 "waits, 10 ns tag, rest 14 ns\n");
	assert_has(text, "\nrequest  count   client    tag   queue  network  s.queue  s.device  "
			 "s.runq  s.sleep  s.lock  s.server\n"
			 "READ         4  1.00 us  10 ns  100 ns   250 ns     2 ns    500 ns    "
			 "7 ns    25 ns  101 ns      5 ns\n"
			 "a\\x0ab       1    10 ns   0 ns    0 ns    10 ns     0 ns      0 ns    "
			 "0 ns     0 ns    0 ns      0 ns\n"
			 "-            1     9 ns   0 ns    0 ns     9 ns     0 ns      0 ns    "
			 "0 ns     0 ns    0 ns      0 ns\n"
			 "times are means of the joined requests; ");
	assert_has(text, "\nnot joined: 1,011 of 1,013 ");
	assert_has(text, "\nnot joined: 3 of 7 ");
	free(text);
}

static void text_says_what_is_left_out(void **state)
{
	struct join_row rows[3];
	struct join j = joined_of(rows);
	char *text = text_of(&j, 2);

	(void)state;
	assert_has(text, "\n1 more; a larger -n shows them\n");
	assert_has_not(text, "\n- ");
	free(text);
	text = text_of(&j, 3);
	assert_has_not(text, " more;");
	assert_has(text, "\n- ");
	free(text);
}

static void what_is_not_joined_has_its_reasons(void **state)
{
	struct join_row rows[3];
	struct join j = joined_of(rows);
	char text[512];

	(void)state;
	assert_true(joined_rest(text, sizeof(text), &j, JOINED_REQUESTS));
	assert_string_equal(text, "not joined: 1,011 of 1,013 NFS requests (1 without an xid from "
				  "the kernel, 2 to other servers, 3 outside the recorded time "
				  "of the server, 1,001 not recorded by the server, 4 "
				  "answered before the server's operation ended)");
	assert_true(joined_rest(text, sizeof(text), &j, JOINED_SERVED));
	assert_string_equal(text, "not joined: 3 of 7 served operations (1 for other clients or "
				  "programs, 2 ended after their answer)");
	j.served = (struct join_side){ .count = 7 };
	assert_false(joined_rest(text, sizeof(text), &j, JOINED_SERVED));
	assert_true(joined_rest(text, 20, &j, JOINED_REQUESTS));
	assert_string_equal(text, "not joined: 1,011 o");
}

/* A kind that is not known is "request"; without joined requests there are only the counts. */
static void text_of_little(void **state)
{
	struct join_row rows[3];
	struct join j = joined_of(rows);
	char *text;

	(void)state;
	j.rows = &rows[2];
	j.n_rows = 1;
	j.requests = (struct join_side){ .count = 1 };
	j.served = (struct join_side){ .count = 1, .unjoined = { [JOIN_OUTSIDE] = 1 } };
	text = text_of(&j, 0);
	assert_has(text, "\nNFS request takes 9 ns at the client: 9 ns network\n");
	assert_has_not(text, "NFS requests");
	assert_has(text,
		   "\nnot joined: 1 of 1 served operation (1 outside the recorded time of the "
		   "client)\n");
	free(text);
	j.rows = &rows[1];
	text = text_of(&j, 0);
	assert_has(text, "\nNFS a\\x0ab takes 10 ns at the client: ");
	free(text);
	j.n_rows = 0;
	text = text_of(&j, 0);
	assert_has_not(text, "NFS");
	assert_has(text, "\nnot joined: 1 of 1 ");
	free(text);
}

static json_int_t figure(const json_t *row, const char *name)
{
	const json_t *value = json_object_get(row, name);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void json_has_sums(void **state)
{
	static const char *const whys[] = { "no_xid", "elsewhere", "outside", "alone", "longer" };
	struct join_row rows[3];
	struct join j = joined_of(rows);
	struct printed p;
	struct json json = {};
	json_t *all, *joined, *row, *strata;

	(void)state;
	printed_begin(&p);
	json.out = p.out;
	json_put_begin(&json, NULL, '{');
	joined_json(&json, &j);
	json_put_end(&json, '}');
	p.out = json.out;
	printed_end(&p);
	all = json_loads(p.text, 0, NULL);
	assert_non_null(all);
	joined = json_object_get(all, "joined");
	row = json_array_get(json_object_get(joined, "rows"), 0);
	strata = json_object_get(row, "strata");
	assert_int_equal(figure(row, "count"), 4);
	assert_int_equal(figure(row, "total_ns"), 4000);
	assert_int_equal(figure(row, "tag_ns"), 40);
	assert_int_equal(figure(row, "queue_ns"), 400);
	assert_int_equal(figure(row, "network_ns"), 1000);
	assert_int_equal(figure(strata, "device"), 2000);
	assert_int_equal(figure(strata, "lock"), 404); /* of the other server */
	assert_int_equal(figure(strata, "fs"), 0);
	assert_true(json_is_null(json_object_get(strata, "reap")));
	row = json_array_get(json_object_get(joined, "rows"), 2);
	assert_true(json_is_null(json_object_get(row, "op")));
	assert_true(json_is_null(json_object_get(json_object_get(row, "strata"), "lock")));
	for (int i = 0; i < JOIN_WHYS; i++)
		assert_int_equal(figure(json_object_get(joined, "requests"), whys[i]),
				 j.requests.unjoined[i]);
	assert_int_equal(figure(json_object_get(joined, "requests"), "count"), 1013);
	assert_int_equal(figure(json_object_get(joined, "served"), "alone"), 1);
	json_decref(all);
	free(p.text);
}

static struct joined one_make(void)
{
	struct joined one = { .client = "desk",
			      .served_by = "",
			      .server = "10.0.0.7",
			      .op = "READ",
			      .xid = 4294967295,
			      .start_ns = 7000000011,
			      .since_ns = 1000000011,
			      .served_from_ns = 9000000023,
			      .total_ns = 2310,
			      .tag_ns = 3,
			      .queue_ns = 7,
			      .network_ns = 800,
			      .served_ns = 1500,
			      .missing = MISSING };

	one.strata[ST_DEVICE] = 1099;
	one.strata[ST_LOCK] = 401;
	return one;
}

/* Returns the list of the one request @one, as text; the caller frees it. */
static char *listed(const struct joined *one, enum events_format format)
{
	struct printed p;

	printed_begin(&p);
	joined_events_head(&p.out, format);
	joined_events_put(&p.out, format, one);
	printed_end(&p);
	return p.text;
}

static void one_by_one_as_text(void **state)
{
	struct joined one = one_make();
	char *text = listed(&one, EVENTS_TEXT);

	(void)state;
	assert_string_equal(text,
			    "           TIME      TOOK       TAG     QUEUE   NETWORK    SERVED  "
			    "MOST OF SERVED    REQUEST         SERVER\n"
			    "    1.000000011   2.31 us      3 ns      7 ns    800 ns   1.50 us  "
			    "1.10 us device    READ            10.0.0.7\n");
	free(text);
	one.since_ns = -5;
	one.op = "";
	one.server = "\033[31m";
	text = listed(&one, EVENTS_TEXT);
	assert_has(text, "\n   -0.000000005 ");
	assert_has(text, " device    -               \\x1b[31m\n");
	free(text);
	one.op = "a\nb";
	one.server = "";
	text = listed(&one, EVENTS_TEXT);
	assert_has(text, " a\\x0ab          -\n");
	free(text);
}

static void one_by_one_as_json(void **state)
{
	struct joined one = one_make();
	char *text = listed(&one, EVENTS_JSON);
	char *line = strchr(text, '\n') + 1;
	json_t *j = json_loads(line, 0, NULL);

	(void)state;
	assert_has(text, "{\"schema\":\"iostrata.joined/1\"}\n{\"client\":\"desk\",");
	assert_non_null(j);
	assert_string_equal(json_string_value(json_object_get(j, "server")), "10.0.0.7");
	assert_true(json_is_null(json_object_get(j, "served_by")));
	assert_int_equal(figure(j, "xid"), 4294967295);
	assert_int_equal(figure(j, "start_ns"), 7000000011);
	assert_int_equal(figure(j, "served_from_ns"), 9000000023);
	assert_int_equal(figure(j, "total_ns"), 2310);
	assert_int_equal(figure(j, "network_ns"), 800);
	assert_int_equal(figure(j, "served_ns"), 1500);
	assert_int_equal(figure(j, "served_device_ns"), 1099);
	assert_int_equal(figure(j, "served_lock_ns"), 401);
	assert_int_equal(figure(j, "served_fs_ns"), 0);
	assert_true(json_is_null(json_object_get(j, "served_reap_ns")));
	json_decref(j);
	free(text);
}

static void one_by_one_as_csv(void **state)
{
	struct joined one = one_make();
	char *text;

	(void)state;
	for (int st = 0; st < ST_N; st++)
		one.strata[st] = st == ST_REAP ? 0 : 100 + st;
	text = listed(&one, EVENTS_CSV);
	assert_has(text, "client,server,served_by,op,xid,start_ns,served_from_ns,total_ns,tag_ns,"
			 "queue_ns,network_ns,served_ns,served_syscall_ns,");
	assert_has(text, ",served_server_ns,served_reap_ns\n"
			 "\"desk\",\"10.0.0.7\",,\"READ\",4294967295,7000000011,9000000023,2310,3,"
			 "7,800,1500,100,101,102,103,104,105,106,107,108,109,110,111,112,113,\n");
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_has_all_parts),
		cmocka_unit_test(text_says_what_is_left_out),
		cmocka_unit_test(what_is_not_joined_has_its_reasons),
		cmocka_unit_test(text_of_little),
		cmocka_unit_test(json_has_sums),
		cmocka_unit_test(one_by_one_as_text),
		cmocka_unit_test(one_by_one_as_json),
		cmocka_unit_test(one_by_one_as_csv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
