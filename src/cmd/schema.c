// SPDX-License-Identifier: GPL-2.0-only
/* schema.c - prints the JSON Schemas of what iostrata writes as JSON; see base/schema.h. */
#include "base/schema.h"

#include "base/text.h"
#include "capture/header_members.h"
#include "export/parquet_tables.h"
#include "funcs/func_print.h"
#include "run/cmd.h"
#include "show/breakdown_members.h"
#include "show/compare.h"
#include "show/explain.h"
#include "show/fleet.h"
#include "show/page_json.h"
#include "top/top_print.h"

/* All schemas. Each is a struct NAME_schema. */
#define SCHEMAS(of)                                                                                \
	of(breakdown) of(events) of(joined) of(top) of(funcs) of(compare) of(explain) of(fleet)    \
		of(doctor) of(capture) of(parquet) of(page)

#define SCHEMA_ID(name)      SCHEMA_##name,
#define SCHEMA_CHOICE(name)  { #name, SCHEMA_##name },
#define SCHEMA_POINTER(name) [SCHEMA_##name] = &name##_schema,

enum { SCHEMA_NONE, SCHEMAS(SCHEMA_ID) };

static const struct opt_choice names[] = { SCHEMAS(SCHEMA_CHOICE){} };
static const struct schema *const schemas[] = { SCHEMAS(SCHEMA_POINTER) };

struct schema_opts {
	int name;
};

static const struct opt_group groups[] = { {} };

static const struct opt args[] = {
	{ OPT_CHOICE(struct schema_opts, name, names), .arg = "NAME",
	  .help = "print the schema of this JSON; without it, list all of them. One of" },
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata schema", "the names of all schemas" },
	{ "iostrata schema breakdown >breakdown.json", "for a validator or a generator of code" },
	{ "iostrata schema top | jq '.\"$defs\".op.properties | keys'",
	  "the members of operations of top" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata schema",
	.summary = "describe the JSON of the other commands",
	.about = "Prints a JSON Schema (json-schema.org, draft 2020-12) with every member: type, "
		 "unit, meaning, when it is there, and why it may be null. The member schema of a "
		 "line of JSON has the name of its schema: \"iostrata.breakdown/1\" is breakdown.",
	.groups = groups,
	.args = args,
	.examples = examples,
	.schema_names = names,
	.schemas = schemas,
};

static int list_print(FILE *f)
{
	struct text_out o = { .f = f };

	for (const struct opt_choice *n = names; n->name; n++)
		text_put(&o, "%-10s %s\n", n->name, schemas[n->value]->what);
	return text_end(&o);
}

static int schema(int argc, char **argv)
{
	struct schema_opts opts = {};
	struct opts_result res;
	int done = cmd_parse(&cmd_schema, argc, argv, &opts, &res);

	if (done >= 0)
		return done;
	if (opts.name)
		return cmd_written(schema_print(stdout, schemas[opts.name]));
	return cmd_written(list_print(stdout));
}

const struct cmd cmd_schema = { "schema", &table, schema, false };
