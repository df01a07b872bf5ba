#!/bin/bash
# test_late_write.sh: an etcd server accepts a transaction of a manager, but what it sends to the leader of etcd is
# delayed. The manager waits in vain, and sends by another server. The late transaction must not take effect after a
# later one: the row would have its former value again, although the later decision was confirmed.
. "$(dirname "$0")/lib.sh"
need etcd etcdctl openssl
. "$here/etcd.sh"
# The other servers reach the server N by the relay.
etcd_peer_port() { echo $((etcd_base + 20 + $1)); }

"$fabsim" generate leaf-spine --leaves 4 --spines 3 --hosts 4 >fabric.net
etcd_prepare 3
relay_start $(for i in 1 2 3; do echo "$(etcd_peer_port $i):$(($(etcd_port $i) + 1)):0:$i"; done)
check 'the relay starts' await 10 grep -q ready relay.out
for i in 1 2 3; do
    etcd_start $i
    echo "process $i ${etcd_pid[$i]}" >&8
done
check 'three etcd servers start' await 20 etcd_answers
leader=$(etcd_ctl endpoint status -w json | "$python" -c 'import json, sys
for i, e in enumerate(json.load(sys.stdin)):
    if e["Status"]["leader"] == e["Status"]["header"]["member_id"]: print(i + 1)')
first=$((leader % 3 + 1)) second=$(((leader + 1) % 3 + 1))
echo "# the leader is $leader; the manager sends to $first, and then to $second"
sed "s/endpoints: .*/endpoints: ['tls:127.0.0.1:$(etcd_port $first)', 'tls:127.0.0.1:$(etcd_port $second)']/" \
    <<<"$replication" >m.yaml
start m.log "$fabricd" --sim fabric.net --state-dir "$scratch/m" --listen "unix:$scratch/m.sock" -f "$scratch/m.yaml"
manager=$started
ctl() {
    timeout 60 "$fabricctl" -s "unix:$scratch/m.sock" "$@"
}
# leads_by N: the manager leads, has sent all, and uses the server N.
leads_by() {
    ctl ha status -o json | "$python" -c 'import json, sys
r = json.load(sys.stdin)["replication"]
sys.exit(not (r["leads"] and r["level"] and r["pending"] == 0 and r["endpoint"].endswith(sys.argv[1])))' ":$(etcd_port "$1")"
}
check 'the manager leads, and sends to the first server' await 30 leads_by $first
check 'a link is isolated' ctl link isolate leaf-003/7

# etcd ends a connection on which it received nothing for 5 s, and what was sent on it is then lost.
began=$SECONDS
echo "cut $first $leader" >&8
echo "# $(ctl link isolate leaf-001/5 2>&1)"
check 'when the first server does not answer, it sends to the second' await 10 leads_by $second
check 'the link is released' ctl link release leaf-001/5
echo heal >&8
echo "# the cut lasted $((SECONDS - began)) s"
sleep 2
same 'the late transaction has no effect' 1 "$(etcd_rows isolated_link)"
check 'the manager still leads' leads_by $second
check 'it isolates another link' ctl link isolate leaf-002/6
same 'in etcd, too' 2 "$(etcd_rows isolated_link)"
stop "$manager"

# ---- a take-over while the server of the watch is cut off
if [ -n "$umad2sim" ] && command -v ibsim >/dev/null; then
    mapfile -t hosts < <(sed -n 's/^Ca[^"]*"\([^"]*\)".*/\1/p' fabric.net)
    sim_start fabric.net || not_ok 'the simulator starts'
    shared=$replication
    replication=$(sed "s/endpoints: .*/endpoints: ['tls:127.0.0.1:$(etcd_port $second)', 'tls:127.0.0.1:$(etcd_port "$leader")']/" <<<"$shared")
    named a "${hosts[0]}" 5
    a=$started
    check 'a manager is master' await 30 idle a
    replication=$(sed "s/endpoints: .*/endpoints: ['tls:127.0.0.1:$(etcd_port $first)', 'tls:127.0.0.1:$(etcd_port $second)']/" <<<"$shared")
    named b "${hosts[9]}" 3
    check 'another one is standby' await 20 role_is b standby
    known() { [ "$(rows b isolated_link)" = "$(rows a isolated_link)" ]; }
    check 'and knows all decisions' await 10 known
    for to in $second $leader; do echo "cut $first $to" >&8; echo "cut $to $first" >&8; done
    check 'a link is isolated, while the server of the standby manager is cut off' ctl_of a link isolate leaf-004/6
    stop "$a" KILL
    check 'the standby manager is master' await 5 role_is b master
    check 'it learns of the link from another server' await 4 known
    isolates() { ctl_of b link unhealthy | grep -q leaf-004/6; }
    check 'and isolates it' await 2 isolates
fi
exec 8>&-
