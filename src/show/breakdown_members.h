/* SPDX-License-Identifier: GPL-2.0-only */
/* breakdown_members.h - the descriptions of the JSON of reports and breakdowns, for the schemas;
 * see base/schema.h. */
#ifndef IOSTRATA_SHOW_BREAKDOWN_MEMBERS_H
#define IOSTRATA_SHOW_BREAKDOWN_MEMBERS_H

#include "base/schema.h"

extern const struct schema breakdown_schema, events_schema, joined_schema;

/* Parts that other formats have, too. */
extern const struct object strata_object, overhead_object, server_object, disk_object;
extern const struct word_list missing_words;

#endif
