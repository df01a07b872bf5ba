#!/bin/bash
# test_managers.sh: two subnet managers on one fabric (ibsim), fabricd and OpenSM. Tests which manager becomes
# standby, and which takes over when the other is gone.
. "$(dirname "$0")/lib.sh"
need ibsim opensm sminfo
[ -n "$umad2sim" ] || need libumad2sim.so

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 4 >two.net
host=$(sed -n 's/^\(Ca\|Hca\)[^"]*"\([^"]*\)".*/\2/p' two.net | sed -n 1p)
other=$(sed -n 's/^\(Ca\|Hca\)[^"]*"\([^"]*\)".*/\2/p' two.net | sed -n 7p)

opensm_start() {
    rm -rf osm && mkdir osm
    printf '%s\n' "log_file $scratch/osm/log" 'force_log_flush TRUE' 'sminfo_polling_timeout 500' \
        'polling_retry_number 2' >osm/conf
    start osm/out env SIM_HOST="$other" OSM_CACHE_DIR="$scratch/osm" OSM_TMP_DIR="$scratch/osm" \
        LD_PRELOAD="$umad2sim" opensm -F "$scratch/osm/conf" "$@"
    opensm=$started
}

# master HOST: sminfo finds the master at this node.
master() {
    at "$host" sminfo 2>&1 | grep -qi "sm guid 0x0*$(port_guid "$1"),.*SMINFO_MASTER"
}

# The GUID of the first port of a node in the file.
port_guid() {
    awk -v node="\"$1\"" '/^(Ca|Hca)/ { here = $3 == node } here && /^\[1\]/ {
        match($0, /\([0-9a-f]+\)/); g = substr($0, RSTART + 1, RLENGTH - 2); sub(/^0+/, "", g); print g; exit }' two.net
}

# told HOST: subnet administration knows the manager there. ibsim sends no trap when a manager begins to use a
# port, so only a sweep finds it.
told() {
    ctl sweep >/dev/null
    at "$host" saquery SMIR 2>&1 | grep -qi "GUID.*0x0*$(port_guid "$1")"
}

events() {
    grep -q "$1" fabricd.log
}

sim_start "$scratch/two.net"

# ---- OpenSM runs first, and has priority
opensm_start -p 5
check 'OpenSM comes up' await 20 grep -q 'SUBNET UP' osm/log
manager_start "$host"
check 'fabricd stands by where OpenSM is master' await 20 events sm-standby
check 'OpenSM stays the master' await 10 master "$other"
stop "$opensm" KILL
check 'fabricd takes over when OpenSM is gone' await 20 events sm-master:
check 'and brings the fabric up' await 20 events sweep-done
check 'and is the master' master "$host"

# ---- fabricd runs first
opensm_start
check 'OpenSM stands by where fabricd is master' await 20 grep -q 'Entering STANDBY' osm/log
check 'fabricd stays the master' await 10 master "$host"
check 'and tells of OpenSM' await 10 told "$other"
stop "$manager" TERM
check 'OpenSM takes over when fabricd has ended' await 20 grep -q 'SUBNET UP' osm/log
check 'and is the master then' master "$other"

# ---- it hands over to a better manager: if priorities are equal, to the lower GUID
rm -f fabricd.log
manager_start "$host"
check 'fabricd is handed the fabric by OpenSM' await 20 events sm-master:
check 'and is the master then, too' await 10 master "$host"
check 'OpenSM stands by again' await 10 grep -q 'Entering STANDBY' osm/log
check 'and looks over the fabric' await 10 events sweep-done
stop "$manager" TERM
stop "$opensm" KILL
sim_stop
