# SPDX-License-Identifier: GPL-2.0-only
# serve: its figures, who may ask for them, and what others cannot do to it.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031 # bats sets them; other shells have dollars of their own

load lib

setup() { need_root; }

teardown() {
	end_spawned
	[[ -z ${disk:-} ]] || losetup -d "$disk" 2>/dev/null || true
	[[ -z ${full:-} ]] || umount "$full" 2>/dev/null || true
}

# serve ARGS...: leaves $url, without its last slash, and $server, the process that serves.
serve() {
	start serve --listen "${address:-127.0.0.1}:0" "$@"
	url=$(sed -n 's,^serving \(http://[^/]*\)/.*,\1,p' "$tmp/err")
	server=$(tr -d ' ' <"/proc/$pid/task/$pid/children")
	[[ $url && $server ]]
	wait_until has_figures
}

has_figures() { fetch /metrics >"$tmp/first" && grep -q '^iostrata_build_info' "$tmp/first"; }

# fetch PATH ARGS...: of curl
fetch() { curl -sS --max-time 10 "${@:2}" "$url$1"; }

# status PATH ARGS...: of the answer
status_of() { fetch "$1" -o /dev/null -w '%{http_code}' "${@:2}"; }

# value SERIES: in the figures of now; nothing if there is no such series.
value() { fetch /metrics | grep -F "$1 " | sed 's/.* //'; }

# has SERIES VALUE
has() { [[ $(value "$1") == "$2" ]]; }

# Asks for the figures 23 times.
answers_all() {
	local i
	for ((i = 0; i < 23; i++)); do
		[[ $(status_of /metrics) == 200 ]] || { echo "$i"; return 1; }
	done
}

# reads N NAME: N reads of 4096 bytes by a program of that name, and one at the end of the file
reads() {
	dd if=/dev/zero of="$tmp/file" bs=4096 count="$1" status=none
	[[ -e $tmp/$2 ]] || cp "$(command -v dd)" "$tmp/$2"
	"$tmp/$2" if="$tmp/file" of=/dev/null bs=4096 status=none
}

@test "serve: bytes read are in the sums, and strata add up to the time" {
	mkdir "$tmp/dir"
	serve --file "$tmp/dir" --op read
	for count in 101 23; do
		dd if=/dev/zero of="$tmp/dir/file" bs=4096 count=$count status=none
		dd if="$tmp/dir/file" of=/dev/null bs=4096 status=none
	done
	read_all() {
		fetch /metrics >"$tmp/metrics"
		grep -q "^iostrata_operation_bytes_total.* $((124 * 4096))$" "$tmp/metrics"
	}
	wait_until read_all
	grep -q '^iostrata_operation_duration_seconds_count{op="read".* 126$' "$tmp/metrics"
	"$python" - "$tmp/metrics" <<-'PY'
		import re, sys
		from collections import Counter
		from decimal import Decimal
		sums, strata, buckets, counts = Counter(), Counter(), {}, {}
		for line in open(sys.argv[1], encoding="utf-8"):
		    family, value = re.sub("{.*}", "", line).split(" ")[0], line.split(" ")[-1]
		    row = re.findall(r'(?:op|fs)="\w*"', line)
		    if family == "iostrata_operation_duration_seconds_sum":
		        sums[*row] = Decimal(value)
		    elif family == "iostrata_operation_duration_seconds_count":
		        counts[*row] = int(value)
		    elif family == "iostrata_operation_duration_seconds_bucket":
		        assert int(value) >= buckets.get((*row,), 0), line
		        buckets[*row] = int(value)
		    elif family == "iostrata_operation_seconds_total":
		        strata[*row] += Decimal(value)
		assert sums and sums == strata and buckets == counts, (sums, strata, buckets, counts)
	PY
}

@test "serve: I/O errors are separate from other failures" {
	mkdir "$tmp/full"
	full=$tmp/full
	mount -t tmpfs -o size=64k tmpfs "$full" || skip "no tmpfs"
	serve --file "$full" --op write --op open
	not dd if=/dev/zero of="$full/file" bs=4096 count=101 status=none 2>/dev/null
	for _ in {1..23}; do
		not cat "$full" "$full/file/none" 2>/dev/null
	done
	is_told() {
		has 'iostrata_operation_errors_total{op="write",fs="tmpfs",class="io"}' 1 &&
			has 'iostrata_operation_errors_total{op="write",fs="tmpfs",class="other"}' 0
	}
	wait_until is_told
}

@test "serve: requests of a disk equal the disk's counters" {
	truncate -s 16M "$tmp/image"
	disk=$(losetup -f --show "$tmp/image") || skip "no loop devices"
	name=${disk#/dev/}
	serve -d "$name"
	dd if=/dev/zero of="$disk" bs=64k count=101 oflag=direct status=none
	counted() { [[ $(value "iostrata_request_bytes_total{disk=\"$name\",op=\"write\"}") == $((101 * 65536)) ]]; }
	wait_until counted
	has "iostrata_request_duration_seconds_count{disk=\"$name\",op=\"write\"}" 101
	losetup -d "$disk"
}

@test "serve: requests to a FUSE daemon are counted by mount and kind" {
	has_fuse || skip "requests of FUSE cannot be traced here"
	fuse
	serve --comm dd --comm cat
	not grep -q iostrata_server_ "$tmp/first"
	dd if="$fused/f" of=/dev/null bs=4096 count=23 iflag=direct status=none
	not cat "$fused/none" 2>/dev/null
	of="protocol=\"fuse\",mount=\"$fused\",server=\"fuser\""
	counted() { has "iostrata_server_request_duration_seconds_count{$of,op=\"READ\"}" 23; }
	wait_until counted
	has "iostrata_server_request_bytes_total{$of,op=\"READ\",direction=\"received\"}" $((23 * (4096 + 16)))
	has "iostrata_server_request_errors_total{$of,op=\"LOOKUP\"}" 1
	# without a wait for a slot, and it says why
	not grep -F "$of,op=\"READ\",part=\"tag\"" <(fetch /metrics)
	grep -q '^iostrata_not_measured{layer="server_tag",reason="no event of fuse ' <(fetch /metrics)
	# a second has them, too
	shown() {
		dd if="$fused/f" of=/dev/null bs=4096 count=23 iflag=direct status=none
		fetch /api/breakdown >"$tmp/now"
		command jq -e '.servers[]? | select(.op == "READ")' "$tmp/now" >/dev/null
	}
	wait_until shown
	json --arg mount "$fused" '[.servers[].mount] | unique == [$mount]' "$tmp/now"
}

@test "serve: the listener has no capability and no program, and the tracer does not listen" {
	serve
	of_server() { sed -n "s/^$1:\t//p" "/proc/$server/status"; }
	for set in CapInh CapPrm CapEff CapAmb; do
		((0x$(of_server $set) == 0)) || { echo "$set $(of_server $set)"; false; }
	done
	[[ $(of_server NoNewPrivs) == 1 && $(of_server Seccomp) == 2 ]]
	[[ $(of_server Uid) == $'65534\t65534\t65534\t65534' ]]
	[[ -z $(bpf_ids "$server") && -n $(bpf_ids "$pid") ]]
	port=${url##*:}
	ss -Hltnp "sport = :$port" | grep -q "pid=$server,"
	not grep -q "pid=$pid," <(ss -Hltnp "sport = :$port")
	not grep -q 'anon_inode' "/proc/$server/maps"
}

@test "serve: killing either process ends the other, and nothing stays in the kernel" {
	serve
	ids=$(bpf_ids "$pid")
	kill -9 "$server"
	ends_within 10
	((status == 1))
	grep -q "^error: the serving process has ended" "$tmp/err"
	wait_until gone "$ids"

	serve
	ids=$(bpf_ids "$pid")
	kill -9 "$pid"
	wait_until eval '! kill -0 "$server" 2>/dev/null'
	wait_until gone "$ids"
	run curl -sS --max-time 2 "$url/metrics"
	((status == 7))

	# one that stands still is not waited for
	serve
	kill -STOP "$server"
	finish INT
	((status == 0))
	not kill -0 "$server"
}

@test "serve: after a signal or -D, the same port can be served again" {
	serve
	port=${url##*:}
	# those to the group are of the other process
	kill -INT "$server"
	kill -TERM "$server"
	kill -HUP "$server"
	answers_all
	finish TERM
	((status == 0))
	expect 0 serve --listen "127.0.0.1:$port" -D 1.2
	[[ $stderr == "serving http://127.0.0.1:$port/"$'\ntracing' ]]
}

@test "serve: outdated figures are not shown" {
	serve
	kill -STOP "$pid"
	is_old() { [[ $(status_of /metrics) == 503 && $(status_of /api/breakdown) == 503 ]]; }
	wait_until is_old
	[[ $(fetch /metrics) == "no figures came for 10 seconds" && $(status_of /) == 200 ]]
	kill -CONT "$pid"
	is_new() { [[ $(status_of /metrics) == 200 ]]; }
	wait_until is_new
}

@test "serve: wrong options and addresses are clear errors" {
	serve
	port=${url##*:}
	expect 1 serve --listen "127.0.0.1:$port"
	says "cannot listen on '127.0.0.1:$port': Address already in use" "ss -ltnp"
	expect 2 serve --listen ''
	for address in 127.0.0.1 localhost:1 :1 1.2.3.4:x 127.0.0.1:65536; do
		expect 2 serve --listen "$address"
		says "--listen '$address': not an IP address and a port up to 65535" "127.0.0.1:9740"
	done
	expect 1 serve --listen '[fe80::1]:9740'
	says "cannot listen on '.fe80::1.:9740': Invalid argument" "link-local"
	if (($(</proc/sys/net/ipv4/ip_unprivileged_port_start) > 80)); then
		run --separate-stderr with_caps +bpf,+perfmon "$iostrata" serve --listen 127.0.0.1:80
		((status == 1))
		says "cannot listen on '127.0.0.1:80': Permission denied" "a higher port"
	fi
	expect 1 serve --listen 192.0.2.1:9740
	says "cannot listen on '192.0.2.1:9740': Cannot assign requested address" "'ip address'"
	expect 2 serve --max-keys 7
	says "--max-keys has no meaning without --by"
	expect 1 serve --token-file "$tmp/none"
	says "cannot open '$tmp/none': No such file" "--token-file names a file"
	echo short >"$tmp/token"
	expect 1 serve --token-file "$tmp/token"
	says "no token in the first line of '$tmp/token'" "openssl rand"
	head -c 256 /dev/zero | tr '\0' x >"$tmp/token" # and not its first 255 characters
	expect 1 serve --token-file "$tmp/token"
	expect 2 serve --by pid
	expect 2 serve --series 499
	expect 2 serve --buckets 26
	expect 2 serve 1
	expect 125 serve -- true
}

@test "serve: each loopback address answers under its name" {
	address=127.0.0.9 serve -p $$
	[[ $url == http://127.0.0.9:* && $(status_of /metrics) == 200 ]]
	[[ $(status_of /metrics -H 'Host: 127.0.0.9.evil.example') == 421 ]]
}

@test "serve: requests with another name, from other sites or with other methods are refused" {
	serve
	[[ $(status_of /metrics) == 200 && $(status_of / -I) == 200 ]]
	[[ $(fetch /metrics -H 'Host: evil.example' -w '%{http_code}') == "only requests to localhost"*421 ]]
	[[ $(status_of /metrics -H 'Sec-Fetch-Site: cross-site') == 403 ]]
	[[ $(status_of /events -H 'Origin: http://evil.example') == 403 ]]
	[[ $(status_of /metrics -d x=y) == 405 ]]
	[[ $(status_of /nosuch) == 404 ]]
	[[ $(status_of /metrics -H "X: $(head -c 9000 /dev/zero | tr '\0' x)") == 431 ]]
	fetch / -D "$tmp/headers" >"$tmp/page"
	diff <(sed '/id="data">/d' build/page_live.html) <(sed '/id="data">/d' "$tmp/page")
	sed -n 's,.*id="data">\(.*\)</script>,\1,p' "$tmp/page" | command jq -e '.live and (.strata | length > 9)'
	for header in 'X-Content-Type-Options: nosniff' 'Cache-Control: no-store' 'X-Frame-Options: DENY' \
		'Referrer-Policy: no-referrer' 'Cross-Origin-Resource-Policy: same-origin'; do
		grep -q "^$header"$'\r$' "$tmp/headers"
	done
}

@test "serve: other machines need a token, in the address, a header or a cookie" {
	has_figures() { fetch "/metrics?token=$(sed -n 's/.*token=//p' "$tmp/err")" | grep -q '^iostrata_build_info'; }
	address=0.0.0.0 serve
	url=http://127.0.0.1:${url##*:}
	token=$(sed -n 's/^serving .*token=//p' "$tmp/err")
	((${#token} == 32))
	for path in / /metrics /api/breakdown /events /nosuch; do
		[[ $(status_of $path) == 401 && $(status_of "$path?token=${token%?}") == 401 ]]
	done
	grep -q $'^WWW-Authenticate: Bearer\r$' <(fetch /metrics -I)
	[[ $(status_of "/metrics?token=$token" -H 'Host: node1.example') == 200 ]]
	[[ $(status_of /metrics -H "Authorization: Bearer $token") == 200 ]]
	fetch "/?token=$token" -c "$tmp/cookies" -o /dev/null
	[[ $(status_of /metrics -b "$tmp/cookies") == 200 ]]
	not grep -q "$token" <(tr '\0' ' ' <"/proc/$server/cmdline")
	finish INT

	printf '0123456789_abcdef-\nmore\n' >"$tmp/token"
	has_figures() { [[ $(status_of /metrics -H "Authorization: Bearer 0123456789_abcdef-") == 200 ]]; }
	serve --token-file "$tmp/token"
	[[ $(status_of /metrics) == 401 ]]
	not grep -q 0123456789 "$tmp/err" # nor in a journal
}

@test "serve: the last second is breakdown's JSON, also as events" {
	serve --by comm
	fetch /api/breakdown >"$tmp/now"
	json '.schema == "iostrata.breakdown/1" and .duration_ns > 500000000' "$tmp/now"
	[[ $(fetch /api/breakdown -o /dev/null -w '%{content_type}') == application/json ]]
	run curl -sSN --max-time 3.5 "$url/events"
	((status == 28 && ${#lines[@]} >= 3))
	grep -v '^$' <<<"$output" | sed 's/^data: //' | head -n 2 >"$tmp/events" # the last one may be cut
	json '.schema == "iostrata.breakdown/1"' "$tmp/events"
	# one begins where the other ended
	"$python" - "$tmp/events" <<-'PY'
		import datetime, json, sys
		first, second = map(json.loads, open(sys.argv[1], encoding="utf-8"))
		ends = [datetime.datetime.fromisoformat(s["time"]).timestamp() for s in (first, second)]
		assert abs(ends[1] - second["duration_ns"] / 1e9 - ends[0]) < 0.0021, (ends, second["duration_ns"])
	PY
}

@test "serve: compressed and OpenMetrics answers have the same series" {
	serve -p $$ # quiet
	fetch /metrics -H 'Accept-Encoding: gzip' -D "$tmp/headers" >"$tmp/zipped"
	grep -qi '^content-encoding: gzip' "$tmp/headers"
	gzip -t <"$tmp/zipped"
	fetch /metrics -H 'Accept: application/openmetrics-text;version=1.0.0' >"$tmp/open"
	[[ $(tail -n 1 "$tmp/open") == "# EOF" ]]
	for file in <(gzip -d <"$tmp/zipped") "$tmp/open"; do
		grep -v '^#\|^process' "$file" | sed 's/ .*//'
	done | sort | uniq -c | awk '$1 != 2' >"$tmp/differ"
	[[ ! -s $tmp/differ ]] || { cat "$tmp/differ"; false; }
}

@test "serve: with 300 commands on two file systems, series stay in the budget, and no byte is left out" {
	mkdir "$tmp/mount"
	mount -t tmpfs tmpfs "$tmp/mount" || skip "no tmpfs"
	there=("$tmp" "$tmp/mount")
	serve --by comm --series 700 --op read
	scraped=(-H 'X-Prometheus-Scrape-Timeout-Seconds: 1')
	fetch /metrics "${scraped[@]}" >"$tmp/first"
	bytes() { awk '/^iostrata_operation_bytes_total/ { n += $NF } END { print n + 0 }' "$1"; }
	"$python" - "${there[@]}" <<-'PY'
		import os, sys
		fds = [os.open(f"{there}/file", os.O_RDWR | os.O_CREAT) for there in sys.argv[1:]]
		for fd in fds:
		    os.pwrite(fd, bytes(4096), 0)
		for i in range(300):
		    with open("/proc/self/comm", "w") as comm:
		        comm.write(f"name{i}")
		    for fd in fds:
		        os.pread(fd, 4096, 0)
	PY
	all() {
		fetch /metrics "${scraped[@]}" >"$tmp/metrics"
		(($(bytes "$tmp/metrics") - $(bytes "$tmp/first") >= 600 * 4096))
	}
	wait_until all
	umount "$tmp/mount"
	(($(grep -c '^[^#]' "$tmp/metrics") <= 700))
	grep -q '^iostrata_series_budget 700$' "$tmp/metrics"
	(($(sed -n 's/^iostrata_series //p' "$tmp/metrics") <= 700))
}

@test "serve: hostile and too many names of commands are made safe and limited" {
	serve --by comm --max-keys 3 --op read
	for name in 'a"b' $'c\nd' $'\033[2J' e\\f; do
		reads 23 "$name"
	done
	for name in g h i; do
		reads 101 "$name"
	done
	all() {
		fetch /metrics >"$tmp/metrics"
		awk '/^iostrata_operation_bytes_total/ { n += $NF } END { exit n < (4 * 23 + 3 * 101) * 4096 }' "$tmp/metrics"
	}
	wait_until all
	printable "$tmp/metrics"
	(($(grep '^iostrata_operation_bytes_total' "$tmp/metrics" | sed 's/.*comm=//; s/} .*//' | sort -u | wc -l) <= 7))
	grep -q 'comm="other"' "$tmp/metrics"
}

# clients N WHAT: N connections, each of which sends WHAT a byte a second, for a minute
clients() {
	cat >"$tmp/clients" <<-'PY'
		import socket, sys, time
		port, n, what = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode()
		held = []
		for _ in range(n):
		    one = socket.create_connection(("127.0.0.1", port))
		    one.setblocking(False)
		    held.append(one)
		open(sys.argv[4], "w").close()
		for i in range(60):
		    for one in held:
		        try:
		            one.send(what[i:i + 1])
		        except OSError:
		            pass
		    time.sleep(1)
	PY
	rm -f "$tmp/connected"
	spawn "$python" "$tmp/clients" "${url##*:}" "$@" "$tmp/connected"
	wait_until test -e "$tmp/connected"
}

@test "serve: 200 slow clients do not block others, and are closed" {
	serve
	clients 200 "GET /metrics HTTP/1.1"
	(($(established) >= 100))
	answers_all
	closed() { (($(established) == 0)); }
	wait_until closed
	answers_all
}

established() { ss -Htn state established "sport = :${url##*:}" | wc -l; }

# The time of the 101 slowest but one of scrapes, less the time for which the server or this client waited for a
# CPU: however busy the machine is, that much is the server's own.
slow_scrape_ms() {
	"$python" - "$server" "${url##*:}" <<-'PY'
		import socket, sys, time
		server, port = sys.argv[1], int(sys.argv[2])
		def waited():
		    return sum(int(open(f"/proc/{pid}/schedstat").read().split()[1]) for pid in (server, "self")) / 1e9
		def scrape():
		    with socket.create_connection(("127.0.0.1", port), 10) as s:
		        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
		        answer = b""
		        while more := s.recv(65536):
		            answer += more
		    assert answer.startswith(b"HTTP/1.1 200 "), answer[:100]
		times = []
		for _ in range(101):
		    began, before = time.monotonic(), waited()
		    scrape()
		    times.append(time.monotonic() - began - (waited() - before))
		print(int(1000 * sorted(times)[-2]))
	PY
}

@test "serve: among 200 slow clients, 100 of 101 scrapes take less than 200 ms" {
	serve
	clients 200 "GET /metrics HTTP/1.1"
	cat >"$tmp/flood" <<-'PY'
		import collections, socket, sys, time
		held = collections.deque()
		while True:
		    for _ in range(100):
		        one = socket.socket()
		        one.setblocking(False)
		        one.connect_ex(("127.0.0.1", int(sys.argv[1])))
		        held.append(one)
		    while len(held) > 2000:
		        held.popleft().close()
		    time.sleep(0.05)
	PY
	spawn "$python" "$tmp/flood" "${url##*:}"
	wait_until eval '(($(established) > 1000))'
	ms=$(slow_scrape_ms)
	echo "$ms ms"
	((ms < 200))
}

@test "serve: clients that read no answers do not fill the memory" {
	serve --by comm --max-keys 1000 --buckets 50 --series 100000 --op read
	"$python" - "$tmp/file" <<-'PY'
		import os, sys
		fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
		for i in range(1000):
		    with open("/proc/self/comm", "w") as comm:
		        comm.write(f"name{i}")
		    os.pread(fd, 1, 0)
	PY
	long() { fetch /metrics >"$tmp/metrics" && (($(stat -c %s "$tmp/metrics") > 6000000)); }
	wait_until long
	cat >"$tmp/takers" <<-'PY'
		import socket, sys, time
		held = []
		for second in range(8):
		    for accept in ("text/plain", "application/openmetrics-text"):
		        one = socket.socket()
		        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
		        one.connect(("127.0.0.1", int(sys.argv[1])))
		        one.sendall(f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n".encode())
		        held.append(one)
		    time.sleep(1)
	PY
	"$python" "$tmp/takers" "${url##*:}"
	most=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$server/status")
	echo "$most kB"
	((most < 120000))
	answers_all
}

# resident PID: KiB
resident() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"; }

# cpu_ns PID: CPU time so far
cpu_ns() { local ns _; read -r ns _ <"/proc/$1/schedstat" && echo "$ns"; }

@test "serve: with 2,000 series, both processes need less than 25 MB and 20 ms of CPU a second" {
	echo text >"$tmp/file"
	serve --by comm --buckets 25 --series 10000 --op read --file "$tmp/file"
	"$python" - "$tmp/file" <<-'PY'
		import os, sys
		fd = os.open(sys.argv[1], os.O_RDONLY)
		for i in range(53):
		    with open("/proc/self/comm", "w") as comm:
		        comm.write(f"name{i}")
		    os.pread(fd, 1, 0)
	PY
	series() { (($(fetch /metrics | grep -c '^[^#]') > 2000)); }
	wait_until series
	before=$(cpu_ns "$server")
	for _ in {1..7}; do
		sleep 1 # else the answers are those of the second before
		fetch /metrics -H 'Accept-Encoding: gzip' >"$tmp/zipped"
		fetch /metrics -H 'Accept: application/openmetrics-text' >"$tmp/open"
		fetch /api/breakdown >"$tmp/json"
	done
	each=$((($(cpu_ns "$server") - before) / 7 / 1000))
	listener=$(resident "$server") all=$(($(resident "$pid") + listener))
	echo "$(fetch /metrics | grep -c '^[^#]') series, $all kB, $listener kB of the listener, $each us a second"
	((each < 20000))
	((all * 1024 < 25000000))
	(($(fetch /metrics | sed -n 's/^process_resident_memory_bytes //p') < 25000000))
}

@test "serve: 1,500 connections do not block others" {
	serve
	clients 500 "G"
	clients 500 "G"
	clients 500 "G"
	(($(established) <= 1030))
	answers_all
}

@test "serve: more than 64 pages are refused, and metrics still work" {
	serve
	for _ in {1..64}; do
		spawn curl -sN --max-time 20 "$url/events" -o /dev/null
	done
	refused() { [[ $(status_of /events --max-time 1) == 503 ]]; }
	wait_until refused
	[[ $(status_of /metrics) == 200 ]]
}
