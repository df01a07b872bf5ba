# SPDX-License-Identifier: BSD-3-Clause
"""The OpenAPI 3.1 document of the gateway, from the descriptors of the API."""

from __future__ import annotations

import re
from typing import Any, Dict, Set

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from . import errors
from .methods import Method
from .query import parameters

DURATION = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$"}
# The JSON mapping of protobuf writes integers of 64 bits as strings.
LONG = {"type": "string", "pattern": "^-?[0-9]+$", "format": "int64"}
UNSIGNED_LONG = {"type": "string", "pattern": "^[0-9]+$", "format": "uint64"}
F = FieldDescriptor
KINDS: Dict[int, Dict[str, Any]] = {
    F.TYPE_DOUBLE: {"type": ["number", "string"], "format": "double"}, F.TYPE_FLOAT: {"type": ["number", "string"]},
    F.TYPE_BOOL: {"type": "boolean"}, F.TYPE_STRING: {"type": "string"},
    F.TYPE_BYTES: {"type": "string", "contentEncoding": "base64"},
    F.TYPE_UINT32: {"type": "integer", "minimum": 0, "maximum": 4294967295},
    F.TYPE_FIXED32: {"type": "integer", "minimum": 0, "maximum": 4294967295},
    F.TYPE_INT32: {"type": "integer", "format": "int32"}, F.TYPE_SINT32: {"type": "integer", "format": "int32"},
    F.TYPE_SFIXED32: {"type": "integer", "format": "int32"},
    F.TYPE_INT64: LONG, F.TYPE_SINT64: LONG, F.TYPE_SFIXED64: LONG,
    F.TYPE_UINT64: UNSIGNED_LONG, F.TYPE_FIXED64: UNSIGNED_LONG}


def _enum(enum: EnumDescriptor) -> Dict[str, Any]:
    # A newer manager may send a value without a name, as a number.
    return {"anyOf": [{"type": "string", "enum": [v.name for v in enum.values]}, {"type": "integer"}]}


class Schemas:
    """The schemas of messages, each with those of its fields."""

    def __init__(self) -> None:
        self.made: Dict[str, Any] = {}
        self.open: Set[str] = set()

    def reference(self, message: Descriptor) -> Dict[str, Any]:
        if message.full_name == "google.protobuf.Timestamp":
            return {"type": "string", "format": "date-time"}
        if message.full_name == "google.protobuf.Duration":
            return DURATION
        if message.name not in self.made:
            self.made[message.name] = {}
            self.made[message.name] = {"type": "object", "additionalProperties": False,
                                       "properties": {f.name: self.field(f) for f in message.fields}}
        return {"$ref": f"#/components/schemas/{message.name}"}

    def one(self, field: FieldDescriptor) -> Dict[str, Any]:
        if field.enum_type is not None:
            return _enum(field.enum_type)
        return KINDS[field.type] if field.message_type is None else self.reference(field.message_type)

    def field(self, field: FieldDescriptor) -> Dict[str, Any]:
        message = field.message_type
        if message is not None and message.GetOptions().map_entry:
            return {"type": "object", "additionalProperties": self.one(message.fields_by_name["value"])}
        if field.label == field.LABEL_REPEATED:
            return {"type": "array", "items": self.one(field)}
        return self.one(field)


def _summary(name: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).split()
    return " ".join([words[0]] + [w.lower() for w in words[1:]])


def _parameter(name: str, field: FieldDescriptor, schemas: Schemas) -> Dict[str, Any]:
    schema: Dict[str, Any] = schemas.field(field)
    if field.enum_type is not None:
        schema = {"type": "string"}
    result = {"name": name, "in": "query", "required": False, "schema": schema}
    if field.enum_type is not None:
        result["description"] = "One of " + ", ".join(v.name for v in field.enum_type.values)
    return result


def _content(method: Method, schemas: Schemas) -> Dict[str, Any]:
    if method.is_file:
        return {"application/octet-stream": {}}
    schema = schemas.reference(method.descriptor.output_type)
    return {"text/event-stream" if method.streams else "application/json": {"schema": schema}}


def _operation(name: str, method: Method, schemas: Schemas) -> Dict[str, Any]:
    told = "the data of each event is one message" if method.streams and not method.is_file else "the answer"
    return {"operationId": name, "summary": _summary(method.name),
            "responses": {"200": {"description": told, "content": _content(method, schemas)},
                          "default": {"$ref": "#/components/responses/Error"}}}


def _path(method: Method, schemas: Schemas) -> Dict[str, Any]:
    request = method.descriptor.input_type
    query = [_parameter(n, f, schemas) for n, f in parameters(request)]
    body = {"required": True, "content": {"application/json": {"schema": schemas.reference(request)}}}
    return {"get": {**_operation(method.name, method, schemas), "parameters": query},
            "post": {**_operation(method.name + "WithBody", method, schemas), "requestBody": body}}


def document(methods: Dict[str, Method], version: str) -> Dict[str, Any]:
    """Returns the document, which json can write."""
    schemas = Schemas()
    paths = {m.path: _path(m, schemas) for m in methods.values()}
    error = {"type": "object", "required": ["code", "message"], "additionalProperties": False,
             "properties": {"code": {"type": "string", "enum": sorted(errors.STATUS)}, "message": {"type": "string"}}}
    return {"openapi": "3.1.0",
            "info": {"title": "fabricd-web", "version": version, "license": {"name": "BSD-3-Clause"},
                     "description": "The read methods of the fabric manager fabricd. proto/fabric/v1 describes each "
                                    "method and field. GET takes the fields as parameters, POST takes the whole "
                                    "request as JSON: fields that are lists of messages fit only there. JSON follows the mapping of protobuf, with the names of the "
                                    "API; integers of 64 bits are strings."},
            "paths": paths,
            "components": {
                "schemas": {**schemas.made, "Error": error},
                "responses": {"Error": {"description": "the call failed", "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/Error"}}}}}}}
