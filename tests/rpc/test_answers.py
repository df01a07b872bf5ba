"""What fabricctl asks and prints, whatever a manager answers; compared with golden/answers.txt.

The manager is a server in this process whose answers are made from the definitions of the messages. Each field
has a value of its own, each value of an enum occurs, lists have 0 to 5 elements, and messages within messages
are absent now and then. So each field of each answer is printed, in text and in JSON, with singular and plural
and with each word for a state. The golden file has the requests, too.
"""

import contextlib
import itertools
import json
import os
import pty
import re
import subprocess
from concurrent import futures

import grpc
from google.protobuf.descriptor import FieldDescriptor as Field

import golden_file
from golden_file import CTL, ENV, SERVICE, Golden, class_of, lines, ran, written
from harness import load, main, socket_path

SIM = load("fabric.v1.sim_service_pb2").DESCRIPTOR.services_by_name["SimService"]
METHODS = {f"/{s.full_name}/{m.name}": m for s in (SERVICE, SIM) for m in s.methods}


class Filler:
    """Fills messages. Kind 0 leaves them empty; kind 1 uses ones and lists of one; kinds 2 and 3 use many values."""

    def __init__(self, kind):
        self.kind = kind
        self.numbers = itertools.count(1)
        self.turns = {}

    def turn(self, of):
        return next(self.turns.setdefault(of, itertools.count(self.kind)))

    def scalar(self, field):
        if field.type == Field.TYPE_ENUM:
            values = field.enum_type.values
            return values[self.turn(field.enum_type.full_name) % len(values)].number
        if field.type == Field.TYPE_BOOL:
            return self.kind == 1 or self.turn("bool") % 3 == 0
        if self.kind == 1 and field.type not in (Field.TYPE_STRING, Field.TYPE_BYTES):
            return 1
        n = next(self.numbers)
        if field.type == Field.TYPE_STRING:
            return f"{field.name.replace('_', '-')}-{n}"
        if field.type == Field.TYPE_BYTES:
            return bytes([n % 256] * 16)
        if field.type in (Field.TYPE_DOUBLE, Field.TYPE_FLOAT):
            return n / 8
        return n if self.kind == 2 else n * n * (1009 if field.name in ("mbps", "seconds") else 7)

    def fill(self, message):
        name = message.DESCRIPTOR.full_name
        if name == "google.protobuf.Timestamp":
            message.seconds, message.nanos = 1700000000 + 4001 * next(self.numbers), 123456000
            return message
        if name == "google.protobuf.Duration":
            n = next(self.numbers)
            message.seconds, message.nanos = (0, 0, n, 61 * n, 3700 * n)[n % 5], 1234000 * (n % 500)
            return message
        for field in message.DESCRIPTOR.fields if self.kind > 0 else ():
            if field.name == "next_page_token":
                continue
            if field.containing_oneof is not None and message.WhichOneof(field.containing_oneof.name):
                continue
            value = getattr(message, field.name)
            if field.message_type and field.message_type.GetOptions().map_entry:
                entry = field.message_type.fields_by_name["value"]
                for n in range(self.kind):
                    if entry.message_type:
                        self.fill(value[f"key-{n}"])
                    else:
                        value[f"key-{n}"] = self.scalar(entry)
            elif field.label == Field.LABEL_REPEATED:
                for _ in range((0, 1, 5, 2)[self.kind]):
                    if field.message_type:
                        self.fill(value.add())
                    else:
                        value.append(self.scalar(field))
            elif field.message_type:
                if self.kind == 1 or self.turn(field.full_name) % 4 != 3:
                    self.fill(value)
                    value.SetInParent()
            else:
                setattr(message, field.name, self.scalar(field))
        return message


class Manager(grpc.GenericRpcHandler):
    """Answers each call by a filled message; a list of rows has two pages. Stores the requests."""

    def __init__(self):
        self.requests, self.kind = [], 0

    def make(self, method, request):
        filler = Filler(self.kind)
        answer = filler.fill(class_of(method.output_type)())
        paged = {"page_token", "page_size"} & {f.name for f in request.DESCRIPTOR.fields}
        if method.name == "GetVersion":  # fabricctl makes no dry run that this list lacks
            answer.dry_run_methods.extend(m.name for m in SERVICE.methods)
        if self.kind > 1 and "page_token" in paged and not request.page_token:
            answer.next_page_token = "page-2"
        return answer

    def service(self, details):
        method = METHODS[details.method]

        def reply(request, context):
            text = " ".join(written(request).split())
            self.requests.append(f"{method.name} {text}".rstrip())
            return self.make(method, request)

        def stream(request, context):
            for kind in [self.kind] * self.kind:
                yield reply(request, context)

        make = grpc.unary_stream_rpc_method_handler if method.server_streaming else grpc.unary_unary_rpc_method_handler
        return make(stream if method.server_streaming else reply,
                    request_deserializer=class_of(method.input_type).FromString,
                    response_serializer=lambda m: m.SerializeToString(deterministic=True))


@contextlib.contextmanager
def serving():
    manager, address = Manager(), "unix:" + socket_path()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers([manager])
    server.add_insecure_port(address)
    server.start()
    try:
        yield manager, address
    finally:
        server.stop(0).wait()


# Commands that are tested in text and in JSON, with each kind of answer.
SHOWN = """status | version | whoami | node list | node list --gone | node show a | node pins | port list | port show a/1 | port counters | link list | link list --gone | link flapping
    link unhealthy | link unhealthy a/2 | key show | ha status | ha handover --to a | ha priority | ha priority 7 | ha priority default | class list | class show a | partition list | partition show a
    multicast list | multicast show a | service list | subscription list | cc status | cc show a/1
    cc show a/1 --explain --sl 2 | cc congested | cc log | cc log a | cc export --roce | cc export --roce --explain
    cc export --roce --format sonic | path a b | route show a | route verify | route explain | route quality | route compare a b
    route whatif a/1 | route contingency | route contingency a | reroute list | reroute show 3 | topo baseline
    topo approve --dry-run | node forget a --dry-run | event list | history a | topo list
    topo diff a b | port top | port history a/1 | link history a/1 | host show a | policy rollback 0 --yes"""
# Commands that are tested once: the test compares the request and the output.
ASKED = """port top --by wait -n 7 --since 2023-11-15T00:00:00Z | port top --by x | port history a/2 --counter SymbolErrorCounter
    port history a/2 --counter wait --since 2023-11-15T00:00:00Z --until 2023-11-16T00:00:00Z -n 9 | port history a/2 --counter x
    port history a | link history a/2 -n 3 | link history | node list switch | node list adapter | node list router | node list gateway | node pins --waiting
    port list a | port disable a/1 | port enable a/2 | port show a/255 | port show a/0 | link isolate a/3 | link release a/4
    cc congested -n 7 | cc congested -n 0 | cc export | cc export --roce --format nonsense | cc show a/1 --sl 15
    route quality --hosts a[1-3],b --samples 7 --seed 9 | route quality --samples 100000 | route quality --samples 100001
    route whatif --fail a/1 --fail b --engine x,y --hosts a,b --samples 3 --seed 18446744073709551615 | route whatif b/2 c
    route compare --samples 2 x | route contingency -n 3 | route contingency -n 10000000 | route contingency -n 10000001
    route rebalance | route certify | reroute | reroute list -n 9 | reroute show 0 | reroute show 18446744073709551615 | sweep
    topo baseline --waiting | topo approve a b | topo approve --all | topo approve | topo approve --all --dry-run
    topo disapprove --all | topo disapprove a b | node approve a | node approve --all | node approve --forget a
    node list switch --gone | link list a --gone | link list --gone --degraded | node forget | node forget a --older-than 30d
    node forget a | node forget --older-than 30d | node forget --older-than 2w --dry-run | node forget --older-than x
    event list -n 4 | event list --severity debug | event list --severity error | event list --after 17 | event watch -n 2
    event list --subject a/1 --type link-*,node-removed | event list --since 2023-11-15T00:00:00Z --until 2023-11-16T00:00:00+01:00
    event list --since x | history | history a/1 --since 2023-11-15 -n 3 | history a b | history a --severity info
    topo snapshot a | topo snapshot a --forget | topo snapshot | topo diff | topo diff a now | topo diff 2023-11-15T00:00:00Z b | topo diff a b c
    event list --after 9223372036854775807 | event list --after 9223372036854775808 | event list -n x | event list -n
    event watch --after 3 --severity warning -n 1 | sim unlink a/1 | sim relink a/2 | sim unlink a | sim degrade a/1
    sim degrade a/1 --width 12x --speed EDR | sim degrade a/1 --width 3x | sim degrade a | link list --degraded
    link list a --degraded | topo export | topo export --format json
    route export | route export --format opensm-lfts | --timeout 86400 version | --timeout 86401 version | --timeout x version
    --timeout -1 version | --timeout 0 version | -o yaml version | --output=text version | version -V | -h version | route -h
    cc -h | nothing -h | version --all | node list a b | status x | node show | node show a b | route whatif | node frob
    frob frob | sweep --explain | path a | --nonsense | event list --hosts a --job b | cc show a | cc show a/1/2"""


def on_terminal(*arguments):
    """Returns the output of fabricctl on a terminal. Escapes that begin a colour are {31}, those that end it are {}."""
    reader, terminal = pty.openpty()
    process = subprocess.Popen([CTL, *arguments], stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.STDOUT,
                               env=dict(ENV, TERM="xterm"))
    os.close(terminal)
    output = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while piece := os.read(reader, 65536):
            output += piece
    os.close(reader)
    status = process.wait(60)
    assert status >= 0, f"fabricctl {arguments} was ended by signal {-status}"
    text = re.sub(r"\033\[0?([\d;]*)m", r"{\1}", output.decode().replace("\r\n", "\n"))
    return text + (f"exit status {status}\n" if status else "")


def say_asked(golden, manager):
    golden.lines += ["> " + request for request in manager.requests]
    manager.requests.clear()


def what_is_asked_and_printed():
    if golden_file.Schema:  # no manager sends values such as "guid-1"
        golden_file.schemas.append(golden_file.Schema(CTL, strict=False))
    golden = Golden("answers.txt")
    with serving() as (manager, address):
        def ask(line, run=lambda *arguments: ran(CTL, *arguments)):
            golden.again(f"fabricctl {line}", run("-s", address, *line.split()))
            say_asked(golden, manager)

        for kind, what in enumerate(("are empty", "have ones", "have many values", "have large values")):
            golden.step("answers that " + what)
            manager.kind = kind
            for line in lines(SHOWN):
                ask(line, on_terminal)
                text = ran(CTL, "-s", address, *line.split(), "-o", "json")
                manager.requests.clear()
                with contextlib.suppress(ValueError):
                    rows = json.loads(text)
                    text = "\n".join(f"{key}: {json.dumps(rows[key])}" for key in rows)
                golden.again(f"fabricctl {line} -o json", re.sub(r", (?=\{)", ",\n    ", text))
        golden.step("what is asked")
        manager.kind = 1
        for line in lines(ASKED):
            ask(line)
    golden.compare()


main([what_is_asked_and_printed])
