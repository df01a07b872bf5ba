#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rpc_under_faults.py [--build DIR] [--seconds N] [--every MS] [--seed N] [--sweeps] RADIX,LEVELS | FILE

Brings up an ibsim fabric with fabricd, then pulls cables between its switches and plugs them in again. As
soon as fabricd listens, the program calls GetStatus, GetNode and TracePath over RPC, one after the other.
Prints the latency of the answers (median, 99th percentile, worst), and the longest CPU time of a turn of the
loop and its cause. Compares the faults with the events that a fast and a slow watcher received. With
--sweeps, also requests heavy sweeps all the time. Needs python3-grpcio; run it with Debian's
/usr/bin/python3.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import threading
import time
import urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('fabric')
    parser.add_argument('--build', default=TOP + '/build')
    parser.add_argument('--seconds', type=float, default=20)
    parser.add_argument('--every', type=float, default=300, help='milliseconds from fault to fault')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--sweeps', action='store_true')
    return parser.parse_args()


args = arguments()
args.build = os.path.abspath(args.build)
os.environ.update(abs_top_srcdir=TOP, abs_top_builddir=args.build)
sys.path[:0] = [TOP + '/tests/rpc', TOP + '/tests/bench']

import grpc  # noqa: E402
from against_opensm import Counts, Ibsim, environment, stop, topology_of, wait_for, work_folder  # noqa: E402
from faults import Topology, quiet  # noqa: E402
import harness  # noqa: E402


class Watcher(threading.Thread):
    """Collects events by kind and text. A slow watcher sleeps after each event."""

    def __init__(self, fabric, pause=0):
        super().__init__(daemon=True)
        self.seen, self.pause = [], pause
        self.calls = fabric.WatchEvents(timeout=600)
        self.start()

    def run(self):
        try:
            for response in self.calls:
                self.seen.append((response.event.type, response.event.message))
                time.sleep(self.pause)
        except grpc.RpcError:
            pass

    def count(self, kind):
        """Returns the number of links in events of that kind, both single events and summaries."""
        total = 0
        for seen, message in self.seen:
            many = re.match(r'(\d+) links', message)
            total += (int(many[1]) if many else 1) if seen == kind else 0
        return total


class Breaker(threading.Thread):
    """Pulls cables and plugs them in later. Only a few cables are out at a time."""

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


class Sweeper(threading.Thread):
    """Requests one heavy sweep after the other."""

    def __init__(self, fabric):
        super().__init__(daemon=True)
        self.fabric, self.over, self.done, self.longest = fabric, False, 0, 0
        self.start()

    def run(self):
        while not self.over:
            start = time.time()
            try:
                self.fabric.Sweep(timeout=60)
                self.done += 1
            except grpc.RpcError:
                pass
            self.longest = max(self.longest, time.time() - start)


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
                if e.code() not in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAVAILABLE,
                                    grpc.StatusCode.FAILED_PRECONDITION):
                    raise
            times.append((time.perf_counter() - start) * 1000)
            time.sleep(0.002)
    return sorted(times)


PORT = 20000 + os.getpid() % 20000


def start_fabricd(work, ibsim, counter):
    with open(work + '/fabricd.yaml', 'w') as f:
        f.write('metrics: {listen: 127.0.0.1:%d}\n' % PORT)
    log = open(work + '/fabricd.log', 'w')
    process = subprocess.Popen([args.build + '/fabricd/fabricd', '--umad', '--config', work + '/fabricd.yaml',
                                '--state-dir', work + '/state', '--listen', 'unix:%s/sock' % work,
                                '--log-level', os.environ.get('LOG_LEVEL', 'info')],
                               env=environment(ibsim, counter, work + '/counts'), cwd=work,
                               stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    return process, lambda: 'sweep-done' in open(work + '/fabricd.log').read()


def turns():
    """Returns the longest turns of the loop in ms by cause, the turns of more than 2, 5 and 10 ms, and all turns."""
    page = urllib.request.urlopen('http://127.0.0.1:%d/metrics' % PORT, timeout=10).read().decode()
    held = {m[1]: float(m[2]) * 1000
            for m in re.finditer(r'fabricd_loop_longest_seconds\{what="([^"]*)"\} (\S+)', page)}
    within = {m[1]: int(m[2]) for m in re.finditer(r'fabricd_loop_iteration_seconds_bucket\{le="([^"]*)"\} (\d+)', page)}
    return held, [within['+Inf'] - within[le] for le in ('0.002', '0.005', '0.01')], within['+Inf']


def show_turns(name, before=None):
    held, over, count = turns()
    was = before[1] if before else [0, 0, 0]
    print('%-9s loop: %d turns, of more than 2, 5 and 10 ms: %s' %
          (name, count, ', '.join(str(a - b) for a, b in zip(over, was))))
    return held, over, count


def show(name, t):
    if t:
        print('%-9s %6d calls: median %.2f ms, 99 %% within %.2f ms, worst %.2f ms'
              % (name, len(t), t[len(t) // 2], t[int(len(t) * 0.99)], t[-1]))


def main():
    work, counter = work_folder()
    topology = topology_of(args.build, args.fabric, work)
    places = Topology(topology)
    ends = re.findall(r'^(?:Ca|Hca)\s+\d+\s+"H-0*([0-9a-f]+)"', open(topology).read(), re.M)
    ends = ['0x' + e.zfill(16) for e in ends]
    ibsim = Ibsim(work, topology)
    process, up = start_fabricd(work, ibsim, counter)
    try:
        wait_for(lambda: process.poll() is not None or os.path.exists(work + '/sock'), 30)
        with grpc.insecure_channel('unix:%s/sock' % work) as channel:
            fabric = harness.Fabric(channel)
            limit = time.time() + 120
            began = time.time()
            show('bring-up', ask(fabric, ends, lambda: time.time() < limit and process.poll() is None and not up()))
            if process.poll() is not None or not up():
                sys.exit('fabricd did not come up; see ' + work)
            print('%-9s %.1f s' % ('', time.time() - began))
            then = show_turns('bring-up')
            quiet(lambda: Counts(work + '/counts'), 1, 60)
            watcher, slow = Watcher(fabric), Watcher(fabric, 0.3)
            still = time.time() + 3
            show('calm', ask(fabric, ends, lambda: time.time() < still))
            then = show_turns('calm', then)
            with grpc.insecure_channel('unix:%s/sock' % work, options=[('grpc.use_local_subchannel_pool', 1)]) as other:
                sweeper = Sweeper(harness.Fabric(other)) if args.sweeps else None
                breaker = Breaker(ibsim, places.cables['leaf'] + places.cables['core'], args.seconds,
                                  args.every / 1000, args.seed)
                show('faults', ask(fabric, ends, breaker.is_alive))
                then = show_turns('faults', then)
                if sweeper:
                    sweeper.over = True
                    sweeper.join(70)
                    print('%-9s %d, the longest took %.1f s' % ('sweeps', sweeper.done, sweeper.longest))
            quiet(lambda: Counts(work + '/counts'), 2, 60)
            wait_for(lambda: len(slow.seen) >= len(watcher.seen), 120)
    finally:
        stop(process)
        ibsim.stop()
    print('longest: ' + ', '.join('%s %.1f ms' % (what, ms) for what, ms in
                                  sorted(then[0].items(), key=lambda x: -x[1]) if ms >= 0.5))
    print('%d cables pulled: %d told down, %d told up again; %d events, the slow one had %d of them'
          % (breaker.faults, watcher.count('link-down'), watcher.count('link-up'), len(watcher.seen), len(slow.seen)))
    if os.environ.get('KEEP'):
        print('kept', work)


main()
