"""Clients that take more than their share: slow headers, floods of HTTP/2 frames, many connections."""

import contextlib
import os
import socket
import threading
import time

import grpc

import http2
from harness import (BUILD, PATIENCE, Fabric, channel, descriptors, fails, fake, free_port, main, make_authority,
                     make_certificate, read, running, said_ready, socket_path, wait_until)

SERVICE = "/fabric.v1.FabricService/"


def drip(raw, begin, data, ended):
    """Sends `begin` at once, and then a byte every half second, until the server closes the connection."""
    try:
        raw.send(begin)
        for byte in data:
            raw.send(bytes([byte]))
            time.sleep(0.5)
        assert raw.is_closed()
    except (BrokenPipeError, ConnectionResetError):
        pass
    ended.append(time.monotonic())
    raw.close()


def slow_headers_end_after_half_a_minute():
    block = http2.request_headers(SERVICE + "GetStatus") * 10
    pieces = ((b"", http2.frame(http2.HEADERS, http2.END_HEADERS, 1, block)),
              (http2.frame(http2.HEADERS, 0, 1, block[:9]), b""),
              (http2.frame(http2.HEADERS, 0, 1, block[:9]) + http2.frame(
                  http2.CONTINUATION, 0, 1, block[9:])[:9], block[9:]))
    with fake() as server, channel(server.address) as c:
        Fabric(c).GetStatus()
        begun, ended = time.monotonic(), []
        threads = [threading.Thread(target=drip, args=(http2.Raw(server.address), *piece, ended), daemon=True)
                   for piece in pieces]
        for t in threads:
            t.start()
        for t in threads:
            t.join(PATIENCE + 30)
        assert len(ended) == len(pieces), ended
        assert all(25 < t - begun < 60 for t in ended), ended
        assert "the headers of a request were not complete" in server.log(), server.log()
        Fabric(c).GetStatus()


def headers(stream):
    return http2.frame(http2.HEADERS, http2.END_HEADERS, stream, http2.request_headers(SERVICE + "GetStatus"))


def flood(kind, count):
    """Returns `count` parts of a flood, each of one to three frames."""
    open_stream = headers(1)
    return {
        "reset": lambda: (http2.request(2 * i + 1, SERVICE + "GetStatus") + http2.frame(
            http2.RST, 0, 2 * i + 1, b"\0\0\0\x08") for i in range(count)),
        "settings": lambda: (http2.settings() for _ in range(count)),
        "ping": lambda: (http2.frame(http2.PING, payload=b"12345678") for _ in range(count)),
        "continuation": lambda: [http2.frame(http2.HEADERS, 0, 1, b"")] + [http2.frame(http2.CONTINUATION, 0, 1, b"")] * count,
        "data": lambda: [open_stream] + [http2.frame(http2.DATA, 0, 1, b"")] * count,
        "window": lambda: [http2.frame(http2.WINDOW, 0, 0, b"\0\0\0\1")] * count,
        "priority": lambda: [http2.frame(http2.PRIORITY, 0, 1, b"\0\0\0\0\x10")] * count,
        "unknown": lambda: [http2.frame(0x55, 0, 0, b"x")] * count,
        # the server sends DATA frames of one byte for these
        "dribble": lambda: [http2.settings(initial_window=0), http2.request(1, SERVICE + "ListNodes")] + [
            http2.frame(http2.WINDOW, 0, 1, b"\0\0\0\1")] * count,
    }[kind]()


FLOODS = ("reset", "settings", "ping", "continuation", "data", "window", "priority", "unknown", "dribble")


def floods_end_their_connection():
    for kind in FLOODS:
        with fake(leaves=40) as server, channel(server.address) as c:
            Fabric(c).GetStatus()
            raw, sent, last = http2.Raw(server.address), 0, []
            reader = threading.Thread(target=lambda: last.extend(
                payload for k, _, _, payload in raw.frames() if k == http2.GOAWAY), daemon=True)
            reader.start()
            try:
                for piece in flood(kind, 30000):
                    raw.send(piece)
                    sent += 1
            except (BrokenPipeError, ConnectionResetError):
                pass
            reader.join(PATIENCE)
            raw.close()
            # nghttp2 ends a flood of CONTINUATION frames
            if kind != "continuation":
                assert last and int.from_bytes(last[-1][4:8], "big") == 11, (kind, last)
                assert last[-1][8:].startswith(b"too many HTTP/2 frames"), (kind, last)
                assert "sends too many HTTP/2 frames" in server.log(), server.log()
            assert sent < 30000, kind
            Fabric(c).GetStatus()


def normal_clients_are_no_flood():
    with fake(events=5) as server:
        address = server.address
        with channel(address, **{"grpc.keepalive_time_ms": 100, "grpc.keepalive_permit_without_calls": 1,
                                 "grpc.http2.max_pings_without_data": 0}) as c:
            f = Fabric(c)
            for _ in range(5000):
                f.GetStatus()
            for _ in range(20):
                for call in [f.WatchEvents() for _ in range(90)]:
                    next(call)
                    call.cancel()
            for _ in range(10):
                calls = [f.ListNodes(future=True) for _ in range(500)]
                assert all(call.result().nodes for call in calls)
            for _ in range(3):  # many calls that are cancelled before their answers
                for call in [f.Sweep(future=True) for _ in range(90)]:
                    call.cancel()
                time.sleep(0.5)
            time.sleep(1)
            f.GetStatus()
        with http2_raw(address) as raw:  # a client that sends a ping with each call, as grpc-go does
            for i in range(5000):
                raw.send(http2.request(2 * i + 1, SERVICE + "GetVersion") + http2.frame(
                    http2.PING, payload=b"12345678") + http2.frame(http2.WINDOW, payload=b"\0\0\x10\0"))
                for kind, flags, stream, _ in raw.stream:
                    assert kind != http2.GOAWAY
                    if kind == http2.HEADERS and stream == 2 * i + 1 and flags & http2.END_STREAM:
                        break
        assert " ends: " not in server.log(), server.log()


@contextlib.contextmanager
def tls_server():
    """Returns a server with TLS, and a function that makes a channel with its own connection for a certificate name."""
    ca = make_authority("floods")
    server_cert, certificates, port = make_certificate(ca, "server"), {}, free_port()
    env = {"TLS_CERT": server_cert + ".crt", "TLS_KEY": server_cert + ".key", "TLS_CA": ca + ".crt"}

    def connect(name):
        path = certificates.setdefault(name, None) or make_certificate(ca, name)
        certificates[name] = path
        credentials = grpc.ssl_channel_credentials(read(ca + ".crt"), read(path + ".key"), read(path + ".crt"))
        return grpc.secure_channel(f"localhost:{port}", credentials, [("grpc.use_local_subchannel_pool", 1)])

    with fake(address=f"tls:127.0.0.1:{port}", env=env) as server:
        yield server, connect


def one_client_cannot_take_all_connections():
    with tls_server() as (server, connect):
        watch = Fabric(connect("good")).WatchEvents()
        watch.initial_metadata()
        greedy = [connect("greedy") for _ in range(135)]
        calls = []
        for c in greedy:
            calls.append(Fabric(c).WatchEvents())
            if len(calls) % 30 == 0:  # if more handshakes came at once, a slow server would refuse some
                calls[-1].initial_metadata()
        # the greedy client gets the 127 free places; its further connections are refused
        wait_until(lambda: "a connection of certificate of greedy ends: too many connections" in server.log())
        with connect("good") as c, connect("other") as d:
            Fabric(c).GetStatus(timeout=PATIENCE)
            Fabric(d).GetStatus(timeout=PATIENCE)
        assert watch.is_active()
        assert "a connection of certificate of good" not in server.log(), server.log()
        assert sum(call.is_active() for call in calls) > 100
        for c in greedy:
            c.close()


def few_descriptors_lock_no_local_user_out():
    for most in (90, 50, 34):
        path = socket_path()
        env = {"SERVER": os.path.join(BUILD, "tests/rpc/rpc_server"), "PLACE": "unix:" + path, "MOST": str(most)}
        command = ["sh", "-c", 'ulimit -n "$MOST" && exec "$SERVER" "$PLACE" 4 2 4 20 5']
        with running(command, said_ready, env) as server:
            silent = [socket.socket(socket.AF_UNIX) for _ in range(120)]
            for s in silent:
                s.settimeout(0.5)
                with contextlib.suppress(BlockingIOError, socket.timeout, OSError):
                    s.connect(path)
            idle = []
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                for _ in range(120):
                    idle.append(http2.Raw("unix:" + path))
            with channel("unix:" + path) as c:  # until the backlog of the socket is empty
                wait_until(lambda: Fabric(c).GetStatus(timeout=1))
            for _ in range(20):
                with channel("unix:" + path, **{"grpc.use_local_subchannel_pool": 1}) as c:
                    Fabric(c).GetStatus(timeout=PATIENCE)
            assert descriptors(server) <= most
            assert "no client can be accepted" not in server.log(), server.log()
            for s in silent + [r.socket for r in idle]:
                s.close()


def an_address_has_a_rate_of_connections():
    with tls_server() as (server, connect):
        port, silent = int(server.address.rsplit(":", 1)[1]), []
        for _ in range(400):
            s = socket.socket()
            s.bind(("127.0.0.2", 0))
            s.connect(("127.0.0.1", port))
            silent.append(s)
        wait_until(lambda: "a connection of 127.0.0.2 ends: its address opens too many" in server.log())
        for _ in range(30):
            with connect("good") as c:
                Fabric(c).GetStatus()
        for s in silent:
            s.close()


def one_client_cannot_have_all_calls():
    with tls_server() as (server, connect):
        channels = [connect("greedy") for _ in range(5)]
        calls = [Fabric(channels[i % 5]).WatchEvents() for i in range(400)]
        for call in calls:
            call.initial_metadata()
        said = fails(grpc.StatusCode.RESOURCE_EXHAUSTED, Fabric(channels[0]).GetStatus)
        assert said.startswith("refused: certificate of greedy already has 400 calls in progress"), said
        with connect("good") as c:
            Fabric(c).GetStatus()
        for call in calls[:5]:
            call.cancel()
        wait_until(lambda: Fabric(channels[0]).GetStatus())
        assert all(call.is_active() for call in calls[5:])
        for c in channels:
            c.close()


@contextlib.contextmanager
def http2_raw(address):
    raw = http2.Raw(address)
    raw.stream = raw.frames()
    yield raw
    raw.close()


main([
    an_address_has_a_rate_of_connections,
    few_descriptors_lock_no_local_user_out,
    one_client_cannot_take_all_connections,
    one_client_cannot_have_all_calls,
    floods_end_their_connection,
    normal_clients_are_no_flood,
    slow_headers_end_after_half_a_minute,
])
