"""Hosts with several adapters, and racks, wherever a command takes a node. fabricd runs on its simulated fabric: two rails,
five hosts with two adapters each, in two racks."""

import os
import subprocess

from gone_place import FABSIM, Place
from harness import main, wait_until

FIRST, SECOND = "node-0002", "node-0003"
ADAPTERS = [FIRST + "/mlx5_0", FIRST + "/mlx5_1"]
LOCATIONS = "name,rack\nnode-000[2-3],A1\nnode-000[4-5],A2\nsu*,A1\nspine-*,C1\n"


def rails(locations=LOCATIONS):
    """Returns a place whose fabric has rails. The manager is at node-0001/mlx5_0."""
    place = Place()
    subprocess.run([FABSIM, "generate", "rail", "--servers", "5", "--group-size", "5", "--spines", "2", "--adapters", "2",
                    "-o", place.topology], check=True)
    place.write("l.csv", locations)
    place.write("fabricd.yaml", "sweep: {light_interval: 1}\ninventory: {read: yes, requests: 10000}\n"
                f"locations: {{file: {place.folder}/l.csv}}\n")
    return place


def entries(place, what, *arguments):
    return [(e["what"], e.get("subject", e.get("object"))) for e in place.json("history", what, *arguments)["entries"]]


def own_port(place, adapter):
    """Returns the switch port, as NODE/PORT, at which an adapter is."""
    (port,) = [p for p in place.json("port", "list", adapter)["ports"] if p["peer_node"]]
    return f"{port['peer_node']}/{port['peer_port']}"


def the_history_of_a_host_has_all_its_adapters():
    place = rails()
    with place.daemon() as (fabric, _):
        switch_ports = [own_port(place, a) for a in ADAPTERS]
        for adapter in ADAPTERS:
            place.ctl("sim", "unlink", adapter)
            wait_until(lambda: adapter in place.gone())
        place.ctl("port", "disable", own_port(place, SECOND + "/mlx5_0"))
        wait_until(lambda: SECOND + "/mlx5_0" in place.gone())
        of_host = entries(place, FIRST)
        removed = [subject for what, subject in of_host if what == "node-removed"]
        assert removed == ADAPTERS, of_host
        assert [what for what, _ in of_host].count("link-down") == 2
        assert not any(SECOND in (subject or "") for _, subject in of_host), of_host
        # people, too, and both adapters are back in one list
        place.ctl("sim", "relink", FIRST)
        wait_until(lambda: not set(ADAPTERS) & set(place.gone()))
        of_host = entries(place, FIRST)
        assert [subject for what, subject in of_host if what == "node-added"] == ADAPTERS or \
            "nodes-added" in str(of_host) or of_host[-1][0], of_host
        assert {what for what, _ in of_host} >= {"Unlink", "Relink"}, of_host
        # one adapter has its own events only
        of_adapter = entries(place, ADAPTERS[0])
        assert ADAPTERS[1] not in str(of_adapter) and ("node-removed", ADAPTERS[0]) in of_adapter
        # a host of which one adapter is gone: its events, and those of its last switch port
        port = own_port(place, ADAPTERS[1])
        place.ctl("sim", "unlink", ADAPTERS[1])
        wait_until(lambda: ADAPTERS[1] in place.gone())
        place.ctl("port", "disable", port)
        wait_until(lambda: ("DisablePort", port) in entries(place, FIRST))
        removed = place.json("event", "list", "--subject", FIRST, "--type", "node-removed")["events"]
        assert sorted(e["subject"] for e in removed) == [*ADAPTERS, ADAPTERS[1]], removed
        assert switch_ports[1] == port
        # racks
        of_host, of_rack = entries(place, FIRST), entries(place, "A1", "-n", "1000")
        assert of_rack == entries(place, "rack:a1", "-n", "1000")
        assert set(of_host) <= set(of_rack), set(of_host) - set(of_rack)
        assert ("node-removed", SECOND + "/mlx5_0") in of_rack
        assert not any("node-0002" in (subject or "") for _, subject in entries(place, "A2"))
        assert place.json("audit", "list")["records"]
        assert "Nothing is recorded about node-0004" in place.ctl("history", "node-0004")
        assert "Nothing is recorded about A2" in place.ctl("history", "A2", "--until", "1h")
        place.ctl("history", "rack:Z9", code=4)
        gone = [l["a_node"] + " " + l["b_node"] for l in place.json("link", "list", "--gone", FIRST)["links"]]
        assert len(gone) == 1 and ADAPTERS[1] in gone[0], gone
        assert len(place.json("link", "list", "--gone", "A1")["links"]) == 2
        assert place.json("link", "list", "--gone", ADAPTERS[1] + "/1")["links"] != []
        assert place.json("link", "list", "--gone", ADAPTERS[1] + "/2")["links"] == []
        # each page of the links of a rack is full, and no link is missing
        page = fabric.ListGoneLinks(node="A1", page_size=1)
        second = fabric.ListGoneLinks(node="A1", page_size=1, page_token=page.next_page_token)
        assert len(page.links) == len(second.links) == 1 and page.links != second.links, (page, second)
        assert place.json("link", "list", "--gone", ADAPTERS[0])["links"] == []
        assert place.json("link", "list", "--gone", "A2")["links"] == []
        place.ctl("link", "list", "--gone", "nobody", code=4)


def failures_are_hosts_and_racks():
    place = rails()
    with place.daemon():
        one = place.json("route", "whatif", ADAPTERS[0])
        host = place.json("route", "whatif", FIRST)
        rack = place.json("route", "whatif", "A2")
        assert (one["links"], host["links"], rack["links"]) == (1, 2, 4)
        assert (one["lost_endport_count"], host["lost_endport_count"], rack["lost_endport_count"]) == (1, 2, 4)
        assert [p["node"] for p in host["lost_endports"]] == ADAPTERS
        assert place.json("route", "whatif", FIRST, ADAPTERS[1])["links"] == 2
        assert place.json("route", "whatif", "rack:A2", "--fail", FIRST)["links"] == 6
        assert place.json("route", "whatif", FIRST + "/mlx5_0/1")["links"] == 1
        assert "is ambiguous (2 matches)" in place.ctl("route", "whatif", FIRST + "/1", code=1)
        place.ctl("route", "whatif", "rack:Z9", code=4)
        place.write("jobs", f"7 {FIRST},{SECOND}\n8 node-0004\n")
        jobs = place.json("job", "affected", FIRST, "--jobs", os.path.join(place.folder, "jobs"), "--all")["jobs"]
        assert [(j["job"], j["lost_endports"]) for j in jobs] == [("7", 2), ("8", 0)], jobs
        jobs = place.json("job", "affected", "A2", "--jobs", os.path.join(place.folder, "jobs"), "--all")["jobs"]
        assert [(j["job"], j["lost_endports"]) for j in jobs] == [("7", 0), ("8", 2)], jobs
        # a job in a rack is that of its hosts
        for job, endports in (("A2", 4), ("rack:a2", 4), (FIRST + ",A2", 6), ("rack:A[1-2]", 8)):
            assert place.json("route", "quality", "--hosts", job)["endports"] == endports, job
        assert "Z9" in place.ctl("route", "quality", "--hosts", "rack:Z9", code=4)


def lists_and_paths_take_hosts_and_racks():
    place = rails()
    with place.daemon():
        def names(*arguments):
            (rows,) = [v for v in place.json(*arguments).values() if isinstance(v, list)]
            return {r.get("name", r.get("node", r.get("a_node"))) for r in rows}
        for command in (("port", "list"), ("inventory", "nodes"), ("node", "list")):
            assert names(*command, FIRST) == set(ADAPTERS), command
            assert {FIRST + "/mlx5_0", SECOND + "/mlx5_1"} < names(*command, "A1"), command
            assert names(*command, "rack:A2") == {f"node-000{h}/mlx5_{a}" for h in (4, 5) for a in (0, 1)}, command
        assert len(place.json("link", "list", FIRST)["links"]) == 2 and len(place.json("link", "list", "A2")["links"]) == 4
        shown = place.json("node", "show", FIRST)["items"]
        assert [n["name"] for n in shown] == ADAPTERS
        assert place.json("node", "show", ADAPTERS[0])["name"] == ADAPTERS[0]
        # a path for each rail
        paths = place.json("path", FIRST, SECOND)["paths"]
        assert [(p["source_node"], p["destination_node"]) for p in paths] == [
            (f"{FIRST}/mlx5_{r}", f"{SECOND}/mlx5_{r}") for r in (0, 1)] and all(p["reachable"] for p in paths)
        paths = place.json("path", FIRST, SECOND + "/mlx5_1")["paths"]
        assert [(p["source_node"], p["destination_node"]) for p in paths] == [(a, SECOND + "/mlx5_1") for a in ADAPTERS]
        assert len(place.json("path", "node-000[2-3]", "node-000[4-5]")["paths"]) == 8
        assert "hops" in place.json("path", ADAPTERS[0], SECOND + "/mlx5_0")
        assert "is ambiguous" in place.ctl("path", "node-", SECOND, code=1)
        place.ctl("path", "nobody", FIRST, code=4)
        text = place.ctl("path", FIRST, SECOND)
        assert text.count(SECOND) == 2 and "SOURCE" in text


def racks_lose_power():
    place = rails()
    with place.daemon():
        place.ctl("sim", "unlink", "rack:A2", "--yes")
        wait_until(lambda: len(place.gone()) == 4)
        wait_until(lambda: any("node" in what for what, _ in entries(place, "A2")))
        assert len(entries(place, "rack:A2")) >= 1
        place.ctl("sim", "relink", "rack:A2", "--yes")
        wait_until(lambda: place.gone() == [])
        place.ctl("sim", "unlink", "rack:Z9", "--yes", code=4)


main([the_history_of_a_host_has_all_its_adapters, failures_are_hosts_and_racks, lists_and_paths_take_hosts_and_racks,
      racks_lose_power])
