"""The audit log of fabricd on a simulated fabric: 500 changes by five users, found again by fabricctl,
and a database that somebody changed while the daemon was stopped."""

import collections
import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time

from google.protobuf import descriptor_pb2

from harness import (BUILD, PATIENCE, SLACK, WORK, channel, dynamic, load, main, running, socket_path,
                     wait_until)

access_pb2, audit_pb2, link_pb2, port_pb2, status_pb2 = (
    load(f"fabric.v1.{m}_pb2") for m in ("access", "audit", "link", "port", "status"))
CTL, FABSIM, FABRICD = (os.path.join(BUILD, p)
                        for p in ("cli/fabricctl", "cli/fabsim", "fabricd/fabricd"))
SERVICE = "/fabric.v1.FabricService/"
CHANGES = 500
TAMPERINGS = 150
# Users that are not in /etc/passwd, so that records have their numbers.
ACCOUNTS, STRANGER = [60001, 60002, 60003, 60004, 60005], 60009

# Makes the calls that it reads from its standard input. Each line has [path, request in hexadecimal, reason].
CALLER = """
import json, sys, grpc
c = grpc.insecure_channel(sys.argv[1])
for line in sys.stdin:
    path, request, reason = json.loads(line)
    stub = c.unary_stream(path, request_serializer=bytes, response_deserializer=bytes)
    call = stub(bytes.fromhex(request), timeout=20, metadata=(("fabric-reason", reason),))
    try:
        list(call)
        result = "OK"
    except grpc.RpcError as e:
        result = e.code().name
    print(json.dumps(result), flush=True)
"""


class Caller:
    """A client in its own process, of any user, with one connection."""

    def __init__(self, address, user):
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-c", CALLER, address], cwd="/", text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}, user=user, group=user, extra_groups=[])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(PATIENCE)

    def call(self, path, request=b"", reason=""):
        self.process.stdin.write(json.dumps([path, request.hex(), reason]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Place:
    """A folder with a topology (2 leaves, 2 spines, 6 hosts), settings, and a daemon while it runs."""

    def __init__(self):
        self.folder = os.path.dirname(socket_path())
        self.topology, self.state = (os.path.join(self.folder, n) for n in ("f.net", "state"))
        self.address = f"unix:{self.folder}/s"
        subprocess.run([FABSIM, "generate", "leaf-spine", "--leaves", "2", "--spines", "2", "--hosts", "3",
                        "-o", self.topology], check=True)
        with open(os.path.join(self.folder, "f.yaml"), "w") as f:
            f.write("rpc:\n  roles:\n    operator:\n" + "".join(f"      - user: {a}\n" for a in ACCOUNTS))

    @contextlib.contextmanager
    def daemon(self):
        command = [FABRICD, "--sim", self.topology, "-f", f"{self.folder}/f.yaml", "--state-dir", self.state,
                   "--listen", self.address]
        with running(command, lambda _: wait_until(self.has_tables)) as process:
            # Every user reaches the socket, so that only the role decides.
            for path, mode in ((WORK, 0o755), (self.folder, 0o755), (f"{self.folder}/s", 0o666)):
                os.chmod(path, mode)
            yield process

    def has_tables(self):
        """Uses fabricctl, because a gRPC channel waits up to 5 s before it tries a restarted daemon again."""
        done = subprocess.run([CTL, "-s", self.address, "-o", "json", "status"], capture_output=True, text=True,
                              timeout=60)
        return done.returncode == 0 and json.loads(done.stdout)["generation"] > 0

    def ctl(self, *arguments, code=0):
        done = subprocess.run([CTL, "-s", self.address, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done
        return done.stdout

    def export(self, *options):
        """Returns the records that match, oldest first."""
        return [json.loads(line) for line in reversed(self.ctl("audit", "export", *options).splitlines())]

    def listed(self, *options):
        """Like export, but uses `audit list`."""
        text = self.ctl("audit", "list", "-n", str(2 * CHANGES), "-o", "json", *options)
        return json.loads(text)["records"][::-1]


def account_of(user):
    return f"uid {user}"


def changes(seed):
    """Returns random changes: [(account, method, request, object)]. Some of them fail."""
    dice = random.Random(seed)
    requests = {"DisablePort": port_pb2.DisablePortRequest, "EnablePort": port_pb2.EnablePortRequest,
                "IsolateLink": link_pb2.IsolateLinkRequest, "ReleaseLink": link_pb2.ReleaseLinkRequest,
                "Sweep": status_pb2.SweepRequest}
    made = []
    for number in range(CHANGES):
        method = dice.choice(sorted(requests))
        # Ports 1 to 3 of a leaf lead to hosts, and 4 and 5 to the spines.
        node = dice.choice(["leaf-001", "leaf-002"])
        port = dice.choice([4, 5]) if "Link" in method else dice.choice([1, 2, 3])
        fields = {} if method == "Sweep" else {"node": node, "port_number": port}
        made.append((ACCOUNTS[number % len(ACCOUNTS)], method, requests[method](**fields).SerializeToString(),
                     f"{node}/{port}" if fields else None))
    return made


def expected_and_made(place, todo):
    """Makes the changes. Returns the expected records: [(account, method, object, result, reason)]."""
    expected = []
    with contextlib.ExitStack() as stack:
        callers = {a: stack.enter_context(Caller(place.address, a)) for a in ACCOUNTS}
        for number, (account, method, request, item) in todo:
            reason = f"ticket {number}"
            result = callers[account].call(SERVICE + method, request, reason.replace(" ", "%20"))
            expected.append((account_of(account), method, item, result, reason))
    return expected


def has_exactly(found, expected):
    """Checks that these are the records, in this order. None matches any value."""
    found = [tuple(r[k] for k in ("account", "method", "object", "result", "reason")) for r in found]
    assert len(found) == len(expected), (len(found), len(expected))
    for f, e in zip(found, expected):
        assert f == tuple(y if y is not None else x for x, y in zip(f, e)), (f, e)


def filters_give_exactly_the_changes(place, first, second, between):
    """Compares the filters of audit list and export with the calls of the clients."""
    every = first + second
    by_users = ("--by", "uid 6*")
    has_exactly(place.export(*by_users), every)
    has_exactly(place.export(*by_users, "--until", between), first)
    has_exactly(place.export(*by_users, "--since", between), second)
    for account in map(account_of, ACCOUNTS):
        mine = [e for e in every if e[0] == account]
        has_exactly(place.listed("--by", account), mine)
        has_exactly(place.export("--by", account, "--since", between), [e for e in second if e[0] == account])
    for item in sorted({e[2] for e in every if e[2] is not None}):
        has_exactly(place.listed("--object", item), [e for e in every if e[2] == item])
    has_exactly(place.export("--object", "leaf-001/*"),
                [e for e in every if e[2] is not None and e[2].startswith("leaf-001/")])
    results = {e[3] for e in every}
    assert len(results) > 1, results
    for result in sorted(results):
        has_exactly(place.export(*by_users, "--result", result), [e for e in every if e[3] == result])
    for method in sorted({e[1] for e in every}):
        has_exactly(place.listed("--method", method), [e for e in every if e[1] == method])
    assert not place.listed("--result", "UNFINISHED") and not place.listed("--by", account_of(STRANGER + 1))


def pages_have_all_records(place, c, expected):
    """Does the same by the RPC, with pages of seven rows, and with a filter."""
    stub = c.unary_unary(SERVICE + "ListAudit", request_serializer=audit_pb2.ListAuditRequest.SerializeToString,
                         response_deserializer=audit_pb2.ListAuditResponse.FromString)
    for account in (account_of(ACCOUNTS[0]), "uid 6*"):
        token, found, pages = "", [], 0
        while pages == 0 or token:
            page = stub(audit_pb2.ListAuditRequest(page_size=7, page_token=token, account=account), timeout=PATIENCE)
            assert len(page.records) <= 7, page
            found += page.records
            token, pages = page.next_page_token, pages + 1
        wanted = [e for e in expected if account in ("uid 6*", e[0])]
        assert pages >= len(wanted) // 7, pages
        numbers = [r.sequence for r in found]
        assert numbers == sorted(set(numbers), reverse=True), numbers
        has_exactly([{k: getattr(r, k) for k in ("account", "method", "object", "result", "reason")}
                     for r in reversed(found)], wanted)


def lists_are_quick(place):
    """A list of all changes takes a fraction of a second, with and without filters. Prints the longest time."""
    longest = 0
    for options in ((), ("--by", account_of(ACCOUNTS[2])), ("--object", "leaf-002/*"), ("--since", "1h"),
                    ("--result", "NOT_FOUND")):
        begun = time.monotonic()
        place.ctl("audit", "list", "-n", str(2 * CHANGES), *options)
        longest = max(longest, time.monotonic() - begun)
    print(f"# longest time of audit list, {CHANGES} changes: {1000 * longest:.0f} ms")
    assert longest < 2 * SLACK, longest


def refused_calls_are_recorded(place):
    with Caller(place.address, STRANGER) as stranger:
        request = port_pb2.DisablePortRequest(node="leaf-001", port_number=1).SerializeToString()
        for number in range(5):
            assert stranger.call(SERVICE + "DisablePort", request, f"try-{number}") == "PERMISSION_DENIED"
        assert stranger.call(SERVICE + "GetStatus") == "OK"
    has_exactly(place.export("--by", account_of(STRANGER)),
                [(account_of(STRANGER), "DisablePort", "", "PERMISSION_DENIED", f"try-{n}") for n in range(5)])


def remove(db, row):
    db.execute("DELETE FROM audit WHERE seq = ?", (row,))


def remove_ten(db, row):
    db.execute("DELETE FROM audit WHERE seq BETWEEN ? AND ?", (row, row + 9))


def change_account(db, row):
    db.execute("UPDATE audit SET account = 'uid 1' WHERE seq = ?", (row,))


def change_time(db, row):
    db.execute("UPDATE audit SET time_us = time_us + 1 WHERE seq = ?", (row,))


def exchange(db, row):
    for of, to in ((row, -1), (row + 7, row), (-1, row + 7)):
        db.execute("UPDATE audit SET seq = ? WHERE seq = ?", (to, of))


def close_gap(db, row):
    """Removes a row, and gives all later rows the next lower number."""
    remove(db, row)
    db.execute("UPDATE audit SET seq = -seq WHERE seq > ?", (row,))
    db.execute("UPDATE audit SET seq = -seq - 1 WHERE seq < 0")


def cut(db, row):
    db.execute("DELETE FROM audit WHERE seq >= ?", (row,))


def tampering_is_found(place):
    """Each change is made in the database of the stopped daemon. The first wrong row is always the given row."""
    saved = place.state + ".saved"
    shutil.copytree(place.state, saved)
    tamperings = (remove, remove_ten, change_account, change_time, exchange, close_gap, cut)
    for number, tamper in enumerate(tamperings):
        shutil.rmtree(place.state)
        shutil.copytree(saved, place.state)
        row = 101 + 40 * number
        with contextlib.closing(sqlite3.connect(f"{place.state}/fabricd.db")) as db, db:
            tamper(db, row)
        with place.daemon():
            verdict = json.loads(place.ctl("audit", "verify", "-o", "json", code=5))
            assert not verdict["intact"] and verdict["bad"] == row, (tamper.__name__, row, verdict)


# ---- random tampering, while the daemon runs

COLUMNS = ["kind", "time_us", "call", "result", "account", "source", "method", "object", "value_before",
           "value_after", "reason", "message", "mac"]


def renumber(db, rows):
    """Gives rows the numbers of other rows: rows = {old number: new number}."""
    for old, new in rows.items():
        db.execute("UPDATE audit SET seq = ? WHERE seq = ?", (-new - 1, old))
    db.execute("UPDATE audit SET seq = -seq - 1 WHERE seq < 0")


def remove_some(db, dice, last):
    first = dice.randint(1, last)
    end = min(last, first + dice.choice([0, 0, 1, 30]))
    db.execute("DELETE FROM audit WHERE seq BETWEEN ? AND ?", (first, end))
    if dice.random() < 0.5:  # also close the gap
        renumber(db, {n: n - (end - first + 1) for n in range(end + 1, last + 1)})
    return first


def change_one(db, dice, last):
    row, column = dice.randint(1, last), dice.choice(COLUMNS)
    value, = db.execute(f"SELECT {column} FROM audit WHERE seq = ?", (row,)).fetchone()
    if isinstance(value, bytes):
        at = dice.randrange(len(value))
        value = value[:at] + bytes([value[at] ^ 1 << dice.randrange(8)]) + value[at + 1:]
    else:
        value = value + 1 if isinstance(value, int) else value + dice.choice(["x", " ", "\0", "\u00e9"])
    db.execute(f"UPDATE audit SET {column} = ? WHERE seq = ?", (value, row))
    return row


def reorder_some(db, dice, last):
    """Exchanges the positions of some rows, which need not be neighbours."""
    rows = sorted(dice.sample(range(1, last + 1), dice.choice([2, 2, 5, 50])))
    shuffled = rows[1:] + rows[:1] if dice.random() < 0.5 else rows[::-1]
    renumber(db, dict(zip(rows, shuffled)))
    return next(old for old, new in zip(rows, shuffled) if old != new)


def cut_tail(db, dice, last):
    first = dice.randint(1, last)
    db.execute("DELETE FROM audit WHERE seq >= ?", (first,))
    return first


def copy_one(db, dice, last):
    """Inserts a copy of a row at another place. A copy directly after the row counts as inserted, too."""
    row, at = dice.randint(1, last), dice.randint(1, last + 1)
    copied = list(db.execute("SELECT * FROM audit WHERE seq = ?", (row,)).fetchone())
    renumber(db, {n: n + 1 for n in range(at, last + 1)})
    db.execute(f"INSERT INTO audit VALUES({','.join('?' * len(copied))})", [at, *copied[1:]])
    return at + (row == at)


def random_tampering_is_found(place, seed):
    """Random rows are removed, changed, reordered, cut or copied, and then restored."""
    dice, tried = random.Random(seed), collections.Counter()
    print(f"# TEST_SEED={seed}")
    with contextlib.closing(sqlite3.connect(f"{place.state}/fabricd.db", isolation_level=None, timeout=30)) as db:
        db.execute("CREATE TEMP TABLE saved AS SELECT * FROM audit")
        last, = db.execute("SELECT max(seq) FROM audit").fetchone()
        assert last >= 2 * CHANGES, last
        for _ in range(TAMPERINGS):
            tamper = dice.choice([remove_some, change_one, reorder_some, cut_tail, copy_one])
            db.execute("BEGIN IMMEDIATE")
            bad = tamper(db, dice, last)
            db.execute("COMMIT")
            verdict = json.loads(place.ctl("audit", "verify", "-o", "json", code=5))
            assert not verdict["intact"] and verdict["bad"] == bad, (seed, tamper.__name__, bad, verdict)
            db.executescript("BEGIN IMMEDIATE; DELETE FROM audit; INSERT INTO audit SELECT * FROM saved; COMMIT")
            tried[tamper.__name__] += 1
        assert json.loads(place.ctl("audit", "verify", "-o", "json"))["intact"]
    print(f"# found: {dict(tried)}")


def a_day_of_changes_by_five_accounts():
    place = Place()
    todo = list(enumerate(changes(seed=18)))
    with place.daemon():
        first = expected_and_made(place, todo[:CHANGES // 2])
        # The filters count in whole seconds.
        now = int(time.time()) + 1
        time.sleep(now - time.time())
        second = expected_and_made(place, todo[CHANGES // 2:])
        filters_give_exactly_the_changes(place, first, second,
                                         time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)))
        with channel(place.address) as c:
            pages_have_all_records(place, c, first + second)
        lists_are_quick(place)
        refused_calls_are_recorded(place)
        assert json.loads(place.ctl("audit", "verify", "-o", "json"))["intact"]
        random_tampering_is_found(place, int(os.environ.get("TEST_SEED") or random.randrange(1 << 32)))
    tampering_is_found(place)


def methods_by_reflection(c):
    """Returns [(path of the method, role that it needs)], from the reflection of the server."""
    request, reply = (dynamic("reflection", f"grpc.reflection.v1.ServerReflection{k}")
                      for k in ("Request", "Response"))
    info = c.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                           request_serializer=request.SerializeToString, response_deserializer=reply.FromString)
    listed, = info(iter([request(list_services="*")]), timeout=PATIENCE)
    found = []
    for name in sorted(s.name for s in listed.list_services_response.service if s.name.startswith("fabric.")):
        answer, = info(iter([request(file_containing_symbol=name)]), timeout=PATIENCE)
        for data in answer.file_descriptor_response.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(data)
            for service in file.service:
                found += [(f"/{file.package}.{service.name}/{m.name}", m.options.Extensions[access_pb2.role])
                          for m in service.method]
    return found


def every_method_that_changes_something_is_recorded():
    """Every method above the role viewer must be recorded; a new method must be added to this test. Lists and checks
    are no changes."""
    place = Place()
    reads = {"ListAudit", "VerifyAudit", "GetDiagnostics", "PlanPolicy"}
    with place.daemon(), channel(place.address) as c:
        above = [p for p, role in methods_by_reflection(c) if role > access_pb2.ROLE_VIEWER]
        assert len(above) > 12 and any("SimService" in p for p in above), above
        with Caller(place.address, os.getuid()) as root:
            for path in above:
                root.call(path)
        recorded = {r["method"] for r in place.export("--by", "*(uid *")}
        changing = {p.split("/")[-1] for p in above} - reads
        assert recorded == changing, recorded ^ changing


DRY = "unchanged (dry run)"
# Commands of fabricctl, and what the audit log has of each: method, object, value before, value after. None: any.
RECORDED = [
    ("port disable leaf-002/1 --dry-run --yes", "DisablePort", "leaf-002/1", "", DRY),
    ("port disable leaf-002/1 --yes", "DisablePort", "leaf-002/1", "enabled", "disabled"),
    ("port enable leaf-002/1 --yes", "EnablePort", "leaf-002/1", "disabled", "enabled"),
    ("link isolate leaf-001/4 --yes", "IsolateLink", "leaf-001/4", "", "isolated"),
    ("link release leaf-001/4 --dry-run --yes", "ReleaseLink", "leaf-001/4", "", DRY),
    ("link release leaf-001/4 --yes", "ReleaseLink", "leaf-001/4", "held down or isolated", "released"),
    ("drain switch spine-002 --yes", "StartDrain", "switch spine-002", "in service", "under maintenance"),
    ("undrain switch spine-002 --dry-run --yes", "EndDrain", "switch spine-002", "", DRY),
    ("undrain switch spine-002 --yes", "EndDrain", "switch spine-002", "under maintenance", "in service"),
    ("drain link leaf-001/4 --yes", "StartDrain", "link leaf-001/4", "in service", "under maintenance"),
    ("undrain --all --yes", "EndDrain", "all drains", "under maintenance", "in service"),
    ("manager freeze --dry-run", "FreezeManager", "manager", "", DRY),
    ("manager freeze", "FreezeManager", "manager", "normal", "repairs only"),
    ("manager freeze --no-writes", "FreezeManager", "manager", "repairs only", "no writes"),
    ("manager resume --dry-run", "ResumeManager", "manager", "", DRY),
    ("manager resume", "ResumeManager", "manager", "no writes", "normal"),
    ("ha priority 3 --dry-run", "SetManagerPriority", "manager", "", DRY),
    ("ha priority 3", "SetManagerPriority", "manager", None, "priority 3"),
    ("ha priority 4", "SetManagerPriority", "manager", "priority 3", "priority 4"),
    ("topo approve --yes", "ApproveBaseline", "baseline", "no baseline", None),
    ("topo disapprove host-0001 --dry-run --yes", "DisapproveBaseline", "host-0001", "", DRY),
    ("topo disapprove host-0001 host-0002 --yes", "DisapproveBaseline", "host-0001, host-0002", "", None),
    ("topo approve host-0001 --yes", "ApproveBaseline", "host-0001", "", None),
    ("topo approve --all --yes", "ApproveBaseline", "all that wait for an approval", "", None),
    ("topo disapprove --all --dry-run --yes", "DisapproveBaseline", "baseline", "", DRY),
    ("topo disapprove --all --yes", "DisapproveBaseline", "baseline", "", None),
    ("topo snapshot monday --dry-run", "MakeSnapshot", "monday", "", DRY),
    ("topo snapshot monday", "MakeSnapshot", "monday", "", None),
    ("topo snapshot monday --forget --dry-run", "DeleteSnapshot", "monday", "", DRY),
    ("topo snapshot monday --forget", "DeleteSnapshot", "monday", "", None),
    ("sweep --dry-run", "Sweep", "fabric", "", DRY),
    ("sweep", "Sweep", "fabric", "", None),
    ("reroute --dry-run", "Reroute", "routes", "", DRY),
    ("reroute", "Reroute", "routes", "", None),
    ("route rebalance --dry-run", "Rebalance", "routes", "", DRY),
    ("route rebalance", "Rebalance", "routes", "", None),
    ("sim degrade leaf-001/4 --width 1x --yes", "Degrade", "leaf-001/4", "", None),
    ("sim unlink leaf-001/4 --yes", "Unlink", "leaf-001/4", "", None),
    ("sim relink leaf-001/4 --yes", "Relink", "leaf-001/4", "", None),
]


def changes_are_recorded_with_their_values():
    place = Place()
    with place.daemon():
        for command, *wanted in RECORDED:
            place.ctl(*command.split(), "--reason", f"for {command}")
            record = place.export()[-1]
            assert (record["reason"], record["result"]) == (f"for {command}", "OK"), (command, record)
            found = [record[k] for k in ("method", "object", "before", "after")]
            assert all(w in (None, f) for f, w in zip(found, wanted)), (command, found, wanted)


def a_reason_has_at_most_768_bytes():
    place = Place()
    with place.daemon():
        for reason in ("r" * 766, "r" * 767, "r" * 768, "\u00e9" * 128):
            place.ctl("sweep", "--dry-run", "--reason", reason)
            assert place.export()[-1]["reason"] == reason
        for reason in ("r" * 769, "r" * 2000, "\u00e9" * 128 + "r"):
            place.ctl("sweep", "--dry-run", "--reason", reason, code=2)


if os.getuid() != 0:
    print("1..0 # SKIP only root can call as several users")
    sys.exit(0)
main([
    every_method_that_changes_something_is_recorded,
    changes_are_recorded_with_their_values,
    a_reason_has_at_most_768_bytes,
    a_day_of_changes_by_five_accounts,
])
