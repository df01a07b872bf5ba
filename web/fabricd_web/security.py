# SPDX-License-Identifier: BSD-3-Clause
"""What every answer and every request must have: headers against scripts and frames of others, a Host that names this
server, and a body only where it is read."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Awaitable, Callable, Optional, Set

from aiohttp import web

from fabricd import FabricError

from . import errors, limits
from .query import BadQuery

log = logging.getLogger("fabricd-web")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                               "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Adds the headers; called before they are sent."""
    for name, value in HEADERS.items():
        response.headers[name] = value
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers["Server"] = "fabricd-web"


def host_name(host: str) -> str:
    """Returns the name in a Host header, without the port."""
    return host[:host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]


def only(accepted: Optional[Set[str]]) -> Any:
    """Makes the middleware. accepted: names of this server in the header Host; None: all. On loopback, this header
    keeps the pages of other servers out, whose names were made to lead to this machine (DNS rebinding)."""
    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if accepted is not None and host_name(request.headers.get("Host", "")).lower() not in accepted:
            return errors.response("PERMISSION_DENIED", "this server is only for " + ", ".join(sorted(accepted)))
        if request.can_read_body and request.method != "POST":
            answer = errors.response("TOO_LARGE", f"a {request.method} has no body: give parameters in the query, or "
                                     "use POST")
            answer.force_close()
            return answer
        return await guarded(request, handler)
    return middleware


async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Calls the handler, and makes an answer from each error."""
    try:
        return await handler(request)
    except BadQuery as error:
        return errors.response("INVALID_ARGUMENT", str(error))
    except FabricError as error:
        return errors.response(error.code, str(error))
    except web.HTTPMethodNotAllowed as error:
        allowed = ", ".join(sorted(error.allowed_methods))
        return errors.response("METHOD_NOT_ALLOWED", f"{error.method} is not accepted here; accepted are {allowed}",
                               allowed)
    except web.HTTPRequestEntityTooLarge:
        answer = errors.response("TOO_LARGE", f"a body has at most {limits.BODY >> 10} KiB")
        answer.force_close()
        return answer
    except web.HTTPException as error:
        code = "NO_SUCH_PATH" if error.status == 404 else "INVALID_ARGUMENT"
        return errors.response(code, f"{error.reason}: /api/v1/openapi.json lists what there is")
    except (asyncio.CancelledError, ConnectionResetError):
        raise
    except Exception:
        log.exception("request %s failed", request.path)
        return errors.response("INTERNAL", "an error of fabricd-web; its log has more")
