#!/usr/bin/env python3
"""quality_against_opensm.py [--build DIR] [--engines sssp,nue,..] [--samples N] FILE ...

The same simulated fabric (ibsim) is routed by OpenSM's engines; its tables are judged with ours by
one and the same program (bench_quality): proof (of OpenSM's tables on one lane), all-to-all load, worst shift, effective
bisection bandwidth. OpenSM's time is that of its log, from "Entering MASTER" to "tables
configured", which contains the set-up of ports and the writes, and the CPU time of its whole
bring-up; ours is CPU time of routing alone. Without FILE: what issue 4 asks for,
a leaf-spine fabric of 32 leaves and 8 spines, two cables between each two, with an aggregation node
on every switch. Needs opensm and ibsim-utils, and `make tests/bench/bench_quality cli/fabsim`.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from against_opensm import UMAD2SIM, Ibsim, cpu, stop  # noqa: E402


def stamp(log, words):
    """The time of the first line with these words, in seconds."""
    for line in log.splitlines():
        if words in line:
            clock, micros = line.split()[2:4]
            hours, minutes, seconds = map(int, clock.split(':'))
            return hours * 3600 + minutes * 60 + seconds + int(micros) / 1e6
    return None


def opensm(engine, ibsim, folder, timeout):
    """Runs one sweep; returns the path of the dumped tables, seconds, and what OpenSM says it used."""
    os.mkdir(folder)
    with open(folder + '/opensm.conf', 'w') as f:
        f.write('max_wire_smps 64\nsweep_interval 0\nforce_log_flush TRUE\nlog_flags 0x43\n'
                'log_file %s/opensm.log\ndump_files_dir %s\nrouting_engine %s\nqos %s\nnue_max_num_vls 1\n'
                % (folder, folder, engine, 'TRUE' if engine in ('dfsssp', 'nue', 'lash') else 'FALSE'))
        if engine == 'updn':
            with open(folder + '/roots', 'w') as g:
                g.writelines(guid + '\n' for guid in ibsim.roots)
            f.write('root_guid_file %s/roots\n' % folder)
    env = dict(os.environ, IBSIM_SOCKNAME=ibsim.name, LD_PRELOAD=UMAD2SIM, OSM_CACHE_DIR=folder, OSM_TMP_DIR=folder)
    process = subprocess.Popen(['opensm', '-F', folder + '/opensm.conf'], env=env, cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log, used_cpu, end = '', 0.0, time.time() + timeout
    try:
        while time.time() < end and process.poll() is None and 'SUBNET UP' not in log:
            used_cpu = cpu(process.pid)
            time.sleep(0.02)
            if os.path.exists(folder + '/opensm.log'):
                log = open(folder + '/opensm.log', errors='replace').read()
    finally:
        stop(process)
    if 'SUBNET UP' not in log:
        return None, None, 'no SUBNET UP in %d s' % timeout
    begin, ready = stamp(log, 'Entering MASTER'), stamp(log, 'tables configured')
    used = re.findall(r'osm_ucast_mgr_process: (\S+) tables configured', log)
    seconds = ready - begin if begin and ready else 0.0
    return folder + '/opensm-lfts.dump', (seconds, used_cpu), used[-1] if used else '?'


def judge(build, topology, samples, tables=None):
    command = [build + '/tests/bench/bench_quality', '-n', str(samples)]
    if tables:
        command += ['-t', tables]
    lines = subprocess.run(command + [topology], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return lines[0], lines[1], lines[2:]


def compare(build, topology, engines, samples, timeout, folder):
    ibsim = Ibsim(folder, topology)
    try:
        head, columns, ours = judge(build, topology, samples)
        print(head)
        print('         ' + columns)
        for line in ours:
            if not line.startswith('file '):
                print('fabricd  ' + line)
        for engine in engines:
            tables, seconds, used = opensm(engine, ibsim, folder + '/' + engine, timeout)
            if tables is None:
                print('OpenSM   %-10s %s' % (engine, used))
                continue
            for line in judge(build, topology, samples, tables)[2]:
                if line.startswith('file '):
                    line = re.sub(r'[0-9.]+ ms route.*', '%.3f s, %.2f s CPU in all, says "%s"' % (seconds + (used,)), line[10:])
                    print('OpenSM   %-10s%s' % (engine, line))
    finally:
        ibsim.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default='build')
    parser.add_argument('--engines', default='minhop,updn,ftree,sssp,dfsssp,nue')
    parser.add_argument('--samples', type=int, default=1000)
    parser.add_argument('--timeout', type=int, default=120)
    parser.add_argument('files', nargs='*')
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    folder = tempfile.mkdtemp(prefix='fabricd-quality-')
    try:
        if not args.files:
            args.files = [folder + '/dgx.net']
            subprocess.run([build + '/cli/fabsim', 'generate', 'rail', '--servers', '68', '--adapters', '8', '--group-size',
                            '17', '--spines', '8', '--parallel', '2', '--aggregation-nodes', '--shuffle-guids', '-o',
                            args.files[0]], check=True)
        for i, topology in enumerate(args.files):
            os.mkdir('%s/%d' % (folder, i))
            compare(build, topology, args.engines.split(','), args.samples, args.timeout, '%s/%d' % (folder, i))
            sys.stdout.flush()
    finally:
        if os.environ.get('KEEP'):
            print('kept', folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    main()
