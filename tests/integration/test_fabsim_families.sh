#!/bin/bash
# test_fabsim_families.sh: OpenSM brings up a fabric of each family of fabsim, of about 500 hosts, on ibsim and
# on `fabsim serve`. The tables must be equal, and the logs must have the same errors.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need opensm ibsim dump_fts
[ -n "$umad2sim" ] || need libumad2sim.so

up() {
    grep -q 'SUBNET UP' "$1.log" && ! tail -c 200 "$1.log" | grep -q 'HEAVY SWEEP'
}

errors() {
    grep -o 'ERR [0-9A-F]*' "$1.log" | sort -u
}

# opensm_on SIMULATOR FAMILY: starts and stops OpenSM. Its tables are in SIMULATOR.fts, its log in SIMULATOR.log.
opensm_on() {
    local opensm
    simulator=$1
    rm -rf "$1.log" "$1.fts" cache
    mkdir cache
    if ! sim_start fabric.net; then
        not_ok "$2: $1 starts" "$(tail -3 sim.err sim.out)"
        return 1
    fi
    printf '%s\n' 'max_wire_smps 64' 'sweep_interval 0' 'force_log_flush TRUE' 'log_flags 0x03' \
        "log_file $scratch/$1.log" "dump_files_dir $scratch/cache" 'routing_engine minhop' >conf
    start opensm.out env OSM_CACHE_DIR="$scratch/cache" OSM_TMP_DIR="$scratch/cache" SIM_HOST="$host" \
        LD_PRELOAD="$umad2sim" opensm -F conf
    opensm=$started
    check "$2: OpenSM reaches SUBNET UP on $1" await 60 up "$1"
    sleep 1 # traps of the bring-up are repeated after this time
    at "$host" dump_fts -n >"$1.fts" 2>dump.err
    check "$2: OpenSM ends on $1" stop "$opensm"
    sim_stop
}

# family ARGUMENTS...: compares both simulators.
family() {
    local name="$*"
    "$fabsim" generate "$@" -o fabric.net
    host=$(sed -n 's/^\(Ca\|Hca\)[^"]*"\([^"]*\)".*/\2/p' fabric.net | head -1)
    opensm_on ibsim "$name" && opensm_on fabsim "$name" || return
    like "$name: there are tables" "$(cat ibsim.fts)" 'valid lids dumped'
    check "$name: the same tables" cmp ibsim.fts fabsim.fts
    same "$name: no other errors" '' "$(comm -13 <(errors ibsim) <(errors fabsim))"
}

family leaf-spine --leaves 28 --spines 18 --hosts 18
family fat-tree --radix 16 --levels 3 --taper 2
family xgft --m 8,8,8 --w 1,4,4
family pgft --m 8,8,8 --w 1,4,4 --p 1,1,2
family rail --servers 64 --group-size 32 --spines 8 --aggregation-nodes
family dragonfly --group-size 8 --global 2 --hosts 4
family dragonfly-plus --leaves 8 --spines 8 --global 1 --hosts 7
family torus --size 5,5,5 --hosts 4
family mesh --size 8,8 --hosts 8
family hypercube --dimensions 6 --hosts 8
family hyperx --size 8,8 --hosts 8
family random --switches 64 --degree 6 --hosts 8 --seed 3
