#!/bin/sh
# events.sh: checks that the table of events (fabricd/base/events.def), the man page and the code agree. Prints TAP.
set -u
top=${abs_top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
build=${abs_top_builddir:-$top}
nm=${NM:-nm} # may have options, as in "nm -B", so it is never quoted
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
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

table=$top/fabricd/base/events.def
sed -n 's/^EVENT(\([a-z_]*\), .*/\1/p; s/^FORM(\([a-z_]*\), .*/\1/p' "$table" >"$work/ids"
sed -n 's/^EVENT([a-z_]*, "\([a-z-]*\)".*/\1/p' "$table" | sort >"$work/types"
[ -s "$work/ids" ] && [ -s "$work/types" ] || { echo 'Bail out! the table cannot be read'; exit 1; }

# The man page is the output of events_page for the table.
"$build/doc/events_page" >"$work/page" || { echo 'Bail out! no doc/events_page'; exit 1; }
report 'fabricd-events.7 is as the table has it; if not: build/doc/events_page >doc/fabricd-events.7' \
    "$(diff "$top/doc/fabricd-events.7" "$work/page")"
sed -n 's/^\.It Sy //p' "$top/doc/fabricd-events.7" >"$work/told"
report 'fabricd-events.7 has every type' "$(diff "$work/types" "$work/told")"

# No code emits an event of a type that is not in the table, or compares types with a text.
sed 's/.*/"&"/' "$work/types" >"$work/quoted"
report 'no type of an event is spelt outside of the table' "$(cd "$top" &&
    find fabricd libfabmgr -name '*.[ch]' | xargs grep -nFf "$work/quoted")"
report 'only the table publishes events' "$(cd "$top" &&
    find fabricd -name '*.c' ! -path fabricd/base/events.c ! -path fabricd/base/bus.c | xargs grep -n 'bus_publish(')"

# Every emitting function is called.
find "$build/fabricd" -name '*.o' ! -name '*-events.o' ! -path '*/.libs/*' |
    xargs $nm -u | sed -n 's/^ *U event_//p' | sort -u >"$work/called"
report 'every event is emitted somewhere' "$(sort "$work/ids" | comm -23 - "$work/called")"

echo "1..$n"
exit $((failed > 0))
