#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Drains a switch, link, rack, pod or host before maintenance, and ends the drain afterwards.

    drain_for_maintenance.py begin switch spine-001 --hours 4 --reason 'CHG-1234: replace a fan'
    drain_for_maintenance.py end switch spine-001

begin says what the drain would do. If hosts still need the switches, it ends with 1 and changes nothing: drain these
hosts in the job scheduler first, and then use --hosts-are-idle. Otherwise it starts the drain, and ends with 0 when
no table entry and no traffic uses what is drained: then the maintenance can begin. If that takes longer than --wait,
it ends with 1 and leaves the drain as it is, since the traffic may still move.
"""

import argparse
import sys
import time
from datetime import timedelta

from fabricd import FabricError, add_arguments, from_arguments, word
from fabricd.v1 import drain_pb2

KINDS = ("switch", "link", "rack", "pod", "host")
PAUSE = 0.5
MOST_NAMES = 5


class Mistake(Exception):
    """The maintenance cannot begin."""


def check(fabric, options):
    """Says what the drain would do; returns its name."""
    would = fabric.preview_drain(options.name, options.kind)
    print(f"routes will avoid {len(would.links)} links of {', '.join(would.nodes) or would.name}")
    if would.refusal:
        raise Mistake(would.refusal)
    if would.hosts and options.kind != "host" and not options.hosts_are_idle:
        names = ", ".join(would.hosts[:MOST_NAMES]) + (", ..." if len(would.hosts) > MOST_NAMES else "")
        raise Mistake(f"{len(would.hosts)} hosts would lose their link: {names}; drain them in the job scheduler, and "
                      "use --hosts-are-idle")
    return would.name


def state(fabric, drain_id):
    for drain in fabric.drains():
        if drain.id == drain_id:
            return drain, word(drain_pb2.DrainState, drain.state)
    raise Mistake("somebody else ended the drain; see 'fabricctl audit list'")


def wait(fabric, options, drain_id):
    """Waits until the drain is complete, and says what it waits for."""
    said, end = "", time.monotonic() + options.wait
    while True:
        drain, now = state(fabric, drain_id)
        text = f"{now}: {drain.used_link_count} of {drain.link_count} links are in use"
        if drain.busy_port:
            text += f", most traffic at {drain.busy_port}"
        if text != said:
            print(text, flush=True)
            said = text
        if now == "drained":
            return
        if time.monotonic() > end:
            raise Mistake(f"the drain is not complete after {options.wait:g} s; it continues ('fabricctl drain list')")
        time.sleep(PAUSE)


def begin(fabric, options):
    name = check(fabric, options)
    until = timedelta(hours=options.hours) if options.hours else None
    drain = fabric.drain(name, options.kind, until=until, reason=options.reason)
    wait(fabric, options, drain.id)
    print("the maintenance can begin")


def finish(fabric, options):
    print(fabric.undrain(options.name, options.kind, reason=options.reason))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("begin", "end"))
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("name", help="a node, NODE/PORT for a link, or the name of a rack")
    parser.add_argument("--reason", default="maintenance", help="for the audit log")
    parser.add_argument("--hours", type=float, help="when the drain ends by itself (default: never)")
    parser.add_argument("--hosts-are-idle", action="store_true", help="drain switches that hosts need")
    parser.add_argument("--wait", metavar="SECONDS", type=float, default=600, help="(default 600)")
    add_arguments(parser)
    options = parser.parse_args()
    try:
        with from_arguments(options) as fabric:
            {"begin": begin, "end": finish}[options.verb](fabric, options)
    except (FabricError, Mistake) as error:
        sys.exit(f"drain_for_maintenance: {error}")


if __name__ == "__main__":
    main()
