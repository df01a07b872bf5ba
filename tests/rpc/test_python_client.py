"""The Python package (clients/python) and fabricd on its simulated fabric. The examples are in
test_python_examples.py."""

import asyncio
import datetime
import os
import shutil
import subprocess
import threading
import time

import grpc
from google.protobuf import timestamp_pb2

import python_client
from harness import PATIENCE, SOURCE, main, make_certificate, wait_until
from old_manager import old_manager
from place import Place, TlsPlace

python_client.skip_or_install()

import fabricd
from fabricd import Fabric, calls, link_name, values, word
from fabricd.v1 import (drain_pb2, event_pb2, port_pb2, route_pb2, sim_service_pb2_grpc, sim_service_pb2,
                        status_pb2)
from fabricd.watch import Position

DEGRADED = "spine-002/1 - leaf-001/4"
REROUTES = ["link-down", "reroute-done"]


def raises(kind, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except fabricd.FabricError as error:
        assert type(error) is kind, repr(error)
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def types_are_right():
    """mypy accepts the package and a program that uses it, and finds the mistake of another one."""
    if not shutil.which("mypy"):
        print("# no mypy: the types were not checked")
        return
    with open(os.path.join(python_client.WORK, "wrong.py"), "w") as f:
        f.write("from fabricd import Fabric\nname: str = Fabric().links()[0].degraded\n")
    config = os.path.join(SOURCE, "clients/python/pyproject.toml")
    cache = os.path.join(python_client.WORK, "mypy")

    def mypy(*what):
        return subprocess.run(["mypy", "--config-file", config, "--cache-dir", cache, *what], cwd=python_client.SITE,
                              capture_output=True, text=True, timeout=5 * PATIENCE)

    right = mypy("-p", "fabricd")
    assert right.returncode == 0, right.stdout
    wrong = mypy(f.name)
    assert wrong.returncode == 1 and '"bool"' in wrong.stdout and "Found 1 error" in wrong.stdout, wrong


def degrade(place):
    place.ctl("sim", "degrade", "leaf-001/4", "--width", "1x")


def degraded_links_and_reroutes_are_seen():
    place = Place()
    place.write("f.yaml", "")
    with place.daemon(), Fabric(place.address) as fabric:
        assert fabric.links(state="degraded") == []
        place.rest()
        events = fabric.watch(types=REROUTES + ["link-degraded"], seconds=PATIENCE)
        degrade(place)
        assert next(e for e in events if e.type == "link-degraded").subject in DEGRADED
        link, = fabric.links(state="degraded")
        assert (link_name(link), link.rate_reason) in [
            (DEGRADED, "width 1x of 4x"), (" - ".join(reversed(DEGRADED.split(" - "))), "width 1x of 4x")], link
        assert link.state == port_pb2.PORT_STATE_ACTIVE and fabric.status().fabric.degraded_links == 1
        drain = fabric.drain("leaf-001/4", "link", reason="a cable of width 1x")
        assert drain.link_count == 1 and [d.name for d in fabric.drains()] == ["leaf-001/4"], drain
        assert fabric.undrain("leaf-001/4", "link") == "1 drain ended"
        place.rest()
        events = fabric.watch(types=REROUTES, seconds=PATIENCE, after=max(e.sequence for e in fabric.events()))
        place.ctl("sim", "unlink", "leaf-002/3")
        down, done = next(e for e in events if e.type == "link-down"), next(
            e for e in events if e.type == "reroute-done")
        assert "leaf-002/3" in down.message and values(done)["duration_us"] > 0, done
        assert wait_until(fabric.reroutes)[0].links_lost == 1
        assert list(fabric.watch(seconds=0.2)) == []


def everything_is_answered():
    place = Place()
    place.write("f.yaml", "")
    with place.daemon(), Fabric(place.address) as fabric:
        assert len(fabric.nodes()) == 8 and {n.name for n in fabric.nodes("switch")} == {
            "leaf-001", "leaf-002", "spine-001", "spine-002"}
        assert len(fabric.links()) == len(fabric.links("active")) == 8 and len(fabric.links(node="leaf-001")) == 4
        linked = [p.port.port_number for p in fabric.ports("leaf-001", state="active") if p.peer.node_name]
        assert linked == [1, 2, 3, 4]
        assert fabric.port("leaf-001/1").peer.node_name == "host-0001" == fabric.host("host-0001").name
        assert fabric.port(fabric.links(node="host-0001")[0]).state == port_pb2.PORT_STATE_ACTIVE
        assert [h.name for h in fabric.hosts()] == [f"host-000{n}" for n in range(1, 5)] and fabric.racks() == []
        assert [n.name for n in fabric.nodes(name="LEAF-00[1-1]")] == ["leaf-001"]
        assert [h.name for h in fabric.hosts(name="host-000[3-9]")] == ["host-0003", "host-0004"]
        assert [p.port.port_number for p in fabric.ports("leaf-001/[1-2]")] == [1, 2]
        path = fabric.path("host-0001", "host-0004")
        assert path.reachable and len(path.hops) == 4
        assert fabric.whatif("leaf-001/3").lost_endport_count == 0 < fabric.whatif("leaf-002").lost_endport_count
        assert b"SwitchName=leaf-001 Nodes=host-[0001-0002]" in fabric.export("slurm")
        assert fabric.partitions() == fabric.unhealthy_links() == fabric.flapping_links() == fabric.gone_nodes() == []
        assert "role" in fabricd.as_dict(fabric.whoami()) and fabric.node("leaf-001").active_port_count == 4
        assert fabricd.time_of(fabric.status().publish_time).tzinfo is not None
        every = [e.sequence for e in fabric.events()]
        assert every == sorted(every, reverse=True) and every[0] == fabric.last_sequence()
        assert {e.type for e in fabric.events(types="sweep-*")} == {"sweep-done"}


def inventory_is_read():
    place = Place()
    place.write("f.yaml", "inventory: {read: yes, requests: 10000}\n")
    with place.daemon(), Fabric(place.address) as fabric:
        wait_until(lambda: all(n.read_time.seconds > 0 for n in fabric.node_inventory()))
        everything = fabric.node_inventory()
        assert len(everything) == 8 and len({n.serial_number for n in everything}) == 8
        assert all(n.firmware and n.psid and not n.temperature.high for n in everything)
        switches = fabric.node_inventory("switch")
        assert [len(n.fan_rpm) for n in switches] == [4] * 4 and min(r for n in switches for r in n.fan_rpm) > 1000
        assert [n.name for n in fabric.node_inventory(name="leaf-00*")] == ["leaf-001", "leaf-002"]
        assert fabric.node_inventory(odd=True) == [n for n in everything if n.odd_firmware]
        assert fabric.node_inventory(hot=True) == fabric.node_inventory(gone=True) == fabric.cable_inventory(hot=True) == []
        assert len(fabric.cable_inventory()) == 2 * 8
        one, = fabric.cable_inventory("leaf-001/1")
        assert one.peer.node_name == "host-0001" and one.medium == "copper" and one.length_metres > 0
        raises(fabricd.NotFound, fabric.cable_inventory, rack="Z9")

        async def same():
            async with fabricd.AsyncFabric(place.address) as other:
                assert await other.node_inventory() == everything
                assert await other.cable_inventory("leaf-001/1") == [one]

        asyncio.run(same())


def lists_have_no_pages():
    place = Place()
    place.write("f.yaml", "")
    with place.daemon(), Fabric(place.address) as fabric:
        ports, events = fabric.ports(), list(fabric.events())
        whole, calls.ANY_PAGE = calls.ANY_PAGE, 3
        try:
            assert fabric.ports() == ports and list(fabric.events()) == events
            assert len(fabric.links("active")) == 8
        finally:
            calls.ANY_PAGE = whole


def changes_tell_their_reason():
    place = Place()
    place.write("f.yaml", "")
    with place.daemon(), Fabric(place.address) as fabric:
        link = next(x for x in fabric.links(node="leaf-001") if "spine-001" in link_name(x))
        reason = "100 % of \"ü\" – cable 5"
        assert "isolated" in fabric.isolate(link, reason=reason)
        assert [link_name(x) for x in fabric.unhealthy_links() if x.isolated and x.by_operator] == [link_name(link)]
        raises(fabricd.AlreadyExists, fabric.isolate, link)
        assert "released" in fabric.release(link) and fabric.unhealthy_links() == []
        assert "disabled" in fabric.disable_port("leaf-001/4") and "enabled" in fabric.enable_port("leaf-001/4")
        assert fabric.sweep(reason="x") and fabric.reroute()
        assert f'"{reason}"'.replace('"ü"', '\\"ü\\"') in place.ctl("audit", "list", "-o", "json", "--method",
                                                                   "IsolateLink")
        raises(fabricd.InvalidArgument, fabric.sweep, reason="ü" * 200)


def switches_are_drained():
    place = Place()
    place.write("f.yaml", "counters: {interval: 1}\n")
    with place.daemon(), Fabric(place.address) as fabric:
        place.rest()
        used = lambda: sum(e.out_port == 3 and e.owner.node_name != "spine-001"
                           for e in fabric.forwarding_table("leaf-001"))
        assert used() > 0 and fabric.preview_drain("spine-001").nodes == ["spine-001"]
        started = fabric.drain("spine-001", until=datetime.timedelta(hours=2), reason="a fan")
        assert started.reason == "a fan" and 7000 < (fabricd.time_of(started.until) - fabricd.time_of(
            started.since)).total_seconds() < 7300, started
        drain = wait_until(lambda: [d for d in fabric.drains() if word(drain_pb2.DrainState, d.state) == "drained"])
        assert used() == 0 == drain[0].used_link_count, drain
        raises(fabricd.Refused, fabric.drain, "spine-002")
        raises(fabricd.AlreadyExists, fabric.drain, "spine-001")
        raises(fabricd.InvalidArgument, fabric.drain, "spine-001", "cable")
        assert fabric.undrain("spine-001") == "1 drain ended" and wait_until(used) > 0
        raises(fabricd.NotFound, fabric.undrain, "spine-001")
        assert len(fabric.plan_drains(keep_percent=50).batches) >= 2


POLICY = """partitions:
  - {name: Default, pkey: 0x7fff, ipoib: yes, full: [ALL]}
"""
JOBS = """partitions:
  - {name: jobs, pkey: 0x11, full: [host-0001, host-0002]}
"""


def policies_are_applied():
    place = Place()
    place.write("f.yaml", "")
    os.mkdir(place.path("policy"))
    place.write("policy/10-base.yaml", POLICY)
    place.write("policy/20-jobs.yml", JOBS)
    files = fabricd.read_policy(place.path("policy"))
    names = lambda: {p.name for p in fabric.partitions()}
    with place.daemon(), Fabric(place.address) as fabric:
        place.rest()
        assert fabric.policy() is None and fabric.policy_history() == []
        plan = fabric.plan_policy(files)
        assert list(plan.sections) == ["partitions"] and plan.base_version == 0 and fabric.policy() is None, plan
        done = fabric.apply_policy(files, reason="CHG-8")
        assert done.version == 1 and done.message and wait_until(lambda: names() == {"Default", "jobs"}), done
        policy = fabric.policy()
        assert policy.in_force and policy.reason == "CHG-8" and list(fabricd.split_policy(policy.text)) == list(files)
        assert fabricd.split_policy(policy.text) == files
        assert "jobs" in str(raises(fabricd.Refused, fabric.apply_policy, POLICY))
        raises(fabricd.Conflict, fabric.apply_policy, POLICY, confirmed=True, base_version=7)
        plan = fabric.plan_policy(POLICY)
        assert any("jobs" in text for text in plan.confirmations), plan
        assert fabric.apply_policy(POLICY, confirmed=True, base_version=1).version == 2
        wait_until(lambda: names() == {"Default"})
        assert {c.path.split(".")[1] for c in fabric.policy_diff(1, 2)} == {"jobs"}, fabric.policy_diff(1, 2)
        assert fabric.plan_rollback(1).changes and fabric.rollback_policy(1, reason="back").version == 3
        assert [v.version for v in fabric.policy_history()] == [3, 2, 1]
        assert fabricd.split_policy(fabric.policy(2).text) == {"policy": POLICY}
        wait_until(lambda: names() == {"Default", "jobs"})
        wrong = raises(fabricd.NotFound, fabric.apply_policy, {"x.yaml": JOBS.replace("host-0002", "host-0009")})
        assert "x.yaml:2:" in str(wrong) and "host-0009" in str(wrong), wrong
        raises(fabricd.InvalidArgument, fabric.plan_policy, "partitions: 7\n")

        async def read():
            async with fabricd.AsyncFabric(place.address) as other:
                return await other.policy(), await other.policy_history(), await other.policy_diff(1, 3)

        policy, history, changes = asyncio.run(read())
        assert policy.version == 3 and len(history) == 3 and changes == []
    raises(fabricd.InvalidArgument, fabricd.read_policy, place.path("state"))


def jobs_are_compared_with_faults():
    place = Place()
    place.write("f.yaml", "")
    with place.daemon(), Fabric(place.address) as fabric:
        place.rest()
        a, b = fabric.affected_jobs({"7": "host-[0001-0002],host-0003", "8": ["host-0004", "nix[1-2]"]}, "host-0002")
        assert (a.id, a.hosts, list(a.lost_hosts), a.pairs, a.hit_pairs) == ("7", 3, ["host-0002"], 6, 4), a
        assert (b.id, b.hosts, b.hit_pairs, list(b.unknown_hosts)) == ("8", 1, 0, ["nix1", "nix2"]), b
        raises(fabricd.NotFound, fabric.affected_jobs, {"7": "host-0001"}, "nobody")


def errors_are_sentences():
    place = Place()
    place.write("f.yaml", "")
    with place.daemon(), Fabric(place.address) as fabric:
        assert str(raises(fabricd.NotFound, fabric.node, "nobody")) == 'no node, GUID or LID "nobody"'
        assert "host-0001 would be cut off" in str(raises(fabricd.Refused, fabric.isolate, "leaf-001/1"))
        raises(fabricd.InvalidArgument, fabric.isolate, "leaf-001")
        assert "slurm" in str(raises(fabricd.InvalidArgument, fabric.export, "zip"))
        assert "active" in str(raises(fabricd.InvalidArgument, fabric.links, "broken"))
        future = fabric.watch(after=1 << 40, seconds=PATIENCE)
        assert raises(fabricd.JournalReplaced, future.__next__).code == "OUT_OF_RANGE"
    for address in ("fm1", "tls:fm1", "unix:", "http://x"):
        assert "unix:PATH and tls:HOST:PORT" in str(raises(fabricd.InvalidArgument, Fabric, address))
    raises(fabricd.InvalidArgument, Fabric, "tls:localhost:1", ca="/nowhere", cert="x", key="y")
    with Fabric(place.address) as fabric:
        raises(fabricd.Unavailable, fabric.status)
        raises(fabricd.Unavailable, fabric.watch)


def collect(place, seen, until):
    """Reads all events of severity info and above into a list, in a thread, until one satisfies `until`."""
    fabric = Fabric(place.address)
    events = fabric.watch(patience=PATIENCE)

    def read():
        with fabric:
            for event in events:
                seen.append(event)
                if until(event):
                    return

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def watching_survives_a_restart():
    """No event is lost or repeated, also if the manager is killed and its socket is gone for a while."""
    place, seen = Place(), []
    place.write("f.yaml", "")
    with place.daemon(), Fabric(place.address) as fabric:
        place.rest()
        first = fabric.last_sequence()
        thread = collect(place, seen, lambda e: e.type == "reroute-done" and len(seen) > 5)
        place.ctl("sim", "unlink", "leaf-001/3")
        wait_until(lambda: seen)
    time.sleep(0.5)
    with place.daemon(), Fabric(place.address) as fabric:
        place.rest()
        wait_until(lambda: any(e.type == "sm-master" for e in seen))
        place.ctl("sim", "unlink", "leaf-002/4")
        thread.join(PATIENCE)
        assert not thread.is_alive()
        sequences = [e.sequence for e in seen]
        assert sequences == list(range(first + 1, first + 1 + len(seen))), (first, sequences)
        stored = [e.sequence for e in fabric.events(after=first, before=sequences[-1] + 1)]
        assert stored == list(reversed(sequences)), (stored, sequences)
        assert [e.type for e in seen].count("sm-master") == 1


def coroutines_survive_a_restart():
    place, seen = Place(), []
    place.write("f.yaml", "")

    async def read(after):
        async with fabricd.AsyncFabric(place.address) as fabric:
            async for event in fabric.watch(after=after, seconds=PATIENCE):
                seen.append(event)
                if event.type == "sweep-done":
                    return

    async def run():
        with place.daemon(), Fabric(place.address) as fabric:
            await asyncio.to_thread(place.rest)
            after = fabric.last_sequence()
            task = asyncio.create_task(read(after))
            place.ctl("sim", "unlink", "leaf-001/3")
            await asyncio.to_thread(wait_until, lambda: seen)
        daemon = place.daemon()
        await asyncio.to_thread(daemon.__enter__)
        try:
            await asyncio.wait_for(task, PATIENCE)
        finally:
            await asyncio.to_thread(daemon.__exit__, None, None, None)
        assert [e.sequence for e in seen] == list(range(after + 1, after + 1 + len(seen))), seen
        assert {"link-down", "sm-master", "sweep-done"} <= {e.type for e in seen}, seen

    asyncio.run(run())


def positions_report_gaps():
    """What a stream says about events that cannot be sent, which would need thousands of events here."""
    def response(**fields):
        return event_pb2.WatchEventsResponse(**fields)

    missed = response(missed=event_pb2.MissedEvents(first_sequence=5, last_sequence=9))
    event = [response(event=event_pb2.Event(sequence=n, type="link-up")) for n in range(13)]
    position = Position(4, "link-*", "info", None, None, None)
    assert position.take(event[4]) is None and position.after == 4
    error = raises(fabricd.EventsMissed, position.take, missed)
    assert (error.first, error.last) == (5, 9)
    told = []
    position = Position(4, "node-*", "info", None, None, told.append)
    assert position.take(missed) is None and told[0].last_sequence == 9 and position.request().after_sequence == 9
    assert position.take(event[10]) is None and position.after == 10
    assert position.take(response(resume_after=11)) is None and position.request().after_sequence == 11


def positions_know_journals():
    """Another manager answers, and then the first one again."""
    def response(journal, sequence, **fields):
        fields["event"] = event_pb2.Event(sequence=sequence, type="link-up", time=timestamp_pb2.Timestamp(seconds=sequence))
        return event_pb2.WatchEventsResponse(journal=journal, **fields)

    told = []
    position = Position(7, "", "info", None, None, told.append)
    assert position.request().journal == ""
    assert position.take(response("a", 7)) is None and position.take(response("a", 8)).sequence == 8
    request = position.request()
    assert (request.journal, request.after_sequence, request.after_time.seconds) == ("a", 8, 8)
    other = event_pb2.WatchEventsResponse(journal="b", missed=event_pb2.MissedEvents(other_journal=True))
    assert position.take(other) is None and told[0].other_journal
    assert position.take(response("b", 3)).sequence == 3 and position.request().after_sequence == 3
    # back at the first manager: the stream begins again at its last event
    assert position.take(response("a", 12)) is None and position.again
    request = position.request()
    assert (request.journal, request.after_sequence, position.again) == ("a", 8, False)
    assert position.take(response("a", 8)) is None and position.take(response("a", 9)).sequence == 9


def coroutines_do_the_same():
    place, seen = Place(), []
    place.write("f.yaml", "")

    async def run():
        async with fabricd.AsyncFabric(place.address) as fabric:
            after = await fabric.last_sequence()
            degrade(place)
            await asyncio.to_thread(wait_until, lambda: "leaf-001/4" in place.ctl("link", "list", "--degraded"))
            assert len(await fabric.links(state="degraded")) == 1 and len(await fabric.hosts()) == 4
            place.ctl("sim", "unlink", "leaf-002/3")
            async for event in fabric.watch(REROUTES, after=after, seconds=PATIENCE):
                seen.append(event.type)
                if event.type == "reroute-done":
                    break
            assert "link-down" in seen, seen
            assert b"graph" in await fabric.export("dot")
            assert [e.type async for e in fabric.events(types="link-down")] == ["link-down"]
            place.ctl("sim", "relink", "leaf-002/3")
            await asyncio.to_thread(place.rest)
            assert (await fabric.drain("leaf-001/4", "link", reason="slow")).reason == "slow"
            assert [d.name for d in await fabric.drains()] == ["leaf-001/4"]
            assert "ended" in await fabric.undrain("leaf-001/4", "link")
            try:
                await fabric.node("nobody")
            except fabricd.NotFound as error:
                assert "nobody" in str(error)
            else:
                raise AssertionError("there is such a node")

    with place.daemon():
        place.rest()
        asyncio.run(run())


def tls_and_roles_are_obeyed():
    place = TlsPlace()
    place.settings()
    good, viewer = make_certificate(place.ca, "good"), make_certificate(place.ca, "viewer")

    def fabric(certificate):
        return Fabric(f"tls:localhost:{place.port}", ca=place.ca + ".crt", cert=certificate + ".crt",
                      key=certificate + ".key")

    with place.daemon():
        with fabric(viewer) as f:
            assert len(f.links()) == 6 and f.whoami().caller == "certificate of viewer"
            assert "operator" in str(raises(fabricd.Denied, f.disable_port, "leaf-001/3"))
        with fabric(good) as f:
            sim = sim_service_pb2_grpc.SimServiceStub(f.channel)
            events = f.watch("link-down", seconds=PATIENCE)
            sim.Unlink(sim_service_pb2.UnlinkRequest(node="host-0002"), timeout=PATIENCE)
            message = next(events).message
            assert "leaf-001/2" in message, message
        raises(fabricd.InvalidArgument, Fabric, f"tls:localhost:{place.port}")
        variables = {"FABRICCTL_SERVER": f"tls:localhost:{place.port}", "FABRICCTL_TLS_CA": place.ca + ".crt",
                     "FABRICCTL_TLS_CERT": good + ".crt", "FABRICCTL_TLS_KEY": good + ".key"}
        os.environ.update(variables)
        try:
            with Fabric() as f:
                assert f.whoami().caller == "certificate of good"
        finally:
            for name in variables:
                del os.environ[name]


def an_old_manager_gets_no_dry_run():
    """It does not know the field dry_run, and would make the change."""
    async def dry_runs(address):
        async with fabricd.AsyncFabric(address) as fabric:
            for call in (fabric.disable_port("leaf-001/1", dry_run=True), fabric.sweep(dry_run=True),
                         fabric.stub.Sweep(status_pb2.SweepRequest(dry_run=True))):
                try:
                    await call
                    raise AssertionError("NotSupported was not raised")
                except fabricd.NotSupported:
                    pass

    with old_manager("Reroute") as manager:
        with Fabric(manager.address) as fabric:
            error = raises(fabricd.NotSupported, fabric.disable_port, "leaf-001/1", dry_run=True)
            assert str(error) == ("fabricd 0.0.9 has no dry run of DisablePort, and would make the change; update "
                                  "fabricd"), error
            raises(fabricd.NotSupported, fabric.undrain, "leaf-001", dry_run=True)
            sweep = status_pb2.SweepRequest(dry_run=True)
            raises(fabricd.NotSupported, fabric.stub.Sweep, sweep, timeout=PATIENCE)
            raises(fabricd.NotSupported, fabric.stub.Sweep.with_call, sweep, timeout=PATIENCE)
            raises(fabricd.NotSupported, fabric.stub.Sweep.future(sweep, timeout=PATIENCE).result)
        asyncio.run(dry_runs(manager.address))
        assert manager.called == [], manager.called
        with Fabric(manager.address) as fabric:
            fabric.reroute(dry_run=True)
            fabric.stub.Reroute(route_pb2.RerouteRequest(dry_run=True), timeout=PATIENCE)
            fabric.disable_port("leaf-001/1")
        assert manager.called == ["Reroute", "Reroute", "DisablePort"], manager.called


main([
    types_are_right,
    degraded_links_and_reroutes_are_seen,
    everything_is_answered,
    inventory_is_read,
    lists_have_no_pages,
    changes_tell_their_reason,
    switches_are_drained,
    policies_are_applied,
    jobs_are_compared_with_faults,
    errors_are_sentences,
    an_old_manager_gets_no_dry_run,
    watching_survives_a_restart,
    coroutines_survive_a_restart,
    positions_report_gaps,
    positions_know_journals,
    coroutines_do_the_same,
    tls_and_roles_are_obeyed,
])
