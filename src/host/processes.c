// SPDX-License-Identifier: GPL-2.0-only
#include "host/processes.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Reads /proc/PID/stat. The name in brackets may hold anything, even brackets: what follows its
 * last one is read. Returns false if the process is gone. */
static bool process_read(const char *pid, struct process *ret_process)
{
	unsigned long long began, faults;
	char path[64], line[1024], *end;
	unsigned int parent;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "re");
	end = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (f)
		fclose(f);
	if (!end || sscanf(end,
			   ") %*c %u %*d %*d %*d %*d %*u %*u %llu %*u %*u %*u %*u %*d %*d %*d %*d "
			   "%*d %*d %llu",
			   &parent, &faults, &began) != 3)
		return false;
	/* a process cannot live without page faults */
	*ret_process = (struct process){ atoi(pid), parent, began, faults > 0 };
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int process_add(struct processes *p, const struct process *more)
{
	struct process *list = p->list;

	if (!(p->n & (p->n - 1))) /* full at each power of two */
		list = realloc(p->list, (p->n ? 2 * p->n : 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	p->list = list;
	p->list[p->n++] = *more;
	return 0;
}

int processes_read(struct processes *ret_all)
{
	struct processes all = {};
	DIR *dir = opendir("/proc");
	struct process one;
	struct dirent *e;
	int err = dir ? 0 : -errno;

	while (!err && (e = readdir(dir)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && process_read(e->d_name, &one))
			err = process_add(&all, &one);
	if (dir)
		closedir(dir);
	if (err) {
		free(all.list);
		return err;
	}
	qsort(all.list, all.n, sizeof(*all.list), by_pid);
	*ret_all = all;
	return 0;
}

void processes_free(struct processes *p)
{
	free(p->list);
	*p = (struct processes){};
}

static bool is_root(const unsigned int *roots, unsigned int n, unsigned int pid)
{
	for (unsigned int i = 0; i < n; i++)
		if (roots[i] == pid)
			return true;
	return false;
}

int processes_below(const struct processes *all, const unsigned int *roots, unsigned int n_roots,
		    struct processes *ret_below)
{
	bool *below = calloc(all->n + 1, sizeof(*below)), more = true;
	struct processes list = {};
	struct process parent, *found;
	int err = below ? 0 : -ENOMEM;

	while (!err && more) {
		more = false;
		for (size_t i = 0; i < all->n && !err; i++) {
			const struct process *p = &all->list[i];

			if (below[i] || is_root(roots, n_roots, p->pid))
				continue;
			parent.pid = p->parent;
			found = bsearch(&parent, all->list, all->n, sizeof(parent), by_pid);
			if (!is_root(roots, n_roots, p->parent) &&
			    !(found && below[found - all->list]))
				continue;
			below[i] = more = true;
			err = process_add(&list, p);
		}
	}
	free(below);
	if (err)
		free(list.list);
	else
		*ret_below = list;
	return err;
}

/* Reads at most @cap bytes of /proc/PID/cmdline, and adds a NUL. Returns their number. */
static size_t cmdline_read(unsigned int pid, char *text, size_t cap)
{
	char path[64];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	f = fopen(path, "re");
	n = f ? fread(text, 1, cap, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	return n;
}

bool process_is_titled(const char *command)
{
	size_t first = strcspn(command, " ");

	return command[first] && first && command[first - 1] == ':';
}

const char *process_command_short(const char *command)
{
	const char *end = command + strcspn(command, " ");
	const char *slash = *command == '/' ? memrchr(command, '/', end - command) : NULL;

	return slash && slash + 1 < end ? slash + 1 : command;
}

bool process_hides_commands(void)
{
	const char *hides = getenv(PROCESS_HIDES_COMMANDS);

	return hides && *hides;
}

char *process_command_text(const char *text, size_t len)
{
	bool is_title = strstr(text, ": "), is_cut = len == PROCESS_COMMAND;
	size_t first = strlen(text), size, at;
	char *command = NULL;
	FILE *f;

	while (first && text[first - 1] == ' ')
		first--;
	if (!first || process_hides_commands() || !(f = open_memstream(&command, &size)))
		return NULL;
	if (is_title)
		fprintf(f, " %.*s", (int)first, text);
	for (at = 0; at < len && !is_title; at += strlen(text + at) + 1)
		text_shell_word(f, text + at);
	fprintf(f, "%s", is_cut && !is_title ? " ..." : "");
	if (fclose(f)) {
		free(command);
		return NULL;
	}
	memmove(command, command + 1, size); /* without the first blank */
	return command;
}

char *process_command(unsigned int pid)
{
	char text[PROCESS_COMMAND + 1];
	size_t len = cmdline_read(pid, text, PROCESS_COMMAND);

	return process_command_text(text, len);
}

void process_thread_name(unsigned int pid, unsigned int tid, char ret_comm[COMM_LEN])
{
	char path[64];
	FILE *f;

	ret_comm[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	f = fopen(path, "re");
	if (f && fgets(ret_comm, COMM_LEN, f))
		ret_comm[strcspn(ret_comm, "\n")] = '\0';
	if (f)
		fclose(f);
}
