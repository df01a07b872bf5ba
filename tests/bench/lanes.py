#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lanes.py [--build DIR] [--cache DIR] [--seeds N] [--only NAME,..]

Compares the number of virtual lanes that the engines dfsssp of OpenSM (on ibsim) and of fabricd need, and
the number that the tables of "auto" use. The fabrics are meshes, tori, hypercubes, HyperX, dragonflies,
trees and random fabrics, intact and with cables missing at random. Prints a line for each fabric: name,
missing cables in per mille, seed, lanes of OpenSM ("-": it needs more than 8), lanes and max/mean of dfsssp,
and lanes, max/mean and engine of auto. The mark "MORE" says that fabricd needs more lanes than OpenSM. The
exit status is 1 if a line has this mark. Needs opensm and ibsim-utils, and
`make tests/bench/bench_judge cli/fabsim`.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import damage

MADE = {
    'mesh-8x4': 'mesh --size 8,4 --hosts 2',
    'mesh-6x6': 'mesh --size 6,6 --hosts 2',
    'mesh-4x4x3': 'mesh --size 4,4,3 --hosts 2',
    'torus-5x5': 'torus --size 5,5 --hosts 2',
    'torus-8x4': 'torus --size 8,4 --hosts 2',
    'torus-7x4x3': 'torus --size 7,4,3 --hosts 2',
    'torus-4x4x4': 'torus --size 4,4,4 --hosts 2',
    'hypercube-5': 'hypercube --dimensions 5 --hosts 3',
    'hypercube-6': 'hypercube --dimensions 6 --hosts 2',
    'hyperx-6x5': 'hyperx --size 6,5 --hosts 3',
    'hyperx-4x4x3': 'hyperx --size 4,4,3 --hosts 2',
    'dragonfly-9x8': 'dragonfly --group-size 8 --global 1 --hosts 4',
    'dragonfly-6x3': 'dragonfly --group-size 6 --global 3 --hosts 2',
    'dragonfly-plus': 'dragonfly-plus --leaves 4 --spines 4 --global 2 --hosts 4',
    'random-24': 'random --switches 24 --degree 4 --hosts 3 --seed 3',
    'random-32': 'random --switches 32 --degree 5 --hosts 4',
    'random-40': 'random --switches 40 --degree 5 --hosts 3 --seed 7',
    'random-48': 'random --switches 48 --degree 5 --hosts 3 --seed 5',
    'random-48b': 'random --switches 48 --degree 4 --hosts 2 --seed 11',
    'random-64': 'random --switches 64 --degree 6 --hosts 4 --seed 2',
    'tree-3': 'fat-tree --radix 8 --levels 3',
    'leaf-spine': 'leaf-spine --leaves 18 --spines 9 --hosts 9',
}
PER_MILLE = (0, 30, 60)


def needed_by_opensm(fabric, folder, timeout=120):
    """Returns the number of lanes that OpenSM's dfsssp needs; None if it does not succeed."""
    ibsim, out = damage.Ibsim(folder, fabric), folder + '/opensm'
    os.makedirs(out)
    with open(out + '/conf', 'w') as f:
        f.write('sweep_interval 0\nlog_flags 0x03\nlog_file %s/log\ndump_files_dir %s\nqos TRUE\n'
                'routing_engine dfsssp\n' % (out, out))
    env = dict(os.environ, IBSIM_SOCKNAME=ibsim.name, LD_PRELOAD=damage.UMAD2SIM, OSM_CACHE_DIR=out,
               OSM_TMP_DIR=out)
    try:
        subprocess.run(['opensm', '-F', out + '/conf', '-D', '0x03', '-o'], env=env, cwd=out, timeout=timeout,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None
    finally:
        ibsim.stop()
    log = open(out + '/log', errors='replace').read()
    found = re.search(r'Virtual Lanes needed: (\d+)', log)
    return int(found.group(1)) if found and 'ERR AD25' not in log else None


def lanes_of_opensm(options, fabric, folder):
    """Like needed_by_opensm, but reads a cached result first."""
    if not options.cache:
        return needed_by_opensm(fabric, folder)
    os.makedirs(options.cache, exist_ok=True)
    path = '%s/%s' % (options.cache, hashlib.sha256(open(fabric, 'rb').read()).hexdigest()[:32])
    if not os.path.exists(path):
        with open(path, 'w') as out:
            json.dump(needed_by_opensm(fabric, folder), out)
    return json.load(open(path))


def ours(options, fabric):
    """{engine: (lanes, max/mean, name of the engine)} for dfsssp and auto, without refusals."""
    text = subprocess.run([options.judge, fabric, 'dfsssp', 'auto'], check=True, capture_output=True,
                          text=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return {r[0]: (int(r[10]), float(r[1]), r[11]) for r in rows if r[1] != 'refused:'}


def compare(options, name, per_mille, seed, fabric, folder):
    """Prints the line of a fabric. Returns whether fabricd needs more lanes than OpenSM."""
    theirs, mine = lanes_of_opensm(options, fabric, folder), ours(options, fabric)
    more = theirs is not None and any(mine.get(e, (99,))[0] > theirs for e in ('dfsssp', 'auto'))
    dfsssp = '%d %.2f' % mine['dfsssp'][:2] if 'dfsssp' in mine else '- -'
    print('%-15s %2d %d  OpenSM %s  dfsssp %s  auto %d %.2f %s%s'
          % (name, per_mille, seed, theirs or '-', dfsssp, *mine['auto'], '  MORE' if more else ''))
    sys.stdout.flush()
    return more


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default=damage.TOP + '/build')
    parser.add_argument('--cache', help="a folder that keeps OpenSM's results")
    parser.add_argument('--seeds', type=int, default=2)
    parser.add_argument('--only', default='')
    options = parser.parse_args()
    options.judge = os.path.abspath(options.build) + '/tests/bench/bench_judge'
    top, worse = tempfile.mkdtemp(prefix='fabricd-lanes-'), 0
    try:
        for name, spec in MADE.items():
            if options.only and name not in options.only.split(','):
                continue
            whole = '%s/%s.net' % (top, name)
            subprocess.run([options.build + '/cli/fabsim', 'generate'] + spec.split() + ['-o', whole], check=True,
                           stdout=subprocess.DEVNULL)
            for per_mille in PER_MILLE:
                for seed in range(1, options.seeds + 1 if per_mille else 2):
                    folder = tempfile.mkdtemp(dir=top)
                    broken = folder + '/fabric.net'
                    with open(broken, 'w') as out:
                        subprocess.run([options.judge, 'damage', whole, str(per_mille), str(seed)], check=True,
                                       stdout=out)
                    worse += compare(options, name, per_mille, seed, broken, folder)
                    shutil.rmtree(folder)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print('fabricd needs more lanes on %d fabrics' % worse)
    sys.exit(worse > 0)


if __name__ == '__main__':
    main()
