"""The examples of the Python package, as programs, with fabricd on its simulated fabric."""

import contextlib
import http.server
import json
import os
import signal
import subprocess
import threading

from harness import main, wait_until
from place import Place
from python_client import command, environment, example, skip_or_install

skip_or_install()


@contextlib.contextmanager
def running_example(place, name, *arguments):
    """Runs an example that ends only when it is stopped."""
    with open(place.path(name + ".log"), "w+") as log:
        process = subprocess.Popen(command(name, *arguments), env=environment(place), stdout=log, stderr=log)
        process.log = lambda: open(log.name).read()
        try:
            yield process
            assert process.poll() is None, process.log()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def place_with(settings="", **size):
    place = Place(**size)
    place.write("f.yaml", settings)
    return place


def switches_and_links_are_drained():
    place = place_with("counters: {interval: 1}\n", leaves=3, spines=3)
    drains = lambda: json.loads(place.ctl("drain", "list", "-o", "json"))["drains"]
    with place.daemon():
        place.rest()
        for kind, name in (("switch", "spine-001"), ("link", "leaf-001/4")):
            out = example(place, "drain_for_maintenance", "begin", kind, name, "--reason", "CHG-7", "--hours", "1")
            assert "drained: 0 of " in out and out.endswith("the maintenance can begin\n"), out
        assert [(d["kind"], d["name"], d["state"], d["reason"]) for d in drains()] == [
            ("switch", "spine-001", "drained", "CHG-7"), ("link", "leaf-001/4", "drained", "CHG-7")], drains()
        assert "spine-001" not in place.ctl("path", "host-0001", "host-0006")
        for kind, name in (("switch", "spine-001"), ("link", "leaf-001/4")):
            assert example(place, "drain_for_maintenance", "end", kind, name) == "1 drain ended\n"
        wait_until(lambda: drains() == [])


def drains_are_refused():
    place = place_with(leaves=3, spines=3)
    with place.daemon():
        place.rest()
        out = example(place, "drain_for_maintenance", "begin", "switch", "leaf-002", code=1)
        assert "2 hosts would lose their link: host-000" in out and "--hosts-are-idle" in out, out
        assert "nobody" in example(place, "drain_for_maintenance", "begin", "switch", "nobody", code=1)
        out = example(place, "drain_for_maintenance", "begin", "link", "leaf-002/1", code=1)
        assert "host" in out and "link" in out, out
        assert "spine-001" in example(place, "drain_for_maintenance", "end", "switch", "spine-001", code=1)
        assert json.loads(place.ctl("drain", "list", "-o", "json"))["drains"] == []


def slurm_gets_only_changes():
    place = place_with(leaves=3)
    topology, hooks = place.path("topology.conf"), place.path("hooks")
    arguments = [topology, "--hook", f"echo x >>{hooks}", "--settle", "0.3"]
    count = lambda: os.path.exists(hooks) and len(open(hooks).read().split())
    with place.daemon():
        place.rest()
        example(place, "slurm_topology_on_change", *arguments, "--once")
        first = open(topology).read()
        assert "SwitchName=leaf-002 Nodes=host-[0003-0004]" in first and count() == 1, first
        assert example(place, "slurm_topology_on_change", *arguments, "--once") == "" and count() == 1
        with running_example(place, "slurm_topology_on_change", *arguments) as process:
            place.ctl("sim", "unlink", "leaf-001/3")
            place.rest()
            place.ctl("sim", "unlink", "host-0004")
            wait_until(lambda: "host-0004" in place.ctl("node", "list", "--gone"))
            place.ctl("node", "forget", "host-0004")
            place.ctl("sim", "relink", "leaf-001/3")
            wait_until(lambda: "host-0004" not in open(topology).read() and count() == 2)
            assert "SwitchName=leaf-002 Nodes=host-0003" in open(topology).read() and count() == 2, process.log()
            place.ctl("sim", "relink", "host-0004")
            wait_until(lambda: open(topology).read() == first and count() == 3)
        with open(place.path("slurm_topology_on_change.log")) as log:
            assert log.read().count("wrote") == 2


class Chat(http.server.BaseHTTPRequestHandler):
    """The incoming webhook of a chat. The first attempts are answered with 503."""

    texts, to_refuse = [], 1

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        refused, Chat.to_refuse = Chat.to_refuse > 0, max(0, Chat.to_refuse - 1)
        if not refused:
            Chat.texts.append(body["text"])
        self.send_response(503 if refused else 200)
        self.end_headers()

    def log_message(self, *_):
        pass


def events_reach_the_chat():
    place = place_with()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    arguments = [f"http://127.0.0.1:{server.server_port}/hook", "--types", "link-down,link-up", "--state",
                 place.path("position")]
    told = lambda word: [t for t in Chat.texts if word in t]
    listed = lambda kind: json.loads(place.ctl("event", "list", "--type", kind, "-o", "json"))["events"]
    # an event is posted again if the program ends before it has saved its position
    saved = lambda: int(open(place.path("position")).read())
    with place.daemon():
        place.rest()
        with running_example(place, "chat_webhook", *arguments) as process:
            wait_until(lambda: "events after" in process.log())
            place.ctl("sim", "unlink", "leaf-001/3")
            wait_until(lambda: told("link-down"))
            place.ctl("sim", "relink", "leaf-001/3")
            wait_until(lambda: told("link-up") and saved() == listed("link-up")[-1]["sequence"])
        place.ctl("sim", "unlink", "leaf-002/4")
        place.rest()
        last = wait_until(lambda: [e["sequence"] for e in listed("link-down") if "leaf-002/4" in e["message"]])
        with running_example(place, "chat_webhook", *arguments):
            wait_until(lambda: told("leaf-002/4") and saved() == last[0])
    server.shutdown()
    assert Chat.to_refuse == 0 and len(Chat.texts) == 3 and len(told("leaf-002/4")) == 1, Chat.texts
    assert all("WARNING link-down: " in t or "INFO link-up: " in t for t in Chat.texts), Chat.texts


def tenants_get_partitions():
    place = place_with()
    place.write("f.yaml", f"partitions: {{file: {place.path('partitions.conf')}}}\n")
    place.write("partitions.conf", 'store=0x12 : "host-0001" ;\n')
    old = place.path("partitions.conf")
    with place.daemon() as process:
        place.rest()
        options = ["--file", old, "--reload", f"kill -HUP {process.pid}"]
        tenant = lambda *a, code=0: example(place, "tenant_partition", *a, *options, code=code)
        names = lambda: [m["node"] for m in json.loads(place.ctl("partition", "show", "blue", "-o", "json"))["members"]]
        assert tenant("set", "blue", "0x21", "host-0002", "host-0003") == "partition blue has host-0002, host-0003\n"
        assert names() == ["host-0002", "host-0003"]
        assert "blue has host-0004" in tenant("set", "blue", "0x21", "host-0004") and names() == ["host-0004"]
        text = open(old).read()
        assert text.startswith("store=0x12") and text.count("blue=") == 1 and '"host-0004"' in text, text
        assert "no host nobody" in tenant("set", "red", "0x22", "nobody", code=1)
        assert "'store' already has the P_Key 0x0012" in tenant("set", "red", "0x12", "host-0002", code=1)
        assert "is gone" in tenant("remove", "blue") and open(old).read() == 'store=0x12 : "host-0001" ;\n'
        place.ctl("partition", "show", "blue", code=4)
        assert "has no part of tenant blue" in tenant("remove", "blue", code=1)
        options = ["--file", old, "--reload", "true", "--wait", "0.5"]
        assert "has the old file again" in tenant("set", "blue", "0x21", "host-0002", code=1)
        assert open(old).read() == 'store=0x12 : "host-0001" ;\n'


def inventories_are_compared():
    place = place_with()
    cables, devices = place.path("cables.csv"), place.path("devices.csv")
    inventory = lambda verb, code=0: example(place, "inventory_csv", verb, "--cables", cables, "--devices", devices,
                                             code=code)
    with place.daemon():
        place.rest()
        inventory("write")
        assert inventory("compare") == ""
        text = open(cables).read()
        assert "host-0001,dcim.interface,1,leaf-001,dcim.interface,1" in text and text.count("\n") == 9, text
        with open(cables, "w") as f:
            f.write(text.replace("leaf-001,dcim.interface,3,", "leaf-001,dcim.interface,IB1/4,").replace(
                "leaf-002,dcim.interface,3,", "leaf-002,dcim.interface,IB1/3,"))
        with open(devices, "a") as f:
            f.write("host-0009,host\n")
        place.ctl("sim", "unlink", "host-0004")
        wait_until(lambda: "host-0004" not in place.ctl("node", "list"))
        assert inventory("compare", code=5).splitlines() == [
            "missing: host host-0004", "missing: host host-0009",
            "missing: cable host-0004 1 - leaf-002 2", "missing: cable leaf-001 4 - spine-001 1",
            "not in the inventory: cable leaf-001 3 - spine-001 1"], inventory("compare", code=5)
        with open(cables, "w") as f:
            f.write("a,b\n1,2\n")
        assert "has no column side_a_device" in inventory("compare", code=1)


main([
    switches_and_links_are_drained,
    drains_are_refused,
    slurm_gets_only_changes,
    events_reach_the_chat,
    tenants_get_partitions,
    inventories_are_compared,
])
