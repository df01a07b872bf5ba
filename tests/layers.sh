#!/bin/sh
# layers.sh: checks the rules for includes and calls. Prints TAP.
#
# 1. A room includes only rooms on lower floors (the tables below; see CONTRIBUTING.md). The folders of a room may
#    have ranks. A folder includes only folders of lower rank, and the files of the room itself.
# 2. Only fabricd/loop, the connections of rpc with their TLS, and the HTTP server of metrics include <event2/...>.
#    libfabmgr and the command line tools never include rooms of the daemon.
# 3. Every source file is listed in a local.mk; otherwise no tarball has it.
# 4. libfabmgr without its client calls only memory functions (including madvise) and string
#    functions.
set -u
top=${abs_top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
build=${abs_top_builddir:-$top}
nm=${NM:-nm} # may have options, as in "nm -B", so it is never quoted
objdump=${OBJDUMP:-objdump}
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

# floor and room
library_floors='
0 base
1 wire
1 grpc
2 fabric
2 policy
2 registry
2 svg
3 target
3 mads
3 discover
3 smstate
3 health
3 hosts
3 inventory
3 cabling
4 address
4 route
4 mcast
4 partition
4 qos
4 congestion
4 counters
5 verify
5 plan
5 repair
5 traffic
6 view
6 study
6 spanning
6 transition
7 sa
7 export
4 sim
4 recording
4 opensm
2 client
'
# The daemon. Every room may use libfabmgr, except those named in forbidden_rooms. fabricd/sm itself
# has only the public header; tests/calls.sh checks the calls between its folders.
daemon_floors='
0 base
1 loop
2 config
2 transport
2 store
3 agent
3 replica
3 alerts
4 sm
4.1 sm/model
4.2 sm/core
4.3 sm/mcast
4.4 sm/ha
4.5 sm/links
4.6 sm/apply
4.7 sm/sweep
4.75 sm/scrub
4.77 sm/keys
4.8 sm/fault
4.9 sm/wiring
5 pm
5 inventory
5 hardware
5 cc
5 policy
5 sa
6 rpc
6 metrics
'
# The folders of a room, by rank. Files directly in the room may include all folders of the room.
library_folders='
0 route/graph
1 route/updown
2 route/balance
2 route/dependencies
3 route/detours
2 route/fattree
2 route/grid
3 route/dragonfly
3 route/nue
3 route/local_search
4 route/engines
'
daemon_folders='
'
# Rooms that only read must not reach the wire. (The service that puts faults into the simulated fabric may:
# it exists only if there is no wire.)
forbidden_rooms='
fabricd/rpc fabricd/transport
fabricd/rpc fabricd/agent
fabricd/metrics fabricd/transport
fabricd/metrics fabricd/agent
'

# includes TREE: prints "FILE ROOM-INCLUDING ROOM-INCLUDED" for every include with a path.
includes() {
    (cd "$top" && find "$1" -name '*.[ch]' -exec grep -H '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' {} +) |
        sed -n 's|^\(\([^:]*\)/[^/:]*\):[^"]*"\([^"]*\)/[^/"]*".*|\1 \2 \3|p'
}

# upward TREE FLOORS FOLDERS: prints includes within a tree that do not go down.
upward() {
    { echo "$2"; echo "$3"; echo .; includes "$1"; } | awk -v tree="$1" '
        function room(path, part) { split(path, part, "/"); return part[1] "/" part[2] }
        function judge(what, from, to) {
            if (!(from in floor)) print $1 ": " what " " from " is not listed in tests/layers.sh"
            else if (!(to in floor)) print $1 ": " what " " to " is not listed in tests/layers.sh"
            else if (floor[from] <= floor[to])
                print $1 ": " from " (" floor[from] ") includes " to " (" floor[to] ")" }
        $0 == "." { reading = 1; next }
        !reading { if (NF == 2) floor[tree "/" $2] = $1; next }
        $2 == tree { next }                                  # the top of the tree connects all rooms
        index($3, tree "/") != 1 || $2 == $3 { next }
        room($2) != room($3) { judge("room", room($2), room($3)); next }
        $2 != room($2) && $3 != room($3) { judge("folder", $2, $3) }'
}

# crossing TREE PATTERN: prints includes in TREE that match PATTERN.
crossing() {
    includes "$1" | awk -v pattern="$2" '$3 ~ pattern { print $1 ": includes " $3 }'
}

forbidden() {
    echo "$forbidden_rooms" | while read -r from to; do
        if [ -n "$from" ]; then
            includes "$from" | awk -v to="$to" '$3 == to && $1 !~ /\/[a-z_]*sim[a-z_]*[.]c$/ { print $1 ": must not reach " to }'
        fi
    done
}

event_users() {
    (cd "$top" && grep -rln --include='*.[ch]' '#[[:space:]]*include[[:space:]]*<event' libfabmgr fabricd cli |
        grep -Ev '^fabricd/(loop/|metrics/http[.]c$|rpc/(tls|listen|conn)[a-z_]*[.][ch]$)')
}

# System headers with side effects, which libfabmgr must not have.
library_system_headers() {
    (cd "$top" && grep -rnE --include='*.[ch]' \
        '#[[:space:]]*include[[:space:]]*<(sys/([^m]|m[^m])|pthread|time|unistd|fcntl|poll|signal|syslog|netinet|arpa|infiniband|sqlite|nghttp2|openssl|threads)' \
        libfabmgr | grep -v '^libfabmgr/client/')
}

# Source files that no local.mk lists. Folders with only headers are interfaces without an implementation.
unlisted() {
    (
        cd "$top" || exit
        find . -path './build*' -prune -o -name '*.mk' -exec cat {} + | tr -s ' \t\\' '\n' | sed 's|.*/||' | sort -u >"$scratch"
        find libfabmgr fabricd cli tests -name '*.[ch]' | sort | while read -r file; do
            if ls "${file%/*}"/*.c >/dev/null 2>&1 && ! grep -qxF "${file##*/}" "$scratch"; then
                echo "$file is in no local.mk nor a file that one includes"
            fi
        done
    )
}

scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
report 'libfabmgr: includes go down only' "$(upward libfabmgr "$library_floors" "$library_folders")"
report 'fabricd: includes go down only' "$(upward fabricd "$daemon_floors" "$daemon_folders")"
report 'libfabmgr includes nothing of fabricd, cli, proto' \
    "$(crossing libfabmgr '^(fabricd|cli)(/|$)'; crossing libfabmgr '^(proto|fabric/v1)' | grep -v '^libfabmgr/client/')"
report 'cli includes nothing of fabricd' "$(crossing cli '^fabricd(/|$)')"
report 'rpc cannot reach a transport' "$(forbidden)"
report 'only fabricd/loop, the connections of rpc and the HTTP of metrics include libevent' "$(event_users)"
report 'every source file is listed in a local.mk' "$(unlisted)"
report 'libfabmgr includes no system header with effects' "$(library_system_headers)"

# Functions that libfabmgr may call: for memory and strings. The rest of the pattern is what compilers add.
# __divti3 and its kin are gcc's own division of 128 bits; it takes the signed one for unsigned numbers, too, if it
# knows that their first bit is 0.
allowed='^(mem(cpy|move|set|cmp|chr|rchr|mem)|malloc|calloc|realloc|reallocarray|free|aligned_alloc|madvise'
allowed=$allowed'|str[a-z]+|stpn?cpy|__isoc(99|23)_(strto[a-z]*|sscanf)|v?snprintf|sscanf|qsort|qsort_r|bsearch|l?l?abs'
allowed=$allowed'|to(upper|lower)|is[a-z]*|__ctype_[a-z_]*|abort|__assert_fail|rawmemchr|bcmp'
allowed=$allowed'|__[a-z0-9_]*_chk|__stack_chk_fail|__(asan|ubsan|sanitizer|sancov|gcov|llvm|lsan|msan|tsan)_.*'
allowed=$allowed'|_GLOBAL_OFFSET_TABLE_|__tls_get_addr|__start___.*|__stop___.*|__u?divti3|__u?modti3|__popcount[a-z0-9]*)$'

archive=$build/libfabmgr/.libs/libfabmgr.a
[ -f "$archive" ] || archive=$build/libfabmgr/libfabmgr.a

outside_calls() {
    $nm -A -P "$archive" | awk '
        $3 ~ /^[Uvw]$/ && NF >= 3 { if (!($2 in user)) user[$2] = $1; next }
        $3 ~ /^[A-Z]$/ { defined[$2] = 1 }
        END { for (s in user) if (!(s in defined)) print s, user[s] }' |
        while read -r symbol object; do
            echo "$symbol" | grep -Eq "$allowed" || echo "${object%:} calls $symbol"
        done
}

# A named object in writable memory is a global. Constant tables of pointers are in
# .data.rel.ro, which the loader makes read-only.
globals() {
    "$objdump" -t "$archive" | awk '
        /file format/ { object = $1; next }
        / O [.](data|bss|tdata|tbss)|[*]COM[*]/ && !/[.]data[.]rel[.]ro/ { print object " has writable data: " $NF }'
}

# Exported symbols are fab_<room> or fab_<room>_...; the room is the folder of the object that exports the symbol.
# An object of an earlier layout is ignored, because the archive does not have its symbols.
misnamed() {
    $nm -P "$archive" | awk '$2 ~ /^[TDRB]$/ { print $1 }' >"$scratch"
    (cd "$build" && find libfabmgr -name '*.o' ! -path 'libfabmgr/client/*' | while read -r object; do
        room=${object#libfabmgr/}
        room=${room%%/*}
        $nm -P "$object" | awk -v room="$room" -v object="$object" '
            FNR == NR { archived[$1] = 1; next }
            $2 ~ /^[TDRB]$/ && $1 in archived && $1 !~ "^fab_" room "(_|$)" && $1 !~ /^__/ {
                print object " exports " $1 }' "$scratch" -
    done)
}

if [ -f "$archive" ] && $nm "$archive" >/dev/null 2>&1; then
    report 'libfabmgr calls only memory and string functions' "$(outside_calls)"
    report 'libfabmgr exports fab_<room>_... only' "$(misnamed)"
    case $($nm "$archive" 2>/dev/null) in
    *__asan_* | *__gcov* | *__llvm_*)
        n=$((n + 1))
        echo "ok $n - libfabmgr has no mutable global # SKIP instrumented build" ;;
    *) report 'libfabmgr has no mutable global' "$(globals)" ;;
    esac
else
    report 'libfabmgr calls only memory and string functions' "cannot read $archive: run make first"
fi
echo "1..$n"
[ "$failed" -eq 0 ]
