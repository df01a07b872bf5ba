#!/bin/bash
# test_kill.sh: kill -9 at random moments. Leases that are stored in the state directory must survive it. The fabric
# grows between the runs. All earlier ports must keep their LIDs, although a new assignment would give them other
# LIDs.
. "$(dirname "$0")/lib.sh"
need sqlite3

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 3 >small.net
"$fabsim" generate leaf-spine --leaves 9 --spines 4 --hosts 6 >large.net

# run NET: starts the manager with this simulated fabric.
run() {
    manager_start '' --sim "$scratch/$1"
}

swept() {
    grep -q sweep-done fabricd.log
}

# leases FILE: prints port GUID and LID of each lease.
leases() {
    sqlite3 state/fabricd.db 'SELECT port_guid, lid FROM lease ORDER BY port_guid' >"$1"
}

run small.net
check 'the small fabric comes up' await 20 swept
check 'and ends on request' stop "$manager"
leases small.leases
check 'its leases are kept' test -s small.leases

seed=${TEST_SEED:-$RANDOM}
echo "# TEST_SEED=$seed"
RANDOM=$seed
for _ in $(seq 1 12); do
    run large.net
    sleep "0.$(printf '%03d' $((RANDOM % 150)))"
    stop "$manager" KILL
done
same 'the database is whole after kill -9' ok "$(sqlite3 state/fabricd.db 'PRAGMA integrity_check')"
same 'and its references too' '' "$(sqlite3 state/fabricd.db 'PRAGMA foreign_key_check')"

run large.net
check 'the larger fabric comes up' await 20 swept
check 'and ends on request, too' stop "$manager"
leases large.leases
same 'what was there before has the same LIDs' '' "$(comm -23 small.leases large.leases)"
same 'no LID is given twice' '' "$(cut -d'|' -f2 large.leases | sort | uniq -d)"

run large.net
check 'once more' await 20 swept
stop "$manager"
leases again.leases
check 'all LIDs are the same after a restart' cmp large.leases again.leases
