#!/bin/bash
# test_saquery.sh: subnet administration, asked by infiniband-diags' saquery: every record that it
# knows, with filters, against what the fabric is; and beside OpenSM on the same fabric, if it is
# installed. Neither simulator nor its preload library does RMPP: of a table the first MAD is shown.
. "$(dirname "$0")/lib.sh"
need ibsim ibnetdiscover ibroute saquery smpquery
[ -n "$umad2sim" ] || need libumad2sim.so

# asked OPTION...: saquery at the second host; the first has the manager.
asked() {
    SIM_HOST=$other LD_PRELOAD=$umad2sim timeout 20 saquery "$@" 2>&1 | grep -v ^ibwarn
    return "${PIPESTATUS[0]}"
}

# value NAME: the first value of that field in what saquery printed.
value() {
    sed -n "s/^[[:space:]]*$1:*\.\.*\(.*\)/\1/p" | head -1
}

lids() {
    sed -n 's/^Switch.* lid \([0-9]*\) lmc.*/\1/p; s/^\[1\](.*# lid \([0-9]*\) lmc.*/\1/p' nd | sort -n
}

# ---- what is told is so ----

nodes_are_told() {
    local lid guid
    for lid in $(lids); do
        guid=$(at "$host" smpquery ni "$lid" | sed -n 's/^Guid:\.*//p')
        [ "$(asked NR "$lid" | value node_guid)" = "$guid" ] || { echo "LID $lid: $guid"; return 1; }
    done
}

# PortInfo as the port itself gives it.
ports_are_told() {
    local lid told
    for lid in 1 $(lids | tail -1); do
        told=$(asked PIR "$lid/1" | grep -vE 'RID|dump|EndPortLid|PortNum|Options|M[Kk]ey|LocalPort' | sed 's/^[[:space:]]*//')
        diff <(at "$host" smpquery pi "$lid" 1 | grep -vE '^#|M[Kk]ey|LocalPort' | sed 's/^[[:space:]]*//') - <<<"$told" || return 1
    done
}

tables_are_told() {
    local switch
    switch=$(sed -n 's/^Switch.* lid \([0-9]*\) lmc.*/\1/p' nd | head -1)
    diff <(at "$host" ibroute -n "$switch" | sed -n 's/^\(0x[0-9a-f]*\) \([0-9]*\).*/\1 \2/p' |
        while read -r lid port; do echo $((lid)) $((10#$port)); done) \
        <(asked LFTR "$switch/0" | awk 'NF == 2 && $1 ~ /^[0-9]+$/ && $2 != 255 { print $1, $2 }')
}

# From the first host to everyone: the ends are right, the MTU and the rate those of the cables.
paths_are_told() {
    local lid answer mtu
    for lid in $(lids); do
        answer=$(asked -p --src-to-dst "1:$lid")
        [ "$(value dlid <<<"$answer")" = "$lid" ] && [ "$(value slid <<<"$answer")" = 1 ] &&
            [ "$(value num_path_revers <<<"$answer")" = 0x80 ] || { echo "$answer"; return 1; }
    done
    answer=$(asked -p --src-to-dst 1:2)
    case $(at "$host" smpquery pi 1 1 | sed -n 's/^NeighborMTU:\.*//p') in
    2048) mtu=0x84 ;;
    4096) mtu=0x85 ;;
    esac
    [ "$(value mtu <<<"$answer")" = "$mtu" ] && [ "$(value rate <<<"$answer")" = 0x90 ] || { echo "$answer"; return 1; }
}

every_record_is_known() {
    local record
    for record in CPI NR PIR SWIR LR SMIR LFTR MFTR SL2VL VLAR GIR PR MCMR SR IIR '--smkey 1 PKTR'; do
        # shellcheck disable=SC2086
        asked $record >answer || { echo "$record"; cat answer; return 1; }
    done
}

# ---- beside OpenSM: the same but for what is listed here ----

queries='
NR 1|
NR 3|
NR 12|
PIR 1|
PIR 1/1|
PIR 12|PartEnforce
SWIR 12|
LR 1|
LR 1/1|
LR 12/2|
GIR 1|
GIR 12/0|
SL2VL 1|
SL2VL 1/1/2|
SMIR 1|ActCount
-p --src-to-dst 1:5|
-p --src-to-dst 1:1|
-p --src-to-dst 1:12|
PR --slid 1 --dlid 5 --mtu 4|
PR --slid 1 --dlid 5 --pkey 0xffff|
PR --slid 1 --dlid 5 --pkey 0x8001|
PR --slid 1 --dlid 5 --sl 3|
PR --slid 1 --dlid 99|
PR --slid 1 --dlid 5 --numb_path 1 --reversible 1|
--smkey 1 PKTR 1/1/0|
PKTR|
NR 99|
LFTR 99|
MFTR 12|
SR|
IIR|
LFTR 12/0|^[[:space:]]+[0-9]+[[:space:]]+[0-9]+
CPI|Capability mask|Response time
VLAR 1|Block|VL    |Weight|VLArb|LID|Port
'
# ActCount counts, each in its way. Routes differ: two engines. Of ClassPortInfo: OpenSM has
# multicast, reinitialisation and alias GUIDs, and says that it answers within 268 ms, we within 1 s.
# OpenSM has switches enforce partitions at the ports of hosts even where there is the default one only.
# OpenSM has arbitration blocks that the port does not have; we have those that it has.

# answers FOLDER: a file a query, what may differ left out.
answers() {
    local query rest
    mkdir -p "$1"
    while IFS='|' read -r query rest; do
        [ -n "$query" ] || continue
        # shellcheck disable=SC2086
        asked $query | grep -vE "${rest:-^$}" >"$1/$(tr ' /' '_.' <<<"$query")"
    done <<<"$queries"
}

"$fabsim" generate leaf-spine --leaves 3 --spines 2 --hosts 3 >net.net || exit 1
host=$(sed -n 's/^Ca.*"\(H-[0-9a-f]*\)".*/\1/p' net.net | head -1)
other=$(sed -n 's/^Ca.*"\(H-[0-9a-f]*\)".*/\1/p' net.net | sed -n 2p)

run() {
    local opensm
    simulator=$1
    sim_start net.net || { not_ok "$1: the simulator starts" "$(cat sim.err)"; return; }
    rm -rf state
    manager_start "$host"
    check "$1: bring-up" await 20 settled 0 || return
    at "$host" ibnetdiscover >nd 2>/dev/null
    check "$1: every record is known" every_record_is_known
    check "$1: nodes are told as they are" nodes_are_told
    check "$1: ports are told as they are" ports_are_told
    check "$1: forwarding tables are those in the switches" tables_are_told
    check "$1: paths from a host to everyone" paths_are_told
    like "$1: no path to who is not there" "$(asked -p --sgid fe80::1 --dgid fe80::2)" INVALID_GID
    like "$1: keys are for the trusted" "$(asked PKTR)" REQ_INVALID
    if command -v opensm >/dev/null 2>&1; then
        answers ours
        stop "$manager"
        rm -f osm.log
        echo 'force_log_flush TRUE' >osm.conf
        # It keeps the LIDs that it finds.
        start opensm.log env SIM_HOST="$host" LD_PRELOAD="$umad2sim" OSM_TMP_DIR="$scratch" \
            OSM_CACHE_DIR="$scratch" opensm -F "$scratch/osm.conf" -f "$scratch/osm.log"
        opensm=$started
        check "$1: OpenSM comes up" await 40 grep -q 'SUBNET UP' osm.log && {
            answers theirs
            check "$1: what OpenSM answers is the same" diff -r ours theirs
        }
        stop "$opensm" KILL
    fi
    stop "$manager"
    sim_stop
}
run ibsim
run fabsim
