// SPDX-License-Identifier: GPL-2.0-only
#include "trace/fsprobes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/protocols.h"
#include "bpf/conf.h"
#include "cell.h"
#include "host/mounts.h"
#include "trace/feature.h"
#include "trace/feature_types.h"
#include "trace/fsfuncs.h"
#include "trace/links.h"

enum { MAX_FS = 24, MAX_KNOWN = 4 * MAX_FS };

struct fsprobes {
	struct fs_templates templates;
	struct feature *feat;
	const struct fs_entry *seen;
	const char *only;
	const struct filter_lists *disks; /* NULL: all */
	struct links links;               /* kprobes */
	/* descriptors, alternately a program loaded from a template and its link */
	int clones[MAX_LINKS];
	int n_clones;
	struct {
		char function[FUNC_NAME_LEN];
		/* of the function, if only kprobes probe it: a kprobe does not keep its module
		 * loaded; "": none */
		char module[FUNC_NAME_LEN];
	} probed[MAX_LINKS];
	int n_probed;
	struct {
		char name[FS_NAME_LEN];
		unsigned int methods; /* probed methods: set of 1 << enum fs_method */
	} types[MAX_FS];
	int n_types;
	unsigned long long known[MAX_KNOWN]; /* file system types already */
	int n_known;
};

static bool is_probed(const struct fsprobes *p, const char *function)
{
	for (int i = 0; i < p->n_probed; i++)
		if (!strcmp(p->probed[i].function, function))
			return true;
	return false;
}

/* Loads @template again, for another function. Returns a descriptor or -errno. */
static int template_load(struct fsprobes *p, const struct bpf_program *template,
			 const char *function, const char *module)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	unsigned int id;
	int btf_fd, err;

	err = feature_function(p->feat, function, module, &id, &btf_fd);
	if (err)
		return err;
	opts.expected_attach_type = bpf_program__expected_attach_type(template);
	opts.attach_btf_id = id;
	opts.attach_btf_obj_fd = btf_fd;
	return bpf_prog_load(BPF_PROG_TYPE_TRACING, bpf_program__name(template), "GPL",
			     bpf_program__insns(template), bpf_program__insn_cnt(template), &opts);
}

/* Attaches both programs of a function by fentry and fexit, or none. */
static bool clone_attach(struct fsprobes *p, enum fs_method method, const char *function,
			 const char *module)
{
	const struct bpf_program *from[] = { p->templates.fexit[method],
					     p->templates.fentry[method] };
	int fds[4] = { -1, -1, -1, -1 };

	if (p->n_clones + 4 > MAX_LINKS)
		return false;
	for (int i = 0; i < 2 && bpf_program__fd(from[i]) >= 0; i++) {
		fds[2 * i] = template_load(p, from[i], function, module);
		if (fds[2 * i] >= 0)
			fds[2 * i + 1] = bpf_raw_tracepoint_open(NULL, fds[2 * i]);
	}
	if (fds[1] >= 0 && fds[3] >= 0) {
		memcpy(p->clones + p->n_clones, fds, sizeof(fds));
		p->n_clones += 4;
		return true;
	}
	for (int i = 3; i >= 0; i--)
		if (fds[i] >= 0)
			close(fds[i]);
	return false;
}

/* Attaches both programs of a function by kprobe and kretprobe, or none. */
static bool kprobes_attach(struct fsprobes *p, enum fs_method method, const char *function)
{
	struct bpf_program *enter = p->templates.kprobe[method];
	struct bpf_program *leave = p->templates.kretprobe[method];

	return bpf_program__fd(enter) >= 0 && bpf_program__fd(leave) >= 0 &&
	       links_add_pair(&p->links, kprobe_attach(leave, function, true),
			      kprobe_attach(enter, function, false));
}

/*
 * Some file systems share generic functions, such as generic_file_read_iter(). Many other file
 * systems call those from their own functions. Probing generic functions would cost each read of
 * ext4 some 400 instructions. So they are probed only if the user asked for a single file system
 * type.
 */
static bool is_worth_it(const struct fsprobes *p, const char *function)
{
	return function[0] && (p->only || strncmp(function, "generic_", 8) != 0);
}

/* Probes a function, unless it is already probed for another type. Returns false if it cannot be
 * probed. */
static bool function_attach(struct fsprobes *p, enum fs_method method, const char *function,
			    const char *module)
{
	if (is_probed(p, function))
		return true;
	if (!is_worth_it(p, function) || p->n_probed == MAX_LINKS)
		return false;
	if (clone_attach(p, method, function, module))
		module = ""; /* a loaded program keeps the module from being unloaded */
	else if (!kprobes_attach(p, method, function))
		return false;
	strcpy(p->probed[p->n_probed].function, function);
	strcpy(p->probed[p->n_probed].module, module);
	p->n_probed++;
	return true;
}

static void fs_attach(struct fsprobes *p, const struct fs_type *type)
{
	unsigned int methods = 0;

	for (int m = 0; m < FS_METHODS; m++)
		if (function_attach(p, m, type->func[m], type->module[m]))
			methods |= 1U << m;
	if (!methods || p->n_types == MAX_FS)
		return;
	strcpy(p->types[p->n_types].name, type->name);
	p->types[p->n_types++].methods = methods;
}

/* Methods to be probed in order to separate the time in the file system of operations of kind @op.
 */
static unsigned int methods_of(enum op_kind op)
{
	switch (op) {
	case OP_READ:
		return 1U << FS_READ;
	case OP_WRITE:
		return 1U << FS_WRITE;
	case OP_FSYNC:
		return 1U << FS_FSYNC;
	case OP_OPEN:
		return 1U << FS_OPEN;
	case OP_COPY:
		return 1U << FS_READ | 1U << FS_WRITE;
	default:
		return 0;
	}
}

bool fsprobes_can_tell(const struct fsprobes *p, const char *type, enum op_kind op)
{
	unsigned int needed = methods_of(op);

	for (int i = 0; needed && i < p->n_types; i++)
		if (!strcmp(p->types[i].name, type) && (p->types[i].methods & needed) == needed)
			return true;
	return false;
}

bool fsprobes_module_gone(struct fsprobes *p, char ret_module[FUNC_NAME_LEN])
{
	char path[FUNC_NAME_LEN + 16];
	int left = 0;

	ret_module[0] = '\0';
	for (int i = 0; i < p->n_probed; i++) {
		snprintf(path, sizeof(path), "/sys/module/%s", p->probed[i].module);
		if (p->probed[i].module[0] && access(path, F_OK))
			strcpy(ret_module, p->probed[i].module);
		else
			p->probed[left++] = p->probed[i];
	}
	p->n_probed = left;
	return ret_module[0];
}

struct type_list {
	struct fs_type at[MAX_FS];
	size_t n;
};

static struct fs_type *type_add(const struct fsprobes *p, struct type_list *l, const char *name)
{
	if (p->only && strcmp(p->only, name))
		return NULL;
	for (size_t i = 0; i < l->n; i++)
		if (!strncmp(l->at[i].name, name, FS_NAME_LEN - 1))
			return &l->at[i];
	if (l->n == MAX_FS)
		return NULL;
	snprintf(l->at[l->n].name, FS_NAME_LEN, "%s", name);
	return &l->at[l->n++];
}

/* Adds mounted file system types with stored data: those on a block device, and some without. */
static void types_mounted(const struct fsprobes *p, struct type_list *l)
{
	static const char *const no_device[] = { "btrfs", "overlay", "tmpfs", "zfs" };
	struct mounts mounts;
	char name[FS_NAME_LEN];

	if (mounts_read(&mounts))
		return;
	for (size_t i = 0; i < mounts.n; i++) {
		const char *type = mounts.list[i].type;
		bool keeps = DEV_MAJOR(mounts.list[i].dev) || fs_has_server(type);

		/* "fuse.sshfs" is a fuse */
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(type, "."), type);
		for (size_t k = 0; k < sizeof(no_device) / sizeof(*no_device); k++)
			keeps |= !strcmp(type, no_device[k]);
		if (keeps)
			type_add(p, l, name);
	}
	mounts_free(&mounts);
	type_add(p, l, p->only ? p->only : "bdev");
}

/* With a filter by disk, keeps only the write function of types that cannot be on one of the disks:
 * sendfile may copy from a file on such a disk to another file system. */
static void types_of_disks(const struct filter_lists *disks, struct type_list *l)
{
	struct mounts mounts;

	if (mounts_read(&mounts))
		return;
	for (struct fs_type *t = l->at; t < l->at + l->n; t++)
		if (!mounts_may_be_on(&mounts, t->name, disks->devs, disks->n_devs))
			t->func[FS_READ][0] = t->func[FS_FSYNC][0] = t->func[FS_OPEN][0] = '\0';
	mounts_free(&mounts);
}

static bool fs_is_known(const struct fsprobes *p, unsigned long long fs)
{
	for (int i = 0; i < p->n_known; i++)
		if (p->known[i] == fs)
			return true;
	return p->n_known == MAX_KNOWN;
}

/* Adds the types touched by operations, or with open files, since the last look. */
static void types_seen(struct fsprobes *p, struct type_list *l)
{
	const volatile struct fs_entry *seen;
	char name[FS_NAME_LEN];
	struct fs_type *t;

	for (int i = 0; i < FS_SLOTS; i++) {
		seen = &p->seen[i];
		if (!seen->read_iter || fs_is_known(p, seen->fs))
			continue;
		p->known[p->n_known++] = seen->fs;
		snprintf(name, sizeof(name), "%.*s", FS_NAME_LEN - 1, (const char *)seen->name);
		t = type_add(p, l, name);
		if (!t)
			continue;
		t->addr[FS_READ] = seen->read_iter;
		t->addr[FS_WRITE] = seen->write_iter;
		t->addr[FS_FSYNC] = seen->fsync;
		t->addr[FS_OPEN] = seen->open;
	}
}

/* Resolves and probes the functions of the types in @l. @symbols: lines for fsfuncs_resolve(), or
 * NULL. @of_disks: apply the filter by disk. */
static void types_attach(struct fsprobes *p, struct type_list *l, char *symbols, bool of_disks)
{
	const char *names[MAX_FS * FS_METHODS];
	FILE *f = symbols && *symbols ? fmemopen(symbols, strlen(symbols), "r") : NULL;
	int n = 0, err = l->n ? fsfuncs_resolve(l->at, l->n, f, p->feat) : -ENOENT;

	if (f)
		fclose(f);
	if (err)
		return;
	if (of_disks)
		types_of_disks(p->disks, l);
	for (size_t i = 0; i < l->n; i++)
		for (int m = 0; m < FS_METHODS; m++)
			names[n++] = l->at[i].func[m];
	feature_look_for(p->feat, names, n);
	for (size_t i = 0; i < l->n; i++)
		fs_attach(p, &l->at[i]);
}

/* Runs the iterator over all open files. Returns the symbols of file system functions not printed
 * before, or NULL if there are none. The caller frees them. */
static char *run_task_iter(struct fsprobes *p)
{
	struct bpf_program *prog = p->templates.iter;
	struct bpf_link *link;
	char buf[4096], *text = NULL;
	size_t text_len = 0;
	FILE *printed;
	ssize_t len;
	int fd;

	if (bpf_program__fd(prog) < 0)
		return NULL;
	link = bpf_program__attach_iter(prog, NULL);
	if (!link)
		return NULL;
	fd = bpf_iter_create(bpf_link__fd(link));
	printed = open_memstream(&text, &text_len);
	while (fd >= 0 && (len = read(fd, buf, sizeof(buf))) > 0)
		if (printed)
			fwrite(buf, 1, len, printed);
	if (printed)
		fclose(printed);
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return text;
}

/* Probes new types. @first: also mounted types and types with open files. */
static void types_probe(struct fsprobes *p, bool first)
{
	struct type_list *l = calloc(1, sizeof(*l));
	char *symbols;

	if (!l)
		return;
	if (first)
		types_mounted(p, l);
	types_seen(p, l);
	symbols = first || l->n ? run_task_iter(p) : NULL;
	types_seen(p, l); /* the iterator prints a type only once, so take it now */
	types_attach(p, l, symbols, first && p->disks && !p->only);
	free(symbols);
	free(l);
}

void fsprobes_attach(struct fsprobes *p)
{
	types_probe(p, true);
}

void fsprobes_attach_new(struct fsprobes *p)
{
	types_probe(p, false);
	feature_forget_types(p->feat);
}

struct fsprobes *fsprobes_new(const struct fs_templates *templates, struct feature *feat,
			      const struct fs_entry *seen, const char *only,
			      const struct filter_lists *lists)
{
	struct fsprobes *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->templates = *templates;
	p->feat = feat;
	p->seen = seen;
	p->only = only;
	p->disks = lists->n_devs ? lists : NULL;
	return p;
}

void fsprobes_free(struct fsprobes *p)
{
	if (!p)
		return;
	for (int i = p->n_clones - 1; i >= 0; i--)
		close(p->clones[i]);
	links_done(&p->links);
	free(p);
}

int fsprobes_count(const struct fsprobes *p)
{
	return p ? p->n_probed : 0;
}

void fsprobes_programs(const struct fsprobes *p, void (*fn)(void *arg, int prog_fd), void *arg)
{
	for (int i = 0; p && i < p->n_clones; i += 2)
		fn(arg, p->clones[i]);
}

unsigned long long fsprobes_missed(const struct fsprobes *p)
{
	return p ? links_missed(&p->links) : 0;
}
