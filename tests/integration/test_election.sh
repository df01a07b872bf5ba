#!/bin/bash
# test_election.sh: two managers on one fabric (ibsim). By the rule of the specification, the manager with the
# higher priority is master; if both are equal, the manager with the lower GUID. The other manager is standby,
# and takes over when the master is gone.
. "$(dirname "$0")/lib.sh"
need ibsim ibnetdiscover sminfo dump_fts
[ -n "$umad2sim" ] || need libumad2sim.so

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 4 >fabric.net
mapfile -t hosts < <(sed -n 's/^Ca[^"]*"\([^"]*\)".*/\1/p' fabric.net)

# manager_named NAME HOST OPTION...: starts a manager with its own state directory and socket. Its process id is
# in $started.
manager_named() {
    local name=$1 host=$2
    shift 2
    start "$name.log" env SIM_HOST="$host" LD_PRELOAD="$umad2sim" "$fabricd" --umad \
        --state-dir "$scratch/$name" --listen "unix:$scratch/$name.sock" "$@"
}

# role_is NAME ROLE
role_is() {
    [ "$(timeout 10 "$fabricctl" -s "unix:$scratch/$1.sock" status -o json 2>/dev/null | field role 2>/dev/null)" = "$2" ]
}

# master_at HOST: sminfo, from a third node, finds the master at HOST. A host has one port, whose GUID is that of
# the node + 1.
master_at() {
    local guid
    guid=$(printf 'sm guid 0x%x,' $((16#${1#H-} + 1)))
    at "${hosts[5]}" sminfo 2>&1 | tee sminfo.out | grep "$guid.*SMINFO_MASTER"
}

# shows_nodes NAME: true if the manager lists a switch of the fabric.
shows_nodes() {
    timeout 10 "$fabricctl" -s "unix:$scratch/$1.sock" node list 2>&1 | grep -q '^leaf-001 .*switch'
}

sim_start fabric.net || not_ok 'ibsim starts'
manager_named first "${hosts[0]}"
first=$started
check 'alone it becomes the master' await 20 role_is first master
manager_named second "${hosts[9]}"
check 'a second one is standby' await 20 role_is second standby
like 'the standby manager refuses a reroute, and names the master' \
    "$(timeout 10 "$fabricctl" -s "unix:$scratch/second.sock" reroute 2>&1)" 'standby.* LID [0-9]+'
check 'but shows the nodes when it has read them' await 20 shows_nodes second
check 'and leaves the first master' role_is first master
check 'as sminfo sees' await 5 master_at "${hosts[0]}"

stop "$first" KILL
check 'it takes over when the master is gone' await 30 role_is second master
check 'as sminfo sees' await 10 master_at "${hosts[9]}"
at "${hosts[5]}" ibnetdiscover >nd && at "${hosts[5]}" dump_fts -n >fts
check 'with tables that are right' "$python" "$here/judge.py" nd fts

printf 'subnet:\n    sm_priority: 5\n' >prior.yaml
manager_named first "${hosts[0]}" -f "$scratch/prior.yaml"
check 'one with a higher priority is handed the role' await 20 role_is first master
check 'and the former master is standby' role_is second standby
check 'as sminfo sees' await 10 master_at "${hosts[0]}"
