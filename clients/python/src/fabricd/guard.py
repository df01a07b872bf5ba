# SPDX-License-Identifier: BSD-3-Clause
"""Guards a channel: a dry run that the manager does not know is not sent, whoever calls."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio

from . import calls
from .errors import from_grpc
from .v1 import status_pb2

# Seconds after which the question for the manager's version fails.
TIMEOUT = 60.0


def _name(method: Any) -> str:
    """Returns "Sweep" for "/fabric.v1.FabricService/Sweep", which grpc.aio gives as bytes."""
    text = method.decode() if isinstance(method, bytes) else str(method)
    return text.rpartition("/")[2]


def _ask(stub: Any) -> Any:
    return stub.GetVersion(status_pb2.GetVersionRequest(), timeout=TIMEOUT)


class DryRunGuard(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """Asks the manager for its dry runs before each dry run. The owner sets `stub` when the channel is open."""

    stub: Any = None

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        if calls.is_dry_run(request):
            try:
                version = _ask(self.stub)
            except grpc.RpcError as error:
                raise from_grpc(error) from error
            calls.check_dry_run(_name(client_call_details.method), version)
        return continuation(client_call_details, request)


class AsyncDryRunGuard(grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """The same for grpc.aio."""

    stub: Any = None

    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        if calls.is_dry_run(request):
            try:
                version = await _ask(self.stub)
            except grpc.RpcError as error:
                raise from_grpc(error) from error
            calls.check_dry_run(_name(client_call_details.method), version)
        return await continuation(client_call_details, request)
