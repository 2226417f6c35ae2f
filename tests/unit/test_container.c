// SPDX-License-Identifier: GPL-2.0-only
/* Containers in paths of cgroups, as those who start them make the paths (container.c names the
 * sources) and as nobody does; and rows by cgroup that become rows by container. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hist.h"
#include "host/container.h"
#include "host/container_names.h"

#define ID         "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define ID2        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID        "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
#define UNIT_UID   "0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9"
#define STATIC_UID "89f4f2cb511c3b0b7e5272cff5ec37bf"

static const struct {
	const char *path, *id, *runtime, *pod; /* id NULL: none; runtime and pod NULL: not told */
} paths[] = {
	{ "/", NULL, NULL, NULL },
	{ "/init.scope", NULL, NULL, NULL },
	{ "/user.slice/user-0.slice/session-1.scope", NULL, NULL, NULL },
	{ "/system.slice/docker.service", NULL, NULL, NULL },
	{ "/system.slice/docker-" ID ".scope", ID, "docker", NULL },
	{ "/system.slice/docker-" ID ".scope/system.slice/sshd.service", ID, "docker", NULL },
	{ "/docker/" ID, ID, "docker", NULL },
	{ "/docker/" ID "/init.scope", ID, "docker", NULL },
	{ "/docker", NULL, NULL, NULL },
	{ "/docker/buildkit/i2gxs1ro8ttkpyvvlqe5pxcxd", NULL, NULL, NULL },
	{ "/actions_job/" ID, ID, NULL, NULL }, /* docker run --cgroup-parent */
	{ "/system.slice/nerdctl-" ID ".scope", ID, "containerd", NULL },
	{ "/default/" ID, ID, NULL, NULL }, /* nerdctl, cgroupfs: the namespace of containerd */
	{ "/machine.slice/libpod-" ID ".scope", ID, "podman", NULL },
	{ "/machine.slice/libpod-" ID ".scope/container", ID, "podman", NULL },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container",
	  ID, "podman", NULL },
	{ "/system.slice/nginx.service/libpod-payload-" ID, ID, "podman", NULL },
	{ "/system.slice/nginx.service/runtime", NULL, NULL, NULL },
	{ "/machine.slice/libpod-conmon-" ID ".scope", NULL, NULL, NULL },
	{ "/libpod_parent/libpod-" ID, ID, "podman", NULL },
	{ "/libpod_parent/conmon", NULL, NULL, NULL },
	{ "/libpod_parent/" ID2, NULL, NULL, NULL },
	{ "/libpod_parent/" ID2 "/libpod-" ID, ID, "podman", ID2 },
	{ "/machine.slice/machine-libpod_pod_" ID2 ".slice/libpod-" ID ".scope/container", ID,
	  "podman", ID2 },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UNIT_UID
	  ".slice/cri-containerd-" ID ".scope",
	  ID, "containerd", UID },
	{ "/kubepods.slice/kubepods-pod" UNIT_UID ".slice/cri-containerd-" ID ".scope", ID,
	  "containerd", UID },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UNIT_UID
	  ".slice/crio-" ID ".scope/container",
	  ID, "cri-o", UID },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UNIT_UID
	  ".slice/crio-conmon-" ID ".scope",
	  NULL, NULL, NULL },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC_UID
	  ".slice/docker-" ID ".scope",
	  ID, "docker", STATIC_UID },
	{ "/kubepods/burstable/pod" UID "/" ID, ID, NULL, UID },
	{ "/kubepods/pod" STATIC_UID "/" ID, ID, NULL, STATIC_UID },
	{ "/kubepods/besteffort/pod" UID "/crio-" ID, ID, "cri-o", UID },
	{ "/kubepods/burstable/pod" UID, NULL, NULL, NULL },
	{ "/kubepods/burstable/pod1", NULL, NULL, NULL },
	/* a node of Kubernetes that is a container itself: the innermost */
	{ "/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	  "kubelet-kubepods-besteffort-pod" UNIT_UID ".slice/cri-containerd-" ID ".scope",
	  ID, "containerd", UID },
	{ "/docker/" ID2 "/kubelet/kubepods/besteffort/pod" UID "/" ID, ID, NULL, UID },
	{ "/pod" UID "/" ID, ID, NULL, NULL }, /* not of Kubernetes */
	{ "/lxc.payload.web/init.scope", "web", "lxc", NULL },
	{ "/lxc.payload/web", "web", "lxc", NULL },
	{ "/lxc.payload.web/docker/" ID, ID, "docker", NULL },
	{ "/lxc/101/ns/system.slice", "101", "lxc", NULL },
	{ "/lxc.monitor.web", NULL, NULL, NULL },
	{ "/lxc.monitor/101", NULL, NULL, NULL },
	{ "/lxc/", NULL, NULL, NULL },
	{ "/lxc.payload.", NULL, NULL, NULL },
	{ "/machine.slice/machine-arch.scope/payload", "arch", "systemd", NULL },
	{ "/machine.slice/machine-my\\x2dbox.scope", "my-box", "systemd", NULL },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "qemu-1-vm", "systemd", NULL },
	{ "/machine.slice/systemd-nspawn@my-box.service/payload/init.scope", "my-box", "systemd",
	  NULL },
	{ "/machine.slice/machine-arch.service", NULL, NULL, NULL },
	{ "/machine.slice/machine-.scope", NULL, NULL, NULL },
	{ "/machine.slice/systemd-nspawn@.service", NULL, NULL, NULL },
};

static void check(const char *path, const char *id, const char *runtime, const char *pod)
{
	struct container c = { .id = "untouched" };

	assert_int_equal(container_find(path, &c), !!id);
	assert_string_equal(c.id, id ? id : "untouched");
	assert_string_equal(c.runtime ? c.runtime : "", runtime ? runtime : "");
	assert_string_equal(c.pod, pod ? pod : "");
	assert_true(!id || c.shown == (strlen(id) == 64 ? 12 : strlen(id)));
}

static void test_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		check(paths[i].path, paths[i].id, paths[i].runtime, paths[i].pod);
}

/* Texts that almost are ids, and names made to do harm. */
static void test_hostile(void **state)
{
	char path[70000], name[300];

	(void)state;
	check("", NULL, NULL, NULL);
	check("cgroup 12", NULL, NULL, NULL);  /* of lookup_cgroup(): it is gone */
	check("docker/" ID, NULL, NULL, NULL); /* no path from the root */
	check("/docker/" ID "0", NULL, NULL, NULL);
	check("/docker-"
	      "FEDCBA9876543210FEDCBA9876543210FEDCBA9876543210FEDCBA9876543210",
	      NULL, NULL, NULL);
	check("/docker-docker-" ID, NULL, NULL, NULL);
	check("/../docker/" ID "/..", ID, "docker", NULL);
	check("//docker///" ID "//", ID, "docker", NULL);
	check("/lxc/../x", "..", "lxc", NULL);
	check("/lxc.payload.a\033[2J\xff\n", "a\033[2J\xff\n", "lxc", NULL);
	/* no NUL, no slash, and nothing half */
	check("/machine-a\\x00b\\x2fc\\x1b\\x\\x4\\xZZ\\.scope", "a\\x00b\\x2fc\033\\x\\x4\\xZZ\\",
	      "systemd", NULL);
	check("/machine-\\x41.scope", "A", "systemd", NULL);
	check("/kubepods.slice/kubepods-pod.slice/cri-containerd-" ID ".scope", ID, "containerd",
	      NULL);
	check("/kubepods/pod../" ID, ID, NULL, NULL);
	/* the longest name that a directory can have, and one more */
	memset(name, 'n', sizeof(name));
	for (int len = 255; len <= 256; len++) {
		name[len] = '\0';
		snprintf(path, sizeof(path), "/lxc.payload/%s", name);
		check(path, len == 255 ? name : NULL, len == 255 ? "lxc" : NULL, NULL);
		name[len] = 'n';
	}
	/* a pod's id has its limit, too */
	memset(name, 'a', sizeof(name));
	for (int len = 64; len <= 65; len++) {
		name[len] = '\0';
		snprintf(path, sizeof(path), "/kubepods/pod%s/" ID, name);
		check(path, ID, NULL, len == 64 ? name : NULL);
		name[len] = 'a';
	}
	/* very long, of empty parts and of many */
	memset(path, '/', sizeof(path));
	strcpy(path + sizeof(path) - sizeof("docker/" ID), "docker/" ID);
	check(path, ID, "docker", NULL);
	for (size_t i = 0; i < 60000; i++)
		path[i] = "/a-pod"[i % 6];
	strcpy(path + 60000, ".slice/docker/" ID);
	check(path, ID, "docker", NULL);
}

static void fill_op(struct op_row *r, unsigned long long cgroup, const char *path, enum op_kind op,
		    uint64_t count, uint64_t each_ns)
{
	*r = (struct op_row){ .key = { .fs = 17, .op = op, .by = { cgroup } },
			      .fs = "ext4",
			      .by = strdup(path),
			      .count = count,
			      .errors = 1,
			      .bytes = count * 512,
			      .total_ns = count * each_ns,
			      .max_ns = each_ns,
			      .missing_layers = 1U << ST_VFS };
	r->strata[ST_DEVICE] = r->total_ns;
	assert_int_equal(hist_add(&r->hist, hist_bucket(each_ns), count), 0);
}

static void fill_rq(struct rq_row *r, unsigned long long cgroup, const char *path, uint64_t count)
{
	*r = (struct rq_row){ .key = { .dev = 8 << 20, .by = { cgroup } },
			      .disk = "sda",
			      .major = 8,
			      .by = path ? strdup(path) : NULL,
			      .count = count,
			      .bytes = count * 512,
			      .device_ns = count * 1000,
			      .max_ns = 1000 };
	assert_int_equal(hist_add(&r->hist, hist_bucket(1000), count), 0);
}

enum { OPS = 9, RQS = 6 };

static void sample(struct snapshot *sn)
{
	struct op_row *op = calloc(OPS, sizeof(*op));
	struct rq_row *rq = calloc(RQS, sizeof(*rq));

	assert_true(op && rq);
	*sn = (struct snapshot){
		.ops = op, .n_ops = OPS, .rqs = rq, .n_rqs = RQS, .duration_ns = 1000
	};
	fill_op(op++, 11, "/docker/" ID "/a", OP_READ, 23, 1000);
	fill_op(op++, 12, "/docker/" ID "/b", OP_READ, 41, 2000);
	fill_op(op++, 12, "/docker/" ID "/b", OP_WRITE, 7, 2000);
	fill_op(op++, 13, "/lxc/" CONTAINER_NONE, OP_READ, 5, 1000);
	fill_op(op++, 1, "/", OP_READ, 101, 1000);
	fill_op(op++, 14, "/user.slice", OP_READ, 103, 3000);
	fill_op(op++, 15, "cgroup 15", OP_READ, 3, 1000);
	fill_op(op++, 16, "cgroup 16", OP_READ, 2, 1000);
	fill_op(op++, 17, "/gone", OP_READ, 0, 1000);
	fill_rq(rq++, 12, "/docker/" ID "/b", 13);
	fill_rq(rq++, 11, "/docker/" ID "/a", 17);
	fill_rq(rq++, 18, "/docker/" ID2, 19);
	fill_rq(rq++, 14, "/user.slice", 29);
	fill_rq(rq++, 15, "cgroup 15", 31);
	fill_rq(rq++, 0, NULL, 37);
}

static const struct op_row *op_of(const struct snapshot *sn, const char *by, enum op_kind op,
				  bool contained)
{
	for (size_t i = 0; i < sn->n_ops; i++)
		if (!strcmp(sn->ops[i].by, by) && sn->ops[i].key.op == op &&
		    sn->ops[i].contained == contained)
			return &sn->ops[i];
	fail_msg("no row of %s", by);
	return NULL;
}

static const struct rq_row *rq_of(const struct snapshot *sn, const char *by)
{
	for (size_t i = 0; i < sn->n_rqs; i++)
		if (by ? sn->rqs[i].by && !strcmp(sn->rqs[i].by, by) : !sn->rqs[i].by)
			return &sn->rqs[i];
	fail_msg("no row of %s", by);
	return NULL;
}

static void test_rows(void **state)
{
	const struct op_row *op;
	const struct rq_row *rq;
	struct snapshot sn;

	(void)state;
	sample(&sn);
	/* rows which have no key of --by stay as they are */
	sn.servers = calloc(1, sizeof(*sn.servers));
	sn.helpers = calloc(1, sizeof(*sn.helpers));
	sn.sites = calloc(1, sizeof(*sn.sites));
	assert_true(sn.servers && sn.helpers && sn.sites);
	sn.n_servers = sn.n_helpers = sn.n_sites = 1;
	sn.servers[0].sums.count = 13;
	assert_int_equal(container_rows(&sn, NULL), 0);
	assert_int_equal(sn.n_ops, 6);
	assert_int_equal(sn.n_rqs, 5);
	assert_true(sn.n_servers == 1 && sn.n_helpers == 1 && sn.n_sites == 1);
	assert_int_equal(sn.servers[0].sums.count, 13);
	assert_int_equal(sn.duration_ns, 1000);
	assert_int_equal(sn.unnamed_cgroups, 2);
	op = op_of(&sn, ID, OP_READ, true);
	assert_string_equal(container_of_row(op->by, op->contained)->runtime, "docker");
	assert_string_equal(op->fs, "ext4");
	assert_int_equal(op->count, 64);
	assert_int_equal(op->errors, 2);
	assert_int_equal(op->bytes, 64 * 512);
	assert_int_equal(op->total_ns, 23 * 1000 + 41 * 2000);
	assert_int_equal(op->strata[ST_DEVICE], op->total_ns);
	assert_int_equal(op->max_ns, 2000);
	assert_int_equal(op->missing_layers, 1U << ST_VFS);
	assert_int_equal(op->hist.n, 2);
	assert_int_equal(op->hist.bins[0].count, 23);
	assert_int_equal(op->hist.bins[1].count, 41);
	assert_int_equal(op_of(&sn, ID, OP_WRITE, true)->count, 7);
	/* one that is called as those outside are is not one of them */
	assert_int_equal(op_of(&sn, CONTAINER_NONE, OP_READ, true)->count, 5);
	assert_int_equal(op_of(&sn, CONTAINER_NONE, OP_READ, false)->count, 204);
	assert_int_equal(op_of(&sn, "cgroup 15", OP_READ, false)->count, 3);
	assert_int_equal(op_of(&sn, "cgroup 16", OP_READ, false)->count, 2);
	rq = rq_of(&sn, ID);
	assert_int_equal(rq->count, 30);
	assert_int_equal(rq->device_ns, 30000);
	assert_string_equal(rq->disk, "sda");
	assert_int_equal(rq->major, 8);
	/* the same key as its operations */
	assert_int_equal(rq->key.by[0], op->key.by[0]);
	assert_int_equal(rq_of(&sn, ID2)->count, 19);
	assert_int_equal(rq_of(&sn, CONTAINER_NONE)->count, 29);
	assert_false(rq_of(&sn, CONTAINER_NONE)->contained);
	assert_int_equal(rq_of(&sn, "cgroup 15")->count, 31);
	assert_int_equal(rq_of(&sn, NULL)->count, 37); /* nobody's stay nobody's */
	snapshot_free(&sn);
}

static void test_no_rows(void **state)
{
	struct snapshot sn = {};

	(void)state;
	assert_int_equal(container_rows(&sn, NULL), 0);
	assert_int_equal(sn.n_ops + sn.n_rqs, 0);
	snapshot_free(&sn);
}

static void make_file(const char *root, const char *path, const char *text)
{
	char name[512];
	FILE *f;

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *at = name + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(name, 0700);
		*at = '/';
	}
	f = fopen(name, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct container name_of(struct container_names *n, const char *cgroup)
{
	struct container c;

	assert_true(container_find(cgroup, &c));
	container_names_find(n, &c);
	return c;
}

#define STORAGE "/var/lib/containers/storage"
#define ID3     "00000000000000000000000000000000000000000000000000000000000000aa"
#define ID4     "00000000000000000000000000000000000000000000000000000000000000ab"
#define ID6     "00000000000000000000000000000000000000000000000000000000000000ad"
#define ID5     "00000000000000000000000000000000000000000000000000000000000000ac"

static void test_names(void **state)
{
	char root[] = "/tmp/iostrata-names-XXXXXX", command[64];
	struct container_names n = { .root = root };
	struct container c;

	(void)state;
	assert_non_null(mkdtemp(root));
	/* not what they are to be */
	make_file(root, "/var/log/containers/a_b_c.log", "");
	make_file(root, "/var/log/containers/a_b-" ID ".log", "");
	make_file(root, "/var/log/containers/-" ID ".log", "");
	make_file(root, "/var/log/containers/web-1_shop_nginx-" ID ".log", "");
	make_file(root, "/var/lib/docker/containers/" ID2 "/config.v2.json", "{\"Name\":\"/db\"}");
	make_file(root, "/var/lib/docker/containers/" ID3 "/config.v2.json", "{\"Name\":[7]");
	make_file(root, STORAGE "/overlay-containers/containers.json",
		  "[7,{\"id\":3},{\"id\":\"mine\",\"names\":[\"no id\"]},{\"id\":\"" ID3
		  "\",\"names\":[\"pod\",\"b\"]}]");
	/* as podman run --rm has it, and another driver */
	make_file(root, STORAGE "/overlay-containers/volatile-containers.json",
		  "[{\"id\":\"" ID4 "\",\"names\":[\"short\"]}]");
	make_file(root, STORAGE "/vfs-containers/containers.json",
		  "[{\"id\":\"" ID5 "\",\"names\":[\"copied\"]}]");
	c = name_of(&n, "/kubepods/burstable/pod" UID "/" ID);
	assert_string_equal(c.title, "shop/web-1/nginx");
	assert_string_equal(c.space, "shop");
	assert_string_equal(c.pod_name, "web-1");
	assert_string_equal(c.name, "nginx");
	c = name_of(&n, "/docker/" ID2);
	assert_string_equal(c.title, "db");
	assert_string_equal(c.pod_name, "");
	c = name_of(&n, "/machine.slice/libpod-" ID3 ".scope");
	assert_string_equal(c.title, "pod");
	c = name_of(&n, "/libpod_parent/libpod-" ID4);
	assert_string_equal(c.title, "short");
	c = name_of(&n, "/libpod_parent/libpod-" ID5);
	assert_string_equal(c.title, "copied");
	/* a new one is looked for again, but not at once */
	make_file(root, "/var/log/containers/web-2_shop_late-" ID6 ".log", "");
	c = name_of(&n, "/kubepods/burstable/pod" UID "/" ID6);
	assert_string_equal(c.title, "");
	n.read_ns = 1;
	c = name_of(&n, "/kubepods/burstable/pod" UID "/" ID6);
	assert_string_equal(c.title, "shop/web-2/late");
	/* one with a name of its own, and one without files */
	c = name_of(&n, "/lxc.payload.mine");
	assert_string_equal(c.title, "");
	container_names_done(&n);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
	n = (struct container_names){ .root = root };
	c = name_of(&n, "/docker/" ID2);
	assert_string_equal(c.title, "");
	container_names_done(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_rows),  cmocka_unit_test(test_no_rows),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
