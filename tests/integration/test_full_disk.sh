#!/bin/bash
# test_full_disk.sh: the disk of the state directory becomes full, and the state directory disappears. Everything
# that fabricctl and hosts got confirmed must exist after kill -9; everything else must be refused. Status, events
# and the log must tell the problem, and that it is over. During the problem, the manager must route around a
# pulled cable. In the end, the switches must have the routes of the beginning.
# shellcheck disable=SC2034
SIMULATOR=fabsim
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need dump_fts sqlite3
[ -n "$umad2sim" ] || need libumad2sim.so
sa_host=$build/tests/support/sa_host
[ -x "$sa_host" ] || make -s -C "$build" tests/support/sa_host >/dev/null 2>&1 || need "$sa_host"
trap 'umount -l "$scratch/disk" 2>/dev/null; finish' EXIT

mkdir disk
if ! mount -t tmpfs -o size=4m,mode=0700 tmpfs disk 2>/dev/null; then
    echo '1..0 # SKIP a tmpfs cannot be mounted'
    tap_n=-1
    exit 0
fi
mkdir -m 0700 disk/state
ln -s disk/state state
"$fabsim" generate leaf-spine --leaves 3 --spines 2 --hosts 3 >net.net
port=leaf-003/1

tables() {
    at host-0001 dump_fts -n >"$1" 2>/dev/null && grep -q 'valid lids dumped' "$1"
}

manager_up() {
    manager_start host-0001
    await 20 settled 0
}

fill_disk() {
    head -c 16M /dev/zero >disk/fill 2>/dev/null
    [ "$(df --output=avail disk | tail -1)" -eq 0 ]
}

# change WANTED: disables or enables the port.
change() {
    if [ "$1" = 1 ]; then ctl port disable "$port"; else ctl port enable "$port"; fi
}

# change_until_refused: $confirmed gets the last confirmed state: 1 if the port is disabled.
change_until_refused() {
    local i wanted
    for i in $(seq 1 300); do
        wanted=$((1 - confirmed))
        change $wanted >change.out 2>&1 || return 0
        confirmed=$wanted
    done
    return 1
}

stored() {
    sqlite3 "file:$scratch/state/fabricd.db?mode=ro" 'SELECT count(*) FROM disabled_port'
}

told() {
    grep -q "$1" fabricd.log
}

failing() {
    [ -n "$(status store_alarm)" ]
}

writable() {
    [ -z "$(status store_alarm)" ]
}

idle() {
    [ "$(status state)" = idle ]
}

# on HOST COMMAND...: makes registrations of a host; prints a line for each.
on() {
    at "$1" "$sa_host" "${@:2}" 2>/dev/null
}

# registers HOST NUMBER STATUS: a service, a membership, an alias GUID and a subscription of the host get
# this status.
registers() {
    same "$4" "set $2: $3|join $2: $3|alias 1: $3|subscribe 145: $3" \
        "$(on "$1" set "$2" "7$2" join "$2" alias 1 "0x000000000000a10$2" subscribe 145 | paste -sd'|')"
}

# churned HOST LOG: each service has the number that was confirmed last; a service that was refused does not exist.
churned() {
    local ids
    mapfile -t ids < <(sed -n 's/^confirmed \([0-9]*\) .*/\1/p' "$2" | sort -nu)
    sed -n 's/^confirmed //p' "$2" | sort -nsk1,1 | awk '{ last[$1] = $2 } END { for (i in last) print i, last[i] }' |
        sort -n >confirmed.txt
    on "$1" $(printf 'get %s ' "${ids[@]}") | awk '/^number/ { n = $2 } /^get/ { sub(":", "", $2); print $2, n; n = "" }' \
        >found.txt
    [ "${#ids[@]}" -gt 5 ] && diff confirmed.txt found.txt
}

killed() {
    stop "$manager" KILL
    rm -f disk/fill
    manager_up
}

confirmed=0
sim_start net.net
check 'the fabric comes up' manager_up
check 'the switches have routes' tables first
check 'the disk is full' fill_disk
check 'changes are refused' change_until_refused
like 'with the reason' "$(cat change.out)" 'database of the manager cannot be written'
check 'status says it' failing
like 'in words' "$(ctl status)" 'Database.*cannot be written \(.*full.*\); changes and registrations are refused'
check 'and so does an event' await 5 told 'store-failing.*cannot be written'
before=$(status generation)
sim_do 'Unlink "leaf-001"[4]'
check 'a cable that is pulled is routed round all the same' await 10 settled "$before"
sim_do 'Relink "leaf-001"[4]'
check 'after kill -9 the manager starts' killed
same 'with what was confirmed last' "$confirmed" "$(stored)"

# ---- hosts

registers host-0002 1 0x0000 'a host registers'
start churn.log env SIM_HOST=host-0003 LD_PRELOAD="$umad2sim" timeout 30 "$sa_host" churn 25
await 10 grep -q '^confirmed 30 ' churn.log
check 'the disk is full while another one registers' fill_disk
check 'which is answered BUSY' await 20 grep -q '^churn 25: 0x0001' churn.log
registers host-0004 2 0x0001 'and so is all that further hosts register'
stop "$manager" KILL
check 'after kill -9 the manager starts, though the disk is still full' manager_up
check 'with all services as they were confirmed last' churned host-0003 churn.log
check 'after another kill -9, with space, it starts' killed
check "all $(grep -c ^confirmed churn.log) services are as they were confirmed last" churned host-0003 churn.log
same 'and so is what the first host registered' 'number 71|get 1: 0x0000|leave 1: 0x0000|unsubscribe 145: 0x0000|1' \
    "$(on host-0002 get 1 leave 1 unsubscribe 145 | paste -sd'|')|$(sqlite3 "file:$scratch/state/fabricd.db?mode=ro" 'SELECT count(*) FROM alias_guid')"
same 'and nothing that got BUSY' 'get 2: 0x0300|leave 2: 0x0200|unsubscribe 145: 0x0200' \
    "$(on host-0004 get 2 leave 2 unsubscribe 145 | paste -sd'|')"

# ---- the disk is full again, and then has space

check 'the disk is full again' fill_disk
check 'changes are refused again' change_until_refused
rm disk/fill
check 'with space, the database is written again within 10 s' await 10 writable
check 'an event tells it' await 5 told 'store-recovered.*can be written again'
check 'and a change is confirmed' change 1
like 'events that were kept in memory are stored' \
    "$(sqlite3 "file:$scratch/state/fabricd.db?mode=ro" 'SELECT type FROM event' | paste -sd' ')" 'store-failing.*store-recovered'
check 'after kill -9 the manager starts again' killed
same 'with the change that was confirmed' 1 "$(stored)"

mv disk/state disk/moved
check 'a state directory that disappears is told within 10 s' await 10 failing
like 'with the reason' "$(ctl status)" 'deleted, moved or replaced'
like 'changes are refused' "$(change 0 2>&1)" 'database of the manager cannot be written'
mv disk/moved disk/state
check 'put back, it is used again within 10 s' await 10 writable
check 'and a change is confirmed' change 0
check 'the audit log is whole' ctl audit verify
check 'the manager comes to rest' await 10 idle
tables last
check 'the switches have the routes of the beginning' cmp first last
rm -r disk/state
check 'a deleted state directory is told within 10 s' await 10 failing
check 'and the manager ends on request' stop "$manager"
