#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# sa_under_faults.sh [GENERATE OPTIONS...]: measures the latency of path answers (sa_flood, 1 and 8 requests
# at a time) while sweeps run every second, and about one cable a second is pulled and plugged in again.
# Without options: 648 hosts. SIMULATOR as for the integration tests. Prints only figures.
# BUILD_DIR: where fabricd and sa_flood were built (make tests/bench/sa_flood).
. "$(dirname "$0")/../integration/lib.sh"
need ibsim
flood=$build/tests/bench/sa_flood
[ -x "$flood" ] || { echo "make tests/bench/sa_flood first"; exit 1; }
[ $# -gt 0 ] || set -- leaf-spine --leaves 18 --spines 9 --hosts 36
seconds=${SECONDS_EACH:-8}
"$fabsim" generate "$@" >net.net || exit 1
host=$(sed -n 's/^Ca.*"\(H-[0-9a-f]*\)".*/\1/p' net.net | head -1)
other=$(sed -n 's/^Ca.*"\(H-[0-9a-f]*\)".*/\1/p' net.net | sed -n 2p)
lids=$(grep -cE '^(Switch|Ca)' net.net)

# Cables between switches; one end is spelled as in the console of ibsim: "S-..."[port]
awk '/^Ca/ { n = "" } /^Switch/ { n = $3 } n != "" && /^\[[0-9]+\]/ && $2 ~ /^"S-/ { split($1, p, /[][]/); print n "[" p[2] "]" }' net.net |
    awk 'NR % 37 == 1' >cables

printf 'sweep:\n  light_interval: 1\n  heavy_interval: 1\n' >faults.yaml
sim_start net.net || { cat sim.err; exit 1; }
manager_start "$host" --config "$scratch/faults.yaml"
check "fabricd comes up" await 120 settled 0 || { tail -5 fabricd.log; exit; }

faults() {
    local cable
    while read -r cable; do
        printf 'Unlink %s\n' "$cable" >sim.ctl
        sleep 0.4
        printf 'ReLink %s\n' "$cable" >sim.ctl
        sleep 0.4
    done <cables
}

for window in 1 8; do
    before=$(status generation)
    faults &
    pulling=$!
    pids+=("$pulling")
    echo "# $window at a time: $(timeout $((seconds + 10)) "$flood" "$other" "$lids" "$seconds" "$window" 2>&1)"
    kill "$pulling" 2>/dev/null
    echo "# views published meanwhile: $(($(status generation) - before))"
    sleep 1
done
stop "$manager"
sim_stop
