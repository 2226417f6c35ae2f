# SPDX-License-Identifier: GPL-2.0-only
# All sources compile for each architecture, also for those on which nobody here can run them.

load lib

# the machines; but for this one, for which make compiles them anyway
machines=$(grep -vx "$(uname -m)" <<<"x86_64
aarch64")

# The headers of the architecture's C library, and this machine's headers of all other libraries, which are the same.
# Embedded objects are this machine's, too: only their form is compiled.
@test "user space compiles for each architecture" {
	make -s build/trace.skel.h build/trace_functions.skel.h build/func.skel.h
	mapfile -t sources < <(find src -name '*.c' ! -name '*.bpf.c')
	((${#sources[@]} > 90))
	while read -r machine; do
		[[ -d /usr/$machine-linux-gnu/include ]]
		options=(-std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unknown-warning-option
			-Isrc -Ibuild "-DOBJECTS_DIR=\"build/\""
			-isystem "/usr/$machine-linux-gnu/include" -idirafter /usr/include)
		printf '%s\0' "${sources[@]}" | xargs -0 -n 20 -P "$(nproc)" clang -fsyntax-only \
			--target="$machine-linux-gnu" "${options[@]}"
	done <<<"$machines"
}

# As make compiles them, but only their form is looked at: what comes after that is the same for all, and
# takes ten times as long.
@test "programs compile for each architecture" {
	printf '#!/bin/sh\nexec clang -fsyntax-only "$@"\n' \
		>"$BATS_TEST_TMPDIR/clang"
	printf '#!/bin/sh\n[ ! -e "$4" ] || cp "$4" "$3"; : >>"$4"\n' >"$BATS_TEST_TMPDIR/bpftool"
	chmod +x "$BATS_TEST_TMPDIR/"{clang,bpftool}
	while read -r machine; do
		dir=$BATS_TEST_TMPDIR/$machine
		make -s "-j$(nproc)" "ARCH=$machine" CROSS= "B=$dir" "BPFTOOL=$BATS_TEST_TMPDIR/bpftool" \
			"CLANG=$BATS_TEST_TMPDIR/clang" "$dir"/{trace,trace_functions,func}.bpf.o
	done <<<"$machines"
}

@test "make: a missing cross compiler is a clear error" {
	other=$(sed s/aarch64/arm64/ <<<"$machines")
	mkdir "$BATS_TEST_TMPDIR/bin"
	ln -s /usr/bin/* "$BATS_TEST_TMPDIR/bin"
	rm -f "$BATS_TEST_TMPDIR/bin/"*-linux-gnu-gcc
	PATH=$BATS_TEST_TMPDIR/bin run -2 env -u MAKEFLAGS -u MAKELEVEL make -n "ARCH=$other"
	[[ $output == *"there is no $machines-linux-gnu-gcc"*"Stop." && ${#lines[@]} -eq 1 ]]
}
