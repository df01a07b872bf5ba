#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Keeps Slurm's topology.conf equal to the fabric.

    slurm_topology_on_change.py /etc/slurm/topology.conf --hook 'scontrol reconfigure'

The program follows the events of the manager. After a change of nodes, links or routes, it asks for the topology, and
if it differs from the file, replaces the file and runs the hook. A fault changes the routes but not this topology, so
Slurm is not disturbed: a host or switch that is gone stays in it until it is forgotten ('fabricctl node forget').
'fabricctl topo export --slurm --watch --hook' does the same without Python; begin here if you want to do more.
"""

import argparse
import os
import subprocess
import sys
import time

from fabricd import FabricError, Refused, Unavailable, add_arguments, from_arguments

FORMATS = ("slurm", "slurm-block", "slurm-yaml")
TYPES = "node-*,link-*,reroute-*,sweep-done,tables-published"


def shape(text):
    """Returns the lines that matter to Slurm."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith(b"#")]


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def replace(path, text):
    """Writes the file in a way that no reader sees half of it."""
    new = path + ".new"
    with open(new, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


def update(fabric, options):
    """Replaces the file if the topology is another one. Returns the sequence number of the events it covers."""
    newest = fabric.last_sequence()
    text = fabric.export(options.format)
    if shape(text) == shape(read(options.file)):
        return newest
    replace(options.file, text)
    print(f"wrote {options.file}: {len(shape(text))} lines", flush=True)
    if options.hook:
        code = subprocess.run(options.hook, shell=True).returncode
        if code:
            print(f"the hook '{options.hook}' failed with exit status {code}", file=sys.stderr, flush=True)
    return newest


def follow(fabric, options, done):
    for event in fabric.watch(TYPES, after=done):
        if event.sequence <= done:
            continue
        time.sleep(options.settle)
        try:
            done = update(fabric, options)
        except (Unavailable, Refused) as error:
            # The manager restarts. Its events after the start come here, too.
            print(f"the manager gives no topology now: {error}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the file to write, such as /etc/slurm/topology.conf")
    parser.add_argument("--format", choices=FORMATS, default="slurm", help="topology.conf for topology/tree (default) "
                        "or topology/block, or topology.yaml")
    parser.add_argument("--hook", metavar="COMMAND", help="shell command to run after the file was replaced")
    parser.add_argument("--settle", metavar="SECONDS", type=float, default=2, help="how long after a change to look "
                        "at the topology (default 2)")
    parser.add_argument("--once", action="store_true", help="write the file if it differs, and end")
    add_arguments(parser)
    options = parser.parse_args()
    try:
        with from_arguments(options) as fabric:
            done = update(fabric, options)
            if not options.once:
                follow(fabric, options, done)
    except FabricError as error:
        sys.exit(f"slurm_topology_on_change: {error}")


if __name__ == "__main__":
    main()
