# SPDX-License-Identifier: BSD-3-Clause
"""The messages and stubs of the API fabric.v1, which protoc generates when the package is built."""
