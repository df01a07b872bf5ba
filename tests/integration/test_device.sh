#!/bin/bash
# test_device.sh: the simulator is killed and started again, 20 times. Each time the manager says that
# its port is gone and ends with an error; started again, as systemd would, it routes the fabric as
# before, though the new simulator's switches have no tables.
# shellcheck disable=SC2034
SIMULATOR=fabsim
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need dump_fts sqlite3
[ -n "$umad2sim" ] || need libumad2sim.so
rounds=${ROUNDS:-20}

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 3 >device.net

tables() {
    at host-0001 dump_fts -n >"$1" 2>/dev/null && grep -q 'valid lids dumped' "$1"
}

# ended: the manager has ended by itself; its exit code is in $code.
ended() {
    await 30 gone "$manager" || return 1
    wait "$manager"
    code=$?
}

sim_start device.net
manager_start host-0001
check 'the fabric comes up' await 20 settled 0
check 'the switches have routes' tables before
longest=0
failed=()
for i in $(seq 1 "$rounds"); do
    sim_stop
    began=$(date +%s%N)
    ended || failed+=("$i: still running")
    ms=$((($(date +%s%N) - began) / 1000000))
    [ $ms -gt $longest ] && longest=$ms
    [ "${code:-0}" = 1 ] || failed+=("$i: exit code ${code:-none}")
    grep -q 'device-lost.*is gone' fabricd.log || failed+=("$i: no event: $(tail -3 fabricd.log)")
    sim_start device.net
    manager_start host-0001
    await 20 settled 0 || failed+=("$i: not settled")
    tables after && cmp -s before after || failed+=("$i: other routes")
done
echo "# longest time until the manager ended: $longest ms"
same "the manager ends with an event, and routes again, $rounds times" '' "${failed[*]-}"
check 'and the manager ends on request' stop "$manager"
same 'each loss of the port is an event in the database' "$rounds" \
    "$(sqlite3 state/fabricd.db "SELECT count(*) FROM event WHERE type = 'device-lost'")"
