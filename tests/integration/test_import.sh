#!/bin/bash
# test_import.sh: a fabric moves from OpenSM to fabricd and back, on ibsim, with three configurations that are made
# from OpenSM's own template. While OpenSM runs, its configuration is imported and the takeover is rehearsed. Then
# fabricd takes over: LIDs and P_Keys stay, routes are as good or better, and the writes are those of the rehearsal.
# Then OpenSM starts on exported files, and LIDs and P_Keys stay again.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need ibsim opensm ibnetdiscover dump_fts smpquery
[ -n "$umad2sim" ] || need libumad2sim.so
manager_host="host-0001"
opensm -c "$scratch/template.conf" >/dev/null 2>&1
check 'OpenSM writes its template' test -s template.conf

# set_options DIR: reads lines "OPTION VALUE", and makes DIR/opensm.conf from the template with these options.
set_options() {
    cp template.conf "$1/opensm.conf"
    while read -r option value; do
        grep -q "^$option " template.conf || not_ok "the template has $option"
        sed -i "s|^$option .*|$option $value|" "$1/opensm.conf"
    done
}

# guids TYPE COUNT: node GUIDs of the first nodes of a type (Switch, Ca) in fabric.net with a name like $3.
guids() {
    awk -v type="$1" -v name="$3" '$1 == type && index($0, name) {
        match($0, /"[SH]-[0-9a-f]+"/); print "0x" substr($0, RSTART + 3, RLENGTH - 4) }' fabric.net | head -n "$2"
}

# observe NAME: writes what infiniband-diags see: NAME.nd, NAME.fts, NAME.lids, NAME.pkeys.
observe() {
    at "$manager_host" ibnetdiscover 2>/dev/null | grep -v '^# ' >"$1.nd"
    at "$manager_host" dump_fts -n >"$1.fts" 2>/dev/null
    grep -o 'lid [0-9]* lmc [0-9]*' "$1.nd" >"$1.lids"
    for lid in $(awk '/^[A-Z]/ { ca = /^Ca/ } ca && /^\[/ { print $(NF > 0 ? index_of() : 1) }
        function index_of(i) { for (i = 1; i < NF; i++) if ($i == "lid") return i + 1 }' "$1.nd"); do
        echo "LID $lid"
        at "$manager_host" smpquery pkeys "$lid" 2>/dev/null | sort
    done >"$1.pkeys"
}

# opensm_start DIR CACHE: starts OpenSM, and waits until the subnet is up. Its process id is in $opensm.
opensm_start() {
    start opensm.out env SIM_HOST="$manager_host" LD_PRELOAD="$umad2sim" OSM_TMP_DIR="$2" OSM_CACHE_DIR="$2" \
        opensm -F "$1/opensm.conf" -f "$2/opensm.log"
    opensm=$started
    await 40 grep -q 'SUBNET UP' "$2/opensm.log"
}

# predicted: the writes of the rehearsal by attribute; made: those in the recording.
predicted() {
    "$python" -c 'import json, sys
for name, n in sorted(json.load(open(sys.argv[1]))["writes"].items()): print(name, n)' "$1"
}
made() {
    "$fabsim" mads "$1" | awk '/ > .*(Set|SubnSet)/' | "$python" -c 'import re, sys, collections
names = ("SwitchInfo", "PortInfo", "LinearForwardingTable", "P_KeyTable", "SLtoVLMappingTable", "VLArbitrationTable")
count = collections.Counter()
for line in sys.stdin:
    for name in names:
        if re.search(r"\b%s\b" % re.escape(name), line):
            count[name] += 1
for name, n in sorted(count.items()): print(name, n)'
}

# migrate NAME: takes the fabric of fabric.net over from OpenSM with NAME/opensm.conf, and gives it back.
migrate() {
    local dir=$scratch/$1
    mkdir -p "$dir/cache"
    same "$1: 25 options are changed" yes \
        "$([ "$(diff template.conf "$dir/opensm.conf" | grep -c '^>')" -ge 25 ] && echo yes)"
    sim_start "$scratch/fabric.net"
    check "$1: OpenSM comes up" opensm_start "$dir" "$dir/cache" || return
    observe "$1-opensm"
    echo 'frobnicate_subnet TRUE' >>"$dir/opensm.conf"
    check "$1: the import" "$fabricctl" import opensm "$dir" --cache "$dir/cache" --dir "$dir/fabricd" || return
    "$fabricctl" import opensm "$dir" --cache "$dir/cache" --dir "$dir/x" --dry-run -o json >"$1.report"
    same "$1: the unknown option is named with its line" \
        "frobnicate_subnet,$(wc -l <"$dir/opensm.conf"),False" "$("$python" -c 'import json, os, sys
r = json.load(open(sys.argv[1]))
u = [i for i in r["options"] if i["fate"] == "unknown"]
print(",".join("%s,%d" % (i["name"], i["line"]) for i in u), os.path.exists(sys.argv[2]), sep=",")' "$1.report" "$dir/x")"
    check "$1: fabricd accepts the settings" "$fabricd" --check-config -f "$dir/fabricd/fabricd.yaml"
    check "$1: existing files are not replaced" test "$("$fabricctl" import opensm "$dir" --cache "$dir/cache" \
        --dir "$dir/fabricd" >/dev/null 2>&1; echo $?)" = 1

    at host-0002 "$fabricd" --rehearse=json --umad -f "$dir/fabricd/fabricd.yaml" --state-dir "$scratch/none" \
        >"$1.elsewhere" 2>/dev/null
    same "$1: a rehearsal at another host" 0 $?
    at "$manager_host" "$fabricd" --rehearse=json --umad -f "$dir/fabricd/fabricd.yaml" --state-dir "$scratch/none" \
        >"$1.rehearsal" 2>/dev/null
    same "$1: the rehearsal at the port of OpenSM" 0 $?
    at host-0002 "$fabricd" --hardware-report=json --umad --state-dir "$scratch/none" >"$1.hardware" 2>/dev/null
    same "$1: a hardware report beside OpenSM" 0 $?
    same "$1: it reads what ibsim has" 'adapter: 7 switch: 10' "$("$python" -c 'import json, sys
r = json.load(open(sys.argv[1])); needed = sys.argv[2].split(",")
print(*sorted("%s: %u" % (m["type"], sum(a["attribute"] in needed and a["answer"] == "ok" for a in m["attributes"]))
              for m in r["models"]))' "$1.hardware" "$(printf %s NodeInfo,NodeDescription,SwitchInfo,PortInfo,P_KeyTable,\
VLArbitration,LinearForwardingTable,MulticastForwardingTable,PortCounters,"PerfMgt ClassPortInfo")")"
    observe "$1-rehearsed"
    check "$1: the rehearsal and the report have changed nothing" cmp "$1-opensm.nd" "$1-rehearsed.nd"
    check "$1: nor the tables" cmp "$1-opensm.fts" "$1-rehearsed.fts"
    same "$1: it proves the tables, and no LID changes" 'True 0 0' "$("$python" -c 'import json, sys
r = json.load(open(sys.argv[1])); print(r["proved"], r["lids"]["new"], r["lids"]["changed"])' "$1.rehearsal")"
    stop "$opensm" TERM

    rm -rf state
    manager_start "$manager_host" -f "$dir/fabricd/fabricd.yaml" --record "$scratch/$1.record"
    check "$1: fabricd takes over" await 30 settled 0
    observe "$1-fabricd"
    check "$1: all LIDs are the same" cmp "$1-opensm.lids" "$1-fabricd.lids"
    same "$1: each host has P_Keys" "$(grep -c '^Ca' "$1-opensm.nd")" "$(grep -c 0xffff "$1-opensm.pkeys")"
    check "$1: all P_Keys are the same" cmp "$1-opensm.pkeys" "$1-fabricd.pkeys"
    check "$1: the routes have no fault" "$python" "$here/judge.py" "$1-fabricd.nd" "$1-fabricd.fts"
    read -r theirs_hops theirs_most < <("$python" "$here/loads.py" "$1-opensm.nd" "$1-opensm.fts")
    read -r ours_hops ours_most < <("$python" "$here/loads.py" "$1-fabricd.nd" "$1-fabricd.fts")
    echo "# $1: OpenSM's paths have $theirs_hops switches, ours $ours_hops; the most loaded link $theirs_most, $ours_most"
    same "$1: the routes are as good or better" yes \
        "$([ "$ours_hops" -le "$theirs_hops" ] && [ "$ours_most" -le "$theirs_most" ] && echo yes)"
    check "$1: the export for OpenSM" ctl export opensm "$dir/back" || return
    stop "$manager" TERM
    made "$1.record" >"$1.made"
    predicted "$1.rehearsal" >"$1.predicted"
    check "$1: the writes are those of the rehearsal" diff "$1.predicted" "$1.made"
    sed "s/^/# $1: /" "$1.made"

    mkdir -p "$dir/again"
    cp "$dir/back/guid2lid" "$dir/again/"
    same "$1: the export has the LIDs of OpenSM" "$(grep -o '0x.*' "$dir/cache/guid2lid" | sort)" \
        "$(grep -o '0x.*' "$dir/back/guid2lid" | sort)"
    echo 'force_log_flush TRUE' >>"$dir/back/opensm.conf"
    check "$1: OpenSM comes up with the exported files" opensm_start "$dir/back" "$dir/again"
    same "$1: it knows all their options" '' "$(grep -i 'unrecognized\|parse error\|invalid' opensm.out)"
    observe "$1-again"
    check "$1: the LIDs are the same again" cmp "$1-opensm.lids" "$1-again.lids"
    check "$1: and the P_Keys" cmp "$1-opensm.pkeys" "$1-again.pkeys"
    stop "$opensm" TERM
    sim_stop
}

# ---- a leaf-spine fabric with ftree, roots, partitions and names
"$fabsim" generate leaf-spine --leaves 4 --spines 3 --hosts 5 >fabric.net
mkdir -p a
guids Switch 9 spine >a/roots
guids Ca 99 host >a/cn
{ guids Switch 9 leaf | awk '{ print $1 " \"rack " NR " leaf\"" }'; } >a/names
port() { guids Ca 99 host | sed -n "$1p" | "$python" -c 'print("0x%016x" % (int(input(), 16) + 1))'; }
cat >a/partitions.conf <<END
Default=0x7fff, ipoib : ALL=full ;
jobs=0x11, ipoib, defmember=full : $(port 2), $(port 3), $(port 4)=limited ;
store=0x12, defmember=limited : ALL_CAS, SELF=full ;
END
set_options a <<END
routing_engine ftree
root_guid_file $scratch/a/roots
cn_guid_file $scratch/a/cn
node_name_map_name $scratch/a/names
partition_config_file $scratch/a/partitions.conf
part_enforce out
sweep_interval 30
sm_priority 7
max_op_vls 4
packet_life_time 0x11
head_of_queue_lifetime 0x11
leaf_head_of_queue_lifetime 0x0f
vl_stall_count 0x06
leaf_vl_stall_count 0x05
subnet_timeout 17
local_phy_errors_threshold 0x09
overrun_errors_threshold 0x07
transaction_timeout 300
transaction_retries 4
max_wire_smps 6
max_wire_smps2 6
force_log_flush TRUE
log_flags 0x07
log_file $scratch/a/opensm.log
dump_files_dir $scratch/a
use_ucast_cache TRUE
sminfo_polling_timeout 1000
END
migrate a

# ---- LMC 1, traffic classes, both memberships, minhop
"$fabsim" generate fat-tree --radix 4 --levels 3 >fabric.net
mkdir -p b
manager_host=$(awk '$1 == "Ca" { match($0, /#[^"]*"[^"]*"/); print substr($0, RSTART) }' fabric.net |
    sed 's/.*"\(.*\)"/\1/' | head -1)
cat >b/partitions.conf <<END
Default=0x7fff, ipoib : ALL=full ;
both=0x21, ipoib : ALL_CAS=both ;
END
set_options b <<END
lmc 1
routing_engine minhop
allow_both_pkeys TRUE
partition_config_file $scratch/b/partitions.conf
part_enforce in
qos TRUE
qos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3
qos_vlarb_high 0:64,1:32
qos_vlarb_low 0:32,1:32,2:64,3:64
qos_high_limit 10
max_op_vls 3
consolidate_ipv6_snm_req TRUE
sweep_interval 15
force_heavy_sweep TRUE
packet_life_time 0x10
head_of_queue_lifetime 0x10
leaf_head_of_queue_lifetime 0x0e
vl_stall_count 0x05
leaf_vl_stall_count 0x04
subnet_timeout 19
overrun_errors_threshold 0x05
transaction_timeout 250
max_wire_smps 6
max_wire_smps2 6
force_log_flush TRUE
perfmgr_sweep_time_s 60
log_file $scratch/b/opensm.log
dump_files_dir $scratch/b
polling_retry_number 3
END
migrate b

# ---- a damaged leaf-spine fabric with updn, without partitions and enforcement
"$fabsim" generate leaf-spine --leaves 5 --spines 2 --hosts 3 --parallel 2 >fabric.net
manager_host="host-0001"
mkdir -p c
guids Switch 9 spine >c/roots
set_options c <<END
routing_engine updn,minhop
root_guid_file $scratch/c/roots
connect_roots TRUE
no_partition_enforcement TRUE
sweep_interval 60
sm_priority 1
max_op_vls 2
packet_life_time 0x13
head_of_queue_lifetime 0x13
leaf_head_of_queue_lifetime 0x12
vl_stall_count 0x04
leaf_vl_stall_count 0x03
subnet_timeout 16
local_phy_errors_threshold 0x03
overrun_errors_threshold 0x04
transaction_timeout 150
transaction_retries 2
max_wire_smps 6
max_wire_smps2 6
force_log_flush TRUE
honor_guid2lid_file TRUE
perfmgr_redir FALSE
log_flags 0x03
log_file $scratch/c/opensm.log
log_max_size 10
accum_log_file FALSE
dump_files_dir $scratch/c
port_shifting FALSE
console_port 10001
max_msg_fifo_timeout 5000
sm_assigned_guid 0x01
END
migrate c
