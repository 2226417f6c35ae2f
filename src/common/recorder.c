// SPDX-License-Identifier: GPL-2.0-only
#include "common/recorder.h"

#include <string.h>

#include "base/clock.h"
#include "base/reason.h"
#include "base/text.h"
#include "capture/writer.h"
#include "event.h"
#include "host/devices.h"

/* A longer limit may have been meant in another unit. */
/* How often the machine is looked at: CPU time is counted in ticks, so less often than records are
 * written at first. */
#define MACHINE_NS (9 * (uint64_t)NS_PER_S / 10)

#define UNIT_DOUBTED_NS (5 * (uint64_t)NS_PER_S)

/* Fails if @c is about records that are not sent. */
static int until_check(const struct recorder *r, const struct until_cond *c, struct reason *why)
{
	const struct session_conf *conf = &r->io->conf;

	if ((c->asked.ops && conf->sent_ops) || (c->asked.requests && conf->sent_requests))
		return 0;
	return reason_set(why, EXIT_USAGE, "--until is about %s, which are not recorded",
			  c->asked.requests ? "requests" : "operations");
}

int recorder_until(struct recorder *r, const struct opt_strings *texts, struct reason *why)
{
	struct devices devices = {};
	int err = 0;

	if (texts->n)
		devices_read(&devices);
	for (unsigned int i = 0; i < texts->n && !err; i++) {
		err = until_add(&r->until, texts->at[i], &devices, why);
		if (!err)
			err = until_check(r, &r->until.conds[i], why);
	}
	devices_done(&devices);
	return err;
}

void recorder_say_times(const struct recorder *r, const char *then)
{
	for (unsigned int i = 0; i < r->until.n; i++) {
		const struct condition *c = &r->until.conds[i].asked;
		char last = c->text[strlen(c->text) - 1];

		if (c->measure != CONDITION_TIME)
			continue;
		cmd_say("%s when one %s takes longer than %s", then, condition_noun(c, 1),
			text_ns(c->above).s);
		if (last >= '0' && last <= '9' && c->above > UNIT_DOUBTED_NS)
			cmd_say("hint: without a unit, '%.60s' is in seconds; %.60sms is in "
				"milliseconds",
				c->text, c->text);
	}
}

static void names_come(void *arg)
{
	const struct recorder *r = arg;

	session_sent_names(r->io->session);
}

static bool fs_known(void *arg, unsigned int slot, char ret_name[FS_NAME_LEN],
		     unsigned int *ret_probed)
{
	const struct recorder *r = arg;

	return session_fs(r->io->session, slot, ret_name, ret_probed);
}

static char *command_known(void *arg, const struct sent_who *who)
{
	const struct recorder *r = arg;

	return session_command(r->io->session, who->pid, who->tid == who->pid ? who->comm : NULL);
}

static void names_again(void *arg)
{
	const struct recorder *r = arg;

	session_names_again(r->io->session);
}

static void on_event(void *arg, const struct intake_event *e)
{
	struct recorder *r = arg;

	if (e->pid && (e->pid == (unsigned int)r->deputy || e->pid == (unsigned int)r->copy))
		return;
	until_see(&r->until, &(struct until_event){
				     .is_request = e->is_request,
				     .kind = e->kind,
				     .dev = e->dev,
				     .failed = e->failed,
				     .error = e->error,
				     .end_ns = e->end_ns,
				     .took_ns = e->took_ns,
			     });
}

static void on_sent(void *arg, const void *data, size_t len)
{
	struct recorder *r = arg;

	intake_record(&r->intake, data, len);
}

static void on_sent_name(void *arg, const void *data, size_t len)
{
	struct recorder *r = arg;

	intake_name(&r->intake, data, len);
}

void recorder_begin(struct recorder *r, struct writer *w)
{
	r->told_ns = r->flushed_ns;
	r->intake = (struct intake){
		.w = w,
		.names = names_come,
		.fs = fs_known,
		.see = on_event,
		.see_ops = r->until.ops,
		.see_requests = r->until.requests,
		.renew = r->for_ever ? names_again : NULL,
		.command = r->no_commands ? NULL : command_known,
		.arg = r,
		.end_ns = UINT64_MAX,
	};
	session_on_sent(r->io->session, on_sent, on_sent_name, r);
	machine_meter_open(&r->meter);
}

void recorder_stack(struct recorder *r, const struct sent_stack *s, unsigned int number,
		    int fs_slot)
{
	intake_stack(&r->intake, s, number, fs_slot);
}

char *recorder_header(const struct recorder *r, uint64_t begin_ns,
		      const struct header_trigger *triggers, unsigned int n_triggers)
{
	const struct io_run *io = r->io;
	struct header_run run = {
		.version = IOSTRATA_VERSION,
		.argv = r->argv,
		.missing = session_missing(io->session),
		.vfs_kinds = session_vfs_kinds(io->session),
		.begin_ns = begin_ns,
		.has_ops = io->conf.sent_ops,
		.has_requests = io->conf.sent_requests,
		.has_stacks = io->conf.stacks,
		.triggers = triggers,
		.n_triggers = n_triggers,
	};

	return header_text(&run);
}

void recorder_tell_losses(struct recorder *r, uint64_t now)
{
	struct stored_loss loss = { .from_ns = r->told_ns, .to_ns = now };
	uint64_t lost;

	for (int i = 0; i < LOST_N; i++) {
		lost = session_lost(r->io->session, i);
		if (lost == r->lost[i])
			continue;
		loss.kind = i;
		loss.count = lost - r->lost[i];
		r->lost[i] = lost;
		writer_loss(r->intake.w, &loss);
	}
	r->told_ns = now;
}

void recorder_tell_load(struct recorder *r)
{
	struct stored_machine_load stored = { .from_ns = r->meter.last_ns };
	struct machine_load load;

	machine_meter_interval(&r->meter, &load);
	stored.to_ns = r->meter.last_ns;
	stored.known = load.known;
	memcpy(stored.figure, load.figure, sizeof(stored.figure));
	if (load.known)
		writer_machine_load(r->intake.w, &stored);
}

void recorder_flush(struct recorder *r, uint64_t now)
{
	recorder_tell_losses(r, now);
	if (now >= r->meter.last_ns + MACHINE_NS)
		recorder_tell_load(r);
	writer_flush(r->intake.w);
	r->flushed_ns = now;
}

void recorder_done(struct recorder *r)
{
	intake_done(&r->intake);
	machine_meter_done(&r->meter);
	until_done(&r->until);
}
