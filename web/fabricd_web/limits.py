# SPDX-License-Identifier: BSD-3-Clause
"""Limits of connections: how many there are, and how long a client may take to send a request."""

from __future__ import annotations

import asyncio
from typing import Optional

CONNECTIONS = 256
STREAMS = 64
FIRST_REQUEST = 10.0  # seconds
KEEP_ALIVE = 30.0
HEADER = 8190  # bytes of the request line, and of one header
HEADERS = 16384
# A request of the manager has at most 64 KiB, and is larger as JSON.
BODY = 256 << 10
BODIES = 16  # so many bodies are read at a time
BODY_TIME = 10.0  # seconds


class Places:
    """A number of places; a stream or connection takes one."""

    def __init__(self, most: int):
        self.most = most
        self.used = 0

    def take(self) -> bool:
        if self.used >= self.most:
            return False
        self.used += 1
        return True

    def free(self) -> None:
        self.used -= 1


class Guard(asyncio.Protocol):
    """A connection of aiohttp. It is closed at once if there are too many, and after a while if the client does not
    send its first request."""

    def __init__(self, inner: asyncio.Protocol, places: Places):
        self.inner = inner
        self.places = places
        self.accepted = False
        self.tail = b""  # the end of the bytes received, until the first request is complete
        self.timer: Optional[asyncio.TimerHandle] = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.accepted = self.places.take()
        if not self.accepted:
            transport.abort()  # type: ignore[attr-defined]
            return
        self.timer = asyncio.get_running_loop().call_later(FIRST_REQUEST, transport.close)
        self.inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if not self.accepted:
            return
        if self.timer is not None:
            self.tail = (self.tail + data)[-HEADERS:]
            if b"\r\n\r\n" in self.tail:
                self._stop_timer()
        self.inner.data_received(data)

    def _stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None
        self.tail = b""

    def connection_lost(self, error: Optional[Exception]) -> None:
        self._stop_timer()
        if self.accepted:
            self.accepted = False
            self.places.free()
            self.inner.connection_lost(error)

    def eof_received(self) -> Optional[bool]:
        return self.inner.eof_received() if self.accepted else None

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()
