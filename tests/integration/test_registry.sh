#!/bin/bash
# test_registry.sh: what hosts register with the subnet administrator, on ibsim and on fabsim:
# services, subscriptions and the reports that follow when a cable is pulled, multicast groups, alias
# GUIDs; and kill -9 of the manager while they register: after the restart all is there that was
# confirmed.
. "$(dirname "$0")/lib.sh"
need ibsim sqlite3
[ -n "$umad2sim" ] || need libumad2sim.so
sa_host=$build/tests/support/sa_host
[ -x "$sa_host" ] || make -s -C "$build" tests/support/sa_host >/dev/null 2>&1 || need "$sa_host"

"$fabsim" generate leaf-spine --leaves 3 --spines 2 --hosts 3 >net.net
mapfile -t hosts < <(sed -n 's/^Ca.*"\(H-[0-9a-f]*\)".*/\1/p' net.net)
# The cable of the last host, by the names of the topology.
gone=${hosts[8]}

# on HOST COMMAND...: what it prints, without libibumad's own words.
on() {
    SIM_HOST=$1 LD_PRELOAD=$umad2sim timeout -k 2 30 "$sa_host" "${@:2}" 2>/dev/null
}

ready() {
    [ "$(status state)" = idle ] && [ "$(status generation)" -ge 1 ]
}

rows() {
    sqlite3 state/fabricd.db "SELECT count(*) FROM $1"
}

# Two hosts listen, one of them is deaf; a third one's cable is pulled.
reports_arrive() {
    local guid ear deaf
    guid=$(printf '0x%016x' "0x$(sed -n "/\"$gone\"/{n;s/^\[1\](\([0-9a-f]*\)).*/\1/p;}" net.net)")
    start ear.log env SIM_HOST="${hosts[3]}" LD_PRELOAD="$umad2sim" timeout 30 "$sa_host" subscribe 65 subscribe 64 subscribe 128 listen 25
    ear=$started
    start deaf.log env SIM_HOST="${hosts[4]}" LD_PRELOAD="$umad2sim" timeout 30 "$sa_host" subscribe 65 listen 25 deaf
    deaf=$started
    await 5 grep -q 'subscribe 128: 0x0000' ear.log && await 5 grep -q 'subscribe 65: 0x0000' deaf.log
    same "$1: two hosts subscribe" 4 "$(rows subscription)"
    same "$1: fabricctl tells of it" 4 "$(ctl subscription list -o json | grep -c '"notice"')"
    sim_do "Unlink \"$gone\"[1]"
    check "$1: a subscriber hears that a host left" await 10 grep -qx "report 65 $guid" ear.log
    check "$1: and that the link of a switch changed" await 5 grep -q '^report 128 ' ear.log
    sim_do "ReLink \"$gone\"[1]"
    check "$1: and that it came back" await 8 grep -qx "report 64 $guid" ear.log
    same "$1: each once" '1 1' "$(grep -c '^report 65' ear.log) $(grep -c '^report 64' ear.log)"
    check "$1: one that does not answer is dropped" await 10 grep -q subscriber-gone fabricd.log
    same "$1: after four tries, and nobody else" '4 3' "$(grep -c '^report 65' deaf.log) $(rows subscription)"
    stop "$ear"
    stop "$deaf"
}

# All that was confirmed before the kill is there after it.
nothing_is_lost() {
    local i id number now
    for i in 1 2 3; do
        start "churn$i.log" env SIM_HOST="${hosts[i]}" LD_PRELOAD="$umad2sim" timeout 20 "$sa_host" \
            join "$i" alias 1 "0x000000000000a10$i" subscribe 66 churn 10
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
            grep -q '^subscribe 66: 0x0000' "churn$i.log" || { head -3 "churn$i.log"; return 1; }
        for id in 1 17 50 60; do
            number=$(sed -n "s/^confirmed $id //p" "churn$i.log" | tail -1)
            [ -n "$number" ] || continue # not yet
            now=$(on "${hosts[i]}" get "$id" | sed -n 's/^number //p')
            [ -n "$now" ] && [ "$now" -ge "$number" ] || { echo "host $i, service $id: $number before, $now now"; return 1; }
        done
        on "${hosts[i]}" unsubscribe 66 | grep -q 0x0000 || { echo "host $i has no subscription"; return 1; }
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
    reports_arrive "$1"
    check "$1: nothing that was confirmed is lost by kill -9" nothing_is_lost
    like "$1: fabricctl tells of services" "$(ctl service list | head -2)" '^0x0000000000000001 .*never'
    stop "$manager"
    sim_stop
}

simulator=ibsim known ibsim
simulator=fabsim known fabsim
