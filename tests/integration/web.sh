# web.sh: sourced after lib.sh by the tests of fabricd-web. Builds the Python client, makes certificates, and starts
# managers and gateways.

# shellcheck shell=bash
site=$scratch/site

# need_python MODULE...: skips the whole test if Debian's Python lacks one of these modules.
need_python() {
    local module
    for module in "$@"; do
        if ! "$python" -c "import $module" 2>/dev/null; then
            echo "1..0 # SKIP Debian's Python has no module $module"
            tap_n=-1
            exit 0
        fi
    done
}

# web_client: builds the client of clients/python, which the gateway calls the manager with, into $site.
web_client() {
    mkdir -p tree/clients && cp -r "$top/proto" tree/ && cp -r "$top/clients/python" tree/clients/ && chmod -R u+w tree &&
        (cd tree/clients/python && "$python" -B setup.py -q build --build-base "$scratch/client" --build-lib "$site")
}

web_certificates() {
    "$fabricctl" cert init --dir ca && "$fabricctl" cert issue manager localhost --dir ca &&
        "$fabricctl" cert issue web localhost --dir ca
}

free_port() {
    "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# web_manager NET: starts a manager of a simulated fabric with a Unix socket and a TLS address. Its port is in
# $manager_port. Without simulated traffic the loads would be empty, so it waits for none.
web_manager() {
    [ -n "${manager_port:-}" ] || manager_port=$(free_port)
    {
        echo "listen: [\"unix:$scratch/fabricd.sock\", \"tls:localhost:$manager_port\"]"
        echo "tls: {cert: $scratch/ca/manager.pem, key: $scratch/ca/manager.key, ca: $scratch/ca/ca.pem}"
        cat extra.yaml 2>/dev/null
    } >web.yaml
    mkdir -p state
    start fabricd.log "$fabricd" --state-dir "$scratch/state" -f "$scratch/web.yaml" --sim "$1"
    manager=$started
    await 60 settled 0
}

# gateway LOG OPTION...: starts fabricd-web. Its process id is in $web, and its address in $url.
gateway() {
    local log=$1
    shift
    start "$log" env PYTHONPATH="$top/web:$site" PYTHONDONTWRITEBYTECODE=1 "$python" -m fabricd_web "$@"
    web=$started
    await 20 grep -q 'serving http' "$log" || return 1
    url=$(sed -n 's|.*serving \(http.*\)/$|\1|p' "$log")
}

# web_start: the usual gateway, a viewer by its certificate.
web_start() {
    gateway web.log -s "tls:localhost:$manager_port" --tls-ca ca/ca.pem --tls-cert ca/web.pem --tls-key ca/web.key \
        --listen "127.0.0.1:${web_port:-0}"
}

get() {
    curl -sS --max-time 30 "$url$1" "${@:2}"
}
# code PATH OPTION...: the HTTP status.
code() {
    curl -s --max-time 30 -o /dev/null -w '%{http_code}' "$url$1" "${@:2}"
}
