"""A fabricd on its simulated fabric of 2 leaves, 2 spines and 6 hosts, with one host to unplug."""

import contextlib
import json
import os
import subprocess

from harness import BUILD, Fabric, channel, running, socket_path, wait_until

CTL, FABSIM, FABRICD = (os.path.join(BUILD, p) for p in ("cli/fabricctl", "cli/fabsim", "fabricd/fabricd"))
HOST = "host-0005"  # at leaf-002/2


class Place:
    """A folder with a topology (2 leaves, 2 spines, 6 hosts), and a daemon while it runs."""

    def __init__(self):
        self.folder = os.path.dirname(socket_path())
        self.topology = os.path.join(self.folder, "f.net")
        self.address = f"unix:{self.folder}/s"
        self.generate("--leaves", "2", "--spines", "2", "--hosts", "3")
        self.write("fabricd.yaml", "sweep: {light_interval: 1}\n")

    def generate(self, *arguments):
        subprocess.run([FABSIM, "generate", "leaf-spine", *arguments, "-o", self.topology], check=True)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)

    def read_topology(self):
        with open(self.topology) as f:
            return f.read()

    def ctl(self, *arguments, code=0):
        done = subprocess.run([CTL, "-s", self.address, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done
        return done.stderr if code else done.stdout

    def json(self, *arguments):
        return json.loads(self.ctl(*arguments, "-o", "json"))

    @contextlib.contextmanager
    def daemon(self, ends_with=0):
        command = [FABRICD, "--sim", self.topology, "-f", f"{self.folder}/fabricd.yaml", "--state-dir",
                   f"{self.folder}/state", "--listen", self.address]
        with channel(self.address) as c:
            f = Fabric(c)
            up = lambda _: wait_until(lambda: f.GetStatus(timeout=2).status.generation > 0)
            with running(command, up, ends_with=ends_with) as process:
                yield f, process

    def gone(self, *arguments):
        return [n["name"] for n in self.json("node", "list", "--gone", *arguments)["nodes"]]

    def unplug(self, port, *names):
        self.ctl("sim", "unlink", port)
        wait_until(lambda: set(names) <= set(self.gone()) or self.links(port))

    def links(self, node):
        return [(l["a"] if "a" in l else (l["a_node"], l["a_port"]), (l["b_node"], l["b_port"]), l["reason"])
                for l in self.json("link", "list", "--gone", node.split("/")[0])["links"]]
