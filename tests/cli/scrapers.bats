# SPDX-License-Identifier: GPL-2.0-only
# Prometheus and VictoriaMetrics scrape serve every second: what they answer then.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031 # bats sets them; awk has dollars of its own

load lib

setup() {
	need_root
	scrapers=$PWD/build/scrapers
}

teardown() {
	end_spawned
	[[ -z ${disk:-} ]] || losetup -d "$disk" 2>/dev/null || true
}

need() { # PACKAGE
	tests/scrapers "$1" 2>"$tmp/why" || skip "$(tail -n 1 "$tmp/why")"
}

free_port() {
	"$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# serve ARGS...: on port $served; of $tmp/dir alone, so that there is no more than the test makes
serve() {
	mkdir -p "$tmp/dir"
	start serve --listen "127.0.0.1:$served" --file "$tmp/dir" "$@"
}

# N reads of 4096 bytes, one more, and as many writes
io() {
	dd if=/dev/zero of="$tmp/dir/file" bs=4096 count="$1" conv=fsync status=none
	dd if="$tmp/dir/file" of=/dev/null bs=4096 status=none
}

# scrape PROGRAM ARGS...: leaves $api, where it answers
scrape() {
	local port
	port=$(free_port)
	# the dashboard asks for the series of these rules
	sed 's/\[5m\]/[1m]/g' prometheus/rules.yml >"$tmp/rules.yml"
	cat >"$tmp/scrape.yml" <<-YML
		global: { scrape_interval: 1s, scrape_timeout: 1s }
		scrape_configs:
		  - job_name: iostrata
		    static_configs: [{ targets: ["127.0.0.1:$served"] }]
	YML
	api=http://127.0.0.1:$port
	case $1 in
	prometheus)
		echo "rule_files: [$tmp/rules.yml]" >>"$tmp/scrape.yml"
		sed -i '1s/ }/, evaluation_interval: 1s }/' "$tmp/scrape.yml"
		spawn "$scrapers/prometheus/usr/bin/prometheus" --config.file="$tmp/scrape.yml" "${@:2}" \
			--storage.tsdb.path="$tmp/data" --web.listen-address="127.0.0.1:$port" --log.level=error
		;;
	victoria-metrics)
		spawn "$scrapers/victoria-metrics/usr/bin/victoria-metrics" -promscrape.config="$tmp/scrape.yml" \
			-storageDataPath="$tmp/data" -httpListenAddr="127.0.0.1:$port" -loggerLevel=ERROR \
			-search.latencyOffset=0 "${@:2}"
		;;
	esac
	wait_until is 1 'max(count_over_time(up[1h])) >= bool 3'
}

# query PROMQL: the values, a line each
query() {
	curl -sS --max-time 5 "$api/api/v1/query" --data-urlencode "query=$1" |
		command jq -r 'if .status == "success" then .data.result[].value[1] else error(.error) end'
}

# is VALUE PROMQL: there is one, and it is that
is() { [[ $(query "$2") == "$1" ]]; }

# PROMQL has samples, and none of them is above LIMIT.
never() { # PROMQL LIMIT
	[[ -n $(query "$1") ]] || { echo "nothing at all: $1"; return 1; }
	[[ -z $(query "($1) > $2") ]] || { query "($1) > $2"; echo "is there: ($1) > $2"; return 1; }
}

counters="operation_duration_seconds_bucket operation_duration_seconds_sum operation_duration_seconds_count
	operation_seconds_total operation_bytes_total operation_errors_total lost_total"
whole='sum by (op, fs) (iostrata_operation_duration_seconds_sum)'

# Rules that hold for all series at any time.
holds() {
	never "abs(sum by (op, fs) (iostrata_operation_seconds_total) - $whole)" 1e-6
	never "abs(iostrata_operation_duration_seconds_bucket{le=\"+Inf\"} - ignoring (le)
		iostrata_operation_duration_seconds_count)" 0
	local counter
	for counter in $counters; do
		never "resets(iostrata_$counter[1h])" 0
	done
	# some kernels run no program while process 1 is current, and miss the end of a request (docs/design/state.md)
	never 'sum(iostrata_lost_total{kind!~"unmatched_start|unmatched_requests|unattributed|missed"})' 0
}

@test "promtool: the metrics have no error" {
	need prometheus
	served=$(free_port)
	serve --by comm --overhead
	io 23
	sleep 2
	curl -sS "http://127.0.0.1:$served/metrics" >"$tmp/metrics"
	grep -q '^iostrata_operation_duration_seconds_bucket' "$tmp/metrics"
	run "$scrapers/prometheus/usr/bin/promtool" check metrics <"$tmp/metrics"
	[[ $status == 0 && -z $output ]] || { echo "$output"; false; }
}

@test "Prometheus: strata add up, no series goes back, and a restart is a reset" {
	need prometheus
	served=$(free_port)
	serve
	scrape prometheus
	for count in 101 23 7; do
		io $count
		sleep 1
	done
	wait_until is $((131 * 4096)) 'sum(iostrata_operation_bytes_total{op="read"})'
	is $((131 * 4096)) 'sum(iostrata_operation_bytes_total{op="write"})'
	is 134 'sum(iostrata_operation_duration_seconds_count{op="read"})'
	is 3 'sum(iostrata_operation_duration_seconds_count{op="fsync"})'
	holds
	query 'histogram_quantile(0.99, sum by (le) (rate(iostrata_operation_duration_seconds_bucket[1m])))' >"$tmp/p99"
	awk '{ exit !($1 > 0 && $1 < 10) }' "$tmp/p99"

	finish INT
	serve
	io 11
	wait_until is 45056 'sum(iostrata_operation_bytes_total{op="read"})'
	is 1 'resets(iostrata_operation_bytes_total{op="read"}[1h])'
	# and what was read since is no less for it
	query 'increase(process_start_time_seconds[1h])' >"$tmp/began"
	[[ -s $tmp/began ]]
}

@test "VictoriaMetrics: strata add up, no series goes back, and a restart is a reset" {
	need victoria-metrics
	served=$(free_port)
	serve
	scrape victoria-metrics
	for count in 101 23; do
		io $count
		sleep 1
	done
	wait_until is $((124 * 4096)) 'sum(iostrata_operation_bytes_total{op="read"})'
	wait_until is 126 'sum(iostrata_operation_duration_seconds_count{op="read"})'
	holds
}

@test "Prometheus: alerts and recording rules give the expected results" {
	need prometheus
	run -0 "$scrapers/prometheus/usr/bin/promtool" check rules prometheus/rules.yml
	run -0 "$scrapers/prometheus/usr/bin/promtool" test rules prometheus/rules_test.yml prometheus/rules_week_test.yml
	[[ $output == *SUCCESS* ]]
	# each alert has a test that raises it, but for the one that is only about up
	for alert in $(sed -n 's/.*- alert: //p' prometheus/rules.yml); do
		[[ $alert == IostrataDown ]] ||
			grep -h -A 3 "alertname: $alert$" prometheus/rules_*test.yml | grep -q exp_alerts ||
			{ echo "$alert"; false; }
	done
}

@test "Prometheus: each expression of dashboard, alerts and manual returns data, or may" {
	need prometheus
	served=$(free_port)
	truncate -s 16M "$tmp/image"
	disk=$(losetup -f --show "$tmp/image") || skip "no loop devices"
	mkdir -p "$tmp/dir"
	! has_fuse || fuse
	start serve --listen "127.0.0.1:$served" --by container
	scrape prometheus
	io() {
		dd if=/dev/zero of="$disk" bs=64k count=101 oflag=direct status=none && ls -R src >"$tmp/list"
		[[ -z ${fused:-} ]] || dd if="$fused/f" of=/dev/null bs=4096 count=23 iflag=direct status=none
	}
	io
	sleep 2
	io
	enough() { io && [[ -n $(query "rate(iostrata_request_bytes_total{disk=\"${disk#/dev/}\"}[1m]) > 0") ]]; }
	wait_until enough
	{
		command jq -r '.panels[].targets[]?.expr' grafana/iostrata.json
		awk '/^```/ { code = !code; if (code) text = ""; else if (text ~ /iostrata_/ && text !~ /:/) print text; next }
			code { text = text " " $0 }' man/iostrata-serve.1.scd
	} | sed 's/\$__rate_interval/1m/g; s/"\$instance"/".*"/g; s/\[5m\]/[1m]/g' >"$tmp/expressions"
	(($(wc -l <"$tmp/expressions") > 15))
	# something is in progress, whenever it is looked at
	spawn bash -c 'while dd if=/dev/zero of="$0" bs=16M count=1 oflag=direct status=none; do :; done' "$disk"
	returns() {
		if [[ -z ${fused:-} && $expression == *iostrata_server_* ]]; then
			query "$expression" >/dev/null # which is understood, at least
		else
			[[ -n $(query "$expression") ]]
		fi
	}
	while read -r expression; do
		wait_until returns || { echo "nothing: $expression"; false; }
	done <"$tmp/expressions"
	# those of alerts are at least understood
	sed -n 's/^ *expr: \([^|].*\)/\1/p' prometheus/rules.yml | while read -r expression; do
		query "$expression" >/dev/null
	done
}

@test "Grafana: the dashboard fits Grafana's types" {
	tests/engines grafana 2>"$tmp/why" || skip "$(tail -n 1 "$tmp/why")"
	mkdir "$tmp/types"
	ln -s "$PWD/build/engines/grafana/node_modules" "$tmp/types/node_modules"
	{
		echo 'import type { Dashboard } from "@grafana/schema";'
		echo "export const dashboard = $(cat grafana/iostrata.json) satisfies Partial<Dashboard>;"
	} >"$tmp/types/dashboard.ts"
	tsc() {
		(cd "$tmp/types" && node node_modules/typescript/lib/tsc.js --noEmit --strict --skipLibCheck --module esnext \
			--moduleResolution bundler --target es2022 "$1")
	}
	tsc dashboard.ts
	# and would say what is not
	sed 's/"schemaVersion": 38/"schemaVersion": "38"/' "$tmp/types/dashboard.ts" >"$tmp/types/wrong.ts"
	run ! tsc wrong.ts
}
