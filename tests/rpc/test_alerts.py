"""Alerts of fabricd by webhook and syslog: to servers that are slow, refuse, answer with errors or hang, and over
HTTPS. The URL of a webhook, which can have a secret, is shown nowhere."""

import contextlib
import http.server
import json
import os
import socket
import ssl
import subprocess
import threading
import time
import urllib.request

from harness import PATIENCE, SLACK, free_port, main, make_authority, make_certificate, wait_until
from place import FABRICD, Place

TOKEN = "T0ken-of-the-webhook"


class Receiver:
    """A webhook server. `status` is what it answers; `delay` is how long it waits before it answers."""

    def __init__(self, port=0, certificate=None):
        self.requests, self.status, self.delay, self.more = [], 200, 0, {}
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((time.monotonic(), self.path, self.headers, json.loads(body), receiver.status))
                time.sleep(receiver.delay)
                with contextlib.suppress(OSError):
                    self.send_response(receiver.status)
                    for name, value in receiver.more.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", "2")
                    self.end_headers()
                    self.wfile.write(b"ok")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate + ".crt", certificate + ".key")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path=f"/hook/{TOKEN}", scheme="http", host="127.0.0.1"):
        return f"{scheme}://{host}:{self.port}{path}"

    def alerts(self, status=200):
        """The alerts of all requests that got this status."""
        return [a for *_, body, answered in self.requests if answered == status for a in body["alerts"]]

    def types(self, status=200):
        return [a["type"] for a in self.alerts(status)]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class AlertPlace(Place):
    def settings(self, *alerts):
        self.metrics_port = free_port()
        self.write("f.yaml", json.dumps({"alerts": alerts, "metrics": {"listen": f"127.0.0.1:{self.metrics_port}"}}))

    def metric(self, name, target=0):
        page = urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=PATIENCE).read().decode()
        return int(next(line for line in page.splitlines()
                        if line.startswith(f'fabricd_alerts_{name}{{target="alerts[{target}]"}}')).split()[-1])

    def fault(self):
        self.ctl("sim", "unlink", "leaf-001/3")
        self.ctl("sim", "relink", "leaf-001/3")

    def events(self, kind):
        return json.loads(self.ctl("event", "list", "--type", kind, "-o", "json"))["events"]


def alerts_arrive_in_groups():
    all_of_them, links = Receiver(), Receiver()
    place = AlertPlace()
    place.settings({"webhook": all_of_them.url(), "min_severity": "info"},
                   {"webhook": links.url("/links"), "types": ["link-d*", "node-removed"]})
    with place.daemon():
        wait_until(lambda: "tables-published" in all_of_them.types())
        place.fault()
        place.ctl("sim", "unlink", "host-0002")
        wait_until(lambda: all_of_them.types().count("link-up") >= 1 and "node-removed" in links.types())
        time.sleep(1.5)
        times = [when for when, *_ in all_of_them.requests]
        assert all(b - a > 0.9 for a, b in zip(times, times[1:])), times
        assert len(all_of_them.alerts()) > len(times), "several alerts in a request"
        sequences = [a["sequence"] for a in all_of_them.alerts()]
        assert sequences == sorted(set(sequences)), sequences
        assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
        assert set(links.types()) == {"link-down", "node-removed"}, links.types()
        _, path, headers, body, _ = all_of_them.requests[0]
        assert path == f"/hook/{TOKEN}" and headers["Content-Type"] == "application/json"
        assert headers["User-Agent"].startswith("fabricd/")
        assert body["version"] == 1 and body["manager"] == socket.gethostname() and body["lost"] == 0
        down = next(a for a in links.alerts() if a["type"] == "link-down")
        assert down["severity"] == "warning" and down["subject"].count("/") == 1 and down["remedy"], down
        assert down["guid"].startswith("0x") and down["fields"]["peer_guid"].startswith("0x"), down
        assert down["message"] == f"link {down['subject']} - {down['fields']['peer']} is down", down
        assert place.metric("sent_total") == len(all_of_them.alerts()) and place.metric("lost_total") == 0
    all_of_them.close()
    links.close()


def a_failing_server_gets_its_alerts_later():
    failing, other = Receiver(), Receiver()
    failing.status = 500
    place = AlertPlace()
    place.settings({"webhook": failing.url(), "min_severity": "info", "types": ["link-*", "alerts-*"]},
                   {"webhook": other.url(), "min_severity": "info", "types": ["alerts-*"]})
    with place.daemon() as daemon:
        place.fault()
        wait_until(lambda: place.metric("failing") == 1)
        wait_until(lambda: "alerts-failing" in other.types())
        told = other.alerts()[-1]
        assert told["subject"] == "alerts[0]" and "500" in told["message"], told
        assert place.metric("queued") > 0 and place.metric("sent_total") == 0
        failing.status = 200
        wait_until(lambda: "alerts-recovered" in other.types())
        assert "link-down" in failing.types() and "link-up" in failing.types(), failing.types()
        assert "alerts-failing" not in failing.types()
        assert place.metric("failing") == 0 and place.metric("lost_total") == 0
        tries = [when for when, *_, status in failing.requests if status == 500]
        assert all(b - a > 1.5 for a, b in zip(tries, tries[1:])), "the pauses grow"
        assert TOKEN not in daemon.log(), daemon.log()
    failing.close()
    other.close()


def a_refused_request_is_lost():
    receiver = Receiver()
    receiver.status = 400
    place = AlertPlace()
    place.settings({"webhook": receiver.url(), "types": ["link-down"]})
    with place.daemon():
        place.fault()
        wait_until(lambda: place.metric("lost_total") == 1)
        receiver.status = 200
        place.fault()
        wait_until(lambda: receiver.types() == ["link-down"])
        assert receiver.requests[-1][3]["lost"] == 1, receiver.requests[-1]
        wait_until(lambda: place.events("alerts-lost"))
    receiver.close()


def a_hanging_server_delays_nothing():
    slow, quick = Receiver(), Receiver()
    slow.delay = 60
    place = AlertPlace()
    place.settings({"webhook": slow.url(), "min_severity": "info"}, {"webhook": quick.url(), "min_severity": "info"})
    with place.daemon() as daemon:
        wait_until(lambda: slow.requests)
        for _ in range(10):
            before = time.monotonic()
            place.fault()
            assert time.monotonic() - before < 2 * SLACK
        wait_until(lambda: quick.types().count("link-down") >= 2)
        before = time.monotonic()
        daemon.terminate()
        assert daemon.wait(PATIENCE) == 0
        assert time.monotonic() - before < 4 * SLACK, "the manager stops although a request hangs"
    slow.close()
    quick.close()


def redirects_and_long_answers_are_not_followed():
    away, receiver = Receiver(), Receiver()
    receiver.status, receiver.more = 302, {"Location": away.url("/away")}
    place = AlertPlace()
    place.settings({"webhook": receiver.url(), "types": ["link-down"]})
    with place.daemon():
        place.fault()
        wait_until(lambda: len(receiver.requests) >= 2)
        assert not away.requests
    away.close()
    receiver.close()


def https_checks_the_authority():
    authority, other = make_authority("alerts"), make_authority("others")
    receiver = Receiver(certificate=make_certificate(authority, "server"))
    place = AlertPlace()
    place.settings({"webhook": receiver.url(scheme="https", host="localhost"), "ca": authority + ".crt",
                    "types": ["link-down"]},
                   {"webhook": receiver.url("/wrong", scheme="https", host="localhost"), "ca": other + ".crt",
                    "types": ["link-down"]})
    with place.daemon():
        place.fault()
        wait_until(lambda: receiver.types() == ["link-down"])
        wait_until(lambda: place.events("alerts-failing"))
        failing = place.events("alerts-failing")[0]
        assert failing["subject"] == "alerts[1]" and "certificate" in failing["message"].lower(), failing
        assert all(path != "/wrong" for _, path, *_ in receiver.requests)
    receiver.close()


def urls_are_secret():
    place = AlertPlace()
    port = free_port()  # nobody listens
    place.write("url", f"http://user:{TOKEN}@127.0.0.1:{port}/{TOKEN}\n")
    place.settings({"webhook": "file:" + place.path("url"), "types": ["link-down"]},
                   {"webhook": f"http://127.0.0.1:{port}/?token={TOKEN}", "types": ["link-down"]})
    with place.daemon() as daemon:
        place.fault()
        wait_until(lambda: len(place.events("alerts-failing")) == 2)
        settings = place.ctl("diagnostics", "settings")
        assert "alerts[0].webhook: file:" in settings and "alerts[1].webhook: (not shown)" in settings, settings
        place.settings({"webhook": f"http://127.0.0.1:{port}/?token={TOKEN}2"})
        daemon.send_signal(1)
        wait_until(lambda: "change of alerts takes effect at the next start" in daemon.log())
        shown = daemon.log() + place.ctl("event", "list") + place.ctl("diagnostics") + place.ctl("audit", "list")
        assert TOKEN not in shown, shown
    os.chmod(place.path("url"), 0o644)
    place.settings({"webhook": "file:" + place.path("url")})
    assert "other users can read this file" in mistake(place), mistake(place)


def mistake(place):
    done = subprocess.run([FABRICD, "--check-config", "-f", place.path("f.yaml")], capture_output=True, text=True)
    assert done.returncode == 1, done
    return done.stderr


def mistakes_have_their_place():
    place = AlertPlace()
    for entry, text in (({}, "alerts[0]: expected either webhook or 'syslog: yes' in each entry"),
                        ({"webhook": "https://h/", "syslog": "yes"}, "alerts[0]: expected either webhook"),
                        ({"syslog": "yes", "ca": "/x"}, "ca is only for a webhook"),
                        ({"syslog": "maybe"}, "alerts[0].syslog is 'maybe', expected yes or no"),
                        ({"webhook": f"ftp://{TOKEN}"}, "alerts[0].webhook: expected https://HOST/PATH"),
                        ({"webhook": f"http:///{TOKEN}"}, "alerts[0].webhook: expected https://HOST/PATH"),
                        ({"webhook": f"http://h/ {TOKEN}"}, "alerts[0].webhook: expected https://HOST/PATH"),
                        ({"webhook": "file:/nowhere/url"}, "alerts[0].webhook: /nowhere/url"),
                        ({"webhook": "https://h/", "min_severity": "high"},
                         "alerts[0].min_severity is 'high', expected info, warning or error"),
                        ({"webhook": "https://h/", "types": ["link-down", "lnk-*"]},
                         "alerts[0].types[1] is 'lnk-*', expected an event type")):
        place.settings(entry)
        assert text in mistake(place) and TOKEN not in mistake(place), (entry, mistake(place))


def syslog_gets_alerts():
    """In a mount namespace with a /dev of its own, whose log is a socket of this test."""
    place = AlertPlace()
    place.settings({"syslog": "yes", "types": ["link-*"]})
    dev = place.path("dev")
    os.mkdir(dev)
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind(os.path.join(dev, "log"))
    log.settimeout(PATIENCE)
    script = f"for f in null zero random urandom; do touch {dev}/$f; mount --bind /dev/$f {dev}/$f || exit 77; done; " \
             f"mount --rbind {dev} /dev || exit 77; "
    if subprocess.run(["unshare", "-rm", "sh", "-c", script + "exit 0"], capture_output=True).returncode != 0:
        return  # no namespaces here
    wrapper = place.path("fabricd")
    place.write("fabricd", f"#!/bin/sh\nexec unshare -rm sh -c '{script}exec \"$0\" \"$@\"' {FABRICD} \"$@\"\n", 0o755)
    import place as module
    module.FABRICD, kept = wrapper, module.FABRICD
    try:
        with place.daemon():
            place.fault()
            text = log.recv(4096).decode()
            assert text.startswith("<28>") and " fabricd[" in text, text  # daemon.warning
            assert "link-down: link leaf-001/3 - " in text, text
    finally:
        module.FABRICD = kept


main([alerts_arrive_in_groups, a_failing_server_gets_its_alerts_later, a_refused_request_is_lost,
      a_hanging_server_delays_nothing, redirects_and_long_answers_are_not_followed, https_checks_the_authority,
      urls_are_secret, mistakes_have_their_place, syslog_gets_alerts])
