#!/bin/bash
# test_majority.sh: three etcd servers for two managers (ibsim). One server dies, two of three die, all hang; the
# master is stopped and goes on later. Decisions of operators need a majority, repairs and hosts never wait, and a
# former master learns what the other one decided.
. "$(dirname "$0")/lib.sh"
need ibsim etcd etcdctl openssl sqlite3
[ -n "$umad2sim" ] || need libumad2sim.so
. "$here/etcd.sh"

"$fabsim" generate leaf-spine --leaves 4 --spines 3 --hosts 4 >fabric.net
mapfile -t hosts < <(sed -n 's/^Ca[^"]*"\([^"]*\)".*/\1/p' fabric.net)

# replication NAME FIELD VALUE
replication() {
    ctl_of "$1" ha status -o json | "$python" -c 'import json, sys
r = json.load(sys.stdin)["replication"][sys.argv[1]]
sys.exit(str(r) != sys.argv[2])' "$2" "$3"
}
sent() {
    replication "$1" majority True && replication "$1" pending 0
}
isolated() {
    [ "$(rows "$1" isolated_link)" = "$2" ]
}
reroutes() {
    ctl_of "$1" reroute list -o json | "$python" -c 'import json, sys
print(len(json.load(sys.stdin)["reroutes"]))'
}
rerouted() {
    [ "$(reroutes a)" -gt "$1" ]
}
now_ms() {
    date +%s%3N
}

etcd_prepare 3
for i in 1 2 3; do etcd_start $i; done
check 'three etcd servers start' await 20 etcd_answers
sim_start fabric.net || not_ok 'the simulator starts'
named a "${hosts[0]}" 5
a=$started
check 'the first manager is master' await 30 idle a
named b "${hosts[9]}" 3
b=$started
check 'the second one is standby' await 20 role_is b standby
check 'all is sent' await 10 sent a

# ---- one of three servers is lost
stop "${etcd_pid[1]}" KILL
# While the others elect a leader, the answer may be that nobody has confirmed it yet.
out=$(ctl_of a link isolate leaf-001/5 2>&1)
like 'with two of three servers, a link is isolated' "$out" '^$|the change was made'
check 'and confirmed' await 20 sent a
check 'the standby manager knows it' await 5 isolated b 1

# ---- two of three servers are lost
stop "${etcd_pid[2]}" KILL
check 'the majority is lost' await 10 replication a majority False
check 'as an event says' await 10 grep -q 'replication-lost' a.log
out=$(ctl_of a link isolate leaf-002/6 2>&1)
like 'a decision is refused, with the reason' "$out" 'refused: no majority of the etcd servers answers'
like 'and with the option that permits it' "$out" '[-]-local'
same 'nothing was changed' 1 "$(rows a isolated_link)"
check 'with --local it is accepted' ctl_of a link isolate leaf-002/6 --local
check 'and kept' await 5 isolated a 2
like 'ha status names the etcd server and the reason' "$(ctl_of a ha status)" 'no majority answers'
began=$(now_ms)
like 'a host registers, and is answered' "$(on "${hosts[1]}" set 1 71)" '0x0000'
check "in $(($(now_ms) - began)) ms" test $(($(now_ms) - began)) -lt 1000
before=$(reroutes a)
sim_do 'Unlink "S-'"$(sed -n 's/^Switch.*"S-\([0-9a-f]*\)".*leaf-003.*/\1/p' fabric.net | head -1)"'"[5]'
check 'a link fails' await 3 grep -q 'leaf-003/5' a.log
check 'and is routed around' await 3 rerouted "$before"

# ---- a take-over without a majority
killed=$(now_ms)
stop "$a" KILL
check 'the standby manager takes over without a majority' await 5 role_is b master
took=$(($(now_ms) - killed))
echo "# master after $took ms"
check 'within 2 s' test $took -lt 2000
check 'and brings the fabric up' await 20 idle b
same 'with the link that it knew' 1 "$(rows b isolated_link)"
check 'it asks hosts to register again' await 10 grep -q 'asking all hosts to register again: etcd does not answer' b.log

# ---- the servers come back
etcd_start 1
etcd_start 2
check 'the majority is back' await 30 sent b
check 'as an event says' await 5 grep -q 'replication-restored' b.log
named a "${hosts[0]}" 1
a=$started
check 'the former master is standby' await 20 role_is a standby
check 'it gives up what nobody confirmed' await 10 isolated a 1
check 'as an event says' await 5 grep -q 'replication-dropped' a.log

# ---- all servers hang
kill -STOP "${etcd_pid[@]}"
began=$(now_ms)
out=$(ctl_of b link isolate leaf-002/6 2>&1)
took=$(($(now_ms) - began))
like 'while etcd hangs, a decision is not confirmed' "$out" 'no majority of the etcd servers'
echo "# answered after $took ms"
check 'and answered in time' test $took -lt 4000
kill -CONT "${etcd_pid[@]}"
check 'afterwards it is confirmed' await 20 sent b
check 'and known to the other manager' await 10 test "$(rows a isolated_link)" -eq "$(rows b isolated_link)"

# ---- the master pauses, and finds another master
check 'b is known' await 10 role_is a standby
kill -STOP "$b"
check 'the other manager takes over from one that hangs' await 10 idle a
check 'it releases a link' ctl_of a link release leaf-001/5
kill -CONT "$b"
one_master() {
    { role_is a master && role_is b standby; } || { role_is b master && role_is a standby; }
}
check 'one of two masters stays' await 15 one_master
same_rows() {
    [ "$(rows a isolated_link)" = "$(rows b isolated_link)" ] &&
        [ "$(sqlite3 b/fabricd.db 'SELECT count(*) FROM isolated_link WHERE name_a LIKE "leaf-001/5%" OR name_b LIKE "leaf-001/5%"')" = 0 ]
}
check 'both know what the other one decided' await 15 same_rows
stop "$a"
stop "$b"
sim_stop
