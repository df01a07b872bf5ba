#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""counters_share.py [--build DIR] [--interval SECONDS] [--minutes N] [--perf FILE] [RADIX,LEVELS]

The share of a processor that the counters of a whole fabric cost. fabricd runs on its embedded simulated fabric, a fat tree of
switches with RADIX ports and LEVELS levels (default: 36,3 with 11,664 hosts), reads the counters of all ports every
--interval seconds (default 60), and makes no sweeps meanwhile. Two minutes after the bring-up, prints for each of
N minutes (default 3) the processor time of each thread of fabricd, in percent of one processor: the event loop (fabricd), which
includes the simulated devices, and the history of counters. --interval 0 shows what remains without counters. --perf: records
the last minute of the event loop with perf(1).
"""
import argparse
import os
import subprocess
import time

from simulated import simulated_tree

SETTINGS = """sweep: {light_interval: 0, heavy_interval: 0, scrub_interval: 0}
contingency: {memory: 0}
counters: {interval: %d}
"""


def cpu_s(pid):
    """The processor time of each thread, by its id and name."""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as f:
            time_s = int(f.read().split()[0]) / 1e9
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as f:
            found[thread, f.read().strip()] = time_s
    return found


def minute(pid):
    before, start = cpu_s(pid), time.monotonic()
    time.sleep(60)
    now, wall = cpu_s(pid), time.monotonic() - start
    shares = {key: 100 * (now[key] - before.get(key, 0)) / wall for key in now}
    return " ".join(f"{name} {share:.2f} %" for (_, name), share in shares.items() if share >= 0.005)


def main():
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    p = argparse.ArgumentParser(usage=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--build", default=os.path.join(top, "build"))
    p.add_argument("--interval", type=int, default=60)
    p.add_argument("--minutes", type=int, default=3)
    p.add_argument("--perf")
    p.add_argument("fabric", nargs="?", default="36,3")
    a = p.parse_args()
    with simulated_tree(a.build, a.fabric, SETTINGS % a.interval) as (_, pid):
        time.sleep(120)
        for i in range(a.minutes):
            perf = None
            if a.perf and i == a.minutes - 1:
                perf = subprocess.Popen(["perf", "record", "-q", "-g", "-t", str(pid), "-o", a.perf, "sleep", "60"])
            print(f"minute {i + 1}, load {os.getloadavg()[0]:.1f}: {minute(pid)}", flush=True)
            if perf:
                perf.wait()


main()
