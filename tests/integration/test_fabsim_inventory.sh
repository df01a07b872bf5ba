#!/bin/bash
# test_fabsim_inventory.sh: an operator rehearses high temperatures, other firmware, a failed fan and a replaced cable with
# 'fabsim ctl', and sees them with fabricctl. fabricd is attached to fabsim by libibumad.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -n "$umad2sim" ] || need libumad2sim.so
simulator=fabsim

"$fabsim" generate leaf-spine --leaves 2 --spines 2 --hosts 4 -o small.net
check 'serves a fabric' sim_start small.net
echo 'inventory: {read: yes, requests: 10000, interval: 60, temperature_interval: 10}' >fabricd.yaml
manager_start host-0001 -f "$scratch/fabricd.yaml"
check 'the fabric comes up' await 60 settled 0

# rows COMMAND...: the number of rows of a list.
rows() {
    ctl "$@" -o csv | tail -n +2 | wc -l
}
# event TYPE SUBJECT: there is an event of this type about this subject.
event() {
    ctl event list --type "$1" --subject "$2" -o csv | grep -q "$1"
}
all_read() {
    [ "$(ctl inventory nodes -o csv | grep -c ,read,)" -eq 12 ]
}
is_odd() {
    ctl inventory nodes --odd -o csv | grep -q "^$1,"
}
is_usual() {
    ! is_odd "$1"
}
fault() {
    "$fabsim" ctl "$@"
}
check 'all devices are read' await 60 all_read
same 'no device is hot' 0 "$(rows inventory nodes --hot)"
same 'no cable is hot' 0 "$(rows inventory cables --hot)"
serial=$(ctl inventory cables leaf-001/1 -o json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["cables"][0]["serial"])')

check 'heats a switch' fault heat leaf-001 by=70
check 'heats an optic' fault heat leaf-001/5 by=40
check 'gives a host other firmware' fault firmware host-0003 28.39.1002
check 'stops a fan' fault fan leaf-002 2 rpm=0
check 'replaces a cable' fault replace leaf-001/1
like 'an adapter has no fan' "$(fault fan host-0001 1 2>&1)" 'no such link, port or fan'
like 'a version has three numbers' "$(fault firmware host-0003 28 2>&1)" 'invalid value'
like 'there are four fans' "$(fault fan leaf-002 5 2>&1)" 'invalid value'
like 'a device melts' "$(fault heat leaf-001 by=101 2>&1)" 'invalid value'

check 'the switch is too hot' await 60 event temperature-high leaf-001
check 'so is the optic' await 60 event temperature-high leaf-001/5
check 'the firmware differs' await 120 event firmware-differs host-0003
check 'a fan stands still' await 120 event fan-stopped leaf-002
check 'another cable is there' await 120 event cable-changed leaf-001/1
same 'one device is hot' 1 "$(rows inventory nodes --hot)"
same 'one optic is hot' 1 "$(rows inventory cables --hot)"
check 'the host has odd firmware' is_odd host-0003
like 'its firmware' "$(ctl inventory nodes host-0003)" '28\.39\.1002'
like 'the slowest fan' "$(ctl inventory nodes leaf-002 -o json)" '"slowest_fan_rpm": 0'
check 'the serial number is another' test "$serial" != "$(ctl inventory cables leaf-001/1 -o json |
    "$python" -c 'import json, sys; print(json.load(sys.stdin)["cables"][0]["serial"])')"

check 'cools the switch' fault heat leaf-001
check 'mends the fan' fault fan leaf-002 2
check 'restores the firmware' fault firmware host-0003 usual
check 'the switch is cool' await 60 event temperature-normal leaf-001
check 'the fan runs' await 120 event fan-running leaf-002
check 'the firmware is as before' await 120 is_usual host-0003
stop "$manager"
same 'the manager ends well' 0 $?
