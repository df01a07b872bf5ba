# SPDX-License-Identifier: BSD-3-Clause
"""Options of programs that call a manager: the same as those of fabricctl."""

from __future__ import annotations

import argparse

from .fabric import Fabric


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --server, --tls-ca, --tls-cert, --tls-key."""
    group = parser.add_argument_group("the manager")
    group.add_argument("-s", "--server", metavar="ADDRESS",
                       help="unix:PATH or tls:HOST:PORT (default: FABRICCTL_SERVER, or the socket of this machine)")
    for kind in ("ca", "cert", "key"):
        group.add_argument("--tls-" + kind, metavar="FILE", help=f"(default: FABRICCTL_TLS_{kind.upper()})")


def from_arguments(arguments: argparse.Namespace) -> Fabric:
    """Makes a Fabric from the options."""
    return Fabric(arguments.server, ca=arguments.tls_ca, cert=arguments.tls_cert, key=arguments.tls_key)
