# SPDX-License-Identifier: GPL-2.0-only
# funcs: whose calls are counted, and threads and programs that leave their functions in other ways than
# by returning.
# shellcheck disable=SC2154,SC2016 # bats sets them; jq has dollars of its own

load lib
load funcs

@test "funcs: calls that execute another program end without a return" {
	cc -O1 -x c -o "$tmp/exec" - <<-'EOT'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		__attribute__((noinline)) void leaf(void) { __asm__ volatile("nop"); }
		__attribute__((noinline)) void other(char *path, char *n) { execl(path, path, n, (char *)0); }
		int main(int argc, char **argv)
		{
			char n[16];
			snprintf(n, sizeof(n), "%d", argc > 1 ? atoi(argv[1]) - 1 : 101);
			leaf();
			if (atoi(n))
				other(argv[0], n);
			return 0;
		}
	EOT
	run -0 --separate-stderr "$iostrata" funcs -j "$tmp/exec:leaf" "$tmp/exec:other" -- "$tmp/exec"
	json '(.functions | map({(.name): [.count, .unreturned]}) | add) == {"leaf": [102, 0], "other": [101, 101]}
		and ([.lost[]] | add) == 0'
}

# No traced function catches these jumps, so nothing else tells that the calls are over. The calls are over, too, after
# the thread was deeper in such functions than there is room for.
@test "funcs: calls left over megabytes of stack, or from the signal stack, are counted without a return" {
	cc -O1 -x c -o "$tmp/far" - <<-'EOT'
		#include <alloca.h>
		#include <setjmp.h>
		#include <signal.h>
		#define TRACED __attribute__((noinline)) void
		static sigjmp_buf out;
		static char stack[65536];
		static volatile int jumps;
		TRACED far_deep(int n) { if (n > 1) far_deep(n - 1); __asm__ volatile(""); }
		TRACED far_throw(void) { siglongjmp(out, 1); }
		TRACED far_room(void) { volatile char *p = alloca(3 << 20); p[0] = 0; far_throw(); }
		TRACED far_leaf(void) { __asm__ volatile("nop"); }
		TRACED far_signal(void) { if (jumps) siglongjmp(out, 1); }
		TRACED far_raise(void) { raise(SIGUSR1); __asm__ volatile(""); }
		__attribute__((noinline)) void catches(void (*f)(void)) { if (!sigsetjmp(out, 1)) f(); }
		TRACED far_catch(void) { catches(far_throw); __asm__ volatile(""); }
		TRACED far_tail(void);
		__asm__(".globl far_tail\n.type far_tail, @function\nfar_tail: nop\n jmp far_catch\n"
			".size far_tail, . - far_tail");
		static void handle(int s) { far_signal(); __asm__ volatile("" :: "r"(s)); }
		int main(void)
		{
			struct sigaction sa = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
			sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof(stack) }, 0);
			sigaction(SIGUSR1, &sa, 0);
			far_deep(71);
			for (int i = 0; i < 101; i++)
				catches(far_room);
			far_leaf();
			for (int i = 0; i < 23; i++) {
				for (jumps = 0; jumps < 2; jumps++)
					catches(far_raise);
				far_leaf();
				far_tail();
			}
			return 0;
		}
	EOT
	tried=0
	for probe in uprobe.session uprobe.multi uprobe; do
		has_probe "$probe" || continue
		((++tried))
		run -0 --separate-stderr "$iostrata" funcs -j --tree --probe "$probe" "$tmp/far:far_*" -- "$tmp/far"
		json '(.functions | map({(.name): [.count, .unreturned]}) | add) == {"far_deep": [64, 0],
			"far_room": [101, 101], "far_throw": [124, 124], "far_leaf": [24, 0], "far_raise": [46, 23],
			"far_signal": [46, 23], "far_tail": [23, 0], "far_catch": [23, 0]}
			and .lost.depth == 7 and ([.lost[]] | add) == 7 and
			([.tree[] | select(.name != "far_deep") | [.name, .depth, .count]] | sort) ==
			[["far_catch", 1, 23], ["far_leaf", 0, 24], ["far_raise", 0, 23], ["far_signal", 1, 23],
			["far_tail", 0, 23]]'
	done
	((tried > 0)) || skip "no uprobes here"
}

# More than there is room for: those are lost, which is told once.
@test "funcs: thousands of threads in a function are all counted" {
	cc -O1 -pthread -x c -o "$tmp/crowd" - <<-'EOT'
		#include <pthread.h>
		enum { N = 4001 };
		static pthread_barrier_t all;
		__attribute__((noinline)) void meet(void) { pthread_barrier_wait(&all); __asm__ volatile(""); }
		static void *thread(void *arg) { meet(); return arg; }
		int main(void)
		{
			static pthread_t t[N];
			pthread_attr_t a;
			pthread_attr_init(&a);
			pthread_attr_setstacksize(&a, 65536);
			pthread_barrier_init(&all, NULL, N);
			for (int i = 0; i < N; i++)
				if (pthread_create(&t[i], &a, thread, NULL))
					return 1;
			for (int i = 0; i < N; i++)
				pthread_join(t[i], NULL);
			return 0;
		}
	EOT
	tried=0
	for probe in uprobe.session uprobe.multi uprobe; do
		has_probe "$probe" || continue
		((++tried))
		run -0 --separate-stderr "$iostrata" funcs -j --probe "$probe" "$tmp/crowd:meet" -- "$tmp/crowd"
		json '.functions[0].count + .lost.threads == 4001 and .lost.threads > 900 and .lost.unmatched_end == 0
			and .functions[0].unreturned == 0'
	done
	((tried > 0)) || skip "no uprobes here"
}

@test "funcs -p: only the process is probed where the kernel can, with all its threads and after an exec" {
	tried=0
	spawn bash -c 'while :; do "$0" /etc/passwd >/dev/null; sleep 0.05; done' "$calls" # somebody else
	for probe in uprobe.session uprobe.multi uprobe; do
		has_probe "$probe" || continue
		((++tried))
		spawn bash -c 'kill -STOP $$; exec "$0" /etc/passwd >"$1"' "$calls" "$tmp/said"
		start funcs -j --overhead --probe "$probe" -p "$spawned_pid" "$calls:calls_*"
		sleep 0.3
		kill -CONT "$spawned_pid"
		ends_within 10
		((status == 0))
		grep -qx "process $spawned_pid has ended" "$tmp/err"
		json --argjson counts "$counts" "$is_exact" "$tmp/out"
		[[ $probe == uprobe ]] || ! has_uprobe_pid || # 1647 entries, and fewer returns
			json '.overhead.bpf_run_cnt > 1647 and .overhead.bpf_run_cnt <= 2 * 1647' "$tmp/out"
	done
	((tried > 0)) || skip "no uprobes here"
}

# The process is killed at the last moment: when the tool asks for its first link.
@test "funcs -p: a process that ends during the attaching is an error" {
	has_probe uprobe.session && has_uprobe_pid || skip "probes are not in one process here"
	libc_copy
	cc -shared -fPIC -x c -o "$tmp/ends.so" - <<-'EOT'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <signal.h>
		#include <stdlib.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		long syscall(long nr, ...)
		{
			long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"), a[6];
			int victim = atoi(getenv("VICTIM"));
			__builtin_va_list args;
			__builtin_va_start(args, nr);
			for (int i = 0; i < 6; i++)
				a[i] = __builtin_va_arg(args, long);
			__builtin_va_end(args);
			if (nr == SYS_bpf && a[0] == 28 /* BPF_LINK_CREATE */ && ((int *)a[1])[14] == victim) // uprobe_multi.pid
				for (kill(victim, SIGKILL); !kill(victim, 0);)
					usleep(1000);
			return real(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		}
	EOT
	spawn env LD_LIBRARY_PATH="$tmp" sleep 100
	wait_until grep -q "$tmp/libc" "/proc/$spawned_pid/maps"
	run -1 --separate-stderr env VICTIM="$spawned_pid" LD_PRELOAD="$tmp/ends.so" \
		"$iostrata" funcs -p "$spawned_pid" "$tmp/libc.so.6:p*"
	says "process $spawned_pid has ended"
}

@test "funcs -p: c: means the C library of the process" {
	libc_copy
	spawn env LD_LIBRARY_PATH="$tmp" sleep 100
	wait_until grep -q "$tmp/libc" "/proc/$spawned_pid/maps"
	expect 0 funcs --list -p "$spawned_pid" 'c:pread'
	[[ $output == "pread [$tmp/libc.so.6]"* ]]
	# it sees another at the same place
	mkdir "$tmp/root"
	spawn unshare -m bash -c 'mount --bind "$0/libc.so.6" "$1"; exec sleep 100' "$tmp" \
		"$(realpath "$(ldd "$iostrata" | awk '/libc\.so/ { print $3 }')")"
	wait_until grep -q '^sleep' "/proc/$spawned_pid/comm"
	expect 0 funcs --list -p "$spawned_pid" 'c:pread'
	[[ $output == "pread [/proc/$spawned_pid/root/"*/libc.so.6]* ]]
	printf 'int main(void) { for (;;) __asm__ volatile("pause"); }' | cc -static -x c -o "$tmp/static" -
	spawn "$tmp/static"
	wait_until grep -q '^static' "/proc/$spawned_pid/comm"
	expect 1 funcs -p "$spawned_pid" 'c:pread'
	says "process $spawned_pid uses no C library"
}

@test "funcs -p: a process with an ended first thread is traced" {
	cc -O1 -pthread -x c -o "$tmp/headless" - <<-'EOT'
		#include <pthread.h>
		#include <unistd.h>
		__attribute__((noinline)) void tick(void) { __asm__ volatile("nop"); }
		static void *thread(void *arg)
		{
			char c;
			if (read(0, &c, 1) == 1)
				for (int i = 0; i < 101; i++)
					tick();
			_exit(arg != 0);
		}
		int main(void)
		{
			pthread_t t;
			pthread_create(&t, 0, thread, 0);
			pthread_exit(0);
		}
	EOT
	tried=0
	for probe in uprobe.session uprobe.multi uprobe; do
		has_probe "$probe" || continue
		((++tried))
		rm -f "$tmp/go"
		mkfifo "$tmp/go"
		spawn bash -c 'exec "$0" <>"$1"' "$tmp/headless" "$tmp/go"
		wait_until is_headless
		start funcs -j --by tid --probe "$probe" -p "$spawned_pid" "$tmp/headless:tick"
		thread=$(basename "$(printf '%s\n' /proc/"$spawned_pid"/task/* | sort -V | tail -n 1)")
		echo >"$tmp/go"
		ends_within 10
		json --arg thread "$thread" '([.functions[] | [.key, .count]]) == [[$thread, 101]] and
			([.lost[]] | add) == 0' "$tmp/out"
	done
	((tried > 0)) || skip "no uprobes here"
}

is_headless() { grep -q '^State:.*Z' "/proc/$spawned_pid/status"; }

# Since 6.12 links are in one process without mistakes.
has_uprobe_pid() {
	PATH=$PATH:/usr/sbin bpftool btf dump file /sys/kernel/btf/vmlinux | grep -A 12 "STRUCT 'bpf_uprobe'" |
		grep -q "'uprobe' type_id"
}
