#!/bin/bash
# test_kill_points.sh: three managers that share their state by etcd; the one that works kills itself before a MAD
# chosen at random (kill_points.py). Then the same with one manager alone. KILLS=n: the number of kills of each of the
# two parts (default 14, two of each kind); MANAGERS=1 or 3: only one part; ONLY: one kind.
. "$(dirname "$0")/lib.sh"
need etcd etcdctl openssl gcc dump_fts
[ -n "$umad2sim" ] || need libumad2sim.so
. "$here/etcd.sh"
seed=${TEST_SEED:-$RANDOM}
echo "# TEST_SEED=$seed"
"$fabsim" generate leaf-spine --leaves 4 --spines 3 --hosts 4 >fabric.net
gcc -O2 -shared -fPIC -o umadcount.so "$top/tests/bench/umadcount.c" -ldl || need libibumad-dev
etcd_prepare 1
etcd_start 1
check 'etcd starts' await 20 etcd_answers
# ibsim notices only at the next request that a client was killed. It then clears IsSM of the port, also if the
# restarted manager has attached itself meanwhile, and the other managers do not see it.
simulator=fabsim
export UMAD2SIM=$umad2sim
settings=$replication

# part MANAGERS: makes the kills in a folder of their own.
part() {
    local rc began=$SECONDS
    mkdir "part$1" && cd "part$1" || return
    cp ../fabric.net ../umadcount.so .
    printf '%s' "$settings" >shared.yaml
    sim_start fabric.net || not_ok 'the simulator starts'
    "$python" "$here/kill_points.py" --build "$build" --kills "${KILLS:-14}" --seed "$seed" --managers "$1" \
        --only "${ONLY:-}" 2>&1 | tee kills.out
    rc=${PIPESTATUS[0]}
    verdict "after each kill, the fabric is as in a run without kills: managers $1" kills.out "$rc"
    [ $rc -eq 0 ] || [ -z "${KEEP:-}" ] || cp -r "$scratch" "$KEEP"
    echo "# $((SECONDS - began)) s"
    sim_stop
    cd ..
}

[ "${MANAGERS:-3}" != 3 ] || part 3
settings=
[ "${MANAGERS:-1}" != 1 ] || part 1
