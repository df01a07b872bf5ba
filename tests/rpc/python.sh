#!/bin/sh
# python.sh FILE: runs a Python test with Debian's interpreter and its gRPC library. If they are missing, skips the
# test with a reason. Prints TAP.
python=/usr/bin/python3
skip() {
    echo "1..0 # SKIP $1"
    exit 0
}
[ -x "$python" ] || skip "no $python"
"$python" -c 'import grpc, google.protobuf' 2>/dev/null || skip "no python3-grpcio"
command -v protoc >/dev/null || skip "no protoc (protobuf-compiler)"
command -v openssl >/dev/null || skip "no openssl"
exec "$python" -B "$1"
