#!/bin/bash
# test_degraded.sh: links that run below their best width or speed, on `fabsim serve` (ibsim cannot limit a
# link). iblinkinfo ("Could be ...") finds the same links as fabricctl, smpquery finds the same widths and
# speeds at both ends, and path records have the rate of the slowest link. TEST_SEED selects the links.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need iblinkinfo smpquery saquery
[ -n "$umad2sim" ] || need libumad2sim.so
simulator=fabsim
RANDOM=${TEST_SEED:-20}
echo "# degraded links: TEST_SEED=${TEST_SEED:-20}"

check 'a fabric is generated' "$fabsim" generate leaf-spine --leaves 4 --spines 3 --hosts 3
"$fabsim" generate leaf-spine --leaves 4 --spines 3 --hosts 3 >fabric.net
sim_start fabric.net || exit 1
manager_start host-0001
await 30 settled 0 || not_ok 'the manager brings the fabric up'

# count N: the manager counts N degraded links, and is idle.
count() {
    [ "$(status degraded_links)" = "$1" ] && [ "$(status state)" = idle ]
}

# Prints each link once, as "NODE/PORT NODE/PORT" with the names in order.
foreign() {
    at host-0001 iblinkinfo -l 2>/dev/null | sed -n '/Could be/ { s/"//g; s/\[ *\]//g; p; }' | "$python" -c '
import re, sys
links = set()
for line in sys.stdin:
    near, far = line.split("==>")
    n, f = near.split(), far.split()
    links.add(" ".join(sorted([n[1] + "/" + n[3], f[3] + "/" + f[2]])))
print("\n".join(sorted(links)))'
}

ours() {
    ctl link list --degraded -o json | "$python" -c '
import json, sys
ends = lambda l: sorted("%s/%d" % (l[e + "_node"], l[e + "_port"]) for e in "ab")
print("\n".join(sorted(" ".join(ends(l)) for l in json.load(sys.stdin)["links"])))'
}

same 'a faithful fabric has no degraded link' '' "$(ours)"
same 'nor do infiniband-diags find one' '' "$(foreign)"

# ---- eight links: four of hosts, four between switches, each with another limit

limits=(lanes=1 speed=QDR speed=FDR 'lanes=1 speed=SDR')
places=()
for i in 0 1 2 3; do
    # not host-0001, which the manager uses
    places+=("host-00$(printf %02d $((i * 3 + 2 + RANDOM % 2)))/1" "leaf-00$((i + 1))/$((4 + RANDOM % 3))")
done
for i in "${!places[@]}"; do
    sim_do degrade "${places[i]}" "${limits[(i + RANDOM) % 4]}"
done
await 30 count 8 || not_ok 'eight links are found' "$(ctl status)"
same 'iblinkinfo finds the links that the manager names' "$(foreign)" "$(ours)"
same 'these are eight links' 8 "$(ours | wc -l)"
same 'each has an event link-degraded' 8 "$(ctl event list | grep -c ' link-degraded ')"

# What smpquery reads of a port, in the words of fabricctl: "4x EDR 4x EDR 1x FDR" (supported, enabled, active).
port_rates() {
    at host-0001 smpquery -G portinfo "$1" "$2" 2>/dev/null | "$python" -c '
import sys
f = dict(l.strip().split(":", 1) for l in sys.stdin if ":" in l)
get = lambda name: f[name].strip(". ").split(" or ")[-1].replace("X", "x").strip()
names = {"2.5 Gbps": "SDR", "5.0 Gbps": "DDR", "10.0 Gbps": "QDR", "14.0625 Gbps": "FDR", "25.78125 Gbps": "EDR"}
speed = lambda what: names.get(get("LinkSpeedExt" + what)) or names[get("LinkSpeed" + what)]
print(" ".join(get("LinkWidth" + w) + " " + speed(w) for w in ("Supported", "Enabled", "Active")))'
}

ctl link list --degraded -o json | "$python" -c '
import json, sys
for l in json.load(sys.stdin)["links"]:
    for e in "ab":
        print(l[e + "_node_guid"], l[e + "_port"], l[e + "_supported"], l[e + "_enabled"], l[e + "_active"])' >ends
while read -r guid port rates; do
    lid_guid=$guid
    # smpquery -G wants a port GUID: for a switch its node GUID, for an adapter its node GUID + 1
    case $guid in 0x0002c902*) lid_guid=$(printf '0x%016x' $((guid + 1))) ;; esac
    same "smpquery sees the same at $guid/$port" "$(port_rates "$lid_guid" "$port")" "$rates"
done <ends
same 'both ends of eight links were compared' 16 "$(wc -l <ends)"

# ---- the links are repaired

for place in "${places[@]}"; do
    sim_do repair "$place"
done
await 30 count 0 || not_ok 'no link is degraded after the repair' "$(ctl link list --degraded)"
same 'none after the repair' '' "$(ours)$(foreign)"
same 'each has an event link-restored' 8 "$(ctl event list | grep -c ' link-restored ')"

# ---- path records: the rate of the slowest link

rate_to() {
    local lid
    lid=$(ctl node show "$1" -o json | field lid)
    at host-0001 saquery PR --slid "$(ctl node show host-0001 -o json | field lid)" --dlid "$lid" 2>/dev/null |
        sed -n 's/^[[:space:]]*rate\.*//p' | head -1
}
slowest() {
    ctl link list --degraded | grep -q ' 1x SDR '
}
# codes of IBA 15.2.5.16 and the selector "exactly", 0x80: 16 is 100 Gb/s, 15 is 25 Gb/s, 2 is 2.5 Gb/s
same 'a path over good links has 100 Gb/s' 0x90 "$(rate_to host-0012)"
sim_do degrade host-0012/1 lanes=1
await 30 count 1
same 'a path over a link at 1x EDR has 25 Gb/s' 0x8F "$(rate_to host-0012)"
sim_do degrade host-0012/1 lanes=1 speed=SDR
await 30 slowest
same 'a path over a link at 1x SDR has 2.5 Gb/s' 0x82 "$(rate_to host-0012)"
