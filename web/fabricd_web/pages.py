# SPDX-License-Identifier: BSD-3-Clause
"""The files of the page. They are read once, at the start: no path of a request reaches the file system."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Dict, Tuple

from aiohttp import web

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Page:
    """The page, as fixed answers."""

    def __init__(self, folder: str):
        self.files: Dict[str, Tuple[str, bytes, str]] = {}
        for name in sorted(os.listdir(folder)):
            kind = TYPES.get(os.path.splitext(name)[1])
            if kind is not None:
                with open(os.path.join(folder, name), "rb") as file:
                    body = file.read()
                self.files["/" + name] = (kind, body, f'"{hashlib.sha256(body).hexdigest()[:16]}"')
        if "/index.html" not in self.files:
            raise OSError(f"no index.html in {folder}: install fabricd-web again")
        self.files["/"] = self.files.pop("/index.html")

    def routes(self) -> Any:
        for path in self.files:
            yield web.get(path, self.get)

    async def get(self, request: web.Request) -> web.StreamResponse:
        kind, body, tag = self.files[request.path]
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers=headers)
        response = web.Response(body=body, content_type=kind, charset="utf-8", headers=headers)
        response.enable_compression()
        return response
