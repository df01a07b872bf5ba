#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the system calls in a trace that a unit of systemd would deny. The exit code is 1 if there are any.

Usage: denied_calls.py UNIT PROGRAM < TRACE

The trace is one of strace -f. Calls before the execution of PROGRAM do not count. The rules are
SystemCallFilter=, RestrictAddressFamilies= and MemoryDenyWriteExecute= of the unit; systemd-analyze says which
calls a group has.
"""
import re
import subprocess
import sys


def directive(unit, name):
    return re.findall(rf"^{name}=(.*)$", unit, re.M)


def groups():
    """{name of a group: its calls and groups}"""
    text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager"], capture_output=True, text=True, check=True,
                          env={"SYSTEMD_COLORS": "0", "PATH": "/usr/bin:/bin"}).stdout
    found, members = {}, []
    for line in text.splitlines():
        if line.startswith("@"):
            members = found.setdefault(line.split()[0], [])
        elif line.strip() and not line.strip().startswith("#"):
            members.append(line.strip())
    return found


def calls_of(name, of):
    return {c for m in of[name] for c in calls_of(m, of)} if name.startswith("@") else {name}


def allowed_calls(unit):
    of = groups()
    allowed = calls_of("@default", of)
    for line in directive(unit, "SystemCallFilter"):
        calls = {c for name in line.lstrip("~").split() for c in calls_of(name, of)}
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def denied(unit, lines):
    calls, families = allowed_calls(unit), set(" ".join(directive(unit, "RestrictAddressFamilies")).split())
    no_write_execute = directive(unit, "MemoryDenyWriteExecute") == ["yes"]
    for line in lines:
        call = re.match(r"\d+ +(\w+)\((.*)", line)
        if not call:
            continue
        name, rest = call.groups()
        family = re.match(r"(AF_\w+)", rest) if name in ("socket", "socketpair") else None
        # The C library asks netlink for the addresses of the host, and works even if this is refused.
        if family and family[1] not in families | {"AF_NETLINK"} or name not in calls or (
                no_write_execute and name in ("mmap", "mprotect") and "PROT_WRITE" in rest and "PROT_EXEC" in rest):
            yield line.split(" ", 1)[1].strip()


def main():
    unit, program = open(sys.argv[1]).read(), sys.argv[2]
    lines = sys.stdin.read().splitlines()
    begin = next((i for i, line in enumerate(lines) if f'execve("{program}"' in line), len(lines))
    found = sorted(set(denied(unit, lines[begin + 1:])))
    print(f"{len(lines) - begin} lines", *found, sep="\n")
    return 1 if found or begin == len(lines) else 0


sys.exit(main())
