# SPDX-License-Identifier: GPL-2.0-only
# Run once before and once after all tests of the command line.
# shellcheck shell=bash disable=SC2154 # bats sets them

setup_suite() { mkdir "$BATS_SUITE_TMPDIR/json"; }

# Whatever JSON a test has looked at is as its schema in docs/schema says. Each file's name tells its test.
teardown_suite() { find "$BATS_SUITE_TMPDIR/json" -type f -exec tests/schema.py {} +; }
