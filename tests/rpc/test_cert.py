"""fabricctl cert: an authority for a manager and its clients, from the first key to a revoked certificate."""

import json
import os
import re
import signal
import stat
import subprocess
import tempfile
import time

import grpc

from harness import BUILD, PATIENCE, Fabric, channel, free_port, main, openssl, read, running, wait_until

FABRICCTL = os.path.join(BUILD, "cli/fabricctl")


def cert(folder, *words, json_output=False):
    """Runs fabricctl cert; no manager must be needed."""
    return subprocess.run([FABRICCTL, "-s", "unix:/nowhere", *(["-o", "json"] if json_output else []), "cert", "--dir",
                           os.path.join(folder, "ca"), *words], capture_output=True, text=True, timeout=PATIENCE)


def good(folder, *words):
    done = cert(folder, *words)
    assert done.returncode == 0 and done.stderr == "", (words, done)
    return done.stdout


def refused(folder, code, text, *words):
    """The command fails, says `text`, and changes no file."""
    before = contents(folder)
    done = cert(folder, *words)
    assert done.returncode == code and text in done.stderr and done.stdout == "", (words, done)
    assert contents(folder) == before, words


def contents(folder):
    ca = os.path.join(folder, "ca")
    return {name: read(os.path.join(ca, name)) for name in os.listdir(ca)} if os.path.isdir(ca) else {}


def states(folder):
    done = cert(folder, "list", json_output=True)
    assert done.returncode == 0, done
    authority, *rows = json.loads(done.stdout)["certificates"]
    expires = openssl_expiry(os.path.join(folder, "ca", "ca.pem"))
    assert authority["name"] == "ca" and authority["state"] == "valid" and authority["expires"] == expires, authority
    return {row["name"]: row["state"] for row in rows}


def openssl_expiry(path):
    text = subprocess.run(["openssl", "x509", "-noout", "-enddate", "-in", path], capture_output=True, text=True,
                          check=True).stdout.strip()
    return time.strftime("%Y-%m-%d %H:%M UTC", time.strptime(text, "notAfter=%b %d %H:%M:%S %Y GMT"))


def mistakes_change_nothing():
    with tempfile.TemporaryDirectory() as folder:
        refused(folder, 4, "'fabricctl cert init' makes one", "list")
        os.mkdir(os.path.join(folder, "ca"))
        refused(folder, 4, "'fabricctl cert init' makes one", "issue", "alice")
        good(folder, "init", "--days", "100")
        refused(folder, 1, "there is an authority already", "init")
        for name in ("", ".", "..", "../x", "-", "a b", "ca", "crl", "x" * 65, "a/b", "a\n", "\u00e4"):
            refused(folder, 2, "letters, digits", "issue", "--", name)
        for host in ("", "a b", "a,DNS:b", "DNS:a", "1.2.3.4,IP:5.6.7.8", "me@there", "-x"):
            refused(folder, 2, "a host name or an IP address is expected", "issue", "--", "server", host)
        refused(folder, 2, "would expire after the authority", "issue", "alice", "--days", "101")
        refused(folder, 2, "from 1 to 36500", "issue", "alice", "--days", "0")
        refused(folder, 4, "'fabricctl cert list' lists all", "revoke", "alice")
        good(folder, "issue", "alice", "--days", "10")
        refused(folder, 1, "alice has a valid certificate", "issue", "alice", "--days", "10")
        good(folder, "revoke", "alice")
        refused(folder, 1, "revoked already", "revoke", "alice")

        # the key of another authority, and damaged files
        key = os.path.join(folder, "ca", "ca.key")
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
        refused(folder, 1, "it is not the key of ca.pem", "issue", "bob", "--days", "10")


def files_are_as_openssl_expects():
    with tempfile.TemporaryDirectory() as folder:
        ca = os.path.join(folder, "ca")
        good(folder, "init")
        good(folder, "issue", "mgmt-1", "mgmt-1.example.com", "192.0.2.1", "2001:db8::1")
        good(folder, "issue", "alice")
        for name in os.listdir(ca):
            mode = stat.S_IMODE(os.stat(os.path.join(ca, name)).st_mode)
            assert mode & 0o077 == 0 or not name.endswith(".key"), (name, oct(mode))
        assert stat.S_IMODE(os.stat(ca).st_mode) == 0o700

        def verify(name, purpose):
            return subprocess.run(["openssl", "verify", "-x509_strict", "-crl_check", "-CAfile", f"{ca}/ca.pem",
                                   "-CRLfile", f"{ca}/crl.pem", "-purpose", purpose, f"{ca}/{name}.pem"],
                                  capture_output=True, text=True)

        for name, purpose in (("mgmt-1", "sslserver"), ("mgmt-1", "sslclient"), ("alice", "sslclient")):
            done = verify(name, purpose)
            assert done.returncode == 0, (name, done)
        assert verify("alice", "sslserver").returncode != 0
        shown = subprocess.run(["openssl", "x509", "-in", f"{ca}/mgmt-1.pem", "-noout", "-text"], capture_output=True,
                               text=True, check=True).stdout
        assert "DNS:mgmt-1.example.com, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1" in shown, shown
        assert re.search(r"Basic Constraints: critical\n\s*CA:FALSE", shown), shown

        # all revoked certificates stay on the list, also of a name that has a new one
        serials = []
        for _ in range(5):
            serials.append(next(r for r in json.loads(cert(folder, "list", json_output=True).stdout)["certificates"]
                                if r["name"] == "alice")["serial"])
            good(folder, "revoke", "alice")
            assert states(folder) == {"alice": "revoked", "mgmt-1": "valid"}
            assert "certificate revoked" in verify("alice", "sslclient").stderr
            good(folder, "issue", "alice")
            assert states(folder) == {"alice": "valid", "mgmt-1": "valid"}
        assert verify("alice", "sslclient").returncode == 0
        crl = subprocess.run(["openssl", "crl", "-in", f"{ca}/crl.pem", "-noout", "-text"], capture_output=True,
                             text=True, check=True).stdout
        assert len(set(serials)) == 5 and all(f"Serial Number: {s}" in crl for s in serials), crl
        assert re.search(r"CRL Number: *\n\s*6\n", crl), crl


def a_manager_and_its_clients():
    with tempfile.TemporaryDirectory() as folder:
        ca, port = os.path.join(folder, "ca"), free_port()
        good(folder, "init")
        good(folder, "issue", "server", "localhost", "127.0.0.1")
        for name in ("alice", "bob"):
            good(folder, "issue", name)
        with open(os.path.join(folder, "f.yaml"), "w") as f:
            f.write(f"tls:\n  cert: {ca}/server.pem\n  key: {ca}/server.key\n  ca: {ca}/ca.pem\n  crl: {ca}/crl.pem\n"
                    "rpc: {roles: {operator: [{cn: alice}]}}\n")
        subprocess.run([os.path.join(BUILD, "cli/fabsim"), "generate", "leaf-spine", "--leaves", "2", "--spines", "1",
                        "--hosts", "2", "-o", f"{folder}/f.net"], check=True)
        unix = f"unix:{folder}/s"
        command = [os.path.join(BUILD, "fabricd/fabricd"), "--sim", f"{folder}/f.net", "-f", f"{folder}/f.yaml",
                   "--state-dir", f"{folder}/state", "--listen", unix, "--listen", f"tls:127.0.0.1:{port}"]

        def whoami(name):
            return subprocess.run([FABRICCTL, "-s", f"tls:127.0.0.1:{port}", "--tls-ca", f"{ca}/ca.pem", "--tls-cert",
                                   f"{ca}/{name}.pem", "--tls-key", f"{ca}/{name}.key", "whoami"], capture_output=True,
                                  text=True, timeout=PATIENCE)

        with channel(unix) as c, running(
                command, lambda p: wait_until(lambda: Fabric(c).GetStatus(timeout=2).status.generation > 0)) as p:
            for name, role in (("alice", "operator"), ("bob", "viewer")):
                said = whoami(name)
                assert f"certificate of {name}\n" in said.stdout and role in said.stdout, said
            credentials = grpc.ssl_channel_credentials(read(f"{ca}/ca.pem"), read(f"{ca}/bob.key"),
                                                       read(f"{ca}/bob.pem"))
            with grpc.secure_channel(f"localhost:{port}", credentials) as stock:
                assert Fabric(stock).GetStatus(timeout=PATIENCE).status.generation > 0
            good(folder, "revoke", "bob")
            p.send_signal(signal.SIGHUP)
            wait_until(lambda: "reloaded" in p.log())
            assert "the manager does not trust this certificate: it is revoked" in whoami("bob").stderr
            assert whoami("alice").returncode == 0


main([
    mistakes_change_nothing,
    files_are_as_openssl_expects,
    a_manager_and_its_clients,
])
