#!/bin/bash
# test_locked_database.sh: another program locks the database for longer than the manager waits (5 s). The manager
# must confirm nothing that is not stored. Status and events must tell the lock and its end.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need sqlite3
port=leaf-001/3

stored() {
    sqlite3 "file:$scratch/state/fabricd.db?mode=ro" "SELECT count(*) FROM $1"
}
failing() {
    [ -n "$(status store_alarm)" ]
}
writable() {
    [ -z "$(status store_alarm)" ]
}

# lock: begins a transaction during which no other program can write, until unlock.
lock() {
    rm -f sqlite.in
    mkfifo sqlite.in
    sqlite3 state/fabricd.db <sqlite.in >sqlite.out 2>&1 &
    sqlite=$!
    pids+=("$sqlite")
    exec 8>sqlite.in
    printf '.timeout 5000\nBEGIN EXCLUSIVE;\n.print locked\n' >&8
    await 10 grep -q locked sqlite.out
}
unlock() {
    echo 'ROLLBACK;' >&8
    exec 8>&-
    wait "$sqlite"
}

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 3 >fabric.net
manager_start '' --sim "$scratch/fabric.net"
check 'the fabric comes up' await 20 settled 0
check 'the database is locked' lock
same 'no error came with it' locked "$(cat sqlite.out)"
# the manager notices the lock only after it made the first change, and says so
like 'the first change is not confirmed' "$(ctl port disable $port 2>&1)" \
    'the change was made, but the database of the manager cannot be written: a restart may undo it'
like 'the next one is refused' "$(ctl port disable leaf-002/3 2>&1)" 'database of the manager cannot be written'
same 'neither is in the database' 0 "$(stored disabled_port)"
check 'status says it' failing
check 'an event says it' await 5 grep -q 'store-failing.*cannot be written' fabricd.log
check 'the lock ends' unlock
check 'the database is written again within 15 s' await 15 writable
check 'an event says it, too' await 5 grep -q 'store-recovered.*can be written again' fabricd.log
same 'the change that was made is stored' 1 "$(stored disabled_port)"
check 'a change is confirmed' ctl port disable leaf-003/3
same 'and is stored' 2 "$(stored disabled_port)"
stop "$manager" KILL
manager_start '' --sim "$scratch/fabric.net"
check 'after kill -9 the manager starts' await 20 settled 0
same 'both changes are in force, and not the refused one' '1 0 1' \
    "$(for leaf in 1 2 3; do grep -c "port-disabled.*leaf-00$leaf/3" fabricd.log; done | xargs)"
check 'the audit log is whole' ctl audit verify
check 'the manager ends on request' stop "$manager"
