"""A fabricd on an embedded fabric, with its folder, and with or without a TLS address."""

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
CTL, FABSIM, FABRICD = (os.path.join(BUILD, p) for p in ("cli/fabricctl", "cli/fabsim", "fabricd/fabricd"))


class Place:
    """A simulated machine: a folder with a fabric, the settings and the state directory of a daemon, and its socket."""

    def __init__(self, leaves=2, spines=2, hosts=2):
        self.folder = os.path.dirname(socket_path())
        self.address = "unix:" + self.path("s")
        self.state = self.path("state")
        subprocess.run([FABSIM, "generate", "leaf-spine", "--leaves", str(leaves), "--spines", str(spines), "--hosts",
                        str(hosts), "-o", self.path("f.net")], check=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o600):
        with open(self.path(name), "w") as f:
            f.write(text)
        os.chmod(self.path(name), mode)

    def ctl(self, *arguments, code=0):
        done = subprocess.run([CTL, "-s", self.address, *arguments], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == code, done
        return done.stderr if code else done.stdout

    @contextlib.contextmanager
    def daemon(self, *options):
        command = [FABRICD, "--sim", self.path("f.net"), "-f", self.path("f.yaml"), "--state-dir", self.state,
                   "--listen", self.address, *options]
        with channel(self.address) as c:
            f = Fabric(c)
            with running(command, lambda _: wait_until(lambda: f.GetStatus(timeout=2).status.generation > 0)) as p:
                yield p

    def rest(self):
        """Waits until the manager is idle."""
        wait_until(lambda: json.loads(self.ctl("status", "-o", "json"))["state"] == "idle")


class TlsPlace(Place):
    """A machine whose daemon has a TLS address, too."""

    def __init__(self):
        super().__init__(spines=1)
        self.port = free_port()
        self.ca = make_authority("tls")
        self.install(self.ca, make_certificate(self.ca, "server"))

    def install(self, ca, certificate):
        for source, name in ((ca + ".crt", "ca.pem"), (certificate + ".crt", "cert.pem"),
                             (certificate + ".key", "key.pem")):
            shutil.copy(source, self.path(name))

    def settings(self, crl=False):
        self.write("f.yaml", "".join(f"{line}\n" for line in (
            "tls:", *(f"  {n}: {self.path(n)}.pem" for n in ("cert", "key", "ca")),
            *([f"  crl: {self.path('crl')}.pem"] if crl else []),
            "rpc: {roles: {operator: [{cn: good}, {cn: bad}]}}")))

    def daemon(self, *options, host="127.0.0.1"):
        return super().daemon("--listen", f"tls:{host}:{self.port}", *options)

    def client(self, certificate, server_ca=None):
        credentials = grpc.ssl_channel_credentials(read((server_ca or self.ca) + ".crt"), read(certificate + ".key"),
                                                   read(certificate + ".crt"))
        return grpc.secure_channel(f"localhost:{self.port}", credentials)

    def audited(self, method):
        """The audit records of this method, newest first."""
        return [json.loads(line) for line in self.ctl("audit", "export", "--method", method).splitlines()]

    def complaint(self, certificate):
        """Returns the message of fabricctl to a client whose certificate is refused."""
        done = subprocess.run([CTL, "-s", f"tls:127.0.0.1:{self.port}", "--tls-ca", self.ca + ".crt", "--tls-cert",
                               certificate + ".crt", "--tls-key", certificate + ".key", "status"],
                              capture_output=True, text=True, timeout=PATIENCE)
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
