#!/bin/bash
# test_rolling_upgrade.sh: managers of different versions share their state by etcd (ibsim). The key `format` says who
# can read it: a manager that cannot does not start, or does not store rows and refuses decisions if a newer one took
# over while it ran. One step backward works. OLD_FABRICD=PATH also runs an older fabricd beside this one.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need ibsim etcd etcdctl openssl sqlite3
[ -n "$umad2sim" ] || need libumad2sim.so
. "$here/etcd.sh"

"$fabsim" generate leaf-spine --leaves 2 --spines 2 --hosts 4 >fabric.net
mapfile -t hosts < <(sed -n 's/^Ca[^"]*"\([^"]*\)".*/\1/p' fabric.net)
format=fabricd/fe80000000000000/format

isolated() {
    [ "$(rows "$1" isolated_link)" = "$2" ]
}
etcd_prepare 1
etcd_start 1
check 'etcd starts' await 20 etcd_answers
sim_start fabric.net || not_ok 'the simulator starts'
named a "${hosts[0]}" 5
a=$started
check 'the first manager is master' await 30 idle a
check 'a link is isolated' await 10 ctl_of a link isolate leaf-001/5
own=$(etcd_ctl get --print-value-only $format)
like 'etcd has the format' "$own" '^format [0-9]* readable_by [0-9]*$'
number=${own#format }
number=${number%% *}

# ---- a newer manager, whose rows this one can read: one step backward
stop "$a"
etcd_ctl put $format "format $((number + 1)) readable_by $number" >/dev/null
named a "${hosts[0]}" 5
a=$started
check 'a manager that is one step older becomes master' await 30 idle a
check 'with the decisions' isolated a 1
check 'it leads' await 10 ctl_of a link release leaf-001/5
same 'the format is its own again' "$own" "$(etcd_ctl get --print-value-only $format)"

# ---- a newer manager, whose rows this one cannot read, takes over while this one is standby
named b "${hosts[5]}" 3
b=$started
check 'another manager is standby' await 20 role_is b standby
check 'it has no isolated link' await 5 isolated b 0
etcd_ctl put $format "format $((number + 2)) readable_by $((number + 1))" >/dev/null
etcd_ctl put 'fabricd/fe80000000000000/row/isolated_link/["0x1",1]' \
    '{"node_b":"0x2","port_b":1,"name_a":"x","name_b":"y","since_us":1,"operated":1,"cause":""}' >/dev/null
check 'it is told' await 10 grep -q "replication-lost.*format $((number + 2)).*install here the version" b.log
same 'it stores no row that it does not understand' 0 "$(rows b isolated_link)"
stop "$a" KILL
check 'routes go on' await 10 idle b
like 'but decisions are refused, with the reason' "$(ctl_of b link isolate leaf-001/5 2>&1)" \
    'refused.*install here the version of fabricd'
same 'it does not lead' "format $((number + 2)) readable_by $((number + 1))" \
    "$(etcd_ctl get --print-value-only $format)"
stop "$b"

# ---- such a manager does not start
named b "${hosts[5]}" 3
status=0
timeout 20 tail --pid="$started" -f /dev/null
wait "$started" || status=$?
check 'a manager that cannot read the format does not start' test $status -ne 0
like 'and says what to do' "$(cat b.log)" 'install here the version of fabricd that the other managers have'

# ---- the newer manager is gone for good
etcd_ctl put $format "$own" >/dev/null
etcd_ctl del 'fabricd/fe80000000000000/row/isolated_link/["0x1",1]' >/dev/null
named b "${hosts[5]}" 3
b=$started
check 'with the former format it starts again' await 30 idle b

# ---- an older program beside this one
if [ -n "${OLD_FABRICD:-}" ]; then
    new=$fabricd
    fabricd=$OLD_FABRICD named a "${hosts[0]}" 5
    a=$started
    check 'an older fabricd is standby' await 20 role_is a standby
    check 'the newer one decides' await 10 ctl_of b link isolate leaf-001/5
    check 'the older one stores it' await 5 isolated a 1
    stop "$b" KILL
    check 'the older one takes over' await 10 idle a
    check 'and decides' await 10 ctl_of a link release leaf-001/5
    fabricd=$new named b "${hosts[5]}" 3
    b=$started
    check 'the newer one comes back' await 20 role_is b standby
    check 'and knows what the older one decided' await 5 isolated b 0
    check 'the older one sees it in standby' await 10 ctl_of a ha handover
    check 'the older one hands over' await 20 idle b
    stop "$a"
fi
stop "$b"
sim_stop
