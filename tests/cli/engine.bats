# SPDX-License-Identifier: GPL-2.0-only
# The SQL of docs/ENGINE.md, run on tables of 20 hosts: in DuckDB, and in ClickHouse if ENGINES=clickhouse
# asks for it.

load lib

setup_file() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	cc -O2 -std=gnu11 -D_GNU_SOURCE -Isrc -o "$BATS_FILE_TMPDIR/records" tests/records.c \
		build/libiostrata.a -lzstd -lz
	# shellcheck disable=SC2086 # words
	tests/engines duckdb ${ENGINES:-} >"$BATS_FILE_TMPDIR/fetched" 2>&1 || true
	local i
	for i in {1..20}; do
		"$BATS_FILE_TMPDIR/records" -h "db$i" -s "$i" -g 2000000 -k "$((i > 10 ? 7 : 6)).1.9" \
			"$BATS_FILE_TMPDIR/$i.ios" 5003
	done
	"${IOSTRATA:-build/iostrata}" export "$BATS_FILE_TMPDIR"/*.ios --to parquet --partition host,hour \
		-o "$BATS_FILE_TMPDIR/fleet"
}

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	ls build/engines/duckdb/node_modules/@duckdb/*/libduckdb.so >/dev/null 2>&1 ||
		skip "DuckDB cannot be fetched: $(tail -n 1 "$BATS_FILE_TMPDIR/fetched")"
}

# of ENGINE: its statements on the page, one after the other
of() {
	awk -v engine="-- $1" '/^```/ { open = /^```sql/; mine = 0; next } open && $0 == engine { mine = 1; next }
		mine' docs/ENGINE.md | sed "s,'fleet/,'$BATS_FILE_TMPDIR/fleet/,"
}

# question ENGINE N: the rows that answer question N
question() {
	local sql engine=clickhouse
	[[ $1 == ClickHouse ]] || engine=duckdb
	sql=$(awk -v n="## $2. " 'index($0, n) == 1 { on = 1; next } /^## / { on = 0 } on' docs/ENGINE.md |
		awk -v engine="-- $1" '/^```/ { mine = 0; next } $0 == engine { mine = 1; next } mine')
	[[ -n $sql ]] || return 1
	{ of "$1" | grep -E '^(create view|set) '; echo "$sql"; } | "$python" tests/engine.py "$engine" -
}

@test "engine: DuckDB answers each question of the page" {
	for n in {1..11}; do
		question DuckDB "$n" >"$tmp/$n"
		[[ -s $tmp/$n ]] || { echo "$n has no row"; false; }
	done
	# as many questions as there are answers, and for both engines
	[[ $(grep -c '^## [0-9]*\. ' docs/ENGINE.md) == 11 ]]
	[[ $(of DuckDB | grep -c ';$') == 14 && $(of ClickHouse | grep -c ';$') == 15 ]]
	# and none is of nothing only
	[[ $(cut -f1-3 "$tmp/1" | sort -u | wc -l) == 20 ]]
	awk -F'\t' '{ sum = 0; for (i = 3; i <= 17; i++) sum += $i
		if (sum < 99 || sum > 101) exit 1 }' "$tmp/4"
}

@test "engine: hosts and their slow operations are those of explain" {
	question DuckDB 11 >"$tmp/sql"
	expect 0 explain -j "$BATS_FILE_TMPDIR"/*.ios 'read>100us'
	echo "$output" >"$tmp/json"
	jq -r '.hosts[] | "\(.host)\t1\t\(.count)\t\(.slow)"' "$tmp/json" | sort >"$tmp/explain"
	[[ $(wc -l <"$tmp/explain") == 20 ]]
	awk -F'\t' -v OFS='\t' '$1 == "host" { print $2, $3, $4, $5 }' "$tmp/sql" | sort | diff - "$tmp/explain"
	# each host has one kernel, and all have the same names of threads
	for property in kernel comm cgroup fs disk; do
		awk -F'\t' -v p="$property" '$1 == p { n += $4; slow += $5 } END { print n, slow }' "$tmp/sql" |
			diff - <(jq -r '"\(.count) \(.slow)"' "$tmp/json")
	done
	[[ $(awk -F'\t' '$1 == "kernel" { print $3 }' "$tmp/sql" | xargs) == "10 10" ]]
}

@test "engine: the answers equal report's figures" {
	"$iostrata" report -j "$BATS_FILE_TMPDIR"/*.ios >"$tmp/all.json"
	question DuckDB 7 | awk -F'\t' '{ n[$1] += $4; errors[$1] += $7 }
		END { for (op in n) print op, n[op], errors[op] }' | sort >"$tmp/sql"
	jq -r '[.ops[] | {op, count, errors}] | group_by(.op)[] | "\(.[0].op) \(map(.count) | add) \(map(.errors) | add)"' \
		"$tmp/all.json" | sort >"$tmp/report"
	diff "$tmp/sql" "$tmp/report"
	# by host and operation: how many, and the longest
	question DuckDB 2 | while IFS=$'\t' read -r host op disk n p999 max; do
		"$iostrata" report -j "$BATS_FILE_TMPDIR/${host#db}.ios" >"$tmp/json"
		found=$(jq -r --arg op "$op" \
			'[.ops[] | select(.op == $op)] | "\(map(.count) | add) \(map(.max_ns) | max)"' "$tmp/json")
		[[ $disk == loop3 && $found == "$n $max" ]] || { echo "$host $op $n $max: $(cat "$tmp/json")"; false; }
		((p999 <= max))
	done
	# the file that took longest
	IFS=$'\t' read -r host path n sum _ < <(question DuckDB 5 | head -n 1)
	"$iostrata" report -j --by file "$BATS_FILE_TMPDIR/${host#db}.ios" >"$tmp/json"
	found=$(jq -r --arg path "$path" \
		'[.ops[] | select(.key == $path)] | "\(map(.count) | add) \(map(.total_ns) | add)"' "$tmp/json")
	[[ $found == "$n $sum" ]]
}

@test "engine: ClickHouse and DuckDB give the same answers" {
	[[ ${ENGINES:-} == *clickhouse* ]] || skip "ClickHouse is 566 MB: ENGINES=clickhouse fetches it"
	ls build/engines/clickhouse/node_modules/@chdb/*/libchdb.so >/dev/null 2>&1 ||
		skip "it cannot be fetched: $(tail -n 1 "$BATS_FILE_TMPDIR/fetched")"
	for n in {1..11}; do
		# 1.0 and 1 are the same
		question DuckDB "$n" | sed -E 's/([0-9])\.0(\t|$)/\1\2/g; s/\\N//g' >"$tmp/duckdb"
		question ClickHouse "$n" | sed -E 's/\\N//g' >"$tmp/clickhouse"
		diff "$tmp/duckdb" "$tmp/clickhouse" || { echo "question $n"; false; }
	done
}
