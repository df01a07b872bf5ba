#!/bin/bash
# test_fabsim_serve.sh: `fabsim serve` instead of ibsim. On both simulators, OpenSM brings up the same fabric, and
# a cable is pulled and plugged in. infiniband-diags must find the same on both, including every table entry.
# Then the test uses what only fabsim has: fabsim ctl, many clients, and clients that died or do not read.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need opensm ibsim ibnetdiscover iblinkinfo smpquery dump_fts saquery
[ -n "$umad2sim" ] || need libumad2sim.so

sim_ctl() {
    timeout 40 "$fabsim" ctl "$@"
}

# code COMMAND...: prints the exit code; the output of the command is in out and err.
code() {
    "$@" >out 2>err
    echo $?
}

# ---- OpenSM on both

ups() {
    grep -c 'SUBNET UP' "$1/opensm.log" 2>/dev/null || true
}

# up FOLDER COUNT: OpenSM has brought the fabric up COUNT times, and no further time in the last second.
up() {
    local n
    n=$(ups "$1")
    [ "${n:-0}" -ge "$2" ] && sleep 1.2 && [ "$(ups "$1")" = "$n" ]
}

opensm_start() {
    mkdir -p "$1"
    printf '%s\n' 'max_wire_smps 64' 'sweep_interval 0' 'force_log_flush TRUE' 'log_flags 0x03' \
        "log_file $scratch/$1/opensm.log" "dump_files_dir $scratch/$1" 'routing_engine minhop' >"$1/conf"
    start "$1/opensm.out" env OSM_CACHE_DIR="$scratch/$1" OSM_TMP_DIR="$scratch/$1" SIM_HOST=host-0001 \
        LD_PRELOAD="$umad2sim" opensm -F "$1/conf"
    opensm=$started
}

tables() {
    at host-0001 dump_fts -n >"$1.fts" 2>"$1.err" && at host-0001 dump_mfts >"$1.mft" 2>>"$1.err" &&
        grep -q 'valid lids dumped' "$1.fts"
}

# What an operator would run. The output has no names of processes and no times, and nothing that depends on the
# kind of device. (ibsim knows no rate above FDR, and not the port by which a MAD came in.)
diags() {
    local query
    at host-0001 ibnetdiscover | grep -v '^# Topology file' | sed 's/ [0-9]*x[A-Z0-9]*$//'
    at host-0001 iblinkinfo -l | grep -oE '^0x.{60}|Active/ +LinkUp' | sort
    at host-0001 sminfo | sed 's/activity count [0-9]*//'
    for query in 'nodeinfo 5' 'nodedesc 5' 'nodeinfo 2' 'nodedesc 2' 'pkeys 5 1' 'mepi 5 1' 'nodeinfo -D 0,1' \
        'nodedesc -D 0,1,20'; do
        # shellcheck disable=SC2086
        at host-0001 smpquery $query | grep -v '^LocalPort' || echo "smpquery $query: failed"
    done
    at host-0001 ibtracert 1 300
    at host-0001 ibtracert 1 2
    at host-0001 saquery -c
    at host-0001 saquery --list | head -3
}

# The output depends on the kind of device, so only the success of the command is compared.
answered() {
    local query
    for query in 'portinfo 5 1' 'portinfo 2 3' 'switchinfo 2' 'sl2vl 5 1' 'sl2vl 2 3' 'vlarb 5 1' \
        'guidinfo 5'; do
        # shellcheck disable=SC2086
        at host-0001 smpquery $query || return 1
    done
}

# Prints the error codes in OpenSM's log.
errors() {
    grep -o 'ERR [0-9A-F]*' "$1/opensm.log" | sort -u
}

# script NAME: bring-up, pull and plug. The tables after each step are in NAME.up, NAME.cut and NAME.mended.
script() {
    local name=$1 n cable='"S-0002c90100000001"[20]'
    simulator=$name
    if ! sim_start ls648.net; then
        not_ok "$name: starts" "$(tail -3 sim.err sim.out)"
        return
    fi
    opensm_start "$name"
    check "$name: OpenSM reaches SUBNET UP" await 60 up "$name" 1
    check "$name: tables can be read" tables "$name.up"
    diags >"$name.diags" 2>"$name.diags.err"
    check "$name: smpquery is answered" answered
    n=$(ups "$name")
    sim_do "Unlink $cable"
    check "$name: OpenSM notices a pulled cable" await 60 up "$name" $((n + 1))
    tables "$name.cut"
    n=$(ups "$name")
    sim_do "ReLink $cable"
    check "$name: and that it is back" await 60 up "$name" $((n + 1))
    tables "$name.mended"
    check "$name: OpenSM ends" stop "$opensm"
    sim_stop
}

"$fabsim" generate leaf-spine --leaves 36 --spines 18 --hosts 18 -o ls648.net
script ibsim
script fabsim
for moment in up cut mended; do
    check "same unicast tables: $moment" cmp ibsim.$moment.fts fabsim.$moment.fts
    check "same multicast tables: $moment" cmp ibsim.$moment.mft fabsim.$moment.mft
done
check 'the tables did change' bash -c '! cmp -s fabsim.up.fts fabsim.cut.fts'
check 'the same answers to diagnostics' diff ibsim.diags fabsim.diags
same 'no error in the log that is not there on ibsim' '' "$(comm -13 <(errors ibsim) <(errors fabsim))"

# ---- fabsim ctl

same 'ctl without a simulator: exit code' 1 "$(code sim_ctl --socket nobody-$$ status)"
like 'ctl without a simulator says so' "$(cat err)" 'no simulator serves as "nobody-'
simulator=fabsim
"$fabsim" generate leaf-spine --leaves 6 --spines 3 --hosts 4 -o ls24.net
check 'serves 24 hosts' sim_start ls24.net
same 'a second one of that name: exit code' 1 "$(code timeout 10 "$fabsim" serve ls24.net)"
like 'a second one of that name says why' "$(cat err)" 'serves as .* already'
same 'ctl status: exit code' 0 "$(code sim_ctl status)"
like 'ctl status says what is served' "$(cat out)" '^serving ls24.net: 9 switches, 24 adapters, 42 cables$'
same 'ctl with an unknown command: exit code' 2 "$(code sim_ctl frobnicate)"
same 'ctl with an unknown node: exit code' 1 "$(code sim_ctl unlink nobody/1)"
like 'ctl with an unknown node names it' "$(cat err)" 'no node "nobody/1"'
same 'ctl with an unknown option: exit code' 2 "$(code sim_ctl --frobnicate)"
found() {
    at host-0001 ibnetdiscover 2>/dev/null | grep -cE '^(Ca|Switch)'
}
same 'all is found' 33 "$(found)"
sim_ctl unlink host-0024/1
same 'without one host' 32 "$(found)"
printf 'relink host-0024\nunlink leaf-006\n' | sim_ctl
same 'without a leaf' 28 "$(found)"
sim_ctl relink leaf-006
same 'and back' 33 "$(found)"
sim_ctl silence host-0002
same 'a silent host: exit code' 255 "$(code at host-0001 smpquery nodeinfo -D 0,1,2)"
sim_ctl wake host-0002
same 'awake again: exit code' 0 "$(code at host-0001 smpquery nodeinfo -D 0,1,2)"
sim_ctl loss 1
same 'all is lost: exit code' 255 "$(code at host-0001 smpquery nodeinfo -D 0,1)"
sim_ctl loss 0
same 'by node id, GUID, port: attaches' 000 \
    "$(for host in S-0002c90100000001 0x0002c90200000000 host-0003/1; do code at $host smpquery nodeinfo -D 0; done | tr -d '\n')"
same 'an unknown SIM_HOST is refused' 255 "$(code at nobody smpquery nodeinfo -D 0)"

# ---- clients

# 70 programs, each of which runs long enough to run together with the others.
many_clients() {
    local i mine=()
    for i in $(seq 70); do
        at "host-$(printf %04d $((i % 24 + 1)))" "$python" -c 'import ctypes, time
umad = ctypes.CDLL("libibumad.so.3")
umad.umad_init()
assert umad.umad_open_port(None, 0) >= 0
time.sleep(6)' >"client.$i" 2>&1 &
        mine+=($!)
    done
    await 20 all_connected
    local result=$?
    for i in "${mine[@]}"; do
        wait "$i" || result=1
    done
    return $result
}
all_connected() {
    [ "$(sim_ctl status | grep -c '^client')" -ge 70 ]
}
check '70 clients at once' many_clients

nobody() {
    ! sim_ctl status | grep '^client'
}
check 'they are gone again' await 5 nobody
start sm.out env SIM_HOST=host-0001 SIM_SET_ISSM=1 LD_PRELOAD="$umad2sim" "$python" -c 'import ctypes, time
umad = ctypes.CDLL("libibumad.so.3")
umad.umad_init()
umad.umad_open_port(None, 0)
time.sleep(60)'
attached() {
    sim_ctl status | grep -q ' sm '
}
check 'an SM is attached' await 10 attached
like 'IsSM is set' "$(at host-0001 smpquery portinfo -D 0 1 2>/dev/null)" 'IsSM$'
stop "$started" KILL
check 'a killed client is noticed' await 3 nobody
same 'IsSM is cleared' 0 "$(at host-0001 smpquery portinfo -D 0 1 2>/dev/null | grep -c 'IsSM$')"

# A client that sends and never reads does not disturb other clients.
cat >deaf.py <<'EOF'
import os, socket, struct, sys, time
base, pid = os.environ['IBSIM_SOCKNAME'], os.getpid()
def name(role): return ('\0%s:%s\0' % (base, role)).encode()
ctl = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
ctl.bind(name('ctl%d' % pid)); ctl.connect(name('ctl'))
pkt = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
pkt.bind(name('in%d' % pid))
ctl.send(struct.pack('<IIIIIII32s', 0xdeadbeef, 0, 1, 44, pid, 0, 0, b'host-0005').ljust(80, b'\0'))
client = struct.unpack_from('<I', ctl.recv(80), 16)[0]
pkt.connect(name('out%d' % client))
mad = bytearray(256)
mad[0:4] = 1, 0x81, 1, 1
mad[16:18] = 0, 0x11
mad[32:36] = b'\xff' * 4
packet = struct.pack('>HHHHIIIIQ', 0xffff, 0, 0xffff, 0, 0, 0, 0, 0, 256) + bytes(mad)
for i in range(20000):
    pkt.send(packet)
ctl.send(b'nonsense'); ctl.send(bytes(80)); ctl.send(bytes(300)); pkt.send(b''); pkt.send(bytes(4000))
print('sent', flush=True)
time.sleep(60)
EOF
start deaf.out "$python" deaf.py
check 'a client that never reads can send on' await 20 grep -q sent deaf.out
like 'what it did not read is counted' "$(sim_ctl status)" 'host-0005.* unread [1-9][0-9]{3,}$'
same 'others are served' 33 "$(found)"
stop "$started" KILL
check 'the simulator lives' sim_ctl status
same 'stops on request: exit code' 0 "$(code sim_ctl stop)"
wait "$sim_pid"
same 'its own exit code' 0 $?
exec 9>&-

# ---- fabricd on it

check 'serves 24 hosts again' sim_start ls24.net
manager_start host-0001
check 'fabricd brings it up' await 60 settled 0
at host-0001 ibnetdiscover >ours.nd 2>/dev/null
at host-0001 dump_fts -n >ours.fts 2>/dev/null
check 'its tables take every host everywhere' "$python" "$here/judge.py" --strict ours.nd ours.fts
leaf=$(at host-0001 smpquery portinfo -D 0,1 0 2>/dev/null | sed -n 's/^Lid:\.*//p')
for tool in "perfquery -x $leaf 1" "ibccquery CongestionInfo $leaf" \
    "ibccconfig SwitchCongestionSetting $leaf 0x1f 0x1e 0x2 5 8 3 1:7 250" \
    "ibccquery SwitchCongestionSetting $leaf" "ibportstate $leaf 1 query" 'iblinkinfo -l'; do
    # shellcheck disable=SC2086
    check "${tool%% *} ${tool#* } under fabricd" at host-0001 $tool
done
generation=$(status generation)
sim_ctl unlink leaf-001/5
check 'it notices a pulled cable' await 60 settled "$generation"
check 'it ends' stop "$manager"
sim_stop
