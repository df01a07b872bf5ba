#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""election_matrix.py [--build DIR] [--sample N --seed S] [--jobs N] [--only WORDS] [--list] [--keep]

Two subnet managers on one simulated fabric (ibsim) start in both orders, with a lower, equal or higher
priority, and die, hang or return. The pairs are fabricd and OpenSM, and two fabricd. Each line of the table
is a case. After each step of a case, the program waits at most 5 seconds for exactly one master, and then
judges:

  * the managers that run and do not hang: one is master, the others are standby (SMInfo, read by sminfo from a
    third host);
  * all LIDs are those from before the first step (ibnetdiscover);
  * the tables in the switches are right (dump_fts, and judge.py).

umad2sim never ends a request to a program that hangs. OpenSM in standby therefore waits for ever for the SMInfo of
a master that hangs, and does not take over; these steps are judged without the first point until the master
continues. ibsim loses MADs to a manager that was killed or hangs. If OpenSM sent one, OpenSM waits for ever, too,
in the state DISCOVER, and the case is repeated, at most 5 times.

A case fails if one of these is not so. --sample N takes N cases at random, by the seed. Exit code 0: all cases
passed.
"""
import argparse
import concurrent.futures
import glob
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
MASTER_WITHIN = 5.0
PRIORITIES = {'lower': (1, 5), 'equal': (5, 5), 'higher': (9, 5)}
STEPS = {
    'master killed': ['kill master'],
    'master killed, returns': ['kill master', 'return'],
    'master hangs, returns': ['stop master', 'continue'],
    'standby killed, returns': ['kill standby', 'return'],
    'standby hangs, returns': ['stop standby', 'continue'],
    'both killed, last one first': ['kill both', 'start second', 'start first'],
}


class Case:
    """pair: the kinds of the managers a and b. a is at a host with a higher port GUID than b."""

    def __init__(self, pair, first, priority, steps):
        self.pair, self.first, self.priority, self.steps = pair, first, priority, steps

    def name(self):
        return '%s beside %s, %s first, priority %s: %s' % (self.pair[0], self.pair[1], self.first, self.priority,
                                                           self.steps)


def all_cases():
    for pair, first, priority, steps in itertools.product((('fabricd', 'OpenSM'), ('fabricd', 'fabricd')), 'ab',
                                                          PRIORITIES, STEPS):
        yield Case(pair, first, priority, steps)


class Failure(Exception):
    pass


class Stuck(Failure):
    """OpenSM waits for a MAD that ibsim lost in the socket of the killed manager."""


class Manager:
    def __init__(self, lab, name, kind, host, priority):
        self.lab, self.name, self.kind, self.host, self.priority = lab, name, kind, host, priority
        self.folder = os.path.join(lab.folder, name)
        os.makedirs(self.folder)
        self.process, self.hangs, self.lid = None, False, 0

    def start(self):
        env = dict(self.lab.env, SIM_HOST=self.host)
        if self.kind == 'fabricd':
            config = self.folder + '/fabricd.yaml'
            with open(config, 'w') as f:
                f.write('subnet:\n    sm_priority: %d\n' % self.priority)
            os.chmod(config, 0o600)
            command = [self.lab.build + '/fabricd/fabricd', '--umad', '-f', config, '--state-dir',
                       self.folder + '/state', '--listen', 'unix:%s/sock' % self.folder]
        else:
            config = self.folder + '/opensm.conf'
            with open(config, 'w') as f:
                f.write('log_file %s/log\nforce_log_flush TRUE\nsminfo_polling_timeout 300\n'
                        'polling_retry_number 2\nmax_wire_smps 64\nlog_max_size 0\n' % self.folder)
            env.update(OSM_CACHE_DIR=self.folder, OSM_TMP_DIR=self.folder)
            command = ['opensm', '-F', config, '-p', str(self.priority)]
        out = open(self.folder + '/out', 'a')
        self.process = subprocess.Popen(command, env=env, cwd=self.lab.folder, stdin=subprocess.DEVNULL, stdout=out,
                                        stderr=out)
        self.hangs = False

    def runs(self):
        return self.process is not None and not self.hangs

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process, self.hangs = None, False
        # ibsim notices at the next request that the client is gone, and clears IsSM. If a new client had
        # attached itself to the port before, ibsim would clear its IsSM.
        self.lab.tool('sminfo', str(self.lid), limit=4)

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        self.hangs = True

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)
        self.hangs = False


class Lab:
    def __init__(self, build, case):
        self.build, self.case = build, case
        self.folder = tempfile.mkdtemp(prefix='election-')
        self.env = dict(os.environ, IBSIM_SOCKNAME='election-%d-%s' % (os.getpid(), os.path.basename(self.folder)))
        self.umad2sim = (glob.glob('/usr/lib/*/umad2sim/libumad2sim.so') or [''])[0]
        self.env['LD_PRELOAD'] = self.umad2sim
        self.start_simulator()
        priority = PRIORITIES[case.priority]
        self.managers = {'a': Manager(self, 'a', case.pair[0], self.hosts[9], priority[0]),
                         'b': Manager(self, 'b', case.pair[1], self.hosts[0], priority[1])}

    def start_simulator(self):
        net = self.folder + '/fabric.net'
        subprocess.run([self.build + '/cli/fabsim', 'generate', 'leaf-spine', '--leaves', '4', '--spines', '2', '--hosts',
                        '4', '-o', net], check=True, stdout=subprocess.DEVNULL)
        text = open(net).read()
        self.hosts = re.findall(r'^Ca[^"]*"([^"]*)"', text, re.M)
        env = {k: v for k, v in self.env.items() if k != 'LD_PRELOAD'}
        command = ['ibsim', '-s', '-n', '-I', '-N', '64', '-S', '64', '-P', '512', '-L', '49152', '-M', '1024', net]
        if os.environ.get('SIMULATOR') == 'fabsim':
            command = [self.build + '/cli/fabsim', 'serve', net]
        self.simulator = subprocess.Popen(command, env=env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                          stdout=open(self.folder + '/sim.out', 'w'), stderr=subprocess.STDOUT)
        end = time.time() + 20
        while not re.search('ready|serving', open(self.folder + '/sim.out').read()):
            if time.time() > end:
                raise Failure('ibsim does not start')
            time.sleep(0.05)

    def close(self, keep):
        for m in self.managers.values():
            if m.process is not None:
                m.process.kill()
                m.process.wait()
        self.simulator.kill()
        self.simulator.wait()
        if not keep:
            shutil.rmtree(self.folder)

    # The tools run at a third host. umad2sim never gives up a request to a program that hangs, so each tool has
    # a time limit.
    def tool(self, *command, limit=20):
        env = dict(self.env, SIM_HOST=self.hosts[5])
        try:
            return subprocess.run(command, env=env, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=limit, text=True, errors='replace').stdout
        except subprocess.TimeoutExpired:
            return 'no answer'

    def discover(self):
        text = self.tool('ibnetdiscover')
        lids = sorted(re.findall(r'^(?:Switch|Ca).*|^\[1\].*\blid (\d+) lmc', text, re.M))
        lids = re.findall(r'\blid (\d+)', text)
        return text, hashlib.md5(' '.join(lids).encode()).hexdigest(), len(lids)

    def lid_of(self, text, host):
        at = text.find('"%s"' % host, text.find('\nCa'))
        m = re.search(r'^Ca[^\n]*"%s".*?\n\[1\][^\n]*?#[^\n]*?lid (\d+) lmc' % host, text, re.S | re.M)
        return int(m[1]) if m else 0 * at

    def state_of(self, text, m):
        lid = self.lid_of(text, m.host)
        answer = self.tool('sminfo', str(lid), limit=4) if lid else 'no LID'
        found = re.search(r'SMINFO_(\w+)', answer)
        return found[1] if found else answer.strip()[:60]

    def is_sm(self, text):
        """Which ports have IsSM set, for the messages about failures."""
        return {n: bool(re.search(r'IsSM\b', self.tool('smpquery', 'portinfo', str(self.lid_of(text, m.host)), '1')))
                for n, m in self.managers.items()}

    def states(self, text):
        return {n: self.state_of(text, m) for n, m in self.managers.items() if m.runs()}

    def await_one_master(self):
        """Returns the time until exactly one manager is master and the others are standby."""
        begin = time.time()
        while True:
            text = self.tool('ibnetdiscover')
            states = self.states(text)
            if sorted(states.values()) == ['MASTER'] + ['STANDBY'] * (len(states) - 1):
                for m in self.managers.values():
                    m.lid = self.lid_of(text, m.host) or m.lid
                return time.time() - begin, [n for n in states if states[n] == 'MASTER'][0]
            if time.time() - begin > MASTER_WITHIN:
                kinds = {(m.kind, states.get(n)) for n, m in self.managers.items() if m.runs()}
                stuck = ('OpenSM', 'DISCOVER') in kinds and kinds <= {('OpenSM', 'DISCOVER'), ('fabricd', 'MASTER')}
                raise (Stuck if stuck else Failure)('after %.0f s: %s; IsSM: %s' % (MASTER_WITHIN, states, self.is_sm(text)))
            time.sleep(0.1)

    def judge(self, lids):
        text, found, count = self.discover()
        if lids and found != lids:
            raise Failure('LIDs changed')
        open(self.folder + '/nd', 'w').write(text)
        end, verdict = time.time() + MASTER_WITHIN, ''
        while time.time() < end:  # the new master may still write
            open(self.folder + '/fts', 'w').write(self.tool('dump_fts', '-n'))
            r = subprocess.run([sys.executable, HERE + '/judge.py', self.folder + '/nd', self.folder + '/fts'],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            verdict = r.stdout.strip()
            if r.returncode == 0:
                return found
            time.sleep(0.2)
        raise Failure('tables: ' + verdict[:200])


def do(lab, step, master):
    a, b = lab.managers['a'], lab.managers['b']
    first = lab.managers[lab.case.first]
    second = b if first is a else a
    of = {'master': lab.managers[master], 'standby': b if master == 'a' else a, 'first': first, 'second': second}
    verb, _, what = step.partition(' ')
    if step == 'kill both':
        a.kill()
        b.kill()
    elif verb == 'kill':
        of[what].kill()
    elif verb == 'stop':
        of[what].stop()
    elif verb == 'start':
        of[what].start()
    elif verb == 'return':
        [m for m in (a, b) if m.process is None][0].start()
    elif verb == 'continue':
        time.sleep(1)
        [m for m in (a, b) if m.hangs][0].go_on()


def run(build, case, keep):
    """Repeats a case in which OpenSM got stuck."""
    for attempt in range(5):
        try:
            why, notes = attempt_case(build, case, keep)
            return why, notes + ('; %d attempts, because OpenSM waited for a lost MAD' % (attempt + 1) if attempt else '')
        except Stuck as e:
            why = str(e)
    return why, 'OpenSM waited for a lost MAD in each of 5 attempts'


def attempt_case(build, case, keep):
    """Returns (None or the failure, a text about each step)."""
    lab, notes = Lab(build, case), []
    step = 'start'
    try:
        lab.managers[case.first].start()
        time.sleep(1.5)
        took, master = lab.await_one_master()
        lids = lab.judge(None)
        step = 'start of the other one'
        lab.managers['b' if case.first == 'a' else 'a'].start()
        time.sleep(1)
        took, master = lab.await_one_master()
        lab.judge(lids)
        notes.append('%s master' % master)
        for step in STEPS[case.steps]:
            do(lab, step, master)
            if not any(m.runs() for m in lab.managers.values()):
                continue
            time.sleep(0.5)
            if step == 'stop master' and [m.kind for m in lab.managers.values() if m.runs()] == ['OpenSM']:
                time.sleep(3)
                lab.judge(lids)
                notes.append('%s: not judged, because OpenSM cannot notice it' % step)
                continue
            took, master = lab.await_one_master()
            lab.judge(lids)
            notes.append('%s: %s master after %.1f s' % (step, master, took + 0.5))
        return None, '; '.join(notes)
    except Stuck:
        raise
    except Failure as e:
        return '%s: %s' % (step, e), '; '.join(notes) + ('; kept in ' + lab.folder if keep else '')
    finally:
        lab.close(keep)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--build', default=os.environ.get('BUILD_DIR', TOP + '/build'))
    parser.add_argument('--sample', type=int)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--only', default='', help='only cases whose names have all of these words')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--keep', action='store_true', help='keep the folders of cases')
    o = parser.parse_args()
    cases = [c for c in all_cases() if all(w in c.name() for w in o.only.split(','))]
    if o.sample:
        cases = random.Random(o.seed).sample(cases, min(o.sample, len(cases)))
    if o.list:
        print('\n'.join(c.name() for c in cases))
        return 0
    o.build = os.path.abspath(o.build)
    failed = 0
    print('1..%d' % len(cases), flush=True)
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        jobs = [pool.submit(run, o.build, c, o.keep) for c in cases]
        for i, (case, job) in enumerate(zip(cases, jobs)):
            why, notes = job.result()
            failed += why is not None
            print('%s %d - %s\n# %s' % ('not ok' if why else 'ok', i + 1, case.name(), notes), flush=True)
            if why:
                print('# TEST_SEED=%d: %s' % (o.seed, why), flush=True)
    print('# %d of %d cases passed' % (len(cases) - failed, len(cases)))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
