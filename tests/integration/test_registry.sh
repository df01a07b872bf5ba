#!/bin/bash
# test_registry.sh: registrations of hosts with the subnet administrator, on ibsim and on fabsim: services,
# subscriptions and reports after a cable is pulled, multicast groups, and alias GUIDs. The manager is killed
# (kill -9) while hosts register. After the restart, all confirmed registrations must exist.
. "$(dirname "$0")/lib.sh"
need ibsim sqlite3 saquery
[ -n "$umad2sim" ] || need libumad2sim.so
sa_host=$build/tests/support/sa_host
[ -x "$sa_host" ] || make -s -C "$build" tests/support/sa_host >/dev/null 2>&1 || need "$sa_host"

"$fabsim" generate leaf-spine --leaves 3 --spines 2 --hosts 3 >net.net
mapfile -t hosts < <(sed -n 's/^Ca.*"\(H-[0-9a-f]*\)".*/\1/p' net.net)
# The cable of the last host, with the names of the topology.
gone=${hosts[8]}

# on HOST COMMAND...: prints the output of the command, without messages of libibumad.
on() {
    SIM_HOST=$1 LD_PRELOAD=$umad2sim timeout -k 2 30 "$sa_host" "${@:2}" 2>/dev/null
}

# guid_of HOST: prints the GUID of its port. gid_of HOST: adds the prefix of the subnet, as saquery writes it.
guid_of() {
    printf '0x%016x' "0x$(sed -n "/\"$1\"/{n;s/^\[1\](\([0-9a-f]*\)).*/\1/p;}" net.net)"
}
gid_of() {
    guid_of "$1" | sed 's/^0x//; s/..../&:/g; s/:$//; s/\(^\|:\)0\{1,3\}/\1/g; s/^/fe80::/'
}

ready() {
    [ "$(status state)" = idle ] && [ "$(status generation)" -ge 1 ]
}

rows() {
    sqlite3 state/fabricd.db "SELECT count(*) FROM $1"
}

# SubnAdmGetTable by saquery, which shows only the records in the first MAD. For services, this is the first
# record; after each deletion, the next service is first.
services_are_shown() {
    local id line
    for id in 7 8 9; do
        on "${hosts[id - 6]}" set "$id" "7$id" | grep -q 0x0000 || return 1
    done
    for id in 7 8 9; do
        # saquery waits at most a second for an answer, and does not ask again
        at "${hosts[4]}" saquery -S >sr 2>/dev/null || at "${hosts[4]}" saquery -S >sr 2>/dev/null || return 1
        for line in "ServiceID\.*0x0*$id" "ServiceGID\.*$(gid_of "${hosts[id - 6]}")" 'ServiceP_Key\.*0xFFFF' \
            'ServiceLease\.*0xFFFFFFFF' "ServiceData64\.1\.*$(printf '0x%016x' "7$id")"; do
            grep -qE "$line\$" sr || { cat sr; echo "no $line"; return 1; }
        done
        on "${hosts[id - 6]}" delete "$id" | grep -q 0x0000 || return 1
    done
}

# For subscriptions, these are the first two records.
subscriptions_are_shown() {
    local gid
    gid=$(gid_of "${hosts[3]}")
    at "${hosts[2]}" saquery -I >iir 2>/dev/null || return 1
    [ "$(sed -n "s/.*SubscriberGID\.*//p" iir | head -2 | paste -sd' ')" = "$gid $gid" ] &&
        [ "$(sed -n 's/.*trap_num\.*//p' iir | head -2 | paste -sd' ')" = '65 64' ] || { cat iir; return 1; }
    gid=$(gid_of "${hosts[4]}")
    at "${hosts[2]}" saquery IIR "$gid" >iir 2>/dev/null || return 1
    [ "$(sed -n "s/.*SubscriberGID\.*//p" iir | head -1)" = "$gid" ] &&
        [ "$(sed -n 's/.*trap_num\.*//p' iir | head -1)" = 65 ] || { cat iir; return 1; }
}

# Two hosts listen; one of them does not answer. The cable of a third host is pulled.
reports_arrive() {
    local guid ear deaf
    guid=$(guid_of "$gone")
    start ear.log env SIM_HOST="${hosts[3]}" LD_PRELOAD="$umad2sim" timeout 30 "$sa_host" subscribe 65 subscribe 64 subscribe 128 listen 25
    ear=$started
    start deaf.log env SIM_HOST="${hosts[4]}" LD_PRELOAD="$umad2sim" timeout 30 "$sa_host" subscribe 65 listen 25 deaf
    deaf=$started
    await 5 grep -q 'subscribe 128: 0x0000' ear.log && await 5 grep -q 'subscribe 65: 0x0000' deaf.log
    same "$1: two hosts subscribe" 4 "$(rows subscription)"
    same "$1: fabricctl tells of it" 4 "$(ctl subscription list -o json | grep -c '"notice"')"
    check "$1: and so do tables over the wire" subscriptions_are_shown
    sim_do "Unlink \"$gone\"[1]"
    check "$1: a subscriber hears that a host left" await 10 grep -qx "report 65 $guid" ear.log
    check "$1: and that the link of a switch changed" await 5 grep -q '^report 128 ' ear.log
    sim_do "ReLink \"$gone\"[1]"
    check "$1: and that it came back" await 8 grep -qx "report 64 $guid" ear.log
    same "$1: each once" '1 1' "$(grep -c '^report 65' ear.log) $(grep -c '^report 64' ear.log)"
    check "$1: one that does not answer is dropped" await 10 grep -q subscription-ended fabricd.log
    same "$1: after four tries, and nobody else" '4 3' "$(grep -c '^report 65' deaf.log) $(rows subscription)"
    stop "$ear"
    stop "$deaf"
}

# All registrations that were confirmed before the kill exist after it. (The hosts subscribe to events that do
# not happen, because they would not answer a report.)
nothing_is_lost() {
    local i id number now
    for i in 1 2 3; do
        start "churn$i.log" env SIM_HOST="${hosts[i]}" LD_PRELOAD="$umad2sim" timeout 20 "$sa_host" \
            join "$i" alias 1 "0x000000000000a10$i" subscribe 145 churn 10
    done
    for i in 1 2 3; do
        await 5 grep -q '^confirmed 50 ' "churn$i.log" || { cat "churn$i.log"; return 1; }
    done
    sleep "0.$((RANDOM % 5))"
    stop "$manager" KILL
    for i in 1 2 3; do
        await 8 grep -q '^churn' "churn$i.log" || { tail -3 "churn$i.log"; return 1; }
    done
    [ "$(sqlite3 state/fabricd.db 'PRAGMA integrity_check')" = ok ] || return 1
    manager_start "${hosts[0]}"
    await 20 ready || return 1
    for i in 1 2 3; do
        grep -q "^join $i: 0x0000" "churn$i.log" && grep -q '^alias 1: 0x0000' "churn$i.log" &&
            grep -q '^subscribe 145: 0x0000' "churn$i.log" || { head -3 "churn$i.log"; return 1; }
        for id in 1 17 50 60; do
            number=$(sed -n "s/^confirmed $id //p" "churn$i.log" | tail -1)
            [ -n "$number" ] || continue # there is none yet
            now=$(on "${hosts[i]}" get "$id" | sed -n 's/^number //p')
            [ -n "$now" ] && [ "$now" -ge "$number" ] || { echo "host $i, service $id: $number before, $now now"; return 1; }
        done
        on "${hosts[i]}" unsubscribe 145 | grep -q 0x0000 || { echo "host $i has no subscription"; return 1; }
        on "${hosts[i]}" leave "$i" | grep -q 0x0000 || { echo "host $i is no member"; return 1; }
    done
    [ "$(sqlite3 state/fabricd.db 'SELECT count(*) FROM alias_guid')" = 3 ] || return 1
}

known() {
    sim_start net.net || { not_ok "$1: the simulator starts" "$(cat sim.err)"; return; }
    rm -rf state
    manager_start "${hosts[0]}"
    check "$1: the manager comes up" await 20 ready
    same "$1: a service is registered, found, and taken back" \
        'set 5: 0x0000|get 5: 0x0000|delete 5: 0x0000|get 5: 0x0300' \
        "$(on "${hosts[1]}" set 5 77 get 5 delete 5 get 5 | grep -v ^number | paste -sd'|')"
    same "$1: with a key only who has it takes it back" 'set 5: 0x0000|delete 5: 0x0200|delete 5: 0x0000' \
        "$(on "${hosts[1]}" set 5 77 9 delete 5 8 delete 5 9 | grep -v ^number | paste -sd'|')"
    same "$1: what was not subscribed to cannot be ended" 'unsubscribe 64: 0x0200' "$(on "${hosts[1]}" unsubscribe 64)"
    check "$1: tables of services over the wire" services_are_shown
    reports_arrive "$1"
    check "$1: nothing that was confirmed is lost by kill -9" nothing_is_lost
    like "$1: fabricctl tells of services" "$(ctl service list | head -2)" '^0x000000000000000[12] .*never'
    stop "$manager"
    sim_stop
}

simulator=ibsim known ibsim
simulator=fabsim known fabsim
