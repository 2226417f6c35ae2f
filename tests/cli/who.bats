# SPDX-License-Identifier: GPL-2.0-only
# Who a wait was due to: planted holders of locks, a scanner, a frozen file system. Named live, in JSON, in recordings,
# and by explain.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016 # bats sets them; jq and python have dollars of their own

load lib

setup() { begin_in_dir; }

teardown() {
	[[ -z ${scanner:-} ]] || kill "$scanner" || true
	[[ ! -d ${group:-} ]] || rmdir "$group"
	! mountpoint -q "$dir/m" || umount -l "$dir/m"
	end_in_dir
}

# Python that locks FILE 401 times by flock(). Each 20th time a child called "holder" has the lock for 20 ms.
locks() { # FILE
	cat <<-END
		import fcntl, os, time
		ask, asked = os.pipe(), os.pipe()
		if not os.fork():
		    open("/proc/self/comm", "w").write("holder")
		    f = open("$1", "w")
		    os.close(ask[1])
		    while os.read(ask[0], 1):
		        fcntl.flock(f, fcntl.LOCK_EX)
		        os.write(asked[1], b"x")
		        time.sleep(0.02)
		        fcntl.flock(f, fcntl.LOCK_UN)
		    os._exit(0)
		f = open("$1", "w")
		for i in range(401):
		    if i % 20 == 1:
		        os.write(ask[1], b"x")
		        os.read(asked[0], 1)
		    fcntl.flock(f, fcntl.LOCK_EX)
		    fcntl.flock(f, fcntl.LOCK_UN)
		os.close(ask[1])
		os.wait()
	END
}

# A scanner: each open in the mount DIR waits 50 ms for the answer of a process called "scannerd".
scans() { # DIR
	"$python" -c 'import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
open("/proc/self/comm", "w").write("scannerd")
fd = libc.fanotify_init(4, os.O_RDONLY)
if fd < 0 or libc.fanotify_mark(fd, 0x11, ctypes.c_uint64(0x10000), -1, sys.argv[1].encode()): sys.exit(77)
print("ready", flush=True)
while True:
    event = os.read(fd, 24)
    time.sleep(0.05)
    os.write(fd, event[16:20] + (1).to_bytes(4, "little"))
    os.close(int.from_bytes(event[16:20], "little"))' "$1" >"$tmp/scanner" 3>&- &
	scanner=$!
	wait_until grep -q ready "$tmp/scanner"
}

# A file system of this test, at $dir/m
mount_own() {
	truncate -s 64M "$dir/disk"
	mkfs.ext4 -q -F "$dir/disk"
	mkdir "$dir/m"
	mount -o loop "$dir/disk" "$dir/m"
}

@test "who: the holder of a file lock is named in text and JSON" {
	locks "$dir/lock" >"$tmp/locks.py"
	expect 0 breakdown --slowest 1 --op lock -- "$python" "$tmp/locks.py"
	grep -E ' waited [0-9.]+ ms for a file lock that holder had [(]pid [0-9]+, tid [0-9]+, in lock[)]: ' \
		<<<"$output$stderr"
	expect 0 breakdown -j --slowest 20 --op lock -- "$python" "$tmp/locks.py"
	json '[.slowest[] | select(.who.comm == "holder" and .who.kind == "file_lock" and .who.op == "lock")] |
		length >= 17 and all(.who.wait_ns > 10000000 and .who.wait_ns <= .total_ns and .who.pid != .pid and
			(.who.command | contains("locks.py")))'
}

@test "who: the first screen names the holder of a file lock, live and from a recording" {
	locks "$dir/lock" >"$tmp/locks.py"
	for command in "breakdown --" "record -o $tmp/r.ios --"; do
		# shellcheck disable=SC2086 # words
		expect 0 $command "$python" "$tmp/locks.py"
		[[ $command == breakdown* ]] || expect 0 report "$tmp/r.ios"
		grep -E '^waited [0-9.]+ ms for a file lock that holder had [(]pid [0-9]+[)]' <<<"$output$stderr"
	done
	expect 0 report -j "$tmp/r.ios"
	json '.who[0] | .kind == "file_lock" and .op == "lock" and .comm == "holder" and .count >= 17 and
		.total_ns > 100000000 and (.command | contains("locks.py"))'
	# at the time of a wait it is not known whether the operation passes such a filter
	expect 0 breakdown -j --file "$dir" -- "$python" "$tmp/locks.py"
	json '.who == null'
}

@test "who: the holder of a file lock is in recordings, exports and explain" {
	locks "$dir/lock" >"$tmp/locks.py"
	expect 0 record -o "$tmp/r.ios" -- "$python" "$tmp/locks.py"
	expect 0 report --slowest 1 --op lock "$tmp/r.ios"
	grep -E ' waited [0-9.]+ ms for a file lock that holder had ' <<<"$output"
	expect 0 report -j --slowest 17 --op lock "$tmp/r.ios"
	json '.slowest | all(.who.kind == "file_lock" and .who.comm == "holder" and (.who.command | contains("locks.py")))'
	"$iostrata" report --events json --op lock "$tmp/r.ios" >"$tmp/events"
	jq -se '[.[] | select(.who == "file_lock" and .who_comm == "holder" and .who_ns > 10000000)] | length >= 17' \
		"$tmp/events"
	jq -se '[.[] | select(.who_ns != null and (.who == null or .who_pid == null))] == []' "$tmp/events"
	expect 0 explain -j "$tmp/r.ios" 'lock>5ms'
	json '.findings[0] | .attribute == "who" and .text == "waiting for a file lock that holder had"'
}

@test "who: pages name the holder of a file lock, escaped, and its command line only if asked" {
	local said="waited [0-9.]+ m?s for a file lock that &lt;b&gt;holder had [(]pid [0-9]+" page
	locks "$dir/lock" | sed 's/"holder"/"<b>holder"/' >"$tmp/locks.py"
	expect 0 record -o "$tmp/r.ios" -- "$python" "$tmp/locks.py" a-secret
	expect 0 report --html "$tmp/recorded.html" "$tmp/r.ios"
	expect 0 report --html "$tmp/asked.html" --commands "$tmp/r.ios"
	expect 0 breakdown --slowest 3 --html "$tmp/live.html" -- "$python" "$tmp/locks.py" a-secret
	for page in recorded asked live; do
		grep -E "<p class=whos>$said[)]" "$tmp/$page.html"
		grep -E "<li>$said, tid [0-9]+, in lock[)]" "$tmp/$page.html"
		! grep -F '<b>holder' "$tmp/$page.html" || false
	done
	grep -F a-secret "$tmp/asked.html"
	! grep -F a-secret "$tmp/recorded.html" "$tmp/live.html" || false
}

@test "who: a scanner of fanotify is named" {
	mount_own
	echo x >"$dir/m/file"
	scans "$dir/m" || skip "no fanotify"
	expect 0 breakdown -j --slowest 1 --op open -- cat "$dir/m/file"
	json '.slowest[0] | .who.kind == "scanner" and .who.comm == "scannerd" and .who.wait_ns > 40000000'
	for detail in "" -v; do
		# shellcheck disable=SC2086 # no word
		expect 0 breakdown $detail -- cat "$dir/m/file"
		grep -E "^waited [0-9.]+ m?s until scannerd had answered fanotify's question [(]pid $scanner[)]" \
			<<<"$output$stderr"
	done
	expect 0 record -o "$tmp/r.ios" --op open -- cat "$dir/m/file"
	expect 0 report --slowest 1 "$tmp/r.ios"
	[[ $output == *" until scannerd had answered fanotify's question (pid $scanner, tid $scanner): "* ]]
}

@test "who: a frozen file system is named, with the process that thawed it" {
	mount_own
	fsfreeze -f "$dir/m"
	start breakdown -j --slowest 1 --op open --file "$dir/m"
	touch "$dir/m/new" 3>&- &
	sleep 0.3
	fsfreeze -u "$dir/m"
	wait $!
	finish INT
	json '.slowest[0] | .who.kind == "freeze" and .who.comm == "fsfreeze" and .who.wait_ns > 200000000' "$tmp/out"
}

@test "who: a writer that waits for dirty pages names the process that made most of them" {
	local hog bdi
	mount_own
	bdi=/sys/class/bdi/$(stat -c %Hd:%Ld "$dir/m")
	[[ -w $bdi/strict_limit && -w $bdi/max_ratio_fine ]] || skip "this kernel has no limit for one device"
	echo 1000 >"$bdi/max_ratio_fine" # 0.1 % of the limit for dirty pages
	echo 1 >"$bdi/strict_limit"
	"$python" -c 'import os, sys
open("/proc/self/comm", "w").write("hog")
f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
while True:
    for i in range(32): os.pwrite(f, b"x" * (1 << 20), i << 20)' "$dir/m/hog" 3>&- &
	hog=$!
	wait_until test -s "$dir/m/hog"
	cat >"$tmp/victim.py" <<-'END'
		import os, sys, time
		f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
		for i in range(211):
		    os.pwrite(f, b"x" * (1 << 16), i << 16)
		    time.sleep(0.005)
	END
	# the victim is not let wait each time
	throttled() {
		"$iostrata" breakdown -j -- "$python" "$tmp/victim.py" "$dir/m/victim" >"$tmp/live" 2>"$tmp/said" &&
			jq -e '.strata.throttle > 1000000' "$tmp/live"
	}
	wait_until throttled
	json '.strata.throttle as $all | [.who[] | select(.kind == "dirtier")] |
		(map(select(.comm == "hog" and .op == "write").total_ns) | add) > 0.8 * $all and
		(map(.total_ns) | add) <= $all' "$tmp/live"
	recorded() {
		"$iostrata" record --force -o "$tmp/r.ios" -- "$python" "$tmp/victim.py" "$dir/m/victim" 2>"$tmp/said" &&
			"$iostrata" report -j --slowest 1 --op write "$tmp/r.ios" >"$tmp/stored" &&
			jq -e '.strata.throttle > 1000000' "$tmp/stored"
	}
	wait_until recorded
	json '.who | any(.kind == "dirtier" and .comm == "hog")' "$tmp/stored"
	kill "$hog"
	wait "$hog" || true
}

# Lets processes in the cgroup $group write 2 MiB/s to DISK. Sets $limited if their limit can be named: version 2.
limit_writes() { # DISK
	if [[ -w /sys/fs/cgroup/cgroup.subtree_control ]]; then
		grep -qw io /sys/fs/cgroup/cgroup.controllers && echo +io >/sys/fs/cgroup/cgroup.subtree_control ||
			skip "cgroup v2 has no io controller"
		group=/sys/fs/cgroup/iostrata-who-$$ limited=1
		mkdir "$group"
		echo "$(<"/sys/class/block/$1/dev") wbps=2097152" >"$group/io.max"
	else
		[[ -d /sys/fs/cgroup/blkio ]] || skip "no cgroup io controller"
		group=/sys/fs/cgroup/blkio/iostrata-who-$$ limited=
		mkdir "$group"
		echo "$(<"/sys/class/block/$1/dev") 2097152" >"$group/blkio.throttle.write_bps_device"
	fi
}

@test "who: the limit of a cgroup is named, live, in JSON, in recordings and by explain" {
	local disk words
	mount_own
	disk=$(basename "$(findmnt -no SOURCE "$dir/m")")
	limit_writes "$disk"
	words="a limit of its cgroup (io.max or blkio.throttle)"
	[[ -z $limited ]] || words="the limit of cgroup /${group##*/}: 2.00 MiB/s of writes on $disk (io.max)"
	cat >"$tmp/limited.sh" <<-END
		echo \$\$ >"$group/cgroup.procs"
		exec dd if=/dev/zero of="$dir/m/file" bs=128k count=23 oflag=direct status=none
	END
	for command in "breakdown --" "record -o $tmp/r.ios --"; do
		# shellcheck disable=SC2086 # words
		expect 0 $command bash "$tmp/limited.sh"
		[[ $command == breakdown* ]] || expect 0 report "$tmp/r.ios"
		tr -s '\n ' ' ' <<<"$output$stderr" | grep -E "waited [0-9.]+ m?s for "
		[[ $(tr -s '\n ' ' ' <<<"$output$stderr") == *" for $words"* ]]
	done
	expect 0 report -j --slowest 3 --op write "$tmp/r.ios"
	json '(.who[0] | .kind == "limit" and .op == "write" and .count >= 7 and .comm == "io.max" and
		.total_ns > 300000000 and .limit.name == "io.max") and (.slowest | all(.who.limit.name == "io.max" and
		.who.kind == "limit" and .who.wait_ns <= .strata.throttle and .who.comm == "dd"))'
	[[ -z $limited ]] ||
		json ".who[0].limit | .cgroup == \"/${group##*/}\" and .value == \"$disk wbps=2097152\""
	expect 0 report --events csv --op write "$tmp/r.ios"
	[[ $(grep -c ',"limit",[0-9,]*,"dd","io.max"' <<<"$output") -ge 7 ]]
	expect 0 report --slowest 1 --op write "$tmp/r.ios"
	[[ $output == *"for $words"* ]]
	rmdir "$group"
}

@test "who: the thread that ran on the CPU instead is named" {
	local hog
	taskset -c 0 "$python" -c 'open("/proc/self/comm", "w").write("hog")
while True: pass' 3>&- &
	hog=$!
	expect 0 breakdown -j --slowest 500 -- taskset -c 0 "$python" -c 'import os
for i in range(60):
    f = os.open("'"$dir"'/file", os.O_RDWR | os.O_CREAT)
    for j in range(200): os.pwrite(f, b"x" * (1 << 20), 0)
    os.close(f)'
	kill "$hog"
	json '[.slowest[] | select(.who.kind == "cpu" and .who.comm == "hog" and .who.wait_ns >= 1000000)] | length >= 3' ||
		{ echo "$output" | jq -c '.slowest[:9][] | [.total_ns, .who, .strata]' && false; }
}
