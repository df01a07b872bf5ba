#!/bin/bash
# test_cuts.sh: three managers, three etcd servers, and a network between each two of them that is cut, slow (200 ms)
# or cut in one direction, while operators decide at all managers and masters die or hand over (cuts.py). Every
# connection between the nodes passes through a relay (relay.py), because network namespaces need privileges.
#
# TEST_SEED chooses the order of the 12 cases; CUTS=n runs only n of them. The default takes 70 s.
. "$(dirname "$0")/lib.sh"
need ibsim etcd etcdctl openssl gcc
[ -n "$umad2sim" ] || need libumad2sim.so
. "$here/etcd.sh"

# The other servers reach the server N by the relay.
etcd_peer_port() { echo $((etcd_base + 20 + $1)); }
# client_port FROM TO: the manager FROM reaches the server TO by this port of the relay.
client_port() { echo $((etcd_base + 30 + $1 * 4 + $2)); }

seed=${TEST_SEED:-$RANDOM}
echo "# TEST_SEED=$seed"
"$fabsim" generate leaf-spine --leaves 4 --spines 4 --hosts 4 >fabric.net
mapfile -t hosts < <(sed -n 's/^Ca[^"]*"\([^"]*\)".*/\1/p' fabric.net)
gcc -O2 -shared -fPIC -o umadcount.so "$top/tests/bench/umadcount.c" -ldl || need libibumad-dev

etcd_prepare 3
links=()
for to in 1 2 3; do
    links+=("$(etcd_peer_port $to):$(($(etcd_port $to) + 1)):0:$to")
    for from in 1 2 3; do links+=("$(client_port $from $to):$(etcd_port $to):$from:$to"); done
done
relay_start "${links[@]}"
check 'the relay starts' await 10 grep -q ready relay.out
for i in 1 2 3; do
    etcd_start $i
    echo "process $i ${etcd_pid[$i]}" >&8
done
check 'three etcd servers start' await 20 etcd_answers
sim_start fabric.net || not_ok 'the simulator starts'
for i in 1 2 3; do
    urls=
    for to in $i $((i % 3 + 1)) $(((i + 1) % 3 + 1)); do urls+="${urls:+, }'tls:127.0.0.1:$(client_port $i $to)'"; done
    # shellcheck disable=SC2001 # a pattern of sed is shorter
    { printf 'subnet:\n    sm_priority: %s\n    standby_poll_ms: 100\n' $((6 - i))
      sed "s/endpoints: .*/endpoints: [$urls]/" <<<"$replication"; } >$i.yaml
done

began=$SECONDS
export UMAD2SIM=$umad2sim
"$python" "$here/cuts.py" --build "$build" --relay relay.ctl --counter "$scratch/umadcount.so" --cases "${CUTS:-12}" \
    --seed "$seed" --seconds "${CUT_SECONDS:-4}" "${hosts[0]}" "${hosts[5]}" "${hosts[10]}" >cuts.out 2>&1
rc=$?
cat cuts.out
verdict 'all that a majority confirmed is consistent, and there is one writer of tables' cuts.out $rc
[ $rc -eq 0 ] || [ -z "${KEEP:-}" ] || cp -r "$scratch" "$KEEP"
echo "# $((SECONDS - began)) s; errors of the relay: $(wc -l <relay.err)"
exec 8>&-
sim_stop
