#!/bin/bash
# replication.sh [FAMILY OPTION...]: how long three etcd servers and fabricd take to share the state of a
# simulated fabric (the arguments are those of fabsim generate), to confirm decisions, and to get over the loss
# of one and of two servers. doc/ha.md has the figures. BUILD_DIR names the build, as in tests/integration.
. "$(dirname "$0")/../integration/lib.sh"
need etcd etcdctl openssl
. "$here/etcd.sh"
tap_n=-1 # no test
[ $# -gt 0 ] || set -- leaf-spine --leaves 4 --spines 3 --hosts 4

ctl() {
    timeout 60 "$fabricctl" -s "unix:$scratch/m.sock" "$@"
}
# field_of KEY: of the replication in `ha status`
field_of() {
    ctl ha status -o json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["replication"][sys.argv[1]])' "$1"
}
now_ms() {
    date +%s%3N
}
memory() {
    local pid
    for pid in "$@"; do awk '/VmRSS/ { printf "%d ", $2 / 1024 }' "/proc/$pid/status"; done
}
manager() {
    start m.log "$fabricd" --sim f.net --state-dir "$scratch/m" --listen "unix:$scratch/m.sock" -f "$scratch/m.yaml"
    manager=$started
    began=$(now_ms)
}
# decide WHAT: 30 decisions; prints how long a majority took to confirm them.
decide() {
    local i verb
    for i in $(seq 15); do
        for verb in isolate release; do
            ctl link $verb "$link" >/dev/null 2>&1
            field_of commit_time_ms
        done
    done | sort -n | awk -v what="$1" '{ v[NR] = $1 }
        END { print what ": commit, median, 90 %, longest:", v[int(NR / 2)], v[int(NR * .9)], v[NR], "ms" }'
}

etcd_prepare 3
for i in 1 2 3; do etcd_start $i; done
await 20 etcd_answers || { echo 'etcd does not answer' >&2; exit 1; }
"$fabsim" generate "$@" >f.net || exit 2
printf '%s' "$replication" >m.yaml
manager
await 120 grep -q sweep-done m.log
swept=$(now_ms)
until [ "$(field_of pending)" = 0 ]; do sleep 0.02; done
echo "$(field_of confirmed) rows sent $(($(now_ms) - swept)) ms after the first sweep"
echo "memory of the etcd servers: $(memory "${etcd_pid[@]}")MiB"
link=$(ctl link list -o json | "$python" -c 'import json, sys
print(next("%s/%d" % (l["a_node"], l["a_port"]) for l in json.load(sys.stdin)["links"]
           if not any(l[end].startswith("host") for end in ("a_node", "b_node"))))')
decide 'three servers'

leader=$(etcd_ctl endpoint status -w json | "$python" -c 'import json, sys
for i, e in enumerate(json.load(sys.stdin)):
    if e["Status"]["leader"] == e["Status"]["header"]["member_id"]: print(i + 1)')
stop "${etcd_pid[$leader]}" KILL
since=$(now_ms)
until ctl link isolate "$link" >/dev/null 2>&1 || ctl link release "$link" >/dev/null 2>&1; do :; done
echo "leader of etcd killed: next decision confirmed after $(($(now_ms) - since)) ms"
decide 'two of three servers'

other=$((leader % 3 + 1))
stop "${etcd_pid[$other]}" KILL
until [ "$(field_of majority)" = False ]; do sleep 0.02; done
since=$(now_ms)
ctl link isolate "$link"
echo "one of three servers: refused after $(($(now_ms) - since)) ms"
etcd_start $other
since=$(now_ms)
until [ "$(field_of majority)" = True ]; do sleep 0.02; done
echo "majority again $(($(now_ms) - since)) ms after the start of a server"

stop "$manager"
rm -rf m
manager
await 60 grep -q 'loaded the decisions' m.log
echo "a manager with an empty database has all rows $(($(now_ms) - began)) ms after its start"
stop "$manager"
