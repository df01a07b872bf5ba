#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""against_opensm.py [--build DIR] [--engines minhop,updn] [--runs N] [--routing] RADIX,LEVELS | FILE ...

Brings up the same simulated fabric with OpenSM and with fabricd, one after the other in one run, then pulls
a cable and plugs it in again. The simulator is ibsim, which is part of neither project. Prints the times of
both, and the ratios to the best OpenSM engine. Needs opensm and ibsim-utils. As root, it raises
net.unix.max_dgram_qlen for both managers, so that ibsim allows many MADs in flight.

A fabric is a fat tree of switches with RADIX ports and LEVELS levels (36,3: 11,664 hosts), or a topology
file. Times are wall clock times: from the start of the manager to the end of its bring-up according to its
log, and from the pulled cable to the last table block sent. CPU time is user + system.

With --routing, prints only the CPU time of the engines of that name. For OpenSM, this is the time from
"Entering MASTER" to "tables configured", which includes the set-up of LIDs and ports. (`--engines
minhop,...` shows how long this set-up takes.) For fabricd, it is the time of bench_route
(`make tests/bench/bench_route`).
"""
import argparse
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
UMAD2SIM = '/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so'
TICK = os.sysconf('SC_CLK_TCK')


def cpu(pid):
    fields = open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def peak_mb(pid):
    for line in open('/proc/%d/status' % pid):
        if line.startswith('VmHWM'):
            return int(line.split()[1]) / 1024
    return 0.0


def wait_for(condition, seconds):
    end = time.time() + seconds
    while time.time() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    return None


def stop(process):
    """Asks a process to end, and kills it if it does not end."""
    if process and process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def counting_library(folder):
    """Builds umadcount in a folder."""
    counter = folder + '/umadcount.so'
    subprocess.run(['gcc', '-O2', '-shared', '-fPIC', '-o', counter, HERE + '/umadcount.c', '-ldl'], check=True)
    return counter


def work_folder():
    """Returns a temporary folder with the counting library. As root, lets the kernel queue many MADs for ibsim."""
    subprocess.run(['sysctl', '-qw', 'net.unix.max_dgram_qlen=4096'], stderr=subprocess.DEVNULL)
    folder = tempfile.mkdtemp(prefix='fabricd-bench-')
    return folder, counting_library(folder)


def topology_of(build, fabric, folder):
    """Returns the file of a fabric. RADIX,LEVELS is generated; any other argument is a file."""
    if not re.fullmatch(r'\d+,\d+', fabric):
        return fabric
    radix, levels = fabric.split(',')
    path = folder + '/fat-tree.net'
    subprocess.run([build + '/cli/fabsim', 'generate', 'fat-tree', '--radix', radix, '--levels', levels, '-o', path],
                   check=True)
    return path


class Counts:
    """The counts of umadcount."""

    def __init__(self, path):
        values = [0] * 11
        if os.path.exists(path) and os.path.getsize(path) >= 88:
            values = struct.unpack('11Q', open(path, 'rb').read(88))
        self.sent, self.gets, self.sets, self.lft, self.last_lft, self.last_set, self.acks, self.last_ack = values[:8]
        self.reregisters = values[10]
        self.smps = self.gets + self.sets


class Ibsim:
    def __init__(self, folder, topology):
        self.folder = folder
        self.name = 'bench-%d' % os.getpid()
        text = open(topology, errors='replace').read()
        heads = re.findall(r'^(?:Switch|Ca|Hca|Rt)\s+(\d+)', text, re.M)
        self.hosts = len(re.findall(r'^(?:Ca|Hca)\s', text, re.M))
        self.switches = len(re.findall(r'^Switch\s', text, re.M))
        ports = sum(int(h) + 1 for h in heads) + 64
        self.roots = roots(topology)
        os.mkfifo(folder + '/ctl')
        self.console = os.open(folder + '/ctl', os.O_RDWR)
        self.process = subprocess.Popen(
            ['ibsim', '-s', '-I', '-N', str(len(heads) + 16), '-S', str(len(heads) + 16), '-P', str(ports),
             '-L', '49152', '-M', '1024', os.path.abspath(topology)],
            stdin=self.console, stdout=open(folder + '/sim.out', 'w'), stderr=subprocess.DEVNULL,
            env=dict(os.environ, IBSIM_SOCKNAME=self.name), cwd=folder)
        if not wait_for(lambda: 'simulator ready' in open(folder + '/sim.out').read(), 300):
            sys.exit('ibsim did not start; see ' + folder)
        self.cpu = lambda: cpu(self.process.pid)

    def say(self, line):
        os.write(self.console, (line + '\n').encode())

    def stop(self):
        self.process.kill()
        self.process.wait()
        os.close(self.console)


def environment(ibsim, counter, counts):
    return dict(os.environ, IBSIM_SOCKNAME=ibsim.name, UMADCOUNT_FILE=counts,
                LD_PRELOAD=counter + ' ' + UMAD2SIM)


def opensm(engine, folder, ibsim, counter):
    """Starts OpenSM with its fastest settings. Returns the process, and a function that tests whether it is up."""
    with open(folder + '/opensm.conf', 'w') as f:
        f.write('max_wire_smps 64\nmax_wire_smps2 64\nsweep_interval 0\nforce_log_flush TRUE\n'
                'log_flags 0x43\nlog_file %s/opensm.log\ndump_files_dir %s\nrouting_engine %s\nqos FALSE\n'
                % (folder, folder, engine))
        if engine == 'updn':
            with open(folder + '/roots', 'w') as g:
                g.writelines(guid + '\n' for guid in ibsim.roots)
            f.write('root_guid_file %s/roots\n' % folder)
    env = environment(ibsim, counter, folder + '/counts')
    env.update(OSM_CACHE_DIR=folder, OSM_TMP_DIR=folder)
    process = subprocess.Popen(['opensm', '-F', folder + '/opensm.conf'], env=env, cwd=folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log = folder + '/opensm.log'
    return process, lambda: os.path.exists(log) and open(log, errors='replace').read().count('SUBNET UP')


def fabricd(build, folder, ibsim, counter, options=('--umad',)):
    """Starts fabricd. With ibsim None, fabricd simulates the fabric as the options say."""
    env = environment(ibsim, counter, folder + '/counts') if ibsim else None
    log = open(folder + '/fabricd.log', 'w')
    process = subprocess.Popen([build + '/fabricd/fabricd', *options, '--state-dir', folder + '/state', '--listen',
                                'unix:%s/sock' % folder], env=env, cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=log, stderr=log)
    return process, lambda: len(re.findall(r'\bsweep-done\b|\breroute-done\b', open(folder + '/fabricd.log').read()))


def roots(topology):
    """Returns the GUIDs of the switches farthest from the adapters, which OpenSM's updn needs as root switches."""
    peers, node = {}, None
    for line in open(topology, errors='replace'):
        m = re.match(r'(?:Switch|Ca|Hca|Rt)\s+\d+\s+"([^"]+)"', line)
        if m:
            node = m[1]
            peers[node] = set()
        m = re.match(r'\[\d+\][^"]*"([^"]+)"', line)
        if m and node:
            peers[node].add(m[1])
    rank = {n: 0 for n in peers if not n.startswith('S-')}
    ring, depth = list(rank), 0
    while ring:
        depth += 1
        ring = list({p for n in ring for p in peers[n] if p not in rank})
        rank.update((n, depth) for n in ring)
    top = max(rank.values())
    return ['0x' + n[2:] for n in sorted(rank) if rank[n] == top]


def measure(name, start, topology, counter, link, timeout):
    folder = tempfile.mkdtemp(prefix='fabricd-bench-')
    ibsim = Ibsim(folder, topology)
    process = None
    result = dict(name=name, hosts=ibsim.hosts, switches=ibsim.switches)
    try:
        sim0, t0 = ibsim.cpu(), time.time()
        process, up = start(folder, ibsim, counter)
        if not wait_for(lambda: process.poll() is not None or up(), timeout) or process.poll() is not None:
            result['failed'] = 'ended' if process.poll() is not None else 'not up in %d s' % timeout
            return result
        result.update(up_s=time.time() - t0, cpu_s=cpu(process.pid), sim_cpu_s=ibsim.cpu() - sim0,
                      mads=Counts(folder + '/counts').smps, lft=Counts(folder + '/counts').lft,
                      rss_mb=peak_mb(process.pid))
        for event, command in (('unlink', 'Unlink'), ('relink', 'ReLink')):
            time.sleep(3 if ibsim.hosts > 5000 else 1)
            before, ups, c0, t0 = Counts(folder + '/counts'), up(), cpu(process.pid), time.time()
            ibsim.say('%s %s' % (command, link))
            if not wait_for(lambda: up() > ups, timeout):
                result[event + '_ms'] = None
                continue
            time.sleep(0.5)
            after = Counts(folder + '/counts')
            result[event + '_ms'] = max(0.0, after.last_lft / 1e9 - t0) * 1000
            result[event + '_cpu_s'] = cpu(process.pid) - c0
            result[event + '_mads'] = after.smps - before.smps
            result[event + '_lft'] = after.lft - before.lft
        return result
    finally:
        stop(process)
        ibsim.stop()
        if os.environ.get('KEEP'):
            print('kept', folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def opensm_routing(engine, topology, counter, timeout):
    """Returns the CPU and wall seconds of OpenSM between two lines of its log, or None."""
    folder = tempfile.mkdtemp(prefix='fabricd-bench-')
    ibsim = Ibsim(folder, topology)
    process, _ = opensm(engine, folder, ibsim, counter)
    marks = []
    try:
        for words in ('Entering MASTER', 'tables configured'):
            def seen(words=words):
                log = folder + '/opensm.log'
                return os.path.exists(log) and words in open(log, errors='replace').read()
            if not wait_for(lambda: process.poll() is not None or seen(), timeout) or process.poll() is not None:
                return None
            marks.append((cpu(process.pid), time.time()))
        return marks[1][0] - marks[0][0], marks[1][1] - marks[0][1]
    finally:
        process.kill()
        process.wait()
        ibsim.stop()
        shutil.rmtree(folder, ignore_errors=True)


def compare_routing(args, fabric, topology, counter):
    for engine in filter(None, args.engines.split(',')):
        theirs = opensm_routing(engine, topology, counter, args.timeout)
        out = subprocess.run([args.build + '/tests/bench/bench_route', '-q', engine, topology], stdout=subprocess.PIPE,
                             universal_newlines=True, check=True).stdout
        ours = re.search(r'route ([\d.]+),', out)
        if theirs is None or ours is None:
            print('%s, %s: %s' % (fabric, engine, 'OpenSM did not get there' if theirs is None else out))
            continue
        print('%s, %s: OpenSM %.2f s CPU (%.2f s), fabricd %.3f s CPU: 1/%.1f'
              % (fabric, engine, theirs[0], theirs[1], float(ours[1]) / 1000, theirs[0] * 1000 / float(ours[1])))


def middle_link(topology):
    """Returns a cable between two switches, in the middle of the file, as ibsim's console names it."""
    links, switch = [], None
    for line in open(topology, errors='replace'):
        m = re.match(r'(Switch|Ca|Hca|Rt)\s+\d+\s+("[^"]+")', line)
        if m:
            switch = m[2] if m[1] == 'Switch' else None
        m = re.match(r'\[(\d+)\][^"]*"(S-[^"]+)"', line)
        if m and switch:
            links.append('%s[%s]' % (switch, m[1]))
    return links[len(links) // 2]


COLUMNS = (('up_s', 'up s', '%.2f'), ('cpu_s', 'cpu s', '%.2f'), ('sim_cpu_s', 'ibsim cpu s', '%.2f'),
           ('mads', 'MADs', '%d'), ('lft', 'blocks', '%d'), ('rss_mb', 'MB', '%.0f'),
           ('unlink_ms', 'pull ms', '%.1f'), ('unlink_cpu_s', 'cpu s', '%.2f'), ('unlink_mads', 'MADs', '%d'),
           ('unlink_lft', 'blocks', '%d'), ('relink_ms', 'back ms', '%.1f'), ('relink_mads', 'MADs', '%d'),
           ('relink_lft', 'blocks', '%d'))


def show(results):
    print('%-16s' % 'manager' + ''.join('%13s' % c[1] for c in COLUMNS))
    for r in results:
        if 'failed' in r:
            print('%-16s%s' % (r['name'], r['failed']))
            continue
        cells = ['%13s' % (form % r[key] if r.get(key) is not None else '-') for key, _, form in COLUMNS]
        print('%-16s' % r['name'] + ''.join(cells))
    theirs = [r for r in results if r['name'].startswith('opensm') and 'failed' not in r]
    ours = [r for r in results if r['name'] == 'fabricd' and 'failed' not in r]
    for our in ours if theirs else []:
        ratios = []
        for key, label, _ in COLUMNS:
            best = min((r[key] for r in theirs if r.get(key)), default=None)
            if key != 'sim_cpu_s' and best and our.get(key):
                ratios.append('%s 1/%.1f' % (key, best / our[key]))
        print('fabricd to the best of OpenSM: ' + ', '.join(ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('fabrics', nargs='+')
    parser.add_argument('--build', default=TOP + '/build')
    parser.add_argument('--engines', default='updn,minhop', help='of OpenSM; empty: fabricd alone')
    parser.add_argument('--runs', type=int, default=1)
    parser.add_argument('--timeout', type=float, default=300)
    parser.add_argument('--routing', action='store_true', help='compare the engines alone')
    parser.add_argument('--json', help='append a line a measurement to this file')
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    work, counter = work_folder()
    for fabric in args.fabrics:
        topology = topology_of(args.build, fabric, work)
        if args.routing:
            compare_routing(args, fabric, topology, counter)
            continue
        link = middle_link(topology)
        results = []
        for _ in range(args.runs):
            for engine in filter(None, args.engines.split(',')):
                results.append(measure('opensm ' + engine, lambda *a: opensm(engine, *a), topology, counter, link,
                                       args.timeout))
            results.append(measure('fabricd', lambda *a: fabricd(args.build, *a), topology, counter, link,
                                   args.timeout))
        print('\n%s: %d hosts, %d switches; cable pulled: %s'
              % (fabric, results[0]['hosts'], results[0]['switches'], link))
        show(results)
        if args.json:
            with open(args.json, 'a') as f:
                f.writelines(json.dumps(dict(r, fabric=fabric)) + '\n' for r in results)
    shutil.rmtree(work, ignore_errors=True)


if __name__ == '__main__':
    main()
