# SPDX-License-Identifier: GPL-2.0-only
# All sources compile for each architecture, also for those on which nobody here can run them.

load lib

# machine, what BPF calls it, byte order of its programs
machines="x86_64 x86 bpfel
aarch64 arm64 bpfel
riscv64 riscv bpfel
s390x s390 bpfeb"

# The headers of its C library, and of all others those of this machine, which are the same. What is
# embedded is this machine's, too: only its form is looked at.
@test "user space compiles for each architecture" {
	make -s build/trace.skel.h build/trace_functions.skel.h build/func.skel.h
	mapfile -t sources < <(find src -name '*.c' ! -name '*.bpf.c')
	((${#sources[@]} > 150))
	while read -r machine _; do
		[[ -d /usr/$machine-linux-gnu/include || $machine == "$(uname -m)" ]]
		options=(-std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unknown-warning-option
			-Isrc -Ibuild "-DOBJECTS_DIR=\"build/\""
			-isystem "/usr/$machine-linux-gnu/include" -idirafter /usr/include)
		printf '%s\0' "${sources[@]}" | xargs -0 -n 20 -P "$(nproc)" clang -fsyntax-only \
			--target="$machine-linux-gnu" "${options[@]}"
	done <<<"$machines"
}

@test "programs compile for each architecture" {
	while read -r machine arch target; do
		for program in trace func; do
			echo "$machine $program"
			clang -g -O2 -target "$target" "-D__TARGET_ARCH_$arch" -mcpu=v3 -Wall -Wextra -Werror \
				-Wno-unused-parameter -c "src/bpf/$program.bpf.c" -o "$BATS_TEST_TMPDIR/$program.o"
		done
	done <<<"$machines"
}
