#!/bin/bash
# page.sh: the page of fabricd-web in headless Chromium, at 24, 648 and 11,664 hosts (about two minutes). Counts what
# the map shows, uses it with keyboard and mouse, pulls a cable while it is open, and compares a picture of the map of
# 24 hosts with page-24.png. `scripts/check page` runs it, because Chromium is too large for each check.
#
# UPDATE_GOLDEN=1 in the environment writes page-24.png, PICTURES=FOLDER writes the pictures of the manual (doc/), and
# SIZES='24 648' selects fabrics.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/integration/web.sh
. "$here/web.sh"
need chromium protoc grpc_python_plugin
need_python aiohttp grpc PIL setuptools

# look SIZE: runs page.py, and numbers its results.
look() {
    local line
    while read -r line; do
        case $line in
        'ok - '*) ok "$1 hosts: ${line#ok - }" ;;
        'not ok - '*) not_ok "$1 hosts: ${line#not ok - }" ;;
        *) echo "$line" ;;
        esac
    done < <(env PYTHONDONTWRITEBYTECODE=1 RESTART="$scratch/restart" FABRICCTL="$fabricctl" SOCKET="$scratch/fabricd.sock" \
        "$python" "$here/page.py" "$url" "$1" "${PICTURES_OF_RUN:-$scratch}" 2>&1)
}

# restarter: waits for the file `restart`, and then stops the manager and starts it with a new state.
restarter() {
    while [ ! -e restart ]; do sleep 0.1; done
    kill "$manager"
    while kill -0 "$manager" 2>/dev/null; do sleep 0.1; done
    sleep 12 # the page asks every 10 seconds
    rm -rf state && mkdir state
    exec "$fabricd" --state-dir "$scratch/state" -f "$scratch/web.yaml" --sim fabric.net >restarted.log 2>&1
}

# faults SIZE: what the picture shows.
faults() {
    case $1 in
    24)
        ctl sim unlink leaf-002/8
        ctl sim degrade leaf-004/7 --width 1x
        ctl link isolate leaf-003/8
        ;;
    648)
        ctl sim unlink leaf-005/20
        ctl sim unlink leaf-012/33
        ctl sim degrade leaf-030/25 --width 1x
        ;;
    11664)
        ctl sim unlink spine-200/24
        ctl sim unlink leaf-100/20
        ctl sim unlink leaf-333/5
        ctl sim degrade leaf-500/25 --width 2x
        ;;
    esac
    ctl sweep
}
# seen N: the gateway has read N links that need attention.
seen() {
    get /map/problems | grep -q "\"total\":$1}"
}

check 'the client is built' web_client || exit 1
check 'there are certificates' web_certificates
echo 'counters: {interval: 2}' >extra.yaml
for size in ${SIZES:-24 648 11664}; do
    case $size in
    24) family=(leaf-spine --leaves 4 --spines 2 --hosts 6) problems=3 ;;
    648) family=(fat-tree --radix 36 --levels 2) problems=3 ;;
    11664) family=(fat-tree --radix 36 --levels 3) problems=4 ;;
    esac
    "$fabsim" generate "${family[@]}" -o fabric.net
    rm -rf state
    check "$size hosts: a manager comes up" web_manager fabric.net
    check "$size hosts: a gateway starts" web_start
    check "$size hosts: there are faults" faults "$size"
    check "$size hosts: the gateway sees them" await 60 seen "$problems"
    if [ "$size" = 24 ]; then
        restarter &
        restarted=$! # it becomes the manager
        pids+=("$restarted")
    fi
    look "$size"
    stop "$web"
    [ "$size" != 24 ] || manager=$restarted
    stop "$manager"
    same "$size hosts: no error of the gateway itself is in its log" '' "$(grep -A 15 Traceback web.log)"
done
