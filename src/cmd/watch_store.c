// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/watch_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reason.h"
#include "base/text.h"
#include "common/archive.h"
#include "host/newfile.h"
#include "run/cmd.h"

/* Names until a recording is complete, with the deputy's process id. */
#define PART        ".watch-%d.part"
#define PART_TABLES ".watch-%d.tables"

enum { TAKE_BYTES = 1 << 16, PIPE_BYTES = 1 << 20 };

/* While a disk hangs, small recordings wait in their pipes. With more than these bytes of messages
 * unread by the deputy, another recording waits in the tool's memory. Twice as many have room, so
 * the message behind a recording always has. */
enum { QUEUE_BYTES = 32 << 10 };

struct contents {
	uint64_t bytes;
	char oldest[NAME_MAX + 1]; /* names begin with the time; "": there is none */
};

static struct contents store_look(const struct store *s)
{
	struct contents k = {};
	char path[STORE_PATH];
	struct dirent *e;
	DIR *dir = opendir(s->dir);

	while (dir && (e = readdir(dir))) {
		if (!watch_file_is_ours(e->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", s->dir, e->d_name);
		k.bytes += watch_file_bytes(path);
		if (!k.oldest[0] || strcmp(e->d_name, k.oldest) < 0)
			snprintf(k.oldest, sizeof(k.oldest), "%s", e->d_name);
	}
	if (dir)
		closedir(dir);
	return k;
}

/* Removes the oldest recording. Returns false if there is none, or it cannot be removed. */
static bool oldest_remove(const struct store *s, const char *because)
{
	struct contents k = store_look(s);
	char path[STORE_PATH], safe[TEXT_SAFE_CAP(sizeof(k.oldest))];
	int err;

	if (!k.oldest[0])
		return false;
	snprintf(path, sizeof(path), "%s/%s", s->dir, k.oldest);
	text_safe(safe, sizeof(safe), k.oldest);
	err = watch_file_remove(path);
	if (err)
		cmd_say("warning: cannot remove %s: %s", safe, strerror(-err));
	else
		cmd_say("removed %s: %s%s", safe, because,
			watch_spool_forget(s->dir, k.oldest)
				? "; the program of --run has not ended with 0 for it"
				: "");
	return !err;
}

/* Makes room for a recording of @bytes. Returns false if it is larger than the budget. */
static bool budget_keep(const struct store *s, uint64_t bytes)
{
	while (s->budget && store_look(s).bytes + bytes > s->budget)
		if (!oldest_remove(s, "--budget"))
			return bytes <= s->budget;
	return true;
}

/* The socket between the tool, its copy and the deputy: each recording is announced with the
 * reading end of its pipe, and then told to be complete or not. */

/* @fd: a descriptor to be sent along, or -1 if there is none. @flags: of sendmsg(2). Returns 0 or
 * -errno. */
static int shot_send(int control, const struct shot *shot, int fd, int flags)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} rights = {};
	struct iovec data = { (void *)shot, sizeof(*shot) };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fd >= 0) {
		msg.msg_control = rights.bytes;
		msg.msg_controllen = sizeof(rights.bytes);
		rights.head = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(fd)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&rights.head), &fd, sizeof(fd));
	}
	return sendmsg(control, &msg, MSG_NOSIGNAL | flags) < 0 ? -errno : 0;
}

/* Waits for a message. Returns false if the tool has ended. */
static bool shot_receive(int control, struct shot *ret_shot, int *ret_fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} rights = {};
	struct iovec data = { ret_shot, sizeof(*ret_shot) };
	struct msghdr msg = { .msg_iov = &data,
			      .msg_iovlen = 1,
			      .msg_control = rights.bytes,
			      .msg_controllen = sizeof(rights.bytes) };
	const struct cmsghdr *got;
	ssize_t n;

	while ((n = recvmsg(control, &msg, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	got = CMSG_FIRSTHDR(&msg);
	*ret_fd = -1;
	if (n > 0 && got && got->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(got), sizeof(*ret_fd));
	return n == sizeof(*ret_shot);
}

/* The deputy's work. */

/* A recording while it comes. */
struct taking {
	const struct store *s;
	char part[STORE_PATH]; /* the name of the file until it is complete */
	int fd;
	uint64_t bytes, others; /* others: bytes of the other recordings, as last looked at */
};

static int part_create(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Makes the directory again if somebody has removed it. Returns 0 or -errno. */
static int part_open(struct taking *t)
{
	char safe[TEXT_SAFE_CAP(200)];

	snprintf(t->part, sizeof(t->part), "%s/" PART, t->s->dir, getpid());
	unlink(t->part); /* of another process of this number, long ago */
	t->fd = part_create(t->part);
	if (t->fd < 0 && errno == ENOENT) {
		if (mkdir(t->s->dir, 0700))
			return -errno;
		text_safe_n(safe, sizeof(safe), t->s->dir, strnlen(t->s->dir, 200));
		cmd_say("warning: '%s' was removed: made again", safe);
		t->fd = part_create(t->part);
	}
	t->others = store_look(t->s).bytes;
	return t->fd < 0 ? -errno : 0;
}

/* Makes room in the budget for @len more bytes. Returns 0; -EFBIG: the recording is larger. Tables
 * are counted when they are complete. */
static int part_budget(struct taking *t, size_t len)
{
	uint64_t bytes = t->bytes + len;

	if (!t->s->budget || t->s->tables || t->others + bytes <= t->s->budget)
		return 0;
	if (!budget_keep(t->s, bytes))
		return -EFBIG;
	t->others = store_look(t->s).bytes;
	return 0;
}

/* On a full disk, the oldest recordings go if --budget says that they may. */
static int part_write(struct taking *t, const char *p, size_t len)
{
	int err = part_budget(t, len);
	ssize_t n;

	while (len && !err) {
		n = write(t->fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == ENOSPC || errno == EDQUOT) && t->s->budget &&
		    oldest_remove(t->s, "no space is left"))
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= n;
		t->bytes += n;
	}
	return err;
}

/* Takes all that comes through the pipe @from. Returns 0 or -errno. */
static int part_take(struct taking *t, int from)
{
	char buf[TAKE_BYTES];
	ssize_t n;
	int err = 0;

	while (!err && (n = read(from, buf, sizeof(buf))) != 0) {
		if (n > 0)
			err = part_write(t, buf, n);
		else if (errno != EINTR)
			err = -errno;
	}
	if (!err && fsync(t->fd) && errno != EINVAL)
		err = -errno;
	return err;
}

/* Gives @from the first free name like that of @shot. With --run, the recording waits from then on.
 * Returns 0 with @ret_path, or -errno. */
static int shot_name(const struct store *s, const char *from, const struct shot *shot,
		     char ret_path[STORE_PATH])
{
	const char *suffix = s->tables ? "tables" : "ios";
	char number[16] = "", name[SHOT_NAME + 32];
	int err = -EEXIST, noted = 0;

	for (unsigned int i = 1; err == -EEXIST && i < 1000; i++) {
		if (i > 1)
			snprintf(number, sizeof(number), "-%u", i);
		snprintf(name, sizeof(name), "%s%s.%s", shot->name, number, suffix);
		snprintf(ret_path, STORE_PATH, "%s/%s", s->dir, name);
		if (s->spool.run)
			noted = watch_spool_note(s->dir, name);
		err = newfile_rename(from, ret_path);
		if (err && s->spool.run && !noted)
			watch_spool_forget(s->dir, name);
	}
	if (!err && noted && noted != -EEXIST)
		cmd_say("warning: cannot note that a recording waits for --run: %s",
			strerror(-noted));
	return err;
}

/* Exports the recording of @t to Parquet tables. Returns 0 with @ret_path, or -1 with @why. */
static int tables_write(const struct taking *t, const struct shot *shot, char ret_path[STORE_PATH],
			struct reason *why)
{
	char dir[STORE_PATH];
	struct tables_conf conf = { .dir = dir, .writer = "iostrata version " IOSTRATA_VERSION };
	char *const files[] = { (char *)t->part };
	struct tables_counts counts;
	int err;

	snprintf(dir, sizeof(dir), "%s/" PART_TABLES, t->s->dir, getpid());
	watch_file_remove(dir);
	if (mkdir(dir, 0700))
		return reason_set(why, EXIT_FAILED, "cannot make '%.200s': %s", dir,
				  strerror(errno));
	err = archive_tables(files, 1, &conf, &counts, why);
	if (!err && !budget_keep(t->s, watch_file_bytes(dir)))
		err = reason_set(why, EXIT_FAILED, "the tables are larger than --budget");
	if (!err && (err = shot_name(t->s, dir, shot, ret_path)))
		reason_set(why, EXIT_FAILED, "cannot name '%.200s': %s", dir, strerror(-err));
	if (err)
		watch_file_remove(dir);
	return err ? -1 : 0;
}

/* While the disk has less room than the recording takes, the oldest go, if they may. */
static void room_make(const struct taking *t)
{
	struct statvfs fs;

	while (t->s->budget && !statvfs(t->s->dir, &fs) && fs.f_bavail * fs.f_frsize < t->bytes &&
	       oldest_remove(t->s, "no space is left"))
		;
}

static int shot_failed(const struct store *s, int err, struct reason *why)
{
	if (err == -EFBIG)
		return reason_set(why, EXIT_FAILED, "a recording is larger than --budget");
	reason_set(why, EXIT_FAILED, "cannot write a recording in '%.200s': %s", s->dir,
		   strerror(-err));
	return err == -ENOSPC && !s->budget
		       ? reason_hint(why, "with --budget SIZE the oldest recordings make room")
		       : -1;
}

/* Names a complete recording. Returns 0 with @ret_path, or -1 with @why. */
static int shot_complete(const struct taking *t, const struct shot *shot, char ret_path[STORE_PATH],
			 struct reason *why)
{
	int err;

	if (t->s->tables) {
		room_make(t);
		return tables_write(t, shot, ret_path, why);
	}
	err = budget_keep(t->s, t->bytes) ? shot_name(t->s, t->part, shot, ret_path) : -EFBIG;
	return err ? shot_failed(t->s, err, why) : 0;
}

static void shot_say(const struct shot *shot, const char *path)
{
	char safe[TEXT_SAFE_CAP(STORE_PATH)], text[sizeof(safe) + 128], lost[48] = "";

	text_safe(safe, sizeof(safe), path);
	if (shot->lost)
		snprintf(lost, sizeof(lost), ", %s lost", text_count(shot->lost).s);
	snprintf(text, sizeof(text), "%s: %s operation%s, %s request%s, %s, %s%s", safe,
		 text_count(shot->ops).s, text_plural(shot->ops), text_count(shot->requests).s,
		 text_plural(shot->requests), text_bytes(watch_file_bytes(path)).s,
		 text_ns(shot->duration_ns).s, lost);
	text_message(stderr, text);
}

/* The records of a recording that could not be written are in no other one, either. */
static void say_gap(const struct shot *shot)
{
	if (shot->before_ns < shot->keep_ns)
		cmd_say("warning: this recording begins %s before its condition was met, not %s: "
			"the one before could not be written",
			text_ns(shot->before_ns).s, text_ns(shot->keep_ns).s);
}

/* Takes a recording from the pipe @from. Returns 0, or -1 with @why. */
static int shot_take(struct store *s, int control, int from, struct reason *why)
{
	struct taking t = { .s = s };
	char path[STORE_PATH];
	struct shot shot;
	int none, err = part_open(&t), got;
	bool gap;

	if (!err)
		err = part_take(&t, from);
	close(from); /* after a failure, the copy has nobody to write to */
	if (!shot_receive(control, &shot, &none))
		shot.complete = false;
	if (t.fd >= 0 && close(t.fd) && !err)
		err = -errno;
	if (err)
		got = shot_failed(s, err, why);
	else if (!shot.complete)
		got = reason_set(why, EXIT_FAILED, "a recording is not complete: its writer ended");
	else
		got = shot_complete(&t, &shot, path, why);
	if (t.fd >= 0)
		unlink(t.part); /* unless it has its name */
	gap = s->failed;
	s->failed = got;
	if (got)
		return -1;
	shot_say(&shot, path);
	if (gap)
		say_gap(&shot);
	watch_spool_added(&s->spool);
	return 0;
}

/* Removes what deputies have left that were killed. */
static void leftovers_remove(const struct store *s)
{
	char path[STORE_PATH], process[32];
	struct dirent *e;
	DIR *dir = opendir(s->dir);
	int pid, end;

	while (dir && (e = readdir(dir))) {
		end = 0;
		if (sscanf(e->d_name, PART "%n", &pid, &end) < 1 || e->d_name[end])
			end = 0;
		if (!end && (sscanf(e->d_name, PART_TABLES "%n", &pid, &end) < 1 || e->d_name[end]))
			continue;
		snprintf(process, sizeof(process), "/proc/%d", pid);
		snprintf(path, sizeof(path), "%s/%s", s->dir, e->d_name);
		if (end && access(process, F_OK))
			watch_file_remove(path);
	}
	if (dir)
		closedir(dir);
}

static int work(void *arg)
{
	struct store *s = arg;
	struct reason why;
	struct shot shot;
	int from, status = 0;

	close(s->control); /* else the deputy would not see the tool's end */
	leftovers_remove(s);
	s->spool.dir = s->dir;
	for (;;) {
		if (!deputy_wait(s->theirs, watch_spool_look(&s->spool, clock_ns())))
			continue;
		if (!shot_receive(s->theirs, &shot, &from))
			break;
		if (from >= 0 && shot_take(s, s->theirs, from, &why))
			status = cmd_fail(&why);
	}
	watch_spool_end(&s->spool);
	return status;
}

/* Makes the directory, or sees whether it can be written to. Returns 0 or -errno. */
static int prepare(void *arg)
{
	struct store *s = arg;
	struct stat st;

	s->made = !mkdir(s->dir, 0700);
	if (s->made)
		return 0;
	if (errno != EEXIST || stat(s->dir, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return access(s->dir, W_OK | X_OK) ? -errno : 0;
}

static void give_up(void *arg)
{
	const struct store *s = arg;

	if (s->made)
		rmdir(s->dir);
}

int watch_store_open(struct store *s, struct reason *why)
{
	const struct deputy_work w = { prepare, work, give_up, s, .stays = true };
	int ends[2], err = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return reason_set(why, EXIT_FAILED, "cannot make a socket: %s", strerror(errno));
	s->control = ends[0];
	s->theirs = ends[1];
	err = deputy_start(&s->deputy, &w);
	close(s->theirs);
	if (!err)
		return 0;
	close(s->control);
	return reason_set(why, EXIT_FAILED, "cannot write to '%.200s': %s", s->dir, strerror(-err));
}

void watch_store_go(struct store *s)
{
	deputy_go(&s->deputy);
}

pid_t watch_store_pid(const struct store *s)
{
	return s->deputy.pid;
}

pid_t watch_store_copy(const struct store *s)
{
	return s->copy;
}

bool watch_store_has_ended(struct store *s)
{
	return deputy_has_ended(&s->deputy);
}

/* A copy that failed has told nothing. */
static void copy_over(struct store *s, enum copy_state state)
{
	struct shot failed = {};

	s->copy = 0;
	if (state == COPY_FAILED)
		shot_send(s->control, &failed, -1, MSG_DONTWAIT);
}

bool watch_store_is_busy(struct store *s)
{
	enum copy_state state = s->copy ? copy_look(s->copy, false) : COPY_WORKED;

	if (state == COPY_RUNS)
		return true;
	if (s->copy)
		copy_over(s, state);
	return false;
}

void watch_store_wait(struct store *s)
{
	if (s->copy)
		copy_over(s, copy_look(s->copy, true));
}

/* For the copy. */
struct copy_job {
	const struct store *s;
	struct shot shot;
	store_write_fn *write;
	void *arg;
	int to; /* its end of the pipe */
};

static int copy_work(void *arg)
{
	struct copy_job *j = arg;

	j->shot.complete = !j->write(j->arg, j->to);
	return shot_send(j->s->control, &j->shot, -1, 0);
}

int watch_store_begin(struct store *s, const struct shot *shot, store_write_fn *write, void *arg)
{
	struct copy_job job = { s, *shot, write, arg, -1 };
	int ends[2], err, queued = 0;

	if (!ioctl(s->control, SIOCOUTQ, &queued) && queued > QUEUE_BYTES)
		return -EAGAIN;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* it may be refused: then it takes longer */
	job.to = ends[1];
	err = shot_send(s->control, shot, ends[0], MSG_DONTWAIT);
	if (!err) {
		s->copy = copy_start(copy_work, &job, (int[]){ s->control, job.to });
		err = s->copy < 0 ? s->copy : 0;
		if (err)
			copy_over(s, COPY_FAILED);
	}
	close(ends[0]);
	close(ends[1]);
	return err;
}

int watch_store_close(struct store *s)
{
	if (s->deputy.pid <= 0)
		return 0;
	watch_store_wait(s);
	close(s->control);
	return deputy_end(&s->deputy, s->deputy.go < 0);
}
