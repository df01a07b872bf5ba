"""The contexts of fabricctl: configuration files, the choice of a context, and commands for several managers."""

import contextlib
import csv
import io
import json
import os
import subprocess
import tempfile

import yaml

from harness import BUILD, WORK, fake, main, socket_path

CTL = os.path.join(BUILD, "cli/fabricctl")


class User:
    """A user with directories of its own."""

    def __init__(self):
        self.home = tempfile.mkdtemp(dir=WORK)

    def configure(self, text):
        folder = os.path.join(self.home, ".config/fabricctl")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config.yaml"), "w") as f:
            f.write(text)

    def run(self, *arguments, **env):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("FABRICCTL", "XDG"))}
        return subprocess.run([CTL, *arguments], capture_output=True, text=True, timeout=60,
                              env=dict(clean, HOME=self.home, TZ="UTC", **env))

    def succeeds(self, *arguments, **env):
        done = self.run(*arguments, **env)
        assert done.returncode == 0 and done.stderr == "", done
        return done.stdout

    def fails(self, code, *arguments, **env):
        done = self.run(*arguments, **env)
        assert done.returncode == code, done
        return done.stderr


@contextlib.contextmanager
def two_fabrics():
    """A user with the contexts "one" (current) and "two"; the second fabric has other sizes."""
    with fake(leaves=2, spines=1, hosts=1) as a, fake(leaves=3, spines=1, hosts=1) as b:
        user = User()
        user.configure("current: one\ncontexts:\n"
                       f"  one: {{server: '{a.address}'}}\n  two: {{server: '{b.address}'}}\n")
        yield user, a, b


def leaves(text):
    return text.split().count("leaf-003")


def the_context_decides_which_manager_is_asked():
    with two_fabrics() as (user, a, b):
        assert leaves(user.succeeds("node", "list")) == 0
        assert leaves(user.succeeds("--context", "two", "node", "list")) == 1
        assert leaves(user.succeeds("-s", b.address, "node", "list")) == 1
        assert leaves(user.succeeds("node", "list", FABRICCTL_CONTEXT="two")) == 1
        assert leaves(user.succeeds("node", "list", FABRICCTL_SERVER=b.address)) == 1
        assert leaves(user.succeeds("--context", "one", "node", "list", FABRICCTL_SERVER=b.address)) == 0
        assert "exclude each other" in user.fails(2, "--context", "one", "-s", a.address, "status")
        assert 'no context "three"; the contexts are one, two' in user.fails(4, "--context", "three", "status")


def a_choice_is_kept():
    with two_fabrics() as (user, _, _):
        user.succeeds("context", "use", "two")
        assert leaves(user.succeeds("node", "list")) == 1
        assert [c["name"] for c in json.loads(user.succeeds("context", "list", "-o", "json"))["contexts"]
                if c["current"]] == ["two"]
        assert yaml.safe_load(user.succeeds("context", "show", "-o", "yaml"))["name"] == "two"
        assert 'no context "three"' in user.fails(4, "context", "use", "three")
        assert leaves(user.succeeds("node", "list")) == 1
        user.succeeds("context", "use", "--forget")
        user.succeeds("context", "use", "--forget")
        assert leaves(user.succeeds("node", "list")) == 0
        user.fails(2, "context", "use")
        user.fails(2, "context", "use", "one", "--forget")


def all_contexts_are_asked():
    with two_fabrics() as (user, _, _):
        both = json.loads(user.succeeds("--all-contexts", "node", "list", "switch", "-o", "json"))["nodes"]
        assert [(n["context"], n["name"]) for n in both if n["name"].startswith("leaf")] == [
            ("one", "leaf-001"), ("one", "leaf-002"), ("two", "leaf-001"), ("two", "leaf-002"), ("two", "leaf-003")]
        assert yaml.safe_load(user.succeeds("--all-contexts", "node", "list", "switch", "-o", "yaml"))["nodes"] == both
        table = list(csv.DictReader(io.StringIO(user.succeeds("--all-contexts", "node", "list", "switch", "-o", "csv"))))
        assert [(n["context"], n["name"]) for n in table] == [(n["context"], n["name"]) for n in both]
        rows = user.succeeds("--all-contexts", "node", "list", "leaf-00[2-3]", "--sort", "name").splitlines()
        assert [row.split()[:2] for row in rows] == [
            ["CONTEXT", "NAME"], ["one", "leaf-002"], ["two", "leaf-002"], ["two", "leaf-003"]], rows
        names = user.succeeds("--all-contexts", "node", "list", "leaf-00[2-3]", "-o", "name").split()
        assert names == ["leaf-002", "leaf-002", "leaf-003"], names
        states = json.loads(user.succeeds("--all-contexts", "status", "-o", "json"))["items"]
        assert [(s["context"], s["switches"]) for s in states] == [("one", 3), ("two", 4)], states
        shown = json.loads(user.succeeds("--all-contexts", "node", "show", "leaf-00[1-2]", "-o", "json"))["items"]
        assert [(n["context"], n["name"]) for n in shown] == [
            ("one", "leaf-001"), ("one", "leaf-002"), ("two", "leaf-001"), ("two", "leaf-002")]


def a_manager_that_does_not_answer_is_named():
    with two_fabrics() as (user, a, b):
        user.configure(f"contexts:\n  one: {{server: '{a.address}'}}\n  gone: {{server: 'unix:{WORK}/none'}}\n"
                       f"  two: {{server: '{b.address}'}}\n")
        done = user.run("--all-contexts", "node", "list", "switch", "-o", "json")
        assert done.returncode == 3, done
        assert {n["context"] for n in json.loads(done.stdout)["nodes"]} == {"one", "two"}
        assert json.loads(done.stderr)["error"]["message"].startswith("gone: "), done.stderr


def changes_and_streams_take_one_context():
    with two_fabrics() as (user, _, _):
        for line in ("port disable leaf-001/1", "event watch", "topo export", "context list", "drain host host-0001"):
            assert "takes one context" in user.fails(2, "--all-contexts", *line.split()), line
    assert "there is no context" in User().fails(4, "--all-contexts", "status")


def configurations_are_checked():
    user = User()
    for text, message in (
            ("contexts: [", "config.yaml:2:1: "),
            ("- a\n", 'config.yaml:1:1: keys are expected, such as "contexts"'),
            ("context: x\n", 'contexts or current is expected, not "context"'),
            ("current: [x]\n", 'the name of a context is expected, not ""'),
            ("contexts: x\n", 'names of contexts are expected in "contexts"'),
            ("contexts: {x: y}\n", 'keys such as server are expected in "x"'),
            ("contexts:\n  x:\n    servr: a\n", 'config.yaml:3:5: server, tls_ca, tls_cert, tls_key or tls_name is '
                                                'expected, not "servr"'),
            ("contexts: {x: {server: }}\n", 'a text is expected for "server"'),
            ("contexts: {x: {server: a, server: b}}\n", 'the key occurs twice: "server"'),
            ("contexts: {x: {tls_ca: a}}\n", 'the key server is missing in "x"'),
            ("contexts: {x: {server: a}, x: {server: b}}\n", 'the context occurs twice: "x"'),
            ("contexts: {a/b: {server: a}}\n", 'digits, points, - and _; not "a/b"'),
            ("contexts: {" + "x" * 65 + ": {server: a}}\n", "digits, points"),
            ("a: &a [*a, *a]\n", "contexts or current is expected"),
            ("#" * (1 << 20) + "\n", "larger than 1 MiB")):
        user.configure(text)
        for command in ("context list", "status", "context use x"):
            assert message in user.fails(1, *command.split()), (text[:80], user.fails(1, *command.split()))
    # An address on the command line needs no configuration.
    assert "is fabricd running?" in user.fails(3, "-s", "unix:" + socket_path(), "status")


def files_are_found_beside_the_configuration():
    user = User()
    user.configure("contexts: {x: {server: 'tls:h:1', tls_ca: ca.crt, tls_cert: /c, tls_key: ~/k, tls_name: n}}\n")
    x = json.loads(user.succeeds("context", "show", "x", "-o", "json"))
    assert x == {"name": "x", "current": False, "server": "tls:h:1", "tls_name": "n", "tls_cert": "/c",
                 "tls_ca": f"{user.home}/.config/fabricctl/ca.crt", "tls_key": f"{user.home}/k",
                 "file": f"{user.home}/.config/fabricctl/config.yaml"}, x
    assert "ca.crt" in user.fails(2, "--context", "x", "status")


def names_are_completed():
    with two_fabrics() as (user, _, _):
        assert user.succeeds("__complete", "--context", "").split() == ["one", "two"]
        assert user.succeeds("__complete", "context", "use", "t").split() == ["two"]
        assert user.succeeds("__complete", "--context", "two", "node", "show", "leaf-003").split() == ["leaf-003"]


main([the_context_decides_which_manager_is_asked, a_choice_is_kept, all_contexts_are_asked,
      a_manager_that_does_not_answer_is_named, changes_and_streams_take_one_context, configurations_are_checked,
      files_are_found_beside_the_configuration, names_are_completed])
