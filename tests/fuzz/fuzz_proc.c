// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as /proc/kallsyms, and as what it is searched for: no overrun, and every name is
 * ended. Any bytes as the files that tell how busy the machine is: no overrun. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/machine_meter.h"
#include "trace/fsfuncs.h"

static void check(int ok)
{
	if (!ok)
		abort();
}

/* A type is called as the input begins, and has the address that it begins with. */
static void check_symbols(const char *text, size_t len)
{
	struct fs_type types[2] = { { .name = "ext4" } };
	FILE *f = len ? fmemopen((void *)text, len, "r") : NULL;

	if (!f)
		return;
	snprintf(types[1].name, sizeof(types[1].name), "%s", text);
	types[1].addr[FS_READ] = strtoull(text, NULL, 16);
	check(!fsfuncs_resolve_from(f, types, 2));
	for (int i = 0; i < 2 * FS_METHODS; i++) {
		const struct fs_type *t = &types[i / FS_METHODS];

		check(strnlen(t->func[i % FS_METHODS], FUNC_NAME_LEN) < FUNC_NAME_LEN);
		check(strnlen(t->module[i % FS_METHODS], FUNC_NAME_LEN) < FUNC_NAME_LEN);
	}
	fclose(f);
}

static void check_meter(const char *text)
{
	struct machine_load l = {};

	for (unsigned int source = 0; source < MACHINE_FILES; source++)
		machine_meter_parse(source, text, &l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	check(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	check_symbols(text, size);
	check_meter(text);
	free(text);
	return 0;
}
