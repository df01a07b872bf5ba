# SPDX-License-Identifier: BSD-3-Clause
"""Fabric: the calls of a manager, for programs without asyncio."""

from __future__ import annotations

import time
from typing import Any, Callable, Iterator, List, Mapping, Optional, TypeVar

import grpc

from . import calls
from .calls import Call, Pages
from .connection import Connection, metadata
from .errors import from_grpc
from .guard import DryRunGuard
from .policy import Policy
from .text import When, Words
from .v1 import (access_pb2, drain_pb2, event_pb2, fabric_service_pb2_grpc, host_pb2, inventory_pb2, job_pb2, link_pb2,
                 node_pb2, partition_pb2, policy_pb2, port_pb2, quality_pb2, reroute_pb2, route_pb2, status_pb2)
from .watch import Position

T = TypeVar("T")
# Without an answer after this many seconds, a call fails with TimedOut.
TIMEOUT = 60.0


class Fabric:
    """The manager of a fabric. Use it with `with`, or call close().

    address  unix:PATH or tls:HOST:PORT; None: FABRICCTL_SERVER, or else the socket of this machine
    ca, cert, key  files for tls: addresses; None: FABRICCTL_TLS_CA, FABRICCTL_TLS_CERT and FABRICCTL_TLS_KEY
    timeout  seconds after which a call fails

    The results are the messages of the API (fabricd.v1), with all their fields. NODE is a name, LID or GUID. A port
    is "NODE/PORT", or a message PortRef, Port or Link. `stub` is the stub of gRPC, with all methods of the API.
    """

    def __init__(self, address: Optional[str] = None, *, ca: Optional[str] = None, cert: Optional[str] = None,
                 key: Optional[str] = None, timeout: float = TIMEOUT):
        self.timeout = timeout
        guard = DryRunGuard()
        self.channel = grpc.intercept_channel(Connection.parse(address, ca, cert, key).channel(grpc), guard)
        self.stub: Any = fabric_service_pb2_grpc.FabricServiceStub(self.channel)  # type: ignore[no-untyped-call]
        guard.stub = self.stub

    def close(self) -> None:
        self.channel.close()

    def __enter__(self) -> "Fabric":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _call(self, call: Call[T], reason: str = "") -> T:
        return call.result(self._send(call.method, call.request, reason))

    def _send(self, method: str, request: Any, reason: str = "") -> Any:
        try:
            return getattr(self.stub, method)(request, timeout=self.timeout, metadata=metadata(reason))
        except grpc.RpcError as error:
            raise from_grpc(error) from error

    def _rows(self, pages: Pages[T]) -> Iterator[T]:
        token = ""
        while True:
            reply = self._send(pages.method, pages.page(token))
            yield from pages.of(reply)
            token = reply.next_page_token
            if not token:
                return

    def _pages(self, pages: Pages[T]) -> List[T]:
        return list(self._rows(pages))

    def status(self) -> status_pb2.Status:
        """Returns the state of the manager and of the fabric."""
        return self._call(calls.status())

    def whoami(self) -> access_pb2.WhoAmIResponse:
        """Returns the identity and the role of the caller."""
        return self._call(calls.whoami())

    def nodes(self, type: str = "", rack: str = "", name: str = "") -> List[node_pb2.Node]:
        """Lists nodes. `type` is "switch", "adapter" or "router". `name` and `rack` may be patterns: "leaf-0[1-8]"."""
        return self._pages(calls.nodes(type, rack, name))

    def node(self, name: str) -> node_pb2.Node:
        """Returns a node. Raises NotFound also for a node that has left the fabric."""
        return self._call(calls.node(name))

    def gone_nodes(self, type: str = "") -> List[node_pb2.GoneNode]:
        """Lists nodes that left the fabric; the last one comes first."""
        return self._pages(calls.gone_nodes(type))

    def ports(self, node: str = "", state: str = "", rack: str = "") -> List[port_pb2.Port]:
        """Lists ports. `state` is "down", "init", "armed" or "active". `node` may be NODE/PORT; `node` and `rack`
        may be patterns: "leaf-0[1-8]/*"."""
        return self._pages(calls.ports(node, state, rack))

    def port(self, port: Any) -> port_pb2.Port:
        """Returns a port."""
        return self._call(calls.port(port))

    def links(self, state: str = "", node: str = "", rack: str = "") -> List[link_pb2.Link]:
        """Lists links. `state` is "degraded", or the state of a port: "init", "armed" or "active". gone_links() lists
        links that are down."""
        return self._pages(calls.links(state, node, rack))

    def gone_links(self, node: str = "") -> List[node_pb2.GoneLink]:
        """Lists links that were part of the fabric and are not any more; the last one comes first."""
        return self._pages(calls.gone_links(node))

    def unhealthy_links(self, watched: bool = False) -> List[link_pb2.UnhealthyLink]:
        """Lists links that are isolated or have errors; with `watched` also those below the threshold."""
        return self._call(calls.unhealthy_links(watched))

    def flapping_links(self) -> List[link_pb2.FlappingLink]:
        """Lists links that went down several times."""
        return self._call(calls.flapping_links())

    def hosts(self, rack: str = "", name: str = "") -> List[host_pb2.Host]:
        """Lists hosts, with their adapters. `name` and `rack` may be patterns: "host-00[01-16]"."""
        return self._pages(calls.hosts(rack, name))

    def host(self, name: str) -> host_pb2.Host:
        """Returns a host."""
        return self._call(calls.host(name))

    def racks(self) -> List[host_pb2.Rack]:
        """Lists the racks of the operator's file of locations."""
        return self._call(calls.racks())

    def node_inventory(self, type: str = "", rack: str = "", name: str = "", *, odd: bool = False,
                        hot: bool = False, gone: bool = False) -> List[inventory_pb2.NodeInventory]:
        """Lists what devices say about themselves: part and serial numbers, firmware, temperature, fans. `odd`: only
        those with other firmware than their peers. `hot`: only those above their limit. `gone`: the devices that left
        the fabric, and no others. The manager reads devices only if the setting inventory.read is yes."""
        return self._pages(calls.node_inventory(type, rack, name, odd, hot, gone))

    def cable_inventory(self, node: str = "", rack: str = "", *,
                         hot: bool = False) -> List[inventory_pb2.CableInventory]:
        """Lists cables and optics, once for each end, with their serial numbers, lengths and temperatures. `node` may
        be NODE/PORT or a pattern. `hot`: only those above a limit."""
        return self._pages(calls.cable_inventory(node, rack, hot))

    def partitions(self) -> List[partition_pb2.Partition]:
        """Lists the configured partitions."""
        return self._pages(calls.partitions())

    def partition_members(self, name: str) -> List[partition_pb2.PartitionMember]:
        """Lists the ports of a partition, which is a name or a P_Key."""
        return self._pages(calls.partition_members(name))

    def reroutes(self) -> List[reroute_pb2.Reroute]:
        """Lists past reroutes; the last one comes first."""
        return self._pages(calls.reroutes())

    def path(self, source: str, destination: str) -> route_pb2.Path:
        """Traces the path of packets through the active tables."""
        return self._call(calls.path(source, destination))

    def forwarding_table(self, switch: str) -> List[route_pb2.ForwardingEntry]:
        """Lists the active table entries of a switch: through which port it forwards packets to each LID."""
        return self._pages(calls.forwarding_table(switch))

    def whatif(self, *failures: Any, engine: str = "") -> quality_pb2.WhatIfResponse:
        """Computes what would follow if these links (ports) and nodes failed. Nothing is programmed."""
        return self._call(calls.whatif(list(failures), engine))

    def affected_jobs(self, jobs: Mapping[str, Words], *failures: Any) -> List[job_pb2.JobImpact]:
        """Returns for each job ({name: list of hosts}) how much these links (ports) and nodes concern it, which fail
        or have failed. Lists of hosts are those of Slurm, such as "node[01-16]"."""
        return self._call(calls.affected_jobs(list(failures), jobs))

    def last_sequence(self) -> int:
        """Returns the sequence number of the newest event."""
        return self._call(calls.last_sequence())

    def isolate(self, port: Any, *, dry_run: bool = False, reason: str = "") -> str:
        """Takes the link at this port out of the routes. Raises Refused if nodes would be cut off."""
        return self._call(calls.isolate(port, dry_run), reason)

    def release(self, port: Any, *, dry_run: bool = False, reason: str = "") -> str:
        """Lets routes use the link at this port again."""
        return self._call(calls.release(port, dry_run), reason)

    def disable_port(self, port: Any, *, dry_run: bool = False, reason: str = "") -> str:
        """Disables a port until enable_port()."""
        return self._call(calls.disable_port(port, dry_run), reason)

    def enable_port(self, port: Any, *, dry_run: bool = False, reason: str = "") -> str:
        """Enables a port that was disabled."""
        return self._call(calls.enable_port(port, dry_run), reason)

    def drains(self) -> List[drain_pb2.Drain]:
        """Lists what is drained for maintenance, and how far each drain is."""
        return self._call(calls.drains())

    def preview_drain(self, name: str, kind: str = "switch") -> drain_pb2.GetDrainPreviewResponse:
        """Returns what a drain would do, or why the manager would refuse it."""
        return self._call(calls.preview_drain(name, kind))

    def plan_drains(self, rack: str = "", keep_percent: int = 0) -> drain_pb2.GetDrainPlanResponse:
        """Returns batches of switches that can be drained one after the other."""
        return self._call(calls.plan_drains(rack, keep_percent))

    def drain(self, name: str, kind: str = "switch", *, until: Optional[When] = None, force: bool = False,
              reason: str = "") -> drain_pb2.Drain:
        """Starts a drain: moves traffic away from a "switch", "link" (NODE/PORT), "rack", "pod" or "host". It has
        ended its work when drains() shows the state "drained". `until` is a time, or how long the drain lasts."""
        return self._call(calls.drain(name, kind, until, force), reason)

    def undrain(self, name: str, kind: str = "switch", *, dry_run: bool = False, reason: str = "") -> str:
        """Ends a drain."""
        return self._call(calls.undrain(name, kind, dry_run), reason)

    def policy(self, version: int = 0) -> Optional[policy_pb2.PolicyVersion]:
        """Returns a version of the applied policy with its text, by default that in force. None: there is none."""
        return self._call(calls.policy(version))

    def policy_history(self) -> List[policy_pb2.PolicyVersion]:
        """Lists the versions of the applied policy without their texts; the last one comes first."""
        return self._call(calls.policy_history())

    def policy_diff(self, before: int, after: int) -> List[policy_pb2.PolicyChange]:
        """Compares two versions; 0 is fabricd.yaml alone."""
        return self._call(calls.compare_policies(before, after))

    def plan_policy(self, policy: Policy) -> policy_pb2.PolicyPlan:
        """Returns what apply_policy() would change. Raises InvalidArgument or NotFound if the policy is wrong."""
        return self._call(calls.plan_policy(policy))

    def apply_policy(self, policy: Policy, *, confirmed: bool = False, base_version: int = 0,
                     reason: str = "") -> policy_pb2.ApplyPolicyResponse:
        """Applies a policy as a whole or not at all. `policy` is YAML, or {file name: YAML} (read_policy() reads
        files). If the plan has confirmations, the manager refuses the policy unless `confirmed`. Raises Conflict if
        the version in force is not base_version (0: any)."""
        return self._call(calls.apply_policy(policy, confirmed, base_version), reason)

    def plan_rollback(self, version: int) -> policy_pb2.PolicyPlan:
        """Returns what rollback_policy() would change."""
        return self._call(calls.plan_rollback(version))

    def rollback_policy(self, version: int, *, confirmed: bool = False,
                        reason: str = "") -> policy_pb2.ApplyPolicyResponse:
        """Applies an earlier version again, as a new version; 0 is fabricd.yaml alone."""
        return self._call(calls.rollback_policy(version, confirmed), reason)

    def sweep(self, *, dry_run: bool = False, reason: str = "") -> str:
        """Runs a heavy sweep, and returns when it has ended."""
        return self._call(calls.sweep(dry_run), reason)

    def reroute(self, *, dry_run: bool = False, reason: str = "") -> str:
        """Computes and programs new tables, and returns when it has ended."""
        return self._call(calls.reroute(dry_run), reason)

    def export(self, format: str) -> bytes:
        """Returns the fabric or its tables as a file, such as "slurm", "dot", "json" or "ibnetdiscover"."""
        stream = self.stub.Export(calls.export(format), timeout=self.timeout)
        try:
            return b"".join(piece.data for piece in stream)
        except grpc.RpcError as error:
            raise from_grpc(error) from error

    def events(self, since: Optional[When] = None, until: Optional[When] = None, types: Words = (), *,
               subject: str = "", severity: str = "", after: int = 0, before: int = 0) -> Iterator[event_pb2.Event]:
        """Iterates over stored events, newest first. `types` is a list of patterns such as "link-*", `severity` the
        lowest severity ("info", "warning" or "error"); `after` and `before` are limits of the sequence number."""
        return self._rows(calls.events(since, until, types, subject, severity, after, before))

    def watch(self, types: Words = (), *, after: Optional[int] = None, severity: str = "info",
              seconds: Optional[float] = None, patience: Optional[float] = None,
              on_missed: Optional[Callable[[event_pb2.MissedEvents], None]] = None) -> Iterator[event_pb2.Event]:
        """Iterates over events as they occur, from this call on, or first over the stored events after the sequence
        number `after`. If the connection is lost, the iterator connects again, and continues with the next event.

        seconds  when to end; None: never
        patience  seconds for which the manager may be away; None: for ever
        on_missed  called for events that are no longer stored; None: raises EventsMissed
        """
        newest = self.last_sequence()
        position = Position(newest if after is None else after, types, severity, seconds, patience, on_missed)
        return self._watch(position)

    def _watch(self, position: Position) -> Iterator[event_pb2.Event]:
        while True:
            failure: Optional[grpc.RpcError] = None
            stream = self.stub.WatchEvents(position.request(), timeout=position.remaining())
            try:
                stream.initial_metadata()
                if stream.is_active():
                    position.connected()
                for response in stream:
                    event = position.take(response)
                    if event is not None:
                        yield event
                    if position.again:
                        break
            except grpc.RpcError as error:
                failure = error
            finally:
                stream.cancel()
            delay = position.wait(failure)
            if delay is None:
                return
            self._pause(delay)

    def _pause(self, delay: float) -> None:
        """Waits at least for this time, and then for a connection. Only a thread that waits for the connection makes
        it at once: gRPC itself looks every 5 seconds."""
        time.sleep(delay)
        ready = grpc.channel_ready_future(self.channel)
        try:
            ready.result(timeout=delay)
        except grpc.FutureTimeoutError:
            pass
        finally:
            ready.cancel()
