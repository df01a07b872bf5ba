# SPDX-License-Identifier: BSD-3-Clause
"""The work that faults.py --background gives to a manager while it measures faults.

The work is: studies of routes (route quality and route whatif in turn), full sweeps one after the other, 20
event watchers, and a client that asks for paths. On ibsim, this client requests 5,000 path records a second
from the SA. The simulated fabric of fabricd --sim has no second host that could ask the SA. There a client
of the RPC traces paths instead, at most 500 a second; each path costs the loop several times as much as a
path record. The manager also computes contingency plans. Each client is a process.
"""
import os
import random
import subprocess
import sys
import time
import urllib.request

WATCHERS = 20
PATHS = 5000
TRACES = 500
WINDOW = 8  # requests of the SA client without an answer so far


def metrics(port):
    # without the series of ports: in a large fabric with this background, a page with them takes too long
    page = urllib.request.urlopen('http://127.0.0.1:%d/metrics?collect[]=manager' % port, timeout=60).read().decode()
    samples = (line.rsplit(' ', 1) for line in page.splitlines() if not line.startswith('#'))
    return {name: float(value) for name, value in samples}


class Background:
    def __init__(self, args, folder, ends, lids, ibsim, metrics_port):
        self.port, self.started = metrics_port, time.time()
        self.before = metrics(metrics_port)
        self.server = 'unix:%s/sock' % folder
        self.processes, self.folder, self.name = [], folder, ibsim.name if ibsim else None
        ctl = '"%s/cli/fabricctl" -s %s' % (args.build, self.server)
        self.loop('studies', '%s route quality; %s route whatif --fail %s' % (ctl, ctl, ends[len(ends) // 2]))
        self.loop('sweeps', '%s sweep' % ctl)
        for i in range(WATCHERS):
            self.shell('watcher', 'exec %s event watch' % ctl)
        if ibsim:
            self.shell('paths', 'IBSIM_SOCKNAME=%s exec "%s/tests/bench/sa_flood" H-%s %d 100000 %d %d/s'
                       % (ibsim.name, args.build, ends[-2][2:], lids, WINDOW, PATHS))
        else:
            self.processes.append(subprocess.Popen([sys.executable, __file__, self.server, ends[0], ends[-1]],
                                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))

    def shell(self, what, command):
        self.processes.append(subprocess.Popen(['sh', '-c', command], stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL, cwd=self.folder,
                                               stderr=open('%s/background-%s.err' % (self.folder, what), 'w'),
                                               start_new_session=True))

    def loop(self, what, command):
        done = '%s/background-%s' % (self.folder, what)
        # The loop also ends when this program is killed.
        self.shell(what, 'trap "exit 0" TERM; while kill -0 %d; do %s && echo >>%s || sleep 0.05; done'
                   % (os.getpid(), command, done))

    def count(self, what):
        try:
            return sum(1 for _ in open('%s/background-%s' % (self.folder, what)))
        except OSError:
            return 0

    def report(self):
        """What the background did, in one line."""
        took, now = time.time() - self.started, metrics(self.port)

        def rate(name):
            return (now.get(name, 0) - self.before.get(name, 0)) / took
        paths = ('%.0f path records/s' % rate('fabricd_sa_requests_total') if self.name
                 else 'traced paths over RPC instead of path records')
        return ('background: %d pairs of studies, %d sweeps, %d watchers, %s, in %.0f s'
                % (self.count('studies'), self.count('sweeps'), WATCHERS, paths, took))

    def stop(self):
        for p in self.processes:
            try:
                # A shell has its own session, together with the command that it runs; other clients do not.
                os.killpg(p.pid, 15) if os.getpgid(p.pid) == p.pid else p.terminate()
            except ProcessLookupError:
                pass
        for p in self.processes:
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()


def trace(server, ends):
    """The client that traces paths."""
    import grpc
    import harness
    pick = random.Random(7)
    with grpc.insecure_channel(server) as channel:
        fabric = harness.Fabric(channel)
        while True:
            start = time.time()
            try:
                fabric.TracePath(source=pick.choice(ends), destination=pick.choice(ends))
            except grpc.RpcError as e:
                if e.code() == grpc.StatusCode.UNAVAILABLE:
                    return
            time.sleep(max(0.0, 1 / TRACES - (time.time() - start)))


if __name__ == '__main__':
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../rpc'))
    trace(sys.argv[1], sys.argv[2:])
