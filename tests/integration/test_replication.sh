#!/bin/bash
# test_replication.sh: two managers on one fabric (ibsim) share by etcd what the master decided and what hosts
# registered. The master is killed (kill -9); the standby manager then routes around the links that the former
# master isolated, answers for its services, subscriptions and groups, and writes no forwarding table.
. "$(dirname "$0")/lib.sh"
need ibsim etcd etcdctl openssl sqlite3 dump_fts dump_mfts
[ -n "$umad2sim" ] || need libumad2sim.so
. "$here/etcd.sh"

"$fabsim" generate leaf-spine --leaves 4 --spines 3 --hosts 4 >fabric.net
mapfile -t hosts < <(sed -n 's/^Ca[^"]*"\([^"]*\)".*/\1/p' fabric.net)

# decisions NAME: all replicated rows of a manager that do not change by themselves.
decisions() {
    sqlite3 "$1/fabricd.db" 'SELECT port_guid, lid, lmc FROM lease ORDER BY 1; SELECT * FROM disabled_port ORDER BY 1, 2;
        SELECT * FROM isolated_link ORDER BY 1, 2; SELECT * FROM name_pin ORDER BY 1; SELECT * FROM alias_guid ORDER BY 1, 2;
        SELECT id, gid, pkey, hex(record) FROM service ORDER BY 1; SELECT gid, number, hex(record) FROM subscription ORDER BY 1, 2;
        SELECT mgid, mlid, hex(record) FROM multicast_group ORDER BY 1; SELECT * FROM multicast_member ORDER BY 1, 2;
        SELECT version, person, reason, hash, text FROM policy_version ORDER BY 1;
        SELECT node_guid, port, port_guid, name, approved_by FROM approved_place ORDER BY 1, 2;'
}
level() {
    [ "$(decisions a)" = "$(decisions b)" ]
}
tables() {
    at "${hosts[5]}" dump_fts -n 2>/dev/null | grep -v '^rdtool\|^ibwarn'
}
lft_writes() {
    ctl_of "$1" reroute list -o json | "$python" -c 'import json, sys
print(sum(r.get("blocks", 0) for r in json.load(sys.stdin)["reroutes"]))'
}
sees() {
    ctl_of "$1" ha status -o json | "$python" -c 'import json, sys
(o,) = json.load(sys.stdin)["others"]
sys.exit(str(o[sys.argv[1]]) != sys.argv[2])' "$2" "$3"
}
now_ms() {
    date +%s%3N
}

etcd_prepare 1
etcd_start 1
check 'etcd starts' await 20 etcd_answers
sim_start fabric.net || not_ok 'the simulator starts'
named a "${hosts[0]}" 5 'pin_names: approved'
a=$started
check 'the first manager is master' await 30 idle a
named b "${hosts[9]}" 3 'pin_names: approved'
b=$started
check 'the second one is standby' await 20 role_is b standby

# ---- decisions and registrations at the master
link=$(ctl_of a link list -o json | "$python" -c 'import json, sys
for l in json.load(sys.stdin)["links"]:
    ends = [l["a"], l["b"]] if "a" in l else l["ends"]
    if all("leaf" in json.dumps(e) or "spine" in json.dumps(e) for e in ends):
        print(ends[0]["node"] + "/" + str(ends[0]["port"])); break' 2>/dev/null)
[ -n "$link" ] || link=leaf-001/5
check "a link is isolated ($link)" ctl_of a link isolate "$link"
check 'a port is disabled' ctl_of a port disable leaf-003/4
check 'the fabric is approved' ctl_of a topo approve
printf 'partitions:\n  - {name: Default, pkey: 0x7fff, full: [ALL]}\n  - {name: jobs, pkey: 0x11, limited: [ALL_SWITCHES]}\n' >policy.yaml
check 'a policy is applied' ctl_of a apply policy.yaml
check 'five services' on "${hosts[1]}" set 1 71 set 2 72 set 3 73 set 4 74 set 5 75
check 'a group, an alias GUID, a subscription' on "${hosts[2]}" join 7 alias 1 0x000000000000a101 subscribe 65
check 'another member' on "${hosts[3]}" join 7 join 8
check 'all tables are computed anew' ctl_of a reroute
check 'the fabric is quiet' await 20 idle a
check 'the standby manager has all rows' await 5 level
check 'etcd has them, too' test "$(etcd_rows service)" -eq 5
decisions a >before
tables >tables_before
nothing_left() {
    etcd_ctl get --print-value-only fabricd/fe80000000000000/beat | grep -qx 'pending 0'
}
check 'the last beat says that nothing is left' await 5 nothing_left

check 'the master says how it sends' ctl_of a ha status
like 'with the majority' "$(ctl_of a ha status)" 'sends by etcd, a majority answers'
like 'the standby manager says that it receives' "$(ctl_of b ha status)" 'receives by etcd, a majority answers'
ctl_of a ha status -o json | "$python" -c 'import json, sys
r = json.load(sys.stdin)["replication"]
assert r["majority"] and r["leads"] and r["level"] and r["pending"] == 0 and r["confirmed"] > 20, r
print("# a commit takes %s ms" % r["commit_time_ms"])' || not_ok 'JSON'

# ---- the master dies
killed=$(now_ms)
stop "$a" KILL
check 'the standby manager is master' await 5 role_is b master
took=$(($(now_ms) - killed))
echo "# master after $took ms"
check 'within 2 s' test $took -lt 2000
check 'it brings the fabric up' await 20 idle b
same 'it wrote no forwarding table' 0 "$(lft_writes b)"
tables >tables_after
check 'the tables are the same' cmp tables_before tables_after
decisions b >after
check 'all decisions and registrations are the same' diff before after
like 'the link is still isolated' "$(ctl_of b link unhealthy)" "${link%/*}"
like 'the policy is in force' "$(ctl_of b status)" '^Policy: +version 1 replaces in fabricd.yaml: partitions'
like 'with its partition' "$(ctl_of b partition list)" '^jobs +0x0011 +0 +7 '
like 'it loaded them' "$(cat b.log)" 'loaded the decisions'
like 'a service is found' "$(on "${hosts[1]}" get 3)" 73
like 'the group has its members' "$(ctl_of b multicast list)" ' 2 '
check 'hosts are not asked to register again' test "$(grep -c 'asking all hosts' b.log)" -eq 0

# ---- the former master returns, and learns what changed
check 'the link is released' ctl_of b link release "$link"
check 'a service is deleted' on "${hosts[1]}" delete 5
named a "${hosts[0]}" 1 'pin_names: approved'
a=$started
check 'the former master is standby' await 20 role_is a standby
check 'and has what changed meanwhile' await 10 level
same 'with one service less' 4 "$(rows a service)"

# ---- a hand-over by command
check 'a host registers once more' on "${hosts[4]}" set 9 79
check 'the other manager is seen in standby' await 5 sees b role standby
written=$(lft_writes a) # in its former life
check 'the master hands over' ctl_of b ha handover
check 'the other one is master' await 10 idle a
like 'and knows the last registration' "$(on "${hosts[4]}" get 9)" 79
same 'it wrote no forwarding table' "$written" "$(lft_writes a)"
check 'hosts are not asked to register again' test "$(grep -c 'asking all hosts' a.log)" -eq 0

# ---- a hand-over while hosts register: the new master knows all that was confirmed
on "${hosts[1]}" churn 2 >handed.out &
churn=$!
pids+=("$churn")
check 'hosts register' await 5 grep -q 'confirmed 30 ' handed.out
check 'the master hands over' ctl_of a ha handover
check 'the other one is master' await 10 idle b
wait "$churn"
sed -n 's/^confirmed //p' handed.out | sort -k1,1n -k2,2n | awk '{ last[$1] = $2 } END { for (n in last) print n, last[n] }' |
    sort -n >confirmed
# shellcheck disable=SC2046
on "${hosts[1]}" $(awk '{ print "get", $1 }' confirmed) | sed -n 's/^number //p' >found
check 'it has each registration that was confirmed' test "$(wc -l <found)" -eq "$(wc -l <confirmed)" -a \
    -z "$(paste -d ' ' confirmed found | awk '$3 < $2')"
check 'hosts are not asked to register again' test "$(grep -c 'asking all hosts' b.log)" -eq 0
check 'the former master is handed the role' await 10 ctl_of b ha handover
check 'and is master' await 10 idle a

# ---- hand-overs while links are drained: the standby manager must know the routes of the master
check 'a link is drained' ctl_of a drain link leaf-001/5 --yes --force
check 'the standby manager is handed the role' await 10 ctl_of a ha handover
check 'and is master' await 10 idle b
check 'the drain ends' ctl_of b undrain link leaf-001/5
undrained() {
    ctl_of b drain list | grep -q 'Nothing is drained'
}
check 'it is in service' await 10 undrained
check 'it is drained again' ctl_of b drain link leaf-001/5 --yes --force
check 'the former master is handed the role' await 10 ctl_of b ha handover
check 'and is master' await 10 idle a
check 'the drain ends' ctl_of a undrain link leaf-001/5

# ---- a drain and a freeze
check 'a switch is drained' ctl_of a drain switch spine-002 --yes --reason recabling
check 'the master is frozen' ctl_of a manager freeze --no-writes --reason audit
both_stored() {
    [ "$(rows b drain)" = 1 ] && [ -n "$(sqlite3 b/fabricd.db "SELECT value FROM meta WHERE key = 'freeze'")" ]
}
check 'the standby manager stores both' await 5 both_stored
stop "$a"
check 'the standby manager is master' await 5 role_is b master
frozen() {
    ctl_of b manager status | grep -q 'no writes'
}
check 'it is frozen, too' await 5 frozen
like 'for the same reason' "$(ctl_of b manager status)" audit
like 'it knows the drain' "$(ctl_of b drain list)" 'spine-002.*recabling'
check 'it is resumed' ctl_of b manager resume
check 'after an orderly end, nothing waits' test "$(sqlite3 a/fabricd.db 'SELECT count(*) FROM replica_pending')" -eq 0

# ---- the master dies while hosts register
named a "${hosts[0]}" 1 'pin_names: approved'
a=$started
check 'the former master is standby' await 20 role_is a standby
check 'and has all rows' await 10 level
on "${hosts[1]}" churn 3 >churn.out &
pids+=($!)
check 'hosts register' await 5 grep -q 'confirmed 30 ' churn.out
stop "$b" KILL
check 'the standby manager is master' await 5 role_is a master
check 'it asks hosts to register again' await 5 grep -q 'asking all hosts to register again: the former master' a.log
stop "$a"
sim_stop
