/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * machine.h - the supported architectures, named as by uname: of this build, and of recordings. The
 * programs' part of an architecture is in bpf/arch.bpf.h.
 */
#ifndef IOSTRATA_BASE_MACHINE_H
#define IOSTRATA_BASE_MACHINE_H

/* The list of architectures: the end of the id, and the name. src/trace/calls_*.h has the system
 * calls of each. */
#define MACHINE_LIST(ROW) ROW(X86_64, "x86_64") ROW(AARCH64, "aarch64")

#define MACHINE_ID(id, name) MACHINE_##id,

enum machine {
	MACHINE_LIST(MACHINE_ID) MACHINES, /* not supported */
};

/* The architecture of this build, its number for seccomp, and the ELF machines of programs that can
 * be probed. */
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
