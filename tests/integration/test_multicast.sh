#!/bin/bash
# test_multicast.sh: multicast groups, on ibsim and on fabsim. Hosts join and leave through libibumad. dump_mfts
# and ibtracert find the trees in the switches. A cable is pulled and the manager is killed, and no group may be
# lost. If OpenSM is installed, it gets the same joins on the same fabric with the same partitions.conf. The
# records must be equal, except for the differences that are listed below.
. "$(dirname "$0")/lib.sh"
need ibsim saquery ibtracert dump_mfts smpquery
[ -n "$umad2sim" ] || need libumad2sim.so
mc_member=$build/tests/support/mc_member
[ -x "$mc_member" ] || make -s -C "$build" tests/support/mc_member

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 3 >fabric.net
printf 'Default=0x7fff, ipoib, defmember=full : ALL=full ;\nrest=0x22, ipoib : ALL=full ;\n' >partitions.conf
printf 'log_level: debug\npartitions:\n    file: %s/partitions.conf\n' "$scratch" >fabricd.yaml
cable=\"$(sed -n 's/^Switch.*"\(S-[0-9a-f]*\)".*leaf-001.*/\1/p' fabric.net)\"[4]
mgid='0xff12401bffff0000 0x77'

# lid NAME: prints the LID of a node, as ibnetdiscover found it.
lid() {
    sed -n "s/.*\"$1\" lid \([0-9]*\) lmc.*/\1/p; s/^\[1\](.*# lid \([0-9]*\) lmc.*/\1/p" \
        <(grep -A1 "\"$1\"" nd) | head -1
}

# member join|leave HOST [STATE]: prints the answer.
member() {
    local guid answer tries
    guid=$(at "$2" smpquery nodeinfo -D 0 2>/dev/null | sed -n 's/^PortGuid:\.*//p')
    for tries in 1 2 3; do # ibsim also sends to a manager that was killed, once
        # shellcheck disable=SC2086
        answer=$(at "$2" "$mc_member" "$1" 1 $mgid 0xffff 0xfe80000000000000 "$guid" "${3:-1}" 2>/dev/null)
        [ -z "$answer" ] || break
    done
    echo "$answer"
}

# tables: prints "leaf-001 0xc002 3" for each entry, with the number of its ports.
tables() {
    at host-0012 dump_mfts 2>/dev/null | awk '/^Multicast mlids/ { gsub(/[()]/, ""); sub(/:$/, ""); sw = $NF }
        /^0x/ { print sw, $1, gsub(/x/, "") - 1 }' | sort
}

holds() {
    [ "$(tables | xargs)" = "$1" ]
}

# way FROM TO: prints the nodes that a packet of the group passes.
way() {
    at host-0012 ibtracert -m 0xc002 "$(lid "$1")" "$(lid "$2")" 2>/dev/null |
        sed -n 's/^\[.*"\(.*\)"$/\1/p' | tr '\n' ' '
}

goes() {
    [ "$(way "$1" "$2" | wc -w)" -eq 4 ] && grep -q "${3:-}" <<<"$(way "$1" "$2")"
}

# records OPTION...: the multicast records that host-0012 gets. saquery waits at most a second for an answer,
# and does not ask again.
records() {
    at host-0012 saquery "$@" MCMR >answer 2>/dev/null || at host-0012 saquery "$@" MCMR >answer 2>/dev/null
    grep -v dump answer
}

# The differences: multicast LIDs have another order. In a group that a join makes, the MTU is that of the
# joining port, which each manager configures. PacketLifeTime and Scope may be missing in the request. Then
# OpenSM uses the values in the request. fabricd uses subnet_timeout, as in configured groups, and the scope of
# the MGID.
alike() {
    awk '/MGID/ { joined = /::77$/ } /mlid\./ { next }
        joined && /(mtu|pkt_life|Scope)\./ { next } { print }' "$1"
}

run() {
    simulator=$1
    sim_start fabric.net || { not_ok "$1: the simulator starts" "$(cat sim.err)"; return; }
    rm -rf state
    manager_start host-0001 -f "$scratch/fabricd.yaml"
    check "$1: comes up" await 20 settled 0 || return
    at host-0001 ibnetdiscover >nd 2>/dev/null
    same 'a host joins, and makes the group' '0x0000 0xc002 0x1' "$(member join host-0002)"
    same 'another one' '0x0000 0xc002 0x1' "$(member join host-0005)"
    same 'and a third' '0x0000 0xc002 0x1' "$(member join host-0009)"
    same 'more of JoinState adds to it' '0x0000 0xc002 0x3' "$(member join host-0009 2)"
    check 'the switches have a tree' await 5 holds \
        'leaf-001 0xc002 2 leaf-002 0xc002 2 leaf-003 0xc002 2 spine-001 0xc002 3'
    check 'a packet goes from one to the other' goes host-0002 host-0009
    check 'and to the third' goes host-0005 host-0002
    same 'and to nobody else' '' "$(way host-0002 host-0012)"
    same 'fabricctl tells the group' '0xc002 3 0' \
        "$(ctl multicast list | awk '/::77 / { print $2, $4, $5 }')"
    same 'and its members' 'host-0002/1 host-0005/1 host-0009/1' \
        "$(ctl multicast show ff12:401b:ffff::77 | awk '$6 == "true" { print $1 }' | xargs)"
    same 'as JSON, by MLID' '3' "$(ctl multicast show 0xc002 -o json | grep -c '"reached": true')"
    same 'groups are told to everyone' 3 "$(records | grep -c MGID)"
    same 'members to the trusted' 3 "$(records --smkey "$(cat state/sa_key)" | grep -c 'PortGid\.*fe80')"
    same 'others see none' 0 "$(records | grep -c 'PortGid\.*fe80')"
    same 'and the tables' 2 "$(at host-0012 saquery MFTR 2>/dev/null | grep -c '0xc002.*0x0014')"
    records >ours

    sim_do "Unlink $cable"
    ctl sweep >/dev/null # ibsim sends no traps
    check 'a cable falls, and the tree goes round it' await 10 goes host-0002 host-0009 spine-002
    sim_do "ReLink $cable"
    check 'it comes back' ctl sweep
    check 'and the manager rests' await 20 settled 0

    { kill -KILL "$manager" && wait "$manager"; } 2>/dev/null
    manager_start host-0001 -f "$scratch/fabricd.yaml"
    check 'killed and started anew' await 20 settled 0
    same 'it knows the members' 3 "$(ctl multicast show 0xc002 -o json | grep -c '"reached": true')"
    same 'one leaves' '0x0000 0xc002 0x1' "$(member leave host-0002)"
    check 'its leaf leads nowhere' await 5 grep -qv leaf-001 <(tables)
    same 'it is no member any more' 0x0200 "$(member leave host-0002 | cut -d' ' -f1)"
    same 'the others leave, too' '0x0000 0x0000' \
        "$(member leave host-0005 | cut -d' ' -f1) $(member leave host-0009 3 | cut -d' ' -f1)"
    check 'and nothing is left of it' await 5 holds ''
    same 'nor the group' 2 "$(records | grep -c MGID)"
    check "$1: ends on request" stop "$manager"
    sim_stop
}

against_opensm() {
    local opensm
    simulator=ibsim
    sim_start fabric.net
    rm -f osm.log
    echo 'force_log_flush TRUE' >osm.conf
    start opensm.log env SIM_HOST=host-0001 LD_PRELOAD="$umad2sim" OSM_TMP_DIR="$scratch" \
        OSM_CACHE_DIR="$scratch" opensm -F osm.conf -f osm.log -P "$scratch/partitions.conf"
    opensm=$started
    check 'OpenSM comes up' await 40 grep -q 'SUBNET UP' osm.log || return
    member join host-0002 >/dev/null
    member join host-0005 >/dev/null
    member join host-0009 >/dev/null
    records >theirs
    check 'its records are ours' diff <(alike ours) <(alike theirs)
    stop "$opensm" KILL
    sim_stop
}

run ibsim
run fabsim
if command -v opensm >/dev/null 2>&1; then
    against_opensm
fi
