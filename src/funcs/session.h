/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session.h - one run of probes on functions: which functions, how they are probed, attached,
 * read and detached. Nothing here prints.
 */
#ifndef IOSTRATA_FUNCS_SESSION_H
#define IOSTRATA_FUNCS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/func.h"
#include "funcs/rows.h"

struct func_live;
struct func_session;
struct reason;

/* What the command requests. */
struct func_session_conf {
	char **patterns;
	size_t n_patterns;
	const char *probe; /* how; NULL: the best there is */
	enum func_rows rows;
	bool risk_exceptions;     /* trace programs that throw exceptions, too */
	bool subtract;            /* what the probes cost is no part of any time */
	bool stats;               /* let the kernel time our programs */
	bool follow;              /* only the process forked next, and its descendants */
	const unsigned int *pids; /* only these thread groups */
	unsigned int n_pids;      /* 0: all */
	size_t max;               /* functions at most; 0: any number */
	bool (*progress)(size_t done, size_t all); /* of attaching; false: stop it */
};

/*
 * Lists the functions that match, with the reason for those that cannot be traced; probes nothing.
 * Free with func_list_free(). 0, or -1 with @why: nothing matches, or a pattern is wrong.
 */
int func_session_list(const struct func_session_conf *conf, struct func_list *ret_list,
		      struct reason *why);

/* Probes the functions; all probes are live on return. 0, or -1 with @why. The caller closes
 * @ret_session in both cases, since to detach what was attached by then may be slow, too. */
int func_session_open(const struct func_session_conf *conf, struct func_session **ret_session,
		      struct reason *why);
void func_session_close(struct func_session *s); /* detaches; NULL is fine */

/* The functions traced, and how; lives as long as the session. */
const struct func_list *func_session_funcs(const struct func_session *s);
const char *func_session_probe(const struct func_session *s);
const struct func_cost *func_session_cost(const struct func_session *s);

/* Whether detaching is slow: something is attached. NULL: no. */
bool func_session_is_slow_to_close(const struct func_session *s);

/* Call it at least every minute. */
void func_session_tick(struct func_session *s);

/* What was summed up since the last call (or since the probes went live). The caller owns the rows,
 * see func_snapshot_free(). 0, or -1 with @why. */
int func_session_snapshot(struct func_session *s, struct func_snapshot *ret_sn, struct reason *why);

/* Calls that were lost, each counted once. */

struct func_losses {
	uint64_t last[FUNC_LOSS_N]; /* at the last look */
	uint64_t threads_before;    /* of those, before the probes were live */
};

/* What was lost since the last look (the first is at the beginning, before the probes are live).
 * @missed: see func_missed(). @sessions: a return is seen only if the entry was counted. */
void func_losses_take(struct func_losses *l, const struct func_live *live, uint64_t missed,
		      bool sessions, uint64_t ret_lost[FUNC_LOSS_N]);

#endif
