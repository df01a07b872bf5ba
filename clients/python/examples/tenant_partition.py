#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Gives hosts of a tenant a partition of their own.

    tenant_partition.py set blue 0x0021 node-01 node-02 --file /etc/fabricd/partitions.conf
    tenant_partition.py remove blue --file /etc/fabricd/partitions.conf

The API lists partitions but does not change them: they come from the file that partitions.file of fabricd.yaml(5)
names. So this program runs on the machine of the manager. It writes the partition of the tenant between two comments
of the file, lets the manager read the file (--reload), and waits until the P_Key tables are as asked for. If that
does not happen, it puts the old file back. Add one of the existing partitions by hand if the tenant also needs shared
storage.
"""

import argparse
import os
import re
import subprocess
import sys
import time

from fabricd import FabricError, NotFound, Refused, Unavailable, add_arguments, from_arguments

BEGIN = "# begin tenant {}\n"
END = "# end tenant {}\n"
# The membership bit is no part of a P_Key, and 0x7fff is the default partition.
PKEYS = range(0x0001, 0x7fff)
# Hosts choose their names, so a name could contain a piece of a partition file or a wildcard.
PLAIN = re.compile(r"[A-Za-z0-9._:-]+")


class Mistake(Exception):
    """The request cannot be carried out."""


def without(text, tenant):
    """Returns the text without the part of this tenant."""
    begin, end = BEGIN.format(tenant), END.format(tenant)
    first, last = text.find(begin), text.find(end)
    if first < 0:
        return text
    if last < first:
        raise Mistake(f"the file has no '{end.strip()}' after '{begin.strip()}': correct it by hand")
    return text[:first] + text[last + len(end):]


def part(options):
    members = ", ".join(f'"{host}"' for host in options.hosts)
    flags = f"{options.tenant}={options.pkey:#06x}, {'ipoib, ' if options.ipoib else ''}defmember=full"
    return BEGIN.format(options.tenant) + f"{flags} : {members} ;\n" + END.format(options.tenant)


def check(fabric, options):
    known = {host.name for host in fabric.hosts()}
    unknown = [host for host in options.hosts if host not in known]
    if unknown:
        raise Mistake(f"the fabric has no host {', '.join(unknown)}; 'fabricctl host list' lists all hosts")
    odd = [host for host in options.hosts if not PLAIN.fullmatch(host)]
    if odd:
        raise Mistake(f"the name {odd[0]!r} has characters that the file cannot hold; write its GUID by hand")
    for partition in fabric.partitions():
        if partition.pkey == options.pkey and partition.name != options.tenant:
            raise Mistake(f"partition '{partition.name}' already has the P_Key {partition.pkey:#06x}")


def hosts_of(fabric, tenant):
    """Returns the hosts in the partition of the tenant; None: there is no such partition."""
    try:
        guids = {member.port.node_guid for member in fabric.partition_members(tenant)}
    except NotFound:
        return None
    return {host.name for host in fabric.hosts() for adapter in host.adapters if adapter.guid in guids}


def wait(fabric, options):
    """Waits until the manager has the partition as asked for; returns whether it has."""
    wanted = set(options.hosts) if options.verb == "set" else None
    end = time.monotonic() + options.wait
    while time.monotonic() < end:
        try:
            if hosts_of(fabric, options.tenant) == wanted:
                return True
        except (Refused, Unavailable):
            pass  # the manager restarts
        time.sleep(0.2)
    return False


def replace(path, text):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    if os.path.exists(path):
        os.chmod(path + ".new", os.stat(path).st_mode & 0o777)
    os.replace(path + ".new", path)


def run(fabric, options):
    if options.verb == "set":
        check(fabric, options)
    with open(options.file, encoding="utf-8") as file:
        before = file.read()
    after = without(before, options.tenant)
    if after and not after.endswith("\n"):
        after += "\n"
    if options.verb == "set":
        after += part(options)
    elif after == before:
        raise Mistake(f"{options.file} has no part of tenant {options.tenant}")
    replace(options.file, after)
    if subprocess.run(options.reload, shell=True).returncode == 0 and wait(fabric, options):
        print(f"partition {options.tenant} {'has ' + ', '.join(options.hosts) if options.verb == 'set' else 'is gone'}")
        return
    replace(options.file, before)
    subprocess.run(options.reload, shell=True)
    raise Mistake(f"the manager did not take the change over within {options.wait:g} s, and has the old file again; "
                  "its log says why")


def tenant_name(text):
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,31}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no name of a tenant: letters, digits, '-' and '_' are accepted")
    return text


def pkey(text):
    number = int(text, 0)
    if number not in PKEYS:
        raise argparse.ArgumentTypeError(f"'{text}' is no P_Key: 0x0001 to 0x7ffe are accepted")
    return number


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, text in (("set", "make or change the partition of a tenant"), ("remove", "remove it")):
        sub = verbs.add_parser(verb, help=text)
        sub.add_argument("tenant", type=tenant_name)
        if verb == "set":
            sub.add_argument("pkey", type=pkey)
            sub.add_argument("hosts", nargs="+", metavar="host")
            sub.add_argument("--ipoib", action="store_true", help="with the broadcast group for IP over InfiniBand")
        sub.add_argument("--file", required=True, help="partitions.file of the manager")
        sub.add_argument("--reload", metavar="COMMAND", default="systemctl reload fabricd",
                         help="how the manager reads the file (default: systemctl reload fabricd)")
        sub.add_argument("--wait", metavar="SECONDS", type=float, default=60, help="(default 60)")
        add_arguments(sub)
    return parser.parse_args()


def main():
    options = arguments()
    try:
        with from_arguments(options) as fabric:
            run(fabric, options)
    except (FabricError, Mistake, OSError) as error:
        sys.exit(f"tenant_partition: {error}")


if __name__ == "__main__":
    main()
