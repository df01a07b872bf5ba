#!/bin/bash
# test_unhealthy.sh: links whose error counters increase. fabricctl shows the same counters as perfquery and
# ibqueryerrors. An unhealthy link is isolated, and so is a link by command. Both stay isolated until they are
# released, even after kill -9 of the manager. Runs on fabsim, which simulates bit errors.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need perfquery ibqueryerrors
[ -n "$umad2sim" ] || need libumad2sim.so
simulator=fabsim

"$fabsim" generate leaf-spine --leaves 4 --spines 4 --hosts 2 -o small.net
port=$((20000 + RANDOM % 20000))
cat >conf.yaml <<EOF
metrics: {listen: 127.0.0.1:$port}
counters: {interval: 1, within: 1, on_errors: isolate, confirm: 2}
EOF

# links: the number of links in service.
links() {
    ctl link list -o json | "$python" -c 'import json, sys; print(len(json.load(sys.stdin)["links"]))'
}
links_are() { [ "$(links)" = "$1" ]; }

# state PORT: the state of the link in `link unhealthy`; empty if it is not listed.
state() {
    ctl link unhealthy "$1" -o json 2>/dev/null | field state
}
state_is() { [ "$(state "$1")" = "$2" ]; }

# ours: prints node, port, counter and value of all errors that fabricctl shows; theirs: those of ibqueryerrors.
ours() {
    ctl port counters -o json | "$python" -c '
import json, sys
for p in json.load(sys.stdin)["ports"]:
    for name, value in p.items():
        if name not in ("node", "node_guid", "port", "read_time") and value:
            print(p["node"], p["port"], name, value)' | sort
}
theirs() {
    at host-0002 ibqueryerrors --skip-sl --threshold-file /dev/null 2>/dev/null | "$python" -c '
import re, sys
for line in sys.stdin:
    head = re.match(r"Errors for (?:\S+ )?\"(.*)\"", line)
    name = head.group(1) if head else name if "name" in globals() else None
    port = re.match(r"\s+GUID \S+ port (\d+):(.*)", line)
    for counter, value in re.findall(r"\[(\w+) == (\d+)", port.group(2)) if port else []:
        if counter != "PortXmitWait":
            print(name, port.group(1), counter, value)' | sort
}
agree() {
    ours >ours
    theirs >theirs
    [ -s ours ] && cmp -s ours theirs
}

check 'serves a fabric' sim_start small.net
manager_start host-0001 -f "$scratch/conf.yaml"
check 'the fabric comes up' await 20 settled 0
same 'all links are in service' 24 "$(links)"

sim_do noise leaf-002/3 ber=2e-10
check 'an unhealthy link is isolated' await 20 state_is leaf-002/3 isolated
check 'and out of the routes' await 10 links_are 23
like 'the journal says why' "$(ctl event list -n 20)" 'link-isolated .*SymbolErrorCounter'
like 'so does the list' "$(ctl link unhealthy)" 'leaf-002/3 .*isolated.*SymbolErrorCounter'
like 'its history is shown' "$(ctl link unhealthy leaf-002/3)" 'INCREASE'
sim_do repair leaf-002/3

lid=$(ctl node show leaf-002 -o json | field lid)
value=
same_value() {
    local there
    there=$(at host-0002 perfquery "$lid" 3 | sed -n 's/^SymbolErrorCounter:\.*//p')
    value=$(ctl port counters leaf-002 -o json | "$python" -c '
import json, sys
print([p["SymbolErrorCounter"] for p in json.load(sys.stdin)["ports"] if p["port"] == 3][0])')
    [ "$value" -gt 10 ] && [ "$value" = "$there" ]
}
check 'perfquery shows the same counter' await 20 same_value
sim_do increment host-0004/1 PortRcvErrors rate=3
sim_do increment spine-002/4 PortXmitDiscards rate=2
sleep 3
sim_do increment host-0004/1 PortRcvErrors rate=0
sim_do increment spine-002/4 PortXmitDiscards rate=0
check 'ibqueryerrors shows the very same errors' await 30 agree || diff ours theirs | sed 's/^/# /'
same 'of four ports' 4 "$(cut -d' ' -f1,2 ours | sort -u | wc -l)"

check 'a link is isolated by command' ctl link isolate spine-003/4
check 'and out of the routes, too' await 10 links_are 22
ctl link isolate host-0003/1 2>why && not_ok 'a host would be cut off' || like 'a host would be cut off' "$(cat why)" 'host-0003 would be cut off'
ctl link isolate leaf-002/4
ctl link isolate leaf-002/5 2>why && not_ok 'a leaf keeps its share' || like 'a leaf keeps its share' "$(cat why)" 'leaf-002 would lose more than 50 percent'
ctl link release leaf-002/4
check 'released again' await 10 links_are 22

page=$("$python" -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:$port/metrics').read().decode())")
like 'metrics count them' "$page" '^fabricd_links_isolated 2$'
like 'and the errors' "$page" '^fabricd_port_errors_total\{node="leaf-002",port="3",peer="[^"]*",peer_port="[^"]*",guid="0x[0-9a-f]+",counter="SymbolErrorCounter"\} [0-9]+$'

stop "$manager" KILL
manager_start host-0001 -f "$scratch/conf.yaml"
check 'another manager comes up' await 20 settled 0
same 'isolated links stay isolated' 22 "$(links)"
like 'the unhealthy one' "$(ctl link unhealthy)" 'leaf-002/3 .*isolated.*SymbolErrorCounter'
like 'and the other one' "$(ctl link unhealthy)" '(spine-003/4|leaf-004/5) .*isolated'
check 'releases one' ctl link release leaf-002/3
check 'releases the other' ctl link release leaf-004/5
check 'all are in service' await 10 links_are 24
check 'pairs reach each other' ctl route verify

# Two of four uplinks have errors: the capacity floor keeps three. The list says what is lost.
kept() { ctl link unhealthy | grep -q 'leaf-001/[34] .*errors/h, [1-9][0-9]* LIDs .*leaf-001 would keep 2 of 4 uplinks, floor 3'; }
sim_do noise leaf-001/3 ber=2e-10
sim_do noise leaf-001/4 ber=2e-10
check 'a leaf keeps its floor, and the list shows both losses' await 20 kept
same 'only one link is isolated' 23 "$(links)"
like 'the journal says why' "$(ctl event list -n 20)" 'stays in service: leaf-001 must keep 3 of its 4 uplinks'
