# SPDX-License-Identifier: BSD-3-Clause
"""The fabric as the map needs it: switches with levels, links with states, hosts below their switches. This module
computes; it makes no calls.

Switches with hosts have level 0, and each other switch is one level above its lowest neighbour, as in the picture of
`fabricctl topo export --format svg`."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

from fabricd.v1 import node_pb2, port_pb2

# States, in the order of their weight: a card shows the worst state of what it stands for.
OK, DEGRADED, EXCLUDED, DOWN = range(4)
STATES = ("ok", "degraded", "excluded", "down")
Port = Tuple[str, int]


@dataclass
class Switch:
    guid: str
    name: str
    rack: str
    level: int = -1
    state: int = OK
    links: List[int] = field(default_factory=list)  # links to switches, as indices
    hosts: List[int] = field(default_factory=list)  # links to adapters


@dataclass
class Link:
    """A link. `a` and `b` are ports; nodes are indices of switches, or -1 with the name of an adapter."""

    a: Port
    b: Port
    a_node: int
    b_node: int
    state: int
    mbps: int
    a_name: str = ""
    b_name: str = ""
    why: str = ""

    def names(self) -> Tuple[str, str]:
        return f"{self.a_name}/{self.a[1]}", f"{self.b_name}/{self.b[1]}"


@dataclass
class Topology:
    generation: int
    switches: List[Switch]
    links: List[Link]
    adapters: int
    racks: bool  # the operator's file of locations names racks


def natural(name: str) -> List[Any]:
    """Returns a key by which numbers in names count by value."""
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in re.split(r"(\d+)", name) if p]


def _port(ref: Any) -> Port:
    return ref.node_guid, ref.port_number


def link_state(link: Any) -> Tuple[int, str]:
    """Returns the state of a link of the API, and why it is not OK."""
    if link.state != port_pb2.PORT_STATE_ACTIVE:
        return DOWN, "the link is not Active"
    return (DEGRADED, link.rate_reason) if link.degraded else (OK, "")


def _find_levels(switches: List[Switch], links: List[Link]) -> None:
    """Breadth-first search from the switches with hosts. Those without a path to a host have level 0."""
    queue = deque(i for i, s in enumerate(switches) if s.hosts)
    for i in queue:
        switches[i].level = 0
    while queue:
        i = queue.popleft()
        for number in switches[i].links:
            link = links[number]
            peer = link.b_node if link.a_node == i else link.a_node
            if switches[peer].level < 0:
                switches[peer].level = switches[i].level + 1
                queue.append(peer)
    for switch in switches:
        switch.level = max(switch.level, 0)


class Builder:
    """Makes a Topology from messages of the API, which arrive in pages."""

    def __init__(self) -> None:
        self.switches: List[Switch] = []
        self.index: Dict[str, int] = {}
        self.adapters: Set[str] = set()
        self.links: List[Link] = []
        self.ends: Set[Port] = set()
        self.racks = False

    def add_nodes(self, nodes: Iterable[Any]) -> None:
        for node in nodes:
            self.racks = self.racks or bool(node.location.rack)
            if node.type == node_pb2.NODE_TYPE_SWITCH:
                self.index[node.guid] = len(self.switches)
                self.switches.append(Switch(node.guid, node.name or node.guid, node.location.rack))
            elif not node.aggregation_node:
                self.adapters.add(node.guid)

    def _add(self, ends: Tuple[Any, Any], state: int, mbps: int, why: str) -> None:
        a, b = map(_port, ends)
        self.ends.update((a, b))
        self.links.append(Link(a, b, self.index.get(a[0], -1), self.index.get(b[0], -1), state, mbps,
                               ends[0].node_name or a[0], ends[1].node_name or b[0], why))

    def add_excluded(self, a: Any, b: Any, why: str) -> None:
        """Adds a link that is up, and that routes avoid. ListLinks does not have it."""
        known = any(p.node_guid in self.index for p in (a, b))
        if known and not {_port(a), _port(b)} & self.ends:
            self._add((a, b), EXCLUDED, 0, why)

    def add_drained(self, ports: Iterable[Any]) -> None:
        """Adds the links of ports that routes avoid."""
        for port in ports:
            if port.excluded and port.HasField("last_peer"):
                self.add_excluded(port.port, port.last_peer, port.excluded)

    def add_links(self, links: Iterable[Any]) -> None:
        for link in links:
            state, why = link_state(link)
            self._add((link.a, link.b), state, link.rate.mbps, why)

    def add_gone(self, links: Iterable[Any]) -> None:
        """Adds links that were lost, if no other link took the place of one of their ports. Call it last."""
        for link in links:
            known = [r.node_guid in self.index or r.node_guid in self.adapters for r in (link.a, link.b)]
            # a host that is gone with its link is a loss of its switch
            if any(known) and not {_port(link.a), _port(link.b)} & self.ends:
                if link.a.node_guid in self.index or link.b.node_guid in self.index:
                    self._add((link.a, link.b), DOWN, link.rate.mbps, link.reason or "the link is gone")

    def topology(self, generation: int) -> Topology:
        for number, link in enumerate(self.links):
            ends = [i for i in (link.a_node, link.b_node) if i >= 0]
            for i in ends:
                switch = self.switches[i]
                (switch.links if len(ends) == 2 else switch.hosts).append(number)
                switch.state = max(switch.state, link.state)
        _find_levels(self.switches, self.links)
        return Topology(generation, self.switches, self.links, len(self.adapters), self.racks)


# ---- groups


@dataclass
class Group:
    """Switches that are one card of the map. The key is unique among the groups of a view."""

    key: str
    label: str
    members: List[int]


def _by_level(t: Topology, members: Iterable[int]) -> Dict[int, List[int]]:
    levels: Dict[int, List[int]] = {}
    for i in members:
        levels.setdefault(t.switches[i].level, []).append(i)
    for row in levels.values():
        row.sort(key=lambda i: natural(t.switches[i].name))
    return levels


def _neighbours(t: Topology, i: int) -> Iterable[int]:
    for number in t.switches[i].links:
        link = t.links[number]
        yield link.b_node if link.a_node == i else link.a_node


def _components(t: Topology, members: Set[int]) -> List[List[int]]:
    """Returns the connected parts of these switches, the one with the first name first."""
    left, parts = set(members), []
    while left:
        start = left.pop()
        part, queue = [start], [start]
        while queue:
            for peer in _neighbours(t, queue.pop()):
                if peer in left:
                    left.remove(peer)
                    part.append(peer)
                    queue.append(peer)
        parts.append(part)
    return sorted(parts, key=lambda p: min(natural(t.switches[i].name) for i in p))


def span(names: List[str]) -> str:
    """Returns one label for several names, such as "leaf-001 … leaf-018"."""
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"


def _labelled(t: Topology, key: str, members: List[int]) -> Group:
    members = sorted(members, key=lambda i: natural(t.switches[i].name))
    return Group(key, span([t.switches[i].name for i in members]), members)


def _chunks(t: Topology, prefix: str, row: List[int], most: int) -> List[Group]:
    size = -(-len(row) // max(1, min(most, -(-len(row) // 8))))
    return [_labelled(t, f"{prefix}{n // size + 1}", row[n:n + size]) for n in range(0, len(row), size)]


def _planes(t: Topology, top: List[int], pods: List[List[int]], most: int) -> List[Group]:
    """Groups the top switches by the place of their neighbours in the pods. In a fat tree, the core switches of one
    plane are connected with the same spine of each pod. The most frequent place decides, so that a lost link changes
    no group."""
    place: Dict[int, int] = {}
    for pod in pods:
        for row in _by_level(t, pod).values():
            place.update((i, n) for n, i in enumerate(row))
    planes: Dict[int, List[int]] = {}
    for i in top:
        places = [place[p] for p in _neighbours(t, i) if p in place]
        planes.setdefault(max(set(places), key=lambda n: (places.count(n), -n)) if places else -1, []).append(i)
    if len(planes) > most or len(planes) * 2 > len(top):
        return _chunks(t, "t", top, most)
    groups = [_labelled(t, f"t{n}", planes[k]) for n, k in enumerate(sorted(planes), 1)]
    for number, group in enumerate(groups, 1):
        group.label = f"plane {number}"
    return groups


def split(t: Topology, members: List[int], most: int) -> List[List[Group]]:
    """Divides switches into rows of groups, the highest row first, with at most `most` groups each."""
    levels = _by_level(t, members)
    high = max(levels)
    below = [i for level, row in levels.items() if level < high for i in row]
    pods = _components(t, set(below)) if len(levels) > 1 else []
    if 2 <= len(pods) <= most and any(len(p) > 1 for p in pods):
        row = [_labelled(t, f"p{n}", pod) for n, pod in enumerate(pods, 1)]
        for number, group in enumerate(row, 1):
            group.label = f"pod {number}"
        return [_planes(t, levels[high], pods, most), row]
    return [_chunks(t, f"l{level}c", levels[level], most) for level in sorted(levels, reverse=True)]


def split_by_rack(t: Topology, members: List[int], most: int) -> List[List[Group]]:
    """Divides switches into racks: one row for each level that is the lowest one of a rack."""
    racks: Dict[str, List[int]] = {}
    for i in members:
        racks.setdefault(t.switches[i].rack, []).append(i)
    names = sorted(racks, key=natural)
    size = -(-len(names) // most)
    rows: Dict[int, List[Group]] = {}
    for n in range(0, len(names), size):
        some = names[n:n + size]
        group = _labelled(t, f"r{n // size + 1}", [i for name in some for i in racks[name]])
        group.label = span([name or "no rack" for name in some])
        rows.setdefault(min(t.switches[i].level for i in group.members), []).append(group)
    return [rows[level] for level in sorted(rows, reverse=True)]


def level_name(level: int, high: int) -> str:
    """Returns what operators call the switches of a level."""
    names = {0: ("switch",), 1: ("leaf", "spine"), 2: ("leaf", "spine", "core")}
    row: Optional[Tuple[str, ...]] = names.get(high)
    return row[level] if row and level < len(row) else "leaf" if level == 0 else f"level {level}"
