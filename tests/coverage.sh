#!/bin/sh
# coverage.sh: in a build made with --enable-coverage, after `make check`: lines executed, a file
# and in total, least covered first. Needs only gcov, which comes with gcc.
set -eu
find libfabmgr fabricd cli -name '*.gcda' -exec gcov -n {} + 2>/dev/null | awk '
    /^File / { file = $0; sub(/^File ./, "", file); sub(/.$/, "", file); next }
    /^Lines executed:/ && file !~ /^\/usr|pb-c|^tests/ {
        split($2, part, /[:%]/)
        if (!(file in lines) || part[2] > share[file]) { share[file] = part[2]; lines[file] = $4 }
        file = "/usr"
    }
    END {
        for (f in lines) {
            printf "%6.1f %% of %5d  %s\n", share[f], lines[f], f | "sort -n"
            all += lines[f]; run += lines[f] * share[f] / 100
        }
        close("sort -n")
        printf "%6.1f %% of %5d  in total\n", all ? 100 * run / all : 0, all
    }'
