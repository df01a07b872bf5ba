#!/bin/bash
# test_certificate.sh: `fabricctl route certify` on ibsim. fabric-certificate-check compares the certificate
# with the tables that were read from the devices. It must refuse wrong certificates and changed tables.
. "$(dirname "$0")/lib.sh"
need ibsim ibnetdiscover dump_fts smpquery
[ -n "$umad2sim" ] || need libumad2sim.so
checker=$top/cli/certificate/fabric-certificate-check
simulator=ibsim

# judged CODE REGEX FILE...: the checker ends with this exit code, and its output matches.
judged() {
    local code=$1 regex=$2 rc
    shift 2
    "$python" "$checker" "$@" >checked 2>&1
    rc=$?
    cat checked
    [ $rc -eq "$code" ] && grep -Eq "$regex" checked
}

# certified NAME ARGUMENTS...: brings up a fabric of `fabsim generate`; its files are in cert, net and fts.
certified() {
    local name=$1
    shift
    "$fabsim" generate "$@" >fabric.net
    rm -rf state
    sim_start fabric.net
    manager_start host-0001
    check "$name: comes up" await 120 settled 0
    check "$name: is certified" ctl route certify --file cert
    check "$name: its links are read" at host-0001 ibnetdiscover
    grep -v ibwarn check.out >net
    check "$name: its tables are read" at host-0001 dump_fts -n
    grep -v ibwarn check.out >fts
}

# spoiled NAME CODE REGEX SCRIPT: changes the certificate by an awk script; the checker must refuse it.
spoiled() {
    awk "$4" cert >other
    check "refused: $1" judged "$2" "$3" other net fts
}

certified '648 hosts' leaf-spine --leaves 18 --spines 9 --hosts 36
check '648 hosts: the certificate holds' judged 0 '^27 switches, 324 channels, 1 VLs, .* 0 faults$' cert net fts
# Packets to a spine go up, down to any leaf, up, and down: four numbers.
same '648 hosts: as many numbers as the longest path has links' '1 2 3 4' "$(awk '/^0x/ { n[$3]++ } END { for (i in n) print i }' cert | sort -n | xargs)"
spoiled 'all numbers alike' 1 'has number 1 after number 1' '/^0x/ { $3 = 1 } 1'
spoiled 'numbers turned round' 1 'has number . after number' '/^0x/ { $3 = 5 - $3 } 1'
spoiled 'one number too low' 1 'has number 0 after' '/^0x/ && $3 == 4 && !done { $3 = 0; done = 1 } 1'
spoiled 'a channel is missing' 1 'no number for' '!/^0x/ || done++ != 100'
spoiled 'another fabric' 1 'no number for' '/^0x/ { sub(/^0x000/, "0x100") } 1'
spoiled 'a channel twice' 2 'occurs twice' '{ print } /^0x/ && !done++ { print }'
spoiled 'more VLs than numbers' 2 'not a line of a certificate' '/^vls/ { $2 = 2 } 1'
spoiled 'a negative number' 2 'not a line of a certificate' '/^0x/ && !done++ { $3 = -1 } 1'
spoiled 'another version' 2 'not a certificate of version 1' 'NR == 1 { $2 = 2 } 1'
spoiled 'nothing in it' 2 'not a certificate of version 1' '0'
head -c 5005 cert >other
check 'refused: cut off' judged 2 'not a line of a certificate' other net fts

# The entry of a leaf for a host of another leaf now leads nowhere, or up again in a loop.
awk '/^Unicast/ { leaf = /leaf/ } leaf && /^0x/ && $2 > 36 && !done { $2 = 255; done = 1 } 1' fts >other
check 'refused: a table without a route' judged 1 'has no route' cert net other
awk '/^Unicast/ { spine = /spine/ } spine && /^0x0001 / { $2 = "018" } 1' fts >other
check 'refused: spines that send to the wrong leaf' judged 1 'has number . after number' cert net other
stop "$manager"
sim_stop

certified '3,456 hosts' fat-tree --radix 24 --levels 3
check '3,456 hosts: the certificate holds' judged 0 ' 1 VLs, .* 0 faults$' cert net fts
stop "$manager"
sim_stop

certified 'torus' torus --size 6x5x4 --hosts 1
adapters=$(sed -n 's/^\[.*"S-.*# lid \([0-9]*\) lmc.*/\1/p' net)
switches=$(sed -n 's/^Switch\s*\([0-9]*\).* lid \([0-9]*\) .*/\2\/\1/p' net)
sm=$(at host-0001 smpquery portinfo -D 0 2>/dev/null | sed -n 's/^SMLid:\.*//p')
check 'torus: its path records are read' at host-0001 "$python" "$here/read_lanes.py" paths "$sm" $adapters
cp check.out paths
check 'torus: its SL-to-VL tables are read' at host-0001 "$python" "$here/read_lanes.py" sl2vl $switches ${adapters//$'\n'//0 }/0
cp check.out sl2vl
first=${switches%%/*}
same 'torus: smpquery reads the same' "$(at host-0001 smpquery sl2vl "$first" 3 2>/dev/null | grep ^ports)" \
    "$(awk -v lid="$first" '/^#/ { on = $NF == lid } on && /out  3:/' sl2vl)"
check 'torus: the certificate holds' judged 0 '^120 switches, .* 4 VLs, 14280 paths, 0 faults$' cert net fts --sl2vl sl2vl --paths paths
check 'torus: one lane is not enough' judged 2 'sl2vl and --paths are needed' cert net fts
sed 's/\(sl\.*\)0x[0-9a-f]*/\10x0/' paths >other
check 'refused: a service level that the paths do not have' judged 1 'has number' cert net fts --sl2vl sl2vl --paths other
sed '/^ports:/s/| 1/| 0/g' sl2vl >other
check 'refused: SL-to-VL tables that use one lane' judged 1 'has number' cert net fts --sl2vl other --paths paths
stop "$manager"
sim_stop
