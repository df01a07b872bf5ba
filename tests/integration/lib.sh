# lib.sh: sourced by the integration tests (bash). Has functions for TAP, a folder for the files of the test,
# the programs that were built, and ibsim with programs attached to it. At the end, every program that was
# started is stopped by its process id.

# shellcheck shell=bash
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD_DIR:-$top/build}
fabricd=$build/fabricd/fabricd
fabricctl=$build/cli/fabricctl
fabsim=$build/cli/fabsim
python=/usr/bin/python3 # Debian's Python, for which Debian's grpcio is installed
[ -x "$python" ] || python=python3

tap_n=0
tap_failed=0
pids=()
scratch=$(mktemp -d)
umask 027 # fabricd refuses settings with keys that every user can read
trap finish EXIT
trap 'exit 1' INT TERM
cd "$scratch" || exit 1 # umad2sim leaves its sys-<pid> folders in the current one

# ok NAME / not_ok NAME [WHY...]: one result. The reason, and the seed of a random test, come after the result, because
# scripts/check shows only the lines after it.
ok() {
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1"
}
not_ok() {
    tap_n=$((tap_n + 1))
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_n - $1"
    shift
    [ -z "${seed:-}" ] || echo "# TEST_SEED=$seed"
    [ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/# /'
}

# check NAME COMMAND...: passes if the command succeeds; if it fails, its output is shown. (Does not use a
# subshell, which could not wait for background jobs of this shell.)
check() {
    local name=$1
    shift
    if "$@" >"$scratch/check.out" 2>&1; then
        ok "$name"
    else
        not_ok "$name" "$* (exit code $?)" "$(tail -30 "$scratch/check.out")"
        return 1
    fi
}

# same NAME EXPECTED ACTUAL: passes if both texts are equal.
same() {
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        not_ok "$1" "expected: $2" "found:    $3"
    fi
}

# verdict NAME FILE RC: passes if a program that judges ended with the exit code RC 0. If not, the end of its output, which
# is in FILE, is shown: what it found.
verdict() {
    if [ "$3" -eq 0 ]; then
        ok "$1"
    else
        not_ok "$1" "exit code $3" "$(tail -n 9 "$2" | cut -c1-1000 | sed 's/^# *//')"
    fi
}

# like NAME TEXT REGEX: passes if a line of the text matches the extended regular expression.
like() {
    if grep -Eq -- "$3" <<<"$2"; then
        ok "$1"
    else
        not_ok "$1" "expected to match: $3" "found: $2"
    fi
}

# need PROGRAM...: skips the whole test if one of these programs is not installed.
need() {
    local program
    for program in "$@"; do
        if ! command -v "$program" >/dev/null 2>&1; then
            echo "1..0 # SKIP $program is not installed"
            tap_n=-1
            exit 0
        fi
    done
}

# await SECONDS COMMAND...: repeats the command until it succeeds; fails after SECONDS.
await() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

# start LOG COMMAND...: starts the command in the background; its process id is in $started.
start() {
    local log=$1
    shift
    rm -f "$log" # a log of an earlier run must not be read
    "$@" >"$log" 2>&1 </dev/null &
    started=$!
    pids+=("$started")
}

gone() {
    ! kill -0 "$1"
}

# stop PID [SIGNAL]: ends the process and waits until it is gone. Returns its exit code.
stop() {
    {
        kill "-${2:-TERM}" "$1"
        await 20 gone "$1" || kill -KILL "$1"
        wait "$1"
    } 2>/dev/null # the shell prints messages about killed jobs
}

finish() {
    local pid
    [ "$BASHPID" = $$ ] || return # a child that was killed before it executed its program
    for pid in ${pids[@]+"${pids[@]}"}; do
        { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null
    done
    cd / && rm -rf "$scratch"
    [ $tap_n -ge 0 ] || exit 0
    echo "1..$tap_n"
    [ $tap_failed -eq 0 ] || exit 1
}

# ---- the simulator: ibsim, or with SIMULATOR=fabsim `fabsim serve`, with the same console

simulator=${SIMULATOR:-ibsim}
umad2sim=$(ls /usr/lib/*/umad2sim/libumad2sim.so 2>/dev/null | head -1)

# sim_start TOPOLOGY: starts the simulator of this test. Its console is a FIFO; its answers are in sim.out.
sim_start() {
    local ports nodes
    sim_ready='Network simulator ready'
    export IBSIM_SOCKNAME="fabricd-test-$$"
    nodes=$(grep -cE '^(Switch|Ca|Hca|Rt)' "$1")
    ports=$(awk '/^(Switch|Ca|Hca|Rt)/ { n += $2 + 1 } END { print n + 64 }' "$1")
    rm -f sim.ctl
    mkfifo sim.ctl
    exec 9<>sim.ctl
    if [ "$simulator" = fabsim ]; then
        sim_ready='^serving'
        "$fabsim" serve --console "$1" <&9 >sim.out 2>sim.err 9>&- &
    else
        ibsim -s -I -N $((nodes + 16)) -S $((nodes + 16)) -P "$ports" -L 49152 -M 1024 "$1" \
            <&9 >sim.out 2>sim.err 9>&- &
    fi
    sim_pid=$!
    pids+=("$sim_pid")
    await 20 grep -q "$sim_ready" sim.out
}

sim_stop() {
    stop "$sim_pid" KILL
    exec 9>&-
}

# sim_do COMMAND...: sends a line to the simulator's console.
sim_do() {
    printf '%s\n' "$*" >sim.ctl
    sleep 0.2
}

# at HOST COMMAND...: runs a libibumad program, attached to the simulator at that node.
at() {
    local host=$1
    shift
    SIM_HOST=$host LD_PRELOAD=$umad2sim timeout -k 5 120 "$@"
}

# ---- the manager

# field NAME: prints a top-level field of the JSON on standard input.
field() {
    "$python" -c 'import json, sys; v = json.load(sys.stdin).get(sys.argv[1]); print(json.dumps(v) if not isinstance(v, str) else v)' "$1"
}

ctl() {
    timeout 60 "$fabricctl" -s "unix:$scratch/fabricd.sock" "$@"
}

# status NAME: prints a field of the status, or nothing if there is no manager.
status() {
    ctl status -o json 2>/dev/null | field "$1" 2>/dev/null
}

# manager_start [HOST] OPTION...: starts fabricd, attached to ibsim at HOST ("" with --sim), with the state
# directory ./state. Its process id is in $manager, its log in fabricd.log.
manager_start() {
    local host=$1
    shift
    mkdir -p state
    if [ -n "$host" ]; then
        start fabricd.log env SIM_HOST="$host" LD_PRELOAD="$umad2sim" "$fabricd" --umad \
            --state-dir "$scratch/state" --listen "unix:$scratch/fabricd.sock" "$@"
    else
        start fabricd.log "$fabricd" --state-dir "$scratch/state" --listen "unix:$scratch/fabricd.sock" "$@"
    fi
    manager=$started
}

# settled GENERATION: a view newer than this generation is published, and the manager is idle.
settled() {
    local now
    now=$(ctl status -o json 2>/dev/null) || return 1
    [ "$(field state <<<"$now")" = idle ] && [ "$(field generation <<<"$now")" -gt "$1" ]
}
