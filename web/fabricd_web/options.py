# SPDX-License-Identifier: BSD-3-Clause
"""The command line of fabricd-web."""

from __future__ import annotations

import argparse
import ipaddress
import os
import ssl
from dataclasses import dataclass
from typing import List, Optional

from . import __version__

LISTEN = "127.0.0.1:7480"
PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "page")


class BadOption(ValueError):
    """An option has a value that is not accepted."""


@dataclass(frozen=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback


def parse_address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not colon or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise BadOption(f'--listen: "{text}" is no address; write ADDRESS:PORT, such as {LISTEN} or [::1]:7480')
    try:
        address = Address(host, int(port))
        _ = address.is_loopback  # finds mistakes
    except ValueError:
        raise BadOption(f'--listen: "{host}" is no IP address; write one of this machine, such as 127.0.0.1') from None
    return address


def tls_context(options: argparse.Namespace, address: Address) -> Optional[ssl.SSLContext]:
    """Returns what TLS needs, or None on loopback without certificates."""
    files = {"--listen-cert": options.listen_cert, "--listen-key": options.listen_key,
             "--listen-ca": options.client_ca}
    given = [name for name, file in files.items() if file]
    if not given and address.is_loopback:
        return None
    if len(given) != len(files):
        lacking = ", ".join(n for n in files if n not in given)
        raise BadOption(f"{lacking} missing: other machines than this one reach the gateway only with TLS and a client "
                        "certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_cert_chain(options.listen_cert, options.listen_key)
        context.load_verify_locations(options.client_ca)
    except (OSError, ssl.SSLError) as error:
        raise BadOption(f"cannot use the files of {', '.join(files)}: {error}") from error
    return context


def parse(arguments: Optional[List[str]] = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="fabricd-web", description="Serves the read methods of fabricd as REST with JSON, and a page that shows "
        "the fabric. fabricd-web(8) has more.")
    parser.add_argument("-s", "--server", metavar="ADDRESS", help="the manager: unix:PATH or tls:HOST:PORT (default: "
                        "FABRICCTL_SERVER, or the socket of this machine)")
    for kind in ("ca", "cert", "key"):
        parser.add_argument("--tls-" + kind, metavar="FILE", help=f"for tls: (default: FABRICCTL_TLS_{kind.upper()})")
    parser.add_argument("-l", "--listen", metavar="ADDRESS:PORT", default=LISTEN,
                        help=f"where to listen (default {LISTEN})")
    parser.add_argument("--listen-cert", metavar="FILE", help="certificate of the gateway, which turns TLS on")
    parser.add_argument("--listen-key", metavar="FILE", help="its private key")
    parser.add_argument("--listen-ca", dest="client_ca", metavar="FILE", help="the CA of client certificates: without "
                        "one of these certificates, a client is refused")
    parser.add_argument("--page", metavar="DIR", default=PAGE, help=argparse.SUPPRESS)
    parser.add_argument("-V", "--version", action="version", version=f"fabricd-web {__version__}")
    return parser.parse_args(arguments)
