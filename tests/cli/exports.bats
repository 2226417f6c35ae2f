# SPDX-License-Identifier: GPL-2.0-only
# export --to chrome, fio and blktrace: what these formats' own programs make of it.

load lib

setup_file() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	cc -O2 -std=gnu11 -D_GNU_SOURCE -Isrc -o "$BATS_FILE_TMPDIR/records" tests/records.c \
		build/libiostrata.a -lzstd -lz
}

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	records=$BATS_FILE_TMPDIR/records
	dir=
}

teardown() {
	if mountpoint -q "$tmp/small"; then umount "$tmp/small"; fi
	[[ -z $dir ]] || rm -rf "$dir"
}

@test "chrome: each operation and request is a slice, and each arrow has two ends" {
	"$records" -x "$tmp/a.ios" 20011
	expect 0 export "$tmp/a.ios" --to chrome -o "$tmp/t"
	[[ $stderr == "20,011 operations, 2,002 requests, 1 file" ]]
	zcat "$tmp/t/trace.json.gz" >"$tmp/json"
	"$iostrata" report --events csv "$tmp/a.ios" >"$tmp/csv"
	sums=$(awk -F, '/^"op"/ { n++; ns += $3 } /^"request"/ { r++; rns += $3 }
		END { printf "%d %d %d %d", n, ns, r, rns }' "$tmp/csv")
	command jq -r '.traceEvents as $e | ($e | map(select(.ph == "X" and .cat != "lost" and .cat != "stratum"))) as $x |
		($e | map(select(.ph == "b" or .ph == "e")) | group_by([.cat, .id]) |
			map({cat: .[0].cat, n: length, ns: (((map(.ts) | max) - (map(.ts) | min)) * 1000 | round)})) as $async |
		($async | map(select(.cat == "asynchronous"))) as $ops | ($async | map(select(.cat == "request"))) as $r |
		"\(($x | length) + ($ops | length)) \(([$x[].args.total_ns] | add) + ([$ops[].ns] | add) | round) \($r |
			length) \([$r[].ns] | add)"' "$tmp/json" >"$tmp/sums"
	[[ $(cat "$tmp/sums") == "$sums" ]]
	command jq -e '.traceEvents as $e | (($e | map(select(.ph == "s") | .id) | sort) ==
			($e | map(select(.ph == "f") | .id) | sort))
		and ($e | map(select(.ph == "s")) | length) > 1000
		and ($e | map(select(.ph == "b" or .ph == "e")) | group_by([.cat, .id]) | all(length % 2 == 0))
		and all($e[]; .ph == "M" or .ts >= 0)
		and ($e | map(select(.name == "bytes under way")) | .[-1].args.bytes) == 0
		and ($e | map(select(.name == "under way")) | .[-1].args.requests) == 0
		and ($e | map(select(.name == "thread_name") | .args.name) | unique | length) == 7
		and ($e | map(select(.name == "process_name" and .pid > 1000000) | .args.name)) == ["loop3"]
		and ($e | map(select(.cat == "lost")) == [{"ph":"X","name":"lost","cat":"lost","pid":0,"tid":0,
			"ts":0,"dur":1.7001953125,"args":{"kind":"ops","count":11}}])' "$tmp/json"
	# strata are arguments, and those of a slice are all its time
	command jq -e '[.traceEvents[] | select(.ph == "X" and .cat != "lost" and .cat != "stratum") |
		(((.ts + .dur) * 1000 | round) - (.ts * 1000 | round)) as $d | .args.total_ns == $d and
		([.args | to_entries[] | select(.key | endswith("_ns") and . != "total_ns") | .value] | add) == $d] |
		all' "$tmp/json"
}

@test "chrome: a request to a server is a slice of its server" {
	"$records" -n client -h c "$tmp/a.ios" 1009
	expect 0 export "$tmp/a.ios" --to chrome -o "$tmp/t"
	[[ $stderr == "0 operations, 0 requests, 1,009 requests to servers, 1 file" ]]
	zcat "$tmp/t/trace.json.gz" >"$tmp/json"
	# 7 ns for a slot, 11 ns in the queue, 1 ms and its number of ns with the server
	command jq -e '.traceEvents as $e | ($e | map(select(.ph == "b" and .cat == "nfs"))) as $b |
		($b | length) == 1009 and ([$b[].args.server_ns] | add) == 1009 * 1000000 + 1008 * 1009 / 2
		and all($b[]; .args.tag_ns == 7 and .args.queue_ns == 11 and .args.protocol == "nfs")
		and ([$b[].args.xid] | sort == [range(1009)]) and ($b | map(select(.name == "WRITE")) | length) == 337
		and ($e | map(select(.ph == "b" or .ph == "e")) | group_by(.id) |
			all(length == 2 and ((.[1].ts - .[0].ts) * 1000 | round) ==
				(.[0].args | .tag_ns + .queue_ns + .server_ns)))
		and ($e | map(select(.name == "process_name") | .args.name) == ["10.0.0.7", "10.0.0.8"])
		and ($e | map(select(.name == "under way")) | group_by(.pid) | map(.[-1].args.requests) == [0, 0])' \
		"$tmp/json"
	"$records" -n client -x "$tmp/x.ios" 101
	expect 0 export "$tmp/x.ios" --to chrome -o "$tmp/x"
	zcat "$tmp/x/trace.json.gz" | command jq -e '[.traceEvents[] | select(.ph == "b")] | length == 101' >/dev/null
}

@test "chrome: the segments of an operation are slices in its slice, one after the other" {
	"$records" -o "$tmp/a.ios" 20011
	expect 0 export "$tmp/a.ios" --to chrome -o "$tmp/t"
	"$iostrata" report --events json "$tmp/a.ios" >"$tmp/events"
	"$python" - "$tmp/t/trace.json.gz" "$tmp/events" <<-'END'
		import collections, gzip, json, sys
		want = collections.Counter()
		for line in open(sys.argv[2]):
		    e = json.loads(line)
		    if e.get("type") == "op":
		        want[e["pid"], e["tid"], e["start_ns"], e["total_ns"], e["segments"] or ""] += 1
		def ns(us): return round(us * 1000)
		found, op, overlapping = collections.Counter(), None, {}
		def text(op):
		    parts = [f"{name}:{length}" for name, length in op["segments"]]
		    if "segments_merged" in op["args"]: parts.append("merged:%d" % op["args"]["segments_merged"])
		    return " ".join(parts)
		def over(op):
		    if op: found[op["pid"], op["tid"], ns(op["ts"]) + 2000000, op["args"]["total_ns"], text(op)] += 1
		for e in json.load(gzip.open(sys.argv[1]))["traceEvents"]:
		    if e["ph"] in "be" and e["cat"] == "asynchronous":
		        stack = overlapping.setdefault(e["id"], [])
		        if e["ph"] == "b":
		            stack.append(e | {"segments": []})
		            continue
		        begun = stack.pop()
		        assert begun["name"] == e["name"], (begun, e)
		        if stack:
		            stack[-1]["segments"].append((e["name"], ns(e["ts"]) - ns(begun["ts"])))
		        else:
		            assert ns(e["ts"]) - ns(begun["ts"]) == begun["args"]["total_ns"]
		            over(begun)
		    if e["ph"] != "X" or e["cat"] == "lost": continue
		    if e["cat"] != "stratum":
		        over(op)
		        op, at = e | {"segments": []}, e["ts"]
		        continue
		    # as a viewer adds numbers: begins where the one before ended, and ends within its operation
		    assert (op["pid"], op["tid"]) == (e["pid"], e["tid"]) and at == e["ts"], (op, e, at)
		    at = e["ts"] + e["dur"]
		    assert at <= op["ts"] + op["dur"], (op, e)
		    # also after another time is subtracted, as speedscope does
		    assert (e["ts"] - 7 / 1024) + e["dur"] <= (op["ts"] - 7 / 1024) + op["dur"], (op, e)
		    op["segments"].append((e["name"], ns(at) - ns(e["ts"])))
		over(op)
		assert found == want, (list((found - want).items())[:3], list((want - found).items())[:3])
		assert sum("merged:7" in key[4] for key in want) > 100
		assert sum(len(key[4].split()) > 5 for key in want) > 1000
		assert overlapping
	END
}

@test "speedscope: frames nest, are named once, and have all the time of operations and requests" {
	"$records" -o -g 100 "$tmp/a.ios" 20011
	expect 0 export "$tmp/a.ios" --to speedscope -o "$tmp/t"
	[[ $stderr == "20,011 operations, 2,002 requests, "*" profiles"$'\n'"11 events were lost in this recording: "* ]]
	"$iostrata" report --events json "$tmp/a.ios" >"$tmp/events"
	"$python" - "$tmp/t/trace.speedscope.json" "$tmp/events" <<-'END'
		import collections, json, sys
		whole = json.load(open(sys.argv[1]))
		names = [f["name"] for f in whole["shared"]["frames"]]
		assert len(names) == len(set(names)) < 60
		total, calls = collections.Counter(), collections.Counter()
		for p in whole["profiles"]:
		    kind = "request" if p["name"].startswith("requests of") else "op"
		    assert p["unit"] == "nanoseconds" and p["startValue"] == 0
		    if p["type"] == "sampled":
		        assert sum(p["weights"]) == p["endValue"] and len(p["weights"]) == len(p["samples"])
		        total[kind] += p["endValue"]
		        continue
		    stack, at = [], 0
		    for e in p["events"]:
		        assert e["at"] >= at, e
		        at = e["at"]
		        if e["type"] == "O":
		            stack.append((e["frame"], at))
		            continue
		        frame, begun = stack.pop()
		        assert frame == e["frame"] and len(stack) < 2
		        if not stack:
		            total[kind] += at - begun
		            calls[names[frame]] += 1
		    assert not stack and at == p["endValue"]
		want, lists = collections.Counter(), collections.Counter()
		for line in open(sys.argv[2]):
		    e = json.loads(line)
		    if e.get("type") in ("op", "request"):
		        want[e["type"]] += e["total_ns"]
		        lists[e.get("call")] += 1
		assert total == want, (total, want)
		assert calls["pread64"] > 10000 and calls["pread64"] <= lists["pread64"], (calls, lists)
	END
	# too long a recording has sums only
	"$records" -g 1000 "$tmp/long.ios" 300023
	expect 0 export "$tmp/long.ios" --to speedscope -o "$tmp/long"
	[[ $stderr == *"too many operations for their order: "* ]]
	[[ $(command jq -r '[.profiles[].type] | unique | join(" ")' "$tmp/long/trace.speedscope.json") == sampled ]]
	(($(stat -c %s "$tmp/long/trace.speedscope.json") < 100000))
}

@test "speedscope opens its own format, and a profile for pprof, without complaint" {
	chromium=$(type -p chromium || type -p chromium-browser || type -p google-chrome) || skip "no Chromium"
	said=$(tests/engines speedscope 2>&1) || skip "${said##*$'\n'}"
	"$records" -o -g 1000 "$tmp/a.ios" 2003
	expect 0 export "$tmp/a.ios" --to speedscope -o "$tmp/t"
	profiles=$(command jq '.profiles | length' "$tmp/t/trace.speedscope.json")
	((profiles > 7))
	CHROMIUM=$chromium timeout $((90 * $(patience))) node tests/speedscope.mjs build/engines/speedscope/node_modules \
		"$tmp/t/trace.speedscope.json" >"$tmp/json"
	cat "$tmp/json"
	command jq -e --argjson n "$profiles" '.profiles == $n and .complaints == []' "$tmp/json"
	# and a profile for pprof, which is one
	"$records" -t -g 100 "$tmp/b.ios" 2003
	expect 0 export "$tmp/b.ios" --to pprof -o "$tmp/p"
	CHROMIUM=$chromium timeout $((90 * $(patience))) node tests/speedscope.mjs build/engines/speedscope/node_modules \
		"$tmp/p/profile.pb.gz" >"$tmp/json"
	command jq -e '.title == "profile.pb.gz - speedscope" and .complaints == []' "$tmp/json"
}

@test "chrome: speedscope shows each thread, and its slices nest" {
	need_root
	chromium=$(type -p chromium || type -p chromium-browser || type -p google-chrome) || skip "no Chromium"
	said=$(tests/engines speedscope 2>&1) || skip "${said##*$'\n'}"
	dir=$(disk_dir)
	expect 0 record -o "$tmp/a.ios" -- "$python" -c 'import mmap, os, sys, threading
f = os.open(sys.argv[1] + "/f", os.O_CREAT | os.O_RDWR)
os.pwrite(f, bytes(1 << 20), 0)
def work():
    m = mmap.mmap(f, 1 << 20)
    for i in range(101):
        os.pwrite(f, m[4096 * i : 4096 * i + 100], 512 * i)
    os.fsync(f)
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()' "$dir"
	expect 0 export "$tmp/a.ios" --to chrome -o "$tmp/t"
	tracks=$(zcat "$tmp/t/trace.json.gz" |
		command jq '[.traceEvents[] | select(.ph == "X") | [.pid, .tid]] | unique | length')
	((tracks >= 4))
	CHROMIUM=$chromium timeout $((90 * $(patience))) node tests/speedscope.mjs build/engines/speedscope/node_modules \
		"$tmp/t/trace.json.gz" >"$tmp/json"
	cat "$tmp/json"
	command jq -e --argjson n "$tracks" \
		'.title == "trace.json.gz - speedscope" and .profiles == $n and .complaints == []' "$tmp/json"
}

@test "chrome and fio: a file with a name is complete after each way to end" {
	need_root
	"$records" "$tmp/a.ios" 200003
	for after in 0.05 0.1 0.2 0.4; do
		timeout -s KILL "$after" "$iostrata" export "$tmp/a.ios" --to chrome -o "$tmp/t" || true
		find "$tmp/t" -name 'trace*' -exec gzip -t {} +
		rm -rf "$tmp/t"
	done
	mkdir "$tmp/small"
	mount -t tmpfs -o size=60k tmpfs "$tmp/small"
	for to in chrome blktrace "fio -d loop3"; do
		# shellcheck disable=SC2086 # words
		expect 1 export "$tmp/a.ios" --to $to -o "$tmp/small/t"
		says "cannot write .*'.*/small/t': No space left on device"
		[[ -z $(ls -A "$tmp/small") ]]
	done
}

@test "otf2: recordings of several machines are on one clock" {
	"$python" -c 'import otf2' 2>/dev/null || skip "no otf2 for $python"
	"$records" -h node1 "$tmp/a.ios" 1009
	"$records" -h node2 -s 4 -r 100 "$tmp/b.ios" 2003
	"$records" -h node3 -s 3 "$tmp/c.ios" 101
	expect 0 export "$tmp/a.ios" "$tmp/b.ios" "$tmp/c.ios" --to otf2 -o "$tmp/t"
	[[ $stderr == *": 3,113 operations, 313 requests, "* ]]
	"$python" tests/otf2check.py "$tmp/t/traces.otf2" >"$tmp/json"
	# a request is a region, too, with its time: some readers know only regions
	sum=$("$iostrata" report --events csv "$tmp/a.ios" "$tmp/b.ios" "$tmp/c.ios" |
		awk -F, '$1 == "\"request\"" { ns += $3 } END { printf "%d", ns }')
	command jq -e --argjson sum "$sum" '.problems == 0 and .count."request regions" == 313 and
		.request_ns == $sum' "$tmp/json"
	"$python" - "$tmp/t/traces.otf2" >"$tmp/nodes" <<-'END'
		import sys, otf2
		with otf2.reader.open(sys.argv[1]) as trace:
		    first, clock, last = {}, trace.definitions.clock_properties, 0
		    for location, event in trace.events:
		        last = max(last, event.time)
		        node = location.group.system_tree_parent
		        while node.parent:
		            node = node.parent
		        first.setdefault(node.name, event.time)
		    print(*(f"{name} {time}" for name, time in sorted(first.items())), clock.global_offset,
		        clock.global_offset + clock.trace_length - 1 - last, sep="\n")
	END
	diff - "$tmp/nodes" <<-'END'
		node1 1700000000001000000
		node2 1700000100001000000
		node3 1700000000001000000
		1700000000001000000
		0
	END
	# one of them alone has the clock that it always had
	expect 0 export "$tmp/a.ios" --to otf2 -o "$tmp/one"
	if [[ -n $(type -p otf2-print) ]]; then
		[[ $(otf2-print -G "$tmp/t/traces.otf2" | grep -c 'IOSTRATA::CLOCK_OFFSET_NS') -ge 3 ]]
		[[ $(otf2-print -I "$tmp/t/traces.otf2" | grep -A 1 LOST_OPS) == *33 ]] # 11 of each
		not grep -q CLOCK_OFFSET <(otf2-print -G "$tmp/one/traces.otf2")
		grep -q 'CLOCK_PROPERTIES.*Date: 2023-11-14 22:13:20.001000000 ' <(otf2-print -G "$tmp/one/traces.otf2")
		[[ $(otf2-print "$tmp/one/traces.otf2" | awk '$1 == "ENTER" { print $3; exit }') == 2000000 ]]
	fi
	truncate -s -2000 "$tmp/c.ios"
	expect 1 export "$tmp/a.ios" "$tmp/b.ios" "$tmp/c.ios" --to otf2 -o "$tmp/cut"
	[[ $stderr == *"operations, "*"c.ios' "* ]]
}

@test "otf2: the segments of a call are regions in it; a lean archive has no strata" {
	"$python" -c 'import otf2' 2>/dev/null || skip "no otf2 for $python"
	"$records" -o -g 10000 "$tmp/a.ios" 2003
	expect 0 export "$tmp/a.ios" --to otf2 -o "$tmp/t"
	expect 0 export "$tmp/a.ios" --to otf2 --lean -o "$tmp/lean"
	"$python" tests/otf2check.py "$tmp/t/traces.otf2" >"$tmp/json"
	"$python" tests/otf2check.py "$tmp/lean/traces.otf2" lean >"$tmp/json.lean"
	command jq -c '.first, .segment_ns' "$tmp/json" "$tmp/json.lean"
	command jq -e '.problems == 0 and .count.late == 0 and .count.segments > 500 and .count.merged % 7 == 0 and
		.count.merged > 0 and .segment_ns."stratum device" > 100000' "$tmp/json"
	# the times with a server are also at the server
	command jq -e '.server_ns > 100000 and .server_ns == .segment_ns."stratum server"' "$tmp/json"
	# the same operations, with the same results
	counts='del(.count["Enter", "Leave", "segments", "merged", "strata", "request regions", "server regions"]) |
		{bytes, count: (.count | with_entries(select(.key | startswith("Io") or contains(" "))))}'
	diff <(command jq -S "$counts" "$tmp/json") <(command jq -S "$counts" "$tmp/json.lean")
	size() { cat "$1"/traces/*.evt | wc -c; }
	(($(size "$tmp/lean") * 10 < $(size "$tmp/t") * 7))
	expect 2 export "$tmp/a.ios" --to chrome --lean -o "$tmp/none"
	says "--lean is for --to otf2 only"
}

# Whether this machine wakes a sleeper within 2 % of the time that it asked for.
keeps_time() {
	"$python" -c 'import sys, time
began = time.monotonic()
for _ in range(31): time.sleep(0.022)
sys.exit(time.monotonic() - began > 31 * 0.022 * 1.02)'
}

@test "otf2: a request to a server is a region and, if it has data, an operation" {
	"$python" -c 'import otf2' 2>/dev/null || skip "no otf2 for $python"
	"$records" -n client -h c "$tmp/a.ios" 1009
	"$records" -n client -h d -x "$tmp/x.ios" 101
	expect 0 export "$tmp/a.ios" "$tmp/x.ios" --to otf2 -o "$tmp/t"
	[[ $stderr == *": 0 operations, 0 requests, 1,110 requests to servers, "* ]]
	expect 0 export "$tmp/a.ios" "$tmp/x.ios" --to otf2 --lean -o "$tmp/lean"
	"$python" tests/otf2check.py "$tmp/t/traces.otf2" >"$tmp/json"
	"$python" tests/otf2check.py "$tmp/lean/traces.otf2" lean >"$tmp/json.lean"
	# the others of -x are called neither READ nor WRITE: a region is all that they have, also in a lean archive
	command jq -e '.problems == 0 and .count."READ SERVER" == 672 and .count."WRITE SERVER" == 337 and
		.count.IoOperationComplete == 1009 and .count.Enter == 1110 and .count.strata == 1110' "$tmp/json"
	command jq -e '.problems == 0 and .count.IoOperationComplete == 1009 and .count.Enter == 101' "$tmp/json.lean"
	"$python" - "$tmp/t/traces.otf2" >"$tmp/found" <<-'END'
		import collections, sys, otf2
		with otf2.reader.open(sys.argv[1]) as trace:
		    ns, entered, regions, strata = collections.Counter(), {}, collections.Counter(), collections.Counter()
		    for location, e in trace.events:
		        if isinstance(e, otf2.events.Enter):
		            entered[location] = e.time
		        elif isinstance(e, otf2.events.Leave):
		            ns[location.group.name] += e.time - entered[location]
		            regions[e.region.name] += 1
		        elif isinstance(e, otf2.events.IoOperationComplete):
		            for a, v in e.attributes.items():
		                strata[a.name] += v
		    print(*(f"{k} {ns[k]}" for k in ("10.0.0.8",)), regions["nfs READ"], regions["nfs WRITE"],
		        *(f"{k} {v}" for k, v in sorted(strata.items())), sep="\n")
	END
	# to 10.0.0.8: the numbers 100, 201 ... 908 of the first recording, and 100 of the second
	diff - "$tmp/found" <<-'END'
		10.0.0.8 10004816
		672
		337
		IOSTRATA::QUEUE_NS 11099
		IOSTRATA::SERVER_NS 1009508536
		IOSTRATA::TAG_NS 7063
	END
}

@test "otf2: threads and processes have their last names" {
	[[ -n $(type -p otf2-print) ]] || skip "no otf2-print"
	expect 0 record -o "$tmp/a.ios" -- bash -c '
		( read -r _ </etc/passwd; exec dd if=/etc/passwd of=/dev/null status=none ); true'
	expect 0 export "$tmp/a.ios" --to otf2 -o "$tmp/t"
	otf2-print -G "$tmp/t/traces.otf2" >"$tmp/defs"
	for what in LOCATION_GROUP LOCATION; do
		[[ $(awk -v w=$what '$1 == w { print $4 }' "$tmp/defs" | sort | tr -d '\n') == '"bash"dd' ]]
	done
}

@test "fio: a replay makes the recorded calls in their order" {
	need_root
	[[ -n $(type -p fio) ]] || skip "there is no fio"
	dir=$(disk_dir)
	truncate -s 1M "$dir/a" "$dir/b"
	cat >"$tmp/work.py" <<-'END'
		import os, sys, time
		a, b = (os.open(f"{sys.argv[1]}/{name}", os.O_RDWR) for name in "ab")
		for i in range(23):
		    os.pread(a, 512 * (1 + i % 5), 4096 * (i * 7 % 50))
		    time.sleep(0.011 * (1 + i % 3))
		    os.pwrite(b, bytes(1000 + i), 3 * 4096 * i)
		    if i % 10 == 9:
		        os.fsync(b)
	END
	expect 0 record -o "$tmp/a.ios" -- "$python" "$tmp/work.py" "$dir"
	pid=$("$iostrata" report --events csv "$tmp/a.ios" | awk -F, '$4 == "\"fsync\"" { print $18; exit }')
	expect 0 export "$tmp/a.ios" --to fio -p "$pid" -o "$dir/replay"
	[[ $stderr == *" actions in "*" files; "*" cannot be replayed"* ]]
	cd "$dir/replay"
	sed -n 's/^# *\(truncate[^#]*\)#.*/\1/p' replay.fio | sh -e
	expect 0 record -o "$tmp/b.ios" -- fio --output="$tmp/fio.out" replay.fio
	# of both: kind, offset, bytes and time of each call on the two files of the script
	steps() { # RECORDING PATHS
		"$iostrata" report --events csv "$1" | awk -F, -v paths="$2" '
			$1 == "\"op\"" && $4 ~ /^"(read|write|fsync)"$/ && $10 ~ paths {
				print $2, $4, ($4 ~ /fsync/ ? "- -" : $12 " " $14) }' | sort -n
	}
	a=$(sed -n 's/^#.* file-\([0-9]*\)  # .*\/a$/\1/p' replay.fio)
	b=$(sed -n 's/^#.* file-\([0-9]*\)  # .*\/b$/\1/p' replay.fio)
	steps "$tmp/a.ios" "^\"$dir/[ab]\"" >"$tmp/then"
	steps "$tmp/b.ios" "/replay/file-($a|$b)\"" >"$tmp/now"
	[[ $(wc -l <"$tmp/then") == 48 ]]
	diff <(cut -d' ' -f2- "$tmp/then") <(cut -d' ' -f2- "$tmp/now")
	# fio keeps the times as well as a machine lets it: judged only where a sleep lasts as long as it should
	read -r then now <<<"$(paste -d' ' "$tmp/then" "$tmp/now" | awk 'NR == 1 { t = $1; n = $5 }
		END { printf "%.0f %.0f\n", ($1 - t) / 1e6, ($5 - n) / 1e6 }')"
	if keeps_time; then
		((now * 100 >= then * 95 && now * 100 <= then * 105)) || { echo "$then ms, replayed $now ms"; false; }
	else
		echo "# too busy to judge: recorded $then ms, replayed $now ms" >&3
	fi
	# the log has the recorded times, in us
	awk -v a="file-$a" -v b="file-$b" '($2 == a || $2 == b) && $3 ~ /^(read|write|sync)$/ { print $1 }' \
		replay.log >"$tmp/log"
	paste -d' ' "$tmp/then" "$tmp/log" | awk '{ us = $1 / 1000 - $5 } NR == 1 { first = us }
		us - first > 1 || first - us > 1 { print; bad++ } END { exit NR != 48 || bad }'
}

@test "fio: -d replays a disk's requests, and counts those that cannot be replayed" {
	"$records" "$tmp/a.ios" 1009
	expect 0 export "$tmp/a.ios" --to fio -d loop3 -o "$tmp/t"
	[[ $stderr == *" actions in 1 file; "*" cannot be replayed"* ]]
	want=$("$iostrata" report --events csv "$tmp/a.ios" | awk -F, '$1 == "\"request\"" && $16 == 0' |
		grep -cE '"(R|W|F|D)"')
	(($(grep -cE '^[0-9]+ disk (read|write|sync|trim) [0-9]+ [0-9]+$' "$tmp/t/replay.log") > want - 12))
	trims=$(grep -c ' trim ' "$tmp/t/replay.log")
	((trims > 7))
	grep -q "^# $trims of them are trims\. " "$tmp/t/replay.fio"
	expect 1 export "$tmp/a.ios" --to fio -d vdz -o "$tmp/none"
	says "no request of disk 'vdz' is recorded" "report --by dev"
	expect 1 export "$tmp/a.ios" --to fio -p 4000000 -o "$tmp/none"
	[[ ! -e $tmp/none ]]
	expect 2 export "$tmp/a.ios" --to fio -o "$tmp/none"
	expect 2 export "$tmp/a.ios" --to blktrace -p 7 -o "$tmp/none"
	says "--to fio needs one of -p PID and -d DISK; other formats take neither"
}

@test "fio: what cannot be replayed is told by its reason" {
	"$records" "$tmp/a.ios" 2003
	expect 0 export "$tmp/a.ios" --to fio -p 101 -o "$tmp/t"
	all=$(sed -n 's/.* files; \([0-9,]*\) cannot be replayed$/\1/p' <<<"$stderr")
	((all > 0))
	[[ $(sed -n 's/^not replayed: \([0-9,]*\) with .*/\1/p' <<<"$stderr" | paste -sd+ | bc) == "$all" ]]
	[[ $stderr == *" that failed"* ]]
}

@test "blktrace: blkparse and btt read the requests and their times" {
	[[ -n $(type -p blkparse) && -n $(type -p btt) ]] || skip "there is no blktrace"
	"$records" "$tmp/a.ios" 20011
	expect 0 export "$tmp/a.ios" --to blktrace -o "$tmp/t"
	[[ $stderr == "2,002 requests of 1 disk" ]]
	blkparse -q -i "$tmp/t/loop3" -d "$tmp/bin" -f '%a %T.%9t %S %N %p\n' >"$tmp/events"
	for event in Q G D C; do
		[[ $(grep -c "^$event " "$tmp/events") == 2002 ]]
	done
	"$iostrata" report --events csv "$tmp/a.ios" | awk -F, '$1 == "\"request\"" {
			device[$22] += $32; n++; sum += $32; tag += $30; queue += $31 }
		END { print n, sum, tag, queue }' >"$tmp/want"
	awk '{ split($2, t, "."); ns = t[1] * 1000000000 + t[2] }
		$1 == "Q" { q[$3] = ns } $1 == "G" { tag += ns - q[$3]; g[$3] = ns }
		$1 == "D" { queue += ns - g[$3]; d[$3] = ns } $1 == "C" { n++; sum += ns - d[$3] }
		END { print n, sum, tag, queue }' "$tmp/events" >"$tmp/got"
	diff "$tmp/want" "$tmp/got"
	# an F before the direction is a flush first, one after it is FUA: bits 18 and 17 of the kernel's flags
	"$iostrata" report --events csv "$tmp/a.ios" | awk -F, '$1 == "\"request\"" { gsub(/"/, "")
			flags = int($23 / 131072); fua += flags % 2; flush += $4 == "F" || int(flags / 2) % 2 }
		END { print fua, flush }' >"$tmp/want_flags"
	blkparse -q -i "$tmp/t/loop3" -f '%a %d\n' |
		awk '$1 == "Q" { fua += $2 ~ /^F?[DRWN]F/; flush += $2 ~ /^F/ } END { print fua, flush }' >"$tmp/got_flags"
	diff "$tmp/want_flags" "$tmp/got_flags"
	(cd "$tmp" && btt -i bin) >"$tmp/btt" # it writes files into its directory
	read -r _ _ q2g _ n <<<"$(grep '^Q2G ' "$tmp/btt")"
	read -r _ _ d2c _ m <<<"$(grep '^D2C ' "$tmp/btt")"
	# of the same times, in ns
	read -r want device tag _ <"$tmp/want"
	((n > want * 99 / 100 && m > want * 99 / 100))
	awk -v a="$q2g" -v b="$d2c" -v n="$want" -v tag="$tag" -v device="$device" 'BEGIN {
		x = a * 1e9 * n / tag; y = b * 1e9 * n / device
		print x, y
		exit !(x > 0.98 && x < 1.02 && y > 0.98 && y < 1.02) }'
}

@test "report of user stacks: names are made safe in each form" {
	local by
	"$records" -x -t "$tmp/a.ios" 2003
	for by in '--by function' '--by line' '--by library' '--by stack' '--stacks -v'; do
		# shellcheck disable=SC2086 # words
		expect 0 report $by "$tmp/a.ios"
		echo "$output" >"$tmp/out"
		printable "$tmp/out"
		[[ $output == *"function-"* || $output == *"prog"* ]]
	done
	expect 0 report --folded "$tmp/a.ios"
	echo "$output" >"$tmp/out"
	printable "$tmp/out"
	[[ $output == *';function-16:='* ]] # a ";" of a name is no level
	not grep -vE '^[^;]+(;[^;]+)*;[a-z]+ [0-9]+$' "$tmp/out"
	expect 0 report -j --stacks "$tmp/a.ios"
	json '.stacks | (.list | length > 0) and .taken == .of and
		(.ends | map(select(.end == "unnamed" and .count > 0)) | length == 1)'
}

@test "pprof: values are those of report --folded, by function and by stratum" {
	"$records" -t -g 100 "$tmp/a.ios" 20011
	expect 0 export "$tmp/a.ios" --to pprof -o "$tmp/t"
	[[ $stderr == *" user stacks, "*" different: the values are estimates for all operations" ]]
	"$iostrata" report --folded "$tmp/a.ios" >"$tmp/folded"
	"$iostrata" report --json "$tmp/a.ios" >"$tmp/report"
	"$python" - "$tmp/t/profile.pb.gz" "$tmp/folded" "$tmp/report" <<-'END'
		import collections, datetime, gzip, json, sys
		def number(b, at):
		    value = shift = 0
		    while True:
		        value |= (b[at] & 127) << shift
		        shift, at = shift + 7, at + 1
		        if b[at - 1] < 128:
		            return value, at
		def fields(b):
		    at, found = 0, collections.defaultdict(list)
		    while at < len(b):
		        tag, at = number(b, at)
		        assert tag & 7 in (0, 2), tag
		        value, at = number(b, at)
		        if tag & 7 == 2:
		            value, at = b[at:at + value], at + value
		        found[tag >> 3].append(value)
		    return found
		whole = fields(gzip.open(sys.argv[1]).read())
		text = [t.decode() for t in whole[6]]
		assert text[0] == "" and len(text) == len(set(text))
		types = [(text[t[1][0]], text[t[2][0]]) for t in map(fields, whole[1])]
		assert types[:2] == [("operations", "count"), ("time", "nanoseconds")] and text[whole[14][0]] == "time"
		functions = {f[1][0]: text[f[2][0]] for f in map(fields, whole[5])}
		mappings = {m[1][0]: text[m[5][0]] for m in map(fields, whole[3])}
		locations = {l[1][0]: l for l in map(fields, whole[4])}
		assert len(locations) == len(whole[4]) and len(mappings) == len(whole[3])
		assert set(mappings.values()) == {"prog"}
		# the number of a function is that of its line
		for f in map(fields, whole[5]):
		    if text[f[2][0]].startswith("function-"):
		        line, = [fields(l[4][0])[2][0] for l in locations.values() if fields(l[4][0])[1] == f[1]]
		        assert text[f[2][0]] == f"function-{line};" and text[f[4][0]] == f"{line}.c", (text[f[2][0]], line)
		report = json.load(open(sys.argv[3]))
		assert whole[10] == [report["duration_ns"]], (whole[10], report["duration_ns"])
		began = datetime.datetime.fromisoformat(report["time"]).timestamp() * 1e9
		assert abs(whole[9][0] - began) < 2e9, (whole[9], began)
		name = {i: functions[fields(l[4][0])[1][0]].replace(";", ":") for i, l in locations.items()}
		sums, rounding, counts, n = (collections.Counter() for _ in range(4))
		for s in map(fields, whole[2]):
		    assert len(s[2]) == len(types)
		    labels = {text[l[1][0]]: text[l[2][0]] for l in map(fields, s[3])}
		    if "too many different" not in name[s[1][0]]:
		        assert labels["fs"] == "ext4", labels
		        counts[labels["op"]] += s[2][0]
		        n[labels["op"]] += 1
		    for (stratum, _), value in list(zip(types, s[2]))[2:]:
		        key = labels["op"], stratum, name[s[1][0]]
		        sums[key] += value
		        rounding[key] += s[2][0]
		    assert abs(s[2][1] - sum(s[2][2:])) < len(types)
		for row in report["stacks"]["list"]:
		    counts[row["op"]] -= row["count"]
		# each rounds its rows
		assert all(abs(counts[op]) <= 2 * n[op] for op in counts), (counts, n)
		want = collections.Counter()
		for line in open(sys.argv[2]):
		    path, ns = line.rsplit(" ", 1)
		    *frames, op, stratum = path.split(";")
		    leaf = frames[-1] if frames else "(caller unknown: the stack has no frame)"
		    want[op.split()[0], stratum, leaf] += int(ns)
		# report has no row for these
		sums = {k: v for k, v in sums.items() if "too many different" not in k[2] and v}
		assert len(sums) > 211, len(sums)
		# report rounds each estimate down
		off = {k: sums.get(k, 0) - want[k] for k in sums.keys() | want.keys()}
		wrong = [(k, off[k], rounding[k]) for k in off if not -2 <= off[k] <= rounding[k] + 2]
		assert not wrong, wrong[:5]
	END
	"$records" "$tmp/none.ios" 23
	expect 1 export "$tmp/none.ios" --to pprof -o "$tmp/none"
	[[ $stderr == *"' has no user stacks"* && ! -e $tmp/none ]]
}

@test "pprof: go tool pprof reads the profile, and sums up what report does" {
	command -v go >/dev/null || skip "there is no go"
	"$records" -t -g 100 "$tmp/a.ios" 2003
	expect 0 export "$tmp/a.ios" --to pprof -o "$tmp/t"
	export HOME=$tmp
	go tool pprof -top -nodefraction 0 -unit ns -sample_index device -tagfocus 'op=^read$' -ignore 'too many' \
		"$tmp/t/profile.pb.gz" >"$tmp/top"
	grep -q '^Type: device$' "$tmp/top"
	"$iostrata" report --folded --op read "$tmp/a.ios" >"$tmp/folded"
	want=$(awk '/;device [0-9]+$/ { sum += $NF } END { printf "%.0f", sum }' "$tmp/folded")
	told=$(sed -nE 's/^Showing nodes accounting for ([0-9]+)ns,.*/\1/p' "$tmp/top")
	((want > 0 && told >= want - 2003 && told <= want + 2003)) || { cat "$tmp/top"; false; }
	grep -q 'function-1;' "$tmp/top"
}
