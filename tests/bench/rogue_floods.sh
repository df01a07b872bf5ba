#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rogue_floods.sh [KIND...]: floods fabricd from one host. The fabric is `fabsim serve` with 648 hosts.
# The host sends RATE (10000) MADs of each kind a second for SECONDS_EACH (30) seconds. At the same time, cables
# are pulled and plugged in again, and another host asks for paths, one request at a time. Prints the figures
# first without a flood, then for each kind: how long reroutes took, the latency of path answers, the resident
# memory and the CPU time of fabricd, and how many of the events before the flood the journal still has.
# With TAP=yes, prints TAP with the figures as comments. It checks only counts and sizes, which do not depend on
# the speed of the machine.
# BUILD_DIR: the folder in which `make tests/bench/sa_flood tests/bench/rogue_flood` ran.
. "$(dirname "$0")/../integration/lib.sh"
simulator=fabsim
[ -n "$umad2sim" ] || need libumad2sim.so
seconds=${SECONDS_EACH:-30}
rate=${RATE:-10000}
kinds=${*:-trap64 trap128 trap144 trap256 unknown get table join service subscribe sminfo control}
asker=$build/tests/bench/sa_flood
rogue=$build/tests/bench/rogue_flood
[ -x "$asker" ] && [ -x "$rogue" ] || { echo "make tests/bench/sa_flood tests/bench/rogue_flood first"; exit 1; }
tap=${TAP:-}
[ -n "$tap" ] || tap_n=-1 # print no TAP
memory_most=64 # MB of memory that all floods together may add to fabricd

"$fabsim" generate leaf-spine --leaves 18 --spines 9 --hosts 36 >net.net || exit 1
sed -n 's/^Ca.*"\(H-[0-9a-f]*\)".*/\1/p' net.net >hosts
lids=$(grep -cE '^(Switch|Ca)' net.net)
# Cables between switches; one end is spelled as in the console: "S-..."[port]
awk '/^Ca/ { n = "" } /^Switch/ { n = $3 } n != "" && /^\[[0-9]+\]/ && $2 ~ /^"S-/ { split($1, p, /[][]/); print n "[" p[2] "]" }' net.net |
    awk 'NR % 37 == 1' >cables
sim_start net.net || { cat sim.err; exit 1; }
printf 'flapping:\n  hold_down: 0\n' >floods.yaml # links are pulled more often than damping allows
manager_start "$(sed -n 1p hosts)" --config "$scratch/floods.yaml"
await 60 settled 0 || { tail -5 fabricd.log; exit 1; }

reroutes() {
    grep -c 'rerouted in' fabricd.log
}
# Waits until there are more than $1 reroutes, which may take long on a busy machine.
rerouted() {
    local i
    for i in $(seq 600); do
        [ "$(reroutes)" -gt "$1" ] && return
        sleep 0.05
    done
    return 1
}
pull() {
    local cable before
    while :; do
        while read -r cable; do
            before=$(reroutes)
            printf 'Unlink %s\n' "$cable" >sim.ctl
            sleep 0.4
            if rerouted "$before"; then echo "$cable" >>pulled; else echo "$cable" >>missed; fi
            printf 'ReLink %s\n' "$cable" >sim.ctl
            sleep 0.4
        done <cables
    done
}

# Reads the journal into the file "journal". On a busy machine, an answer can take longer than
# fabricctl waits, so this function tries several times.
read_journal() {
    local try
    for try in 1 2 3 4 5; do
        ctl event list -n "$1" -o json >journal 2>journal.err && [ -s journal ] && return
        sleep "$try"
    done
    echo "# the journal was not read: $(tail -1 journal.err)"
    return 1
}
# How many events with a sequence number up to $1 the journal has.
kept() {
    read_journal 100000 >&2 && "$python" -c '
import json, sys
d = json.load(sys.stdin)
events = d if isinstance(d, list) else d.get("events", [])
print(sum(int(e.get("sequence", e.get("seq", 0))) <= int(sys.argv[1]) for e in events))' "$1" <journal
}
newest() {
    read_journal 1 >&2 && "$python" -c '
import json, sys
d = json.load(sys.stdin)
events = d if isinstance(d, list) else d.get("events", [])
print(max([int(e.get("sequence", e.get("seq", 0))) for e in events] + [0]))' <journal
}
rss() {
    awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$manager/status"
}
cpu() {
    awk '{ print ($14 + $15) / 100 }' "/proc/$manager/stat"
}
# Repairs of a link that went down, from line $1 of the log: count, median and worst in ms.
repairs() {
    tail -n +"$1" fabricd.log | sed -n 's/.*rerouted in \([0-9.]*\) ms.*/\1/p' | sort -n |
        awk '{ t[NR] = $1 } END { printf "%d, median %s ms, worst %s ms", NR, t[int((NR + 1) / 2)], t[NR] }'
}

# Prints the figures of one kind; with TAP, as comments.
show() {
    if [ -n "$tap" ]; then sed 's/^/# /'; else cat; fi
}
# expect NAME CONDITION: a TAP test case; CONDITION is for awk.
expect() {
    [ -n "$tap" ] || return 0
    if awk "BEGIN { exit !($2) }"; then ok "$1"; else not_ok "$1" "not true: $2"; fi
}
# Checks the figures that must not depend on the speed of the machine.
judge() {
    local kind=$1 last=$2 had=$3 pulled=$4 good asked sent unsent
    good=$(sed -n 's/.* \([0-9]*\) of [0-9]* good.*/\1/p' asker.out)
    asked=$(sed -n 's/.* of \([0-9]*\) good.*/\1/p' asker.out)
    expect "$kind: all answers to another host are good" "${good:-0} > 0 && ${good:-0} == ${asked:--1}"
    expect "$kind: the journal kept what it had" "$(kept "$last") + 0 == ${had:--1}"
    expect "$kind: pulled cables are rerouted" "$pulled > 0 && $(wc -l <missed) == 0"
    expect "$kind: memory is bounded" "$(rss) < $first_rss + $memory_most"
    [ "$kind" != quiet ] || return 0
    sent=$(sed -n 's/.*: \([0-9]*\) sent.*/\1/p' rogue.out)
    unsent=$(sed -n 's/.* \([0-9]*\) not sent.*/\1/p' rogue.out)
    expect "$kind: the flood was sent" "${sent:-0} > 0 && ${unsent:-1} == 0"
}

measure() {
    local kind=$1 line before_rss before_cpu last had pulled
    line=$(($(wc -l <fabricd.log) + 1)) before_rss=$(rss) before_cpu=$(cpu) last=$(newest) had=$(kept "$last")
    : >pulled
    : >missed
    pull &
    local pulling=$!
    pids+=("$pulling")
    if [ "$kind" != quiet ]; then
        "$rogue" "$(sed -n 60p hosts)" "$kind" "$seconds" "$rate" >rogue.out 2>&1 &
        pids+=("$!")
        local flood=$!
    else
        local flood=
        echo quiet >rogue.out
    fi
    timeout $((seconds + 20)) "$asker" "$(sed -n 100p hosts)" "$lids" "$seconds" 1 2000 >asker.out 2>&1
    [ -z "$flood" ] || wait "$flood"
    { kill "$pulling" && wait "$pulling"; } 2>/dev/null
    sleep 2
    sed 's/^/ReLink /' cables >sim.ctl
    sleep 2
    pulled=$(wc -l <pulled)
    {
        cat rogue.out
        echo "    other host: $(cat asker.out)"
        echo "    reroutes: $(repairs "$line"); memory $before_rss to $(rss) MB; CPU $(awk "BEGIN { print $(cpu) - $before_cpu }") s; journal kept $(kept "$last") of $had; $pulled cables pulled"
    } | show
    judge "$kind" "$last" "$had" "$pulled"
}

first_rss=$(rss)
for kind in quiet $kinds; do
    measure "$kind"
done
stop "$manager"
sim_stop
