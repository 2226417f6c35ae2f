#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Where output has no room, or nobody reads it, and where it must not be mixed with the command's.

load lib

setup() {
	need_root
	cd "$BATS_TEST_DIRNAME/../.." || return
	small=$tmp/small
	mkdir "$small"
	mount -t tmpfs -o size=256k none "$small"
}

teardown() {
	end_spawned
	[[ -z ${small:-} ]] || umount -l "$small"
}

recorded() {
	expect 0 record -o "$tmp/a.ios" -- dd if=/dev/zero of="$tmp/file" bs=1 count=100003 status=none
}

@test "export: a full disk is an error, and leaves no file" {
	recorded
	expect 1 export "$tmp/a.ios" --to otf2 -o "$small/trace"
	says "cannot write '$small/trace': No space left on device"
	[[ ! -e $small/trace ]]
	expect 0 export "$tmp/a.ios" --to otf2 -o "$tmp/trace"
}

@test "export: an unreadable recording leaves no directory" {
	expect 1 export /etc/passwd --to otf2 -o "$tmp/trace"
	[[ ! -e $tmp/trace ]]
	mkdir "$tmp/trace"
	recorded
	expect 1 export "$tmp/a.ios" --to otf2 -o "$tmp/trace"
	says "cannot make '.*trace': File exists" "must not exist yet"
	expect 1 export "$tmp/nosuch" --to otf2 -o "$tmp/trace"
	[[ -d $tmp/trace ]]
}

@test "record: a disk without any room gets no file" {
	head -c 1M /dev/zero >"$small/filler" || true
	expect 125 record -o "$small/a.ios" -- true
	[[ $stderr == *"error: cannot write '$small/a.ios': No space left on device"* && ! -e $small/a.ios ]]
	expect 125 record -o "$small/a.ios" --max-size 1 --max-files 3 -- true
	[[ -z $(compgen -G "$small/a.ios*") ]]
}

@test "record --otf2: a full disk ends the recording" {
	head -c 1M /dev/zero >"$small/filler" || true
	expect 125 record --otf2 "$small/trace" -- true
	[[ $stderr == *"error: cannot"*"No space left on device"* ]]
	rm "$small/filler"
	expect 125 record --otf2 "$small/trace2" -- dd if=/dev/zero of="$tmp/file" bs=1 count=40009 status=none
	# the recording had room, the archive had none
	[[ $stderr == *"error: cannot write '$small/trace2': No space left on device"* ]]
	[[ $stderr == *"hint: '$small/trace2/recording.ios' is the recording"* ]]
	[[ $(ls "$small/trace2") == recording.ios ]]
	expect 0 export "$small/trace2/recording.ios" --to otf2 -o "$tmp/trace2"
}

@test "record: -o - does not mix the recording with the command's output" {
	"$iostrata" record -o - -- sh -c 'echo from the command' 2>"$tmp/err" | "$iostrata" report -j - >"$tmp/out"
	((PIPESTATUS[0] == 0 && PIPESTATUS[1] == 0))
	grep -q '^from the command$' "$tmp/err"
	json '.ops | length > 0' "$tmp/out"
}

@test "funcs: a closed pipe is not an error" {
	run --separate-stderr bash -c '"$0" funcs "c:getppid" -D 2 0.2 | head -c 1; exit "${PIPESTATUS[0]}"' "$iostrata"
	((status == 0)) && [[ $stderr != *error* ]]
}

@test "events: a layer not measured has no time, not 0" {
	recorded
	expect 0 report -j "$tmp/a.ios"
	missing=$(jq -c .missing <<<"$output")
	"$iostrata" report --events json "$tmp/a.ios" >"$tmp/events"
	grep '"type":"op"' "$tmp/events" >"$tmp/out"
	(($(wc -l <"$tmp/out") > 100000))
	for layer in vfs fs; do
		if [[ $missing == *"\"$layer\""* ]]; then
			[[ $(grep -cvF '"'$layer'_ns":null' "$tmp/out") == 0 ]]
		else
			[[ $(grep -cF '"'$layer'_ns":null' "$tmp/out") == 0 ]]
		fi
	done
}

@test "record: on a full disk the first part is kept, and the missing time is reported" {
	begin=$(date +%s%N)
	expect 125 record -o "$small/a.ios" -- sh -c '
		dd if=/dev/urandom of="$0" bs=512 count=200023 status=none; sleep 1.5' "$tmp/file"
	took=$(($(date +%s%N) - begin))
	expect 0 report -j "$small/a.ios"
	json --argjson took "$took" '.without_ns > 1.4e9 and .duration_ns < $took and .lost.ops > 0'
	expect 0 report "$small/a.ios"
	[[ ${output//$'\n  '/ } == "recorded in "*"(the first part of "*": then it was full)"* ]]
	recorded
	expect 0 report -j "$tmp/a.ios"
	json 'has("without_ns") | not'
}
