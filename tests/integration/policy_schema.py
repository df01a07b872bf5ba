"""Compares doc/policy.schema.json with the parser of fabricd.

    policy_schema.py SCHEMA FABRICCTL

Asks the manager of FABRICCTL_SERVER with `apply --dry-run`. The keys that the parser names in its message about an
unknown key must be those of the schema, and both must take and refuse the same examples. Prints lines "ok NAME" and
"not ok NAME".
"""

import copy
import json
import subprocess
import sys

import jsonschema
import yaml

SCHEMA = json.load(open(sys.argv[1], encoding="utf-8"))
CTL = sys.argv[2]
# Values of the keys that are required, or that must be the name of something in the fabric.
NEEDED = {
    "partitions": {"name": "a", "pkey": 1},
    "groups": {"name": "g", "members": []},
    "classes": {"name": "c"},
    "names": {"guid": "0x1", "name": "n"},
    "isolation": {"link": "leaf-001/4"},
    "approvals": {"node": "0x1", "port_guid": "0x2", "at": "leaf-001/1"},
    "congestion": {},
}
# What the parser says of a policy that is well formed, but does not suit the fabric.
UNSUITABLE = ("there is no baseline", "is in the fabric", "no node", "cannot be isolated", "would lose",
              "add up to")


class Loader(yaml.SafeLoader):
    """Reads dates as texts, as YAML's core schema does."""


Loader.yaml_implicit_resolvers = {
    k: [(tag, r) for tag, r in v if tag != "tag:yaml.org,2002:timestamp"]
    for k, v in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
validator = jsonschema.Draft202012Validator(SCHEMA)


def parser_says(text):
    """Returns the message of the parser; None: it accepts the policy."""
    done = subprocess.run([CTL, "apply", "-", "--dry-run"], input=text.encode(), capture_output=True, timeout=30)
    message = done.stderr.decode()
    if done.returncode == 0 or any(w in message for w in UNSUITABLE):
        return None
    return message or f"exit status {done.returncode}"


def schema_says(text):
    for document in yaml.load_all(text, Loader):
        for error in validator.iter_errors(document):
            return error.message
    return None


def report(name, problems):
    print(("not ok " if problems else "ok ") + name)
    for p in problems:
        print("# " + p.replace("\n", " "))


def fields(section):
    s = SCHEMA["properties"][section]
    return s["items"]["properties"] if s["type"] == "array" else s["properties"]


def document(section, values):
    doc = {section: [values] if SCHEMA["properties"][section]["type"] == "array" else values}
    if section == "groups":
        doc["partitions"] = []
    return yaml.safe_dump(doc)


def keys_of_parser(section):
    text = "nosuchkey: 1\n" if section is None else document(section, {"nosuchkey": 1})
    message = parser_says(text) or ""
    if "expected " not in message:
        return {message}
    return set(message.split("expected ", 1)[1].strip().replace(" or ", ", ").split(", "))


def examples(field):
    """Good and bad values of a field of the schema."""
    if "anyOf" in field:
        for one in field["anyOf"]:
            yield from ((v, g) for v, g in examples(one) if g)
        yield {}, False
        return
    if "const" in field:
        yield field["const"], True
    elif "enum" in field:
        yield from ((v, True) for v in field["enum"])
        yield "nosuch", False
        yield 17, False
    elif field["type"] == "boolean":
        yield from ((True, True), (False, True), ("true", False), (1, False))
    elif field["type"] == "integer":
        low, high = field["minimum"], field.get("maximum", 2**63)
        yield from ((low, True), (high, True), (high + 1, False), (str(low), False), (True, False), (low + 0.5, False))
        if low > 0:
            yield low - 1, False
    elif field["type"] == "string" and "pattern" in field and "/" in field["pattern"]:
        yield from (("leaf-001/4", True), ("leaf-001", False), ("", False), (4, False))
    elif field["type"] == "string" and field.get("pattern", "").startswith("^0x"):
        yield from (("0x0002c90300000001", True), ("0x0", False), ("leaf", False), ("0x" + "1" * 17, False))
    elif field["type"] == "string" and "qos_class" in field.get("pattern", ""):
        yield from (("to=host-0001", True), (" pkey=1-3", True), ("to", False), ("", False), ("in=host-0001", False))
    elif field["type"] == "string":
        yield from (("host-0001", True), ("17", True), ("", False), ("x" * (field["maxLength"] + 1), False), ([], False),
                    (17, None), (None, False), (True, False))
    elif field["type"] == "array":
        yield [], True
        yield {}, False
        yield None, False
        for value, good in examples(field["items"]):
            yield [value], good


def check_fields(section):
    problems = []
    for name, field in fields(section).items():
        for value, _ in examples(field):
            values = copy.deepcopy(NEEDED[section])
            values[name] = value
            text = document(section, values)
            problems += disagree(text)
    return problems


def disagree(text):
    parser, schema = parser_says(text), schema_says(text)
    if (parser is None) == (schema is None):
        return []
    return [f"{text!r}: the parser says {parser or 'yes'}, the schema says {schema or 'yes'}"]


# Texts in which YAML's types matter.
TEXTS = [
    "", "# nothing\n", "{}\n", "[]\n", "17\n", "partitions:\n", "partitions: []\n---\nclasses: []\n",
    "partitions: [{name: a, pkey: 0x8011}]\n", "partitions: [{name: a, pkey: 0x8000}]\n",
    "partitions: [{name: a, pkey: '1'}]\n", "partitions: [{name: 1, pkey: 1}]\n",
    "partitions: [{name: yes, pkey: 1}]\n", "partitions: [{name: 'yes', pkey: 1}]\n",
    "partitions: [{name: a, pkey: 1, full: [0x0002c90300000001]}]\n",
    "partitions: [{name: a, pkey: 1, full: ['a\"b']}]\n", "partitions: [{name: a, pkey: 1, ipoib: on}]\n",
    "partitions: [{name: a, pkey: 1, ipoib: yes}]\n", "partitions: [{name: ~, pkey: 1}]\n",
    "partitions: [{name: 1.5, pkey: 1}]\n", "names: [{guid: 0x0002c90300000001, name: leaf 1}]\n",
    "names: [{guid: '0x0002c90300000001', name: ' x'}]\n", "classes: [{name: c, mtu_limit: 1024}]\n",
    "classes: [{name: c, mtu_limit: 1025}]\n", "congestion: {threshold: auto, timer: 5}\n",
    "congestion: {table: [0, 0xc008]}\n", "congestion: []\n", "isolation: [{link: leaf-001/4, reason: dirty}]\n",
]


def main():
    for section in [None, *SCHEMA["properties"]]:
        mine = set(SCHEMA["properties"] if section is None else fields(section))
        parsers = keys_of_parser(section)
        report(f"the keys of {section or 'the policy'} are those of the parser",
               [] if mine == parsers else [f"schema: {sorted(mine)}; parser: {sorted(parsers)}"])
    for section in SCHEMA["properties"]:
        report(f"the values of {section} are those of the parser", check_fields(section))
        required = NEEDED[section]
        missing = []
        for key in required:
            missing += disagree(document(section, {k: v for k, v in required.items() if k != key}))
        report(f"the required keys of {section} are those of the parser", missing)
    report("YAML's types are those of the parser", [p for t in TEXTS for p in disagree(t)])


main()
