# SPDX-License-Identifier: BSD-3-Clause
"""Helpers for messages of the API: names of ports, times, values of events, words for enumerations."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Sequence, Tuple, Union

from google.protobuf import json_format, timestamp_pb2

from .errors import InvalidArgument
from .v1 import event_pb2, port_pb2

# A moment, or how long ago it was.
When = Union[datetime, timedelta]
Words = Union[str, Sequence[str]]


def port_name(port: port_pb2.PortRef) -> str:
    """Returns the name of a port, such as "leaf-001/5"."""
    return f"{port.node_name or port.node_guid}/{port.port_number}"


def link_name(link: Any) -> str:
    """Returns the name of a link, or of a message with ports `a` and `b`, such as "leaf-001/5 - spine-001/1"."""
    return f"{port_name(link.a)} - {port_name(link.b)}"


def parse_port(text: str) -> Tuple[str, int]:
    """Divides "leaf-001/5" into the node and the number of the port."""
    node, slash, number = text.rpartition("/")
    if not node or not slash or not number.isdecimal():
        raise InvalidArgument(f'"{text}" is no port; write NODE/PORT, such as leaf-001/5')
    return node, int(number)


def one_port(port: Any) -> Tuple[str, int]:
    """Returns the node and the number of a port that is given as text, PortRef, Port, or Link (then its port a)."""
    if isinstance(port, str):
        return parse_port(port)
    for field in ("a", "port"):
        port = getattr(port, field, port)
    return port.node_guid or port.node_name, port.port_number


def time_of(stamp: timestamp_pb2.Timestamp) -> datetime:
    """Returns a Timestamp as a datetime with time zone UTC."""
    return datetime.fromtimestamp(stamp.seconds, timezone.utc) + timedelta(microseconds=stamp.nanos // 1000)


def timestamp(when: When) -> timestamp_pb2.Timestamp:
    """Makes a Timestamp. A datetime without time zone is local time; a timedelta counts back from now."""
    moment = datetime.now(timezone.utc) - when if isinstance(when, timedelta) else when
    stamp = timestamp_pb2.Timestamp()
    stamp.FromDatetime(moment.astimezone(timezone.utc).replace(tzinfo=None))
    return stamp


def values(event: event_pb2.Event) -> Dict[str, Union[str, int]]:
    """Returns the fields of an event as texts and numbers."""
    return {name: value.text if value.WhichOneof("kind") == "text" else value.number
            for name, value in event.fields.items()}


def as_dict(message: Any) -> Dict[str, Any]:
    """Returns a message as a dictionary that the module json can write, with all its fields."""
    result: Dict[str, Any] = json_format.MessageToDict(
        message, including_default_value_fields=True, preserving_proto_field_name=True)
    return result


def _prefix(enum: Any) -> str:
    first: str = enum.Name(0)
    return first[:-len("UNSPECIFIED")]


def word(enum: Any, value: int) -> str:
    """Returns the word for a value of an enumeration: word(PortState, link.state) is "active"."""
    if value not in enum.values():
        return str(value)
    return str(enum.Name(value))[len(_prefix(enum)):].lower().replace("_", "-")


def enum_value(enum: Any, text: str, what: str) -> Any:
    """Returns the value of an enumeration for a word, and 0 for an empty word."""
    if not text:
        return 0
    words = {word(enum, value): value for value in enum.values() if value}
    if text not in words:
        raise InvalidArgument(f'"{text}" is no {what}; accepted are {", ".join(words)}')
    return words[text]


def patterns(types: Words) -> List[str]:
    """Returns patterns of event types, which are given as a list, or as a text with commas."""
    return [p.strip() for p in (types.split(",") if isinstance(types, str) else types) if p.strip()]


def host_list(hosts: Words) -> List[str]:
    """Returns the items of a list of hosts as schedulers write it ("node[01-16,20],login1"), or of a list of such
    items. Commas in brackets do not divide items."""
    texts = [hosts] if isinstance(hosts, str) else hosts
    return [item for text in texts for item in re.findall(r"(?:\[[^\]]*\]|[^,\[]|\[)+", text)]
