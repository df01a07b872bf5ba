# SPDX-License-Identifier: BSD-3-Clause
"""Generates the modules fabricd.v1.* from the API (proto/fabric/v1) when the package is built."""

import os
import re
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
# The modules move from fabric.v1 to fabricd.v1, because the name fabric belongs to another Python package.
IMPORT = re.compile(r"^from fabric\.v1 import ", re.MULTILINE)


def proto_folder():
    """Returns the folder of the API: in a source distribution, or in the tree of fabricd."""
    for folder in (os.path.join(HERE, "proto"), os.path.join(HERE, "../../proto")):
        if os.path.exists(os.path.join(folder, "fabric/v1/fabric_service.proto")):
            return os.path.abspath(folder)
    raise SystemExit("no proto/fabric/v1/fabric_service.proto: build in the source tree of fabricd")


def proto_files(folder, package):
    return sorted(f"{package}/{name}" for name in os.listdir(os.path.join(folder, package)) if name.endswith(".proto"))


def generate(out):
    """Writes the modules of the API, with types, to out/fabricd/v1."""
    plugin = shutil.which("grpc_python_plugin")
    if not shutil.which("protoc") or not plugin:
        raise SystemExit("no protoc and grpc_python_plugin: install protobuf-compiler and protobuf-compiler-grpc")
    folder = proto_folder()
    made = os.path.join(out, "fabric", "v1")
    run = ["protoc", "-I", folder, f"--python_out={out}", f"--pyi_out={out}"]
    subprocess.run(run + proto_files(folder, "fabric/v1"), check=True)
    subprocess.run(["protoc", "-I", folder, f"--plugin=protoc-gen-grpc_python={plugin}", f"--grpc_python_out={out}",
                    "fabric/v1/fabric_service.proto", "fabric/v1/sim_service.proto"], check=True)
    for name in os.listdir(made):
        with open(os.path.join(made, name), encoding="utf-8") as source:
            text = IMPORT.sub("from fabricd.v1 import ", source.read())
        with open(os.path.join(out, "fabricd", "v1", name), "w", encoding="utf-8") as result:
            result.write(text)
    shutil.rmtree(os.path.join(out, "fabric"))


class BuildWithApi(build_py):
    def run(self):
        super().run()
        if not getattr(self, "editable_mode", False):
            generate(self.build_lib)


class SdistWithApi(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        folder = proto_folder()
        for name in proto_files(folder, "fabric/v1") + proto_files(folder, "google/protobuf"):
            target = os.path.join(base_dir, "proto", name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(os.path.join(folder, name), target)


setup(cmdclass={"build_py": BuildWithApi, "sdist": SdistWithApi})
