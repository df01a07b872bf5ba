#!/bin/bash
# test_saquery.sh: subnet administration. saquery of infiniband-diags requests every record that it knows, with
# filters, and the test compares the answers with the fabric. If OpenSM is installed, also compares them with
# OpenSM on the same fabric. The simulators and their preload library do not implement RMPP, so only the first
# MAD of a table is shown.
. "$(dirname "$0")/lib.sh"
need ibsim ibnetdiscover ibroute saquery smpquery
[ -n "$umad2sim" ] || need libumad2sim.so

# asked OPTION...: runs saquery at the second host; the manager is at the first host.
asked() {
    SIM_HOST=$other LD_PRELOAD=$umad2sim timeout 20 saquery "$@" 2>&1 | grep -v ^ibwarn
    return "${PIPESTATUS[0]}"
}

# value NAME: prints the first value of that field in the output of saquery.
value() {
    sed -n "s/^[[:space:]]*$1:*\.\.*\(.*\)/\1/p" | head -1
}

lids() {
    sed -n 's/^Switch.* lid \([0-9]*\) lmc.*/\1/p; s/^\[1\](.*# lid \([0-9]*\) lmc.*/\1/p' nd | sort -n
}

# ---- the answers agree with the fabric ----

nodes_are_told() {
    local lid guid
    for lid in $(lids); do
        guid=$(at "$host" smpquery ni "$lid" | sed -n 's/^Guid:\.*//p')
        [ "$(asked NR "$lid" | value node_guid)" = "$guid" ] || { echo "LID $lid: $guid"; return 1; }
    done
}

# PortInfo as the port itself answers.
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

# From the first host to all others: the ends are right, and MTU and rate are those of the cables.
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

# ---- OpenSM gives the same answers, except for what doc/sa.md lists ----

queries='NR 1
NR 3
NR 12
PIR 1
PIR 1/1
PIR 12
PIR 12/0
PIR 12/3
SWIR 12
LR 1
LR 1/1
LR 12/2
LR 12/2 13
GIR 1
GIR 1/1
GIR 12/0
SL2VL 1
SL2VL 1/1/2
SL2VL 12/0/1
VLAR 1
VLAR 12/1
VLAR 12/1/1
SMIR 1
SMIR 2
-p --src-to-dst 1:5
-p --src-to-dst 1:1
-p --src-to-dst 1:12
PR --slid 1 --dlid 5 --mtu 4
PR --slid 1 --dlid 5 --rate 3
PR --slid 1 --dlid 5 --rate 16
PR --slid 1 --dlid 5 --pkey 0xffff
PR --slid 1 --dlid 5 --pkey 0x7fff
PR --slid 1 --dlid 5 --pkey 0x8001
PR --slid 1 --dlid 5 --sl 0
PR --slid 1 --dlid 5 --sl 3
PR --slid 1 --dlid 5 --tclass 3
PR --slid 1 --dlid 5 --flow_label 3
PR --slid 1 --dlid 5 --hop_limit 3
PR --slid 1 --dlid 5 --qos_class 3
PR --slid 1 --dlid 5 --pkt_lifetime 18
PR --slid 1 --dlid 99
PR --slid 1 --dlid 5 --numb_path 1 --reversible 1
PR --slid 12 --dlid 13
--smkey 1 PKTR 1/1/0
--smkey 1 PKTR 12/0/0
--smkey 1 PKTR 12/1/0
PKTR
NR 99
LFTR 99
LFTR 12/0
MFTR 12
MCMR
-g
-m
SR
IIR
-s
-O 3
-U 3
-G host-0002
CPI'

# rows: prints the rows of the table in doc/sa.md, as "query<TAB>field".
rows() {
    sed -n 's/^| `\([^`]*\)` | `\([^`]*\)` |.*/\1\t\2/p' "$top/doc/sa.md"
}

# file QUERY: prints the name of the file with its answer.
file() {
    tr ' /' '_.' <<<"$1"
}

# answers FOLDER: writes a file for each query.
answers() {
    local query
    mkdir -p "$1"
    while read -r query; do
        # shellcheck disable=SC2086
        asked $query >"$1/$(file "$query")"
    done <<<"$queries"
}

# Each difference must be in the list. `needed` gets the rows of the list that were used.
differences_are_listed() {
    local query field ours theirs
    rows >rows
    while IFS=$'\t' read -r query field; do
        ours=$(grep -E -- "$field" "ours/$(file "$query")")
        theirs=$(grep -E -- "$field" "theirs/$(file "$query")")
        [ "$ours" = "$theirs" ] || printf '%s\t%s\n' "$query" "$field" >>needed
        for answer in ours theirs; do
            grep -vE -- "$field" "$answer/$(file "$query")" >left
            mv left "$answer/$(file "$query")"
        done
    done <rows
    diff -r ours theirs
}

all_that_is_listed_differs() {
    diff <(sort -u needed) <(rows | sort -u)
}

"$fabsim" generate leaf-spine --leaves 3 --spines 2 --hosts 3 >net.net || exit 1
host=$(sed -n 's/^Ca.*"\(H-[0-9a-f]*\)".*/\1/p' net.net | head -1)
other=$(sed -n 's/^Ca.*"\(H-[0-9a-f]*\)".*/\1/p' net.net | sed -n 2p)

run() {
    local opensm
    simulator=$1
    sim_start net.net || { not_ok "$1: the simulator starts" "$(cat sim.err)"; return; }
    rm -rf state
    echo 'subnet: {sa_key: 1}' >settings.yaml # the key of OpenSM
    manager_start "$host" -f settings.yaml
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
        # OpenSM keeps the LIDs that it finds.
        start opensm.log env SIM_HOST="$host" LD_PRELOAD="$umad2sim" OSM_TMP_DIR="$scratch" \
            OSM_CACHE_DIR="$scratch" opensm -F "$scratch/osm.conf" -f "$scratch/osm.log"
        opensm=$started
        check "$1: OpenSM comes up" await 40 grep -q 'SUBNET UP' osm.log && {
            answers theirs
            check "$1: what OpenSM answers differs in nothing but what is listed" differences_are_listed
        }
        stop "$opensm" KILL
    fi
    stop "$manager"
    sim_stop
}
run ibsim
run fabsim
[ ! -e needed ] || check "all that doc/sa.md lists differs" all_that_is_listed_differs
