# SPDX-License-Identifier: GPL-2.0-only
# Completion for fish. The program itself knows what may follow: see src/base/opts.h.

function __iostrata_complete
    set -l words (commandline -opc)[2..-1]
    set -l current (commandline -ct)
    for line in (iostrata --complete $words "$current" 2>/dev/null)
        set -l fields (string split -m 1 \t -- $line)
        switch $fields[1]
            case :files :dirs
                set -l kept (string sub -l $fields[2] -- $current)
                set -l name (string sub -s (math $fields[2] + 1) -- $current)
                for path in (complete -C "'' $name")
                    test $fields[1] = :files; or string match -q '*/' (string split \t -- $path)[1]
                    and echo $kept$path
                end
            case :command
                complete -C (string join ' ' -- (string escape -- $words[(math $fields[2] + 1)..-1]) $current)
            case '*'
                echo $line
        end
    end
end

complete -c iostrata -f -a '(__iostrata_complete)'
