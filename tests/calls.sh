#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# calls.sh: checks that calls within fabricd/sm go in one direction. Prints TAP.
#
# Each folder of fabricd/sm has a rank. An object may use symbols of its own folder and of folders
# with a lower rank. Calls to folders with a higher rank go through struct sm_wiring
# (fabricd/sm/core/core.h). The symbols come from nm, so no declaration can hide a call. The
# headers that define the state of a folder (state.h) are included only in that folder.
set -u
top=${abs_top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
build=${abs_top_builddir:-$top}
nm=${NM:-nm} # may have options, as in "nm -B", so it is never quoted
ranks='model core mcast ha links apply sweep scrub keys fault wiring' # from low to high

n=0
failed=0
# report NAME PROBLEMS: prints a TAP line, and each problem as a comment.
report() {
    n=$((n + 1))
    if [ -z "$2" ]; then
        echo "ok $n - $1"
    else
        failed=$((failed + 1))
        echo "not ok $n - $1"
        printf '%s\n' "$2" | sed 's/^/# /'
    fi
}

# symbols: prints "FOLDER OBJECT TYPE NAME" for every symbol of every object.
symbols() {
    for folder in $ranks; do
        for source in "$top/fabricd/sm/$folder"/*.c; do
            object=libfabricd_a-$(basename "$source" .c).o
            $nm -P "$build/fabricd/sm/$folder/$object" | awk -v f="$folder" -v o="$folder/${object#*-}" '{ print f, o, $2, $1 }'
        done
    done
}

upward_calls() {
    symbols | awk -v ranks="$ranks" '
        BEGIN { split(ranks, name, " "); for (i in name) rank[name[i]] = i }
        $3 == "U" { users[$4] = users[$4] " " $2; next }
        $3 ~ /^[A-Z]$/ { home[$4] = $1 }
        END {
            for (symbol in home) {
                count = split(users[symbol], user, " ")
                for (i = 1; i <= count; i++) {
                    from = substr(user[i], 1, index(user[i], "/") - 1)
                    if (from != home[symbol] && rank[from] + 0 <= rank[home[symbol]] + 0)
                        print user[i] " uses " symbol " of " home[symbol]
                }
            }
        }' | sort
}

folders_without_rank() {
    for folder in "$top"/fabricd/sm/*/; do
        case " $ranks " in
        *" $(basename "$folder") "*) ;;
        *) echo "fabricd/sm/$(basename "$folder") has no rank in tests/calls.sh" ;;
        esac
    done
}

foreign_states() {
    (cd "$top/fabricd" && grep -rn --include='*.[ch]' 'include "fabricd/sm/[a-z]*/state[.]h"' .) |
        awk -F'[/:"]' '{ split($0, part, "\""); split(part[2], path, "/"); if (index($0, "./sm/" path[3] "/") != 1) print $0 }'
}

from_outside() {
    (cd "$top" && grep -rn --include='*.[ch]' 'include "fabricd/sm/[a-z]*/' fabricd cli libfabmgr) | grep -v '^fabricd/sm/'
}

report 'every folder of fabricd/sm has a rank' "$(folders_without_rank)"
report 'calls within fabricd/sm go down only' "$(upward_calls)"
report 'the state of a folder is known in that folder only' "$(foreign_states)"
report 'other rooms include sm.h only' "$(from_outside)"
echo "1..$n"
[ "$failed" -eq 0 ]
