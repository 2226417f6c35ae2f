// SPDX-License-Identifier: GPL-2.0-only
#include "trace/unwind.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/conf.h"
#include "trace/maps.h"

#include "trace.skel.h"

int unwind_open(struct unwind *u, const struct trace_bpf *obj, struct reason *why)
{
	u->files_fd = bpf_map__fd(obj->maps.unwind_files);
	return maps_map(obj->maps.unwind_rows, (void **)&u->rows, &u->rows_len, why);
}

void unwind_close(struct unwind *u)
{
	if (u->rows)
		munmap(u->rows, u->rows_len);
	*u = (struct unwind){};
}

/* The rows of a file stay to the end of the run, since a program may be reading them at any time.
 */
int unwind_add(struct unwind *u, const struct unwind_key *key, unsigned int number,
	       const struct unwind_row *rows, size_t n, const struct unwind_python *python)
{
	struct unwind_file file = { .number = number, .first = u->used, .python = *python };
	struct unwind_file known;

	if (!u->rows || !number || number >= STACK_FILES)
		return -EINVAL;
	if (!bpf_map_lookup_elem(u->files_fd, key, &known) && known.number)
		return 0; /* a stack met the file while its table was on the way */
	if (n <= u->rows_len / sizeof(*rows) - u->used) {
		memcpy(u->rows + u->used, rows, n * sizeof(*rows));
		__atomic_thread_fence(__ATOMIC_RELEASE);
		u->used += n;
		file.n = n;
	} else {
		file.full = 1;
	}
	return bpf_map_update_elem(u->files_fd, key, &file, BPF_ANY) ? -errno : 0;
}

/* Only user space writes numbers, so the table cannot come in between. */
void unwind_forget(struct unwind *u, const struct unwind_key *key)
{
	struct unwind_file file;

	if (!bpf_map_lookup_elem(u->files_fd, key, &file) && !file.number)
		bpf_map_delete_elem(u->files_fd, key);
}
