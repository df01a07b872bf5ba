#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""standbys.py --build DIR --managers N --rounds N --signal KILL|STOP --seed N [--warm] [--decide SECONDS] [--standby-rate N]

The rounds of standbys.sh, which starts the simulator and etcd. In each round:

  * An operator isolates a link. Then a cable between a leaf and another switch is pulled under the master, and plugged
    in again: the LFT blocks of the fault alone.
  * With --warm, the standby managers then read the fabric and all tables again (subnet.standby_rate).
  * With --decide, an operator then isolates another link, and the master dies within this number of seconds after it.
  * A host floods subnet administration with queries, another one registers services all the time, and another one
    joins groups all the time, also while no manager is master.
  * At a random moment the same cable is pulled, and the master is killed or stopped.
  * Measured: the time until a standby manager is master, the time until the cable is routed round and until the last LFT
    block is sent, LFT blocks beyond those of the fault alone, how many hosts were asked to register again
    (ClientReregister), and joins that were refused or not answered.
  * Measured, too: what is lost. A registration is confirmed to the host at once, and sent to etcd afterwards. Therefore
    two things are counted as lost: what etcd had before the claim of the new master, but the new master has not; and what
    was confirmed to the host and is still missing after the host has registered again, which it does only if it was
    asked. Registrations that were confirmed to the host, but had not arrived in etcd, are reported separately.
"""
import argparse
import base64
import json
import os
import random
import re
import signal
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from against_opensm import Counts, wait_for  # noqa: E402
from faults import Topology  # noqa: E402
from takeover import Manager, hosts_of, repaired, seconds_of  # noqa: E402

ROWS = 'fabricd/fe80000000000000/'  # prefix of all keys in etcd
# The hosts of ibsim do not support ClientReregister. There, the host registers again if the log of the new master says
# that hosts are asked.
CAN_BE_ASKED = os.environ.get('SIMULATOR') == 'fabsim'
JOINS_MOST = 1000  # joins in a round, at most
QUIET = 0.4  # seconds without LFT blocks after which a change counts as finished


def etcd(*args):
    out = subprocess.run(['etcdctl', 'get', *args, '-w', 'json'], stdout=subprocess.PIPE, check=True, text=True).stdout
    return json.loads(out).get('kvs', [])


def etcd_claim():
    """The revision of the last claim of the lead."""
    return etcd(ROWS + 'leader')[0]['mod_revision']


def etcd_services(revision, guid):
    """The numbers of the services of this port GUID that etcd had at this revision, by service."""
    services = {}
    for row in etcd('--prefix', ROWS + 'row/service/', '--rev', str(revision)):
        record = bytes.fromhex(json.loads(base64.b64decode(row['value']))['record'])
        if struct.unpack_from('>Q', record, 16)[0] == guid:
            services[str(struct.unpack_from('>Q', record)[0])] = struct.unpack_from('>Q', record, 160)[0]
    return services


def port_guids(path):
    """The port GUID of each host."""
    hosts = re.findall(r'^Ca[^"]*"([^"]*)".*\n\[1\]\(([0-9a-f]+)\)', open(path).read(), re.M)
    return {name: int(guid, 16) for name, guid in hosts}


class Standby(Manager):
    """A manager whose log and counts continue when it is started again."""

    def __init__(self, build, name, host):
        self.build, self.name, self.host, self.process = build, name, host, None
        self.folder, self.log = os.getcwd(), os.path.abspath(name + '.log')
        self.mark, self.level = 0, 'info'
        self.settings()

    def settings(self, text=''):
        """Writes the file of settings. text: begins with further settings of the group subnet."""
        with open(self.name + '.yaml', 'w') as f:
            f.write('subnet:\n    sm_priority: 5\n' + text + open('shared.yaml').read())
        os.chmod(self.name + '.yaml', 0o600)

    def preload(self):
        return '%s/umadcount.so %s' % (self.folder, os.environ['UMAD2SIM'])

    def start(self):
        env = dict(os.environ, SIM_HOST=self.host, UMADCOUNT_FILE=self.folder + '/' + self.name,
                   LD_PRELOAD=self.preload())
        self.process = subprocess.Popen(
            [self.build + '/fabricd/fabricd', '--umad', '--log-level', self.level,
             '--state-dir', self.folder + '/' + self.name + '.state',
             '--listen', 'unix:%s/%s.sock' % (self.folder, self.name), '-f', self.name + '.yaml'],
            env=env, stdout=open(self.log, 'a'), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def event(self, kind):
        """Unix time of the first event of this kind since the mark."""
        text = self.said()
        m = re.search(r'^(\S+)Z\s+\S+\s+%s:' % kind, text, re.M)
        if not m:
            return None
        return seconds_of(m[1])

    def said(self):
        with open(self.log, errors='replace') as f:
            f.seek(self.mark)
            return f.read()

    def remember(self):
        self.mark = os.path.getsize(self.log)

    def await_warm(self, since):
        """Waits until a standby sweep that began after this time has found that this manager could repair at once."""
        def warm():
            begun = False
            for line in self.said().splitlines():
                if 'standby sweep begins' in line:
                    begun = seconds_of(line[:line.index('Z')]) > since
                if begun and 'standby sweep ended ready=1 announced=1' in line:
                    return True
            return False
        if not wait_for(warm, 600):
            sys.exit('%s does not become warm: %s' % (self.name, self.said()[-800:]))

    def ctl(self, *args):
        return subprocess.run([self.build + '/cli/fabricctl', '-s', 'unix:%s/%s.sock' % (self.folder, self.name), *args],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=60)

    def status(self):
        r = self.ctl('ha', 'status', '-o', 'json')
        return json.loads(r.stdout) if r.returncode == 0 else {'role': ''}

    def is_idle(self):
        r = self.ctl('status', '-o', 'json')
        return r.returncode == 0 and json.loads(r.stdout).get('state') == 'idle'


class Host:
    """A client of subnet administration: tests/support/sa_host or tests/bench/sa_flood."""

    def __init__(self, build, host, program, *args):
        env = dict(os.environ, SIM_HOST=host)
        if program == 'sa_host':
            env['LD_PRELOAD'] = os.environ['UMAD2SIM']
        path = build + {'sa_host': '/tests/support/', 'sa_flood': '/tests/bench/'}[program] + program
        self.process = subprocess.Popen([path, *map(str, args)], env=env, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True)

    def end(self, seconds=15):
        try:
            return self.process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.communicate()[0]


class Bench:
    def __init__(self, o):
        self.o, self.rng = o, random.Random(o.seed)
        self.console = open('sim.ctl', 'w')
        self.topology = Topology('fabric.net')
        self.hosts, self.guids = hosts_of('fabric.net'), port_guids('fabric.net')
        step = len(self.hosts) // (o.managers + 1)
        self.managers = [Standby(o.build, 'abc'[i], self.hosts[(i + 1) * step]) for i in range(o.managers)]
        self.results, self.group, self.priority, self.decided = [], 0, 5, None

    def say(self, line):
        self.console.write(line + '\n')
        self.console.flush()

    def lft(self):
        return sum(Counts(m.folder + '/' + m.name).lft for m in self.managers)

    def last_lft(self):
        return max(Counts(m.folder + '/' + m.name).last_lft for m in self.managers) / 1e9

    def written(self, seconds=QUIET, most=60):
        """Waits until no LFT block was sent for some time."""
        count, since, end = -1, time.time(), time.time() + most
        while time.time() - since < seconds and time.time() < end:
            time.sleep(0.02)
            if self.lft() != count:
                count, since = self.lft(), time.time()

    def master(self):
        for m in self.managers:
            if m.process is not None and m.status()['role'] == 'master':
                return m
        return None

    def settled(self):
        """Waits until one manager is master and idle, and the others are standby. Returns the master."""
        def ready():
            roles = [m.status()['role'] for m in self.managers]
            m = self.managers[roles.index('master')] if roles.count('master') == 1 else None
            return m if m and roles.count('standby') == len(roles) - 1 and m.is_idle() and m.status().get(
                'replication', {}).get('level') else None
        m = wait_for(ready, 120)
        if m is None:
            sys.exit('the managers do not settle: %s' % [m.status() for m in self.managers])
        self.written()
        return m

    def alone(self, cable):
        before = self.lft()
        self.say('Unlink ' + cable)
        wait_for(lambda: self.lft() > before, 5)
        self.written(4.0)  # the incremental rebalance is a part of the fault, and may begin seconds later
        count = self.lft() - before
        self.say('ReLink ' + cable)
        self.written(1.0)
        return count

    def load(self):
        """Begins the load of a round."""
        free = [h for h in self.hosts if h not in [m.host for m in self.managers]]
        a, b, c = self.rng.sample(free, 3)
        self.group += JOINS_MOST
        lids = self.topology.lids
        return (Host(self.o.build, a, 'sa_flood', a, lids, 3, 8, '2000/s'), Host(self.o.build, b, 'sa_host', 'churn', 3),
                Host(self.o.build, c, 'sa_host', 'joins', self.group, 4), b)

    def isolate(self, m):
        """Isolates a link by an operator's decision. Returns its name, and whether it was confirmed."""
        leaf = self.rng.choice(sorted(self.topology.leaves))
        name = '0x' + leaf[3:-1]
        port = self.topology.peers[leaf][0][0]
        r = m.ctl('link', 'isolate', '%s/%d' % (name, port))
        return '%s/%d' % (name, port), r.returncode == 0

    def round(self, cable):
        m = self.settled()
        link, confirmed = self.isolate(m)
        self.written()
        alone = self.alone(cable)
        m = self.settled()
        if self.o.warm:
            self.await_warm(m)
        for x in self.managers:
            x.remember()
        claimed, asked = etcd_claim(), self.reregisters()
        if self.o.decide:
            self.decided = self.isolate(m)[0]
            time.sleep(self.o.decide * self.rng.random())
        flood, churn, joins, churner = self.load()
        time.sleep(0.5 + self.rng.random())
        before, t0 = self.lft(), time.time()
        self.say('Unlink ' + cable)
        m.process.send_signal(signal.SIGKILL if self.o.signal == 'KILL' else signal.SIGSTOP)
        others = [x for x in self.managers if x is not m]
        new = wait_for(lambda: next((x for x in others if x.event('sm-master')), None), 20)
        if new is None:
            sys.exit('no standby manager took over')
        took = new.event('sm-master') - t0
        new.await_event('sweep-done')
        self.written(1.0)
        blocks, last = self.lft() - before, self.last_lft() - t0
        if blocks == 0:
            last = 0
        routed = repaired(new, t0) or last
        told = any('asking all hosts' in x.said() for x in others)
        numbers = dict(re.findall(r'^confirmed (\d+) (\d+)$', churn.end(), re.M))
        asked = self.reregisters() - asked
        lost, unsent = self.lost(claimed, churner, numbers, asked >= len(self.hosts) or told and not CAN_BE_ASKED)
        if confirmed and new.ctl('link', 'release', link).returncode != 0:
            lost.append('isolation of ' + link)
        texts = flood.end(), joins.end()
        joins = re.findall(r'^join \d+: (\S+) by \d+ after (\S+) s', texts[1], re.M)
        refused, longest = [x for x in joins if x[0] != '0x0000'], max([0.0] + [float(x[1]) for x in joins])
        self.results.append((took, routed, last, blocks - alone, asked, lost, alone, longest, len(joins), len(refused),
                             len(unsent), told))
        print('# %s %s: master after %.3f s, routed round after %.3f s, last LFT block after %.3f s, %d blocks (%d '
              'alone), longest join %.3f s, load %.1f%s%s' % (
            self.o.signal, cable, took, routed, last, blocks, alone, longest, os.getloadavg()[0],
            ', the log says that hosts are asked to register again, and %d are' % asked if asked or told else '',
            ', of %d services %d not sent' % (len(numbers), len(unsent)) +
            (', lost: %s' % ', '.join(lost[:3]) if lost else '')), flush=True)
        for line in re.findall(r'^join \d+: (?!0x0000).*', texts[1], re.M):
            print('#   ' + line)
        if blocks > alone + 5 or took > 2 or routed > 2.1:
            self.explain()
        self.again(m, new, cable, link)

    def await_warm(self, master):
        """Waits until the standby managers could repair routes at once."""
        changed = time.time()
        for x in self.managers:
            if x is not master:
                x.await_warm(changed)
        time.sleep(2)  # the repair session is made

    def explain(self):
        """Prints what the managers did in this round."""
        for m in self.managers:
            for line in m.said().splitlines():
                if re.search(r' (sm-|reroute-|tables-|sweep-|link-)|: all tables are read again', line):
                    print('#   %s %s' % (m.name, line[11:170]))

    def reregisters(self):
        return sum(Counts(m.folder + '/' + m.name).reregisters for m in self.managers)

    def found(self, churner, services):
        """The numbers of these services of the host that the master has, by service."""
        out = Host(self.o.build, churner, 'sa_host', *[x for n in services for x in ('get', n)]).end(60)
        answers = re.findall(r'^number (\d+)$|^get (\d+): (\S+)$', out, re.M)
        return {answers[i + 1][1]: int(answers[i][0]) for i in range(len(answers) - 1) if answers[i][0]}

    def lost(self, claimed, churner, numbers, asked):
        """What is lost of the services whose last confirmed numbers are given, as text; and the services whose last
        numbers had not arrived in etcd before the claim of the new master. claimed: the claim of the former master.
        asked: hosts were asked to register again."""
        if not wait_for(lambda: etcd_claim() != claimed, 10):
            sys.exit('the new master does not lead the replication')
        sent, found = etcd_services(etcd_claim(), self.guids[churner]), self.found(churner, numbers)
        lost = ['service %s: %d in etcd, the new master has %s' % (n, sent[n], found.get(n)) for n in numbers
                if n in sent and found.get(n, -1) < sent[n]]
        unsent = [n for n in numbers if sent.get(n, -1) < int(numbers[n])]
        missing = [n for n in numbers if found.get(n, -1) < int(numbers[n])]
        if missing and asked:
            Host(self.o.build, churner, 'sa_host', *[x for n in numbers for x in ('set', n, numbers[n])]).end(60)
            found = self.found(churner, numbers)
            missing = [n for n in numbers if found.get(n, -1) < int(numbers[n])]
        return lost + ['service %s: %s confirmed to the host, found %s' % (n, numbers[n], found.get(n))
                       for n in missing], unsent

    def again(self, m, new, cable, link):
        """Brings all back: the cable, and the manager that was stopped. The new master gets precedence; otherwise it would
        hand over to this manager in the middle of the next round."""
        self.priority = min(self.priority + 1, 15) if self.o.signal == 'STOP' else 9
        new.ctl('ha', 'priority', str(self.priority))
        if self.decided:
            new.ctl('link', 'release', self.decided)
        self.say('ReLink ' + cable)
        if self.o.signal == 'STOP':
            m.process.send_signal(signal.SIGCONT)
        else:
            m.process.wait()
            m.start()
        time.sleep(1)

    def run(self):
        for m in self.managers:
            m.level = 'debug' if self.o.warm else 'info'
            if self.o.standby_rate:
                m.settings('    standby_rate: %d\n' % self.o.standby_rate)
        self.managers[0].start()
        wait_for(lambda: self.managers[0].event('sweep-done'), 300)
        for m in self.managers[1:]:
            m.start()
        for cable in [self.rng.choice(self.topology.cables['leaf']) for _ in range(self.o.rounds)]:
            self.round(cable)
        self.report()

    def report(self):
        r = self.results
        print('%d managers, %d hosts, SIG%s, %d rounds; load average %.1f' % (
            self.o.managers, len(self.hosts), self.o.signal, len(r), os.getloadavg()[0]))
        for i, what in enumerate(('a standby manager is master after', 'the cable is routed round after',
                                  'the last LFT block is sent after')):
            values = [x[i] for x in r]
            print('  %-36s median %.3f s, worst %.3f s' % (what, statistics.median(values), max(values)))
        print('  LFT blocks of the fault alone: median %d; beyond them: median %d, worst %d, in %d rounds' % (
            statistics.median(x[6] for x in r), statistics.median(x[3] for x in r), max(x[3] for x in r),
            sum(x[3] > 0 for x in r)))
        print('  %d joins of hosts, %d refused; the longest took median %.3f s, worst %.3f s' % (
            sum(x[8] for x in r), sum(x[9] for x in r), statistics.median(x[7] for x in r), max(x[7] for x in r)))
        print('  hosts were asked to register again in %d rounds; some services had not arrived in etcd in %d (median %d, '
              'worst %d services); something confirmed was lost in %d' % (
                sum(x[4] > 0 or x[11] for x in r), sum(x[10] > 0 for x in r), statistics.median(x[10] for x in r),
                max(x[10] for x in r), sum(bool(x[5]) for x in r)))


def main():
    parser = argparse.ArgumentParser()
    for name, kind in (('build', str), ('managers', int), ('rounds', int), ('signal', str), ('seed', int)):
        parser.add_argument('--' + name, type=kind, required=True)
    parser.add_argument('--warm', action='store_true')
    parser.add_argument('--decide', type=float)
    parser.add_argument('--standby-rate', type=int)
    bench = Bench(parser.parse_args())
    try:
        bench.run()
    finally:
        for m in bench.managers:
            m.end()


if __name__ == '__main__':
    main()
