// SPDX-License-Identifier: GPL-2.0-only
/* schema.c - makes JSON Schemas out of tables of members. */
#include "base/schema.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/text.h"

static struct member column_member(const struct column *c)
{
	static const enum member_type types[] = {
		[VALUE_COUNT] = MEMBER_COUNT,  [VALUE_ID] = MEMBER_ID,
		[VALUE_SIGNED] = MEMBER_COUNT, [VALUE_TIME] = MEMBER_TIME,
		[VALUE_BYTES] = MEMBER_BYTES,  [VALUE_RATE] = MEMBER_RATE,
		[VALUE_SHARE] = MEMBER_SHARE,  [VALUE_MEAN] = MEMBER_COUNT,
		[VALUE_TEXT] = MEMBER_TEXT,
	};
	bool ascii = c->json.ascii || c->json.words || c->json.pattern;

	return (struct member){ .name = c->name,
				.type = ascii ? MEMBER_ASCII : types[c->kind],
				.what = c->help,
				.null = c->null,
				.unit = c->json.unit,
				.words = c->json.words,
				.pattern = c->json.pattern,
				.least = c->json.least,
				.negative = c->kind == VALUE_SIGNED,
				.fraction = c->kind == VALUE_MEAN,
				.huge = c->json.huge };
}

static void words_walk(const struct member *m,
		       void (*each)(const struct member *m, const char *title, void *arg),
		       void *arg)
{
	struct member one = *m;
	char what[256];

	one.each = NULL;
	for (const struct word_list *w = m->each; w; w = w->more) {
		for (unsigned int i = w->from; i < w->to; i++) {
			one.name = words_at(w, i);
			snprintf(what, sizeof(what), "%s %s", m->what ? m->what : "",
				 one.name ? one.name : "");
			one.what = m->what ? what : w->help(i);
			if (one.name)
				each(&one, NULL, arg);
		}
	}
}

void members_walk(const struct member *list,
		  void (*each)(const struct member *m, const char *title, void *arg), void *arg)
{
	for (const struct member *m = list; m->name || m->columns || m->also || m->each; m++) {
		for (const struct column *c = m->columns; c && column_is(c); c++) {
			struct member of_column = column_member(c);

			if (c->name)
				each(&of_column, c->title, arg);
		}
		if (m->also)
			members_walk(m->also, each, arg);
		if (m->each)
			words_walk(m, each, arg);
		if (m->name)
			each(m, NULL, arg);
	}
}

void member_describe(const struct member *m, char dst[MEMBER_TEXT_CAP])
{
	const char *only = m->only ? m->only : "", *null = m->null ? m->null : "";

	snprintf(dst, MEMBER_TEXT_CAP, "%s%s%s%s%s", m->what ? m->what : "",
		 *only ? ". Only there " : "", only, *null ? ". null: " : "", null);
}

/* As a sentence. */
static json_t *sentence(const char *text)
{
	char whole[MEMBER_TEXT_CAP + 1];

	snprintf(whole, sizeof(whole), "%c%s.", text_capital(text), *text ? text + 1 : "");
	return json_string(*text ? whole : "");
}

/* A schema being made. */
struct maker {
	json_t *defs;
	json_t *properties, *required; /* of the object being made */
};

static json_t *object_make(struct maker *mk, const struct object *o);

static json_t *reference(const char *name)
{
	return json_pack("{s:s+}", "$ref", "#/$defs/", name);
}

/* An object with a name is in $defs, once. */
static json_t *object_put(struct maker *mk, const struct object *o)
{
	if (!o->name)
		return object_make(mk, o);
	if (!json_object_get(mk->defs, o->name)) {
		json_object_set_new(mk->defs, o->name, json_null()); /* keeps its place */
		json_object_set_new(mk->defs, o->name, object_make(mk, o));
	}
	return reference(o->name);
}

static const struct {
	const char *json, *unit; /* unit NULL: no number */
} types[] = {
	[MEMBER_COUNT] = { "integer", "count" }, [MEMBER_ID] = { "integer", "id" },
	[MEMBER_TIME] = { "integer", "ns" },     [MEMBER_BYTES] = { "integer", "bytes" },
	[MEMBER_SHARE] = { "number", "ratio" },  [MEMBER_RATE] = { "number", "1/s" },
	[MEMBER_BOOL] = { "boolean", NULL },     [MEMBER_TEXT] = { "string", NULL },
	[MEMBER_ASCII] = { "string", NULL },     [MEMBER_STEP] = { "integer", "ns" },
	[MEMBER_OBJECT] = { "object", NULL },
};

static void put_type(json_t *to, const char *type, const char *second, bool null)
{
	json_t *list = json_pack("[s]", type);

	if (second)
		json_array_append_new(list, json_string(second));
	if (null)
		json_array_append_new(list, json_string("null"));
	if (json_array_size(list) > 1)
		json_object_set(to, "type", list);
	else
		json_object_set_new(to, "type", json_string(type));
	json_decref(list);
}

static void put_words(json_t *to, const struct word_list *w, bool null)
{
	json_t *list = json_array();

	for (; w; w = w->more)
		for (unsigned int i = w->from; i < w->to; i++)
			if (words_at(w, i))
				json_array_append_new(list, json_string(words_at(w, i)));
	if (null)
		json_array_append_new(list, json_null());
	json_object_set_new(to, "enum", list);
}

/* The value of a member, or of an element of a list. */
static json_t *value_make(struct maker *mk, const struct member *m, bool null)
{
	const char *unit = m->unit ? m->unit : types[m->type].unit;
	const char *json = m->fraction ? "number" : types[m->type].json;
	const char *pattern = m->huge ? "^[0-9]+$" : m->pattern;
	json_t *value;

	if (m->type == MEMBER_OBJECT && !null)
		return object_put(mk, m->object);
	value = m->type == MEMBER_OBJECT ? object_make(mk, m->object) : json_object();
	put_type(value, json, m->huge || m->type == MEMBER_STEP ? "string" : NULL, null);
	if (unit && !m->negative)
		json_object_set_new(value, "minimum", json_integer(m->least));
	if (pattern)
		json_object_set_new(value, "pattern", json_string(pattern));
	if (m->words)
		put_words(value, m->words, null);
	if (unit)
		json_object_set_new(value, "unit", json_string(unit));
	return value;
}

static json_t *item_describe(const struct member *m)
{
	const struct member item = { .what = m->item, .null = m->item_null };
	char text[MEMBER_TEXT_CAP];

	member_describe(&item, text);
	return sentence(text);
}

/* A list in @depth levels. The last level has values. */
static json_t *list_make(struct maker *mk, const struct member *m, int depth, bool null)
{
	bool inner = depth < m->list;
	json_t *items =
		depth > 1 ? list_make(mk, m, depth - 1, false) : value_make(mk, m, m->item_null);
	json_t *list = json_object();

	put_type(list, "array", NULL, null);
	if (m->item)
		json_object_set_new(items, "description", item_describe(m));
	json_object_set_new(list, "items", items);
	if (inner && m->length) {
		json_object_set_new(list, "minItems", json_integer(m->length));
		json_object_set_new(list, "maxItems", json_integer(m->length));
	}
	if (!inner && m->most)
		json_object_set_new(list, "maxItems", json_integer(m->most));
	return list;
}

/* The member with the bytes of a text that is not UTF-8. */
static void bytes_put(json_t *properties, const struct member *m)
{
	char name[64], what[128];

	snprintf(name, sizeof(name), "%s_bytes", m->name);
	snprintf(what, sizeof(what), "All bytes of %s in base64. Only there if they are not UTF-8.",
		 m->name);
	json_object_set_new(properties, name,
			    json_pack("{s:s, s:s, s:s}", "type", "string", "pattern",
				      "^[A-Za-z0-9+/]+=*$", "description", what));
}

static void member_put(const struct member *m, const char *title, void *arg)
{
	char text[MEMBER_TEXT_CAP];
	struct maker *mk = arg;
	json_t *one;

	(void)title;
	one = m->list ? list_make(mk, m, m->list, m->null) : value_make(mk, m, m->null);
	member_describe(m, text);
	json_object_set_new(one, "description", sentence(text));
	json_object_set_new(mk->properties, m->name, one);
	if (!m->only)
		json_array_append_new(mk->required, json_string(m->name));
	if (m->type == MEMBER_TEXT && !m->list)
		bytes_put(mk->properties, m);
}

static json_t *object_make(struct maker *mk, const struct object *o)
{
	struct maker inner = { mk->defs, json_object(), json_array() };

	members_walk(o->members, member_put, &inner);
	return json_pack("{s:o, s:s, s:b, s:o, s:o}", "description", sentence(o->what), "type",
			 "object", "additionalProperties", 0, "required", inner.required,
			 "properties", inner.properties);
}

/* The first object has the id of the schema as its first member. */
static json_t *first_make(struct maker *mk, const struct schema *s)
{
	json_t *o = object_make(mk, s->first);
	json_t *id = json_pack("{s:s, s:s}", "const", s->id, "description",
			       "Name and version of this format.");
	json_t *properties = json_pack("{s:o}", "schema", id);

	json_array_insert_new(json_object_get(o, "required"), 0, json_string("schema"));
	json_object_update(properties, json_object_get(o, "properties"));
	json_object_set_new(o, "properties", properties);
	return o;
}

static json_t *schema_make(const struct schema *s)
{
	struct maker mk = { .defs = json_object() };
	json_t *all = json_pack("{s:s, s:s, s:o}", "$schema",
				"https://json-schema.org/draft/2020-12/schema", "title", s->id,
				"description", sentence(s->what));
	json_t *first = first_make(&mk, s);

	json_object_set_new(all, "type", json_string("object"));
	if (s->others) {
		json_object_set_new(mk.defs, s->first->name, first);
		json_object_set_new(all, "if", json_pack("{s:[s]}", "required", "schema"));
		json_object_set_new(all, "then", reference(s->first->name));
		json_object_set_new(all, "else", object_put(&mk, s->others));
	} else {
		json_object_del(first, "description");
		json_object_update(all, first);
		json_decref(first);
	}
	if (json_object_size(mk.defs))
		json_object_set(all, "$defs", mk.defs);
	json_decref(mk.defs);
	return all;
}

int schema_print(FILE *f, const struct schema *s)
{
	json_t *all = schema_make(s);
	int err = all ? json_dumpf(all, f, JSON_INDENT(2)) : -1;

	json_decref(all);
	if (!err && fputc('\n', f) == EOF)
		err = -1;
	return err ? errno ? -errno : -ENOMEM : 0;
}

/* A search for an object by its name. */
struct search {
	const char *name;
	const struct object *found;
};

static void object_find(const struct object *o, struct search *search);

static void member_find(const struct member *m, const char *title, void *arg)
{
	(void)title;
	if (m->object)
		object_find(m->object, arg);
}

static void object_find(const struct object *o, struct search *search)
{
	if (o->name && !strcmp(o->name, search->name))
		search->found = o;
	if (!search->found)
		members_walk(o->members, member_find, search);
}

const struct object *schema_object(const struct schema *s, const char *name)
{
	struct search search = { .name = name, .found = *name ? NULL : s->first };

	if (!search.found)
		object_find(s->first, &search);
	if (!search.found && s->others)
		object_find(s->others, &search);
	return search.found;
}
