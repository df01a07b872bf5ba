#!/bin/bash
# test_multicast.sh: multicast groups, on ibsim and on fabsim. Hosts join and leave through
# libibumad; saquery tells the groups, and dump_mfts and ibtracert find the trees in the switches;
# a cable falls, the manager is killed, and nothing of it is lost. Where OpenSM is installed, it
# answers about the same groups on the same fabric, and each difference is listed here.
. "$(dirname "$0")/lib.sh"
need ibsim saquery ibtracert dump_mfts smpquery
[ -n "$umad2sim" ] || need libumad2sim.so
mc_member=$build/tests/integration/mc_member
[ -x "$mc_member" ] || make -s -C "$build" tests/integration/mc_member

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 3 >fabric.net
printf 'Default=0x7fff, ipoib, defmember=full : ALL=full ;\nrest=0x22, ipoib, sl=0 : ALL=full ;\n' >partitions.conf
printf 'log_level: debug\npartitions:\n    file: %s/partitions.conf\nmulticast: {absent: 2}\n' "$scratch" >fabricd.yaml
mgid='0xff12401bffff0000 0x77'

# lid NAME, guid NAME: of a host; while a manager of ours is there.
lid() {
    ctl path host-0012 "$1" | sed -n 's/^To:.*LID //p'
}
guid() {
    sed -n "/\"$1\"/{s/.*\"[HS]-\([0-9a-f]*\)\".*/0x\1/p;q}" nd
}

# port_guid NAME: of its first port, as the topology has it.
port_guid() {
    at "$1" smpquery nodeinfo -D 0 2>/dev/null | sed -n 's/^PortGuid:\.*//p'
}

# member join|leave HOST [STATE]: the answer.
member() {
    # shellcheck disable=SC2086
    at "$2" "$mc_member" "$1" 1 $mgid 0xffff 0xfe80000000000000 "$(port_guid "$2")" "${3:-1}" 2>/dev/null
}

# written: all tables are.
written() {
    ctl multicast list >/dev/null && [ "$(ctl status -o json | field state)" = idle ] &&
        curl -s "http://127.0.0.1:$port/metrics" | grep -q '^fabricd_multicast_pending 0$'
}

saq() {
    at host-0012 saquery "$@" 2>&1 | grep -v ^ibwarn
}

# tree FROM TO: the switches on the way of a packet to the group, as ibtracert finds them.
tree() {
    at host-0012 ibtracert -m "$mlid" "$(lid "$1")" "$(lid "$2")" 2>/dev/null
}
