#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""kill_points.py --build DIR --kills N --seed N [--managers 1|3] [--only CHANGE]

Three managers that share their state by etcd (test_kill_points.sh starts the simulator and etcd), or one manager alone.
Again and again, something changes, and the manager that works on it kills itself before it sends a MAD chosen at
random (tests/bench/umadcount.c). The changes, in turn:

    bring-up    all managers were killed, and the first one starts
    repair      a link between switches fails, and comes back later
    engine      another routing engine, by SIGHUP
    join        a host joins a multicast group
    reload      another subnet.max_mtu, by SIGHUP
    hand-over   by command; the former or the new master is killed (only with three managers)
    migration   the database has the schema before the last one, and the manager is killed while it starts

Each time, a manager must be master afterwards, the killed one must start again with its database, the database must
be whole, and the tables and LIDs in the switches must be those of a run without kills (dump_fts), byte for byte.
"""
import argparse
import contextlib
import glob
import os
import random
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'bench'))
from against_opensm import wait_for  # noqa: E402
from faults import Topology  # noqa: E402
from standbys import Host, Standby, hosts_of  # noqa: E402

ENGINES = ('fattree', 'updn')
MTUS = (4096, 2048)
CHANGES = ('bring-up', 'repair', 'engine', 'join', 'reload', 'hand-over', 'migration')
SCHEMA = os.path.join(HERE, '..', '..', 'fabricd', 'store', 'schema.c')
KILL_AFTER = 64  # offset in the file of umadcount
DIES = 1.5       # seconds after which a manager that has not sent enough MADs is killed from outside


class Failure(Exception):
    pass


def undo_last_step():
    """SQL that undoes the last step of the schema: the tables, indexes and columns that it makes. Nothing else may be in
    this step."""
    with open(SCHEMA) as f:
        text = f.read()
    step = ' '.join(re.findall(r'"([^"]*)"', re.findall(r'static const char step_\d+\[\] =(.*?);\n\n', text, re.S)[-1]))
    kinds = [(r'CREATE INDEX (\w+)', 'DROP INDEX %s; '), (r'CREATE TABLE (\w+)', 'DROP TABLE %s; '),
             (r'ALTER TABLE (\w+) ADD COLUMN (\w+)', 'ALTER TABLE %s DROP COLUMN %s; ')]
    undo = [sql % names for pattern, sql in kinds for names in re.findall(pattern, step)]
    if len(undo) != len([s for s in step.split(';') if s.strip()]):
        sys.exit('the last step of %s makes more than tables, indexes and columns: extend undo_last_step()' % SCHEMA)
    return ''.join(undo)


class Manager(Standby):
    def counts_file(self):
        return self.folder + '/' + self.name

    def arm(self, mads):
        with open(self.counts_file(), 'r+b') as f:
            f.seek(KILL_AFTER)
            f.write(struct.pack('Q', mads))

    def sent(self):
        return self.counts().sent

    def database(self):
        return sqlite3.connect('%s.state/fabricd.db' % self.name, timeout=5)

    def schema(self):
        with contextlib.closing(self.database()) as db:
            return db.execute('PRAGMA user_version').fetchone()[0]

    def make_older(self):
        """Undoes the last step of the schema, and removes backups of earlier migrations."""
        version = self.schema()
        with contextlib.closing(self.database()) as db:
            db.executescript('BEGIN; %sPRAGMA user_version = %d; COMMIT' % (undo_last_step(), version - 1))
        for path in glob.glob('%s.state/fabricd.db.v*' % self.name):
            os.unlink(path)

    def whole(self):
        db = sqlite3.connect('file:%s.state/fabricd.db?mode=ro' % self.name, uri=True, timeout=5)
        try:
            return db.execute('PRAGMA integrity_check').fetchone()[0]
        finally:
            db.close()


class Kills:
    manager = Manager

    def __init__(self, o):
        self.changes = [x for x in CHANGES if x != 'hand-over' or o.managers > 1]
        self.o, self.rng = o, random.Random(o.seed)
        self.console = open('sim.ctl', 'w')
        self.hosts = hosts_of('fabric.net')
        self.topology = Topology('fabric.net')
        self.managers = [self.manager(o.build, 'abc'[i], self.hosts[1 + 5 * i]) for i in range(o.managers)]
        self.engine, self.mtu, self.group = ENGINES[0], MTUS[0], 0
        self.reference, self.mads, self.rerouted, self.outside = {}, {}, 0, 0
        self.settings()

    def say(self, line):
        self.console.write(line + '\n')
        self.console.flush()

    def settings(self):
        for m in self.managers:
            m.settings('    max_mtu: %d\nrouting:\n    engine: %s\n' % (self.mtu, self.engine))

    # ---- the state of the set

    def master(self, among):
        roles = [m.status()['role'] for m in among]
        m = among[roles.index('master')] if roles.count('master') == 1 else None
        others = len(roles) - 1
        return m if m and roles.count('standby') == others and m.is_idle() else None

    def settled(self, among=None):
        among = among or self.managers
        m = wait_for(lambda: self.master(among), 60)
        if m is None:
            for x in among:
                print(''.join('# %s: %s\n' % (x.name, line) for line in x.said().split('\n')[-8:]), end='')
            raise Failure('no manager is master and idle: %s' % [(x.name, x.status()['role']) for x in among])
        return m

    def tables(self):
        r = subprocess.run(['dump_fts', '-n'], env=dict(os.environ, SIM_HOST=self.hosts[3], LD_PRELOAD=os.environ['UMAD2SIM']),
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60)
        return re.sub(r'^(rdtool|ibwarn).*\n', '', r.stdout, flags=re.M)

    def reroute(self):
        """The master computes all tables anew. Meanwhile, it may hand over to a manager that came back."""
        if not wait_for(lambda: self.settled().ctl('reroute').returncode == 0, 20):
            raise Failure('no manager reroutes')

    def converged(self):
        """Compares the tables with those of the undisturbed run."""
        want = self.reference[self.engine]
        if wait_for(lambda: self.tables() == want, 3):
            return
        self.rerouted += 1
        self.reroute()
        if not wait_for(lambda: self.tables() == want, 5):
            found = self.tables()
            lines = [x for x in zip(want.splitlines(), found.splitlines()) if x[0] != x[1]]
            raise Failure('the tables of %s differ: %s' % (self.engine, lines[:6]))

    # ---- changes

    def begin(self, what, m):
        """Begins a change. Returns the function that ends it."""
        if what == 'repair':
            cable = self.rng.choice(self.topology.cables['leaf'])
            self.say('Unlink ' + cable)
            return lambda: self.say('ReLink ' + cable)
        if what == 'join':
            self.group += 1
            host = Host(self.o.build, self.hosts[7], 'sa_host', 'join', self.group)
            return lambda: host.end(10)
        if what == 'hand-over':
            p = subprocess.Popen([self.o.build + '/cli/fabricctl', '-s', 'unix:%s/%s.sock' % (m.folder, m.name), 'ha',
                                  'handover'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return p.wait
        if what == 'engine':
            self.engine = ENGINES[1 - ENGINES.index(self.engine)]
        else:
            self.mtu = MTUS[1 - MTUS.index(self.mtu)]
        self.settings()
        for x in self.managers:
            x.process.send_signal(signal.SIGHUP)
        return lambda: None

    def restart_all(self):
        for m in self.managers:
            m.end()
        time.sleep(0.3)

    def measure(self):
        """Makes all changes once without a kill."""
        self.managers[0].start()
        self.settled(self.managers[:1])
        self.mads['bring-up'] = self.managers[0].sent()
        for m in self.managers[1:]:
            m.start()
            time.sleep(0.3)
        m = self.settled()
        for what in [x for x in ('engine', 'engine', 'repair', 'join', 'reload', 'reload', 'hand-over') if x in self.changes]:
            before = {x: x.sent() for x in self.managers}
            end = self.begin(what, m)
            time.sleep(1)
            end()
            m = self.settled()
            if what in ('engine', 'hand-over'):
                self.reroute()
                self.reference[self.engine] = self.tables()
            self.mads[what] = max(4, max(x.sent() - before[x] for x in self.managers))
        self.version = m.schema()
        m.end()
        began = time.time()
        m.remember()
        m.start()
        wait_for(lambda: 'fabricd: version' in m.said(), 20)
        self.starts = time.time() - began
        m = self.settled()
        print('# MADs: ' + ', '.join('%s %d' % x for x in self.mads.items()) + '; a start takes %.3f s' % self.starts,
              flush=True)
        if self.reference[ENGINES[0]] == self.reference[ENGINES[1]]:
            raise Failure('both engines give the same tables')

    def kill_migration(self):
        """Kills a manager up to three times while it migrates its database, without a pause in between."""
        victim = self.rng.choice(self.managers)
        kills = self.rng.randrange(1, 4)
        self.note = 'migration, %s dies %d times' % (victim.name, kills)
        victim.end()
        victim.make_older()
        for _ in range(kills):
            victim.start()
            time.sleep(self.rng.random() * self.starts * 1.2)
            victim.end()
        victim.start()
        self.settled()
        self.converged()
        if victim.schema() != self.version or victim.whole() != 'ok':
            raise Failure('the database of %s is damaged, or has schema version %d' % (victim.name, victim.schema()))

    def kill(self, what):
        if what == 'migration':
            self.kill_migration()
            return
        m = self.settled()
        victim = m
        mads = 1 + self.rng.randrange(self.mads[what])
        self.note = '%s, %s dies before its MAD %d' % (what, victim.name, mads)
        end = lambda: None  # noqa: E731
        if what == 'bring-up':
            self.restart_all()
            victim.arm(mads)
            victim.start()
        else:
            if what == 'hand-over' and self.rng.random() < 0.5:
                victim = self.rng.choice([x for x in self.managers if x is not m])
            self.note = '%s, %s (master %s) dies before its MAD %d' % (what, victim.name, m.name, mads)
            victim.arm(mads)
            end = self.begin(what, m)
        if not wait_for(lambda: victim.process.poll() is not None, DIES):
            self.outside += 1
            victim.end()
        victim.arm(0)
        others = [x for x in self.managers if x is not victim]
        if what == 'bring-up':
            for x in others:
                x.start()
        for x in others:
            if x.process.poll() is not None:
                raise Failure('%s died, too' % x.name)
        if others:
            self.settled(others)
        victim.start()
        end()
        self.settled()
        self.converged()
        for x in self.managers:
            if x.whole() != 'ok':
                raise Failure('the database of %s is damaged: %s' % (x.name, x.whole()))

    def run(self):
        self.measure()
        for i in range(self.o.kills):
            try:
                self.kill(self.o.only or self.changes[i % len(self.changes)])
            except Failure as e:
                print('# kill %d of %d: %s: %s' % (i + 1, self.o.kills, self.note, e))
                return 1
            if i % 60 == 59:
                print('# %d kills' % (i + 1), flush=True)
        print('# %d kills, %d of them from outside; the tables were those of the undisturbed run, %d times only after '
              'a reroute' % (self.o.kills, self.outside, self.rerouted))
        return 0


def main():
    parser = argparse.ArgumentParser()
    for name, kind in (('build', str), ('kills', int), ('seed', int)):
        parser.add_argument('--' + name, type=kind, required=True)
    parser.add_argument('--managers', type=int, choices=(1, 3), default=3)
    parser.add_argument('--only', choices=('',) + CHANGES, default='')
    kills = Kills(parser.parse_args())
    try:
        return kills.run()
    finally:
        for m in kills.managers:
            m.end()


if __name__ == '__main__':
    sys.exit(main())
