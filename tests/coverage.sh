#!/bin/sh
# coverage.sh: prints the share of lines that were executed and of branches that were taken, for each file and in
# total. The file with the fewest executed lines is first. Run it after `make check` in a build made with
# --enable-coverage. Needs only gcov, which is part of gcc. A branch is one result of a condition, as counted by
# gcov -b.
set -eu
find libfabmgr fabricd cli -name '*.gcda' -exec gcov -b -n {} + 2>/dev/null | awk '
    /^File / { file = $0; sub(/^File ./, "", file); sub(/.$/, "", file); next }
    file ~ /^\/usr|pb-c|^tests/ { next }
    /^Lines executed:/ {
        split($2, part, /[:%]/)
        better = !(file in lines) || part[2] > share[file]
        if (better) { share[file] = part[2]; lines[file] = $4; taken[file] = 0; branches[file] = 0 }
    }
    /^Taken at least once:/ && better { split($4, part, /[:%]/); taken[file] = part[2]; branches[file] = $6 }
    END {
        for (f in lines) {
            printf "%6.1f %% of %5d lines, %5.1f %% of %5d branches  %s\n", share[f], lines[f],
                branches[f] ? taken[f] : 100, branches[f], f | "sort -n"
            all += lines[f]; run += lines[f] * share[f] / 100
            all_branches += branches[f]; run_branches += branches[f] * taken[f] / 100
        }
        close("sort -n")
        printf "%6.1f %% of %5d lines, %5.1f %% of %5d branches  in total\n", all ? 100 * run / all : 0, all,
            all_branches ? 100 * run_branches / all_branches : 0, all_branches
    }'
