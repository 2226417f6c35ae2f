# SPDX-License-Identifier: GPL-2.0-only
# The first screen: its size, and that its figures are those of JSON.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016 # bats sets them; jq and sh have dollars of their own

load lib

setup() { begin_in_dir; }

teardown() { end_in_dir; }

@test "screens: those of the documentation have at most 22 lines, 26 on narrow terminals, and the terminal's width" {
	for size in 40x24 80x24 200x50; do
		shown=(git fio)
		[[ $size != 80x24 ]] || shown=(sqlite git fio idle minute)
		SIZES=$size MINUTE=1 tests/screens "${shown[@]}" >"$tmp/screens"
		# what is between two fences, without the command
		awk -v width="${size%x*}" '/^```/ { on = !on; n = 0; next } !on || /^# iostrata/ { next }
			{ n++; if (n > (width < 80 ? 26 : 22)) print "line " n ": " $0; if (length > width) print "wide: " $0 }
			END { if (on) print "no end" }' "$tmp/screens" >"$tmp/wrong"
		[[ ! -s $tmp/wrong ]] || { cat "$tmp/wrong"; false; }
		(($(grep -cE '^(traced|no I/O seen)' "$tmp/screens") == ${#shown[@]})) || { cat "$tmp/screens"; false; }
	done
	# the page is of this script
	for name in sqlite fio idle hang; do
		title=$(sed -n "/^screens_$name()/,/^}/s/.*title ['\"]\([^'\"]*\)['\"].*/\1/p" tests/screens)
		[[ -n $title ]] && grep -qxF "## $title" docs/SCREENS.md
	done
}

# A recording is printed as text and as JSON: the figures are the same.
@test "first screen: each figure is in JSON under the manual's name" {
	"$iostrata" record -o "$dir/trace" -- sh -c \
		'dd if=/dev/zero of="$0/file" bs=4k count=101 conv=fsync; cat "$0/file"' "$dir" >"$tmp/ignored" 2>&1
	COLUMNS=300 "$iostrata" report -n 100 "$dir/trace" >"$tmp/text"
	"$iostrata" report -j "$dir/trace" >"$tmp/json"
	keep_json "$tmp/json"
	"$python" - "$tmp/text" "$tmp/json" build/man/iostrata-json.5 <<'PY'
import json, re, sys
text, page = open(sys.argv[1]).read(), open(sys.argv[3]).read().replace("\\", "")
data = json.load(open(sys.argv[2]))
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KiB": 1024, "MiB": 1024 ** 2}
def value(cell):
    m = re.fullmatch(r"<?([0-9.,]+)(?: (\w+)|(%|[kM]?)(/s)?)", cell)
    scale = UNITS[m[2]] if m[2] else {"%": 0.01, "k": 1e3, "M": 1e6, "": 1}[m[3]]
    return float(m[1].replace(",", "")) * scale
def names(rows): # title -> name in JSON, as the manual lists them
    part = page.split("SS Rows of " + rows)[1].split("SS ")[0]
    return {t or n: n for n, t in re.findall(r"^fI(\w+)fR(?: \(([^)]*)\))?", part, re.M)}
def compare(block, rows, named, find):
    lines = block.split("\n")
    columns = re.split(r"  +", lines[0].strip())
    n = 0
    for line in lines[1:]:
        if " more, " in line: continue
        cells = dict(zip(columns, re.split(r"  +", line.strip())))
        row = next(r for r in rows if find(r, cells))
        for title, name in named.items():
            if title not in cells or cells[title] == "-" or not re.match(r"[<0-9]", cells[title]): continue
            want, got = row[name], value(cells[title])
            assert abs(got - want) <= max(0.006 * abs(want), 0.006), (title, name, cells[title], want)
            n += 1
    return n
blocks = text.split("\n\n")
n = compare(blocks[1], data["ops"], names("ops"),
            lambda r, c: r["op"] == c["operation"] and (r["fs"] or "-") == c["fs"])
assert n >= 20, n
total = re.search(r": ([0-9.]+ \w+) in I/O", text)[1]
assert abs(value(total) - data["io_ns"]) <= 0.006 * data["io_ns"]
assert sum(r["total_ns"] for r in data["ops"]) == data["io_ns"]
# of that, the operation that took most
top = max(data["ops"], key=lambda r: r["total_ns"])
share, of = re.search(r", (\d+) % of it (\w+ \w+)", text.replace("\n", " ")).groups()
assert abs(int(share) - 100 * top["io_share"]) <= 0.51 and of == f"{top['op']} {top['fs']}", (share, of)
# where the time went: the strata that the letters stand for
SHARES = {"C cpu": ("syscall", "vfs", "fs"), "D device": ("device",), "q queue": ("tag", "queue"),
          "r waiting for a CPU": ("runq", "preempt"), "k kernel thread": ("helper",), "l lock": ("lock",),
          "o other": ("throttle", "complete", "sleep")}
shares = re.findall(r"([CDqrklo] [a-zCPU ]+) (\d+) %", blocks[0].replace("\n ", ""))
assert shares
for name, percent in shares:
    ns = sum(data["strata"][st] or 0 for st in SHARES[name])
    assert abs(int(percent) - 100 * ns / data["io_ns"]) <= 0.51, (name, percent)
# the waterfall: strata by the names of the help
LABELS = {top["fs"]: "fs", "wake-up": "complete", "run queue": "runq", "preempted": "preempt",
          "kernel thread": "helper"}
lines = re.findall(r"(\w+(?:[ -]\w+)*) +([0-9.]+) % +([0-9.]+ \w+)  ", blocks[2])
assert lines
for label, percent, mean in lines:
    if label == "other": continue
    ns = top["strata"][LABELS.get(label, label)]
    assert abs(float(percent) - 100 * ns / top["total_ns"]) <= 0.051, (label, percent)
    assert abs(value(mean) - ns / top["count"]) <= 1 + 0.006 * ns / top["count"], (label, mean)
# requests, and the last lines
table = blocks[3].split("\n")
requests = [line for line in table if re.match(r"disk |\S+ +(read|write|flush|discard) +[0-9]", line)]
CODES = {"read": "R", "write": "W", "flush": "F", "discard": "D"}
n = compare("\n".join(requests), data["requests"], names("requests"),
            lambda r, c: r["dev"] == c["disk"] and r["op"] == CODES[c["requests"]])
assert n >= 8 and len(requests) > 1, n
outside = re.search(r"([0-9,]+) of ([0-9,]+) submitted (by kernel threads|outside of these operations)", text)
assert (int(outside[1].replace(",", "")) if outside else 0) == sum(r["outside"] for r in data["requests"])
lost = sum(n for kind, n in data["lost"].items() if kind not in ("unmatched_end", "names"))
names = "the name" if data["lost"]["names"] else "nothing lost"
assert table[-2].startswith(f"{lost:,} event" if lost else names), table[-2]
PY
}

@test "first screen: a command's share of I/O counts all its threads" {
	expect 0 breakdown -j -- sh -c 'sleep 1 & sleep 1 & sleep 1; wait'
	# four processes of a second each
	json '.threads_ns > 3.9e9 and .threads_ns <= 4 * .duration_ns and .threads_ns > .io_ns'
	expect 0 breakdown -j -- "$python" -c 'import threading, time
threads = [threading.Thread(target=time.sleep, args=(1,)) for i in range(5)]
for t in threads: t.start()
for t in threads: t.join()'
	json '.threads_ns > 6 * 0.95e9 and .threads_ns <= 6 * .duration_ns'
	# from the beginning to the end of each: the five, at most what is left between the two
	expect 0 breakdown -j -- sh -c 'sleep 0.6; for i in 1 2 3 4 5; do sleep 0.1 & done; wait; sleep 0.6'
	json '.threads_ns > 2.9e9 and .threads_ns <= 2 * .duration_ns + 5 * (.duration_ns - 1.2e9)'
	# in intervals, each has its own
	"$iostrata" breakdown -j 0.4 -- sleep 1 >"$tmp/out"
	jq -es 'length > 0 and length <= 3 and
		all(.threads_ns > 0.5 * .duration_ns and .threads_ns < 1.5 * .duration_ns)' "$tmp/out"
	# a shell that waits makes the share small: the busiest thread's share is larger
	printf %65536s >"$dir/file"
	reads=(sh -c "dd if='$dir/file' of=/dev/null bs=1 status=none; sleep 1")
	expect 0 breakdown -j -- "${reads[@]}"
	json '.busiest.comm == "dd" and .busiest.io_ns <= .thread_ns and .busiest.io_ns <= .busiest.lived_ns and
		.busiest.lived_ns < .duration_ns - 0.9e9'
	expect 0 breakdown -- "${reads[@]}"
	tr -s '\n ' '  ' <<<"$stderr" | grep -qE "[0-9] % of its threads' time; busiest thread: dd, [0-9]+ %"
	# nobody's command, nothing known
	expect 0 breakdown -j -D 0.2
	json '.threads_ns == null and .command == null and .busiest == null'
	expect 0 breakdown -o - -- sh -c 'sleep 0.5'
	[[ $output =~ \((<?0\.[1-4]|[1-9])\ %\ of\ its\ threads\'\ time\) ]] # more on a slow machine
}

files() { # NUMBER: reads of so many files, each more often than the one before
	for i in $(seq "$1"); do echo text >"$dir/f$i"; done
	# shellcheck disable=SC2086 # words
	"$python" -c 'import sys
for i in range(1, int(sys.argv[2]) + 1):
	for _ in range(i): open("%s/f%d" % (sys.argv[1], i)).read()' "$dir" "$1"
}
export -f files

@test "--by has one row per key, -v one per operation, -n and --sort choose" {
	export dir python
	run_files() { "$iostrata" breakdown -o - --by file --file "$dir" "$@" -- bash -c 'files 23' >"$tmp/out"; }
	run_files -n 101
	[[ $(grep -c "^$dir/f23 " "$tmp/out") == 1 && $(grep -c "^$dir/f" "$tmp/out") == 23 ]]
	run_files -v
	(($(grep -c "^$dir/f23 " "$tmp/out") >= 3))
	run_files -n 3 --sort count
	[[ $(grep -oE "^$dir/f[0-9]+" "$tmp/out" | head -n 3 | xargs -n 1 basename | xargs) == "f23 f22 f21" ]]
	grep -qE '^2[0-9] more, ' "$tmp/out"
	run_files
	(($(wc -l <"$tmp/out") <= 22))
}

@test "-o FILE: new, its user's alone, and stdout is the command's" {
	run --separate-stderr "$iostrata" breakdown -j -o "$dir/out" -- echo text
	[[ $status == 0 && $output == text && $(stat -c %a "$dir/out") == 600 ]]
	json '.schema == "iostrata.breakdown/1"' "$dir/out"
	expect 125 breakdown -o "$dir/out" -- true
	says "cannot create '$dir/out': File exists" "another name"
	ln -s "$dir/nowhere" "$dir/link"
	expect 1 breakdown -o "$dir/link" -D 0.1
	[[ ! -e $dir/nowhere ]]
	SUDO_USER=nobody SUDO_UID=65534 SUDO_GID=65534 expect 0 breakdown -o "$dir/theirs" -D 0.1
	[[ $(stat -c %u:%g "$dir/theirs") == 65534:65534 ]]
	# without it a command's output goes to stderr, where JSON is on stdout
	run --separate-stderr "$iostrata" breakdown -j -- echo text
	json '.command == "echo"'
	[[ $stderr == *$'\n'text ]]
}

@test "intervals: each has the time of day, in JSON with the zone" {
	expect 0 breakdown -j 0.3 2 # ends of intervals may be in one second
	now=$(date +%s)
	jq -es 'map(.time) | unique | length == 2' <<<"$output"
	for t in $(jq -r .time <<<"$output"); do
		[[ $t =~ ^[0-9-]{10}T[0-9:]{8}\.[0-9]{3}[+-][0-9]{2}:[0-9]{2}$ ]]
		((now - $(date -d "$t" +%s) <= 5))
	done
	expect 0 breakdown 0.3 2
	[[ ${lines[0]} =~ ^([0-9]{2}:){2}[0-9]{2}\.[0-9],\  ]]
	(($(grep -oE '^([0-9]{2}:){2}[0-9]{2}\.[0-9], ' <<<"$output" | sort -u | wc -l) == 2))
}

@test "colours: on terminals, unless NO_COLOR is set and not empty, or TERM is dumb" {
	shown() { script -qec "env $* '$iostrata' breakdown -- true" /dev/null </dev/null; }
	shown TERM=xterm | grep -q $'\e\['
	shown TERM=xterm NO_COLOR= | grep -q $'\e\['
	not bash -c "$(declare -f shown); iostrata='$iostrata'; shown TERM=dumb | grep -q $'\e\['"
	not bash -c "$(declare -f shown); iostrata='$iostrata'; shown TERM=xterm NO_COLOR=1 | grep -q $'\e\['"
}

@test "meta is split by call with -v, each with its waits; the first screen has it whole" {
	calls=(sh -c 'touch "$0/a"; mv "$0/a" "$0/b"; rmdir "$0/nosuch"; ls -l "$0" >/dev/null' "$dir")
	"$iostrata" record --force -o "$dir/trace" -- "${calls[@]}" 2>/dev/null
	"$iostrata" report -v "$dir/trace" >"$tmp/report"
	"$iostrata" breakdown -o - -v -- "${calls[@]}" >"$tmp/breakdown" 2>/dev/null
	for out in "$tmp/report" "$tmp/breakdown"; do
		grep -qE '^meta rename' "$out"
		grep -A4 '^meta rmdir' "$out" | grep -q syscall
		not grep -qxE 'meta( ext4)?' "$out"
	done
	"$iostrata" report -n 100 "$dir/trace" >"$tmp/out"
	grep -qE '^meta ' "$tmp/out"
	not grep -q rename "$tmp/out"
}

@test "--sort: each column sorts, and is shown" {
	write=(dd if=/dev/zero of="$dir/file" bs=4k count=23 oflag=direct conv=fsync status=none)
	COLUMNS=60 "$iostrata" breakdown -o - --sort p90_ns -- "${write[@]}" >"$tmp/out"
	grep -qE '^operation .* p90_ns' "$tmp/out"
	for title in "waiting for a CPU" "run queue"; do # the second was its name
		"$iostrata" breakdown -j --sort "$title" -- "${write[@]}" >"$tmp/out"
		json '[.ops[] | (.strata.runq + .strata.preempt) / .total_ns] | . == (sort | reverse)' "$tmp/out"
	done
	"$iostrata" breakdown -j -T blk --sort count -- "${write[@]}" >"$tmp/out"
	json '[.requests[].count] | length > 0 and . == (sort | reverse)' "$tmp/out"
	expect 2 breakdown -T blk --sort io_share -D 1
	says "no column 'io_share'"
}

@test "first screen: requests outside all operations are counted" {
	fio=(fio --name=a --filename="$dir/file" --size=1M --bs=4k --direct=1 --output=/dev/null)
	"${fio[@]}" --rw=write
	# Some hypervisors lose hits after attaching. Pages of fio itself that are read again, as faults
	# are no operations, may be outside.
	later=(sh -c 'sleep 1; exec "$@"' sh "${fio[@]}")
	expect 0 breakdown -j -o "$dir/out" -- "${later[@]}" --rw=randread --ioengine=psync
	json '[.requests[] | select(.op == "R") | .count - .outside] | add >= 250' "$dir/out"
	expect 0 breakdown -j -T blk -- "${fio[@]}" --rw=randread
	json '.requests | length > 0 and all(.outside == null)'
	expect 0 breakdown -j -- "${later[@]}" --rw=randread --ioengine=libaio --iodepth=16
	reads=$(jq '[.requests[] | select(.op == "R") | .count] | add' <<<"$output")
	outside=$(jq '[.requests[] | select(.op == "R") | .outside] | add' <<<"$output")
	aio=$(jq '[.ops[] | select(.op == "aio") | .count] | add // 0' <<<"$output")
	((reads >= 200 && outside + aio >= 200 && outside <= reads))
}

@test "messages: they are wrapped on terminals only" {
	long="--comm aaaaaaaaaaa,bbbbbbbbbbb,ccccccccccc,ddddddddddd,eeeeeeeeeee,fffffffffff -D 0.1"
	# shellcheck disable=SC2086 # words
	expect 0 breakdown $long
	(($(head -n 1 <<<"$stderr" | wc -L) > 80))
	script -qec "'$iostrata' breakdown $long" /dev/null </dev/null | tr -d '\r' >"$tmp/out"
	grep -q '^tracing --comm aaaaaaaaaaa' "$tmp/out"
	fits_80_columns "$tmp/out"
	# no word is cut
	path=/nosuch/$(printf 'x%.0s' {1..99})
	script -qec "'$iostrata' breakdown --file $path" /dev/null </dev/null | tr -d '\r' >"$tmp/out"
	grep -q "'$path'" "$tmp/out"
}

@test "text: a terminal without UTF-8 gets ASCII, a pipe gets all bytes" {
	file=$dir/$'\u00db' # its second byte is a control in Latin-1
	echo text >"$file"
	shown() { script -qec "env -u LANG LC_ALL=$1 '$iostrata' breakdown --by file --file '$file' -- cat '$file'" \
		/dev/null </dev/null; }
	for locale in C POSIX de_DE.ISO-8859-1 ""; do
		shown "$locale" | grep -v ^text >"$tmp/out"
		grep -qF '\xc3\x9b' "$tmp/out"
		not env LC_ALL=C grep -q $'[\x80-\xff]' "$tmp/out"
	done
	shown en_US.UTF-8 | grep -qF "$file"
	LC_ALL=C "$iostrata" breakdown --by file --file "$file" -o "$dir/out" -- cat "$file" >/dev/null 2>&1
	grep -qF "$file" "$dir/out"
}

@test "--why: a wait for a frozen file system is named, also while it lasts" {
	command -v fsfreeze losetup mkfs.ext4 >/dev/null || skip "no fsfreeze, losetup or mkfs.ext4"
	expect 0 doctor -j
	json '.findings[] | select(.what == "locks").works' || skip "this kernel does not tell of locks"
	truncate -s 32M "$tmp/disk"
	mkfs.ext4 -q "$tmp/disk"
	mkdir "$tmp/m"
	mount -o loop "$tmp/disk" "$tmp/m" || skip "no loop devices"
	"$iostrata" breakdown -j --why --fs ext4 -o "$tmp/out" 0.3 -- "$python" -c 'import os, subprocess, sys
f = os.open(sys.argv[1] + "/file", os.O_CREAT | os.O_WRONLY)
for call in (lambda: os.write(f, b"x"), lambda: os.mkdir(sys.argv[1] + "/dir")):
    subprocess.check_call(["fsfreeze", "-f", sys.argv[1]])
    thaw = subprocess.Popen(["sh", "-c", "sleep 1; exec fsfreeze -u " + sys.argv[1]])
    call()
    thaw.wait()' "$tmp/m" || true
	umount "$tmp/m"
	jq -es '([.[].in_progress[] | select(.frozen) | [.op, .stratum]] | unique) as $told |
		($told | index([["write", "lock"]])) and
		any(.[].sleep_why[]; .op == "write" and .what == "frozen file system" and .total_ns > 0.5e9)' "$tmp/out"
}

@test "first screen: a client of a database is told how the server's I/O is seen" {
	need_root
	cp "$(readlink -f /bin/sh)" "$tmp/pgbench"
	expect 0 breakdown -- "$tmp/pgbench" -c 'cat /etc/hostname'
	said=${stderr//$'\n  '/ }
	[[ $said == *"pgbench asks a server, which is not traced: --system --comm postgres -- pgbench ... shows "* ]]
	# also behind a command that executes it, but the name of a user is no client
	expect 0 breakdown -- env -u mysql A=1 timeout 77 nice -n 0 "$tmp/pgbench" -c 'cat /etc/hostname'
	said=${stderr//$'\n  '/ }
	[[ $said == *"pgbench asks a server, which is not traced: --system --comm postgres -- env ... shows "* ]]
	for command in "env -u mysql cat /etc/hostname" "env echo mysql"; do
		expect 0 breakdown -- $command
		[[ $stderr != *"asks a server"* ]]
	done
	expect 0 breakdown --system -- "$tmp/pgbench" -c 'cat /etc/hostname'
	[[ $stderr != *"asks a server"* ]]
	expect 0 breakdown -- sh -c 'cat /etc/hostname'
	[[ $stderr != *"asks a server"* ]]
}
