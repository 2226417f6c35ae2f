# SPDX-License-Identifier: GPL-2.0-only
# record and report: the file and its rights, what is refused, what is left when something goes wrong.

load lib

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	file=$tmp/a.ios
}

teardown() { end_spawned; }

# recorded FILE [ARGS]: of a command that reads 23 times
recorded() {
	need_root
	expect 0 record -o "$1" "${@:2}" -- dd if=/proc/self/exe of=/dev/null bs=512 count=23
}

@test "record and report: the counts are the command's" {
	recorded "$file"
	[[ $stderr == *"a.ios: "*" operations, "* ]]
	expect 0 report "$file"
	[[ $output == *"read ext4"* || $output == *"read "* ]]
	expect 0 report -j "$file"
	json '.schema == "iostrata.breakdown/1" and ([.ops[] | select(.op == "read") | .count] | add) >= 23'
}

@test "the file is the caller's alone, is not written over, and not through a link" {
	need_root
	recorded "$file"
	[[ $(stat -c %a "$file") == 600 ]]
	expect 1 record -o "$file" -D 0.1
	says "cannot create '.*a.ios': File exists" "--force replaces it"
	ln -s "$tmp/elsewhere" "$tmp/link"
	expect 1 record -o "$tmp/link" -D 0.1
	says "cannot create"
	[[ ! -e $tmp/elsewhere ]]
	# what is replaced is the link, not what it leads to
	echo precious >"$tmp/elsewhere"
	recorded "$tmp/link" --force
	[[ ! -L $tmp/link && $(cat "$tmp/elsewhere") == precious ]]
	mkdir "$tmp/dir"
	expect 1 record --force -o "$tmp/dir" -D 0.1
	says "cannot create"
}

@test "under sudo the file belongs to who called it" {
	need_root
	chmod 711 "$tmp"
	SUDO_UID=12345 SUDO_GID=54321 SUDO_USER=nobody expect 0 record -o "$file" -D 0.2
	[[ $(stat -c %u:%g:%a "$file") == 12345:54321:600 ]]
}

@test "without -o the file's name says what of and when" {
	need_root
	cd "$tmp"
	expect 0 record -- true
	compgen -G "$tmp/iostrata-true-2*.ios"
}

@test "through a pipe" {
	need_root
	"$iostrata" record -o - -- dd if=/proc/self/exe of=/dev/null bs=512 count=23 2>/dev/null |
		"$iostrata" report -j - >"$tmp/json"
	json '([.ops[] | select(.op == "read") | .count] | add) >= 23' "$tmp/json"
	expect 125 record -o - --breakdown -- true
	says "exclude one another"
}

@test "a killed recorder leaves what was written, and report says what is missing" {
	need_root
	start record -o "$file"
	for _ in 1 2 3; do
		dd if="$iostrata" of=/dev/null bs=4k count=101 2>/dev/null
		sleep 0.8
	done
	kill -9 "$pid"
	ends_within 10 || true
	expect 1 report "$file"
	[[ $output == *read* && $stderr == *"ends without an end: what came after its last chunk is missing"* ]]
	expect 1 report --events csv "$file"
	(($(wc -l <<<"$output") > 100))
}

@test "what is no recording, or a damaged one" {
	expect 1 report "$tmp/none"
	says "cannot open '.*none': No such file"
	expect 1 report "$iostrata"
	says "is not a recording" "'iostrata record' makes"
	expect 1 report /dev/null
	says "is not a recording"
	expect 1 report "$tmp"
	says "cannot read"
	recorded "$file"
	printf 'x' | dd of="$file" bs=1 seek=1000 conv=notrunc status=none
	expect 1 report "$file"
	[[ $stderr == "error: "*"is damaged at byte "* ]]
}

@test "events: text, CSV, JSON have the same operations" {
	recorded "$file"
	ops=$("$python" -c 'import sys; sys.path.append("tests"); import capture
r = capture.read(sys.argv[1]); print(len(r.ops) + len(r.requests))' "$file")
	((ops > 23))
	expect 0 report --events text "$file"
	(($(wc -l <<<"$output") == ops + 1))
	printf '%s\n' "$output" >"$tmp/text"
	printable "$tmp/text"
	expect 0 report --events csv "$file"
	(($(wc -l <<<"$output") == ops + 1))
	"$python" -c 'import csv, sys
rows = list(csv.DictReader(sys.stdin))
assert all(None not in r and None not in r.values() for r in rows)
assert sum(r["op"] == "read" and r["comm"] == "dd" for r in rows) >= 23
assert all(int(r["total_ns"]) == sum(int(v) for k, v in r.items() if k.endswith("_ns") and
           k not in ("start_ns", "total_ns")) for r in rows if r["type"] == "op")' <<<"$output"
	expect 0 report --events json "$file"
	(($(wc -l <<<"$output") == ops + 1))
	[[ $(head -n 1 <<<"$output" | jq -r .schema) == iostrata.events/1 ]]
	[[ $(jq -s '[.[] | select(.op == "read" and .comm == "dd")] | length >= 23' <<<"$output") == true ]]
}

@test "names of files may be anything" {
	need_root
	dir=$(disk_dir)
	name=$(printf 'a\033[31m,"b\n\xff')
	: >"$dir/$name"
	expect 0 record -o "$file" -- cat "$dir/$name"
	for format in text csv json; do
		expect 0 report --events "$format" "$file"
		printf '%s\n' "$output" >"$tmp/out"
		printable "$tmp/out"
	done
	rm -r "$dir"
}

@test "parts of the time" {
	need_root
	start record -o "$file" -p "$$"
	read -r _ <"$iostrata" || true
	sleep 1.2
	read -r _ <"$iostrata" || true
	finish INT
	expect 0 report -j --every 0.5 "$file"
	(($(wc -l <<<"$output") >= 3))
	expect 0 report -j --from 1 "$file"
	later=$(jq '[.ops[].count] | add' <<<"$output")
	expect 0 report -j --to 1 "$file"
	sooner=$(jq '[.ops[].count] | add' <<<"$output")
	expect 0 report -j "$file"
	all=$(jq '[.ops[].count] | add' <<<"$output")
	((later > 0 && sooner > 0 && later + sooner == all))
	# two files are one timeline
	expect 0 report -j "$file" "$file"
	[[ $(jq '[.ops[].count] | add' <<<"$output") == $((2 * all)) ]]
	expect 2 report --from 2 --to 1 "$file"
	says "--to is not after --from"
}

@test "whose I/O" {
	need_root
	expect 0 record -o "$file" -- sh -c 'dd if=/proc/self/exe of=/dev/null bs=512 count=23; cat /etc/passwd'
	expect 0 report -j --comm dd --op read --by comm "$file"
	json '[.ops[] | [.op, .key]] | unique == [["read", "dd"]]'
	expect 0 report -j --comm cat,sh --by comm "$file"
	json '[.ops[].key] | unique == ["cat", "sh"]'
	pid=$("$iostrata" report --events csv "$file" | awk -F, '$1 ~ /op/ && !pid { pid = $18 } END { print pid }')
	expect 0 report -j -p "$pid" --by pid "$file"
	json '(.ops | length > 0) and ([.ops[].key] | unique | length == 1)'
	expect 0 report -j --min 100s "$file"
	json '.ops == []'
}

@test "what a recording cannot show is said" {
	expect 2 report -T vfs "$file"
	says "no times of 'vfs' alone" "-T syscall and -T blk"
	expect 2 report --slowest 3 -T blk "$file"
	expect 2 record --json -D 0.1
	says "--breakdown"
	recorded "$file" --requests
	expect 0 report "$file"
	expect 0 report -T blk "$file"
}

@test "only the last is kept, and a size" {
	need_root
	start record -o "$file" --keep 1
	dd if="$iostrata" of=/dev/null bs=512 count=1009 2>/dev/null
	sleep 3
	dd if="$iostrata" of=/dev/null bs=512 count=101 2>/dev/null
	finish INT
	"$python" - "$file" <<-EOT
		import sys; sys.path.append("tests"); import capture
		r = capture.read(sys.argv[1])
		assert r.end["dropped_ops"] >= 1009, r.end
		assert len(r.ops) == r.end["ops"] >= 101
	EOT
	expect 0 record --force -o "$file" --max-size 1 -- dd if="$iostrata" of=/dev/null bs=64 count=20011
	(($(stat -c %s "$file") <= 1100000))
}
