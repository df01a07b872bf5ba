"""A fabricd with a Unix socket and a TLS address, and its certificates."""

import contextlib
import json
import os
import shutil
import signal
import subprocess

import grpc

from harness import (BUILD, PATIENCE, Fabric, channel, free_port, make_authority, make_certificate, openssl, read,
                     running, socket_path, wait_until)

Code = grpc.StatusCode


class Place:
    """A folder with the TLS files of a daemon, and the daemon."""

    def __init__(self):
        self.folder = os.path.dirname(socket_path())
        self.port = free_port()
        self.ca = make_authority("tls")
        self.install(self.ca, make_certificate(self.ca, "server"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def install(self, ca, certificate):
        for source, name in ((ca + ".crt", "ca.pem"), (certificate + ".crt", "cert.pem"),
                             (certificate + ".key", "key.pem")):
            shutil.copy(source, self.path(name))

    def settings(self, crl=False):
        with open(self.path("f.yaml"), "w") as f:
            f.write("".join(f"{line}\n" for line in (
                "tls:", *(f"  {n}: {self.path(n)}.pem" for n in ("cert", "key", "ca")),
                *([f"  crl: {self.path('crl')}.pem"] if crl else []),
                "rpc: {roles: {operator: [{cn: good}, {cn: bad}]}}")))

    @contextlib.contextmanager
    def daemon(self):
        subprocess.run([os.path.join(BUILD, "cli/fabsim"), "generate", "leaf-spine", "--leaves", "2", "--spines", "1",
                        "--hosts", "2", "-o", self.path("f.net")], check=True)
        unix = "unix:" + self.path("s")
        command = [os.path.join(BUILD, "fabricd/fabricd"), "--sim", self.path("f.net"), "-f", self.path("f.yaml"),
                   "--state-dir", self.path("state"), "--listen", unix, "--listen", f"tls:127.0.0.1:{self.port}"]
        with channel(unix) as c:
            f = Fabric(c)
            with running(command, lambda p: wait_until(lambda: f.GetStatus(timeout=2).status.generation > 0)) as p:
                yield p

    def client(self, certificate, server_ca=None):
        credentials = grpc.ssl_channel_credentials(read((server_ca or self.ca) + ".crt"), read(certificate + ".key"),
                                                   read(certificate + ".crt"))
        return grpc.secure_channel(f"localhost:{self.port}", credentials)

    def audited(self, method):
        """The audit records of this method, newest first."""
        done = subprocess.run([os.path.join(BUILD, "cli/fabricctl"), "-s", "unix:" + self.path("s"), "audit", "export",
                               "--method", method], capture_output=True, text=True, check=True, timeout=PATIENCE)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def complaint(self, certificate):
        """What fabricctl says to a client whose certificate is refused."""
        done = subprocess.run([os.path.join(BUILD, "cli/fabricctl"), "-s", f"tls:127.0.0.1:{self.port}", "--tls-ca",
                               self.ca + ".crt", "--tls-cert", certificate + ".crt", "--tls-key", certificate + ".key",
                               "status"], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode != 0 and done.stdout == "", done
        return done.stderr

    def status(self, certificate, server_ca=None):
        with self.client(certificate, server_ca) as c:
            try:
                Fabric(c).GetStatus(timeout=PATIENCE if server_ca is None else 5)
                return Code.OK
            except grpc.RpcError as e:
                return e.code()


def reload(process, mark):
    before = process.log().count(mark)
    process.send_signal(signal.SIGHUP)
    wait_until(lambda: process.log().count(mark) > before)


def revoke(place, *certificates):
    """Writes a revocation list with these certificates."""
    index, config = place.path("index.txt"), place.path("ca.cnf")
    open(index, "w").close()
    with open(config, "w") as f:
        f.write(f"[ca]\ndefault_ca=d\n[d]\ndatabase={index}\ndefault_md=sha256\ndefault_crl_days=1\n")
    for c in certificates:
        openssl("ca", "-config", config, "-keyfile", place.ca + ".key", "-cert", place.ca + ".crt", "-revoke",
                c + ".crt")
    openssl("ca", "-config", config, "-keyfile", place.ca + ".key", "-cert", place.ca + ".crt", "-gencrl", "-out",
            place.path("crl.pem"))
