"""Nodes and links that left the fabric stay known: until they return or are forgotten, also after fabricd was
killed. fabricd runs on its simulated fabric."""

import re
import signal

from gone_place import HOST, Place
from harness import main, wait_until


def a_host_that_is_unplugged_stays_known():
    place = Place()
    with place.daemon():
        assert place.gone() == [] and "Gone" not in place.ctl("status")
        assert "No node is gone." in place.ctl("node", "list", "--gone")
        place.unplug("leaf-002/2", HOST)
        (row,) = place.json("node", "list", "--gone")["nodes"]
        assert (row["name"], row["type"], row["own_node"], row["own_port"], row["at_node"], row["at_port"],
                row["rate_mbps"]) == (HOST, "adapter", HOST, 1, "leaf-002", 2, 100000), row
        assert row["reason"] == "leaf-002/2 is down" and row["gone_since"] >= row["last_seen"] > row["first_seen"][:10]
        assert place.gone("switch") == [] and place.gone("adapter") == [HOST]
        assert place.links(HOST) == place.links("leaf-002") == place.links(row["guid"]) != []
        shown = place.json("node", "show", HOST)
        assert shown["gone"] and {k: shown[k] for k in row} == row
        assert re.search(r"^Last place: +leaf-002/2, from host-0005/1, 4x EDR", place.ctl("node", "show", HOST), re.M)
        (port,) = [p for p in place.json("port", "list", "leaf-002")["ports"] if p["port"] == 2]
        assert (port["last_peer_node"], port["last_peer_port"]) == (HOST, 1) and port["state"] == "Down"
        assert re.search(r"^leaf-002/2 .*\(host-0005/1\)$", place.ctl("port", "list", "leaf-002"), re.M)
        assert "Last peer:    host-0005/1" in place.ctl("port", "show", "leaf-002/2")
        assert "1 host (in the last 24 h); list them with 'fabricctl node list --gone'" in place.ctl("status")
        assert place.json("status")["gone_hosts"] == 1


def each_command_says_that_the_host_is_gone():
    place = Place()
    with place.daemon():
        guid = next(n["guid"] for n in place.json("node", "list")["nodes"] if n["name"] == HOST)
        place.unplug("leaf-002/2", HOST)
        sentence = (r"^fabricctl: host-0005 \(" + guid + r"\) has not been reachable since \d{4}-\d\d-\d\d "
                    r"\d\d:\d\d:\d\d UTC; it was last seen at leaf-002/2 \(this port is down\)$")
        for command in (("port", "list", HOST), ("port", "show", HOST + "/1"), ("port", "disable", HOST + "/1"),
                        ("link", "list", HOST), ("path", HOST, "host-0001"), ("path", "host-0001", HOST + "/1"),
                        ("port", "counters", guid), ("route", "quality", "--hosts", HOST + ",host-0001"),
                        ("route", "whatif", "--fail", HOST), ("route", "whatif", "--fail", HOST + "/1"),
                        ("link", "isolate", HOST + "/1")):
            message = place.ctl(*command, code=4)
            assert re.search(sentence, message), (command, message)
        # a name that is only similar gets a suggestion, as before
        assert place.ctl("port", "list", "leaf-00x", code=4) == (
            'fabricctl: no node, GUID or LID "leaf-00x"; did you mean "leaf-001"?\n')
        place.ctl("port", "list", "nobody", code=4)


def a_name_does_not_slip_to_another_node():
    """host-1 is gone. "host-1" is a prefix of "host-10", but that node must not be disabled instead."""
    place = Place()
    text = place.read_topology()
    for old, new in ((HOST, "host-1"), ("host-0006", "host-10")):
        text = text.replace(old, new)
    with open(place.topology, "w") as f:
        f.write(text)
    with place.daemon():
        place.unplug("leaf-002/2", "host-1")
        assert "host-1 (0x" in place.ctl("port", "disable", "host-1/1", code=4)
        assert place.json("port", "show", "host-10/1")["state"] == "Active"
        assert place.json("node", "show", "host-1")["gone"]


def without(topology, *hosts):
    """Returns the text of a topology without these hosts: without their blocks and the lines of their switch ports."""
    blocks = [b for b in topology.split("\n\n") if not any(re.search(f'^Ca.*"{h}"', b, re.M) for h in hosts)]
    return "\n".join(line for line in "\n\n".join(blocks).split("\n") if not any(f'"{h}"' in line for h in hosts)) + "\n"


def a_killed_manager_knows_what_is_gone():
    place = Place()
    whole = place.read_topology()
    with place.daemon(ends_with=-signal.SIGKILL) as (_, process):
        place.unplug("leaf-002/2", HOST)
        (before,) = place.json("node", "list", "--gone")["nodes"]
        process.kill()
        process.wait()
    # the simulated fabric starts again from its file
    place.write("f.net", without(whole, HOST))
    with place.daemon():
        (after,) = place.json("node", "list", "--gone")["nodes"]
        assert after == before
        assert "(this port is down)" in place.ctl("port", "list", HOST, code=4)
    # another host leaves while the manager is stopped
    place.write("f.net", without(whole, HOST, "host-0006"))
    with place.daemon():
        wait_until(lambda: place.gone() == ["host-0006", HOST])
        assert "last seen at leaf-002/3" in place.ctl("port", "list", "host-0006", code=4)
    place.write("f.net", whole)
    with place.daemon():
        wait_until(lambda: place.gone() == [])
        assert place.json("node", "show", HOST)["lid"] > 0


def moves_and_replacements_are_shown():
    place = Place()
    whole = place.read_topology()
    with place.daemon():
        assert place.json("node", "show", HOST)["earlier_links"] == []
    # another adapter with the same name at the same port: only the GUID differs
    guid = re.search(r'^Ca.*"H-([0-9a-f]+)".*"%s"' % HOST, whole, re.M).group(1)
    other = whole.replace(guid.lstrip("0"), "2c9020000ff00").replace(guid, "0002c9020000ff00")
    other = re.sub("2c9020000ff00(.*)\\n(.*)\\((?=2c90)[0-9a-f]+\\)", r"2c9020000ff00\1\n\2(2c9020000ff01)", other)
    place.write("f.net", other)
    with place.daemon():
        wait_until(lambda: place.gone() == [HOST])
        shown = place.json("node", "show", "0x0002c9020000ff00")
        (link,) = shown["replaced"]
        assert (link["a_node"], link["a_node_guid"], link["b_node"], link["b_port"]) == (
            HOST, "0x" + guid, "leaf-002", 2), link
        assert re.search(r"^Replaces: +%s \(0x%s\) at leaf-002/2, last seen" % (HOST, guid),
                         place.ctl("node", "show", HOST), re.M)
        (gone,) = place.json("node", "list", "--gone")["nodes"]
        assert gone["reason"] == "leaf-002/2 is connected to host-0005/1 now", gone


def nodes_are_forgotten():
    place = Place()
    with place.daemon():
        place.unplug("leaf-002/2", HOST)
        place.unplug("leaf-002/3", "host-0006")
        assert "refused: leaf-001 is part of the fabric" in place.ctl("node", "forget", "leaf-001", code=1)
        place.ctl("node", "forget", "nobody", code=4)
        place.ctl("node", "forget", code=2)
        place.ctl("node", "forget", HOST, "--older-than", "1d", code=2)
        place.ctl("node", "forget", "--older-than", "x", code=2)
        tried = place.json("node", "forget", HOST, "--dry-run")
        assert (tried["node_count"], tried["link_count"]) == (1, 1) and "would be forgotten" in tried["message"]
        assert sorted(place.gone()) == [HOST, "host-0006"]
        assert "0 nodes and 0 links" in place.ctl("node", "forget", "--older-than", "1d", "--reason", "too early")
        assert "1 node and 1 link that are gone: forgotten" in place.ctl("node", "forget", HOST, "--reason", "scrapped")
        wait_until(lambda: place.gone() == ["host-0006"])
        assert place.ctl("port", "list", HOST, code=4).startswith('fabricctl: no node, GUID or LID "host-0005"')
        place.ctl("node", "forget", "--older-than", "0s")
        wait_until(lambda: place.gone() == [] and place.links("leaf-002") == [])
        rows = place.json("audit", "list", "--method", "ForgetNodes")["records"]
        done = [(r["result"], r["after"], r["reason"]) for r in rows]
        assert ("OK", "forgotten", "scrapped") in done and ("OK", "forgotten", "too early") in done, done
        # a forgotten node that returns is a new one
        place.ctl("sim", "relink", "leaf-002/2")
        wait_until(lambda: any(n["name"] == HOST for n in place.json("node", "list")["nodes"]))


def the_reason_is_what_the_manager_sees_now():
    place = Place()
    with place.daemon():
        place.ctl("port", "disable", "leaf-002/2")
        wait_until(lambda: place.gone() == [HOST])
        reason = lambda name: next(n for n in place.json("node", "list", "--gone")["nodes"] if n["name"] == name)["reason"]
        assert reason(HOST) == "an operator disabled leaf-002/2"
        place.ctl("port", "enable", "leaf-002/2")
        wait_until(lambda: place.gone() == [])
        place.ctl("sim", "unlink", "leaf-002/4")
        place.ctl("sim", "unlink", "leaf-002/5")
        wait_until(lambda: len(place.gone()) == 4)
        assert reason(HOST) == "both nodes are gone" and place.gone("switch") == ["leaf-002"]
        assert "leaf-002 is gone, too" in place.ctl("port", "list", HOST, code=4)
        assert "3 hosts, 1 switch (in the last 24 h)" in place.ctl("status")


main([a_host_that_is_unplugged_stays_known, each_command_says_that_the_host_is_gone,
      a_name_does_not_slip_to_another_node, a_killed_manager_knows_what_is_gone, moves_and_replacements_are_shown,
      nodes_are_forgotten,
      the_reason_is_what_the_manager_sees_now])
