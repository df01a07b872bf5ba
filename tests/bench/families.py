#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""families.py [--build DIR] [--seeds N] [--first-seed S] [--per-mille 0,1,10,50] [--only NAME,..]
               [--tables auto,engine] [-v]

Routes lattices and dragonflies of 100 to 1,100 switches, intact and with cables missing, by their own
engine and by "auto", as the manager does without a budget for local search. The list FAMILIES was fixed
before the engines learned to route around holes; seeds from 101 on were not used while they were tuned.
Prints for each fabric, damage and table: refusals, engine, VLs, all-to-all max/mean (median and worst, and
the worst relative to the intact fabric), effective bisection bandwidth (median, and relative to the intact
fabric), worst shift and CPU seconds. Needs `make tests/bench/bench_judge cli/fabsim`.
"""
import argparse
import collections
import os
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# name: (what fabsim generates, the engine of this family)
FAMILIES = {
    'torus-12x10x9': ('torus --size 12,10,9 --hosts 2', 'torus'),
    'torus-6x5x4': ('torus --size 6,5,4 --hosts 4', 'torus'),
    'torus-7x5x3': ('torus --size 7,5,3 --hosts 4', 'torus'),
    'torus-16x16': ('torus --size 16,16 --hosts 4', 'torus'),
    'torus-5x5x5x5': ('torus --size 5,5,5,5 --hosts 1', 'torus'),
    'torus-8x8x8': ('torus --size 8,8,8 --hosts 2', 'torus'),
    'mesh-20x20': ('mesh --size 20,20 --hosts 2', 'dor'),
    'mesh-8x8x8': ('mesh --size 8,8,8 --hosts 2', 'dor'),
    'mesh-5x5x6': ('mesh --size 5,5,6 --hosts 2', 'dor'),
    'hypercube-7': ('hypercube --dimensions 7 --hosts 4', 'dor'),
    'hypercube-10': ('hypercube --dimensions 10 --hosts 2', 'dor'),
    'hyperx-12x12': ('hyperx --size 12,12 --hosts 6', 'dor'),
    'hyperx-8x8x8': ('hyperx --size 8,8,8 --hosts 4', 'dor'),
    'hyperx-4x6x5': ('hyperx --size 4,6,5 --hosts 4', 'dor'),
    'dragonfly-9x16': ('dragonfly --group-size 16 --global 1 --groups 9 --hosts 4', 'dragonfly'),
    'dragonfly-33x16': ('dragonfly --group-size 16 --global 2 --hosts 4', 'dragonfly'),
    'dragonfly-33x8': ('dragonfly --group-size 8 --global 4 --hosts 4', 'dragonfly'),
    'dragonfly-plus-17x16': ('dragonfly-plus --leaves 8 --spines 8 --global 2 --hosts 8', 'dragonfly+'),
    'dragonfly-plus-65x16': ('dragonfly-plus --leaves 8 --spines 8 --global 8 --hosts 8', 'dragonfly+'),
    'dragonfly-plus-9x24': ('dragonfly-plus --leaves 12 --spines 12 --global 4 --groups 9 --hosts 12',
                            'dragonfly+'),
}
Row = collections.namedtuple('Row', 'imbalance shift bandwidth lost ms engine lanes')


def judge(tool, fabric, tables, timeout):
    """Returns a Row for each table, a reason as text where the engine refuses, or 'timeout'."""
    found = {}
    for name in tables:
        try:
            text = subprocess.run([tool, fabric, name], check=True, capture_output=True, text=True,
                                  timeout=timeout).stdout
        except subprocess.TimeoutExpired:
            found[name] = 'timeout'
            continue
        words = text.split()
        if words[1] == 'refused:':
            found[name] = text.split(':', 1)[1].strip()
        elif words[4] == 'cyclic':
            found[name] = 'the tables could deadlock'
        else:
            found[name] = Row(float(words[1]), int(words[2]), float(words[3]), int(words[5]),
                              float(words[6]), words[11], int(words[10]))
    return found


def count(values):
    return ','.join('%s' % v if n == len(values) else '%s:%d' % (v, n)
                    for v, n in sorted(collections.Counter(values).items()))


def line(name, per_mille, table, rows, intact):
    good = [r for r in rows if isinstance(r, Row) and r.lost == 0]
    text = '%-21s %4.1f%% %-10s ' % (name, per_mille / 10, table)
    if not good:
        return text + 'refused %d of %d: %s' % (len(rows), len(rows), rows[0])
    imbalance, bandwidth = [r.imbalance for r in good], [r.bandwidth for r in good]
    text += 'refused %2d/%-2d %s VLs %s  max/mean %.2f (%.2f' % (
        len(rows) - len(good), len(rows), count([r.engine for r in good]), count([r.lanes for r in good]),
        statistics.median(imbalance), max(imbalance))
    if intact:
        text += ', x%.2f' % (max(imbalance) / intact.imbalance)
    text += ')  bisection %.3f' % statistics.median(bandwidth)
    if intact:
        text += ' (x%.2f)' % (statistics.median(bandwidth) / intact.bandwidth)
    return text + '  shift %d (%d)  %.2f s (%.2f)' % (
        statistics.median(r.shift for r in good), max(r.shift for r in good),
        statistics.median(r.ms for r in good) / 1e3, max(r.ms for r in good) / 1e3)


def run_family(options, name, folder):
    spec, engine = FAMILIES[name]
    path, broken = folder + '/' + name + '.net', folder + '/' + name + '.broken'
    tables = [engine if t == 'engine' else t for t in options.tables.split(',')]
    subprocess.run([options.build + '/cli/fabsim', 'generate'] + spec.split() + ['-o', path], check=True,
                   stdout=subprocess.DEVNULL)
    intact = {}
    for per_mille in map(int, options.per_mille.split(',')):
        seeds = range(options.first_seed, options.first_seed + (options.seeds if per_mille else 1))
        results = []
        for seed in seeds:
            with open(broken, 'w') as out:
                subprocess.run([options.judge, 'damage', path, str(per_mille), str(seed)], check=True, stdout=out)
            results.append(judge(options.judge, broken, tables, options.timeout))
            if options.v:
                print(name, per_mille, 'seed', seed, results[-1], flush=True)
        for table in tables:
            rows = [r[table] for r in results]
            if per_mille == 0 and isinstance(rows[0], Row):
                intact[table] = rows[0]
            print(line(name, per_mille, table, rows, intact.get(table) or intact.get(engine)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default=TOP + '/build')
    parser.add_argument('--seeds', type=int, default=20)
    parser.add_argument('--first-seed', type=int, default=1)
    parser.add_argument('--per-mille', default='0,1,10,50')
    parser.add_argument('--tables', default='engine,auto')
    parser.add_argument('--only', default='')
    parser.add_argument('--timeout', type=float, default=300)
    parser.add_argument('-v', action='store_true')
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.judge = options.build + '/tests/bench/bench_judge'
    names = [n for n in FAMILIES if not options.only or n in options.only.split(',')]
    if not names:
        sys.exit('no such family; known: ' + ' '.join(FAMILIES))
    with tempfile.TemporaryDirectory(prefix='fabricd-families-') as folder:
        for name in names:
            run_family(options, name, folder)


if __name__ == '__main__':
    main()
