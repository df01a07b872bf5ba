#!/bin/bash
# test_web.sh: fabricd-web in front of a manager of the simulated fabric. curl lists degraded links and sees the
# reroute after a cable is pulled. Each method of the API is called; those that change something have no path, and the
# gateway makes no call with a role above viewer. Then the limits: hosts, sizes, connections, TLS.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/integration/web.sh
. "$here/web.sh"
need curl protoc grpc_python_plugin
need_python aiohttp grpc jsonschema setuptools

checks() {
    env PYTHONPATH="$top/web:$site" PYTHONDONTWRITEBYTECODE=1 "$python" "$here/web_checks.py" "$@"
}

check 'the client is built' web_client || exit 1
check 'JSON, parameters, roles, OpenAPI and the map, without a server' checks units
types_are_right() {
    printf '[mypy]\nstrict = true\nwarn_return_any = false\n[mypy-grpc.*,google.*]\nignore_missing_imports = true\n' >mypy.ini
    printf '[mypy-fabricd.v1.*]\nignore_errors = true\n' >>mypy.ini
    MYPYPATH=$site mypy --config-file mypy.ini --cache-dir "$scratch/mypy" "$top/web/fabricd_web"
}
if command -v mypy >/dev/null; then
    check 'mypy accepts the gateway' types_are_right
fi
same 'its version is that of the manager' "$("$fabricd" --version | sed 's/ /-web /; s/ (.*//')" \
    "$(env PYTHONPATH="$top/web:$site" "$python" -B -m fabricd_web --version)"
check 'there are certificates' web_certificates
"$fabsim" generate leaf-spine --leaves 4 --spines 2 --hosts 6 -o fabric.net
check 'a manager comes up' web_manager fabric.net

# ---- the gateway is a viewer

check 'a gateway as the user of the manager, who is an administrator, starts' gateway admin.log \
    -s "unix:$scratch/fabricd.sock" --listen 127.0.0.1:0
same 'but it refuses calls' 403 "$(code /api/v1/GetStatus)"
like 'and says why' "$(get /api/v1/GetStatus)" 'the role administrator; run it as a user'
same 'it has no map either' 403 "$(code /map/view)"
stop "$web"

check 'a gateway with a certificate of its own starts' web_start
like 'it is a viewer' "$(get /api/v1/WhoAmI)" '"role":"ROLE_VIEWER"'
check 'each method that a viewer may call has an answer, and no other has a path' checks calls "$url"
sed 's/^/# /' check.out

# ---- degraded links, and a reroute

links() {
    get '/api/v1/ListLinks?degraded=true' | "$python" -c '
import json, sys
for l in json.load(sys.stdin)["links"]:
    print("%s/%s: %s" % (l["a"]["node_name"], l["a"]["port_number"], l["rate_reason"]))'
}
same 'no link is degraded' '' "$(links)"
ctl sim degrade leaf-004/7 --width 1x >/dev/null
is_degraded() { links | grep -q 'width 1x of 4x'; }
check 'curl lists a link that became degraded' await 20 is_degraded
same 'with the reason' 'leaf-004/7: width 1x of 4x' "$(links)"

jobs='{"failures": ["leaf-004/7"], "jobs": [{"id": "4711", "hosts": ["host-00[01-24]"]}, {"id": "4712", "hosts": ["host-0001"]}]}'
affected=$(get /api/v1/GetAffectedJobs -H 'Content-Type: application/json' -d "$jobs")
like 'curl asks which jobs a fault affects, with the jobs in a body' "$affected" '"id":"4711","hosts":24,"endports":24'
like 'and learns that the other job has no pairs' "$affected" '"id":"4712","hosts":1,"endports":1'

start events.txt curl -sSN "$url/api/v1/WatchEvents"
watcher=$started
await 10 grep -q '^: fabricd-web' events.txt
ctl sim unlink leaf-002/8 >/dev/null
check 'curl sees the reroute' await 20 grep -q '"type":"reroute-done"' events.txt
like 'and what it was for' "$(cat events.txt)" '"type":"link-down","subject":"leaf-002/8'
first=$(sed -n 's/^id: //p' events.txt | head -1)
last=$(sed -n 's/^id: //p' events.txt | tail -1)
{ kill "$watcher" && wait "$watcher"; } 2>/dev/null
timeout 3 curl -sSN -H "Last-Event-ID: $first" "$url/api/v1/WatchEvents" >again.txt
same 'a client that connects again gets the events after its last one' "$(seq $((first + 1)) "$last" | paste -sd ' ')" \
    "$(sed -n 's/^id: //p' again.txt | head -$((last - first)) | paste -sd ' ')"

has_fault() { get /map/problems | grep -q '"a":"leaf-002/8","b":"spine-002/2","state":"down"'; }
check 'the map shows the lost link' await 20 has_fault
like 'and the degraded one' "$(get /map/problems)" '"state":"degraded","why":"width 1x of 4x"'
ctl link isolate leaf-003/8 >/dev/null
is_isolated() { get /map/problems | grep -q '"b":"spine-002/3","state":"excluded","why":"isolated by '; }
check 'an isolated link stays on the map' await 20 is_isolated
ctl link release leaf-003/8 >/dev/null
ctl drain switch spine-002 --yes >/dev/null
is_drained() { get /map/problems | grep -q '"state":"excluded","why":"in maintenance"'; }
check 'so do links in maintenance' await 20 is_drained
ctl undrain --all >/dev/null

# ---- limits

same 'an unknown parameter is refused' 400 "$(code '/api/v1/ListNodes?page_sise=5')"
like 'with a sentence' "$(get '/api/v1/GetNode?node=leaf')" '"code":"INVALID_ARGUMENT","message":".*ambiguous'
same 'an unknown node is not found' 404 "$(code '/api/v1/GetNode?node=nobody')"
same 'a path out of the folder of the page is not found' 404 "$(code '/..%2f..%2fetc/passwd' --path-as-is)"
same 'a page of another server does not reach it by its name (DNS rebinding)' 403 "$(code /api/v1/GetStatus -H 'Host: evil.example')"
same 'a body of GET is refused' 413 "$(code /api/v1/GetStatus -X GET --data-binary @fabric.net)"
same 'so is a long address' 400 "$(code "/api/v1/GetNode?node=$(printf 'x%.0s' {1..9000})")"
headers=$(get / -o /dev/null -D -)
like 'the page may run only its own scripts' "$headers" "^Content-Security-Policy: default-src 'none'; script-src 'self';"
like 'no other page may frame it' "$headers" 'X-Frame-Options: DENY'
tag=$(sed -n 's/^ETag: \(.*\)\r$/\1/p' <<<"$headers")
same 'a page that is known is not sent again' 304 "$(code / -H "If-None-Match: $tag")"

cat >flood.py <<'END'
import socket, sys, time
port, most = int(sys.argv[1]), 256
made = [socket.create_connection(("127.0.0.1", port)) for _ in range(most + 20)]
time.sleep(1)
def closed(s):
    s.setblocking(False)
    try:
        return s.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
first = sum(map(closed, made))
for s in made[:5]:
    try:
        s.setblocking(True)
        s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")  # and then nothing
    except OSError:
        pass
time.sleep(11)
print(first, sum(map(closed, made)))
END
same 'connections above 256 are closed at once, and silent ones after 10 s' '20 276' "$("$python" flood.py "${url##*:}")"
same 'then it answers again' 200 "$(code /api/v1/GetStatus)"

# ---- the manager restarts

stop "$manager"
web_port=${url##*:}
like 'without a manager, calls say so' "$(get /api/v1/GetStatus)" '"code":"UNAVAILABLE"'
same 'the page and the last map are still there' '200 200' "$(code /) $(code /map/view)"
check 'the manager restarts' web_manager fabric.net
answers() { [ "$(code /api/v1/GetStatus)" = 200 ]; }
check 'and the gateway finds it' await 20 answers
stop "$web"
same 'the gateway ends on request' 0 $?

# ---- other machines

tls() {
    gateway tls.log -s "tls:localhost:$manager_port" --tls-ca ca/ca.pem --tls-cert ca/web.pem --tls-key ca/web.key "$@"
}
timeout 20 env PYTHONPATH="$top/web:$site" "$python" -B -m fabricd_web --listen 0.0.0.0:0 >refused.log 2>&1
same 'it does not listen for other machines without TLS' 1 $?
like 'and says what is missing' "$(cat refused.log)" '--listen-cert, --listen-key, --listen-ca missing'
check 'with certificates it serves TLS' tls --listen 127.0.0.1:0 --listen-cert ca/web.pem --listen-key ca/web.key --listen-ca ca/ca.pem
url=${url/127.0.0.1/localhost}
same 'a client with a certificate has access' 200 \
    "$(code /api/v1/GetStatus --cacert ca/ca.pem --cert ca/web.pem --key ca/web.key)"
same 'a client without one has not' 000 "$(code /api/v1/GetStatus --cacert ca/ca.pem)"
stop "$web"
same 'no error of the gateway itself is in its logs' '' "$(cat ./*.log | grep -A 15 Traceback)"
stop "$manager"
