"""fabricd-ib-kubernetes: the calls that the plug-in "ufm" of ib-kubernetes makes, in its form, with fabricd on its
simulated fabric. The P_Key tables of the devices must follow."""

import base64
import concurrent.futures
import http.client
import json
import re
import signal
import socket
import ssl
import subprocess
import sys

from harness import PATIENCE, main, make_authority, make_certificate, running, wait_until
from place import Place
from python_client import environment, skip_or_install

skip_or_install()

PASSWORD = "k8s:correct horse"
POLICY = "partitions:\n  - {name: Default, pkey: 0x7fff, ipoib: yes, full: [ALL]}\n  - {name: own, pkey: 0x22}\n"
# A GUID of the pool of ib-kubernetes, which no port has.
VIRTUAL = "0200000000000001"


class Plugin:
    """Makes the calls as the plug-in does: Basic authentication, and JSON with upper-case P_Keys."""

    def __init__(self, port, context=None, password=PASSWORD):
        self.port, self.context = port, context
        self.headers = {"Authorization": "Basic " + base64.b64encode(password.encode()).decode(),
                        "Content-Type": "application/json; charset=utf-8"}

    def call(self, method, path, body="", status=200, headers=None):
        connection = (http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE, context=self.context)
                      if self.context else http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE))
        try:
            connection.request(method, path, body, self.headers if headers is None else headers)
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == status, (method, path, body, answer.status, text)
            return json.loads(text)
        finally:
            connection.close()

    def validate(self):
        return self.call("GET", "/ufmRest/app/ufm_version")

    def add(self, pkey, *guids, status=200, more='"index0": true, "ip_over_ib": true, "membership": "full"'):
        names = ",".join(f'"{guid}"' for guid in guids)
        return self.call("POST", "/ufmRest/resources/pkeys",
                         '{"pkey": "0x%04X", %s, "guids": [%s]}' % (pkey, more, names), status)

    def remove(self, pkey, *guids, status=200):
        names = ",".join(f'"{guid}"' for guid in guids)
        return self.call("POST", "/ufmRest/actions/remove_guids_from_pkey",
                         '{"pkey": "0x%04X", "guids": [%s]}' % (pkey, names), status)

    def list(self):
        """Returns {GUID: P_Key}, as the plug-in reads it."""
        answer = self.call("GET", "/ufmRest/resources/pkeys/?guids_data=true")
        return {guid["guid"]: pkey for pkey in answer for guid in answer[pkey]["guids"]}


def program(place, *arguments):
    place.write("passwords", PASSWORD + "\n")
    command = [sys.executable, "-m", "fabricd.ib_kubernetes", "--listen", "127.0.0.1:0", "--password-file",
               place.path("passwords"), *arguments]

    def ready(process):
        line = process.stdout.readline().decode()
        assert line.startswith("listening on 127.0.0.1:"), line + process.log()
        process.address = int(line.rpartition(":")[2])

    return running(command, ready, env=environment(place))


def members(place, pkey):
    name = f"ib-kubernetes-{pkey:#06x}"
    if name not in names(place):
        return None
    return sorted(m["node"] for m in json.loads(place.ctl("partition", "show", name, "-o", "json"))["members"])


def names(place):
    return [p["name"] for p in json.loads(place.ctl("partition", "list", "-o", "json"))["partitions"]]


def guid_of(place, host):
    return re.sub("^0x", "", json.loads(place.ctl("node", "show", host, "-o", "json"))["port_guid"])


def pods_get_pkeys():
    place = Place()
    place.write("f.yaml", "")
    place.write("policy.yaml", POLICY)
    with place.daemon():
        place.rest()
        place.ctl("apply", place.path("policy.yaml"), "--yes")
        one, two = guid_of(place, "host-0001"), guid_of(place, "host-0002")
        with program(place) as process:
            plugin = Plugin(process.address)
            assert "fabricd" in plugin.validate()["ufm_release_version"] and plugin.list() == {}
            assert plugin.add(0x11, one, two) == {}
            wait_until(lambda: members(place, 0x11) == ["host-0001", "host-0002"])
            plugin.add(0x11, one)  # ib-kubernetes repeats a call
            plugin.add(0x12, VIRTUAL, two)
            assert plugin.list() == {one: "0x0011", VIRTUAL: "0x0012", two: "0x0012"}, plugin.list()
            versions = json.loads(place.ctl("policy", "history", "-o", "json"))["versions"]
            assert len(versions) == 3 and "P_Key 0x0012" in versions[0]["reason"], versions
            plugin.remove(0x11, one)
            wait_until(lambda: members(place, 0x11) == ["host-0002"])
            plugin.remove(0x11, one, two)
            wait_until(lambda: members(place, 0x11) is None)
            plugin.remove(0x11, one)
            assert plugin.list() == {VIRTUAL: "0x0012", two: "0x0012"}
            plugin.call("POST", "/ufmRest/resources/pkeys/add", '{"pkey": "0x13", "ip_over_ib": false}')
            shown = plugin.call("GET", "/ufmRest/resources/pkeys/0x12?guids_data=true")
            assert shown["ip_over_ib"] and shown["guids"][0] == {
                "guid": two, "membership": "full", "index0": True} or shown["guids"][1]["guid"] == two, shown
            assert list(plugin.call("GET", "/ufmRest/resources/pkeys")) == ["0x0012", "0x0013"]
            plugin.call("DELETE", "/ufmRest/resources/pkeys/0x12")
            assert plugin.list() == {} and list(plugin.call("GET", "/ufmRest/resources/pkeys")) == ["0x0013"]
            plugin.call("GET", "/ufmRest/resources/pkeys/0x12", status=404)
            # the partitions of operators stay
            wait_until(lambda: set(names(place)) == {"Default", "own", "ib-kubernetes-0x0013"})


def two_gateways_do_not_undo_each_other():
    place = Place()
    place.write("f.yaml", "")
    place.write("policy.yaml", POLICY)
    guids = [f"{VIRTUAL[:-2]}{n:02x}" for n in range(1, 13)]
    with place.daemon():
        place.rest()
        place.ctl("apply", place.path("policy.yaml"), "--yes")
        with program(place) as a, program(place) as b:
            plugins = Plugin(a.address), Plugin(b.address)
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda n: plugins[n % 2].add(0x11, guids[n]), range(len(guids))))
            assert plugins[0].list() == plugins[1].list() == {guid: "0x0011" for guid in guids}


def mistakes_change_nothing():
    place = Place()
    place.write("f.yaml", "")
    place.write("policy.yaml", POLICY)
    with place.daemon():
        place.rest()
        with program(place) as process:
            plugin = Plugin(process.address)
            answer = plugin.add(0x11, VIRTUAL, status=409)
            assert "fabricd-ib-kubernetes(8)" in answer["error"], answer
            place.ctl("apply", place.path("policy.yaml"), "--yes")
            for password in ("k8s:wrong", "other:correct horse", ""):
                wrong = Plugin(process.address, password=password)
                assert "password" in wrong.call("GET", "/ufmRest/app/ufm_version", status=401)["error"]
            plugin.call("GET", "/ufmRest/app/ufm_version", status=401, headers={"Authorization": "Basic \xff"})
            plugin.call("GET", "/ufmRest/app/ufm_version", status=401, headers={})
            plugin.call("POST", "/ufmRest/resources/pkeys", "x" * (1 << 20), status=401, headers={})
            assert "own" in plugin.add(0x22, VIRTUAL, status=409)["error"]
            for pkey in (0, 0x7fff, 0x8000, 0xffff):
                assert "P_Key" in plugin.add(pkey, VIRTUAL, status=400)["error"]
            for guid in ("0" * 16, "02", "x" * 16, VIRTUAL + "00"):
                assert "GUID" in plugin.add(0x11, guid, status=400)["error"]
            plugin.add(0x11, VIRTUAL, status=400, more='"membership": "both"')
            plugin.add(0x11, VIRTUAL, status=400, more='"index0": 1')
            for body in ("", "[]", "{", '{"pkey": 17, "guids": []}', '{"pkey": "0x11", "guids": "x"}',
                         "[" * 100000, '{"pkey": "0x11", "guids": [[]]}'):
                plugin.call("POST", "/ufmRest/resources/pkeys", body, status=400)
            plugin.call("POST", "/ufmRest/resources/pkeys", "x" * (1 << 20) + "x", status=413)
            plugin.call("POST", "/ufmRest/resources/other", "{}", status=404)
            plugin.call("DELETE", "/ufmRest/resources/pkeys", status=404)
            plugin.call("GET", "/", status=404)
            versions = json.loads(place.ctl("policy", "history", "-o", "json"))["versions"]
            assert plugin.list() == {} and len(versions) == 1, versions


def passwords_are_not_sent_in_clear_text():
    place = Place()
    start = lambda *a: subprocess.run([sys.executable, "-m", "fabricd.ib_kubernetes", *a], env=environment(place),
                                      capture_output=True, text=True, timeout=PATIENCE).stderr
    place.write("passwords", PASSWORD + "\n")
    file = ["--password-file", place.path("passwords")]
    assert "clear text" in start("--listen", "0.0.0.0:0", *file)
    place.write("passwords", "k8s:short\n")
    assert "8 characters" in start(*file)
    place.write("passwords", PASSWORD + "\n", mode=0o644)
    assert "every user can read" in start(*file)
    place.write("f.yaml", "")
    authority = make_authority("ib-kubernetes")
    certificate = make_certificate(authority, "server")
    with place.daemon(), program(place, "--cert", certificate + ".crt", "--key", certificate + ".key") as process:
        plugin = Plugin(process.address, ssl.create_default_context(cafile=authority + ".crt"))
        wait_until(lambda: "fabricd" in plugin.validate()["ufm_release_version"])
        assert plugin.list() == {}


def a_request_is_answered_before_the_end():
    place = Place()
    place.write("f.yaml", "")
    with place.daemon(), program(place) as process:
        plugin = Plugin(process.address)
        wait_until(lambda: "fabricd" in plugin.validate()["ufm_release_version"])
        body = b'{"pkey": "0x0005", "guids": []}'
        with socket.create_connection(("127.0.0.1", process.address), timeout=PATIENCE) as connection:
            headers = "".join(f"{name}: {value}\r\n" for name, value in plugin.headers.items())
            connection.sendall(f"POST /ufmRest/actions/remove_guids_from_pkey HTTP/1.1\r\n{headers}Content-Length: "
                               f"{len(body)}\r\nExpect: 100-continue\r\n\r\n".encode())
            assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"  # the program waits for the body
            idle = socket.create_connection(("127.0.0.1", process.address), timeout=PATIENCE)
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: not accepts(process.address))
            assert process.poll() is None
            connection.sendall(body)
            answer = connection.recv(1000)
            assert answer.startswith(b"HTTP/1.1 200 "), (answer, process.log())
        assert process.wait(PATIENCE) == 0, process.log()
        idle.close()


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
        return True
    except ConnectionError:
        return False


main([
    a_request_is_answered_before_the_end,
    pods_get_pkeys,
    two_gateways_do_not_undo_each_other,
    mistakes_change_nothing,
    passwords_are_not_sent_in_clear_text,
])
