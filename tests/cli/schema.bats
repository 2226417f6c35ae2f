# SPDX-License-Identifier: GPL-2.0-only
# iostrata schema. That the schemas fit the JSON is seen by all tests which look at JSON.
# shellcheck disable=SC2154 # bats sets them

load lib

@test "schema: without a name, the names of all schemas, each with a line" {
	expect 0 schema
	[[ -z $stderr && $(wc -l <<<"$output") == 12 ]]
	[[ $(awk '{ print $1 }' <<<"$output" | xargs) == \
		"breakdown events joined top funcs compare explain fleet doctor capture parquet page" ]]
	(($(grep -cE '^[a-z]+ +[a-z]+ .{17}' <<<"$output") == 12))
}

@test "schema: each name has a schema that a library takes, as the build has it" {
	for name in $("$iostrata" schema | awk '{ print $1 }'); do
		version=1
		[[ $name != compare && $name != page ]] || version=2
		"$iostrata" schema "$name" >"$tmp/schema"
		[[ $(command jq -r '.["$schema"], .title' "$tmp/schema" | xargs) == \
			"https://json-schema.org/draft/2020-12/schema iostrata.$name/$version" ]]
		cmp "$tmp/schema" "build/schema/$name-$version.json"
	done
	# a member: its type, unit and why it may be null; and when it is there
	"$iostrata" schema breakdown >"$tmp/schema"
	[[ $(command jq -c '.properties.io_ns | [.type, .unit, .minimum]' "$tmp/schema") == \
		'[["integer","null"],"ns",0]' ]]
	[[ $(command jq -r '.properties.io_ns.description' "$tmp/schema") == *" null: with --layer, or "* ]]
	[[ $(command jq -r '.properties.slowest.description' "$tmp/schema") == *" Only there with --slowest." ]]
}

@test "schema: an unknown name is an error with a hint, a second name too" {
	expect 2 schema brakedown
	says "'brakedown' for NAME" "did you mean 'breakdown'"
	expect 2 schema $'x\e'
	says "'x.x1b' for NAME" "iostrata schema --help"
	expect 2 schema top funcs
	says "'funcs'"
}

@test "schema: a failed write is an error, a closed pipe is none" {
	run --separate-stderr -1 bash -c '"$0" schema breakdown >/dev/full' "$iostrata"
	says "cannot write.*No space left"
	run --separate-stderr -0 bash -c 'set -o pipefail; "$0" schema breakdown | head -c 1 >/dev/null' "$iostrata"
	[[ -z $stderr ]]
}

@test "schema: names are completed" {
	[[ $("$iostrata" --complete schema e | xargs) == "events explain" ]]
	[[ $("$iostrata" --complete schema top "" | grep -c explain) == 0 ]]
}
