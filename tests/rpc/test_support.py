"""Support bundles: what is in them, what was left out, and that no secret is in them."""

import json
import os
import re
import subprocess
import tarfile

from harness import main, read
from place import CTL, Place

NOBODY = 65534
SM_KEY, PASSWORD = "0x5ec2e7000badc0de", "swordfish-in-the-unit"
VIEWER = "daemon"


class Machine(Place):
    """A machine with a journal, and a unit whose environment has a secret."""

    def __init__(self):
        super().__init__()
        self.write("f.yaml",
                   f"subnet: {{m_key: generated, sm_key: {SM_KEY}}}\ncongestion: {{cc_key: generated}}\n"
                   f"rpc: {{roles: {{viewer: [{{user: {VIEWER}}}]}}}}\ntls: {{key: {self.path('tls.pem')}, "
                   f"cert: {self.path('cert.pem')}, ca: {self.path('ca.pem')}}}\n")
        os.mkdir(self.path("bin"))
        self.program("journalctl", "echo fabricd: a line of the journal")
        self.program("systemctl", 'case "$*" in *" -p "*) echo ActiveState=active ;; '
                     f'*) echo Environment={PASSWORD} ;; esac')

    def program(self, name, text):
        self.write("bin/" + name, f"#!/bin/sh\n{text}\n", 0o755)

    def bundle(self, name, *options, code=0, **how):
        """Makes a bundle. Returns {file: text}, and what the command printed."""
        done = subprocess.run([CTL, "-s", self.address, "-o", "json", "support-bundle", name, *options],
                              capture_output=True, text=True, timeout=200, cwd=self.folder,
                              env=dict(os.environ, TMPDIR=self.folder, PATH=self.path("bin") + ":" + os.environ["PATH"]),
                              **how)
        assert done.returncode == code, done
        with tarfile.open(self.path(name)) as t:
            members = t.getmembers()
            assert all(m.name.split("/")[0] == "fabricd-support" and m.uid == m.gid == 0 for m in members), members
            files = {os.path.basename(m.name): t.extractfile(m).read().decode() for m in members if m.isfile()}
        assert os.stat(self.path(name)).st_mode & 0o777 == 0o600
        assert not [n for n in os.listdir(self.folder) if n.startswith(("fabricctl-", name + "."))]
        return files, done


MANAGER = {"status.json", "version.json", "whoami.json", "nodes.json", "links.json", "links-flapping.json",
           "links-unhealthy.json", "events.json", "reroutes.json", "verdict.json", "contingency.json", "partitions.json",
           "classes.json", "multicast.json", "keys.json", "congestion.json", "node-pins.json", "baseline.json"}
ADMINISTRATOR = {"audit-verdict.json", "settings.txt", "metrics.txt", "database.txt", "process.txt"}
LOCAL = {"unit.txt", "journal.txt", "kernel.txt", "system.txt", "README.txt"}


def secrets_of(place):
    found = {SM_KEY, SM_KEY[2:], str(int(SM_KEY, 16)), PASSWORD}
    for name in ("m_key", "cc_key", "sa_key", "audit_key"):
        words = re.findall(r"[0-9a-f]{16,}", read(os.path.join(place.state, name)).decode().lower())
        assert words, name
        for word in words:
            found |= {word, word.lstrip("0"), str(int(word, 16))}
    return found


def check_diagnostics(place, files):
    settings = files["settings.txt"].splitlines()[1:]
    assert sorted(settings) == sorted([
        "subnet.m_key: generated", "subnet.sm_key: (not shown)", "congestion.cc_key: generated",
        f"rpc.roles.viewer[0].user: {VIEWER}", f"tls.key: {place.path('tls.pem')}",
        f"tls.cert: {place.path('cert.pem')}", f"tls.ca: {place.path('ca.pem')}"]), settings
    assert "\nfabricd_switches 4\n" in files["metrics.txt"], files["metrics.txt"][:2000]
    assert files["metrics.txt"].endswith("# EOF\n")
    rows = {w[0]: w[1:] for w in map(str.split, files["database.txt"].splitlines()) if len(w) == 3}
    assert int(rows["node"][0]) == 8 and int(rows["node"][1]) >= 4096, rows
    assert int(rows["event"][0]) > 0, rows
    for word in ("RLIMIT_NOFILE", "user CPU time", "Threads", "libsqlite3.so", "libprotobuf-c.so", "OpenSSL "):
        assert word in files["process.txt"], (word, files["process.txt"])


def an_administrator_collects_everything_but_secrets():
    place = Machine()
    with place.daemon():
        place.rest()
        files, done = place.bundle("all.tar.gz")
        again = subprocess.run([CTL, "-s", place.address, "support-bundle", "all.tar.gz"], capture_output=True,
                               text=True, cwd=place.folder)
        unknown = subprocess.run([CTL, "-s", place.address, "diagnostics", "keys"], capture_output=True, text=True)
        assert unknown.returncode == 4 and "settings, metrics, database and process" in unknown.stderr, unknown
        assert again.returncode == 1 and "exists; choose another name" in again.stderr, again
    missing = (MANAGER | ADMINISTRATOR | LOCAL) - set(files)
    assert not missing, (missing, files["README.txt"])
    for name, text in files.items():
        if name.endswith(".json"):
            json.loads(text)
    assert len(json.loads(files["nodes.json"])["nodes"]) == 8 and "a line of the journal" in files["journal.txt"]
    assert files["unit.txt"] == "ActiveState=active\n", files["unit.txt"]
    check_diagnostics(place, files)
    assert all(name in files["README.txt"] for name in files if name != "README.txt"), files["README.txt"]
    whole = "\n".join(files.values()).lower()
    for secret in secrets_of(place):
        assert secret.lower() not in whole, secret


def a_viewer_is_told_what_is_missing():
    if os.geteuid() != 0:
        return
    place = Machine()
    with place.daemon():
        place.rest()
        os.chmod(place.folder, 0o777)
        at = os.path.dirname(place.folder)
        while at != "/":
            os.chmod(at, os.stat(at).st_mode | 0o011)
            at = os.path.dirname(at)
        os.chmod(place.path("s"), 0o666)
        files, done = place.bundle("viewer.tar.gz", user=NOBODY, group=NOBODY, extra_groups=[])
    assert MANAGER <= set(files) and not ADMINISTRATOR & set(files), files["README.txt"]
    line, = [x for x in files["README.txt"].splitlines() if x.startswith("audit-verdict.json")]
    assert "LEFT OUT" in line and "administrator" in line, line
    assert json.loads(done.stdout)["left_out"] >= 1, done


def without_a_manager_the_machine_is_described():
    place = Machine()
    files, done = place.bundle("local.tar.gz", code=3)
    assert LOCAL <= set(files) and not (MANAGER | ADMINISTRATOR) & set(files), sorted(files)
    assert "no manager answered" in done.stderr and "No manager answered" in files["README.txt"], done


main([
    an_administrator_collects_everything_but_secrets,
    a_viewer_is_told_what_is_missing,
    without_a_manager_the_machine_is_described,
])
