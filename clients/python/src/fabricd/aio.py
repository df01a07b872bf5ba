# SPDX-License-Identifier: BSD-3-Clause
"""AsyncFabric: the calls of a manager, for programs with asyncio."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Callable, List, Mapping, Optional, TypeVar

import grpc
import grpc.aio

from . import calls
from .calls import Call, Pages
from .connection import Connection, metadata
from .errors import from_grpc
from .guard import AsyncDryRunGuard
from .policy import Policy
from .text import When, Words
from .v1 import (access_pb2, drain_pb2, event_pb2, fabric_service_pb2_grpc, host_pb2, inventory_pb2, job_pb2, link_pb2,
                 node_pb2, partition_pb2, policy_pb2, port_pb2, quality_pb2, reroute_pb2, route_pb2, status_pb2)
from .watch import Position

T = TypeVar("T")
# Without an answer after this many seconds, a call fails with TimedOut.
TIMEOUT = 60.0


class AsyncFabric:
    """The manager of a fabric, as Fabric, with coroutines. Use it with `async with`, or call close().

    address  unix:PATH or tls:HOST:PORT; None: FABRICCTL_SERVER, or else the socket of this machine
    ca, cert, key  files for tls: addresses; None: FABRICCTL_TLS_CA, FABRICCTL_TLS_CERT and FABRICCTL_TLS_KEY
    timeout  seconds after which a call fails

    The results are the messages of the API (fabricd.v1), with all their fields. NODE is a name, LID or GUID. A port
    is "NODE/PORT", or a message PortRef, Port or Link. `stub` is the stub of gRPC, with all methods of the API.
    """

    def __init__(self, address: Optional[str] = None, *, ca: Optional[str] = None, cert: Optional[str] = None,
                 key: Optional[str] = None, timeout: float = TIMEOUT):
        self.timeout = timeout
        guard = AsyncDryRunGuard()
        self.channel = Connection.parse(address, ca, cert, key).channel(grpc.aio, interceptors=[guard])
        self.stub: Any = fabric_service_pb2_grpc.FabricServiceStub(self.channel)  # type: ignore[no-untyped-call]
        guard.stub = self.stub

    async def close(self) -> None:
        await self.channel.close()

    async def __aenter__(self) -> "AsyncFabric":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def _call(self, call: Call[T], reason: str = "") -> T:
        return call.result(await self._send(call.method, call.request, reason))

    async def _send(self, method: str, request: Any, reason: str = "") -> Any:
        try:
            return await getattr(self.stub, method)(request, timeout=self.timeout, metadata=metadata(reason))
        except grpc.RpcError as error:
            raise from_grpc(error) from error

    async def _rows(self, pages: Pages[T]) -> AsyncIterator[T]:
        token = ""
        while True:
            reply = await self._send(pages.method, pages.page(token))
            for row in pages.of(reply):
                yield row
            token = reply.next_page_token
            if not token:
                return

    async def _pages(self, pages: Pages[T]) -> List[T]:
        return [row async for row in self._rows(pages)]

    async def status(self) -> status_pb2.Status:
        """Returns the state of the manager and of the fabric."""
        return await self._call(calls.status())

    async def whoami(self) -> access_pb2.WhoAmIResponse:
        """Returns the identity and the role of the caller."""
        return await self._call(calls.whoami())

    async def nodes(self, type: str = "", rack: str = "", name: str = "") -> List[node_pb2.Node]:
        """Lists nodes. `type` is "switch", "adapter" or "router". `name` and `rack` may be patterns: "leaf-0[1-8]"."""
        return await self._pages(calls.nodes(type, rack, name))

    async def node(self, name: str) -> node_pb2.Node:
        """Returns a node. Raises NotFound also for a node that has left the fabric."""
        return await self._call(calls.node(name))

    async def gone_nodes(self, type: str = "") -> List[node_pb2.GoneNode]:
        """Lists nodes that left the fabric; the last one comes first."""
        return await self._pages(calls.gone_nodes(type))

    async def ports(self, node: str = "", state: str = "", rack: str = "") -> List[port_pb2.Port]:
        """Lists ports. `state` is "down", "init", "armed" or "active". `node` may be NODE/PORT; `node` and `rack`
        may be patterns: "leaf-0[1-8]/*"."""
        return await self._pages(calls.ports(node, state, rack))

    async def port(self, port: Any) -> port_pb2.Port:
        """Returns a port."""
        return await self._call(calls.port(port))

    async def links(self, state: str = "", node: str = "", rack: str = "") -> List[link_pb2.Link]:
        """Lists links. `state` is "degraded", or the state of a port: "init", "armed" or "active". gone_links() lists
        links that are down."""
        return await self._pages(calls.links(state, node, rack))

    async def gone_links(self, node: str = "") -> List[node_pb2.GoneLink]:
        """Lists links that were part of the fabric and are not any more; the last one comes first."""
        return await self._pages(calls.gone_links(node))

    async def unhealthy_links(self, watched: bool = False) -> List[link_pb2.UnhealthyLink]:
        """Lists links that are isolated or have errors; with `watched` also those below the threshold."""
        return await self._call(calls.unhealthy_links(watched))

    async def flapping_links(self) -> List[link_pb2.FlappingLink]:
        """Lists links that went down several times."""
        return await self._call(calls.flapping_links())

    async def hosts(self, rack: str = "", name: str = "") -> List[host_pb2.Host]:
        """Lists hosts, with their adapters. `name` and `rack` may be patterns: "host-00[01-16]"."""
        return await self._pages(calls.hosts(rack, name))

    async def host(self, name: str) -> host_pb2.Host:
        """Returns a host."""
        return await self._call(calls.host(name))

    async def racks(self) -> List[host_pb2.Rack]:
        """Lists the racks of the operator's file of locations."""
        return await self._call(calls.racks())

    async def node_inventory(self, type: str = "", rack: str = "", name: str = "", *, odd: bool = False,
                              hot: bool = False, gone: bool = False) -> List[inventory_pb2.NodeInventory]:
        """Lists what devices say about themselves: part and serial numbers, firmware, temperature, fans. `odd`: only
        those with other firmware than their peers. `hot`: only those above their limit. `gone`: the devices that left
        the fabric, and no others. The manager reads devices only if the setting inventory.read is yes."""
        return await self._pages(calls.node_inventory(type, rack, name, odd, hot, gone))

    async def cable_inventory(self, node: str = "", rack: str = "", *,
                               hot: bool = False) -> List[inventory_pb2.CableInventory]:
        """Lists cables and optics, once for each end, with their serial numbers, lengths and temperatures. `node` may
        be NODE/PORT or a pattern. `hot`: only those above a limit."""
        return await self._pages(calls.cable_inventory(node, rack, hot))

    async def partitions(self) -> List[partition_pb2.Partition]:
        """Lists the configured partitions."""
        return await self._pages(calls.partitions())

    async def partition_members(self, name: str) -> List[partition_pb2.PartitionMember]:
        """Lists the ports of a partition, which is a name or a P_Key."""
        return await self._pages(calls.partition_members(name))

    async def reroutes(self) -> List[reroute_pb2.Reroute]:
        """Lists past reroutes; the last one comes first."""
        return await self._pages(calls.reroutes())

    async def path(self, source: str, destination: str) -> route_pb2.Path:
        """Traces the path of packets through the active tables."""
        return await self._call(calls.path(source, destination))

    async def forwarding_table(self, switch: str) -> List[route_pb2.ForwardingEntry]:
        """Lists the active table entries of a switch: through which port it forwards packets to each LID."""
        return await self._pages(calls.forwarding_table(switch))

    async def whatif(self, *failures: Any, engine: str = "") -> quality_pb2.WhatIfResponse:
        """Computes what would follow if these links (ports) and nodes failed. Nothing is programmed."""
        return await self._call(calls.whatif(list(failures), engine))

    async def affected_jobs(self, jobs: Mapping[str, Words], *failures: Any) -> List[job_pb2.JobImpact]:
        """Returns for each job ({name: list of hosts}) how much these links (ports) and nodes concern it, which fail
        or have failed. Lists of hosts are those of Slurm, such as "node[01-16]"."""
        return await self._call(calls.affected_jobs(list(failures), jobs))

    async def last_sequence(self) -> int:
        """Returns the sequence number of the newest event."""
        return await self._call(calls.last_sequence())

    async def isolate(self, port: Any, *, dry_run: bool = False, reason: str = "") -> str:
        """Takes the link at this port out of the routes. Raises Refused if nodes would be cut off."""
        return await self._call(calls.isolate(port, dry_run), reason)

    async def release(self, port: Any, *, dry_run: bool = False, reason: str = "") -> str:
        """Lets routes use the link at this port again."""
        return await self._call(calls.release(port, dry_run), reason)

    async def disable_port(self, port: Any, *, dry_run: bool = False, reason: str = "") -> str:
        """Disables a port until enable_port()."""
        return await self._call(calls.disable_port(port, dry_run), reason)

    async def enable_port(self, port: Any, *, dry_run: bool = False, reason: str = "") -> str:
        """Enables a port that was disabled."""
        return await self._call(calls.enable_port(port, dry_run), reason)

    async def drains(self) -> List[drain_pb2.Drain]:
        """Lists what is drained for maintenance, and how far each drain is."""
        return await self._call(calls.drains())

    async def preview_drain(self, name: str, kind: str = "switch") -> drain_pb2.GetDrainPreviewResponse:
        """Returns what a drain would do, or why the manager would refuse it."""
        return await self._call(calls.preview_drain(name, kind))

    async def plan_drains(self, rack: str = "", keep_percent: int = 0) -> drain_pb2.GetDrainPlanResponse:
        """Returns batches of switches that can be drained one after the other."""
        return await self._call(calls.plan_drains(rack, keep_percent))

    async def drain(self, name: str, kind: str = "switch", *, until: Optional[When] = None, force: bool = False,
                    reason: str = "") -> drain_pb2.Drain:
        """Starts a drain: moves traffic away from a "switch", "link" (NODE/PORT), "rack", "pod" or "host". It has
        ended its work when drains() shows the state "drained". `until` is a time, or how long the drain lasts."""
        return await self._call(calls.drain(name, kind, until, force), reason)

    async def undrain(self, name: str, kind: str = "switch", *, dry_run: bool = False, reason: str = "") -> str:
        """Ends a drain."""
        return await self._call(calls.undrain(name, kind, dry_run), reason)

    async def policy(self, version: int = 0) -> Optional[policy_pb2.PolicyVersion]:
        """Returns a version of the applied policy with its text, by default that in force. None: there is none."""
        return await self._call(calls.policy(version))

    async def policy_history(self) -> List[policy_pb2.PolicyVersion]:
        """Lists the versions of the applied policy without their texts; the last one comes first."""
        return await self._call(calls.policy_history())

    async def policy_diff(self, before: int, after: int) -> List[policy_pb2.PolicyChange]:
        """Compares two versions; 0 is fabricd.yaml alone."""
        return await self._call(calls.compare_policies(before, after))

    async def plan_policy(self, policy: Policy) -> policy_pb2.PolicyPlan:
        """Returns what apply_policy() would change. Raises InvalidArgument or NotFound if the policy is wrong."""
        return await self._call(calls.plan_policy(policy))

    async def apply_policy(self, policy: Policy, *, confirmed: bool = False, base_version: int = 0,
                           reason: str = "") -> policy_pb2.ApplyPolicyResponse:
        """Applies a policy as a whole or not at all. `policy` is YAML, or {file name: YAML} (read_policy() reads
        files). If the plan has confirmations, the manager refuses the policy unless `confirmed`. Raises Conflict if
        the version in force is not base_version (0: any)."""
        return await self._call(calls.apply_policy(policy, confirmed, base_version), reason)

    async def plan_rollback(self, version: int) -> policy_pb2.PolicyPlan:
        """Returns what rollback_policy() would change."""
        return await self._call(calls.plan_rollback(version))

    async def rollback_policy(self, version: int, *, confirmed: bool = False,
                              reason: str = "") -> policy_pb2.ApplyPolicyResponse:
        """Applies an earlier version again, as a new version; 0 is fabricd.yaml alone."""
        return await self._call(calls.rollback_policy(version, confirmed), reason)

    async def sweep(self, *, dry_run: bool = False, reason: str = "") -> str:
        """Runs a heavy sweep, and returns when it has ended."""
        return await self._call(calls.sweep(dry_run), reason)

    async def reroute(self, *, dry_run: bool = False, reason: str = "") -> str:
        """Computes and programs new tables, and returns when it has ended."""
        return await self._call(calls.reroute(dry_run), reason)

    async def export(self, format: str) -> bytes:
        """Returns the fabric or its tables as a file, such as "slurm", "dot", "json" or "ibnetdiscover"."""
        stream = self.stub.Export(calls.export(format), timeout=self.timeout)
        try:
            return b"".join([piece.data async for piece in stream])
        except grpc.RpcError as error:
            raise from_grpc(error) from error

    def events(self, since: Optional[When] = None, until: Optional[When] = None, types: Words = (), *,
               subject: str = "", severity: str = "", after: int = 0,
               before: int = 0) -> AsyncIterator[event_pb2.Event]:
        """Iterates over stored events, newest first, as Fabric.events does."""
        return self._rows(calls.events(since, until, types, subject, severity, after, before))

    async def watch(self, types: Words = (), *, after: Optional[int] = None, severity: str = "info",
                    seconds: Optional[float] = None, patience: Optional[float] = None,
                    on_missed: Optional[Callable[[event_pb2.MissedEvents], None]] = None,
                    ) -> AsyncIterator[event_pb2.Event]:
        """Iterates over events as Fabric.watch does. The iteration begins when the first event is asked for: give
        after=await fabric.last_sequence() to begin earlier."""
        newest = await self.last_sequence()
        position = Position(newest if after is None else after, types, severity, seconds, patience, on_missed)
        while True:
            failure: Optional[grpc.RpcError] = None
            stream = self.stub.WatchEvents(position.request(), timeout=position.remaining())
            try:
                await stream.initial_metadata()
                if not stream.done():
                    position.connected()
                async for response in stream:
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
            await self._pause(delay)

    async def _pause(self, delay: float) -> None:
        """Waits at least for this time, and then for a connection, as Fabric does."""
        await asyncio.sleep(delay)
        try:
            await asyncio.wait_for(self.channel.channel_ready(), delay)
        except asyncio.TimeoutError:
            pass
