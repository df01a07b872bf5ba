"""as_viewer.py SOCKET REFLECTION_SET: calls all methods of all services without arguments, as the user that runs it, and
writes the answers and error messages to standard output. The services and methods are those that the server's
reflection names. REFLECTION_SET is a FileDescriptorSet of grpc/reflection/v1/reflection.proto."""
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "grpc.reflection.v1"


def message_class(name):
    pool = descriptor_pool.DescriptorPool()
    with open(sys.argv[2], "rb") as f:
        for file in descriptor_pb2.FileDescriptorSet.FromString(f.read()).file:
            pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))


Request, Response = (message_class("ServerReflection" + name) for name in ("Request", "Response"))


def reflect(channel, **request):
    call = channel.stream_stream(f"/{PACKAGE}.ServerReflection/ServerReflectionInfo",
                                 request_serializer=Request.SerializeToString,
                                 response_deserializer=Response.FromString)
    return next(call(iter([Request(**request)]), timeout=10))


def methods_of(channel, service):
    answer = reflect(channel, file_containing_symbol=service).file_descriptor_response
    for file in map(descriptor_pb2.FileDescriptorProto.FromString, answer.file_descriptor_proto):
        for s in file.service:
            if f"{file.package}.{s.name}" == service:
                yield from (m.name for m in s.method)


channel = grpc.insecure_channel("unix:" + sys.argv[1])
asked = refused = 0
services = [s.name for s in reflect(channel, list_services="").list_services_response.service]
for service in services:
    for method in methods_of(channel, service):
        asked += 1
        try:
            for answer in channel.unary_stream(f"/{service}/{method}")(b"", timeout=1):
                sys.stdout.buffer.write(answer + b"\n")
        except grpc.RpcError as e:
            refused += e.code() == grpc.StatusCode.PERMISSION_DENIED
            sys.stdout.buffer.write(f"{method}: {e.code().name} {e.details()}\n".encode())
print(f"asked {asked} refused {refused} services {len(services)}", file=sys.stderr)
