#!/bin/bash
# test_fabsim_devices.sh: general services of fabsim's devices. perfquery and ibqueryerrors read port counters,
# ibccquery and ibccconfig use congestion control.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need opensm ibccquery ibccconfig perfquery ibqueryerrors smpquery
[ -n "$umad2sim" ] || need libumad2sim.so
simulator=fabsim
export OSM_CACHE_DIR=$scratch OSM_TMP_DIR=$scratch

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 2 -o small.net
check 'serves a fabric' sim_start small.net
printf '%s\n' 'sweep_interval 0' 'force_log_flush TRUE' "log_file $scratch/opensm.log" "dump_files_dir $scratch" >conf
start opensm.out env SIM_HOST=host-0001 LD_PRELOAD="$umad2sim" opensm -F "$scratch/conf"
check 'OpenSM reaches SUBNET UP' await 30 grep -q 'SUBNET UP' opensm.log

# lid NODE PORT: prints the LID of the port at the other end of a directed route from host-0001.
lid() {
    at host-0001 smpquery portinfo -D "$1" "$2" | sed -n 's/^Lid:\.*//p'
}
leaf=$(lid 0,1 0)
host=$(lid 0,1,2 1)
like 'the leaf has a LID' "$leaf" '^[0-9]+$'
like 'a host has a LID' "$host" '^[0-9]+$'

# ---- subnet management

# shellcheck disable=SC2086
for what in nodeinfo nodedesc switchinfo 'portinfo 0' 'portinfo 3' 'pkeys 0' 'pkeys 3' 'sl2vl 3' 'vlarb 3' \
    guidinfo 'mepi 3'; do
    check "smpquery $what of a switch" at host-0001 smpquery "${what% *}" "$leaf" ${what#"${what% *}"}
done
# shellcheck disable=SC2086
for what in nodeinfo nodedesc portinfo pkeys sl2vl vlarb guidinfo 'mepi 1'; do
    check "smpquery $what of a host" at host-0001 smpquery "${what% *}" "$host" ${what#"${what% *}"}
done
check 'a directed route from a LID' at host-0001 smpquery -c nodeinfo "$leaf" 0,2
check 'ibportstate sees both ends of a cable' at host-0001 ibportstate "$leaf" 3 query

cc() { at host-0001 ibccquery "$@"; }
set_cc() { at host-0001 ibccconfig "$@"; }
field() { sed -n "s/^$1:\.*//p" | head -"${2:-1}" | tail -1; }

# ---- congestion control

for what in ClassPortInfo CongestionInfo CongestionKeyInfo CongestionLog SwitchCongestionSetting \
    SwitchPortCongestionSetting Timestamp; do
    check "ibccquery $what of a switch" cc $what "$leaf"
done
for what in ClassPortInfo CongestionInfo CongestionKeyInfo CongestionLog CACongestionSetting \
    CongestionControlTable Timestamp; do
    check "ibccquery $what of a host" cc $what "$host"
done
check 'a switch has no control table' bash -c "! (SIM_HOST=host-0001 LD_PRELOAD=$umad2sim timeout 20 ibccquery CongestionControlTable $leaf)"

check 'sets the congestion of a switch' set_cc SwitchCongestionSetting "$leaf" 0x1f 0x1e 0x2 5 8 3 1:7 250
cc SwitchCongestionSetting "$leaf" >out
same 'victim mask' 000000000000000000000000000000000000000000000000000000000000001e "$(field Victim_Mask <out)"
same 'threshold' 0x05 "$(field Threshold <out)"
same 'packet size' 8 "$(field Packet_Size <out)"
same 'marking rate' 250 "$(field Marking_Rate <out)"
check 'sets the marking rate alone' set_cc SwitchCongestionSetting "$leaf" 0x10 0 0 0 0 0 0:0 99
cc SwitchCongestionSetting "$leaf" >out
same 'the marking rate changed' 99 "$(field Marking_Rate <out)"
same 'and nothing else' 0x05 "$(field Threshold <out)"

check 'sets the congestion of a port' set_cc SwitchPortCongestionSetting "$leaf" 3 1 0 9 4 77
cc SwitchPortCongestionSetting "$leaf" 3 >out
same 'its threshold' 0x09 "$(field Threshold <out)"
same 'its marking rate' 77 "$(field Cong_Parm_Marking_Rate <out)"
same 'not that of another port' 0 "$(cc SwitchPortCongestionSetting "$leaf" 2 | field Cong_Parm_Marking_Rate)"

check 'sets service levels of a host' set_cc CACongestionSetting "$host" 1 0x5 150 2 3 4
cc CACongestionSetting "$host" >out
same 'the timer of level 0' 150 "$(field CCTI_Timer 1 <out)"
same 'not of level 1' 0 "$(field CCTI_Timer 2 <out)"
same 'of level 2' 150 "$(field CCTI_Timer 3 <out)"

# shellcheck disable=SC2046
check 'sets the control table' set_cc CongestionControlTable "$host" 63 0 $(seq -f '1:%g' 64)
cc CongestionControlTable "$host" >out
same 'its limit' 63 "$(field CCTI_Limit <out)"
same 'its last entry' 64 "$(field CCT_Multiplier 64 <out)"

check 'sets a key' set_cc CongestionKeyInfo "$host" 0x1234 1 0 0
same 'the key is hidden' 0x0000000000000000 "$(cc CongestionKeyInfo "$host" | field CC_Key)"
same 'but not from who has it' 0x0000000000001234 "$(cc -c 0x1234 CongestionKeyInfo "$host" | field CC_Key)"
check 'nothing is set without it' bash -c "! (SIM_HOST=host-0001 LD_PRELOAD=$umad2sim timeout 30 ibccconfig CACongestionSetting $host 1 1 9 9 9 9)"
same 'which is counted' 1 "$(cc -c 0x1234 CongestionKeyInfo "$host" | field CC_KeyViolations | sed 's/^[1-9][0-9]*$/1/')"
check 'and with it something is' set_cc -c 0x1234 CACongestionSetting "$host" 1 1 9 9 9 9

# ---- counters

count() { at host-0001 perfquery "$@" >out 2>err; }
check 'perfquery of a switch port' count "$leaf" 3
check 'perfquery -x of a switch port' count -x "$leaf" 3
at host-0001 ibqueryerrors >out 2>err
like 'ibqueryerrors finds nothing after a bring-up' "$(cat out)" ', 0 bad nodes found'
check 'perfquery of a host' count "$host" 1
for what in -c -X -S -D -E -T --oprcvcounters --flowctlcounters --vloppackets --vlopdata --vlxmitflowctlerrors \
    --vlxmitcounters --swportvlcong --rcvcc --slrcvfecn --slrcvbecn --xmitcc --vlxmittimecc; do
    check "perfquery $what of a switch port" count "$what" "$leaf" 3
    check "perfquery $what of a host" count "$what" "$host" 1
done
count -c "$leaf" 3
same 'it can sample errors and congestion marks' 0x01ff000000ffffc0 "$(field OptionMask <out)"
check 'perfquery -l' count -l -a "$leaf"
check 'perfquery -x of all ports' count -x -a "$leaf"
check 'perfquery -r' count -r "$leaf" 3
check 'perfquery -R of details' count -R -E "$leaf" 3
check 'perfquery of all ports' count -a "$leaf"
same 'no link was down yet' 0 "$(count "$leaf" 3 && field LinkDownedCounter <out)"
timeout 20 "$fabsim" ctl unlink leaf-001/3 && timeout 20 "$fabsim" ctl relink leaf-001/3
same 'a cable that was pulled is counted' 1 "$(count "$leaf" 3 && field LinkDownedCounter <out)"
at host-0001 ibqueryerrors >out 2>err
like 'ibqueryerrors finds it' "$(cat out)" 'leaf-001'
# The faults of the console, as the diagnostics show them.
fault() { timeout 20 "$fabsim" ctl "$@"; }
check 'a counter that rises' fault increment leaf-002/1 SymbolErrorCounter rate=100000
check 'and no longer does' fault increment leaf-002/1 SymbolErrorCounter
at host-0001 ibqueryerrors >out 2>err
like 'ibqueryerrors finds it too' "$(cat out)" 'SymbolErrorCounter == [0-9]+'
fault degrade leaf-003/3 lanes=1 speed=QDR
like 'iblinkinfo sees a link that is slow' "$(at host-0001 iblinkinfo -l 2>/dev/null)" 'leaf-003.*1X +10.0 Gbps.*Could be 4X'
check 'mended' fault repair leaf-003/3
same 'no slow link any more' 0 "$(at host-0001 iblinkinfo -l 2>/dev/null | grep -c 'Could be')"
fault corrupt 'host-000[2-3]' busy
check 'hosts that are busy' bash -c "! (SIM_HOST=host-0001 LD_PRELOAD=$umad2sim timeout 20 smpquery nodeinfo -D 0,1,2)"
fault off 'leaf-00[3-4]'
like 'a row without power' "$(fault status)" ', 8 of them down$'
fault on 'leaf-00[3-4]'
like 'and back' "$(fault status)" '[0-9] cables$'
check 'perfquery -R resets' count -R "$leaf" 3
same 'it is reset' 0 "$(count "$leaf" 3 && field LinkDownedCounter <out)"
sim_stop
