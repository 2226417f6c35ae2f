# SPDX-License-Identifier: GPL-2.0-only
# The table of system calls against the kernel's own list.

load lib

# numbers that the kernel's headers have for x86-64, without their prefix
kernel_calls() {
	echo '#include <asm/unistd_64.h>' | gcc -E -dM - | sed -n 's/^#define __NR_\([a-z0-9_]*\) .*/\1/p' | sort -u
}

@test "each system call of the kernel is an operation, or left out with a reason" {
	kernel_calls >"$BATS_TEST_TMPDIR/kernel"
	(($(wc -l <"$BATS_TEST_TMPDIR/kernel") > 300))
	grep -oE '__NR_[a-z0-9_]+' src/trace/syscalls.c | sed 's/__NR_//' | sort -u >"$BATS_TEST_TMPDIR/table"
	grep -v '^#' tests/house/calls-left-out | tr -s ' ' '\n' | sed '/^$/d' | sort >"$BATS_TEST_TMPDIR/left"
	none uniq -d "$BATS_TEST_TMPDIR/left"
	none comm -12 "$BATS_TEST_TMPDIR/table" "$BATS_TEST_TMPDIR/left"
	sort -u "$BATS_TEST_TMPDIR/table" "$BATS_TEST_TMPDIR/left" >"$BATS_TEST_TMPDIR/known"
	none comm -23 "$BATS_TEST_TMPDIR/kernel" "$BATS_TEST_TMPDIR/known"
}
