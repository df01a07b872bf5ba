"""fabricctl cert: an authority for a manager and its clients, from the first key to a revoked certificate."""

import calendar
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time

import grpc

from harness import BUILD, PATIENCE, Fabric, channel, free_port, main, openssl, read, running, wait_until

FABRICCTL = os.path.join(BUILD, "cli/fabricctl")


def cert(folder, *words, json_output=False, **env):
    """Runs fabricctl cert, which must need no manager."""
    return subprocess.run([FABRICCTL, "-s", "unix:/nowhere", *(["-o", "json"] if json_output else []), "cert", "--dir",
                           os.path.join(folder, "ca"), *words], capture_output=True, text=True, timeout=PATIENCE,
                          env=dict(os.environ, **env))


def good(folder, *words):
    done = cert(folder, *words)
    assert done.returncode == 0 and done.stderr == "", (words, done)
    return done.stdout


def refused(folder, code, text, *words):
    """Checks that the command fails, prints `text`, and changes no file."""
    before = contents(folder)
    done = cert(folder, *words)
    assert done.returncode == code and text in done.stderr and done.stdout == "", (words, done)
    assert contents(folder) == before, words


def contents(folder):
    ca = os.path.join(folder, "ca")
    return {name: read(os.path.join(ca, name)) for name in os.listdir(ca)} if os.path.isdir(ca) else {}


def listed(folder):
    done = cert(folder, "list", json_output=True)
    assert done.returncode == 0, done
    return json.loads(done.stdout)["certificates"]


def states(folder):
    """Returns the state of the current certificate of each name."""
    authority, *rows = [row for row in listed(folder) if row["state"] != "replaced"]
    expires = openssl_expiry(os.path.join(folder, "ca", "ca.pem"))
    assert authority["name"] == "ca" and authority["state"] == "valid" and authority["expires"] == expires, authority
    return {row["name"]: row["state"] for row in rows}


def shown(path, *what, kind="x509"):
    return subprocess.run(["openssl", kind, "-noout", "-in", path, *what], capture_output=True, text=True,
                          check=True).stdout.strip()


def is_pair(ca, name):
    public = subprocess.run(["openssl", "pkey", "-pubout", "-in", f"{ca}/{name}.key"], capture_output=True, text=True,
                            check=True).stdout.strip()
    return shown(f"{ca}/{name}.pem", "-pubkey") == public


def days_left(path):
    return (calendar.timegm(time.strptime(openssl_expiry(path), "%Y-%m-%d %H:%M UTC")) - time.time()) / 86400


def openssl_expiry(path):
    return time.strftime("%Y-%m-%d %H:%M UTC",
                         time.strptime(shown(path, "-enddate"), "notAfter=%b %d %H:%M:%S %Y GMT"))


def verify(ca, path, purpose="sslclient", authority=None):
    """Returns the error of openssl about a certificate; "" if it is good."""
    done = subprocess.run(["openssl", "verify", "-x509_strict", "-crl_check", "-CAfile", authority or f"{ca}/ca.pem",
                           "-CRLfile", f"{ca}/crl.pem", "-purpose", purpose, path], capture_output=True, text=True)
    assert (done.returncode == 0) == (done.stderr == ""), done
    return done.stderr


def dated(folder, name, begin_days, end_days, *options):
    """Replaces NAME.pem by a certificate that is valid between these days from today."""
    ca, config = os.path.join(folder, "ca"), os.path.join(folder, "dated.cnf")
    database = os.path.join(folder, "dated.txt")
    open(database, "w").close()
    subject = "fabricd CA" if name == "ca" else name
    with open(config, "w") as f:
        f.write(f"[ca]\ndefault_ca=d\n[d]\ndatabase={database}\nnew_certs_dir={folder}\nrand_serial=yes\n"
                "unique_subject=no\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n")
    begin, end = (time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + 86400 * d)) for d in (begin_days, end_days))
    openssl("req", "-new", "-key", f"{ca}/{name}.key", "-subj", f"/CN={subject}", "-out", f"{folder}/dated.csr")
    openssl("ca", "-batch", "-notext", "-config", config, "-cert", f"{ca}/ca.pem", "-keyfile", f"{ca}/ca.key",
            "-startdate", begin, "-enddate", end, "-in", f"{folder}/dated.csr", "-out", f"{folder}/dated.pem", *options)
    shutil.copy(f"{folder}/dated.pem", f"{ca}/{name}.pem")


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
        refused(folder, 4, "alice has no certificate; 'fabricctl cert list' lists all", "renew", "alice")
        good(folder, "issue", "alice", "--days", "10")
        refused(folder, 1, "alice has a valid certificate", "issue", "alice", "--days", "10")
        refused(folder, 1, "'fabricctl cert renew alice' renews it", "issue", "alice", "--days", "10")
        refused(folder, 2, "would expire after the authority", "renew", "alice", "--days", "101")
        refused(folder, 2, "'fabricctl cert renew ca'", "renew", "alice", "--days", "101")
        refused(folder, 2, "would expire before the present one", "renew", "ca", "--days", "9")
        refused(folder, 2, "letters, digits", "renew", "../x")
        good(folder, "revoke", "alice")
        refused(folder, 1, "revoked already", "revoke", "alice")
        refused(folder, 1, "certificate of alice is revoked; 'fabricctl cert issue alice' issues a new one", "renew",
                "alice")

        # a certificate of another authority
        with tempfile.TemporaryDirectory() as other:
            good(other, "init")
            good(other, "issue", "mallory")
            shutil.copy(os.path.join(other, "ca", "mallory.pem"), os.path.join(folder, "ca"))
        refused(folder, 1, "mallory.pem is no certificate of this authority", "renew", "mallory")

        # a key that other users can read; the key of another authority
        key = os.path.join(folder, "ca", "ca.key")
        for mode in (0o644, 0o640, 0o602):
            os.chmod(key, mode)
            refused(folder, 1, "other users can read or write it; run 'chmod 600' on it", "issue", "bob")
        os.chmod(key, 0o600)
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

        for name, purpose in (("mgmt-1", "sslserver"), ("mgmt-1", "sslclient"), ("alice", "sslclient")):
            assert verify(ca, f"{ca}/{name}.pem", purpose) == "", name
        assert verify(ca, f"{ca}/alice.pem", "sslserver") != ""
        text = shown(f"{ca}/mgmt-1.pem", "-text")
        assert "DNS:mgmt-1.example.com, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1" in text, text
        assert re.search(r"Basic Constraints: critical\n\s*CA:FALSE", text), text

        # all revoked certificates stay on the list, including those of a name that has a new certificate
        serials = []
        for _ in range(5):
            serials.append(next(r for r in listed(folder) if r["name"] == "alice")["serial"])
            good(folder, "revoke", "alice")
            assert states(folder) == {"alice": "revoked", "mgmt-1": "valid"}
            assert "certificate revoked" in verify(ca, f"{ca}/alice.pem")
            good(folder, "issue", "alice")
            assert states(folder) == {"alice": "valid", "mgmt-1": "valid"}
        assert verify(ca, f"{ca}/alice.pem") == ""
        crl = shown(f"{ca}/crl.pem", "-text", kind="crl")
        assert len(set(serials)) == 5 and all(f"Serial Number: {s}" in crl for s in serials), crl
        assert re.search(r"CRL Number: *\n\s*6\n", crl), crl


def a_renewed_certificate_overlaps_with_the_former_one():
    with tempfile.TemporaryDirectory() as folder:
        ca = os.path.join(folder, "ca")
        good(folder, "init", "--days", "400")
        good(folder, "issue", "mgmt-1", "mgmt-1.example.com", "192.0.2.1", "--days", "60")
        good(folder, "issue", "alice", "--days", "50")
        for name, purposes, period in (("mgmt-1", ("sslserver", "sslclient"), 60), ("alice", ("sslclient",), 50)):
            path, formers = f"{ca}/{name}.pem", []
            for days in ("", "90"):
                formers.append(f"{folder}/{name}-{len(formers)}.pem")
                shutil.copy(path, formers[-1])
                key, expiry = read(f"{ca}/{name}.key"), openssl_expiry(path)
                said = good(folder, "renew", name, *(["--days", days] if days else []))
                assert f"The former certificate stays valid until {expiry}, or until 'fabricctl cert revoke" in said
                assert re.search(f"^Expires: *{openssl_expiry(path)}$", said, re.M), said
                assert read(f"{ca}/{name}.key") != key
                assert is_pair(ca, name)
                for what in (["-subject"], ["-ext", "extendedKeyUsage,keyUsage,basicConstraints"],
                             *([["-ext", "subjectAltName"]] if name == "mgmt-1" else [])):
                    assert shown(path, *what) == shown(formers[-1], *what), what
                # the period is that of the former certificate, or the number of days that the operator chose
                assert abs(days_left(path) - int(days or period)) < 0.1, openssl_expiry(path)
                for purpose in purposes:
                    assert not [v for v in (verify(ca, p, purpose) for p in [path, *formers]) if v]
            assert [r["state"] for r in listed(folder) if r["name"] == name] == ["valid", "replaced", "replaced"]
            assert len({r["serial"] for r in listed(folder) if r["name"] == name}) == 3
            assert len({shown(p, "-serial") for p in [path, *formers]}) == 3
        assert verify(ca, f"{ca}/alice.pem", "sslserver") != ""
        assert stat.S_IMODE(os.stat(f"{ca}/alice.key").st_mode) == 0o600

        # revoking a name revokes all its certificates
        good(folder, "revoke", "alice")
        for path in (f"{ca}/alice.pem", f"{folder}/alice-0.pem", f"{folder}/alice-1.pem"):
            assert "certificate revoked" in verify(ca, path), path
        assert [r["state"] for r in listed(folder) if r["name"] == "alice"] == ["revoked"]
        assert verify(ca, f"{folder}/mgmt-1-0.pem") == ""

        # an expired certificate
        good(folder, "issue", "carol", "--days", "50")
        dated(folder, "carol", -10, -1)
        assert "The former certificate expired at " in good(folder, "renew", "carol", "--days", "10")
        assert verify(ca, f"{ca}/carol.pem") == "" and states(folder)["carol"] == "valid"
        assert [r["state"] for r in listed(folder) if r["name"] == "carol"] == ["valid"]


def a_renewed_authority_keeps_its_certificates():
    with tempfile.TemporaryDirectory() as folder:
        ca = os.path.join(folder, "ca")
        good(folder, "init", "--days", "100")
        for name in ("alice", "bob"):
            good(folder, "issue", name, "--days", "90")
        good(folder, "revoke", "bob")
        for name in ("ca.pem", "ca.key"):
            shutil.copy(f"{ca}/{name}", folder)
        expiry = openssl_expiry(f"{ca}/ca.pem")
        said = good(folder, "renew", "ca", "--days", "1000")
        assert f"stay valid until {expiry}." in said and "all certificates stay as they are" in said, said
        assert read(f"{ca}/ca.key") == read(f"{folder}/ca.key")
        assert shown(f"{ca}/ca.pem", "-subject") == shown(f"{folder}/ca.pem", "-subject")
        assert shown(f"{ca}/ca.pem", "-serial") != shown(f"{folder}/ca.pem", "-serial")
        # the revocation list is valid as long as the authority, and has the same certificates as before
        until = shown(f"{ca}/ca.pem", "-enddate").split("=")[1]
        assert shown(f"{ca}/crl.pem", "-nextupdate", kind="crl") == "nextUpdate=" + until
        good(folder, "issue", "carol", "--days", "900")
        for authority in (f"{ca}/ca.pem", f"{folder}/ca.pem"):
            for name in ("alice", "carol"):
                assert verify(ca, f"{ca}/{name}.pem", authority=authority) == "", name
            assert "certificate revoked" in verify(ca, f"{ca}/bob.pem", authority=authority)
        # without --days, the period is as long as before
        good(folder, "renew", "ca")
        assert abs(days_left(f"{ca}/ca.pem") - 1000) < 0.1


def what_expires_soon_is_told():
    with tempfile.TemporaryDirectory() as folder:
        good(folder, "init")
        # the warning comes 30 days before the end, or when a third of a period of less than 90 days is left
        rows = (("a", -300, 29.9, True), ("b", -300, 30.1, False), ("c", -60.3, 29.9, True), ("d", -6, 2.9, True),
                ("e", -6, 3.1, False), ("f", -40, -1.5, False), ("g", -10, 0.5, True))
        for name, begin, end, _ in rows:
            good(folder, "issue", name)
            dated(folder, name, begin, end)
        said, table = cert(folder, "list").stdout, {row["name"]: row for row in listed(folder)}
        for name, _, end, expiring in rows:
            at = openssl_expiry(os.path.join(folder, "ca", name + ".pem"))
            assert table[name]["expiring"] == expiring and table[name]["days_left"] == max(0, int(end)), table[name]
            days = f"{int(end)} day{'s' if int(end) != 1 else ''} left"
            told = f"expires at {at} ({days})" if expiring else f"expired at {at}" if end < 0 else None
            warning = f"\n{name}.pem {told}; 'fabricctl cert renew {name}' renews it\n"
            assert warning in said if told else f"\n{name}.pem" not in said, (name, said)
        assert table["f"]["state"] == "expired" and table["ca"]["expiring"] is False and "ca.pem" not in said, said

        # a renewal ends the warning, although the former certificate still expires
        good(folder, "renew", "a", "--days", "200")
        assert "a.pem" not in cert(folder, "list").stdout
        assert [(r["state"], r["expiring"]) for r in listed(folder) if r["name"] == "a"] == [
            ("valid", False), ("replaced", False)]

        # the authority
        shutil.copy(os.path.join(folder, "ca", "ca.pem"), folder)
        dated(folder, "ca", -3600, 12.5, "-selfsign")
        said = cert(folder, "list").stdout
        assert re.search(r"^ca.pem expires at \S+ \S+ UTC \(12 days left\); 'fabricctl cert renew ca' renews it$", said,
                         re.M), said
        assert listed(folder)[0]["expiring"] is True
        good(folder, "renew", "ca")
        assert "ca.pem" not in cert(folder, "list").stdout


def a_command_that_is_killed_leaves_a_pair():
    """kill -9 at each step. The certificate and the key of a name must be both old or both new."""
    preload = os.path.join(BUILD, "tests/rpc/kill_at.so")
    for words in (["renew", "alice"], ["renew", "ca"], ["revoke", "alice"], ["issue", "bob"]):
        with tempfile.TemporaryDirectory() as folder:
            ca = os.path.join(folder, "ca")
            good(folder, "init", "--days", "500")
            good(folder, "issue", "alice")
            shutil.copytree(ca, f"{folder}/saved")
            for step in range(100):
                shutil.rmtree(ca)
                shutil.copytree(f"{folder}/saved", ca)
                done = cert(folder, *words, LD_PRELOAD=preload, KILL_AT=str(step))
                after = states(folder)
                for name in after:
                    assert is_pair(ca, name), (words, step)
                for path in (f"{folder}/saved/alice.pem", *(f"{ca}/{name}.pem" for name in after)):
                    assert verify(ca, path) == "" or words[0] == "revoke" and after["alice"] == "revoked", (step, path)
                assert not [n for n in os.listdir(ca) if n.startswith(".") and n.endswith(".key")], os.listdir(ca)
                if done.returncode == 0:
                    break
                # the same command again completes it, if it was not complete
                assert done.returncode == -signal.SIGKILL, done
                again = cert(folder, *words)
                assert again.returncode == 0 or "already" in again.stderr or "has a valid" in again.stderr, again
                if words[0] == "revoke":
                    assert "certificate revoked" in verify(ca, f"{folder}/saved/alice.pem")
            assert done.returncode == 0 and step >= (6 if "ca" in words or "bob" in words else 4), (words, step)


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

        def whoami(name, **files):
            files = {"ca": f"{ca}/ca.pem", "cert": f"{ca}/{name}.pem", "key": f"{ca}/{name}.key", **files}
            return subprocess.run([FABRICCTL, "-s", f"tls:127.0.0.1:{port}",
                                   *(word for k, v in files.items() for word in (f"--tls-{k}", v)), "whoami"],
                                  capture_output=True, text=True, timeout=PATIENCE)

        def served_serial():
            """Returns the serial number of the certificate that the manager shows."""
            done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-alpn", "h2", "-cert",
                                   f"{ca}/alice.pem", "-key", f"{ca}/alice.key"], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=PATIENCE)
            with open(f"{folder}/served.pem", "w") as f:
                f.write(done.stdout)
            return shown(f"{folder}/served.pem", "-serial")

        with channel(unix) as c, running(
                command, lambda p: wait_until(lambda: Fabric(c).GetStatus(timeout=2).status.generation > 0)) as p:
            for name, role in (("alice", "operator"), ("bob", "viewer")):
                said = whoami(name)
                assert f"certificate of {name}\n" in said.stdout and role in said.stdout, said
            credentials = grpc.ssl_channel_credentials(read(f"{ca}/ca.pem"), read(f"{ca}/bob.key"),
                                                       read(f"{ca}/bob.pem"))
            with grpc.secure_channel(f"localhost:{port}", credentials) as stock:
                assert Fabric(stock).GetStatus(timeout=PATIENCE).status.generation > 0
            def reload():
                before = p.log().count("reloaded")
                p.send_signal(signal.SIGHUP)
                wait_until(lambda: p.log().count("reloaded") > before)

            # after renewals, the manager uses the new files; clients with the former files can still reach it
            for name in ("ca.pem", "bob.pem", "bob.key"):
                shutil.copy(f"{ca}/{name}", f"{folder}/former-{name}")
            serials = [served_serial()]
            for name in ("ca", "server", "bob"):
                good(folder, "renew", name)
                reload()
                serials.append(served_serial())
                for files in ({}, {"ca": f"{folder}/former-ca.pem"}):
                    assert whoami("alice", **files).returncode == 0, (name, files)
            assert serials[0] == serials[1] != serials[2] == serials[3] == shown(f"{ca}/server.pem", "-serial"), serials
            former = {"cert": f"{folder}/former-bob.pem", "key": f"{folder}/former-bob.key"}
            assert whoami("bob").returncode == whoami("bob", **former).returncode == 0
            good(folder, "revoke", "bob")
            reload()
            for files in ({}, former):
                assert "the manager does not trust this certificate: it is revoked" in whoami("bob", **files).stderr
            assert whoami("alice").returncode == 0


main([
    mistakes_change_nothing,
    files_are_as_openssl_expects,
    a_renewed_certificate_overlaps_with_the_former_one,
    a_renewed_authority_keeps_its_certificates,
    what_expires_soon_is_told,
    a_command_that_is_killed_leaves_a_pair,
    a_manager_and_its_clients,
])
