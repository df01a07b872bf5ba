#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""takeover.py [--build DIR] [--times N] [--fabric LEAVES,SPINES,HOSTS | --tree RADIX,LEVELS] [--phases] [--cold]
           [--standby-rate N]

Measures take-overs by a standby fabricd on ibsim. The master is killed (kill -9) or hangs (SIGSTOP), and in the
same instant a cable between a leaf and a spine is pulled. Prints, for each of the two, the median and the worst
time until the standby manager is master, until the cable is routed round and until the last LFT block is sent, and
the numbers of LFT blocks. The same cables are also pulled under a master that works: its blocks are those of the
fault.

With --tree, the fabric is a fat tree (36,3: 11,664 hosts), and only kill -9 is measured. With --phases, also prints
the times of the phases of the heavy sweep that takes over; the manager then logs much more.

Without --tree, also measures restarts: three cables are pulled, the manager repairs the routes, is killed, and is started again.
Prints the LFT blocks that the new process writes.

The standby manager has first read the fabric and its tables (event sm-standby-ready); with --cold, it does not read
them (subnet.standby_rate 0). --standby-rate sets the requests a second by which it reads; the default is so high
that large fabrics are read soon.

umadcount counts what each manager sends. As root, the program raises net.unix.max_dgram_qlen.
"""
import argparse
import calendar
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from against_opensm import TOP, Counts, Ibsim, environment, wait_for, work_folder  # noqa: E402
from faults import Topology, quiet  # noqa: E402


def seconds_of(stamp):
    """Unix time of a time in the log."""
    whole, _, part = stamp.partition('.')
    return calendar.timegm(time.strptime(whole, '%Y-%m-%dT%H:%M:%S')) + float('0.' + (part or '0'))


class Manager:
    def __init__(self, build, folder, ibsim, counter, name, host):
        self.folder, self.build, self.env = folder, build, environment(ibsim, counter, folder + '/' + name)
        self.env['SIM_HOST'] = host
        self.name, self.process, self.options = name, None, []

    def start(self):
        if os.path.exists(self.folder + '/' + self.name):
            os.unlink(self.folder + '/' + self.name)
        self.log = '%s/%s.log' % (self.folder, self.name)
        self.process = subprocess.Popen(
            [self.build + '/fabricd/fabricd', '--umad', '--state-dir', '%s/%s.state' % (self.folder, self.name),
             '--listen', 'unix:%s/%s.sock' % (self.folder, self.name), *self.options],
            env=self.env, cwd=self.folder, stdout=open(self.log, 'w'), stderr=subprocess.STDOUT)

    def counts(self):
        return Counts(self.folder + '/' + self.name)

    def event(self, kind):
        """Unix time of the first event of this kind; None: there is none."""
        m = re.search(r'^(\S+)Z\s+\S+\s+%s:' % kind, open(self.log).read(), re.M)
        if not m:
            return None
        return seconds_of(m[1])

    def phases(self):
        """Milliseconds of each phase of the heavy sweep that ended first after this manager became master, as text."""
        text = open(self.log).read()
        text = text[text.index(' sm-master:'):]
        lines = re.findall(r'^(\S+)Z\s+\S*\s*sm: (.*)$', text, re.M)
        begun = next(i for i, x in enumerate(lines) if x[1] == 'heavy sweep begins')
        over = next(i for i, x in enumerate(lines) if x[1].startswith('heavy sweep done'))
        steps = [x for x in lines[begun:over + 1] if re.match(r'[a-z -]+$|heavy sweep done', x[1])]
        at = [seconds_of(x[0]) for x in steps]
        routed = [x[1] for x in lines[begun:over] if x[1].startswith('routed')]
        return ', '.join('%s %.0f' % (re.sub('^heavy sweep begins', 'loading', steps[i][1]), 1e3 * (at[i + 1] - at[i]))
                         for i in range(len(steps) - 1) if at[i + 1] - at[i] > 0.004) + '; ' + ' '.join(routed)[:90]

    def await_event(self, kind, seconds=30):
        if not wait_for(lambda: self.event(kind), seconds):
            sys.exit('%s has no event %s: %s' % (self.name, kind, open(self.log).read()[-800:]))
        return self.event(kind)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()


def written(m, seconds=1.0):
    """Waits until no LFT block was sent for some time. (Requests to a manager that hangs go on.)"""
    blocks, since = -1, time.time()
    while time.time() - since < seconds:
        time.sleep(0.02)
        if m.counts().lft != blocks:
            blocks, since = m.counts().lft, time.time()


def hosts_of(path):
    return re.findall(r'^Ca[^"]*"([^"]*)"', open(path).read(), re.M)


class Bench:
    def __init__(self, o, counter, topology):
        self.folder = tempfile.mkdtemp(prefix='takeover-')
        self.ibsim = Ibsim(self.folder, topology)
        hosts = hosts_of(topology)
        self.a, self.b = (Manager(o.build, self.folder, self.ibsim, counter, n, h)
                          for n, h in (('a', hosts[len(hosts) // 2]), ('b', hosts[-1])))

    def up(self, m):
        m.start()
        m.await_event('sweep-done', 60)
        quiet(m.counts, 0.5, 20)

    def close(self):
        self.a.end()
        self.b.end()
        self.ibsim.stop()
        subprocess.run(['rm', '-rf', self.folder], check=False)


def repaired(m, before):
    """Seconds until a local repair was written before the heavy sweep ended; None: there was none."""
    done, swept = m.event('reroute-done'), m.event('sweep-done')
    return done - before if done and done <= swept else None


def take_over(o, counter, topology, cable, sign):
    """Returns seconds until the standby is master, until the cable is routed round, until the last block (an
    incremental rebalance may write blocks after the repair), and the number of blocks."""
    x = Bench(o, counter, topology)
    try:
        x.up(x.a)
        config = x.folder + '/b.yaml'
        with open(config, 'w') as f:
            f.write('subnet:\n  standby_rate: %d\n' % (0 if o.cold else o.standby_rate))
        x.b.options = ['--config', config, *(['--log-level', 'debug'] if o.phases else [])]
        x.b.start()
        x.b.await_event('sm-standby')
        if not o.cold:
            x.b.await_event('sm-standby-ready', 300)
        time.sleep(0.7)
        before = time.time()
        x.ibsim.say('Unlink ' + cable)
        x.a.process.send_signal(sign)
        master = x.b.await_event('sm-master') - before
        x.b.await_event('sweep-done')
        written(x.b)
        c = x.b.counts()
        if o.phases:
            print('#', x.b.phases(), flush=True)
        last = c.last_lft / 1e9 - before if c.lft else 0
        return master, repaired(x.b, before) or last, last, c.lft
    finally:
        x.close()


def fault_alone(o, counter, topology, cable):
    x = Bench(o, counter, topology)
    try:
        x.up(x.a)
        before = x.a.counts().lft
        x.ibsim.say('Unlink ' + cable)
        wait_for(lambda: x.a.counts().lft > before, 10)
        written(x.a)
        return x.a.counts().lft - before
    finally:
        x.close()


def restart(o, counter, topology, cables):
    """Returns the blocks of two restarts after local repairs."""
    x = Bench(o, counter, topology)
    try:
        x.up(x.a)
        for cable in cables:
            x.ibsim.say('Unlink ' + cable)
            time.sleep(0.3)
        written(x.a)
        blocks = []
        for _ in range(2):
            x.a.end()
            time.sleep(0.2)
            x.up(x.a)
            blocks.append(x.a.counts().lft)
        return blocks
    finally:
        x.close()


def show(what, values, unit):
    print('%-44s median %8.3f %s, worst %8.3f %s' % (what, statistics.median(values), unit, max(values), unit),
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--build', default=TOP + '/build')
    parser.add_argument('--times', type=int, default=20)
    parser.add_argument('--fabric', default='36,18,18')
    parser.add_argument('--tree')
    parser.add_argument('--phases', action='store_true')
    parser.add_argument('--cold', action='store_true')
    parser.add_argument('--standby-rate', type=int, default=40000)
    o = parser.parse_args()
    o.build = os.path.abspath(o.build)
    folder, counter = work_folder()
    topology = folder + '/fabric.net'
    kind, numbers, names = ('fat-tree', o.tree, ('radix', 'levels')) if o.tree else (
        'leaf-spine', o.fabric, ('leaves', 'spines', 'hosts'))
    sizes = [x for name, n in zip(names, numbers.split(',')) for x in ('--' + name, n)]
    subprocess.run([o.build + '/cli/fabsim', 'generate', kind, *sizes, '-o', topology], check=True)
    cables = Topology(topology).draw('leaf', max(o.times, 3), 1)
    alone = [fault_alone(o, counter, topology, c) for c in cables[:min(5, o.times)]]
    show('fault alone: LFT blocks', alone, 'blocks')
    signs = (('kill -9', signal.SIGKILL), ('SIGSTOP', signal.SIGSTOP))
    for name, sign in signs[:1] if o.tree else signs:
        results = [take_over(o, counter, topology, c, sign) for c in cables[:o.times]]
        print('%s, %d times' % (name, len(results)))
        show('  standby is master after', [r[0] for r in results], 's')
        show('  routed round after', [r[1] for r in results], 's')
        show('  last LFT block sent after', [r[2] for r in results], 's')
        show('  LFT blocks', [r[3] for r in results], 'blocks')
    if o.tree:
        return
    blocks = [restart(o, counter, topology, cables[i:i + 3]) for i in range(0, min(o.times, 15), 3)]
    print('restart after three pulled cables: LFT blocks of the first and second restart', blocks)


if __name__ == '__main__':
    main()
