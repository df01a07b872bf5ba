"""Runs every command of fabricctl in every output format with good, ambiguous, missing and malformed arguments, with
patterns, and for all contexts.

    walk.py FABRICCTL MANPAGE

The commands are those of `fabricctl help`, against the manager of FABRICCTL_SERVER, which is also that of the two
contexts in XDG_CONFIG_HOME. Prints TAP, one result for each
command. A result fails if the program crashes, its exit status is not one that the arguments allow, a JSON or YAML
output or a JSON error cannot be parsed or is not valid by `fabricctl schema`, YAML and JSON have different values, a list
has not the array that the man page names, or a CSV row has not as many cells as the header.
"""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

import yaml

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../rpc"))
from ctl_schema import Schema  # noqa: E402

CTL = sys.argv[1]
SCHEMA = Schema(CTL)
FORMATS = ("text", "wide", "json", "yaml", "csv", "name")
# An argument of the usage: good values, then values that name nothing (exit status 4, or 1), several things, or that
# are malformed.
BAD_NODE = ["nosuch", "lea", "", "0xzz", "\x1b[31m", "n" * 300, "99999", "x*", "leaf-[7-9]", "*" * 2000]
BAD_PORT = ["nosuch/1", "leaf-001", "leaf-001/", "leaf-001/x", "leaf-001/999", "lea/1", "/", "\n/1", "x*/1", "leaf-001/[90-99]",
            "*/[1"]
ARGUMENTS = {
    "NODE/PORT": (["leaf-001/3", "0002c90100000001_3", "LEAF-001/[3]"], BAD_PORT),
    "NODE[/PORT]": (["leaf-001", "leaf-001/3", "leaf-00[1]/3"], BAD_PORT),
    "SWITCH[/PORT]": (["leaf-001", "spine-*"], BAD_PORT),
    "NODE": (["leaf-001", "LEAF-001", "host-0001", "0x0002c90100000001", "S-0002c90100000001",
              "leaf-00[1]"], BAD_NODE),
    "SWITCH": (["leaf-001", "leaf-00[1-2]"], BAD_NODE + ["host-0001"]),
    "SOURCE": (["host-0001", "host-000[1-2]"], BAD_NODE),
    "DESTINATION": (["host-0002"], BAD_NODE),
    "HOST": (["host-0001", "HOST-00[01-02]"], BAD_NODE),
    "RACK": (["A1", "a*"], ["nosuch", "", "z*"]),
    "CONTEXT": (["one"], ["nosuch", "", "a/b"]),
    "CLASS": ([], ["nosuch", ""]),
    "PARTITION": ([], ["nosuch", "", "0x123456"]),
    "GROUP": ([], ["nosuch", "0xc001", "ff12::1", ""]),
    "ENGINE": (["updn"], ["nosuch", ""]),
    "PLAN": ([], ["/nonexistent", "", "/dev/null"]),
    "PART": (["metrics"], ["nosuch", ""]),
    "ID": ([], ["0", "x", "", "-1", "99999999999999999999"]),
    "VERSION": (["0"], ["nosuch", "", "-1", "99999", "1x"]),
    "A": ([], ["nosuch", "", "1x"]),
    "switch|adapter|router": (["switch"], ["gateway", "swich", ""]),
    "COMMAND": ([], ["nosuch", ""]),
    "N|default": (["default"], ["16", "x", ""]),
}
# Commands that run for long, write files, ask for a passphrase, or change the manager for the commands after them.
# They are run only with malformed arguments.
REFUSED_ONLY = ("backup", "restore", "support-bundle", "cert", "event watch", "key rotate", "ha handover", "audit export",
                "topo check", "topo snapshot")
OPTIONS = {"cc export": ["--roce"]} | {f"drain {kind}": ["--dry-run"] for kind in ("link", "switch", "rack", "pod", "host")}  # options that a command needs
# Command lines of these commands, and of others that need a file or an option, whose JSON and YAML is validated. {} is
# an empty folder. "lines": each line of the output is an object.
MORE = """cert init --dir {}/ca | cert issue web web.example.net --dir {}/ca | cert list --dir {}/ca | cert renew web --dir {}/ca
    cert revoke web --dir {}/ca | backup {}/backup --passphrase-file {}/secret | support-bundle {}/bundle.tar.gz
    support-bundle {}/other.tar.gz --anonymize | topo snapshot walk --dry-run | topo snapshot walk | topo list
    topo diff walk | topo snapshot walk --forget --dry-run | topo export --file {}/plan | topo check {}/plan
    topo isolate {}/plan --dry-run | topo check {}/bad | topo isolate {}/bad --dry-run | topo infer | topo approve --dry-run
    topo approve | topo approve --all --dry-run | topo baseline --waiting | topo disapprove --all --dry-run
    key rotate --dry-run | ha priority 3 --dry-run | manager freeze --dry-run | manager resume --dry-run
    sweep --dry-run | reroute --dry-run | route rebalance --dry-run | port disable leaf-001/1 --dry-run
    port enable leaf-001/1 --dry-run | link isolate leaf-001/3 --dry-run | link release leaf-001/3 --dry-run
    node approve --all --dry-run | node list --gone | link list --gone | link list --degraded | node pins
    apply {}/policy.yaml --dry-run | apply {}/policy.yaml --diff | apply {}/policy.yaml --yes | policy show
    policy history | policy diff 0 1 | policy rollback 0 --diff | policy rollback 0 --yes
    drain link leaf-001/3 --dry-run | drain switch spine-001 --yes | drain list | undrain switch spine-001 --dry-run
    drain rack A1 --dry-run --hosts host-000[1-2] | drain plan --keep 40 | drain host host-0001 --yes --force | undrain --all --dry-run
    path host-000[1-2] host-000[3-4] | route whatif leaf-001/3 | route whatif spine-001 --engine minhop
    route compare minhop updn | route contingency -n 3 | route contingency leaf-001/3 | route contingency spine-001
    job affected leaf-001/3 --jobs {}/jobs --all | export opensm {}/opensm | import opensm {}/opensm --dry-run --dir {}/imported
    history leaf-001 | event list -n 500 --severity debug | event watch -n 2 --after 1 | audit list | audit export | top -n 1
    node show host-000[1-3] | port list leaf-00[1-2]/* | cc export --roce --explain | class list | context use one"""
LINES = ("event watch", "audit export")
JSON_ONLY = ("cert", "backup", "support", "export opensm", "audit export")  # they write a file, or print only JSON
# Commands that find nothing to show or to undo for a good argument, the second time or at all.
NOTHING_TO_DO = (["node", "approve"], ["node", "forget"], ["link", "isolate"], ["link", "unhealthy"], ["link", "release"], ["topo", "disapprove"], ["import", "opensm"])
# commands that print an array only with some arguments
NOT_ALWAYS_LISTS = {"route contingency", "path", "link unhealthy"}
TEXT_ONLY = ("help", "schema", "topo export", "route export", "route certify")  # the output is a text or a file
SKIPPED = ("NAME", "FILE")  # arguments that may be anything
STATES = {0, 1, 2, 3, 4, 5}


def run(arguments):
    done = subprocess.run([CTL, *arguments], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def commands():
    """Pairs of the words of a command and its usage after them."""
    text = run(["help"])[1].split("\nOptions:")[0]
    for line in text.split("\n"):
        if re.match(r"  [a-z]", line):
            usage = re.split(r"  +", line.strip())[0].split(" ")
            verb = 2 if len(usage) > 1 and re.fullmatch(r"[a-z]+", usage[1]) else 1
            yield usage[:verb], usage[verb:]


def arguments_of(usage):
    """The arguments of a usage without options, as names of ARGUMENTS, and which of them are optional."""
    names, option = [], False
    for word in usage:
        if word.startswith(("-", "[-")):
            option = not word.endswith("]")
        elif word != "|" and not option:
            name = word.replace("...", "")
            names.append((name[1:-1], True) if name.startswith("[") and name.endswith("]") else (name, False))
        else:
            option = False
    return names


def cases(usage):
    """Lists of arguments, each with whether they are good."""
    names = arguments_of(usage)
    good = []
    for name, optional in names:
        values = ARGUMENTS.get(name, ([], []))[0]
        if not values and not optional:
            good = None
            break
        good += values[:1] if not optional else []
    if good is not None:
        yield good, True
        for i, (name, optional) in enumerate(names):
            for value in ARGUMENTS.get(name, ([], []))[0][0 if optional else 1:]:
                yield good[:i] + [value] + good[i + 1:], True
    for i, (name, _) in enumerate(names):
        for value in ARGUMENTS.get(name, ([], []))[1]:
            first = [ARGUMENTS[n][0][0] if ARGUMENTS.get(n, ([],))[0] else value for n, _ in names[:i]]
            rest = [ARGUMENTS[n][0][0] if ARGUMENTS.get(n, ([],))[0] else value
                    for n, optional in names[i + 1:] if not optional]
            yield first + [value] + rest, False
    yield ["a", "b", "c", "d", "e", "f", "--no-such-option"], False


def kind(value):
    """The type of a value in the schema of a command; null may stand for any."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return {dict: "object", list: "array", str: "string"}.get(type(value), "number")


def types(value, path=""):
    """Pairs of a key, with the keys around it, and the type of its value. Items of an array have the same key."""
    if isinstance(value, dict):
        for k, v in value.items():
            yield f"{path}.{k}", kind(v)
            yield from types(v, f"{path}.{k}")
    if isinstance(value, list):
        for v in value:
            yield f"{path}[]", kind(v)
            yield from types(v, f"{path}[]")


def arrays():
    """The key of the array of each list, as the man page says in its table of lists."""
    with open(sys.argv[2]) as f:
        table = f.read().split(".It Sy certificates", 1)[1].split(".El")[0]
    keys = ["certificates"]
    for line in table.split("\n"):
        if line.startswith(".It Sy "):
            keys = [k for k in line[7:].split() if k != ","]
        elif line.startswith(".Cm "):
            for name in re.sub(r" No \(.*|\.Cm ", "", line).split(" , "):
                yield name.strip(), keys


def check(words, arguments, good, form, seen):
    """Returns what is wrong with a run, or None."""
    pattern = any(re.search(r"[*?]|\[\d", a) for a in arguments)
    confirm = ["--yes"] if good and pattern and "[--yes]" in seen["usage"] else []
    code, out, err = run([*words, *arguments, *OPTIONS.get(" ".join(words), []), *confirm, "-o", form])
    if code not in STATES:
        return f"exit status {code}"
    if not good and code == 0 and arguments[-1:] == ["--no-such-option"]:
        return "an unknown option is accepted"
    if good and code in (2, 3) or good and code == 4 and words not in NOTHING_TO_DO:
        return f"exit status {code} for good arguments: {err}"
    if code not in (0, 5) and not err:
        return f"exit status {code} without a message"
    if "\x1b" in out + err:
        return "an escape character is printed"
    try:
        if form == "json" and out.strip():
            seen["json"] = json.loads(out)
            if problem := SCHEMA.problem(words, seen["json"]):
                return problem
        if form == "json" and code not in (0, 5) and (problem := SCHEMA.error_problem(err.strip().split("\n")[-1], code)):
            return problem
        if form == "yaml" and out.strip():
            seen["yaml"] = yaml.safe_load(out)
            if problem := SCHEMA.problem(words, seen["yaml"]):
                return problem
            if "json" in seen and sorted(set(types(seen["yaml"]))) != sorted(set(types(seen["json"]))):
                return f"YAML has other keys or types: {set(types(seen['yaml'])) ^ set(types(seen['json']))}"
        if form == "csv":
            header = []
            for row in csv.reader(io.StringIO(out)):  # an empty row ends a table
                if header and row and len(row) != len(header):
                    return "a CSV row has another number of cells than the header"
                header = (header or row) if row else []
    except (ValueError, yaml.YAMLError) as error:
        return f"{form} cannot be parsed: {error}: {out[:200]!r} {err[:200]!r}"
    return None


def check_contexts(words, arguments, form):
    """Runs the command for all contexts, and returns what is wrong, or None."""
    code, out, err = run(["--all-contexts", *words, *arguments, *OPTIONS.get(" ".join(words), []), "-o", form])
    if code == 2:
        return None if "takes one context" in err else f"exit status 2: {err}"
    if code not in (0, 1, 5) and words not in NOTHING_TO_DO:
        return f"exit status {code}: {err}"
    if form == "text" or not out.strip() or code not in (0, 5):
        return None
    value = json.loads(out) if form == "json" else yaml.safe_load(out)
    if problem := SCHEMA.problem(words, value):
        return problem
    rows = next((v for v in value.values() if isinstance(v, list)), None)
    if rows is None or list(value) != [k for k, v in value.items() if v is rows]:
        return f"{form}: not one list, but {list(value)}"
    if any(row.get("context") not in ("one", "two") for row in rows):
        return f"{form}: a row names no context"
    if rows and {row["context"] for row in rows} != {"one", "two"}:
        return f"{form}: the rows are of one context"
    return None


def more(folder):
    """Runs the command lines of MORE. Yields what is wrong."""
    for name, text in (("secret", "four words are long enough\n"), ("jobs", "4711 host-000[1-3]\n4712 host-0009\n"),
                       ("policy.yaml", "partitions:\n  - {name: tenant, pkey: 0x8001, full: [host-0001, host-0002]}\n"),
                       ("bad", "node_a,port_a,node_b,port_b\nhost-0001,1,leaf-002,1\nleaf-001,3,leaf-002,3\n")):
        with open(os.path.join(folder, name), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
            f.write(text)
    for line in (x.strip() for x in MORE.replace("\n", "|").split("|")):
        words = line.replace("{}", folder).split()
        for form in ("json",) if line.startswith(JSON_ONLY) else ("json", "yaml"):
            code, out, err = run([*words, "-o", form])
            if code not in (0, 1, 4, 5):
                yield f"{line} -o {form}: exit status {code}: {err}"
            elif code == 1 and out and not err:
                pass  # the rows say which objects were refused, for example by topo isolate
            elif code in (1, 4) and form == "json" and (problem := SCHEMA.error_problem(err.strip().split("\n")[-1], code)):
                yield f"{line}: {problem}"
            if form == "yaml":
                values = [v for v in yaml.safe_load_all(out) if v is not None]
            else:
                values = [json.loads(x) for x in (out.split("\n") if line.startswith(LINES) else [out]) if x.strip()]
            yield from (f"{line} -o {form}: {p}" for v in values if (p := SCHEMA.problem(words, v)))
            print(f"# {line} -o {form}: {len(values)} valid, exit status {code}{': ' + err.strip() if code else ''}")


def main():
    count = failed = runs = 0
    lists = dict(arrays())
    for words, usage in commands():
        name = " ".join(words)
        if name in TEXT_ONLY:
            continue
        wrong, in_contexts = [], False
        for arguments, good in cases(usage):
            if good and name.startswith(REFUSED_ONLY):
                continue
            if not good and any(n in SKIPPED for n, _ in arguments_of(usage)) and "--no-such-option" not in arguments:
                continue
            seen = {"usage": usage}
            for form in FORMATS:
                runs += 1
                problem = check(words, arguments, good, form, seen)
                if problem:
                    wrong.append(f"{name} {arguments} -o {form}: {problem}")
            if good and name in lists and name not in NOT_ALWAYS_LISTS and "json" in seen and "items" not in seen[
                    "json"] and not set(lists[name]) & set(seen["json"]):
                wrong.append(f"{name} {arguments}: no array {lists[name]}, but {list(seen['json'])}")
            for form in ("text", "json", "yaml") if good and not in_contexts else ():
                in_contexts = form == "yaml"
                runs += 1
                problem = check_contexts(words, arguments, form)
                if problem:
                    wrong.append(f"--all-contexts {name} {arguments} -o {form}: {problem}")
        count += 1
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {count} - fabricctl {name}: formats and arguments")
        for text in wrong[:5]:
            print("# " + text.replace("\n", "\n# "))
    with tempfile.TemporaryDirectory() as folder:
        wrong = list(more(folder))
    count += 1
    failed += bool(wrong)
    print(f"{'not ok' if wrong else 'ok'} {count} - other options and files: JSON and YAML are valid")
    for text in wrong[:20]:
        print("# " + text.replace("\n", "\n# "))
    print(f"# {runs} runs")
    return failed > 0


sys.exit(main())
