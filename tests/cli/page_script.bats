# SPDX-License-Identifier: GPL-2.0-only
# The script of pages, without a browser: scales, packed numbers, selections, lanes, addresses, colours.

load lib

@test "page script: scales, packed numbers, selections, addresses and colours are right" {
	command -v node >/dev/null || skip "there is no node"
	cd "$BATS_TEST_DIRNAME/../.."
	node --test --test-reporter tap tests/page_script.js >"$tmp/said" ||
		{ grep -v '^ *duration_ms' "$tmp/said"; false; }
	grep -E '^# pass [1-9]' "$tmp/said"
}
