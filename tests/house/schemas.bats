# SPDX-License-Identifier: GPL-2.0-only
# The schemas that `iostrata schema` prints, as the build has them in build/schema, and that JSON which
# is not as they say is seen.

load lib

schemas() { # Python from stdin, with all schemas by their names
	{ cat <<-'PY'; cat; } | PYTHONPATH=tests python3 -
		import copy, json, pathlib, re, sys
		sys.dont_write_bytecode = True
		import schema
		SCHEMAS = {"iostrata." + f.stem.replace("-", "/"): json.loads(f.read_text())
		           for f in pathlib.Path("build/schema").iterdir()}


		def parts(part, path):
		    """Each part that describes a value, with its path."""
		    yield path, part
		    for group in ("properties", "$defs"):
		        for name, one in part.get(group, {}).items():
		            yield from parts(one, f"{path}.{name}")
		    if "items" in part:
		        yield from parts(part["items"], path + "[]")
	PY
}

@test "schemas: each that sources, the manual and documents name is printed by its name, and no other" {
	mapfile -t files < <(c_files | grep '^src/')
	# "iostrata.breakdown/2" is what a change of a field would make
	named=$(grep -ohE '"iostrata\.[a-z]+/[0-9]+"' "${files[@]}" man/*.scd docs/*.md docs/design/*.md ./*.md |
		grep -vxF '"iostrata.breakdown/2"' | sort -u)
	listed=$(build/iostrata schema | while read -r name what; do
		[[ $what ]] && build/iostrata schema "$name" | jq -r '.title' | grep "^iostrata\.$name/"
	done | sed 's/.*/"&"/' | sort)
	[[ $listed == "$named" ]]
	schemas < <(echo "listed = '''$listed'''"; cat <<-'PY'
		assert set(re.findall(r'"(.*)"', listed)) == set(SCHEMAS), (listed, SCHEMAS.keys())
		assert all(one["title"] == name for name, one in SCHEMAS.items())
		assert len(SCHEMAS) > 10
	PY
	)
}

# Each line of JSON that a test sees is validated, so no object may have a member that its table has not. This finds
# a member before a test writes it.
@test "schemas: each member that the sources write is in a table" {
	mapfile -t files < <(c_files | grep '^src/' | grep -vE '^src/(export/chrome|export/speedscope|show/page)\.c')
	schemas < <(echo "written = '''$(grep -ohE 'json_put_[a-z]+\((j|&j|&w->json), "\w+"' "${files[@]}")'''"; cat <<-'PY'
		written = set(re.findall(r'"(\w+)"', written))
		known = {m for name, whole in SCHEMAS.items() for _, part in parts(whole, name)
		         for m in part.get("properties", ())}
		assert len(written) > 150 and written <= known, written - known
	PY
	)
}

@test "schemas: each member has a type, a unit and a description, each object all its members" {
	schemas <<-'PY'
		for name, whole in SCHEMAS.items():
		    used = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(whole)))
		    assert used == set(whole.get("$defs", {})), (name, used)
		    for path, part in parts(whole, name):
		        types = part.get("type", [])
		        types = [types] if isinstance(types, str) else types
		        # an object of a list is described in $defs
		        assert "$ref" in part and path.endswith("[]") or part["description"][-1] in ".?", path
		        assert types or "$ref" in part or "const" in part, path
		        assert ("unit" in part) == bool({"integer", "number"} & set(types)), path
		        assert ("items" in part) == ("array" in types), path
		        if "object" in types and "if" not in part:
		            fields = set(part["properties"])
		            assert len(part["required"]) == len(set(part["required"])), path # a member with two rows
		            assert part["additionalProperties"] is False and fields >= set(part["required"]), path
		            for field in fields:
		                assert not field.endswith("_ns") or part["properties"][field]["unit"] == "ns", (path, field)
		                twin = field.removesuffix("_bytes")
		                assert twin == field or twin not in fields or field not in part["required"], (path, field)
		        if "null" in types or None in part.get("enum", ()):
		            assert "null" in types and "null: " in part["description"], path
		        else:
		            assert "null: " not in part.get("description", ""), path
	PY
}

# The schemas of pages and of Parquet files are for iostrata's own pages, and for readers of docs/ENGINE.md.
@test "schemas: the manual has each member of all others" {
	schemas <<-'PY'
		manual = re.sub(r"\\f.|\\", "", pathlib.Path("build/man/iostrata-json.5").read_text())
		names = [name for name in SCHEMAS if name.split(".")[1].split("/")[0] not in ("page", "parquet")]
		assert len(names) >= 8
		for name in names:
		    members = {member for _, part in parts(SCHEMAS[name], name) for member in part.get("properties", ())}
		    told = set(re.findall(r"\w+", manual))
		    lacking = {m for m in members if m.removesuffix("_bytes") not in members - {m}} - told
		    assert len(members) > 5 and not lacking, (name, lacking)
	PY
}

@test "schemas: a line that is not as its schema says is an error, with its path" {
	schemas <<-'PY'
		lost = dict.fromkeys(SCHEMAS["iostrata.top/1"]["$defs"]["lost"]["required"], 0)
		strata = dict.fromkeys(SCHEMAS["iostrata.top/1"]["$defs"]["strata"]["required"], 7)
		op = {"pid": 12, "tid": None, "comm": "dd", "cgroup": "/", "container": None, "file": None, "key": "12",
		      "op": "read", "count": 23, "errors": 0, "bytes": 512, "total_ns": 91, "max_ns": 9, "p99_ns": 8,
		      "strata": strata | {"vfs": None}}
		top = {"schema": "iostrata.top/1", "kernel": "6.1.0", "time": 3, "local_time": None, "duration_ns": 101,
		       "by": "pid", "rows": [],
		       "ops": [op, op], "missing": ["vfs"], "lost": lost, "disks": None}


		def told(*lines):
		    try:
		        schema.objects("".join(json.dumps(line) + "\n" for line in lines))
		    except schema.Invalid as error:
		        return str(error)
		    return ""
		assert not told(top) and not told(top, top)
		assert not told(top | {"ops": [op | {"comm": "d\ufffd", "comm_bytes": "ZP8="}]})
		for change, message in (
		        ({"newer": 1}, "data has newer, which"), ({"kernel": None}, "data.kernel must be string"),
		        ({"ops": [op, op | {"newer": 1}]}, "data.ops[1] has newer, which"),
		        ({"ops": [op | {"count": "23"}]}, "data.ops[0].count must be integer"),
		        ({"ops": [op | {"count": True}]}, "data.ops[0].count must be integer"),
		        ({"ops": [op | {"count": -23}]}, "data.ops[0].count must be bigger"),
		        ({"ops": [op | {"op": "dig"}]}, "data.ops[0].op must be one of"),
		        ({"ops": [op | {"strata": {"vfs": 1}}]}, "data.ops[0].strata has no syscall, fs,"),
		        ({"ops": None}, "data.ops must be array"),
		        ({"lost": lost | {"ring": 0.5}}, "data.lost.ring must be integer"),
		        ({"by": "uid"}, "data.by must be one of"),
		        ({"schema": "iostrata.top/2"}, "no schema 'iostrata.top/2'")):
		    assert message in told(top | change), (change, told(top | change))
		del top["missing"]
		assert "data has no missing" in told(top)
		assert "names no schema" in told({"kernel": "6.1.0"}) and "names no schema" in told([top])
		events = {"schema": "iostrata.events/1"}
		assert not told(events) and "data has no type, start_ns," in told(events, {"op": "read"})
		assert "data has type, which" in told(events | {"type": "op"})
	PY
	printf '%s\n' '{"schema": "iostrata.events/1"}' '{"pid": 1, "pid": 1}' >"$BATS_TEST_TMPDIR/line"
	run -1 tests/schema.py "$BATS_TEST_TMPDIR/line"
	[[ $output == "line: there is more than one pid" ]]
	echo '{"schema": "iostrata.events/1", "newer": 1}' >"$BATS_TEST_TMPDIR/line"
	run -1 tests/schema.py "$BATS_TEST_TMPDIR/line"
	[[ $output == "line: iostrata.events/1: data has newer, which its schema has not" ]]
	run -2 tests/schema.py
}

@test "schemas: JSON in unit tests is as its schema says" {
	for test in breakdown capture funcs page top; do
		make -s "build/unit/test_$test" >/dev/null
		JSON_SEEN=$BATS_TEST_TMPDIR/$test "build/unit/test_$test" >"$BATS_TEST_TMPDIR/ignored" 2>&1
		[[ -s $BATS_TEST_TMPDIR/$test ]]
		tests/schema.py "$BATS_TEST_TMPDIR/$test"
	done
}
