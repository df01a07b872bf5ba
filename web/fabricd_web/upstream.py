# SPDX-License-Identifier: BSD-3-Clause
"""The manager. Before the first call, and once a minute, the gateway asks which role the manager gives it. With a role
above viewer it makes no call: whoever reached the gateway would otherwise have a part of this role."""

from __future__ import annotations

import asyncio
import time
from typing import Any, AsyncIterator, Optional

import grpc

from fabricd import AsyncFabric, Denied, word
from fabricd.errors import from_grpc
from fabricd.v1 import access_pb2

from .methods import Method, TIMEOUT

ROLE_LASTS = 60.0
CALLS_AT_ONCE = 16


class Upstream:
    """Calls of the gateway to the manager."""

    def __init__(self, fabric: AsyncFabric):
        self.fabric = fabric
        self.asked: Optional[float] = None
        self.places = asyncio.Semaphore(CALLS_AT_ONCE)
        self.asking = asyncio.Lock()

    async def check_role(self) -> None:
        async with self.asking:
            now = time.monotonic()
            if self.asked is not None and now - self.asked < ROLE_LASTS:
                return
            me = await self.fabric.whoami()
            if me.role > access_pb2.ROLE_VIEWER:
                raise Denied(f"fabricd-web makes no calls, because the manager gives it ({me.caller}) the role "
                             f"{word(access_pb2.Role, me.role)}; run it as a user, or give it a certificate, that is a "
                             "viewer (rpc.roles in fabricd.yaml(5))")
            self.asked = now

    async def call(self, method: Method, request: Any) -> Any:
        """Returns the answer of a method."""
        await self.check_role()
        async with self.places:
            return await self.unary(method.name, request, method.timeout)

    async def unary(self, name: str, request: Any, timeout: float = TIMEOUT) -> Any:
        try:
            return await getattr(self.fabric.stub, name)(request, timeout=timeout)
        except grpc.RpcError as error:
            raise from_grpc(error) from error

    async def stream(self, method: Method, request: Any) -> AsyncIterator[Any]:
        """Iterates over the answers of a method."""
        await self.check_role()
        stream = getattr(self.fabric.stub, method.name)(request, timeout=method.timeout)
        try:
            async for answer in stream:
                yield answer
        except grpc.RpcError as error:
            raise from_grpc(error) from error
        finally:
            stream.cancel()
