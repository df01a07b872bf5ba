# SPDX-License-Identifier: BSD-3-Clause
"""The REST API: GET /api/v1/METHOD?field=value for each method that a viewer may call, or POST /api/v1/METHOD with the
request as JSON, as google.api.http transcodes a method with `body: "*"`."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Dict, Optional, Tuple

from aiohttp import web

from fabricd import Exhausted, FabricError, TimedOut

from . import __version__, encode, openapi, query
from .limits import BODIES, BODY_TIME, STREAMS, Places
from .methods import PREFIX, Method, served
from .upstream import Upstream

# So often a stream without events sends a comment, so that a proxy keeps the connection.
PULSE = 15.0
# So often a stream looks whether its client is still there.
LOOK = 1.0
COMPRESS_OVER = 1024
# Answers with more bytes are encoded on another thread, so that other requests do not wait.
LARGE = 65536
EVENT_LIMIT = 64


def json_response(body: bytes) -> web.Response:
    response = web.Response(body=body, content_type="application/json", charset="utf-8")
    if len(body) > COMPRESS_OVER:
        response.enable_compression()
    return response


class Api:
    """The handlers of the API."""

    def __init__(self, upstream: Upstream):
        self.upstream = upstream
        self.methods: Dict[str, Method] = served()
        self.streams = Places(STREAMS)
        self.bodies = Places(BODIES)
        self.document = encode.dumps(openapi.document(self.methods, __version__))

    def routes(self) -> Any:
        yield web.get(PREFIX + "openapi.json", self.get_document)
        for method in self.methods.values():
            handler = self._handler(method)
            yield web.get(method.path, handler)
            yield web.post(method.path, handler)

    def _handler(self, method: Method) -> Any:
        async def unary(request: web.Request) -> web.StreamResponse:
            message = await self._message(request, method)
            answer = await self.upstream.call(method, message)
            if answer.ByteSize() < LARGE:
                return json_response(encode.message_body(answer))
            loop = asyncio.get_running_loop()
            return json_response(await loop.run_in_executor(None, encode.message_body, answer))

        async def stream(request: web.Request) -> web.StreamResponse:
            message = await self._message(request, method)
            if not self.streams.take():
                raise Exhausted(f"all {STREAMS} streams are in use; try again later")
            try:
                send = send_file if method.is_file else self.send_events
                return await send(request, method, message)
            finally:
                self.streams.free()
        return stream if method.streams else unary

    async def _message(self, request: web.Request, method: Method) -> Any:
        """Returns the message of a request."""
        if request.method != "POST":
            return query.request(method.request, request.query.items())
        if request.content_type != "application/json":
            raise query.BadQuery(f'"{request.content_type}" is not accepted as Content-Type; accepted is application/json')
        if request.query:
            raise query.BadQuery("a POST has its parameters in the body, and none in the query")
        body = await self._body(request)
        if len(body) < LARGE:
            return query.from_body(method.request, body)
        return await asyncio.get_running_loop().run_in_executor(None, query.from_body, method.request, body)

    async def _body(self, request: web.Request) -> bytes:
        if not self.bodies.take():
            raise Exhausted(f"{BODIES} requests with a body are being read; try again later")
        try:
            return await asyncio.wait_for(request.read(), BODY_TIME)
        except asyncio.TimeoutError as error:
            raise TimedOut(f"the body did not arrive within {BODY_TIME:g} s") from error
        finally:
            self.bodies.free()

    async def get_document(self, _: web.Request) -> web.StreamResponse:
        return json_response(self.document)

    async def send_events(self, request: web.Request, method: Method, message: Any) -> web.StreamResponse:
        """Sends the answers of a stream as server-sent events."""
        answers = self.upstream.stream(method, message)
        if method.name == "WatchEvents":
            answers = self.watch(request, message)
        await self.upstream.check_role()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        await response.write(b": fabricd-web\nretry: 2000\n\n")
        try:
            await pump(request, response, answers)
        except FabricError as error:
            body = encode.dumps({"code": error.code, "message": str(error)})
            await response.write(b"event: error\ndata: " + body + b"\n\n")
        except ConnectionResetError:
            pass  # the client is gone
        return response

    async def watch(self, request: web.Request, message: Any) -> AsyncIterator[Any]:
        """Iterates over events, also when the manager restarts. A client that connects again says by Last-Event-ID
        which event it had last, and misses none."""
        after: Optional[int] = message.after_sequence or None
        last = request.headers.get("Last-Event-ID", "")
        if last.isdecimal() and len(last) < 20:
            after = int(last)
        missed: list[Any] = []
        severity = {1: "debug", 3: "warning", 4: "error"}.get(message.min_severity, "info")
        async for event in self.upstream.fabric.watch(after=after, severity=severity, on_missed=missed.append):
            while missed:
                yield missed.pop(0)
            yield event


async def send_file(request: web.Request, method: Method, message: Any) -> web.StreamResponse:
    """Sends the pieces of a file. An error before the first piece is an answer; later, the connection breaks off."""
    upstream: Upstream = request.app["upstream"]
    response: Optional[web.StreamResponse] = None
    async for piece in upstream.stream(method, message):
        if response is None:
            response = web.StreamResponse(headers={"Content-Type": "application/octet-stream",
                                                   "Content-Disposition": f'attachment; filename="{method.name}"'})
            response.enable_compression()
            await response.prepare(request)
        await response.write(piece.data)
    if response is None:
        return web.Response(content_type="application/octet-stream")
    return response


def frame(message: Any) -> bytes:
    """Returns one message as a server-sent event. An event of the manager has its sequence number as id."""
    name = message.DESCRIPTOR.name
    lines = []
    if name == "MissedEvents":
        lines.append(b"event: missed")
    elif name == "Event" and message.sequence:
        lines.append(b"id: %d" % message.sequence)
    return b"\n".join(lines + [b"data: " + encode.message_body(message)]) + b"\n\n"


def is_gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


async def pump(request: web.Request, response: web.StreamResponse, answers: AsyncIterator[Any]) -> None:
    """Sends answers, and comments while there are none. Ends if the client is gone."""
    queue: "asyncio.Queue[Tuple[Any, Optional[BaseException]]]" = asyncio.Queue(EVENT_LIMIT)

    async def read() -> None:
        try:
            async for answer in answers:
                await queue.put((answer, None))
            await queue.put((None, None))
        except FabricError as error:
            await queue.put((None, error))

    reader = asyncio.create_task(read())
    quiet = 0.0
    try:
        while not is_gone(request):
            try:
                answer, error = await asyncio.wait_for(queue.get(), LOOK)
            except asyncio.TimeoutError:
                quiet += LOOK
                if quiet >= PULSE:
                    await response.write(b": alive\n\n")
                    quiet = 0.0
                continue
            if error is not None:
                raise error
            if answer is None:
                return
            await response.write(frame(answer))
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
