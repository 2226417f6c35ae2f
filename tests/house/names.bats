# SPDX-License-Identifier: GPL-2.0-only
# Comments, the manual and documents name functions and files that exist; names in code follow the glossary.

load lib

@test "each function and file named in a comment, the manual or a document exists" {
	none python3 tests/house/names.py .
}

@test "a missing function or file is found in each kind of text" {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p src/base tests/house tests/vm docs/design man
	printf '%s\n' '/* a.c - calls here(), gone() and strlen(); see a.h, b.h and base/a.c. */' \
		'int here(void); // not_here()' 'char *text = "/* in_text() */";' >src/base/a.c
	: >src/base/a.h
	printf '%s\n' 'See `a.c`, `c.md` and build/x.md.' '' 'in_text() and lost() are' >docs/design/a.md
	printf '%s\n' 'As tests/vm/boot, tests/v*, docs/design and tests/vm/none say.' >man/a.scd
	printf '%s\n' '// on_test() of tests/none/*' >tests/vm/a.c
	printf '%s\n' '# see docs/b.md' 'in_code = "docs/c.md"' >tests/vm/a.py
	: >tests/vm/boot
	printf '%s\n' 'strlen() # of the C library' >tests/house/names-elsewhere
	run -0 python3 "$OLDPWD/tests/house/names.py" .
	[[ $(sort <<<"$output") == "docs/design/a.md:1: there is no c.md
docs/design/a.md:3: there is no lost()
man/a.scd:1: there is no tests/vm/none
src/base/a.c:1: there is no b.h
src/base/a.c:1: there is no gone()
src/base/a.c:2: there is no not_here()
tests/vm/a.c:1: there is no on_test()
tests/vm/a.c:1: there is no tests/none/*
tests/vm/a.py:1: there is no docs/b.md" ]]

	echo 'memcpy()' >>tests/house/names-elsewhere
	run -0 python3 "$OLDPWD/tests/house/names.py" .
	[[ $output == *"nothing names memcpy()"* ]]
}

@test "no name in code of user space is a word that the glossary rules out" {
	sources=$(find src -name '*.[ch]' ! -path 'src/bpf/*')
	# strings are messages, and members of JSON
	named() { finds "[A-Za-z0-9_]*($1)[A-Za-z0-9_]*" "${@:2}" | sed -E 's/"(\\.|[^"\\])*"//g' |
		grep -E "[A-Za-z0-9_]*($1)" | grep -vE '/\*[^/]*$' || true; }
	grep -q '^No name in code says unread, unseen, unprobed or kept\.' docs/ARCHITECTURE.md
	# shellcheck disable=SC2086 # a list of files
	none named 'unread|unseen|unprobed|kept' $sources
	[[ -n $(printf 'int n_kept;\nint a; /* kept */\n' >"$BATS_TEST_TMPDIR/a.c"; named kept "$BATS_TEST_TMPDIR/a.c") ]]
}

@test "each file of the page's script is in the page" {
	diff <(cd src/page/script && printf '%s\n' *.js | sed 's/\.js$//') \
		<(sed -n '/^scripts="/,/"$/p' src/page/assemble | tr -d '"' | sed 's/^scripts=//' | xargs -n 1 | sort)
}
