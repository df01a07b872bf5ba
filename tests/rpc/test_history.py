"""event list with its filters, and history: what happened to a node or link, by whom, and what the manager did.
fabricd runs on its simulated fabric."""

import os
import sqlite3
import time

import grpc

from gone_place import HOST, Place
from harness import load, main, wait_until
from google.protobuf.timestamp_pb2 import Timestamp

event_pb2 = load("fabric.v1.event_pb2")


def story(place):
    """Causes some faults and makes some changes as an operator. Each begins after the end of the previous one."""
    place.ctl("sim", "unlink", "leaf-002/4")
    wait_until(lambda: types(place, "--type", "link-down") == ["link-down"])
    place.ctl("sim", "relink", "leaf-002/4")
    wait_until(lambda: "link-up" in types(place))
    place.ctl("port", "disable", "leaf-002/2", "--reason", "bad cable")
    wait_until(lambda: place.gone() == [HOST])
    place.ctl("port", "enable", "leaf-002/2", "--reason", "new cable")
    wait_until(lambda: place.gone() == [])
    place.ctl("sim", "unlink", "leaf-002/3")
    wait_until(lambda: place.gone() == ["host-0006"])


def types(place, *arguments):
    return [e["type"] for e in place.json("event", "list", "-n", "1000", *arguments)["events"]]


def history(place, *arguments):
    return [(e["by"].split()[0], e["what"]) for e in place.json("history", *arguments)["entries"]]


def events_are_filtered():
    place = Place()
    with place.daemon() as (f, _):
        story(place)
        wait_until(lambda: len(types(place, "--type", "node-removed")) == 2)
        assert set(types(place, "--type", "link-*,node-removed")) == {"link-down", "link-up", "node-removed"}
        assert types(place, "--type", "node-rem?ved") == ["node-removed"] * 2
        assert types(place, "--type", ",nothing,,") == []
        of_host = types(place, "--subject", HOST)
        assert [t for t in of_host if t[:4] in ("node", "port")] == [
            "port-disabled", "node-removed", "port-enabled", "node-added"], of_host
        assert types(place, "--subject", HOST + "/1", "--type", "link-*") == ["link-down", "link-up"]
        # by GUID, by a port at either end, by the name of a node that is gone, by a pattern
        guid = next(n["guid"] for n in place.json("node", "list")["nodes"] if n["name"] == HOST)
        assert types(place, "--subject", guid) == of_host
        assert types(place, "--subject", "leaf-002/2", "--type", "link-*") == ["link-down", "link-up"]
        spine = [(e["message"]) for e in place.json("event", "list", "--subject", "spine-001/2", "--type", "link-*")["events"]]
        assert len(spine) == 2 and all("leaf-002/4" in m for m in spine), spine
        assert types(place, "--subject", "host-0006") == ["node-removed", "link-down"]
        assert types(place, "--subject", "leaf-00?/2") == types(place, "--subject", "leaf-002/2", "--type", "link-*,port-*")
        assert types(place, "--subject", "leaf-001") == [] and types(place, "--subject", "nobody") == []
        # times, in each form; limits by sequence number
        everything = types(place, "--since", "1h")
        assert types(place, "--since", "yesterday") == everything and types(place, "--until", "1h") == []
        middle = place.json("event", "list", "-n", "1000")["events"][5]
        assert types(place, "--since", middle["time"][:19] + "Z")[-3:] == everything[-3:]
        assert types(place, "--since", "1h", "--until", "2100-01-01") == everything
        stamp = Timestamp(seconds=int(time.time()) + 100)
        assert not f.ListEvents(since=stamp).events and len(f.ListEvents(until=stamp).events) == len(everything)
        between = f.ListEvents(after_sequence=3, before_sequence=6).events
        assert [e.sequence for e in between] == [5, 4]
        for option, text in (("--since", "lunch"), ("--until", "25h ago")):
            assert "an age such as 2h or 7d" in place.ctl("event", "list", option, text, code=2)


def many_events_are_searched_in_pages():
    """The journal has 30,000 events, of which three match. Each request examines a limited number."""
    place = Place()
    with place.daemon():
        wait_until(lambda: "tables-published" in types(place))
    with sqlite3.connect(os.path.join(place.folder, "state/fabricd.db")) as db:
        (last,) = db.execute("SELECT max(seq) FROM event").fetchone()
        rows = [(last + i, (1600000000 + i) * 1000000, "info", "link-up", f"leaf-9/{i % 7}", "up", None, i % 7,
                 '{"peer": "old-%d/1", "peer_guid": "0x%016x", "peer_port": 1}' % (i % 10000, i % 10000)) for i in range(1, 30001)]
        (guid,) = db.execute("SELECT guid FROM node WHERE description = ?", (HOST,)).fetchone()
        rows[999] = rows[999][:8] + ('{"peer": "renamed/1", "peer_guid": "%s", "peer_port": 1}' % guid,)
        db.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", rows)
    with place.daemon() as (f, _):
        assert [e.sequence for e in pages(f, subject="old-77")] == [last + 20077, last + 10077, last + 77]
        first = f.ListEvents(subject="old-77")
        assert first.next_page_token and len(first.events) <= 1
        assert len(place.json("event", "list", "--subject", "old-77/1")["events"]) == 3
        assert [e.sequence for e in pages(f, subject="0x000000000000004d")] == []  # no node has this GUID
        # a node is known by its GUID, even if it had other names
        for name in (HOST, HOST + "/1", guid):
            assert last + 1000 in [e.sequence for e in pages(f, subject=name)], name
        assert last + 1000 not in [e.sequence for e in pages(f, subject=HOST + "/2")]
        # the list ends at `since`: one request is enough
        late = f.ListEvents(subject="leaf-9", since=Timestamp(seconds=1600000000 + 29998))
        assert len(late.events) == 3
        assert len(pages(f, since=Timestamp(seconds=1600000000 + 20001), until=Timestamp(seconds=1600000000 + 25001))) == 5000


def summary_events_are_about_each_of_their_nodes():
    """25 nodes leave at once. The one event about them names only the first ones."""
    place = Place()
    place.generate("--leaves", "3", "--spines", "2", "--hosts", "24")
    with place.daemon():
        place.ctl("sim", "unlink", "leaf-003/25")
        wait_until(lambda: "link-down" in types(place))
        place.ctl("sim", "unlink", "leaf-003/26")
        wait_until(lambda: len(place.gone()) == 25)
        (event,) = place.json("event", "list", "--type", "node-removed")["events"]
        assert "host-0049" in event["message"] and "host-0072" not in event["message"], event
        check_summary(place)
    with place.daemon():  # the events are in the store now
        check_summary(place)


def check_summary(place):
    for name in ("leaf-003", "host-0049", "host-0072"):
        assert ("fabric", "node-removed") in history(place, name), name
    assert ("fabric", "node-removed") not in history(place, "host-0048")
    assert types(place, "--subject", "host-0072", "--type", "node-removed") == ["node-removed"]


def the_history_of_a_rack_has_all_its_gone_nodes():
    place = Place()
    place.write("l.csv", "name,rack\nhost-000[4-6],A7\n")
    place.write("fabricd.yaml", f"sweep: {{light_interval: 1}}\nlocations: {{file: {place.folder}/l.csv}}\n")
    with place.daemon():
        for n in (1, 2, 3):
            place.ctl("sim", "unlink", f"leaf-002/{n}")
            wait_until(lambda: len(place.gone()) == n)
        removed = place.json("event", "list", "--subject", "A7", "--type", "node-removed")["events"]
        assert sorted(e["subject"] for e in removed) == ["host-0004", "host-0005", "host-0006"], removed


def pages(f, **request):
    events, token = [], ""
    while True:
        page = f.ListEvents(page_token=token, page_size=1000, **request)
        events += page.events
        token = page.next_page_token
        if not token:
            return events


def the_history_of_a_host_names_person_fabric_and_manager():
    place = Place()
    with place.daemon():
        story(place)
        wait_until(lambda: ("fabric", "link-down") in history(place, "host-0006"))
        me = place.json("whoami")["caller"].split()[0]
        wait_until(lambda: ("manager", "tables-published") in history(place, HOST)[-1:])
        entries = place.json("history", HOST)["entries"]
        assert [e["time"] for e in entries] == sorted(e["time"] for e in entries)
        told = [(e["by"].split()[0], e["what"]) for e in entries if e["what"] != "reroute-done"]
        order = [told.index(x) for x in (("manager", "port-disabled"), ("fabric", "node-removed"), ("fabric", "link-down"),
                                         ("manager", "port-enabled"), ("fabric", "node-added"), ("fabric", "link-up"))]
        assert order == sorted(order), told
        acts = {e["what"]: e for e in entries if e["by"].split()[0] == me}
        assert acts["DisablePort"]["reason"] == "bad cable" and acts["EnablePort"]["after"] == "enabled", acts
        reaction = entries[[e["what"] for e in entries].index("link-down") + 1:]
        assert reaction[0]["by"] == "manager" or reaction[0]["what"] == "DisablePort", reaction[0]
        text = place.ctl("history", HOST)
        assert "leaf-002/2: enabled, now disabled (bad cable)" in text and me in text
        # the other host has no such events; the link has the events of both ends
        gone = history(place, "host-0006")
        assert (me, "DisablePort") not in gone and gone[-3:-1] == [("fabric", "node-removed"), ("fabric", "link-down")] or \
            gone[-2:] == [("fabric", "node-removed"), ("fabric", "link-down")], gone
        assert (me, "Unlink") in gone
        assert history(place, "spine-001/2") == history(place, "leaf-002/4")
        assert ("manager", "reroute-done") in history(place, "leaf-002/4")
        assert len(history(place, HOST, "-n", "2")) == 2
        assert history(place, HOST, "-n", "2") == history(place, HOST)[-2:]
        assert history(place, HOST, "--until", "1h") == []
        assert history(place, HOST, "--since", "1h") == history(place, HOST)
        assert "Nothing is recorded about leaf-001/1" in place.ctl("history", "leaf-001/1")
        assert 'did you mean "leaf-001"' in place.ctl("history", "leaf-00x", code=4)
        place.ctl("history", "nobody", code=4)
        place.ctl("history", code=2)


main([events_are_filtered, many_events_are_searched_in_pages,
      summary_events_are_about_each_of_their_nodes, the_history_of_a_rack_has_all_its_gone_nodes,
      the_history_of_a_host_names_person_fabric_and_manager])
