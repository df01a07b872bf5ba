#!/bin/bash
# test_counters_disk.sh: the history of counters (counters.db) on a disk that becomes full or cannot be written, a history
# that is damaged, and kill -9 while it is written. The manager must go on, say it once, and write the history again.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need sqlite3
trap 'umount -l "$scratch/disk/state/counters.db" "$scratch/disk" 2>/dev/null; finish' EXIT

mkdir disk
if ! mount -t tmpfs -o size=8m,mode=0700 tmpfs disk 2>/dev/null; then
    echo '1..0 # SKIP a tmpfs cannot be mounted'
    tap_n=-1
    exit 0
fi
mkdir -m 0700 disk/state
ln -s disk/state state
db=$scratch/disk/state/counters.db
"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 6 >net.net
cat >f.yaml <<'END'
counters: {interval: 1}
END

up() {
    manager_start '' --sim net.net -f f.yaml
    await 20 idle
}

idle() {
    [ "$(status state)" = idle ]
}

# samples: prints the number of samples of a port in the last minutes.
samples() {
    ctl port history leaf-001/1 --since 30m -n 100000 -o json |
        "$python" -c 'import json, sys; print(len(json.load(sys.stdin)["samples"]))' 2>/dev/null || echo 0
}

more_than() {
    [ "$(samples)" -gt "$1" ]
}

told() {
    grep -q "$1" fabricd.log
}

times_told() {
    grep -c "$1" fabricd.log
}

sound() {
    [ "$(sqlite3 "file:$db?mode=ro" 'PRAGMA integrity_check')" = ok ]
}

# ---- a full disk

check 'the fabric comes up' up
check 'the history has samples' await 20 more_than 3
head -c 16M /dev/zero >disk/fill 2>/dev/null
check 'an event tells that the disk is full' await 60 told 'counters-failing.*full'
check 'the rest of the manager works' ctl port top
sleep 3
same 'the event is emitted once' 1 "$(times_told counters-failing)"
before=$(samples)
rm disk/fill
check 'with space, the history is written again' await 10 told counters-recovered
check 'and has new samples' await 10 more_than "$before"
check 'and is not damaged' sound

# ---- a kill in the middle of writes

for _ in 1 2 3; do
    before=$(samples)
    stop "$manager" KILL
    check 'after kill -9 the manager starts' up
    check 'with the samples from before' await 10 more_than "$((before - 1))"
done
check 'the history is not damaged' sound
same 'and no history was renamed' 0 "$(find disk/state/ -name 'counters.db.damaged*' | wc -l)"

# ---- a history that is damaged

stop "$manager"
dd if=/dev/urandom of="$db" bs=4096 count=40 conv=notrunc 2>/dev/null
check 'with a damaged history the manager starts' up
check 'an event tells the new name' await 10 told 'counters-replaced.*counters.db.damaged-'
check 'the new history has samples' await 20 more_than 3
check 'and is not damaged' sound

# ---- a history that is read-only

stop "$manager"
if mount --bind "$db" "$db" && mount -o remount,bind,ro "$db"; then
    check 'with a read-only history the manager starts' up
    check 'an event tells it' await 20 told 'counters-failing.*read'
    sleep 3
    same 'the event is emitted once' 1 "$(times_told counters-failing)"
    umount "$db"
    check 'when the history is writable, it is written again' await 10 told counters-recovered
    same 'the history was not renamed' 0 "$(times_told counters-replaced)"
fi
