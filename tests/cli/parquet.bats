# SPDX-License-Identifier: GPL-2.0-only
# export --to parquet, as engines read it: DuckDB, hyparquet and, if ENGINES=clickhouse asks for its 566
# MB, ClickHouse. Where these cannot be fetched, the tests are skipped.

load lib

setup_file() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	cc -O2 -std=gnu11 -D_GNU_SOURCE -Isrc -o "$BATS_FILE_TMPDIR/records" tests/records.c \
		build/libiostrata.a -lzstd -lz
	# shellcheck disable=SC2086 # words
	tests/engines duckdb hyparquet ${ENGINES:-} >"$BATS_FILE_TMPDIR/fetched" 2>&1 || true
}

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	records=$BATS_FILE_TMPDIR/records
}

teardown() {
	end_spawned
	if mountpoint -q "$tmp/small"; then umount "$tmp/small"; fi
}

need() { # ENGINE
	case $1 in
	duckdb) ls build/engines/duckdb/node_modules/@duckdb/*/libduckdb.so ;;
	clickhouse)
		[[ ${ENGINES:-} == *clickhouse* ]] || skip "ClickHouse is 566 MB: ENGINES=clickhouse fetches it"
		ls build/engines/clickhouse/node_modules/@chdb/*/libchdb.so
		;;
	hyparquet)
		command -v node >/dev/null || skip "there is no node"
		ls build/engines/hyparquet/node_modules/hyparquet/package.json
		;;
	esac >/dev/null 2>&1 || skip "$1 cannot be fetched: $(tail -n 1 "$BATS_FILE_TMPDIR/fetched")"
}

duckdb() { "$python" tests/engine.py duckdb "$@"; }

# Columns that only the tables have; columns of the CSV that a table has not.
added="'host', 'boot_id', 'kernel', 'time', 'cgroup_path', 'fs_disk'"
not_ops="'type', 'disk', 'status', 'sector', 'cmd_flags', 'requeues', 'merges'"
not_requests="'type', 'call', 'fs', 'copied_to', 'cache', 'result', 'error', 'requests', 'device_bytes', 'segments',
	'syscall_ns', 'vfs_ns', 'fs_ns', 'throttle_ns', 'complete_ns', 'runq_ns', 'preempt_ns', 'helper_ns', 'sleep_ns',
	'lock_ns', 'server_ns', 'reap_ns', 'who', 'who_ns', 'who_pid', 'who_tid', 'who_comm', 'who_limit', 'copied_up'"

# same DIR CSV: the rows of the tables are those of the CSV, each as often.
same() {
	local table not kind out
	for kind in op request; do
		table=operations not=$not_ops
		[[ $kind == op ]] || table=requests not=$not_requests
		out=$(duckdb "create view csv as select columns(c -> c not in ($not)) from
				read_csv('$2', header = true, all_varchar = true, nullstr = '') where type = '$kind'" \
			"create view parquet as select columns(c -> c not in ($added))::varchar from
				'$1/$table.parquet'" \
			"select count(*) from csv" \
			"select * from (from csv except all from parquet) limit 3" \
			"select * from (from parquet except all from csv) limit 3" \
			"select count(*) from parquet")
		[[ $out =~ ^([1-9][0-9]*)$'\n'([0-9]+)$ && ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]] ||
			{ echo "$table: $out"; return 1; }
	done
}

sum_of_strata="coalesce(syscall_ns, 0) + coalesce(vfs_ns, 0) + coalesce(fs_ns, 0) + coalesce(throttle_ns, 0)
	+ coalesce(tag_ns, 0) + coalesce(queue_ns, 0) + coalesce(device_ns, 0) + coalesce(complete_ns, 0)
	+ coalesce(runq_ns, 0) + coalesce(preempt_ns, 0) + coalesce(helper_ns, 0) + coalesce(sleep_ns, 0)
	+ coalesce(lock_ns, 0) + coalesce(server_ns, 0) + coalesce(reap_ns, 0)"

@test "parquet: the tables are 'report --events csv', row by row" {
	need duckdb
	"$records" "$tmp/a.ios" 140009 # more than a row group
	"$records" -x -s 7 "$tmp/b.ios" 2003
	for name in a b; do
		expect 0 export "$tmp/$name.ios" --to parquet -o "$tmp/$name"
		[[ $stderr == *" operations, "*" requests, 1 loss, 3 files" ]]
		"$iostrata" report --events csv "$tmp/$name.ios" >"$tmp/$name.csv"
		same "$tmp/$name" "$tmp/$name.csv"
		[[ $(duckdb "select count(*) from '$tmp/$name/operations.parquet' where total_ns <> $sum_of_strata") == 0 ]]
	done
	[[ $(duckdb "select kind, sum(count), min(from_ns), max(to_ns), min(epoch_us(time)) from '$tmp/a/losses.parquet'
		group by kind") == $'ops\t11\t2000000\t2001700\t1700000000001000' ]]
	[[ $(duckdb "select distinct typeof(time) from '$tmp/a/operations.parquet'") == *"WITH TIME ZONE" ]] # UTC
	[[ $(duckdb "select num_rows, num_row_groups from parquet_file_metadata('$tmp/a/operations.parquet')") == \
		$'140009\t2' ]]
	[[ -z $(duckdb "select row_group_id from parquet_metadata('$tmp/a/operations.parquet') group by row_group_id
		having any_value(row_group_compressed_bytes) <> sum(total_compressed_size)
			or any_value(row_group_bytes) <> sum(total_uncompressed_size)") ]]
	# engines leave row groups out by their figures: nulls, the least and the greatest value
	for column in error path comm total_ns; do
		type=varchar same="$column || ''" # computed, not taken from the figures
		[[ $column != total_ns ]] || type=bigint same="$column + 0"
		duckdb "select count(*), sum(stats_null_count), min(stats_min_value::$type), max(stats_max_value::$type)
			from parquet_metadata('$tmp/a/operations.parquet') where path_in_schema = '$column'" >"$tmp/said"
		duckdb "select 2, count(*) filter ($column is null), min($same), max($same)
			from '$tmp/a/operations.parquet'" | diff - "$tmp/said"
	done
}

@test "parquet: of texts over 256 bytes, row groups have bounds that are not exact" {
	need duckdb
	"$records" -x "$tmp/x.ios" 20011 # with a path of 512 bytes
	expect 0 export "$tmp/x.ios" --to parquet -o "$tmp/t"
	[[ $(duckdb "select bool_or(octet_length(encode(path)) > 500) from '$tmp/t/operations.parquet'") == true ]]
	duckdb "select count(*), bool_and(stats_min_value is not null and stats_max_value is not null),
		max(octet_length(encode(stats_max_value))) <= 256
		from parquet_metadata('$tmp/t/operations.parquet') where path_in_schema = 'path'" >"$tmp/said"
	[[ $(cat "$tmp/said") == $'1\ttrue\ttrue' ]]
	# all paths lie within the bounds, and are found by them
	[[ $(duckdb "select count(*) from '$tmp/t/operations.parquet', (select min(stats_min_value) as least,
		max(stats_max_value) as most from parquet_metadata('$tmp/t/operations.parquet')
		where path_in_schema = 'path') where path || '' < least or path || '' > most") == 0 ]]
	[[ $(duckdb "select (select count(*) from '$tmp/t/operations.parquet' where path = any_path) =
		(select count(*) from '$tmp/t/operations.parquet' where path || '' = any_path)
		from (select max(path || '') as any_path from '$tmp/t/operations.parquet')") == true ]]
}

@test "parquet: in a recording from this machine, strata add up, and missing names are null" {
	need_root
	need duckdb
	dir=$(disk_dir)
	expect 0 record -o "$tmp/a.ios" -- \
		bash -c "dd if=/dev/zero of=$dir/f bs=4k count=101 conv=fsync; cat $dir/* >/dev/null"
	rm -r "$dir"
	expect 0 export "$tmp/a.ios" --to parquet -o "$tmp/t"
	"$iostrata" report --events csv "$tmp/a.ios" >"$tmp/a.csv"
	same "$tmp/t" "$tmp/a.csv"
	[[ $(duckdb "select count(*) from '$tmp/t/operations.parquet' where total_ns <> $sum_of_strata") == 0 ]]
	[[ $(duckdb "select distinct host, boot_id, kernel from '$tmp/t/operations.parquet'") == \
		"$(uname -n)"$'\t'"$(cat /proc/sys/kernel/random/boot_id)"$'\t'"$(uname -r)" ]]
	# the clock is that of the day: now, within five minutes
	[[ $(duckdb "select count(*) from '$tmp/t/operations.parquet'
		where abs(epoch_us(time) - $(date +%s)::bigint * 1000000) > 300000000") == 0 ]]
	"$iostrata" report -j "$tmp/a.ios" >"$tmp/a.json"
	for kind in $(jq -r '.lost | keys[]' "$tmp/a.json"); do
		[[ $(duckdb "select coalesce(sum(count), 0) from '$tmp/t/losses.parquet' where kind = '$kind'") == \
			"$(jq ".lost.$kind" "$tmp/a.json")" ]]
	done
}

@test "parquet: a file names its recordings, missing figures and losses" {
	need duckdb
	"$records" -h db1 "$tmp/a.ios" 101
	"$records" -h db2 -k 6.12.1 "$tmp/b.ios" 101
	expect 0 export "$tmp/a.ios" "$tmp/b.ios" --to parquet -o "$tmp/t"
	for table in operations requests losses; do
		[[ $(duckdb "select decode(value) from parquet_kv_metadata('$tmp/t/$table.parquet')
			where decode(key) = 'iostrata.table'") == "$table" ]]
		duckdb "select decode(value) from parquet_kv_metadata('$tmp/t/$table.parquet')
			where decode(key) = 'iostrata.recordings'" | command jq -c '.[]' >"$tmp/about"
		jq -es 'length == 2 and .[0].host == "db1" and .[1].kernel == "6.12.1" and .[0].argv == ["record"]
			and .[0].lost.ops == 11 and .[0].cut_off == null and .[0].missing == {}' "$tmp/about"
	done
	[[ $(duckdb "select host, count(*) from '$tmp/t/operations.parquet' group by host order by host") == \
		$'db1\t101\ndb2\t101' ]]
}

@test "parquet: requests to servers have a table, if there are any" {
	need duckdb
	"$records" -n client -h c "$tmp/a.ios" 1009
	"$records" -n client -h x -x "$tmp/x.ios" 101
	expect 0 export "$tmp/a.ios" "$tmp/x.ios" --to parquet --partition host -o "$tmp/t"
	[[ $stderr == *": 0 operations, 0 requests, 1,110 requests to servers, "*", 8 files" ]]
	of=$tmp/t/server_requests/host=c/server_requests.parquet
	[[ $(duckdb "select column_name from (describe select * from '$of')" | xargs) == \
		"host boot_id kernel time start_ns total_ns protocol server op tag_ns queue_ns server_ns xid mount" ]]
	[[ $(duckdb "select protocol, server, op, count(*), sum(tag_ns), sum(queue_ns), sum(server_ns) from '$of'
			where host = 'c' group by all order by all") == \
		"nfs"$'\t'"10.0.0.7"$'\t'"READ"$'\t'"666"* ]]
	[[ $(duckdb "select count(*), sum(total_ns - tag_ns - queue_ns - server_ns), min(xid), max(xid),
			count(distinct xid), min(start_ns), min(epoch_us(time)), sum(server_ns) from '$of'") == \
		"1009"$'\t'"0"$'\t'"0"$'\t'"1008"$'\t'"1009"$'\t'"2000000"$'\t'"1700000000001000"$'\t'"1009508536" ]]
	# a name which is not in the recording is null, and hostile ones are text
	[[ $(duckdb "select count(*), count(op), count(*) filter (op like '%\\xff%') > 0
			from '$tmp/t/server_requests/host=x/server_requests.parquet'") == "101"$'\t'"100"$'\t'"true" ]]
	[[ $(duckdb "select decode(value) from parquet_kv_metadata('$of') where decode(key) = 'iostrata.table'") == \
		server_requests ]]
	"$records" "$tmp/b.ios" 101
	expect 0 export "$tmp/b.ios" --to parquet -o "$tmp/none"
	[[ $(cd "$tmp/none" && echo *) == "losses.parquet operations.parquet requests.parquet" ]]
}

@test "parquet: engines skip directories of other partitions" {
	need duckdb
	for host in db1 db%/2 ''; do # four hours from 22:13 UTC on
		"$records" -h "$host" -g 2000000 "$tmp/x${host/\//}.ios" 10007
	done
	expect 0 export "$tmp"/*.ios --to parquet --partition host,hour -o "$tmp/t"
	[[ -s $tmp/t/operations/host=db1/hour=2023-11-14T22/operations.parquet &&
		-s $tmp/t/requests/host=db%25%2F2/hour=2023-11-15T00/requests.parquet &&
		-s $tmp/t/losses/host=__HIVE_DEFAULT_PARTITION__/hour=2023-11-14T22/losses.parquet ]]
	[[ -z $(find "$tmp/t" -type f ! -name '*.parquet') ]]
	[[ $(duckdb "select host, count(*) from read_parquet('$tmp/t/operations/**/*.parquet', hive_partitioning = true)
		group by host order by host nulls first") == $'\\N\t10007\ndb%/2\t10007\ndb1\t10007' ]]
	# a file tells of the recordings in it alone
	[[ $(duckdb "select decode(value) from parquet_kv_metadata('$tmp/t/operations/host=db1/*/operations.parquet')
		where decode(key) = 'iostrata.recordings'" | command jq -r '.[].host' | sort -u) == db1 ]]
	# each row is in the hour in which it began
	[[ $(duckdb "select count(*), count(*) filter (strftime(make_timestamp(epoch_us(time)), '%Y-%m-%dT%H') <> hour)
		from read_parquet('$tmp/t/operations/**/*.parquet', hive_partitioning = true,
			hive_types_autocast = false)") == \
		$'30021\t0' ]]
	# of the hours of one host there are no two files, but what began before and ended later
	[[ $(find "$tmp/t/operations/host=db1" -name '*.parquet' | wc -l) -le 8 ]]
	expect 0 export "$tmp/xdb1.ios" --to parquet --partition hour -o "$tmp/hours"
	[[ -s $tmp/hours/operations/hour=2023-11-14T23/operations.parquet ]]
}

@test "parquet: recordings of one host and hour share a file, in whatever order they are given" {
	for n in {1..6}; do # each of two hours
		"$records" -h "db$((n % 2))" -s "$n" -r $((n * 60)) -g 700000 "$tmp/x$n.ios" 1009
	done
	expect 0 export "$tmp"/x{6,1,4,3,2,5}.ios --to parquet --partition host,hour -o "$tmp/t"
	[[ $(find "$tmp/t" -name '*-*.parquet' | wc -l) == 0 ]]
	[[ $(find "$tmp/t/operations" -type f | wc -l) == $(find "$tmp/t/operations" -name 'hour=*' | wc -l) ]]
	[[ $stderr == *": 6,054 operations, "* ]]
	# each file names its three recordings
	for of in "$tmp"/t/operations/host=db1/*/operations.parquet; do
		[[ $(strings -n 100 "$of" | grep -o '"name":"[^"]*x[0-9].ios"' | sort -u | wc -l) == 3 ]]
	done
	expect 0 export "$tmp"/x*.ios --to parquet --partition host -o "$tmp/hosts"
	[[ $(find "$tmp/hosts/operations" -type f | wc -l) == 2 ]]
	expect 0 export "$tmp"/x*.ios --to parquet --partition hour -o "$tmp/hours"
	[[ $(find "$tmp/hours" -name '*-*.parquet' | wc -l) == 0 ]]
}

@test "parquet: --append adds files and changes none" {
	"$records" "$tmp/a.ios" 1009
	expect 0 export "$tmp/a.ios" --to parquet --append -o "$tmp/t"
	sha256sum "$tmp"/t/*.parquet >"$tmp/sums"
	expect 1 export "$tmp/a.ios" --to parquet -o "$tmp/t"
	says "cannot make '.*/t': File exists" "--append adds to the directory"
	expect 0 export "$tmp/a.ios" --to parquet --append -o "$tmp/t"
	expect 0 export "$tmp/a.ios" --to parquet --append -o "$tmp/t"
	[[ -s $tmp/t/operations-2.parquet && -s $tmp/t/requests-2.parquet && -s $tmp/t/losses-3.parquet ]]
	sha256sum -c --quiet "$tmp/sums"
	[[ $(stat -c %a "$tmp/t" "$tmp/t/operations.parquet") == $'700\n600' ]]
	[[ $(find "$tmp/t" -type f | wc -l) == 9 ]]
}

@test "parquet: a file with a name is complete after each way to end" {
	"$records" "$tmp/a.ios" 400009
	for signal in KILL TERM INT; do
		for after in 0.02 0.1 0.3; do
			rm -rf "$tmp/t"
			spawn "$iostrata" export "$tmp/a.ios" --to parquet -o "$tmp/t"
			sleep "$after"
			kill -s "$signal" "$spawned_pid" 2>/dev/null || true
			wait "$spawned_pid" || true
			for file in "$tmp"/t/*.parquet; do
				[[ ! -e $file || $(head -c 4 "$file")$(tail -c 4 "$file") == PAR1PAR1 ]]
			done
			# asked to end, it leaves nothing else
			[[ $signal == KILL || -z $(find "$tmp/t" -name '.*.tmp' 2>/dev/null) ]]
		done
	done
}

@test "parquet: a full disk is an error, and leaves no incomplete file" {
	need_root
	"$records" "$tmp/a.ios" 100003
	mkdir "$tmp/small"
	mount -t tmpfs -o size=512k none "$tmp/small"
	expect 1 export "$tmp/a.ios" --to parquet -o "$tmp/small/t"
	says "cannot write into '.*/small/t': No space left on device"
	[[ -z $(find "$tmp/small" -type f) ]]
}

@test "parquet: a truncated recording is exported up to its end, the others whole" {
	need duckdb
	"$records" "$tmp/a.ios" 100003
	"$records" -h db2 "$tmp/b.ios" 1009
	truncate -s -70000 "$tmp/a.ios"
	expect 1 export "$tmp/a.ios" "$tmp/b.ios" --to parquet -o "$tmp/t"
	[[ $stderr == "error: '"*"a.ios' "*"operations, "* ]]
	"$iostrata" report --events csv "$tmp/a.ios" "$tmp/b.ios" >"$tmp/a.csv" || true
	same "$tmp/t" "$tmp/a.csv"
	duckdb "select decode(value) from parquet_kv_metadata('$tmp/t/operations.parquet')
		where decode(key) = 'iostrata.recordings'" | command jq -c '.[]' >"$tmp/about"
	jq -es '.[0].cut_off != null and .[1].cut_off == null' "$tmp/about"
	# of nothing there are tables, too
	"$records" "$tmp/none.ios" 0
	expect 0 export "$tmp/none.ios" --to parquet -o "$tmp/none"
	[[ $(duckdb "select count(*), sum(total_ns) from '$tmp/none/operations.parquet'") == $'0\t\\N' ]]
	# and through a pipe
	expect 0 export - --to parquet -o "$tmp/pipe" <"$tmp/b.ios"
	[[ $(duckdb "select count(*) from '$tmp/pipe/operations.parquet'") == 1009 ]]
}

@test "export: a file that is not a recording leaves no output" {
	echo "no recording" >"$tmp/no.ios"
	for format in parquet otf2 chrome blktrace "fio -p 1"; do
		# shellcheck disable=SC2086 # a format with its option
		expect 1 export "$tmp/no.ios" --to $format -o "$tmp/none"
		says "'.*no.ios' is not a recording" "iostrata record"
		[[ ! -e $tmp/none ]]
	done
}

@test "parquet: a small reader reads the same" {
	need hyparquet
	"$records" -x "$tmp/a.ios" 40009
	expect 0 export "$tmp/a.ios" --to parquet -o "$tmp/t"
	cat >"$tmp/read.mjs" <<-'END'
		import { createRequire } from 'module'
		import { pathToFileURL } from 'url'
		const require = createRequire(process.argv[2] + '/')
		const load = name => import(pathToFileURL(require.resolve(name)))
		const { asyncBufferFromFile, parquetReadObjects } = await load('hyparquet')
		const { compressors } = await load('hyparquet-compressors')
		const file = await asyncBufferFromFile(process.argv[3])
		const rows = await parquetReadObjects({ file, compressors })
		let total = 0n, strata = 0n
		for (const row of rows) {
			total += row.total_ns
			for (const [name, value] of Object.entries(row))
				if (name.endsWith('_ns') && name !== 'total_ns' && name !== 'start_ns')
					strata += value ?? 0n
		}
		const paths = new Set(rows.map(row => row.path))
		console.log([rows.length, total, strata, paths.size, rows[0].time.toISOString(), rows[7].op,
			rows[40008].start_ns].join(' '))
	END
	read -r n total strata paths at op start < <(node "$tmp/read.mjs" "$PWD/build/engines/hyparquet/node_modules" \
		"$tmp/t/operations.parquet")
	"$iostrata" report --events csv "$tmp/a.ios" | grep '^"op"' >"$tmp/ops"
	[[ $n == 40009 && $total == "$(awk -F, '{ n += $3 } END { printf "%d", n }' "$tmp/ops")" && $strata == "$total" &&
		$paths == 61 && $at == 2023-11-14T22:13:20.001Z ]]
	[[ $op == "$(sed -n '8s/^"op",[0-9]*,[0-9]*,"\([a-z]*\)".*/\1/p' "$tmp/ops")" ]]
	[[ $start == "$(tail -n 1 "$tmp/ops" | cut -d, -f2)" ]]
}

@test "parquet: ClickHouse reads the same" {
	need duckdb
	need clickhouse
	"$records" -x "$tmp/a.ios" 140009
	expect 0 export "$tmp/a.ios" --to parquet -o "$tmp/t"
	for table in operations requests; do
		columns=$(duckdb "describe select * from '$tmp/t/$table.parquet'" | cut -f1 | grep -v '^time$')
		sums=$(sed 's/.*/count(&), min(&), max(&), count(distinct &)/' <<<"$columns" | paste -sd,)
		duckdb "select $sums, min(epoch_us(time)), max(epoch_us(time)) from '$tmp/t/$table.parquet'" >"$tmp/duckdb"
		"$python" tests/engine.py clickhouse "select ${sums//count(distinct/uniqExact(},
			min(toUnixTimestamp64Micro(time)), max(toUnixTimestamp64Micro(time))
			from file('$tmp/t/$table.parquet')" >"$tmp/clickhouse"
		diff <(tr '\t' '\n' <"$tmp/duckdb") <(tr '\t' '\n' <"$tmp/clickhouse" | sed 's/^$/\\N/')
	done
	[[ $("$python" tests/engine.py clickhouse "select count() from file('$tmp/t/operations.parquet')
		where total_ns <> $sum_of_strata") == 0 ]]
}

@test "record --parquet is record and export" {
	need_root
	expect 0 record --parquet "$tmp/t" -- dd if="$iostrata" of=/dev/null bs=512 count=23
	[[ $stderr == *$'\n'"recorded: "*" operations, "*"/t: "*" operations, "*", 3 files" ]]
	[[ $(find "$tmp/t" -type f -printf '%f\n' | sort | xargs) == "losses.parquet operations.parquet requests.parquet" ]]
	expect 125 record --parquet "$tmp/t" -- true
	[[ $stderr == *"cannot make '"*"must not exist yet"* ]]
	expect 2 record --parquet "$tmp/none" --otf2 "$tmp/nothing"
	expect 2 record --parquet "$tmp/none" -o "$tmp/a.ios"
	says "--parquet excludes -o, --force and --max-files"
	mkdir "$tmp/his"
	chown 12345:54321 "$tmp/his"
	chmod 711 "$tmp" "${tmp%/*}" "${tmp%/*/*}"
	SUDO_UID=12345 SUDO_GID=54321 SUDO_USER=nobody expect 0 record --parquet "$tmp/his/t" -D 0.3
	[[ -z $(find "$tmp/his" ! -uid 12345) && -e $tmp/his/t/operations.parquet ]]
}

@test "record --parquet: SIGUSR1 to all processes ends the recording, and the tables are written" {
	need_root
	start record --comm nobody --parquet "$tmp/t"
	# shellcheck disable=SC2046 # words
	kill -USR1 "$pid" $(pgrep -P "$pid")
	ends_within 60
	((status == 0))
	[[ $(head -c 4 "$tmp/t/operations.parquet") == PAR1 ]]
}

@test "parquet: contradicting options are refused" {
	"$records" "$tmp/a.ios" 11
	for option in --append "--partition host"; do
		# shellcheck disable=SC2086 # words
		expect 2 export "$tmp/a.ios" --to otf2 -o "$tmp/t" $option
		says "${option% *} is for --to parquet only"
	done
	expect 2 export "$tmp/a.ios" "$tmp/a.ios" --to chrome -o "$tmp/t"
	expect 2 export "$tmp/a.ios" --to parquet -o "$tmp/t" --partition minute
	expect 1 export "$tmp/a.ios" "$tmp/absent" --to parquet -o "$tmp/t"
	says "cannot open '.*/absent'"
	[[ ! -e $tmp/t ]]
}
