// SPDX-License-Identifier: GPL-2.0-only
#include "export/fio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/async.h"
#include "base/list.h"
#include "base/reason.h"
#include "base/text.h"
#include "capture/recording.h"
#include "cell.h"
#include "host/newfile.h"
#include "host/path.h"

enum action { ACTION_READ, ACTION_WRITE, ACTION_SYNC, ACTION_TRIM };

struct entry {
	uint64_t ns, offset, len;
	uint32_t file; /* index in files */
	enum action action;
};

struct replayed_file {
	uint64_t size; /* bytes needed for the replay */
	char *path;    /* as recorded; NULL: not known */
};

enum { APPEND = 02000 }; /* O_APPEND of asm-generic/fcntl.h, in open_flags of a record */

struct exporting {
	const struct fio_conf *conf;
	struct fio_counts *counts;
	const struct recording *rec;
	struct entry *entries;
	size_t n, cap;
	struct replayed_file *files;
	size_t n_files, files_cap;
	uint32_t *numbers; /* by id in the recording: 1 + index in files; 0: none */
	size_t numbers_cap;
};

static char *path_of(const struct recording *rec, uint64_t id)
{
	const struct catalog_file *f = catalog_file(&rec->catalog, id);
	struct file_name name;
	struct path_file file = { FILE_KEY_DEV(f->key), f->ino, &name };

	catalog_file_name(f, &name);
	return path_full(&file);
}

/* Makes room for the number of file @id. Returns false if out of memory. */
static bool numbers_reserve(struct exporting *x, uint64_t id)
{
	size_t cap = x->numbers_cap;
	uint32_t *numbers;

	if (id < cap)
		return true;
	while (cap <= id)
		cap = 2 * cap + 64;
	numbers = reallocarray(x->numbers, cap, sizeof(*numbers));
	if (!numbers)
		return false;
	x->numbers = numbers;
	memset(x->numbers + x->numbers_cap, 0, (cap - x->numbers_cap) * sizeof(*x->numbers));
	x->numbers_cap = cap;
	return true;
}

/* The index of file @id, or of the disk, whose id is 0, or SIZE_MAX if out of memory. */
static size_t file_find(struct exporting *x, uint64_t id)
{
	if (!numbers_reserve(x, id))
		return SIZE_MAX;
	if (x->numbers[id])
		return x->numbers[id] - 1;
	if (list_reserve((void **)&x->files, &x->files_cap, x->n_files, sizeof(*x->files)))
		return SIZE_MAX;
	x->files[x->n_files] = (struct replayed_file){};
	if (x->conf->pid)
		x->files[x->n_files].path = path_of(x->rec, id);
	x->numbers[id] = (uint32_t)++x->n_files;
	return x->n_files - 1;
}

/* Returns 0 or -ENOMEM. */
static int entry_add(struct exporting *x, uint64_t id, const struct entry *e)
{
	size_t file = file_find(x, id);
	struct replayed_file *f;

	if (file == SIZE_MAX ||
	    list_reserve((void **)&x->entries, &x->cap, x->n, sizeof(*x->entries)))
		return -ENOMEM;
	f = &x->files[file];
	if (e->offset + e->len > f->size)
		f->size = e->offset + e->len;
	x->entries[x->n] = *e;
	x->entries[x->n++].file = (uint32_t)file;
	return 0;
}

/* Whether an offset and a length can be in a file. */
static bool has_place(uint64_t offset, uint64_t len)
{
	return offset < 1ULL << 62 && len && len < 1ULL << 32;
}

const char *fio_reason_words(enum fio_reason reason)
{
	static const char *const words[FIO_REASONS] = {
		[FIO_FAILED] = "that failed",
		[FIO_NOTHING] = "without any byte",
		[FIO_NO_FILE] = "on a file that is not known",
		[FIO_APPENDED] = "at the end of a file open with O_APPEND, at an unknown offset",
		[FIO_NO_OFFSET] = "at an unknown offset",
		[FIO_OTHER] = "that fio cannot make",
	};

	return words[reason];
}

static int left_out(struct exporting *x, enum fio_reason reason, uint64_t bytes)
{
	x->counts->left_out++;
	x->counts->reasons[reason].n++;
	x->counts->reasons[reason].bytes += bytes;
	return 0;
}

static int op_add(struct exporting *x, const struct stored_op *op)
{
	unsigned int acts = async_acts(op->kind, op->call);
	struct entry e = { .ns = op->start_ns, .offset = op->offset, .len = op->ret };

	if (catalog_thread(&x->rec->catalog, op->owner)->pid != x->conf->pid ||
	    (acts != OP_READ && acts != OP_WRITE && acts != OP_FSYNC))
		return 0;
	e.action = acts == OP_READ ? ACTION_READ : ACTION_WRITE;
	if (acts == OP_FSYNC) {
		e.action = ACTION_SYNC;
		e.offset = e.len = 0;
	}
	if ((int64_t)op->ret < 0)
		return left_out(x, FIO_FAILED, 0);
	if (!op->file || op->file >= x->rec->catalog.n_files)
		return left_out(x, FIO_NO_FILE, e.len);
	if (e.action != ACTION_SYNC && !e.len)
		return left_out(x, FIO_NOTHING, 0);
	if (e.action != ACTION_SYNC && !has_place(e.offset, e.len))
		return left_out(x, op->open_flags & APPEND ? FIO_APPENDED : FIO_NO_OFFSET, e.len);
	return entry_add(x, op->file, &e);
}

static int request_add(struct exporting *x, const struct stored_request *rq)
{
	const char *disk = catalog_device(&x->rec->catalog, rq->dev);
	struct entry e = { .ns = rq->q_ns, .offset = rq->sector * 512, .len = rq->bytes };

	if (!disk || strcmp(disk, x->conf->disk))
		return 0;
	switch (rq->op) {
	case RQ_READ:
		e.action = ACTION_READ;
		break;
	case RQ_WRITE:
		e.action = ACTION_WRITE;
		break;
	case RQ_DISCARD:
		e.action = ACTION_TRIM;
		break;
	case RQ_FLUSH:
		e.action = ACTION_SYNC;
		e.offset = e.len = 0;
		break;
	default:
		return left_out(x, FIO_OTHER, rq->bytes);
	}
	if (rq->flags & STORED_RQ_FAILED)
		return left_out(x, FIO_FAILED, rq->bytes);
	if (e.action != ACTION_SYNC && !has_place(e.offset, e.len))
		return left_out(x, e.len ? FIO_NO_OFFSET : FIO_NOTHING, e.len);
	return entry_add(x, 0, &e);
}

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Writes the name of a file in a replay. */
static void file_put(struct text_out *o, const struct exporting *x, size_t i)
{
	if (x->conf->disk)
		text_put(o, "disk");
	else
		text_put(o, "file-%zu", i + 1);
}

static void management_put(struct text_out *o, const struct exporting *x, uint64_t us,
			   const char *what)
{
	for (size_t i = 0; i < x->n_files; i++) {
		text_put(o, "%llu ", (unsigned long long)us);
		file_put(o, x, i);
		text_put(o, " %s\n", what);
	}
}

/* Times are in us. The first is 1: after 0, fio 3.33 does not wait for the second. */
static void log_put(struct text_out *o, const struct exporting *x)
{
	static const char *const names[] = { "read", "write", "sync", "trim" };
	uint64_t us = 1;

	text_put(o, "fio version 3 iolog\n");
	management_put(o, x, us, "add");
	management_put(o, x, us, "open");
	for (size_t i = 0; i < x->n; i++) {
		const struct entry *e = &x->entries[i];

		us = 1 + (e->ns - x->entries[0].ns) / 1000;
		text_put(o, "%llu ", (unsigned long long)us);
		file_put(o, x, e->file);
		text_put(o, " %s %llu %llu\n", names[e->action], (unsigned long long)e->offset,
			 (unsigned long long)e->len);
	}
	management_put(o, x, us, "close");
}

static size_t trims_count(const struct exporting *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++)
		n += x->entries[i].action == ACTION_TRIM;
	return n;
}

static void job_put(struct text_out *o, const struct exporting *x)
{
	char safe[TEXT_SAFE_CAP(PATH_CAP + 64)];

	text_put(o, "# %zu actions, replayed by 'fio replay.fio' in this directory.\n", x->n);
	if (trims_count(x))
		text_put(o,
			 "# %zu of them are trims. Older versions of fio, such as 3.33, leave "
			 "trims out "
			 "and say 'bad ddir: 2'.\n",
			 trims_count(x));
	text_put(o, "# The replay needs, and writes to:\n");
	for (size_t i = 0; i < x->n_files; i++) {
		text_put(o, "#   truncate -s %llu ", (unsigned long long)x->files[i].size);
		file_put(o, x, i);
		text_safe_utf8(safe, sizeof(safe), x->files[i].path ? x->files[i].path : "",
			       x->files[i].path ? strlen(x->files[i].path) : 0);
		text_put(o, "  # %s\n", x->conf->disk ? "or a link to a disk" : safe);
	}
	text_put(o, "[replay]\nread_iolog=replay.log\n");
	if (x->conf->disk) /* requests overlap */
		text_put(o, "ioengine=libaio\niodepth=256\ndirect=1\n");
	else
		text_put(o, "ioengine=psync\n");
}

/* Returns 0, or -1 with @why. */
static int file_write(const struct exporting *x, const char *name,
		      void (*put)(struct text_out *o, const struct exporting *x),
		      struct reason *why)
{
	struct text_out o = {};
	struct newfile out;
	int err, named;

	if (newfile_begin(&out, x->conf->dir, name, why))
		return -1;
	o.f = out.f;
	put(&o, x);
	err = text_end(&o);
	named = newfile_end(&out, !err);
	err = err ? err : named;
	return err ? reason_set(why, EXIT_FAILED, "cannot write %s into '%.200s': %s", name,
				x->conf->dir, strerror(-err))
		   : 0;
}

static int nothing(const struct exporting *x, struct reason *why)
{
	if (x->conf->disk)
		reason_set(why, EXIT_FAILED, "no request of disk '%.60s' is recorded",
			   x->conf->disk);
	else
		reason_set(why, EXIT_FAILED, "process %llu did nothing that can be replayed",
			   (unsigned long long)x->conf->pid);
	return reason_hint(why, "'iostrata report --by %s' shows the %s",
			   x->conf->disk ? "dev" : "pid",
			   x->conf->disk ? "disks with requests" : "processes with I/O");
}

/* Returns as the last recording_next() did, or -1 with @why. */
static int entries_read(struct exporting *x, struct recording *rec, struct reason *why)
{
	struct stored_event ev;
	int got, err = 0;

	x->rec = rec;
	while (!err && (got = recording_next(rec, &ev, why)) > 0) {
		if (ev.kind == CHUNK_OPS && x->conf->pid)
			err = op_add(x, &ev.op);
		else if (ev.kind == CHUNK_REQUESTS && x->conf->disk)
			err = request_add(x, &ev.request);
	}
	if (err)
		return reason_no_memory(why);
	return got < 0; /* the job has all before the damage */
}

int fio_export(FILE *f, const char *name, const struct fio_conf *conf,
	       struct fio_counts *ret_counts, struct reason *why)
{
	struct exporting x = { .conf = conf, .counts = ret_counts };
	struct recording rec;
	struct reason writing;
	int got = recording_open(&rec, f, name, why), err = got;

	*ret_counts = (struct fio_counts){};
	if (!got)
		got = err = entries_read(&x, &rec, why);
	recording_close(&rec);
	if (err >= 0) {
		if (x.n)
			qsort(x.entries, x.n, sizeof(*x.entries), by_time);
		err = x.n ? 0 : nothing(&x, &writing);
		if (!err)
			err = file_write(&x, "replay.log", log_put, &writing);
		if (!err)
			err = file_write(&x, "replay.fio", job_put, &writing);
		if (err)
			*why = writing;
	}
	ret_counts->actions = x.n;
	ret_counts->files = x.n_files;
	for (size_t i = 0; i < x.n_files; i++)
		free(x.files[i].path);
	free(x.files);
	free(x.numbers);
	free(x.entries);
	return err < 0 ? -1 : got;
}
