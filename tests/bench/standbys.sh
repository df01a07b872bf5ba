#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# standbys.sh [GENERATE OPTION...]: two or three managers that share their state by three etcd servers, on one simulated
# fabric, under load. In each round a cable is pulled and the master is killed, or hangs, in the same instant
# (standbys.py). Without options: 648 hosts. In the environment: MANAGERS (3), ROUNDS (20), SIGNAL (KILL or STOP),
# WARM (1: the master dies only when the standby managers have read all tables), DECIDE (an operator's decision precedes
# the death by up to this number of seconds), STANDBY_RATE (subnet.standby_rate), SIMULATOR (ibsim, or fabsim for
# `fabsim serve`), TEST_SEED, BUILD_DIR (with tests/bench/sa_flood). Prints figures only.
. "$(dirname "$0")/../integration/lib.sh"
need etcd etcdctl openssl ibsim gcc
. "$here/etcd.sh"
tap_n=-1 # no test
[ $# -gt 0 ] || set -- leaf-spine --leaves 36 --spines 18 --hosts 18
[ -x "$build/tests/bench/sa_flood" ] || make -s -C "$build" tests/bench/sa_flood || exit 1
[ "$(id -u)" != 0 ] || sysctl -qw net.unix.max_dgram_qlen=4096
gcc -O2 -shared -fPIC -o umadcount.so "$top/tests/bench/umadcount.c" -ldl || exit 1
"$fabsim" generate "$@" >fabric.net || exit 2
etcd_prepare 3
for i in 1 2 3; do etcd_start $i; done
await 20 etcd_answers || exit 1
printf '%s' "$replication" >shared.yaml
sim_start fabric.net || { cat sim.err; exit 1; }
export UMAD2SIM=$umad2sim
etcd_environment # standbys.py reads what the managers had sent
timeout "${SECONDS_MOST:-3000}" "$python" "$top/tests/bench/standbys.py" --build "$build" --managers "${MANAGERS:-3}" \
    --rounds "${ROUNDS:-20}" --signal "${SIGNAL:-KILL}" --seed "${TEST_SEED:-1}" \
    ${WARM:+--warm} ${DECIDE:+--decide "$DECIDE"} ${STANDBY_RATE:+--standby-rate "$STANDBY_RATE"}
sim_stop
