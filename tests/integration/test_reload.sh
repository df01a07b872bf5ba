#!/bin/bash
# test_reload.sh: SIGHUP. A good file takes effect, and a bad file changes nothing. In both cases, the manager
# and its services continue.
. "$(dirname "$0")/lib.sh"

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 4 >fabric.net
printf 'log_level: debug\n' >fabricd.yaml

manager_start '' --sim "$scratch/fabric.net" -f "$scratch/fabricd.yaml"
check 'comes up' await 20 settled 0
generation=$(status generation)

printf 'subnet:\n    lmc: 9\n' >fabricd.yaml
kill -HUP "$manager"
check 'a bad file is refused with its place' \
    await 10 grep -Eq 'fabricd.yaml:2:[0-9]+: .*the old settings stay active' fabricd.log
same 'and nothing has changed' "$generation" "$(status generation)"

printf 'subnet:\n    max_mtu: 2048\nsocket_group: nobody\n' >fabricd.yaml
kill -HUP "$manager"
check 'a good file takes effect' await 10 settled "$generation"
check 'what needs a restart is named' grep -q 'socket_group takes effect at the next start' fabricd.log
same 'the tables are proved anew' true "$(status deadlock_free)"

share_of_contingencies() {
    ctl route contingency -n 1 | grep -q "at most $1 % of a core"
}
check 'the computation of contingencies takes its default share' await 10 share_of_contingencies 25
printf 'contingency: {cpu: 7, memory: 9}\n' >fabricd.yaml
kill -HUP "$manager"
check 'after a reload it takes another share' await 10 share_of_contingencies 7
check 'contingency.memory needs a restart' \
    grep -q 'contingency.memory takes effect at the next start' fabricd.log

# ---- tables from the operator
generation=$(status generation)
ctl route export --format opensm-lfts --file tables
sed '0,/^0x0001 /s//0x0001 x/' tables >wrong
printf 'routing: {engine: file, file: %s/wrong}\n' "$scratch" >fabricd.yaml
kill -HUP "$manager"
check 'tables with a mistake are refused with its place' \
    await 10 grep -Eq 'wrong:[0-9]+:8: expected a port .*the old settings stay active' fabricd.log
same 'and nothing has changed' "$generation" "$(status generation)"
printf 'routing: {engine: file, file: %s/tables}\n' "$scratch" >fabricd.yaml
kill -HUP "$manager"
check 'good tables take effect' await 10 settled "$generation"
same 'and are proved' file,true "$(status routing_engine),$(status deadlock_free)"
ctl route export --format opensm-lfts --file again
same 'they are what was given' "$(md5sum <tables)" "$(md5sum <again)"

# ---- names of nodes
leaf=$(ctl node list -o json | "$python" -c 'import json, sys
print(next(n["guid"] for n in json.load(sys.stdin)["nodes"] if n["name"] == "leaf-002"))')
printf '# names\n%s "rack B, leaf 2"\n' "$leaf" >names.map
printf 'names: {node_name_map: %s/names.map}\n' "$scratch" >fabricd.yaml
kill -HUP "$manager"
named() {
    ctl node list | grep -q "$1"
}
check 'a node-name-map takes effect' await 10 named 'rack B, leaf 2'
same 'the NodeDescription is not shown any more' '' "$(ctl node list | grep leaf-002)"
check 'a node is found by its name' ctl node show 'rack B, leaf 2'
check 'and by its NodeDescription' ctl node show leaf-002
like 'the export has the name' "$(ctl topo export --format ibnetdiscover)" '"rack B, leaf 2"'
printf '0x1 "x"\n%s "rack B"\n0x2 "x"\n' "$leaf" >names.map
kill -HUP "$manager"
check 'a duplicate name is refused with its line' await 10 grep -q \
    'names.map:3: the name is that of GUID 0x0000000000000001 already, in line 1; the old' fabricd.log
check 'and the former names stay' named 'rack B, leaf 2'
printf 'log_level: info\n' >fabricd.yaml
kill -HUP "$manager"
check 'without the map, the NodeDescription is back' await 10 named 'leaf-002'

# ---- what happens to devices that are not approved
ctl topo approve >/dev/null
ctl topo disapprove host-0005 >/dev/null
waiting() {
    ctl topo baseline --waiting | grep -q "0x.* leaf-002/1 .* $1 "
}
check 'an unapproved host is admitted' await 10 waiting admitted
for mode in exclude:excluded quarantine:quarantined allow:admitted exclude:excluded; do
    printf 'subnet: {unapproved: %s}\n' "${mode%:*}" >fabricd.yaml
    kill -HUP "$manager"
    check "after a reload with ${mode%:*} it is ${mode#*:}" await 20 waiting "${mode#*:}"
done

rm fabricd.yaml
kill -HUP "$manager"
check 'a file that is gone is told' await 10 grep -Eq 'fabricd.yaml: .*the old settings stay active' fabricd.log
check 'ends on request' stop "$manager"
