#!/bin/bash
# test_reload.sh: SIGHUP. A good file takes effect, a bad one changes nothing, and neither stops the
# manager or what it serves.
. "$(dirname "$0")/lib.sh"

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 4 >fabric.net
printf 'log_level: debug\n' >fabricd.yaml

manager_start '' --sim "$scratch/fabric.net" -f "$scratch/fabricd.yaml"
check 'comes up' await 20 settled 0
generation=$(status generation)

printf 'subnet:\n    lmc: 9\n' >fabricd.yaml
kill -HUP "$manager"
check 'a bad file is refused with its place' \
    await 10 grep -Eq 'fabricd.yaml:2:[0-9]+: .*the settings stay' fabricd.log
same 'and nothing has changed' "$generation" "$(status generation)"

printf 'subnet:\n    max_mtu: 2048\nsocket_group: nobody\n' >fabricd.yaml
kill -HUP "$manager"
check 'a good file takes effect' await 10 settled "$generation"
check 'what needs a restart is named' grep -q 'socket_group takes effect at the next start' fabricd.log
same 'the tables are proved anew' true "$(status deadlock_free)"

rm fabricd.yaml
kill -HUP "$manager"
check 'a file that is gone is told' await 10 grep -Eq 'fabricd.yaml: .*the settings stay' fabricd.log
check 'ends on request' stop "$manager"
