"""fabricd on its simulated fabric with partitions, traffic classes, congestion control and what hosts
registered before a restart, as fabricctl and other programs see it; and fabsim, served and broken by
hand. Everything else of the RPC is in test_grpcio.py."""

import contextlib
import glob
import json
import os
import re
import signal
import sqlite3
import struct
import subprocess

import grpc

from harness import (BUILD, Fabric, channel, fails, load, main, running, sanitized, socket_path,
                     wait_until)

Code = grpc.StatusCode
CTL, FABSIM, FABRICD = (os.path.join(BUILD, p)
                        for p in ("cli/fabricctl", "cli/fabsim", "fabricd/fabricd"))
CONFIG = """
partitions: {{file: {folder}/partitions.conf}}
congestion: {{apply: yes, fan_in: 2}}
counters: {{interval: 1, within: 1}}
qos:
  classes:
    - {{name: storage, share: 40, match: ["service=0x1000-0x1fff"]}}
    - {{name: training, share: 30, match: ["qos_class=7", "from=host-0001"]}}
"""
PARTITIONS = """
jobs=0x11, ipoib, defmember=full : "host-0001", "host-0002", "host-0003" ;
jobs=0x11 : "host-0004" ;
store=0x12 : "host-0004" ;
"""


class Place:
    """A folder with a topology (2 leaves, 2 spines, 6 hosts), settings, and a daemon while it runs."""

    def __init__(self):
        self.folder = os.path.dirname(socket_path())
        self.topology = os.path.join(self.folder, "f.net")
        self.address = f"unix:{self.folder}/s"
        subprocess.run([FABSIM, "generate", "leaf-spine", "--leaves", "2", "--spines", "2", "--hosts",
                        "3", "-o", self.topology], check=True)
        self.write("fabricd.yaml", CONFIG.format(folder=self.folder))
        self.write("partitions.conf", PARTITIONS)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)

    def database(self):
        return sqlite3.connect(os.path.join(self.folder, "state/fabricd.db"))

    def ctl(self, *arguments, code=0):
        done = subprocess.run([CTL, "-s", self.address, *arguments], capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == code, done
        return done.stderr if code else done.stdout

    def json(self, *arguments):
        return json.loads(self.ctl(*arguments, "-o", "json"))

    @contextlib.contextmanager
    def daemon(self):
        command = [FABRICD, "--sim", self.topology, "-f", f"{self.folder}/fabricd.yaml",
                   "--state-dir", f"{self.folder}/state", "--listen", self.address]
        with channel(self.address) as c:
            f = Fabric(c)
            up = lambda _: wait_until(lambda: f.GetStatus(timeout=2).status.generation > 0)
            with running(command, up) as process:
                yield f, process

    def reload(self, process):
        before = self.json("status")["generation"]
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.json("status")["generation"] > before
                   and self.json("status")["state"] == "idle")


def table(text):
    """Returns the lines of a table, as lists of words."""
    return [line.split() for line in text.splitlines()]


def partitions_are_listed_and_changed():
    place = Place()
    with place.daemon() as (_, process):
        listed = {p["name"]: p for p in place.json("partition", "list")["partitions"]}
        assert [listed["jobs"][k] for k in ("pkey", "full_members", "limited_members", "ipoib",
                                            "multicast_groups")] == ["0x0011", 3, 1, True, 1]
        assert [listed["store"][k] for k in ("pkey", "full_members", "limited_members", "ipoib",
                                             "multicast_groups")] == ["0x0012", 0, 1, False, 0]
        assert [listed["Default"][k] for k in ("pkey", "full_members", "limited_members")] == [
            "0x7fff", 1, 9]
        assert ["jobs", "0x0011", "3", "1"] in [row[:4] for row in table(place.ctl("partition", "list"))]
        for name in ("jobs", "0x11", "0x0011", "0x8011"):
            members = place.json("partition", "show", name)["members"]
            assert [(m["node"], m["port"], m["membership"], m["index"]) for m in members] == [
                ("host-0001", 1, "full", 1), ("host-0002", 1, "full", 1), ("host-0003", 1, "full", 1),
                ("host-0004", 1, "limited", 1)], members
        assert [m["node"] for m in place.json("partition", "show", "store")["members"]] == ["host-0004"]
        assert len(place.json("partition", "show", "Default")["members"]) == 10
        place.ctl("partition", "show", "nobody", code=4)
        place.write("partitions.conf", PARTITIONS.replace(', "host-0003"', ', "host-0006"'))
        place.reload(process)
        assert [m["node"] for m in place.json("partition", "show", "jobs")["members"]] == [
            "host-0001", "host-0002", "host-0004", "host-0006"]


def traffic_classes_are_listed_and_chosen():
    place = Place()
    with place.daemon() as (_, process):
        classes = place.json("class", "list")["classes"]
        assert [(c["name"], c["share_percent"], c["guaranteed_permille"], c["service_levels"],
                 c["virtual_lanes"], c["rules"]) for c in classes] == [
            ("default", 0, 300, "0", "0", 0), ("storage", 40, 400, "1", "1", 1),
            ("training", 30, 300, "2", "2", 2)], classes
        assert place.json("class", "show", "storage")["rules"][0]["service_ids"] == "0x1000-0x1fff"
        rules = place.json("class", "show", "training")["rules"]
        assert [r["rule"] for r in rules] == [2, 3] and rules[0]["qos_classes"] == "7"
        assert "host-0001" in rules[1]["from"] and rules[1]["to"] == ""
        assert place.json("class", "show", "default")["rules"] == []
        place.ctl("class", "show", "urgent", code=4)
        assert "training" in place.ctl("path", "host-0001", "host-0006")
        assert "training" not in place.ctl("path", "host-0002", "host-0006")
        assert place.json("status")["virtual_lanes"] == 3
        config = CONFIG.format(folder=place.folder)
        place.write("fabricd.yaml", config + '    - {name: urgent, priority: high, rate_limit: 10, '
                    'match: ["to=host-0006"]}\n')
        place.reload(process)
        urgent = place.json("class", "show", "urgent")["rules"]
        assert len(urgent) == 1 and "host-0006" in urgent[0]["to"]
        last = place.json("class", "list")["classes"][-1]
        assert (last["name"], last["priority"], last["rate_limit_mbps"]) == ("urgent", "high", 10000)
        assert "urgent" in place.ctl("path", "host-0002", "host-0006")


def congestion_control_is_shown():
    place = Place()
    with place.daemon() as (f, process):
        settled = lambda: place.json("cc", "status")["programmed"] == 10
        wait_until(settled)
        status = place.json("cc", "status")
        assert (status["apply"], status["profile"], status["fan_in"]) == (True, "balanced", 2)
        assert status["pending"] + status["unsupported"] + status["foreign_key"] + status["failed"] == 0
        assert status["writes"] > 10 and status["settings"] > 1
        wait_until(lambda: place.json("cc", "status")["log_reads"] >= 10)
        shown = place.json("cc", "show", "leaf-001/1")
        values = {v["name"]: v["value"] for v in shown["values"]}
        assert 0 < values["threshold"] <= 15 and values["victim_mask"] == 1, values
        assert {i["name"]: i["value"] for i in shown["inputs"]}["fan_in"] == 2
        host = place.json("cc", "show", "host-0002/1")
        limits = {v["name"]: v["value"] for v in host["values"]}
        assert len(host["table"]) == limits["limit"] + 1
        assert host["table"][0]["rate_percent"] == 100
        rates = [e["rate_percent"] for e in host["table"]]
        assert rates == sorted(rates, reverse=True) and rates[-1] < 50
        of_class = place.json("cc", "show", "host-0002/1", "--sl", "1")
        assert {v["name"] for v in of_class["values"]} == set(limits)
        explained = place.ctl("cc", "show", "host-0002/1", "--explain")
        assert re.search(r"^timer +%d  " % limits["timer"], explained, re.M), explained
        assert place.json("cc", "congested")["ports"] == []
        assert place.json("cc", "log")["logs"] == []
        assert len(place.json("cc", "log", "leaf-001")["logs"]) <= 1
        for arguments in (("cc", "show", "host-0002/9"), ("cc", "log", "nobody"), ("cc", "show", "x/1")):
            place.ctl(*arguments, code=4)
        config = CONFIG.format(folder=place.folder)
        place.write("fabricd.yaml", config.replace("fan_in: 2", "fan_in: 2, timer: 99, marking_rate: 3"))
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: {v["name"]: v["value"] for v in place.json("cc", "show", "host-0002/1")[
            "values"]}["timer"] == 99 and settled())
        assert {v["name"]: v["value"] for v in place.json("cc", "show", "leaf-001/1")["values"]}[
            "marking_rate"] == 3
        place.write("fabricd.yaml", config.replace("apply: yes", "profile: off"))
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: place.json("cc", "status")["profile"] == "off")


def ethernet_gets_the_same_analysis():
    place = Place()
    with place.daemon():
        roce = place.json("cc", "export", "--roce")
        assert [(p["mbps"], p["ports"]) for p in roce["switch_ports"]] == [(100000, 6), (100000, 8)]
        for p in roce["switch_ports"]:
            assert 0 < p["kmin_bytes"] < p["kmax_bytes"] < p["pause_bytes"] and p["headroom_bytes"] > 0
        assert roce["adapters"][0]["mbps"] == 100000
        reasons = {r["name"]: r["value"] for r in roce["reasons"]}
        assert reasons["kmin_bytes"] == roce["switch_ports"][0]["kmin_bytes"]
        text = place.ctl("cc", "export", "--roce", "--explain")
        assert re.search(r"headroom_bytes +%d" % roce["switch_ports"][0]["headroom_bytes"], text), text
        sonic = json.loads(place.ctl("cc", "export", "--roce", "--format", "sonic"))
        for profile in sonic["WRED_PROFILE"].values():
            assert 0 < int(profile["green_min_threshold"]) < int(profile["green_max_threshold"])
        assert re.search(r"^echo \d+ >\"", place.ctl("cc", "export", "--roce", "--format", "mlx5"), re.M)
        place.ctl("cc", "export", "--roce", "--format", "nothing", code=2)


def gid(guid, prefix=0xfe80000000000000):
    return struct.pack(">QQ", prefix, guid)


def as_text(gid_bytes):
    return ":".join(gid_bytes[i:i + 2].hex() for i in range(0, 16, 2))


def what_hosts_registered_is_listed():
    """The database has registrations from an earlier run of the manager. They must be listed."""
    place = Place()
    with place.daemon():
        hosts = [int(m["guid"], 16) for m in place.json("partition", "show", "Default")["members"]
                 if m["node"].startswith("host")]
    with contextlib.closing(place.database()) as db, db:
        for n in range(2):
            record = (struct.pack(">Q", 0x1000 + n) + gid(hosts[n]) + struct.pack(">HHI", 0xffff, 0, 0xffffffff)
                      + bytes(16) + f"storage-{n}".encode().ljust(64, b"\0") + bytes(64))
            db.execute("INSERT INTO service VALUES (?, ?, 65535, 0, ?, ?)",
                       (f"0x{0x1000 + n:016x}", as_text(gid(hosts[n])), f"0x{hosts[n]:016x}", record))
        inform = (gid(hosts[2]) + struct.pack(">H", 3) + bytes(6) + bytes(16)
                  + struct.pack(">HHHBBHH", 0xffff, 0, 0, 1, 1, 0xffff, 65)
                  + struct.pack(">IB", 1 << 8 | 8, 0) + b"\xff\xff\xff").ljust(80, b"\0")
        db.execute("INSERT INTO subscription VALUES (?, 3, 0, ?)", (as_text(gid(hosts[2])), inform))
        for n in range(3):
            db.execute("INSERT INTO multicast_member VALUES (?, ?, 1, 0)",
                       ("ff12:401b:8011:0000:0000:0000:ffff:ffff", as_text(gid(hosts[n]))))
    with place.daemon():
        services = place.json("service", "list")["services"]
        assert [int(s["id"], 16) for s in services] == [0x1000, 0x1001], services
        assert [s["name"] for s in services] == ["storage-0", "storage-1"]
        assert "never" in place.ctl("service", "list")
        subscriptions = place.json("subscription", "list")["subscriptions"]
        assert len(subscriptions) == 1 and "65" in json.dumps(subscriptions[0]), subscriptions
        assert "host-0003" in place.ctl("subscription", "list")
        wait_until(lambda: place.json("multicast", "list")["groups"][0]["members"] == 3)
        group = place.json("multicast", "list")["groups"][0]
        assert (group["mlid"], group["pkey"], group["unreached"], group["configured"]) == (
            "0xc000", "0x8011", 0, True), group
        for name in ("0xc000", group["mgid"]):
            members = place.json("multicast", "show", name)["members"]
            assert [m["node"] for m in members] == ["host-0001", "host-0002", "host-0003"]
            assert all(m["reached"] for m in members)
        place.ctl("multicast", "show", "0xc123", code=4)


def lists_come_in_pages():
    place = Place()
    load_all = {"ListPartitions": "partition_pb2", "ListMulticastGroups": "multicast_pb2",
                "ListTrafficClasses": "class_pb2"}
    for module in load_all.values():
        Fabric.MODULES.append(load("fabric.v1." + module))
    with place.daemon() as (f, _):
        for method in load_all:
            if not any(hasattr(m, method + "Request") for m in Fabric.MODULES):
                continue
            whole, pieces, token = getattr(f, method)(), [], ""
            field = whole.DESCRIPTOR.fields[0].name
            while True:
                page = getattr(f, method)(page_size=1, page_token=token)
                assert len(getattr(page, field)) <= 1
                pieces += getattr(page, field)
                token = page.next_page_token
                if not token:
                    break
            assert pieces == list(getattr(whole, field)) and pieces, method
            fails(Code.INVALID_ARGUMENT, getattr(f, method), page_token="nonsense")


def exports_are_the_same_in_files():
    place = Place()
    with place.daemon():
        for kind, formats in (("topo", ("ibnetdiscover", "dot", "json", "slurm", "slurm-block", "slurm-yaml",
                                        "opensm-lst")),
                              ("route", ("opensm-lfts", "opensm-fdbs", "opensm-sl2vl", "path-sl"))):
            for name in formats:
                path = os.path.join(place.folder, name)
                printed = place.ctl(kind, "export", "--format", name)
                assert place.ctl(kind, "export", "--format", name, "--file", path) == ""
                with open(path) as f:
                    assert f.read() == printed and printed.endswith("\n"), name
        assert len(json.loads(place.ctl("topo", "export", "--format", "json"))["nodes"]) == 10
        counts = fabsim("check", os.path.join(place.folder, "ibnetdiscover"))
        assert counts == fabsim("check", place.topology)
        certificate = place.ctl("route", "certify")
        assert certificate.startswith("certificate 1\n") and certificate.count("\n0x") > 0
        assert place.ctl("route", "certify", "--file", path) == "" and open(path).read() == certificate
        place.ctl("topo", "export", "--file", place.folder + "/no/such/folder", code=1)
        os.symlink("/dev/full", f"{place.folder}/full")  # root could replace the device file
        place.ctl("topo", "export", "--format", "dot", "--file", f"{place.folder}/full", code=1)
        place.ctl("topo", "export", "--format", "opensm-fdbs", code=2)
        folder = os.path.join(place.folder, "opensm")
        made = json.loads(place.ctl("-o", "json", "export", "opensm", folder))
        assert made["directory"] == folder and made["ports"] > 0, made
        assert sorted(f["file"] for f in made["files"]) == sorted(os.listdir(folder)), made


def slurm_gets_only_changes():
    place = Place()
    topology, hooks = os.path.join(place.folder, "topology.conf"), os.path.join(place.folder, "hooks")
    count = lambda: os.path.exists(hooks) and len(open(hooks).read().split())
    with place.daemon():
        place.ctl("topo", "export", "--hook", "x", code=2)
        place.ctl("topo", "export", "--slurm", "--watch", code=2)
        place.ctl("topo", "export", "--slurm", "--format", "dot", code=2)
        watch = [CTL, "-s", place.address, "topo", "export", "--slurm", "--file", topology, "--watch", "--hook",
                 f"echo x >>{hooks}"]
        with running(watch, lambda _: wait_until(lambda: count() == 1), ends_with=-signal.SIGTERM) as process:
            assert "SwitchName=leaf-002 Nodes=host-[0004-0006]\n" in open(topology).read()
            place.ctl("sim", "unlink", "leaf-001/4")
            place.ctl("sim", "unlink", "host-0004")
            wait_until(lambda: "host-0004" in place.ctl("node", "list", "--gone"))
            assert "host-[0004-0006]" in place.ctl("topo", "export", "--slurm")
            place.ctl("node", "forget", "host-0004")
            place.ctl("sim", "relink", "leaf-001/4")
            wait_until(lambda: "SwitchName=leaf-002 Nodes=host-[0005-0006]\n" in open(topology).read() and count() == 2)
            assert process.poll() is None, process.log()


JOBS = """   JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)
  7_1 gpu a ann R 1:02 3 host-[0002-0003],host-0005
    8 gpu b ann R 1:02 1 host-0004,nix[1-3]
    9 gpu c ann PD 0:00 4 (Resources)
"""


def jobs_are_compared_with_faults():
    place = Place()
    jobs = os.path.join(place.folder, "jobs")
    with open(jobs, "w") as f:
        f.write(JOBS)

    def affected(*faults):
        answer = json.loads(place.ctl("job", "affected", *faults, "--jobs", jobs, "--all", "-o", "json"))
        assert [j["job"] for j in answer["jobs"]] == ["7_1", "8"] and answer["job_count"] == 2, answer
        return answer, answer["jobs"]

    with place.daemon():
        answer, (a, b) = affected("host-0002")
        assert (answer["links"], answer["links_down"], answer["affected_count"]) == (1, 0, 1), answer
        assert (a["lost_hosts"], a["pairs"], a["hit_pairs"], a["near_pairs"]) == ("host-0002", 6, 4, 0), a
        assert (b["hosts"], b["pairs"], b["unknown_hosts"], b["unknown_host_count"]) == (1, 0, "nix[1-3]", 3), b
        # 2 and 3 are at leaf-001, 5 is at leaf-002, and spines have one link to each leaf
        hit = [affected(f"leaf-001/{port}")[1][0]["hit_pairs"] for port in (4, 5)]
        assert sum(hit) == 4 and affected("leaf-001")[1][0]["hit_pairs"] == 6, hit
        place.ctl("sim", "unlink", "leaf-001/4")
        place.ctl("sim", "unlink", "host-0004")
        wait_until(lambda: "host-0004" in place.ctl("node", "list", "--gone"))
        wait_until(lambda: affected("leaf-001/4")[0]["links_down"] == 1)
        answer, (a, b) = affected("leaf-001/4", "host-0004")
        assert (answer["links"], answer["links_down"], answer["affected_count"]) == (2, 2, 2), answer
        assert (a["hit_pairs"], a["near_pairs"], b["lost_hosts"]) == (0, 6, "host-0004"), answer
        assert affected("spine-001", "spine-002")[1][1]["absent_endports"] == 1
        place.ctl("job", "affected", "nobody", "--jobs", jobs, code=4)
        place.ctl("job", "affected", "leaf-001", "--jobs", jobs + "x", code=1)
        place.ctl("sim", "relink", "host-0004")
        wait_until(lambda: "host-0004" not in place.ctl("node", "list", "--gone"))
        paths = json.loads(place.ctl("path", "host-[0001-0002]", "host-0002,host-0004", "-o", "json"))["paths"]
        assert [(p["source_node"], p["destination_node"], p["switches"]) for p in paths] == [
            ("host-0001", "host-0002", 1), ("host-0001", "host-0004", 3), ("host-0002", "host-0004", 3)], paths
        assert place.ctl("path", "host-[0001,0099]", "host-0002", "-o", "csv", code=5) == ""


# ---- fabsim ------------------------------------------------------------------------------------

def fabsim(*arguments, code=0, **how):
    done = subprocess.run([FABSIM, *arguments], capture_output=True, text=True, timeout=60, **how)
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


def a_fabric_is_served_and_broken():
    place = Place()
    name = "test-" + os.path.basename(place.folder)
    server = subprocess.Popen([FABSIM, "serve", place.topology, "--socket", name],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        ctl = lambda *a, **k: fabsim("ctl", "--socket", name, *a, **k)
        def is_up():
            return subprocess.run([FABSIM, "ctl", "--socket", name, "status"],
                                  capture_output=True).returncode == 0
        wait_until(is_up)
        assert "4 switches, 6 adapters, 10" in ctl("status")
        assert "client" not in ctl("status")
        assert "nobody" in ctl("silence", "nobody", code=1)
        ctl("frobnicate", code=2)
        ctl("silence", "host-0002")
        several = fabsim("ctl", "--socket", name, input="loss 1%\nloss 0\nstatus\n")
        assert "4 switches" in several
        assert "help" in ctl("help") and "loss" in ctl("help")
        ctl("stop")
        assert server.wait(20) == 0
        assert name in ctl("status", code=1)
    finally:
        if server.poll() is None:
            server.kill()
        server.communicate()


def what_was_recorded_is_printed():
    place = Place()
    record = os.path.join(place.folder, "recording")
    command = [FABRICD, "--sim", place.topology, "--state-dir", f"{place.folder}/state", "--listen",
               place.address, "--record", record]
    with channel(place.address) as c:
        f = Fabric(c)
        with running(command, lambda _: wait_until(lambda: f.GetStatus(timeout=2).status.generation > 0)):
            sent = f.GetStatus().status.packets.sent
    lines = fabsim("mads", record).splitlines()
    assert len([x for x in lines if "NodeInfo" in x]) >= 10 and len(lines) >= 2 * sent, len(lines)
    verbose = fabsim("mads", "-v", record)
    assert len(verbose) > 2 * sum(len(x) + 1 for x in lines)
    replayed = subprocess.run([FABRICD, "--replay", record], capture_output=True, text=True,
                              timeout=60)
    assert replayed.returncode == 0, replayed
    with open(record, "r+b") as f:
        f.truncate(os.path.getsize(record) // 2)
    assert len(fabsim("mads", record).splitlines()) < len(lines)
    said = subprocess.run([FABSIM, "mads", record], capture_output=True, text=True, timeout=60)
    assert "everything before is valid" in said.stderr, said.stderr
    with open(record, "r+b") as f:
        f.write(b"fabricx")
    assert "not a recording of fabricd" in fabsim("mads", record, code=1)
    fabsim("mads", place.topology, code=1)
    fabsim("mads", place.folder + "/nothing", code=1)


def what_the_manager_knew_is_recorded():
    """A replay needs leases, ports that an operator disabled, and settings."""
    place = Place()
    record = os.path.join(place.folder, "recording")
    with place.daemon() as (f, _):
        lids = {n: place.json("port", "show", f"host-000{n}/1")["lid"] for n in (1, 2)}
        guids = {n: int(place.json("port", "show", f"host-000{n}/1")["guid"], 16) for n in (1, 2)}
        place.ctl("port", "disable", "leaf-002/2")
        place.ctl("port", "disable", "leaf-001/3")
        leaves = {n: int(place.json("node", "show", f"leaf-00{n}")["guid"], 16) for n in (1, 2)}
    command = [FABRICD, "--sim", place.topology, "-f", f"{place.folder}/fabricd.yaml", "--state-dir",
               f"{place.folder}/state", "--listen", place.address, "--record", record]
    with channel(place.address) as c:
        f = Fabric(c)
        with running(command, lambda _: wait_until(lambda: f.GetStatus(timeout=2).status.generation > 0)):
            pass
    text = fabsim("mads", record)
    for n in (1, 2):
        assert f"# lease of LID {lids[n]}, LMC 0, for port 0x{guids[n]:016x}" in text
    assert len(re.findall("# lease", text)) == 10
    for n, port in ((1, 3), (2, 2)):
        assert f"# disabled: port {port} of node 0x{leaves[n]:016x}" in text, text[:3000]
    assert len(re.findall("# disabled", text)) == 2
    size = os.path.getsize(f"{place.folder}/fabricd.yaml")
    assert f"# settings, {size} bytes" in text
    assert text.rstrip().endswith("# end: the manager was stopped")
    times = [float(t) for t in re.findall(r"^(\d+\.\d{6}) ", text, re.M)]
    assert len(times) > 100 and times == sorted(times)
    replayed = subprocess.run([FABRICD, "--replay", record], capture_output=True, text=True, timeout=60)
    assert replayed.returncode == 0, replayed


def through_libibumad_too():
    """fabricd uses libibumad, as with real adapters. libumad2sim connects it to the simulator."""
    libraries = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
    if not libraries:
        return  # scripts/check requires this library, and says so
    if sanitized():
        return  # AddressSanitizer refuses to run with another library loaded before it
    place = Place()
    name = "test-" + os.path.basename(place.folder)
    command = [FABRICD, "--umad", "-f", f"{place.folder}/fabricd.yaml", "--state-dir",
               f"{place.folder}/state", "--listen", place.address]
    env = {"LD_PRELOAD": libraries[0], "SIM_HOST": "host-0001", "IBSIM_SOCKNAME": name}
    ctl = lambda *a, **k: fabsim("ctl", "--socket", name, *a, **k)
    served = subprocess.Popen([FABSIM, "serve", place.topology, "--socket", name],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cwd = os.getcwd()
    os.chdir(place.folder)  # libumad2sim leaves folders in the current one
    try:
        wait_until(lambda: subprocess.run([FABSIM, "ctl", "--socket", name, "status"],
                                          capture_output=True).returncode == 0)
        with channel(place.address) as c:
            f = Fabric(c)
            ready = lambda _: wait_until(lambda: f.GetStatus(timeout=2).status.generation > 0)
            with running(command, ready, env):
                status = place.json("status")
                assert (status["switches"], status["adapters"], status["active_links"]) == (4, 6, 10)
                assert "host-0001" in ctl("status") and " sm" in ctl("status"), ctl("status")
                ctl("unlink", "leaf-001/4")
                wait_until(lambda: place.json("status")["active_links"] == 9)
                ctl("relink", "leaf-001/4")
                wait_until(lambda: place.json("status")["active_links"] == 10)
                wait_until(lambda: place.json("cc", "status")["programmed"] == 10)
                # events before the first read of a log do not count
                wait_until(lambda: place.json("cc", "status")["log_reads"] >= 10)
                lid = place.json("port", "show", "host-0005/1")["lid"]
                for n in (1, 2, 3):
                    own = place.json("port", "show", f"host-000{n}/1")["lid"]
                    ctl("congest", f"host-000{n}/1", str(lid), f"from={own}", "sl=3", f"qp={70 + n}", "to=9")
                ctl("congest", "leaf-002/2", str(lid), "sl=3")
                wait_until(lambda: place.json("cc", "status")["log_events"] == 4)
                log = place.json("cc", "log", "host-0002")
                entry = log["entries"][0]
                assert (entry["dlid"], entry["sl"], entry["local_qp"], entry["remote_qp"]) == (
                    lid, 3, 72, 9), log
                assert "2" in place.json("cc", "log", "leaf-002")["logs"][0]["marked_ports"]
                logged = {entry["node"] for entry in place.json("cc", "log")["logs"]}
                assert logged >= {"host-0001", "host-0002", "host-0003", "leaf-002"}, logged
                assert re.search(r" host-0002/1 +3 +host-0002/1 +host-0005/1 +0x48",
                                 place.ctl("cc", "log", "host-0002"))
                wait_until(lambda: [p["senders"] for p in place.json("cc", "congested")["ports"]
                                    if p["node"] == "host-0005"] == [3])
                # one sender suffices, also for a port that counters show: it is waiting itself
                ctl("increment", "host-0006/1", "PortXmitWait", "rate=100000000")
                row = lambda: [p for p in place.json("cc", "congested")["ports"] if p["node"] == "host-0006"]
                wait_until(row)
                assert (row()[0]["kind"], row()[0]["senders"]) == ("waiting", 0), row()
                lid = place.json("port", "show", "host-0006/1")["lid"]
                own = place.json("port", "show", "host-0004/1")["lid"]
                ctl("congest", "host-0004/1", str(lid), f"from={own}", "sl=3", "qp=80", "to=9")
                wait_until(lambda: row()[0]["senders"] == 1)
                assert row()[0]["kind"] == "congested", row()
                wait_until(lambda: "fan_in to 3" in place.ctl("cc", "congested"))
                assert "fan_in to 3" in place.ctl("cc", "status")
        wait_until(lambda: " sm" not in ctl("status"))
        record = place.folder + "/umad.record"
        with channel(place.address) as c:
            f = Fabric(c)
            ready = lambda _: wait_until(lambda: f.GetStatus(timeout=2).status.generation > 0)
            with running([*command, "--record", record], ready, env):
                pass
        with open("/proc/sys/net/unix/max_dgram_qlen") as f:
            long_queue = int(f.read()) >= 320
        window = int(re.search(r"^# port GUID .*, window (\d+)", fabsim("mads", record), re.M)[1])
        assert window == (160 if long_queue else 64), window
        ctl("stop")
        assert served.wait(20) == 0
    finally:
        os.chdir(cwd)
        if served.poll() is None:
            served.kill()
            served.wait()


def mistakes_in_topologies_have_their_place():
    place = Place()
    counts = table(fabsim("check", place.topology))
    assert ["switches", "4"] in counts and ["links", "10"] in counts, counts
    with open(place.topology) as f:
        text = f.read()
    place.write("bad.net", text.replace('[1]\t', '[x]\t', 1))
    said = fabsim("check", place.folder + "/bad.net", code=1)
    assert re.search(r"bad\.net:\d+:\d+: ", said), said
    fabsim("check", place.folder + "/nothing", code=1)


def the_daemon_reads_its_arguments():
    place = Place()
    def fabricd(*words):
        return subprocess.run([FABRICD, *words], capture_output=True, text=True, timeout=60,
                              cwd=place.folder)
    assert fabricd("--help").stdout == fabricd("-h").stdout
    assert fabricd("--help").stdout.startswith("Usage: fabricd [OPTION]...")
    assert re.fullmatch(r"fabricd \d+\.\d+\S*\n", fabricd("--version").stdout)
    checked = fabricd("-f", "fabricd.yaml", "--check-config")
    assert checked.returncode == 0, checked
    for level in ("error", "warning", "notice", "info", "debug"):
        assert fabricd("--check-config", "--log-level", level).returncode == 0


def what_fails_is_compared_for_a_job():
    place = Place()
    place.write("job", "# the hosts of a job\nhost-0001\n  host-0002\t\n\nhost-0004 # the last\r\n")
    with place.daemon():
        job = ["route", "whatif", "leaf-001/4", "--job", f"{place.folder}/job"]
        found = place.json(*job)
        assert (found["before_endports"], found["after_endports"]) == (3, 3), found
        assert found == {**place.json("route", "whatif", "leaf-001/4", "--hosts", "host-000[1-2],host-0004"),
                         **{k: found[k] for k in ("route_ms", "verify_ms")}}
        figures = [line.split() for line in place.ctl(*job).splitlines()]
        rows = {" ".join(words[:-2]): words[-2:] for words in figures if len(words) > 2}
        assert rows["FIGURE"] == ["NOW", "THEN"], rows
        assert rows["endports"] == ["3", "3"]
        for name, key in (("all-to-all, max", "all_to_all_max"), ("worst shift", "shift_max")):
            assert rows[name] == [str(found[f"{when}_{key}"]) for when in ("before", "after")], (name, found)
        assert all(float(b) >= 0 for words in rows.values() for b in words if words != ["NOW", "THEN"]
                   and re.fullmatch(r"[\d.]+", b))
        without = place.json("route", "whatif", "leaf-001/4", "leaf-002/5")
        assert without["passed"] is True
        place.write("none", "# nobody\n\n")
        assert "names no host" in place.ctl("route", "whatif", "leaf-001/4", "--job", f"{place.folder}/none",
                                            code=2)
        assert "No such file" in place.ctl("route", "whatif", "leaf-001/4", "--job", "/nowhere", code=1)
        assert "--hosts names no host" in place.ctl("route", "whatif", "leaf-001/4", "--hosts", "", code=2)
        assert "name what fails" in place.ctl("route", "whatif", code=2)


def records(place, *options):
    return [json.loads(line) for line in place.ctl("audit", "export", *options).splitlines()]


def every_change_is_audited():
    """Changes are recorded at any log_level. A record of a reload names the settings that changed, without keys."""
    place = Place()
    place.write("fabricd.yaml", "log_level: error\nsubnet: {sm_key: 4711}\n")
    with place.daemon() as (_, process):
        place.ctl("port", "disable", "leaf-002/4", "--reason", "Größe: 100 % \"so\"")
        place.ctl("port", "disable", "leaf-002/4")
        place.ctl("port", "enable", "leaf-002/4")
        place.ctl("link", "isolate", "nowhere/1", code=4)
        place.ctl("status")
        place.write("fabricd.yaml", "log_level: error\nsubnet: {sm_key: 4712}\njournal: {keep: 7}\n")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: records(place, "--method", "reload"))
        keys = ("method", "object", "before", "after", "result", "reason")
        found = [tuple(r[k] for k in keys) for r in reversed(records(place))]
        assert found[0][:2] == ("start", "fabricd"), found
        assert found[1:] == [
            ("DisablePort", "leaf-002/4", "enabled", "disabled", "OK", "Größe: 100 % \"so\""),
            ("DisablePort", "leaf-002/4", "disabled", "disabled", "OK", ""),
            ("EnablePort", "leaf-002/4", "disabled", "enabled", "OK", ""),
            ("IsolateLink", "", "", "", "NOT_FOUND", ""),
            ("reload", f"{place.folder}/fabricd.yaml", "",
             "journal.keep: not set -> 7; subnet.sm_key: changed", "OK", "")], found
        record = records(place, "--result", "NOT_*")[0]
        assert record["source"].startswith("unix, pid ") and "nowhere" in record["message"], record
        assert f"(uid {os.getuid()})" in record["account"]
        assert len(records(place, "--object", "leaf-*")) == 3
        assert len(records(place, "--object", "leaf-*", "--result", "OK", "--since", "1h")) == 3
        assert not records(place, "--until", "1h") and not records(place, "--by", "alice*")
        assert "2026-13-01" in place.ctl("audit", "list", "--since", "2026-13-01", code=2)
        assert "too long" in place.ctl("sweep", "--reason", "x" * 800, code=2)
        assert len(place.json("audit", "list", "-n", "2")["records"]) == 2
        verdict = place.json("audit", "verify")
        assert verdict["intact"] and verdict["head"] == verdict["last"], verdict
        with place.database() as db:
            db.execute("UPDATE audit SET account = 'mallory' WHERE seq = 3")
        place.ctl("audit", "verify", code=5)
        # JSON output has the same exit code.
        done = subprocess.run([CTL, "-s", place.address, "-o", "json", "audit", "verify"],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 5 and json.loads(done.stdout)["bad"] == 3, done


def writes(text):
    """The numbers of entries, blocks and switches that the sentence of a dry run names."""
    return tuple(map(int, re.search(r"would write (\d+) entr(?:y|ies) in (\d+) blocks? on (\d+) switch", text).groups()))


def a_dry_run_says_what_follows():
    """A dry run of each change that this manager accepts leaves everything as it was. That of a reroute has the numbers
    of the reroute that follows."""
    place = Place()
    place.write("fabricd.yaml", "routing: {rebalance_after: 0}\nsubnet: {m_key: generated}\n")
    subprocess.run([FABSIM, "generate", "leaf-spine", "--leaves", "6", "--spines", "4", "--hosts", "4", "-o",
                    place.topology], check=True)
    with place.daemon():
        assert "would write no LFT block" in place.ctl("reroute", "--dry-run")
        assert "skipped: the tables are already the engine's" in place.ctl("route", "rebalance", "--dry-run")
        place.ctl("topo", "approve")
        before = [place.json("status")["generation"], place.json("key", "show")["generation"],
                  len(place.json("topo", "baseline")["entries"])]
        assert "1 node would no longer be approved; they would stay" in place.ctl("topo", "disapprove", "host-0001", "--dry-run")
        assert 'no node "nobody" is approved' in place.ctl("topo", "disapprove", "nobody", "--dry-run", code=4)
        place.ctl("topo", "disapprove", "host-0002")  # it waits for an approval now
        wait_until(lambda: "host-0002" in place.ctl("topo", "baseline", "--waiting"))
        assert "1 node would no longer" in place.ctl("topo", "disapprove", "host-000[1-2]", "--dry-run")
        place.ctl("topo", "approve", "host-0002")
        assert "the baseline would be dropped" in place.ctl("topo", "disapprove", "--all", "--dry-run")
        assert 'snapshot "x" would be made: 34 nodes and 48 links' in place.ctl("topo", "snapshot", "x", "--dry-run")
        assert 'no snapshot "x"' in place.ctl("topo", "snapshot", "x", "--forget", "--dry-run", code=4)
        assert "34 ports would get a new M_Key (now: number 1)" in place.ctl("key", "rotate", "--dry-run")
        assert "would be frozen until 'fabricctl manager resume' (repairs only; now: normal)" in place.ctl(
            "manager", "freeze", "--dry-run")
        assert "the manager is not frozen" in place.ctl("manager", "resume", "--dry-run")
        assert "the priority would be 3 (now: " in place.ctl("ha", "priority", "3", "--dry-run")
        assert "no trusted subnet manager is in standby" in place.ctl("ha", "handover", "--dry-run", code=1)
        assert "a heavy sweep would read the whole fabric (now: 34 nodes, 48 links)" in place.ctl("sweep", "--dry-run")
        assert before == [place.json("status")["generation"], place.json("key", "show")["generation"],
                          len(place.json("topo", "baseline")["entries"])]
        assert not place.json("topo", "list")["snapshots"] and place.json("manager", "status")["mode"] == "normal"
        rows = records(place, "--method", "Re*")
        assert {r["after"] for r in rows} == {"unchanged (dry run)"} and len(rows) >= 3, rows
        # After a link was lost and is back, the tables are those of local repairs, and not an engine's.
        for verb in ("unlink", "relink"):
            count = len(place.json("reroute", "list")["reroutes"])
            place.ctl("sim", verb, "leaf-001/5")
            wait_until(lambda: len(place.json("reroute", "list")["reroutes"]) > count)
        wait_until(lambda: place.json("status")["state"] == "idle")
        count = len(place.json("reroute", "list")["reroutes"])
        place.ctl("sim", "unlink", "leaf-002/5")
        wait_until(lambda: len(place.json("reroute", "list")["reroutes"]) > count)
        wait_until(lambda: place.json("status")["state"] == "idle")
        place.ctl("sweep")  # the model gets a snapshot that the view has not
        text = place.ctl("reroute", "--dry-run")
        place.ctl("reroute")
        last = place.json("reroute", "list", "-n", "1")["reroutes"][0]
        assert writes(text) == (last["entries"], last["blocks"], last["switches"]), (text, last)
        assert "would write no LFT block" in place.ctl("reroute", "--dry-run")


main([
    a_dry_run_says_what_follows,
    every_change_is_audited,
    partitions_are_listed_and_changed,
    traffic_classes_are_listed_and_chosen,
    congestion_control_is_shown,
    ethernet_gets_the_same_analysis,
    what_hosts_registered_is_listed,
    lists_come_in_pages,
    exports_are_the_same_in_files,
    slurm_gets_only_changes,
    jobs_are_compared_with_faults,
    a_fabric_is_served_and_broken,
    through_libibumad_too,
    what_was_recorded_is_printed,
    what_the_manager_knew_is_recorded,
    mistakes_in_topologies_have_their_place,
    the_daemon_reads_its_arguments,
    what_fails_is_compared_for_a_job,
])
