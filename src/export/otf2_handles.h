/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * otf2_handles.h - events of an archive for calls that open, close or change a descriptor.
 */
#ifndef IOSTRATA_EXPORT_OTF2_HANDLES_H
#define IOSTRATA_EXPORT_OTF2_HANDLES_H

#include "export/otf2_names.h"

/* Whether @op closes a descriptor. A closed descriptor is free as soon as the call begins. So
 * events of a close come before others of the same time, and events of other calls after them. */
bool otf2_handle_closes_first(struct exporting *x, const struct stored_op *op);

/* Writes the events of @op, of process @pid on location @l, ended at @end_ns. No events if @op
 * failed or changed nothing, except for a lock not acquired. */
void otf2_handle_put(struct exporting *x, size_t l, const struct stored_op *op, unsigned int pid,
		     uint64_t end_ns);

#endif
