"""What devices and cables say about themselves: commands, filters, formats, metrics, and what stays after a node left.
fabricd runs on its simulated fabric."""

import csv
import io
import signal

from gone_place import HOST, Place
from harness import main, wait_until

NODES = 2 + 2 + 6
LINKS = 6 + 4


def reading():
    place = Place()
    place.write("fabricd.yaml", "sweep: {light_interval: 1}\ninventory: {read: yes, requests: 10000}\n")
    return place


def nodes(place, *arguments):
    return place.json("inventory", "nodes", *arguments)["nodes"]


def all_read(place):
    return wait_until(lambda: all(n["state"] == "read" for n in nodes(place)))


def in_pages(call, field, size):
    """Returns the rows of all pages of this size."""
    rows, token = [], ""
    while True:
        page = call(page_size=size, page_token=token, timeout=60)
        assert 0 < len(getattr(page, field)) <= size
        rows += getattr(page, field)
        token = page.next_page_token
        if not token:
            return rows


def nothing_is_read_by_default():
    place = Place()
    with place.daemon():
        rows = nodes(place)
        assert len(rows) == NODES and {n["state"] for n in rows} == {"unread"}, rows
        assert rows[0]["vendor_id"] == 0x2c9 and rows[0]["serial"] == ""
        for what in ("nodes", "cables"):
            assert "The manager does not read devices: the setting inventory.read is no" in place.ctl("inventory", what)
        assert "No such cables are known." in place.ctl("inventory", "cables")


def a_large_fabric_is_compared_in_parts():
    place = Place()
    place.generate("--leaves", "10", "--spines", "2", "--hosts", "60")
    with place.daemon():
        wait_until(lambda: len(nodes(place)) == 10 + 2 + 600)


def a_reload_turns_reading_on():
    place = Place()
    with place.daemon() as (_, process):
        assert {n["state"] for n in nodes(place)} == {"unread"}
        place.write("fabricd.yaml", "sweep: {light_interval: 1}\ninventory: {read: yes, requests: 10000}\n")
        process.send_signal(signal.SIGHUP)
        all_read(place)


def devices_and_cables_are_listed():
    place = reading()
    with place.daemon() as (f, _):
        all_read(place)
        rows = nodes(place)
        assert [n["name"] for n in rows] == [n["name"] for n in place.json("node", "list")["nodes"]]
        assert len({n["serial"] for n in rows}) == NODES and all(n["firmware"] and n["psid"] for n in rows)
        assert all(n["fans"] == (4 if n["type"] == "switch" else 0) and 0 < n["celsius"] < n["limit_celsius"]
                   for n in rows)
        assert [n["type"] for n in nodes(place, "switch")] == ["switch"] * 4
        assert "The manager does not read" not in place.ctl("inventory", "nodes")
        cables = place.json("inventory", "cables")["cables"]
        assert len(cables) == 2 * LINKS
        by_port = {(c["node"], c["port"]): c for c in cables}
        for c in cables:
            peer = by_port[c["peer_node"], c["peer_port"]]
            assert peer["serial"] == c["serial"] and not c["damaged"] and c["length_metres"] > 0
            of_host = "host" in c["node"] + c["peer_node"]
            assert c["medium"] == ("copper" if of_host else "active-optical") and (c["celsius"] is None) == of_host
        assert [c["port"] for c in place.json("inventory", "cables", HOST)["cables"]] == [1]
        assert place.json("inventory", "cables", "--hot")["cables"] == []
        table = list(csv.DictReader(io.StringIO(place.ctl("inventory", "cables", "-o", "csv"))))
        assert [t["serial"] for t in table] == [c["serial"] for c in cables]
        for size in (1, 3, NODES, 2 * LINKS + 1):
            assert len(in_pages(f.ListNodeInventory, "nodes", size)) == NODES
            assert len(in_pages(f.ListCableInventory, "cables", size)) == 2 * LINKS


def sorted_rows_and_bad_arguments():
    place = reading()
    with place.daemon():
        all_read(place)
        serials = [n["serial"] for n in nodes(place, "--sort", "serial")]
        assert serials == sorted(serials)
        assert 'no node, GUID or LID "nobody"' in place.ctl("inventory", "cables", "nobody", code=4)
        assert "rack" in place.ctl("inventory", "nodes", "--rack", "Z9", code=4)
        assert "switch, adapter" in place.ctl("inventory", "nodes", "hub", "leaf-001", code=2)
        assert [n["name"] for n in nodes(place, "adapter", "*-000[1-2]")] == ["host-0001", "host-0002"]
        assert [c["port"] for c in place.json("inventory", "cables", "leaf-001/[4-5]")["cables"]] == [4, 5]
        place.ctl("inventory", "nodes", "--gone", "--odd", code=2)
        place.ctl("inventory", "nodes", "--gone", "--hot", code=2)
        assert nodes(place, "--hot") == []


def a_node_that_left_keeps_its_inventory():
    place = reading()
    with place.daemon():
        all_read(place)
        (before,) = [n for n in nodes(place) if n["name"] == HOST]
        assert nodes(place, "--gone") == []
        place.unplug("leaf-002/2", HOST)
        wait_until(lambda: nodes(place, "--gone"))
        (gone,) = nodes(place, "--gone")
        assert gone["gone"] and all(gone[k] == before[k] for k in ("name", "guid", "serial", "firmware", "part", "psid"))
        assert len(nodes(place)) == NODES - 1
        place.ctl("node", "forget", HOST)
        wait_until(lambda: nodes(place, "--gone") == [])


def racks_select_devices():
    place = Place()
    place.write("l.csv", "name,rack\nhost-000[1-3],A1\nleaf-001,A1\nhost-*,A2\n")
    place.write("fabricd.yaml", "inventory: {read: yes, requests: 10000}\n"
                f"locations: {{file: {place.folder}/l.csv}}\n")
    with place.daemon():
        all_read(place)
        assert [n["name"] for n in nodes(place, "--rack", "a1")] == ["leaf-001", "host-0001", "host-0002", "host-0003"]
        assert {c["node"] for c in place.json("inventory", "cables", "--rack", "A2")["cables"]} == {
            "host-0004", "host-0005", "host-0006"}


main([nothing_is_read_by_default, a_large_fabric_is_compared_in_parts, a_reload_turns_reading_on,
      devices_and_cables_are_listed, sorted_rows_and_bad_arguments, a_node_that_left_keeps_its_inventory,
      racks_select_devices])
