"""Support bundles: what is in them, what was left out, and that no secret is in them."""

import json
import os
import re
import subprocess
import tarfile

from harness import main, read, wait_until
from place import CTL, Place

NOBODY = 65534
SM_KEY, PASSWORD = "0x5ec2e7000badc0de", "swordfish-in-the-unit"
VIEWER = "daemon"


class Machine(Place):
    """A machine with a journal, and with a unit whose environment has a secret."""

    def __init__(self):
        super().__init__()
        self.write("f.yaml",
                   f"subnet: {{m_key: generated, sm_key: {SM_KEY}}}\ncongestion: {{cc_key: generated}}\n"
                   f"rpc: {{roles: {{viewer: [{{user: {VIEWER}}}]}}}}\ntls: {{key: {self.path('tls.pem')}, "
                   f"cert: {self.path('cert.pem')}, ca: {self.path('ca.pem')}}}\n")
        os.mkdir(self.path("bin"))
        os.chmod(self.path("bin"), 0o755)
        self.program("journalctl", "echo fabricd: a line of the journal")
        self.program("systemctl", 'case "$*" in *" -p "*) echo ActiveState=active ;; '
                     f'*) echo Environment={PASSWORD} ;; esac')

    def rest(self):
        """Waits until the manager is idle and has contingencies, which its bundle has, too."""
        super().rest()
        wait_until(lambda: subprocess.run([CTL, "-s", self.address, "route", "contingency"],
                                          capture_output=True).returncode == 0)

    def program(self, name, text):
        self.write("bin/" + name, f"#!/bin/sh\n{text}\n", 0o755)

    def open_to_all(self):
        """Gives all users access to the socket, and lets them write to the folder."""
        os.chmod(self.folder, 0o777)
        at = os.path.dirname(self.folder)
        while at != "/":
            os.chmod(at, os.stat(at).st_mode | 0o011)
            at = os.path.dirname(at)
        os.chmod(self.path("s"), 0o666)

    def bundle(self, name, *options, code=0, **how):
        """Makes a bundle. Returns {file: text}, and the output of the command."""
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
        place.open_to_all()
        files, done = place.bundle("viewer.tar.gz", user=NOBODY, group=NOBODY, extra_groups=[])
    assert MANAGER <= set(files) and not ADMINISTRATOR & set(files), files["README.txt"]
    line, = [x for x in files["README.txt"].splitlines() if x.startswith("audit-verdict.json")]
    assert "LEFT OUT" in line and "administrator" in line, line
    assert json.loads(done.stdout)["left_out"] >= 1, done


def without_a_manager_the_machine_is_described():
    place = Machine()
    place.program("lscpu", "kill -KILL $$")
    files, done = place.bundle("local.tar.gz", code=3)
    assert LOCAL <= set(files) and not (MANAGER | ADMINISTRATOR) & set(files), sorted(files)
    assert "no manager answered" in done.stderr and "No manager answered" in files["README.txt"], done
    assert re.search(r"^cpus.txt +LEFT OUT \(it was ended by signal 9\)", files["README.txt"], re.M), files["README.txt"]


# ---- anonymous bundles

# Names that the test replaces. The node "link" has the name of a common word, "Krösus" is not ASCII, and only the
# journal has the nodes ghost-quark99 and wombat12.
RENAMED = {"host-0001": "zeus-login HCA-1", "host-0002": "hermes mlx5_0", "host-0003": "Krösus 3", "host-0004": "link",
           "leaf-001": "MF0;acme-sw1:SX6036/U1", "leaf-002": "acme_leaf.two", "spine-001": "vogon"}
HIDDEN = ["zeus-login", "hermes", "krösus", "acme", "sx6036", "acme_leaf", "vogon", "ghost-quark99", "quark99", "wombat12",
          "heartofgold", "deepthought", "zaphod", "slartibartfast", "fjords", "norway", "60001", "arthur", "dent",
          "mgmt-babel", "babel", "galaxy", "10.77.3.9", "2a01:4f8:77::9", "fec0:"]
GUIDS = ["e41d2d0100000001", "e41d2d0100000003", "e41d2d0200000004", "e41d2d0200000005", "e41d2d0999abcdef"]
JOURNAL = """ghost-quark99/3 - wombat12/4 isolated: 812 symbol errors in 60 s
node e4:1d:2d:09:99:ab:cd:ef and E41D:2D09:99AB:CDEF and 0xe41d2d0999abcdef and e41d2d0999abcdef
GID fe80::e61d:2d09:99ab:cdef fe80::e41d:2d09:99ab:cdef fec0:0:0:7:e41d:2d09:99ab:cdef 0xfec0000000000007
peer 10.77.3.9:4711 and [2a01:4f8:77::9]:4711; file /home/arthur.dent/fabric/ca.pem on mgmt-babel.galaxy.example
VOGON/2 is the port of vogon, and LID 7 of ACME_leaf.two has P_Key 0x8011
"""


class Named(Machine):
    """A machine with names that can be found in a bundle."""

    def __init__(self):
        super().__init__()
        text = read(self.path("f.net")).decode()
        for name, other in RENAMED.items():
            text = text.replace(f'"{name}"', f'"{other}"')
        self.write("f.net", re.sub("(000)?2c90", "e41d2d0", text))
        self.write("partitions.conf", 'heartofgold=0x11, ipoib, defmember=full : ALL;\n')
        self.write("f.yaml", f"subnet: {{m_key: generated}}\npartitions: {{file: {self.path('partitions.conf')}}}\n"
                   "rpc: {roles: {operator: [{user: 60001}], viewer: [{cn: zaphod.galaxy.example}]}}\n"
                   "qos: {classes: [{name: deepthought, share: 40, match: [service=0x1000-0x1fff]}]}\n")

    def write_journal(self, process):
        lines = (process.log() + JOURNAL).splitlines()
        self.write("journal", "".join(f"2026-11-28T10:00:00.123456+0000 mgmt-babel fabricd[77]: {x}\n" for x in lines),
                   0o644)
        self.program("journalctl", f"cat {self.path('journal')}")

    def make_history(self):
        """Makes changes with reasons, and removes a node."""
        self.ctl("port", "disable", "vogon/2", "--reason", "Slartibartfast wants it")
        self.ctl("topo", "approve", "--reason", "fjords of Norway")
        self.ctl("sim", "unlink", "hermes mlx5_0/1")
        self.rest()
        self.open_to_all()
        if os.geteuid() == 0:
            subprocess.run([CTL, "-s", self.address, "port", "enable", "vogon/2", "--reason", "norway"], user=60001,
                           group=60001, extra_groups=[], check=True, capture_output=True)
        wait_until(lambda: "hermes" not in self.ctl("node", "list"))

    def bundle_of_viewer(self, name, *options):
        """Returns a bundle of a user who may not read the audit log, which has the reasons."""
        how = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        files, _ = self.bundle(name, *options, **how)
        assert how == {} or "audit-verdict.json" not in files
        assert "is master" in files["journal.txt"], files["journal.txt"]
        return files


def spellings(guid):
    pairs = [guid[i:i + 2] for i in range(0, 16, 2)]
    quads = [guid[i:i + 4] for i in range(0, 16, 4)]
    return [guid, ":".join(pairs), ":".join(quads), ":".join(q.lstrip("0") or "0" for q in quads), "-".join(pairs)]


def find_originals(files):
    """Returns the places where the parts still have an original, in any spelling."""
    for name, text in files.items():
        for word in HIDDEN + [s for g in GUIDS for s in spellings(g)]:
            found = re.search(rf"(?<![0-9a-zà-ÿ]){re.escape(word)}(?![0-9a-zà-ÿ])", text.lower())
            if found:
                yield name, word, text[max(0, found.start() - 100):found.end() + 50]


def an_anonymous_bundle_has_no_name():
    place = Named()
    with place.daemon() as process:
        place.rest()
        place.make_history()
        place.write_journal(process)
        nodes, links = (json.loads(place.ctl(*words, "-o", "json")) for words in (("node", "list"), ("link", "list")))
        plain, _ = place.bundle("plain.tar.gz")
        files, done = place.bundle("anonymous.tar.gz", "--anonymize", "--map", place.path("map"))
        other, _ = place.bundle("other.tar.gz", "--anonymize")
        viewer = place.bundle_of_viewer("viewer.tar.gz", "--anonymize")
    assert list(find_originals(plain)), "the test finds nothing even in a plain bundle"
    for texts in (files, other, viewer):
        assert not list(find_originals(texts)), list(find_originals(texts))
    assert set(files) == set(plain), set(files) ^ set(plain)
    assert not any("(withheld)" in text for text in files.values())
    said = json.loads(done.stdout)
    assert said["anonymized"] and said["replaced"]["nodes"] >= 9 and said["replaced"]["guids"] >= 12, said
    assert os.stat(place.path("map")).st_mode & 0o777 == 0o600
    check_map(place, files, nodes, links)
    check_journal(files)


def without_a_manager_the_log_is_anonymous():
    place = Machine()
    place.write("journal", "".join(f"2026-11-28T10:00:00.1+0000 mgmt-babel fabricd[7]: {x}\n" for x in JOURNAL.splitlines()))
    place.program("journalctl", f"cat {place.path('journal')}")
    files, done = place.bundle("local.tar.gz", "--anonymize", code=3)
    assert not list(find_originals(files)), list(find_originals(files))
    assert "isolated: 812 symbol errors in 60 s" in files["journal.txt"], files["journal.txt"]


def what_cannot_be_anonymous_is_refused():
    place = Machine()
    place.write("there", "")
    def complaint(*options):
        done = subprocess.run([CTL, "-s", place.address, "support-bundle", "x.tar.gz", *options], capture_output=True,
                              text=True, cwd=place.folder, env=dict(os.environ, TMPDIR=place.folder))
        assert not os.path.exists(place.path("x.tar.gz")) and not os.path.exists(place.path("map")), done
        return done.returncode, done.stderr

    assert complaint("--map", "map")[0] == 2
    code, said = complaint("--anonymize", "--map", "there")
    assert code == 1 and "there exists; choose another name" in said, said
    code, said = complaint("--anonymize", "--map", "nowhere/map")
    assert code == 1 and "nowhere/map" in said, said


def check_map(place, files, nodes, links):
    """With the map, the operator gets the answers of the manager again: only names were replaced."""
    table = dict(line.split("\t") for line in read(place.path("map")).decode().splitlines())

    def back(value):
        if isinstance(value, dict):
            return {k: back(v) for k, v in value.items()}
        if isinstance(value, list):
            return [back(v) for v in value]
        if not isinstance(value, str):
            return value
        host = re.match(r"\S+", value)
        return table[host[0]] + value[host.end():] if host and host[0] in table else value

    for part, wanted in (("nodes.json", nodes), ("links.json", links)):
        assert back(json.loads(files[part])) == wanted, (part, files[part], wanted)


def check_journal(files):
    """The structure of texts is unchanged, and a name has the same pseudonym in all parts."""
    journal = files["journal.txt"]
    names = {n["guid"]: n["name"] for n in json.loads(files["nodes.json"])["nodes"]}
    port = re.search(r"(\S+)/2 is the port of", journal)[1]
    assert port in names.values(), (port, names)
    assert f"{port}/2 is the port of {port}, and LID 7 of " in journal, journal
    assert "has P_Key 0x8011" in journal and re.search(r"node-\d+/3 - node-\d+/4 isolated: 812 symbol errors in 60 s", journal)
    assert "2026-11-28T10:00:00.123456+0000" in journal and "DisablePort" in journal
    one, two, three, four = re.search(r"node (\S+) and (\S+) and (\S+) and (\S+)", journal).groups()
    assert one.replace(":", "") == two.replace(":", "") == three[2:] == four and four.startswith("02"), journal
    # the port GUID of a host is its node GUID + 1
    host = next(n for n in json.loads(files["nodes.json"])["nodes"] if n["type"] == "adapter")
    assert f"{int(host['guid'], 16) + 1:016x}" in files["status.json"] + files["events.json"], host
    assert any(port in files[part] for part in ("links.json", "contingency.json")), port


main([
    an_administrator_collects_everything_but_secrets,
    a_viewer_is_told_what_is_missing,
    without_a_manager_the_machine_is_described,
    without_a_manager_the_log_is_anonymous,
    what_cannot_be_anonymous_is_refused,
    an_anonymous_bundle_has_no_name,
])
