# SPDX-License-Identifier: GPL-2.0-only
# funcs: which functions a pattern means, what it says of others, and what it refuses.
# shellcheck disable=SC2154 # bats sets them

load lib
load funcs

@test "funcs: a program's file mapped at another address is traced" {
	cc -O1 -no-pie -Wl,-Ttext-segment=0x10000000 -pthread -o "$tmp/fixed" tests/calls.c
	run -0 --separate-stderr "$iostrata" funcs --csv "$tmp/fixed:calls_mid" -- "$tmp/fixed" /etc/passwd
	[[ $output == *'calls_mid(),46,'* ]]
}

# xz of all symbols, as distributions pack some
@test "funcs: a stripped program with .gnu_debugdata has its functions" {
	objcopy --only-keep-debug "$calls" "$tmp/debug"
	xz -c --check=crc32 "$tmp/debug" >"$tmp/debug.xz"
	objcopy --add-section .gnu_debugdata="$tmp/debug.xz" "$BATS_FILE_TMPDIR/stripped" "$tmp/packed"
	expect 0 funcs --list "$tmp/packed:calls_*"
	[[ $output == *'calls_leaf ['* && $output == *'9 functions'* ]]
	run -0 "$iostrata" funcs --csv "$tmp/packed:calls_leaf" -- bash -c '"$0" /etc/passwd >/dev/null' "$tmp/packed"
	[[ $output == *'calls_leaf(),233,'* ]]
}

# no_debug_file PROGRAM: its debug file is not there, or not the right one.
no_debug_file() {
	expect 1 funcs --list "$1:calls_*"
	says "stripped' has no symbols|no function matches" 'debug symbols|inlined'
}

@test "funcs: a stripped program with a debug file has its functions" {
	objcopy --only-keep-debug "$calls" "$tmp/calls.debug"
	objcopy --strip-all --add-gnu-debuglink="$tmp/calls.debug" "$calls" "$tmp/stripped"
	expect 0 funcs --list "$tmp/stripped:calls_*"
	[[ $output == *'calls_leaf ['*'/stripped]'* && $output == *'9 functions'* ]]
	run -0 --separate-stderr "$iostrata" funcs --csv "$tmp/stripped:calls_leaf" -- \
		bash -c '"$0" /etc/passwd >/dev/null' "$tmp/stripped"
	[[ $output == *'calls_leaf(),233,'* ]]
	expect 1 funcs "$tmp/calls.debug:calls_leaf" -D 0.1
	says "calls.debug' is a debug file, which no process executes" 'name its program or library'
	mkdir "$tmp/.debug"
	mv "$tmp/calls.debug" "$tmp/.debug"
	expect 0 funcs --list "$tmp/stripped:calls_*"
	printf x >>"$tmp/.debug/calls.debug" # its checksum is another
	no_debug_file "$tmp/stripped"
	truncate -s -1 "$tmp/.debug/calls.debug"
	cp "$tmp/.debug/calls.debug" "$tmp/right.debug"
	truncate -s 1T "$tmp/.debug/calls.debug" # nobody reads so much for a checksum
	run -1 timeout $((20 * $(patience))) "$iostrata" funcs --list "$tmp/stripped:calls_*"
	mv "$tmp/right.debug" "$tmp/.debug/calls.debug"
	expect 0 funcs --list "$tmp/stripped:calls_*"
	# by its build id, which the right file has, too
	objcopy --remove-section=.gnu_debuglink "$tmp/stripped"
	no_debug_file "$tmp/stripped"
	id=$(readelf -n "$calls" | awk '/Build ID/ { print $3 }')
	[[ -n $id ]] || skip "this compiler makes no build ids"
	[[ -d /usr/lib/debug ]] || skip "no /usr/lib/debug here"
	for debug in calls other; do
		cc -O1 -x c -Wl,--build-id -o "$tmp/other" - <<<'void calls_leaf(void) {} int main(void) { return 0; }'
		objcopy --only-keep-debug "$tmp/other" "$tmp/.debug/other.debug"
		# shellcheck disable=SC2016 # of the inner shell
		run --separate-stderr unshare --mount bash -c 'mount -t tmpfs none /usr/lib/debug &&
			mkdir -p "/usr/lib/debug/.build-id/${1:0:2}" && cp "$2" "/usr/lib/debug/.build-id/${1:0:2}/${1:2}.debug" &&
			exec "$3" funcs --list "$4:calls_*"' - "$id" "$tmp/.debug/$debug.debug" "$iostrata" "$tmp/stripped"
		if [[ $debug == calls ]]; then
			[[ $status == 0 && $output == *'9 functions'* ]]
		else
			[[ $status == 1 && $stderr == *"has no symbols"* ]]
		fi
	done
	# by its link, below /usr/lib/debug
	mkdir -p "$tmp/linked/kept"
	objcopy --strip-all --add-gnu-debuglink="$tmp/.debug/calls.debug" "$calls" "$tmp/linked/stripped"
	mv "$tmp/.debug/calls.debug" "$tmp/linked/kept"
	no_debug_file "$tmp/linked/stripped"
	# shellcheck disable=SC2016 # of the inner shell
	run -0 unshare --mount bash -c 'mount -t tmpfs none /usr/lib/debug && mkdir -p "/usr/lib/debug$1" &&
		cp "$1/kept/calls.debug" "/usr/lib/debug$1" && exec "$2" funcs --list "$1/stripped:calls_*"' - \
		"$(realpath "$tmp/linked")" "$iostrata"
	[[ $output == *'9 functions'* ]]
	# a link is a name: it leads to no other directory
	objcopy -O binary --only-section=.gnu_debuglink --set-section-flags .gnu_debuglink=alloc \
		"$tmp/linked/stripped" "$tmp/link"
	{ printf 'kept/calls.debug\0\0\0\0'; tail -c 4 "$tmp/link"; } >"$tmp/path"
	objcopy --update-section .gnu_debuglink="$tmp/path" "$tmp/linked/stripped"
	no_debug_file "$tmp/linked/stripped"
}

@test "funcs: C++ functions match by their name in C++ and by their symbol" {
	cat >"$tmp/m.cc" <<-'EOT'
		#include <unistd.h>
		namespace ns {
		struct Class {
			__attribute__((noinline)) int method(int i) { return getppid() + i; }
			__attribute__((noinline)) int method(long i) { return getppid() - i; }
		};
		}
		int main()
		{
			ns::Class c;
			int s = 0;
			for (int i = 0; i < 23; i++)
				s += c.method(i) + (i < 11 ? c.method(7L) : 0);
			return s == -1;
		}
	EOT
	command -v c++ >/dev/null || skip "no C++ compiler here"
	c++ -O1 -fno-inline -o "$tmp/m:n" "$tmp/m.cc"
	for pattern in 'ns::Class::method(int)' '_ZN2ns5Class6methodEi' '/Class::method.int/' '*method(i*'; do
		expect 0 funcs -j --risk-exceptions "$tmp/m:n:$pattern" -- "$tmp/m:n"
		json '[.functions[] | [.name, .demangled, .count]] ==
			[["_ZN2ns5Class6methodEi", "ns::Class::method(int)", 23]]'
	done
	expect 0 funcs -j --tree --risk-exceptions "$tmp/m:n:ns::Class::method" "$tmp/m:n:main" -- "$tmp/m:n"
	json '[.functions[] | .demangled] | sort == [null, "ns::Class::method(int)", "ns::Class::method(long)"]'
	json '.tree[1].demangled == "ns::Class::method(int)" and .tree[0].demangled == null'
	expect 0 funcs --risk-exceptions --tree "$tmp/m:n:*method*" "$tmp/m:n:main" "!$tmp/m:n:*(long)" -- "$tmp/m:n"
	grep -qE '^ns::Class::method\(int\) +([^ ]+ +)?23 ' <<<"$stderr$output"
	grep -qE '^  ns::Class::method\(int\) +23 ' <<<"$stderr$output"
	[[ $stderr$output != *long* ]]
	expect 0 funcs --list --risk-exceptions "$tmp/m:n:ns::*"
	[[ $output == *'ns::Class::method(int) ['*'2 functions' ]]
	run -0 --separate-stderr "$iostrata" funcs --csv --risk-exceptions "$tmp/m:n:ns::*" -- "$tmp/m:n"
	[[ $output == *'_ZN2ns5Class6methodEi(),23,'* ]]
	# a file that is not there
	expect 1 funcs "$tmp/no:where:ns::f"
	says "cannot read '$tmp/no:where': No such file"
}

@test "funcs: an IFUNC is traced by the chosen implementation" {
	cc -O0 -fno-builtin -o "$tmp/m" -x c - <<-'EOT'
		#include <string.h>
		int main(int argc, char **argv)
		{
			volatile size_t s = 0;
			for (int i = 0; i < 1009; i++)
				s += strlen(argv[0] + (i & 1)) + argc;
			return 0;
		}
	EOT
	if readelf --dyn-syms -W "$(ldd "$tmp/m" | awk '/libc\.so/ { print $3 }')" | grep -q ' IFUNC .* strlen@'; then
		expect 0 funcs -j c:strlen -- "$tmp/m"
		json '.functions | length == 1 and .[0].name == "strlen" and .[0].count >= 1009 and .[0].count < 1109'
	fi
	# of a library that the tool does not use itself, the choice is not known
	cc -O1 -shared -fPIC -o "$tmp/libi.so" -x c - <<-'EOT'
		static int __fast_avx(void) { __asm__ volatile("nop"); return 1; }
		__attribute__((used)) static int __fast_sse(void) { __asm__ volatile("nop"); return 2; }
		__attribute__((used)) static int xxfast_sse(void) { __asm__ volatile("nop"); return 3; }
		static int (*choose(void))(void) { return __fast_avx; }
		int fast(void) __attribute__((ifunc("choose")));
	EOT
	expect 1 funcs "$tmp/libi.so:fast" -D 0.1
	both='__fast_(avx, __fast_sse|sse, __fast_avx)'
	says "fast cannot be traced: .*chosen at run time \(IFUNC\) from $both; name one of these"
	expect 0 funcs --list "$tmp/libi.so:*fast*"
	[[ $output == *'4 functions, 1 of them not traced' ]]
	# where times are not measured, functions with unsafe returns are counted, but this one is not known
	cc -O1 -shared -fPIC -o "$tmp/libs.so" -x c - <<-'EOT'
		void swapcontext(void);
		void getcontext(void) { swapcontext(); }
		static int one(void) { return 1; }
		static int (*choose(void))(void) { return one; }
		int fast(void) __attribute__((ifunc("choose")));
	EOT
	expect 0 funcs --list "$tmp/libs.so:fast" "$tmp/libs.so:getcontext"
	[[ $output == *'fast ['*': not traced: '*'(IFUNC)'*'2 functions, 1 of them not traced' ]]
	strip -s "$tmp/libi.so"
	expect 1 funcs "$tmp/libi.so:fast" -D 0.1
	says 'fast cannot be traced: .*chosen at run time \(IFUNC\) and not known here: debug symbols'
}

# The kernel's uprobes heed the opcode, and not the prefix: they take vpor for a jump.
@test "funcs: a program with vector instructions computes the same while it is traced" {
	[[ $(uname -m) == x86_64 ]] || skip "only x86 has these instructions"
	grep -qw avx /proc/cpuinfo || skip "this CPU has no AVX"
	cc -O1 -x c -o "$tmp/vector" - <<-'C'
		#include <stdio.h>

		#define FUNCTION(name, insn)                                                       \
			__asm__(".globl " #name "\n.type " #name ",@function\n" #name ": " insn    \
				"\nret\n.size " #name ",.-" #name "\n");                           \
			v4 name(v4, v4, v4 *)
		typedef int v4 __attribute__((vector_size(16)));
		FUNCTION(vector_or, "vpor %xmm1, %xmm0, %xmm0");
		FUNCTION(vector_subtract, "vpsubsb %xmm1, %xmm0, %xmm0");
		FUNCTION(vector_compare, "vcmpeqps %xmm1, %xmm0, %xmm0");
		FUNCTION(vector_store, "vmovdqu %xmm0, (%rdi)");
		FUNCTION(vector_xor, "vpxor %xmm1, %xmm0, %xmm0");
		FUNCTION(vector_add, "vaddps %xmm1, %xmm0, %xmm0");
		int main(void)
		{
			v4 (*const all[])(v4, v4, v4 *) = { vector_store, vector_xor, vector_add, vector_or,
							    vector_compare, vector_subtract };
			for (int i = 0; i < 6; i++) {
				v4 a = { 11, 22, 33, 44 }, b = { 11, 7, 3, 1 }, c = {}, v = all[i](a, b, &c);
				printf("%d: %d %d %d %d, %d\n", i, v[0], v[1], v[2], v[3], c[3]);
			}
			return 0;
		}
	C
	"$tmp/vector" >"$tmp/plain"
	run -0 --separate-stderr "$iostrata" funcs --csv "$tmp/vector:vector_*" -- "$tmp/vector"
	[[ $output == *'vector_add(),1,'* ]]
	[[ $output != *vector_or* && $output != *vector_store* ]]
	grep '^[0-9]: ' <<<"$stderr" | cmp - "$tmp/plain" # the CSV has the standard output
	expect 0 funcs --list "$tmp/vector:vector_*"
	[[ $output == *'vector_or ['*'the kernel takes its first instruction (AVX) for a jump'* ]]
	[[ $output == *'6 functions, 5 of them not traced'* ]]
	# the kernel refuses this one when a program is started, and tells nobody: it would look as if it were never called
	[[ $output == *'vector_xor ['*'the kernel cannot probe its first instruction (AVX)'* ]]
	expect 1 funcs "$tmp/vector:vector_or" -D 0.1
	says 'vector_or cannot be traced: a probe would break it' ''
}

@test "funcs: --list shows the functions that a pattern matches" {
	expect 0 funcs --list "$calls:/^calls_(top|mid)$/"
	[[ $output == *"calls_mid [$calls]"* && $output == *"2 functions"* ]]
	expect 0 funcs --list "$calls:calls_*" '!*t*'
	[[ $output != *calls_top* && $output == *calls_mid* ]]
	expect 0 funcs --list 'vfs_re*' 'bpf_prog_load'
	[[ $output == *vfs_read* && $output == *"bpf_prog_load: not traced: BPF programs or probes"* ]]
	expect 0 funcs --list 'c:pread*'
	[[ $output == *"pread"*"/libc"* ]]
	expect 0 funcs --list vfs_read no_such_function
	[[ $output == *"no_such_function: not traced: no function matches; it may be inlined"* ]]
	funcs_of_calls -j "$calls:calls_top" "$calls:no_such_function"
	json '.functions[0].count == 23 and (.refused | length == 1 and (.[0].name | endswith(":no_such_function")))' \
		"$tmp/out"
}

@test "funcs: wrong patterns are clear errors" {
	expect 1 funcs 'vfs_raed'
	says "no function matches 'vfs_raed'" 'did you mean: .*vfs_read'
	expect 1 funcs "$calls:nothing_*"
	says 'no function matches' 'inlined'
	expect 2 funcs '/vfs_(read/'
	says 'wrong regular expression' 'at character 10: vfs_\(read <-- here'
	expect 2 funcs '!vfs_*'
	says 'every pattern excludes functions'
	expect 2 funcs ':x'
	says 'names no function'
	expect 2 funcs vfs_read 'c:pread'
	says 'cannot be traced together' 'c:glob match functions of programs'
	expect 1 funcs nomod:x
	says "no function matches 'nomod:x'" "no module 'nomod' is loaded.*/usr/bin/nomod:"
	expect 1 funcs README.md
	says 'no function matches' 'is a file: quote patterns'
	expect 1 funcs "$calls"
	says 'no function matches' "is a file: its functions are '$calls:\*'; a command comes after --"
	expect 2 funcs "$calls:calls_*" "$calls" /etc/passwd
	says 'cannot be traced together' 'a command comes after --'
	expect 1 funcs libc:pread
	says "no function matches 'libc:pread'" "the C library is 'c:...'"
	expect 1 funcs bash:main
	says "no function matches 'bash:main'" "of the program are '/usr/bin/bash:...'"
	expect 1 funcs ext4
	says "no function matches 'ext4'" "a pattern matches whole names"
	expect 1 funcs bpf_prog_load
	says 'bpf_prog_load cannot be traced: BPF programs or probes'
	expect 1 funcs "$BATS_FILE_TMPDIR/stripped:calls_top"
	says 'has no symbols|no function matches' 'debug symbols|inlined'
	expect 1 funcs /nowhere/prog:x
	says 'No such file'
	expect 1 funcs /etc/passwd:x
	says 'is no program or library'
}

@test "funcs: a program for another architecture is refused" {
	cp "$(realpath /bin/bash)" "$tmp/foreign"
	printf '\4' | dd of="$tmp/foreign" bs=1 seek=18 conv=notrunc status=none # e_machine, its low byte
	[[ $(od -An -td1 -j5 -N1 "$tmp/foreign") -eq 1 ]] || skip "big endian"
	expect 1 funcs "$tmp/foreign:*" -D 0.1
	says "foreign' is for another architecture"
}

@test "funcs: a pattern with ! that leaves nothing is named in the error" {
	expect 1 funcs --list vfs_read '!ext4_*' '!vfs_*'
	says "'!vfs_\*' excludes all functions that 'vfs_read' matches"
	expect 1 funcs "!$calls:calls_*" "$calls:calls_top"
	says "calls_\*' excludes all functions that '.*calls_top' matches"
	expect 1 funcs --list '!vfs_*' vfs_raed
	says "no function matches 'vfs_raed'" 'did you mean: .*vfs_read'
	# a variable is no function
	expect 0 funcs --list jiffies vfs_read
	[[ $output == *'jiffies: not traced: no function matches'* ]]
}

@test "funcs: a function with two names counts once, and ! with either name leaves it out" {
	cc -O1 -x c -o "$tmp/names" - <<-'EOT'
		__attribute__((noinline)) void other(void) { __asm__ volatile("nop"); }
		void second(void) __attribute__((alias("other")));
		__attribute__((noinline)) void AT(void) { __asm__ volatile("nop"); }
		void _setjmp(void) __attribute__((alias("AT")));
		int main(void) { other(); second(); AT(); _setjmp(); return 0; }
	EOT
	expect 0 funcs --list "$tmp/names:other" "$tmp/names:second" "$tmp/names:*setjmp" "$tmp/names:AT"
	[[ $output == *'AT ['*': not traced: it returns twice'*'2 functions, 1 of them not traced' ]]
	run -0 --separate-stderr "$iostrata" funcs --csv "$tmp/names:other" "$tmp/names:second" -- "$tmp/names"
	[[ $output == 'other(),2,'* ]]
}

# As C++ has them: longer than what is kept of a name that is shown in a table.
@test "funcs: a function with a very long name is traced" {
	name=_Z$(printf 'x%.0s' {1..1100})
	cc -O1 -x c -o "$tmp/long" - <<-EOT
		__attribute__((noinline)) void f(void) __asm__("${name}1");
		__attribute__((noinline)) void g(void) __asm__("${name}2");
		void f(void) { __asm__ volatile("nop"); }
		void g(void) { __asm__ volatile("nop; nop"); }
		int main(void) { f(); g(); g(); return 0; }
	EOT
	expect 0 funcs --list "$tmp/long:_Z*"
	[[ $output == *"${name}1 ["*"${name}2 ["* ]]
	run -0 --separate-stderr "$iostrata" funcs --csv "$tmp/long:_Z*" -- "$tmp/long"
	[[ $output == *"${name}1(),1,"* && $output == *"${name}2(),2,"* ]]
	run -0 "$iostrata" funcs "$tmp/long:_Z*" -- "$tmp/long"
	fits_80_columns <(printf '%s\n' "$output")
}

# The kernel keeps the returns of a thread in a list, and kills who does not come back in that order.
@test "funcs: calls in programs that switch stacks are counted, without times" {
	cc -O1 -x c -o "$tmp/swap" - <<-'EOT'
		#include <ucontext.h>
		static ucontext_t a, b;
		static char stack[65536];
		__attribute__((noinline)) void other(void) { swapcontext(&b, &a); __asm__ volatile(""); }
		__attribute__((noinline)) void there(void) { swapcontext(&a, &b); __asm__ volatile(""); }
		int main(void)
		{
			getcontext(&b);
			b.uc_stack.ss_sp = stack;
			b.uc_stack.ss_size = sizeof(stack);
			b.uc_link = &a;
			makecontext(&b, other, 0);
			there();
			there();
			return 0;
		}
	EOT
	tried=0
	for probe in uprobe.session uprobe.multi uprobe; do
		has_probe "$probe" || continue
		((++tried))
		expect 0 funcs -j --probe "$probe" "$tmp/swap:/^(main|there|other|_start)$/" -- "$tmp/swap"
		json '(.functions | map({(.name): .count}) | add) == {main: 1, there: 2, other: 1, _start: 1}
			and (.functions | all(.unreturned == .count and .total_ns == null and .hist == []))
			and (.counted_only | endswith("/swap\u0027 switches stacks (swapcontext)")) and all(.lost[]; . == 0)'
		[[ $stderr == *"times are not measured, calls are only counted: '$tmp/swap' switches stacks (swapcontext)"* ]]
		expect 0 funcs -j --probe "$probe" --by comm "$tmp/swap:there" -- "$tmp/swap"
		json '[.functions[] | [.name, .key, .count, .unreturned, .mean_ns, .hist]] ==
			[["there", "swap", 2, 2, null, []]]'
	done
	((tried > 0)) || skip "no uprobes here"
	expect 0 funcs "$tmp/swap:there" "$tmp/swap:main" -- "$tmp/swap"
	grep -qE '^there +(swap|[^ ]*/swap|[^ ]+) +2 +- ' <<<"$stderr$output"
	not grep -q 'self time' <<<"$stderr$output"
	expect 1 funcs --tree "$tmp/swap:there" -D 0.1
	says "there is no tree if calls are only counted: '$tmp/swap' switches stacks"
	cp "$tmp/swap" "$tmp/swap2"
	strip -s "$tmp/swap2"
	expect 1 funcs "$tmp/swap2:there" -D 0.1
	says "swap2' has no symbols"
	objcopy --add-section .gopclntab=/etc/passwd "$calls" "$tmp/go"
	expect 0 funcs --csv "$tmp/go:calls_top" -- "$tmp/go" /etc/passwd
	[[ $stderr == *"'$tmp/go' is a Go program: its stacks move"* && $output == *'calls_top(),23,0.000'* ]]
	# OpenSSL's library has both, and hardly a program uses its jobs
	cc -O1 -x c -o "$tmp/jobs" - <<-'EOT'
		#include <ucontext.h>
		void ASYNC_start_job(ucontext_t *u) { setcontext(u); }
		int main(int argc, char **argv) { if (argc > 9) ASYNC_start_job((ucontext_t *)argv); return 0; }
	EOT
	expect 0 funcs --list "$tmp/jobs:main"
	[[ -z $stderr ]]
	objcopy --redefine-sym ASYNC_start_job=start_job "$tmp/jobs"
	expect 0 funcs --list "$tmp/jobs:main"
	[[ $stderr == *"jobs' switches stacks (setcontext)"* ]]
	expect 0 funcs --list 'c:swapcontext' 'c:*setjmp' 'c:pread'
	[[ $output == *'swapcontext ['*': not traced: it switches stacks'*', '?' of them not traced'* ]]
	expect 0 funcs --list "$calls:_start" "$calls:calls_top"
	[[ $output == *'_start ['*': not traced: nothing calls it'* ]]
}

# A program that unwinds the stack finds the kernel's return address, and no handler behind it.
@test "funcs: programs that unwind the stack need --risk-exceptions" {
	cc -O1 -x c -o "$tmp/throws" - -lgcc_s <<-'EOT'
		#include <unwind.h>
		__attribute__((noinline)) void leaf(void) { __asm__ volatile("nop"); }
		int main(int argc, char **argv)
		{
			static struct _Unwind_Exception e;
			leaf();
			return argc > 1 ? _Unwind_RaiseException(&e) : (leaf(), 0);
		}
	EOT
	strip -s -o "$tmp/stripped" "$tmp/throws"
	for program in throws stripped; do
		expect 1 funcs --list "$tmp/$program:leaf"
		says "$program' has exceptions \(_Unwind_RaiseException\): .* would end the program" 'risk-exceptions traces it'
	done
	expect 1 funcs "$tmp/throws:leaf" -D 0.1
	run -0 --separate-stderr "$iostrata" funcs --risk-exceptions --csv "$tmp/throws:leaf" -- "$tmp/throws"
	[[ $output == 'leaf(),2,'* ]]
	# a thread that ends is unwound, too: that matters if it has something to clean up
	cat >"$tmp/cleans.c" <<-'EOT'
		#include <pthread.h>
		int cleaned;
		static void clean(int *p) { cleaned += *p; }
		void leaf(void) { __attribute__((cleanup(clean))) int x = 1; pthread_exit(&x); }
		int main(int argc, char **argv) { if (argc > 1) leaf(); return 0; }
	EOT
	for flags in -fexceptions '-fexceptions -static' -fno-exceptions; do
		# shellcheck disable=SC2086 # several
		cc -O1 -pthread $flags -o "$tmp/cleans" "$tmp/cleans.c"
		if [[ $flags != -fexceptions ]]; then
			expect 0 funcs --list "$tmp/cleans:leaf" # nothing is known of what is in a static one
			continue
		fi
		expect 1 funcs --list "$tmp/cleans:leaf"
		says "cleans' ends threads by unwinding their stacks \(pthread_exit\): .* keep its locks" \
			'risk-exceptions traces it'
	done
	expect 0 funcs --list 'c:pthread_exit'
	[[ $output == *': not traced: it unwinds the stack'* ]]
}

@test "funcs: on a kernel without function probes, kernel functions give exit status 3 and a hint" {
	[[ ! -e /sys/bus/event_source/devices/kprobe ]] || skip "this kernel has kprobes"
	expect 3 funcs vfs_read -D 0.1
	says 'functions cannot be probed' 'CONFIG_KPROBE_EVENTS.*c:pread'
	expect 0 funcs --list vfs_read vfs_write
	[[ $output == *'vfs_read: not traced: functions cannot be probed: '*'without kprobes'*'2 of them not traced' ]]
}

# runs PROGRAM: the spawned process does, not the shell before it.
runs() { [[ $(readlink "/proc/$spawned_pid/exe") == "$1"* ]]; }

@test "funcs -p: the file is looked up in the process's mounts, and an unused file is refused" {
	mkdir "$tmp/here" "$tmp/there"
	for name in here there; do
		cc -O0 -o "$tmp/$name/app" -x c - <<-EOT
			#include <unistd.h>
			int $name;
			__attribute__((noinline)) void work(void) { usleep(1000); }
			int main(void) { for (;;) work(); }
		EOT
	done
	spawn unshare --mount sh -c "mount --bind '$tmp/there' '$tmp/here' && exec '$tmp/here/app'"
	wait_until runs "$tmp/here/app"
	expect 0 funcs -j "$tmp/here/app:work" -p "$spawned_pid" -D 1
	json '.functions | length == 1 and .[0].count > 10'
	rm "$tmp/here/app"
	expect 0 funcs -j "$tmp/here/app:work" -p "$spawned_pid" -D 1
	json '.functions[0].count > 10'
	app=$spawned_pid
	spawn sleep 60
	expect 0 funcs "$tmp/there/app:work" -p "$spawned_pid" -D 1
	[[ $stderr == *"process $spawned_pid does not use '$tmp/there/app' now; /proc/$spawned_pid/maps lists its files"* ]]
	# of several processes, each is told
	expect 0 funcs -j "$tmp/there/app:work" -p "$app" -p "$spawned_pid" -D 1
	json '.functions[0].count > 10'
	[[ $stderr == *"process $spawned_pid does not use"* && $stderr != *"process $app does not use"* ]]
	kill "$app"
	# its debug file, too, is that of the process: by its link, and by its build id
	[[ -d /usr/lib/debug ]] || skip "no /usr/lib/debug here"
	objcopy --only-keep-debug "$tmp/there/app" "$tmp/app.debug"
	objcopy --strip-all --add-gnu-debuglink="$tmp/app.debug" "$tmp/there/app" "$tmp/there/linked"
	objcopy --remove-section=.gnu_debuglink "$tmp/there/linked" "$tmp/there/stripped"
	id=$(readelf -n "$tmp/there/app" | awk '/Build ID/ { print $3 }')
	for name in linked ${id:+stripped}; do
		debug=/usr/lib/debug$tmp/here/app.debug
		[[ $name == linked ]] || debug=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
		spawn unshare --mount sh -c "mount -t tmpfs none /usr/lib/debug && mkdir -p '${debug%/*}' &&
			cp '$tmp/app.debug' '$debug' && mount --bind '$tmp/there' '$tmp/here' && exec '$tmp/here/$name'"
		wait_until runs "$tmp/here/$name"
		expect 0 funcs -j "$tmp/here/$name:work" -p "$spawned_pid" -D 1
		json '.functions[0].count > 10'
	done
}

# The switch is in a library, as Python's greenlet is: nothing in the traced file tells of it.
@test "funcs -p: calls in a process that switches stacks are counted, without times" {
	cc -O1 -shared -fPIC -o "$tmp/libco.so" -x c - <<-'EOT'
		#include <ucontext.h>
		static ucontext_t a, b;
		static char stack[65536];
		static void (*there)(void);
		static void begin(void) { for (;;) there(); }
		void co_begin(void (*f)(void))
		{
			there = f;
			getcontext(&b);
			b.uc_stack.ss_sp = stack;
			b.uc_stack.ss_size = sizeof(stack);
			makecontext(&b, begin, 0);
		}
		void co_to(void) { swapcontext(&a, &b); }
		void co_back(void) { swapcontext(&b, &a); }
	EOT
	cc -O1 -fno-optimize-sibling-calls -o "$tmp/app" -L"$tmp" -Wl,-rpath,"$tmp" -x c - -lco <<-'EOT'
		#include <unistd.h>
		void co_begin(void (*f)(void)), co_to(void), co_back(void);
		__attribute__((noinline)) void hop(void) { co_back(); __asm__ volatile(""); }
		__attribute__((noinline)) void work(void) { co_to(); __asm__ volatile(""); }
		int main(void)
		{
			co_begin(hop);
			for (;;) {
				work();
				usleep(1000);
			}
		}
	EOT
	spawn "$tmp/app"
	wait_until grep -q libco "/proc/$spawned_pid/maps"
	expect 0 funcs -j "$tmp/app:work" "$tmp/app:hop" -p "$spawned_pid" -D 0.5
	json '.functions | length == 2 and all(.count > 10 and .unreturned == .count)'
	[[ $stderr == *"calls are only counted: process $spawned_pid switches stacks (libco.so: swapcontext)"* ]]
	expect 0 funcs --list "$tmp/app:work" -p "$spawned_pid"
	[[ $output == *'1 function' && $stderr == *"switches stacks (libco.so"* ]]
	kill -0 "$spawned_pid"
}

@test "funcs: if a fault kills a traced program, a message names the probes as possible cause" {
	cc -O1 -o "$tmp/dies" -x c - <<-'EOT'
		#include <signal.h>
		#include <stdlib.h>
		__attribute__((noinline)) void work(void) { __asm__ volatile("nop"); }
		int main(int argc, char **argv) { work(); raise(argc > 1 ? atoi(argv[1]) : 0); return 0; }
	EOT
	run -132 --separate-stderr "$iostrata" funcs "$tmp/dies:work" -- "$tmp/dies" 4
	killed='^warning: process [0-9]+ was killed by SIGILL, perhaps because of the probes: '
	killed+='a program which switches stacks'
	grep -qE "$killed" <<<"$stderr"
	grep -qE "^hint: .*man iostrata-funcs" <<<"$stderr"
	run -134 --separate-stderr "$iostrata" funcs "$tmp/dies:work" -- "$tmp/dies" 6
	grep -qE '^warning: process [0-9]+ was killed by SIGABRT, .*: an exception thrown through a traced' <<<"$stderr"
	run -143 --separate-stderr "$iostrata" funcs "$tmp/dies:work" -- "$tmp/dies" 15
	[[ $stderr != *warning* ]]
	# nothing was called, or no return was probed
	run -132 --separate-stderr "$iostrata" funcs "$calls:calls_top" -- "$tmp/dies" 4
	[[ $stderr != *warning* ]]
	objcopy --add-section .gopclntab=/etc/passwd "$tmp/dies" "$tmp/go"
	run -132 --separate-stderr "$iostrata" funcs "$tmp/go:work" -- "$tmp/go" 4
	[[ $stderr == *'calls are only counted'* && $stderr != *warning* ]]
}
