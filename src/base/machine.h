/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * machine.h - the architectures that iostrata knows, by uname's names: what it was built for, and
 * what a recording was made on. bpf/arch.bpf.h has what programs need to know of the former.
 */
#ifndef IOSTRATA_MACHINE_H
#define IOSTRATA_MACHINE_H

enum machine {
	MACHINE_X86_64,
	MACHINE_AARCH64,
	MACHINES, /* another one */
};

/* What this program was built for, what seccomp calls it, and the machines in headers of ELF files
 * whose programs can be probed. */
#if defined(__x86_64__)
#define MACHINE_OWN               MACHINE_X86_64
#define MACHINE_AUDIT             AUDIT_ARCH_X86_64
#define MACHINE_IS_OWN(e_machine) ((e_machine) == EM_X86_64 || (e_machine) == EM_386)
#elif defined(__aarch64__)
#define MACHINE_OWN               MACHINE_AARCH64
#define MACHINE_AUDIT             AUDIT_ARCH_AARCH64
#define MACHINE_IS_OWN(e_machine) ((e_machine) == EM_AARCH64)
#else
#error "no tables for this architecture"
#endif

const char *machine_name(enum machine machine);
enum machine machine_find(const char *name);

#endif
