# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions. The text of an exception is the sentence of the manager."""

from __future__ import annotations

from typing import Any, Dict, Type

import grpc


class FabricError(Exception):
    """A call failed. `code` is the name of the gRPC status, such as "NOT_FOUND"."""

    code = "UNKNOWN"

    def __init__(self, message: str, code: str = ""):
        super().__init__(message)
        self.code = code or type(self).code


class InvalidArgument(FabricError):
    """The manager or this library does not accept an argument."""

    code = "INVALID_ARGUMENT"


class NotFound(FabricError):
    """The fabric has no such node, port, link or other object."""

    code = "NOT_FOUND"


class AlreadyExists(FabricError):
    """The object is already in the state that was asked for."""

    code = "ALREADY_EXISTS"


class Refused(FabricError):
    """The manager refuses the request to protect the fabric, or a condition of the method is not met."""

    code = "FAILED_PRECONDITION"


class Conflict(FabricError):
    """Somebody else has changed what the caller wanted to change."""

    code = "ABORTED"


class Denied(FabricError):
    """The caller has not the role that the method needs."""

    code = "PERMISSION_DENIED"


class NotSupported(FabricError):
    """The manager is too old for the request."""

    code = "UNIMPLEMENTED"


class Exhausted(FabricError):
    """A limit was reached."""

    code = "RESOURCE_EXHAUSTED"


class NotStored(FabricError):
    """The change was made, but could not be stored: a restart of the manager may undo it."""

    code = "DATA_LOSS"


class Unavailable(FabricError):
    """The manager cannot be reached."""

    code = "UNAVAILABLE"


class TimedOut(FabricError):
    """The manager did not answer in time."""

    code = "DEADLINE_EXCEEDED"


class JournalReplaced(FabricError):
    """The manager has no event with the sequence number after which `watch` should resume: it has another journal of
    events, for example because another manager became master."""

    code = "OUT_OF_RANGE"


class EventsMissed(FabricError):
    """Events are no longer stored, so `watch` cannot report them: those from `first` to `last`. Resume with
    watch(after=error.last)."""

    code = "OUT_OF_RANGE"

    def __init__(self, first: int, last: int):
        super().__init__(f"the manager no longer stores the events {first} to {last}")
        self.first = first
        self.last = last


BY_CODE: Dict[str, Type[FabricError]] = {c.code: c for c in (
    InvalidArgument, NotFound, AlreadyExists, Refused, Conflict, Denied, NotSupported, Exhausted, NotStored, Unavailable,
    TimedOut, JournalReplaced)}


def from_grpc(error: Any) -> FabricError:
    """Makes an exception of this package from a grpc.RpcError."""
    code: grpc.StatusCode = error.code()
    return BY_CODE.get(code.name, FabricError)(error.details() or code.name, code.name)
