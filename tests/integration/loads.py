#!/usr/bin/env python3
"""loads.py IBNETDISCOVER DUMP_FTS: how evenly the tables in the switches spread traffic.

Reads the same files as judge.py. Follows the tables between all pairs of adapters, one LID each, and prints
"HOPS MOST": the sum of the switches on all paths, and the most paths that cross one link between switches.
"""
import collections
import sys

import judge


def main():
    fabric = judge.Fabric()
    fabric.read(sys.argv[1])
    tables, _ = judge.read_tables(sys.argv[2])
    first = {}  # (node id, port): lowest LID
    for lid, end in sorted(fabric.ends.items()):
        first.setdefault(end, lid)
    hops, load = 0, collections.Counter()
    for source in first:
        for destination, lid in first.items():
            if source == destination:
                continue
            at, steps = fabric.peer[source][0], 0
            while at in fabric.switch_lid and steps < 64:
                port = tables[at][lid]
                there = fabric.peer[at, port][0]
                load[at, port] += there in fabric.switch_lid
                at, steps = there, steps + 1
            assert (at, 0) != destination and at == destination[0], 'LID %d is not reached' % lid
            hops += steps
    print(hops, max(load.values()))


if __name__ == '__main__':
    main()
