#!/usr/bin/env python3
"""judge.py [--strict] IBNETDISCOVER DUMP_FTS: checks the forwarding tables in the switches.

Reads the output of ibnetdiscover and `dump_fts -n` of infiniband-diags, and uses no code of fabricd. Checks
that:

  * every port of an adapter or router and every switch has its own LID;
  * from every switch, the tables lead to every adapter and router, without a loop;
  * from every switch with an adapter, the tables lead to every switch, without a loop;
  * the channel dependency graph of all paths that begin at an adapter or router has no cycle. With
    --strict, also the paths that begin at switches and end at an adapter or router count.

Prints one line of totals, or the first few faults. The exit code is 0 if there is no fault.
"""
import collections
import re
import sys

NODE = re.compile(r'(Switch|Ca|Hca|Rt)\s+(\d+)\s+"([SHR]-(\w+))"\s+#\s+"(.*)"(.*)')
PORT = re.compile(r'\[(\d+)\](?:\[ext \d+\])?(?:\((\w+)\))?\s+"([SHR]-\w+)"\[(\d+)\](?:\(\w+\))?\s+#(.*)')
TABLE = re.compile(r'Unicast lids \[0x\w+-0x(\w+)\].* guid 0x(\w+)')
ENTRY = re.compile(r'0x(\w+)\s+(\d+)')
FAULTS_SHOWN = 10


class Fabric:
    def __init__(self):
        self.names = {}
        self.switch_lid = {}  # node id: LID
        self.peer = {}  # (node id, port): (node id, port)
        self.ends = {}  # LID: (node id, port) of an adapter or router

    def read(self, path):
        node = None
        for line in open(path, errors='replace'):
            m = NODE.match(line)
            if m:
                node = m[3]
                self.names[node] = m[5]
                if m[1] == 'Switch':
                    self.switch_lid[node] = int(re.search(r'lid (\d+)', m[6])[1])
                continue
            m = PORT.match(line)
            if m and node:
                port = int(m[1])
                self.peer[node, port] = (m[3], int(m[4]))
                if node not in self.switch_lid:
                    self.read_end(node, port, m[5])

    def read_end(self, node, port, comment):
        m = re.search(r'lid (\d+) lmc (\d+)', comment)
        for lid in range(int(m[1]), int(m[1]) + (1 << int(m[2]))):
            if lid in self.ends:
                fault('LID %d is at %s and at %s' % (lid, self.names[self.ends[lid][0]], self.names[node]))
            self.ends[lid] = (node, port)


faults = []


def fault(text):
    faults.append(text)


def read_tables(path):
    tables, tops, table = {}, {}, None
    for line in open(path, errors='replace'):
        m = TABLE.match(line)
        if m:
            node = 'S-' + m[2]
            table = tables[node] = {}
            tops[node] = int(m[1], 16)
            continue
        m = ENTRY.match(line)
        if m and table is not None:
            table[int(m[1], 16)] = int(m[2])
    return tables, tops


def check_lids(fabric):
    for lid in list(fabric.ends) + list(fabric.switch_lid.values()):
        if not 0 < lid < 0xC000:
            fault('LID %d is not a unicast LID' % lid)
    for lid, n in collections.Counter(fabric.switch_lid.values()).items():
        if n > 1 or lid in fabric.ends:
            fault('LID %d of a switch has more than one owner' % lid)


def follow(fabric, tables, lid, home, starts, edges):
    """Follows the tables from every start to `lid`, whose owner is `home`. Records the channel dependencies."""
    good = set()
    for start in starts:
        trail, at, came = [], start, None
        while at not in good:
            if at in trail:
                fault('loop: to LID %d by way of %s' % (lid, ' '.join(fabric.names[x] for x in trail)))
                break
            trail.append(at)
            if at == home[0]:
                break
            port = tables.get(at, {}).get(lid)
            there = fabric.peer.get((at, port))
            if there is None:
                fault('no way from %s to LID %d (table says port %s)' % (fabric.names[at], lid, port))
                break
            if came is not None:
                edges[came].add((at, port))
            came = (at, port)
            if there[0] not in fabric.switch_lid:
                if there != home:
                    fault('LID %d is delivered to %s port %d' % (lid, fabric.names[there[0]], there[1]))
                break
            at = there[0]
        else:
            if came is not None and at != home[0]:
                edges[came].add((at, tables[at][lid]))
        good.update(trail)


def find_cycle(edges):
    """Removes channels on which no channel depends, until there are none. Each remaining channel is on a cycle, or a
    channel on a cycle depends on it."""
    into = collections.Counter(b for bs in edges.values() for b in bs)
    ready = [a for a in edges if not into[a]]
    left = set(edges) | set(into)
    while ready:
        a = ready.pop()
        left.discard(a)
        for b in edges.get(a, ()):
            into[b] -= 1
            if not into[b]:
                ready.append(b)
    return left


def main():
    strict = sys.argv[1] == '--strict'
    nd, fts = sys.argv[-2:]
    fabric = Fabric()
    fabric.read(nd)
    tables, tops = read_tables(fts)
    check_lids(fabric)
    for node in fabric.switch_lid:
        if node not in tables:
            fault('no table of switch %s' % fabric.names[node])
    edges = collections.defaultdict(set)
    leaves = sorted({fabric.peer[end][0] for end in fabric.ends.values()} & set(fabric.switch_lid))
    skipped = 0
    for lid, end in sorted(fabric.ends.items()):
        # dump_fts 44 leaves out the last LID when LinearFDBTop is a multiple of 64.
        if all(lid == tops[n] and lid % 64 == 0 and lid not in tables[n] for n in tables):
            skipped += 1
            continue
        follow(fabric, tables, lid, end, leaves, edges)
        others = edges if strict else collections.defaultdict(set)
        follow(fabric, tables, lid, end, sorted(set(fabric.switch_lid) - set(leaves)), others)
    for node, lid in fabric.switch_lid.items():
        if all(lid == tops[n] and lid % 64 == 0 and lid not in tables[n] for n in tables):
            skipped += 1
            continue
        follow(fabric, tables, lid, (node, 0), leaves, edges)
    cycle = find_cycle(edges)
    if cycle:
        fault('%d channels are on or behind a cycle of dependencies, one of them %s port %d'
              % (len(cycle), fabric.names[min(cycle)[0]], min(cycle)[1]))
    if not fabric.ends:
        fault('no adapter was found')
    for text in faults[:FAULTS_SHOWN]:
        print(text)
    print('%d switches, %d ends, %d channel dependencies, %d LIDs not shown by dump_fts, %d faults'
          % (len(fabric.switch_lid), len(fabric.ends), sum(map(len, edges.values())), skipped, len(faults)))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
