# SPDX-License-Identifier: BSD-3-Clause
"""The methods that the gateway serves. The descriptors of the API decide: a method is served if a viewer may call it.
Methods without a role, and all that change something, have no path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List

from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor

from fabricd.v1 import access_pb2, fabric_service_pb2

SERVICE = fabric_service_pb2.DESCRIPTOR.services_by_name["FabricService"]
SERVED_ROLES = (access_pb2.ROLE_TENANT, access_pb2.ROLE_VIEWER)
PREFIX = "/api/v1/"
# Seconds after which a call fails. Studies of routes are queued by the manager, and take longer.
TIMEOUT = 30.0
STUDY_TIMEOUT = 180.0
STUDIES = ("GetQuality", "CompareEngines", "WhatIf", "GetVerdict", "GetDrainPreview", "GetDrainPlan",
           "GetAffectedJobs")


@dataclass(frozen=True)
class Method:
    """A method of the API and its path."""

    name: str
    descriptor: MethodDescriptor
    request: Any  # the class of the message
    streams: bool
    is_file: bool  # the pieces of the stream are a file

    @property
    def path(self) -> str:
        return PREFIX + self.name

    @property
    def timeout(self) -> float:
        return STUDY_TIMEOUT if self.name in STUDIES else TIMEOUT


def role_of(descriptor: MethodDescriptor) -> int:
    """Returns the role that a caller of the method needs; 0: the API does not say."""
    role: int = descriptor.GetOptions().Extensions[access_pb2.role]
    return role


def _streams(descriptor: MethodDescriptor) -> bool:
    # MethodDescriptor of protobuf 3.21 does not have this field of the file.
    for method in _proto().method:
        if method.name == descriptor.name:
            return bool(method.server_streaming)
    raise KeyError(descriptor.name)


def _proto() -> Any:
    from google.protobuf import descriptor_pb2
    proto = descriptor_pb2.ServiceDescriptorProto()
    SERVICE.CopyToProto(proto)
    return proto


def _method(descriptor: MethodDescriptor) -> Method:
    streams = _streams(descriptor)
    factory = message_factory.MessageFactory()
    data = descriptor.output_type.fields_by_name.get("data")
    is_file = streams and data is not None and data.type == data.TYPE_BYTES
    return Method(descriptor.name, descriptor, factory.GetPrototype(descriptor.input_type), streams, is_file)


def served() -> Dict[str, Method]:
    """Returns the served methods by name, in the order of the API."""
    return {d.name: _method(d) for d in SERVICE.methods if role_of(d) in SERVED_ROLES}


def not_served() -> List[str]:
    return [d.name for d in SERVICE.methods if role_of(d) not in SERVED_ROLES]
