#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""faults.py [--build DIR] [--sim] [--background] [--engines updn,minhop] [--faults N] [--theirs N]
          [--kinds leaf,core,spine] [--json FILE] RADIX,LEVELS | FILE ...

Causes random faults in a simulated fabric of fabricd: N cables between a leaf and a switch above it, N cables
between higher switches, N whole switches above the leaves. Each fault is undone before the next. Undoing it
counts as another kind of fault. The first fault comes one second after the bring-up. Prints the median and
the worst time from the fault to the last acknowledged table block, the steps of the worst time, and the
longest turns of the manager's loop. fault_records.py says how the time is measured. With --json, appends all
results to a file, one line for each run.

The simulator is ibsim, which is part of neither project. OpenSM gets the same faults in the same run, one
manager after the other. OpenSM needs a long time for each fault, so --theirs is the number of faults for
OpenSM. Its times end with the last table block sent. ibsim itself takes time: a client measures the round
trip of a single SMP all the time, and the net worst time is without the longest such round trip during the
fault. ibsim does not run on the processors to which fabricd is pinned. If it did, a fault would take half as
long again.

--sim: fabricd simulates the fabric, and OpenSM is not measured. --background: the manager has other work at
the same time (see background.py), and OpenSM is not measured.

A fabric is a fat tree of switches with RADIX ports and LEVELS levels (36,3: 11,664 hosts), or a topology
file. As in against_opensm.py, OpenSM has its fastest settings, and the same preload library counts for both.
Needs python3-grpcio and protoc; --background needs `make tests/bench/sa_flood`.
"""
import argparse
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from against_opensm import TOP, Counts, Ibsim, opensm, stop, topology_of, wait_for, work_folder  # noqa: E402

KINDS = ('leaf', 'core', 'spine')


class Topology:
    """Switches by their distance from hosts, and the cables between them, with the names of ibsim."""

    def __init__(self, path):
        peers, hosts, node = {}, set(), None
        self.ends, self.lids = [], 0
        for line in open(path, errors='replace'):
            m = re.match(r'(Switch|Ca|Hca|Rt)\s+\d+\s+("[^"]+")', line)
            if m:
                node = m[2] if m[1] == 'Switch' else None
                self.lids += 1
                if node is None:
                    self.ends.append('0x' + m[2][3:-1])
                continue
            m = re.match(r'\[(\d+)\][^"]*("[^"]+")', line)
            if m and node and m[2].startswith('"S-'):
                peers.setdefault(node, []).append((int(m[1]), m[2]))
            elif m and node:
                hosts.add(node)
        self.leaves, self.peers = hosts, peers
        spines = {n for n in peers if n not in hosts}
        self.cables = {'leaf': [], 'core': [], 'spine': sorted(spines)}
        for switch in sorted(peers):
            for port, far in peers[switch]:
                ends = (switch in hosts) + (far in hosts)
                if ends == 1 and switch in hosts:
                    self.cables['leaf'].append('%s[%d]' % (switch, port))
                elif ends == 0 and switch < far:
                    self.cables['core'].append('%s[%d]' % (switch, port))

    def draw(self, kind, count, seed, near=None):
        places = self.cables[kind]
        if near:
            beside = {near} | {far for _, far in self.peers[near]}
            places = [p for p in places if p.split('[')[0] in beside]
        return random.Random(seed).sample(places, min(count, len(places)))


def quiet(counts, seconds, most):
    """Waits until no SMP was sent for some time. Requests for counters do not count."""
    end, sent, since = time.time() + most, counts().smps, time.time()
    while time.time() < end and time.time() - since < seconds:
        time.sleep(0.02)
        now = counts().smps
        if now != sent:
            sent, since = now, time.time()


def fault(ibsim, counts, what, pause, most):
    """Returns the milliseconds to the last block and the number of blocks; None if no table was written."""
    before, t0 = counts(), time.time()
    ibsim.say('Unlink ' + what)
    if not wait_for(lambda: counts().lft > before.lft, most):
        return None
    quiet(counts, pause, most)
    after = counts()
    return (after.last_lft / 1e9 - t0) * 1000, after.lft - before.lft


def run(name, start, topology, counter, tries, pause, most):
    """{kind: [(ms, blocks)]} of one manager on a new fabric."""
    folder = tempfile.mkdtemp(prefix='fabricd-bench-')
    ibsim = Ibsim(folder, topology)
    process, results = None, {}
    try:
        process, up = start(folder, ibsim, counter)
        counts = lambda: Counts(folder + '/counts')  # noqa: E731
        if not wait_for(lambda: process.poll() is not None or up(), most) or process.poll() is not None:
            return results
        quiet(counts, pause, most)
        for kind, places in tries:
            for what in places:
                results.setdefault(kind, []).append(fault(ibsim, counts, what, pause, most))
                ibsim.say('ReLink ' + what)
                time.sleep(0.1)
                quiet(counts, pause, most)
        return results
    finally:
        stop(process)
        ibsim.stop()
        if os.environ.get('KEEP'):
            print('kept', folder, name)


def summary(values):
    good = [v for v in values if v]
    times = [v[0] for v in good]
    blocks = [v[1] for v in good]
    if not good:
        return None
    return dict(n=len(good), lost=len(values) - len(good), median=statistics.median(times), worst=max(times),
                blocks=statistics.median(blocks), most=max(blocks))


def show(results, kinds):
    print('%-16s%-8s%4s%12s%12s%14s%12s' % ('manager', 'fault', 'n', 'median ms', 'worst ms', 'median blocks', 'most'))
    for name, found in results:
        for kind in kinds:
            s = summary(found.get(kind, []))
            if s:
                print('%-16s%-8s%4d%12.1f%12.1f%14.0f%12d%s'
                      % (name, kind, s['n'], s['median'], s['worst'], s['blocks'], s['most'],
                         '  (%d wrote nothing)' % s['lost'] if s['lost'] else ''))
    for kind in kinds:
        theirs = [summary(f.get(kind, [])) for n, f in results if n != 'fabricd']
        ours = [summary(f.get(kind, [])) for n, f in results if n == 'fabricd']
        if ours and ours[0] and any(theirs):
            best = min(s['median'] for s in theirs if s)
            print('%s: fabricd %.0f times as fast as the fastest OpenSM (medians)' % (kind, best / ours[0]['median']))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('fabrics', nargs='+')
    parser.add_argument('--build', default=TOP + '/build')
    parser.add_argument('--sim', action='store_true', help='fabricd --sim instead of ibsim')
    parser.add_argument('--background', action='store_true', help='give fabricd other work meanwhile')
    parser.add_argument('--engines', default='updn,minhop', help='of OpenSM; empty: fabricd alone')
    parser.add_argument('--faults', type=int, default=20)
    parser.add_argument('--theirs', type=int, default=3, help='faults that OpenSM gets')
    parser.add_argument('--kinds', default=','.join(KINDS))
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--near', metavar='GUID', help='draw only faults of this switch and of its neighbours, for '
                        'example of the leaf of the manager')
    parser.add_argument('--timeout', type=float, default=120, help='for the bring-up and for each fault of OpenSM')
    parser.add_argument('--wait', type=float, default=20, help='seconds to wait for a write of fabricd')
    parser.add_argument('--json', help='append a line a run to this file')
    parser.add_argument('--verbose', action='store_true', help='print each fault of fabricd')
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    kinds = args.kinds.split(',')
    if set(kinds) - set(KINDS):
        parser.error('--kinds: of ' + ', '.join(KINDS))
    os.environ.update(abs_top_srcdir=TOP, abs_top_builddir=args.build)
    sys.path.insert(0, TOP + '/tests/rpc')
    import fault_records
    work, counter = work_folder()
    for fabric in args.fabrics:
        topology = topology_of(args.build, fabric, work)
        places = Topology(topology)
        near = args.near and '"S-%016x"' % int(args.near, 16)

        def tries(count):
            return [(kind, places.draw(kind, count, args.seed, near)) for kind in kinds]

        results = []
        for engine in [] if args.sim or args.background else filter(None, args.engines.split(',')):
            results.append(('opensm ' + engine,
                            run('opensm', lambda *a: opensm(engine, *a), topology, counter,  # noqa: B023
                                tries(args.theirs), 2.5, args.timeout)))
        found, said = fault_records.run(args, topology, counter, tries(args.faults), places.ends, places.lids)
        print('\n%s, %s%s, seed %d: %d hosts' % (fabric, '--sim' if args.sim else 'ibsim',
                                                ' --background' if args.background else '', args.seed,
                                                len(places.ends)))
        print('\n'.join(said))
        fault_records.show(found, not args.sim)
        if results:
            ours = {kind: [(r['ms'], r['blocks']) if r['ms'] else None for r in found.get(kind + ' lost', [])]
                    for kind in kinds}
            show(results + [('fabricd', ours)], kinds)
        if args.json:
            with open(args.json, 'a') as f:
                f.write(json.dumps(dict(fabric=fabric, sim=args.sim, background=args.background, seed=args.seed,
                                        hosts=len(places.ends), said=said, faults=found)) + '\n')


if __name__ == '__main__':
    main()
