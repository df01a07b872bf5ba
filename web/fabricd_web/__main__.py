# SPDX-License-Identifier: BSD-3-Clause
"""The program fabricd-web."""

from __future__ import annotations

import asyncio
import logging
import sys

from fabricd import FabricError

from .options import BadOption, parse
from .server import serve


def main() -> int:
    options = parse()
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.INFO, stream=sys.stderr)
    # aiohttp logs a trace for each malformed request, which any client can send
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    try:
        asyncio.run(serve(options))
    except (BadOption, FabricError, OSError) as error:
        print(f"fabricd-web: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
