"""Backups of a state directory: restored elsewhere, and refused if they were changed."""

import contextlib
import difflib
import json
import os
import shutil
import sqlite3
import struct
import subprocess

from harness import BUILD, Fabric, channel, main, read, running, socket_path, wait_until

CTL, FABSIM, FABRICD = (os.path.join(BUILD, p) for p in ("cli/fabricctl", "cli/fabsim", "fabricd/fabricd"))
KEYS = ["sa_key", "m_key", "audit_key"]
PASSPHRASE = "correct horse battery"
HEADER, CHUNK, TAG = 48, 65536, 16
NOBODY = 65534


class Place:
    """A machine: a folder with a state directory. All machines are in the same fabric."""

    def __init__(self):
        self.folder = os.path.dirname(socket_path())
        self.address = f"unix:{self.folder}/s"
        self.state = os.path.join(self.folder, "state")
        subprocess.run([FABSIM, "generate", "leaf-spine", "--leaves", "4", "--spines", "2", "--hosts", "4",
                        "-o", self.path("f.net")], check=True)
        self.write("f.yaml", "subnet: {m_key: generated}\n")
        self.write("passphrase", PASSPHRASE + "\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        os.chmod(self.path(name), 0o600)

    def ctl(self, *arguments):
        done = subprocess.run([CTL, "-s", self.address, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done
        return done.stdout

    @contextlib.contextmanager
    def daemon(self):
        command = [FABRICD, "--sim", self.path("f.net"), "-f", self.path("f.yaml"), "--state-dir", self.state,
                   "--listen", self.address]
        with channel(self.address) as c:
            f = Fabric(c)
            with running(command, lambda _: wait_until(lambda: f.GetStatus(timeout=2).status.generation > 0)) as p:
                yield p

    def call(self, *options, code=0, passphrase=None, **how):
        """fabricd with options of backups. Returns what it prints."""
        file = "-" if passphrase is not None else self.path("passphrase")
        done = subprocess.run([FABRICD, "--state-dir", self.state, "--passphrase-file", file, *options],
                              input=passphrase, capture_output=True, text=True, timeout=60, **how)
        assert done.returncode == code, done
        return done.stderr if code else done.stdout

    def rows(self):
        """All rows of all tables but those of the audit log after the backup."""
        with contextlib.closing(sqlite3.connect(os.path.join(self.state, "fabricd.db"))) as db:
            names = [n for n, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
            return {n: sorted(db.execute(f"SELECT * FROM \"{n}\"").fetchall(), key=repr) for n in names}

    def files(self):
        return {os.path.relpath(os.path.join(d, f), self.state): read(os.path.join(d, f))
                for d, _, names in os.walk(self.state) for f in names if f != "lock"}

    def what_operators_see(self):
        return [self.ctl(*command.split(), "-o", "json") for command in (
            "partition list", "link list", "node list", "key show")] + [
                self.ctl("route", "export"), json.loads(self.ctl("status", "-o", "json"))["state"]]


def make_changes(place):
    place.ctl("port", "disable", "leaf-002/1", "--reason", "cable is replaced")
    place.ctl("link", "isolate", "leaf-001/5")
    place.ctl("topo", "approve")


# The backup of a running manager, which all tests below use.
first = Place()


def another_machine_takes_over():
    with first.daemon():
        make_changes(first)
        wait_until(lambda: json.loads(first.ctl("status", "-o", "json"))["state"] == "idle")
        said = first.call("-f", first.path("f.yaml"), "--backup", first.path("backup"))
        assert first.path("backup") in said and "6 files" in said, said
    # Both bring up the same fabric from the beginning: a simulated fabric starts new with its manager.
    with first.daemon():
        wait_until(lambda: json.loads(first.ctl("status", "-o", "json"))["state"] == "idle")
        seen = first.what_operators_see()
    assert os.stat(first.path("backup")).st_mode & 0o777 == 0o600
    assert sorted(first.files()) == ["audit_head", "audit_key", "fabricd.db", "m_key", "sa_key"], first.files().keys()
    sealed = read(first.path("backup"))
    for secret in (*(read(os.path.join(first.state, k)).strip() for k in KEYS), b"leaf-001", b"SQLite", b"m_key"):
        assert secret not in sealed, secret

    second = Place()
    said = second.call("--restore", first.path("backup"), passphrase=PASSPHRASE + "\nnot this\n")
    assert "restored 6 files" in said and "fabricd.yaml.restored" in said, said
    mine, theirs = second.files(), first.files()
    assert all(mine[k] == theirs[k] for k in KEYS)
    assert mine["fabricd.yaml.restored"] == read(first.path("f.yaml"))
    assert all(os.stat(os.path.join(second.state, f)).st_mode & 0o777 == 0o600 for f in mine)
    with second.daemon():
        wait_until(lambda: json.loads(second.ctl("status", "-o", "json"))["state"] == "idle")
        for mine, theirs in zip(second.what_operators_see(), seen):
            assert mine == theirs, "\n".join(difflib.unified_diff(str(theirs).splitlines(), str(mine).splitlines()))
        verdict = json.loads(second.ctl("audit", "verify", "-o", "json"))
        assert verdict["intact"], verdict
        record, = [json.loads(line) for line in second.ctl("audit", "export", "--method", "restore").splitlines()]
        assert record["after"].startswith("restored from a backup of 20") and record["account"], record


def a_stopped_manager_comes_back_row_by_row():
    second = Place()
    first.call("--backup", first.path("backup of the stopped one"))
    second.call("--restore", first.path("backup of the stopped one"))
    rows, former = second.rows(), first.rows()
    added = set(rows["audit"]) - set(former["audit"])
    assert len(added) == 1 and len(rows["audit"]) == len(former["audit"]) + 1 > 5, added
    assert {n: r for n, r in rows.items() if n != "audit"} == {n: r for n, r in former.items() if n != "audit"}
    assert all(former[n] for n in ("lease", "disabled_port", "isolated_link", "approved_place", "event"))


def whoever_changes_it_is_noticed():
    """Each damage is refused with a sentence, and nothing is left in the state directory."""
    whole = read(first.path("backup"))
    chunk = struct.unpack(">I", whole[HEADER:HEADER + 4])[0]
    assert chunk == CHUNK, "the database must be longer than a chunk"
    end = HEADER + 4 + CHUNK + TAG
    one, rest = whole[HEADER:end], whole[end:]
    flip = lambda at: whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:]
    damages = [
        (b"", "shorter than the header"), (whole[:47], "shorter than the header"),
        (whole[:HEADER], "its end is missing"), (whole[:end], "its end is missing"), (whole[:-1], "its end is missing"),
        (whole + b"x", "damaged"), (flip(0), "no backup of fabricd"), (flip(19), "version 0"),
        (flip(23), "passphrase is not the one"), (flip(27), "damaged"), (flip(40), "passphrase is not the one"),
        (flip(HEADER + 100), "passphrase is not the one"), (flip(end + 100), "was changed"),
        (flip(len(whole) - 1), "was changed"), (whole[:HEADER] + rest, "passphrase is not the one"),
        (whole[:HEADER] + rest + one, "passphrase is not the one"),
        (whole[:end] + one + rest, "was changed"), (whole[:20] + b"\0\0\0\x1f" + whole[24:], "damaged"),
    ]
    for number, (text, why) in enumerate(damages):
        place = Place()
        with open(place.path("backup"), "wb") as f:
            f.write(text)
        said = place.call("--restore", place.path("backup"), code=1)
        assert why in said and place.path("backup") in said, (number, said)
        assert not place.files(), (number, place.files().keys())
    place = Place()
    said = place.call("--restore", first.path("backup"), code=1, passphrase="correct horse batterx\n")
    assert "the passphrase is not the one of this backup" in said and not place.files(), said


def nothing_is_lost():
    """A state directory is replaced only on request, and never while fabricd uses it."""
    place = Place()
    with place.daemon():
        said = place.call("--restore", first.path("backup"), "--replace", code=1)
        assert "is in use by fabricd pid" in said, said
    former = place.files()
    said = place.call("--restore", first.path("backup"), code=1)
    assert "--replace" in said and place.files() == former, said
    # a backup that is refused changes nothing, also with --replace
    with open(place.path("short"), "wb") as f:
        f.write(read(first.path("backup"))[:-1])
    place.call("--restore", place.path("short"), "--replace", code=1)
    assert place.files() == former
    said = place.call("--restore", first.path("backup"), "--replace")
    folder = next(n for n in os.listdir(place.state) if n.startswith("replaced-"))
    assert folder in said, said
    now = place.files()
    assert {os.path.basename(n): now[n] for n in now if n.startswith(folder)} == former
    assert now["m_key"] == read(os.path.join(first.state, "m_key")) != former["m_key"]
    # the backup is not overwritten
    said = place.call("--backup", first.path("backup"), code=1)
    assert "File exists" in said, said
    # a restore that was interrupted while it moved files
    os.mkdir(os.path.join(place.state, "restore.moving"))
    done = subprocess.run([FABRICD, "--sim", place.path("f.net"), "--state-dir", place.state, "--listen",
                           place.address], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "restore the backup again with --replace" in done.stderr, done
    shutil.rmtree(os.path.join(place.state, folder))
    place.call("--restore", first.path("backup"), "--replace")
    with place.daemon():
        assert json.loads(place.ctl("audit", "verify", "-o", "json"))["intact"]


def a_killed_backup_leaves_nothing_for_long():
    place = Place()
    with place.daemon():
        pass
    left = ("backup-999999998.db", "backup-999999998.db-journal")
    others = (f"backup-{os.getpid()}.db", "backup-.db", "backup-old.db", "my-backup-999999998.db")
    for name in (*left, *others):
        with open(os.path.join(place.state, name), "w") as f:
            f.write("copy")
    place.call("--backup", place.path("b"))
    assert not set(left) & set(os.listdir(place.state)), os.listdir(place.state)
    assert set(others) <= set(os.listdir(place.state)), os.listdir(place.state)


def a_newer_schema_is_refused():
    place, other = Place(), Place()
    place.call("--restore", first.path("backup"))
    with contextlib.closing(sqlite3.connect(os.path.join(place.state, "fabricd.db"))) as db:
        db.execute("PRAGMA user_version = 999")
        db.commit()
    place.call("--backup", place.path("backup"))
    said = other.call("--restore", place.path("backup"), code=1)
    assert "schema version 999" in said and not other.files(), said


def the_passphrase_is_kept():
    place = Place()
    restore = ("--restore", first.path("backup"))
    os.chmod(place.path("passphrase"), 0o644)
    assert "run 'chmod 600' on it" in place.call(*restore, code=1)
    place.write("passphrase", "short\n")
    assert "less than 12 characters" in place.call(*restore, code=1)
    assert "less than 12 characters" in place.call(*restore, code=1, passphrase="")
    for options, why in ((["--backup", "x"], "need --passphrase-file"), (["--replace"], "is for --restore"),
                         (["--passphrase-file", "-"], "is for --backup and --restore")):
        done = subprocess.run([FABRICD, *options], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and why in done.stderr, done
    missing = Place()
    assert "No such file" in missing.call("--backup", missing.path("b"), code=1)
    assert not os.path.exists(missing.path("b"))


def another_user_restores_it():
    """Root restores for the user of fabricd, and a user for itself."""
    if os.geteuid() != 0:
        return
    for user in (None, NOBODY):
        place = Place()
        os.mkdir(place.state)
        os.chown(place.state, NOBODY, NOBODY)
        file = place.path("backup")
        shutil.copy(first.path("backup"), file)
        how = {"user": user, "group": user, "extra_groups": []} if user else {}
        for path in (file, place.path("passphrase")):
            os.chown(path, NOBODY, NOBODY)
        at = place.folder
        while at != "/" and user:
            if os.stat(at).st_mode & 0o001 == 0:
                os.chmod(at, os.stat(at).st_mode | 0o011)
            at = os.path.dirname(at)
        place.call("--restore", file, **how)
        assert all(os.stat(os.path.join(place.state, n)).st_uid == NOBODY for n in os.listdir(place.state))


main([
    another_machine_takes_over,
    a_stopped_manager_comes_back_row_by_row,
    whoever_changes_it_is_noticed,
    nothing_is_lost,
    a_killed_backup_leaves_nothing_for_long,
    a_newer_schema_is_refused,
    the_passphrase_is_kept,
    another_user_restores_it,
])
