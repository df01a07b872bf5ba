#!/bin/bash
# test_lanes.sh: routes that need several virtual lanes, on ibsim (each pair of ports is written alone) and on
# fabsim (many pairs are written at once). smpquery reads the tables of the devices. ibdmchk checks the routes with
# their service levels and lanes.
. "$(dirname "$0")/lib.sh"
need ibsim smpquery ibdmchk
[ -n "$umad2sim" ] || need libumad2sim.so

"$fabsim" generate torus --size 5x5 --hosts 3 >torus.net

# engine NAME: writes the settings for this engine.
engine() {
    printf 'routing:\n    engine: %s\n' "$1" >fabricd.yaml
}

# routed NAME GENERATION: there are tables of that engine, newer than that generation.
routed() {
    [ "$(status routing_engine)" = "$1" ] && [ "$(status generation)" -gt "$2" ] &&
        [ "$(status state)" = idle ]
}

# reroute NAME: selects another engine while the manager runs.
reroute() {
    local generation
    generation=$(status generation)
    engine "$1"
    kill -HUP "$manager"
    await 30 routed "$1" "$generation"
}

# Devices hold the tables that were exported: all pairs of ports of three switches, and two adapters.
judge_devices() {
    local switch port
    ctl route export --format opensm-sl2vl --file opensm-sl2vl || return
    : >held
    for switch in 76 85 100; do
        for port in 1 2 3 4 5 6 7; do
            at host-0001 smpquery sl2vl $switch $port >>held || return
        done
    done
    at host-0001 smpquery sl2vl 1 1 >>held && at host-0001 smpquery sl2vl 70 1 >>held || return
    "$python" - <<'PY'
import re
want, held = {}, {}
for line in open("opensm-sl2vl"):
    if m := re.match(r'(?:Switch|Channel Adapter) 0x\w+, base LID (\d+),', line):
        lid = int(m[1])
    elif m := re.match(r"(\d+) +(\d+) +: (.*)", line):
        want[lid, int(m[1]), int(m[2])] = [int(x) for x in m[3].split()]
for line in open("held"):
    if m := re.match(r"# SL2VL table: Lid (\d+)", line):
        lid = int(m[1])
    elif m := re.match(r"ports: in +(\d+), out +(\d+): \|(.*)\|", line):
        held[lid, int(m[1]), int(m[2])] = [int(x) for x in m[3].split("|")]
assert len(held) == 3 * 7 * 8 + 2, len(held)
wrong = {k: (v, want[k]) for k, v in held.items() if want[k] != v}
assert not wrong, wrong
PY
}

# Entries of the low-priority arbitration table of a port that have a weight.
arbitrated() {
    at host-0001 smpquery vlarb "$@" | sed -n '/^# Low/,/^# High/s/^WEIGHT: *|//p' | tr '|' '\n' | grep -c '0x[1-9a-f]'
}

judge_routes() {
    : >none
    ctl topo export --format opensm-lst --file opensm-lst || return
    ctl route export --format opensm-fdbs --file opensm-fdbs || return
    ctl route export --format path-sl --file path-sl || return
    timeout 120 ibdmchk -s opensm-lst -f opensm-fdbs -m none "$@" >ibdmchk.out 2>&1
    grep -q -- '-I- no credit loops found' ibdmchk.out && ! grep -- '^-E-' ibdmchk.out
} 2>/dev/null

on() {
    simulator=$1
    engine torus
    rm -rf state
    sim_start torus.net
    manager_start host-0001 -f "$scratch/fabricd.yaml"
    check "$simulator: comes up on several lanes" await 30 routed torus 0
    same "$simulator: the status says how many" 4 "$(status virtual_lanes)"
    check "$simulator: the devices hold them" judge_devices
    same "$simulator: a switch arbitrates between them" 4 "$(arbitrated 76 4)"
    same "$simulator: so does an adapter" 4 "$(arbitrated 70 1)"
    like "$simulator: a path has its service level" "$(ctl path host-0001 host-0070)" 'SL: +[1-3]'
    check "$simulator: ibdmchk finds no credit loop on these lanes" judge_routes -c path-sl -d opensm-sl2vl
    if judge_routes; then
        not_ok "$simulator: and one on a single lane"
    else
        like "$simulator: and one on a single lane" "$(cat ibdmchk.out)" 'credit loops in routing'
    fi

    check "$simulator: an engine with one lane takes over" reroute updn
    same "$simulator: the status says so" 1 "$(status virtual_lanes)"
    check "$simulator: the devices are told" judge_devices
    check "$simulator: and back" reroute torus
    check "$simulator: the devices are told again" judge_devices

    stop "$manager" KILL
    engine updn
    manager_start host-0001 -f "$scratch/fabricd.yaml"
    check "$simulator: after kill -9 with one lane" await 30 routed updn 0
    check "$simulator: to several" reroute torus
    check "$simulator: the devices hold them" judge_devices
    stop "$manager" KILL
    engine torus
    manager_start host-0001 -f "$scratch/fabricd.yaml"
    check "$simulator: after kill -9 with several lanes" await 30 routed torus 0
    check "$simulator: the devices hold them still" judge_devices
    check "$simulator: ibdmchk agrees" judge_routes -c path-sl -d opensm-sl2vl
    stop "$manager"
    sim_stop
}

on ibsim
on fabsim

# ---- every engine that may need several lanes, on a simulated fabric. All adapters have one port, because ibdmchk keeps
# one table of service levels for each adapter, not for each port.
while read -r name family; do
    # shellcheck disable=SC2086
    "$fabsim" generate $family >family.net || not_ok "$name: $family is generated"
    engine "$name"
    rm -rf state
    manager_start '' --sim "$scratch/family.net" -f "$scratch/fabricd.yaml"
    check "$name: routes $family" await 30 routed "$name" 0
    like "$name: on several lanes" "$(status virtual_lanes)" '^[2-9]$'
    ctl route export --format opensm-sl2vl --file opensm-sl2vl
    check "$name: ibdmchk finds no credit loop" judge_routes -c path-sl -d opensm-sl2vl
    stop "$manager"
done <<'ENGINES'
torus torus --size 6x5x4 --hosts 1
dragonfly dragonfly --group-size 4 --global 2 --hosts 2
dragonfly+ dragonfly-plus --leaves 3 --spines 3 --global 1 --hosts 3
dfsssp dragonfly --group-size 4 --global 2 --hosts 2
nue torus --size 5x5 --hosts 3
ENGINES
