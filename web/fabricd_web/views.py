# SPDX-License-Identifier: BSD-3-Clause
"""Views of the map, as JSON. A view is rows of cards with lines between them. A card is a switch, or a group of
switches if there are many; a cell of a card is a switch of the group, or a host of the switch. So a view has a few
hundred cards at most, however large the fabric is."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from fabricd import NotFound

from .topology import (DOWN, OK, STATES, Group, Link, Port, Switch, Topology, level_name, split, split_by_rack)

CARDS = 96   # with more switches, cards are groups
GROUPS = 64  # in a row
LINES = 6000
LINKS = 500  # of one line


class View:
    """One view: what the path of keys names, such as "" (all) or "p3" (a pod)."""

    def __init__(self, topology: Topology, path: str, by: str, loads: Dict[Port, float]):
        self.t = topology
        self.by = by
        self.path = path
        self.loads = loads
        self.high = max((s.level for s in topology.switches), default=0)
        self.crumbs: List[Tuple[str, str]] = [("", "fabric")]
        self.members = list(range(len(topology.switches)))
        for key in [k for k in path.split(".") if k]:
            self._enter(key)
        self.cards: List[Dict[str, Any]] = []
        self.card_of: Dict[int, int] = {}
        self.rows: List[Dict[str, Any]] = []
        if self.members:
            self._lay()

    def _split(self, members: List[int]) -> List[List[Group]]:
        return (split_by_rack if self.by == "rack" else split)(self.t, members, GROUPS)

    def _enter(self, key: str) -> None:
        for row in self._split(self.members) if len(self.members) > CARDS else []:
            for group in row:
                if group.key == key:
                    parent = self.crumbs[-1][0]
                    self.crumbs.append((f"{parent}.{key}" if parent else key, group.label))
                    self.members = group.members
                    self.by = "pod"
                    return
        raise NotFound(f'the map has no group "{self.path}": the fabric has changed')

    # ---- cards

    def load_of(self, link: Link) -> Optional[float]:
        return max((v for v in (self.loads.get(link.a), self.loads.get(link.b)) if v is not None), default=None)

    def _load(self, links: List[int]) -> Optional[float]:
        known = [v for v in (self.load_of(self.t.links[n]) for n in links) if v is not None]
        return round(max(known), 3) if known else None

    def _host_cells(self, switch: Switch) -> List[List[Any]]:
        cells = []
        for number in switch.hosts:
            link = self.t.links[number]
            name = link.b_name if link.a_node >= 0 else link.a_name
            cells.append([name, link.state, self._load([number])])
        return cells

    def _switch_cell(self, i: int) -> List[Any]:
        switch = self.t.switches[i]
        return [switch.name, switch.state, self._load(switch.links)]

    def _switch_card(self, i: int) -> Dict[str, Any]:
        switch = self.t.switches[i]
        cells = self._host_cells(switch)
        return {"kind": "switch", "key": switch.name, "label": switch.name, "rack": switch.rack,
                "level": level_name(switch.level, self.high), "state": switch.state, "load": self._load(switch.links),
                "hosts": len(cells), "switches": 1, "blocks": [{"title": "hosts", "cells": cells}] if cells else []}

    def _group_card(self, group: Group, outside: bool = False) -> Dict[str, Any]:
        levels: Dict[int, List[int]] = {}
        for i in group.members:
            levels.setdefault(self.t.switches[i].level, []).append(i)
        blocks = [{"title": level_name(level, self.high), "cells": [self._switch_cell(i) for i in levels[level]]}
                  for level in sorted(levels, reverse=True)]
        path = group.key if outside or not self.crumbs[-1][0] else f"{self.crumbs[-1][0]}.{group.key}"
        return {"kind": "group", "key": path, "label": group.label, "rack": "", "level": blocks[0]["title"],
                "state": max(self.t.switches[i].state for i in group.members), "load": None,
                "hosts": sum(len(self.t.switches[i].hosts) for i in group.members),
                "switches": len(group.members), "blocks": blocks}

    def _row(self, title: str, cards: List[Tuple[Dict[str, Any], List[int]]]) -> None:
        first = len(self.cards)
        for card, members in cards:
            self.card_of.update((i, len(self.cards)) for i in members)
            self.cards.append(card)
        self.rows.append({"title": title, "cards": list(range(first, len(self.cards)))})

    def _lay(self) -> None:
        if len(self.members) > CARDS:
            for row in self._split(self.members):
                title = "racks" if self.by == "rack" else "pods" if row[0].key.startswith("p") else self._level(row[0])
                self._row(title, [(self._group_card(g), g.members) for g in row])
            return
        if len(self.crumbs) > 1:
            self._outside()
        levels: Dict[int, List[int]] = {}
        for i in self.members:
            levels.setdefault(self.t.switches[i].level, []).append(i)
        for level in sorted(levels, reverse=True):
            self._row(level_name(level, self.high), [(self._switch_card(i), [i]) for i in levels[level]])

    def _level(self, group: Group) -> str:
        return level_name(max(self.t.switches[i].level for i in group.members), self.high)

    def _outside(self) -> None:
        """Adds a row for the groups of the whole fabric that these switches are connected with."""
        inside, near = set(self.members), set()
        for i in inside:
            for number in self.t.switches[i].links:
                link = self.t.links[number]
                near.update({link.a_node, link.b_node} - inside)
        whole = [g for row in split(self.t, list(range(len(self.t.switches))), GROUPS) for g in row]
        groups = [g for g in whole if near.intersection(g.members) and not inside.intersection(g.members)]
        if groups and len(groups) <= GROUPS:
            self._row("elsewhere: " + self._level(groups[0]), [(self._group_card(g, True), g.members) for g in groups])

    # ---- lines

    def _lines(self) -> Dict[Tuple[int, int], List[int]]:
        lines: Dict[Tuple[int, int], List[int]] = {}
        for number, link in enumerate(self.t.links):
            if link.a_node < 0 or link.b_node < 0:
                continue
            a, b = self.card_of.get(link.a_node), self.card_of.get(link.b_node)
            if a is not None and b is not None and a != b:
                lines.setdefault((min(a, b), max(a, b)), []).append(number)
        return lines

    def _line(self, ends: Tuple[int, int], numbers: List[int]) -> List[Any]:
        states = [self.t.links[n].state for n in numbers]
        bad = sum(s != OK for s in states)
        only = self.t.links[numbers[0]].names() if len(numbers) == 1 else None
        return [ends[0], ends[1], len(numbers), max(states), bad, self._load(numbers), only]

    def document(self) -> Dict[str, Any]:
        """Returns the view. A line is [card, card, links, worst state, links that are not OK, load, ports of a single
        link]."""
        lines = [self._line(*item) for item in self._lines().items()]
        lines.sort(key=lambda line: (-line[3], line[0], line[1]))
        t = self.t
        bad = [0] * len(STATES)
        for link in t.links:
            bad[link.state] += 1
        return {"generation": str(t.generation), "path": self.path, "by": self.by, "crumbs": self.crumbs,
                "states": STATES, "racks": t.racks, "rows": self.rows, "cards": self.cards,
                "lines": lines[:LINES], "lines_left_out": max(0, len(lines) - LINES),
                "totals": {"switches": len(t.switches), "adapters": t.adapters,
                           "links": len(t.links) - bad[DOWN], **dict(zip(STATES, bad))}}

    def links_between(self, a: int, b: int) -> List[Dict[str, Any]]:
        """Returns the links of a line, the worst first."""
        numbers = self._lines().get((min(a, b), max(a, b)), [])
        return [self.describe(self.t.links[n]) for n in sorted(numbers, key=lambda n: -self.t.links[n].state)[:LINKS]]

    def describe(self, link: Link) -> Dict[str, Any]:
        a, b = link.names()
        return {"a": a, "b": b, "state": STATES[link.state], "why": link.why, "mbps": link.mbps,
                "load": self.load_of(link)}


def problems(topology: Topology, most: int = LINKS) -> Dict[str, Any]:
    """Returns the links that are not OK, the worst first."""
    bad = sorted((link for link in topology.links if link.state != OK), key=lambda link: -link.state)
    rows = [{"a": a, "b": b, "state": STATES[link.state], "why": link.why}
            for link in bad[:most] for a, b in [link.names()]]
    return {"generation": str(topology.generation), "links": rows, "total": len(bad)}
