#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rpc_floods.py [--build DIR] [--seconds N] [--rate N] [--addresses N] [--floods NAME,...]

Runs fabricd with a simulated fabric, and floods it from another process. The floods are silent connections,
half-open and slow TLS handshakes from 127.0.0.2 and other addresses, and HTTP/2 frames from a client with a
valid certificate (viewer). During a flood, the program measures calls of GetStatus on an open and on a new
connection, on the Unix socket and with TLS. It also measures local repairs (from the trap to the last
acknowledged LFT write) of links that are pulled and plugged in again. The links change so seldom that the
manager does not collect changes (fabricd/sm/core/pace.c).

Prints the median and the worst of each time in ms, the ratio of the median to that of the quiet times before
and after the flood, the CPU time of the loop thread, and the longest CPU times of the loop.
Needs python3-grpcio; run it with Debian's /usr/bin/python3.
"""
import argparse
import collections
import os
import re
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONNECTIONS = ("silent", "half-open", "slow-hello")
FRAMES = ("slow-headers", "reset", "settings", "ping", "continuation", "data", "window", "calls")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=TOP + "/build")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rate", type=int, default=1000, help="connections a second")
    parser.add_argument("--addresses", type=int, default=4, help="addresses of the connections")
    parser.add_argument("--floods", default=",".join(CONNECTIONS + FRAMES))
    parser.add_argument("--flood", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


args = arguments()
args.build = os.path.abspath(args.build)
os.environ.update(abs_top_srcdir=TOP, abs_top_builddir=args.build)
sys.path[:0] = [TOP + "/tests/rpc"]
import http2  # noqa: E402

SERVICE = "/fabric.v1.FabricService/"
REPAIR_EACH = 1.2  # seconds between two changes of links


# ---- the flood, in a process of its own ---------------------------------------------------------

def client_hello():
    """The first bytes of a TLS client."""
    out = ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    tls = context.wrap_bio(ssl.MemoryBIO(), out)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def flood_of_connections(kind, port):
    """Opens connections without end. They send nothing, a ClientHello, or one byte of a ClientHello each second."""
    hello, held, made, begun = client_hello(), collections.deque(), 0, time.monotonic()
    while True:
        while made < (time.monotonic() - begun) * args.rate:
            s = socket.socket()
            a = made % args.addresses
            s.bind((f"127.0.{a // 250}.{2 + a % 250}", 0))
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", port))
            held.append([s, time.monotonic() + 1, 0])
            made += 1
            if len(held) > 900:
                held.popleft()[0].close()
        now = time.monotonic()
        for h in held if kind != "silent" else ():
            whole = kind == "half-open"
            if h[2] < len(hello) and (h[1] <= now or (whole and h[1] - 0.999 <= now)):
                piece = hello if whole else hello[h[2]:h[2] + 1]
                h[1], h[2] = now + 1, h[2] + len(piece)
                try:
                    h[0].send(piece)
                except OSError:
                    h[2] = len(hello)
        time.sleep(0.002)


def frames_of(kind):
    """Returns a part of a flood, which follows a request on stream 1, and a function that makes more parts."""
    reset = http2.frame(http2.RST, 0, 1, b"\0\0\0\x08")
    header = http2.request_headers(SERVICE + "GetStatus")
    more = {"settings": http2.settings(), "ping": http2.frame(http2.PING, payload=b"12345678"),
            "data": http2.frame(http2.DATA, 0, 1), "window": http2.frame(http2.WINDOW, payload=b"\0\0\0\1"),
            "continuation": http2.frame(http2.CONTINUATION, 0, 1)}
    begin = http2.frame(http2.HEADERS, 0 if kind == "continuation" else http2.END_HEADERS, 1, header)
    if kind in more:
        return begin, lambda i: more[kind] * 100
    stop = (lambda n: http2.frame(http2.RST, 0, n, reset[9:])) if kind == "reset" else lambda n: b""
    return b"", lambda i: b"".join(http2.request(n, SERVICE + "GetStatus") + stop(n)
                                   for n in range(2 * 20 * i + 1, 2 * 20 * (i + 1), 2))


def flood_of_frames(kind, port, certificate, ca):
    """Uses four connections. Each is opened again as soon as the manager closes it."""
    context = ssl.create_default_context(cafile=ca + ".crt")
    context.load_cert_chain(certificate + ".crt", certificate + ".key")
    context.set_alpn_protocols(["h2"])
    begin, more = frames_of(kind)

    def connections():
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.6", 0)) as raw, context.wrap_socket(
                        raw, server_hostname="localhost") as s:
                    s.sendall(http2.PREFACE + http2.settings(initial_window=2**20) + begin)
                    s.setblocking(False)
                    for i in range(50_000_000):
                        data = memoryview(more(i))
                        while data:
                            try:
                                data = data[s.send(data):]
                            except ssl.SSLWantWriteError:
                                yield
                            try:
                                while s.recv(65536):
                                    pass
                                raise ConnectionResetError
                            except ssl.SSLWantReadError:
                                pass
                        yield
            except OSError:
                yield

    def slow():
        while True:
            with socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.6", 0)) as raw, context.wrap_socket(
                    raw, server_hostname="localhost") as s:
                s.sendall(http2.PREFACE + http2.settings() + http2.frame(
                    http2.HEADERS, http2.END_HEADERS, 1, http2.request_headers(SERVICE + "GetStatus"))[:10])
                for _ in range(90):
                    yield
                    s.sendall(b"\0")

    running = [(slow if kind == "slow-headers" else connections)() for _ in range(90 if kind == "slow-headers" else 4)]
    while True:
        for r in running:
            next(r)
        if kind == "slow-headers":
            time.sleep(1)


def end_with(parent):
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


if args.flood:
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    what, at, cert, authority = args.flood
    if what in CONNECTIONS:
        flood_of_connections(what, int(at))
    flood_of_frames(what, int(at), cert, authority)

# ---- the measurement -------------------------------------------------------------------------------

import grpc  # noqa: E402
from harness import (Fabric, channel, free_port, make_authority, make_certificate, read, running, socket_path,  # noqa: E402
                     wait_until)

work = os.path.dirname(socket_path())
port, metrics_port, unix = free_port(), free_port(), f"unix:{work}/s"
ca = make_authority("floods")
server_cert, good, flooder = (make_certificate(ca, n) for n in ("server", "good", "flooder"))


def credentials():
    return grpc.ssl_channel_credentials(read(ca + ".crt"), read(good + ".key"), read(good + ".crt"))


def tls():
    return grpc.secure_channel(f"localhost:{port}", credentials(), [("grpc.use_local_subchannel_pool", 1)])


def metrics():
    page = urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=10).read().decode()
    return ({m[1]: float(m[2]) * 1000 for m in re.finditer(r'loop_longest_seconds\{what="([^"]*)"\} (\S+)', page)},
            {m[1]: int(m[2]) for m in re.finditer(r'rpc_limited_total\{limit="([^"]*)"\} (\d+)', page)})


def cpu(process, task=False):
    """Returns the CPU time of the process. With `task`: only of its first thread, which runs the event loop."""
    with open(f"/proc/{process.pid}/" + (f"task/{process.pid}/" if task else "") + "stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Times:
    def __init__(self):
        self.of, self.failed = collections.defaultdict(list), collections.Counter()

    def call(self, name, function):
        start = time.perf_counter()
        try:
            function()
        except grpc.RpcError:
            self.failed[name] += 1
        self.of[name].append((time.perf_counter() - start) * 1000)


def newest(fabric):
    rows = fabric.ListReroutes(page_size=1).reroutes
    return rows[0].generation if rows else 0


def repair(fabric, sim, times, number):
    """Pulls a link, or plugs it in again, and waits for the repair."""
    before, link = newest(fabric), {"node": "leaf-%03d" % (1 + number // 2 % 8), "port_number": 13 + number // 16 % 4}
    (sim.Relink if number % 2 else sim.Unlink)(**link)
    wait_until(lambda: newest(fabric) != before)
    row = fabric.ListReroutes(page_size=1).reroutes[0]
    if row.HasField("last_write"):
        times.of["repair"].append(row.last_write.seconds * 1e3 + row.last_write.nanos / 1e6)


def measure(p, fabric, sim, secure, seconds, number):
    times, begun, repaired = Times(), time.monotonic(), 0
    end, used, of_loop = begun + seconds, cpu(p), cpu(p, True)
    while time.monotonic() < end or number % 2:
        times.call("unix open", fabric.GetStatus)
        times.call("tls open", secure.GetStatus)
        with channel(unix, **{"grpc.use_local_subchannel_pool": 1}) as c:
            times.call("unix new", Fabric(c).GetStatus)
        with tls() as c:
            times.call("tls new", Fabric(c).GetStatus)
        if time.monotonic() - repaired >= REPAIR_EACH:
            repaired = time.monotonic()
            repair(fabric, sim, times, number)
            number += 1
        time.sleep(0.05)
    took = time.monotonic() - begun
    times.used, times.of_loop = (cpu(p) - used) / took * 100, (cpu(p, True) - of_loop) / took * 100
    return times, number


def show(name, times, quiet):
    print(f"{name} (fabricd used {times.used:.1f} % of a processor, its loop {times.of_loop:.1f} %)")
    for what, t in sorted(times.of.items()):
        mid = statistics.median(t)
        ratio = f", {mid / statistics.median(x for q in quiet for x in q.of[what]):.2f} of quiet" if quiet else ""
        failed = f", {times.failed[what]} FAILED" if times.failed[what] else ""
        print(f"  {what:10} {len(t):5} times: median {mid:6.2f} ms, worst {max(t):7.2f} ms{ratio}{failed}", flush=True)


def main():
    subprocess.run([args.build + "/cli/fabsim", "generate", "leaf-spine", "--leaves", "16", "--spines", "8", "--hosts", "12",
                    "-o", work + "/f.net"], check=True)
    with open(work + "/f.yaml", "w") as f:
        f.write(f"metrics: {{listen: 127.0.0.1:{metrics_port}}}\ntls:\n  cert: {server_cert}.crt\n  key: {server_cert}.key\n"
                f"  ca: {ca}.crt\nflapping: {{hold_down: 0}}\n")
    command = [args.build + "/fabricd/fabricd", "--sim", work + "/f.net", "-f", work + "/f.yaml", "--state-dir",
               work + "/state", "--listen", unix, "--listen", f"tls:127.0.0.1:{port}"]
    with channel(unix) as c, tls() as d:
        fabric, sim, secure = Fabric(c), Fabric(c, "fabric.v1.SimService"), Fabric(d)
        with running(command, lambda p: wait_until(lambda: fabric.GetStatus(timeout=2).status.generation > 0)) as p:
            _, number = measure(p, fabric, sim, secure, 2, 0)
            before, number = measure(p, fabric, sim, secure, args.seconds / 2, number)
            show("quiet", before, [])
            for kind in args.floods.split(","):
                flood = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--rate", str(args.rate), "--addresses",
                                          str(args.addresses), "--flood", kind, str(port), flooder, ca])
                time.sleep(1)
                times, number = measure(p, fabric, sim, secure, args.seconds, number)
                if flood.poll() is not None:
                    print("  THE FLOOD ENDED BY ITSELF")
                flood.kill()
                flood.wait()
                time.sleep(1)
                after, number = measure(p, fabric, sim, secure, args.seconds / 2, number)
                show(kind, times, [before, after])
                before = after
            held, limited = metrics()
            print("longest:", ", ".join(f"{w} {ms:.1f} ms" for w, ms in sorted(held.items(), key=lambda x: -x[1])[:5]))
            print("limits met:", ", ".join(f"{n} {c}" for n, c in limited.items()))


main()
