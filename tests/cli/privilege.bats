# SPDX-License-Identifier: GPL-2.0-only
# By whom it is run, what it keeps while it traces, what the command gets of it; limits.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016 # bats sets them; sh has dollars of its own

load lib

setup() { need_root; }

teardown() { end_spawned; }

# status_of NAME: the value of NAME in /proc/PID/status of the tool.
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

@test "privileges: the tracing process is nobody, with few capabilities" {
	start breakdown
	kept 65534 $((1 << 34 | 1 << 38 | 1 << 39)) # SYSLOG, PERFMON, BPF
	finish INT
	((status == 0))
	not grep -q warning "$tmp/err"
}

@test "privileges: under sudo the tracing process is the caller" {
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

@test "privileges: only runs that name cgroups keep CAP_DAC_READ_SEARCH" {
	start breakdown --by cgroup
	kept 65534 $((1 << 2 | 1 << 34 | 1 << 38 | 1 << 39))
	dd if=/dev/zero of="$tmp/file" count=1 conv=fsync status=none
	finish INT
	((status == 0))
	[[ ! -d /sys/fs/cgroup/cgroup.procs ]] || not grep -q '^ *cgroup [0-9]' "$tmp/out"
}

@test "privileges: without root the user stays the same" {
	printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=%s \
		--ambient-caps=%s %s "$@"\n' $enough $enough "$iostrata" >"$tmp/not-root"
	chmod 755 "$tmp/not-root"
	iostrata=$tmp/not-root start breakdown
	kept 65534 $((1 << 38 | 1 << 39))
	finish INT
	((status == 0))
}

@test "privileges: one that cannot be dropped is reported, and tracing goes on" {
	run --separate-stderr setpriv --bounding-set=-setuid --inh-caps=-setuid "$iostrata" breakdown -D 0.2
	((status == 0))
	[[ $output == traced* || $output == "no I/O seen "* ]] # on an idle machine
	[[ $stderr == "warning: more privileges are kept than needed: cannot become another user: "* ]]
	[[ $stderr == *$'\nhint: '*$'\ntracing' ]]
}

@test "privileges: incomplete or wrong variables of sudo are refused" {
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
	[[ $output == $'65534\n65534' ]]
}

# A copy of the program that a group may execute, with capabilities: it is $it.
group=4242
make_group_program() {
	dir=$(disk_dir)
	chmod 755 "$dir" build/test/tmp
	it=$dir/it
	cp "$iostrata" "$it"
	chgrp $group "$it"
	chmod 750 "$it"
	PATH=$PATH:/usr/sbin setcap cap_bpf,cap_perfmon+ep "$it" || skip "no capabilities on files here"
}

# as_user GROUP COMMAND...: sh is a second exec, before which setpriv's capabilities are gone.
as_user() {
	local gid=$1
	shift
	setpriv --reuid=65534 --regid=65534 --groups="$gid" --inh-caps=-all sh -c 'exec "$0" "$@"' "$@"
}

@test "file capabilities: with a group, tracing works and the command gets none" {
	make_group_program
	for command in "breakdown -D 0.1" "top -b 0.1 1" "record -o - -D 0.1" doctor; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr as_user $group "$it" $command
		((status == 0)) || { echo "$command: status $status: $stderr"; false; }
	done
	run --separate-stderr as_user $group "$it" breakdown -j -- sh -c '
		grep -E "^(Uid|Cap(Inh|Prm|Eff|Amb))" /proc/self/status >&2
		dd if=/dev/zero of=/dev/null bs=1 count=23 status=none'
	((status == 0))
	none=0000000000000000
	[[ $stderr == *$'CapInh:\t'$none$'\nCapPrm:\t'$none$'\nCapEff:\t'$none$'\nCapAmb:\t'$none* ]]
	[[ $stderr == *$'Uid:\t65534\t65534\t65534\t65534'* ]]
	json '.ops | length > 0'
	cat >"$tmp/by-group" <<-EOF
		#!/bin/sh
		exec setpriv --reuid=65534 --regid=65534 --groups=$group --inh-caps=-all sh -c 'exec "\$0" "\$@"' $it "\$@"
	EOF
	chmod 755 "$tmp/by-group"
	iostrata=$tmp/by-group start breakdown
	for set in CapPrm CapEff; do
		((0x$(status_of $set) == (1 << 38 | 1 << 39)))
	done
	((!0x$(status_of CapInh) && !0x$(status_of CapAmb)))
	[[ $(status_of NoNewPrivs) == 1 && $(stat -c %u "/proc/$pid/mem") == 0 ]]
	finish INT
	((status == 0))
	rm -r "$dir"
}

@test "file capabilities: commands that do not trace drop them" {
	make_group_program
	PATH=$PATH:/usr/sbin setcap cap_bpf,cap_perfmon,cap_dac_read_search+ep "$it"
	echo text >"$dir/secret"
	chmod 600 "$dir/secret"
	for command in report "export --to otf2 -o $tmp/out"; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr as_user $group "$it" $command "$dir/secret"
		((status == 1))
		says "secret': Permission denied"
	done
	rm -r "$dir"
}

@test "file capabilities: a file that everybody may execute, or setuid or setgid, is refused" {
	make_group_program
	# who is not of the group
	run as_user 65534 "$it" breakdown -D 0.1
	((status == 126))
	for how in "chmod 4755" "chmod 2755" "chmod 2750" "chmod 755" "chmod 751"; do
		chmod 750 "$it"
		$how "$it"
		run --separate-stderr as_user $group "$it" breakdown -D 0.1
		((status == 4)) || { echo "$how: status $status"; false; }
		case $how in
		*" 2"* | *" 4"*) says "refusing to run as a setuid or setgid program" "use sudo" ;;
		*) says "refusing capabilities of a file that everybody may execute" "chmod 0750" ;;
		esac
		run --separate-stderr as_user $group "$it" breakdown -- touch "$tmp/ran"
		((status == 125))
	done
	[[ ! -e $tmp/ran ]]
	# root has it all anyway
	chmod 4755 "$it"
	"$it" --version
	rm -r "$dir"
}

@test "privileges: the command gets only capabilities and descriptors of the caller's shell" {
	# the shell's own are closed first: bats and make have some open
	clean='for fd in /proc/self/fd/*; do fd=${fd##*/}; ((fd < 3)) || eval "exec $fd>&-"; done; exec "$0" "$@"'
	run --separate-stderr bash -c "$clean" "$iostrata" breakdown -- "$python" -c 'import os
for fd in range(0, 4096):
    try: os.fstat(fd); print(fd)
    except OSError: pass'
	((status == 0))
	[[ $output == $'0\n1\n2' ]]
	run --separate-stderr with_caps $enough "$iostrata" breakdown -- grep -E '^Cap(Prm|Eff|Amb)' /proc/self/status
	((status == 0))
	[[ $output == $'CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapAmb:\t0000000000000000' ]]
}

@test "privileges: the command has the caller's limits" {
	run --separate-stderr bash -c 'ulimit -Sn 123; ulimit -Sl 64; exec "$0" "$@"' "$iostrata" breakdown -- \
		bash -c 'ulimit -Sn; ulimit -Sl'
	((status == 0))
	[[ $output == $'123\n64' ]]
}

@test "limits: those that can be raised are raised" {
	run --separate-stderr bash -c 'ulimit -Sn 20; exec "$0" "$@"' "$iostrata" breakdown -D 0.1
	((status == 0))
}

@test "limits: too little address space is named in the error" {
	for limit in 16800 18000 22000 24000; do
		run --separate-stderr bash -c "ulimit -v $limit; exec '$iostrata' breakdown -D 0.1"
		((status != 0)) || break # it is enough here
		((status == 1)) || { echo "$limit: status $status"; false; }
		says "Cannot allocate memory" "ulimit -v"
	done
	((limit > 12000))
}

@test "limits: an output that may not grow is an error" {
	# the read is a row: an idle machine may have too few of them for a kilobyte
	run --separate-stderr bash -c "ulimit -f 1; exec '$iostrata' breakdown -j -- \
		cat /dev/null >'$tmp/out'"
	((status == 125))
	says "cannot write the output: File too large"
	# and the command is ended by it as it would be without us: 25, SIGXFSZ
	run --separate-stderr bash -c "ulimit -f 1; exec '$iostrata' breakdown -- dd if=/dev/zero of='$tmp/file'"
	((status == 128 + 25))
}

@test "doctor: missing capabilities are listed with their consequences" {
	expect 0 doctor -j
	json '[.findings[] | select(.what == "privileges" or (.what | startswith("CAP_"))) | .works] == [true]'
	run --separate-stderr with_caps $enough,+syslog "$iostrata" doctor -j
	((status == 0))
	json '[.findings[] | select(.what | startswith("CAP_")) | select(.works | not) | .what] ==
		["CAP_SYS_ADMIN", "CAP_DAC_READ_SEARCH", "CAP_SYS_PTRACE"]'
	json '[.findings[] | select(.what == "module types") | .works] == [false]'
	run --separate-stderr with_caps $enough "$iostrata" doctor
	grep -q '^SYSLOG  *no  *--why has no names' <<<"$output"
}

@test "doctor: a user without capabilities sees the kernel's features, and who may trace" {
	nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
	run --separate-stderr "${nobody[@]}" sh -c 'exec "$0" doctor' "$iostrata"
	((status == 4))
	grep -q '^syscall  *yes' <<<"$output"
	[[ $output == *"for root"* ]]
	[[ $stderr == "error: "*"hint: "* ]]
	run --separate-stderr "${nobody[@]}" sh -c 'exec "$0" doctor -j' "$iostrata"
	((status == 4))
	json '.findings | length > 3'
}
