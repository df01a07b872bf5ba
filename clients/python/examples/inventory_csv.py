#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares an inventory with the fabric, and writes one from the fabric, as CSV files for NetBox.

    inventory_csv.py compare --cables cables.csv --devices devices.csv
    inventory_csv.py write --cables cables.csv --devices devices.csv

cables.csv has the columns of NetBox's import of cables: side_a_device, side_a_type, side_a_name, side_b_device,
side_b_type, side_b_name. The interface of a switch is the number of its port, or a name that ends with it, such as
"IB1/5"; that of a host is the name of the adapter, such as "mlx5_0", or "mlx5_0/2" if it has several ports, or the
number of the port if the adapter has no name. devices.csv has the columns name and role (switch or host).

compare prints what the inventory and the fabric do not have in common. It ends with 0 if they are equal, and with 5 if
not. 'fabricctl topo check' does more with a cabling plan: it says which cables to move.
"""

import argparse
import csv
import os
import re
import sys

from fabricd import FabricError, add_arguments, from_arguments

DIFFERENT = 5
INTERFACE = "dcim.interface"
CABLE_COLUMNS = [f"side_{side}_{what}" for side in "ab" for what in ("device", "type", "name")]
DEVICE_COLUMNS = ["name", "role"]


class Mistake(Exception):
    """A file cannot be read."""


def name_interface(adapter, port):
    if not adapter.name:
        return str(port.port_number)
    return adapter.name if len(adapter.ports) == 1 else f"{adapter.name}/{port.port_number}"


class Names:
    """The device and the interface of each port, as the inventory names them."""

    def __init__(self, fabric):
        self.switches = {node.guid: node.name for node in fabric.nodes("switch")}
        self.ports = {}
        self.hosts = set()
        for host in fabric.hosts():
            self.hosts.add(host.name)
            for adapter in host.adapters:
                for port in adapter.ports:
                    self.ports[adapter.guid, port.port_number] = (host.name, name_interface(adapter, port))

    def end(self, port):
        switch = self.switches.get(port.node_guid)
        if switch is not None:
            return switch, str(port.port_number)
        return self.ports.get((port.node_guid, port.port_number), (port.node_name, str(port.port_number)))


def cables_of(fabric, names):
    return {frozenset((names.end(link.a), names.end(link.b))) for link in fabric.links()}


def devices_of(names):
    return {(name, "switch") for name in names.switches.values()} | {(name, "host") for name in names.hosts}


def rows(path, columns):
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        lacking = [c for c in columns if c not in (reader.fieldnames or [])]
        if lacking:
            raise Mistake(f"{path} has no column {', '.join(lacking)}")
        for row in reader:
            if any(row[c] is None for c in columns):
                raise Mistake(f"{path}, line {reader.line_num}: the row has fewer columns than the first line")
            yield {c: row[c].strip() for c in columns}


def read_cables(path, names):
    """Returns the cables of a file as sets of two ends. Ports of switches become numbers."""
    switches = set(names.switches.values())

    def end(row, side):
        device, interface = row[f"side_{side}_device"], row[f"side_{side}_name"]
        number = re.search(r"([0-9]+)$", interface)
        return device, number[1] if device in switches and number else interface

    return {frozenset((end(row, "a"), end(row, "b"))) for row in rows(path, CABLE_COLUMNS)}


def read_devices(path):
    return {(row["name"], row["role"]) for row in rows(path, DEVICE_COLUMNS)}


def show(cable):
    return " - ".join(sorted(f"{device} {interface}" for device, interface in cable))


def compare(options, fabric, names):
    """Prints the differences; returns how many there are."""
    lines = []
    if options.devices:
        planned, found = read_devices(options.devices), devices_of(names)
        lines += [f"missing: {role} {name}" for name, role in sorted(planned - found)]
        lines += [f"not in the inventory: {role} {name}" for name, role in sorted(found - planned)]
    if options.cables:
        planned, found = read_cables(options.cables, names), cables_of(fabric, names)
        lines += sorted(f"missing: cable {show(cable)}" for cable in planned - found)
        lines += sorted(f"not in the inventory: cable {show(cable)}" for cable in found - planned)
    for line in lines:
        print(line)
    return len(lines)


def write_rows(path, columns, lines):
    with open(path + ".new", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(lines)
    os.replace(path + ".new", path)


def write(options, fabric, names):
    if options.devices:
        write_rows(options.devices, DEVICE_COLUMNS, sorted(devices_of(names)))
    if options.cables:
        write_rows(options.cables, CABLE_COLUMNS, sorted(
            [item for device, name in sorted(cable) for item in (device, INTERFACE, name)]
            for cable in cables_of(fabric, names)))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("compare", "write"))
    parser.add_argument("--cables", metavar="FILE", help="CSV file of cables")
    parser.add_argument("--devices", metavar="FILE", help="CSV file of switches and hosts")
    add_arguments(parser)
    options = parser.parse_args()
    if not options.cables and not options.devices:
        parser.error("give --cables, --devices, or both")
    try:
        with from_arguments(options) as fabric:
            differences = {"compare": compare, "write": write}[options.verb](options, fabric, Names(fabric))
    except (FabricError, Mistake, OSError, csv.Error) as error:
        sys.exit(f"inventory_csv: {error}")
    sys.exit(DIFFERENT if differences else 0)


if __name__ == "__main__":
    main()
