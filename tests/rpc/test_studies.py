"""Exports and studies of routes, through an unmodified gRPC client."""

import contextlib
import json
import os
import re
import subprocess
import tempfile

import grpc

from harness import (BUILD, WORK, channel, export_pb2, Fabric, fails, fake, fake_fabric, free_port, main,
                     make_authority, make_certificate, quality_pb2, read, running, socket_path, wait_until)

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


def large_exports_come_in_pieces_and_can_be_cancelled():
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


def options(**fields):
    return quality_pb2.QualityOptions(**fields)


def quality_adds_up():
    with fake_fabric(leaves=6, spines=3, hosts=4) as fabric:
        answer = fabric.GetQuality()
        q = answer.quality
        assert (q.endports, q.leaves, q.channels) == (24, 6, 36)
        assert q.pairs == 24 * 23 == sum(h.pairs for h in q.hops) and q.unreachable_pairs == 0
        assert [(h.switches, h.pairs) for h in q.hops] == [(1, 72), (3, 480)]
        assert q.all_to_all.bound == 27 <= q.all_to_all.max == q.all_to_all.worst[0].load
        assert abs(q.all_to_all.mean * 36 - 2 * 480) < 1e-6
        assert q.shifts.exhaustive and q.shifts.tried == 23 and q.shifts.bound == 2 <= q.shifts.max
        assert q.random_permutations.tried == q.bisections.tried == 1000
        assert 0 < q.bisections.min <= q.bisections.mean <= 1
        assert answer.engine == "updn" and answer.generation == 1
        again = fabric.GetQuality().quality
        assert again == q
        other = fabric.GetQuality(options=options(seed=1, samples=7)).quality
        assert other.bisections.tried == 7 and other.all_to_all == q.all_to_all


def jobs_are_lists_of_hosts():
    with fake_fabric(leaves=4, spines=2, hosts=4) as fabric:
        def ends(*names):
            return fabric.GetQuality(options=options(endports=names, samples=1)).quality.endports
        assert ends("host-[0001-0003,0009]") == 4
        assert ends("host-0001", "2", "host-0003/1") == 3
        for code, text, names in (
                ("NOT_FOUND", "host-0099", ["host-[0001,0099]"]),
                ("INVALID_ARGUMENT", "twice", ["host-0001", "1"]),
                ("INVALID_ARGUMENT", "switch", ["leaf-001"]),
                ("INVALID_ARGUMENT", "host-", ["host-"]),
                ("NOT_FOUND", "[", ["host-[0003-0001]"])):
            why = fails(grpc.StatusCode[code], fabric.GetQuality, options=options(endports=names))
            assert text in why, why
        # A range of all numbers. It must fail soon, at the first name that does not exist.
        fails(grpc.StatusCode.NOT_FOUND, fabric.GetQuality,
              options=options(endports=["x[0-999999999][0-999999999]"]))
        assert "100000" in fails(grpc.StatusCode.INVALID_ARGUMENT, fabric.GetQuality,
                                 options=options(samples=100001))


def engines_are_compared():
    with fake_fabric(leaves=6, spines=3, hosts=4) as fabric:
        reports = [r.report for r in fabric.CompareEngines()]
        names = [r.engine for r in reports]
        assert "updn" in names and len(set(names)) == len(names)
        assert [r.engine for r in reports if r.active] == ["updn"]
        for r in reports:
            assert r.summary
            assert r.routed or r.reason
            assert not r.routed or (r.verdict.passed and r.quality.pairs == 24 * 23)
        active = next(r for r in reports if r.active)
        assert active.quality == fabric.GetQuality().quality
        one = [r.report.engine for r in fabric.CompareEngines(engines=["updn"])]
        assert one == ["updn"]
        fails(grpc.StatusCode.NOT_FOUND, lambda: list(fabric.CompareEngines(engines=["no"])))


def whatif_arguments_are_checked():
    with fake_fabric(leaves=4, spines=2, hosts=4) as fabric:
        for code, failures in (("NOT_FOUND", ["nobody"]), ("NOT_FOUND", ["leaf-001/99"]),
                               ("INVALID_ARGUMENT", []), ("INVALID_ARGUMENT", ["leaf-001/0"])):
            fails(grpc.StatusCode[code], fabric.WhatIf, failures=failures)
        fails(grpc.StatusCode.NOT_FOUND, fabric.WhatIf, failures=["leaf-001/5"], engine="no")


def names_are_looked_up_by_the_study():
    """Finding thousands of names would block the event loop too long, so the study does it in its turn."""
    with fake(leaves=36, spines=18, hosts=30) as s, channel(s.address) as c:
        fabric = Fabric(c)
        slow = fabric.GetQuality(future=True, options=options(samples=100000))
        fabric.GetStatus()
        whatif = fabric.WhatIf(future=True, failures=["host-0001"] * 4000 + ["nobody"])
        fabric.GetStatus()
        assert not whatif.done() and not slow.done()
        slow.cancel()
        assert whatif.exception(60).code() == grpc.StatusCode.NOT_FOUND and "nobody" in whatif.exception().details()


@contextlib.contextmanager
def daemon(family="leaf-spine", settings="", **size):
    folder = tempfile.mkdtemp(dir=WORK)
    net, config = os.path.join(folder, "net"), os.path.join(folder, "yaml")
    arguments = [f"--{k}={v}" for k, v in size.items()]
    subprocess.run([os.path.join(BUILD, "cli/fabsim"), "generate", family, *arguments, "-o",
                    net], check=True)
    with open(config, "w") as f:
        f.write(settings)
    address = "unix:" + socket_path()
    command = [os.path.join(BUILD, "fabricd/fabricd"), "--sim", net, "-f", config,
               "--state-dir", folder, "--listen", address]
    with running(command, lambda process: None), channel(address) as c:
        fabric = Fabric(c)
        wait_until(lambda: fabric.GetStatus().status.generation > 0)
        yield fabric, Fabric(c, "fabric.v1.SimService")


def whatif_predicts_what_happens():
    with daemon(leaves=6, spines=3, hosts=4) as (fabric, sim):
        told = fabric.WhatIf(failures=["leaf-002/5"])
        assert told.links == 1 and told.lost_endport_count == told.lost_switches == 0
        assert told.report.routed and told.report.verdict.passed and told.report.active
        assert told.quality_before == fabric.GetQuality().quality
        sim.Unlink(node="leaf-002", port_number=5)
        # The new view is published a short time before the event about the last write.
        done = wait_until(lambda: next(
            (e.message for e in fabric.ListEvents().events if e.type == "reroute-done"), None))
        assert f"{told.blocks_changed} blocks on {told.switches_changed} switches" in done, done
        assert fabric.GetQuality().quality == told.report.quality
        # A larger failure: a leaf, with a job that loses hosts.
        told = fabric.WhatIf(failures=["leaf-003", "host-0002/1"],
                             options=options(endports=["host-[0005-0012]"]))
        assert told.lost_switches == 1 and told.lost_endport_count == 5
        assert [e.endport.node_name for e in told.lost_endports] == [
            "host-0002", "host-0009", "host-0010", "host-0011", "host-0012"]
        assert (told.quality_before.endports, told.report.quality.endports) == (8, 4)
        assert "cut off" in fails(grpc.StatusCode.INVALID_ARGUMENT, fabric.WhatIf,
                                  failures=["host-0001"])


def whatif_respects_traffic_classes():
    classes = "qos:\n  classes: [{name: a, share: 20}, {name: b, share: 20}, {name: c}]\n"
    with daemon("torus", classes, size="5,5", hosts=1) as (fabric, sim):
        status = fabric.GetStatus().status
        assert (status.routing.engine, status.routing.virtual_lanes) == ("torus", 8), status
        reports = {m.report.engine: m.report for m in fabric.CompareEngines()}
        assert reports["torus"].virtual_lanes == 8 and not reports["torus"].class_notes
        assert reports["torus"].active and reports["updn"].virtual_lanes == 4
        # Four classes with three lanes each need too many lanes, so two classes share lanes.
        assert reports["dfsssp"].virtual_lanes == 6
        notes = reports["dfsssp"].class_notes
        assert [n.split(":")[0] for n in notes] == ["class b shares the VLs of class a",
                                                    "class c shares the VLs of class a"], notes
        # Without one switch, the torus goes round the hole with the lanes that each class has.
        told = fabric.WhatIf(failures=["torus-1-1"]).report
        assert told.routed and told.engine == "torus" and told.virtual_lanes == 8, told
        for port in range(1, 6):
            sim.Unlink(node="torus-1-1", port_number=port)
        wait_until(lambda: fabric.GetStatus().status.routing.pairs == 48 * 47)
        routing = fabric.GetStatus().status.routing
        assert (routing.engine, routing.virtual_lanes) == ("torus", 8), routing
        assert fabric.GetQuality().quality == told.quality


def studies_are_bounded_and_can_be_cancelled():
    with fake(leaves=36, spines=18, hosts=30) as s, channel(s.address) as c:
        fabric = Fabric(c)
        calls = [fabric.GetQuality(future=True, options=options(samples=100000))
                 for _ in range(20)]
        # They arrive in any order. Any four of them are accepted.
        wait_until(lambda: sum(call.done() for call in calls) >= 16)
        codes = [call.exception(1).code() for call in calls if call.done()]
        assert set(codes) == {grpc.StatusCode.RESOURCE_EXHAUSTED} and len(codes) == 16, codes
        why = next(call.exception(1).details() for call in calls if call.done())
        assert re.fullmatch(r"4 studies of .*\(uid [0-9]+\) are running or queued, the limit for one client; .*",
                            why), why
        assert fabric.GetStatus(timeout=5).status.generation == 1
        for call in calls:
            call.cancel()
        # Cancelled studies make room for others long before they would be complete.
        wait_until(lambda: fabric.GetQuality(options=options(samples=1)).quality.endports == 1080)
        calls = [fabric.GetQuality(future=True, options=options(samples=100000)) for _ in range(3)]
    # The manager ends while some studies run.


@contextlib.contextmanager
def tls_fake(names, **size):
    """Runs a server with a TLS address. Returns FabricService for the client of each certificate."""
    ca, port = make_authority("studies"), free_port()
    server = make_certificate(ca, "server")
    env = {"TLS_CERT": server + ".crt", "TLS_KEY": server + ".key", "TLS_CA": ca + ".crt"}
    with contextlib.ExitStack() as stack:
        stack.enter_context(fake(address=f"tls:127.0.0.1:{port}", env=env, **size))
        fabrics = []
        for name in names:
            own = make_certificate(ca, name)
            credentials = grpc.ssl_channel_credentials(read(ca + ".crt"), read(own + ".key"), read(own + ".crt"))
            # without its own pool, a channel shares the connection of another channel
            c = stack.enter_context(grpc.secure_channel(f"localhost:{port}", credentials,
                                                        options=[("grpc.use_local_subchannel_pool", 1)]))
            fabrics.append(Fabric(c))
            fabrics[-1].GetStatus()
        yield fabrics


def clients_take_turns():
    with tls_fake(["alice", "bob"], leaves=36, spines=18, hosts=30) as (alice, bob):
        slow = [alice.GetQuality(future=True, options=options(samples=3000)) for _ in range(4)]
        why = wait_until(lambda: refused(alice))
        assert why.startswith("4 studies of certificate of alice are running or queued"), why
        assert bob.GetQuality(options=options(samples=1)).quality.endports == 1080
        # At most the study that was running, and one more if the server noticed the end of bob's call late.
        done = sum(call.done() for call in slow)
        assert done <= 2, f"bob waited for {done} studies of alice"
        for call in slow:
            assert call.result().quality.endports == 1080


def refused(fabric):
    """Requests a small study. Returns the message if the manager refuses it, or None."""
    try:
        fabric.GetQuality(options=options(samples=1))
    except grpc.RpcError as e:
        assert e.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        return e.details()


def all_clients_have_a_limit():
    names = [f"client-{i}" for i in range(17)]
    with tls_fake(names, leaves=36, spines=18, hosts=30) as fabrics:
        calls = [f.GetQuality(future=True, options=options(samples=100000))
                 for f in fabrics[:-1] for _ in range(4)]
        wait_until(lambda: all(refused(f) for f in fabrics[:-1]))
        why = refused(fabrics[-1])
        assert re.fullmatch("64 studies of 16 clients are running or queued, the limit for all clients; one of these "
                            "clients is certificate of client-[0-9]+; try again later", why), why
        for call in calls:
            call.cancel()
        wait_until(lambda: refused(fabrics[-1]) is None)


def cpu_time_of_a_study_is_limited():
    with fake(leaves=36, spines=18, hosts=30, env={"STUDY_CPU_MS": "50"}) as s, channel(s.address) as c:
        why = fails(grpc.StatusCode.RESOURCE_EXHAUSTED, Fabric(c).GetQuality, options=options(samples=100000))
        assert why == ("the study has used up its CPU time, 0.05 s; ask for less: fewer samples or fewer endports"), why


main([
    quality_adds_up,
    jobs_are_lists_of_hosts,
    engines_are_compared,
    whatif_arguments_are_checked,
    names_are_looked_up_by_the_study,
    whatif_predicts_what_happens,
    whatif_respects_traffic_classes,
    studies_are_bounded_and_can_be_cancelled,
    clients_take_turns,
    all_clients_have_a_limit,
    cpu_time_of_a_study_is_limited,
    each_format_is_exported,
    large_exports_come_in_pieces_and_can_be_cancelled,
    exports_are_checked,
])
