# SPDX-License-Identifier: GPL-2.0-only
# The schemas of docs/schema, and that whatever is not as they say is seen.

load lib

schemas() { # Python from stdin, with all schemas by their names
	{ cat <<-'PY'; cat; } | PYTHONPATH=tests python3 -
		import copy, json, pathlib, re, sys
		sys.dont_write_bytecode = True
		import schema
		SCHEMAS = {"iostrata." + f.stem.replace("-", "/"): json.loads(f.read_text())
		           for f in pathlib.Path("docs/schema").iterdir()}


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

@test "each schema that the sources name is in docs/schema, and no other; so is each that documents name" {
	mapfile -t files < <(c_files | grep '^src/')
	# "iostrata.breakdown/2" is what a change of a field would make
	grep -ohE '"iostrata\.[a-z]+/[0-9]+"' man/*.scd docs/*.md docs/design/*.md ./*.md |
		grep -vxF '"iostrata.breakdown/2"' | sort -u | tr -d '"' |
		sed 's,^iostrata\.\(.*\)/,docs/schema/\1-,; s/$/.json/' >"$BATS_TEST_TMPDIR/named"
	(($(wc -l <"$BATS_TEST_TMPDIR/named") > 7))
	xargs ls <"$BATS_TEST_TMPDIR/named" >/dev/null
	schemas < <(echo "found = '''$(grep -ohE '"iostrata\.[a-z]+/[0-9]+"' "${files[@]}")'''"; cat <<-'PY'
		assert set(re.findall(r'"(.*)"', found)) == set(SCHEMAS), (found, SCHEMAS.keys())
		assert all(one["title"] == name for name, one in SCHEMAS.items())
	PY
	)
}

@test "each list of strata in a schema has all of them" {
	mapfile -t strata < <(sed -n '/^const struct opt_term strata_terms/,/^};/p' src/base/names.c |
		sed -n 's/.*\[ST_[A-Z]*\] = { "\([a-z]*\)".*/\1/p')
	((${#strata[@]} > 9))
	schemas < <(echo "strata = '${strata[*]}'.split()"; cat <<-'PY'
		looked_at = set()
		def lists(path, one):
		    """Each list of texts, and the names of each object, with its path."""
		    if isinstance(one, dict):
		        yield path, set(one)
		    elif isinstance(one, list):
		        yield path, {text for text in one if isinstance(text, str)}
		    inside = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
		    for name, inner in inside:
		        yield from lists(f"{path}.{name}", inner)
		for name, whole in SCHEMAS.items():
		    for path, found in lists(name, whole):
		        for suffix in ("", "_ns"):
		            if len({s + suffix for s in strata} & found) > 3:
		                lacking = {s + suffix for s in strata} - found
		                assert not lacking, (path, lacking)
		                looked_at.add(name)
		assert len(looked_at) >= 7, looked_at
	PY
	)
}

@test "of each field a schema says type, unit and meaning, and of each object all fields" {
	schemas <<-'PY'
		for name, whole in SCHEMAS.items():
		    used = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(whole)))
		    assert used == set(whole.get("$defs", {})), (name, used)
		    for path, part in parts(whole, name):
		        types = part.get("type", [])
		        types = [types] if isinstance(types, str) else types
		        assert part["description"][-1] in ".?", path
		        assert types or "$ref" in part or "const" in part, path
		        assert ("unit" in part) == bool({"integer", "number"} & set(types)), path
		        assert ("items" in part) == ("array" in types), path
		        if "object" in types and "if" not in part:
		            fields = set(part["properties"])
		            assert part["additionalProperties"] is False and fields >= set(part["required"]), path
		            for field in fields:
		                assert not field.endswith("_ns") or part["properties"][field]["unit"] == "ns", (path, field)
		                twin = field.removesuffix("_bytes")
		                assert twin == field or twin not in fields or field not in part["required"], (path, field)
		        if "null" in types or None in part.get("enum", ()):
		            assert "null" in types and "null: " in part["description"], path
		        elif not path.endswith("strata") and "array" not in types:
		            assert "null: " not in part["description"], path
	PY
}

# The schemas of pages and of Parquet files are for iostrata's own pages, and for readers of docs/ENGINE.md.
@test "the manual has each member of JSON, and docs/FORMAT.md those of recordings" {
	schemas <<-'PY'
		manual = re.sub(r"\\f.|\\", "", pathlib.Path("build/man/iostrata-json.5").read_text())
		pages = {name: manual for name in SCHEMAS if name.split(".")[1].split("/")[0] not in ("page", "parquet")}
		# its requests to servers are rows of breakdown's
		pages["iostrata.capture/1"] = manual + pathlib.Path("docs/FORMAT.md").read_text()
		assert len(pages) >= 8
		for name, page in pages.items():
		    members = {member for _, part in parts(SCHEMAS[name], name) for member in part.get("properties", ())}
		    told = set(re.findall(r"\w+", page))
		    lacking = {m for m in members if m.removesuffix("_bytes") not in members - {m}} - told
		    assert len(members) > 5 and not lacking, (name, lacking)
	PY
}

@test "a line that is not as its schema says is told, with its path" {
	schemas <<-'PY'
		lost = dict.fromkeys(SCHEMAS["iostrata.top/1"]["$defs"]["lost"]["required"], 0)
		strata = dict.fromkeys(SCHEMAS["iostrata.top/1"]["$defs"]["strata"]["required"], 7)
		op = {"pid": 12, "tid": None, "comm": "dd", "cgroup": "/", "container": None, "file": None, "key": "12",
		      "op": "read", "count": 23, "errors": 0, "bytes": 512, "total_ns": 91, "max_ns": 9, "p99_ns": 8,
		      "strata": strata | {"vfs": None}}
		top = {"schema": "iostrata.top/1", "kernel": "6.1.0", "time": 3, "local_time": None, "duration_ns": 101,
		       "by": "pid", "rows": [],
		       "ops": [op, op], "missing": ["vfs"], "lost": lost}


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

@test "JSON that unit tests look at is as its schema says" {
	for test in breakdown capture funcs top; do
		make -s "build/unit/test_$test" >/dev/null
		JSON_SEEN=$BATS_TEST_TMPDIR/$test "build/unit/test_$test" >"$BATS_TEST_TMPDIR/ignored" 2>&1
		[[ -s $BATS_TEST_TMPDIR/$test ]]
		tests/schema.py "$BATS_TEST_TMPDIR/$test"
	done
}
