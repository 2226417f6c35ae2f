// SPDX-License-Identifier: GPL-2.0-only
/* fleet.c - hosts, and the values of their properties. */
#include "analyse/fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

enum { TABLE = 2 * FLEET_VALUES };

static const struct {
	const char *name;
	const char *words; /* before the value, in a finding */
} attributes[FLEET_ATTRIBUTES] = {
	[FLEET_HOST] = { "host", "on host " },
	[FLEET_MODEL] = { "model", "with disk model " },
	[FLEET_FIRMWARE] = { "firmware", "with disk firmware " },
	[FLEET_SCHEDULER] = { "scheduler", "with I/O scheduler " },
	[FLEET_KERNEL] = { "kernel", "with kernel " },
	[FLEET_MACHINE] = { "machine", "on machines of type " },
	[FLEET_OPTION] = { "option", "with mount option " },
	[FLEET_FS] = { "fs", "on file systems of type " },
	[FLEET_TEMPERATURE] = { "temperature", "with a drive " },
	[FLEET_CGROUP] = { "cgroup", "in cgroup " },
	[FLEET_COMM] = { "comm", "of threads named " },
};

const char *fleet_attribute_name(enum fleet_attribute attribute)
{
	return attributes[attribute].name;
}

char *fleet_value_text(const struct fleet_value *value)
{
	char *text;

	if (asprintf(&text, "%s%s", attributes[value->attribute].words, value->text) < 0)
		return NULL;
	return text;
}

struct fleet_host *fleet_host(struct fleet *f, const char *name)
{
	struct fleet_host *h;

	for (size_t i = 0; i < f->n_hosts; i++)
		if (!strcmp(f->hosts[i].name, name))
			return &f->hosts[i];
	if (f->n_hosts == FLEET_HOSTS ||
	    list_reserve((void **)&f->hosts, &f->hosts_cap, f->n_hosts, sizeof(*f->hosts)))
		return NULL;
	h = &f->hosts[f->n_hosts];
	*h = (struct fleet_host){ .name = strdup(name), .slot_ops = 1 };
	if (!h->name)
		return NULL;
	f->n_hosts++;
	return h;
}

/* Joins two slots into one each. */
static void slots_join(struct fleet_host *h)
{
	for (int i = 0; i < FLEET_SLOTS / 2; i++)
		h->slots[i] = h->slots[2 * i] + h->slots[2 * i + 1];
	memset(h->slots + FLEET_SLOTS / 2, 0, sizeof(h->slots) / 2);
	h->slot = FLEET_SLOTS / 2;
	h->slot_ops *= 2;
}

void fleet_host_count(struct fleet_host *h, bool is_slow)
{
	if (h->in_slot == h->slot_ops) {
		h->in_slot = 0;
		h->slot++;
	}
	if (h->slot == FLEET_SLOTS)
		slots_join(h);
	h->slots[h->slot] += is_slow;
	h->in_slot++;
	h->n++;
	h->slow += is_slow;
}

/* FNV-1a, of G. Fowler, L. C. Noll and K.-P. Vo. */
static uint64_t value_hash(enum fleet_attribute attribute, const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ULL + attribute;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	return hash ^ hash >> 29;
}

uint32_t fleet_value(struct fleet *f, enum fleet_attribute attribute, const char *text)
{
	uint64_t at = value_hash(attribute, text);
	struct fleet_value *v;
	uint32_t *place;

	if (!f->table)
		f->table = calloc(TABLE, sizeof(*f->table));
	if (!f->table)
		return FLEET_VALUES;
	for (; *(place = &f->table[at % TABLE]); at++) {
		v = &f->values[*place - 1];
		if (v->attribute == attribute && !strcmp(v->text, text))
			return *place - 1;
	}
	if (f->n_values == FLEET_VALUES ||
	    list_reserve((void **)&f->values, &f->values_cap, f->n_values, sizeof(*f->values))) {
		f->values_left_out++;
		return FLEET_VALUES;
	}
	v = &f->values[f->n_values];
	*v = (struct fleet_value){ attribute, strdup(text) };
	if (!v->text)
		return FLEET_VALUES;
	*place = ++f->n_values;
	return *place - 1;
}

int fleet_cell_add(struct fleet_host *h, uint32_t value, uint64_t n, uint64_t slow)
{
	size_t i = 0;

	if (value == FLEET_VALUES || !n)
		return 0;
	while (i < h->n_cells && h->cells[i].value != value)
		i++;
	if (i == h->n_cells) {
		if (list_reserve((void **)&h->cells, &h->cells_cap, i, sizeof(*h->cells)))
			return -ENOMEM;
		h->cells[h->n_cells++] = (struct fleet_cell){ .value = value };
	}
	h->cells[i].n += n;
	h->cells[i].slow += slow;
	return 0;
}

static void finding_done(struct fleet_finding *found)
{
	free(found->text);
	free(found->note);
}

void fleet_done(struct fleet *f)
{
	for (size_t i = 0; i < f->n_findings; i++)
		finding_done(&f->findings[i]);
	finding_done(&f->nearest);
	for (size_t i = 0; i < f->n_hosts; i++) {
		free(f->hosts[i].name);
		free(f->hosts[i].cells);
	}
	for (size_t i = 0; i < f->n_values; i++)
		free(f->values[i].text);
	free(f->hosts);
	free(f->values);
	free(f->table);
	explain_done(&f->sums);
	*f = (struct fleet){};
}
