"""The applied policy over the RPC: plans, confirmations, races, sizes, approvals, a frozen manager, and the formats of
fabricctl. tests/integration/test_policy.sh looks at the switches."""

import contextlib
import json
import os
import sqlite3
import subprocess
import time

import grpc

from harness import Fabric, channel, fails, load, main, wait_until
from place import CTL, Place

Code = grpc.StatusCode
policy_pb2 = load("fabric.v1.policy_pb2")
manager_pb2 = load("fabric.v1.manager_pb2")
baseline_pb2 = load("fabric.v1.baseline_pb2")
Fabric.MODULES += [policy_pb2, manager_pb2, baseline_pb2]
OPEN = "partitions: [{name: Default, pkey: 0x7fff, ipoib: yes, full: [ALL]}, {name: a, pkey: 1, full: [host-0001]}]\n"
CLOSED = "partitions: [{name: a, pkey: 1, full: [host-0001, host-0002]}]\n"


def files(*texts):
    return [policy_pb2.PolicyFile(name=f"{i}.yaml", text=t) for i, t in enumerate(texts)]


def place_with(settings=""):
    place = Place()
    place.write("f.yaml", "counters: {interval: 0}\n" + settings)
    return place


def a_plan_is_made_and_applied():
    place = place_with()
    with place.daemon(), channel(place.address) as c:
        f = Fabric(c)
        plan = f.PlanPolicy(files=files(OPEN)).plan
        assert plan.base_version == 0 and list(plan.sections) == ["partitions"], plan
        assert len(plan.hash) == 64 and not plan.confirmations and not plan.warnings, plan
        assert any(x.path == "partitions.a.host-0001" and x.after == "full member" and not x.before
                   for x in plan.changes), plan
        assert not f.GetPolicy().HasField("policy") and not f.ListPolicies().versions
        done = f.ApplyPolicy(files=files(OPEN))
        assert done.version == 1 and done.message == "policy version 1 is in force", done
        assert done.plan.hash == plan.hash
        got = f.GetPolicy()
        assert got.policy.text == "--- # 0.yaml\n" + OPEN and got.policy.in_force and list(got.sections) == ["partitions"]
        assert got.policy.by.endswith(f"(uid {os.getuid()})"), got
        status = f.GetStatus().status
        assert status.policy_version == 1 and list(status.policy_sections) == ["partitions"]
        assert f.ApplyPolicy(files=files(OPEN)).message.startswith("nothing changed")
        audit = [json.loads(x) for x in place.ctl("audit", "export", "--method", "ApplyPolicy").splitlines()]
        assert any(x.get("result") == "OK" and x["object"] == "policy" and "version 1" in str(x) for x in audit), audit


def a_confirmation_is_needed_where_partitions_are_lost():
    place = place_with()
    with place.daemon(), channel(place.address) as c:
        f = Fabric(c)
        plan = f.PlanPolicy(files=files(CLOSED)).plan
        assert len(plan.confirmations) == 1, plan
        assert "would lose partition Default (0x7fff), or full membership" in plan.confirmations[0], plan
        assert "--yes" in fails(Code.FAILED_PRECONDITION, f.ApplyPolicy, files=files(CLOSED))
        assert f.GetStatus().status.policy_version == 0
        assert f.ApplyPolicy(files=files(CLOSED), confirmed=True).version == 1
        # Somebody else applies another policy between plan and change.
        message = fails(Code.ABORTED, f.ApplyPolicy, files=files(OPEN), confirmed=True, base_version=7)
        assert "policy version 1 is in force now" in message, message
        assert f.ApplyPolicy(files=files(OPEN), base_version=1, confirmed=True).version == 2
        assert f.ApplyPolicy(rollback=True, version=1, confirmed=True).version == 3
        assert f.GetPolicy(version=3).policy.text == f.GetPolicy(version=1).policy.text
        changes = f.ComparePolicies(**{"from": 2, "to": 3}).changes
        assert any(x.path == "partitions.a.host-0002" for x in changes), changes
        assert not f.ComparePolicies(**{"from": 1, "to": 3}).changes


def what_is_stored_can_be_read_again():
    place = place_with()
    texts = ("%YAML 1.1\n---\n" + OPEN, "# no line end", "\n---\n---\nclasses: []", "")
    with place.daemon(), channel(place.address) as c:
        for i, text in enumerate(texts):
            Fabric(c).ApplyPolicy(files=files(OPEN, text) if i else files(text), confirmed=True)
        assert Fabric(c).GetStatus().status.policy_version == len(texts)
    with place.daemon(), channel(place.address) as c:
        assert list(Fabric(c).GetStatus().status.policy_sections) == ["partitions"]
        for i in range(len(texts)):
            assert Fabric(c).PlanPolicy(rollback=True, version=i + 1).plan.sections


def bad_requests_change_nothing():
    place = place_with()
    with place.daemon(), channel(place.address) as c:
        f = Fabric(c)
        f.ApplyPolicy(files=files(OPEN))
        bad = {
            "partitions: [": Code.INVALID_ARGUMENT,
            "partitions: {}": Code.INVALID_ARGUMENT,
            "partitions: &x [*x]": Code.INVALID_ARGUMENT,
            "partitions: [{name: a, pkey: 1, full: [nosuch]}]": Code.NOT_FOUND,
            "isolation: [{link: leaf-009/1}]": Code.NOT_FOUND,
            "isolation: [{link: leaf-001/1}]": Code.FAILED_PRECONDITION,
            "congestion: {table: [9, 1]}": Code.INVALID_ARGUMENT,
            "[" * 5000: Code.INVALID_ARGUMENT,
            "names: " + "[" + "{}," * 300000 + "]": Code.INVALID_ARGUMENT,
        }
        for text, code in bad.items():
            message = fails(code, f.ApplyPolicy, files=files(text), confirmed=True)
            assert message.startswith("nothing was applied: "), message
        # Each file is good, but the text that is stored could not be read at the next start.
        fails(Code.INVALID_ARGUMENT, f.ApplyPolicy, files=files("partitions: []\n...\n%TAG ! x\n"))
        fails(Code.INVALID_ARGUMENT, f.ApplyPolicy, files=files("# " + "x" * (1 << 20)))
        fails(Code.INVALID_ARGUMENT, f.ApplyPolicy)
        fails(Code.INVALID_ARGUMENT, f.ApplyPolicy, files=files(OPEN), rollback=True)
        fails(Code.NOT_FOUND, f.ApplyPolicy, rollback=True, version=9)
        fails(Code.NOT_FOUND, f.GetPolicy, version=9)
        fails(Code.NOT_FOUND, f.ComparePolicies, to=9)
        fails(Code.RESOURCE_EXHAUSTED, f.ApplyPolicy, files=files("#" * (1200 << 10)))
        assert f.GetStatus().status.policy_version == 1


def a_large_policy_is_planned_quickly():
    place = place_with()
    names = "names:\n" + "".join(f"  - {{guid: 0x{i + 1:x}, name: node-{i}}}\n" for i in range(20000))
    with place.daemon(), channel(place.address) as c:
        f = Fabric(c)
        begin = time.monotonic()
        plan = f.PlanPolicy(files=files(names)).plan
        print(f"# a policy of {len(names) >> 10} KiB, planned in {(time.monotonic() - begin) * 1000:.0f} ms")
        assert len(plan.changes) == 20000
        assert len(plan.warnings) == 20000, len(plan.warnings)  # none of these nodes is there
        assert f.ApplyPolicy(files=files(names)).version == 1


def approvals_are_made_and_taken_back():
    place = place_with("subnet: {unapproved: exclude}\n")
    with place.daemon(), channel(place.address) as c:
        f = Fabric(c)
        entry = "approvals: [{node: 0x77, port_guid: 0x78, at: leaf-001/1}]\n"
        assert "no baseline" in fails(Code.NOT_FOUND, f.ApplyPolicy, files=files(entry))
        place.ctl("topo", "approve")
        f.ApplyPolicy(files=files("approvals: [{node: 0x77, port_guid: 0x78, at: leaf-002/4}]\n"))
        wait_until(lambda: "0x0000000000000077" in str(f.ListBaseline()))
        message = fails(Code.FAILED_PRECONDITION, f.ApplyPolicy, rollback=True)
        assert "1 device would lose its approval, and be excluded" in message, message
        f.ApplyPolicy(rollback=True, confirmed=True)
        wait_until(lambda: "0x0000000000000077" not in str(f.ListBaseline()))


def decisions_of_several_versions_are_completed():
    """The state after a crash of a manager that had applied the versions 2 and 3, but had not carried out their decisions:
    neither has the isolation of version 1."""
    place = place_with()
    link = "leaf-001/4"
    isolated = lambda: json.loads(place.ctl("link", "unhealthy", "-o", "json"))["links"]
    with place.daemon(), channel(place.address) as c:
        f = Fabric(c)
        f.ApplyPolicy(files=files(f"isolation: [{{link: {link}}}]\n"))
        f.ApplyPolicy(files=files(OPEN), confirmed=True)
        f.ApplyPolicy(files=files(OPEN + "classes: []\n"), confirmed=True)
        place.ctl("link", "isolate", link)
        assert [x["state"] for x in isolated()] == ["isolated"]
    with contextlib.closing(sqlite3.connect(f"{place.state}/fabricd.db", isolation_level=None, timeout=30)) as db:
        done = db.execute("UPDATE meta SET value = '1' WHERE key = 'policy_settled' AND value = '3'")
        assert done.rowcount == 1
    with place.daemon():
        wait_until(lambda: not isolated())


def a_frozen_manager_applies_nothing():
    place = place_with()
    with place.daemon(), channel(place.address) as c:
        f = Fabric(c)
        f.FreezeManager()
        assert "frozen" in fails(Code.FAILED_PRECONDITION, f.ApplyPolicy, files=files(OPEN))
        assert f.PlanPolicy(files=files(OPEN)).plan.changes
        f.ResumeManager()
        assert f.ApplyPolicy(files=files(OPEN)).version == 1


def settings_that_do_not_fit_prevent_a_start():
    place = place_with()
    with place.daemon(), channel(place.address) as c:
        Fabric(c).ApplyPolicy(files=files(OPEN))
    place.write("f.yaml", "subnet: {unapproved: quarantine, quarantine_pkey: 1}\n")
    done = subprocess.run([os.path.join(os.path.dirname(CTL), "../fabricd/fabricd"), "--sim", place.path("f.net"), "-f",
                           place.path("f.yaml"), "--state-dir", place.state, "--listen", place.address],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "the applied policy cannot be used with these settings" in done.stderr, done
    assert 'the P_Key of partition "a"' in done.stderr, done


def the_command_reads_files_and_folders():
    place = place_with()
    os.mkdir(place.path("d"))
    place.write("d/b.yml", "classes: [{name: c, share: 20, match: [partition=a]}]\n")
    place.write("d/a.yaml", OPEN)
    place.write("d/c.txt", "nonsense: [")
    os.mkdir(place.path("empty"))
    with place.daemon():
        shown = json.loads(place.ctl("apply", place.path("d"), "--diff", "-o", "json"))
        assert shown["sections"] == "partitions, classes" and shown["changes"], shown
        assert "no file *.yaml" in place.ctl("apply", place.path("empty"), code=4)
        assert "No such file" in place.ctl("apply", place.path("nosuch"), code=4)
        assert "names the partition 'a'" in place.ctl("apply", place.path("d/b.yml"), code=4)
        done = json.loads(place.ctl("apply", place.path("d"), "--reason", "two files", "-o", "json"))
        assert done["version"] == 1, done
        history = json.loads(place.ctl("policy", "history", "-o", "json"))["versions"]
        assert [v["reason"] for v in history] == ["two files"] and history[0]["in_force"], history
        assert place.ctl("policy", "history", "-o", "name").strip() == "1"
        text = json.loads(place.ctl("policy", "show", "-o", "json"))["text"]
        assert text == f"--- # {place.path('d/a.yaml')}\n{OPEN}--- # {place.path('d/b.yml')}\n" + \
            "classes: [{name: c, share: 20, match: [partition=a]}]\n", text
        assert place.ctl("policy", "show") == text
        piped = subprocess.run([CTL, "-s", place.address, "apply", "-", "--dry-run"], input=text, text=True,
                               capture_output=True, timeout=60)
        assert piped.returncode == 0 and "Differences:  0" in piped.stdout, piped
        assert "is no number" in place.ctl("policy", "rollback", "x", code=2)
        twice = subprocess.run([CTL, "-s", place.address, "apply", "-", "-"], input=text, text=True, capture_output=True,
                               timeout=60)
        assert twice.returncode == 2 and "given twice" in twice.stderr, twice


def the_command_lists_what_a_plan_warns_of():
    """A pattern that matches no node is a warning, and a lost partition must be confirmed: each is a row."""
    place = place_with()
    place.write("p.yaml", CLOSED + "classes: [{name: c, share: 20, match: [from=nosuch-*]}, {name: d, share: 10, "
                "match: [from=neither-*]}]\n")
    with place.daemon():
        command = ["apply", place.path("p.yaml"), "--dry-run"]
        shown = json.loads(place.ctl(*command, "-o", "json"))
        assert [list(x) for x in shown["warnings"]] == [["text"]] * 2, shown
        assert [x["text"].split(": ")[1] for x in shown["warnings"]] == [
            f'no node matches "{name}" now' for name in ("nosuch-*", "neither-*")], shown
        assert len(shown["confirmations"]) == 1 and "lose partition" in shown["confirmations"][0]["text"], shown
        lines = place.ctl(*command).splitlines()
        at = lines.index("WARNING")
        assert all("no node matches" in x for x in lines[at + 1:at + 3]), lines


main([
    a_plan_is_made_and_applied,
    a_confirmation_is_needed_where_partitions_are_lost,
    what_is_stored_can_be_read_again,
    bad_requests_change_nothing,
    a_large_policy_is_planned_quickly,
    approvals_are_made_and_taken_back,
    decisions_of_several_versions_are_completed,
    a_frozen_manager_applies_nothing,
    settings_that_do_not_fit_prevent_a_start,
    the_command_reads_files_and_folders,
    the_command_lists_what_a_plan_warns_of,
])
