# etcd.sh: sourced by tests of managers that share their state, after lib.sh. Starts real etcd servers on loopback, with
# mutual TLS between all programs, and managers. The process ids of the servers are in etcd_pid[1..3]; finish() of
# lib.sh stops them.

# shellcheck shell=bash
# 60 ports for each test, below those that the kernel gives to clients
etcd_base=$((20000 + $$ % 200 * 60))
etcd_port() { echo $((etcd_base + $1 * 2)); }
# The port by which the other servers reach server N.
etcd_peer_port() { echo $((etcd_base + $1 * 2 + 1)); }
etcd_pid=()

# certify NAME: a certificate for 127.0.0.1, for servers and clients, signed by the CA of the test.
certify() {
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
        -keyout "$1.key" -out "$1.csr" 2>/dev/null
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out "$1.pem" \
        -extfile <(printf 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n') 2>/dev/null
}

# etcd_prepare COUNT: makes the certificates, and $replication, the setting of fabricd for COUNT servers.
etcd_prepare() {
    local i urls=
    etcd_count=$1
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test-ca \
        -keyout ca.key -out ca.pem 2>/dev/null
    certify etcd
    certify manager
    etcd_cluster=
    for i in $(seq "$etcd_count"); do
        etcd_cluster+="${etcd_cluster:+,}n$i=https://127.0.0.1:$(etcd_peer_port "$i")"
        urls+="${urls:+, }'tls:127.0.0.1:$(etcd_port "$i")'"
    done
    replication="replication:
    endpoints: [$urls]
    ca: $scratch/ca.pem
    cert: $scratch/manager.pem
    key: $scratch/manager.key
"
}

# etcd_start N [new|existing]: starts server N, with its data of before if it ran before.
etcd_start() {
    local port
    port=$(etcd_port "$1")
    mkdir -p "etcd$1" && chmod 700 "etcd$1"
    start "etcd$1.log" env GOMAXPROCS=2 etcd --pre-vote --name "n$1" --data-dir "$scratch/etcd$1" \
        --listen-client-urls "https://127.0.0.1:$port" --advertise-client-urls "https://127.0.0.1:$port" \
        --listen-peer-urls "https://127.0.0.1:$((port + 1))" \
        --initial-advertise-peer-urls "https://127.0.0.1:$(etcd_peer_port "$1")" \
        --initial-cluster "$etcd_cluster" --initial-cluster-token "$$" \
        --client-cert-auth --trusted-ca-file ca.pem --cert-file etcd.pem --key-file etcd.key \
        --peer-client-cert-auth --peer-trusted-ca-file ca.pem --peer-cert-file etcd.pem --peer-key-file etcd.key
    etcd_pid[$1]=$started
}

# relay_start LINK...: starts relay.py, which reads commands from the file descriptor 8.
relay_start() {
    mkfifo relay.ctl
    exec 8<>relay.ctl
    "$python" "$here/relay.py" "$@" <&8 >relay.out 2>relay.err 8>&- &
    pids+=($!)
}

etcd_urls() {
    local i urls=
    for i in $(seq "$etcd_count"); do urls+="${urls:+,}https://127.0.0.1:$(etcd_port "$i")"; done
    echo "$urls"
}
# etcd_environment: lets etcdctl reach the servers without options.
etcd_environment() {
    ETCDCTL_ENDPOINTS=$(etcd_urls)
    export ETCDCTL_API=3 ETCDCTL_ENDPOINTS ETCDCTL_CACERT=$scratch/ca.pem ETCDCTL_CERT=$scratch/manager.pem \
        ETCDCTL_KEY=$scratch/manager.key
}
etcd_ctl() {
    ETCDCTL_API=3 etcdctl --endpoints "$(etcd_urls)" --cacert ca.pem --cert manager.pem --key manager.key \
        --command-timeout 3s "$@" 2>&1
}
etcd_answers() {
    etcd_ctl get --keys-only fabricd/none >/dev/null
}
# etcd_row TABLE: the keys of a table.
etcd_rows() {
    etcd_ctl get --prefix --keys-only "fabricd/fe80000000000000/row/$1/" | grep -c .
}

# ---- managers that share their state

sa_host=$build/tests/support/sa_host
[ -x "$sa_host" ] || make -s -C "$build" tests/support/sa_host >/dev/null 2>&1 || need "$sa_host"

# on HOST REQUEST...: requests of a host to subnet administration.
on() {
    SIM_HOST=$1 LD_PRELOAD=$umad2sim timeout -k 2 30 "$sa_host" "${@:2}" 2>/dev/null
}
# named NAME HOST PRIORITY [SETTING]...: starts a manager with its own state directory and socket. Settings belong to
# the group subnet.
named() {
    {
        printf 'subnet:\n    sm_priority: %s\n    standby_poll_ms: 100\n' "$3"
        [ $# -lt 4 ] || printf '    %s\n' "${@:4}"
        printf '%s' "$replication"
    } >"$1.yaml"
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
rows() {
    sqlite3 "$1/fabricd.db" "SELECT count(*) FROM $2"
}
