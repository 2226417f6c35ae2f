# SPDX-License-Identifier: GPL-2.0-only
# In a container: namespaces of its own, and the capabilities that one is given.
# shellcheck disable=SC2154,SC2016 # bats sets them; sh has dollars of its own

load lib

setup() { need_root; }

teardown() { end_spawned; }

own_proc="mount -t proc proc /proc"

# box SETUP COMMAND...: as process 1 of a pid namespace; before, what SETUP mounts.
box() {
	local setup=$1
	shift
	unshare --mount --pid --fork --propagation private sh -ec "$setup; exec \"\$@\"" sh "$@"
}

# Reads 23 times, and as nobody else does here.
reads() { printf 'dd if=/dev/zero of=/dev/null bs=%s count=23 status=none' "$1"; }

# Docker's default capabilities, and those of --cap-add.
given=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw
given+=,+sys_chroot,+mknod,+audit_write,+setfcap,+bpf,+perfmon

@test "containers: a command is traced with docker's defaults and two capabilities, with the container's ids" {
	run --separate-stderr box "$own_proc" setpriv --bounding-set=$given --inh-caps=-all \
		"$iostrata" breakdown -j --all-files --by pid --op read -- sh -c "$(reads 4k); echo \$\$ >&2"
	((status == 0)) || { echo "$stderr"; false; }
	[[ $stderr != *"more privileges"* ]]
	json '[.ops[].key | tonumber] | max < 100'
	json '[.ops[] | select(.bytes == 23 * 4096) | .count] == [23]'
}

@test "containers: -p takes a pid of the container" {
	: >"$tmp/err"
	box "$own_proc" bash -c "(until grep -q ^tracing '$tmp/err'; do sleep 0.05; done; exec $(reads 4k)) &
		exec \"\$0\" breakdown -j --all-files --by pid --op read -p \$!" "$iostrata" >"$tmp/out" 2>"$tmp/err"
	json '[.ops[].key | tonumber] | unique | length == 1 and .[0] < 100' "$tmp/out"
	json '[.ops[] | select(.bytes == 23 * 4096) | .count] == [23]' "$tmp/out"
}

@test "containers: a process in a nested container is refused" {
	run --separate-stderr box "$own_proc" bash -c 'unshare --pid --fork sleep 10 & wrapper=$!
		for i in $(seq 100); do
			inner=$(cat /proc/$wrapper/task/$wrapper/children)
			[[ -n $inner ]] && break
			sleep 0.05
		done
		exec "$0" breakdown -p ${inner% } -D 0.2' "$iostrata"
	((status == 1))
	says "process [0-9]+ is in a pid namespace below this one" "--pid=host"
}

@test "containers: with a foreign /proc, tracing is refused" {
	for args in "-p 1 -D 0.2" "-D 0.2"; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr box "mount -t tmpfs none /proc" "$iostrata" breakdown $args
		((status == 1))
		says "cannot tell processes: /proc is not mounted" "mount -t proc"
		# the host's
		# shellcheck disable=SC2086
		run --separate-stderr box true "$iostrata" breakdown $args
		((status == 1))
		says "/proc belongs to another pid namespace" "mount -t proc"
	done
	run --separate-stderr box "$own_proc; mount -t tmpfs none /sys" "$iostrata" breakdown -D 0.2
	((status == 1))
	says "/sys is not mounted"
}

@test "containers: processes outside have no ids or names, and a warning says so" {
	spawn bash -c "while :; do $(reads 512); sleep 0.1; done"
	run --separate-stderr box "$own_proc" "$iostrata" breakdown -j --all-files --by pid -D 1
	((status == 0))
	[[ $stderr == *"warning: processes outside this pid namespace have no ids here"* ]]
	json '[.ops[] | select(.key == "0") | .comm // ""] | length > 0 and all(. == "")'
	# by name they are known
	run --separate-stderr box "$own_proc" "$iostrata" breakdown -j --all-files --by comm --comm dd -D 1
	((status == 0))
	[[ $stderr != *warning* ]]
	json '[.ops[].key] | unique == ["dd"]'
}

# named COMMAND...: where a pod's container and one of docker read 101 and 23 times, each in a cgroup as its
# runtime makes it, and with the files which have their names
named() {
	cat >"$tmp/named" <<-'SH'
		set -e
		pod=fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210
		docker=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
		mount -t cgroup2 none /sys/fs/cgroup
		mount -t tmpfs none /var/log
		mount -t tmpfs none /var/lib
		mkdir -p /var/log/containers /var/lib/docker/containers/$docker
		ln -s nowhere "/var/log/containers/web-1_shop_nginx-$pod.log"
		echo '{"ID": "x", "Name": "/data\u001bbase"}' >/var/lib/docker/containers/$docker/config.v2.json
		cgroups="/sys/fs/cgroup/kubepods/burstable/pod0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9/$pod"
		cgroups+=" /sys/fs/cgroup/docker/$docker"
		mkdir -p $cgroups
		"$@" &
		tool=$!
		for _ in {1..400}; do grep -q ^tracing "$TMP/err" && break; sleep 0.05; done
		set -- $cgroups
		sh -c 'echo 0 >"$0/cgroup.procs"; dd if=/dev/zero of=/dev/null bs=4k count=101 status=none' "$1"
		sh -c 'echo 0 >"$0/cgroup.procs"; dd if=/dev/zero of=/dev/null bs=4k count=23 status=none' "$2"
		sleep 0.5
		eval "$AFTER"
		kill -INT $tool
		status=0
		wait $tool || status=$?
		rmdir $cgroups /sys/fs/cgroup/docker /sys/fs/cgroup/kubepods/burstable/* /sys/fs/cgroup/kubepods/burstable \
			/sys/fs/cgroup/kubepods || true
		exit $status
	SH
	: >"$tmp/err"
	chmod 755 "$tmp"
	TMP=$tmp AFTER=${after:-} unshare --mount --propagation private bash "$tmp/named" "$@" \
		>"$tmp/out" 2>"$tmp/err" 3>&- 9>&-
}

@test "containers: their given names are shown, even with two capabilities" {
	tool="$iostrata breakdown --all-files --op read --by container"
	for command in "$tool" "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+bpf,+perfmon \
			--ambient-caps=+bpf,+perfmon $tool"; do
		# shellcheck disable=SC2086 # words
		named $command -n 50 || { cat "$tmp/err"; false; }
		grep -q 'shop/web-1/nginx' "$tmp/out" || { cat "$tmp/out"; false; }
		grep -qF 'data\x1bbase' "$tmp/out"
		# shellcheck disable=SC2086
		named $command -j
		json '[.ops[] | select(.container_name == "shop/web-1/nginx") | .count] | add >= 101' "$tmp/out"
		json '[.ops[] | select(.container_name == "data\u001bbase") | .container | length] | unique == [64]' "$tmp/out"
	done
	named "$iostrata" record --all-files --op read -o "$tmp/named.ios"
	expect 0 report -j --by container "$tmp/named.ios"
	json '[.ops[] | select(.container_name == "shop/web-1/nginx") | .count] | add >= 101'
	expect 0 report --html "$tmp/named.html" "$tmp/named.ios"
	for name in 'shop/web-1/nginx' 'data\x1bbase'; do
		expect 0 report -n 50 --by container "$tmp/named.ios"
		[[ $output == *"$name"* ]]
		grep -qF "${name/\\/\\\\}" "$tmp/named.html" # in JSON
	done
	after='sleep 1.5; curl -sS "$(sed -n "s,^serving ,,p" "$TMP/err")metrics"' \
		named "$iostrata" serve --listen 127.0.0.1:0 --by container --all-files --op read
	for labels in 'namespace="shop",pod="web-1",container="nginx"' 'namespace="",pod="",container="data?base"'; do
		grep -q "iostrata_operation_bytes_total{op=\"read\",fs=\"[a-z]*\",$labels} [1-9]" "$tmp/out"
	done
}

@test "containers: recordings, events and tables have their names" {
	named "$iostrata" record --all-files -o "$tmp/a.ios" || { cat "$tmp/err"; false; }
	expect 0 report --events json --op read "$tmp/a.ios"
	command jq -r 'select(.container_name) | "\(.container_name) \(.container | length)"' <<<"$output" |
		sort | uniq -c >"$tmp/names"
	cat "$tmp/names"
	(($(awk '$2 == "shop/web-1/nginx" && $3 == 64 { print $1 }' "$tmp/names") >= 101))
	(($(awk '/^ *[0-9]+ data.base 64$/ { print $1 }' "$tmp/names") >= 23))
	expect 0 report --events csv --op read "$tmp/a.ios"
	[[ $(grep -c '"shop/web-1/nginx",' <<<"$output") -ge 101 ]]
	[[ $(grep -cF '"data\x1bbase"' <<<"$output") -ge 23 ]]
}

@test "--by container: containers that end within an interval have names" {
	hierarchy=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
	[[ -n $hierarchy && -w $hierarchy ]] || skip "no cgroup v2 can be written"
	start breakdown -j --by container --all-files --comm dd -D 30
	for i in 1 2 3; do
		id=$(printf 'c0ffee%058x' "$i")
		mkdir "$hierarchy/libpod-$id"
		sh -c 'echo $$ >"$0/cgroup.procs"; exec dd if=/dev/zero of=/dev/null bs=512 count=23 status=none' \
			"$hierarchy/libpod-$id"
		rmdir "$hierarchy/libpod-$id"
	done
	finish INT
	json '[.ops[] | select(.op == "read" and .bytes == 23 * 512 and (.key | startswith("c0ffee")))
		| [.key[:64][-1:], .count]] | sort == [["1", 23], ["2", 23], ["3", 23]]' "$tmp/out"
}
