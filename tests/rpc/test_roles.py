"""Roles: every method of the API, called with every role over every transport, through Debian's
unmodified Python gRPC library. The methods and their roles come from the server's reflection."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request

import grpc
from google.protobuf import descriptor_pb2

from harness import (BUILD, PATIENCE, WORK, Fabric, channel, dynamic, fails, fake, free_port, load, main,
                     make_authority, make_certificate, openssl, read, running, socket_path, wait_until)

access_pb2 = load("fabric.v1.access_pb2")
Code = grpc.StatusCode
ROLES = {"tenant": 1, "viewer": 2, "operator": 3, "administrator": 4}
SERVICE = "/fabric.v1.FabricService/"
# Users that are not in /etc/passwd, so the test gives their numbers.
USERS = {"tenant": 60001, "viewer": 60002, "operator": 60003, "administrator": 60004}
STRANGER, OPERATORS_GROUP = 60009, 60103

# Calls the methods that it reads from its standard input. Each line has one method, without arguments.
CALLER = """
import json, sys, grpc
address, pem = json.loads(sys.argv[1])
if pem:
    c = grpc.secure_channel(address, grpc.ssl_channel_credentials(*[p.encode() for p in pem]))
else:
    c = grpc.insecure_channel(address)
for line in sys.stdin:
    stub = c.unary_stream(line.strip(), request_serializer=bytes, response_deserializer=bytes)
    call = stub(b"", timeout=2)
    try:
        for answer in call:
            break
        result = ["OK", ""]
        call.cancel()
    except grpc.RpcError as e:
        result = [e.code().name, e.details()]
    print(json.dumps(result), flush=True)
"""


class Caller:
    """A client in its own process, of any user, with one connection."""

    def __init__(self, address, user=None, groups=(), certificate=None, ca=None):
        pem = certificate and [read(p).decode() for p in
                               (ca + ".crt", certificate + ".key", certificate + ".crt")]
        how = {"user": user, "group": user, "extra_groups": groups} if user is not None else {}
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-c", CALLER, json.dumps([address, pem])], cwd="/", text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}, **how)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(PATIENCE)

    def call(self, method):
        path = method if method[0] == "/" else SERVICE + method
        self.process.stdin.write(path + "\n")
        self.process.stdin.flush()
        code, details = json.loads(self.process.stdout.readline())
        return Code[code], details


def open_to_all(address):
    """Gives every user access to a socket, so that only the role decides."""
    path = address[len("unix:"):]
    for folder in (WORK, os.path.dirname(path)):
        os.chmod(folder, 0o755)
    os.chmod(path, 0o666)


def settings(text):
    path = os.path.join(os.path.dirname(socket_path()), "f.yaml")
    with open(path, "w") as f:
        f.write(text)
    return path


def entries(**lists):
    """Returns the setting rpc.roles with a list of entries for each role."""
    text = "rpc:\n  roles:\n"
    for role, entries_of_role in lists.items():
        text += f"    {role}:\n" + "".join(f"      - {e}\n" for e in entries_of_role)
    return text


def users_of_roles():
    return entries(**{role: [f"user: {uid}"] for role, uid in USERS.items()})


@contextlib.contextmanager
def tls_server(ca, roles):
    server = make_certificate(ca, "server")
    port = free_port()
    env = {"TLS_CERT": server + ".crt", "TLS_KEY": server + ".key", "TLS_CA": ca + ".crt",
           "SETTINGS": settings(roles)}
    with fake(address=f"tls:127.0.0.1:{port}", env=env) as process:
        process.where = f"localhost:{port}"
        yield process


def methods_by_reflection():
    """Returns [(path of the method, role that it needs)], from the reflection of the server."""
    request = dynamic("reflection", "grpc.reflection.v1.ServerReflectionRequest")
    reply = dynamic("reflection", "grpc.reflection.v1.ServerReflectionResponse")
    with fake() as server, channel(server.address) as c:
        info = c.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                               request_serializer=request.SerializeToString,
                               response_deserializer=reply.FromString)
        listed, = info(iter([request(list_services="*")]), timeout=PATIENCE)
        names = {s.name for s in listed.list_services_response.service} | {"fabric.v1.SimService"}
        # These two services show nothing of the fabric, and every user may call them. A further service needs roles.
        others = {n for n in names if not n.startswith("fabric.")}
        assert others == {"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                          "grpc.reflection.v1alpha.ServerReflection"}, others
        found = []
        for name in sorted(n for n in names if n.startswith("fabric.")):
            answer, = info(iter([request(file_containing_symbol=name)]), timeout=PATIENCE)
            for data in answer.file_descriptor_response.file_descriptor_proto:
                file = descriptor_pb2.FileDescriptorProto.FromString(data)
                for service in file.service:
                    found += [(f"/{file.package}.{service.name}/{m.name}",
                               m.options.Extensions[access_pb2.role]) for m in service.method]
        return found


def refused(result, method, needed, role):
    code, details = result
    word = next(r for r, n in ROLES.items() if n == needed)
    mark = f"has the role {role}, and {method.split('/')[-1]} needs the role {word}"
    assert (code == Code.PERMISSION_DENIED) == (mark in details), (method, role, result)
    return code == Code.PERMISSION_DENIED


def check_table(callers, services=("FabricService",)):
    """Checks that each caller is refused exactly the methods that need a higher role. callers: {role: Caller}."""
    wrong, called = [], 0
    for path, needed in methods_by_reflection():
        if path.split("/")[1].split(".")[-1] not in services:
            continue
        called += 1
        for role, caller in callers.items():
            result = caller.call(path)
            assert result[0] not in (Code.UNIMPLEMENTED, Code.UNAVAILABLE) or ROLES[role] >= needed, (path, result)
            if refused(result, path, needed, role) != (ROLES[role] < needed):
                wrong.append((path, role, result))
    assert called and not wrong, (called, wrong)


# ---- the tests ---------------------------------------------------------------------------------

def every_method_has_a_role():
    found = methods_by_reflection()
    assert len(found) > 50 and any("SimService" in path for path, _ in found), found
    without = [path for path, role in found if role not in ROLES.values()]
    assert not without, f"without the option fabric.v1.role: {without}"
    reads = ("Get", "List", "WatchEvents", "WhoAmI", "WhatIf", "TracePath", "Compare", "Export", "Verify")
    changing = [(p, r) for p, r in found if not p.split("/")[-1].startswith(reads)]
    assert all(role >= ROLES["operator"] for _, role in changing), changing
    assert {p.split("/")[-1] for p, r in changing if r == ROLES["administrator"]} == {
        "Backup", "ApproveNode", "ForgetNodePin", "ApproveBaseline", "DisapproveBaseline", "RotateKey", "ApplyPolicy"}


def every_method_with_every_role_over_unix():
    with fake(env={"SETTINGS": settings(users_of_roles())}) as server, contextlib.ExitStack() as stack:
        open_to_all(server.address)
        check_table({role: stack.enter_context(Caller(server.address, uid)) for role, uid in USERS.items()})


def every_method_with_every_role_over_tls():
    ca = make_authority("table")
    roles = entries(**{role: [f"cn: {role}"] for role in ROLES})
    with tls_server(ca, roles) as server, contextlib.ExitStack() as stack:
        check_table({role: stack.enter_context(
            Caller(server.where, certificate=make_certificate(ca, role), ca=ca)) for role in ROLES})


def every_method_of_fabricd_with_every_role():
    """Does the same with a whole daemon, which also has a simulated fabric and the methods for it."""
    ca = make_authority("daemon")
    server, port = make_certificate(ca, "server"), free_port()
    certificates = {role: make_certificate(ca, role) for role in ROLES}
    roles = entries(**{role: [f"user: {uid}", f"cn: {role}"] for role, uid in USERS.items()})
    tls = f"tls: {{cert: {server}.crt, key: {server}.key, ca: {ca}.crt}}\n"
    with daemon(roles + tls, "--listen", f"tls:127.0.0.1:{port}") as fabricd, contextlib.ExitStack() as stack:
        open_to_all(fabricd.address)
        for callers in ({role: Caller(fabricd.address, uid) for role, uid in USERS.items()},
                        {role: Caller(f"localhost:{port}", certificate=certificates[role], ca=ca) for role in ROLES}):
            for caller in callers.values():
                stack.enter_context(caller)
            check_table(callers, ("FabricService", "SimService"))


def nobody_in_the_group_disables_no_port():
    with fake() as server:
        open_to_all(server.address)
        with Caller(server.address, STRANGER, [0]) as stranger:
            assert stranger.call("GetStatus")[0] == Code.OK
            code, details = stranger.call("DisablePort")
            assert code == Code.PERMISSION_DENIED
            assert details == (f"refused: uid {STRANGER} has the role viewer, and DisablePort needs the role "
                               f"operator; ask an administrator to add 'user: {STRANGER}' to "
                               "rpc.roles.operator in fabricd.yaml"), details


def groups_are_those_of_the_process():
    roles = entries(operator=[f"group: {OPERATORS_GROUP}"])
    with fake(env={"SETTINGS": settings(roles)}) as server:
        open_to_all(server.address)
        for user, groups, role in ((STRANGER, [], "viewer"), (STRANGER, [7, OPERATORS_GROUP], "operator"),
                                   (OPERATORS_GROUP, [], "operator")):
            with Caller(server.address, user, groups) as caller:
                assert refused(caller.call("Sweep"), "Sweep", 3, role) == (role == "viewer"), (user, groups)


def the_highest_role_counts():
    roles = entries(tenant=[f"user: {STRANGER}"], operator=[f"group: {OPERATORS_GROUP}"])
    with fake(env={"SETTINGS": settings(roles)}) as server:
        open_to_all(server.address)
        with Caller(server.address, STRANGER, [OPERATORS_GROUP]) as both, Caller(server.address, STRANGER) as one:
            assert both.call("Sweep")[0] == Code.OK
            assert refused(one.call("GetStatus"), "GetStatus", 2, "tenant")
            assert one.call("WhoAmI")[0] == Code.OK


def names_of_certificates_match_exactly():
    ca = make_authority("names")
    roles = entries(operator=["cn: ops", "san: 'DNS:ci.example.com'", "san: 'email:bob@example.com'",
                              "san: 'URI:spiffe://example.com/ci'", "san: 'IP:192.0.2.7'"])
    cases = (("ops", "DNS:a", True), ("ops2", "DNS:a", False), ("op", "DNS:a", False), ("Ops", "DNS:a", False),
             ("a", "DNS:ci.example.com", True), ("b", "DNS:x.ci.example.com", False),
             ("c", "DNS:CI.example.com", False), ("d", "email:ci.example.com", False),
             ("e", "DNS:x,email:bob@example.com", True), ("f", "URI:spiffe://example.com/ci", True),
             ("g", "URI:spiffe://example.com/ci2", False), ("h", "IP:192.0.2.7", True),
             ("i", "IP:192.0.2.70", False), ("DNS:ci.example.com", "DNS:a", False))
    with tls_server(ca, roles) as server:
        for number, (cn, names, operator) in enumerate(cases):
            certificate = make_certificate(ca, cn, names)
            with Caller(server.where, certificate=certificate, ca=ca) as caller:
                result = caller.call("Sweep")
                assert (result[0] == Code.OK) == operator, (cn, names, result)
                assert operator or refused(result, "Sweep", 3, "viewer")
                if cn == "b":
                    assert "certificate of b " in result[1] and "'cn: b' to rpc.roles.operator" in result[1], result


def expired_and_foreign_certificates_are_refused():
    ours, others = make_authority("ours"), make_authority("others")
    with tls_server(ours, entries(administrator=["cn: admin"])) as server:
        with Caller(server.where, certificate=make_certificate(ours, "admin"), ca=ours) as good:
            assert good.call("Sweep")[0] == Code.OK
        expired = make_certificate(ours, "admin", days=-1)
        foreign = make_certificate(others, "admin")
        for certificate in (expired, foreign):
            with Caller(server.where, certificate=certificate, ca=ours) as bad:
                for method in ("GetStatus", "Sweep"):
                    assert bad.call(method)[0] == Code.UNAVAILABLE, certificate


def fabricctl_shows_who_one_is():
    with fake(env={"SETTINGS": settings(users_of_roles())}) as server:
        ctl = [os.path.join(BUILD, "cli/fabricctl"), "-s", server.address]
        done = subprocess.run(ctl + ["-o", "json", "whoami"], capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done
        me = json.loads(done.stdout)
        assert me["role"] == "administrator" and me["transport"] == "Unix socket", me
        assert me["uid"] == os.getuid() and me["reason"] in ("root", "the user of fabricd"), me
        text = subprocess.run(ctl + ["whoami"], capture_output=True, text=True, timeout=30).stdout
        assert f"(uid {os.getuid()})" in text and "administrator" in text, text


def fabricctl_says_which_entry_is_missing():
    ca = make_authority("ctl")
    with tls_server(ca, "") as server:
        certificate = make_certificate(ca, "carol", "DNS:a")
        ctl = [os.path.join(BUILD, "cli/fabricctl"), "-s", "tls:" + server.where, "--tls-ca", ca + ".crt",
               "--tls-cert", certificate + ".crt", "--tls-key", certificate + ".key"]
        done = subprocess.run(ctl + ["port", "disable", "leaf-001/1"], capture_output=True, text=True, timeout=30)
        assert done.returncode == 1 and not done.stdout, done
        assert done.stderr == ("fabricctl: refused: certificate of carol has the role viewer, and DisablePort needs "
                               "the role operator; ask an administrator to add 'cn: carol' to rpc.roles.operator "
                               "in fabricd.yaml\n"), done
        me = json.loads(subprocess.run(ctl + ["-o", "json", "whoami"], capture_output=True, text=True,
                                       timeout=30).stdout)
        assert me["subject"] == "CN=carol" and me["issuer"] == "CN=ctl" and me["role"] == "viewer", me
        assert me["transport"] == "TLS" and me["address"] in ("127.0.0.1", "::1"), me


@contextlib.contextmanager
def daemon(text, *options):
    """Runs fabricd with a simulated fabric and these settings."""
    folder = os.path.dirname(socket_path())
    topology, address, file = (os.path.join(folder, n) for n in ("f.net", "s", "f.yaml"))
    subprocess.run([os.path.join(BUILD, "cli/fabsim"), "generate", "leaf-spine", "--leaves", "2", "--spines", "1",
                    "--hosts", "2", "-o", topology], check=True)
    with open(file, "w") as f:
        f.write(text)
    command = [os.path.join(BUILD, "fabricd/fabricd"), "--sim", topology, "-f", file, "--state-dir",
               os.path.join(folder, "state"), "--listen", "unix:" + address, *options]
    with channel("unix:" + address) as c:
        f = Fabric(c)
        with running(command, lambda p: wait_until(lambda: f.GetStatus(timeout=2).status.generation > 0)) as process:
            process.address, process.file, process.fabric = "unix:" + address, file, f
            yield process


def reload(process, text, mark):
    before = process.log().count(mark)
    with open(process.file, "w") as f:
        f.write(text)
    process.send_signal(signal.SIGHUP)
    wait_until(lambda: process.log().count(mark) > before)


def a_reload_applies_to_open_connections():
    with daemon("") as fabricd:
        open_to_all(fabricd.address)
        with Caller(fabricd.address, STRANGER) as caller:
            assert refused(caller.call("Sweep"), "Sweep", 3, "viewer")
            reload(fabricd, entries(operator=[f"user: {STRANGER}"]), "reloaded")
            assert caller.call("Sweep")[0] == Code.OK
            reload(fabricd, entries(operator=["user: 1", "user: 1"]), "the old settings stay active")
            assert "rpc.roles.operator[1]" in fabricd.log(), fabricd.log()
            assert caller.call("Sweep")[0] == Code.OK
            reload(fabricd, "", "reloaded")
            assert refused(caller.call("Sweep"), "Sweep", 3, "viewer")


# Watches events, and prints how the call ends.
WATCHER = """
import sys, grpc
with grpc.insecure_channel(sys.argv[1]) as c:
    stub = c.unary_stream(sys.argv[2], request_serializer=bytes, response_deserializer=bytes)
    call = stub(b"", timeout=10)
    call.initial_metadata()
    print("begun", flush=True)
    try:
        for _ in call:
            pass
    except grpc.RpcError as e:
        print(e.code().name, e.details(), flush=True)
"""


@contextlib.contextmanager
def watcher(address, user):
    with subprocess.Popen([sys.executable, "-B", "-c", WATCHER, address, SERVICE + "WatchEvents"], cwd="/",
                          text=True, stdout=subprocess.PIPE, user=user, group=user, extra_groups=(),
                          env={"PATH": os.environ["PATH"]}) as process:
        try:
            assert process.stdout.readline() == "begun\n"
            yield process
        finally:
            process.kill()


def a_reload_ends_calls_of_those_who_lost_their_role():
    with daemon("") as fabricd:
        open_to_all(fabricd.address)
        with watcher(fabricd.address, STRANGER) as loses, watcher(fabricd.address, STRANGER + 1) as keeps:
            reload(fabricd, entries(tenant=[f"user: {STRANGER}"]), "reloaded")
            ended = loses.stdout.readline()
            assert ended.startswith(f"PERMISSION_DENIED refused: uid {STRANGER} has the role tenant, and WatchEvents "
                                    "needs the role viewer;"), ended
            reload(fabricd, entries(tenant=[f"user: {STRANGER + 1}"]), "reloaded")
            assert keeps.stdout.readline().startswith(f"PERMISSION_DENIED refused: uid {STRANGER + 1} ")
        fabricd.fabric.GetStatus(timeout=PATIENCE)


def refusals_are_told_and_counted():
    port = free_port()
    with daemon(f"metrics: {{listen: 127.0.0.1:{port}}}\n") as fabricd:
        open_to_all(fabricd.address)
        with Caller(fabricd.address, STRANGER) as caller:
            for _ in range(5):
                assert refused(caller.call("DisablePort"), "DisablePort", 3, "viewer")
            with Caller(fabricd.address, STRANGER + 1) as other:
                assert refused(other.call("RotateKey"), "RotateKey", 4, "viewer")
        events = [e for e in fabricd.fabric.ListEvents(page_size=1000).events if e.type == "call-refused"]
        told = [e.message for e in reversed(events)]
        assert {e.subject for e in events} == {"manager"}, events
        assert len(told) == 2, told
        assert f"uid {STRANGER} has the role viewer, but called DisablePort" in told[0], told
        assert "other call" not in told[0], told
        assert f"uid {STRANGER + 1} has the role viewer, but called RotateKey" in told[1], told
        assert "4 other calls were" in told[1], told
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE).read().decode()
        assert 'fabricd_rpc_calls_total{role="viewer",code="PERMISSION_DENIED"} 6' in text, text


if os.getuid() != 0:
    print("1..0 # SKIP only root can call as several users")
    sys.exit(0)
main([
    every_method_has_a_role,
    every_method_with_every_role_over_unix,
    every_method_with_every_role_over_tls,
    every_method_of_fabricd_with_every_role,
    nobody_in_the_group_disables_no_port,
    groups_are_those_of_the_process,
    the_highest_role_counts,
    names_of_certificates_match_exactly,
    expired_and_foreign_certificates_are_refused,
    fabricctl_shows_who_one_is,
    fabricctl_says_which_entry_is_missing,
    a_reload_applies_to_open_connections,
    a_reload_ends_calls_of_those_who_lost_their_role,
    refusals_are_told_and_counted,
])
