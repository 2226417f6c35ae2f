# SPDX-License-Identifier: GPL-2.0-only
# Functions which the tests of the sources share. Run from the top of the tree: bats tests/house
# shellcheck shell=bash disable=SC2034 # used by the tests

bats_require_minimum_version 1.5.0

# Every file that belongs to the project.
files() {
	if [[ -e .git ]]; then
		git -c safe.directory='*' ls-files -co --exclude-standard
	else
		find . -path ./build -prune -o -type f -printf '%P\n'
	fi | while read -r file; do [[ ! -f $file || $file == *.png ]] || echo "$file"; done
}

# The names of all commands.
commands() { sed -n '/^extern const struct cmd /,/;/p' src/run/cmd.h | grep -oE 'cmd_[a-z]+' | sed 's/^cmd_//'; }

c_files() { files | grep -E '\.[ch]$'; }

# Programs and libraries in other languages, told by name or by their first line.
scripts() {
	files | grep -vE '\.([ch]|md|json|txt|scd)$' | while read -r file; do
		case $file in
		*.py | *.bats | *.bash) echo "$file" ;;
		*) ! head -n 1 "$file" | grep -q '^#!' || echo "$file" ;;
		esac
	done
}

# none COMMAND...: it prints nothing; what it prints is wrong, also that it cannot read a file.
none() {
	local found
	found=$("$@" 2>&1 || true)
	[[ -z $found ]] || { echo "$found"; return 1; }
}

# finds REGEX FILES: "FILE:LINE:TEXT", comments of C left out
finds() {
	local -x regex=$1
	shift
	[[ $# -gt 0 ]] || { echo "no files"; return; }
	awk 'BEGIN { regex = ENVIRON["regex"] }
		{ text = $0; gsub(/\/\*.*\*\//, "", text); sub(/\/\/.*/, "", text); sub(/\/\*.*/, "", text) }
		text ~ /^[ \t]*\*/ { next }
		text ~ regex { print FILENAME ":" FNR ":" $0 }' "$@"
}
