/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * faults.h - a program on the kernel's software events of page faults, on every CPU that is online.
 *
 * The kernel raises them when it has handled a fault, major or minor, in the thread that had it.
 */
#ifndef IOSTRATA_FAULTS_H
#define IOSTRATA_FAULTS_H

struct bpf_link;
struct bpf_program;

struct fault_links {
	struct bpf_link **list;
	int n;
};

/* Attaches @prog. 0, or -errno: then nothing is attached. */
int faults_attach(struct fault_links *l, struct bpf_program *prog);

void faults_done(struct fault_links *l);	/* detaches; fine if nothing was attached */

#endif
