#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""soak.py [--build DIR] [--days N] [--seed N] [--fabric "fat-tree radix=36 levels=2"] [--limit SECONDS] [--keep DIR]

Runs a fabric and its manager for days of virtual time (30 days of 648 hosts unless told otherwise), with the faults
that such a fabric has: links, switches, hosts and racks that fail and return, links that flap or corrupt packets,
unresponsive agents, lost MADs, and the manager killed, frozen, reloaded and told to isolate links. Faults come one
after the other, and a part of them at the same time as another.

After each fault and after each repair, the run waits until every pair of endports reaches each other again, without
deadlock, by the tables in the devices, and until the devices have the published tables. It fails if that takes
longer than two minutes. On the first day, there is one fault of each kind. At each midnight, the run notes memory and
descriptors of the process. They must not grow: the most memory of the second half may exceed that of the first half
by a twentieth, and by a quarter in a run of less than 20 days, because the journal and the caches fill at first.

Jobs run on the hosts all the time. A job is hit when one of its hosts loses the fabric: the host itself, its leaf
switch or its link fails.

After the run, a fabricd opens the journal that the manager wrote, and each fault of a link or node is compared with
the answer of `fabricctl history`: the events of the fault must be there, at its time and in their order. The same holds
for each job that was hit: the history of its hosts must have the loss and the return of the host.

The program writes a scenario for tests/sim/run_scenarios, so that the same seed gives the same run. Not covered:
hosts that register at the SA, RPC clients, several managers, upgrades.
"""
import argparse
import calendar
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

DAY = 86400
HOUR = 3600
FAULTS_A_DAY = 20
TOGETHER = 0.2  # share of the faults that come while the one before lasts
GROWTH, GROWTH_AT_FIRST = 1.05, 1.25
GROWTH_DAYS = 20
VIRTUAL_EPOCH = calendar.timegm((2026, 1, 1, 0, 0, 0))  # Unix time at which virtual time begins (fabricd/base/clock.h)


class Fabric:
    """Names of the nodes, and the ISLs, of a fabric that fabsim generates."""

    def __init__(self, build, spec):
        family, *options = spec.split()
        self.build, self.command = build, [build + '/cli/fabsim', 'generate', family]
        for option in options:
            name, value = option.split('=')
            self.command += ['--' + name, value]
        text = subprocess.run(self.command, check=True, capture_output=True, text=True).stdout
        self.switches, self.hosts, self.isls, hosts_of = [], [], [], collections.defaultdict(set)
        self.ends = {}  # the switches of each ISL
        name = {}
        for block in re.split(r'\n(?=Switch|Ca)', text):
            m = re.search(r'^(Switch|Ca)\s+\d+\s+"(\S+)"\s+#\s*"([^"]*)"', block, re.M)
            if m:
                name[m[2]] = m[3]
                (self.switches if m[1] == 'Switch' else self.hosts).append(m[3])
        for block in re.split(r'\n(?=Switch|Ca)', text):
            m = re.search(r'^Switch\s+\d+\s+"(\S+)"', block, re.M)
            for port, peer in re.findall(r'^\[(\d+)\]\s+"(\S+?)"', block, re.M) if m else []:
                if peer.startswith('S-'):
                    self.isls.append('%s/%s' % (name[m[1]], port))
                    self.ends[self.isls[-1]] = {name[m[1]], name[peer]}
                else:
                    hosts_of[name[m[1]]].add(name[peer])
        self.hosts_of = hosts_of
        self.leaves = sorted(hosts_of)
        self.spines = sorted(set(self.switches) - set(self.leaves))
        # The manager is at the first adapter. Its own leaf switch and host stay on.
        self.leaves = [leaf for leaf in self.leaves if self.hosts[0] not in hosts_of[leaf]]
        self.isls = [isl for isl in self.isls if isl.split('/')[0] in self.leaves]


class Script:
    """The lines of the scenario, and how many faults of each kind each day has."""

    def __init__(self, fabric, seed):
        self.fabric, self.random, self.hosts = fabric, random.Random(seed), set(fabric.hosts)
        self.lines, self.days = [], collections.defaultdict(collections.Counter)
        self.kinds, self.first, self.until = {}, [], 0
        self.busy = {}       # until when a fault concerns a name
        self.explained = []  # from, until, name and event types of the faults that the history must explain
        self.jobs = []       # from, until and hosts of each job

    def say(self, at, text):
        self.lines.append((at, len(self.lines), text))

    def settled(self, at, within=120):
        self.say(at, 'expect healthy within %ds' % within)
        self.say(at, 'expect written within 60s')

    def fault(self, at):
        """Adds a fault that begins at `at`. Returns when it is over, and whether others may come meanwhile."""
        if not self.kinds:
            self.kinds = {self.host_link: 2, self.link: 8, self.links: 1, self.flap: 1, self.spine: 1, self.rack: 0.3, self.host: 5,
                          self.noise: 1, self.unresponsive: 0.5, self.lost_mads: 1, self.killed: 1, self.engine: 0.3,
                          self.frozen: 0.3, self.isolated: 1, self.disabled: 1, self.storm: 0.3}
            self.first = list(self.kinds)
        kind = self.first.pop() if self.first else self.random.choices(list(self.kinds), list(self.kinds.values()))[0]
        self.days[int(at // DAY)][kind.__name__] += 1
        over = kind(at)
        self.until = max(self.until, over)
        # Nodes and links that return wait until a frozen manager is resumed.
        return over, kind not in (self.killed, self.frozen)

    def lasting(self, at, begin, end, least, most):
        over = at + self.random.uniform(least, most)
        for text in begin:
            self.say(at, text)
        self.settled(at + 1)
        for text in end:
            self.say(over, text)
        self.settled(over + 1)
        return over

    def choose(self, at, names):
        """Returns one of the names that no other fault at this time concerns, neither it nor its switches."""
        free = [name for name in names
                if all(self.busy.get(n, 0) < at for n in {name} | self.fabric.ends.get(name, set()))]
        return self.random.choice(free)

    def explain(self, at, over, names, *events):
        """The history of each name must have these events between `at` and `over`. Until then, the name and its
        switches are busy."""
        for name in names:
            self.explained.append((at, over, name, events))
            for n in {name} | self.fabric.ends.get(name, set()):
                self.busy[n] = over + 60
        return over

    def link(self, at):
        isl = self.choose(at, self.fabric.isls)
        over = self.lasting(at, ['pull ' + isl], ['plug ' + isl], 5, 3 * HOUR)
        return self.explain(at, over, [isl], 'link-down', 'reroute-done', 'link-up', 'reroute-done')

    def links(self, at):
        first = self.choose(at, self.fabric.isls)
        isls = [first] + [isl for isl in self.random.sample(self.fabric.isls, 20)
                          if not self.fabric.ends[isl] & self.fabric.ends[first]][:1]
        over = self.lasting(at, ['pull ' + isl for isl in isls], ['plug ' + isl for isl in isls], 5, HOUR)
        return self.explain(at, over, isls[:1], 'link-down', 'link-up')

    def flap(self, at):
        isl = self.choose(at, self.fabric.isls)
        self.say(at, 'flap %s period=400ms count=%d' % (isl, self.random.randint(4, 8)))
        self.settled(at + 10)
        return self.explain(at, at + 60, [isl], 'link-down', 'link-up', 'link-down', 'link-flapping', 'link-released')

    def spine(self, at):
        return self.switch(at, self.choose(at, self.fabric.spines))

    def rack(self, at):
        return self.switch(at, self.choose(at, self.fabric.leaves))

    def switch(self, at, name):
        over = self.lasting(at, ['off ' + name], ['on %s boot=30s step=10ms' % name], 60, 2 * HOUR)
        return self.explain(at, over + 60, [name], 'node-removed', 'node-added')

    def host(self, at):
        host = self.choose(at, self.fabric.hosts[len(self.fabric.hosts) // 2:])
        over = self.lasting(at, ['off ' + host], ['on %s boot=60s step=10ms' % host], 60, HOUR)
        return self.explain(at, over + 90, [host], 'node-removed', 'node-added')

    def host_link(self, at):
        """The cable of a host is touched."""
        host = self.choose(at, self.fabric.hosts[len(self.fabric.hosts) // 2:])
        over = self.lasting(at, ['pull %s/1' % host], ['plug %s/1' % host], 5, HOUR)
        return self.explain(at, over, [host], 'node-removed', 'node-added')

    def noise(self, at):
        isl = self.choose(at, self.fabric.isls)
        return self.lasting(at, ['noise %s share=0.5%%' % isl], ['repair ' + isl], 600, HOUR)

    def unresponsive(self, at):
        spine = self.choose(at, self.fabric.spines)
        over = self.lasting(at, ['silence ' + spine], ['respond ' + spine], 60, 600)
        return self.explain(at, over + 60, [spine], 'switch-silent', 'switch-answers')

    def lost_mads(self, at):
        return self.lasting(at, ['impair loss=1% duplicate=1%'], ['impair'], 60, 600)

    def killed(self, at):
        at = max(at, self.until + 10)  # no fault is over while there is no manager
        over = at + self.random.uniform(1, 120)
        self.say(at, 'kill')
        self.say(over, 'start')
        self.settled(over + 1)
        return over

    def change_engine(self, at):
        self.say(at, 'change-engine ' + self.random.choice(['fattree', 'updn', 'auto']))

    def engine(self, at):
        self.change_engine(at)
        self.settled(at + 5)
        return at + 5

    def frozen(self, at):
        isl = self.choose(at, self.fabric.isls)
        self.say(at, 'freeze repairs for=20min')
        self.change_engine(at + 30)
        self.say(at + 60, 'pull ' + isl)
        self.settled(at + 61)
        self.say(at + 300, 'plug ' + isl)
        self.say(at + 600, 'resume')
        self.settled(at + 601)
        return self.explain(at, at + 600, [isl], 'link-down', 'link-up')

    def isolated(self, at):
        isl = self.choose(at, self.fabric.isls)
        over = self.lasting(at, ['isolate ' + isl], ['release ' + isl], 60, 2 * HOUR)
        return self.explain(at, over, [isl], 'link-isolated', 'link-released')

    def disabled(self, at):
        isl = self.choose(at, self.fabric.isls)
        over = self.lasting(at, ['disable ' + isl], ['enable ' + isl], 60, 2 * HOUR)
        return self.explain(at, over, [isl], 'port-disabled', 'link-down', 'port-enabled', 'link-up')

    def storm(self, at):
        self.say(at, 'storm %s 128 every=1ms count=1000' % self.choose(at, self.fabric.spines))
        self.settled(at + 5)
        return at + 5

    def run_jobs(self, days):
        """Fills the fabric with jobs of 8 to 128 hosts that run for half an hour to a day, and leave some hosts idle."""
        chance, running = random.Random(str(self.random.random())), []
        idle, at = list(self.fabric.hosts), 0.0
        while at < days * DAY:
            for over, hosts in [job for job in running if job[0] <= at]:
                idle += hosts
                running.remove((over, hosts))
            count = 2 ** chance.randint(3, 7)
            if count <= len(idle):
                hosts = chance.sample(idle, count) if chance.random() < 0.3 else sorted(idle)[:count]
                idle = [host for host in idle if host not in set(hosts)]
                over = at + chance.uniform(HOUR / 2, DAY)
                running.append((over, hosts))
                self.jobs.append((at, over, hosts))
            at += chance.expovariate(1 / 600)

    def hits(self):
        """Returns begin, end, host and event types of each loss of a host of a job: at most three hosts for each job
        and fault. A host that two faults hit at the same time is left out."""
        losses = [(begin, end, host) for begin, end, name, events in self.explained if events[0] == 'node-removed'
                  for host in sorted(self.fabric.hosts_of.get(name, {name})) if host in self.hosts]
        result = []
        for begin, over, hosts in self.jobs:
            hit = collections.defaultdict(list)
            for lost, back, host in losses:
                if begin < lost < over and host in hosts:
                    hit[lost].append((lost, back, host))
            for found in hit.values():
                single = [x for x in found if sum(x[2] == y[2] and y[0] <= x[1] + 120 and x[0] <= y[1] + 120
                                                  for y in losses) == 1]
                result += [(lost, back, host, ('node-removed', 'node-added')) for lost, back, host in single[:3]]
        return result

    def write(self, spec, days):
        self.settled(0)
        self.run_jobs(days)
        at = 60.0
        while at < days * DAY:
            over, shared = self.fault(at)
            together = shared and self.random.random() < TOGETHER
            at = (at if together else over) + 20 + (0 if self.first else
                                                    self.random.expovariate(FAULTS_A_DAY / DAY))
        for day in range(1, days + 1):
            self.say(day * DAY, 'mark')
            self.say(day * DAY, 'figures')
        end = max(line[0] for line in self.lines) + 600
        self.say(end, 'sweep')
        self.settled(end + 1)
        head = ['fabric ' + spec, 'timing hop=1us answer=10us train=20ms', 'smp timeout=200ms retries=4',
                'sweeps light=10s full=600s settle=10ms', 'counters report interval=60s', 'state']
        body, last = [], 0
        for at, _, text in sorted(self.lines):
            body.append('at +%dms %s' % (int(at * 1000) - last, text))
            last = int(at * 1000)
        return '\n'.join(head + body) + '\n'


def show_day(script, day, figures):
    if day == 0:
        print('day   MB    fds  MADs        faults')
    at, mb, fds, mads = figures
    faults = ', '.join('%s %d' % fault for fault in sorted(script.days[day].items()))
    print('%3d %6.1f %3d %11d  %s' % (day + 1, mb, fds, mads, faults), flush=True)


def report(script, figures, days):
    half = len(figures) // 2
    grown = max(f[1] for f in figures[half:]) / max(f[1] for f in figures[:half] or figures)
    descriptors = {f[2] for f in figures}
    print('%d days, %d faults; most memory of the second half: %.3f times that of the first; descriptors: %s'
          % (days, sum(sum(day.values()) for day in script.days.values()), grown,
             ' or '.join(map(str, sorted(descriptors)))))
    flat = grown <= (GROWTH if days >= GROWTH_DAYS else GROWTH_AT_FIRST)
    return len(figures) == days and flat and max(descriptors) - min(descriptors) <= 1


def in_order(wanted, seen):
    left = iter(seen)
    return all(any(event == other for other in left) for event in wanted)


def unexplained(faults, fabric, folder):
    """Opens the journal of the run with a fabricd. Returns the faults that `fabricctl history` does not explain."""
    server, bad = 'unix:%s/sock' % folder, []
    with open(folder + '/fabric.net', 'w') as file:
        subprocess.run(fabric.command, check=True, stdout=file)
    process = subprocess.Popen([fabric.build + '/fabricd/fabricd', '--sim', folder + '/fabric.net', '--state-dir',
                                folder + '/state', '--listen', server], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        for begin, end, name, events in faults:
            stamp = [time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(VIRTUAL_EPOCH + at)) for at in (begin, end + 120)]
            command = [fabric.build + '/cli/fabricctl', '-s', server, 'history', name, '--since', stamp[0], '--until',
                       stamp[1], '-o', 'json']
            for _ in range(100):
                run = subprocess.run(command, capture_output=True, text=True)
                if run.returncode == 0:
                    break
                time.sleep(0.2)
            seen = [row['what'] for row in json.loads(run.stdout)['entries']]
            if not in_order(events, seen):
                bad.append('%s from %s: %s wanted, history has %s' % (name, stamp[0], ', '.join(events),
                                                                      ', '.join(seen) or 'nothing'))
    finally:
        process.terminate()
        process.wait()
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default='build')
    parser.add_argument('--days', type=int, default=30)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--fabric', default='fat-tree radix=36 levels=2')
    parser.add_argument('--limit', type=int, default=3600, help='seconds of real time')
    parser.add_argument('--keep', help='folder for the scenario and the state of the manager')
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.abspath(args.keep) if args.keep else folder
        os.makedirs(folder + '/state', exist_ok=True)
        fabric = Fabric(build, args.fabric)
        script = Script(fabric, args.seed)
        with open(folder + '/soak.scenario', 'w') as file:
            file.write(script.write(args.fabric, args.days))
        run = subprocess.Popen([build + '/tests/sim/run_scenarios', '-s', str(args.seed), '-t', str(args.limit), '-k',
                                folder + '/state', folder + '/soak.scenario'], stdout=subprocess.PIPE, text=True)
        figures = []
        for line in run.stdout:
            m = re.match(r'# figures: at (\d+) s, ([\d.]+) MB, (\d+) descriptors, (\d+) MADs', line)
            if m:
                figures.append((int(m[1]), float(m[2]), int(m[3]), int(m[4])))
                show_day(script, len(figures) - 1, figures[-1])
            elif line.startswith('#'):
                print(line, end='')
        complete = run.wait() == 0 and len(figures) > 0
        good = complete and report(script, figures, args.days)
        if complete:
            hits = script.hits()
            bad = unexplained(script.explained + hits, fabric, folder)
            print('%d of %d faults of links and nodes, and of the hosts of %d jobs %d times, are explained by their history'
                  % (len(script.explained) + len(hits) - len(bad), len(script.explained) + len(hits), len(script.jobs),
                     len(hits)))
            for text in bad:
                print('# ' + text)
            good = good and not bad
    print('%s - %d days of %s, seed %d' % ('ok' if good else 'not ok', args.days, args.fabric, args.seed))
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
