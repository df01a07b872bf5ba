"""A manager that is older than its clients."""

import concurrent.futures
import contextlib

import grpc

from harness import socket_path, status_pb2

SERVICE = "/fabric.v1.FabricService/"


class OldManager(grpc.GenericRpcHandler):
    """Answers GetVersion, and counts all other calls. An older manager has no list of dry runs, or a shorter one."""

    def __init__(self, *methods):
        self.version = status_pb2.GetVersionResponse(version="0.0.9", api_version="fabric.v1", dry_run_methods=methods)
        self.called = []

    def service(self, details):
        def answer(request, _):
            if details.method == SERVICE + "GetVersion":
                return self.version.SerializeToString()
            self.called.append(details.method[len(SERVICE):])
            return b""
        return grpc.unary_unary_rpc_method_handler(answer)


@contextlib.contextmanager
def old_manager(*methods):
    manager = OldManager(*methods)
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), handlers=[manager])
    manager.address = "unix:" + socket_path()
    server.add_insecure_port(manager.address)
    server.start()
    try:
        yield manager
    finally:
        server.stop(None).wait()
