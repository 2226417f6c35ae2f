# SPDX-License-Identifier: GPL-2.0-only
# Run once before and once after all tests of the command line.
# shellcheck shell=bash disable=SC2154 # bats sets them

setup_suite() { mkdir "$BATS_SUITE_TMPDIR/json"; }

# Each JSON that a test has looked at fits its schema in build/schema. Each file's name tells the file's test.
teardown_suite() { find "$BATS_SUITE_TMPDIR/json" -type f -exec tests/schema.py {} +; }
