#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cuts.py --build DIR --relay FIFO --cases N --seed N --seconds S --counter LIBRARY HOST ...

Runs three managers, one at each HOST, which share their state by three etcd servers behind relay.py. (test_cuts.sh
starts the simulated fabric, the servers and the relay. The settings are 1.yaml, 2.yaml and 3.yaml in the current
folder.) For each pair of nodes, the network between them is cut, slow (200 ms in both directions), or cut in one
direction only. Meanwhile, an operator at each manager drains and undrains links, isolates and releases links, and
lists both; and in three of four cases, the master is killed and started again, is stopped for STOP seconds (SIGSTOP), or
hands over. The fabric itself is not cut.

judge() then checks the history of all calls and answers, as Jepsen does:

  * At the end, all managers have the same decisions.
  * A decision that was confirmed is in force at the end, unless a later one replaced it.
  * A decision that was refused never appears.
  * A master that leads the replication and is level lists no state that a confirmed decision had replaced: one of its
    own before the list was requested, one of another manager before the last transaction that a majority had confirmed
    (last_confirmed in `ha status`). A manager that was stopped learns of another leader only in its next transaction.
  * A manager writes forwarding tables only while it is master, and two managers are never master for longer than
    the election takes (ELECTION). Time for which one of them could not run does not count: it was stopped, or waited
    for a processor.

Each drain has a reason that no other one has, so that a list shows which call made it. A decision whose answer
says that nobody confirmed it, or whose manager died, may or may not be in force.
"""
import argparse
import asyncio
import bisect
import calendar
import itertools
import json
import os
import random
import re
import signal
import sqlite3
import struct
import sys
import time

# Seconds. A master reads the SMInfo of the others every 0.5 s, and uses each answer at the next read (sm/ha/watch.c). It
# yields in the same instant; 0.1 s are for its MADs.
ELECTION = 1.1
STOP = 1.5  # seconds
SETTLES = 25.0  # time limit after the last case
PAIRS = ((1, 2), (1, 3), (2, 3))
DISTURBANCES = ('kill', 'handover', 'stop', 'nothing')
KINDS = ('cut', 'slow', 'one-way to the first', 'one-way to the second')
UNSURE = re.compile('the change was made|not known whether|no answer|connection|cannot reach|timed out|time limit', re.I)


def seconds_of(stamp):
    """Unix time of a time in the log."""
    whole, _, part = stamp.partition('.')
    return calendar.timegm(time.strptime(whole, '%Y-%m-%dT%H:%M:%S')) + float('0.' + (part or '0'))


class Write:
    """A decision about a key. value: the reason of a drain, 'yes' for an isolated link, or None for the end of both."""

    def __init__(self, manager, key, value, start):
        self.manager, self.key, self.value, self.start = manager, key, value, start
        self.end, self.result, self.text = float('inf'), 'unsure', ''

    def finish(self, result, text):
        self.result, self.text = result, text
        if result == 'ok':
            self.end = time.time()

    def __str__(self):
        return '%s: %s := %s at manager %s, %.3f to %.3f %s' % (self.result, self.key, self.value, self.manager.name,
                                                               self.start, self.end, self.text[:120].partition('\n')[0])


class Manager:
    def __init__(self, o, name, host):
        self.o, self.name, self.host = o, name, host
        self.sock = os.path.abspath(name + '.sock')
        self.process, self.lives, self.log = None, [], '%s.log' % name  # lives: [start, end]
        self.stops = []  # [begin, end] of each time for which the process was stopped
        self.waits = []  # (time, seconds for which the main thread has waited for a processor since it was started)

    async def start(self):
        env = dict(os.environ, SIM_HOST=self.host, LD_PRELOAD=self.o.counter + ' ' + os.environ['UMAD2SIM'],
                   UMADCOUNT_FILE=os.path.abspath(self.name + '.counts'))
        out = open(self.log, 'a')
        self.process = await asyncio.create_subprocess_exec(
            self.o.build + '/fabricd/fabricd', '--umad', '--state-dir', os.path.abspath(self.name), '--listen',
            'unix:' + self.sock, '-f', os.path.abspath(self.name + '.yaml'), env=env, stdin=asyncio.subprocess.DEVNULL,
            stdout=out, stderr=out)
        out.close()
        self.lives.append([time.time(), float('inf')])

    async def kill(self):
        self.process.kill()
        self.lives[-1][1] = time.time()
        await self.process.wait()

    async def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        begin = time.time()
        await asyncio.sleep(STOP)
        self.process.send_signal(signal.SIGCONT)
        self.stops.append((begin, time.time()))

    def note_wait(self):
        try:
            waited = int(open('/proc/%d/schedstat' % self.process.pid).read().split()[1]) / 1e9
        except (OSError, IndexError):
            return  # it was killed
        if not self.waits or self.waits[-1][1] != waited:
            self.waits.append((time.time(), waited))

    def idled(self, begin, end):
        """The seconds between begin and end for which the process could not run."""
        stopped = sum(max(0, min(end, e) - max(begin, b)) for b, e in self.stops)
        first, last = (self.waits[max(0, bisect.bisect(self.waits, (at, float('inf'))) - 1)][1] for at in (begin, end))
        return stopped + max(0, last - first)

    async def call(self, *args):
        """Returns the exit code and the text."""
        p = await asyncio.create_subprocess_exec(
            self.o.build + '/cli/fabricctl', '-s', 'unix:' + self.sock, *args, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        try:
            out, err = await asyncio.wait_for(p.communicate(), 15)
        except asyncio.TimeoutError:
            p.kill()
            return 3, 'no answer within 15 s'
        return p.returncode, (out if p.returncode == 0 else err).decode(errors='replace')

    async def json(self, *args):
        code, text = await self.call(*args, '-o', 'json')
        return json.loads(text) if code == 0 else None

    async def leads(self):
        """If the manager is master and leads: the time until which it knows what other masters decided, otherwise 0; and
        whether it is master."""
        s = await self.json('ha', 'status')
        master = bool(s) and s['role'] == 'master'
        r = s.get('replication', {}) if s else {}
        knows = master and r.get('leads') and r.get('level') and r['last_confirmed']
        return seconds_of(r['last_confirmed'].rstrip('Z')) if knows else 0, master

    def lft(self):
        """The number of LFT blocks written since the file exists, and the time of the last one."""
        try:
            data = open(self.name + '.counts', 'rb').read(64)
        except OSError:
            return 0, 0
        v = struct.unpack('8Q', data) if len(data) == 64 else [0] * 8
        return v[3], v[4] / 1e9

    def mastery(self):
        """[begin, end] of each time as master, by the events in its log and by its death."""
        changes = []
        for m in re.finditer(r'^(\S+)Z\s+\S+\s+(sm-\w+):', open(self.log, errors='replace').read(), re.M):
            if m[2] in ('sm-master', 'sm-standby', 'sm-discovering'):
                changes.append((seconds_of(m[1]), m[2] == 'sm-master'))
        changes += [(end, False) for _, end in self.lives if end != float('inf')]
        result = []
        for at, master in sorted(changes, key=lambda c: c[0]):
            if master and (not result or result[-1][1] is not None):
                result.append([at, None])
            elif not master and result and result[-1][1] is None:
                result[-1][1] = at
        return [[a, b if b is not None else float('inf')] for a, b in result]


class History:
    def __init__(self):
        # reads: (manager, time of the request, time until which the manager knows the decisions of others, or 0, and
        # the values that it listed); tables: (time of a write of forwarding tables, manager)
        self.writes, self.reads, self.tables = [], [], []

    def of(self, key):
        return [w for w in self.writes if w.key == key]


def fits(writes, value, knows):
    """Whether a key can have this value if it is read by a manager that knows certain confirmed decisions. The first value
    is None."""
    class First:
        pass
    first = First()
    first.value, first.start, first.end, first.result = None, 0, 0, 'ok'
    ok = [w for w in writes if w.result == 'ok' and knows(w)]
    return any(w.value == value and not any(x.start > w.end for x in ok)
               for w in [first] + [w for w in writes if w.result != 'refused'])


def judge(h, keys, last):
    """Returns what is wrong with a history, if the managers had the decisions `last` at the end."""
    wrong = []
    for key in keys:
        if not fits(h.of(key), last.get(key), lambda w: True):
            confirmed = [w for w in h.of(key) if w.result == 'ok'][-3:]
            wrong.append('at the end, %s is %s, but:\n%s' % (key, last.get(key), '\n'.join(map(str, confirmed))))
    refused = {w.value: w for w in h.writes if w.result == 'refused' and w.key[0] == 'drain' and w.value}
    for values in [r[3] for r in h.reads] + [last]:
        wrong += ['a refused decision appears: %s' % refused[v] for v in values.values() if v in refused]
    for m, start, known, values in [r for r in h.reads if r[2]]:
        def knows(w):
            return w.end < (start if w.manager is m else min(start, known))
        for key in keys:
            if not fits(h.of(key), values.get(key), knows):
                later = [w for w in h.of(key) if w.result == 'ok' and knows(w)][-2:]
                wrong.append('manager %s lists %s = %s at %.3f (knows all until %.3f), after\n%s' % (
                    m.name, key, values.get(key), start, known, '\n'.join(map(str, later))))
    return wrong


def check_judge():
    """judge() must find fault with histories that are wrong."""
    class Named:
        name = 'x'

    def history(writes, reads=()):
        h = History()
        for value, start, end, result in writes:
            w = Write(Named, 'k', value, start)
            w.key, w.end, w.result = ('drain', 'k'), end, result
            h.writes.append(w)
        h.reads = [(reader, start, known, {('drain', 'k'): value}) for value, reader, start, known in reads]
        return h

    class Other:
        name = 'y'
    never = float('inf')
    first, second = ('a', 1, 2, 'ok'), ('b', 3, 4, 'ok')
    key = ('drain', 'k')
    for wrong, h, last in ((False, history([first, second], [('a', Named, 2.5, 2), ('b', Named, 5, 2)]), 'b'),
                           (False, history([first, ('b', 3, never, 'unsure')]), 'a'),
                           (False, history([first, ('b', 3, never, 'unsure')]), 'b'),
                           (True, history([first, second]), 'a'),  # a confirmed decision is lost
                           (True, history([first]), None),
                           (True, history([first, second], [('a', Named, 5, 2)]), 'b'),  # outdated lists
                           (True, history([first, second], [('a', Other, 5, 4.5)]), 'b'),
                           (False, history([first, second], [('a', Other, 5, 3.5)]), 'b'),
                           (True, history([first, second], [(None, Other, 5, 3.5)]), 'b'),
                           (True, history([first, ('b', 3, never, 'refused')], [('b', Named, 5, 5)]), 'a'),
                           (True, history([first, ('b', 3, never, 'refused')]), 'b')):
        assert bool(judge(h, [key], {key: last} if last else {})) == wrong


class Operator:
    """The calls at one manager."""

    def __init__(self, manager, history, keys, rng):
        self.manager, self.history, self.keys, self.rng = manager, history, keys, rng
        self.number = itertools.count(1)

    def choose(self):
        kind, link = self.rng.choice(self.keys)
        if kind == 'drain':
            if self.rng.random() < 0.55:
                reason = 'call-%s-%d' % (self.manager.name, next(self.number))
                return (kind, link), reason, ('drain', 'link', link, '--yes', '--force', '--reason', reason)
            return (kind, link), None, ('undrain', 'link', link)
        if self.rng.random() < 0.5:
            return (kind, link), 'yes', ('link', 'isolate', link)
        return (kind, link), None, ('link', 'release', link)

    async def write(self):
        key, value, args = self.choose()
        w = Write(self.manager, key, value, time.time())
        self.history.writes.append(w)
        code, text = await self.manager.call(*args)
        w.finish('ok' if code == 0 else 'unsure' if code == 3 or UNSURE.search(text) else 'refused', text.strip())

    async def read(self):
        known, _ = await self.manager.leads()
        start = time.time()
        drains = await self.manager.json('drain', 'list')
        isolated = await self.manager.json('link', 'unhealthy')
        after, _ = await self.manager.leads()
        if drains is not None and isolated is not None:
            self.history.reads.append((self.manager, start, known if after else 0, state(drains, isolated)))

    async def run(self):
        while True:
            await self.write()
            if self.rng.random() < 0.4:
                await self.read()
            await asyncio.sleep(0.02 if 'is standby' not in self.history.writes[-1].text else 0.2)


def state(drains, isolated):
    """{key: value} of what a manager lists."""
    result = {}
    for d in drains.get('drains', []):
        if d['state'] != 'ending':
            result['drain', d['name']] = d['reason']
    for x in isolated.get('links', []):
        if x.get('isolated'):
            for end in ('a', 'b'):
                result['isolate', '%s/%s' % (x[end + '_node'], x[end + '_port'])] = 'yes'
    return result


async def watch_tables(managers, history):
    """Notes when managers write forwarding tables, and how long they wait for a processor."""
    last = {m: 0 for m in managers}
    while True:
        for m in managers:
            m.note_wait()
            count, at = m.lft()
            if count != last[m]:
                last[m] = count
                history.tables.append((at, m))
        await asyncio.sleep(0.01)


class Cuts:
    def __init__(self, o):
        self.o, self.rng, self.history = o, random.Random(o.seed), History()
        self.relay = open(o.relay, 'w')
        self.managers = [Manager(o, str(i + 1), h) for i, h in enumerate(o.hosts)]
        keys = [('drain', 'leaf-%03d/%d' % (leaf, port)) for leaf, port in ((1, 5), (1, 6), (2, 7), (3, 8))]
        keys += [('isolate', 'leaf-%03d/%d' % (leaf, port)) for leaf, port in ((2, 5), (3, 6), (4, 7))]
        self.keys, self.failures = keys, []

    def say(self, *words):
        self.relay.write(' '.join(map(str, words)) + '\n')
        self.relay.flush()

    def cut(self, kind, a, b):
        if kind == 'slow':
            self.say('slow', a, b, 0.2)
            self.say('slow', b, a, 0.2)
        if kind in ('cut', 'one-way to the first'):
            self.say('cut', a, b)
        if kind in ('cut', 'one-way to the second'):
            self.say('cut', b, a)

    async def master(self):
        for m in self.managers:
            if (await m.leads())[1]:
                return m
        return None

    async def disturb(self, what):
        m = await self.master()
        if m is None or what == 'nothing':
            return
        if what == 'kill':
            await m.kill()
            await asyncio.sleep(1)
            await m.start()
        elif what == 'stop':
            await m.stop()
        else:
            others = [x for x in self.managers if x is not m]
            node = '0x' + self.rng.choice(others).host[2:]
            asyncio.ensure_future(m.call('ha', 'handover', '--to', node))

    async def case(self, kind, pair, what):
        begun = len(self.history.writes)
        self.cut(kind, *pair)
        await asyncio.sleep(self.o.seconds / 3)
        await self.disturb(what)
        await asyncio.sleep(self.o.seconds * 2 / 3)
        self.say('heal')
        writes = self.history.writes[begun:]
        await asyncio.sleep(1)
        count = {r: sum(w.result == r for w in writes) for r in ('ok', 'unsure', 'refused')}
        print('# %s between %d and %d, %s: %d decisions confirmed, %d not, %d refused' % (
            kind, *pair, what, count['ok'], count['unsure'], count['refused']), flush=True)

    async def settle(self):
        """Waits until all managers have the same decisions. Returns them."""
        end, found, pending = time.time() + SETTLES, [], []
        while time.time() < end:
            found = [decisions(m.name) for m in self.managers]
            pending = [(await m.json('ha', 'status') or {}).get('replication', {}).get('pending') for m in self.managers]
            if found[0] == found[1] == found[2] and await self.master() and pending.count(0) == 3:
                return found[0]
            await asyncio.sleep(0.2)
        self.failures.append('the managers have different decisions: %s; rows not sent: %s' % (found, pending))
        return found[0]

    async def run(self):
        for i, m in enumerate(self.managers):
            await m.start()
            await asyncio.sleep(1.5 if i == 0 else 0.3)
        end = time.time() + 30
        while not any([(await m.leads())[0] for m in self.managers]):
            if time.time() > end:
                sys.exit('cuts.py: no manager leads within 30 s')
            await asyncio.sleep(0.1)
        watch = asyncio.ensure_future(watch_tables(self.managers, self.history))
        calls = [asyncio.ensure_future(Operator(m, self.history, self.keys, random.Random(self.o.seed * 3 + i)).run())
                 for i, m in enumerate(self.managers)]
        cases = list(itertools.product(KINDS, PAIRS))
        self.rng.shuffle(cases)
        for i, (kind, pair) in enumerate(cases[:self.o.cases]):
            await self.case(kind, pair, DISTURBANCES[i % 4])
        for t in calls:
            t.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        for m in self.managers:
            if m.process.returncode is not None:
                self.failures.append('manager %s died with the exit code %d' % (m.name, m.process.returncode))
        await asyncio.sleep(3)  # the longest time until a decision under way is answered
        last = await self.settle()
        watch.cancel()
        self.judge(last)

    def judge(self, last):
        h = self.history
        self.failures += judge(h, self.keys, last)
        self.judge_writers()
        confirmed, lists = sum(w.result == 'ok' for w in h.writes), sum(r[2] > 0 for r in h.reads)
        if min(confirmed, lists) < self.o.cases:
            self.failures.append('too few decisions were confirmed, or lists were read, to judge anything')
        count = {r: sum(w.result == r for w in h.writes) for r in ('ok', 'unsure', 'refused')}
        print('# %d decisions confirmed, %d not, %d refused; %d lists, %d of them by a master that is level; '
              '%d writes of tables' % (count['ok'], count['unsure'], count['refused'], len(h.reads),
                                       lists, len(h.tables)))

    def judge_writers(self):
        mastery = {m: m.mastery() for m in self.managers}
        for at, m in self.history.tables:
            if not any(a - 0.05 <= at <= b + 0.05 for a, b in mastery[m]):
                self.failures.append('manager %s wrote forwarding tables at %.3f, but is master in %s' % (
                    m.name, at, mastery[m]))
        longest = 0
        for x, y in itertools.combinations(self.managers, 2):
            for (a, b), (c, d) in itertools.product(mastery[x], mastery[y]):
                begin, end = max(a, c), min(b, d)
                if begin < end:
                    longest = max(longest, end - begin - x.idled(begin, end) - y.idled(begin, end))
        print('# two masters for at most %.3f s' % longest)
        if longest > ELECTION:
            self.failures.append('two managers were master for %.3f s: %s' % (longest, {
                m.name: mastery[m] for m in self.managers}))


def decisions(folder):
    db = sqlite3.connect('file:%s/fabricd.db?mode=ro' % folder, uri=True, timeout=5)
    try:
        result = {('drain', name): reason for name, reason in db.execute('SELECT name, reason FROM drain')}
        for a, b in db.execute('SELECT name_a, name_b FROM isolated_link'):
            result['isolate', a] = result['isolate', b] = 'yes'
        return result
    finally:
        db.close()


async def main():
    parser = argparse.ArgumentParser()
    for name, kind in (('build', str), ('relay', str), ('counter', str), ('cases', int), ('seed', int), ('seconds', float)):
        parser.add_argument('--' + name, type=kind, required=True)
    parser.add_argument('hosts', nargs=3)
    o = parser.parse_args()
    check_judge()
    cuts = Cuts(o)
    try:
        await cuts.run()
    finally:
        for m in cuts.managers:
            if m.process is not None and m.process.returncode is None:
                await m.kill()
    for f in cuts.failures[:20]:
        print('# ' + f.replace('\n', '\n#   '))
    return 1 if cuts.failures else 0


if __name__ == '__main__':
    sys.exit(asyncio.run(main()))
