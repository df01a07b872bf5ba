#!/bin/bash
# test_slow.sh: a simulator that gets no processor time now and then (it is stopped, and goes on):
# requests are late by the hundred, and the bring-up and an answer over RPC come all the same. What
# is late and was sent again must not fill the sockets of both sides, where neither would go on. When
# the simulator stops for good the manager still ends on request.
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
