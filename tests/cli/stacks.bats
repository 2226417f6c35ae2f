# SPDX-License-Identifier: GPL-2.0-only
# User stacks: the functions of planted programs have their share of the operations, however the programs are built.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016 # bats sets them; jq and sh have dollars of their own

load lib
load tmux

setup() {
	begin_in_dir
	stacks_work || skip "this kernel cannot walk user stacks"
}

teardown() {
	pane_end
	end_in_dir
}

# A kernel that cannot says why; the test at the end looks at that.
stacks_work() { [[ $("$iostrata" breakdown --by function -D 0.1 2>&1) != *"user stacks cannot be taken"* ]]; }

# store ROUNDS CFLAGS...: builds the program with them, and starts it; it waits for a line into $tmp/go.
store() {
	local rounds=$1
	shift
	cc -O2 "$@" -pthread -o "$dir/store" tests/store.c
	mkfifo "$tmp/go"
	spawn bash -c 'exec "$0" "$1" "$2" ${4:+"$4"} <"$3"' "$dir/store" "$dir/f" "$rounds" "$tmp/go" "${library:-}"
	exec 8<>"$tmp/go"
}

# traced ARGS...: traces it to its end; JSON in $tmp/out.
traced() {
	start breakdown -j --all-stacks -p "$spawned_pid" "$@"
	echo >&8
	ends_within 60
	exec 8>&-
}

syncs_of() {
	jq --arg key "$1" '[.ops[] | select(.op == "fsync" and .key == $key) | .count] | add // 0' "$tmp/out"
}

# Of 404 syncs save_rows makes 303, and each has a known caller.
shares_are_right() { # KEY-OF-ROWS KEY-OF-INDEX
	local rows index
	rows=$(syncs_of "$1") index=$(syncs_of "$2")
	json '[.ops[] | select(.op == "fsync") | .count] | add == 404' "$tmp/out"
	((rows + index == 404)) || { jq -c '.stacks.ends, (.ops[] | {op, key, count})' "$tmp/out"; return 1; }
	((rows == 303))
}

@test "--by function: a program with frame pointers" {
	store 101 -g -fno-omit-frame-pointer
	traced --by function
	shares_are_right "save_rows [store]" "save_index [store]"
}

@test "--by line: a program without frame pointers" {
	store 101 -g -fomit-frame-pointer
	traced --by line
	rows=$(grep -n 'sum += fdatasync' tests/store.c) index=$(grep -n 'return fdatasync' tests/store.c)
	shares_are_right "save_rows (store.c:${rows%%:*})" "save_index (store.c:${index%%:*})"
}

@test "--by function: a static program, a static PIE, and one that is not position-independent" {
	store 101 -g -static -DSTATIC
	traced --by function
	shares_are_right "save_rows [store]" "save_index [store]"
	rm "$tmp/go"
	store 101 -static-pie -DSTATIC
	traced --by function
	shares_are_right "save_rows [store]" "save_index [store]"
	rm "$tmp/go"
	store 101 -g -no-pie
	traced --by function
	shares_are_right "save_rows [store]" "save_index [store]"
}

@test "--by function: a stripped program has places for names" {
	store 101 -s
	traced --by function
	mapfile -t keys < <(jq -r '[.ops[] | select(.op == "fsync" and (.key | startswith("0x")))] |
		sort_by(-.count) | .[].key' "$tmp/out")
	((${#keys[@]} == 2))
	shares_are_right "${keys[@]}"
}

# As distributions with .gnu_debugdata make it: symbols of functions alone, packed.
@test "--by function: a stripped program with MiniDebugInfo has names" {
	cc -O2 -pthread -o "$dir/store" tests/store.c
	nm "$dir/store" --format=posix --defined-only | awk '$2 ~ /^[Tt]$/ { print $1 }' >"$dir/keep"
	objcopy --only-keep-debug "$dir/store" "$dir/debug"
	objcopy -S --keep-symbols="$dir/keep" "$dir/debug" "$dir/mini"
	strip "$dir/store"
	xz "$dir/mini"
	objcopy --add-section .gnu_debugdata="$dir/mini.xz" "$dir/store"
	expect 0 breakdown -j --all-stacks --by function -o "$tmp/out" -- "$dir/store" "$dir/f" 101 <<<go
	shares_are_right "save_rows [store]" "save_index [store]"
}

@test "--by function and line: a program in Go, whose stacks end where goroutines begin" {
	command -v go >/dev/null || skip "there is no Go"
	GOCACHE=$dir/cache go build -o "$dir/gostore" tests/store.go
	expect 0 breakdown -j --all-stacks --by function -o "$tmp/out" -- "$dir/gostore" "$dir/f" 101
	shares_are_right "main.saveRows [gostore]" "main.saveIndex [gostore]"
	json '[.stacks.ends[].end] == ["whole"]' "$tmp/out"
	"$iostrata" record --all-stacks -o "$dir/r" -- "$dir/gostore" "$dir/f" 101
	"$iostrata" report -j --by line "$dir/r" >"$tmp/out"
	mapfile -t at < <(grep -n "f.Sync()" tests/store.go | cut -d: -f1)
	shares_are_right "main.saveRows (store.go:${at[0]})" "main.saveIndex (store.go:${at[1]})"
	json '[.stacks.ends[].end] == ["whole"]' "$tmp/out"
	# a stripped program has the names that Go itself needs
	GOCACHE=$dir/cache go build -ldflags="-s -w" -o "$dir/gostore" tests/store.go
	not grep -q '[.]symtab' <(readelf -SW "$dir/gostore")
	rm "$tmp/out"
	expect 0 breakdown -j --all-stacks --by function -o "$tmp/out" -- "$dir/gostore" "$dir/f" 101
	shares_are_right "main.saveRows [gostore]" "main.saveIndex [gostore]"
	json '[.stacks.ends[].end] == ["whole"]' "$tmp/out"
}

@test "--by function: a library that is loaded later; --by library; --hide takes its caller" {
	cc -O2 -g -shared -fPIC -DLIBRARY -o "$dir/libsave.so.1" tests/store.c
	library=$dir/libsave.so.1
	# its table is made when a stack has met it: the first stacks end there, and are counted
	store 1009 -g
	traced --by function
	rows=$(syncs_of "save_rows [libsave.so.1]") index=$(syncs_of "save_index [libsave.so.1]")
	json '[.ops[] | select(.op == "fsync") | .count] | add == 4036' "$tmp/out"
	((rows + index > 101 && 100 * rows >= 73 * (rows + index) && 100 * rows <= 77 * (rows + index)))
	rm "$tmp/go"
	store 1009 -g
	traced --by library
	(($(syncs_of libsave.so.1) > 101))
	rm "$tmp/go"
	store 1009 -g
	traced --by function --hide libsave
	(($(syncs_of "down [store]") > 101))
}

@test "--by function: no stack of another thread" {
	store 211,211 -g
	traced --by function
	jq -e '[.ops[] | select(.op == "fsync" and .key == "save_other [store]")] | length == 1' "$tmp/out"
	rows=$(syncs_of "save_rows [store]") index=$(syncs_of "save_index [store]")
	((rows + index == 844 && rows == 633))
}

@test "--by function: a program whose file is deleted" {
	store 101 -g
	wait_until grep -qx store "/proc/$spawned_pid/comm" # a shell becomes it
	rm "$dir/store"
	traced --by function
	shares_are_right "save_rows [store]" "save_index [store]"
}

@test "--by function: the first calls of a command have callers, in its libraries, too" {
	cc -O2 -g -o "$dir/store" tests/store.c
	expect 0 breakdown -j --all-stacks --by function -o "$tmp/out" -- "$dir/store" "$dir/f" 3 <<<go
	json '.stacks | .taken > 20 and .taken == .of and [.ends[].end] == ["whole"]' "$tmp/out"
	(($(syncs_of "save_rows [store]") == 9))
	cc -O2 -g -shared -fPIC -DLIBRARY -o "$dir/libsave.so.1" tests/store.c
	cc -O2 -g -o "$dir/saver" -Wl,-rpath,'$ORIGIN' -x c - -x none "$dir/libsave.so.1" <<-'END'
		#include <fcntl.h>
		extern long save_rows(int);
		int main(int argc, char **argv) { return save_rows(open(argv[argc - 1], O_RDWR)) != 3; }
	END
	printf '#!%s\n' "$dir/saver" >"$dir/script"
	chmod +x "$dir/script"
	expect 0 breakdown -j --all-stacks --by function -o "$tmp/out2" -- "$dir/script" "$dir/f"
	mv "$tmp/out2" "$tmp/out"
	json '.stacks | .taken == .of and [.ends[].end] == ["whole"]' "$tmp/out"
	(($(syncs_of "save_rows [libsave.so.1]") == 3))
}

# Writes 404 pages, drops them from memory, and maps them: touch_rows reads three of four.
@test "--by function: a process that is already at work has callers from the first call on" {
	cc -O2 -x c -o "$dir/busy" - <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int fd = open(argv[argc - 1], O_CREAT | O_RDWR, 0600);; usleep(500))
		pwrite(fd, "", 1, 0);
}
END
	spawn "$dir/busy" "$dir/f"
	wait_until test -s "$dir/f"
	expect 0 breakdown -j --all-stacks --by function -p "$spawned_pid" -D 0.5 -o "$tmp/out"
	json '.stacks.taken > 0 and all(.stacks.ends[]; .end != "not_ready")' "$tmp/out"
}

@test "--by function: a page fault has the caller of the access, also in a recording" {
	cc -O2 -g -o "$dir/toucher" -x c - <<-'END'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <sys/mman.h>
		#include <unistd.h>
		enum { PAGES = 404, SIZE = 4096 };
		__attribute__((noinline)) int touch_rows(volatile char *at) { return *at + 1; }
		__attribute__((noinline)) int touch_index(volatile char *at) { return *at + 2; }
		int main(int argc, char **argv)
		{
			static char page[SIZE];
			int fd = open(argv[argc - 1], O_RDWR | O_CREAT, 0600), sum = 0;
			char *at = mmap(NULL, PAGES * SIZE, PROT_READ, MAP_SHARED, fd, 0);
			for (int i = 0; i < PAGES; i++)
				write(fd, page, SIZE);
			fsync(fd);
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
			madvise(at, PAGES * SIZE, MADV_RANDOM);
			for (int i = 0; i < PAGES; i++)
				sum += (i % 4 ? touch_rows : touch_index)(at + i * SIZE);
			return sum == 0;
		}
	END
	touched() { jq --arg key "$1" '[.ops[] | select(.op == "fault" and .key == $key) | .count] | add // 0' "$tmp/out"; }
	if "$iostrata" doctor --probes | grep -q '^on_fault_stack .* yes '; then
		rows="touch_rows [toucher]" index="touch_index [toucher]" wanted="303 101"
		echo "# a page fault's stack is taken at the return of handle_mm_fault()" >&3
	else
		rows="(caller unknown: no program could take the stack at the end of a page fault)" index=$rows wanted="404 404"
		echo "# no function can be probed here: all page faults have this reason" >&3
	fi
	callers_are_right() {
		[[ "$(touched "$rows") $(touched "$index")" == "$wanted" ]] ||
			{ echo "wanted: $wanted"; jq -c '.stacks, (.ops[] | {op, key, count})' "$tmp/out"; return 1; }
	}
	touch "$dir/f"
	expect 0 breakdown -j --all-stacks --by function --file "$dir/f" -o "$tmp/out" -- "$dir/toucher" "$dir/f"
	json '.stacks | .taken == .of and .lost == 0 and .of == 811' "$tmp/out"
	callers_are_right
	expect 0 record --all-stacks -o "$dir/r" -- "$dir/toucher" "$dir/f"
	"$iostrata" report --by function -j --file "$dir/f" "$dir/r" >"$tmp/out"
	callers_are_right
}

# submitted uring|polled|aio: the program submits 404 requests; JSON in $tmp/out, in $tmp/recorded from a recording.
submitted() {
	cc -O2 -g -o "$dir/submitter" tests/submitter.c
	"$dir/submitter" "$1" "$dir/f" 1 || skip "no $1 here"
	expect 0 breakdown -j --all-stacks --by function --op uring,aio -o "$tmp/out" -- "$dir/submitter" "$1" "$dir/f" 101
	expect 0 record --all-stacks --op uring,aio -o "$dir/r" -- "$dir/submitter" "$1" "$dir/f" 101
	"$iostrata" report --by function -j "$dir/r" >"$tmp/recorded"
}

requests_of() { # KEY FILE
	jq --arg key "$1" '[.ops[] | select((.op == "uring" or .op == "aio") and .key == $key) | .count] | add // 0' "$2"
}

@test "--by function: a request of io_uring or libaio has the function that submitted it, also in a recording" {
	for how in uring aio; do
		submitted "$how"
		for file in "$tmp/out" "$tmp/recorded"; do
			json '.stacks | .taken == .of and .lost == 0' "$file"
			[[ $(requests_of "submit_rows [submitter]" "$file") == 303 &&
				$(requests_of "submit_index [submitter]" "$file") == 101 ]] ||
				{ echo "$how"; jq -c '.stacks, (.ops[] | {op, key, count})' "$file"; return 1; }
		done
		rm "$dir/f" "$dir/r" "$tmp/out"
	done
}

@test "--by function: requests that a thread of the kernel submits say so" {
	submitted polled
	for file in "$tmp/out" "$tmp/recorded"; do
		(($(requests_of "(caller unknown: a thread of the kernel submitted the request)" "$file") == 404))
	done
	json '.stacks.ends == [{end: "by_kernel", count: 404}]' "$tmp/out"
}

@test "--stacks: the tree has all callers, and JSON each frame" {
	store 101 -g
	start breakdown --stacks --all-stacks -p "$spawned_pid"
	echo >&8
	ends_within 60
	exec 8>&-
	tr -s ' \n' ' ' <"$tmp/out" >"$tmp/text"
	grep -q 'called by save_rows (store.c' "$tmp/text"
	grep -qE 'called by: fsync ext4, |called by: fsync [a-z0-9]+, ' "$tmp/text"
	grep -qE 'save_rows \(store.c:[0-9]+\) .*down \(store.c:[0-9]+\) x9 .*main \(store.c:[0-9]+\)' "$tmp/text"
	grep -qE 'the stacks of [0-9,]+ operations were taken' "$tmp/text"
	rm "$tmp/go"
	store 101 -g
	traced --stacks
	jq -e '.stacks.list | map(select(.op == "fsync" and .end == "whole") | [.frames[].function] |
		select(index("save_rows") and index("main"))) | length > 0' "$tmp/out"
	jq -e '.stacks | .taken == ([.ends[].count] | add) and (.sampled | not) and .lost == 0' "$tmp/out"
}

@test "--folded: each stratum of each stack is a line, and the sum is the time" {
	store 101 -g
	start breakdown --folded --all-stacks --op fsync -p "$spawned_pid"
	echo >&8
	ends_within 60
	exec 8>&-
	not grep -vE ' [0-9]+$' "$tmp/out"
	grep -qE ';main;(down;){9}save_rows;fdatasync;fsync [a-z0-9]+;[a-z]+ [0-9]+$' "$tmp/out"
}

# python_store ROUNDS: as store, in Python.
python_store() {
	"$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' ||
		skip "frames of $("$python" --version) are not read"
	mkfifo "$tmp/go"
	spawn bash -c 'exec "$0" "$1" "$2" "$3" <"$4"' "$python" tests/store.py "$dir/f" "$1" "$tmp/go"
	exec 8<>"$tmp/go"
	wait_until grep -q store.py "/proc/$spawned_pid/cmdline"
	wait_until grep -q pipe_ "/proc/$spawned_pid/wchan" # its modules are there
}

@test "--by function: Python's functions take the place of its interpreter" {
	python_store 101
	traced --by function
	shares_are_right "save_rows [store.py]" "save_index [store.py]"
	json '.stacks.ends | map(select(.end == "no_python")) == []' "$tmp/out"
}

@test "--by line: a line of Python, while another thread syncs, too" {
	python_store 101,
	traced --by line
	rows=$(grep -n 'for _ in range(3)' tests/store.py) index=$(grep -n 'def save_index' tests/store.py)
	(($(syncs_of "save_rows (store.py:$((${rows%%:*} + 1)))") == 303))
	(($(syncs_of "save_index (store.py:$((${index%%:*} + 1)))") == 101))
	other=$(grep -n 'os.fsync' tests/store.py)
	(($(syncs_of "save_other (store.py:${other%%:*})") > 0))
}

@test "--folded: frames of Python and of C stand as they were called" {
	python_store 101
	start breakdown --folded --all-stacks --op fsync -p "$spawned_pid"
	echo >&8
	ends_within 60
	exec 8>&-
	grep -qE ';<module>;(down;){9}.*functools_reduce.*saves;save_rows;.*fdatasync;fsync [a-z0-9]+;[a-z]+ [0-9]+$' \
		"$tmp/out" || grep -qE ';<module>;(down;){9}.*;saves;save_rows;.*fdatasync;fsync ' "$tmp/out"
}

@test "record --stacks: names of Python are there after the program is gone" {
	python_store 101
	start record -o "$dir/r" --all-stacks -p "$spawned_pid"
	echo >&8
	ends_within 60
	exec 8>&-
	"$iostrata" report --by function -j "$dir/r" >"$tmp/out"
	shares_are_right "save_rows [store.py]" "save_index [store.py]"
}

# jit ROUNDS [MAP]: builds and starts a program that makes its functions at run time.
jit() {
	cc -O2 -o "$dir/jit" tests/jit.c
	mkfifo "$tmp/go"
	spawn bash -c 'exec "$0" "$1" "$2" ${4:+"$4"} <"$3"' "$dir/jit" "$dir/f" "$1" "$tmp/go" "${2:-}"
	exec 8<>"$tmp/go"
	wait_until grep -qx jit "/proc/$spawned_pid/comm"
	wait_until grep -q pipe_ "/proc/$spawned_pid/wchan" # the map is written
}

@test "--by function: code made at run time has the names of a perf map" {
	jit 101 map
	traced --by function
	rm "/tmp/perf-$spawned_pid.map"
	shares_are_right made_rows made_index
	json '[.stacks.ends[] | select(.end == "outside")] == []' "$tmp/out"
}

@test "--by function: code made at run time without a perf map is told as such" {
	jit 101
	traced --by function
	json '[.ops[] | select(.op == "fsync" and (.key | startswith("0x"))) | .count] | add == 404' "$tmp/out"
}

# recorded OPTIONS...: runs the program while it is recorded with all stacks in $dir/r; then the program is gone.
recorded() {
	store 101 -g
	start record -o "$dir/r" --all-stacks -p "$spawned_pid" "$@"
	echo >&8
	ends_within 60
	exec 8>&-
	rm "$dir/store"
}

@test "report --by function: a recording has the stacks of the run, without the program" {
	recorded
	"$iostrata" report --by function -j "$dir/r" >"$tmp/out"
	shares_are_right "save_rows [store]" "save_index [store]"
	jq -e '.stacks | .taken == .of and (.sampled | not) and .lost == 0' "$tmp/out"
	rows=$(grep -n 'sum += fdatasync' tests/store.c)
	"$iostrata" report --by line -j --op fsync "$dir/r" >"$tmp/out"
	(($(syncs_of "save_rows (store.c:${rows%%:*})") == 303))
	"$iostrata" report --by library -j --hide store "$dir/r" >"$tmp/out"
	(($(syncs_of store) == 0))
	"$iostrata" report "$dir/r" | tr -s ' \n' ' ' | grep -q 'called by save_rows (store.c:'
	"$iostrata" report --stacks "$dir/r" | grep -qE 'down \(store.c:[0-9]+\) x9'
	"$iostrata" report --folded --op fsync "$dir/r" >"$tmp/out"
	not grep -vE ' [0-9]+$' "$tmp/out"
	grep -qE ';main;(down;){9}save_rows;fdatasync;fsync [a-z0-9]+;[a-z]+ [0-9]+$' "$tmp/out"
	# the filters of other rows choose stacks, too
	"$iostrata" report --by function -j -p 1 "$dir/r" >"$tmp/out"
	jq -e '.stacks.taken == 0' "$tmp/out"
	"$iostrata" report --by function -j -p "$spawned_pid" "$dir/r" >"$tmp/out"
	(($(syncs_of "save_rows [store]") == 303))
}

@test "top --by function: a recording and a command have the same callers as breakdown" {
	recorded
	"$iostrata" top --by function --json "$dir/r" 1000 >"$tmp/out"
	json '.by == "function" and .rows == [] and (.stacks.sampled | not)' "$tmp/out"
	shares_are_right "save_rows [store]" "save_index [store]"
	# the intervals have each operation once
	"$iostrata" top --by function --json "$dir/r" 0.01 >"$tmp/parts"
	jq -es '[.[].ops[] | select(.op == "fsync")] | group_by(.key) |
		map([.[0].key, (map(.count) | add)]) == [["save_index [store]", 101], ["save_rows [store]", 303]]' "$tmp/parts"
	"$iostrata" top --by library --hide store --json "$dir/r" 1000 >"$tmp/out"
	(($(syncs_of store) == 0 && $(syncs_of libc.so.6) == 404))
	"$iostrata" top --by line -b "$dir/r" 1000 >"$tmp/out"
	grep -qE '^save_rows \(store.c:[0-9]+\) +fsync ' "$tmp/out"
	grep -qE '^the stacks of [0-9,]+ operations were taken$' "$tmp/out"
	cc -O2 -g -pthread -o "$dir/store" tests/store.c
	"$iostrata" top --by function --all-stacks --json 1000 -- "$dir/store" "$dir/f" 101 <<<go >"$tmp/out"
	shares_are_right "save_rows [store]" "save_index [store]"
	json '.stacks | .taken == .of and [.ends[].end] == ["whole"]' "$tmp/out"
	"$iostrata" record -o "$dir/none" -- true 2>"$tmp/err"
	expect 1 top --by line -b "$dir/none"
	says "has no user stacks" "record --stacks"
	expect 2 top --by pid --hide libc -b
	says "--hide is for --by function, line and library"
	expect 2 top --by function --all-stacks "$dir/r"
	says "--all-stacks is for tracing"
}

@test "top: keys show the callers of a recording, and live only the chosen ones" {
	recorded
	pane 100 24
	full_screen 'by pid in' top "$dir/r"
	local i
	for i in {1..11}; do
		! shows 'by function in' || break
		keys v
		sleep 0.2
	done
	wait_until shows 'FUNCTION +TOTAL\*'
	shows '^save_rows \[store\] '
	keys v
	wait_until shows '^save_rows \(store.c:[0-9]+\) '
	keys Down Enter
	wait_until shows '^line save_rows \(store.c:[0-9]+\)'
	is_clean
	keys q
	screen_ended 0
	full_screen 'by library in' top --by library 0.3
	wait_until shows 'estimated from [0-9,]+ of [0-9,]+ operations|LIBRARY'
	keys v
	wait_until shows 'by dev in'
	keys v v
	wait_until shows 'by library in'
	keys q
	screen_ended 0
}

# debug_file: moves what names the program to $dir/debug, and leaves the program without names.
debug_file() {
	local id
	id=$(readelf -n "$dir/store" | sed -n 's/.*Build ID: //p')
	mkdir -p "$dir/debug/.build-id/${id:0:2}" "$dir/root/usr/lib/debug/.build-id/${id:0:2}" "$dir/plain/below"
	cp "$dir/store" "$dir/plain/below/other-name"
	objcopy --only-keep-debug "$dir/store" "$dir/debug/.build-id/${id:0:2}/${id:2}.debug"
	cp "$dir/debug/.build-id/${id:0:2}/${id:2}.debug" "$dir/root/usr/lib/debug/.build-id/${id:0:2}"
	strip "$dir/store"
}

@test "--symbols: a program that was stripped has the names of its debug file" {
	cc -O2 -g -pthread -o "$dir/store" tests/store.c
	debug_file
	"$iostrata" record --all-stacks -o "$dir/r" -- "$dir/store" "$dir/f" 101 <<<go
	expect 0 report --by function "$dir/r"
	text=$(tr -s ' \n' ' ' <<<"$output")
	[[ $text == *"[store] has no symbol: install the debug symbols of this file (build id "* ]]
	# the row of a library needs no symbol
	expect 0 report --by library "$dir/r"
	[[ $output == *"stacks of"* && $output != *"no symbol"* ]]
	expect 0 top -b --by library "$dir/r" 1000
	[[ $output == *"stacks of"* && $output != *"no symbol"* ]]
	local from
	for from in "$dir/debug" "$dir/root" "$dir/plain" "$dir/plain/below/other-name"; do
		"$iostrata" report --by function -j --symbols "$from" "$dir/r" >"$tmp/out"
		shares_are_right "save_rows [store]" "save_index [store]"
	done
	rows=$(grep -n 'sum += fdatasync' tests/store.c)
	"$iostrata" top --by line --json --symbols "$dir/debug" "$dir/r" 1000 >"$tmp/out"
	(($(syncs_of "save_rows (store.c:${rows%%:*})") == 303))
	"$iostrata" export --to pprof -o "$dir/profile" --symbols "$dir/debug" "$dir/r"
	go tool pprof -raw "$dir/profile/profile.pb.gz" | grep -q ' save_rows '
	cp "$dir/r" "$dir/again"
	"$iostrata" compare -j -v --by function --symbols "$dir/debug" "$dir/r" "$dir/again" >"$tmp/out"
	grep -q '"save_rows"' "$tmp/out"
	expect 0 report --symbols "$dir/plain" "$dir/r"
	[[ $output == *"save_rows (store.c:"* && -z $stderr ]]
	# another build of the program is not taken for it
	cc -O1 -g -pthread -o "$dir/plain/below/other-name" tests/store.c
	expect 0 report --by function --symbols "$dir/plain" "$dir/r"
	[[ $output != *save_rows* && $stderr == *"no debug file for store (build id "* ]]
	expect 1 report --symbols "$dir/none" "$dir/r"
	says "cannot read '$dir/none'" "--symbols takes a directory with debug files"
	expect 2 report --events csv --symbols "$dir/debug" "$dir/r"
	says "--symbols and --events exclude one another" "leave out --events"
	expect 2 compare --symbols "$dir/debug" "$dir/r" "$dir/again"
	says "--symbols is for --by function"
	expect 2 top --by function -b --symbols "$dir/debug" 1
	says "--symbols is for a recording"
}

@test "--symbols: a process without privileges reads the debug files, and what it cannot name is told" {
	cc -O2 -g -pthread -o "$dir/store" tests/store.c
	debug_file
	"$iostrata" record --all-stacks -o "$dir/r" -- "$dir/store" "$dir/f" 23 <<<go
	strace -f -o "$tmp/calls" -e trace=openat,setresuid,seccomp,prlimit64 \
		"$iostrata" report --symbols "$dir/debug" "$dir/r" >"$tmp/out"
	grep -q "save_rows (store.c:" "$tmp/out"
	# each process that opens a file there became another user before, with a limit of memory, and confined itself
	awk -v place="\"$dir/debug" '
		/setresuid\(.* = 0$/ { left[$1] = 1 }
		/seccomp\(SECCOMP_SET_MODE_FILTER.* = 0$/ { confined[$1] = 1 }
		/prlimit64\(0, RLIMIT_DATA, \{rlim_cur=.* = 0$/ { limited[$1] = 1 }
		/openat\(/ && index($0, place) { bad += !left[$1] || !confined[$1] || !limited[$1]; opened++ }
		END { exit !opened || bad }' "$tmp/calls"
	# a copy that ends names nothing
	strace -f -o "$tmp/calls" -e trace=seccomp -e inject=seccomp:signal=KILL:when=1 \
		"$iostrata" report --by function --symbols "$dir/debug" "$dir/r" >"$tmp/out" 2>"$tmp/err"
	not grep -q save_rows "$tmp/out"
	grep -q "the process that reads debug files has not named all: it ended" "$tmp/err"
}

# A stand-in for elfutils' debuginfod-find. It notes who asks, and whether its cache is the user's.
debuginfod_find() {
	mkdir "$dir/bin"
	cat >"$dir/bin/debuginfod-find" <<'END'
#!/bin/sh
echo "$(id -u) $1 $HOME" >>"${0%/*}/asked"
curl -sfo "${0%/*}/$2" "$DEBUGINFOD_URLS/buildid/$2/$1" && echo "${0%/*}/$2"
END
	chmod 755 "$dir/bin/debuginfod-find"
	chmod 777 "$dir/bin"
}

@test "--symbols debuginfod: the servers are asked for debug files, as the caller of sudo" {
	cc -O2 -g -pthread -o "$dir/store" tests/store.c
	debug_file
	"$iostrata" record --all-stacks -o "$dir/r" -- "$dir/store" "$dir/f" 101 <<<go
	expect 1 report --symbols debuginfod "$dir/r"
	says "no server for debug files is known: DEBUGINFOD_URLS is not set"
	export DEBUGINFOD_URLS=http://127.0.0.1:1
	run --separate-stderr env PATH=/none "$iostrata" report --symbols debuginfod "$dir/r"
	[[ $status == 1 && $stderr == *"cannot start 'debuginfod-find': "* ]]
	local id
	id=$(readelf -n "$dir/plain/below/other-name" | sed -n 's/.*Build ID: //p')
	mkdir -p "$dir/served/buildid/$id"
	cp "$dir/debug/.build-id"/*/*.debug "$dir/served/buildid/$id/debuginfo"
	spawn python3 -u -m http.server --bind 127.0.0.1 --directory "$dir/served" 0 >"$tmp/server" 2>/dev/null
	wait_until grep -q port "$tmp/server"
	DEBUGINFOD_URLS=http://127.0.0.1:$(sed 's/.* port \([0-9]*\).*/\1/' "$tmp/server")
	debuginfod_find
	chmod a+rx "$dir"
	PATH=$dir/bin:$PATH SUDO_USER=nobody SUDO_UID=65534 SUDO_GID=65534 \
		"$iostrata" report --by function -j --symbols debuginfod "$dir/r" >"$tmp/out"
	shares_are_right "save_rows [store]" "save_index [store]"
	grep -qx "65534 debuginfo $(getent passwd nobody | cut -d: -f6)" "$dir/bin/asked"
	not grep -qv "^65534 " "$dir/bin/asked"
	# without the choice nobody is asked
	rm "$dir/bin/asked"
	mkdir "$dir/empty"
	PATH=$dir/bin:$PATH expect 0 report --by function --symbols "$dir/empty" "$dir/r"
	[[ ! -e $dir/bin/asked && $stderr == *"no debug file for store (build id $id)"* ]]
}

# browsed PAGE [JAVASCRIPT]: what is in the page, as JSON in $tmp/seen
browsed() {
	CHROMIUM=$(command -v chromium) ACTIONS=${2:-} node tests/browser.js "$1" >"$tmp/seen"
	command jq -e '.console == [] and .requests == []' "$tmp/seen"
}

@test "report --html: the widths of the picture of callers are the sums of report --folded" {
	command -v chromium >/dev/null || skip "there is no chromium"
	tests/engines playwright >"$tmp/fetched" 2>&1 ||
		skip "playwright-core cannot be fetched: $(tail -n 1 "$tmp/fetched")"
	recorded
	expect 0 report --html "$dir/page.html" "$dir/r"
	# each part with the functions above it, its time, and its part of the width; the path of a function ends with ";"
	parts='show({ system: true });
		const box = document.querySelector(".flame"), all = box.getBoundingClientRect().width, list = [];
		const walk = (node, path) => {
			const part = node.querySelector(":scope > .part"), name = part.title.replace(/: .*/, "");
			const here = path + name.replace(/ \[[^[]*\]$/, "") + ";";
			list.push({ path: here.replace(/^all functions;/, ""), ns: Number(part.dataset.v),
				width: (part.getBoundingClientRect().width + 1) / all, letter: part.classList[1] });
			node.querySelectorAll(":scope > .below > .node").forEach(n => walk(n, here));
		};
		walk(box.querySelector(":scope > .node"), "");
		return { list, words: [...document.querySelectorAll("#callers li")].map(li => li.textContent) }'
	browsed "$dir/page.html" "$parts"
	"$iostrata" report --folded "$dir/r" >"$tmp/folded"
	"$python" - "$tmp/seen" "$tmp/folded" <<-'END'
		import collections, json, sys
		seen = json.load(open(sys.argv[1]))["returned"]
		sums, all = collections.Counter(), 0
		for line in open(sys.argv[2]):
		    path, ns = line.rsplit(" ", 1)
		    frames = path.split(";")[:-1]
		    all += int(ns)
		    for i in range(len(frames) + 1):
		        sums["".join(f + ";" for f in frames[:i])] += int(ns)
		parts = [p for p in seen["list"] if len(p["letter"]) > 1 and " more;" not in p["path"]]
		shares = [p for p in seen["list"] if len(p["letter"]) == 1]
		wrong = [p for p in parts if sums[p["path"]] != p["ns"] or abs(p["ns"] / all - p["width"]) > 0.003]
		assert not wrong, (all, wrong[:5], [sums[p["path"]] for p in wrong[:5]])
		assert any("main;" + 9 * "down;" + "save_rows;fdatasync;fsync " in p["path"] for p in parts), parts
		# the leaves are strata, of narrow parts, too
		assert sum(p["ns"] for p in shares) == all, shares
		assert all == seen["list"][0]["ns"]
	END
	command jq -e '.returned.words[0] | test("^the stacks of [0-9,]+ operations were taken")' "$tmp/seen"
	# a click, keys and the address show a function alone; filters that stacks have not are named
	browsed "$dir/page.html" '
		const part = name => [...document.querySelectorAll(".flame button")].find(b => b.title.startsWith(name));
		const wide = e => e.getBoundingClientRect().width;
		const width = name => Math.round(100 * wide(part(name)) / wide(document.querySelector(".flame")));
		part("save_index").click();
		const clicked = [state.frame > 0, location.hash === "#frame=" + state.frame, width("save_index")];
		const press = key => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
		part("save_index").focus();
		press("ArrowDown");
		const below = document.activeElement.title.startsWith("fdatasync");
		press("ArrowUp");
		press("Escape");
		show({ find: "SAVE_", filters: { file: "/x" }, from: 0, to: model.bins[0].length });
		return [...clicked, below, state.frame, document.querySelectorAll(".flame .found").length >= 2,
			document.getElementById("callers").textContent.includes("have no time, no file: the picture shows")]'
	command jq -e '.returned == [true, true, 100, true, 0, true, true]' "$tmp/seen" ||
		{ command jq -c .returned "$tmp/seen"; false; }
	# without stacks there is no trace of it
	"$iostrata" record -o "$dir/none" -- true 2>"$tmp/err"
	expect 0 report --html "$dir/none.html" "$dir/none"
	browsed "$dir/none.html" 'return [document.getElementById("callers"), data.callers === undefined]'
	command jq -e '.returned == [null, true]' "$tmp/seen"
	expect 2 report --html "$tmp/no.html" --stacks "$dir/r"
	says "--stacks and --html exclude one another" "a page has the callers anyway"
}

has_bytes() { (($(stat -c %s "$1") > $2)); } # FILE BYTES

@test "record --stacks: what is not recorded is told" {
	"$iostrata" record -o "$dir/none" -D 0.1 2>"$tmp/err"
	expect 1 report --by function "$dir/none"
	says "has no user stacks" "record --stacks"
	expect 2 record --stacks --requests -o "$dir/r" -D 0.1
	says "user stacks are those of operations" "add --ops"
	expect 2 record --stacks --max-size 9 --max-files 3 -o "$dir/r" -D 0.1
	says "--stacks and --max-files exclude one another"
	expect 2 report --by function --every 1 "$dir/none"
	says "--by function and --every exclude one another" "choose a part of the time: --from 10"
	expect 2 report --by line --heat "$dir/none"
	says "--by line and --heat exclude one another"
	# a recorder that is killed names no stacks
	store 20011 -g
	start record -o "$dir/cut" --all-stacks -p "$spawned_pid"
	echo >&8
	wait_until has_bytes "$dir/cut" 20000
	kill -9 "$pid"
	exec 8>&-
	run --separate-stderr "$iostrata" report --by function -j "$dir/cut"
	((status == 1))
	jq -e '.ops | map(select(.key == "(caller unknown: the recording was cut off before its stacks)")) |
		length > 0' <<<"$output"
}

# Programs that begin and end all the time, on all CPUs: their numbers and mappings are used again.
@test "user stacks: in a storm of short programs, each stack is counted and none is another's" {
	cc -O2 -g -pthread -o "$dir/store" tests/store.c
	expect 0 breakdown --stacks --all-stacks -j -o "$tmp/out" -- sh -c '
		for n in 1 2 3 4; do
			(for i in $(seq 23); do
				/bin/true
				cat /proc/self/maps >/dev/null
				echo go | "$0/store" "$0/f.$n" 3
				rm "$0/f.$n"
			done) &
		done
		wait' "$dir"
	json '.stacks | .taken + .lost == .of and .taken == ([.ends[].count] | add) and .dropped == 0' "$tmp/out"
	# 4 processes of 23 rounds, each with 4 syncs for each of 3 rounds
	json '[.stacks.list[] | select(.op == "fsync") | .count] | add == 4 * 23 * 12' "$tmp/out"
	# save_rows and save_index do nothing but sync
	json '[.stacks.list[] | select(any(.frames[]; .function == "save_rows" or .function == "save_index")) | .op] |
		unique == ["fsync"]' "$tmp/out"
	json '[.stacks.list[] | select(.op == "fsync" and .end == "whole") | .frames[.own].function] | unique ==
		["save_index", "save_rows"]' "$tmp/out"
}

@test "user stacks: what cannot be is refused" {
	expect 2 breakdown --stacks --by file -D 0.1
	says "--stacks and --by exclude one another" "--by function makes rows, --stacks a tree"
	for other in --json --csv --stacks --helpers --why; do
		expect 2 breakdown --folded "$other" -D 0.1
		says "--folded and $other exclude one another" "--"
	done
	expect 2 breakdown --hide libc -D 0.1
	says "--hide is for --by function"
	expect 2 breakdown --by function -T vfs -D 0.1
	says "user stacks are those of whole operations" "leave out -T"
	expect 2 record --by function -o "$dir/r" -D 0.1
	says "record has no --by function" "record --stacks"
}

@test "user stacks: the process that reads programs has few capabilities, and none to trace" {
	start breakdown --by function -D 60
	mapfile -t children < <(pgrep -P "$pid")
	((${#children[@]} == 1))
	reader=/proc/${children[0]}
	caps=$(awk '/^CapPrm/ { print $2 }' "$reader/status")
	# DAC_READ_SEARCH, SYS_PTRACE, CHECKPOINT_RESTORE
	((0x$caps == (1 << 2 | 1 << 19 | 1 << 40)))
	grep -qx "NoNewPrivs:.1" "$reader/status"
	grep -qx "Seccomp:.2" "$reader/status"
	[[ $(awk '/^Uid/ { print $3 }' "$reader/status") != 0 ]]
	not grep -qs bpf <(ls -l "$reader/fd")
	kill -9 "$pid"
	wait_until test ! -e "$reader"
}

@test "--by function: a program whose DWARF is nested without end has its names" {
	cat >"$tmp/main.c" <<-'END'
		#include <fcntl.h>
		#include <unistd.h>
		int main(int n, char **args)
		{
			int fd = creat(args[1], 0600);

			for (int i = 0; i < 101; i++)
				if (write(fd, "", 1) != 1)
					return 1;
			return 0;
		}
	END
	# a unit, and in it 70,000 lexical blocks, each in the one before
	cat >"$tmp/dwarf.s" <<-'END'
		.section .debug_abbrev, "", @progbits
		.byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0
		.byte 2, 0x0b, 1, 0x11, 1, 0x12, 0x0b, 0, 0, 0
		.section .debug_info, "", @progbits
		.long .Lend - .Lbegin
		.Lbegin: .short 4
		.long 0
		.byte 8
		.byte 1
		.quad main, 200
		.rept 70000
		.byte 2
		.quad main
		.byte 200
		.endr
		.fill 70001
		.Lend:
		.section .note.GNU-stack, "", @progbits
	END
	cc -O2 -o "$dir/deep" "$tmp/main.c" "$tmp/dwarf.s"
	expect 0 breakdown --all-stacks --by function -j -o "$tmp/out" -- "$dir/deep" "$dir/f"
	json '[.ops[] | select(.op == "write" and .key == "main [deep]") | .count] == [101]' "$tmp/out"
}

# linked NAME: the program has no names, and tells that the file NAME has them.
linked() {
	strip "$dir/store"
	printf '%s\0' "$1" >"$tmp/link"
	truncate -s "$(((${#1} + 4) / 4 * 4))" "$tmp/link"
	printf 'crc!' >>"$tmp/link"
	objcopy --add-section .gnu_debuglink="$tmp/link" "$dir/store"
}

@test "--by function and --symbols: no time is lost with a FIFO or an endless file as a debug file" {
	mkdir "$dir/below"
	mkfifo "$dir/fifo" "$dir/below/beside" "$dir/below/other"
	truncate -s 1T "$dir/below/endless"
	for link in endless ../fifo beside; do
		id=sha1
		[[ $link != endless ]] || id=none # then the debug file has a sum, and all of it would be read
		cc -O2 -Wl,--build-id=$id -pthread -o "$dir/store" tests/store.c
		linked "$link"
		rm -f "$tmp/out"
		mv "$dir/store" "$dir/below/store"
		expect 0 breakdown --all-stacks --by function -o "$tmp/out" -- "$dir/below/store" "$dir/f" 3 <<<go
		grep -q "has no symbol" "$tmp/out"
		not grep -q "could not be looked up" "$tmp/out"
	done
	"$iostrata" record --all-stacks -o "$dir/r" -- "$dir/below/store" "$dir/f" 3 <<<go
	timeout $((20 * $(patience))) "$iostrata" report --by function --symbols "$dir" "$dir/r" >"$tmp/out"
	grep -q "has no symbol" "$tmp/out"
}
