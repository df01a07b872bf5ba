#!/bin/bash
# test_partitions.sh: P_Key tables, on ibsim and on fabsim. smpquery reads the tables of hosts and of their switch
# ports. A change while the manager runs must reach only the affected ports. A manager that starts again must
# write nothing.
. "$(dirname "$0")/lib.sh"
need ibsim smpquery
[ -n "$umad2sim" ] || need libumad2sim.so

"$fabsim" generate leaf-spine --leaves 3 --spines 2 --hosts 3 >fabric.net
printf 'log_level: debug\npartitions:\n    file: %s/partitions.conf\n' "$scratch" >fabricd.yaml

# lid NAME
lid() {
    ctl path host-0009 "$1" | sed -n 's/^To:.*LID //p'
}

# keys NAME PORT: prints the P_Keys of the port, as smpquery reads them, without trailing zeros.
keys() {
    at host-0001 smpquery pkeys "$(lid "$1")" "$2" 2>/dev/null |
        sed -n 's/^ *[0-9]*: //p' | tr -s ' \n' ' ' | sed 's/\( 0x0000\)*  *$//; s/^ *//'
}

# enforces NAME PORT: prints the two bits of PortInfo.
enforces() {
    at host-0001 smpquery portinfo "$(lid "$1")" "$2" 2>/dev/null |
        sed -n 's/^PartEnforce\(Inb\|Outb\):\.*//p' | tr -d '\n'
}

# writes: prints the number of writes of the last round that wrote.
writes() {
    sed -n 's/.*wrote writes=\([0-9]*\).*/\1/p' fabricd.log | tail -1
}

# reload: sends SIGHUP, and waits until the manager is idle again.
reload() {
    local generation
    generation=$(status generation)
    kill -HUP "$manager"
    await 20 settled "$generation"
}

for simulator in ibsim fabsim; do
    sim_start fabric.net
    cat >partitions.conf <<'TEXT'
@late: "host-0009" ;
jobs=0x11, defmember=full : "host-000", "host-0002", "host-0003" ;
jobs=0x11 : "host-0004" ;
store=0x12 : @late=full, "host-0004" ;
TEXT
    rm -rf state
    manager_start host-0001 -f "$scratch/fabricd.yaml"
    check "$simulator: comes up" await 20 settled 0
    same 'the manager is a full member of the default partition' 0xffff "$(keys host-0001 1)"
    same 'a full member' '0x7fff 0x8011' "$(keys host-0002 1)"
    same 'a limited one' '0x7fff 0x0011 0x0012' "$(keys host-0004 1)"
    same 'one that is in none' 0x7fff "$(keys host-0005 1)"
    same 'the switch port before it' '0x7fff 0x0011 0x0012' "$(keys leaf-002 1)"
    # ibsim accepts these bits, but does not store them
    kept=11
    [ "$simulator" = fabsim ] || kept=00
    same 'which checks' $kept "$(enforces leaf-002 1)"
    same 'between switches nobody checks' 00 "$(enforces leaf-002 4)"
    same 'port 0 of a switch' 0x7fff "$(keys leaf-002 0)"

    same 'fabricctl tells partitions' 'jobs 2 1' \
        "$(ctl partition list | awk '$1 == "jobs" { print $1, $3, $4 }')"
    same 'and their members' '0x8011 limited 1' \
        "$(ctl partition show jobs | awk '$1 == "host-0004/1" { print "0x8011", $4, $5 }')"
    same 'by P_Key, as JSON' 'host-0002 host-0003' "$(ctl partition show 0x11 -o json | "$python" -c '
import json, sys
print(*(m["node"] for m in json.load(sys.stdin)["members"] if m["membership"] == "full"))')"

    sed -i 's/, "host-0003"/, "host-0006"/' partitions.conf
    check 'takes another file while it runs' reload
    same 'the one that left' 0x7fff "$(keys host-0003 1)"
    same 'the one that came' '0x7fff 0x8011' "$(keys host-0006 1)"
    same 'the switch port before it' '0x7fff 0x8011' "$(keys leaf-002 3)"
    same 'two ports with their switch ports, and nothing else, are written' 4 "$(writes)"

    sed -i 's/^jobs=0x11 : .*$/jobs=0x11 : "host-0004"=full ;/' partitions.conf
    check 'and another' reload
    same 'a member becomes a full one at its index' '0x7fff 0x8011 0x0012' "$(keys host-0004 1)"

    printf 'jobs=0x11 : host-0004 ;\n' >partitions.conf
    kill -HUP "$manager"
    check 'a file with a mistake is refused with its place' \
        await 10 grep -Eq 'partitions.conf:1:13: the member is "host-0004"' fabricd.log
    printf 'jobs=0x11, bogus : "host-0004" ;\n' >partitions.conf
    check 'what OpenSM ignores' reload
    check 'is told' grep -Eq 'partitions.conf:1:12: the flag "bogus" is unknown' fabricd.log
    same 'and the rest is taken' '0x7fff 0x0011' "$(keys host-0004 1)"

    check 'sweeps' ctl sweep
    check 'the name of a member is pinned' eval "ctl node pins | grep -q '^host-0004 '"
    same 'no host waits' 'There are no such nodes.' "$(ctl node pins --waiting)"
    check 'in JSON, too' eval "ctl -o json node pins | grep -q '\"pinned_name\": \"host-0004\"'"
    check 'what does not wait is not approved' eval '! ctl node approve host-0004 2>/dev/null'
    check 'a pin can be dropped' ctl node approve --forget host-0004
    check 'and is made anew' eval "ctl node pins | grep -q '^host-0004 '"
    like 'what would be approved is said first' "$(ctl topo approve --dry-run)" '^this would approve '
    check 'the fabric is approved' ctl topo approve
    same 'no device waits' 'No device waits for an approval.' "$(ctl topo baseline --waiting)"
    like 'with nothing new, an approval says so' "$(ctl topo approve)" '^there is nothing to approve'
    check 'an approval can be dropped' ctl topo disapprove host-0004
    like 'the host is new then' "$(ctl topo baseline --waiting)" '^new  *host-0004 '
    like 'the status counts it' "$(ctl status)" '1 device or link waits for approval'
    check 'it is approved by its name' ctl topo approve host-0004
    check 'in JSON, too' eval "ctl -o json topo baseline | grep -q '\"state\": \"present\"'"
    check 'the baseline is dropped' ctl topo disapprove --all
    [ "$simulator" = fabsim ] || check 'ibsim does not check, which is told' \
        grep -Eq 'partition-not-enforced: .* (does|do) not enforce partitions as configured' fabricd.log

    stop "$manager"
    manager_start host-0001 -f "$scratch/fabricd.yaml"
    check 'starts anew' await 20 settled 0
    same 'and keeps what is there' '0x7fff 0x0011' "$(keys host-0004 1)"

    printf 'log_level: debug\n' >fabricd.yaml
    check 'without partitions' reload
    same 'all are full members again' '0xffff 0xffff' "$(keys host-0004 1) $(keys host-0009 1)"
    same 'and nobody checks' 00 "$(enforces leaf-002 1)"
    check "$simulator: ends on request" stop "$manager"
    printf 'log_level: debug\npartitions:\n    file: %s/partitions.conf\n' "$scratch" >fabricd.yaml
    sim_stop
done
