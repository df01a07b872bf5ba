#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""orders.py [--build DIR] [--seeds N] [--first-seed N] [--per-mille 0,10,50] [--theirs E,..] [--only NAME,..]
             [--cache DIR] [--seconds N] [-v] [FABRIC...]

Compares auto with the safe routing engines of OpenSM (on ibsim), figure by figure. The figures are the greatest load and
max/mean of all-to-all (longer paths raise the mean load, too, so max/mean alone can mislead), the bandwidth of random
permutations, and the worst shift, the mean shift and the bandwidth of shifts. Those of shifts are means over five orders of
the endports: by topology, by name, by GUID, by leaf, and at random by the seed. An engine of OpenSM is safe if its tables
are free of deadlocks on one VL (traffic of the switches included), or if it is dfsssp or nue, which avoid deadlocks between
hosts by virtual lanes.

The fabrics are those of damage.py, intact and with random cables between switches missing. For each fabric and damage, one
line has the means over the seeds: ours, and in brackets the best of the safe engines and its name. "!" marks a figure that is
worse by more than 0.01 (loads: by more than 1 %). The last column has the number of seeds on which all figures are as good. --seconds ends the run
after the fabric that runs then. Needs opensm and ibsim-utils, and `make tests/bench/bench_judge cli/fabsim`.
"""
import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import damage

FIGURES = ('greatest load', 'max/mean', 'permutation', 'worst shift', 'mean shift', 'shift bandwidth')
HIGHER_IS_BETTER = (False, False, True, False, False, True)
SAFE = ('dfsssp', 'nue')
ALLOWED = 0.01


def read_line(words):
    """(figures, acyclic, lanes) of a line of `bench_judge orders`."""
    shifts = [float(w) for w in words[7:]]
    means = [statistics.mean(shifts[i::3]) for i in range(3)]
    return [float(words[1]), float(words[2]), float(words[3])] + means, words[4] == 'acyclic', int(words[6])


def judge(options, fabric, seed, tables):
    text = subprocess.run([options.judge, 'orders', fabric, str(seed)] + tables, check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in text.splitlines()]
    return {w[0]: read_line(w) for w in lines if w[1] != 'refused:' and int(w[5]) == 0}


def tables_of(engine, folder, ibsim, timeout):
    """The dump of the engine's tables; None if the engine refuses the fabric, so that OpenSM uses minhop instead."""
    made = damage.opensm(engine, folder, ibsim, timeout)
    failed = 'ERR AD' in open('%s/%s/log' % (folder, engine), errors='replace').read()  # dfsssp needs too many lanes
    return None if failed else made


def ask_opensm(options, fabric, seed, folder):
    """{engine: (figures, acyclic, lanes)} of the engines that accept the fabric."""
    ibsim = damage.Ibsim(folder, fabric)
    try:
        dumps = {e: tables_of(e, folder, ibsim, options.timeout) for e in options.theirs}
    finally:
        ibsim.stop()
    tables = ['%s=%s' % (e, d[0]) for e, d in dumps.items() if d]
    return judge(options, fabric, seed, tables) if tables else {}


def theirs_of(options, fabric, seed, folder):
    """Like ask_opensm, but reads cached results first."""
    if not options.cache:
        return ask_opensm(options, fabric, seed, folder)
    key = '%s %d %s' % (hashlib.sha256(open(fabric, 'rb').read()).hexdigest()[:32], seed, ','.join(options.theirs))
    path = '%s/orders-%s' % (options.cache, hashlib.sha256(key.encode()).hexdigest()[:32])
    if not os.path.exists(path):
        os.makedirs(options.cache, exist_ok=True)
        with open(path + '.new', 'w') as out:
            json.dump(ask_opensm(options, fabric, seed, folder), out)
        os.rename(path + '.new', path)
    return json.load(open(path))


def loses(mine, best, i):
    if i == 0:
        return mine > best * (1 + ALLOWED)
    return mine < best - ALLOWED if HIGHER_IS_BETTER[i] else mine > best + ALLOWED


def best_of(theirs, i):
    """(figure, engine): the best safe engine for figure number i."""
    safe = [(t[0][i], e) for e, t in theirs.items() if e in SAFE or t[1]]
    return (max if HIGHER_IS_BETTER[i] else min)(safe) if safe else None


def mean_of_engines(rows):
    """{engine: mean figures over the seeds}, of the engines that are safe on all seeds."""
    names = set.intersection(*[{e for e, t in theirs.items() if e in SAFE or t[1]} for _, theirs in rows])
    return {e: ([statistics.mean(theirs[e][0][i] for _, theirs in rows) for i in range(len(FIGURES))], True, 0) for e in names}


def report(name, per_mille, rows):
    ours = [statistics.mean(o[0][i] for o, _ in rows) for i in range(len(FIGURES))]
    means = mean_of_engines(rows)
    cells, lost = [], 0
    for i, figure in enumerate(FIGURES):
        best = best_of(means, i)
        bad = best is not None and loses(ours[i], best[0], i)
        lost += bad
        cells.append('%s %.3f (%s)%s' % (figure, ours[i], '%.3f %s' % best if best else '-', ' !' if bad else ''))
    good = sum(all(best_of(t, i) is None or not loses(o[0][i], best_of(t, i)[0], i) for i in range(len(FIGURES))) for o, t in rows)
    print('%s %g %%: %s; lanes %d; all figures as good on %d of %d'
          % (name, per_mille / 10, '; '.join(cells), max(o[2] for o, _ in rows), good, len(rows)), flush=True)
    return lost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default=damage.TOP + '/build')
    parser.add_argument('--seeds', type=int, default=20)
    parser.add_argument('--first-seed', type=int, default=901)
    parser.add_argument('--per-mille', default='0,10,50')
    parser.add_argument('--theirs', default='minhop,updn,ftree,sssp,dfsssp,nue')
    parser.add_argument('--only', default='')
    parser.add_argument('--timeout', type=float, default=60)
    parser.add_argument('--seconds', type=float, default=float('inf'))
    parser.add_argument('--cache', help='a folder that keeps what OpenSM made of each fabric')
    parser.add_argument('-v', action='store_true')
    parser.add_argument('fabric', nargs='*')
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.judge = options.build + '/tests/bench/bench_judge'
    options.theirs = options.theirs.split(',')
    top = tempfile.mkdtemp(prefix='fabricd-orders-')
    end, lines, lost = time.time() + options.seconds, 0, 0
    try:
        for name, path in damage.fabrics(options, top):
            if (options.only and name not in options.only.split(',')) or time.time() > end:
                continue
            for per_mille in map(int, options.per_mille.split(',')):
                rows = []
                for seed in range(options.first_seed, options.first_seed + (options.seeds if per_mille else 1)):
                    folder = tempfile.mkdtemp(dir=top)
                    broken = folder + '/fabric.net'
                    with open(broken, 'w') as out:
                        subprocess.run([options.judge, 'damage', path, str(per_mille), str(seed)], check=True, stdout=out)
                    ours = judge(options, broken, seed, ['auto'])
                    if 'auto' not in ours:
                        sys.exit('auto has no tables for %s, seed %d' % (name, seed))
                    rows.append((ours['auto'], theirs_of(options, broken, seed, folder)))
                    if options.v:
                        print(name, per_mille, seed, rows[-1], flush=True)
                    shutil.rmtree(folder)
                lost += report(name, per_mille, rows)
                lines += 1
        print('%d lines, %d of %d figures worse than the best safe engine' % (lines, lost, lines * len(FIGURES)))
    finally:
        shutil.rmtree(top, ignore_errors=True)


if __name__ == '__main__':
    main()
