/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * otf2_handles.h - events of an archive for calls that open, close or change a descriptor.
 */
#ifndef IOSTRATA_OTF2_HANDLES_H
#define IOSTRATA_OTF2_HANDLES_H

#include "export/otf2_names.h"

/* @op, of process @pid on location @l, ended at @end_ns. Nothing if it failed, or changed nothing;
 * but a lock that was not had is told. */
void handle_put(struct exporting *x, size_t l, const struct cap_op *op, unsigned int pid,
		uint64_t end_ns);

#endif
