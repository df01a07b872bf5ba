#!/usr/bin/env python3
"""damage.py [--build DIR] [--seeds N] [--per-mille 0,1,10,50] [--ours E,..] [--theirs E,..]
             [--only NAME,..] [--cache DIR] [FABRIC...]

Routes whole and damaged fabrics with our engines and with OpenSM's (which finds them on ibsim), and
has one judge (bench_judge) measure both: all-to-all max/mean, worst shift, effective bisection
bandwidth, whether one lane is free of deadlock. Without FABRIC files: fabrics that fabsim makes up,
and those of the folder FABRICD_TOPOLOGIES. Cables between switches go by seed, but none that would
leave the fabric in pieces. Prints for each fabric and damage the median and the worst over the
seeds, and what ours has in place of the best of theirs, figure by figure and seed by seed: "9/10"
is as good or better on 9 of 10. CPU time is of routing alone for ours, of the whole bring-up for
OpenSM. A seed prints its own line with -v. Needs opensm and ibsim-utils, and
`make tests/bench/bench_judge cli/fabsim`.
"""
import argparse
import glob
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
UMAD2SIM = '/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so'
MADE = {
    'leaf-spine': 'leaf-spine --leaves 18 --spines 9 --hosts 9',
    'leaf-spine-an': 'leaf-spine --leaves 12 --spines 6 --hosts 6 --aggregation-nodes',
    'tree-3': 'fat-tree --radix 8 --levels 3',
    'tapered': 'fat-tree --radix 12 --levels 3 --taper 2',
    'pgft': 'pgft --m 6,6,4 --w 1,3,3 --p 1,2,2',
    'rail': 'rail --servers 32 --adapters 4 --group-size 16 --spines 4',
    'dgx': 'rail --servers 32 --adapters 8 --group-size 16 --spines 4 --parallel 2 --aggregation-nodes',
    'dgx-544': 'rail --servers 68 --adapters 8 --group-size 17 --spines 8 --parallel 2 --aggregation-nodes '
               '--shuffle-guids',
    'torus': 'torus --size 8,8 --hosts 4',
    'hypercube': 'hypercube --dimensions 5 --hosts 4',
    'hyperx': 'hyperx --size 8,8 --hosts 4',
    'dragonfly': 'dragonfly --group-size 8 --global 1 --hosts 4',
    'dragonfly-plus': 'dragonfly-plus --leaves 4 --spines 4 --global 2 --hosts 4',
    'random': 'random --switches 32 --degree 5 --hosts 4',
}
REAL = {'x5': '*x5*/X5.ibnetdiscover', 'k4n3': 'k4n3*/*.ibsim', 'sat11': 'sat11*/*.repaired.ibnetdiscover'}


class Ibsim:
    def __init__(self, folder, topology):
        self.name = 'damage-%d-%d' % (os.getpid(), time.monotonic_ns())
        text = open(topology, errors='replace').read()
        heads = [line.split()[1] for line in text.splitlines() if line.startswith(('Switch', 'Ca', 'Hca', 'Rt'))]
        ports = sum(int(h) + 1 for h in heads) + 64
        out = open(folder + '/sim.out', 'w')
        self.process = subprocess.Popen(
            ['ibsim', '-s', '-I', '-N', str(len(heads) + 16), '-S', str(len(heads) + 16), '-P', str(ports),
             '-L', '49152', topology], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.DEVNULL,
            env=dict(os.environ, IBSIM_SOCKNAME=self.name), cwd=folder)
        end = time.time() + 60
        while 'simulator ready' not in open(folder + '/sim.out').read():
            if time.time() > end or self.process.poll() is not None:
                sys.exit('ibsim did not start on ' + topology)
            time.sleep(0.01)

    def stop(self):
        self.process.kill()
        self.process.wait()


def opensm(engine, folder, ibsim, timeout):
    """The tables of an engine, and its CPU time in ms; None where it refuses."""
    out = '%s/%s' % (folder, engine)
    os.makedirs(out)
    with open(out + '/conf', 'w') as f:
        f.write('sweep_interval 0\nlog_flags 0x03\nlog_file %s/log\ndump_files_dir %s\nqos FALSE\n'
                'routing_engine %s\n' % (out, out, engine))
    env = dict(os.environ, IBSIM_SOCKNAME=ibsim.name, LD_PRELOAD=UMAD2SIM, OSM_CACHE_DIR=out, OSM_TMP_DIR=out)
    before = sum(os.times()[2:4])
    try:
        subprocess.run(['opensm', '-F', out + '/conf', '-D', '0x43', '-o'], env=env, cwd=out, timeout=timeout,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None
    dump = out + '/opensm-lfts.dump'
    refused = 'ERR AB' in open(out + '/log', errors='replace').read() # ftree's: what follows is minhop
    made = not refused and os.path.exists(dump) and os.path.getsize(dump) > 0
    return (dump, 1e3 * (sum(os.times()[2:4]) - before)) if made else None


def judge(tool, fabric, tables):
    """{name: (imbalance, shift, bandwidth, acyclic, ms)}; refusals and lost pairs are left out."""
    if not tables:
        return {}
    text = subprocess.run([tool, fabric] + tables, check=True, capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        words = line.split()
        if words[1] != 'refused:' and int(words[5]) == 0:
            found[words[0]] = (float(words[1]), int(words[2]), float(words[3]), words[4] == 'acyclic',
                               float(words[6]))
    return found


def ask_opensm(options, fabric, engines, folder):
    """{engine: figures, or None where it refuses}."""
    ibsim = Ibsim(folder, fabric)
    try:
        dumps = {e: opensm(e, folder, ibsim, options.timeout) for e in engines}
    finally:
        ibsim.stop()
    found = judge(options.judge, fabric, ['%s=%s' % (e, d[0]) for e, d in dumps.items() if d])
    return {e: found[e][:4] + (dumps[e][1],) if e in found else None for e in engines}


def opensm_figures(options, fabric, folder):
    """As ask_opensm, from the cache as far as they are there."""
    known, path = {}, None
    if options.cache:
        os.makedirs(options.cache, exist_ok=True)
        path = '%s/%s' % (options.cache, hashlib.sha256(open(fabric, 'rb').read()).hexdigest()[:32])
        known = json.load(open(path)) if os.path.exists(path) else {}
    missing = [e for e in options.theirs if e not in known]
    if missing:
        known.update(ask_opensm(options, fabric, missing, folder))
        if path:
            with open(path + '.new', 'w') as out:
                json.dump(known, out)
            os.rename(path + '.new', path)
    return {e: tuple(known[e]) for e in options.theirs if known[e]}


def run_one(options, fabric, engines, folder):
    return judge(options.judge, fabric, engines), opensm_figures(options, fabric, folder)


def wins(mine, theirs):
    """As good as the best of them in each figure; a hundredth of noise is allowed for the bandwidth."""
    best = list(theirs.values())
    return (mine[0] <= min(t[0] for t in best) + 1e-4, mine[1] <= min(t[1] for t in best),
            mine[2] >= max(t[2] for t in best) - 0.01)


def show(name, rows):
    """rows: [{engine: figures}]."""
    have = [r[name] for r in rows if name in r]
    if not have:
        return '-'
    mid = [statistics.median(h[i] for h in have) for i in range(3)]
    worst = (max(h[0] for h in have), max(h[1] for h in have), min(h[2] for h in have))
    cyclic = sum(not h[3] for h in have)
    text = '%.2f (%.2f)  %g (%d)  %.3f (%.3f)' % (mid[0], worst[0], mid[1], worst[1], mid[2], worst[2])
    text += '  %.0f ms' % statistics.median(h[4] for h in have)
    if cyclic:
        text += '  CYCLIC in %d' % cyclic
    return text + ('  took %d of %d' % (len(have), len(rows)) if len(have) < len(rows) else '')


def report(options, name, per_mille, results):
    print('%s, %g %% of its cables missing, %d seeds: max/mean, worst shift, bisection: median (worst); CPU'
          % (name, per_mille / 10, len(results)))
    ours, theirs = [r[0] for r in results], [r[1] for r in results]
    for engine in options.theirs:
        print('    OpenSM %-9s %s' % (engine, show(engine, theirs)))
    for engine in options.ours:
        marks = [wins(o[engine], t) for o, t in results if engine in o and t]
        good = '/'.join(str(sum(m[i] for m in marks)) for i in range(3)) if marks else '-'
        print('  fabricd %-10s %s  as good as the best: %s of %d' % (engine, show(engine, ours), good, len(marks)))
    sys.stdout.flush()


def fabrics(options, folder):
    for path in options.fabric:
        yield os.path.basename(path), path
    if options.fabric:
        return
    for name, spec in MADE.items():
        path = '%s/%s.net' % (folder, name)
        subprocess.run([options.build + '/cli/fabsim', 'generate'] + spec.split() + ['-o', path], check=True,
                       stdout=subprocess.DEVNULL)
        yield name, path
    for name, pattern in REAL.items():
        for path in glob.glob(os.path.join(os.environ.get('FABRICD_TOPOLOGIES', '/nonexistent'), pattern)):
            yield name, path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default=TOP + '/build')
    parser.add_argument('--seeds', type=int, default=20)
    parser.add_argument('--per-mille', default='0,1,10,50')
    parser.add_argument('--ours', default='auto,fattree,updn')
    parser.add_argument('--theirs', default='minhop,updn,ftree,sssp,nue')
    parser.add_argument('--only', default='')
    parser.add_argument('--timeout', type=float, default=60)
    parser.add_argument('--cache', help='a folder that keeps what OpenSM made of each fabric')
    parser.add_argument('-v', action='store_true')
    parser.add_argument('fabric', nargs='*')
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.judge = options.build + '/tests/bench/bench_judge'
    options.ours, options.theirs = options.ours.split(','), options.theirs.split(',')
    top = tempfile.mkdtemp(prefix='fabricd-damage-')
    try:
        for name, path in fabrics(options, top):
            if options.only and name not in options.only.split(','):
                continue
            for per_mille in map(int, options.per_mille.split(',')):
                results = []
                for seed in range(1, options.seeds + 1 if per_mille else 2):
                    folder = tempfile.mkdtemp(dir=top)
                    broken = folder + '/fabric.net'
                    with open(broken, 'w') as out:
                        subprocess.run([options.judge, 'damage', path, str(per_mille), str(seed)], check=True,
                                       stdout=out)
                    results.append(run_one(options, broken, options.ours, folder))
                    if options.v:
                        print(name, per_mille, seed, results[-1])
                    shutil.rmtree(folder)
                report(options, name, per_mille, results)
    finally:
        shutil.rmtree(top, ignore_errors=True)


if __name__ == '__main__':
    main()
