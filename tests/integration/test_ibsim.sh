#!/bin/bash
# test_ibsim.sh [TOPOLOGY]...: fabricd on ibsim, through libibumad, as on hardware. infiniband-diags checks the
# bring-up, every pair, a cable that is pulled and plugged in again, and the LIDs after kill -9. Without arguments,
# uses generated fabrics; with arguments, these files (text of ibnetdiscover).
[ $# -eq 0 ] || readarray -t topologies < <(realpath -- "$@")
. "$(dirname "$0")/lib.sh"
need ibsim ibnetdiscover iblinkinfo sminfo ibtracert dump_fts
[ -n "$umad2sim" ] || need libumad2sim.so

# tables NAME: writes to NAME.nd and NAME.fts what infiniband-diags reads from the switches.
tables() {
    at "$host" ibnetdiscover >"$1.nd" 2>"$1.err" && at "$host" dump_fts -n >"$1.fts" 2>>"$1.err"
}

judged() {
    tables "$1" && "$python" "$here/judge.py" $strict "$1.nd" "$1.fts"
}

# Both ends of every cable Active. (Ports without a cable are shown too, as Down.)
all_active() {
    at "$host" iblinkinfo -l 2>/dev/null >links
    grep -q 'Active/ *LinkUp)==>' links && ! grep -E '/ *LinkUp\)==>' links | grep -v 'Active/'
}

we_are_master() {
    local guid
    guid=$(printf '0x%x' "0x$(sed -n 's/^# Initiated from node.* port \(\w*\)$/\1/p' "$1")")
    at "$host" sminfo 2>&1 | grep -i "sm guid $guid,.*SMINFO_MASTER"
}

# From the first host to a sample of ends, and from these ends to the host.
traced() {
    local lids lid first
    lids=$(sed -n 's/.*# lid \([0-9]*\) lmc.*/\1/p' "$1" | sort -nu)
    first=$(head -1 <<<"$lids")
    for lid in $(awk -v n="$(wc -l <<<"$lids")" 'NR > 1 && NR % (int(n / 12) + 1) == 0; END { print }' <<<"$lids"); do
        at "$host" ibtracert "$first" "$lid" && at "$host" ibtracert "$lid" "$first" || return 1
    done
}

# The first cable between two switches; one end is spelled as in the console of ibsim: "id"[port].
trunk() {
    awk -F '"' '
        NR == FNR { if (/^Switch/) is_switch[$2] = 1; next }
        /^(Switch|Ca|Hca|Rt)/ { id = $2 }
        /^\[/ && is_switch[id] && is_switch[$2] && id != $2 {
            sub(/\].*/, "]", $1); print "\"" id "\"" $1; exit
        }' "$1" "$1"
}

# lids FILE: writes the LID of each port, in a fixed order.
lids() {
    sed -n 's/^\(Switch.*"S-[0-9a-f]*"\).* lid \([0-9]*\) lmc.*/\1 \2/p
            s/^\[[0-9]*\](\([0-9a-f]*\)).*# lid \([0-9]*\) lmc.*/\1 \2/p' "$1" | sort
}

run() {
    local name=$1 net=$2 generation cable
    rm -rf state
    if ! sim_start "$net"; then
        not_ok "$name: ibsim loads it" "$(tail -n 3 sim.err)"
        return
    fi
    host=$(sed -n 's/^\(Ca\|Hca\)[^"]*"\([^"]*\)".*/\2/p' "$net" | head -1)
    manager_start "$host" "${settings[@]}"
    if ! check "$name: comes up" await 120 settled 0; then
        tail -20 fabricd.log | sed 's/^/# /'
        stop "$manager"
        sim_stop
        return
    fi
    check "$name: every cabled port is Active" all_active
    check "$name: tables take every host everywhere, without loop or cycle" judged before
    check "$name: sminfo shows us as the master" we_are_master before.nd
    check "$name: ibtracert finds its ways" traced before.nd
    same "$name: status says the same of deadlocks" true "$(status deadlock_free)"
    same "$name: status says the same of pairs" 0 "$(status unreachable_pairs)"

    cable=$(trunk "$net")
    if [ -n "$cable" ]; then
        generation=$(status generation)
        sim_do "Unlink $cable"
        check "$name: a pulled cable is noticed" await 60 settled "$generation"
        check "$name: traffic goes round it" judged without
        generation=$(status generation)
        sim_do "ReLink $cable"
        check "$name: it is noticed when it is back" await 60 settled "$generation"
        check "$name: every cabled port is Active again" all_active
        check "$name: tables are right again" judged after
        check "$name: they are the very same tables" cmp before.fts after.fts
    fi

    stop "$manager" KILL
    manager_start "$host" "${settings[@]}"
    check "$name: comes back after kill -9" await 60 settled 0
    check "$name: tables are right after kill -9" judged again
    same "$name: with the same LIDs" "$(lids before.nd)" "$(lids again.nd)"
    check "$name: with the same tables" cmp before.fts again.fts
    check "$name: and has written none" grep -q 'sweep-done.* 0 table blocks written' fabricd.log
    check "$name: ends on request" stop "$manager"
    sim_stop
}

# On trees, the graph of all paths has no cycle, even with the paths between switches and adapters.
strict= settings=()
if [ $# -gt 0 ]; then
    for net in "${topologies[@]}"; do
        run "$(basename "$net")" "$net"
    done
else
    strict=--strict
    "$fabsim" generate leaf-spine --leaves 6 --spines 3 --hosts 4 >ls24.net
    run '24 hosts' "$scratch/ls24.net"
    "$fabsim" generate leaf-spine --leaves 36 --spines 18 --hosts 18 >ls648.net
    run '648 hosts' "$scratch/ls648.net"
    "$fabsim" generate fat-tree --radix 8 --levels 3 >ft128.net
    run '128 hosts, 3 levels' "$scratch/ft128.net"
    # The files may have anything: parallel cables, adapters with two ports, aggregation nodes, routers.
    # On one lane, because judge.py knows no more lanes (test_lanes.sh checks them with ibdmchk).
    strict=
    printf 'subnet:\n  max_vls: 1\n' >one-lane.yaml
    settings=(--config "$scratch/one-lane.yaml")
    for seed in 1 2 3; do
        "$fabsim" generate random --switches 20 --degree 4 --hosts 3 --seed $seed >random.net
        run "random $seed" "$scratch/random.net"
    done
fi
