#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""faults.py [--build DIR] [--engines updn,minhop] [--faults N] [--theirs N] [--kinds leaf,core,spine] RADIX,LEVELS | FILE ...

Causes faults in the same simulated fabric (ibsim, which neither project wrote) under fabricd and
under OpenSM, one after the other in one run: N cables between a leaf and a switch above it, N cables
higher up, N whole switches above the leaves, at random by the seed. Each fault is undone before the
next. Prints the time from the fault to the last table block sent, median and worst, and the number
of blocks. OpenSM needs a long time for each; --theirs is the number of faults that it gets.

A fabric is a fat tree of switches with RADIX ports and LEVELS levels (36,3: 11,664 hosts), or a
topology file. As in against_opensm.py, OpenSM has its fastest settings, and the same preload library
counts for both.
"""
import argparse
import os
import random
import re
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from against_opensm import TOP, Counts, Ibsim, fabricd, opensm, stop, topology_of, wait_for, work_folder  # noqa: E402

KINDS = ('leaf', 'core', 'spine')


class Topology:
    """Switches by their distance from hosts, and the cables between them, with the names of ibsim."""

    def __init__(self, path):
        peers, hosts, node = {}, set(), None
        for line in open(path, errors='replace'):
            m = re.match(r'(Switch|Ca|Hca|Rt)\s+\d+\s+("[^"]+")', line)
            if m:
                node = m[2] if m[1] == 'Switch' else None
                continue
            m = re.match(r'\[(\d+)\][^"]*("[^"]+")', line)
            if m and node and m[2].startswith('"S-'):
                peers.setdefault(node, []).append((int(m[1]), m[2]))
            elif m and node:
                hosts.add(node)
        self.leaves = hosts
        spines = {n for n in peers if n not in hosts}
        self.cables = {'leaf': [], 'core': [], 'spine': sorted(spines)}
        for switch in sorted(peers):
            for port, far in peers[switch]:
                ends = (switch in hosts) + (far in hosts)
                if ends == 1 and switch in hosts:
                    self.cables['leaf'].append('%s[%d]' % (switch, port))
                elif ends == 0 and switch < far:
                    self.cables['core'].append('%s[%d]' % (switch, port))

    def draw(self, kind, count, seed):
        return random.Random(seed).sample(self.cables[kind], min(count, len(self.cables[kind])))


def quiet(counts, seconds, most):
    """Waits until no SMP was sent for some time. Reading counters does not count."""
    end, sent, since = time.time() + most, counts().smps, time.time()
    while time.time() < end and time.time() - since < seconds:
        time.sleep(0.02)
        now = counts().smps
        if now != sent:
            sent, since = now, time.time()


def fault(ibsim, counts, what, pause, most):
    """Milliseconds to the last block, blocks; or None when no table was written."""
    before, t0 = counts(), time.time()
    ibsim.say('Unlink ' + what)
    if not wait_for(lambda: counts().lft > before.lft, most):
        return None
    quiet(counts, pause, most)
    after = counts()
    return (after.last_lft / 1e9 - t0) * 1000, after.lft - before.lft


def run(name, start, topology, counter, tries, pause, most):
    """{kind: [(ms, blocks)]} of one manager on a fresh fabric."""
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
    parser.add_argument('--engines', default='updn,minhop', help='of OpenSM; empty: fabricd alone')
    parser.add_argument('--faults', type=int, default=20)
    parser.add_argument('--theirs', type=int, default=3, help='faults that OpenSM gets')
    parser.add_argument('--kinds', default=','.join(KINDS))
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--timeout', type=float, default=120)
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    kinds = args.kinds.split(',')
    if set(kinds) - set(KINDS):
        parser.error('--kinds: of ' + ', '.join(KINDS))
    work, counter = work_folder()
    for fabric in args.fabrics:
        topology = topology_of(args.build, fabric, work)
        places = Topology(topology)

        def tries(count):
            return [(kind, places.draw(kind, count, args.seed)) for kind in kinds]

        results = []
        for engine in filter(None, args.engines.split(',')):
            results.append(('opensm ' + engine,
                            run('opensm', lambda *a: opensm(engine, *a), topology, counter,  # noqa: B023
                                tries(args.theirs), 2.5, args.timeout)))
        results.append(('fabricd', run('fabricd', lambda *a: fabricd(args.build, *a), topology, counter,
                                       tries(args.faults), 1.2, args.timeout)))
        print('\n%s, seed %d' % (fabric, args.seed))
        show(results, kinds)


if __name__ == '__main__':
    main()
