"""Golden files: the text that a test makes, compared byte for byte with the files in golden/.

A golden file has the whole output of the first run of a command, and the lines that changed (-, +) after each
later step. UPDATE_GOLDEN=1 in the environment rewrites the files; read the difference before you commit it.
"""

import contextlib
import difflib
import json
import os
import pty
import re
import subprocess

from google.protobuf import message_factory, text_format

from harness import BUILD, SOURCE, load

CTL, FABSIM, FABRICD = (os.path.join(BUILD, p)
                        for p in ("cli/fabricctl", "cli/fabsim", "fabricd/fabricd"))
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"
ENV = dict({k: v for k, v in os.environ.items() if not k.startswith("FABRICCTL")}, TZ="UTC", LC_ALL="C")

try:
    from ctl_schema import Schema
except ImportError:
    Schema = None
    print("# no python3-jsonschema: JSON is not validated")
schemas = []  # that of fabricctl, once it is needed


def check_json(arguments, done):
    """Validates the JSON output and the JSON error of fabricctl."""
    words = arguments[arguments.index("-s") + 2:] if "-s" in arguments else arguments
    if Schema is None or words[0].startswith("-"):
        return
    schemas.extend([] if schemas else [Schema(CTL)])
    wrong = None
    if done.stdout.strip():
        wrong = schemas[0].problem(words, json.loads(done.stdout))
    elif done.returncode not in (0, 5):
        wrong = schemas[0].error_problem(done.stderr.strip().split("\n")[-1], done.returncode)
    assert wrong is None, f"fabricctl {' '.join(words)}: {wrong}"


def ran(program, *arguments, **how):
    """Returns the output of a program, followed by its errors, and by its exit status if it is not 0."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120, env=ENV, **how)
    text = done.stdout + done.stderr
    assert done.returncode >= 0, f"{program} {arguments} was ended by signal {-done.returncode}: {text}"
    if program == CTL and ("-o", "json") in zip(arguments, arguments[1:]):
        check_json(arguments, done)
    return text + (f"exit status {done.returncode}\n" if done.returncode else "")


COLORS = {"\033[32m": "<green>", "\033[33m": "<yellow>", "\033[1;31m": "<red>", "\033[2m": "<dim>", "\033[0m": "</>"}


def colored(program, *arguments):
    """Runs a program on a terminal. Returns the lines of its output that have a color."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                               env=dict(ENV, TERM="xterm", NO_COLOR=""))
    os.close(theirs)
    text = b""
    with contextlib.suppress(OSError):  # at the end of the program, a read of its terminal fails
        while part := os.read(ours, 65536):
            text += part
    os.close(ours)
    process.wait(120)
    text = re.sub("  +", "  ", text.decode().replace("\r", ""))
    for code, name in COLORS.items():
        text = text.replace(code, name)
    return "\n".join(line for line in text.split("\n") if "</>" in line)


VERSION = ran(FABSIM, "--version").split()[1]


class Golden:
    """The lines of a golden file, collected by a test."""

    def __init__(self, name, masks=()):
        self.path = os.path.join(SOURCE, "tests/rpc/golden", name)
        self.masks = masks
        self.hidden = []  # (text, name) pairs: the paths of this run
        self.lines = []
        self.last = {}

    def mask(self, text):
        for what, name in self.hidden + [(VERSION, "<version>")]:
            text = text.replace(what, name)
        for pattern, to in self.masks:
            text = pattern.sub(to, text)
        return text

    def step(self, what):
        self.lines += ["", "#" * 100, "# " + what, "#" * 100]

    def add(self, title, text):
        """Adds the output of a command, or its differences from the last output of the same command."""
        now = self.mask(text).splitlines()
        if title not in self.last:
            self.lines += ["", "=== " + title] + now
        elif now != self.last[title]:
            changed = difflib.unified_diff(self.last[title], now, lineterm="", n=0)
            self.lines += ["", "=== " + title] + [x for x in list(changed)[2:] if not x.startswith("@@")]
        self.last[title] = now

    def again(self, title, text):
        """Adds the whole output, even if the same command ran before."""
        self.lines += ["", "=== " + title] + self.mask(text).splitlines()

    def compare(self):
        text = "\n".join(x.rstrip() for x in self.lines[1:]) + "\n"
        if UPDATE:
            with open(self.path, "w") as f:
                f.write(text)
            return
        with open(self.path) as f:
            expected = f.read()
        if text != expected:
            # A long context, because the title of the command must be seen.
            difference = difflib.unified_diff(expected.splitlines(), text.splitlines(), self.path,
                                              "this run", lineterm="", n=8)
            raise AssertionError("the output differs from the golden file (UPDATE_GOLDEN=1 rewrites it):\n"
                                 + "\n".join(difference))


# ---- messages as text

SERVICE = load("fabric.v1.fabric_service_pb2").DESCRIPTOR.services_by_name["FabricService"]


def class_of(descriptor):
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory().GetPrototype(descriptor)


def written(message, varies=()):
    """Returns a message as text. A message that contains no other messages is on one line."""
    text = text_format.MessageToString(message, as_utf8=True, use_short_repeated_primitives=True)
    for pattern, to in varies:
        text = pattern.sub(to, text)
    text = re.sub(r"\{\n[^{}]*\}", lambda m: " ".join(m[0].split()), text)
    return re.sub(r'(key: "(?:\w+_us|mads|seconds)"\n *value) \{ number: \d+ \}', r"\1 <n>", text)


def lines(text):
    return [x.strip() for x in re.split(r"[|\n]", text) if x.strip()]
