#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""erosion.py [--build DIR] [--seeds N] [--faults 1,6,20,100,200] [--pause SECONDS] [--after SECONDS]
           [RADIX,LEVELS]...

Pulls random cables between switches, one after the other, in the simulated fabric of fabricd --sim, and does
not put them back. SECONDS (--after) after the last fault, bench_judge measures the tables of fabricd. It also
measures the tables that auto computes from the beginning for the same damaged fabric. The figures are
all-to-all max/mean and effective bisection bandwidth, which do not depend on the order of the hosts. Prints
the median and the worst of the ratios over the seeds, and whether all tables were proved.
The fabrics are fat trees (default: 36,2 and 24,3, which are 648 and 3,456 hosts). bench_erosion measures
the same figures in the library. Needs
`make fabricd/fabricd cli/fabricctl cli/fabsim tests/bench/bench_judge`.
"""
import argparse
import os
import random
import re
import statistics
import subprocess
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Manager:
    def __init__(self, build, folder, fabric):
        self.socket = 'unix:%s/fabricd.sock' % folder
        self.ctl = [build + '/cli/fabricctl', '-s', self.socket]
        self.process = subprocess.Popen(
            [build + '/fabricd/fabricd', '--sim', fabric, '--state-dir', folder + '/state', '--listen', self.socket],
            stdout=open(folder + '/fabricd.log', 'w'), stderr=subprocess.STDOUT)
        end = time.time() + 60
        while not self.is_up() and time.time() < end:
            time.sleep(0.2)

    def run(self, *words):
        return subprocess.run(self.ctl + list(words), capture_output=True, text=True, check=True).stdout

    def is_up(self):
        done = subprocess.run(self.ctl + ['route', 'verify'], capture_output=True, text=True)
        return done.returncode == 0

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def cables(fabric):
    """Returns one end of each cable between switches, as NODE/PORT."""
    name, ends = None, []
    for line in open(fabric, errors='replace'):
        m = re.match(r'(Switch|Ca|Hca|Rt)\s+\d+\s+"([^"]+)"\s*#\s*"([^"]+)"', line)
        if m:
            guid, name = m[2], m[3] if m[1] == 'Switch' else None
        m = re.match(r'\[(\d+)\][^"]*"(S-[^"]+)"', line)
        if m and name and guid < m[2]:
            ends.append('%s/%s' % (name, m[1]))
    return ends


def judge(build, folder, manager):
    """{tables: (max/mean, bandwidth, acyclic)} of the tables of fabricd and of fresh tables."""
    manager.run('topo', 'export', '--format', 'ibnetdiscover', '-o', folder + '/now.net')
    manager.run('route', 'export', '--format', 'opensm-lfts', '-o', folder + '/now.lfts')
    out = subprocess.run([build + '/tests/bench/bench_judge', folder + '/now.net', 'present=' + folder + '/now.lfts',
                          'auto'], capture_output=True, text=True, check=True).stdout
    rows = {}
    for line in out.splitlines():
        word = line.split()
        if 'refused' not in word:
            rows[word[0]] = (float(word[1]), float(word[3]), word[4] == 'acyclic' and word[5] == '0')
    return rows


def run(args, fabric, faults, seed):
    with tempfile.TemporaryDirectory(prefix='fabricd-erosion-') as folder:
        manager = Manager(args.build, folder, fabric)
        try:
            time.sleep(2)
            places = cables(fabric)
            random.Random(seed).shuffle(places)
            for place in places[:faults]:
                began = time.time()
                manager.run('sim', 'unlink', place)
                time.sleep(max(0, args.pause - (time.time() - began)))
            time.sleep(max(0, args.after - args.pause))
            return judge(args.build, folder, manager)
        finally:
            manager.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default=TOP + '/build')
    parser.add_argument('--seeds', type=int, default=20)
    parser.add_argument('--faults', default='1,6,20,100,200')
    parser.add_argument('--pause', type=float, default=0.2)
    parser.add_argument('--after', type=float, default=1.0)
    parser.add_argument('fabric', nargs='*', default=['36,2', '24,3'])
    args = parser.parse_args()
    for fabric in args.fabric:
        radix, levels = fabric.split(',')
        with tempfile.NamedTemporaryFile(suffix='.net') as made:
            subprocess.run([args.build + '/cli/fabsim', 'generate', 'fat-tree', '--radix', radix, '--levels', levels,
                            '-o', made.name], check=True)
            for faults in map(int, args.faults.split(',')):
                rows = [run(args, made.name, faults, seed) for seed in range(1, args.seeds + 1)]
                ratios = [r['present'][0] / r['auto'][0] for r in rows]
                bands = [r['present'][1] / r['auto'][1] for r in rows]
                print('%s: %3d faults: max/mean %.2f, fresh %.2f, ratio %.2f, worst %.2f; bandwidth ratio %.3f, '
                      'worst %.3f; %s' % (
                          fabric, faults, statistics.median(r['present'][0] for r in rows),
                          statistics.median(r['auto'][0] for r in rows), statistics.median(ratios), max(ratios),
                          statistics.median(bands), min(bands),
                          'all proved' if all(r['present'][2] for r in rows) else 'NOT ALL PROVED'), flush=True)


if __name__ == '__main__':
    main()
