#!/bin/bash
# test_trust.sh: OpenSM and a fabricd that requires a proof (an M_Key, or subnet.managers). If OpenSM has the right
# keys, or is listed with its switch port, it takes part in the election. If not, fabricd refuses it and says
# where it is. On fabsim, which enforces M_Keys, and on ibsim, which does not.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need ibsim opensm sminfo
[ -n "$umad2sim" ] || need libumad2sim.so

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 4 >two.net
host=host-0001
other=host-0007 # leaf-002, port 3

# guid_of HOST: prints the GUID of its first port.
guid_of() {
    printf %016x "0x$(sed -n "s/.*\[1\](\([0-9a-f]*\)).*\"$1\".*/\1/p" two.net | head -1)"
}

# opensm_start SM_KEY M_KEY PRIORITY
opensm_start() {
    rm -rf osm && mkdir osm
    printf '%s\n' "log_file $scratch/osm/log" 'force_log_flush TRUE' 'sminfo_polling_timeout 500' \
        'polling_retry_number 2' "sm_key $1" "m_key $2" 'm_key_protection_level 1' \
        'm_key_lease_period 0' "sm_priority $3" >osm/conf
    start osm/out env SIM_HOST="$other" OSM_CACHE_DIR="$scratch/osm" OSM_TMP_DIR="$scratch/osm" \
        LD_PRELOAD="$umad2sim" opensm -F "$scratch/osm/conf"
    opensm=$started
}

# fabricd_start SETTINGS
fabricd_start() {
    rm -rf state fabricd.log
    printf 'subnet: {%s}\n' "$1" >settings.yaml
    manager_start "$host" -f settings.yaml
}

events() {
    grep -q -- "$1" fabricd.log
}

# seen FIELD VALUE: the status of fabricd has this value
seen() {
    [ "$(status "$1")" = "$2" ]
}

# ibsim sends no trap when a manager begins to use a port, so only a sweep finds it.
yielded() {
    ctl sweep >/dev/null 2>&1
    events sm-standby
}

stop_all() {
    stop "$manager" TERM
    stop "$opensm" KILL
    sim_stop
}

place=leaf-002/3
other_guid=$(guid_of "$other")

for simulator in fabsim ibsim; do
    # ---- without the keys: OpenSM is refused and named, and fabricd is master
    sim_start "$scratch/two.net"
    fabricd_start 'sm_key: 0x5ec2e7, m_key: 0xfeed, sm_priority: 1'
    check "$simulator: fabricd is master" await 30 events 'sm-master:'
    check "$simulator: and brings the fabric up" await 30 events sweep-done
    opensm_start 1 0 15
    sleep 2 # OpenSM reads the fabric
    ctl sweep >/dev/null
    check "$simulator: OpenSM without the keys is refused" await 30 events 'sm-refused'
    check "$simulator: and named by its switch port" grep -q "sm-refused.*$place" fabricd.log
    check "$simulator: fabricd stays master" seen role master
    like "$simulator: the journal has it" "$(ctl event list)" "sm-refused.*$place"
    stop_all

    # ---- with both keys: OpenSM, which has the higher priority, becomes the only master. (Not on
    # fabsim, where OpenSM 3.3.23 stops sending MADs after some seconds in standby, even without keys.)
    if [ "$simulator" = ibsim ]; then
        sim_start "$scratch/two.net"
        fabricd_start 'sm_key: 0x5ec2e7, m_key: 0xfeed, sm_priority: 1'
        check "$simulator: fabricd is master first" await 30 events sweep-done
        opensm_start 0x5ec2e7 0xfeed 15
        check "$simulator: OpenSM with both keys is trusted" await 60 yielded
        check "$simulator: and it is master" await 30 grep -q 'SUBNET UP' osm/log
        stop "$opensm" KILL
        check "$simulator: fabricd takes over again" await 30 seen role master
        stop "$manager" TERM
        sim_stop
    fi

    # ---- listed with its switch port: OpenSM is master, and fabricd waits for it
    sim_start "$scratch/two.net"
    opensm_start 1 0 5
    check "$simulator: OpenSM comes up" await 30 grep -q 'SUBNET UP' osm/log
    fabricd_start "managers: ['0x$other_guid $place']"
    check "$simulator: fabricd stands by for a listed OpenSM" await 30 events sm-standby
    check "$simulator: and says where it is" grep -q "sm-standby.*$place" fabricd.log
    stop "$opensm" KILL
    check "$simulator: fabricd takes over" await 30 events 'sm-master:'
    check "$simulator: and brings the fabric up" await 30 events sweep-done
    stop "$manager" TERM
    sim_stop

    # ---- two fabricd, each of which lists the other: one master
    sim_start "$scratch/two.net"
    fabricd_start "m_key: 0xfeed, managers: ['0x$other_guid $place']"
    check "$simulator: the first fabricd is master" await 30 events sweep-done
    printf "subnet: {m_key: 0xfeed, managers: ['0x%s leaf-001/1']}\n" "$(guid_of "$host")" >second.yaml
    rm -rf second
    start second.log env SIM_HOST="$other" LD_PRELOAD="$umad2sim" "$fabricd" --umad -f second.yaml \
        --state-dir "$scratch/second" --listen "unix:$scratch/second.sock"
    second=$started
    check "$simulator: the second one stands by" await 30 grep -q 'sm-standby.*leaf-001/1' second.log
    check "$simulator: and the first one stays master" seen role master
    stop "$manager" KILL
    check "$simulator: the second one takes over" await 30 grep -q 'sm-master:' second.log
    check "$simulator: and writes with the M_Key" await 30 grep -q sweep-done second.log
    stop "$second" TERM
    sim_stop
done
