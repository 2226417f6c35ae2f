# SPDX-License-Identifier: GPL-2.0-only
# The tables of system calls against the kernel's own lists.

load lib

# machine, header with its 64-bit or 32-bit calls, options to read it with
arm=/usr/arm-linux-gnueabihf/include
lists="x86_64 64 asm/unistd_64.h -I/usr/include -I/usr/include/x86_64-linux-gnu
x86_64 32 asm/unistd_32.h -I/usr/include -I/usr/include/x86_64-linux-gnu
aarch64 64 asm/unistd.h -I/usr/aarch64-linux-gnu/include
aarch64 32 asm/unistd.h -I$arm -D__ARM_EABI__ -D__NR_sync_file_range=__NR_arm_sync_file_range"

# calls that the table of ... has: NAME NUMBER
table() { # MACHINE 64|32
	grep -oE 'X\([^)]+\)' "src/trace/calls_$1.h" | tr -d 'X(),' |
		awk -v column="$(($2 == 64 ? 2 : 3))" 'NF == 3 && $column >= 0 { print $1, $column }'
}

left_out() { grep -v '^#' tests/house/calls-left-out | tr -s ' ' '\n' | sed '/^$/d' | sort; }

expand() { gcc -E -P -nostdinc -U__x86_64__ "$@" -; } # what the preprocessor makes of stdin

@test "each system call of the kernel is an operation, or left out with a reason" {
	none uniq -d <(left_out)
	while read -r machine bits header options; do
		((bits == 64)) || continue
		# shellcheck disable=SC2086 # several options
		echo "#include <$header>" | expand -dM $options |
			sed -n 's/^#define __NR_\([a-z0-9_]*\) .*/\1/p' | grep -vxE 'syscalls|arch_specific_syscall' |
			sort -u >"$BATS_TEST_TMPDIR/kernel"
		(($(wc -l <"$BATS_TEST_TMPDIR/kernel") > 290))
		table "$machine" 64 | cut -d' ' -f1 | sort >"$BATS_TEST_TMPDIR/table"
		none comm -12 "$BATS_TEST_TMPDIR/table" <(left_out)
		none comm -23 "$BATS_TEST_TMPDIR/kernel" <(sort -u "$BATS_TEST_TMPDIR/table" <(left_out))
	done <<<"$lists"
}

# The headers of this machine may be older than a call. New calls have one number on all machines.
@test "each system call has the kernel's number, on all machines" {
	newest=$(grep -o ' [0-9]*$' /usr/include/x86_64-linux-gnu/asm/unistd_64.h | sort -n | tail -n 1)
	none awk -v newest="$newest" '$2 > newest { if ($1 in number && number[$1] != $2) print; number[$1] = $2 }' \
		<(table x86_64 64; table x86_64 32; table aarch64 64; table aarch64 32)
	while read -r machine bits header options; do
		table "$machine" "$bits" >"$BATS_TEST_TMPDIR/table"
		(($(wc -l <"$BATS_TEST_TMPDIR/table") > 60))
		# shellcheck disable=SC2086 # several options
		{ echo "#include <$header>" && sed 's/\(.*\) .*/"\1" __NR_\1/' "$BATS_TEST_TMPDIR/table"; } |
			expand $options | sed -n 's/^"\(.*\)" \((0 + \([0-9]*\))\|[0-9]*\)$/\1 \2/p' | tr -d '()+' |
			sed 's/ 0 \+\([0-9]\)/ \1/; s/ *$//' >"$BATS_TEST_TMPDIR/kernel"
		diff <(awk -v newest="$newest" '$2 <= newest' "$BATS_TEST_TMPDIR/table") "$BATS_TEST_TMPDIR/kernel" ||
			{ echo "$machine $bits"; false; }
	done <<<"$lists"
}
