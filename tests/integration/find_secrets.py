#!/usr/bin/env python3
"""find_secrets.py SECRETS FILE...: prints at which places of the files a secret is found. Each line of SECRETS
has a name and the secret in hexadecimal. A number of 64 bits is searched as text (hexadecimal and decimal), as
bytes in both orders, and as a protobuf number. A longer secret is searched as bytes and as hexadecimal text."""
import sys


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def forms(secret):
    raw = bytes.fromhex(secret)
    yield "bytes", raw
    yield "hexadecimal", raw.hex().encode()
    if len(raw) == 8:
        number = int.from_bytes(raw, "big")
        yield "bytes, reversed", raw[::-1]
        yield "decimal", str(number).encode()
        yield "protobuf number", varint(number)


for name, secret in (line.split() for line in open(sys.argv[1])):
    for path in sys.argv[2:]:
        content = open(path, "rb").read()
        for form, pattern in forms(secret):
            if pattern in content or pattern in content.lower():
                print(f"{name} ({form}) in {path}")
