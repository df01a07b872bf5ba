#!/bin/bash
# test_classes.sh: traffic classes, on ibsim and on fabsim, on a fat tree and on a torus. smpquery reads the
# tables of the devices, saquery the paths of hosts, and ibdmchk checks the routes of every class. A change while
# the manager runs writes only differences. OpenSM with the same tables writes the same values.
. "$(dirname "$0")/lib.sh"
need ibsim smpquery saquery ibdmchk
[ -n "$umad2sim" ] || need libumad2sim.so

"$fabsim" generate leaf-spine --leaves 3 --spines 2 --hosts 3 >tree.net
"$fabsim" generate torus --size 5x5 --hosts 3 >torus.net

# settings ENGINE CLASS...: prints settings; each CLASS is "name share match".
settings() {
    printf 'log_level: debug\nrouting:\n    engine: %s\nqos:\n    classes:\n' "$1"
    shift
    printf '%s\n' "$@" | while read -r name share match; do
        printf '        - name: %s\n          share: %s\n          match: ["%s"]\n' \
            "$name" "$share" "$match"
    done
}

# reload: sends SIGHUP, and waits until the manager is idle again.
reload() {
    local generation
    generation=$(status generation)
    kill -HUP "$manager"
    await 20 settled "$generation"
}

# writes: prints the number of writes of the last round.
writes() {
    sed -n 's/.*wrote writes=\([0-9]*\).*/\1/p' fabricd.log | tail -1
}

# lid NAME
lid() {
    ctl path host-0001 "$1" | sed -n 's/^To:.*LID //p'
}

# sls NAME: prints the VLs of SLs 0 to 7 for port 1 of a node.
sls() {
    at host-0001 smpquery sl2vl "$(lid "$1")" 1 2>/dev/null |
        sed -n 's/^ports: in *[01], out *[01]: |\(.*\)|$/\1/p' | tail -1 | tr -d ' ' | cut -d'|' -f1-8
}

# arb NAME PORT LOW|HIGH: prints "VL:WEIGHT ..." for the entries with a weight.
arb() {
    at host-0001 smpquery vlarb "$(lid "$1")" "$2" 2>/dev/null | "$python" -c '
import re, sys
tables, name = {}, None
for line in sys.stdin:
    if m := re.match(r"# (Low|High)", line):
        name = m[1].upper()
    elif m := re.match(r"(VL|WEIGHT) *: *\|(.*)\|", line):
        tables.setdefault((name, m[1]), []).extend(int(x, 16) for x in m[2].split("|"))
t = sys.argv[1]
print(*(f"{v}:{w}" for v, w in zip(tables[t, "VL"], tables[t, "WEIGHT"]) if w))' "$3"
}

# told OPTION...: prints SL and rate of the path that saquery gets.
told() {
    at host-0001 saquery PR "$@" 2>/dev/null |
        sed -n 's/.*\(sl\|rate\)\.\.*\(0x[0-9A-Fa-f]*\)$/\2/p' | tr '\n' ' ' | sed 's/ $//'
}

# judge CLASS_SL: ibdmchk checks the routes of a class. CLASS_SL is added to the SLs of the default class.
judge() {
    : >none
    ctl topo export --format opensm-lst --file opensm-lst || return
    ctl route export --format opensm-fdbs --file opensm-fdbs || return
    ctl route export --format path-sl --file path-sl || return
    ctl route export --format opensm-sl2vl --file opensm-sl2vl || return
    awk -v on="$1" '{ $NF += on; print }' path-sl >class-sl
    timeout 120 ibdmchk -s opensm-lst -f opensm-fdbs -m none -c class-sl -d opensm-sl2vl >ibdmchk.out 2>&1
    grep -q -- '-I- no credit loops found' ibdmchk.out && ! grep -- '^-E-' ibdmchk.out
} 2>/dev/null

on_tree() {
    local name=$1-tree before
    simulator=$1
    rm -rf state
    sim_start tree.net
    settings auto 'storage 40 service=0x1000-0x1fff' 'training 50 qos_class=7' >fabricd.yaml
    manager_start host-0001 -f "$scratch/fabricd.yaml"
    check "$name: comes up" await 20 settled 0
    same "$name: a switch maps SLs" '0|1|2|0|0|0|0|0' "$(sls leaf-001)"
    same "$name: so does an adapter" '0|1|2|0|0|0|0|0' "$(sls host-0002)"
    same "$name: shares are in the tables" '1:128 2:192 0:64 1:128 2:128' "$(arb leaf-001 1 LOW)"
    same "$name: of adapters, too" '1:128 2:192 0:64 1:128 2:128' "$(arb host-0002 1 LOW)"
    same "$name: nothing has priority" '' "$(arb leaf-001 1 HIGH)"
    same "$name: a path of no class" '0x0 0x90' "$(told --slid 1 --dlid 2)"
    same "$name: by QoS class" '0x2 0x90' "$(told --slid 1 --dlid 2 --qos_class 7)"
    same "$name: by service id" '0x1 0x90' "$(told --slid 1 --dlid 2 --service_id 0x1234)"
    same "$name: by SL" '0x1 0x90' "$(told --slid 1 --dlid 2 --sl 1)"
    same "$name: an SL of nobody" '' "$(told --slid 1 --dlid 2 --sl 9)"
    same "$name: another SL than the rules say" '' "$(told --slid 1 --dlid 2 --sl 1 --qos_class 7)"
    same "$name: fabricctl tells them" 'storage 40 400 1 1' "$(ctl class list -o json | "$python" -c '
import json, sys
c = json.load(sys.stdin)["classes"][1]
print(c["name"], c["share_percent"], c["guaranteed_permille"], c["service_levels"], c["virtual_lanes"])')"
    like "$name: and their rules" "$(ctl class show training)" '^ *2 .* 7 '

    before=$(status generation)
    sim_do 'Unlink "S-0002c90100000001"[4]'
    check "$name: a cable is pulled" await 30 settled "$before"
    same "$name: classes stay as they are" '0|1|2|0|0|0|0|0 0x2 0x90' "$(sls leaf-002) $(told --slid 1 --dlid 9 --qos_class 7)"
    same "$name: and lanes" 3 "$(status virtual_lanes)"
    before=$(status generation)
    sim_do 'ReLink "S-0002c90100000001"[4]'
    check "$name: and put back" await 30 settled "$before"
    same "$name: shares stand" '1:128 2:192 0:64 1:128 2:128' "$(arb leaf-001 4 LOW)"

    check "$name: the same settings again" reload
    same "$name: write nothing" 0 "$(writes)"
    sed -i 's/share: 40/share: 20/' fabricd.yaml
    check "$name: another share" reload
    same "$name: is written to every port with a cable, and nothing else" 30 "$(writes)"
    same "$name: and stands" '20 30 50' "$(arb leaf-001 1 LOW | tr ' ' '\n' | "$python" -c '
import sys
sums = [0, 0, 0]
for line in sys.stdin:
    vl, weight = map(int, line.split(":"))
    sums[vl] += weight
print(*(round(sums[i] * 100 / sum(sums)) for i in (1, 0, 2)))')"
    printf '        - {name: urgent, priority: high, rate_limit: 10, match: ["to=host-0009"]}\n' >>fabricd.yaml
    check "$name: one class more" reload
    same "$name: has a lane of its own" '0|1|2|3|0|0|0|0' "$(sls leaf-001)"
    like "$name: of high priority" "$(arb leaf-001 1 HIGH)" '^3:'
    same "$name: paths to one host, with its rate" '0x3 0x83' "$(told --slid 1 --dlid "$(lid host-0009)")"
    like "$name: fabricctl path tells the class" "$(ctl path host-0001 host-0009)" '^Class: +urgent'
    stop "$manager" KILL
    manager_start host-0001 -f "$scratch/fabricd.yaml"
    check "$name: after kill -9" await 20 settled 0
    same "$name: all stands" '0|1|2|3|0|0|0|0' "$(sls host-0002)"
    printf 'routing:\n    engine: auto\n' >fabricd.yaml
    check "$name: without classes" reload
    same "$name: one lane is left" '0|0|0|0|0|0|0|0' "$(sls leaf-001)"
    printf 'qos:\n    classes: [{name: a, share: 60}, {name: b, share: 50}]\n' >fabricd.yaml
    kill -HUP "$manager"
    check "$name: what cannot be is refused with the place" await 10 grep -q 'fabricd.yaml:1:1: the shares of all classes add up to 110 percent' fabricd.log
    stop "$manager"
    sim_stop
}

on_torus() {
    local name=$1-torus
    simulator=$1
    rm -rf state
    sim_start torus.net
    settings torus 'storage 40 service=0x1000-0x1fff' >fabricd.yaml
    manager_start host-0001 -f "$scratch/fabricd.yaml"
    check "$name: comes up" await 30 settled 0
    same "$name: two lanes for each class" 4 "$(status virtual_lanes)"
    same "$name: SLs for each" '0,1,2,3 4,5,6,7' "$(ctl class list -o json | "$python" -c '
import json, sys
print(*(c["service_levels"] for c in json.load(sys.stdin)["classes"]))')"
    like "$name: a path of the class" "$(told --slid 1 --dlid 70 --service_id 0x1000)" '^0x[5-7] '
    like "$name: one of the default class" "$(told --slid 1 --dlid 70)" '^0x[1-3] '
    check "$name: ibdmchk finds no credit loop in the default class" judge 0
    check "$name: nor in the other" judge 4
    stop "$manager"
    sim_stop
}

# The same tables, from OpenSM's options and from ours.
beside_opensm() {
    local map=0,1,2,3,0,1,2,3,0,0,0,0,0,0,0,0 high=0:4,1:64 low=0:64,1:128,2:192,3:32 tables=() node
    command -v opensm >/dev/null 2>&1 || return 0
    simulator=ibsim
    rm -rf state
    sim_start tree.net
    printf 'qos:\n    sl2vl: "%s"\n    vlarb_high: "%s"\n    vlarb_low: "%s"\n    high_limit: 6\n' $map $high $low >fabricd.yaml
    printf '    classes:\n        - {name: a, sl: 1}\n        - {name: b, sl: 2}\n        - {name: c, sl: 3}\n' >>fabricd.yaml
    manager_start host-0001 -f "$scratch/fabricd.yaml"
    check 'opensm: ours comes up with its tables' await 20 settled 0
    for node in 2 4 10 12; do
        tables+=("$(at host-0001 smpquery sl2vl $node 1 2>/dev/null; at host-0001 smpquery vlarb $node 1 2>/dev/null)")
    done
    stop "$manager"
    sim_stop
    sim_start tree.net
    printf 'force_log_flush TRUE\nqos TRUE\nqos_max_vls 15\nqos_high_limit 6\nqos_vlarb_high %s\nqos_vlarb_low %s\nqos_sl2vl %s\nuse_optimized_slvl FALSE\n' \
        $high $low $map >osm.conf
    start opensm.log env SIM_HOST=host-0001 LD_PRELOAD="$umad2sim" OSM_TMP_DIR="$scratch" \
        OSM_CACHE_DIR="$scratch" opensm -F "$scratch/osm.conf" -f "$scratch/osm.log"
    check 'opensm: comes up' await 30 grep -q 'SUBNET UP' osm.log
    sleep 0.5
    lids=$(at host-0001 ibnetdiscover -p 2>/dev/null | awk '$1 == "CA" && !seen[$2]++ { print $2 } $1 == "SW" && !seen[$2]++ { print $2 }' | tr '\n' ' ')
    for node in $lids; do
        at host-0001 smpquery sl2vl "$node" 1 2>/dev/null
        at host-0001 smpquery vlarb "$node" 1 2>/dev/null
    done | sed 's/Lid [0-9]*/Lid/' >theirs
    stop "$started" KILL
    sim_stop
    # LIDs differ. Only the tables are compared: those of adapters, and those of switches.
    printf '%s\n' "${tables[@]}" | sed 's/Lid [0-9]*/Lid/' | grep '|' | sort -u >ours.tables
    grep '|' theirs | sort -u >theirs.tables
    if [ "$(wc -l <ours.tables)" -gt 8 ] && cmp -s ours.tables theirs.tables; then
        ok 'opensm: sets the same tables'
    else
        not_ok 'opensm: sets the same tables' "$(diff ours.tables theirs.tables)"
    fi
}

for each in ibsim fabsim; do
    on_tree $each
    on_torus $each
done
beside_opensm
