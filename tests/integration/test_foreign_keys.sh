#!/bin/bash
# test_foreign_keys.sh: another manager has locked ports with its M_Key, and the lease never ends. A file lists
# these keys (subnet.m_key_file), and SIGHUP reads it again. Then OpenSM hands a fabric over. On fabsim, which
# enforces M_Keys.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need ibsim sqlite3 smpquery
[ -n "$umad2sim" ] || need libumad2sim.so
export simulator=fabsim

"$fabsim" generate leaf-spine --leaves 3 --spines 2 --hosts 3 >fabric.net
ports=14 # 9 hosts and 5 switches
foreign=0xf0e1d2c3b4a59687

# keys NAME: prints a number of `fabricctl key show`.
keys() {
    ctl key show -o json 2>/dev/null | field "$1" 2>/dev/null
}

have() {
    [ "$(keys "$1")" = "$2" ]
}

logged() {
    grep -Eq -- "$1" fabricd.log
}

# ---- another manager locks all ports, and is gone
sim_start "$scratch/fabric.net"
mkdir -p state
printf 'subnet: {m_key: %s, m_key_lease: 0}\n' $foreign >other.yaml
manager_start host-0001 -f other.yaml
check 'another manager locks all ports' await 30 have current $ports
stop "$manager" TERM
sqlite3 state/fabricd.db 'SELECT port_guid FROM lease' >guids
same 'its ports are known' $ports "$(wc -l <guids)"
mv state theirs

# ---- a manager with its own key, and a file without the last port
sed "s/\$/ $foreign/" guids >all
head -n -1 all >listed
chmod 600 listed
printf 'subnet: {m_key: generated, m_key_file: %s}\n' "$scratch/listed" >settings.yaml
manager_start host-0001 -f settings.yaml
check 'the manager takes the listed ports' await 60 have current $((ports - 1))
same 'the port that is not listed stays locked' 1 "$(keys unknown)"

# ---- a file with an error changes nothing
cp listed good
echo "$(tail -1 guids) nonsense" >>listed
kill -HUP "$manager"
check 'a broken file is reported with its line, and the old settings stay' \
    await 10 logged "listed:$ports: expected the M_Key .*the old settings stay active"
same 'no port has changed' "$((ports - 1)),1" "$(keys current),$(keys unknown)"
chmod 644 good && cp good listed && chmod 644 listed
kill -HUP "$manager"
check 'a file that others can read is refused' await 10 logged 'listed: .*chmod 600.*the old settings stay active'
rm listed
kill -HUP "$manager"
check 'a missing file is reported' await 10 logged 'listed: cannot be read: No such file.*the old settings stay active'
same 'and no port has changed' "$((ports - 1)),1" "$(keys current),$(keys unknown)"

# ---- the key is added
cp all listed && chmod 600 listed
kill -HUP "$manager"
check 'a key that is added lets the manager into the port' await 60 have current $ports
same 'no port is locked any more' 0 "$(keys unknown)"
check 'the settings are then as after a start' await 30 settled 0

# ---- the list is no longer needed
rm listed
printf 'subnet: {m_key: generated}\n' >settings.yaml
kill -HUP "$manager"
check 'without the file all ports keep the new key' await 30 settled 0
same 'all of them' "$ports,0" "$(keys current),$(keys unknown)"
check 'no key is in the log' test "$(grep -c "${foreign#0x}" fabricd.log)" = 0
check 'ends on request' stop "$manager"
sim_stop

# ---- OpenSM at protection level 2, where ports do not tell their GUIDs, hands the fabric over as
# doc/security.md says: level 1, a heavy sweep, then the manager starts with the guid2mkey of OpenSM
if type -P opensm >/dev/null; then
    sim_start "$scratch/fabric.net"
    mkdir osm
    printf '%s\n' "log_file $scratch/osm/log" 'force_log_flush TRUE' "m_key $foreign" \
        'm_key_protection_level 2' 'm_key_lease_period 0' >osm/conf
    start osm/out env SIM_HOST=host-0001 OSM_CACHE_DIR="$scratch/osm" OSM_TMP_DIR="$scratch/osm" \
        LD_PRELOAD="$umad2sim" opensm -F "$scratch/osm/conf"
    opensm=$started
    levels() { grep -c 'SUBNET UP' osm/log; }
    up_more() { [ "$(levels)" -gt "$1" ]; }
    check 'OpenSM locks all ports at level 2' await 30 up_more 0
    before=$(levels)
    sed -i 's/level 2/level 1/' osm/conf
    kill -HUP "$opensm"
    check 'OpenSM sweeps with level 1' await 30 up_more "$before"
    # At level 2, a port does not answer a request without the key. Each host asks its own port, its leaf, and the two
    # spines.
    readable() {
        local n path
        for n in 2 3 4 5 6 7 8 9; do
            for path in 0 0,1 0,1,4 0,1,5; do
                at "host-000$n" smpquery -D nodeinfo $path || return 1
            done
        done
    }
    check 'then the ports tell their GUIDs' await 30 readable
    stop "$opensm" TERM
    rm -rf state
    cp osm/guid2mkey listed && chmod 600 listed
    printf 'subnet: {m_key: generated, m_key_file: %s}\n' "$scratch/listed" >settings.yaml
    manager_start host-0001 -f settings.yaml
    check 'the manager takes all ports over from OpenSM' await 60 have current $ports
    check 'ends on request again' stop "$manager"
fi
