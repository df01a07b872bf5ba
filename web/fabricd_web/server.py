# SPDX-License-Identifier: BSD-3-Clause
"""The server: its paths, its limits, and its start and end."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
from typing import Any, Set

from aiohttp import web

from fabricd import AsyncFabric

from . import limits, security
from .api import Api
from .fabric_map import Maps
from .options import Address, parse_address, tls_context
from .pages import Page
from .upstream import Upstream

log = logging.getLogger("fabricd-web")


def loopback_names(address: Address) -> Set[str]:
    return {"localhost", "127.0.0.1", "[::1]", address.host, f"[{address.host}]"} - {"[127.0.0.1]", "[localhost]"}


def application(fabric: AsyncFabric, page_folder: str, accepted: Any) -> web.Application:
    """Makes the application. accepted: see security.only."""
    upstream = Upstream(fabric)
    app = web.Application(middlewares=[security.only(accepted)], client_max_size=limits.BODY)
    app["upstream"] = upstream
    maps = app["maps"] = Maps(upstream)
    app.on_response_prepare.append(security.add_headers)
    app.add_routes(list(Api(upstream).routes()))
    app.add_routes(list(maps.routes()))
    app.add_routes(list(Page(page_folder).routes()))
    app.on_startup.append(maps.start)
    app.on_cleanup.append(maps.stop)
    return app


def notify(state: str) -> None:
    """Tells systemd a state, if it started this program."""
    path = os.environ.get("NOTIFY_SOCKET")
    if not path:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.connect("\0" + path[1:] if path.startswith("@") else path)
        channel.send(state.encode())


async def serve(options: argparse.Namespace) -> None:
    """Serves until SIGTERM or SIGINT."""
    address = parse_address(options.listen)
    tls = tls_context(options, address)
    async with AsyncFabric(options.server, ca=options.tls_ca, cert=options.tls_cert, key=options.tls_key) as fabric:
        accepted = loopback_names(address) if address.is_loopback else None
        runner = web.AppRunner(application(fabric, options.page, accepted), access_log=None,
                               keepalive_timeout=limits.KEEP_ALIVE, max_line_size=limits.HEADER,
                               max_field_size=limits.HEADER, max_headers=limits.HEADERS)
        await runner.setup()
        places = limits.Places(limits.CONNECTIONS)
        server = await asyncio.get_running_loop().create_server(
            lambda: limits.Guard(runner.server(), places), address.host, address.port, ssl=tls)  # type: ignore[misc]
        port = server.sockets[0].getsockname()[1]
        host = f"[{address.host}]" if ":" in address.host else address.host
        log.info("serving http%s://%s:%d/", "s" if tls else "", host, port)
        notify("READY=1")
        stopped = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await stopped.wait()
        server.close()
        await runner.cleanup()
