#!/bin/bash
# test_standby.sh: what a standby manager knows. It answers queries with what it read. When the master dies and a link
# fails in the same instant, it repairs the routes at once if the tables follow the order that the master announced by
# etcd. If the master was changing all tables, it reads all of them first. If the master changed some blocks, it reads only
# these. ibsim, 128 hosts, 80 switches.
. "$(dirname "$0")/lib.sh"
need ibsim etcd etcdctl openssl sqlite3 gcc
[ -n "$umad2sim" ] || need libumad2sim.so
. "$here/etcd.sh"
gcc -O2 -shared -fPIC -o umadcount.so "$top/tests/bench/umadcount.c" -ldl || need libibumad-dev
# shellcheck disable=SC2034 # named() of etcd.sh starts managers with it
umad2sim="$scratch/umadcount.so $umad2sim"

"$fabsim" generate fat-tree --radix 8 --levels 3 >fabric.net
mapfile -t hosts < <(sed -n 's/^Ca[^"]*"\([^"]*\)".*/\1/p' fabric.net)
[ "$(id -u)" != 0 ] || sysctl -qw net.unix.max_dgram_qlen=4096 2>/dev/null

# manager NAME HOST PRIORITY [RATE]
manager() {
    export UMADCOUNT_FILE=$scratch/$1.counts
    rm -f "$UMADCOUNT_FILE"
    named "$1" "$2" "$3" "standby_rate: ${4:-100000}"
}
order() {
    etcd_ctl get --print-value-only fabricd/fe80000000000000/order
}
announced() {
    order | grep -Eq '^claim [0-9]+ order( [0-9a-f]{16}){80} links [0-9a-f]{16}$'
}
ready() {
    grep -q sm-standby-ready "$1.log"
}
# die_after NAME WRITES: the manager sends this number of further writes of LFT blocks, and is then killed (umadcount.c).
die_after() {
    "$python" -c 'import struct, sys
with open(sys.argv[1], "r+b") as f:
    f.seek(72)
    f.write(struct.pack("Q", int(sys.argv[2])))' "$scratch/$1.counts" "$2"
}
# repaired_first NAME: the log has the local repair before the sweep that followed the take-over.
repaired_first() {
    sed -n '/ sm-master:/,$p' "$1.log" | grep -oE ' (reroute-done|sweep-done):' | head -1 | grep -q reroute-done
}
sound() {
    ctl_of "$1" status -o json | "$python" -c 'import json, sys
s = json.load(sys.stdin)
assert s["deadlock_free"] and s["unreachable_pairs"] == 0 and s["alarm"] == "", s'
}

etcd_prepare 1
etcd_start 1
check 'etcd starts' await 20 etcd_answers
sim_start fabric.net || not_ok 'the simulator starts'
manager a "${hosts[0]}" 5
a=$started
check 'the first manager is master' await 60 idle a
check 'it announces the order of its tables' await 10 announced
manager b "${hosts[127]}" 4
b=$started
check 'the second one is standby' await 30 role_is b standby
check 'and reads the tables' await 60 ready b

# ---- queries
nodes() {
    ctl_of "$1" node list --no-headers | sort
}
shown() {
    [ "$(ctl_of b node list -o name | wc -l)" -eq 208 ]
}
check 'the standby manager lists the nodes' await 20 shown
same 'the same as the master' "$(nodes a)" "$(nodes b)"
same 'and the same path' "$(ctl_of a path host-0001 host-0100)" "$(ctl_of b path host-0001 host-0100)"
like 'its status says how old this is' "$(ctl_of b status)" '^Shown: +what this manager read .* ago'
check 'in seconds' test "$(ctl_of b status -o json | field view_age_s)" -lt 30
check 'the master shows no age' test "$(ctl_of a status -o json | field view_age_s)" = null
for change in 'link isolate leaf-001/5' 'port disable leaf-001/1' 'topo approve' 'node approve host-0001' 'node forget --older-than 1d --yes' 'drain host host-0001 --yes' sweep reroute; do
    # shellcheck disable=SC2086
    like "it refuses $change" "$(ctl_of b $change 2>&1)" 'this manager is standby; ask the master at LID'
done

# ---- the master dies, and a link fails: repaired at once
sleep 1 # the next round in standby has begun after the announcement
stop "$a" KILL
sim_do 'Unlink "S-0002c90100000013"[7]' # sim_do pauses after the command
check 'the standby manager is master' await 10 role_is b master
check 'it brings the fabric up' await 60 idle b
check 'it repairs routes before it reads all tables' repaired_first b
check 'its tables are sound' sound b
check 'it announces its own order' await 10 announced

# ---- the master is killed while it changes all tables, and a link fails: all tables are read first
manager a "${hosts[0]}" 2
a=$started
check 'the first manager is standby' await 30 role_is a standby
check 'and reads the tables' await 60 ready a
sim_do 'Relink "S-0002c90100000013"[7]'
check 'the link comes back' await 10 grep -q ' link-up:' b.log
check 'the fabric is quiet' await 30 idle b
check 'the order is announced again' await 10 announced
sleep 3 # the standby manager reads again
printf 'routing:\n    engine: updn\n' >>b.yaml
die_after b 30
kill -HUP "$b"
ctl_of b reroute >/dev/null 2>&1 &
check 'the master is killed' await 20 gone "$b"
like 'while it changed all tables' "$(order)" '^claim [0-9]+ changing$'
sim_do 'Unlink "S-0002c90100000015"[7]'
check 'the standby manager is master' await 10 role_is a master
check 'it brings the fabric up' await 60 idle a
# Either it says why it does not repair at once, or its tables in standby were not complete at the moment.
like 'it read all tables first' "$(cat a.log)" 'all tables are read again before routes are repaired: the former master may have been changing all tables|sweep-done: heavy sweep done'
check 'and did not repair before' test "$(repaired_first a && echo yes)" != yes
check 'its tables are sound' sound a

# ---- an operator decides, and the master dies before the standby manager has read the changed tables: it reads only these
sim_do 'Relink "S-0002c90100000015"[7]'
check 'the link comes back' await 10 grep -q ' link-up:' a.log
# To read everything takes this manager 20 s, and to read what is changed below, about 1 s.
manager b "${hosts[127]}" 2 100
b=$started
check 'the second manager is standby' await 30 role_is b standby
check 'and reads the tables' await 90 ready b
check 'the fabric is quiet' await 30 idle a
check 'the order is announced again' await 10 announced
changes() {
    etcd_ctl get --print-value-only fabricd/fe80000000000000/changes
}
like 'the master records its changes' "$(changes)" '^claim [0-9]+ changes [0-9]+ [0-9]+ '
check 'a link is isolated' ctl_of a link isolate leaf-002/5
recorded() {
    changes | grep -Eq '[0-9a-f]{16}:[^;]+;[^:]+:'
}
check 'the changed links and blocks are recorded' await 5 recorded
sleep 0.5
stop "$a" KILL
sim_do 'Unlink "S-0002c90100000017"[7]'
check 'the standby manager is master' await 10 role_is b master
check 'it brings the fabric up' await 60 idle b
check 'it repairs routes before it reads all tables' repaired_first b
same 'for which it need not read all tables' "$(grep 'all tables are read again' b.log)" ''
like 'the link is still isolated' "$(ctl_of b link unhealthy)" 'leaf-002'
check 'its tables are sound' sound b
stop "$b"
sim_stop
