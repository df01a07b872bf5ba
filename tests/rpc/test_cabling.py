"""fabricctl topo check, against a fabricd that manages a simulated fabric with mistakes in its cabling."""

import contextlib
import json
import os
import re
import subprocess

from harness import BUILD, PATIENCE, Fabric, channel, main, running, socket_path, wait_until

CTL, FABSIM, FABRICD = (os.path.join(BUILD, p) for p in ("cli/fabricctl", "cli/fabsim", "fabricd/fabricd"))
UP, UNSOUND = 0, 5


class Cables:
    """The cables of a fabric with two hosts on each leaf. They can be changed before fabricd starts."""

    def __init__(self, leaves=3, spines=2):
        command = f"generate leaf-spine --leaves {leaves} --spines {spines} --hosts 2 --radix 8"
        self.text = subprocess.run([FABSIM, *command.split()], capture_output=True, text=True, check=True).stdout
        self.names, self.peer = {}, {}
        for line in self.text.splitlines():
            if head := re.match(r'(?:Switch|Ca)\s+\d+ "([^"]+)"\s+# "([^"]+)"', line):
                node, self.names[head[1]] = head[2], head[2]
            if port := re.match(r'\[(\d+)\].*?"([SH]-\w+)"\[(\d+)\]', line):
                self.peer[node, int(port[1])] = (port[2], int(port[3]))
        self.ids = {name: i for i, name in self.names.items()}
        self.peer = {a: (self.names[i], port) for a, (i, port) in self.peer.items()}
        self.down = {}
        self.planned = dict(self.peer)

    def unplug(self, port):
        other = self.peer.pop(port)
        del self.peer[other]
        return other

    def plug(self, a, b):
        self.peer[a], self.peer[b] = b, a

    def swap(self, a, b):
        x, y = self.unplug(a), self.unplug(b)
        self.plug(a, y)
        self.plug(b, x)

    def csv(self, rack=None):
        rows = ["node_a,port_a,node_b,port_b,rate,rack_a"]
        for (node, port), (other, number) in sorted(self.planned.items()):
            if (node, port) < (other, number):
                rows.append(f"{node},{port},{other},{number},4x EDR,{rack(node) if rack else ''}")
        return "\n".join(rows) + "\n"

    def net(self):
        """Returns the fabric as it is cabled, for fabsim and fabricd --sim."""
        lines = []
        for line in self.text.splitlines():
            if line.startswith("["):
                continue
            lines.append(line)
            if head := re.match(r'(?:Switch|Ca)\s+\d+ "[^"]+"\s+# "([^"]+)"', line):
                ports = sorted((p, far) for (n, p), far in self.peer.items() if n == head[1])
                lines += [f'[{p}] "{self.ids[n]}"[{q}] # "{n}" lid 0 {self.down.get((head[1], p), "4xEDR")}'
                          for p, (n, q) in ports]
        return "\n".join(lines) + "\n"


class Place:
    def __init__(self, cables):
        self.folder = os.path.dirname(socket_path())
        self.address = f"unix:{self.folder}/s"
        self.cables = cables
        self.plan = self.write("plan.csv", cables.csv())

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    @contextlib.contextmanager
    def daemon(self, settings="{}", ready=lambda status: status.generation > 0):
        command = [FABRICD, "--sim", self.write("wired.net", self.cables.net()), "--sim-at", "host-0003",
                   "-f", self.write("fabricd.yaml", settings), "--state-dir", os.path.join(self.folder, "state"),
                   "--listen", self.address]
        with channel(self.address) as c:
            fabric = Fabric(c)
            with running(command, lambda p: wait_until(lambda: ready(fabric.GetStatus(timeout=10).status))):
                yield

    def ctl(self, *arguments, code=UP):
        done = subprocess.run([CTL, "-s", self.address, *arguments], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == code, done
        return done.stdout + done.stderr

    def check(self, *arguments, code=UNSOUND):
        return json.loads(self.ctl("topo", "check", *arguments, "-o", "json", code=code))

    def states(self, *ports):
        return {json.loads(self.ctl("port", "show", port, "-o", "json"))["state"] for port in ports}


def a_faithful_fabric_has_no_difference():
    place = Place(Cables())
    with place.daemon():
        result = place.check(place.plan, code=UP)
        assert result["correct_links"] == result["planned_links"] == 12
        assert result["nodes_by_name"] == result["planned_nodes"] == 11
        assert result["differences"] == result["moves"] == []
        text = place.ctl("topo", "check", place.plan)
        assert "none: the fabric is cabled as planned" in text
        # the exported fabric is also a plan, and so is a part of it
        place.ctl("topo", "export", "--file", place.folder + "/known.net")
        assert place.check(place.folder + "/known.net", code=UP)["format"] == "ibnetdiscover"
        topo = place.write("isl.topo", "SW leaf-001\n P3 -> SW spine-001 P1\n P4 -4x-25G-> SW spine-002 P1\n"
                           "SW leaf-002\n P3 -> SW spine-001 P2\n P4 -> SW spine-002 P2\n"
                           "SW leaf-003\n P3 -> SW spine-001 P3\n P4 -> SW spine-002 P3\n")
        assert place.check(topo, code=UP)["correct_links"] == 6
        assert place.check(topo, place.plan, code=UP)["correct_links"] == 12


def each_mistake_is_named_with_its_moves():
    cables = Cables()
    cables.swap(("leaf-001", 3), ("leaf-001", 4))
    cables.plug(("leaf-002", 8), cables.unplug(("leaf-002", 4)))
    cables.unplug(("leaf-003", 3))
    cables.plug(("leaf-003", 7), ("spine-001", 8))
    cables.down = {("leaf-003", 4): "1xEDR", ("spine-002", 3): "1xEDR"}
    place = Place(cables)
    with place.daemon():
        result = place.check(place.plan)
        kinds = [(d["kind"], f'{d["a_node"]}/{d["a_port"]}', d["planned"]) for d in result["differences"]]
        assert kinds == [
            ("swapped", "leaf-001/3", "leaf-001/3 - spine-001/1"),
            ("swapped", "leaf-001/4", "leaf-001/4 - spine-002/1"),
            ("wrong-port", "leaf-002/8", "leaf-002/4 - spine-002/2"),
            ("missing", "leaf-003/3", "a cable; it is missing, or the link is down"),
            ("wrong-width", "leaf-003/4", "4x EDR; the link runs at 1x EDR"),
            ("extra", "leaf-003/7", "no cable")], kinds
        moves = [m["text"] for m in result["moves"]]
        assert moves == [
            "swap the cables at leaf-001/3 and leaf-001/4",
            "move the cable end from leaf-002/8 to leaf-002/4 (other end: spine-002/2)",
            "connect leaf-003/3 to spine-001/3 (cable missing or dead)",
            "remove the cable between leaf-003/7 and spine-001/8"], moves
        assert result["correct_links"] == 8
        text = place.ctl("topo", "check", place.plan, code=UNSOUND)
        assert all(m in text for m in moves), text


def hosts_and_racks():
    cables = Cables()
    cables.swap(("leaf-001", 1), ("leaf-003", 2))
    cables.unplug(("leaf-002", 2))
    place = Place(cables)
    racks = {"leaf-001": "A9", "leaf-002": "A10", "leaf-003": "A2"}
    plan = place.write("racks.csv", cables.csv(lambda node: racks.get(node, "")))
    with place.daemon():
        result = place.check(plan)
        # racks in the order of their numbers
        assert [d["a_rack"] for d in result["differences"]] == ["A2", "A9", "A10"]
        assert [d["kind"] for d in result["differences"]] == ["swapped", "swapped", "missing"]
        # a plan with other names for the two hosts that changed places
        other = place.write("other.csv", cables.csv().replace("host-0006", "host-0099").replace("host-0001", "host-0098"))
        kinds = place.check(other)["kinds"]
        assert kinds == {"wrong-host": 2, "missing": 1}, kinds


def plans_are_checked():
    place = Place(Cables())
    with place.daemon():
        assert "no such file" in place.ctl("topo", "check", "/no/such/plan", code=1).lower()
        bad = place.write("bad.csv", "node_a,port_a,node_b,port_b\nleaf-001,1,spine-001\n")
        text = place.ctl("topo", "check", bad, code=1)
        assert f"{bad}:2:" in text and "expected a port of spine-001" in text, text
        foreign = place.write("foreign.csv", place.cables.csv().replace("leaf-", "x").replace("host-", "y")
                              .replace("spine-", "z"))
        text = place.ctl("topo", "check", foreign, code=1)
        assert "only 0 of the 11 nodes of the plan" in text, text
        assert "usage" in place.ctl("topo", "check", code=2)


def the_bring_up_is_watched():
    place = Place(Cables())
    with place.daemon():
        place.ctl("sim", "unlink", "leaf-001")
        wait_until(lambda: place.check(place.plan)["correct_links"] == 8)
        result = place.check(place.plan, "--watch", "-n", "1")
        assert result["correct_links"] == 8 and result["left_s"] is None
        assert result["differences"] == result["moves"] == []
        absent = place.check(place.plan)
        assert absent["kinds"] == {"absent": 1} and absent["moves"] == [], absent
        place.ctl("sim", "relink", "leaf-001")
        wait_until(lambda: place.ctl("topo", "check", place.plan, "--watch"))


def cables_are_checked_before_there_are_tables():
    place = Place(Cables(leaves=4))
    with place.daemon("routing: {engine: dor}", lambda status: status.alarm != ""):
        assert place.check(place.plan, code=UP)["correct_links"] == 16
        assert "no forwarding tables yet" in place.ctl("topo", "export", "--format", "dot", code=1)


def wrong_links_are_isolated():
    cables = Cables()
    cables.swap(("leaf-001", 3), ("leaf-001", 4))
    place = Place(cables)
    with place.daemon():
        before = place.check(place.plan)
        assert before["kinds"] == {"swapped": 2}
        dry = json.loads(place.ctl("topo", "isolate", place.plan, "--dry-run", "-o", "json"))["links"]
        assert [link["result"] for link in dry] == ["would be isolated"] * 2
        # without both links, leaf-001 would be cut off
        done = json.loads(place.ctl("topo", "isolate", place.plan, "-o", "json", code=1))["links"]
        assert [link["link"] for link in done] == ["leaf-001/3 - spine-002/1", "leaf-001/4 - spine-001/1"]
        assert done[0]["result"] == "isolated" and done[1]["result"] != "isolated", done
        wait_until(lambda: "Excluded" in place.ctl("port", "show", "leaf-001/3"))
        # an isolated link is still a cable
        assert place.check(place.plan) == before
        place.ctl("link", "release", "leaf-001/3")
        wait_until(lambda: "Excluded" not in place.ctl("port", "show", "leaf-001/3"))
        assert place.check(place.plan) == before


def links_in_maintenance_are_cables():
    place = Place(Cables(spines=4))
    with place.daemon():
        before = place.check(place.plan, code=0)
        assert before["kinds"] == {}, before
        place.ctl("drain", "link", "leaf-001/3", "--yes")
        wait_until(lambda: "Excluded" in place.ctl("port", "show", "leaf-001/3"))
        place.ctl("drain", "switch", "spine-004", "--yes")
        # one link of the switch stays for management packets
        wait_until(lambda: place.ctl("port", "list", "spine-004").count("in maintenance") == 2)
        port = json.loads(place.ctl("port", "show", "leaf-001/3", "-o", "json"))
        assert (port["peer_node"], port["last_peer_node"], port["last_peer_port"]) == (None, "spine-001", 1), port
        assert place.check(place.plan, code=0) == before
        # a cable that is pulled meanwhile is missing, although its ports stay in maintenance
        place.ctl("sim", "unlink", "leaf-001/3")
        wait_until(lambda: place.states("leaf-001/3", "spine-001/1") == {"Down"})
        assert place.check(place.plan)["kinds"] == {"missing": 1}
        # a new cable counts, although the manager does not activate its ports yet
        place.ctl("sim", "relink", "leaf-001/3")
        wait_until(lambda: place.states("leaf-001/3", "spine-001/1") == {"Init"})
        assert place.check(place.plan, code=0) == before


def the_shape_is_inferred():
    cables = Cables(leaves=5, spines=4)
    cables.swap(("leaf-002", 3), ("leaf-002", 4))
    place = Place(cables)
    with place.daemon():
        shape = json.loads(place.ctl("topo", "infer", "-o", "json"))
        assert shape["tree"] and shape["hosts"] == 10 and shape["rails"] == 0
        assert [(x["switches"], x["hosts"], x["down"], x["up"], x["odd"]) for x in shape["levels"]] == [
            (5, 2, 0, 4, 0), (4, 0, 5, 0, 0)], shape["levels"]
        assert shape["links"] == shape["links_in_pattern"] == 20
        assert [m["text"] for m in shape["moves"]] == ["swap the cables at leaf-002/3 and leaf-002/4"]
        assert "a tree of 2 levels" in place.ctl("topo", "infer")


main([
    a_faithful_fabric_has_no_difference,
    each_mistake_is_named_with_its_moves,
    hosts_and_racks,
    plans_are_checked,
    the_bring_up_is_watched,
    cables_are_checked_before_there_are_tables,
    wrong_links_are_isolated,
    links_in_maintenance_are_cables,
    the_shape_is_inferred,
])
