# SPDX-License-Identifier: GPL-2.0-only
# A real terminal for the tests: a pane of tmux, with a shell in it.
# shellcheck shell=bash disable=SC2154 # bats sets them

# pane WIDTH HEIGHT [NAME=VALUE]...: a shell of its own in a pane of that size
pane() {
	local width=$1 height=$2
	shift 2
	tmux_socket=iostrata-$$-$BATS_TEST_NUMBER
	in_tmux new-session -d -x "$width" -y "$height" env LC_ALL=C.UTF-8 "$@" "PS1=> " "PATH=$PATH" \
		"IOSTRATA=$iostrata" "T=$tmp" bash --norc --noprofile
	wait_until shows '^>'
}

in_tmux() { TMUX='' tmux -f /dev/null -L "$tmux_socket" "$@" 3>&- 9>&-; }

pane_end() { [[ -z ${tmux_socket:-} ]] || in_tmux kill-server 2>/dev/null || true; }

screen() { in_tmux capture-pane -p; }

shows() { screen | grep -qE -- "$1"; }

hides() { not shows "$1"; }

# keys KEY...: as tmux names them
keys() { in_tmux send-keys "$@"; }

# types LINE: and Enter
types() {
	in_tmux send-keys -l -- "$1"
	in_tmux send-keys Enter
}

flag() { in_tmux display-message -p "#{$1}"; }

# The states of a terminal that a full screen changes, in a line.
terminal_state() {
	echo "alternate $(flag alternate_on) cursor $(flag cursor_flag) keypad $(flag keypad_flag)" \
		"mouse $(flag mouse_any_flag)"
}

# full_screen REGEX ARGS...: iostrata takes the screen of the pane, and shows REGEX. Leaves its $screen_pid.
full_screen() {
	rm -f "$tmp"/{after,status}
	cat >"$tmp/run" <<-'EOT'
		clear
		stty -g >$T/before
		sh -c 'echo $$ >$T/pid; exec "$IOSTRATA" "$@" 2>$T/err' iostrata "$@"
		echo $? >$T/status
		stty -g >$T/after
		echo done
	EOT
	types ". \$T/run ${*:2}"
	wait_until shows "$1"
	screen_pid=$(<"$tmp/pid")
}

# The full screen has ended with STATUS, and has left the terminal as before.
screen_ended() { # STATUS
	wait_until test -s "$tmp/after"
	wait_until shows '^done'
	cmp "$tmp/before" "$tmp/after"
	is_restored || { terminal_state; false; }
	[[ $(<"$tmp/status") == "$1" ]] || { cat "$tmp/status" "$tmp/err"; false; }
}

is_restored() { [[ $(terminal_state) == "alternate 0 cursor 1 keypad 0 mouse 0" ]]; }

# No line of what is shown is wider than the pane, and nothing is in it that is no text.
is_clean() {
	screen >"$tmp/screen"
	printable "$tmp/screen"
	(($(wc -L <"$tmp/screen") <= $(flag pane_width)))
}
