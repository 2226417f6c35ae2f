# SPDX-License-Identifier: GPL-2.0-only
# By whom it is run, what it keeps while it traces, what the command gets of it; limits.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016 # bats sets them; sh has dollars of its own

load lib

setup() { need_root; }

teardown() { end_spawned; }

# What /proc/PID/status of the tool has under NAME.
status_of() { sed -n "s/^$1:\t//p" "/proc/$pid/status"; }

enough=+bpf,+perfmon

# kept USER CAPS: that is who it is and all that it may.
kept() {
	[[ $(status_of Uid) == "$1"$'\t'"$1"$'\t'"$1"$'\t'"$1" ]] || { status_of Uid; false; }
	[[ $(status_of Gid) == "$1"$'\t'"$1"$'\t'"$1"$'\t'"$1" ]]
	[[ -z $(status_of Groups | tr -d ' ') ]] # of root's
	for set in CapPrm CapEff; do
		((0x$(status_of $set) == $2)) || { echo "$set $(status_of $set)"; false; }
	done
	((!0x$(status_of CapInh) && !0x$(status_of CapAmb)))
	[[ $(status_of NoNewPrivs) == 1 && $(status_of Seccomp) == 2 ]]
	# not to be traced or dumped: its files in /proc are root's
	[[ $(stat -c %u "/proc/$pid/mem") == 0 ]]
}

@test "it is nobody while it traces, and may do little" {
	start breakdown
	kept 65534 $((1 << 34 | 1 << 38 | 1 << 39)) # SYSLOG, PERFMON, BPF
	finish INT
	((status == 0))
	not grep -q warning "$tmp/err"
}

@test "under sudo it is the caller" {
	SUDO_USER=daemon SUDO_UID=1 SUDO_GID=1 start breakdown
	kept 1 $((1 << 34 | 1 << 38 | 1 << 39))
	finish INT
	# root may call sudo, too, and whose ids make no sense is nobody
	for uid in 0 0x1; do
		SUDO_USER=root SUDO_UID=$uid SUDO_GID=0 start breakdown
		kept 65534 $((1 << 34 | 1 << 38 | 1 << 39))
		finish INT
	done
}

@test "only to name cgroups it may look at any file" {
	start breakdown --by cgroup
	kept 65534 $((1 << 2 | 1 << 34 | 1 << 38 | 1 << 39))
	dd if=/dev/zero of="$tmp/file" count=1 conv=fsync status=none
	finish INT
	((status == 0))
	[[ ! -d /sys/fs/cgroup/cgroup.procs ]] || not grep -q '^ *cgroup [0-9]' "$tmp/out"
}

@test "without root it stays who it is" {
	printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=%s \
		--ambient-caps=%s %s "$@"\n' $enough $enough "$iostrata" >"$tmp/not-root"
	chmod 755 "$tmp/not-root"
	iostrata=$tmp/not-root start breakdown
	kept 65534 $((1 << 38 | 1 << 39))
	finish INT
	((status == 0))
}

@test "privileges that cannot be given up are told, and it goes on" {
	run --separate-stderr setpriv --bounding-set=-setuid --inh-caps=-setuid "$iostrata" breakdown -D 0.2
	((status == 0))
	[[ $output == traced* || $output == "no I/O seen "* ]] # on an idle machine
	[[ $stderr == "warning: more privileges are kept than needed: cannot become another user: "* ]]
	[[ $stderr == *$'\nhint: '*$'\ntracing' ]]
}

@test "what sudo left behind must be whole and make sense" {
	for uid in '' abc 0x0 -1 +1 ' 1' 4294967295 4294967296 18446744073709551616; do
		SUDO_USER=nobody SUDO_UID=$uid SUDO_GID=65534 expect 125 breakdown -- touch "$tmp/ran"
		says "cannot tell who called sudo: SUDO_UID '${uid/+/\\+}'" "unset SUDO_UID"
		SUDO_USER=nobody SUDO_UID=65534 SUDO_GID=$uid expect 125 breakdown -- touch "$tmp/ran"
		says "cannot tell who called sudo: SUDO_GID '${uid/+/\\+}'" "unset SUDO_UID"
	done
	SUDO_UID=65534 expect 125 breakdown -- touch "$tmp/ran"
	says "SUDO_GID '': not set"
	SUDO_GID=65534 expect 125 breakdown -- touch "$tmp/ran"
	says "SUDO_UID '': not set"
	SUDO_USER=nobody expect 125 breakdown -- touch "$tmp/ran"
	says "SUDO_UID '': not set"
	[[ ! -e $tmp/ran ]]
	# without a name there are no further groups
	SUDO_UID=65534 SUDO_GID=65534 expect 0 breakdown -- sh -c 'id -u; id -G'
	[[ $output == $'65534\n65534\n'* ]]
}

@test "it refuses to give what its file has: setuid, setgid, capabilities" {
	dir=$(disk_dir)
	chmod 755 "$dir" build/test/tmp
	cp "$iostrata" "$dir/it"
	for how in "chmod 4755" "chmod 2755" "setcap cap_bpf,cap_perfmon,cap_sys_admin+ep"; do
		chmod 755 "$dir/it"
		PATH=$PATH:/usr/sbin $how "$dir/it" || continue # a file system without capabilities
		run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/it" breakdown -D 0.1
		((status == 4)) || { echo "$how: status $status"; false; }
		says "refusing to run as a setuid or setgid program" "use sudo"
		run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/it" \
			breakdown -- touch "$tmp/ran"
		((status == 125))
	done
	[[ ! -e $tmp/ran ]]
	# root has it all anyway
	chmod 4755 "$dir/it"
	"$dir/it" --version
	rm -r "$dir"
}

@test "the command gets no capability and no descriptor that the caller's shell had not" {
	# the shell's own are closed first: bats and make have some open
	clean='for fd in /proc/self/fd/*; do fd=${fd##*/}; ((fd < 3)) || eval "exec $fd>&-"; done; exec "$0" "$@"'
	run --separate-stderr bash -c "$clean" "$iostrata" breakdown -- "$python" -c 'import os
for fd in range(0, 4096):
    try: os.fstat(fd); print(fd)
    except OSError: pass'
	((status == 0))
	[[ $output == $'0\n1\n2\ntraced '* ]]
	run --separate-stderr with_caps $enough "$iostrata" breakdown -- grep -E '^Cap(Prm|Eff|Amb)' /proc/self/status
	((status == 0))
	[[ $output == $'CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapAmb:\t0000000000000000\n'* ]]
}

@test "the command has the caller's limits" {
	run --separate-stderr bash -c 'ulimit -Sn 123; ulimit -Sl 64; exec "$0" "$@"' "$iostrata" breakdown -- \
		bash -c 'ulimit -Sn; ulimit -Sl'
	((status == 0))
	[[ $output == $'123\n64\n'* ]]
}

@test "limits that can be raised are raised" {
	run --separate-stderr bash -c 'ulimit -Sn 20; exec "$0" "$@"' "$iostrata" breakdown -D 0.1
	((status == 0))
}

@test "too little address space is called what it is" {
	for limit in 16800 18000 22000 24000; do
		run --separate-stderr bash -c "ulimit -v $limit; exec '$iostrata' breakdown -D 0.1"
		((status != 0)) || break # it is enough here
		((status == 1)) || { echo "$limit: status $status"; false; }
		says "Cannot allocate memory" "ulimit -v"
	done
	((limit > 12000))
}

@test "an output that may not grow is an error that is told" {
	# the read is a row: an idle machine may have too few of them for a kilobyte
	run --separate-stderr bash -c "ulimit -f 1; exec '$iostrata' breakdown -j -- \
		cat /dev/null >'$tmp/out'"
	((status == 125))
	says "cannot write the output: File too large"
	# and the command is ended by it as it would be without us: 25, SIGXFSZ
	run --separate-stderr bash -c "ulimit -f 1; exec '$iostrata' breakdown -- dd if=/dev/zero of='$tmp/file'"
	((status == 128 + 25))
}
