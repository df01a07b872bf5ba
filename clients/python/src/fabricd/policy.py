# SPDX-License-Identifier: BSD-3-Clause
"""The files of an applied policy (fabricd-policy(5)). A policy is given to Fabric.apply_policy as YAML, or as several
files, which are a dictionary {name: YAML}; the names appear in messages."""

from __future__ import annotations

import os
import re
from typing import Dict, List, Mapping, Union

from .errors import InvalidArgument
from .v1 import policy_pb2

Policy = Union[str, Mapping[str, str]]
SUFFIXES = (".yaml", ".yml")
# The manager joins files to one text, in which this line begins each of them.
HEAD = re.compile(r"^--- # (.*)\n", re.MULTILINE)


def read_policy(path: str) -> Dict[str, str]:
    """Reads a policy from a file, or from all files *.yaml and *.yml of a folder, as `fabricctl apply` does."""
    if not os.path.isdir(path):
        names = [path]
    else:
        names = [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(SUFFIXES)]
        if not names:
            raise InvalidArgument(f"{path} has no file *.yaml or *.yml")
    files = {}
    for name in names:
        with open(name, encoding="utf-8") as file:
            files[name] = file.read()
    return files


def split_policy(text: str) -> Dict[str, str]:
    """Returns the files of which a stored policy (PolicyVersion.text) consists. Files of the same name become one."""
    files: Dict[str, str] = {}
    parts = HEAD.split(text)
    if parts[0].strip():
        files["policy"] = parts[0]
    for name, part in zip(parts[1::2], parts[2::2]):
        files[name] = files[name] + "---\n" + part if name in files else part
    return files


def messages(policy: Policy) -> List[policy_pb2.PolicyFile]:
    files = {"policy": policy} if isinstance(policy, str) else policy
    return [policy_pb2.PolicyFile(name=name, text=text) for name, text in files.items()]
