// SPDX-License-Identifier: GPL-2.0-only
/* Processes and their descent, of this machine and of made-up ones. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/commands.h"
#include "host/processes.h"

/* The command line in the @size bytes of the array @text, whose last is a NUL of its own. */
static void command_is(const char *text, size_t size, const char *want)
{
	char *command = process_command_text(text, size - 1);

	if (want)
		assert_string_equal(command, want);
	else
		assert_null(command);
	free(command);
}

/* Processes: a command line is the words of a shell, a title is as it is, a long one is cut. */
static void command_lines_are_words_of_a_shell(void **state)
{
	char is_long[PROCESS_COMMAND + 1] = {}, cut[PROCESS_COMMAND + 8];
	char *own = process_command(getpid());

	(void)state;
#define COMMAND(text, want) command_is(text, sizeof(text), want)
	COMMAND("sh\0-c\0echo 'a b'\0", "sh -c 'echo '\\''a b'\\'''");
	COMMAND("cat\0\0x\0", "cat '' x");
	COMMAND("postgres: checkpointer     ", "postgres: checkpointer");
	COMMAND("x\033[31m\0", "'x\033[31m'"); /* who shows it makes it safe */
	COMMAND("", NULL);
	COMMAND("\0\0", NULL);
#undef COMMAND
	memset(is_long, 'x', PROCESS_COMMAND);
	snprintf(cut, sizeof(cut), "%s ...", is_long);
	command_is(is_long, sizeof(is_long), cut);
	assert_non_null(own);
	assert_non_null(strstr(own, "test_processes"));
	free(own);
	assert_null(process_command(0));
	assert_int_equal(setenv(PROCESS_HIDES_COMMANDS, "1", true), 0);
	assert_null(process_command(getpid()));
	assert_int_equal(unsetenv(PROCESS_HIDES_COMMANDS), 0);
}

static void check_below(const struct processes *all, const unsigned int *roots, unsigned int n,
			const char *want)
{
	struct processes below;
	char text[128] = "";
	int len = 0;

	assert_int_equal(processes_below(all, roots, n, &below), 0);
	for (size_t i = 0; i < below.n; i++)
		len += snprintf(text + len, sizeof(text) - len, "%u ", below.list[i].pid);
	assert_string_equal(text, want);
	processes_free(&below);
}

/* 2 is the child of 90, whose number comes later; 5 is its own ancestor. */
static void test_descent(void **state)
{
	static struct process list[] = { { 1, 0, 3, false },   { 2, 90, 3, false },
					 { 3, 2, 3, false },   { 5, 7, 3, false },
					 { 7, 5, 3, false },   { 11, 1, 3, false },
					 { 13, 11, 3, false }, { 90, 13, 3, false },
					 { 91, 89, 3, false } };
	const struct processes all = { list, sizeof(list) / sizeof(*list) };

	(void)state;
	check_below(&all, (unsigned int[]){ 11 }, 1, "13 90 2 3 ");
	check_below(&all, (unsigned int[]){ 11, 13 }, 2, "90 2 3 ");
	check_below(&all, (unsigned int[]){ 3 }, 1, "");
	check_below(&all, (unsigned int[]){ 5 }, 1, "7 ");
	check_below(&all, (unsigned int[]){ 89, 3 }, 2, "91 "); /* 89 is gone */
	check_below(&all, NULL, 0, "");
	check_below(&(struct processes){}, (unsigned int[]){ 1 }, 1, "");
}

/* A child with a name that looks like the end of one, and its child. */
static void test_machine(void **state)
{
	unsigned int root = getpid(), seen = 0;
	struct processes all, below;
	int ends[2];
	pid_t child;
	char any;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "a) R 1 (b");
		if (fork() || write(ends[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &any, 1), 1);
	assert_int_equal(processes_read(&all), 0);
	assert_int_equal(processes_below(&all, &root, 1, &below), 0);
	for (size_t i = 0; i < below.n; i++) {
		seen |= below.list[i].parent == root                  ? 1
			: below.list[i].parent == (unsigned int)child ? 2
								      : 4;
		assert_true(below.list[i].began_ticks > 0);
		kill(below.list[i].pid, SIGKILL);
	}
	assert_int_equal(below.n, 2);
	assert_int_equal(seen, 3);
	waitpid(child, NULL, 0);
	processes_free(&all);
	assert_int_equal(processes_read(&all), 0);
	for (size_t i = 0; i < all.n; i++)
		assert_true(all.list[i].pid != root || all.list[i].had_children);
	for (size_t i = 1; i < all.n; i++)
		assert_true(all.list[i - 1].pid < all.list[i].pid);
	processes_free(&all);
	processes_free(&below);
}

/* A process that has ended, with a known command line. */
static void an_ended_process_keeps_its_command_as_long_as_it_keeps_its_name(void **state)
{
	const char sh[COMM_LEN] = "sh", dd[COMM_LEN] = "dd";
	const struct command *one;
	struct commands c = {};
	pid_t child = fork();

	(void)state;
	if (!child) {
		pause();
		_exit(0);
	}
	commands_begin(&c);
	one = commands_find(&c, child, sh);
	assert_non_null(strstr(one->line, "test_processes"));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	commands_begin(&c);
	assert_non_null(strstr(commands_find(&c, child, sh)->line, "test_processes"));
	commands_begin(&c);
	assert_null(commands_find(&c, child, dd)->line);
	commands_done(&c);
}

/* A process that ended before anybody looked has the command line of its exec, under its new name.
 */
static void an_ended_process_has_the_command_of_its_exec(void **state)
{
	const char sh[COMM_LEN] = "sh", dd[COMM_LEN] = "dd", args[] = "dd\0of=a b";
	struct commands c = {};
	pid_t child = fork();
	char *line;

	(void)state;
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	commands_execute(&c, child, dd, "sh\0-c\0x", 8);
	commands_execute(&c, child, dd, args, sizeof(args)); /* the last exec counts */
	commands_begin(&c);
	assert_string_equal(commands_find(&c, child, dd)->line, "dd 'of=a b'");
	line = commands_line(&c, child, NULL);
	assert_string_equal(line, "dd 'of=a b'");
	free(line);
	assert_null(commands_line(&c, child, sh)); /* the process before the exec, or another one */
	/* a process that lives has the command line of now */
	commands_execute(&c, getpid(), dd, args, sizeof(args));
	line = commands_line(&c, getpid(), dd);
	assert_non_null(strstr(line, "test_processes"));
	free(line);
	/* so many are remembered, the newest; the text need not end with a NUL */
	for (unsigned int i = 0; i < COMMANDS_EXECUTED; i++)
		commands_execute(&c, (1U << 30) + i, dd, "dd", 2);
	assert_null(commands_line(&c, child, dd));
	line = commands_line(&c, 1U << 30, dd);
	assert_string_equal(line, "dd");
	free(line);
	commands_execute(&c, 1U << 30, dd, args, 0); /* its arguments could not be read */
	assert_null(commands_line(&c, 1U << 30, dd));
	commands_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descent),
		cmocka_unit_test(test_machine),
		cmocka_unit_test(command_lines_are_words_of_a_shell),
		cmocka_unit_test(an_ended_process_keeps_its_command_as_long_as_it_keeps_its_name),
		cmocka_unit_test(an_ended_process_has_the_command_of_its_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
