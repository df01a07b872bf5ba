#!/bin/bash
# test_shared_keys.sh: two managers share the M_Key by etcd, encrypted (replication.wrapping_key). The master rotates
# it and is killed (kill -9) at random moments of the rotation; the next master completes the rotation or undoes it,
# and no port ends with a key that nobody knows. On fabsim, which enforces M_Keys; the lease never ends.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need ibsim etcd etcdctl openssl sqlite3
[ -n "$umad2sim" ] || need libumad2sim.so
. "$here/etcd.sh"
export simulator=fabsim

kills=${KILLS:-8}
"$fabsim" generate leaf-spine --leaves 8 --spines 4 --hosts 24 >fabric.net
mapfile -t hosts < <(sed -n 's/^Ca[^"]*"\([^"]*\)".*/\1/p' fabric.net)
# An M_Key requires that managers prove themselves: each is listed with its switch port.
guid_of() {
    printf 0x%016x "0x$(sed -n "s/.*\[1\](\([0-9a-f]*\)).*\"$1\".*/\1/p" fabric.net | head -1)"
}
managers="'$(guid_of host-0001) leaf-001/1', '$(guid_of host-0101) leaf-005/5'"
ports=$((8 * 24 + 8 + 4))

# keys NAME FIELD: a number of `fabricctl key show`.
keys() {
    ctl_of "$1" key show -o json 2>/dev/null | field "$2" 2>/dev/null
}
# complete NAME: all ports have the present key, and no rotation is under way.
complete() {
    [ "$(keys "$1" state),$(keys "$1" current),$(keys "$1" unknown)" = "complete,$ports,0" ]
}
# secrets NAME: the keys in the key file.
secrets() {
    sed -n 's/^\(current\|previous\) 0x//p' "$1/m_key"
}
# until_rotating NAME: waits until the key file says that a rotation is under way. It starts no process, because a
# rotation takes some 10 ms.
until_rotating() {
    local text end=$((SECONDS + 10))
    while [ $SECONDS -lt $end ]; do
        read -rd '' text <"$1/m_key" || [ -n "$text" ] || continue
        case $text in *rotating*) return ;; esac
    done
}
same_files() {
    # the list of absent ports may differ
    cmp -s <(grep -v ^port a/m_key) <(grep -v ^port b/m_key)
}
generation() {
    sed -n 's/^generation //p' "$1/m_key"
}
# manager NAME HOST PRIORITY: starts a manager; its process id is in $started.
manager() {
    named "$1" "$2" "$3" "managers: [$managers]" 'm_key: generated' 'm_key_lease: 0'
}
sent() {
    ctl_of "$1" ha status -o json | "$python" -c 'import json, sys
r = json.load(sys.stdin)["replication"]
sys.exit(not r["majority"] or r["pending"] > 0)'
}
now_ms() {
    date +%s%3N
}

etcd_prepare 1
openssl rand -hex 32 >wrapping && chmod 600 wrapping
replication+="    wrapping_key: file:$scratch/wrapping
"
replication="congestion: {apply: yes, cc_key: generated}
$replication"
etcd_start 1
check 'etcd starts' await 20 etcd_answers
sim_start "$scratch/fabric.net" || not_ok 'the simulator starts'
manager a "${hosts[0]}" 5
a=$started
check 'the first manager is master' await 30 idle a
check 'all ports have its M_Key' await 30 complete a
first=$(secrets a)

# ---- the other manager gets the key before it sends a MAD
manager b "${hosts[100]}" 3
b=$started
check 'the second manager is standby' await 20 role_is b standby
check 'it has the same key file' await 5 same_files
check 'the other manager is known to share keys' await 20 grep -q . a/m_key

# ---- a rotation with a standby manager
rotates() {
    ctl_of "$1" key rotate "${@:2}"
}
check 'the key is rotated, although another manager is there' await 20 rotates a
check 'all ports have the new key' complete a
same 'it is number 2' 2 "$(generation a)"
check 'the standby manager has it' await 5 same_files
check 'the previous key is the first one' grep -qx "previous 0x$first" b/m_key

# ---- the CC_Key
cc_complete() {
    ctl_of "$1" key show -o json | "$python" -c 'import json, sys
k = json.load(sys.stdin)["congestion_key"]
sys.exit((k["state"], k["unknown"], k["current"] == k["devices"] > 0) != ("complete", 0, True))'
}
check 'all devices have the CC_Key' await 60 cc_complete a
check 'the CC_Key is rotated' await 60 rotates a --cc
check 'all devices have it' cc_complete a
same 'it is number 2' 2 "$(sed -n 's/^generation //p' a/cc_key)"
same_cc_files() {
    cmp -s <(grep -v ^port a/cc_key) <(grep -v ^port b/cc_key)
}
check 'the standby manager has it' await 5 same_cc_files

# ---- no key is in etcd, the database or the log
etcd_ctl get --prefix fabricd/ >etcd.dump
check 'etcd has the row of the M_Key' grep -q 'shared_key/\["m_key"\]' etcd.dump
for key in $(secrets a) $(sed -n 's/^\(current\|previous\) 0x//p' a/cc_key); do
    upper=$(printf %s "$key" | tr a-f A-F)
    text=$(printf %s "$key" | od -An -tx1 | tr -d ' \n' | tr a-f A-F) # as the text is in a hexadecimal column
    sqlite3 a/fabricd.db .dump >a.dump
    sqlite3 b/fabricd.db .dump >b.dump
    check 'no key is in etcd, databases or logs' \
        test "$(cat etcd.dump a.dump b.dump a.log b.log | grep -ci "$key\|$upper\|$text")" -eq 0
done

# ---- the master is killed at random moments of a rotation
seed=${TEST_SEED:-$RANDOM}
echo "# TEST_SEED=$seed"
RANDOM=$seed
master=a standby=b interrupted=0
for i in $(seq "$kills"); do
    check "$i: the managers know each other" await 30 sent "$master"
    before=$(generation "$master")
    sleep 4 # the records of the members are read every 3 s
    timeout 60 "$fabricctl" -s "unix:$scratch/$master.sock" key rotate >rotate.out 2>&1 &
    rotating=$!
    # half of the kills come at any moment, before the rotation begins, too
    if [ $((i % 2)) = 0 ]; then sleep "$(printf '0.%03d' $((RANDOM % 60)))"; else until_rotating "$master"; fi
    stop "${!master}" KILL
    grep -q ^rotating "$master/m_key" && interrupted=$((interrupted + 1))
    wait "$rotating"
    check "$i: the standby manager takes over" await 10 role_is "$standby" master
    check "$i: all ports have a key that it knows" await 30 complete "$standby"
    after=$(generation "$standby")
    check "$i: the rotation is complete or undone" test "$after" -eq "$before" -o "$after" -eq $((before + 1))
    if [ "$master" = a ]; then manager a "${hosts[0]}" 3 && a=$started; else manager b "${hosts[100]}" 3 && b=$started; fi
    check "$i: the former master is standby" await 20 role_is "$master" standby
    check "$i: with the same key file" await 10 same_files
    same "$i: no key file was replaced" '' "$(find a b -name 'm_key.replaced*')"
    check "$i: and the same number" test "$(generation "$master")" -eq "$after"
    read -r master standby <<<"$standby $master"
done
echo "# $interrupted of $kills kills interrupted a rotation"
check 'some kills interrupted a rotation' test $interrupted -ge 1

# ---- without etcd, a rotation is refused, and --local permits it
stop "${etcd_pid[1]}" KILL
lost() {
    ! sent "$master"
}
check 'the majority is lost' await 10 lost
before=$(generation "$master")
out=$(rotates "$master" 2>&1)
like 'a rotation is refused, with the reason' "$out" 'refused: no majority of the etcd servers answers'
same 'the key is the same' "$before" "$(generation "$master")"
like 'so is node forget' "$(ctl_of "$master" node forget host-0007 2>&1)" 'refused: no majority of the etcd servers answers'
check 'with --local it is accepted' rotates "$master" --local
same 'there is a new key' $((before + 1)) "$(generation "$master")"
check 'all ports have it' complete "$master"
etcd_start 1
check 'when etcd is back, the other manager learns it' await 30 same_files
same 'no key file was replaced' 0 "$(find a b -name 'm_key.replaced*' | wc -l)"

# ---- a manager without the wrapping key cannot learn the key
stop "${!standby}"
replication=${replication%    wrapping_key*}
manager "$standby" "${hosts[100]}" 3
declare "$standby=$started"
check 'a manager without a wrapping key is standby' await 20 role_is "$standby" standby
refused() {
    rotates "$master" >out 2>&1
    grep -q 'another subnet manager would not learn the new key' out
}
check 'then a rotation is refused' await 20 refused
stop "$a"
stop "$b"
sim_stop
