"""The RPC server as programs see it: through Debian's unmodified Python gRPC library, and through
connections that misbehave as no library would."""

import os
import pwd
import random
import socket
import stat
import subprocess
import threading
import time
import urllib.error
import urllib.request

import grpc
from google.protobuf import descriptor_pb2

import http2
from harness import (BUILD, PATIENCE, SLACK, WORK, Fabric, channel, descriptors, dynamic, event_pb2,
                     fails, fake, fake_fabric, free_port, from_files, load, main, make_authority,
                     make_certificate, memory_kb, message_class, node_pb2, port_pb2, read, running,
                     said_ready, socket_path, status_pb2, wait_until)

Code = grpc.StatusCode
SERVICE = "/fabric.v1.FabricService/"


# ---- every method ------------------------------------------------------------------------------

def status_describes_the_fabric():
    with fake_fabric() as f:
        s = f.GetStatus().status
        assert s.role == status_pb2.MANAGER_ROLE_MASTER and s.state == "idle"
        assert (s.fabric.switches, s.fabric.adapters, s.fabric.links) == (6, 16, 24)
        assert s.fabric.active_links == 24
        assert s.routing.engine == "updn" and s.routing.deadlock_free
        assert s.routing.unreachable_pairs == 0 and s.routing.pairs == 22 * 21
        assert s.sweep.last_sweep.ToMicroseconds() == 12345
        assert not s.sweep.HasField("last_reroute")
        assert s.packets.sent == 678
        assert s.unresponsive_ports[0].port == "behind a port\ufffd of 'spine-1'"
        assert f.GetVersion().api_version == "fabric.v1"


def nodes_ports_and_links_are_listed():
    with fake_fabric() as f:
        nodes = f.ListNodes().nodes
        assert len(nodes) == 22
        assert [n.type for n in nodes[:6]] == [node_pb2.NODE_TYPE_SWITCH] * 6
        assert len(f.ListNodes(type=node_pb2.NODE_TYPE_ADAPTER).nodes) == 16
        assert f.GetNode(node=nodes[3].name).node == nodes[3]
        assert f.GetNode(node=nodes[3].guid).node == nodes[3]
        assert f.GetNode(node=str(nodes[3].lid)).node == nodes[3]
        ports = f.ListPorts().ports
        assert f.ListPorts().generation == f.ListPorts(page_size=1).generation == 1
        assert len(ports) == 6 + 2 * 24
        of_leaf = f.ListPorts(node=nodes[0].name).ports
        assert [p.port.port_number for p in of_leaf] == [0, 1, 2, 3, 4, 5, 6]
        assert of_leaf[1].rate.speed == "EDR" and of_leaf[1].rate.mbps == 100000
        assert of_leaf[1].state == port_pb2.PORT_STATE_ACTIVE
        peer = of_leaf[1].peer
        back = f.GetPort(node=peer.node_guid, port_number=peer.port_number).port
        assert back.peer == of_leaf[1].port
        links = f.ListLinks().links
        assert len(links) == 24
        assert len({(x.node_guid, x.port_number) for l in links for x in (l.a, l.b)}) == 48
        assert len(f.ListLinks(node=nodes[4].name).links) == 4


def flapping_links_are_listed_and_released():
    with fake_fabric() as f:
        link, = f.ListFlappingLinks().links
        assert (link.a.node_name, link.a.port_number) == ("leaf-001", 3)
        assert (link.b.node_guid, link.b.port_number) == ("0x0002c90100000005", 1)
        assert link.held_down and link.flapping and link.up and link.flaps == 7
        assert link.hold_down.seconds == 20 and len(link.flap_times) == 2
        assert link.release_time.seconds - link.flap_times[0].seconds == 20
        assert "leaf-001/3" in f.ReleaseLink(node="leaf-001", port_number=3).message
        fails(Code.NOT_FOUND, f.ReleaseLink, node="leaf-001", port_number=2)
        fails(Code.NOT_FOUND, f.ReleaseLink, node="nobody", port_number=2)


def the_m_key_is_rotated():
    with fake_fabric() as f:
        key = f.GetKey()
        assert (key.generation, key.current, key.previous, key.absent) == (3, 32, 1, 2)
        assert key.since.seconds == 1767225600 and key.behind == "leaf-001"
        fails(Code.ALREADY_EXISTS, f.RotateKey)
        assert "number 3" in f.RotateKey(give_up_absent=True).message
        assert not key.HasField("congestion_key")  # the fake manager has no congestion control
        fails(Code.UNIMPLEMENTED, f.RotateKey, kind="KEY_KIND_CC_KEY")
        fails(Code.INVALID_ARGUMENT, f.RotateKey, kind=7)


def unhealthy_links_are_listed_and_isolated():
    with fake_fabric() as f:
        link, = f.ListUnhealthyLinks().links
        assert (link.a.node_name, link.a.port_number) == ("leaf-001", 3)
        assert link.unhealthy and link.link_error and link.isolated and not link.in_routes
        assert link.counter == "SymbolErrorCounter" and link.at == link.a
        assert link.increase == 120 and link.interval.seconds == 60 and not link.by_operator
        assert link.isolated_cause == "too many symbol errors"
        rise, = link.errors_a.counters
        assert (rise.total, rise.recent, rise.per_hour) == (500, 120, 7200)
        assert [r.increases[0].value for r in link.errors_a.history] == [120, 380]
        assert not link.errors_b.counters
        assert link.errors_per_hour == 7200 and link.routed_lids == 1 and not link.uplinks_of_pod
        assert (link.uplinks_of, link.uplinks, link.uplinks_in_use, link.uplinks_least) == ("leaf-001", 24, 20, 18)
        both = f.ListUnhealthyLinks(include_watched=True).links
        assert len(both) == 2 and both[0].in_routes and not both[0].unhealthy and not both[0].isolated
        assert "leaf-001/4" in f.IsolateLink(node="leaf-001", port_number=4).message
        why = fails(Code.FAILED_PRECONDITION, f.IsolateLink, node="leaf-001", port_number=5)
        fails(Code.ALREADY_EXISTS, f.IsolateLink, node="leaf-001", port_number=3)
        fails(Code.NOT_FOUND, f.IsolateLink, node="leaf-001", port_number=99)
        fails(Code.NOT_FOUND, f.IsolateLink, node="nobody", port_number=1)


def counters_are_listed_in_pages():
    with fake_fabric() as f:
        of_leaf = f.ListPortCounters(node="leaf-001").ports
        assert [p.port.port_number for p in of_leaf] == [1, 2, 3, 4, 5, 6]
        assert len(of_leaf[0].counters) == 12 and of_leaf[2].counters[0].name == "SymbolErrorCounter"
        assert of_leaf[2].counters[0].value == 500
        bad, = f.ListPortCounters(errors_only=True).ports
        assert bad == of_leaf[2]
        first = f.ListPortCounters(node="leaf-001", page_size=4)
        rest = f.ListPortCounters(node="leaf-001", page_size=4, page_token=first.next_page_token)
        assert list(first.ports) + list(rest.ports) == list(of_leaf)
        assert first.next_page_token and not rest.next_page_token
        fails(Code.INVALID_ARGUMENT, f.ListPortCounters, page_token="nonsense")


def paths_and_tables_agree():
    with fake_fabric() as f:
        hosts = f.ListNodes(type=node_pb2.NODE_TYPE_ADAPTER).nodes
        path = f.TracePath(source=hosts[0].name, destination=str(hosts[15].lid)).path
        assert path.reachable and len(path.hops) == 4
        assert path.virtual_lanes == 1 and path.service_level == 0
        ends = [getattr(path.hops[0], "from"), path.hops[-1].to]
        assert ends == [path.source, path.destination]
        for here, there in zip(path.hops, path.hops[1:]):
            assert here.to.node_guid == getattr(there, "from").node_guid
            entries = f.GetForwardingTable(node=here.to.node_guid).entries
            out = {e.lid: e.out_port for e in entries}[hosts[15].lid]
            assert out == getattr(there, "from").port_number
        same = f.TracePath(source=hosts[0].name, destination=hosts[0].name).path
        assert same.reachable and not same.hops
        verdict = f.GetVerdict(verify_again=True).verdict
        assert verdict.passed and verdict == f.GetVerdict().verdict


def requests_answer_when_the_work_is_done():
    with fake_fabric(delay_ms=200) as f:
        start = time.monotonic()
        assert f.Sweep().message == "done" and f.Reroute().message == "done"
        assert f.Rebalance().message == "done"
        assert time.monotonic() - start >= 0.35  # timers use the time of the last turn of the loop
        assert f.DisablePort(node="leaf-001", port_number=2).message == "done"
        assert f.EnablePort(node="leaf-001", port_number=2).message == "done"
        events = f.ListEvents().events
        assert [e.sequence for e in events] == [105, 104, 103, 102, 101]
        assert abs(events[0].time.ToSeconds() - time.time()) < PATIENCE
        assert any(e.time.nanos for e in events) and all(e.time.nanos % 1000 == 0 for e in events), events


# ---- pages -------------------------------------------------------------------------------------

def pages(call, field, size, **more):
    rows, token = [], ""
    while True:
        page = call(page_size=size, page_token=token, **more)
        assert len(getattr(page, field)) <= size
        rows += getattr(page, field)
        token = page.next_page_token
        if not token:
            return rows


def pages_add_up_to_the_whole():
    with fake_fabric() as f:
        f.Sweep(), f.Sweep(), f.Sweep()
        for method, field, more in (("ListNodes", "nodes", {}), ("ListPorts", "ports", {}),
                                    ("ListLinks", "links", {}), ("ListEvents", "events", {}),
                                    ("ListPorts", "ports", {"node": "leaf-002"}),
                                    ("ListLinks", "links", {"node": "spine-001"}),
                                    ("GetForwardingTable", "entries", {"node": "leaf-002"})):
            call = getattr(f, method)
            whole = list(getattr(call(**more), field))
            assert whole
            for size in (1, 3, len(whole), len(whole) + 1):
                assert pages(call, field, size, **more) == whole, (method, size)


# Lists that need an argument, or that the fake manager does not have.
NOT_PAGED_HERE = {"GetForwardingTable", "ListContingencies", "ListReroutes", "ListPortCounters",
                  "ListPartitionMembers", "ListMulticastMembers", "ListClassRules", "ListServices",
                  "ListSubscriptions", "ListGoneNodes", "ListGoneLinks", "ListTopPorts", "GetPortHistory",
                  "ListCableInventory"}


def every_list_comes_in_pages():
    """For each method with pages: all pages together are the whole list, and no page is longer than requested."""
    service = load("fabric.v1.fabric_service_pb2").DESCRIPTOR.services_by_name["FabricService"]
    empty = set()
    with fake_fabric() as f:
        for method in service.methods:
            if "page_token" not in method.input_type.fields_by_name or method.name in NOT_PAGED_HERE:
                continue
            request, reply = message_class(method.input_type), message_class(method.output_type)
            field, = (x.name for x in method.output_type.fields
                      if x.label == x.LABEL_REPEATED and x.message_type is not None)
            stub = f.channel.unary_unary(SERVICE + method.name, request_serializer=request.SerializeToString,
                                         response_deserializer=reply.FromString)

            def call(**fields):
                return stub(request(**fields), timeout=PATIENCE)
            whole = list(getattr(call(), field))
            if not whole:
                empty.add(method.name)
            for size in {1, 2, 3, len(whole), len(whole) + 1} - {0}:
                assert pages(call, field, size) == whole, (method.name, size)
    assert empty == {"ListAudit", "ListBaseline", "ListEvents", "ListPartitions"}, empty


def contingencies_come_in_pages():
    with fake_fabric(leaves=12, spines=3, hosts=4) as f:
        whole = f.ListContingencies()
        assert len(whole.contingencies) == whole.summary.cases == 36 + 15
        about = whole.summary
        assert (about.computed, about.running, about.memory_allowed, about.working_memory,
                about.blocks_per_second, about.rate_measured, about.current_load) == (
                    51, True, 1 << 20, 4711, 2000, True, 8), about
        assert 0 < about.plans <= 51 and about.memory > 0
        for c in whole.contingencies:  # at the rate of the summary
            t = c.estimated_time
            assert t.seconds * 10**6 + t.nanos // 1000 == c.blocks * 10**6 // 2000, c
            assert c.plan_ready == (c.plan_bytes > 0), c
        for size in (1, 7, 50, 51, 52):
            assert pages(f.ListContingencies, "contingencies", size) == list(whole.contingencies), size
        alone = f.GetContingency(failure="spine-001")
        assert alone.generation == whole.generation == f.GetStatus().status.generation > 0
        assert alone.summary == about
        one = alone.contingency
        assert one in whole.contingencies and one.steps == 1 and one.worst_load > 0
        for token in ("x", "c0-1-1", "l" + f.ListContingencies(page_size=1).next_page_token[1:]):
            fails(Code.INVALID_ARGUMENT, f.ListContingencies, page_token=token)
        for what in ("", "host-0001", "leaf-001/1"):
            fails(Code.INVALID_ARGUMENT, f.GetContingency, failure=what)
        fails(Code.NOT_FOUND, f.GetContingency, failure="leaf-001/200")
    with fake_fabric(leaves=0) as f:
        fails(Code.FAILED_PRECONDITION, f.ListContingencies)
        fails(Code.FAILED_PRECONDITION, f.GetContingency, failure="x")


def reroutes_are_listed_newest_first():
    with fake_fabric() as f:
        whole = f.ListReroutes().reroutes
        assert [r.generation for r in whole] == list(range(300, 2, -1))
        for size in (1, 7, 298, 1000):
            assert pages(f.ListReroutes, "reroutes", size) == list(whole), size
        one = f.GetReroute(generation=42).reroute
        assert one == whole[300 - 42] and one.cause == "trap 128 from leaf-001"
        steps = (one.discovered, one.computed, one.verified, one.first_write, one.last_write)
        assert [s.nanos for s in steps] == [400000, 700000, 900000, 1000000, 2500000]
        assert (one.entries, one.blocks, one.switches, one.links_lost) == (12, 4, 3, 1)
        for nothing in (0, 2, 301, 2**63, 2**64 - 1):
            assert str(nothing) in fails(Code.NOT_FOUND, f.GetReroute, generation=nothing)
        fails(Code.INVALID_ARGUMENT, f.ListReroutes,
              page_token=f.ListNodes(page_size=1).next_page_token)


def large_fabrics_come_in_pages_of_a_thousand():
    with fake_fabric(leaves=40, spines=20, hosts=100) as f:
        first = f.ListNodes()
        assert len(first.nodes) == 1000 and first.next_page_token
        assert len(pages(f.ListNodes, "nodes", 1000)) == 4060
        assert len(f.ListPorts(page_size=4000000000).ports) == 2000


def page_tokens_are_checked():
    with fake_fabric() as f:
        token = f.ListNodes(page_size=1).next_page_token
        for bad in (token + "x", "x", "n", "n0-", token.upper(), "\ud7ff" * 200):
            fails(Code.INVALID_ARGUMENT, f.ListNodes, page_token=bad)
        assert "page_token" in fails(Code.INVALID_ARGUMENT, f.ListPorts, page_token=token)


# ---- errors ------------------------------------------------------------------------------------

def errors_have_codes_and_help():
    with fake_fabric() as f:
        assert "nobody" in fails(Code.NOT_FOUND, f.GetNode, node="nobody")
        assert "leaf-001" in fails(Code.INVALID_ARGUMENT, f.GetNode, node="leaf")
        fails(Code.INVALID_ARGUMENT, f.GetNode, node="")
        assert ('"leaf-001" has no port 7; its ports are 0 to 6' in
                fails(Code.NOT_FOUND, f.GetPort, node="leaf-001", port_number=7))
        assert ('"host-0001" has no port 0; its ports are 1 to 1' in
                fails(Code.NOT_FOUND, f.GetPort, node="host-0001", port_number=0))
        fails(Code.NOT_FOUND, f.GetPort, node="leaf-001", port_number=1000000)
        fails(Code.INVALID_ARGUMENT, f.GetForwardingTable, node="host-0001")
        fails(Code.FAILED_PRECONDITION, f.DisablePort, node="leaf-001", port_number=1)
        fails(Code.INVALID_ARGUMENT, f.DisablePort, node="leaf-001", port_number=0)
        fails(Code.OUT_OF_RANGE, lambda **a: list(f.WatchEvents(**a)), after_sequence=10**15)
        fails(Code.UNIMPLEMENTED, Fabric(f.channel, "fabric.v1.SimService").Unlink, node="x")
        fails(Code.UNIMPLEMENTED, Fabric(f.channel, "fabric.v2.FabricService").GetStatus)
        raw = f.channel.unary_unary(SERVICE + "GetNode")
        fails(Code.INVALID_ARGUMENT, lambda: raw(b"\xff\xff\xff", timeout=PATIENCE))
        hostile = fails(Code.NOT_FOUND, lambda: raw(b"\x0a\x04a\xff\nb", timeout=PATIENCE))
        assert "a\ufffd\ufffdb" in hostile, hostile


def before_the_first_view_only_status_answers():
    with fake_fabric(leaves=0) as f:
        status = f.GetStatus().status
        assert status.generation == 0 and not status.HasField("fabric")
        for method in ("ListNodes", "ListPorts", "ListLinks", "GetVerdict"):
            assert "published" in fails(Code.FAILED_PRECONDITION, getattr(f, method))


def requests_have_limits():
    with fake_fabric() as f:
        assert "too long" in fails(Code.RESOURCE_EXHAUSTED, f.GetNode, node="x" * 100000)
        raw = f.channel.unary_unary(SERVICE + "GetStatus")
        fails(Code.UNIMPLEMENTED,
              lambda: raw(b"", timeout=PATIENCE, compression=grpc.Compression.Gzip))
        assert f.GetStatus().status.state == "idle"


# ---- concurrency, deadlines, cancellation --------------------------------------------------------------------------

def many_calls_at_once():
    with fake_fabric(delay_ms=100) as f:
        calls = [f.Sweep(future=True) for _ in range(50)]
        calls += [f.ListPorts(future=True) for _ in range(300)]
        for call in calls[:50]:
            assert call.result().message == "done"
        for call in calls[50:]:
            assert len(call.result().ports) == 54


def deadlines_end_calls():
    with fake_fabric(delay_ms=3000) as f:
        start = time.monotonic()
        fails(Code.DEADLINE_EXCEEDED, f.Sweep, timeout=0.2)
        assert time.monotonic() - start < 2
        assert f.GetStatus().status.sweep.sweeps == 0


def the_server_keeps_deadlines_too():
    """A client sets a deadline, but does not end the call itself."""
    with fake(delay_ms=100000) as server:
        raw = http2.Raw(server.address)
        raw.send(http2.request(1, SERVICE + "Sweep", grpc_timeout="200m"))
        start = time.monotonic()
        for kind, flags, stream, _ in raw.frames():
            if kind == http2.HEADERS and stream == 1 and flags & http2.END_STREAM:
                break
        assert 0.1 < time.monotonic() - start < 20
        raw.close()


def cancelled_calls_are_forgotten():
    with fake_fabric(delay_ms=300) as f:
        for _ in range(200):
            call = f.Sweep(future=True)
            time.sleep(0.002)
            call.cancel()
            assert call.code() == Code.CANCELLED
        stream = f.WatchEvents()
        stream.cancel()
        assert f.Sweep().message == "done"


def connections_break_in_the_middle():
    """When a connection breaks, its calls end and use no resources afterwards."""
    with fake(delay_ms=200, events=5) as server:
        before = descriptors(server)
        for _ in range(30):
            raw = http2.Raw(server.address)
            raw.send(http2.request(1, SERVICE + "Sweep") + http2.request(3, SERVICE + "WatchEvents")
                     + http2.request(5, SERVICE + "GetVerdict", b"\x08\x01"))
            raw.close()
        wait_until(lambda: descriptors(server) <= before)
        memory = memory_kb(server)
        for _ in range(10):
            for _ in range(30):
                raw = http2.Raw(server.address)
                raw.send(http2.request(1, SERVICE + "WatchEvents"))
                raw.close()
            wait_until(lambda: descriptors(server) <= before)
        assert memory_kb(server) < memory + 8192 * SLACK, (memory, memory_kb(server))
        with channel(server.address) as c:
            assert Fabric(c).Sweep().message == "done"
            stream = Fabric(c).WatchEvents()
            first = next(stream).event.sequence
            assert next(stream).event.sequence == first + 1
            stream.cancel()


# ---- events ------------------------------------------------------------------------------------

def followers_see_every_event_in_order():
    with fake_fabric(events=20) as f:
        seen = []
        for answer in f.WatchEvents(after_sequence=100):
            seen.append(answer.event)
            if len(seen) == 2000:
                break
        assert [e.sequence for e in seen] == list(range(101, 2101))
        assert seen[0].type == "trap" and seen[0].subject == "leaf-1/1"
        assert seen[0].message.endswith("\ufffd") and seen[0].node_guid == "0x0000000000000042"


def a_journal_outside_a_database_has_no_name():
    """Without a database, the sequence numbers begin again with each start, so no name may identify them."""
    with fake_fabric(events=3) as f:
        answer = next(iter(f.WatchEvents()))
        assert answer.HasField("event") and answer.journal == "", answer


def followers_choose_severity():
    with fake_fabric(events=2) as f:
        for i, answer in enumerate(f.WatchEvents(
                min_severity=event_pb2.EVENT_SEVERITY_WARNING)):
            assert answer.event.severity == event_pb2.EVENT_SEVERITY_WARNING
            assert answer.event.fields["peer_guid"].text == "0x0000000000000042"
            assert answer.event.fields["tick"].number == 1
            if i == 20:
                break


def many_followers():
    with fake(events=10) as server:
        counts = []

        def follow():
            with channel(server.address, **{"grpc.use_local_subchannel_pool": 1}) as c:
                for i, _ in enumerate(Fabric(c).WatchEvents()):
                    if i == 300:
                        counts.append(i)
                        return

        threads = [threading.Thread(target=follow) for _ in range(20)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(PATIENCE)
        assert len(counts) == 20


def followers_that_fall_behind_learn_where_to_resume():
    with fake_fabric(events=2000) as f:
        stream = f.WatchEvents()
        first = next(stream).event.sequence
        newest = lambda: f.ListEvents(page_size=1).events[0].sequence
        wait_until(lambda: newest() > first + 30000)
        last, resume = first, None
        try:
            for answer in stream:
                assert resume is None, "an event comes after the last response"
                if answer.resume_after:
                    resume = answer.resume_after
                    continue
                assert answer.event.sequence == last + 1
                last += 1
            raise AssertionError("the stream ended well")
        except grpc.RpcError as error:
            assert error.code() == Code.RESOURCE_EXHAUSTED, error
            assert f"after_sequence {last}" in error.details(), (error.details(), last)
            assert resume == last


def followers_learn_how_many_debug_events_they_missed():
    with fake_fabric(events=2, env={"DEBUG_EVENTS": "1000"}) as f:
        sent, missed = 0, []
        for answer in f.WatchEvents():
            assert answer.HasField("event") != answer.HasField("missed")
            if answer.HasField("missed"):
                missed.append(answer.missed.debug_events)
                assert answer.missed.first_sequence == answer.missed.last_sequence == 0
            elif answer.event.severity == event_pb2.EVENT_SEVERITY_DEBUG:
                sent += 1
            if len(missed) == 3 and sent > 0:
                break
        # Of the 1000 events of a tick, at most 256 are kept. Every one of these is either sent or counted.
        assert all(n >= 1000 - 256 for n in missed), (sent, missed)
        # A client that requests no debug events misses none.
        for i, answer in enumerate(f.WatchEvents(min_severity=event_pb2.EVENT_SEVERITY_INFO)):
            assert answer.HasField("event") and answer.event.sequence > 0
            if i == 10:
                break


def followers_resume_at_the_edge_of_the_ring():
    """4096 events are kept. A follower that resumes within them misses none. A follower that resumes before them
    begins with the oldest event. A follower that resumes at the newest event waits for the next."""
    kept = 4096
    with fake_fabric(delay_ms=0) as f:
        for _ in range(kept // 8 + 5):
            for call in [f.Sweep(future=True) for _ in range(8)]:
                call.result()
        newest = f.ListEvents(page_size=1).events[0].sequence
        oldest = newest - kept + 1
        assert oldest > 4
        for after in (1, oldest - 3, oldest - 2, oldest - 1, oldest, oldest + 1, newest - 2, newest - 1):
            stream = f.WatchEvents(after_sequence=after)
            expected = max(after + 1, oldest)
            if expected > after + 1:
                missed = next(stream).missed
                assert (missed.first_sequence, missed.last_sequence) == (after + 1, oldest - 1), (missed, oldest)
            assert next(stream).event.sequence == expected, (after, oldest, newest)
            if expected < newest:
                assert next(stream).event.sequence == expected + 1
            stream.cancel()
        everything = [a.event.sequence for _, a in zip(range(kept), f.WatchEvents(after_sequence=oldest - 1))]
        assert everything == list(range(oldest, newest + 1))
        stream = f.WatchEvents(after_sequence=newest)
        f.Sweep()
        assert next(stream).event.sequence == newest + 1
        stream.cancel()
        fails(Code.OUT_OF_RANGE, lambda **a: list(f.WatchEvents(**a)), after_sequence=newest + 2)


def clients_that_never_read_disturb_nobody():
    with fake(leaves=20, spines=10, hosts=50, events=500) as server:
        silent = []
        for _ in range(10):
            raw = http2.Raw(server.address, http2.PREFACE + http2.settings(initial_window=2**31 - 1)
                            + http2.frame(http2.WINDOW, payload=(2**31 - 1 - 65535).to_bytes(
                                4, "big")))
            raw.send(http2.request(1, SERVICE + "WatchEvents"))
            raw.socket.settimeout(0.2)
            try:
                for i in range(90):
                    raw.send(http2.request(3 + 2 * i, SERVICE + "ListPorts", b"\x08\x90\x4e"))
            except socket.timeout:
                pass  # then the server does not read, either
            silent.append(raw)
        with channel(server.address) as c:
            f = Fabric(c)
            worst = 0
            for _ in range(50):
                start = time.monotonic()
                f.GetStatus()
                worst = max(worst, time.monotonic() - start)
            assert len(f.ListNodes().nodes) == 1000
        memory = int(open(f"/proc/{server.pid}/statm").read().split()[1]) * 4096
        print(f"# slowest GetStatus beside 10 silent clients: {worst * 1000:.1f} ms, "
              f"{memory >> 20} MiB")
        assert "san" in os.environ.get("CFLAGS", "") or memory < 600 << 20, memory
        for raw in silent:
            raw.close()


# ---- hostile bytes -----------------------------------------------------------------------------

def is_alive(server):
    with channel(server.address) as c:
        assert Fabric(c).GetStatus().status.state == "idle"


def garbage_closes_the_connection():
    seed = int(os.environ.get("TEST_SEED", "20261120"))
    print(f"# TEST_SEED={seed}")
    rng = random.Random(seed)
    with fake() as server:
        assert http2.Raw(server.address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").is_closed()
        assert http2.Raw(server.address, b"\x16\x03\x01\x02\x00\x01").socket.close() is None
        for _ in range(100):
            raw = http2.Raw(server.address)
            junk = b"".join(http2.frame(rng.randrange(12), rng.randrange(256),
                                        rng.choice([0, 1, 1, 2, 3, 2**31 - 1]),
                                        rng.randbytes(rng.randrange(60)))
                            for _ in range(20))
            try:
                raw.send(http2.request(1, SERVICE + "GetStatus") + junk)
                raw.socket.shutdown(socket.SHUT_WR)
                assert raw.is_closed()
            except (BrokenPipeError, ConnectionResetError):
                pass
            raw.close()
        for _ in range(50):
            whole = bytearray(http2.PREFACE + http2.settings() + http2.request(
                1, SERVICE + "ListNodes", b"\x08\x05"))
            for _ in range(rng.randrange(1, 6)):
                whole[rng.randrange(len(whole))] = rng.randrange(256)
            raw = http2.Raw(server.address, bytes(whole[:rng.randrange(len(whole))]))
            raw.close()
        is_alive(server)


def answer_of(server, path, body, **headers):
    """Sends a request with any body. Returns whether there is an HTTP status, the frames, and the data."""
    raw = http2.Raw(server.address)
    raw.send(http2.frame(http2.HEADERS, http2.END_HEADERS, 1, http2.request_headers(
        path, **headers)) + http2.frame(http2.DATA, http2.END_STREAM, 1, body))
    for kind, flags, stream, payload in raw.frames():
        if stream == 1 and kind in (http2.HEADERS, http2.RST) and (
                kind == http2.RST or flags & http2.END_STREAM):
            raw.close()
            return kind, payload
    raise AssertionError("no answer")


def wrong_framing_is_an_error_and_no_more():
    with fake() as server:
        status = SERVICE + "GetStatus"
        for body in (b"", b"\0", b"\0\0\0\0", b"\0\0\0\0\5abc", b"\0\xff\xff\xff\xff",
                     b"\1\0\0\0\0", b"\0\0\0\0\0" * 2, b"\0\0\0\0\0x"):
            kind, _ = answer_of(server, status, body)
            assert kind == http2.HEADERS, body
        for more in ({"grpc_timeout": "x"}, {"grpc_timeout": "123456789S"},
                     {"grpc_encoding": "gzip"}, {"content_type": "text/html"},
                     {"grpc_encoding": "x" * 200}):
            answer_of(server, status, b"\0\0\0\0\0", **more)
        for path in ("/", "//", "", "x", "/fabric.v1.FabricService/", "/" + "x" * 200):
            answer_of(server, path, b"\0\0\0\0\0")
        is_alive(server)


def floods_are_bounded():
    """The flood of a client uses a limited amount of memory, which is freed later. Other clients do not wait."""
    def flood(server, pieces):
        raw = http2.Raw(server.address)
        try:
            for piece in pieces:
                raw.send(piece)
        except (BrokenPipeError, ConnectionResetError, socket.timeout):
            pass
        return raw

    with fake() as server, channel(server.address) as c:
        f = Fabric(c)
        f.GetStatus()
        before, memory = descriptors(server), memory_kb(server)
        reset = (http2.frame(http2.HEADERS, http2.END_HEADERS, 2 * i + 1,
                             http2.request_headers(SERVICE + "GetStatus"))
                 + http2.frame(http2.RST, 0, 2 * i + 1, b"\0\0\0\x08") for i in range(20000))
        pings = [http2.frame(http2.PING, payload=b"12345678") * 20000, http2.settings() * 20000]
        for pieces in (reset, pings):
            raw = flood(server, pieces)
            start = time.monotonic()
            assert f.GetStatus(timeout=PATIENCE).status.generation > 0
            assert time.monotonic() - start < 5 * SLACK
            assert memory_kb(server) < memory + 32768 * SLACK, (memory, memory_kb(server))
            raw.close()
        wait_until(lambda: descriptors(server) <= before)
        assert f.Sweep().message == "done"
        is_alive(server)


def connections_are_counted():
    with fake() as server:
        opened = []
        for _ in range(200):
            s = socket.socket(socket.AF_UNIX)
            s.connect(server.address.removeprefix("unix:"))
            opened.append(s)
        wait_until(lambda: "too many connections are open, and this client has most" in server.log())
        # libevent closes descriptors at the end of a turn of the loop, in which up to 32 connections are accepted
        wait_until(lambda: descriptors(server) < 170)
        with channel(server.address) as c:  # the server closes silent connections at once
            Fabric(c).GetStatus(timeout=PATIENCE)
        for s in opened:
            s.close()


def idle_connections_make_way():
    with fake() as server:
        opened = [http2.Raw(server.address) for _ in range(128)]
        for raw in opened:  # until the server has acknowledged the settings of the client
            assert any(kind == http2.SETTINGS and flags == 1 for kind, flags, _, _ in raw.frames())
        with channel(server.address) as c:
            Fabric(c).GetStatus(timeout=PATIENCE)
        for raw in opened:
            raw.close()


def slow_handshakes_are_closed():
    with fake() as server:
        mute = socket.socket(socket.AF_UNIX)
        mute.settimeout(30)
        mute.connect(server.address.removeprefix("unix:"))
        start = time.monotonic()
        while mute.recv(4096):
            pass
        assert 8 < time.monotonic() - start < 25


# ---- TLS ---------------------------------------------------------------------------------------

def tls_needs_a_client_certificate_of_the_authority():
    ours, others = make_authority("ours"), make_authority("others")
    server_cert, client_cert = make_certificate(ours, "server"), make_certificate(ours, "client")
    stranger = make_certificate(others, "stranger")
    port = free_port()
    env = {"TLS_CERT": server_cert + ".crt", "TLS_KEY": server_cert + ".key",
           "TLS_CA": ours + ".crt", "SETTINGS": os.path.join(WORK, "roles.yaml")}
    with open(env["SETTINGS"], "w") as file:
        file.write("rpc: {roles: {operator: [{cn: client}]}}\n")

    def ask(cert, timeout):
        pair = (read(cert + ".key"), read(cert + ".crt")) if cert else (None, None)
        credentials = grpc.ssl_channel_credentials(read(ours + ".crt"), *pair)
        with grpc.secure_channel(f"localhost:{port}", credentials) as c:
            return Fabric(c).GetStatus(timeout=timeout).status.state

    with fake(address=f"tls:127.0.0.1:{port}", env=env) as server:
        assert ask(client_cert, PATIENCE) == "idle"
        for cert in (None, stranger):
            fails(Code.UNAVAILABLE, lambda: ask(cert, 20))
        old = subprocess.run(["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{port}",
                              "-cert", client_cert + ".crt", "-key", client_cert + ".key"],
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
        assert old.returncode != 0, old.stdout
        plain = socket.create_connection(("127.0.0.1", port))
        plain.sendall(http2.PREFACE + http2.settings())
        plain.settimeout(20)
        try:
            assert b"HTTP" not in plain.recv(100)
        except ConnectionResetError:
            pass
        plain.close()
        assert ask(client_cert, PATIENCE) == "idle"
        cli = [os.path.join(BUILD, "cli/fabricctl"), "-s", f"tls:localhost:{port}", "--tls-ca",
               ours + ".crt", "--tls-cert", client_cert + ".crt", "--tls-key",
               client_cert + ".key"]
        done = subprocess.run(cli + ["node", "list"], capture_output=True, text=True, timeout=30)
        assert done.returncode == 0 and done.stdout.count("\n") == 23, done
        enabled = subprocess.run(cli + ["port", "enable", "leaf-001/1"], capture_output=True, text=True, timeout=30)
        assert enabled.returncode == 0, enabled
        assert "certificate of client (tls, 127.0.0.1) EnablePort leaf-001/1" in server.log(), server.log()
        bad = subprocess.run(cli + ["--tls-name", "other.example", "status"], capture_output=True,
                             text=True, timeout=30)
        assert bad.returncode == 3 and "certificate" in bad.stderr, bad


def tls_without_files_is_refused():
    for env in ({"TLS_CERT": "/nonexistent", "TLS_KEY": "/nonexistent", "TLS_CA": "/nonexistent"},
                {}):
        done = subprocess.run([os.path.join(BUILD, "tests/rpc/rpc_server"), "tls:127.0.0.1:1"],
                              env=dict(os.environ, **env), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=30)
        assert done.returncode == 1 and "TLS" in done.stderr.upper(), done


# ---- sockets -----------------------------------------------------------------------------------

def the_socket_is_for_its_group_only():
    path = socket_path()
    with fake(address="unix:" + path):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o660
    assert not os.path.exists(path)


def the_log_names_who_asks():
    with fake() as server, channel(server.address) as c:
        Fabric(c).EnablePort(node="leaf-001", port_number=1)
        name = pwd.getpwuid(os.getuid()).pw_name
        assert f"{name} (uid {os.getuid()}) (unix, pid {os.getpid()}) EnablePort leaf-001/1" in server.log(), server.log()


def a_stale_socket_is_replaced_and_a_live_one_is_not():
    path = socket_path()
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(path)
    dead.close()
    with fake(address="unix:" + path) as server:
        second = subprocess.run([os.path.join(BUILD, "tests/rpc/rpc_server"), "unix:" + path],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=30)
        assert second.returncode == 1 and "running" in second.stderr, second
        is_alive(server)
    with open(path, "w") as file:
        file.write("mine")
    third = subprocess.run([os.path.join(BUILD, "tests/rpc/rpc_server"), "unix:" + path],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    assert third.returncode == 1 and read(path) == b"mine", third


# ---- generic tools -----------------------------------------------------------------------------

def health_is_served():
    request = dynamic("health", "grpc.health.v1.HealthCheckRequest")
    reply = dynamic("health", "grpc.health.v1.HealthCheckResponse")
    with fake() as server, channel(server.address) as c:
        check = c.unary_unary("/grpc.health.v1.Health/Check",
                              request_serializer=request.SerializeToString,
                              response_deserializer=reply.FromString)
        for name in ("", "fabric.v1.FabricService"):
            assert check(request(service=name), timeout=PATIENCE).status == 1
        fails(Code.NOT_FOUND, lambda: check(request(service="x"), timeout=PATIENCE))
        watch = c.unary_stream("/grpc.health.v1.Health/Watch",
                               request_serializer=request.SerializeToString,
                               response_deserializer=reply.FromString)
        stream = watch(request(), timeout=PATIENCE)
        assert next(stream).status == 1
        stream.cancel()
        assert next(watch(request(service="x"), timeout=PATIENCE)).status == 3


def reflection_gives_the_api():
    for version in ("v1alpha", "v1"):
        package = f"grpc.reflection.{version}"
        request = dynamic("reflection", package + ".ServerReflectionRequest")
        reply = dynamic("reflection", package + ".ServerReflectionResponse")
        with fake() as server, channel(server.address) as c:
            info = c.stream_stream(f"/{package}.ServerReflection/ServerReflectionInfo",
                                   request_serializer=request.SerializeToString,
                                   response_deserializer=reply.FromString)

            def ask(*questions):
                return list(info(iter([request(**q) for q in questions]), timeout=PATIENCE))

            names, nothing, missing = ask({"list_services": "*"}, {},
                                          {"file_containing_symbol": "fabric.v1.Nothing"})
            services = [s.name for s in names.list_services_response.service]
            assert "fabric.v1.FabricService" in services
            assert "fabric.v1.SimService" not in services
            assert nothing.error_response.error_code == 3
            assert missing.error_response.error_code == 5
            files, wanted = {}, []

            def learn(question):
                for data in ask(question)[0].file_descriptor_response.file_descriptor_proto:
                    file = descriptor_pb2.FileDescriptorProto.FromString(data)
                    for name in file.dependency:
                        if name not in files:
                            learn({"file_by_filename": name})
                    files[file.name] = file

            learn({"file_containing_symbol": "fabric.v1.FabricService.GetVersion"})
            version_reply = from_files(files.values(), "fabric.v1.GetVersionResponse")
            call = c.unary_unary(SERVICE + "GetVersion",
                                 response_deserializer=version_reply.FromString)
            assert call(b"", timeout=PATIENCE).api_version == "fabric.v1"


# ---- the whole daemon --------------------------------------------------------------------------

def read_metrics(url):
    request = urllib.request.Request(url, headers={"Accept": "application/openmetrics-text"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as page:
        assert page.headers["Content-Type"].startswith("application/openmetrics-text")
        lines = page.read().decode().splitlines()
    assert lines[-1] == "# EOF"
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def has_ended(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def metrics_are_served():
    fabsim, fabricd = (os.path.join(BUILD, p) for p in ("cli/fabsim", "fabricd/fabricd"))
    folder = os.path.dirname(socket_path())
    topology, address = os.path.join(folder, "f.net"), f"unix:{folder}/s"
    subprocess.run([fabsim, "generate", "leaf-spine", "--leaves", "4", "--spines", "2", "--hosts",
                    "4", "-o", topology], check=True)
    port = free_port()
    settings = os.path.join(folder, "f.yaml")
    with open(settings, "w") as f:
        f.write(f"metrics: {{listen: 127.0.0.1:{port}}}\n")
    command = [fabricd, "--sim", topology, "-f", settings, "--state-dir",
               os.path.join(folder, "state"), "--listen", address]
    url = f"http://127.0.0.1:{port}"
    with channel(address) as c:
        f, sim = Fabric(c), Fabric(c, "fabric.v1.SimService")
        ready = lambda process: wait_until(lambda: f.GetStatus(timeout=2).status.generation > 0)
        with running(command, ready):
            m = read_metrics(url + "/metrics")
            assert m["fabricd_master"] == "1" and m["fabricd_alarm"] == "0"
            assert m["fabricd_switches"] == "6" and m["fabricd_endports"] == "16"
            assert m["fabricd_links"] == m["fabricd_links_active"] == "24"
            assert m["fabricd_reroute_seconds_count"] == "0"
            assert int(m["fabricd_smps_sent_total"]) > 100
            sim.Unlink(node="leaf-001", port_number=5)
            wait_until(lambda: read_metrics(url + "/metrics")["fabricd_links_lost_total"] == "1")
            wait_until(lambda: read_metrics(url + "/metrics")["fabricd_links"] == "23")
            count = "fabricd_reroute_seconds_count"
            wait_until(lambda: int(read_metrics(url + "/metrics")[count]) > 0)
            m = read_metrics(url + "/metrics")
            assert m['fabricd_reroute_seconds_bucket{le="+Inf"}'] == m[count], m
            assert 0 < float(m["fabricd_reroute_seconds_sum"]) < 5
            assert float(m["fabricd_last_reroute_seconds"]) > 0
            turns = "fabricd_loop_iteration_seconds_count"
            assert m['fabricd_loop_iteration_seconds_bucket{le="+Inf"}'] == m[turns], m
            assert int(m[turns]) > 10 and float(m["fabricd_loop_iteration_seconds_sum"]) > 0
            assert 'fabricd_loop_longest_seconds{what="discovering"}' in m, m
            assert sum(name.startswith("fabricd_loop_iteration_longest_seconds{what=") for name in m) == 1, m
            phase = '{round="heavy sweep",phase="discovering"}'
            assert m["fabricd_phase_seconds_count" + phase] == "1", m
            for time in ("phase_seconds_sum", "phase_loop_cpu_seconds_sum", "phase_longest_seconds"):
                assert 0 < float(m["fabricd_" + time + phase]) < 60, (time, m)
            route = '{round="heavy sweep",phase="routing"}'
            assert float(m["fabricd_phase_worker_cpu_seconds_sum" + route]) > 0, m
            for path, method, code in (("/", "GET", 404), ("/metrics", "DELETE", 501),
                                       ("/metrics?" + "x" * 20000, "GET", 400)):
                try:
                    urllib.request.urlopen(urllib.request.Request(url + path, method=method),
                                           timeout=5)
                    assert False, path
                except urllib.error.HTTPError as e:
                    assert e.code == code, (path[:20], e.code)
            # silent connections: the oldest ones are closed, and other clients can still connect
            silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
            wait_until(lambda: sum(has_ended(s) for s in silent) == 100 - 32)
            assert all(has_ended(s) for s in silent[:68])
            assert read_metrics(url + "/metrics")["fabricd_master"] == "1"
            wait_until(lambda: all(has_ended(s) for s in silent))  # after 5 seconds
            for s in silent:
                s.close()


def the_daemon_on_its_simulated_fabric():
    fabsim, fabricd = (os.path.join(BUILD, p) for p in ("cli/fabsim", "fabricd/fabricd"))
    folder = os.path.dirname(socket_path())
    topology, address = os.path.join(folder, "f.net"), f"unix:{folder}/s"
    subprocess.run([fabsim, "generate", "leaf-spine", "--leaves", "4", "--spines", "2", "--hosts",
                    "4", "-o", topology], check=True)
    command = [fabricd, "--sim", topology, "--state-dir", os.path.join(folder, "state"), "--listen",
               address]
    with channel(address) as c:
        f, sim = Fabric(c), Fabric(c, "fabric.v1.SimService")
        ready = lambda process: wait_until(lambda: f.GetStatus(timeout=2).status.generation > 0)
        with running(command, ready):
            ends = {"source": "host-0001", "destination": "host-0016"}
            before = f.TracePath(**ends).path
            up = getattr(before.hops[1], "from")
            stream = f.WatchEvents()
            sim.Unlink(node=up.node_name, port_number=up.port_number)
            for answer in stream:
                if answer.event.type == "reroute-done":
                    break
            stream.cancel()
            during = f.TracePath(**ends).path
            assert during.reachable and during != before
            sim.Relink(node=up.node_name, port_number=up.port_number)
            wait_until(lambda: f.TracePath(**ends).path == before)
            fails(Code.NOT_FOUND, sim.Unlink, node="nobody", port_number=1)
            fails(Code.NOT_FOUND, sim.Unlink, node=up.node_name, port_number=200)
            links = lambda: f.GetStatus().status.fabric.links
            sim.Unlink(node="spine-001")
            wait_until(lambda: links() == 20)
            sim.Relink(node="spine-001")
            wait_until(lambda: links() == 24)
            wait_until(lambda: f.GetStatus().status.state == "idle")
            f.Sweep(), f.Reroute()
            status = f.GetStatus().status
            assert status.routing.deadlock_free and status.packets.sent > 100
            newest = f.ListEvents(page_size=1).events[0].sequence
            listed = pages(f.ListEvents, "events", 2)[::-1]
            assert [e.sequence for e in listed] == list(range(1, newest + 1))
            told = [a.event for _, a in zip(listed[1:], f.WatchEvents(after_sequence=1))]
            assert told == listed[1:]
            journal = next(iter(f.WatchEvents(after_sequence=1))).journal
            number, guid = journal.split("-")
            assert len(number) == 16 and int(number, 16) > 0, journal
            assert f"0x{guid}" == status.master_guid, (journal, status.master_guid)
            kept = [e for e in listed if e.severity != event_pb2.EVENT_SEVERITY_DEBUG]
        with running(command, ready):  # the journal continues
            assert f.ListEvents(page_size=1).events[0].sequence > newest
            assert next(iter(f.WatchEvents(after_sequence=1))).journal == journal
            told = [a.event for _, a in zip(kept[1:], f.WatchEvents(after_sequence=1))]
            assert told == kept[1:]
            assert pages(f.ListEvents, "events", 3)[::-1][:len(kept)] == kept


main([
    status_describes_the_fabric,
    nodes_ports_and_links_are_listed,
    paths_and_tables_agree,
    requests_answer_when_the_work_is_done,
    every_list_comes_in_pages,
    pages_add_up_to_the_whole,
    flapping_links_are_listed_and_released,
    the_m_key_is_rotated,
    unhealthy_links_are_listed_and_isolated,
    counters_are_listed_in_pages,
    contingencies_come_in_pages,
    reroutes_are_listed_newest_first,
    large_fabrics_come_in_pages_of_a_thousand,
    page_tokens_are_checked,
    errors_have_codes_and_help,
    before_the_first_view_only_status_answers,
    requests_have_limits,
    many_calls_at_once,
    deadlines_end_calls,
    the_server_keeps_deadlines_too,
    cancelled_calls_are_forgotten,
    connections_break_in_the_middle,
    followers_see_every_event_in_order,
    a_journal_outside_a_database_has_no_name,
    followers_choose_severity,
    many_followers,
    followers_that_fall_behind_learn_where_to_resume,
    followers_learn_how_many_debug_events_they_missed,
    followers_resume_at_the_edge_of_the_ring,
    clients_that_never_read_disturb_nobody,
    garbage_closes_the_connection,
    wrong_framing_is_an_error_and_no_more,
    floods_are_bounded,
    connections_are_counted,
    idle_connections_make_way,
    slow_handshakes_are_closed,
    tls_needs_a_client_certificate_of_the_authority,
    tls_without_files_is_refused,
    the_socket_is_for_its_group_only,
    the_log_names_who_asks,
    a_stale_socket_is_replaced_and_a_live_one_is_not,
    health_is_served,
    reflection_gives_the_api,
    metrics_are_served,
    the_daemon_on_its_simulated_fabric,
])
