/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func_session.h - one run of probes on functions: chooses the functions, and probes, attaches,
 * reads and detaches them. Prints nothing.
 */
#ifndef IOSTRATA_FUNCS_FUNC_SESSION_H
#define IOSTRATA_FUNCS_FUNC_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/func.h"
#include "funcs/func_rows.h"

struct func_live;
struct func_session;
struct reason;

/* Settings of the command. */
struct func_session_conf {
	char **patterns;
	size_t n_patterns;
	const char *probe; /* a way to probe, by name; NULL: the best */
	enum func_rows rows;
	bool risk_exceptions;     /* trace programs that throw exceptions, too */
	bool subtract;            /* subtract the cost of the probes from all times */
	bool stats;               /* let the kernel measure the run time of our programs */
	bool follow;              /* trace only the process forked next, and its descendants */
	const unsigned int *pids; /* trace only these processes (tgid) */
	unsigned int n_pids;      /* 0: all */
	size_t max;               /* most functions; 0: any number */
	bool (*progress)(size_t done, size_t all); /* called while attaching; false: stop */
	/* Called for a process of @pids that does not use the file @path of a pattern; or NULL. */
	void (*unused)(unsigned int pid, const char *path);
};

/*
 * Lists the matching functions, with the reason if a function cannot be traced; probes nothing.
 * Free with func_list_free(). Returns 0, or -1 with @why: nothing matches, or a pattern is wrong.
 */
int func_session_list(const struct func_session_conf *conf, struct func_list *ret_list,
		      struct reason *why);

/* Probes the functions; all probes are live on return. Returns 0, or -1 with @why. The caller
 * closes @ret_session in both cases, since detaching a part of the functions may be slow, too. */
int func_session_open(const struct func_session_conf *conf, struct func_session **ret_session,
		      struct reason *why);
void func_session_close(struct func_session *s); /* detaches; NULL is fine */

/* The traced functions, the way they are probed, and the cost of a probe; live as long as the
 * session. */
const struct func_list *func_session_funcs(const struct func_session *s);
const char *func_session_probe(const struct func_session *s);
const struct func_cost *func_session_cost(const struct func_session *s);

/* Whether detaching is slow, as functions are probed. NULL: no. */
bool func_session_is_slow_to_close(const struct func_session *s);

/* Collects counts before they can wrap; call it at least every minute. */
void func_session_beat(struct func_session *s);

/* Takes the sums since the last call, or since the probes went live. The caller frees the rows with
 * func_snapshot_free(). Returns 0, or -1 with @why. */
int func_session_snapshot(struct func_session *s, struct func_snapshot *ret_sn, struct reason *why);

/* Lost calls, each counted once. */
struct func_losses {
	uint64_t last[FUNC_LOSS_N]; /* at the last look */
	uint64_t threads_before;    /* threads lost before the probes were live */
};

/* Takes the losses since the last call. The first call is made before the probes are live. @missed:
 * see func_missed(). @sessions: returns are traced only if their entry was counted. */
void func_losses_take(struct func_losses *l, const struct func_live *live, uint64_t missed,
		      bool sessions, uint64_t ret_lost[FUNC_LOSS_N]);

#endif
