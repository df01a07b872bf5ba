"""web_checks.py units: tests of the modules of fabricd-web that need no server.
web_checks.py calls URL: calls each method of the API at a gateway; validates its document and its answers.

Prints a line for each fault, and ends with 1 if there was one."""

import json
import random
import sys
import urllib.error
import urllib.parse
import urllib.request

import jsonschema
from google.protobuf import json_format, message_factory, timestamp_pb2

from fabricd import text
from fabricd.v1 import (access_pb2, event_pb2, fabric_service_pb2, job_pb2, link_pb2, node_pb2, port_pb2, quality_pb2)
from fabricd_web import encode, methods, openapi, query, topology, views
from fabricd_web.options import BadOption, parse, parse_address, tls_context

FAULTS = []


def expect(what, expected, found):
    if expected != found:
        FAULTS.append(f"{what}: expected {expected!r}, found {found!r}")


def refused(what, kind, call, *arguments):
    try:
        call(*arguments)
    except kind as error:
        return str(error)
    FAULTS.append(f"{what}: accepted")
    return ""


# ---- JSON as google.protobuf.json_format writes it

SPECIAL = {"string": ["", "Ü\u2028<script>", "x" * 300], "double": [0.0, 1.0, -2.5, 1e300, float("inf"), float("nan")]}


def scalar(field, rng):
    f = field
    if f.enum_type is not None:
        return rng.choice([v.number for v in f.enum_type.values] + [77])
    if f.type == f.TYPE_STRING:
        return rng.choice(SPECIAL["string"])
    if f.type in (f.TYPE_DOUBLE, f.TYPE_FLOAT):
        return rng.choice(SPECIAL["double"])
    if f.type == f.TYPE_BOOL:
        return rng.random() < 0.5
    if f.type == f.TYPE_BYTES:
        return rng.randbytes(5)
    return rng.choice([0, 1, 2 ** 31 - 1] + ([2 ** 63 - 1] if f.type in encode.LONG else []))


def fill(message, rng, depth=5):
    """Sets fields of a message to random values."""
    if message.DESCRIPTOR.full_name.startswith("google.protobuf."):
        message.seconds, message.nanos = rng.randrange(10 ** 9), rng.choice([0, 5, 250000000])
        return message
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.2 or (depth == 0 and field.message_type is not None):
            continue
        value = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            item = field.message_type.fields_by_name["value"]
            for key in ("a", "b"):
                if item.message_type is None:
                    value[key] = scalar(item, rng)
                else:
                    fill(value[key], rng, depth - 1)
        elif field.label == field.LABEL_REPEATED:
            for _ in range(rng.randrange(3)):
                if field.message_type is None:
                    value.append(scalar(field, rng))
                else:
                    fill(value.add(), rng, depth - 1)
        elif field.message_type is None:
            setattr(message, field.name, scalar(field, rng))
        else:
            fill(value, rng, depth - 1)
    return message


def same_json(a, b):
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def encodes_as_protobuf_does(rng):
    factory = message_factory.MessageFactory()
    for method in methods.SERVICE.methods:
        kind = factory.GetPrototype(method.output_type)
        for _ in range(5):
            message = fill(kind(), rng)
            if not same_json(text.as_dict(message), encode.as_dict(message)):
                FAULTS.append(f"{method.name}: another JSON than that of protobuf")


# ---- roles

def only_viewers():
    roles = {m.name: methods.role_of(m) for m in methods.SERVICE.methods}
    served = methods.served()
    expect("all methods", set(roles), set(served) | set(methods.not_served()))
    for name, role in roles.items():
        expect(f"{name} is served", role in (access_pb2.ROLE_TENANT, access_pb2.ROLE_VIEWER), name in served)
    for verb in ("Start", "End", "Disable", "Enable", "Isolate", "Release", "Approve", "Forget", "Set", "Delete", "Make",
                 "Rotate", "Freeze", "Resume", "Sweep", "Reroute", "Rebalance", "HandOver", "Backup", "Disapprove"):
        expect(f"methods {verb}*", [], [n for n in served if n.startswith(verb)])
    expect("methods that change something exist", True, len(methods.not_served()) > 20)
    expect("streams", ["CompareEngines", "Export", "WatchEvents"], sorted(n for n, m in served.items() if m.streams))


# ---- parameters

def parameters():
    def ask(kind, *pairs):
        return query.request(kind, pairs)
    ports, nodes = port_pb2.ListPortsRequest, node_pb2.ListNodesRequest
    for value in ("PORT_STATE_ACTIVE", "active", "4"):
        expect(f"state={value}", ports(state=4), ask(ports, ("state", value)))
    expect("page_size", nodes(page_size=5), ask(nodes, ("page_size", "5")))
    expect("pageSize", nodes(page_size=5), ask(nodes, ("pageSize", "5")))
    expect("degraded", link_pb2.ListLinksRequest(degraded=True), ask(link_pb2.ListLinksRequest, ("degraded", "true")))
    expect("repeated and nested", quality_pb2.WhatIfRequest(
        failures=["a/1", "b"], options=quality_pb2.QualityOptions(samples=7, endports=["x"])),
        ask(quality_pb2.WhatIfRequest, ("failures", "a/1"), ("failures", "b"), ("options.samples", "7"),
            ("options.endports", "x")))
    expect("time", event_pb2.ListEventsRequest(since=timestamp_pb2.Timestamp(seconds=86400)),
           ask(event_pb2.ListEventsRequest, ("since", "1970-01-02T00:00:00Z")))
    for kind, pair in ((nodes, ("page_sise", "5")), (nodes, ("page_size", "-1")), (nodes, ("page_size", "x")),
                       (nodes, ("page_size", "4294967296")), (nodes, ("type", "swich")), (nodes, ("type.x", "1")),
                       (link_pb2.ListLinksRequest, ("degraded", "yes")), (quality_pb2.WhatIfRequest, ("options", "7")),
                       (event_pb2.ListEventsRequest, ("since", "yesterday")),
                       (quality_pb2.WhatIfRequest, ("." * 1000, "7"))):
        refused(f"{pair}", query.BadQuery, ask, kind, pair)
    refused("twice", query.BadQuery, ask, nodes, ("rack", "a"), ("rack", "b"))
    expect("a message names what is accepted", True,
           "page_size, page_token" in refused("unknown", query.BadQuery, ask, nodes, ("x", "1")))


def bodies():
    jobs = job_pb2.GetAffectedJobsRequest
    expect("a body with jobs", jobs(failures=["a/1"], jobs=[job_pb2.Job(id="7", hosts=["n[1-3]"])]),
           query.from_body(jobs, b'{"failures": ["a/1"], "jobs": [{"id": "7", "hosts": ["n[1-3]"]}]}'))
    expect("an empty object", jobs(), query.from_body(jobs, b"{}"))
    for body in (b"", b"[]", b"7", b"{", b'{"job": []}', b'{"jobs": 7}', b'{"jobs": [{"id": 7}]}', b'{"failures": "a"}',
                 b"\xff", b'{"failures": [], "failures": []}', b"[" * 100000, b'{"a":' * 100000):
        refused(f"the body {body[:30]!r}", query.BadQuery, query.from_body, jobs, body)


def dry_runs_are_not_served():
    """An older manager would make the change (GetVersionResponse.dry_run_methods)."""
    expect("served methods with dry runs", [], [n for n, m in methods.served().items()
                                                if "dry_run" in m.descriptor.input_type.fields_by_name])


# ---- addresses

def addresses():
    expect("loopback", [True, True, True, False, False], [parse_address(a).is_loopback for a in (
        "127.0.0.1:1", "[::1]:1", "127.9.9.9:1", "0.0.0.0:1", "10.1.2.3:1")])
    for bad in ("", "127.0.0.1", ":7", "127.0.0.1:x", "127.0.0.1:65536", "somewhere:80"):
        refused(f"--listen {bad}", BadOption, parse_address, bad)
    for options in ([], ["--listen-cert", "x", "--listen-key", "y"]):
        refused(f"other machines with {options}", BadOption, tls_context, parse(options), parse_address("0.0.0.0:1"))


# ---- the map

def port_of(node, number):
    return port_pb2.PortRef(node_guid="0x" + node, node_name=node, port_number=number)


def tree(pods, per_pod, hosts):
    """A fat tree of three levels as messages of the API: `per_pod` leaves and spines a pod, a plane for each spine."""
    nodes, links, used = [], [], {}

    def add(name, kind):
        nodes.append(node_pb2.Node(guid="0x" + name, name=name, type=kind))

    def connect(a, b):
        for n in (a, b):
            used[n] = used.get(n, 0) + 1
        links.append(link_pb2.Link(a=port_of(a, used[a]), b=port_of(b, used[b]), state=port_pb2.PORT_STATE_ACTIVE,
                                   rate=port_pb2.LinkRate(mbps=100000)))
    for plane in range(per_pod):
        for c in range(per_pod):
            add(f"core-{plane * per_pod + c + 1}", node_pb2.NODE_TYPE_SWITCH)
    for pod in range(pods):
        for i in range(per_pod):
            add(f"spine-{pod * per_pod + i + 1}", node_pb2.NODE_TYPE_SWITCH)
            add(f"leaf-{pod * per_pod + i + 1}", node_pb2.NODE_TYPE_SWITCH)
        for i in range(per_pod):
            for j in range(per_pod):
                connect(f"leaf-{pod * per_pod + i + 1}", f"spine-{pod * per_pod + j + 1}")
                connect(f"spine-{pod * per_pod + i + 1}", f"core-{i * per_pod + j + 1}")
            for h in range(hosts):
                name = f"host-{pod}-{i}-{h}"
                add(name, node_pb2.NODE_TYPE_ADAPTER)
                connect(f"leaf-{pod * per_pod + i + 1}", name)
    return nodes, links


def built(nodes, links, gone=()):
    builder = topology.Builder()
    builder.add_nodes(nodes)
    builder.add_links(links)
    builder.add_gone(gone)
    return builder.topology(5)


def view(t, path="", by="pod", loads=None):
    return views.View(t, path, by, loads or {})


def large_fabrics_are_aggregated():
    nodes, links = tree(pods=12, per_pod=6, hosts=6)
    whole = view(built(nodes, links)).document()
    expect("rows", ["core", "pods"], [r["title"] for r in whole["rows"]])
    expect("cards", ["plane 1", "plane 2", "plane 3", "plane 4", "plane 5", "plane 6"] + [f"pod {i}" for i in range(1, 13)],
           [c["label"] for c in whole["cards"]])
    expect("a line for each pod and plane", 72, len(whole["lines"]))
    expect("links of a line", {6}, {line[2] for line in whole["lines"]})
    expect("hosts of a pod", 36, whole["cards"][-1]["hosts"])
    pod = view(built(nodes, links), "p3").document()
    expect("rows of a pod", ["elsewhere: core", "spine", "leaf"], [r["title"] for r in pod["rows"]])
    expect("way back", [("", "fabric"), ("p3", "pod 3")], pod["crumbs"])
    expect("hosts of a leaf", ["host-2-0-0", 0, None], pod["cards"][12]["blocks"][0]["cells"][0])
    refused("no such pod", Exception, view, built(nodes, links), "p13")


def faults_are_seen_in_each_view():
    nodes, links = tree(pods=12, per_pod=6, hosts=6)
    links[0].degraded, links[0].rate_reason = True, "width 1x of 4x"
    lost = links.pop(1)  # spine-1 to core-1
    t = built(nodes, links, [link_pb2_gone(lost)])
    whole = view(t, loads={(lost.a.node_guid, 99): 0.5}).document()
    expect("totals", {"ok": len(links) - 1, "degraded": 1, "excluded": 0, "down": 1},
           {k: whole["totals"][k] for k in topology.STATES})
    expect("the worst line is the first", [0, 6, 6, topology.DOWN, 1], whole["lines"][0][:5])
    expect("groups keep their members", ["plane 1", "core-1"], [whole["cards"][0]["label"], whole["cards"][0]["blocks"][0]["cells"][0][0]])
    expect("cells", [["leaf-1", topology.DEGRADED]],
           [c[:2] for c in whole["cards"][6]["blocks"][1]["cells"] if c[1]])
    expect("links of the line", ["down", "ok"], [link["state"] for link in view(t).links_between(6, 0)][:2])
    expect("problems", [("down", "the link is gone"), ("degraded", "width 1x of 4x")],
           [(p["state"], p["why"]) for p in views.problems(t)["links"]])
    replaced = built(nodes, links + [lost], [link_pb2_gone(lost)])
    expect("a link that came back is not lost", 0, view(replaced).document()["totals"]["down"])


def link_pb2_gone(link):
    return node_pb2.GoneLink(a=link.a, b=link.b, rate=link.rate)


def other_shapes():
    expect("an empty fabric", [], view(built([], [])).document()["rows"])
    ring, links = [], []
    for i in range(300):
        ring.append(node_pb2.Node(guid=f"0xs{i}", name=f"s{i}", type=node_pb2.NODE_TYPE_SWITCH,
                                  location=node_pb2.Location(rack=f"R{i % 7}")))
        links.append(link_pb2.Link(a=port_of(f"s{i}", 1), b=port_of(f"s{(i + 1) % 300}", 2),
                                   state=port_pb2.PORT_STATE_ACTIVE))
    t = built(ring, links)
    chunks = view(t).document()
    expect("a ring has few cards", True, 2 <= len(chunks["cards"]) <= views.GROUPS)
    expect("each switch is in one card", 300, sum(c["switches"] for c in chunks["cards"]))
    racks = view(t, by="rack").document()
    expect("racks", [f"R{i}" for i in range(7)], [c["label"] for c in racks["cards"]])
    expect("a rack can be opened", 43, len(view(t, "r1", "rack").document()["rows"][-1]["cards"]))


def units():
    rng = random.Random(7)
    encodes_as_protobuf_does(rng)
    only_viewers()
    parameters()
    bodies()
    dry_runs_are_not_served()
    addresses()
    large_fabrics_are_aggregated()
    faults_are_seen_in_each_view()
    other_shapes()
    check_document(openapi.document(methods.served(), "1"))


# ---- OpenAPI

# What the document must be: the part of the OpenAPI 3.1 schema for what the gateway uses.
REFERENCE = {"type": "object", "required": ["$ref"], "properties": {"$ref": {"pattern": "^#/components/"}}}
RESPONSES = {"type": "object", "required": ["200", "default"], "properties": {
    "200": {"type": "object", "required": ["description", "content"]}, "default": REFERENCE}}
JSON_BODY = {"type": "object", "required": ["required", "content"], "properties": {
    "required": {"const": True}, "content": {"type": "object", "required": ["application/json"], "properties": {
        "application/json": {"type": "object", "required": ["schema"], "properties": {"schema": REFERENCE}}}}}}
OPENAPI = {
    "type": "object", "required": ["openapi", "info", "paths", "components"], "additionalProperties": False,
    "properties": {
        "openapi": {"pattern": r"^3\.1\.\d+$"},
        "info": {"type": "object", "required": ["title", "version"], "properties": {
            "license": {"type": "object", "required": ["name"]}}},
        "components": {"type": "object"},
        "paths": {"patternProperties": {"^/": {
            "type": "object", "required": ["get", "post"], "additionalProperties": False, "properties": {
                "get": {"type": "object", "required": ["operationId", "parameters", "responses"], "properties": {
                    "parameters": {"type": "array", "items": {
                        "type": "object", "required": ["name", "in", "schema"], "properties": {"in": {"const": "query"}}}},
                    "responses": RESPONSES}},
                "post": {"type": "object", "required": ["operationId", "requestBody", "responses"], "properties": {
                    "requestBody": JSON_BODY, "responses": RESPONSES}}}}}, "additionalProperties": False}}}


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from references(item)


def check_document(document):
    for error in jsonschema.Draft202012Validator(OPENAPI).iter_errors(document):
        FAULTS.append(f"OpenAPI: {error.message}")
    for reference in set(references(document)):
        found = document
        for part in reference[2:].split("/"):
            found = found.get(part, {})
        expect(f"{reference} is there", True, bool(found) or reference.endswith("Request"))
    for name, schema in document["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        expect(f"{name} is an object", "object", schema["type"])
    expect("paths", sorted(m.path for m in methods.served().values()), sorted(document["paths"]))
    names = [o[verb]["operationId"] for o in document["paths"].values() for verb in ("get", "post")]
    expect("ids differ", len(names), len(set(names)))


# ---- a gateway

def fetch(url, method="GET", body=None, kind="application/json"):
    headers = {"Content-Type": kind} if body is not None else {}
    try:
        request = urllib.request.Request(url, method=method, data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


ARGUMENTS = {
    "GetNode": "node=leaf-001", "GetHost": "host=host-0001", "GetPort": "node=leaf-001&port_number=1",
    "TracePath": "source=host-0001&destination=host-0002", "GetForwardingTable": "node=leaf-001",
    "GetPortHistory": "node=leaf-001&port_number=1", "WhatIf": "failures=leaf-001/7&options.samples=10",
    "GetAffectedJobs": "failures=leaf-001/7",
    "GetQuality": "options.samples=10", "GetContingency": "failure=leaf-001/7", "Export": "format=dot",
    "GetPortCongestion": "node=leaf-001&port_number=1", "GetDrainPreview": "kind=switch&name=spine-001"}
# Methods that may have no answer in a fabric like that of the test, and with which status.
MAY_LACK = {"GetReroute": (404, 400), "ListPartitionMembers": (404, 400), "ListMulticastMembers": (404, 400),
            "CompareTopologies": (404, 400), "GetPortHistory": (404, 409), "GetContingency": (409,),
            "ListContingencies": (409,), "ListCongestionLogs": (409, 404), "GetDrainPlan": (404, 400, 409),
            "GetPortCongestion": (404, 409), "ListTopPorts": (409,), "ListClassRules": (404,)}


def post(url, method):
    """Makes the call of ARGUMENTS with a body."""
    pairs = urllib.parse.parse_qsl(ARGUMENTS.get(method.name, ""))
    request = query.request(method.request, pairs)
    text = json_format.MessageToJson(request, preserving_proto_field_name=True)
    return fetch(url + method.path, "POST", text.encode())


def bodies_are_read(url):
    path = url + methods.PREFIX + "GetAffectedJobs"
    jobs = [{"id": "4711", "hosts": ["host-000[1-2]"]}, {"id": "4712", "hosts": ["host-0003"]}]
    status, body = fetch(path, "POST", json.dumps({"failures": ["leaf-001/1"], "jobs": jobs}).encode())
    expect("POST with jobs", 200, status)
    answer = json.loads(body)
    expect("the jobs", [("4711", 2), ("4712", 1)], [(j["id"], j["hosts"]) for j in answer.get("jobs", [])])
    expect("the job that lost an endport", [1, 0], [j["lost_endports"] for j in answer.get("jobs", [])])
    many = json.dumps({"jobs": [{"id": str(i), "hosts": ["host-0001"]} for i in range(2000)],
                       "failures": ["leaf-001/1"]}).encode()
    status, body = fetch(path, "POST", many)
    expect("a large body", (True, 200, 2000), (len(many) > 65536, status, len(json.loads(body).get("jobs", []))))
    for what, address, data, kind, code in (
            ("no JSON", path, b"x", "application/json", 400), ("no object", path, b"[]", "application/json", 400),
            ("deep", path, b"[" * 100000, "application/json", 400),
            ("an unknown field", path, b'{"job": 1}', "application/json", 400),
            ("a form", path, b"{}", "application/x-www-form-urlencoded", 400),
            ("a plain text, which a page of another server could send", path, b"{}", "text/plain", 400),
            ("a query, too", path + "?failures=leaf-001", b"{}", "application/json", 400),
            ("a large one", path, b" " * (256 << 10) + b"{}", "application/json", 413),
            ("the map", url + "/map/view", b"{}", "application/json", 405)):
        expect(f"a body: {what}", code, fetch(address, "POST", data, kind)[0])


def calls(url):
    status, body = fetch(url + methods.PREFIX + "openapi.json")
    document = json.loads(body)
    check_document(document)
    validator = jsonschema.Draft202012Validator({"components": document["components"]})
    answered = 0
    bodies_are_read(url)
    for name, method in methods.served().items():
        if method.streams and not method.is_file:
            continue
        status, body = fetch(url + method.path + "?" + ARGUMENTS.get(name, ""))
        posted = post(url, method)
        expect(f"POST {name} answers as GET ({posted[1][:200]!r})", status, posted[0])
        if status != 200:
            expect(f"{name} may answer {status} ({body[:200]!r})", True, status in MAY_LACK.get(name, ()))
            schema = {"$ref": "#/components/schemas/Error"}
        else:
            answered += 1
            if method.is_file:
                expect("the file", True, body.startswith(b"graph"))
                continue
            schema = {"$ref": f"#/components/schemas/{method.descriptor.output_type.name}"}
        check = validator.evolve(schema={**schema, "components": document["components"]})
        for text in (body, posted[1]):
            for error in check.iter_errors(json.loads(text)):
                FAULTS.append(f"{name}: {error.message}")
    expect("most methods answer", True, answered > 35)
    for name in methods.served():
        for verb in ("PUT", "DELETE", "PATCH"):
            expect(f"{verb} {name}", 405, fetch(url + methods.PREFIX + name, verb)[0])
    for name in methods.not_served():
        for verb in ("GET", "POST", "PUT", "DELETE"):
            body = b"{}" if verb == "POST" else None
            expect(f"{verb} {name}", 404, fetch(url + methods.PREFIX + name, verb, body)[0])
    print(f"{answered} of {len(methods.served())} methods answer, {len(methods.not_served())} have no path")


if sys.argv[1] == "units":
    units()
else:
    calls(sys.argv[2])
for fault in FAULTS[:50]:
    print(fault)
sys.exit(1 if FAULTS else 0)
