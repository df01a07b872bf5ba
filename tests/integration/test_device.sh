#!/bin/bash
# test_device.sh: the simulator is killed and started again, 20 times. Each time, the manager must say that its
# port is gone, and end with an error. When it is started again, as systemd would do, it must route the fabric
# as before, although the switches of the new simulator have no tables. With on_device_lost: wait, one process
# must do this 20 times. It must say what is wrong, and must not leak.
# shellcheck disable=SC2034
SIMULATOR=fabsim
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need dump_fts sqlite3
[ -n "$umad2sim" ] || need libumad2sim.so
rounds=${ROUNDS:-20}

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 3 >device.net

tables() {
    at host-0001 dump_fts -n >"$1" 2>/dev/null && grep -q 'valid lids dumped' "$1"
}

# ended: the manager has ended without a signal; its exit code is in $code.
ended() {
    await 30 gone "$manager" || return 1
    wait "$manager"
    code=$?
}

sim_start device.net
manager_start host-0001
check 'the fabric comes up' await 20 settled 0
check 'the switches have routes' tables before
longest=0
failed=()
for i in $(seq 1 "$rounds"); do
    sim_stop
    began=$(date +%s%N)
    ended || failed+=("$i: still running")
    ms=$((($(date +%s%N) - began) / 1000000))
    [ $ms -gt $longest ] && longest=$ms
    [ "${code:-0}" = 1 ] || failed+=("$i: exit code ${code:-none}")
    grep -q 'device-lost.*is gone' fabricd.log || failed+=("$i: no event: $(tail -3 fabricd.log)")
    sim_start device.net
    manager_start host-0001
    await 20 settled 0 || failed+=("$i: not settled")
    tables after && cmp -s before after || failed+=("$i: other routes")
done
echo "# longest time until the manager ended: $longest ms"
same "the manager ends with an event, and routes again, $rounds times" '' "${failed[*]-}"
check 'and the manager ends on request' stop "$manager"
same 'each loss of the port is an event in the database' "$rounds" \
    "$(sqlite3 state/fabricd.db "SELECT count(*) FROM event WHERE type = 'device-lost'")"

# ---- on_device_lost: wait

"$python" -c "import grpc" 2>/dev/null || need python3-grpcio
reconnect=$build/tests/integration/reconnect.so
check 'make check has built the preload library' [ -f "$reconnect" ]
echo 'on_device_lost: wait' >wait.yaml
rm -rf state
sim_stop
sim_start device.net
umad2sim="$reconnect $umad2sim" manager_start host-0001 -f "$scratch/wait.yaml"
check 'the fabric comes up under a manager that waits' await 20 settled 0

told() { # told TYPE: prints how many events of this type are in the log
    grep -c " $1: " fabricd.log
}
told_are() {
    [ "$(told device-lost)" = "$1" ] && [ "$(told device-recovered)" = "$2" ]
}
is_lost() {
    told_are "$1" $(($1 - 1)) && [ "$(status device_alarm)" ] && [ "$(status role)" = "not active" ]
}
is_back() {
    told_are "$1" "$1" && [ -z "$(status device_alarm)" ] && settled 0
}
descriptors() {
    find "/proc/$manager/fd" -mindepth 1 | wc -l
}
memory_kb() {
    awk '/^VmRSS/ { print $2 }' "/proc/$manager/status"
}

cat >watch.py <<'EOF'
# Follows grpc.health.v1.Health.Watch: 1 is SERVING, 2 is NOT_SERVING.
import sys, grpc
channel = grpc.insecure_channel('unix:' + sys.argv[1])
for message in channel.unary_stream('/grpc.health.v1.Health/Watch')(b''):
    print(message[-1], flush=True)
EOF
start watch.out "$python" watch.py "$scratch/fabricd.sock"
await 10 grep -q 1 watch.out
failed=()
lines=0
for i in $(seq 1 "$rounds"); do
    sim_stop
    await 30 is_lost "$i" || { failed+=("$i: not told: $(tail -3 fabricd.log)"); break; }
    if [ "$i" = 1 ]; then
        at_first=$(wc -l <fabricd.log)
        sleep 3.5 # three attempts to open the port
        lines=$(($(wc -l <fabricd.log) - at_first))
        shown=$(ctl status)
        refused=$(ctl port disable leaf-001/1 2>&1)
        ticks=$(awk '{ print $14 + $15 }' "/proc/$manager/stat")
        sleep 2
        ticks=$(($(awk '{ print $14 + $15 }' "/proc/$manager/stat") - ticks))
    fi
    sim_start device.net
    await 30 is_back "$i" || { failed+=("$i: not back: $(tail -3 fabricd.log)"); break; }
    tables after && cmp -s before after || failed+=("$i: other routes: $(diff before after | head -5)")
    if [ "$i" = 3 ]; then
        fds=$(descriptors)
        kb=$(memory_kb)
    fi
done
same "the manager waits, and routes again, $rounds times" '' "${failed[*]-}"
like 'the status says that the port is gone' "$shown" '^Port: .*is gone \(.*fabric is shown as it was'
like 'a change is refused with the reason' "$refused" 'stays as it is: the manager.s port is gone'
check "no log lines while it waits, but that of status calls ($lines)" [ "$lines" -le 2 ]
check "it does not spin ($ticks ticks of 10 ms in 2 s)" [ "$ticks" -lt 100 ]
check 'it is the same process' kill -0 "$manager"
same 'no descriptor is lost' "$fds" "$(descriptors)"
grown=$(($(memory_kb) - kb))
check "the memory stays ($grown kB since the third time)" [ "$grown" -lt 2048 ]
same 'clients of the health service hear of each change' "$(printf '1%.0s' 1; printf '21%.0s' $(seq "$rounds"))" \
    "$(tr -d '\n' <watch.out)"
check 'and the manager ends on request' stop "$manager"
same 'each loss and each return is an event in the database' "$rounds $rounds" \
    "$(sqlite3 state/fabricd.db "SELECT sum(type = 'device-lost') || ' ' || sum(type = 'device-recovered') FROM event")"
