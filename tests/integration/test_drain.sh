#!/bin/bash
# test_drain.sh: maintenance on ibsim. Drains switches, links and racks one after the other. infiniband-diags
# check each time that no table entry leads over a drained link, that every pair has a path, and that the tables
# after undrain are byte for byte those from before. Meanwhile another host sends LID-routed requests to all hosts,
# and each must be answered. A drain survives kill -9. Then, with simulated traffic, a drain is complete only
# when the counters of its links are idle.
#
# DRAINS=20 in the environment drains this many switches, links and racks (6).
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need ibsim ibnetdiscover dump_fts perfquery
[ -n "$umad2sim" ] || need libumad2sim.so
drains=${DRAINS:-6}

"$fabsim" generate fat-tree --radix 4 --levels 3 -o tree.net
{
    echo name,rack
    for i in 1 2 3 4; do
        echo "core-00$i,R$i"
        echo "spine-00$((2 * i - 1)),R$i"
        echo "spine-00$((2 * i)),S$i"
        echo "leaf-00$((2 * i)),S$i"
        echo "leaf-00$((2 * i - 1)),L$i"
    done
} >racks.csv
echo "locations: {file: $scratch/racks.csv}" >conf.yaml
host=host-0001

tables() {
    at "$host" ibnetdiscover >"$1.nd" 2>"$1.err" && at "$host" dump_fts -n >"$1.fts" 2>>"$1.err"
}
judged() {
    tables "$1" && "$python" "$here/judge.py" "$1.nd" "$1.fts"
}

# unused FTS COST: no entry of the dump leads over a link of the cost of a drain (JSON).
unused() {
    "$python" - "$1" "$2" <<'END'
import json, re, sys
links = json.load(open(sys.argv[2]))["links"]
ports = {(int(l[e + "node_guid"], 16), l[e + "port"]) for l in links for e in ("a_", "b_")}
guid, entries, bad = 0, 0, []
for line in open(sys.argv[1], errors="replace"):
    head = re.search(r"Unicast lids .* guid 0x(\w+)", line)
    guid = int(head[1], 16) if head else guid
    entry = re.match(r"0x(\w+)\s+(\d+)", line)
    if entry:
        entries += 1
        bad += [line] if (guid, int(entry[2])) in ports else []
assert entries > 100 and ports, (entries, ports)
assert not bad, bad
END
}
none_drained() {
    [ "$(ctl drain list -o json | "$python" -c 'import json, sys; print(len(json.load(sys.stdin)["drains"]))')" = 0 ] &&
        settled 0
}

# each KIND NAME: drains it, checks, ends the drain, and compares the tables. A leaf is not drained while one of
# its hosts sends, so another host sends while leaf-008, the leaf of host-0016, is being drained.
each() {
    case $2 in
    leaf-008 | S4) echo host-0014 >sender ;;
    *) echo host-0016 >sender ;;
    esac
    ctl drain "$1" "$2" --dry-run -o json >cost.json || return 1
    ctl drain "$1" "$2" --yes --wait --reason 'test of maintenance' || return 1
    judged during || { echo "$1 $2 during"; return 1; }
    # A drain of a leaf leaves out no link, because no packets of others pass through it.
    if grep -q '"a_node_guid"' cost.json; then
        unused during.fts cost.json || { echo "$1 $2: used"; return 1; }
    fi
    ctl undrain "$1" "$2" || return 1
    await 20 none_drained || { echo "$1 $2: not ended"; return 1; }
    tables after && cmp before.fts after.fts || { echo "$1 $2: other tables"; return 1; }
}

# all KIND NAME...: drains the first $drains objects.
all() {
    local kind=$1 name n=0
    shift
    for name; do
        [ $n -lt "$drains" ] || break
        each "$kind" "$name" || return 1
        n=$((n + 1))
    done
    echo "$n" >count
}

# send: requests from the host in the file sender to the LIDs of all hosts, until the file stop is there. One line
# for each request that was not answered.
send() {
    local lids lid sent=0
    lids=$(sed -n 's/.*# lid \([0-9]*\) lmc.*/\1/p' before.nd | sort -nu)
    while [ ! -e stop ]; do
        for lid in $lids; do
            sent=$((sent + 1))
            SIM_HOST=$(cat sender) LD_PRELOAD=$umad2sim timeout 20 perfquery "$lid" 1 >/dev/null 2>&1 || echo "LID $lid"
        done
    done >lost
    echo $sent >sent
}

check 'serves a fabric' sim_start tree.net
manager_start "$host" -f "$scratch/conf.yaml"
check 'the fabric comes up' await 20 settled 0
check 'all pairs have a path' judged before
echo host-0016 >sender
send &
sending=$!
pids+=("$sending")

readarray -t switches < <(printf '%s\n' spine-00{1..8} core-00{1..4} leaf-00{1..8})
check "each of $drains switches drains, and returns with the same tables" all switch "${switches[@]}"
same 'all of them' "$(printf '%s\n' "${switches[@]}" | head -n "$drains" | wc -l)" "$(cat count)"
readarray -t links < <(ctl link list -o json | "$python" -c '
import json, sys
for l in json.load(sys.stdin)["links"]:
    if not (l["a_node"].startswith("host") or l["b_node"].startswith("host")):
        print("%s/%s" % (l["a_node"], l["a_port"]))')
check "each of $drains links drains, and returns with the same tables" all link "${links[@]}"
check 'racks drain, and return with the same tables' all rack R1 R2 R3 R4 S1 S2 S3 S4 L1 L2 L3 L4
like 'the journal has the person and the reason' "$(ctl event list -n 50)" \
    'rack .* is being drained by .*; reason: test of maintenance'

# ---- refused, restarts, time

cp before.fts refused.fts
ctl drain switch spine-001 --yes --wait >/dev/null
like 'a drain that would cut off a leaf is refused' "$(ctl drain switch spine-002 --yes 2>&1)" 'refused: .*would be cut off'
stop "$manager" KILL
manager_start "$host" -f "$scratch/conf.yaml"
check 'the manager is back' await 30 settled 0
is_drained() { ctl drain list | grep -q 'switch *spine-001 *drained'; }
check 'the switch is still drained' await 20 is_drained
check 'all pairs have a path' judged during
ctl undrain --all
check 'the drain ends' await 20 none_drained
check 'the tables are read' tables after
check 'and are those from before the drain' cmp before.fts after.fts
ctl drain link "${links[0]}" --for 5s --yes >/dev/null
like 'a drain has an end' "$(ctl drain list -o json)" '"until": "2'
check 'and ends by itself' await 20 none_drained
like 'because of the time' "$(ctl event list -n 20)" 'drain of link .* ended because its time was over'

touch stop
wait "$sending"
same 'no request between hosts was lost' '' "$(cat lost)"
echo "# $(cat sent) requests between hosts"
stop "$manager"
sim_stop

# ---- with traffic

rm -rf state
manager_start '' -f "$scratch/conf.yaml" --sim tree.net
check 'comes up on the simulated fabric' await 20 settled 0
busy() { ctl drain list -o json | grep -q '"busy_bytes_per_second": [1-9]'; }
sleep 12 # the simulated hosts begin to send 10 seconds after the start
ctl drain switch spine-003 --yes >/dev/null
ctl drain host host-0003 --yes >/dev/null
is_drained() { ctl drain list | grep -q 'switch *spine-003 *drained'; }
check 'a switch is drained when its counters are idle' await 30 is_drained
check 'a host that sends is not drained' await 20 busy
like 'the list shows where packets pass' "$(ctl drain list)" 'host *host-0003 *draining .*leaf-00.*MB/s'
check 'all drains end' ctl undrain --all
stop "$manager"
