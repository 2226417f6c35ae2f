// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor.c - attaches the empty programs of floor.bpf.c and waits for a signal.
 *
 * floor OBJECT GROUP...
 *
 * A hook that this kernel has not is left out, and so is a group that it refuses; a line on stderr
 * says so. The last line there begins with "tracing".
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

static int silent(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level;
	(void)fmt;
	(void)args;
	return 0;
}

static int is_of(const struct bpf_program *prog, const char *group)
{
	const char *name = bpf_program__name(prog), *end = strstr(name, "__");

	return end && strlen(group) == (size_t)(end - name) && !strncmp(name, group, end - name);
}

/* Chooses the programs of @group whose hook is there. */
static int choose(struct bpf_object *obj, const char *group)
{
	struct bpf_program *prog;
	const char *hook;
	int n = 0;

	bpf_object__for_each_program (prog, obj) {
		if (!is_of(prog, group))
			continue;
		hook = strchr(bpf_program__section_name(prog), '/') + 1;
		if (bpf_program__set_attach_target(prog, 0, hook)) {
			fprintf(stderr, "floor: no %s here\n", bpf_program__section_name(prog));
			continue;
		}
		bpf_program__set_autoload(prog, true);
		n++;
	}
	return n;
}

/* The number of programs that are live; the object stays as long as we do. */
static int attach_group(const char *file, const char *group)
{
	struct bpf_object *obj = bpf_object__open_file(file, NULL);
	struct bpf_program *prog;
	int n = 0;

	if (!obj) {
		fprintf(stderr, "floor: cannot open '%s'\n", file);
		return 0;
	}
	if (!choose(obj, group) || bpf_object__load(obj)) {
		fprintf(stderr, "floor: the kernel refuses group '%s'\n", group);
		return 0;
	}
	bpf_object__for_each_program (prog, obj)
		if (bpf_program__fd(prog) >= 0)
			n += bpf_program__attach(prog) != NULL;
	return n;
}

int main(int argc, char **argv)
{
	int n = 0, signal;
	sigset_t set;

	if (argc < 3) {
		fprintf(stderr, "usage: floor OBJECT GROUP...\n");
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	libbpf_set_print(silent);
	for (int i = 2; i < argc; i++)
		n += attach_group(argv[1], argv[i]);
	if (!n)
		return 1;
	fprintf(stderr, "tracing with %d empty programs\n", n);
	sigwait(&set, &signal);
	return 0;
}
