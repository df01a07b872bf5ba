#!/bin/bash
# test_cabling.sh: topo check on ibsim (fabsim serve cannot connect a port to another port than before). The
# plan is the output of ibnetdiscover while the cables are right. Then cables are moved in the simulator.
# fabricctl prints moves, which are made in the simulator. ibnetdiscover must then print the same as at first.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need ibnetdiscover
[ -n "$umad2sim" ] || need libumad2sim.so
need ibsim
simulator=ibsim

"$fabsim" generate leaf-spine --leaves 4 --spines 3 --hosts 3 --radix 10 >fabric.net
sim_start fabric.net || exit 1
manager_start host-0001
await 30 settled 0 || not_ok 'the manager brings the fabric up'

# The output of ibnetdiscover, without LIDs and the time.
discovered() {
    at host-0001 ibnetdiscover 2>/dev/null | grep -v '^#' | sed 's/ lid [0-9]*//g; s/ lmc [0-9]*//g'
}

at host-0001 ibnetdiscover >plan.txt 2>/dev/null
discovered >before
check 'the output of ibnetdiscover is a plan, and the fabric is as planned' ctl topo check plan.txt
like 'it is recognised' "$(ctl topo check -o json plan.txt)" '"format": "ibnetdiscover"'

# cables COMMAND < LINES: each line "A B" unplugs or plugs the ports A and B (NODE/PORT) in the simulator.
cables() {
    local a b
    while read -r a b; do
        a="\"$(id "${a%/*}")\"[${a##*/}]"
        case $1 in
        unplug) sim_do "Unlink $a" ;;
        plug) sim_do "Link $a \"$(id "${b%/*}")\"[${b##*/}]" ;;
        esac
    done
}

# id NAME: the id of a node in the topology file.
id() {
    sed -n "s/^\(Switch\|Ca\)[^\"]*\"\([^\"]*\)\".*# \"$1\".*/\2/p" fabric.net
}

cables unplug <<<'leaf-002/4
leaf-002/5
leaf-003/6
leaf-004/5'
cables plug <<<'leaf-002/4 spine-002/2
leaf-002/5 spine-001/2
leaf-003/9 spine-003/3'
check 'a sweep finds the cables' ctl sweep
ctl topo check plan.txt -o json >result.json
same 'the exit status tells of differences' 5 $?
same 'they are named' "{'missing': 1, 'swapped': 2, 'wrong-port': 1}" \
    "$("$python" -c 'import json; print(dict(sorted(json.load(open("result.json"))["kinds"].items())))')"

# The moves for the present output of ibnetdiscover, as "unplug A" and "plug A B".
at host-0001 ibnetdiscover >now.txt 2>/dev/null
"$python" - >moves <<'PYTHON'
import json, re
peer, name = {}, {}
for line in open("now.txt"):
    if m := re.match(r'(?:Switch|Ca)\s+\d+ "([^"]+)"\s+# "([^"]+)"', line):
        node, name[m[1]] = m[1], m[2]
    if m := re.match(r'\[(\d+)\].*?"([SH]-\w+)"\[(\d+)\]', line):
        peer[node, int(m[1])] = (m[2], int(m[3]))
peer = {"%s/%d" % (name[n], p): "%s/%d" % (name[m], q) for (n, p), (m, q) in peer.items()}

def plug(a, b):
    print("plug", a, b)
    peer[a], peer[b] = b, a

def unplug(a):
    print("unplug", a)
    b = peer.pop(a)
    del peer[b]
    return b

for m in json.load(open("result.json"))["moves"]:
    a, b = ("%s/%d" % (m[e + "_node"], m[e + "_port"]) for e in "ab")
    if m["step"] == "swap":
        x, y = unplug(a), unplug(b)
        plug(a, y)
        plug(b, x)
    elif m["step"] == "move":
        plug(unplug(a), b)
    elif m["step"] == "connect":
        plug(a, b)
    else:
        unplug(a)
PYTHON
same 'three jobs correct four differences' 3 "$("$python" -c 'import json; print(len(json.load(open("result.json"))["moves"]))')"
while read -r command where; do
    cables "$command" <<<"$where"
done <moves
check 'a sweep finds the corrected cables' ctl sweep
check 'the fabric is as planned again' ctl topo check plan.txt
discovered >after
check 'ibnetdiscover prints the same as before' cmp before after
