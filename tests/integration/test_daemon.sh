#!/bin/bash
# test_daemon.sh: fabricd as a service, on a simulated fabric. Tests readiness and watchdog, and that a state
# directory has only one manager. Every wrong input must cause a clear error, and nothing may be lost.
. "$(dirname "$0")/lib.sh"
need sqlite3

"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 4 >fabric.net

# refused NAME REGEX COMMAND...: the command fails without a signal, with a message that matches REGEX.
refused() {
    local name=$1 regex=$2 text code
    shift 2
    text=$(timeout 20 "$@" 2>&1 >/dev/null </dev/null)
    code=$?
    if [ $code -eq 0 ] || [ $code -ge 124 ]; then
        not_ok "$name" "exit code $code" "$text"
    else
        like "$name" "$text" "$regex"
    fi
}

daemon=("$fabricd" --sim "$scratch/fabric.net" --state-dir "$scratch/state"
    --listen "unix:$scratch/fabricd.sock" --listen "unix:$scratch/made/fabricd.sock")

# ---- the configuration file
printf 'sweep:\n    light_intervall: 5\n' >unknown-key.yaml
refused 'config: an unknown key is refused with its place' 'unknown-key.yaml:2:[0-9]+: .*light_intervall' \
    "$fabricd" --check-config -f "$scratch/unknown-key.yaml"
printf 'subnet:\n    lmc: 9\n' >value.yaml
refused 'config: a value outside its domain is refused with what is expected' 'value.yaml:2:[0-9]+: .*7' \
    "$fabricd" --check-config -f "$scratch/value.yaml"
printf 'subnet: [\n' >syntax.yaml
refused 'config: what is no YAML is refused with its place' 'syntax.yaml:[0-9]+:[0-9]+: ' \
    "$fabricd" --check-config -f "$scratch/syntax.yaml"
refused 'config: a missing file is refused' 'missing.yaml' "$fabricd" --check-config -f missing.yaml
check 'config: the file as shipped is right' "$fabricd" --check-config -f "$top/etc/fabricd.yaml"

# ---- other input
mkdir -p state
head -c $(($(stat -c %s fabric.net) / 2)) fabric.net | sed '$ s/.$//; $ s/"[^"]*$//' >cut.net
refused 'a topology that is cut in the middle' 'cut.net:[0-9]+:[0-9]+: ' \
    "$fabricd" --sim cut.net --state-dir "$scratch/state" --listen "unix:$scratch/x.sock"
refused 'a topology that is not there' 'nothere.net' \
    "$fabricd" --sim nothere.net --state-dir "$scratch/state" --listen "unix:$scratch/x.sock"
refused 'an adapter that is not there' 'nosuch' \
    "$fabricd" --umad nosuch:1 --state-dir "$scratch/state" --listen "unix:$scratch/x.sock"
refused 'an address that is none' 'carrier-pigeon' \
    "$fabricd" --sim fabric.net --state-dir "$scratch/state" --listen carrier-pigeon:7
refused 'plain TCP' 'tcp' \
    "$fabricd" --sim fabric.net --state-dir "$scratch/state" --listen tcp:127.0.0.1:7777
touch file
refused 'a state folder that cannot be written' 'file' \
    "$fabricd" --sim fabric.net --state-dir "$scratch/file/state" --listen "unix:$scratch/x.sock"
refused 'an unknown option' 'no-such-option' "$fabricd" --no-such-option

# ---- readiness and watchdog
cat >notify.py <<'PY'
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode().replace('\n', ' '), flush=True)
PY
start notify.log "$python" notify.py "$scratch/notify.sock"
await 5 test -S notify.sock
start fabricd.log env NOTIFY_SOCKET="$scratch/notify.sock" WATCHDOG_USEC=400000 "${daemon[@]}"
manager=$started
check 'service: says when it is ready' await 20 grep -q READY=1 notify.log
check 'service: the socket is there by then' test -S fabricd.sock
check 'service: makes the folder of a socket' test -S made/fabricd.sock
same 'service: only owner and group may use the socket' 660 "$(stat -c %a fabricd.sock)"
check 'service: feeds the watchdog' await 5 grep -q WATCHDOG=1 notify.log
check 'service: brings the fabric up' await 20 settled 0
refused 'a second manager on the same state folder' 'state' \
    "$fabricd" --sim fabric.net --state-dir "$scratch/state" --listen "unix:$scratch/other.sock"
same 'which leaves the first as it was' idle "$(status state)"
check 'service: ends on SIGTERM with 0' stop "$manager"
check 'service: says that it is ending' grep -q STOPPING=1 notify.log
check 'service: takes its socket with it' test ! -e fabricd.sock

# ---- two islands in one file
{
    cat fabric.net
    "$fabsim" generate leaf-spine --leaves 1 --spines 1 --hosts 2 | sed 's/0002c9/0003c9/g; s/\([x(]\)2c9/\13c9/g'
} >islands.net
start islands.log "$fabricd" --sim islands.net --state-dir "$scratch/islands" --listen "unix:$scratch/i.sock"
check 'islands: says what is not managed' await 10 grep -q '4 of the [0-9]* nodes are not managed' islands.log
stop "$started"

# ---- the database
cp -r state kept
database=state/fabricd.db
sqlite3 "$database" 'PRAGMA user_version = 9999' >/dev/null
refused 'state: a database of a later version is refused' 'newer|later|version' "${daemon[@]}"
same 'state: and left as it was' 9999 "$(sqlite3 "$database" 'PRAGMA user_version')"
rm -rf state && cp -r kept state
find state -name '*.db-*' -delete
dd if=/dev/urandom of="$database" bs=1 seek=0 count=4096 conv=notrunc status=none
before=$(cksum <"$database")
refused 'state: a corrupt database is refused' 'corrupt|not a database|damaged' "${daemon[@]}"
same 'state: and left as it was, too' "$before" "$(cksum <"$database")"
