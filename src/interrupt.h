/* SPDX-License-Identifier: GPL-2.0-only */
/* interrupt.h - for commands that do not trace: the first INT or TERM asks them to end with what
 * they have, the second ends the process. */
#ifndef IOSTRATA_INTERRUPT_H
#define IOSTRATA_INTERRUPT_H

#include <stdbool.h>

/* From now on; a read in progress then fails with EINTR. */
void interrupt_catch(void);

bool interrupt_came(void);

#endif
