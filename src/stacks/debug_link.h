/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * debug_link.h - finds debug files for libdwfl. Programs name their debug file, and debug files
 * name the file that they share. These names are hostile: libdwfl would open a FIFO, and wait, or a
 * device, as /dev/watchdog. Here a file is opened only if it is a regular one, and is taken only if
 * it has the right build id or check sum.
 */
#ifndef IOSTRATA_STACKS_DEBUG_LINK_H
#define IOSTRATA_STACKS_DEBUG_LINK_H

#include <stdbool.h>

#include <elfutils/libdwfl.h>

#include "stacks/frame_names.h"

/* The build id of ELF file @fd. Returns false if it has none. */
bool build_id_read(int fd, char ret_text[BUILD_ID_TEXT]);

/* Dwfl_Callbacks.find_debuginfo, for the debug file alone. *@userdata: the text of directories
 * between colons, where debug files are looked for by build id. NULL: /usr/lib/debug, and by the
 * name in the file. */
int debug_link_find(Dwfl_Module *module, void **userdata, const char *module_name, Dwarf_Addr base,
		    const char *file_name, const char *link, GElf_Word crc, char **ret_path);

/* Opens the file that debug files share with @dwarf, which @module has. @search: as *@userdata
 * above. Returns a descriptor, or -1 if there is none. */
int debug_link_shared(Dwfl_Module *module, Dwarf *dwarf, const char *search);

#endif
