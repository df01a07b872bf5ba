"""Exports and studies of routes, by a stock gRPC client."""

import json
import re

import grpc

from harness import channel, export_pb2, Fabric, fails, fake, fake_fabric, main, wait_until

FORMATS = [f for f in export_pb2.ExportFormat.values() if f]


def exported(fabric, form):
    pieces = list(fabric.Export(format=form))
    assert {piece.generation for piece in pieces} == {1}
    assert all(len(piece.data) < 1 << 20 for piece in pieces)
    return b"".join(piece.data for piece in pieces).decode()


def each_format_is_exported():
    with fake_fabric(leaves=4, spines=2, hosts=4) as fabric:
        text = {f: exported(fabric, f) for f in FORMATS}
        assert all(text.values())
        topology = json.loads(text[export_pb2.EXPORT_FORMAT_JSON])
        assert len(topology["nodes"]) == 22 and len(topology["links"]) == 24
        assert text[export_pb2.EXPORT_FORMAT_DOT].count(" -- ") == 24
        assert text[export_pb2.EXPORT_FORMAT_OPENSM_LST].count("\n") == 48
        lfts = text[export_pb2.EXPORT_FORMAT_OPENSM_LFTS]
        for switch in re.split("^Unicast lids", lfts, flags=re.M)[1:]:
            guid = re.search("guid (0x[0-9a-f]{16})", switch)[1]
            table = fabric.GetForwardingTable(node=guid).entries
            rows = re.findall("^0x([0-9a-f]{4}) ([0-9]{3}) #", switch, flags=re.M)
            assert [(e.lid, e.out_port) for e in table] == [(int(l, 16), int(p)) for l, p in rows]


def large_exports_come_in_pieces_and_can_be_left():
    with fake(leaves=36, spines=18, hosts=30) as s, channel(s.address) as c:
        fabric = Fabric(c)
        assert sum(1 for _ in fabric.Export(format=export_pb2.EXPORT_FORMAT_OPENSM_FDBS)) > 20
        for _ in range(20):
            stream = fabric.Export(format=export_pb2.EXPORT_FORMAT_OPENSM_LFTS)
            next(stream)
            stream.cancel()
        assert fabric.GetStatus().status.generation == 1


def exports_are_checked():
    with fake_fabric() as fabric:
        for form in (0, 99):
            text = fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: list(fabric.Export(format=form)))
            assert str(form) in text
    with fake_fabric(leaves=0) as fabric:
        fails(grpc.StatusCode.FAILED_PRECONDITION, lambda: list(fabric.Export(format=1)))


main([
    each_format_is_exported,
    large_exports_come_in_pieces_and_can_be_left,
    exports_are_checked,
])
