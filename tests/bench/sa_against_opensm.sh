#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# sa_against_opensm.sh [LEAVES SPINES HOSTS [SECONDS]]: measures how many path answers fabricd and OpenSM
# send to one host (sa_flood) in a second. The managers run one after the other, each on a new ibsim
# (SIMULATOR=fabsim: fabsim serve). Prints only figures.
# BUILD_DIR: where fabricd and sa_flood were built (make tests/bench/sa_flood).
. "$(dirname "$0")/../integration/lib.sh"
need ibsim opensm ibnetdiscover
flood=$build/tests/bench/sa_flood
[ -x "$flood" ] || { echo "make tests/bench/sa_flood first"; exit 1; }
seconds=${4:-5}
"$fabsim" generate leaf-spine --leaves "${1:-18}" --spines "${2:-9}" --hosts "${3:-36}" >net.net || exit 1
host=$(sed -n 's/^Ca.*"\(H-[0-9a-f]*\)".*/\1/p' net.net | head -1)
other=$(sed -n 's/^Ca.*"\(H-[0-9a-f]*\)".*/\1/p' net.net | sed -n 2p)
lids=$(grep -cE '^(Switch|Ca)' net.net)

# floods NAME PID: CPU time, user and system, of the manager and of the simulator, for each answer.
floods() {
    local window before sim said answers
    for window in 1 8 64; do
        before=$(cpu_ms "$2") sim=$(cpu_ms "$sim_pid")
        said=$(timeout $((seconds + 10)) "$flood" "$other" "$lids" "$seconds" "$window" 2>&1)
        answers=$(sed -n 's/.* of \([0-9]*\) good.*/\1/p' <<<"$said")
        echo "# $1, $window at a time: $said; CPU an answer $(us_each "$2" "$before"), simulator $(us_each "$sim_pid" "$sim")"
    done
}

# us_each PID BEFORE: CPU time since BEFORE, for each answer.
us_each() {
    awk -v ms=$(($(cpu_ms "$1") - $2)) -v n="${answers:-1}" 'BEGIN { printf "%.1f us", ms * 1000 / n }'
}

# cpu_ms PID: CPU time of all its threads until now.
cpu_ms() {
    awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) * 1000 / hz) }' "/proc/$1/stat"
}

echo 'force_log_flush TRUE' >osm.conf
sim_start net.net
manager_start "$host"
check "fabricd comes up" await 60 settled 0
floods fabricd "$manager"
stop "$manager"
sim_stop
sim_start net.net
start opensm.log env SIM_HOST="$host" LD_PRELOAD="$umad2sim" OSM_TMP_DIR="$scratch" \
    OSM_CACHE_DIR="$scratch" opensm -F "$scratch/osm.conf" -f "$scratch/osm.log"
opensm=$started
check "OpenSM comes up" await 60 grep -q 'SUBNET UP' osm.log
floods OpenSM "$opensm"
stop "$opensm" KILL
sim_stop
