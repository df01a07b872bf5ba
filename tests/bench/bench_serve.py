#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench_serve.py [--build DIR] [--runs N] [--mads N] [--fabric RADIX,LEVELS]

Measures how much CPU time a server needs for a MAD. Compares ibsim and `fabsim serve` with the same fabric
and the same client, one after the other in one run. The CPU time is that of the server (user + system, from
the scheduler), from before the client starts to after its end, divided by the number of MADs that the client
sent.

  flood     tests/bench/flood, a client of the socket protocol that needs little CPU time: one client
            with 64, with 256 and with one MAD in flight, and eight clients
  fabricd, opensm
            bring-up of the fabric through Debian's libumad2sim (umadcount counts the MADs)
  ibnetdiscover, ibqueryerrors
            also through libumad2sim, on the fabric after a bring-up by OpenSM, which these programs need

Prints the median of the runs and the ratio. With one MAD at a time, each MAD wakes the server. On the
machine where ibsim takes 3.5 us, a program that only receives and sends takes 2.2 us. Needs ibsim-utils,
opensm and infiniband-diags. As root, it raises net.unix.max_dgram_qlen for both servers.
"""
import argparse
import functools
import os
import statistics
import subprocess
import sys
import tempfile
import time

import against_opensm as other

FLOODS = [('flood, 64 in flight', ['--window', '64']),
          ('flood, 256 in flight', ['--window', '256']),
          ('flood, one at a time', ['--window', '1']),
          ('flood, 8 clients', ['--clients', '8'])]


def cpu_us(pid):
    return int(open('/proc/%d/schedstat' % pid).read().split()[0]) / 1000


class Fabsim:
    """The same interface as Ibsim of against_opensm.py."""

    def __init__(self, folder, topology, build):
        self.name = 'bench-serve-%d' % os.getpid()
        out = folder + '/fabsim.out'
        self.process = subprocess.Popen([build + '/cli/fabsim', 'serve', topology, '--socket', self.name],
                                        stdin=subprocess.DEVNULL, stdout=open(out, 'w'), cwd=folder)
        if not other.wait_for(lambda: 'serving' in open(out).read(), 300):
            sys.exit('fabsim did not start; see ' + folder)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def serve(server, folder, topology, build):
    return Fabsim(folder, topology, build) if server == 'fabsim' else other.Ibsim(folder, topology)


def flood(build, sim, options, mads):
    clients = int(options[1]) if options[0] == '--clients' else 1
    out = subprocess.run([build + '/tests/bench/flood', '--mads', str(mads // clients)] + options, check=True,
                         env=dict(os.environ, IBSIM_SOCKNAME=sim.name), stdout=subprocess.PIPE, timeout=300)
    return int(out.stdout.split()[1])


def bring_up(start, folder, sim, counter):
    process, is_up = start(folder, sim, counter)
    try:
        if not other.wait_for(is_up, 300):
            sys.exit('the manager did not bring the fabric up; see ' + folder)
        return other.Counts(folder + '/counts').sent
    finally:
        process.kill()
        process.wait()


def opensm(folder, sim, counter):
    return other.opensm('minhop', folder, sim, counter)


def diagnose(command, folder, sim, counter):
    counts = folder + '/diag-counts'
    subprocess.run(command, env=other.environment(sim, counter, counts), stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=300)
    return other.Counts(counts).sent


def measure(server, topology, build, load, prepare):
    """Returns the CPU us for each MAD of one run of `load`, a function of folder and simulator that returns MADs."""
    with tempfile.TemporaryDirectory(prefix='bench-serve-') as folder:
        sim = serve(server, folder, topology, build)
        try:
            prepare(folder, sim)
            before = cpu_us(sim.process.pid)
            started = time.time()
            mads = load(folder, sim)
            return (cpu_us(sim.process.pid) - before) / mads, mads / (time.time() - started)
        finally:
            sim.stop()


def compare(name, topology, build, runs, load, prepare=lambda folder, sim: None):
    cost, rate = {}, {}
    for server in ('ibsim', 'fabsim'):
        results = [measure(server, topology, build, load, prepare) for _ in range(runs)]
        cost[server] = statistics.median(r[0] for r in results)
        rate[server] = statistics.median(r[1] for r in results)
    print('%-24s ibsim %6.2f us/MAD  fabsim %6.2f us/MAD  ratio %.2f   (%.0f, %.0f kMAD/s)' % (
        name, cost['ibsim'], cost['fabsim'], cost['fabsim'] / cost['ibsim'],
        rate['ibsim'] / 1000, rate['fabsim'] / 1000), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--build', default=other.TOP + '/build')
    p.add_argument('--runs', type=int, default=3)
    p.add_argument('--mads', type=int, default=300000)
    p.add_argument('--fabric', default='36,3')
    a = p.parse_args()
    a.build = os.path.abspath(a.build)
    if os.geteuid() == 0:
        subprocess.run(['sysctl', '-qw', 'net.unix.max_dgram_qlen=4096'], check=False)
    with tempfile.TemporaryDirectory(prefix='bench-serve-') as folder:
        topology, counter = other.topology_of(a.build, a.fabric, folder), other.counting_library(folder)
        subprocess.run(['make', '-s', '-C', a.build, 'tests/bench/flood'], check=True)
        for name, options in FLOODS:
            compare(name, topology, a.build, a.runs,
                    lambda _, sim, options=options: flood(a.build, sim, options, a.mads))
        for name, start in (('fabricd', functools.partial(other.fabricd, a.build)), ('opensm', opensm)):
            compare(name, topology, a.build, a.runs, lambda *at, start=start: bring_up(start, *at, counter))
        for command in ['ibnetdiscover'], ['ibqueryerrors']:
            compare(command[0], topology, a.build, a.runs, lambda *at, command=command: diagnose(command, *at, counter),
                    lambda *at: bring_up(opensm, *at, counter))


if __name__ == '__main__':
    main()
