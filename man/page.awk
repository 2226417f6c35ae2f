# SPDX-License-Identifier: GPL-2.0-only
# Fills in a manual page: a line "@COMMAND PART@" becomes what 'iostrata --scdoc COMMAND PART' prints,
# and @VERSION@ in another line the version. A part that prints nothing is an error.
/^@[a-z]+ .+@$/ {
	at = index($0, " ")
	run = program " --scdoc " substr($0, 2, at - 2) " '" substr($0, at + 1, length($0) - at - 1) "'"
	lines = 0
	while ((run | getline line) > 0) {
		print line
		lines++
	}
	close(run)
	if (!lines)
		exit 1
	next
}
{ gsub(/@VERSION@/, version); print }
