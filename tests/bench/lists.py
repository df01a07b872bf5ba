#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lists.py [--build DIR] [--runs N] [--commands "A | B"] [--settings TEXT] [--wait SECONDS] [RADIX,LEVELS]

The time of the lists of fabricctl on a large fabric. fabricd runs on its embedded simulated fabric, a fat tree of switches
with RADIX ports and LEVELS levels (default: 36,3 with 11,664 hosts). Each command runs N times (default 5), as text and
as JSON. Prints for each the shortest time from start to end, the processor time of fabricctl and that of the main thread of
fabricd, in ms, and the size of the output. On a busy machine, compare only processor times: the shortest time includes
waits for a processor. fabricd makes no sweeps and reads no counters meanwhile, unless --settings has other settings, for
example "counters: {interval: 60}"; --wait is then the time after the bring-up.
"""
import argparse
import os
import resource
import subprocess
import time

from simulated import simulated_tree

SETTINGS = """sweep: {light_interval: 0, heavy_interval: 0, scrub_interval: 0}
counters: {interval: 0}
contingency: {memory: 0}
"""
COMMANDS = """status | version | node list | host list | rack list | port list | port counters | port top | link list | link list --degraded
    link flapping | link unhealthy | drain plan | drain list | node pins | topo baseline | topo list | event list | reroute list
    partition list | multicast list | service list | route contingency | route show leaf-001 | port list leaf-001 | node show leaf-001
    cc congested | inventory nodes"""


def cpu_ms(pid):
    """The processor time of the main thread of a process, which answers the calls."""
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0]) / 1e6


def run_once(command, pid):
    before, children = cpu_ms(pid), resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, check=False)
    wall = (time.monotonic() - start) * 1e3
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = (now.ru_utime + now.ru_stime - children.ru_utime - children.ru_stime) * 1e3
    return wall, own, cpu_ms(pid) - before, len(done.stdout), done


def measure(ctl, pid, runs, commands):
    print(f"{'command':32}{'format':>7}{'wall':>9}{'fabricctl':>11}{'fabricd':>9}{'KB':>8}   ms, the least of {runs} runs", flush=True)
    for line in commands:
        for form in ("text", "json"):
            found = [run_once([*ctl, *line.split(), "-o", form], pid) for _ in range(runs)]
            wall, own, theirs, size = (min(f[i] for f in found) for i in range(4))
            error = found[-1][4].stderr.decode().strip()[:60] if found[-1][4].returncode not in (0, 5) else ""
            print(f"{line:32}{form:>7}{wall:9.1f}{own:11.1f}{theirs:9.1f}{size / 1000:8.0f}   {error}", flush=True)


def main():
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    p = argparse.ArgumentParser(usage=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--build", default=os.path.join(top, "build"))
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--commands", default=COMMANDS)
    p.add_argument("--settings", default=SETTINGS)
    p.add_argument("--wait", type=float, default=5)  # for work after the bring-up
    p.add_argument("fabric", nargs="?", default="36,3")
    a = p.parse_args()
    with simulated_tree(a.build, a.fabric, a.settings) as (address, pid):
        print(f"{address}, pid {pid}", flush=True)
        time.sleep(a.wait)
        measure([f"{a.build}/cli/fabricctl", "-s", address], pid, a.runs,
                [c.strip() for c in a.commands.replace("\n", "|").split("|") if c.strip()])


main()
