/* SPDX-License-Identifier: GPL-2.0-only */
/* header_members.h - the description of the JSON in a recording, for its schema; see base/schema.h.
 */
#ifndef IOSTRATA_CAPTURE_HEADER_MEMBERS_H
#define IOSTRATA_CAPTURE_HEADER_MEMBERS_H

#include "base/schema.h"

extern const struct schema capture_schema;

/* Parts that other formats have, too. */
extern const struct object lost_object, missing_object;
extern const struct member recorded_members[]; /* the machine, and what is recorded */

#endif
