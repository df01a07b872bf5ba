"""as_viewer.py SOCKET PROTO...: calls all methods of the services in the proto files without arguments, as the
user that runs it, and writes the answers and error messages to standard output."""
import re
import sys

import grpc

channel = grpc.insecure_channel("unix:" + sys.argv[1])
asked = refused = 0
for path in sys.argv[2:]:
    text = open(path, encoding="utf-8").read()
    package = re.search(r"^package (.*);", text, re.M)[1]
    for service, body in re.findall(r"^service (\w+) \{(.*?)^\}", text, re.M | re.S):
        for method in re.findall(r"^  rpc (\w+)\(", body, re.M):
            call = channel.unary_stream(f"/{package}.{service}/{method}")
            asked += 1
            try:
                for answer in call(b"", timeout=1):
                    sys.stdout.buffer.write(answer + b"\n")
            except grpc.RpcError as e:
                refused += e.code() == grpc.StatusCode.PERMISSION_DENIED
                sys.stdout.buffer.write(f"{method}: {e.code().name} {e.details()}\n".encode())
print(f"asked {asked} refused {refused}", file=sys.stderr)
