# SPDX-License-Identifier: BSD-3-Clause
"""Where a stream of events resumes. The class has no I/O: Fabric and AsyncFabric drive it."""

from __future__ import annotations

import fnmatch
import time
from typing import Any, Callable, Dict, List, Optional

import grpc
from google.protobuf import timestamp_pb2

from . import calls, text
from .errors import EventsMissed, JournalReplaced, from_grpc
from .text import Words
from .v1 import event_pb2

FIRST_DELAY = 0.2
LONGEST_DELAY = 5.0
TRANSIENT = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)


class Position:
    """The last event that the caller has seen, and when to call the manager again."""

    def __init__(self, after: int, types: Words, severity: str, seconds: Optional[float], patience: Optional[float],
                 on_missed: Optional[Callable[[event_pb2.MissedEvents], None]]):
        self.after = after
        self.types: List[str] = text.patterns(types)
        self.severity = calls.severity(severity)
        self.end = None if seconds is None else time.monotonic() + seconds
        self.patience = patience
        self.on_missed = on_missed
        self.lost_at: Optional[float] = None
        self.delay = FIRST_DELAY
        # Each manager has a journal of its own. The last event that was seen of each, and the time of the last event.
        self.journal = ""
        self.seen: Dict[str, int] = {}
        self.again = False  # the stream must begin again, after the last event that was seen of its journal
        self.time = timestamp_pb2.Timestamp(seconds=int(time.time()))

    def request(self) -> event_pb2.WatchEventsRequest:
        self.again = False
        request = event_pb2.WatchEventsRequest(after_sequence=self.after, min_severity=self.severity)
        if self.journal:
            request.journal = self.journal
            request.after_time.CopyFrom(self.time)
        return request

    def remaining(self) -> Optional[float]:
        return None if self.end is None else max(0.0, self.end - time.monotonic())

    def connected(self) -> None:
        """The manager has begun to answer."""
        self.lost_at = None
        self.delay = FIRST_DELAY

    def take(self, response: Any) -> Optional[event_pb2.Event]:
        """Returns the event of a response, if the caller asked for it and has not seen it."""
        if response.journal and response.journal != self.journal:
            self._change_journal(response.journal)
        if self.again:
            return None
        if response.HasField("missed"):
            self._miss(response.missed)
        self.after = max(self.after, response.resume_after)
        if not response.HasField("event"):
            return None
        event: event_pb2.Event = response.event
        if event.sequence:
            if event.sequence <= self.after:
                return None
            self.after = event.sequence
        self.time.CopyFrom(event.time)
        return event if self._wants(event.type) else None

    def _change_journal(self, journal: str) -> None:
        """Another manager answers, or the first one."""
        if self.journal:
            self.seen[self.journal] = self.after
            self.again = journal in self.seen
            self.after = self.seen.get(journal, 0)
        self.journal = journal

    def _miss(self, missed: event_pb2.MissedEvents) -> None:
        if self.on_missed is not None:
            self.on_missed(missed)
        elif missed.last_sequence:
            raise EventsMissed(missed.first_sequence, missed.last_sequence)
        self.after = max(self.after, missed.last_sequence)

    def _wants(self, event_type: str) -> bool:
        return not self.types or any(fnmatch.fnmatchcase(event_type, p) for p in self.types)

    def wait(self, error: Any) -> Optional[float]:
        """Returns after how many seconds to call again, or None if the time of the caller is over. Raises the error
        if another call cannot succeed. `error` is None: the manager ended the stream, as it does when it stops."""
        now = time.monotonic()
        if self.end is not None and now >= self.end:
            return None
        if error is not None:
            self._judge(error, now)
        delay = self.delay
        self.delay = min(2 * delay, LONGEST_DELAY)
        return delay if self.end is None else min(delay, self.end - now)

    def _judge(self, error: Any, now: float) -> None:
        code = error.code()
        if code == grpc.StatusCode.OUT_OF_RANGE:
            raise JournalReplaced(error.details(), code.name) from error
        self.lost_at = self.lost_at or now
        out_of_patience = self.patience is not None and now - self.lost_at > self.patience
        if code not in TRANSIENT or out_of_patience:
            raise from_grpc(error) from error
