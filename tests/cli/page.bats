# SPDX-License-Identifier: GPL-2.0-only
# Pages (report --html): in a real Chromium, against what `report --json` says of the same file.
# shellcheck disable=SC2016 # it is JavaScript that has the dollars

load lib

setup_file() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	cc -O2 -std=gnu11 -D_GNU_SOURCE -Isrc -o "$BATS_FILE_TMPDIR/records" tests/records.c \
		build/libiostrata.a -lzstd -lz
	tests/engines playwright >"$BATS_FILE_TMPDIR/fetched" 2>&1 || true
	"$BATS_FILE_TMPDIR/records" -x "$BATS_FILE_TMPDIR/a.ios" 10007
	"${IOSTRATA:-build/iostrata}" report --html "$BATS_FILE_TMPDIR/a.html" "$BATS_FILE_TMPDIR/a.ios"
}

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	a=$BATS_FILE_TMPDIR/a.ios page=$BATS_FILE_TMPDIR/a.html
}

teardown() {
	end_spawned
}

need_browser() {
	command -v chromium >/dev/null || skip "there is no chromium"
	[[ -e build/engines/playwright/node_modules/playwright-core ]] ||
		skip "playwright-core cannot be fetched: $(tail -n 1 "$BATS_FILE_TMPDIR/fetched")"
}

# browse PAGE [JAVASCRIPT]: what is in the page, as JSON in $tmp/seen
browse() {
	CHROMIUM=$(command -v chromium) ACTIONS=${2:-} node tests/browser.js "$1" >"$tmp/seen"
	[[ $(seen '[.console, .requests]') == '[[],[]]' ]] || { seen '.console, .requests'; false; }
}

seen() { # FILTER [OPTIONS]: of that
	command jq -c "${@:2}" "$1" "$tmp/seen"
}

# The shares of strata, in the order of all bars.
shares='def shares: [.device, .server, .tag + .queue, .helper, .lock, .runq + .preempt, .syscall + .vfs + .fs,
	.throttle + .complete + .sleep + .reap];'

# JavaScript: shows the table by $1, with all rows, and the rest of the state $2
by() {
	echo "show({ by: '$1', system: true ${2:+, $2} });
		for (let b; (b = document.querySelector('#table .more button'));) b.click();"
}

# same BY KEY [STATE] [OPTIONS]: the table by BY on the page has the sums of `report --json OPTIONS`, by the JSON
# expression KEY
same() {
	browse "$page" "$(by "$1" "$3")"
	"$iostrata" report -j "${@:4}" "$a" >"$tmp/json"
	jq -c "$shares [.ops | group_by($2)[] | {key: (.[0] | $2), count: (map(.count) | add),
		errors: (map(.errors) | add), bytes: (map(.bytes) | add), total_ns: (map(.total_ns) | add),
		max_ns: (map(.max_ns) | max), shares: (map(.strata | shares) | transpose | map(add))}] | sort" \
		"$tmp/json" >"$tmp/sums"
	seen '[.tables.who[] | {key: .name, count, errors, bytes, total_ns, max_ns,
		shares: .["where it went"].shares}] | sort' \
		>"$tmp/page"
	# JSON has the bytes of names, the page has safe text
	[[ $1 != file ]] || sed -i -E 's/"key":"([^"\\]|\\.)*",//g' "$tmp/sums" "$tmp/page"
	diff <(command jq -c '.[]' "$tmp/sums" | sort) <(command jq -c '.[]' "$tmp/page" | sort)
	(($(command jq length "$tmp/page") > 0))
}

@test "page: the figures equal report --json, and nothing is loaded or reported by the browser" {
	need_browser
	operation='.op + (if .call then " " + .call else "" end) + (if .fs then " " + .fs else "" end)'
	same operation "$operation" ""
	# percentiles of a row alone are its own
	diff <(jq -c '.ops[] | select(.op == "read") | .p99_ns' "$tmp/json") \
		<(seen '.tables.who[] | select(.name | startswith("read")) | .p99_ns')
	same pid .key "" --by pid
	same disk .key "" --by dev
	same file '.key' "" --by file
	figures='count, bytes, tag_mean_ns, queue_mean_ns, device_mean_ns, p99_ns, max_ns'
	"$iostrata" report -j "$a" >"$tmp/json"
	diff <(jq -c ".requests[] | {dev, $figures}" "$tmp/json") <(seen ".tables.requests[] | {dev: .disk, $figures}")
	# requests to servers, whose names are hostile; the whole times of daemons have no parts
	figures='[.op, .pid, .count, .errors, .resent, .sent_bytes, .received_bytes, .tag_mean_ns, .queue_mean_ns,
		.server_mean_ns, .p99_ns, .max_ns]'
	diff <(jq -c ".servers | map($figures) | sort[]" "$tmp/json") \
		<(seen ".tables.servers | map($figures | map(if . == \"-\" then null else . end)) | sort[]")
	[[ $(seen '.tables.servers | map([.server, .mount]) | unique') == \
		'[["10.0.0.7","-"],["<script>\\x1b","-"],["sshfs<b>","/mnt/<i>\\x0a"]]' ]]
	# calls: requests of io_uring and libaio, and page faults, are none
	browse "$page" "$(by call)"
	"$iostrata" report -j -T syscall "$a" >"$tmp/json"
	seen '($json[0].layers | map(.call)) as $calls | [.tables.who[] | select(.name | IN($calls[])) |
		[.name, .count, .total_ns]] | sort' --slurpfile json "$tmp/json" >"$tmp/page"
	diff <(jq -c '[.layers[] | [.call, .count, .total_ns]] | sort' "$tmp/json") "$tmp/page"
	(($(command jq length "$tmp/page") > 5))
	# shares are of the whole
	[[ $(seen '[.tables.who[].share] | add | . > 0.999 and . < 1.001') == true ]]
	# the answer is that of the first screen
	said=$(cd "${a%/*}" && "$iostrata" report a.ios | tr '\n' ' ' | tr -s ' ')
	[[ $said == "$(seen .sentence -r)"* ]]
	[[ $(seen .notes -r) == *"11 operations were not recorded"* && $(seen .title -r) == "a.ios - iostrata" ]]
	# each picture has words, and a phone needs no scrolling to the side
	[[ $(seen '.labels | length > 4 and all(length > 20)') == true && $(seen .wide) == 0 ]]
}

@test "page: a filter, and a part of the time, have the figures of report with the same" {
	need_browser
	pid=$("$iostrata" report -j --by pid "$a" | command jq -r '.ops[0].key')
	operation='.op + (if .call then " " + .call else "" end) + (if .fs then " " + .fs else "" end)'
	same operation "$operation" "filters: { pid: '$pid' }" --pid "$pid"
	same operation "$operation" "filters: { operation: 'fsync ext4' }" --op fsync
	# what ended in a part of the time: its time is where it lived, so not all of it is there
	browse "$page" "$(by operation 'from: model.bins[20].start, to: model.bins[60].start')
		return { from: state.from, to: state.to, range: document.getElementById('range').textContent }"
	from=$(seen .returned.from) to=$(seen .returned.to)
	"$iostrata" report -j --from "${from}ns" --to "${to}ns" "$a" >"$tmp/json"
	figures='.count, .errors, .bytes'
	diff <(jq -c "[.ops[] | [$operation, $figures, .max_ns, (.total_ns / .count | round)]] | sort[]" "$tmp/json") \
		<(seen "[.tables.who[] | select(.count > 0) | [.name, $figures, .max_ns, (.mean_ns | round)]] | sort[]")
	# a percentile of the part is known to half an octave
	diff <(jq -c "[.ops[] | select(.count > 0) | $operation] | sort[]" "$tmp/json") \
		<(jq -c --slurpfile page "$tmp/seen" \
		"[.ops[] | select(.count > 0) | [$operation, .p99_ns] as [\$name, \$p99] |
			\$page[0].tables.who[] | select(.name == \$name) |
			select(\$p99 <= .p99_ns and .p99_ns <= 1.51 * \$p99) | .name] | sort[]" "$tmp/json")
	mean='(.device_ns + .queue_ns + .tag_ns) / .count'
	diff <(jq -c "[.requests[] | [$figures, ($mean | round)]] | sort" "$tmp/json") \
		<(seen "[.tables[\"part-requests\"][] | [$figures, (.mean_ns | round)]] | sort")
	[[ $(seen .returned.range -r) == *" to "* ]]
	# the times of all parts are the whole time
	browse "$page" "show({ system: true });
		const whole = sum(selected.all.time), parts = [];
		for (let i = 0; i < model.bins.length; i += 10) {
			const last = model.bins[Math.min(i + 10, model.bins.length) - 1];
			show({ from: model.bins[i].start, to: last.start + last.length });
			parts.push(sum(selected.all.time));
		}
		return [whole, sum(parts)]"
	[[ $(seen '.returned[0] == .returned[1]') == true ]] || { seen .returned; false; }
}

@test "page: the row of the machine has the figures of report, of the whole and of a part" {
	need_browser
	browse "$page" 'const figures = () => JSON.parse(document.querySelector("figure.machine").dataset.v);
		const whole = figures();
		show({ from: model.bins[23].start, to: model.bins[59].start });
		return [whole, figures(), state.from, state.to]'
	"$iostrata" report -j "$a" >"$tmp/json"
	diff <(jq -S .machine "$tmp/json") <(seen '.returned[0]' -S | command jq -S .)
	[[ $(jq '.machine | .ns > 6000000 and (map(. > 0) | all)' "$tmp/json") == true ]]
	"$iostrata" report -j --from "$(seen '.returned[2]')ns" --to "$(seen '.returned[3]')ns" "$a" >"$tmp/json"
	diff <(jq -S .machine "$tmp/json") <(seen '.returned[1]' -S | command jq -S .)
	# intervals add up to the whole
	"$iostrata" report -j --every 1ms "$a" | command jq -s 'map(.machine // empty | .io_some_ns) | add' >"$tmp/sum"
	diff <("$iostrata" report -j "$a" | command jq .machine.io_some_ns) "$tmp/sum"
	# a recording without them has no row, and the page says why
	"$BATS_FILE_TMPDIR/records" "$tmp/old.ios" 1009 3
	expect 0 report --html "$tmp/old.html" "$tmp/old.ios"
	browse "$tmp/old.html" 'return [document.querySelectorAll("figure.machine").length,
		document.getElementById("times").textContent.includes("No row for the machine")]'
	[[ $(seen .returned) == '[0,true]' ]]
	[[ $("$iostrata" report -j "$tmp/old.ios" | jq .machine) == null ]]
}

@test "page: a finding of explain is a link that chooses its operations" {
	need_browser
	"$BATS_FILE_TMPDIR/records" -c file "$tmp/planted.ios" 60013
	expect 0 report --html "$tmp/planted.html" "$tmp/planted.ios"
	browse "$tmp/planted.html" 'const links = [...document.querySelectorAll("#findings a")];
		const seen = [];
		for (const link of links) {
			link.click();
			await new Promise(r => setTimeout(r, 300));
			seen.push([state.filters.operation, state.filters.file, selected.all.count]);
		}
		return seen'
	"$iostrata" report -j --by file --file /d1/file-17 "$tmp/planted.ios" |
		jq -c '[.ops[] | select(.key == "/d1/file-17") |
		["\(.op) \(.fs)", .key, .count]] | sort[]' >"$tmp/sums"
	[[ $(wc -l <"$tmp/sums") == 3 ]]
	diff "$tmp/sums" <(seen '.returned | sort[]')
	for kind in fsync read write; do
		"$iostrata" explain -j "$tmp/planted.ios" "$kind>p99" | jq -r '.findings[0].text' >>"$tmp/found"
	done
	NO_SCRIPT=1 CHROMIUM=$(command -v chromium) node tests/browser.js "$tmp/planted.html" >"$tmp/seen"
	[[ $(seen .text -r | grep -c "of these were $(uniq "$tmp/found"), ") == 3 ]]
	# several recordings have no findings, and the page says so
	"$BATS_FILE_TMPDIR/records" -r 99 "$tmp/more.ios" 1009
	expect 0 report --html "$tmp/both.html" "$tmp/planted.ios" "$tmp/more.ios"
	grep -q 'Not looked for: there are several recordings' "$tmp/both.html"
}

@test "page: the state is in the address, and the address makes the state" {
	need_browser
	browse "$page" 'show({ from: model.bins[3].start, to: model.bins[9].start,
			filters: { file: model.combos[0].file }, share: 0, by: "file", cell: [4, 30], find: "a&b=<c>" });
		const hash = location.hash, before = JSON.stringify(state);
		state = stateOfHash(hash, model, SHARES);
		const same = JSON.stringify(state) === before;
		// what does not fit is left out
		const other = stateOfHash("#time=9-3&share=zz&by=nothing&cell=x&__proto__=1", model, SHARES);
		return [same, other.from === model.begin, other.share === -1, other.by === "operation", other.cell === null]'
	[[ $(seen .returned) == '[true,true,true,true,true]' ]] || { seen .returned; false; }
	# keys zoom as the mouse does, and Escape shows all again
	browse "$page" 'const canvas = document.querySelector(".progress canvas");
		const press = key => canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
		press("+");
		const half = state.to - state.from;
		press("ArrowRight");
		const moved = state.from;
		press("Escape");
		const zoomed = [Math.abs(half / model.end - 0.5) < 0.05, moved > model.end / 4, selected.isWhole];
		// a cell of the map of latencies has its operations
		const heat = document.querySelector(".heat canvas");
		heat.dispatchEvent(new KeyboardEvent("keydown", { key: "n" }));
		const slow = selected.cellExamples[0];
		return [...zoomed, state.cell !== null, halfOf(slow.total) === state.cell[1],
			Number(document.querySelector("#longest .line").dataset.v) === slow.total]'
	[[ $(seen .returned) == '[true,true,true,true,true,true]' ]] || { seen .returned; false; }
}

@test "page: hostile names stay text" {
	need_browser
	browse "$page" "$(by file) return [...document.querySelectorAll('#who tbody bdi')]
		.map(c => c.childElementCount + c.textContent)"
	seen '.returned[]' -r | sort >"$tmp/found"
	for name in '<script> 10' '\xff\xfe 14' 'a\x0ab 6' 'été 8' '\xe2\x80\xae-abc 11' 'say "hi" 4' 'a\\b 3'; do
		grep -qxF "0/made/$name" "$tmp/found" || { echo "no $name"; cat "$tmp/found"; false; }
	done
	not grep -q '<script> 10' "$page"
	not grep -q 'thread-7<b>' "$page"
	grep -q 'helped by thread-7&lt;b&gt;\\xff' "$page"
	grep -q '&lt;script&gt; 10' "$page"
}

@test "page: callers with hostile names stay text, and their leaves have the sum of report --folded" {
	need_browser
	"$BATS_FILE_TMPDIR/records" -x -t "$tmp/t.ios" 10007
	expect 0 report --html "$tmp/t.html" "$tmp/t.ios"
	browse "$tmp/t.html" 'show({ system: true });
		const leaves = [...document.querySelectorAll(".flame .part")].filter(p => p.classList[1].length === 1);
		const names = [...document.querySelectorAll(".flame .frame")].map(p => p.title);
		return [sum(leaves.map(p => Number(p.dataset.v))), document.querySelectorAll(".flame script").length,
			names.some(n => n.includes("\\x1b[31mred]")), names.every(n => !/[\0-\x1f]/.test(n)),
			names.some(n => n.startsWith("(caller unknown: "))]'
	sum=$("$iostrata" report --folded "$tmp/t.ios" | awk '{ sum += $NF } END { printf "%d", sum }')
	((sum > 0))
	[[ $(seen .returned) == "[$sum,0,true,true,true]" ]] || { seen .returned; false; }
}

@test "page: the table sorts, finds and copies" {
	need_browser
	browse "$page" "$(by file)"'
		const column = n => [...document.querySelectorAll("#who td." + n)].map(c => Number(c.dataset.v));
		const falls = list => list.every((v, i) => !i || list[i - 1] >= v);
		const byTime = falls(column("total_ns"));
		document.querySelector("#who th[data-name=count] button").click();
		const byCount = falls(column("count"));
		show({ find: "SCRIPT" });
		const left = document.querySelectorAll("#who tbody tr").length;
		let csv = "";
		copyText = text => { csv = text; };
		document.querySelector("#table .tools > button").click();
		return { byTime, byCount, left, csv }'
	[[ $(seen '.returned | [.byTime, .byCount, .left > 0, .left < 10]') == '[true,true,true,true]' ]]
	seen .returned.csv -r | "$python" -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
assert rows and all("<script>" in r["file"] for r in rows), rows
shares = list(rows[0])[-8:]
assert shares[0] == "device_ns" and shares[-1] == "other_ns", shares
assert all(sum(int(r[s]) for s in shares) == int(r["total_ns"]) for r in rows)'
}

@test "page: it is readable without JavaScript" {
	need_browser
	NO_SCRIPT=1 CHROMIUM=$(command -v chromium) node tests/browser.js "$page" >"$tmp/seen"
	seen .text -r >"$tmp/text"
	for text in "% of it read ext4" "The pictures need JavaScript" "11 operations were not recorded" \
		"Operations by file" "pread64" "thread-"; do
		grep -qF "$text" "$tmp/text" || { echo "no $text"; false; }
	done
}

data_of() { # PAGE: its JSON
	sed -n 's,.*<script type="application/json" id="data">\(.*\)</script>,\1,p' "$1"
}

@test "page: its JSON is as its schema says, and a part of the recording has a page, too" {
	data_of "$page" >"$tmp/data"
	[[ $(jq '[.latencies[] | select(.is_request | not) | .count] | add' "$tmp/data") == 10007 ]]
	expect 0 report --html "$tmp/part.html" --op fsync --from 2ms --to 5ms --slowest 3 "$a"
	grep -q '<h1 id=sentence>recorded in .* with --op fsync' "$tmp/part.html"
	grep -q 'only operations are filtered by --op' "$tmp/part.html"
	[[ $(grep -c '^<li><p><b>fsync (fsync): ' "$tmp/part.html") == 3 ]]
	# several recordings are on one timeline
	"$BATS_FILE_TMPDIR/records" -r 2 -s 5 "$tmp/b.ios" 1009
	expect 0 report --html "$tmp/both.html" "$a" "$tmp/b.ios"
	data_of "$tmp/both.html" >"$tmp/data"
	[[ $(jq '[.latencies[] | select(.is_request | not) | .count] | add' "$tmp/data") == 11016 ]]
	[[ $(jq '.duration_ns > 2e9' "$tmp/data") == true ]]
}

@test "page: the file is new and private, and options that it would ignore are refused" {
	[[ $(stat -c %a "$page") == 600 ]]
	expect 1 report --html "$page" "$a"
	says "$page"
	ln -s "$tmp/there" "$tmp/link"
	expect 1 report --html "$tmp/link" "$a"
	[[ ! -e $tmp/there ]]
	for option in --json "--events csv" --heat "--every 1" "--by file" "-T blk" -v; do
		# shellcheck disable=SC2086 # words
		expect 2 report --html "$tmp/no.html" $option "$a"
		says "${option%% *}"
	done
	expect 2 report --html "$tmp/no.html" -o "$tmp/no.txt" "$a"
	says "-o"
	expect 1 report --html "$tmp/no.html" "$tmp/none.ios"
	[[ ! -e $tmp/no.html ]]
}

@test "page: with --base, the page begins with compare's answer" {
	"$BATS_FILE_TMPDIR/records" "$tmp/old.ios" 20011 3
	"$BATS_FILE_TMPDIR/records" "$tmp/new.ios" 20011 4 fsync device 20
	expect 0 report --html "$tmp/c.html" --base "$tmp/old.ios" "$tmp/new.ios"
	"$python" - "$tmp/c.html" >"$tmp/said" <<-'PY'
		import html, re, sys
		page = open(sys.argv[1]).read()
		first = re.search(r"<main>\n<section id=compared><h2>Compared with (.*?)</h2>", page)
		text = re.search(r"<details><summary>.*?<pre>(.*?)</pre>", page, re.S)
		print(first[1], html.unescape(text[1]), sep="\n", end="")
		print(" ".join(html.unescape(re.search("<p class=verdict>(.*?)</p>", page, re.S)[1]).split()))
	PY
	"$iostrata" compare "$tmp/old.ios" "$tmp/new.ios" >"$tmp/compare"
	diff <(sed '1d;$d' "$tmp/said") "$tmp/compare"
	# means of both, as report has them
	"$iostrata" report -j "$tmp/old.ios" >"$tmp/json"
	mean=$(command jq '.ops[] | select(.op == "fsync") | .total_ns / .count | floor' "$tmp/json")
	said=$(grep -o '<b>fsync ext4</b>.*times)' "$tmp/c.html")
	[[ $said == *" operations; mean "*", then "*" (1."*" times)" ]]
	[[ $(grep -o 'mean [0-9.]*' <<<"$said") == "mean $(printf '%.3g' "$(command jq -n "$mean / 1000")")"* ]] ||
		{ echo "$said, $mean"; false; }
	[[ $(head -n 1 "$tmp/said") == old.ios ]]
	[[ $(tail -n 1 "$tmp/said") == "work: "*"<br> times: not judged with 1 and 1 runs. "* ]]
	# filters and times hold for both
	expect 0 report --html "$tmp/reads.html" --base "$tmp/old.ios" --op read --to 5s "$tmp/new.ios"
	not grep -q '^fsync on ext4' "$tmp/reads.html"
	grep -q '^base .*/old.ios: 5.00 s, ' "$tmp/reads.html"
	expect 1 report --html "$tmp/no.html" --base "$tmp/none.ios" "$tmp/new.ios"
	says "cannot open '.*none.ios'"
	expect 2 report --base "$tmp/old.ios" "$tmp/new.ios"
	says "--base is for --html only"
	expect 2 report --html "$tmp/no.html" --base "$tmp/old.ios" "$tmp/new.ios" "$a"
	says "--base compares with one recording"
	[[ ! -e $tmp/no.html ]]
}

@test "page: the pattern of a real file is described in words" {
	need_root
	dir=$(disk_dir)
	dd if=/dev/zero of="$dir/data" bs=1M count=8 status=none
	"$iostrata" record -o "$tmp/dd.ios" -- dd if="$dir/data" of=/dev/null bs=128K status=none 2>"$tmp/said"
	expect 0 report --html "$tmp/dd.html" "$tmp/dd.ios"
	rm -r "$dir"
	# records of several CPUs come about in their order: one or another may look random
	grep -qxE "<li>.*$dir/data: (9[0-9]|100) % sequential reads of 128 KiB</li>" "$tmp/dd.html" ||
		{ grep 'sequential\|random\|strided' "$tmp/dd.html"; false; }
	data_of "$tmp/dd.html" >"$tmp/data"
	json --arg name "$dir/data" '.offsets[] | select(.name == $name) | .cells | length > 99' "$tmp/data"
}

@test "page: record --html is record and report --html" {
	need_root
	expect 0 record --html "$tmp/r.html" -- dd if="$iostrata" of=/dev/null bs=512 count=23
	[[ $stderr == *"r.html: a page for browsers" && $(stat -c %a "$tmp/r.html") == 600 ]]
	[[ ! -e $tmp/r.html.ios && $(grep -c '^<h1 id=sentence>recorded in ' "$tmp/r.html") == 1 ]]
	data_of "$tmp/r.html" >"$tmp/data"
	json '[.latencies[] | select(.what == "read") | .count] | add >= 23' "$tmp/data"
	expect 125 record --html "$tmp/r.html" -- true
	says "cannot make '.*r.html': File exists" "OUT.html must not exist yet"
	expect 2 record --html "$tmp/no.html" -o "$tmp/no.ios"
	says "--html excludes -o"
	expect 2 record --html "$tmp/no.html" --parquet "$tmp/no"
	says "--parquet and --html exclude one another"
	expect 2 record --html -
	says "--html needs the name of a file, not '-'"
	expect 127 record --html "$tmp/no.html" -- "$tmp/nosuch"
	[[ ! -e $tmp/no.html && ! -e $tmp/no.html.ios ]]
	mkdir "$tmp/his"
	chown 12345:54321 "$tmp/his"
	chmod 711 "$tmp" "${tmp%/*}" "${tmp%/*/*}"
	SUDO_UID=12345 SUDO_GID=54321 SUDO_USER=nobody expect 0 record --html "$tmp/his/r.html" -D 0.3
	[[ -z $(find "$tmp/his" ! -uid 12345) && -e $tmp/his/r.html ]]
}

# live_server: serves the live page, and $tmp/json as one second after the other; leaves $url
live_server() {
	cat >"$tmp/server.py" <<-'PY'
		import http.server, json, re, sys, time
		page, second = open("build/page_live.html").read(), json.load(open(sys.argv[1]))
		words = open(sys.argv[2]).read()
		data = json.loads(re.search('id="data">(.*?)</script>', words)[1]) | {"live": True}
		page = page.replace("@data@", json.dumps(data)).encode()
		class Handler(http.server.BaseHTTPRequestHandler):
		    def log_message(self, *args):
		        pass
		    def do_GET(self):
		        self.send_response(200 if self.path in ("/", "/events") else 404)
		        self.send_header("Content-Type", "text/html" if self.path == "/" else "text/event-stream")
		        self.end_headers()
		        if self.path == "/":
		            self.wfile.write(page)
		        for i in range(10 * (self.path == "/events")):
		            second["time"] = f"2026-01-31T12:00:{i:02}.000+00:00"
		            self.wfile.write(b"data: " + json.dumps(second).encode() + b"\n\n")
		            self.wfile.flush()
		            time.sleep(0.1)
		        time.sleep(20 * (self.path == "/events"))
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
		print(server.server_port, flush=True)
		server.daemon_threads = True
		server.serve_forever()
	PY
	spawn "$python" "$tmp/server.py" "$tmp/json" "$page" >"$tmp/port"
	for _ in {1..100}; do [[ -s $tmp/port ]] && break; sleep 0.1; done
	url=http://127.0.0.1:$(cat "$tmp/port")/
}

@test "page: the live page shows what its server sends" {
	need_browser
	"$iostrata" report -j --by file "$a" | command jq -c '.duration_ns = 1000000000 |
		.in_progress = [{op: "fsync", fs: "ext4", age_ns: 5000000000, stratum: "device", dev: "sda", pid: 1, tid: 2,
		comm: "<b>\u202ex", file: null}] |
		.ops = [.ops[0] * {op: "uring", call: "read", total_ns: 2000001000, thread_ns: 1000, strata:
		((.ops[0].strata | map_values(0)) + {syscall: 1000, device: 2000000000})}] + .ops |
		.servers = [{server: "<b>fs", pid: 7, mount: "/m\u202ex", op: "READ", count: 23, errors: 2, resent: 0,
		sent_bytes: 101, received_bytes: 4096, server_mean_ns: 1500, p99_ns: 2000, max_ns: 3000}]' >"$tmp/json"
	live_server
	ACTIONS='for (let i = 0; i < 200 && (!model || model.bins.length < 10); i++)
			await new Promise(r => setTimeout(r, 100));
		show({ system: true });
		const requests = model.disks.flatMap(d => d.kinds.flatMap(k => k.cells)).filter(c => c);
		return [model.bins.length, sum(model.cells.map(c => c.count)), sum(requests.map(c => c.count)),
			["cpu", "device"].map(n => selected.threads.time[SHARES.findIndex(s => s.name === n)])].flat()' \
		CHROMIUM=$(command -v chromium) node tests/browser.js "$url" >"$tmp/seen" 390 800
	[[ $(seen .console) == '[]' ]]
	[[ $(seen '.requests | map(sub("^http://[^/]*"; "")) | unique') == '["/events"]' ]]
	# of asynchronous requests, only the time on the CPU is time of threads
	command jq -c '[10, 10 * ([.ops[].count] | add), 10 * ([.requests[].count] | add),
		10 * ([.ops[].strata | .syscall + .vfs + .fs] | add),
		10 * ([.ops[] | select(.thread_ns == .total_ns).strata.device] | add)]' \
		"$tmp/json" >"$tmp/sums"
	seen .returned | diff - "$tmp/sums"
	figures='count, errors, bytes, mean_ns, p99_ns, max_ns, total_ns'
	diff <(command jq -c "[.ops[:100][] | {$figures}] | sort" "$tmp/json") \
		<(seen "[.tables.ops[] | {$figures}] | sort")
	figures='count, errors, bytes, tag_mean_ns, queue_mean_ns, device_mean_ns, p99_ns, max_ns'
	diff <(command jq -c "[.requests[:100][] | {$figures}] | sort" "$tmp/json") \
		<(seen "[.tables.requests[] | {$figures}] | sort")
	[[ $(seen '.tables["in-progress"][0] | [.age_ns, .comm]') == '[5000000000,"<b>\\xe2\\x80\\xaex"]' ]]
	figures='server, op, count, errors, sent_bytes, received_bytes, server_mean_ns, p99_ns, max_ns'
	diff <(command jq -c "[.servers[] | {$figures}]" "$tmp/json") <(seen "[.tables.servers[] | {$figures}]")
	[[ $(seen '.tables.servers[0].mount' -r) == '/m\xe2\x80\xaex' ]]
	read -r share < <(command jq '[.ops[] | {op, thread_ns}] | (map(select(.op == "read").thread_ns) | add) /
		(map(.thread_ns) | add) * 100 | round' "$tmp/json")
	flight=$(command jq '[.ops[] | select(.thread_ns != .total_ns).total_ns] | add / 1e9' "$tmp/json")
	flight=$(printf '%#.3g' "$flight")
	[[ $(seen .sentence -r) == "in the last 10.0 s: "*" in I/O, $share % of it read ext4"* ]]
	[[ $(seen .sentence -r) == *"; asynchronous requests: $flight in flight on average" ]]
	[[ $(seen .wide) == 0 ]]
	[[ $(seen .notes -r) == "lost since this page was opened: 110 (ops)" ]]
}

# real_server ARGS...: of serve; leaves $url, with the token if one is printed
real_server() {
	start serve "$@"
	url=$(sed -n 's,^serving ,,p' "$tmp/err")
	[[ $url == http://* ]]
}

# again COMMAND...: until the test ends
again() {
	spawn bash -c 'while "$@"; do sleep 0.1; done' again "$@"
}

@test "page: the live page of a real server has the figures of the same second, and hostile names as text" {
	need_root
	need_browser
	dir=$(disk_dir)
	names=('<img src=x>' '"&d'\' '<b>0')
	for name in "${names[@]}"; do
		cp "$(command -v dd)" "$dir/$name"
	done
	mkfifo "$dir/never"
	real_server --listen 127.0.0.1:0 --by comm --all-files --comm "${names[0]}" --comm "${names[1]}" \
		--comm "${names[2]}"
	again "$dir/${names[0]}" if=/proc/version of=/dev/null bs=1 count=20 status=none
	again "$dir/${names[1]}" "if=$iostrata" of=/dev/null bs=4096 count=20 iflag=direct status=none
	spawn "$dir/${names[2]}" if="$dir/never" of=/dev/null status=none
	exec {writer}<>"$dir/never"
	# tables stay as they are from the moment at which they show what /api/breakdown says
	actions='for (let i = 0; i < 300; i++) {
			await new Promise(r => setTimeout(r, 100));
			const answer = model && model.bins.length > 1 && await fetch("api/breakdown");
			const b = answer && answer.ok && await answer.json();
			if (b && b.ops.some(o => o.key === "<img src=x>") && b.requests.length && b.in_progress.length &&
					document.getElementById("about").textContent.includes(b.time)) {
				document.getElementById("pause").click();
				return b;
			}
		}'
	for size in "360 740" "820 1180" "1440 900"; do
		# shellcheck disable=SC2086 # words
		ACTIONS=$actions CHROMIUM=$(command -v chromium) \
			node tests/browser.js "$url" $size "${PICTURES:-$tmp}/live-${size% *}.png" >"$tmp/seen"
		[[ $(seen .console) == '[]' && $(seen .wide) == 0 ]]
		[[ $(seen '[.requests[] | select(startswith($url) | not)]' --arg url "$url") == '[]' ]]
		figures='op, key, count, errors, bytes, mean_ns, p99_ns, max_ns, total_ns'
		diff <(seen ".returned.ops[] | {$figures}") <(seen ".tables.ops[] | {$figures}")
		figures='count, errors, bytes, device_mean_ns, p99_ns, max_ns'
		diff <(seen ".returned.requests[] | {$figures}") <(seen ".tables.requests[] | {$figures}")
		figures='op, age_ns, stratum, pid, comm'
		diff <(seen ".returned.in_progress[] | {$figures}") <(seen '.tables["in-progress"][] | '"{$figures}")
		[[ $(seen '.tables["in-progress"][] | select(.comm == "<b>0") | .op' -r) == read ]]
	done
	exec {writer}>&-
	rm -r "$dir"
}

@test "page: a browser gets the live page of another machine with the token in the address" {
	need_root
	need_browser
	real_server --listen 0.0.0.0:0
	url=${url/0.0.0.0/127.0.0.1}
	[[ $url == *token=* ]]
	ACTIONS='for (let i = 0; i < 200 && (!model || model.bins.length < 2); i++)
			await new Promise(r => setTimeout(r, 100));
		return [model.bins.length > 1, document.cookie]' \
		CHROMIUM=$(command -v chromium) node tests/browser.js "$url" >"$tmp/seen"
	# and no script reads the cookie
	[[ $(seen .returned) == '[true,""]' && $(seen .console) == '[]' ]]
}

@test "page: the slowest operations are drawn in order, with their requests" {
	need_browser
	"$iostrata" report -j --slowest 20 "$a" >"$tmp/json"
	json '.slowest | length == 20 and all(.[]; .segments != null and .total_ns == ([.segments[][1]] | add))' "$tmp/json"
	json '[.slowest[] | select(.helper != null) | .helper.comm] | length > 0 and all(.[]; startswith("thread-"))' \
		"$tmp/json"
	json '[.slowest[].disk_requests[]] | length > 9 and all(.[]; .dev == "loop3" and .device_ns > 999)' "$tmp/json"
	json '.slowest | all(.[]; .disk_requests_count >= (.disk_requests | length) and (.disk_requests | length < 13))' \
		"$tmp/json"
	browse "$page" 'return [...document.querySelectorAll(".slow > li")].map(li => {
		const rects = [...li.querySelectorAll(".fall rect")].filter(r => r.getAttribute("height") === "20");
		const share = r => Number(r.getAttribute("width").replace("%", "")), edge = r => r.getBoundingClientRect();
		return { parts: rects.map(r => r.textContent.split(":")[0]), whole: Math.round(sum(rects.map(share))),
			inOrder: rects.every((r, i) => !i || edge(rects[i - 1]).right <= edge(r).left + 0.5),
			segments: li.querySelectorAll("details tbody tr").length,
			requests: [...li.querySelectorAll("table.requests tbody tr")].map(r => r.cells[0].textContent) };
	})'
	diff <(jq -c '.slowest[] | [(.segments | length), ([.disk_requests[].dev] | length)]' "$tmp/json") \
		<(seen '.returned[] | [.segments, (.requests | length)]')
	[[ $(seen '[.returned[] | .whole] | unique') == '[100]' && $(seen '[.returned[].inOrder] | unique') == '[true]' ]]
	[[ $(seen '[.returned[].parts | length > 1] | unique') == '[true]' ]]
	# the same as text
	expect 0 report --slowest 3 --timeline "$a"
	[[ $output == *"requests              at    bytes      tag    queue   device"*"loop3 "* ]]
	[[ $output == *"helped by thread-"* ]]
}

@test "page: breakdown --html makes a page, and lists its missing parts" {
	need_root
	dir=$(disk_dir)
	expect 0 breakdown --html "$tmp/b.html" --by file --slowest 3 -- \
		dd if=/dev/zero of="$dir/<i>data" bs=4K count=23 oflag=dsync
	rm -r "$dir"
	[[ $stderr == *"b.html: a page for browsers" && $(stat -c %a "$tmp/b.html") == 600 ]]
	for text in '<h1 id=sentence>traced dd for ' '<table id="ops">' '<table id="by-file">' '&lt;i&gt;data' \
		'Not on this page' 'iostrata record --html' '<svg class=fall'; do
		grep -qF -- "$text" "$tmp/b.html" || { echo "no $text"; false; }
	done
	[[ $(grep -c '^<li><p><b>' "$tmp/b.html") == 3 ]]
	if command -v chromium >/dev/null && [[ -e build/engines/playwright ]]; then
		browse "$tmp/b.html"
		[[ $(seen '[.tables.ops[] | select(.operation == "write") | .count] | add >= 23') == true ]]
		[[ $(seen '(.tables.ops | map(.count) | add) == (.tables["by-file"] | map(.count) | add)') == true ]]
		# requests are by disk, not by file, and none is missing
		[[ $(seen '.tables.requests | map([.disk, .requests]) | length > 0 and length == (unique | length)') == true ]]
		[[ $(seen '[.tables.requests[] | select(.requests == "write") | .count] | add >= 23') == true ]]
	fi
	for option in --json "-o $tmp/x" -v "-T blk" "-n 3" "--sort count"; do
		# shellcheck disable=SC2086 # words
		expect 2 breakdown --html "$tmp/no.html" $option -D 1
		says "--html and ${option%% *} exclude one another"
	done
	expect 2 breakdown --html "$tmp/no.html" 1
	says "--html and INTERVAL exclude one another"
	expect 2 breakdown --html -
	says "--html needs the name of a file"
	expect 127 breakdown --html "$tmp/no.html" -- "$tmp/nosuch"
	[[ ! -e $tmp/no.html ]]
}

@test "page: recordings of several hosts stay apart" {
	"$BATS_FILE_TMPDIR/records" -h node1 -s 3 "$tmp/n1.ios" 1009
	"$BATS_FILE_TMPDIR/records" -h 'node<2>' -s 5 "$tmp/n2.ios" 1013
	expect 0 report --html "$tmp/hosts.html" "$tmp/n1.ios" "$tmp/n2.ios"
	[[ $stderr == *"2 recordings of several hosts are added up"* ]]
	data_of "$tmp/hosts.html" >"$tmp/data"
	[[ $(jq -c '. as $d | [.disk_rows[] | $d.disks[.disk]] | unique' "$tmp/data") == \
		'["node1:loop3","node<2>:loop3"]' ]]
	[[ $(jq '[.latencies[] | select(.is_request | not) | .count] | add' "$tmp/data") == 2022 ]]
	[[ $(jq -c '[.offsets[] | select(.is_disk) | .name] | sort' "$tmp/data") == '["node1:loop3","node<2>:loop3"]' ]]
	"$iostrata" report -j --by file "$tmp/n1.ios" "$tmp/n2.ios" 2>"$tmp/said" | "$python" -c '
import html, json, re, sys
page = open(sys.argv[1]).read()
table = re.search(r"<table id=\"by-file\">.*?<tbody>(.*?)</tbody>", page, re.S)[1]
first = [re.search("<td.*?</td>", row)[0] for row in table.strip().split("\n")]
seen = {html.unescape(re.sub("<[^>]*>", "", cell)) for cell in first}
keys = {op["key"] for op in json.load(sys.stdin)["ops"]}
assert len(seen) > 1, seen
assert seen <= keys and (len(keys) > 100 or seen == keys), (seen ^ keys)' "$tmp/hosts.html"
	# so do processes
	"$iostrata" report -j --by pid "$tmp/n1.ios" "$tmp/n2.ios" 2>"$tmp/said" |
		jq -c '[.ops[].key] | unique' >"$tmp/pids"
	diff "$tmp/pids" <(jq -c '.pids | unique' "$tmp/data")
}

@test "page: breakdown --pattern has the same figures as report for a recording" {
	need_root
	dir=$(disk_dir)
	dd if=/dev/zero of="$dir/data" bs=1M count=8 status=none
	# reads one after the other; each 64 KiB further; then of many sizes, anywhere; with one buffer or several
	cat >"$tmp/reads.py" <<-'END'
		import os, sys
		fd = os.open(sys.argv[1], os.O_RDONLY)
		for i in range(23):
		    os.readv(fd, [bytearray(1024), bytearray(3072)])
		for i in range(101):
		    os.preadv(fd, [bytearray(4000), bytearray(96)], 131072 + i * 65536)
		for i in range(1, 14):
		    os.pread(fd, i * 512, 1048576 * (i % 2) + 4096 * i * i)
	END
	figures='[.ops[] | select(.op == "read" and (.key | endswith("/data"))) | .pattern][0]'
	"$iostrata" record -o "$tmp/r.ios" -- "$python" "$tmp/reads.py" "$dir/data" 2>"$tmp/said"
	"$iostrata" report -j --by file "$tmp/r.ios" | command jq -c "$figures" >"$tmp/report"
	"$iostrata" breakdown -j --pattern --by file -o "$tmp/live" -- "$python" "$tmp/reads.py" "$dir/data" 2>"$tmp/said"
	rm -r "$dir"
	command jq -c "$figures" "$tmp/live" >"$tmp/breakdown"
	# records of several CPUs come about in their order; the kernel sees the order itself
	sizes='[.count, .size_mean_bytes, .size_p50_bytes, .size_max_bytes]'
	diff <(command jq -c "$sizes" "$tmp/report") <(command jq -c "$sizes" "$tmp/breakdown")
	command jq -e '.count == 137 and (.sequential * 137 | round) == 23 and (.strided * 137 | round) == 99' \
		"$tmp/breakdown"
	command jq -e '.unpatterned == 0 and all(.requests[]; .pattern == null)' "$tmp/live"
}

@test "page: breakdown --pattern has requests by disk, and none without the option" {
	need_root
	dir=$(disk_dir)
	COLUMNS=300 expect 0 breakdown --pattern -o "$tmp/text" -- \
		dd if=/dev/zero of="$dir/data" bs=64K count=101 oflag=direct status=none
	"$iostrata" breakdown -j --pattern --by dev -o "$tmp/json" -- \
		dd if="$dir/data" of=/dev/null bs=64K iflag=direct status=none 2>"$tmp/said"
	"$iostrata" breakdown -j -o "$tmp/off" -- \
		dd if="$dir/data" of=/dev/null bs=64K iflag=direct status=none 2>"$tmp/said"
	rm -r "$dir"
	grep -E "disk +.*count +size" "$tmp/text"
	command jq -e '[.requests[] | select(.op == "R" and .count >= 101)] | length == 1 and all(.[];
		.pattern.count == .count and .pattern.size_mean_bytes * .count <= .bytes and
		.pattern.sequential + .pattern.random + .pattern.strided > 0.999)' "$tmp/json"
	command jq -e 'all(.ops[], .requests[]; .pattern == null)' "$tmp/off"
	expect 2 breakdown --pattern --by pid -D 1
	says "--pattern is about files and disks, --by pid is not"
	for layer in syscall vfs ext4; do
		expect 2 breakdown --pattern -T $layer -D 1
		says "--pattern is about files and disks, -T $layer is not"
	done
	expect 2 breakdown --pattern --html "$tmp/no.html" -D 1
	says "--html and --pattern exclude one another"
}

@test "page: report --pattern and JSON have the page's sizes and patterns" {
	need_root
	dir=$(disk_dir)
	dd if=/dev/zero of="$dir/data" bs=1M count=8 status=none
	"$iostrata" record -o "$tmp/dd.ios" -- dd if="$dir/data" of=/dev/null bs=128K iflag=direct status=none 2>"$tmp/said"
	rm -r "$dir"
	# records of several CPUs come about in their order: one or another may look random
	"$iostrata" report -j --by file "$tmp/dd.ios" | command jq -e --arg name "$dir/data" '.ops[] |
		select(.key == $name and .op == "read") | .pattern | .count == 64 and .size_mean_bytes == 131072 and
		.size_p50_bytes == 131072 and .size_max_bytes == 131072 and .sequential > 0.8 and .sequential <= 1 and
		.strided < 0.1 and .random < 0.2 and .seek_mean_bytes < 131072'
	COLUMNS=300 expect 0 report --by file --pattern "$tmp/dd.ios"
	[[ $output =~ file\ +operation\ +count\ +size ]]
	[[ $output =~ $dir/data\ +read\ +64\ +128\ KiB\ +128\ KiB\ +128\ KiB\ +([89]|100) ]]
	"$iostrata" report -j "$tmp/dd.ios" | command jq -e '[.requests[] | select(.op == "R") | .pattern] |
		length > 0 and all(.[]; .count > 0 and (.sequential + .strided + .random - 1 | fabs) < 1e-6)'
	expect 0 report --pattern "$tmp/dd.ios"
	[[ $output =~ disk\ +requests\ .*size\ .*seek && $output =~ read\ .*[KM]iB.*% ]]
	expect 2 report --pattern --by pid "$tmp/dd.ios"
	says "--pattern is about files and disks"
	expect 2 report --pattern -j "$tmp/dd.ios"
	says "JSON always has these figures"
}
