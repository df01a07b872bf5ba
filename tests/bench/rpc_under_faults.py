#!/usr/bin/env python3
"""rpc_under_faults.py [--build DIR] [--seconds N] [--every MS] [--seed N] RADIX,LEVELS | FILE

Breaks and mends cables between switches of an ibsim fabric all the time, under fabricd, and asks it
over RPC meanwhile: GetStatus, GetNode and TracePath one after the other. Prints how long the answers took
(median, 99th percentile, worst), and counts the faults that were told as events to a watcher against
those that there were. Needs python3-grpcio; run it with Debian's /usr/bin/python3.
"""
import argparse
import os
import random
import re
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('fabric')
    parser.add_argument('--build', default=TOP + '/build')
    parser.add_argument('--seconds', type=float, default=20)
    parser.add_argument('--every', type=float, default=300, help='milliseconds from fault to fault')
    parser.add_argument('--seed', type=int, default=1)
    return parser.parse_args()


args = arguments()
args.build = os.path.abspath(args.build)
os.environ.update(abs_top_srcdir=TOP, abs_top_builddir=args.build)
sys.path[:0] = [TOP + '/tests/rpc', TOP + '/tests/bench']

import grpc  # noqa: E402
from against_opensm import Counts, Ibsim, fabricd, stop, topology_of, wait_for, work_folder  # noqa: E402
from faults import Topology, quiet  # noqa: E402
import harness  # noqa: E402


class Watcher(threading.Thread):
    """Counts events by kind and subject."""

    def __init__(self, fabric):
        super().__init__(daemon=True)
        self.seen = []
        self.calls = fabric.WatchEvents()
        self.start()

    def run(self):
        try:
            for response in self.calls:
                self.seen.append((response.event.type, response.event.message))
        except grpc.RpcError:
            pass


class Breaker(threading.Thread):
    """Pulls a cable, puts it back later: at most a few are out at a time."""

    def __init__(self, ibsim, cables, seconds, every, seed):
        super().__init__(daemon=True)
        self.ibsim, self.end, self.every = ibsim, time.time() + seconds, every
        self.order = random.Random(seed).sample(cables, min(len(cables), 4096))
        self.faults = 0
        self.start()

    def run(self):
        out = []
        while time.time() < self.end:
            cable = self.order[self.faults % len(self.order)]
            self.ibsim.say('Unlink ' + cable)
            self.faults += 1
            out.append(cable)
            time.sleep(self.every)
            if len(out) > 3:
                self.ibsim.say('ReLink ' + out.pop(0))
                time.sleep(self.every)
        for cable in out:
            self.ibsim.say('ReLink ' + cable)


def ask(fabric, ends, until):
    times, asks = [], random.Random(7)
    while until():
        a, b = asks.sample(ends, 2)
        for call in (lambda: fabric.GetStatus(), lambda: fabric.GetNode(node=a),
                     lambda: fabric.TracePath(source=a, destination=b)):
            start = time.perf_counter()
            try:
                call()
            except grpc.RpcError as e:
                if e.code() not in (grpc.StatusCode.NOT_FOUND,):
                    raise
            times.append((time.perf_counter() - start) * 1000)
            time.sleep(0.002)
    return sorted(times)


def main():
    work, counter = work_folder()
    topology = topology_of(args.build, args.fabric, work)
    places = Topology(topology)
    ends = re.findall(r'^(?:Ca|Hca)\s+\d+\s+"H-0*([0-9a-f]+)"', open(topology).read(), re.M)
    ends = ['0x' + e.zfill(16) for e in ends]
    ibsim = Ibsim(work, topology)
    process, up = fabricd(args.build, work, ibsim, counter)
    try:
        if not wait_for(lambda: process.poll() is not None or up(), 120) or process.poll() is not None:
            sys.exit('fabricd did not come up; see ' + work)
        quiet(lambda: Counts(work + '/counts'), 1, 60)
        with grpc.insecure_channel('unix:%s/sock' % work) as channel:
            fabric = harness.Fabric(channel)
            watcher = Watcher(fabric)
            still = time.time() + 3
            calm = ask(fabric, ends, lambda: time.time() < still)
            breaker = Breaker(ibsim, places.cables['leaf'] + places.cables['core'], args.seconds,
                              args.every / 1000, args.seed)
            busy = ask(fabric, ends, breaker.is_alive)
            quiet(lambda: Counts(work + '/counts'), 2, 60)
            time.sleep(1)
            downs = sum(1 for kind, _ in watcher.seen if kind == 'link-down')
            ups = sum(1 for kind, _ in watcher.seen if kind == 'link-up')
    finally:
        stop(process)
        ibsim.stop()
    for name, t in (('calm', calm), ('faults', busy)):
        print('%-8s %6d calls: median %.2f ms, 99 %% within %.2f ms, worst %.2f ms'
              % (name, len(t), t[len(t) // 2], t[int(len(t) * 0.99)], t[-1]))
    print('%d cables pulled: %d told down, %d told up again' % (breaker.faults, downs, ups))


main()
