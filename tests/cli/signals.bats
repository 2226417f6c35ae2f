# SPDX-License-Identifier: GPL-2.0-only
# Signals: to the tool, to it and its command, ignored ones; intervals that nobody was there for.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016 # bats sets them; jq and sh have dollars of their own

load lib

setup() { need_root; }

teardown() { end_spawned; }

# A reader that does not read: what is written to $to is stuck once the pipe is full.
full_pipe() {
	mkfifo "$tmp/pipe"
	spawn sleep 60
	exec 9<>"$tmp/pipe"
	"$python" -c 'import fcntl, os
fcntl.fcntl(9, fcntl.F_SETFL, os.O_NONBLOCK)
try:
	while True: os.write(9, b"x" * 4096)
except BlockingIOError: pass
fcntl.fcntl(9, fcntl.F_SETFL, 0)'
	to=$tmp/pipe
}

is_stuck() { grep -qE 'pipe_w' "/proc/$pid/wchan" || [[ $(cut -d' ' -f1 "/proc/$pid/syscall") == 1 ]]; }

@test "signals: with SIGCHLD ignored, the command's end and code are seen" {
	run --separate-stderr timeout $((20 * $(patience))) "$python" -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$iostrata" breakdown -- sh -c 'exit 7'
	((status == 7))
	# and for the command it is as it was
	run --separate-stderr timeout $((20 * $(patience))) "$python" -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$iostrata" breakdown -- grep SigIgn: /proc/self/status
	ignored=$(sed -n 's/^SigIgn:\t//p' <<<"$output")
	((0x$ignored & 1 << 16))
}

@test "signals: the command has the caller's blocked and ignored signals" {
	with_signals() { # COMMAND...
		"$python" -c 'import os, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL if sys.argv[1] == "default" else signal.SIG_IGN)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGUSR2, signal.SIGTERM, signal.SIGALRM])
os.execv(sys.argv[2], sys.argv[2:])' "$@"
	}
	for pipe in default ignored; do
		with_signals $pipe /bin/grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status >"$tmp/want"
		with_signals $pipe "$iostrata" breakdown -- /bin/grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status \
			2>/dev/null | head -n 3 >"$tmp/got"
		diff "$tmp/want" "$tmp/got"
	done
}

@test "signals: under nohup SIGHUP does not end the run, SIGTERM does" {
	: >"$tmp/err"
	nohup "$iostrata" breakdown >"$tmp/out" 2>"$tmp/err" 3>&- &
	pid=$!
	spawned+=("$pid")
	wait_until tracing_or_gone
	kill -HUP "$pid"
	sleep 1
	not has_ended
	finish TERM
	((status == 0))
	grep -q '^traced' "$tmp/out"
}

@test "signals: SIGINT ends a run in the background of a script, although ignored there" {
	: >"$tmp/err"
	"$iostrata" breakdown >"$tmp/out" 2>"$tmp/err" 3>&- &
	pid=$!
	spawned+=("$pid")
	wait_until tracing_or_gone
	finish INT
	((status == 0))
	grep -q '^traced' "$tmp/out"
}

@test "signals: Ctrl-C with a command waits for its end, with its code and I/O" {
	# to the whole process group, as a terminal does it; the command has something to do yet
	run --separate-stderr timeout $((30 * $(patience))) "$python" -c 'import os, signal, subprocess, sys, time
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
	start_new_session=True)
p.stderr.readline()
while p.stderr.readline() != "ready\n": pass
os.killpg(p.pid, signal.SIGINT)
print(p.communicate()[0])
sys.exit(p.returncode)' "$iostrata" breakdown -j --op fsync --by comm -- "$python" -c 'import os, signal, sys, time
def on_int(*_):
	time.sleep(1)
	f = os.open("/var/tmp/iostrata-int", os.O_CREAT | os.O_WRONLY)
	for i in range(23): os.fsync(f)
	os.unlink("/var/tmp/iostrata-int")
	sys.exit(9)
signal.signal(signal.SIGINT, on_int)
print("ready", flush=True)
time.sleep(60)'
	((status == 9))
	output=$(grep schema <<<"$output")
	json '[.ops[] | select(.op == "fsync") | .count] | add == 23'
}

@test "signals: a second signal ends the run at once, and the result is printed" {
	for signal in INT TERM HUP; do
		start breakdown -o - -- sh -c 'trap "" INT TERM HUP; sleep 30 3>&- & wait; wait'
		sleep 0.3
		kill -$signal "$pid"
		sleep 1
		not has_ended
		kill -$signal "$pid"
		ends_within 5
		((status == 128 + $(kill -l $signal)))
		grep -q '^traced' "$tmp/out"
	done
}

@test "signals: two at once, as from timeout(1), count as one" {
	start breakdown -o - -- sleep 2
	kill -STOP "$pid" # so that they do
	kill -TERM "$pid"
	kill -HUP "$pid"
	kill -CONT "$pid"
	ends_within 10
	((status == 0))
	grep -q '^traced' "$tmp/out"
	begin=$SECONDS
	expect 0 breakdown -D 0.1
	run --separate-stderr timeout --preserve-status $(((SECONDS - begin + 1) * $(patience))) "$iostrata" breakdown
	((status == 0))
	[[ $output == traced* || $output == "no I/O seen"* ]] # the machine may be idle
}

@test "signals: the second one ends a run stuck in a full pipe" {
	full_pipe
	for args in "" "0.1" "-- sleep 30" "0.1 -- sleep 30"; do
		for signal in INT TERM HUP; do
			# shellcheck disable=SC2086 # words
			start breakdown -o - $args
			[[ $args != 0.1* ]] || wait_until is_stuck
			kill -$signal "$pid"
			[[ $args == *--* ]] || wait_until is_stuck
			sleep 0.3
			not has_ended
			kill -$signal "$pid"
			[[ $args != "-- sleep 30" ]] || { wait_until is_stuck; sleep 0.2; kill -$signal "$pid"; }
			ends_within 5
			((status == 128 + $(kill -l $signal)))
		done
	done
}

# An exec that waits for somebody else, who holds a lease of the file, as one over the network may.
hanging_exec() {
	hangs=$(disk_dir)
	spawn "$python" -c 'import fcntl, os, shutil, signal, sys, time
shutil.copy("/bin/true", sys.argv[1])
f = os.open(sys.argv[1], os.O_RDONLY)
signal.signal(signal.SIGIO, lambda *_: None)
fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)
open(sys.argv[1] + ".held", "w")
time.sleep(100)' "$hangs/true"
	wait_until test -e "$hangs/true.held"
}

@test "signals: while the command's exec hangs, -D and a second signal end the run" {
	hanging_exec
	start breakdown -D 1 -- "$hangs/true"
	ends_within 5
	((status == 0))
	for signal in INT TERM HUP; do
		start breakdown -- "$hangs/true"
		kill -$signal "$pid"
		sleep 0.5
		kill -$signal "$pid"
		ends_within 5
		((status == 128 + $(kill -l $signal)))
	done
	end_spawned
	rm -r "$hangs"
}

@test "signals: missed intervals are left out, and do not use up COUNT" {
	start breakdown -j 0.2 12
	sleep 0.7
	kill -STOP "$pid"
	sleep 3
	before=$(wc -l <"$tmp/out")
	kill -CONT "$pid"
	sleep 0.1
	(($(wc -l <"$tmp/out") <= before + 3))
	ends_within 10
	((status == 0 && $(wc -l <"$tmp/out") == 12))
	# one that was long, all others as they should be
	jq -es 'map(.duration_ns) | (map(select(. > 2.5e9)) | length) == 1 and
		(map(select(. < 0.05e9)) | length) <= 1' "$tmp/out"
}

@test "signals: a duration beyond the clock's range lasts until Ctrl-C" {
	start breakdown -D 18446744073
	sleep 0.5
	not has_ended
	finish INT
	((status == 0))
	for interval in 18446744073 9999999999h 1e9; do
		expect 2 breakdown "$interval"
		says "invalid value '$interval' for INTERVAL"
	done
}
