#!/bin/bash
# test_slow.sh: the simulator is stopped several times for a short time. Hundreds of requests are late, but the
# bring-up must succeed, and a call over RPC must get its answer. Late requests and their repetitions must not
# fill the sockets of both sides, because then neither side could continue. When the simulator is stopped for
# good, the manager must still end on request.
. "$(dirname "$0")/lib.sh"
need ibsim sqlite3
[ -n "$umad2sim" ] || need libumad2sim.so

"$fabsim" generate leaf-spine --leaves 24 --spines 12 --hosts 24 >slow.net
host=$(sed -n 's/^\(Ca\|Hca\)[^"]*"\([^"]*\)".*/\2/p' slow.net | sed -n 1p)

halting() {
    local i
    for i in $(seq 12); do
        kill -STOP "$sim_pid"
        sleep 0.4
        kill -CONT "$sim_pid"
        sleep 0.01
    done
}

sim_start "$scratch/slow.net"
manager_start "$host"
await 10 test -S fabricd.sock
halting
check 'a simulator that stops now and then is brought up' await 30 grep -q 'sweep-done' fabricd.log
check 'all of it: 36 switches' grep -Eq 'sweep-done.*36 switches' fabricd.log
check 'an answer over RPC' ctl status

kill -STOP "$sim_pid"
stop "$manager" TERM
same 'it ends on request when the simulator answers no more' 1 $?
like 'and says so' "$(tail -1 fabricd.log)" 'the port or the name service does not answer'
same 'the database is whole' ok "$(sqlite3 state/fabricd.db 'PRAGMA integrity_check')"
sim_stop
