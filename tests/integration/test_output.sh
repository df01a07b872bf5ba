#!/bin/bash
# test_output.sh: every command of fabricctl in every output format, with good and bad arguments and
# patterns, and for all contexts, beside a fabricd on the embedded simulated fabric (walk.py). Prints TAP.
. "$(dirname "$0")/lib.sh"

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 2 >fabric.net
mkdir -p fabricctl
for context in one two; do
    echo "  $context: {server: 'unix:$scratch/fabricd.sock'}"
done | { printf 'current: one\ncontexts:\n'; cat; } >fabricctl/config.yaml
printf 'name,rack\nleaf-00[1-2],A1\nspine-001,A2\n' >racks.csv
printf 'locations:\n  file: %s/racks.csv\n' "$scratch" >fabricd.yaml
manager_start '' -f "$scratch/fabricd.yaml" --sim fabric.net
await 10 settled 0 || { echo 'Bail out! the manager did not come up'; exit 1; }
XDG_CONFIG_HOME=$scratch XDG_STATE_HOME=$scratch/state FABRICCTL_SERVER=unix:$scratch/fabricd.sock \
    "$python" "$here/walk.py" "$fabricctl" "$here/../../doc/fabricctl.1" | tee walk.tap
walked=${PIPESTATUS[0]}
tap_n=$(grep -cE '^(not )?ok ' walk.tap)
tap_failed=$(grep -c '^not ok ' walk.tap) || true # grep exits with 1 when it counts none
[ "$tap_failed" -gt 0 ] || check 'the walk came to its end' test "$walked" -eq 0
