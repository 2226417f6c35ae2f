// SPDX-License-Identifier: GPL-2.0-only
/*
 * container.c - finds containers by the paths of cgroups, as container runtimes make them.
 *
 * ID is 64 hexadecimal digits, UID a pod's (in names of units with _ for -), NAME anything:
 *
 *	docker-ID.scope			docker: moby, daemon/oci_linux.go (cgroup driver systemd)
 *	docker/ID			the same (cgroupfs); with --cgroup-parent=P it is P/ID
 *	cri-containerd-ID.scope		containerd for Kubernetes: internal/cri/server/helpers.go
 *	nerdctl-ID.scope		containerd: nerdctl, pkg/cmd/container/run_cgroup_linux.go
 *	crio-ID.scope, crio-ID		CRI-O: internal/config/cgmgr
 *	libpod-ID.scope, libpod-ID	podman: libpod/container_internal_linux.go; its monitor,
 *					libpod-conmon-ID.scope, is no container (nor is CRI-O's)
 *	libpod-payload-ID		podman run --cgroups=split, as units of systemd have it
 *	lxc.payload.NAME, lxc/NAME	LXC: src/lxc/cgroups/cgroup.h; lxc.payload/NAME in its 3.1
 *	machine-NAME.scope		systemd: src/machine/machine.c; also virtual machines
 *	systemd-nspawn@NAME.service	systemd: units/systemd-nspawn@.service
 *	ID				an ID alone: of an unknown runtime
 *
 * Pods: kubelet, pkg/kubelet/cm/cgroup_manager_linux.go and pod_container_manager_linux.go (a
 * guaranteed pod has no class): kubepods/burstable/podUID, or kubepods-burstable-podUID.slice;
 * podman, libpod/pod_internal.go and runtime_pod_linux.go: libpod_parent/ID, or
 * machine-libpod_pod_ID.slice.
 */
#include "host/container.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/rows.h"
#include "base/snapshot.h"
#include "host/container_names.h"

enum { ID_DIGITS = 64, ID_SHOWN = 12 };

enum runtime { DOCKER, CONTAINERD, CRI_O, PODMAN, LXC, SYSTEMD, RUNTIMES };

static const char *const runtimes[RUNTIMES] = { "docker", "containerd", "cri-o",
						"podman", "lxc",        "systemd" };

const struct word_list runtime_words = { .list = runtimes, .to = RUNTIMES };

/* One name in a path. */
struct part {
	const char *s;
	size_t len;
};

static bool part_is(struct part p, const char *text)
{
	return p.len == strlen(text) && !memcmp(p.s, text, p.len);
}

/* Removes @text from the front or the end of @p. Returns false if @p does not have @text there. */
static bool part_take(struct part *p, const char *text)
{
	size_t n = strlen(text);

	if (p->len < n || memcmp(p->s, text, n))
		return false;
	*p = (struct part){ p->s + n, p->len - n };
	return true;
}

/* Removes everything up to the first @text, and @text. Returns false if @p does not have @text. */
static bool part_skip(struct part *p, const char *text)
{
	const char *at = memmem(p->s, p->len, text, strlen(text));

	if (!at)
		return false;
	at += strlen(text);
	*p = (struct part){ at, p->len - (size_t)(at - p->s) };
	return true;
}

static bool part_drop(struct part *p, const char *text)
{
	size_t n = strlen(text);

	if (p->len < n || memcmp(p->s + p->len - n, text, n))
		return false;
	p->len -= n;
	return true;
}

static bool all_of(struct part p, const char *chars)
{
	for (size_t i = 0; i < p.len; i++)
		if (!p.s[i] || !strchr(chars, p.s[i]))
			return false;
	return true;
}

static bool is_id(struct part p)
{
	return p.len == ID_DIGITS && all_of(p, "0123456789abcdef");
}

/* The UID of a Kubernetes pod, with - or, for systemd, _. The UID of a static pod has no dashes. */
static bool is_uid(struct part p)
{
	return p.len >= 32 && p.len < CONTAINER_POD_CAP && all_of(p, "0123456789abcdef-_");
}

static unsigned int digit(char c)
{
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* The byte of an escape of systemd (\x2d) at @s, or 0 if there is no escape. systemd never escapes
 * a NUL or a slash. */
static char unescaped(const char *s, size_t len)
{
	char c;

	if (len < 4 || s[0] != '\\' || s[1] != 'x' || !isxdigit((unsigned char)s[2]) ||
	    !isxdigit((unsigned char)s[3]))
		return 0;
	c = (char)(digit(s[2]) << 4 | digit(s[3]));
	return c == '/' ? 0 : c;
}

/* Returns false if the name is empty or too long. */
static bool name_set(struct container *c, struct part p, const char *runtime)
{
	char byte;

	if (!p.len || p.len >= CONTAINER_ID_CAP)
		return false;
	c->shown = 0;
	for (size_t i = 0; i < p.len; i++) {
		byte = unescaped(p.s + i, p.len - i);
		i += byte ? 3 : 0;
		c->id[c->shown++] = byte ? byte : p.s[i];
	}
	c->id[c->shown] = '\0';
	c->runtime = runtime;
	return true;
}

/* A container whose name in the path has an ID. */
static bool find_id(struct part p, struct part above, struct container *ret)
{
	static const struct {
		const char *before;
		enum runtime runtime;
	} starters[] = {
		{ "docker-", DOCKER },         { "cri-containerd-", CONTAINERD },
		{ "nerdctl-", CONTAINERD },    { "crio-", CRI_O },
		{ "libpod-payload-", PODMAN }, { "libpod-", PODMAN },
	};
	const char *runtime = part_is(above, "docker") ? runtimes[DOCKER] : NULL;

	part_drop(&p, ".scope");
	for (size_t i = 0; i < sizeof(starters) / sizeof(*starters); i++) {
		if (!part_take(&p, starters[i].before))
			continue;
		runtime = runtimes[starters[i].runtime];
		break;
	}
	if (!is_id(p))
		return false;
	memcpy(ret->id, p.s, p.len);
	ret->id[p.len] = '\0';
	ret->runtime = runtime;
	ret->shown = ID_SHOWN;
	return true;
}

/* A container whose name in the path has a NAME. */
static bool find_name(struct part p, struct part above, struct container *ret)
{
	static const struct {
		const char *before, *after;
		enum runtime runtime;
	} starters[] = {
		{ "lxc.payload.", "", LXC },
		{ "machine-", ".scope", SYSTEMD },
		{ "systemd-nspawn@", ".service", SYSTEMD },
	};

	for (size_t i = 0; i < sizeof(starters) / sizeof(*starters); i++) {
		struct part name = p;

		if (part_take(&name, starters[i].before) && part_drop(&name, starters[i].after))
			return name_set(ret, name, runtimes[starters[i].runtime]);
	}
	return (part_is(above, "lxc") || part_is(above, "lxc.payload")) &&
	       name_set(ret, p, runtimes[LXC]);
}

/* Always true. */
static bool pod_set(struct container *ret, struct part p)
{
	for (size_t i = 0; i < p.len; i++)
		ret->pod[i] = p.s[i] == '_' ? '-' : p.s[i];
	ret->pod[p.len] = '\0';
	return true;
}

/* Whether @p is a pod. */
static bool find_pod(struct part p, struct part above, bool in_kubepods, struct container *ret)
{
	struct part name;

	if (!part_drop(&p, ".slice")) {
		if (part_is(above, "libpod_parent") && is_id(p))
			return pod_set(ret, p);
		return in_kubepods && part_take(&p, "pod") && is_uid(p) && pod_set(ret, p);
	}
	name = p;
	if (part_skip(&name, "libpod_pod_") && is_id(name))
		return pod_set(ret, name);
	/* the text before the pod depends on its class and on the kubelet's root cgroup */
	while (in_kubepods && part_skip(&p, "-pod"))
		if (is_uid(p))
			return pod_set(ret, p);
	return false;
}

/* "kubepods", "kubepods.slice", "kubelet-kubepods.slice". */
static bool is_kubepods(struct part p)
{
	part_drop(&p, ".slice");
	return part_drop(&p, "kubepods");
}

bool container_find(const char *cgroup, struct container *ret)
{
	struct container c = {}, inner = {};
	struct part p = { cgroup, 0 }, above = {};
	bool in_kubepods = false, found = false;

	if (!container_is_path(cgroup))
		return false;
	for (; *p.s; above = p, p.s += p.len) {
		p.s += strspn(p.s, "/");
		p.len = strcspn(p.s, "/");
		in_kubepods |= is_kubepods(p);
		if (find_pod(p, above, in_kubepods, &c))
			continue;
		if (!find_id(p, above, &c) && !find_name(p, above, &c))
			continue;
		inner = c;
		found = true;
	}
	if (found)
		*ret = inner;
	return found;
}

/* A container, or all processes outside of containers: rows are joined by this. */
struct owner {
	unsigned long long number; /* in keys: the id of the first of its cgroups */
	bool has_container;
	struct container container;
	char *text; /* not owned */
	UT_hash_handle hh;
	char name[]; /* of a container its id; else "", or '/' and the text:
		      * no id begins so */
};

struct joining {
	struct rows rows;
	struct container_names *names;
	struct owner *owners;
	uint64_t unnamed;
};

/* Returns NULL if out of memory. */
static struct owner *owner_find(struct joining *j, const char *before, const char *name)
{
	struct owner *o, *new = calloc(1, sizeof(*new) + strlen(before) + strlen(name) + 1);

	if (!new)
		return NULL;
	strcpy(stpcpy(new->name, before), name);
	HASH_FIND_STR(j->owners, new->name, o);
	if (o) {
		free(new);
		return o;
	}
	HASH_ADD_STR(j->owners, name, new);
	return new;
}

/* The owner of the cgroup @id with this text. Returns NULL if out of memory. */
static const struct owner *owner_of(struct joining *j, unsigned long long id, char *text)
{
	struct container c;
	bool has_container = container_find(text, &c), is_path = container_is_path(text);
	struct owner *o;

	if (has_container)
		o = owner_find(j, "", c.id);
	else
		o = owner_find(j, is_path ? "" : "/", is_path ? "" : text);
	if (!o || o->text)
		return o;
	o->number = id;
	o->has_container = has_container;
	if (has_container && j->names)
		container_names_find(j->names, &c);
	if (has_container)
		o->container = c;
	else
		j->unnamed += !is_path;
	o->text = text;
	return o;
}

/* Names a new row; without an owner it has no name. Returns 0 or -ENOMEM. */
static int row_begin(const struct owner *o, char **ret_by, bool *ret_contained)
{
	struct container *c;

	if (!o)
		return 0;
	*ret_contained = o->has_container;
	if (!o->has_container) {
		*ret_by = strdup(o->name[0] ? o->text : CONTAINER_NONE);
		return *ret_by ? 0 : -ENOMEM;
	}
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = o->container;
	*ret_by = c->id; /* see container_of_row() */
	return 0;
}

static int op_join(struct joining *j, const struct op_row *from)
{
	const struct owner *o = from->by ? owner_of(j, from->key.by[0], from->by) : NULL;
	struct op_key key = from->key;
	struct op_row *row;

	if (from->by && !o)
		return -ENOMEM;
	if (o)
		key.by[0] = o->number;
	row = rows_op(&j->rows, &key);
	if (!row || (!row->count && row_begin(o, &row->by, &row->contained)))
		return -ENOMEM;
	memcpy(row->fs, from->fs, sizeof(row->fs));
	row->missing_layers = from->missing_layers;
	return op_row_merge(row, from);
}

static int rq_join(struct joining *j, const struct rq_row *from)
{
	const struct owner *o = from->by ? owner_of(j, from->key.by[0], from->by) : NULL;
	struct rq_key key = from->key;
	struct rq_row *row;

	if (from->by && !o)
		return -ENOMEM;
	if (o)
		key.by[0] = o->number;
	row = rows_rq(&j->rows, &key);
	if (!row || (!row->count && row_begin(o, &row->by, &row->contained)))
		return -ENOMEM;
	memcpy(row->disk, from->disk, sizeof(row->disk));
	row->major = from->major;
	row->minor = from->minor;
	return rq_row_merge(row, from);
}

static void owners_done(struct owner *owners)
{
	struct owner *o, *next;

	HASH_ITER (hh, owners, o, next) {
		HASH_DEL(owners, o);
		free(o);
	}
}

int container_rows(struct snapshot *sn, struct container_names *names)
{
	struct snapshot old = {
		.ops = sn->ops, .n_ops = sn->n_ops, .rqs = sn->rqs, .n_rqs = sn->n_rqs
	};
	struct snapshot joined = {};
	struct joining j = { .names = names };
	int err = 0;

	for (size_t i = 0; i < sn->n_ops && !err; i++)
		err = sn->ops[i].count ? op_join(&j, &sn->ops[i]) : 0;
	for (size_t i = 0; i < sn->n_rqs && !err; i++)
		err = sn->rqs[i].count ? rq_join(&j, &sn->rqs[i]) : 0;
	owners_done(j.owners);
	if (err) {
		rows_done(&j.rows);
		return err;
	}
	rows_take(&j.rows, &joined);
	sn->ops = joined.ops;
	sn->n_ops = joined.n_ops;
	sn->rqs = joined.rqs;
	sn->n_rqs = joined.n_rqs;
	sn->unnamed_cgroups = j.unnamed;
	snapshot_free(&old);
	return 0;
}
