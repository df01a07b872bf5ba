# SPDX-License-Identifier: BSD-3-Clause
"""Client of fabricd.

    from fabricd import Fabric, link_name

    with Fabric("tls:fm1.example.net:7471", ca="ca.crt", cert="me.crt", key="me.key") as fabric:
        for link in fabric.links(state="degraded"):
            print(link_name(link), link.rate_reason)
        for event in fabric.watch(types="reroute-done"):
            print(event.message)
"""

from .aio import AsyncFabric
from .arguments import add_arguments, from_arguments
from .errors import (AlreadyExists, Conflict, Denied, EventsMissed, Exhausted, FabricError, InvalidArgument,
                     JournalReplaced, NotFound, NotStored, NotSupported, Refused, TimedOut, Unavailable)
from .fabric import Fabric
from .policy import read_policy, split_policy
from .text import as_dict, link_name, parse_port, port_name, time_of, values, word

__all__ = [
    "AlreadyExists", "AsyncFabric", "Conflict", "Denied", "EventsMissed", "Exhausted", "Fabric", "FabricError",
    "InvalidArgument", "JournalReplaced", "NotFound", "NotStored", "NotSupported", "Refused", "TimedOut", "Unavailable",
    "add_arguments", "as_dict", "from_arguments", "link_name", "parse_port", "port_name", "read_policy",
    "split_policy", "time_of", "values", "word",
]
