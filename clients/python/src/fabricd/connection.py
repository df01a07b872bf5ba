# SPDX-License-Identifier: BSD-3-Clause
"""Addresses of managers, and the files of TLS."""

from __future__ import annotations

import os
import urllib.parse
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple

import grpc

from .errors import InvalidArgument

DEFAULT_ADDRESS = "unix:/run/fabricd/fabricd.sock"
REASON_LIMIT = 768
# Printable characters other than "%", as in the messages of gRPC.
UNENCODED = "".join(c for c in map(chr, range(0x20, 0x7f)) if c != "%")
# fabricctl uses no proxy either. A connection that was lost is made again within seconds, and a stream notices when
# the machine of the manager is gone.
OPTIONS = [("grpc.enable_http_proxy", 0), ("grpc.initial_reconnect_backoff_ms", 200),
           ("grpc.min_reconnect_backoff_ms", 1000), ("grpc.max_reconnect_backoff_ms", 5000),
           ("grpc.keepalive_time_ms", 30000), ("grpc.keepalive_timeout_ms", 10000),
           ("grpc.max_receive_message_length", 64 << 20)]


def _read(kind: str, path: Optional[str]) -> bytes:
    if not path:
        raise InvalidArgument(f"a tls: address needs {kind}=FILE or the environment variable FABRICCTL_TLS_"
                              f"{kind.upper()}")
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InvalidArgument(f"cannot read {kind}={path}: {error.strerror}") from error


@dataclass(frozen=True)
class Connection:
    """Where the manager is, and with which certificate to call it."""

    target: str
    credentials: Optional[Any]

    @classmethod
    def parse(cls, address: Optional[str], ca: Optional[str], cert: Optional[str], key: Optional[str]) -> "Connection":
        """Reads arguments as fabricctl does. What is None comes from FABRICCTL_SERVER and FABRICCTL_TLS_*."""
        address = address or os.environ.get("FABRICCTL_SERVER") or DEFAULT_ADDRESS
        if address.startswith("unix:") and len(address) > len("unix:"):
            return cls(address, None)
        if not address.startswith("tls:") or ":" not in address[len("tls:"):]:
            raise InvalidArgument(f'"{address}" is no address; accepted are unix:PATH and tls:HOST:PORT')
        files = [(kind, path or os.environ.get("FABRICCTL_TLS_" + kind.upper()))
                 for kind, path in (("ca", ca), ("key", key), ("cert", cert))]
        return cls(address[len("tls:"):], grpc.ssl_channel_credentials(*[_read(k, p) for k, p in files]))

    def channel(self, module: Any, **more: Any) -> Any:
        """Opens a channel with the functions of grpc or of grpc.aio."""
        if self.credentials is None:
            return module.insecure_channel(self.target, options=OPTIONS, **more)
        return module.secure_channel(self.target, self.credentials, options=OPTIONS, **more)


def metadata(reason: str) -> Sequence[Tuple[str, str]]:
    """Returns the metadata by which a call tells its reason to the audit log."""
    pairs: List[Tuple[str, str]] = []
    if reason:
        sent = urllib.parse.quote(reason.strip(), safe=UNENCODED)
        if len(sent) > REASON_LIMIT:
            raise InvalidArgument(f"the reason is too long: {len(sent)} bytes percent-encoded, at most {REASON_LIMIT}")
        pairs.append(("fabric-reason", sent))
    return pairs
