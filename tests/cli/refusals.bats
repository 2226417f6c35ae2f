# SPDX-License-Identifier: GPL-2.0-only
# Requests which are refused: things which are not there, or not allowed.
# shellcheck disable=SC2154 # bats sets them

load lib

setup() { need_root; }

# A pid that is free: of a child that has ended.
dead_pid() { sh -c 'echo $$'; }

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all "$@"; }

@test "refusals: an unknown disk is named, with those there are" {
	expect 1 breakdown -d nosuchdisk -D 1
	says "no disk, mount or server is called 'nosuchdisk'" "lsblk"
	expect 1 breakdown -d /dev/null -D 1
	says "no disk, mount or server is called '/dev/null'"
	expect 1 breakdown -d $'\e[31m' -D 1
	says "no disk, mount or server is called '.x1b"
	[[ $stderr != *$'\e'* ]]
}

@test "refusals: the pid of an ended process is refused" {
	gone=$(dead_pid)
	expect 1 breakdown -p "$gone" -D 1
	says "no process has pid $gone"
}

@test "refusals: an unknown layer is refused, and layers are listed" {
	expect 1 breakdown -T nosuchlayer -D 1
	says "no layer or file system 'nosuchlayer'" "syscall, vfs, fs and blk"
}

@test "refusals: a layer that this kernel cannot trace gives exit status 3" {
	[[ ! -e /sys/bus/event_source/devices/kprobe ]] || skip "this kernel has kprobes"
	for layer in vfs fs ext4; do
		expect 3 breakdown -T $layer -D 0.1
		says "this layer cannot be traced: functions cannot be probed: " "iostrata doctor"
	done
	expect 3 breakdown --strict -T vfs -D 0.1
	run -125 --separate-stderr "$iostrata" breakdown -T vfs -- echo ran
	[[ -z $output ]]
}

@test "refusals: an unknown file system type is refused" {
	expect 1 breakdown --fs nosuchfs -D 0.1
	says "'nosuchfs'"
}

@test "refusals: an unknown cgroup is refused" {
	expect 1 breakdown --cgroup /no/such/cgroup -D 1
	says "no such cgroup '/no/such/cgroup'|no cgroup v2"
}

@test "refusals: an unknown file is refused" {
	expect 1 breakdown --file /no/such/file -D 1
	says "'/no/such/file': No such file or directory" "give its directory"
	expect 1 breakdown --file /etc/passwd/x -D 1
	[[ $stderr != *hint:* ]]
}

@test "refusals: without permission, exit status 4 and a hint" {
	for args in "breakdown -D 1" "breakdown -T syscall -D 1" "top -b -C 1 1" "record -o $tmp/out" \
		"funcs vfs_read -D 1"; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr as_nobody "$iostrata" $args
		((status == 4))
		says "cannot trace without CAP_BPF and CAP_PERFMON$" "run as root"
	done
	# root, but in a container
	run --separate-stderr setpriv --bounding-set=-all --inh-caps=-all "$iostrata" breakdown -D 1
	((status == 4))
	says "cannot trace without CAP_BPF and CAP_PERFMON$" "docker run --cap-add"
}

@test "refusals: with one capability of two, the missing one is named" {
	for caps in bpf:CAP_PERFMON perfmon:CAP_BPF; do
		for args in "breakdown -D 1" "top -b -C 1 1" "funcs vfs_read -D 1"; do
			# shellcheck disable=SC2086 # words
			run --separate-stderr with_caps "+${caps%:*}" "$iostrata" $args
			((status == 4))
			says "cannot trace without ${caps#*:}$" "run as root, or with both"
		done
	done
}

@test "refusals: root of a user namespace may not trace, and the error tells why" {
	run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups \
		unshare --user --map-root-user "$iostrata" breakdown -D 1
	[[ $stderr != "unshare: "* ]] || skip "no user namespaces"
	((status == 4))
	says "cannot use BPF|cannot load BPF programs" "user namespace"
}

@test "refusals: a limit that prevents tracing is named, for each program" {
	for limit in 14 20 22 25 30 35 40 45; do
		run --separate-stderr bash -c "ulimit -n $limit; exec '$iostrata' breakdown -D 0.1"
		((status == 1))
		says "cannot (load|attach) BPF programs: (Too many open files|Bad file descriptor)" "ulimit -n"
	done
}

@test "refusals: without permission the command does not run" {
	run --separate-stderr as_nobody "$iostrata" breakdown -- echo ran
	((status == 125))
	says "cannot trace without" "run as root"
}
