"""Snapshots of the topology, and their differences. fabricd runs on its simulated fabric."""

import os
import sqlite3

from gone_place import HOST, Place
from harness import main, wait_until


def kinds(diff):
    return [c["kind"] for c in diff["changes"]]


def snapshots_are_made_listed_and_forgotten():
    place = Place()
    with place.daemon():
        assert "There are no snapshots" in place.ctl("topo", "list")
        assert 'snapshot "first": 10 nodes and 10 links' in place.ctl("topo", "snapshot", "first", "--reason", "before work")
        wait_until(lambda: [s["name"] for s in place.json("topo", "list")["snapshots"]] == ["first"])
        (row,) = place.json("topo", "list")["snapshots"]
        assert (row["nodes"], row["links"], row["automatic"]) == (10, 10, False) and row["size"] > 1000
        assert row["made_by"] == place.json("whoami")["caller"]
        assert 'there is a snapshot "first"' in place.ctl("topo", "snapshot", "first", code=1)
        for name in ("", "1st", "yesterday", "auto-x", "a b", "a" * 64, "ä"):
            assert "a name of 1 to 63 letters" in place.ctl("topo", "snapshot", name, code=1)
        place.ctl("topo", "snapshot", "a" * 63)
        assert 'no snapshot "second"' in place.ctl("topo", "snapshot", "second", "--forget", code=4)
        assert 'no snapshot "second"' in place.ctl("topo", "diff", "second", code=4)
        assert "no snapshot was made before this time" in place.ctl("topo", "diff", "yesterday", code=4)
        place.ctl("topo", "snapshot", "first", "--forget")
        wait_until(lambda: len(place.json("topo", "list")["snapshots"]) == 1)
        rows = place.json("audit", "list", "--method", "MakeSnapshot")["records"]
        assert ("first", "OK", "before work") in [(r["object"], r["result"], r["reason"]) for r in rows], rows
        for i in range(63):
            place.ctl("topo", "snapshot", f"n{i}")
        wait_until(lambda: len(place.json("topo", "list")["snapshots"]) == 64)
        assert "there are 64 snapshots" in place.ctl("topo", "snapshot", "n63", code=1)


def differences_say_what_changed():
    place = Place()
    whole = place.read_topology()
    with place.daemon():
        place.ctl("topo", "snapshot", "whole")
        wait_until(lambda: place.json("topo", "list")["snapshots"])
        none = place.json("topo", "diff", "whole")
        assert (none["before"], none["after"], none["change_count"], none["changes"]) == ("whole", None, 0, [])
        assert place.json("topo", "diff", "0s", "now") == none
        place.ctl("sim", "unlink", "leaf-002/2")
        place.ctl("sim", "unlink", "leaf-002/4")
        place.ctl("sim", "degrade", "leaf-001/1", "--width", "1x")
        wait_until(lambda: sorted(kinds(place.json("topo", "diff", "whole"))) == ["link rate", "link removed", "node removed"])
        changes = {c["kind"]: c for c in place.json("topo", "diff", "whole")["changes"]}
        node, removed, rate = changes["node removed"], changes["link removed"], changes["link rate"]
        assert (node["name"], node["peer_node"], node["peer_port"]) == (HOST, "leaf-002", 2), node
        assert {(removed["node"], removed["port"]), (removed["peer_node"], removed["peer_port"])} == {
            ("leaf-002", 4), ("spine-001", 2)}, removed
        assert (rate["before"], rate["after"]) == ("4x EDR", "1x EDR") and {rate["node"], rate["peer_node"]} == {
            "leaf-001", "host-0001"}, rate
        text = place.ctl("topo", "diff", "whole")
        assert "was 4x EDR, is 1x EDR" in text and f"{HOST} (" in text and "at leaf-002/2" in text
        place.ctl("topo", "snapshot", "later")
        wait_until(lambda: len(place.json("topo", "list")["snapshots"]) == 2)
        back = place.json("topo", "diff", "later", "whole")
        assert sorted(kinds(back)) == ["link added", "link rate", "node added"] and back["after"] == "whole", back
    # host-0005 and host-0006 exchange their places, and one of them gets another name
    place.write("f.net", exchange(whole, HOST, "host-0006").replace('"host-0006"', '"new-name"'))
    with place.daemon():
        diff = place.json("topo", "diff", "whole")
        assert [(c["kind"], c["before"], c["after"]) for c in diff["changes"] if c["before"]] == [
            ("node renamed", "host-0006", "new-name")], diff
        assert [(c["node"], c["port"], c["peer_before_port"], c["peer_port"]) for c in diff["changes"]
                if c["kind"] == "link moved"] == [(HOST, 1, 2, 3), ("new-name", 1, 3, 2)], diff
        assert diff["change_count"] == 3
        assert "was connected to leaf-002/2, is connected to leaf-002/3" in place.ctl("topo", "diff", "whole")


def exchange(topology, *hosts):
    """Returns the text of a topology in which two hosts, at ports 2 and 3 of a leaf, have exchanged their places."""
    lines = []
    for line in topology.split("\n"):
        if any(f'# "{h}" lid' in line for h in hosts):  # lines of the leaf
            line = line.replace("[2]", "[x]", 1).replace("[3]", "[2]", 1).replace("[x]", "[3]", 1)
        elif any(f'"{h}"' in line for h in hosts) and line.startswith("Ca"):
            lines.append(line)
            lines.append(None)
            continue
        if lines and lines[-1] is None:  # the line with the port of the host, below its name
            lines.pop()
            line = line.replace('"[2]', '"[x]').replace('"[3]', '"[2]').replace('"[x]', '"[3]')
        lines.append(line)
    return "\n".join(lines)


def snapshots_survive_a_restart():
    place = Place()
    with place.daemon():
        place.ctl("topo", "snapshot", "kept")
        wait_until(lambda: place.json("topo", "list")["snapshots"])
    with sqlite3.connect(os.path.join(place.folder, "state/fabricd.db")) as db:
        db.execute("UPDATE snapshot SET topology = 'garbage' WHERE name = 'nothing'")
        db.execute("INSERT INTO snapshot VALUES ('bad', 1700000000, 0, 'me', 1, 1, 1, 7, 'garbage')")
    with place.daemon():
        assert [s["name"] for s in place.json("topo", "list")["snapshots"]] == ["bad", "kept"]
        assert place.json("topo", "diff", "kept")["change_count"] == 0
        assert "cannot be compared" in place.ctl("topo", "diff", "bad", code=1)


def degraded_links_are_shown_at_their_node():
    place = Place()
    with place.daemon():
        assert place.json("node", "show", "leaf-001")["degraded_links"] == 0
        assert "Degraded" not in place.ctl("node", "show", "leaf-001")
        place.ctl("sim", "degrade", "leaf-001/1", "--width", "1x")
        wait_until(lambda: place.json("node", "show", "leaf-001")["degraded_links"] == 1)
        assert "1 link; see 'fabricctl link list --degraded 0x" in place.ctl("node", "show", "host-0001")
        assert [n["name"] for n in place.json("node", "list")["nodes"] if n["degraded_links"]] == ["leaf-001", "host-0001"]
        (line,) = [l for l in place.ctl("port", "list", "leaf-001").split("\n") if "degraded" in l]
        assert line.startswith("leaf-001/1 ") and "1x EDR (25 Gb/s), degraded" in line, line


main([snapshots_are_made_listed_and_forgotten, differences_say_what_changed, snapshots_survive_a_restart,
      degraded_links_are_shown_at_their_node])
