# SPDX-License-Identifier: GPL-2.0-only
# serve on many machines: the service, the image, the pods.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031 # bats sets them; other shells have dollars of their own

load lib

setup() { need_root; }

teardown() {
	end_spawned
	[[ -z ${containers:-} ]] || podman rm -f -t 0 $containers >/dev/null 2>&1 || true
}

answers() {
	curl -sS --max-time 2 "${url}metrics" >"$tmp/metrics" 2>/dev/null && grep -q ^iostrata_build_info "$tmp/metrics"
}

@test "fleet: the service is hardened, and its options exist" {
	command -v systemd-analyze >/dev/null || skip "there is no systemd-analyze"
	systemd-analyze security --help | grep -q offline || skip "this systemd-analyze knows no files"
	sed "s,@BIN@,${iostrata%/*}," systemd/iostrata-serve.service >"$tmp/iostrata-serve.service"
	run systemd-analyze security --offline=true --threshold=20 --no-pager "$tmp/iostrata-serve.service"
	((status == 0)) || { echo "$output"; false; }
	[[ $output == *"Overall exposure level"* && $output != *"Unknown"* ]]
	[[ $(sed -n 's/^CapabilityBoundingSet=//p' systemd/iostrata-serve.service) == "CAP_BPF CAP_PERFMON" ]]
}

@test "fleet: started as by the service, it is not root and has two capabilities" {
	cat >"$tmp/as-service" <<-EOF
		#!/bin/sh
		exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+bpf,+perfmon \
			--ambient-caps=+bpf,+perfmon --bounding-set=-all,+bpf,+perfmon --no-new-privs $iostrata "\$@"
	EOF
	chmod 755 "$tmp/as-service"
	iostrata=$tmp/as-service start serve --listen 127.0.0.1:0 --by cgroup
	url=$(sed -n 's,^serving ,,p' "$tmp/err")
	wait_until answers
	not grep -q warning "$tmp/err"
	not grep -q 'cgroup="cgroup [0-9]' "$tmp/metrics"
	finish TERM
	((status == 0))
}

# of_yaml NAME: the values of NAME in the file, wherever NAME stands.
of_yaml() { sed -n "s/^ *$1: *//p" iostrata.yaml | sed 's/ *#.*//'; }

@test "fleet: the DaemonSet asks for two capabilities, and its command exists" {
	[[ $(of_yaml add) == "[BPF, PERFMON]" && $(of_yaml drop) == "[ALL]" ]]
	[[ $(of_yaml privileged) == false && $(of_yaml readOnlyRootFilesystem) == true && $(of_yaml hostPID) == true ]]
	version=$("$iostrata" --version)
	[[ $(of_yaml image) == "localhost/iostrata:${version#* }" ]]
	echo 0123456789abcdef >"$tmp/token"
	mapfile -t args < <(sed -n '/^ *args:/,/^ *ports:/s/^ *- //p' iostrata.yaml |
		sed "s,/run/iostrata/token,$tmp/token,; s,:9740,:0,")
	((${#args[@]} >= 4))
	start "${args[@]}"
	finish INT
	((status == 0))
}

# Skips the test if podman cannot run a container which has busybox alone.
podman_works() {
	command -v podman >/dev/null || skip "there is no podman"
	[[ -e /sys/fs/cgroup/cgroup.procs ]] || skip "the containers of podman are in no cgroup of version 2 here"
	mkdir -p "$tmp/root/bin"
	cp "$(command -v busybox)" "$tmp/root/bin/busybox"
	if ! { tar -C "$tmp/root" -c . | podman import - localhost/iostrata-test:1 &&
		podman run --rm --network=none localhost/iostrata-test:1 /bin/busybox true; } >"$tmp/why" 2>&1; then
		skip "podman does not work here: $(tail -n 1 "$tmp/why")"
	fi
}

serves() { url=$(podman logs $containers 2>&1 | sed -n 's,^serving ,,p') && [[ $url ]]; }

@test "podman: the image serves with two capabilities only" {
	podman_works
	make -s image >"$tmp/built" 2>&1 || { tail -n 5 "$tmp/built"; false; }
	containers=iostrata-test-$$-serve
	podman run -d --name $containers --pid=host --network=host --read-only --cap-drop=all --cap-add=BPF \
		--cap-add=PERFMON --security-opt=seccomp=unconfined -v /sys/fs/cgroup:/sys/fs/cgroup:ro \
		"localhost/iostrata:$("$iostrata" --version | cut -d' ' -f2)" serve --listen 127.0.0.1:0 \
		--by container >/dev/null
	wait_until serves
	wait_until answers
	not grep -q 'error' <(podman logs $containers 2>&1)
}

@test "podman: two containers have their names, and the bytes that each read" {
	podman_works
	start serve --listen 127.0.0.1:0 --by container --op read --all-files
	url=$(sed -n 's,^serving ,,p' "$tmp/err")
	declare -A counts=([iostrata-test-$$-a]=101 [iostrata-test-$$-b]=1009)
	containers=${!counts[*]}
	for container in $containers; do
		podman run -d --name "$container" --network=none localhost/iostrata-test:1 /bin/busybox sh -c "
			/bin/busybox dd if=/dev/zero of=/dev/null bs=4096 count=${counts[$container]} 2>&1
			/bin/busybox sleep 20" >/dev/null
	done
	# the shell and the loader have read some bytes more
	read_by() {
		curl -sS "${url}metrics" | awk -v name="container=\"$1\"" -v want="$(($2 * 4096))" '
			/^iostrata_operation_bytes_total/ && index($0, name) { n += $NF }
			END { exit !(n >= want && n < want + 65536) }'
	}
	wait_until read_by iostrata-test-$$-a 101
	wait_until read_by iostrata-test-$$-b 1009
}
