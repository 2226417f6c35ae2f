# SPDX-License-Identifier: GPL-2.0-only
# mcp: an agent's questions, of both eras of the protocol, and what it refuses.
# shellcheck disable=SC2154,SC2016 # bats sets them; $ of jq

load lib

setup_file() {
	export made=$BATS_FILE_TMPDIR
	cd "$BATS_TEST_DIRNAME/../.." || return
	cc -O2 -std=gnu11 -D_GNU_SOURCE -Isrc -o "$made/records" tests/records.c build/libiostrata.a -lzstd -lz
	mkdir "$made/dir"
	"$made/records" -c discard "$made/dir/discard.ios" 20011
	"$made/records" -c none "$made/dir/none.ios" 1009
	"$made/records" "$made/outside.ios" 1009
	ln -s ../outside.ios "$made/dir/link.ios"
	cp "$made/outside.ios" "$made/dir/-o.ios"
	cp "$made/outside.ios" "$made/dir/"$'a\n\033[2Jb.ios'
}

# ask: requests on standard input, one for each line: answers, one for each request
ask() { "$iostrata" mcp "$@" "$made/dir"; }

teardown() { end_spawned; }

# call TOOL [ARGUMENTS]: the request
call() {
	printf '{"jsonrpc":"2.0","id":1,"method":"tools/call",'
	printf '"params":{"name":"%s","arguments":%s}}\n' "$1" "${2:-{\}}"
}

text() { command jq -j '.result.content[0].text'; }

@test "mcp: with a handshake, and without one by naming the version, the same tools answer" {
	local of='"params":{"_meta":{"io.modelcontextprotocol/protocolVersion"'
	ask >"$tmp/out" <<-JSON
		{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
		{"jsonrpc":"2.0","method":"notifications/initialized"}
		{"jsonrpc":"2.0","id":2,"method":"tools/list"}
		{"jsonrpc":"2.0","id":3,"method":"server/discover",$of:"2026-07-28"}}}
		{"jsonrpc":"2.0","id":4,"method":"tools/list",$of:"2026-07-28"}}}
		{"jsonrpc":"2.0","id":5,"method":"ping",$of:"2031-01-01"}}}
	JSON
	command jq -se 'length == 5 and .[0].id == "a" and .[0].result.protocolVersion == "2025-11-25" and
		(.[1].result.tools | length) == 7 and .[1].result.tools == .[3].result.tools and
		(.[1].result | has("resultType") | not) and
		.[2].result.supportedVersions[0] == "2026-07-28" and .[3].result.resultType == "complete" and
		.[4].error.code == -32022 and ([.[1].result.tools[].inputSchema.additionalProperties] | any | not)' "$tmp/out"
}

@test "mcp: the official clients list the tools, call them, and are refused a path" {
	said=$(tests/engines mcp 2>&1) || skip "${said##*$'\n'}"
	node tests/mcp.mjs build/engines/mcp/node_modules "$iostrata" "$made/dir" discard.ios >"$tmp/out"
	diff "$tmp/out" - <<-'EXPECTED'
		handshake  7 false text iostrata.breakdown/1 -32602
		auto 2026-07-28 7 false text iostrata.breakdown/1 -32602
	EXPECTED
}

@test "mcp: each tool answers in at most 3 KB of text, first the answer, last the next call" {
	{
		call list_recordings
		call report '{"recording":"discard.ios","by":"comm"}'
		call slowest '{"recording":"discard.ios","count":3,"op":"fsync"}'
		call timeline '{"recording":"discard.ios","count":1}'
		call compare '{"old":"none.ios","new":"discard.ios"}'
		call explain '{"recording":"discard.ios","condition":"fsync>p99"}'
	} | ask >"$tmp/out"
	(($(wc -l <"$tmp/out") == 6))
	while read -r line; do
		text <<<"$line" >"$tmp/text"
		(($(wc -c <"$tmp/text") <= 3072))
		mark=$(sed -n '1s/^\[data \([0-9a-f]\{8\}\): .*/\1/p' "$tmp/text")
		[[ $(tail -n 2 "$tmp/text" | head -n 1) == "[end $mark]" && $(tail -n 1 "$tmp/text") == "Next: "* ]]
		printable "$tmp/text"
		command jq -e '.result.isError == false' <<<"$line"
	done <"$tmp/out"
	command jq -se '[.[].result.structuredContent.schema] == [null, "iostrata.breakdown/1", "iostrata.breakdown/1",
		"iostrata.breakdown/1", "iostrata.compare/2", "iostrata.explain/1"]' "$tmp/out"
	sed -n 6p "$tmp/out" | text | grep -q "beside discards on vda"
	# what it says is what the command says
	sed -n 6p "$tmp/out" | command jq -c .result.structuredContent >"$tmp/ours"
	(cd "$made/dir" && "$iostrata" explain --json discard.ios 'fsync>p99') | command jq -c . | cmp - "$tmp/ours"
}

@test "mcp: report has a row for each directory" {
	call report '{"recording":"none.ios","by":"dir"}' | ask >"$tmp/out"
	text <"$tmp/out" | grep -q "^dir .*operation"
}

@test "mcp: tools name the schema of their answers; rows by caller need user stacks" {
	{
		printf '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
		call compare '{"old":"none.ios","new":"discard.ios"}'
		call report '{"recording":"none.ios","by":"function"}'
	} | ask >"$tmp/out"
	command jq -se '.[1].result.structuredContent.schema as $is |
		.[0].result.tools[] | select(.name == "compare").description | contains("schema " + $is + ".")' "$tmp/out"
	sed -n 3p "$tmp/out" | text >"$tmp/text"
	grep -qx "error: 'none.ios' has no user stacks" "$tmp/text"
	# a failed answer has the hint, no advice for the next call
	[[ $(tail -n 2 "$tmp/text") == "hint: "*$'\n[end '* ]]
}

@test "mcp: only recordings of the folder are offered, no links, no options, no controls" {
	call list_recordings | ask >"$tmp/out"
	command jq -e '[.result.structuredContent.recordings[].recording] | sort == ["discard.ios", "none.ios"]' "$tmp/out"
	command jq -e '.result.structuredContent.not_offered == 3' "$tmp/out"
}

@test "mcp: hostile arguments and lines are refused, and the next request is answered" {
	for name in ../outside.ios /etc/passwd link.ios -o.ios '' . dir/discard.ios 'discard.ios\u0000' \
		'a\n\u001b[2Jb.ios'; do
		call report "{\"recording\":\"$name\"}"
	done >"$tmp/in"
	{
		call report '{"recording":"discard.ios","by":"--output=/tmp/x"}'
		call report '{"recording":"discard.ios","op":"read;id"}'
		call report '{"recording":"discard.ios","from":"-1s"}'
		call report '{"recording":"discard.ios","output":"x"}'
		call report '{"recording":["discard.ios"]}'
		call report '[]'
		call report
		call slowest '{"recording":"discard.ios","count":0}'
		call slowest '{"recording":"discard.ios","count":1e9}'
		call explain '{"recording":"discard.ios","condition":"--output=x"}'
		call explain '{"recording":"discard.ios","condition":"$(id)"}'
		call breakdown_now '{"seconds":1}'
		call export '{}'
		echo '{"jsonrpc":"2.0","id":1,"method":"tools/call"}'
	} >>"$tmp/in"
	refusals=$(wc -l <"$tmp/in")
	{
		printf '%s\n' '{' '[]' 'null' '{"id":{}}' '{"id":1}' '{"id":1,"id":2,"method":"ping"}'
		printf '{"id":1,"method":"nothing"}\n{"method":"tools/call","params":7}\n\xff\xfe\n'
		head -c 3000000 /dev/zero | tr '\0' x
		printf '\n{"jsonrpc":"2.0","id":7,"method":"ping"}\n'
	} >>"$tmp/in"
	ask <"$tmp/in" >"$tmp/out"
	head -n "$refusals" "$tmp/out" | command jq -se --argjson n "$refusals" \
		'map(.error.code) | length == $n and all(. == -32602 or . == -32700)'
	tail -n +$((refusals + 1)) "$tmp/out" | command jq -se 'length == 10 and (.[:-1] | all(has("error"))) and
		.[-1] == {jsonrpc: "2.0", id: 7, result: {}}'
	files=("$made/dir"/*)
	((${#files[@]} == 5))
	# a refusal tells what would be right
	{
		call report '{"recording":"discard.ios","file":"x"}'
		call slowest '{"recording":"discard.ios"}'
		call list_recordings '{"recording":"discard.ios"}'
		call report '{"recording":"discard.ios","by":"stack"}'
	} | ask >"$tmp/out"
	command jq -se 'map(.error.message) == [
		"there is no such argument: report has recording (required), by, op, comm, from, to",
		"an argument is missing: slowest has recording (required), count (required), op, comm, from, to",
		"there is no such argument: list_recordings has none",
		"no such key: by is pid, tid, comm, file, cgroup, dev, cache, container, server, host, client, dir, " +
			"function, line or library"]' "$tmp/out"
}

@test "mcp: a line of 600 MiB takes no more memory than a short one, and the next request is answered" {
	{
		head -c 600M /dev/zero | tr '\0' x
		printf '\n{"jsonrpc":"2.0","id":7,"method":"ping"}\n'
	} | (ulimit -v 400000 && ask) >"$tmp/out"
	command jq -se 'map(.error.code // .id) == [-32700, 7]' "$tmp/out"
}

@test "mcp: 1,000 calls leave memory and descriptors as they were" {
	cat >"$tmp/many" <<-'PY'
		import json, os, subprocess, sys
		mcp = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		def call(name, **arguments):
		    mcp.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		                                "params": {"name": name, "arguments": arguments}}) + "\n")
		    mcp.stdin.flush()
		    return json.loads(mcp.stdout.readline())
		def now():
		    with open(f"/proc/{mcp.pid}/statm") as statm:
		        return int(statm.read().split()[1]) * 4, len(os.listdir(f"/proc/{mcp.pid}/fd"))
		def some(n):
		    for i in range(n):
		        call("report", recording="../x")
		        call("list_recordings")
		        if not i % 20:
		            assert not call("report", recording="none.ios")["result"]["isError"]
		some(20)
		before = now()
		some(480)
		after = now()
		print(before, after)
		assert after[0] <= before[0] + 512 and after[1] == before[1]
		mcp.stdin.close()
		assert mcp.wait() == 0
	PY
	"$python" "$tmp/many" "$iostrata" mcp "$made/dir"
}

@test "mcp: with --live, an agent may trace this host, for 30 seconds at most" {
	need_root
	{
		call breakdown_now '{"seconds":31}'
		call breakdown_now '{"seconds":1}'
	} | ask --live >"$tmp/out"
	command jq -se '.[0].error.code == -32602 and .[1].result.isError == false' "$tmp/out"
	sed -n 2p "$tmp/out" | text | grep -q "^traced everybody for 1"
}

@test "mcp: no answer has a command line, recorded or live" {
	need_root
	mkdir "$tmp/secret"
	cat >"$tmp/holds" <<-'PY'
		import fcntl, sys, time
		with open(sys.argv[2], "w") as file:
		    while True:
		        fcntl.flock(file, fcntl.LOCK_EX)
		        time.sleep(0.03)
		        fcntl.flock(file, fcntl.LOCK_UN)
		        time.sleep(0.001)
	PY
	spawn "$python" "$tmp/holds" --password=hunter2 "$tmp/file"
	wait_until test -e "$tmp/file"
	expect 0 record -o "$tmp/secret/a.ios" -- sh -c \
		'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do flock "$0" true; done; sync "$0"' "$tmp/file" --password=hunter2
	cp "$tmp/secret/a.ios" "$tmp/secret/b.ios"
	# the commands tell it
	for options in "-j --by pid" "--slowest 3" "-j --slowest 3" ""; do
		# shellcheck disable=SC2086 # several words
		expect 0 report $options "$tmp/secret/a.ios"
		[[ $output == *hunter2* ]]
	done
	IOSTRATA_NO_COMMANDS=1 expect 0 report -j --by pid --slowest 3 "$tmp/secret/a.ios"
	[[ $output != *hunter2* ]]
	json '[.slowest[].command, .ops[].command] | length > 3 and all(. == null)'
	expect 0 breakdown -j -D 1 --by pid --pid "$spawned_pid"
	[[ $output == *hunter2* ]]
	{
		call report '{"recording":"a.ios"}'
		call report '{"recording":"a.ios","by":"pid"}'
		call report '{"recording":"a.ios","by":"tid"}'
		call slowest '{"recording":"a.ios","count":10}'
		call timeline '{"recording":"a.ios","count":5}'
		call explain '{"recording":"a.ios","condition":"lock>p50"}'
		call explain '{"recording":"a.ios","condition":"any>p50"}'
		call compare '{"old":"a.ios","new":"b.ios"}'
		call breakdown_now '{"seconds":1,"by":"pid"}'
	} | "$iostrata" mcp --live "$tmp/secret" >"$tmp/out"
	command jq -se 'length == 9 and all(.result.isError == false)' "$tmp/out"
	grep -q "a file lock that python3" "$tmp/out"
	not grep -q hunter2 "$tmp/out"
	not grep -q "holds" "$tmp/out"
}

@test "mcp: a folder that is not there is a clear error" {
	expect 1 mcp "$tmp/none"
	says "cannot open the folder '$tmp/none': No such file or directory"
	expect 2 mcp
}
