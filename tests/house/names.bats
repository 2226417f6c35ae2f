# SPDX-License-Identifier: GPL-2.0-only
# Comments and documents name functions and files that exist.

load lib

@test "each function and file named in a comment or document is there" {
	none python3 tests/house/names.py .
}

@test "a function or file that is not there is found, wherever it is named" {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p src/base tests/house docs/design
	printf '%s\n' '/* a.c - calls here(), gone() and strlen(); see a.h, b.h and base/a.c. */' \
		'int here(void); // not_here()' 'char *text = "/* in_text() */";' >src/base/a.c
	: >src/base/a.h
	printf '%s\n' 'See `a.c`, `c.md` and build/x.md.' '' 'in_text() and lost() are' >docs/design/a.md
	printf '%s\n' 'strlen() # of the C library' >tests/house/names-elsewhere
	run -0 python3 "$OLDPWD/tests/house/names.py" .
	[[ $(sort <<<"$output") == "docs/design/a.md:1: there is no c.md
docs/design/a.md:3: there is no lost()
src/base/a.c:1: there is no b.h
src/base/a.c:1: there is no gone()
src/base/a.c:2: there is no not_here()" ]]

	echo 'memcpy()' >>tests/house/names-elsewhere
	run -0 python3 "$OLDPWD/tests/house/names.py" .
	[[ $output == *"nothing names memcpy()"* ]]
}
