# SPDX-License-Identifier: BSD-3-Clause
"""Causes faults in the fabric of fabricd and measures their times, for faults.py.

The time of a fault begins before the cable is pulled: on ibsim before the line to its console, with
--sim before the RPC that pulls the cable. It ends with the acknowledgement of the last table block
that the fault caused. The records of reroutes in the manager have Unix times and the time of the last
acknowledged block. Reading the newest record every 20 ms costs the manager some microseconds.
Refinements and rebalances after the fault are not counted. On ibsim, a preload library also counts the
acknowledged blocks in the process. If both counts agree, the result also has the time of this library.
"""
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

from against_opensm import Counts, Ibsim, cpu, fabricd, peak_mb, stop, wait_for
from background import Background, metrics

PORT = 20000 + os.getpid() % 20000
PAUSE = 1.2  # a fault is over after so many seconds without a new record
POLL = 0.02
STEPS = ('trap', 'discovered', 'computed', 'verified', 'first_write', 'last_write')


def seconds(message):
    return message.seconds + message.nanos / 1e9


class Pings(threading.Thread):
    """Round trips of single SMPs on ibsim, measured all the time: (Unix time of the request, ms)."""

    def __init__(self, folder, ibsim, node):
        super().__init__(daemon=True)
        program = folder + '/smp_ping'
        subprocess.run(['gcc', '-O2', '-o', program, os.path.dirname(os.path.abspath(__file__)) + '/smp_ping.c'],
                       check=True)
        self.process = subprocess.Popen([program, node, '2000'], env=dict(os.environ, IBSIM_SOCKNAME=ibsim.name),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.seen = []
        self.start()

    def run(self):
        for line in self.process.stdout:
            sent, took = map(int, line.split())
            self.seen.append((sent / 1e6, took / 1000 if took >= 0 else 1000.0))

    def longest(self, start, end):
        """Returns the longest round trip that overlaps this time, or the last one before it if there is none."""
        seen = self.seen[-20000:]
        within = [ms for sent, ms in seen if sent <= end and sent + ms / 1000 >= start]
        return max(within, default=seen[-1][1] if seen else 0.0)


def leave_processor(process, of):
    """Moves a process to processors to which the threads of process `of` are not pinned. fabricd pins itself to the
    processor on which it opened its port. On the same processor, ibsim and fabricd would wait for each other."""
    for task in os.listdir('/proc/%d/task' % process.pid):
        rest = os.sched_getaffinity(0) - os.sched_getaffinity(of.pid)
        if rest:
            os.sched_setaffinity(int(task), rest)


class Manager:
    """fabricd and its fabric. The fabric is ibsim, or it is simulated in the process of fabricd."""

    def __init__(self, args, topology, counter):
        import harness
        self.folder = tempfile.mkdtemp(prefix='fabricd-bench-')
        self.ibsim = None if args.sim else Ibsim(self.folder, topology)
        with open(self.folder + '/fabricd.yaml', 'w') as f:
            f.write('metrics: {listen: 127.0.0.1:%d}\n' % PORT)
        options = ['--sim', os.path.abspath(topology)] if args.sim else ['--umad']
        self.began = time.time()
        self.process, self.up = fabricd(args.build, self.folder, self.ibsim, counter,
                                        options + ['--config', self.folder + '/fabricd.yaml',
                                                   '--log-level', os.environ.get('LOG_LEVEL', 'info')])
        self.harness, self.pings = harness, None

    def connect(self):
        import grpc
        self.channel = grpc.insecure_channel('unix:%s/sock' % self.folder)
        self.fabric = self.harness.Fabric(self.channel)
        self.sim = self.harness.Fabric(self.channel, 'fabric.v1.SimService')
        self.newest()

    def counts(self):
        return Counts(self.folder + '/counts')

    def change(self, what, back):
        """Pulls a cable or all cables of a switch, or plugs them in again. Returns the time before the change."""
        node, port = re.fullmatch(r'"S-([0-9a-f]+)"(?:\[(\d+)\])?', what).groups()
        call = self.sim.Relink if back else self.sim.Unlink
        start = time.time()
        if self.ibsim:
            self.ibsim.say(('ReLink ' if back else 'Unlink ') + what)
        else:
            call(node='0x' + node, port_number=int(port or 0))
        return start

    def newest(self):
        page = self.fabric.ListReroutes(page_size=1)
        return page.reroutes[0].generation if page.reroutes else 0

    def records(self, after):
        return [r for r in reversed(self.fabric.ListReroutes(page_size=64).reroutes) if r.generation > after]

    def stop(self):
        for p in (self.pings.process if self.pings else None, self.process):
            stop(p)
        if self.ibsim:
            self.ibsim.stop()


def is_improvement(record):
    return record.cause.startswith(('refinement', 'rebalance'))


def round_of(record, start):
    """Returns a reroute, with its steps in ms after the fault."""
    base = seconds(record.time) - start
    steps = {step: round((base + seconds(getattr(record, step))) * 1000, 3)
             for step in STEPS[1:]
             if record.HasField(step)}
    return dict(steps, cause=record.cause, engine=record.engine, trap=round(base * 1000, 3), blocks=record.blocks,
                entries=record.entries, failed=record.failed)


def settle(manager, before, most):
    """Waits for a reroute after generation `before`. Then waits until PAUSE has passed without another reroute and the
    manager was idle once. Returns whether there was a reroute."""
    seen, idle = before, False
    end = since = time.time()
    end += most
    while time.time() < end and (seen == before or time.time() < since + PAUSE or not idle):
        time.sleep(POLL)
        now = manager.newest()
        idle |= seen != before and time.time() > since + PAUSE / 2 and manager.fabric.GetStatus().status.state == 'idle'
        if now != seen:
            seen, since, idle = now, time.time(), False
    return seen != before


def measure(manager, what, back, most):
    """Returns the fault as a dict for JSON. ms is None if no table was written."""
    generation, counts = manager.newest(), manager.counts()
    start = manager.change(what, back)
    settle(manager, generation, most)
    records = manager.records(generation)
    rounds = [round_of(r, start) for r in records if r.blocks > 0 and not is_improvement(r)]
    result = dict(what=what, rounds=rounds, improvements=sum(is_improvement(r) for r in records),
                  ms=max((r['last_write'] for r in rounds), default=None),
                  blocks=sum(r['blocks'] for r in rounds))
    if manager.ibsim and rounds:
        after = manager.counts()
        if after.acks - counts.acks == result['blocks']:
            result['wire_ms'] = round((after.last_ack / 1e9 - start) * 1000, 3)
        result['rtt_ms'] = manager.pings.longest(start, start + result['ms'] / 1000)
    return result


def run(args, topology, counter, tries, ends, lids):
    """Brings fabricd up and causes the faults. Returns ({kind: [result]}, [line]); the lines describe the run."""
    manager, background, found, said = Manager(args, topology, counter), None, {}, []
    try:
        if not wait_for(lambda: manager.process.poll() is not None or manager.up(), args.timeout) \
                or manager.process.poll() is not None:
            return found, ['fabricd did not come up; see ' + manager.folder]
        up = time.time()
        said.append('up in %.1f s' % (up - manager.began))
        manager.connect()
        if manager.ibsim:
            leave_processor(manager.ibsim.process, manager.process)
            manager.pings = Pings(manager.folder, manager.ibsim, 'H-' + ends[-1][2:])
        if args.background:
            background = Background(args, manager.folder, ends, lids, manager.ibsim, PORT)
        time.sleep(max(0.0, up + 1 - time.time()))
        for kind, places in tries:
            for what in places:
                for back in (False, True):
                    name = kind + (' back' if back else ' lost')
                    found.setdefault(name, []).append(measure(manager, what, back, args.wait))
                    if args.verbose:
                        print(name, found[name][-1], flush=True)
        said += summary_lines(manager, background)
        return found, said
    finally:
        if background:
            background.stop()
        manager.stop()
        if os.environ.get('KEEP'):
            print('kept', manager.folder)
        else:
            shutil.rmtree(manager.folder, ignore_errors=True)


def summary_lines(manager, background):
    """Returns lines of text about the run, from the metrics of the manager."""
    page = metrics(PORT)
    name = 'fabricd_loop_longest_seconds{what="'
    held = sorted(((ms * 1000, n[len(name):-2]) for n, ms in page.items() if n.startswith(name)), reverse=True)
    bucket = 'fabricd_loop_iteration_seconds_bucket{le="%s"}'
    said = ['turns of the loop over 10 ms of CPU time: %d; longest: %s'
            % (page[bucket % '+Inf'] - page[bucket % '0.01'],
               ', '.join('%s %.1f ms' % (what, ms) for ms, what in held[:8] if ms >= 1)),
            'fabricd: %.1f s CPU, at most %.0f MB' % (cpu(manager.process.pid), peak_mb(manager.process.pid))]
    if background:
        said.append(background.report())
    if manager.pings:
        times = sorted(ms for _, ms in manager.pings.seen)
        said.append('bare SMP: %d round trips, median %.2f ms, 99 %% within %.2f ms, worst %.1f ms'
                    % (len(times), times[len(times) // 2], times[len(times) * 99 // 100], times[-1]))
    return said


# ---- tables ----------------------------------------------------------------------------------------

def net(result):
    return max(0.0, result['ms'] - result.get('rtt_ms', 0.0))


def summary(results):
    good = [r for r in results if r['ms'] is not None]
    if not good:
        return dict(n=0, silent=len(results))
    worst = max(good, key=net)
    ms = [r['ms'] for r in good]
    first = [min(x['first_write'] for x in r['rounds'] if 'first_write' in x) for r in good]
    return dict(n=len(good), silent=len(results) - len(good), median=statistics.median(ms), worst=max(ms),
                net=net(worst), first=statistics.median(first), blocks=statistics.median(r['blocks'] for r in good),
                rounds=max(len(r['rounds']) for r in good), worst_one=worst)


def show(found, on_ibsim):
    print('%-12s%4s%12s%12s%12s%14s%10s%8s' % ('fault', 'n', 'median ms', 'worst ms', 'net worst' if on_ibsim else '',
                                            'first write', 'blocks', 'rounds'))
    for kind, results in found.items():
        s = summary(results)
        if s['n']:
            print('%-12s%4d%12.1f%12.1f%12s%14.1f%10.0f%8d%s'
                  % (kind, s['n'], s['median'], s['worst'], '%.1f' % s['net'] if on_ibsim else '', s['first'],
                     s['blocks'], s['rounds'], '  (%d wrote nothing)' % s['silent'] if s['silent'] else ''))
        else:
            print('%-12s   0  (%d wrote nothing)' % (kind, s['silent']))
    first = next(iter(found.values()), [{}])[0]
    if first.get('ms') is not None:
        print('the first fault, one second after the bring-up: %.1f ms' % first['ms'])
    for kind, results in found.items():
        s = summary(results)
        if s['n']:
            print('worst of %s, %s: %s' % (kind, s['worst_one']['what'], '; '.join(
                '%s: %s' % (r['cause'], ', '.join('%s %.1f' % (step, r[step]) for step in STEPS if step in r))
                for r in s['worst_one']['rounds'])))
    apart = [r['wire_ms'] - r['ms'] for results in found.values() for r in results if 'wire_ms' in r]
    if apart:
        print('records against the wire, %d faults: the wire says %.2f to %.2f ms more'
              % (len(apart), min(apart), max(apart)))
