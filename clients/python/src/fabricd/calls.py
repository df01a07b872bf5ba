# SPDX-License-Identifier: BSD-3-Clause
"""The calls of the API as values. Fabric and AsyncFabric make the same calls, each in its own manner."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Callable, Generic, List, Mapping, Optional, TypeVar

from . import text
from .errors import NotFound, NotSupported
from .policy import Policy, messages
from .text import When, Words
from .v1 import (access_pb2, drain_pb2, event_pb2, export_pb2, gone_pb2, host_pb2, inventory_pb2, job_pb2, link_pb2,
                 node_pb2, partition_pb2, policy_pb2, port_pb2, quality_pb2, reroute_pb2, route_pb2, status_pb2)

T = TypeVar("T")
ANY_PAGE = 2000


@dataclass(frozen=True)
class Call(Generic[T]):
    """A method that answers with one message; `result` takes the result from it."""

    method: str
    request: Any
    result: Callable[[Any], T]


@dataclass(frozen=True)
class Pages(Generic[T]):
    """A method that answers with pages. The field `rows` of a page has the rows; `keep` selects some of them."""

    method: str
    request: Any
    rows: str
    keep: Optional[Callable[[T], bool]] = None

    def page(self, token: str) -> Any:
        request = copy.copy(self.request)
        request.page_size = ANY_PAGE
        request.page_token = token
        return request

    def of(self, reply: Any) -> List[T]:
        return [row for row in getattr(reply, self.rows) if self.keep is None or self.keep(row)]


def version() -> Call[status_pb2.GetVersionResponse]:
    return Call("GetVersion", status_pb2.GetVersionRequest(), lambda r: r)


def is_dry_run(request: Any) -> bool:
    return bool(getattr(request, "dry_run", False))


def check_dry_run(method: str, manager: status_pb2.GetVersionResponse) -> None:
    """Raises NotSupported if the manager does not know dry runs of the method. It would ignore the field dry_run, and
    make the change."""
    if method not in manager.dry_run_methods:
        raise NotSupported(f"fabricd {manager.version} has no dry run of {method}, and would make the change; update "
                           "fabricd")


def _message(reply: Any) -> str:
    return str(reply.message)


def status() -> Call[status_pb2.Status]:
    return Call("GetStatus", status_pb2.GetStatusRequest(), lambda r: r.status)


def whoami() -> Call[access_pb2.WhoAmIResponse]:
    return Call("WhoAmI", access_pb2.WhoAmIRequest(), lambda r: r)


def nodes(kind: str, rack: str, name: str) -> Pages[node_pb2.Node]:
    value = text.enum_value(node_pb2.NodeType, kind, "type of a node")
    return Pages("ListNodes", node_pb2.ListNodesRequest(type=value, rack=rack, name=name), "nodes")


def node(name: str) -> Call[node_pb2.Node]:
    def result(reply: Any) -> node_pb2.Node:
        if not reply.HasField("node"):
            since = text.time_of(reply.gone.gone_since).isoformat(" ", "seconds")
            raise NotFound(f"node {reply.gone.name} is not part of the fabric since {since}")
        found: node_pb2.Node = reply.node
        return found
    return Call("GetNode", node_pb2.GetNodeRequest(node=name), result)


def gone_nodes(kind: str) -> Pages[node_pb2.GoneNode]:
    value = text.enum_value(node_pb2.NodeType, kind, "type of a node")
    return Pages("ListGoneNodes", gone_pb2.ListGoneNodesRequest(type=value), "nodes")


def ports(node_name: str, state: str, rack: str) -> Pages[port_pb2.Port]:
    value = text.enum_value(port_pb2.PortState, state, "state of a port")
    return Pages("ListPorts", port_pb2.ListPortsRequest(node=node_name, state=value, rack=rack), "ports")


def port(which: Any) -> Call[port_pb2.Port]:
    name, number = text.one_port(which)
    return Call("GetPort", port_pb2.GetPortRequest(node=name, port_number=number), lambda r: r.port)


def links(state: str, node_name: str, rack: str) -> Pages[link_pb2.Link]:
    request = link_pb2.ListLinksRequest(node=node_name, rack=rack, degraded=state == "degraded")
    if state in ("", "degraded"):
        return Pages("ListLinks", request, "links")
    value = text.enum_value(port_pb2.PortState, state, 'state of a link (or "degraded")')
    return Pages("ListLinks", request, "links", lambda link: link.state == value)


def gone_links(node_name: str) -> Pages[node_pb2.GoneLink]:
    return Pages("ListGoneLinks", gone_pb2.ListGoneLinksRequest(node=node_name), "links")


def unhealthy_links(watched: bool) -> Call[List[link_pb2.UnhealthyLink]]:
    request = link_pb2.ListUnhealthyLinksRequest(include_watched=watched)
    return Call("ListUnhealthyLinks", request, lambda r: list(r.links))


def flapping_links() -> Call[List[link_pb2.FlappingLink]]:
    return Call("ListFlappingLinks", link_pb2.ListFlappingLinksRequest(), lambda r: list(r.links))


def hosts(rack: str, name: str) -> Pages[host_pb2.Host]:
    return Pages("ListHosts", host_pb2.ListHostsRequest(rack=rack, name=name), "hosts")


def host(name: str) -> Call[host_pb2.Host]:
    return Call("GetHost", host_pb2.GetHostRequest(host=name), lambda r: r.host)


def racks() -> Call[List[host_pb2.Rack]]:
    return Call("ListRacks", host_pb2.ListRacksRequest(), lambda r: list(r.racks))


def node_inventory(kind: str, rack: str, name: str, odd: bool, hot: bool,
                   gone: bool) -> Pages[inventory_pb2.NodeInventory]:
    value = text.enum_value(node_pb2.NodeType, kind, "type of a node")
    request = inventory_pb2.ListNodeInventoryRequest(type=value, rack=rack, name=name, odd=odd, hot=hot, gone=gone)
    return Pages("ListNodeInventory", request, "nodes")


def cable_inventory(node_name: str, rack: str, hot: bool) -> Pages[inventory_pb2.CableInventory]:
    request = inventory_pb2.ListCableInventoryRequest(node=node_name, rack=rack, hot=hot)
    return Pages("ListCableInventory", request, "cables")


def partitions() -> Pages[partition_pb2.Partition]:
    return Pages("ListPartitions", partition_pb2.ListPartitionsRequest(), "partitions")


def partition_members(name: str) -> Pages[partition_pb2.PartitionMember]:
    return Pages("ListPartitionMembers", partition_pb2.ListPartitionMembersRequest(partition=name), "members")


def reroutes() -> Pages[reroute_pb2.Reroute]:
    return Pages("ListReroutes", reroute_pb2.ListReroutesRequest(), "reroutes")


def severity(name: str) -> Any:
    return text.enum_value(event_pb2.EventSeverity, name, "severity")


def events(since: Optional[When], until: Optional[When], types: Words, subject: str, min_severity: str, after: int,
           before: int) -> Pages[event_pb2.Event]:
    request = event_pb2.ListEventsRequest(
        type=",".join(text.patterns(types)), subject=subject, min_severity=severity(min_severity),
        after_sequence=after, before_sequence=before)
    if since is not None:
        request.since.CopyFrom(text.timestamp(since))
    if until is not None:
        request.until.CopyFrom(text.timestamp(until))
    return Pages("ListEvents", request, "events")


def last_sequence() -> Call[int]:
    request = event_pb2.ListEventsRequest(page_size=1)
    return Call("ListEvents", request, lambda r: r.events[0].sequence if r.events else 0)


def path(source: str, destination: str) -> Call[route_pb2.Path]:
    request = route_pb2.TracePathRequest(source=source, destination=destination)
    return Call("TracePath", request, lambda r: r.path)


def forwarding_table(switch: str) -> Pages[route_pb2.ForwardingEntry]:
    return Pages("GetForwardingTable", route_pb2.GetForwardingTableRequest(node=switch), "entries")


def whatif(failures: List[Any], engine: str) -> Call[quality_pb2.WhatIfResponse]:
    names = [f if isinstance(f, str) else "%s/%d" % text.one_port(f) for f in failures]
    return Call("WhatIf", quality_pb2.WhatIfRequest(failures=names, engine=engine), lambda r: r)


def affected_jobs(failures: List[Any], jobs: Mapping[str, Words]) -> Call[List[job_pb2.JobImpact]]:
    names = [f if isinstance(f, str) else "%s/%d" % text.one_port(f) for f in failures]
    request = job_pb2.GetAffectedJobsRequest(failures=names, jobs=[
        job_pb2.Job(id=name, hosts=text.host_list(hosts)) for name, hosts in jobs.items()])
    return Call("GetAffectedJobs", request, lambda r: list(r.jobs))


def export(file_format: str) -> export_pb2.ExportRequest:
    return export_pb2.ExportRequest(format=text.enum_value(export_pb2.ExportFormat, file_format, "format"))


def isolate(which: Any, dry_run: bool) -> Call[str]:
    name, number = text.one_port(which)
    request = link_pb2.IsolateLinkRequest(node=name, port_number=number, dry_run=dry_run)
    return Call("IsolateLink", request, _message)


def release(which: Any, dry_run: bool) -> Call[str]:
    name, number = text.one_port(which)
    request = link_pb2.ReleaseLinkRequest(node=name, port_number=number, dry_run=dry_run)
    return Call("ReleaseLink", request, _message)


def disable_port(which: Any, dry_run: bool) -> Call[str]:
    name, number = text.one_port(which)
    request = port_pb2.DisablePortRequest(node=name, port_number=number, dry_run=dry_run)
    return Call("DisablePort", request, _message)


def enable_port(which: Any, dry_run: bool) -> Call[str]:
    name, number = text.one_port(which)
    request = port_pb2.EnablePortRequest(node=name, port_number=number, dry_run=dry_run)
    return Call("EnablePort", request, _message)


def _kind(kind: str) -> Any:
    return text.enum_value(drain_pb2.DrainKind, kind, "kind of a drain")


def drains() -> Call[List[drain_pb2.Drain]]:
    return Call("ListDrains", drain_pb2.ListDrainsRequest(), lambda r: list(r.drains))


def preview_drain(name: str, kind: str) -> Call[drain_pb2.GetDrainPreviewResponse]:
    return Call("GetDrainPreview", drain_pb2.GetDrainPreviewRequest(name=name, kind=_kind(kind)), lambda r: r)


def plan_drains(rack: str, keep_percent: int) -> Call[drain_pb2.GetDrainPlanResponse]:
    return Call("GetDrainPlan", drain_pb2.GetDrainPlanRequest(rack=rack, keep_percent=keep_percent), lambda r: r)


def drain(name: str, kind: str, until: Optional[When], force: bool) -> Call[drain_pb2.Drain]:
    request = drain_pb2.StartDrainRequest(name=name, kind=_kind(kind), force=force)
    if until is not None:
        request.until.CopyFrom(text.timestamp(-until if isinstance(until, timedelta) else until))
    return Call("StartDrain", request, lambda r: r.drain)


def undrain(name: str, kind: str, dry_run: bool) -> Call[str]:
    return Call("EndDrain", drain_pb2.EndDrainRequest(name=name, kind=_kind(kind), dry_run=dry_run), _message)


def sweep(dry_run: bool) -> Call[str]:
    return Call("Sweep", status_pb2.SweepRequest(dry_run=dry_run), _message)


def reroute(dry_run: bool) -> Call[str]:
    return Call("Reroute", route_pb2.RerouteRequest(dry_run=dry_run), _message)


def plan_policy(policy: Policy) -> Call[policy_pb2.PolicyPlan]:
    return Call("PlanPolicy", policy_pb2.PlanPolicyRequest(files=messages(policy)), lambda r: r.plan)


def apply_policy(policy: Policy, confirmed: bool, base_version: int) -> Call[policy_pb2.ApplyPolicyResponse]:
    request = policy_pb2.ApplyPolicyRequest(files=messages(policy), confirmed=confirmed, base_version=base_version)
    return Call("ApplyPolicy", request, lambda r: r)


def policy(version: int) -> Call[Optional[policy_pb2.PolicyVersion]]:
    return Call("GetPolicy", policy_pb2.GetPolicyRequest(version=version),
                lambda r: r.policy if r.HasField("policy") else None)


def policy_history() -> Call[List[policy_pb2.PolicyVersion]]:
    return Call("ListPolicies", policy_pb2.ListPoliciesRequest(), lambda r: list(r.versions))


def compare_policies(before: int, after: int) -> Call[List[policy_pb2.PolicyChange]]:
    request = policy_pb2.ComparePoliciesRequest(to=after)
    setattr(request, "from", before)
    return Call("ComparePolicies", request, lambda r: list(r.changes))


def plan_rollback(version: int) -> Call[policy_pb2.PolicyPlan]:
    return Call("PlanPolicy", policy_pb2.PlanPolicyRequest(version=version, rollback=True), lambda r: r.plan)


def rollback_policy(version: int, confirmed: bool) -> Call[policy_pb2.ApplyPolicyResponse]:
    request = policy_pb2.ApplyPolicyRequest(version=version, rollback=True, confirmed=confirmed)
    return Call("ApplyPolicy", request, lambda r: r)
