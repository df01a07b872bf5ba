# SPDX-License-Identifier: BSD-3-Clause
"""fabricd-web: the read methods of fabricd as REST with JSON, and a page that shows the fabric."""

__version__ = "0.1.0"
