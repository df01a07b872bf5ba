# SPDX-License-Identifier: BSD-3-Clause
"""Errors as HTTP: the status for each code of gRPC, and the body {"code", "message"}."""

from __future__ import annotations

from aiohttp import web

from .encode import dumps

STATUS = {"INVALID_ARGUMENT": 400, "OUT_OF_RANGE": 400, "FAILED_PRECONDITION": 409, "ALREADY_EXISTS": 409,
          "ABORTED": 409, "PERMISSION_DENIED": 403, "UNAUTHENTICATED": 401, "NOT_FOUND": 404,
          "RESOURCE_EXHAUSTED": 429, "CANCELLED": 499, "UNIMPLEMENTED": 501, "UNAVAILABLE": 503,
          "DEADLINE_EXCEEDED": 504, "DATA_LOSS": 500, "INTERNAL": 500, "UNKNOWN": 500, "METHOD_NOT_ALLOWED": 405,
          "NO_SUCH_PATH": 404, "TOO_LARGE": 413}


def response(code: str, message: str, allowed: str = "") -> web.Response:
    """Returns the answer for an error. allowed: the HTTP methods of the path, for METHOD_NOT_ALLOWED."""
    answer = web.Response(status=STATUS.get(code, 500), body=dumps({"code": code, "message": message}),
                          content_type="application/json", charset="utf-8")
    if code == "METHOD_NOT_ALLOWED":
        answer.headers["Allow"] = allowed
    if code in ("UNAVAILABLE", "RESOURCE_EXHAUSTED"):
        answer.headers["Retry-After"] = "5"
    return answer
