#!/usr/bin/env python3
"""Reads service levels and virtual lanes through libibumad, and prints them as infiniband-diags does.

    read_lanes.py paths SM-LID LID...   the path record of each ordered pair, as saquery prints it
    read_lanes.py sl2vl LID/PORTS...    the SL-to-VL tables of each device, as smpquery prints them;
                                        PORTS is the number of ports of a switch, and 0 for an adapter

The tools need a process for each pair and for each port, which is thousands of processes for a fabric of 120
switches. In addition, the simulators have no kernel that receives the long answers for saquery.
"""
import ctypes
import struct
import sys

SMP, SA, GET = 1, 3, 1
SL2VL, PATH_RECORD, DLID_SLID = 0x17, 0x35, 0x30
TIMEOUT_MS, ATTEMPTS = 1000, 5

umad = ctypes.CDLL("libibumad.so.3")


class Port:
    def __init__(self):
        umad.umad_init()
        self.fd = umad.umad_open_port(None, 0)
        self.agents = {SMP: umad.umad_register(self.fd, SMP, 1, 0, None), SA: umad.umad_register(self.fd, SA, 2, 0, None)}
        self.size = umad.umad_size()  # size of the header; known when a port is open
        self.tid = 0
        if self.fd < 0 or min(self.agents.values()) < 0:
            sys.exit("read_lanes.py: the port cannot be opened")

    def get(self, lid, mgmt_class, attribute, modifier, rest):
        """Returns the answer to a Get. `rest` follows the common header of 24 bytes."""
        self.tid += 1
        version, queue_pair, key = (2, 1, 0x80010000) if mgmt_class == SA else (1, 0, 0)
        head = struct.pack(">BBBBHHQHHI", 1, mgmt_class, version, GET, 0, 0, self.tid, attribute, 0, modifier)
        packet = ctypes.create_string_buffer(self.size + 256)
        # A kernel would repeat a request without an answer; the simulators do not.
        for _ in range(ATTEMPTS):
            ctypes.memmove(ctypes.addressof(packet) + self.size, (head + rest).ljust(256, b"\0"), 256)
            umad.umad_set_addr(packet, lid, queue_pair, 0, key)
            if umad.umad_send(self.fd, self.agents[mgmt_class], packet, 256, TIMEOUT_MS, 0) < 0:
                sys.exit("read_lanes.py: a request cannot be sent")
            length = ctypes.c_int(256)
            received = umad.umad_recv(self.fd, packet, ctypes.byref(length), TIMEOUT_MS)
            answer = packet.raw[self.size:]
            if received >= 0 and umad.umad_status(packet) == 0 and answer[12:16] == head[12:16]:
                break
        else:
            sys.exit("read_lanes.py: LID %d does not answer" % lid)
        if struct.unpack(">H", answer[4:6])[0] != 0:
            sys.exit("read_lanes.py: LID %d answers with status 0x%s" % (lid, answer[4:6].hex()))
        return answer


def print_path(port, sm_lid, slid, dlid):
    rest = struct.pack(">12xQHHQ40xHH", 0, 0, 0, DLID_SLID, dlid, slid)  # RMPP, SM_Key, offset, mask, record
    record = port.get(sm_lid, SA, PATH_RECORD, 0, rest)[56:]
    found_dlid, found_slid = struct.unpack(">HH", record[40:44])
    print("PathRecord dump:\n\t\tdlid....................%d\n\t\tslid....................%d\n"
          "\t\tsl......................0x%x" % (found_dlid, found_slid, record[53] & 15))


def print_map(port, lid, came, out):
    table = port.get(lid, SMP, SL2VL, came << 8 | out, b"")[64:72]
    levels = "|".join("%2d" % (byte >> shift & 15) for byte in table for shift in (4, 0))
    print("ports: in %2d, out %2d: |%s|" % (came, out, levels))


def main():
    port = Port()
    if sys.argv[1] == "paths":
        lids = [int(lid) for lid in sys.argv[3:]]
        for slid in lids:
            for dlid in lids:
                if slid != dlid:
                    print_path(port, int(sys.argv[2]), slid, dlid)
    else:
        for device in sys.argv[2:]:
            lid, ports = map(int, device.split("/"))
            print("# SL2VL table: Lid %d" % lid)
            for out in range(1 if ports else 0, ports + 1):
                for came in range(ports + 1):
                    print_map(port, lid, came, out)


if __name__ == "__main__":
    main()
