# SPDX-License-Identifier: BSD-3-Clause
"""The map of the page: /map/view, /map/links, /map/problems. The gateway keeps the topology of the newest generation,
so that a browser gets a view of a few kilobytes and the manager is asked once for all browsers."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, Dict, Optional, Tuple

from aiohttp import web

from fabricd import FabricError, Refused, Unavailable
from fabricd.v1 import counters_pb2, drain_pb2, gone_pb2, link_pb2, node_pb2, port_pb2, status_pb2

from . import encode
from .api import json_response
from .query import BadQuery
from .topology import Builder, Port, Topology
from .upstream import Upstream
from .views import View, problems

log = logging.getLogger("fabricd-web")
PAGE = 2000
POLL = 1.0          # seconds between two questions for the generation
# The manager stores links that are gone after it publishes a generation without them: soon, or within a minute. So
# the topology is read once more after a change, and from time to time.
SETTLED = 2.0
TOPOLOGY_LASTS = 60.0
LOADS_EVERY = 10.0  # seconds between two questions for the loads of ports
TOP_PORTS = 1000
SHARE = 4           # after a reading of the topology, the gateway rests this many times its duration, and
LONGEST_REST = 5.0  # at most so many seconds
TRIES = 3
FIRST_WAIT = 20.0   # seconds that a request waits for the first topology
VIEWS_KEPT = 64


class Maps:
    """The newest topology and the views that were made of it."""

    def __init__(self, upstream: Upstream):
        self.upstream = upstream
        self.topology: Optional[Topology] = None
        self.loads: Dict[Port, float] = {}
        self.views: Dict[Tuple[str, str], bytes] = {}
        self.trouble: Optional[FabricError] = None
        self.ready = asyncio.Event()
        self.old_at = 0.0
        self.task: Optional["asyncio.Task[None]"] = None

    async def start(self, _: web.Application) -> None:
        self.task = asyncio.create_task(self._follow())

    async def stop(self, _: web.Application) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)

    def routes(self) -> Any:
        yield web.get("/map/view", self.get_view)
        yield web.get("/map/links", self.get_links)
        yield web.get("/map/problems", self.get_problems)

    # ---- from the manager

    async def _follow(self) -> None:
        """Reads the topology when its generation changes, and the loads from time to time."""
        loads_at = 0.0
        while True:
            rest = POLL
            try:
                await self.upstream.check_role()
                status = (await self.upstream.unary("GetStatus", status_pb2.GetStatusRequest())).status
                if status.generation and self._is_old(status.generation):
                    start = time.monotonic()
                    changed = self.topology is None or status.generation != self.topology.generation
                    await self._read_topology()
                    self.old_at = time.monotonic() + (SETTLED if changed else TOPOLOGY_LASTS)
                    rest = min(LONGEST_REST, max(POLL, SHARE * (time.monotonic() - start)))
                if time.monotonic() - loads_at >= LOADS_EVERY:
                    loads_at = time.monotonic()
                    await self._read_loads()
                self.trouble = None
            except FabricError as error:
                if self.trouble is None or str(error) != str(self.trouble):
                    log.warning("the map is not up to date: %s", error)
                self.trouble = error
                if self.topology is None:
                    self.ready.set()  # requests get the error at once
            except Exception:  # the map must go on
                log.exception("cannot make the map")
            await asyncio.sleep(rest)

    def _is_old(self, generation: int) -> bool:
        return (self.topology is None or generation != self.topology.generation or
                time.monotonic() >= self.old_at)

    async def _pages(self, name: str, request: Any, take: Any) -> int:
        """Gives each page to `take`. Returns the generation of the pages; 0: it changed between them."""
        generations = set()
        request.page_size = PAGE
        while True:
            answer = await self.upstream.unary(name, request)
            take(answer)
            generations.add(getattr(answer, "generation", 0))
            if not answer.next_page_token:
                return generations.pop() if len(generations) == 1 else 0
            request.page_token = answer.next_page_token

    async def _read_once(self) -> Tuple[Builder, int]:
        builder, call = Builder(), self.upstream.unary
        nodes = await self._pages("ListNodes", node_pb2.ListNodesRequest(), lambda r: builder.add_nodes(r.nodes))
        links = await self._pages("ListLinks", link_pb2.ListLinksRequest(), lambda r: builder.add_links(r.links))
        for link in (await call("ListUnhealthyLinks", link_pb2.ListUnhealthyLinksRequest())).links:
            if link.isolated and not link.in_routes:
                builder.add_excluded(link.a, link.b, "isolated " + link.isolated_cause)
        for flapping in (await call("ListFlappingLinks", link_pb2.ListFlappingLinksRequest())).links:
            if flapping.held_down and flapping.up:
                builder.add_excluded(flapping.a, flapping.b, f"held down after {flapping.flaps} flaps")
        if (await call("ListDrains", drain_pb2.ListDrainsRequest())).drains:
            request = port_pb2.ListPortsRequest(state=port_pb2.PORT_STATE_ACTIVE)
            await self._pages("ListPorts", request, lambda r: builder.add_drained(r.ports))
        await self._pages("ListGoneLinks", gone_pb2.ListGoneLinksRequest(), lambda r: builder.add_gone(r.links))
        return builder, nodes if nodes == links else 0

    async def _read_topology(self) -> None:
        for _ in range(TRIES):
            builder, generation = await self._read_once()
            if generation:
                break
        loop = asyncio.get_running_loop()
        # with generation 0, the next turn reads it again
        self.topology = await loop.run_in_executor(None, builder.topology, generation)
        self.views = {}
        await self._make("", "pod")
        self.ready.set()

    async def _read_loads(self) -> None:
        request = counters_pb2.ListTopPortsRequest(by=counters_pb2.PORT_RANK_DATA, count=TOP_PORTS)
        try:
            answer = await self.upstream.unary("ListTopPorts", request)
        except Refused:
            return  # no history of counters
        rates = {}
        if self.topology is not None:
            for link in self.topology.links:
                rates[link.a] = rates[link.b] = link.mbps
        loads: Dict[Port, float] = {}
        for row in answer.ports:
            port = (row.port.node_guid, row.port.port_number)
            busy = max(row.sample.sent_bytes_per_second, row.sample.received_bytes_per_second)
            if rates.get(port):
                loads[port] = round(busy * 8 / (rates[port] * 1e6), 3)
        self.loads = loads
        # the first view of a browser does not wait for the new loads
        new: Dict[Tuple[str, str], bytes] = {}
        if self.topology is not None:
            new["", "pod"] = await asyncio.get_running_loop().run_in_executor(None, self._document, "", "pod")
        self.views = new

    # ---- to browsers

    async def _current(self) -> Topology:
        if self.topology is None:
            try:
                await asyncio.wait_for(self.ready.wait(), FIRST_WAIT)
            except asyncio.TimeoutError:
                pass
        if self.topology is None:
            raise self.trouble or Unavailable("the manager has no view of the fabric yet")
        return self.topology

    def _view(self, path: str, by: str) -> View:
        assert self.topology is not None
        return View(self.topology, path, by, self.loads)

    def _document(self, path: str, by: str) -> bytes:
        return encode.dumps(self._view(path, by).document())

    async def _make(self, path: str, by: str) -> bytes:
        body = self.views.get((path, by))
        if body is None:
            views = self.views
            loop = asyncio.get_running_loop()
            body = await loop.run_in_executor(None, self._document, path, by)
            if len(views) >= VIEWS_KEPT:
                views.clear()
            if views is self.views:
                views[path, by] = body
        return body

    @staticmethod
    def _which(request: web.Request) -> Tuple[str, str]:
        path, by = request.query.get("path", ""), request.query.get("by", "pod")
        if by not in ("pod", "rack") or len(path) > 100:
            raise BadQuery("by is pod or rack, and path is one of a view")
        return path, by

    async def get_view(self, request: web.Request) -> web.StreamResponse:
        await self._current()
        return json_response(await self._make(*self._which(request)))

    async def get_links(self, request: web.Request) -> web.StreamResponse:
        await self._current()
        ends = [request.query.get(name, "") for name in ("a", "b")]
        if not all(e.isdecimal() and len(e) < 6 for e in ends):
            raise BadQuery("a and b are the numbers of two cards of the view")
        path, by = self._which(request)
        loop = asyncio.get_running_loop()
        links = await loop.run_in_executor(None, lambda: self._view(path, by).links_between(*map(int, ends)))
        return json_response(encode.dumps({"links": links}))

    async def get_problems(self, request: web.Request) -> web.StreamResponse:
        return json_response(encode.dumps(problems(await self._current())))
