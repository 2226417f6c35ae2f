# SPDX-License-Identifier: GPL-2.0-only
# Completion for bash. The program itself knows what may follow: see src/base/opts.h.
# shellcheck shell=bash

_iostrata_rest() { # WHAT HOW-MUCH: what the shell itself knows
	local at
	case $1 in
	:files | :dirs)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen "-${1:1:1}" -- "${current:$2}")
		;;
	:command)
		for ((at = 0; at < COMP_CWORD; at++)); do
			[[ ${COMP_WORDS[at]} != -- ]] || break
		done
		if declare -F _command_offset >/dev/null; then
			_command_offset $((at + 1))
		elif ((COMP_CWORD == at + 1)); then
			mapfile -t COMPREPLY < <(compgen -c -- "$current")
		else
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
		fi
		;;
	esac
}

_iostrata() {
	local -a words=()
	local current='' word what glue n=0
	COMPREPLY=()
	# bash has made three words of --option=value
	for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
		if ((n)) && [[ ${words[n - 1]} == --* && ($word == = || ${words[n - 1]} == *=) ]]; then
			words[n - 1]+=$word
		else
			words[n++]=$word
		fi
	done
	current=${words[n - 1]}
	# and replaces the last of them only
	glue=${current%"${current##*[=:]}"}
	while IFS=$'\t' read -r word what; do
		case $word in
		:*) _iostrata_rest "$word" "$what" ;;
		*) COMPREPLY+=("${word#"$glue"}") ;;
		esac
	done < <(iostrata --complete "${words[@]}" 2>/dev/null)
}

complete -F _iostrata iostrata
