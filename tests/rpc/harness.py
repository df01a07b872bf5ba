"""Shared by the tests of the RPC server: stubs, servers, and results as TAP."""

import contextlib
import importlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

# gRPC looks only in this interval whether a server that was not there has come: 5 seconds at each start of a daemon.
os.environ.setdefault("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "100")

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SOURCE = os.environ.get("abs_top_srcdir", os.path.abspath(os.path.dirname(__file__) + "/../.."))
BUILD = os.environ.get("abs_top_builddir", os.getcwd())
WORK = tempfile.mkdtemp(prefix="fabric-rpc-")
# fabricd refuses settings with keys that every user can read.
os.umask(0o027)
def sanitized():
    # Benchmarks need fabricd only.
    programs = [os.path.join(BUILD, p) for p in ("tests/rpc/rpc_server", "fabricd/fabricd")]
    with open(next(filter(os.path.exists, programs)), "rb") as f:
        program = f.read()
    return b"__asan_init" in program or b"__tsan_init" in program


# Sanitizers make everything slower, and need more memory: SLACK is the factor for limits of both.
SLACK = 16 if sanitized() else 1
# Seconds for things that must happen.
PATIENCE = 20 * int(os.environ.get("CK_TIMEOUT_MULTIPLIER", "3")) * (4 if sanitized() else 1)


def make_stubs():
    """Compiles the API as users would: with protoc, without the code generator of gRPC."""
    proto = os.path.join(SOURCE, "proto")
    out = os.path.join(WORK, "stubs")
    os.mkdir(out)
    files = [os.path.join(d, f) for d, _, names in os.walk(proto) for f in names
             if f.endswith(".proto") and "/google" not in d]
    subprocess.run(["protoc", "-I", proto, "--python_out", out] + files, check=True)
    sys.path.insert(0, out)


make_stubs()


def load(module):
    return importlib.import_module(module)


status_pb2 = load("fabric.v1.status_pb2")
node_pb2 = load("fabric.v1.node_pb2")
port_pb2 = load("fabric.v1.port_pb2")
link_pb2 = load("fabric.v1.link_pb2")
contingency_pb2 = load("fabric.v1.contingency_pb2")
reroute_pb2 = load("fabric.v1.reroute_pb2")
route_pb2 = load("fabric.v1.route_pb2")
event_pb2 = load("fabric.v1.event_pb2")
export_pb2 = load("fabric.v1.export_pb2")
quality_pb2 = load("fabric.v1.quality_pb2")
sim_pb2 = load("fabric.v1.sim_service_pb2")
key_pb2 = load("fabric.v1.key_pb2")
inventory_pb2 = load("fabric.v1.inventory_pb2")
gone_pb2 = load("fabric.v1.gone_pb2")


class Fabric:
    """FabricService; its methods have their names: fabric.ListNodes(page_size=3)."""

    MODULES = [status_pb2, node_pb2, port_pb2, link_pb2, route_pb2, event_pb2,
               export_pb2, quality_pb2, contingency_pb2, reroute_pb2, sim_pb2, key_pb2, inventory_pb2, gone_pb2]
    STREAMS = ["WatchEvents", "Export", "CompareEngines"]

    def __init__(self, channel, service="fabric.v1.FabricService"):
        self.channel = channel
        self.service = service

    def __getattr__(self, method):
        for module in self.MODULES:
            if hasattr(module, method + "Request"):
                request = getattr(module, method + "Request")
                reply = getattr(module, method + "Response")
        make = self.channel.unary_stream if method in self.STREAMS else self.channel.unary_unary
        stub = make(f"/{self.service}/{method}", request_serializer=request.SerializeToString,
                    response_deserializer=reply.FromString)

        def call(timeout=PATIENCE, future=False, **fields):
            if future:
                return stub.future(request(**fields), timeout=timeout)
            return stub(request(**fields), timeout=timeout)

        return call


@contextlib.contextmanager
def running(command, address_ready, env=None, ends_with=0):
    """Runs a program that ends when its standard input is closed. At the end, stops it and checks its exit code."""
    errors = open(os.path.join(WORK, "stderr"), "ab+")
    start = errors.seek(0, os.SEEK_END)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=errors, env=dict(os.environ, **(env or {})))
    process.log = lambda: open(errors.name, errors="replace").read()[start:]
    try:
        address_ready(process)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        errors.close()
    assert code == ends_with, f"{command[0]} ended with {code}: {process.log()[-3000:]}"


def socket_path():
    return os.path.join(tempfile.mkdtemp(dir=WORK), "s")


def said_ready(process):
    line = process.stdout.readline()
    assert line == b"ready\n", f"the server did not start: {process.log()}"


@contextlib.contextmanager
def fake(leaves=4, spines=2, hosts=4, delay_ms=20, events=0, address=None, env=None):
    """Runs the RPC server with the fake manager; returns its address."""
    address = address or "unix:" + socket_path()
    command = [os.path.join(BUILD, "tests/rpc/rpc_server"), address] + [
        str(n) for n in (leaves, spines, hosts, delay_ms, events)]
    with running(command, said_ready, env) as process:
        process.address = address
        yield process


def memory_kb(process):
    """Resident memory of a program."""
    with open(f"/proc/{process.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def descriptors(process):
    """Returns the number of files and sockets that a program has open."""
    return len(os.listdir(f"/proc/{process.pid}/fd"))


@contextlib.contextmanager
def channel(address, **options):
    with grpc.insecure_channel(address, options=list(options.items())) as c:
        yield c


@contextlib.contextmanager
def fake_fabric(**how):
    with fake(**how) as server, channel(server.address) as c:
        yield Fabric(c)


def wait_until(what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while True:
        try:
            result = what()
        except grpc.RpcError:
            result = None
        if result:
            return result
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def fails(code, call, **arguments):
    """Checks that the call fails with this code; returns the message."""
    try:
        call(**arguments)
    except grpc.RpcError as error:
        assert error.code() == code, f"{error.code()}, not {code}: {error.details()}"
        return error.details()
    raise AssertionError(f"it succeeded, and should have failed with {code}")


def message_class(descriptor):
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory().GetPrototype(descriptor)


def dynamic(file, message):
    """Returns a message class of the API without its Python module, because the installed package grpc hides the
    names of grpc/health and grpc/reflection."""
    out = os.path.join(WORK, "set.pb")
    if not os.path.exists(out):
        proto = os.path.join(os.environ.get("abs_top_srcdir", "."), "proto")
        subprocess.run(["protoc", "-I", proto, "--include_imports", "--descriptor_set_out", out,
                        "grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto",
                        "grpc/reflection/v1alpha/reflection.proto"], check=True, cwd=proto)
    return from_files(descriptor_pb2.FileDescriptorSet.FromString(read(out)).file, message)


def from_files(files, message):
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return factory.GetPrototype(pool.FindMessageTypeByName(message))


def openssl(*arguments):
    subprocess.run(("openssl",) + arguments, check=True, capture_output=True)


def make_authority(name):
    ca = os.path.join(WORK, name)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-subj", f"/CN={name}", "-days", "2", "-keyout", ca + ".key", "-out", ca + ".crt")
    return ca


def make_certificate(ca, name, names="DNS:localhost,IP:127.0.0.1", days=2):
    """Makes a certificate with the common name `name` and these subject alternative names."""
    path = f"{ca}-{name}"
    with open(path + ".ext", "w") as ext:
        ext.write(f"subjectAltName={names}\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
            f"/CN={name}", "-keyout", path + ".key", "-out", path + ".csr")
    openssl("x509", "-req", "-in", path + ".csr", "-CA", ca + ".crt", "-CAkey", ca + ".key",
            "-CAcreateserial", "-days", str(days), "-extfile", path + ".ext", "-out", path + ".crt")
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def free_port():
    """A port that no address of this host uses: a server at all addresses could not open it otherwise. Clients of earlier
    tests, which were bound to 127.0.0.2 and others, use theirs for another minute (TIME_WAIT)."""
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def main(tests):
    """Runs functions as test cases; prints TAP."""
    failed = 0
    print(f"1..{len(tests)}", flush=True)
    for number, test in enumerate(tests, 1):
        name = test.__name__.replace("_", " ")
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except BaseException:  # a test may end with any exception
            failed += 1
            print(f"not ok {number} - {name}")
            print("".join("# " + line + "\n" for line in traceback.format_exc().splitlines()),
                  end="", flush=True)
    shutil.rmtree(WORK, ignore_errors=True)
    sys.exit(1 if failed else 0)
