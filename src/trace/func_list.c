// SPDX-License-Identifier: GPL-2.0-only
/* func_list.c - which functions would be traced, and why others would not; see func_session.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/funcs.h"
#include "base/reason.h"
#include "trace/feature.h"
#include "trace/func_find.h"
#include "trace/func_link.h"
#include "trace/func_load.h"
#include "trace/func_session.h"

static void refuse_all(struct func_list *l, const char *refused)
{
	for (size_t i = 0; i < l->n; i++)
		if (!l->at[i].refused)
			l->at[i].refused = refused;
}

/* Those that have no type, where it is needed: with --probe only, else there is another way. */
static void untyped_refuse(struct func_list *l, struct feature *f)
{
	const char **names = calloc(l->n, sizeof(*names));
	unsigned int type;
	int n = 0, fd;

	for (size_t i = 0; names && i < l->n; i++)
		if (!*l->at[i].where)
			names[n++] = l->at[i].name;
	if (names)
		feature_look_for(f, names, n);
	free(names);
	for (size_t i = 0; i < l->n; i++) {
		struct func *fn = &l->at[i];

		if (!fn->refused && feature_function(f, fn->name, fn->where, &type, &fd))
			fn->refused = func_why_refused(-ENOENT);
	}
}

/* Without the permission to look, nothing is said. */
static void kernel_explain(struct func_list *l, const char *probe)
{
	const struct func_method *how = probe ? func_method_find(probe) : NULL;
	struct feature f = {};
	struct reason why;

	if (feature_probe(&f, &why)) {
		feature_done(&f);
		return;
	}
	if (f.no_functions[0])
		refuse_all(l, func_list_place(l, f.no_functions, strlen(f.no_functions)));
	else if (how && how->attach_type && func_is_each(how))
		untyped_refuse(l, &f);
	feature_done(&f);
}

int func_session_list(const struct func_session_conf *conf, struct func_list *ret_list,
		      struct reason *why)
{
	struct func_list l = {};
	bool user;

	if (func_find(conf, true, &l, &user, why)) {
		func_list_free(&l);
		return -1;
	}
	if (!user)
		kernel_explain(&l, conf->probe);
	else if (access("/sys/bus/event_source/devices/uprobe/type", F_OK))
		refuse_all(&l, "this kernel has no uprobes");
	*ret_list = l;
	return 0;
}
