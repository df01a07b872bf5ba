"""TLS: files that change while fabricd runs, and clients that never finish the handshake."""

import collections
import contextlib
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.request

import grpc

import http2
from harness import (BUILD, PATIENCE, Fabric, channel, descriptors, fails, free_port, main, make_authority, make_certificate,
                     openssl, read, wait_until)
from place import TlsPlace, reload, revoke

Code = grpc.StatusCode
STREAMS = 50


class Stream:
    """A stream of events over its own connection."""

    def __init__(self, place, certificate):
        self.channel = place.client(certificate)
        self.open, self.seen, self.ended = False, 0, None
        self.call = Fabric(self.channel).WatchEvents()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            self.call.initial_metadata()
            self.open = True
            for _ in self.call:
                self.seen += 1
            self.ended = Code.OK
        except grpc.RpcError as e:
            self.ended = e.code()

    def close(self):
        self.channel.close()
        self.thread.join(PATIENCE)


class Flood:
    """Silent connections from four addresses, until it is closed."""

    def __init__(self, port, held, a_second=0):
        self.port, self.made, self.ended = port, 0, False
        self.held = collections.deque(maxlen=held)
        for _ in range(held):
            self.connect()
        self.thread = threading.Thread(target=self.go_on, args=(a_second,), daemon=True)
        if a_second:
            self.thread.start()

    def connect(self):
        s = socket.socket()
        s.bind((f"127.0.0.{2 + self.made % 4}", 0))
        s.connect(("127.0.0.1", self.port))
        self.held.append(s)
        self.made += 1

    def go_on(self, a_second):
        begun, count = time.monotonic(), 0
        while not self.ended:
            while count < (time.monotonic() - begun) * a_second:
                self.connect()
                count += 1
            time.sleep(0.002)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended = True
        if self.thread.is_alive():
            self.thread.join(PATIENCE)
        for s in self.held:
            s.close()


def silent_connections_lock_nobody_out():
    place = TlsPlace()
    place.settings()
    good = make_certificate(place.ca, "good")
    with place.daemon() as p, channel(place.address) as old:
        before = descriptors(p)
        for how in ({"held": 300}, {"held": 300, "a_second": 1000}):
            with Flood(place.port, **how) as flood:
                for _ in range(20):
                    Fabric(old).GetStatus()
                    with channel(place.address) as new:
                        Fabric(new).GetStatus()
                    assert place.status(good) == Code.OK
                assert descriptors(p) < before + 100, descriptors(p)
        assert flood.made > 300, "the flood did not run"
        assert p.log().count("too many TLS handshakes are pending") == 1


def new_files_serve_new_connections_and_drop_nobody():
    place = TlsPlace()
    place.settings()
    good, bad = make_certificate(place.ca, "good"), make_certificate(place.ca, "bad")
    with place.daemon() as fabricd:
        streams = [Stream(place, bad if i % 10 == 0 else good) for i in range(STREAMS)]
        try:
            wait_until(lambda: all(s.open for s in streams))

            # a certificate of the manager from another authority, which clients do not know yet
            other = make_authority("other")
            place.install(place.ca, make_certificate(other, "server"))
            reload(fabricd, "reloaded")
            assert place.status(good, other) == Code.OK
            assert place.status(good, place.ca) == Code.UNAVAILABLE
            assert not [s.ended for s in streams if s.ended]

            # a second authority for clients in addition to the first one, as during a change of the authority
            with open(place.path("ca.pem"), "ab") as f:
                f.write(read(other + ".crt"))
            reload(fabricd, "reloaded")
            assert place.status(make_certificate(other, "new"), other) == place.status(good, other) == Code.OK
            assert not [s.ended for s in streams if s.ended]

            # broken files change nothing
            with open(place.path("key.pem"), "w") as f:
                f.write("no key\n")
            reload(fabricd, "the old settings stay active")
            assert place.path("key.pem") in fabricd.log(), fabricd.log()
            wait_until(lambda: place.audited("reload")[0]["result"] != "OK")  # the store writes it later
            newest = place.audited("reload")[0]
            assert newest["result"] == "FAILED_PRECONDITION", newest
            assert newest["message"].startswith("refused: TLS key " + place.path("key.pem")), newest
            assert place.status(good, other) == Code.OK
            place.install(place.ca, make_certificate(place.ca, "server"))
            os.chmod(place.path("key.pem"), 0o644)
            reload(fabricd, "the old settings stay active")
            assert "run 'chmod o= " in fabricd.log(), fabricd.log()
            os.chmod(place.path("key.pem"), 0o600)

            # a revocation list ends the connections of the client that it names, and no other connections
            revoke(place)
            place.settings(crl=True)
            reload(fabricd, "reloaded")
            assert place.status(bad) == Code.OK
            revoke(place, bad)
            reload(fabricd, "reloaded")
            wait_until(lambda: all(s.ended == Code.UNAVAILABLE for s in streams[::10]))
            assert place.status(bad) == Code.UNAVAILABLE and place.status(good) == Code.OK
            assert "is closed: certificate revoked" in fabricd.log(), fabricd.log()
            seen = [s.seen for s in streams]
            with place.client(good) as c:
                Fabric(c).DisablePort(node="leaf-002", port_number=1)
            wait_until(lambda: all(s.seen > n for i, (s, n) in enumerate(zip(streams, seen)) if i % 10))
            assert not [s.ended for i, s in enumerate(streams) if i % 10 and s.ended]
        finally:
            for s in streams:
                s.close()


def another_authority_replaces_the_clients():
    place = TlsPlace()
    place.settings()
    good = make_certificate(place.ca, "good")
    with place.daemon() as fabricd:
        stream = Stream(place, good)
        wait_until(lambda: stream.open)
        other = make_authority("next")
        place.install(other, make_certificate(place.ca, "server"))
        reload(fabricd, "reloaded")
        wait_until(lambda: stream.ended == Code.UNAVAILABLE)
        stream.close()
        assert place.status(good) == Code.UNAVAILABLE
        assert place.status(make_certificate(other, "good"), place.ca) == Code.OK


def refused_certificates_are_recorded():
    """The clients are the gRPC library for Python, and fabricctl, which prints the reason."""
    place = TlsPlace()
    place.settings(crl=True)
    good, bad = make_certificate(place.ca, "good"), make_certificate(place.ca, "bad")
    expired = make_certificate(place.ca, "old", days=-1)
    foreign = make_certificate(make_authority("foreign"), "root")
    revoke(place, bad)
    with place.daemon():
        for certificate, name, why, told in (
                (bad, "bad", "certificate revoked", "it is revoked"),
                (expired, "old", "certificate has expired", "it has expired or is not valid yet"),
                (foreign, "root", "unable to get local issuer certificate", "unknown CA")):
            assert not [r for r in place.audited("connect") if r["account"].endswith(" of " + name)]
            assert place.status(certificate, place.ca) == Code.UNAVAILABLE
            row, *_ = wait_until(lambda: [r for r in place.audited("connect")
                                          if r["account"] == "refused certificate of " + name])
            for _ in range(20):
                said = place.complaint(certificate)
                assert f"the manager does not trust this certificate: {told}\n" in said, said
            assert row["result"] == "UNAUTHENTICATED" and row["source"] == "tls, 127.0.0.1", row
            assert row["message"].startswith(f"the certificate is not accepted: {why}; subject CN={name}, "), row
        assert place.status(good) == Code.OK
        assert not [r for r in place.audited("connect") if r["account"].endswith(" of good")]


def clients_without_tls_are_logged_but_not_all():
    """20 messages at once, then one in 5 s, which says how many clients were left out."""
    place = TlsPlace()
    place.settings()
    told = lambda p: re.findall(r"a TLS client at 127\.0\.0\.\d was turned away: (.*)", p.log())

    def greet(n):
        with socket.socket() as s:
            s.settimeout(PATIENCE)
            s.bind((f"127.0.0.{2 + n % 4}", 0))
            s.connect(("127.0.0.1", place.port))
            s.sendall(b"GET / HTTP/1.1\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                while s.recv(4096):
                    pass

    with place.daemon() as p:
        greet(0)
        begun = time.monotonic()
        wait_until(lambda: len(told(p)) == 1)
        assert told(p)[0] == "http request", told(p)
        for n in range(1, 30):
            greet(n)
        wait_until(lambda: len(told(p)) >= 20)
        if time.monotonic() < begun + 4:
            assert len(told(p)) == 20, told(p)
            assert set(told(p)) == {"http request"}, told(p)
        time.sleep(5.5)
        greet(0)
        more = [text for text in wait_until(lambda: told(p)[20:]) if ";" in text]
        assert re.fullmatch(r"http request; \d+ more since the last such message", more[0]), more
        assert sum(int(re.search(r"; (\d+) more", text)[1]) for text in more) + len(told(p)) == 31, told(p)


def a_certificate_without_a_role_only_reads():
    place = TlsPlace()
    place.settings()
    good, nobody = make_certificate(place.ca, "good"), make_certificate(place.ca, "nobody")
    with place.daemon(), place.client(nobody) as c, place.client(good) as operator:
        assert Fabric(c).GetStatus(timeout=PATIENCE).status.generation > 0
        said = fails(Code.PERMISSION_DENIED, Fabric(c).DisablePort, node="leaf-002", port_number=1)
        assert said.startswith("refused: certificate of nobody has the role viewer, and DisablePort needs"), said
        Fabric(operator).DisablePort(node="leaf-002", port_number=1)
        rows = wait_until(lambda: len(place.audited("DisablePort")) > 1 and place.audited("DisablePort"))
        assert [(r["account"], r["result"], r["source"]) for r in rows] == [
            ("certificate of good", "OK", "tls, 127.0.0.1"),
            ("certificate of nobody", "PERMISSION_DENIED", "tls, 127.0.0.1")], rows


def dated(place, name, begin_days, end_days):
    """Makes a certificate for the manager that is valid between these days from today."""
    path, config = place.path(name), place.path("dated.cnf")
    open(place.path("dated.txt"), "w").close()
    with open(config, "w") as f:
        f.write(f"[ca]\ndefault_ca=d\n[d]\ndatabase={place.path('dated.txt')}\nnew_certs_dir={place.folder}\n"
                "rand_serial=yes\ndefault_md=sha256\npolicy=p\nx509_extensions=e\n[p]\ncommonName=supplied\n"
                "[e]\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n")
    begin, end = (time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + 86400 * d)) for d in (begin_days, end_days))
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout",
            path + ".key", "-out", path + ".csr")
    openssl("ca", "-batch", "-notext", "-config", config, "-cert", place.ca + ".crt", "-keyfile", place.ca + ".key",
            "-startdate", begin, "-enddate", end, "-in", path + ".csr", "-out", path + ".crt")
    return path


class Slow:
    """A TLS client that waits in the middle of its handshake."""

    def __init__(self, place, certificate):
        context = ssl.create_default_context(cafile=place.ca + ".crt")
        context.load_cert_chain(certificate + ".crt", certificate + ".key")
        context.set_alpn_protocols(["h2"])
        self.received, self.sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.received, self.sent, server_hostname="localhost")
        self.socket = socket.create_connection(("127.0.0.1", place.port))
        self.socket.settimeout(PATIENCE)
        self.step(self.tls.do_handshake)

    def step(self, function):
        """Calls a function of the TLS client. Returns its result, or None if it waits for the server."""
        try:
            return function()
        except ssl.SSLWantReadError:
            return None
        finally:
            self.socket.sendall(self.sent.read())

    def until(self, function):
        while (result := self.step(function)) is None:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionResetError
            self.received.write(more)
        return result

    def finish(self):
        """Completes the handshake. Returns True if the server then serves HTTP/2."""
        try:
            self.until(lambda: self.tls.do_handshake() or True)
            self.step(lambda: self.tls.write(http2.PREFACE + http2.settings()))
            return len(self.until(lambda: self.tls.read(1))) == 1
        except (ssl.SSLError, ConnectionError):
            return False
        finally:
            self.socket.close()


def threads(process):
    names = []
    for task in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{task}/comm") as f:
            names.append(f.read().strip())
    return names


def a_handshake_may_last_over_a_reload():
    place = TlsPlace()
    place.settings()
    good, bad = make_certificate(place.ca, "good"), make_certificate(place.ca, "bad")
    with place.daemon() as fabricd, channel("unix:" + place.path("s")) as local:
        assert {"fabricd", "fabricd-tls", "fabricd-writer"} <= set(threads(fabricd)), threads(fabricd)
        slow = [Slow(place, bad if i % 2 else good) for i in range(6)]
        for _ in range(10):
            Fabric(local).GetStatus()
            assert place.status(good) == Code.OK
        assert slow[0].finish() and slow[1].finish()
        revoke(place, bad)
        place.settings(crl=True)
        reload(fabricd, "reloaded")
        assert slow[2].finish() and not slow[3].finish()
        wait_until(lambda: "the connection of certificate of bad is closed: certificate revoked" in fabricd.log())
        # the daemon ends while the last two are pending (Place.daemon checks its exit status)
    for s in slow[4:]:
        assert not s.finish()


def limited(port, limit):
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE).read().decode()
    return int(re.search(r'rpc_limited_total{limit="%s"} (\d+)' % limit, text).group(1))


def has_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def place_with_metrics():
    place, port = TlsPlace(), free_port()
    place.settings()
    with open(place.path("f.yaml"), "a") as f:
        f.write(f"metrics: {{listen: 127.0.0.1:{port}}}\n")
    return place, port


def connect_from(address, place):
    s = socket.socket()
    s.bind((address, 0))
    s.connect(("127.0.0.1", place.port))
    return s


def the_rate_of_an_address_holds_among_many_others():
    """An address may open 200 connections at once, and 20 in each second. The test computes from the time that it took how
    many were allowed, and connects until at least 100 must have been refused."""
    place, port = place_with_metrics()
    good = make_certificate(place.ca, "good")

    def connect(addresses):
        for address in addresses:
            connect_from(address, place).close()
        # Connections are accepted in their order: when this one is answered, those before it were accepted or refused.
        wait_until(lambda: place.status(good) == Code.OK)

    # at an IPv6 address, the kernel maps IPv4 addresses to IPv6 addresses
    with place.daemon(host="[::]" if has_ipv6() else "127.0.0.1"):
        begun, made = time.monotonic(), 200
        connect(["127.0.0.2"] * made)
        connect(f"127.0.1.{1 + i}" for i in range(200))
        # Of the other addresses, 1 in 4096 has the bucket of the first one; 6 of 200 have it in 1 of 10^11 runs.
        assert limited(port, "rate") <= 5
        while made < 300 + 20 * (time.monotonic() - begun):
            assert made < 20000, "the test connects too slowly"
            connect(["127.0.0.2"] * 100)
            made += 100
        assert made - limited(port, "rate") <= 201 + 20 * (time.monotonic() - begun)


def known_addresses_keep_their_handshakes():
    place, port = place_with_metrics()
    good = make_certificate(place.ca, "good")

    def outlives_a_flood():
        """Starts a handshake, and continues it after 200 other addresses have connected. Returns True if it can then be
        completed."""
        before, slow = limited(port, "handshakes"), Slow(place, good)
        others = [connect_from(f"127.0.2.{1 + i}", place) for i in range(200)]
        wait_until(lambda: limited(port, "handshakes") >= before + 130)
        result = slow.finish()
        for s in others:
            s.close()
        return result

    with place.daemon():
        assert not outlives_a_flood()
        assert place.status(good) == Code.OK
        assert outlives_a_flood()


def a_reload_that_waits_delays_nobody():
    place = TlsPlace()
    place.settings()
    with open(place.path("f.yaml")) as f:
        text = f.read()
    with place.daemon() as fabricd, channel("unix:" + place.path("s")) as local:
        os.unlink(place.path("f.yaml"))
        os.mkfifo(place.path("f.yaml"))  # the daemon waits for its settings until this test writes them
        fabricd.send_signal(signal.SIGHUP)
        wait_until(lambda: "fabricd-block" in threads(fabricd))
        for _ in range(20):
            Fabric(local).GetStatus(timeout=5)
        assert "reloaded" not in fabricd.log()
        with open(place.path("f.yaml"), "w") as f:
            f.write(text)
        wait_until(lambda: "reloaded " in fabricd.log())


def files_that_expire_are_told():
    place = TlsPlace()
    port = free_port()
    place.settings()
    with open(place.path("f.yaml"), "a") as f:
        f.write(f"metrics: {{listen: 127.0.0.1:{port}}}\n")

    def events(kind):
        return [e.message for e in f.ListEvents(page_size=1000).events if e.type == kind]

    def alarm():
        return f.GetStatus().status.certificate_alarm

    place.install(place.ca, dated(place, "soon", -200, 20.5))
    with place.daemon() as p, channel(place.address) as c:
        f = Fabric(c)
        said = f"{place.path('cert.pem')} (tls.cert) expires at "
        assert alarm().startswith(said) and alarm().endswith("(20 days left)"), alarm()
        assert len(events("certificate-expiring")) == 1 and events("certificate-expiring")[0] == alarm()
        shown = subprocess.run([os.path.join(BUILD, "cli/fabricctl"), "-s", place.address, "status"],
                               capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
        assert f"Certificates: {alarm()}; replace the file and run 'systemctl reload fabricd'\n" in shown, shown
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE).read().decode()
        at = float(re.search(r'tls_expiry_timestamp_seconds{file="cert"} (\d+)', text).group(1))
        assert abs(at - time.time() - 20.5 * 86400) < 600, text
        assert 'tls_expiry_timestamp_seconds{file="ca"}' in text and 'seconds{file="crl"}' not in text, text

        # the same file again: nothing new; an expired one; a short-lived one
        reload(p, "reloaded")
        assert len(events("certificate-expiring")) == 1
        place.install(place.ca, dated(place, "gone", -2, -1))
        reload(p, "reloaded")
        assert f"{place.path('cert.pem')} (tls.cert) expired at " in alarm(), alarm()
        assert len(events("certificate-expired")) == 1
        place.install(place.ca, dated(place, "short", -1, 2))
        reload(p, "reloaded")
        assert alarm() == "", alarm()
        assert (len(events("certificate-expiring")), len(events("certificate-expired"))) == (1, 1)


main([
    files_that_expire_are_told,
    refused_certificates_are_recorded,
    clients_without_tls_are_logged_but_not_all,
    a_certificate_without_a_role_only_reads,
    new_files_serve_new_connections_and_drop_nobody,
    another_authority_replaces_the_clients,
    silent_connections_lock_nobody_out,
    a_handshake_may_last_over_a_reload,
    a_reload_that_waits_delays_nobody,
    known_addresses_keep_their_handshakes,
    the_rate_of_an_address_holds_among_many_others,
])
