#!/bin/bash
# test_replay.sh: runs of fabricd are recorded, on a simulated fabric and on ibsim, and repeated from the recording
# alone. Tests a restart (with leases and disabled ports), a pulled cable, and a recording that ends at kill -9.
. "$(dirname "$0")/lib.sh"

"$fabsim" generate leaf-spine --leaves 6 --spines 3 --hosts 4 >net

# told LOG: prints the events, without durations and generations.
told() {
    grep -oE '(link-up|link-down|node-removed|node-added|tables-published): .*' "$1" | sed 's/generation [0-9]*//'
}

# recorded FUNCTION RECORDING: records a run, at most three times until its replay has no difference. On a busy machine,
# timers of the recorded manager (retries, sweeps) fire between other MADs than in the replay.
recorded() {
    for _ in 1 2 3; do
        "$1"
        timeout 60 "$fabricd" --replay "$2" >/dev/null 2>&1 && return
        echo "# $2: recorded again"
    done
}

# replays NAME RECORDING LOG: the replay succeeds, and logs the same as the run.
replays() {
    check "$1: replays without a difference" timeout 60 "$fabricd" --replay "$2"
    timeout 60 "$fabricd" --replay "$2" >"$2.out" 2>"$2.log"
    like "$1: says so" "$(cat "$2.out")" '^differences: 0 \(0 sent now only, 0 sent in the recording only\)$'
    same "$1: tells the same events" "$(told "$3")" "$(told "$2.log")"
}

manager_start '' --sim "$scratch/net" --record "$scratch/first"
check 'comes up' await 20 settled 0
ctl port disable spine-003/2 >/dev/null
check 'a port is disabled' await 20 settled 1
sleep 1.2
stop "$manager"
cp fabricd.log first.log

printf 'subnet:\n  lmc: 1\n' >settings.yaml
rm -rf saved && cp -r state saved
record_second() {
    rm -rf state second && cp -r saved state
    manager_start '' --sim "$scratch/net" --record "$scratch/second" -f "$scratch/settings.yaml"
    check 'comes up again' await 20 settled 0
    generation=$(status generation)
    ctl sim unlink leaf-001/6 >/dev/null
    check 'a pulled cable is noticed' await 20 settled "$generation"
    sleep 1.2
    stop "$manager"
    cp fabricd.log second.log
}
recorded record_second second
like 'the run had a link down' "$(told second.log)" link-down
replays 'after a restart' second second.log

"$fabsim" mads second >second.txt
same 'fabsim mads shows every MAD that came in' "$(sed -n 's/.* and \([0-9]*\) in the recording$/\1/p' second.out)" \
    "$(grep -c '^[0-9.]* < ' second.txt)"
like 'and leases' "$(cat second.txt)" '# lease of LID 1,'
like 'and the port that was disabled' "$(cat second.txt)" '# disabled: port 2 of node'
like 'and how it ended' "$(tail -1 second.txt)" 'the manager was stopped'

# A request of an operator is not in the recording. The replay must notice this.
timeout 60 "$fabricd" --replay first >first.out 2>first.err
same 'a run with a request of an operator differs' 1 $?
like 'and the difference is named' "$(cat first.err)" 'sent in the recording, but not now: SubnSet PortInfo'

record_killed() {
    rm -f killed
    manager_start '' --sim "$scratch/net" --record "$scratch/killed"
    check 'comes up once more' await 20 settled 0
    sleep 0.3
    stop "$manager" KILL
    cp fabricd.log killed.log
}
recorded record_killed killed
replays 'after kill -9' killed killed.log
like 'the cut is told' "$("$fabsim" mads killed 2>&1 >/dev/null)" 'truncated'

timeout 10 "$fabricd" --replay net >/dev/null 2>none.err
same 'another file is refused' 1 $?
like 'with a reason' "$(cat none.err)" 'not a recording'

if [ -n "$umad2sim" ] && command -v ibsim >/dev/null; then
    record_umad() {
        rm -rf state umad
        sim_start "$scratch/net"
        manager_start host-0001 --record "$scratch/umad"
        check 'on ibsim: comes up' await 60 settled 0
        generation=$(status generation)
        sim_do 'Unlink "S-0002c90100000001"[5]' # leaf-001 to spine-001
        check 'on ibsim: a pulled cable is noticed' await 30 settled "$generation"
        sleep 1.2
        stop "$manager"
        cp fabricd.log umad.log
        sim_stop
    }
    recorded record_umad umad
    replays 'on ibsim' umad umad.log
fi
