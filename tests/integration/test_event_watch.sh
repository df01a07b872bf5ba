#!/bin/bash
# test_event_watch.sh: `fabricctl event watch --reconnect` while the master changes (ibsim, two managers). The address
# is a name for the master of the time, as a virtual IP address is. Each manager has its own journal: no event that a
# journal has is lost or shown twice, and the watcher is told that another manager answers.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need ibsim
[ -n "$umad2sim" ] || need libumad2sim.so

"$fabsim" generate leaf-spine --leaves 4 --spines 3 --hosts 4 >fabric.net
mapfile -t hosts < <(sed -n 's/^Ca[^"]*"\([^"]*\)".*/\1/p' fabric.net)
leaf() {
    sed -n 's/^Switch.*"S-\([0-9a-f]*\)".*'"$1"'.*/\1/p' fabric.net | head -1
}

# manager NAME HOST PRIORITY
manager() {
    printf 'subnet: {sm_priority: %s, standby_poll_ms: 100}\n' "$3" >"$1.yaml"
    start "$1.log" env SIM_HOST="$2" LD_PRELOAD="$umad2sim" "$fabricd" --umad --state-dir "$scratch/$1" \
        --listen "unix:$scratch/$1.sock" -f "$scratch/$1.yaml"
}
ctl_of() {
    timeout 60 "$fabricctl" -s "unix:$scratch/$1.sock" "${@:2}"
}
role_is() {
    [ "$(ctl_of "$1" ha status -o json 2>/dev/null | field role 2>/dev/null)" = "$2" ]
}
idle() {
    role_is "$1" master && [ "$(ctl_of "$1" status -o json | field state)" = idle ]
}
# shows TEXT: the watcher has shown a line with this text.
shows() {
    grep -q -- "$1" watched
}

sim_start fabric.net || not_ok 'the simulator starts'
manager a "${hosts[0]}" 5
a=$started
check 'the first manager is master' await 30 idle a
manager b "${hosts[9]}" 3
b=$started
check 'the second one is standby' await 20 role_is b standby

ln -s a.sock master.sock
start watched "$fabricctl" -s "unix:$scratch/master.sock" event watch --reconnect -o json
watcher=$started
sleep 1
sim_do 'Unlink "S-'"$(leaf leaf-003)"'"[5]'
check 'an event of the first manager is shown' await 10 shows 'link-down.*leaf-003/5'

# ---- the master dies, and the name leads to the other manager
stop "$a" KILL
ln -sfn b.sock master.sock
check 'the standby manager takes over' await 10 idle b
check 'the watcher is told that another manager answers' await 10 shows other_journal
check 'it sees that it became master, which happened before it was connected' await 10 shows '"sm-master"'
sim_do 'Unlink "S-'"$(leaf leaf-002)"'"[6]'
check 'it sees later events' await 10 shows 'link-down.*leaf-002/6'

# ---- the first manager returns, and becomes master again
manager a "${hosts[0]}" 5
a=$started
check 'the first manager is back' await 20 role_is a standby
ctl_of b ha handover >/dev/null
check 'and master' await 20 idle a
stop "$b" KILL
ln -sfn a.sock master.sock
sim_do 'Unlink "S-'"$(leaf leaf-001)"'"[7]'
check 'events of its journal follow' await 15 shows 'link-down.*leaf-001/7'
kill "$watcher"

ctl_of a event list -n 1000 -o json >a.events
check 'no event is shown twice, and none of a journal is missing' "$python" - <<'EOF'
import json
places, journals = {}, []
for line in open("watched"):
    row = json.loads(line)
    if "sequence" not in row or not row["sequence"]:
        continue
    place = places.setdefault(row["journal"], [])
    place.append(row["sequence"])
    if row["journal"] not in journals:
        journals.append(row["journal"])
assert len(journals) == 2, journals
for journal, seen in places.items():
    assert seen == list(range(seen[0], seen[-1] + 1)), (journal, seen)
stored = [e["sequence"] for e in json.load(open("a.events"))["events"]]
first = places[journals[0]]
assert [s for s in stored if first[0] <= s <= first[-1]] == first, (stored, first)
print("#", {j: len(s) for j, s in places.items()})
EOF

# ---- by time
check 'with --since, earlier events are shown first' timeout 20 "$fabricctl" -s "unix:$scratch/a.sock" event watch \
    --since 1h -n 5
stop "$a"
sim_stop
