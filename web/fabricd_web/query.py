# SPDX-License-Identifier: BSD-3-Clause
"""Query parameters, or a body of JSON, to request messages, by the JSON mapping of protobuf.

A field of a message within the request is "outer.inner". A repeated field is given several times. An enumeration is
the name of the value (PORT_STATE_ACTIVE), its word (active) or its number. Names are those of the API (page_size) or
their JSON names (pageSize)."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Tuple

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor

DEPTH = 8  # no request of the API is as deep


class BadQuery(ValueError):
    """A parameter or a member of the body is unknown, or has a value that is not accepted."""


# Messages that the JSON mapping writes as one string.
TEXTS = ("google.protobuf.Timestamp", "google.protobuf.Duration")


def parameters(descriptor: Descriptor, prefix: str = "", depth: int = DEPTH) -> List[Tuple[str, FieldDescriptor]]:
    """Returns the parameters of a request: their names and fields."""
    found: List[Tuple[str, FieldDescriptor]] = []
    for field in descriptor.fields:
        if field.message_type is None or field.message_type.full_name in TEXTS:
            found.append((prefix + field.name, field))
        elif field.label != field.LABEL_REPEATED and depth > 0:
            found += parameters(field.message_type, prefix + field.name + ".", depth - 1)
    return found


def _enum(field: FieldDescriptor, text: str) -> Any:
    values = field.enum_type.values_by_name
    if text in values or text.lstrip("-").isdecimal():
        return text if text in values else int(text)
    prefix = field.enum_type.values[0].name[:-len("UNSPECIFIED")]
    name = prefix + text.upper().replace("-", "_")
    if name not in values:
        accepted = ", ".join(n[len(prefix):].lower().replace("_", "-") for n in list(values)[1:])
        raise BadQuery(f'"{text}" is not accepted for {field.name}; accepted are {accepted}')
    return name


def _value(field: FieldDescriptor, text: str) -> Any:
    if field.enum_type is not None:
        return _enum(field, text)
    if field.type == field.TYPE_BOOL:
        if text not in ("true", "false"):
            raise BadQuery(f'"{text}" is not accepted for {field.name}; accepted are true and false')
        return text == "true"
    return text


def _find(descriptor: Descriptor, name: str) -> FieldDescriptor:
    for field in descriptor.fields:
        if name in (field.name, field.json_name):
            return field
    accepted = ", ".join(n for n, _ in parameters(descriptor)) or "none"
    raise BadQuery(f'there is no parameter "{name}" in {descriptor.name}; accepted are {accepted}')


def _put(tree: Dict[str, Any], descriptor: Descriptor, name: str, text: str) -> None:
    *outer, last = name.split(".")
    if len(outer) > DEPTH:
        raise BadQuery(f'there is no parameter "{name[:100]}"')
    for part in outer:
        field = _find(descriptor, part)
        if field.message_type is None or field.message_type.full_name in TEXTS or field.label == field.LABEL_REPEATED:
            raise BadQuery(f'there is no parameter "{name}": {part} has no fields')
        tree = tree.setdefault(field.name, {})
        descriptor = field.message_type
    field = _find(descriptor, last)
    if field.message_type is not None and field.message_type.full_name not in TEXTS:
        raise BadQuery(f'"{name}" has fields: give them as {name}.FIELD')
    if field.label == field.LABEL_REPEATED:
        tree.setdefault(field.name, []).append(_value(field, text))
    elif field.name in tree:
        raise BadQuery(f'the parameter "{name}" is given twice')
    else:
        tree[field.name] = _value(field, text)


def request(kind: Any, pairs: Iterable[Tuple[str, str]]) -> Any:
    """Makes a message of this class from query parameters."""
    tree: Dict[str, Any] = {}
    for name, text in pairs:
        _put(tree, kind.DESCRIPTOR, name, text)
    try:
        return json_format.ParseDict(tree, kind())
    except json_format.ParseError as error:
        raise BadQuery(f"a parameter is not accepted: {error}") from error


def from_body(kind: Any, body: bytes) -> Any:
    """Makes a message of this class from JSON. Besides ParseError, protobuf raises the errors of Python for values that
    are no objects or no UTF-8."""
    if not body.lstrip().startswith(b"{"):  # protobuf takes [] for an empty message
        raise BadQuery(f"the body is not a JSON object with the fields of {kind.DESCRIPTOR.name}")
    try:
        return json_format.Parse(body, kind())
    except (json_format.ParseError, AttributeError, RecursionError, TypeError, ValueError) as error:
        raise BadQuery(f"the body is not accepted as JSON of {kind.DESCRIPTOR.name}: {error}") from error
