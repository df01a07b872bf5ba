"""Backups of a state directory: restored elsewhere, and refused if they were changed."""

import contextlib
import difflib
import json
import os
import pty
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import time

import grpc

from harness import Fabric, channel, load, main, read, wait_until
from place import CTL, FABRICD, Place

backup_pb2 = load("fabric.v1.backup_pb2")

KEYS = ["sa_key", "m_key", "audit_key"]
PASSPHRASE = "correct horse battery"
HEADER, CHUNK, TAG = 48, 65536, 16
NOBODY = 65534


class Machine(Place):
    """All machines are in the same fabric."""

    def __init__(self):
        super().__init__(leaves=4, hosts=4)
        self.write("f.yaml", "subnet: {m_key: generated}\n")
        self.write("passphrase", PASSPHRASE + "\n")

    def call(self, *options, code=0, passphrase=None, **how):
        """Runs fabricd with options of backups. Returns its output."""
        file = "-" if passphrase is not None else self.path("passphrase")
        done = subprocess.run([FABRICD, "--state-dir", self.state, "--passphrase-file", file, *options],
                              input=passphrase, capture_output=True, text=True, timeout=60, **how)
        assert done.returncode == code and (code or not done.stderr), done
        return done.stderr if code else done.stdout

    def run_ctl(self, *arguments, code=0, passphrase=PASSPHRASE, command=(), **how):
        """Runs fabricctl with the passphrase on its standard input. Returns its output."""
        done = subprocess.run([*command, CTL, "-s", self.address, *arguments, "--passphrase-file", "-"],
                              input=passphrase + "\n", capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, FABRICCTL_FABRICD=FABRICD), **how)
        assert done.returncode == code, done
        return done.stderr if code else done.stdout

    def grow(self, mib):
        """Adds data to the database of the stopped manager."""
        with contextlib.closing(sqlite3.connect(os.path.join(self.state, "fabricd.db"))) as db:
            db.execute("CREATE TABLE padding (bytes BLOB)")
            db.executemany("INSERT INTO padding VALUES (randomblob(1048576))", [()] * mib)
            db.commit()

    def rows(self):
        """Returns all rows of all tables, but not those of the audit log after the backup."""
        with contextlib.closing(sqlite3.connect(os.path.join(self.state, "fabricd.db"))) as db:
            names = [n for n, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
            return {n: sorted(db.execute(f"SELECT * FROM \"{n}\"").fetchall(), key=repr) for n in names}

    def files(self):
        """Returns the contents of all files, but not those of the history of counters, which no backup has."""
        return {os.path.relpath(os.path.join(d, f), self.state): read(os.path.join(d, f))
                for d, _, names in os.walk(self.state) for f in names
                if f != "lock" and not f.startswith("counters.db")}

    def what_operators_see(self):
        return [self.ctl(*command.split(), "-o", "json") for command in (
            "partition list", "link list", "node list", "key show")] + [
                self.ctl("route", "export"), json.loads(self.ctl("status", "-o", "json"))["state"]]


def make_changes(place):
    place.ctl("port", "disable", "leaf-002/1", "--reason", "cable is replaced")
    place.ctl("link", "isolate", "leaf-001/5")
    place.ctl("topo", "approve")


# The backup of a running manager, which all tests below use.
first = Machine()


def another_machine_takes_over():
    with first.daemon():
        make_changes(first)
        first.rest()
        said = first.call("-f", first.path("f.yaml"), "--backup", first.path("backup"))
        assert first.path("backup") in said and "6 files" in said, said
        assert f"does not have the history of counters ({first.state}/counters.db, " in said, said
    # Both bring up the same fabric from the beginning, because a simulated fabric starts new with its manager.
    with first.daemon():
        first.rest()
        seen = first.what_operators_see()
    assert os.stat(first.path("backup")).st_mode & 0o777 == 0o600
    assert sorted(first.files()) == ["audit_head", "audit_key", "fabricd.db", "m_key", "sa_key"], first.files().keys()
    sealed = read(first.path("backup"))
    for secret in (*(read(os.path.join(first.state, k)).strip() for k in KEYS), b"leaf-001", b"SQLite", b"m_key"):
        assert secret not in sealed, secret

    second = Machine()
    said = second.call("--restore", first.path("backup"), passphrase=PASSPHRASE + "\nnot this\n")
    assert "restored 6 files" in said and "fabricd.yaml.restored" in said, said
    mine, theirs = second.files(), first.files()
    assert all(mine[k] == theirs[k] for k in KEYS)
    assert mine["fabricd.yaml.restored"] == read(first.path("f.yaml"))
    assert all(os.stat(os.path.join(second.state, f)).st_mode & 0o777 == 0o600 for f in mine)
    with second.daemon():
        second.rest()
        for mine, theirs in zip(second.what_operators_see(), seen):
            assert mine == theirs, "\n".join(difflib.unified_diff(str(theirs).splitlines(), str(mine).splitlines()))
        verdict = json.loads(second.ctl("audit", "verify", "-o", "json"))
        assert verdict["intact"], verdict
        record, = [json.loads(line) for line in second.ctl("audit", "export", "--method", "restore").splitlines()]
        assert record["after"].startswith("restored from a backup of 20") and record["account"], record


def a_stopped_manager_comes_back_row_by_row():
    second = Machine()
    first.call("--backup", first.path("backup of the stopped one"))
    second.call("--restore", first.path("backup of the stopped one"))
    rows, former = second.rows(), first.rows()
    added = set(rows["audit"]) - set(former["audit"])
    assert len(added) == 1 and len(rows["audit"]) == len(former["audit"]) + 1 > 5, added
    assert {n: r for n, r in rows.items() if n != "audit"} == {n: r for n, r in former.items() if n != "audit"}
    assert all(former[n] for n in ("lease", "disabled_port", "isolated_link", "approved_place", "event"))


def whoever_changes_it_is_noticed():
    """Every damaged backup is refused with a sentence, and the state directory stays empty."""
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
        place = Machine()
        with open(place.path("backup"), "wb") as f:
            f.write(text)
        said = place.call("--restore", place.path("backup"), code=1)
        assert why in said and place.path("backup") in said, (number, said)
        assert not place.files(), (number, place.files().keys())
    place = Machine()
    said = place.call("--restore", first.path("backup"), code=1, passphrase="correct horse batterx\n")
    assert "the passphrase is not the one of this backup" in said and not place.files(), said


def nothing_is_lost():
    """A state directory is replaced only on request, and never while fabricd uses it."""
    place = Machine()
    with place.daemon():
        said = place.call("--restore", first.path("backup"), "--replace", code=1)
        assert "is in use by fabricd pid" in said, said
    former = place.files()
    said = place.call("--restore", first.path("backup"), code=1)
    assert "--replace" in said and place.files() == former, said
    # a backup that is refused changes nothing, even with --replace
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
    # a backup does not overwrite another file
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
    place = Machine()
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
    place, other = Machine(), Machine()
    place.call("--restore", first.path("backup"))
    with contextlib.closing(sqlite3.connect(os.path.join(place.state, "fabricd.db"))) as db:
        db.execute("PRAGMA user_version = 999")
        db.commit()
    place.call("--backup", place.path("backup"))
    said = other.call("--restore", place.path("backup"), code=1)
    assert "schema version 999" in said and not other.files(), said


def the_passphrase_is_kept():
    place = Machine()
    restore = ("--restore", first.path("backup"))
    os.chmod(place.path("passphrase"), 0o644)
    assert "run 'chmod 600' on it" in place.call(*restore, code=1)
    place.write("passphrase", "short\n")
    assert "fewer than 12 characters" in place.call(*restore, code=1)
    assert "fewer than 12 characters" in place.call(*restore, code=1, passphrase="")
    for options, why in ((["--backup", "x"], "need --passphrase-file"), (["--replace"], "is for --restore"),
                         (["--passphrase-file", "-"], "is for --backup and --restore")):
        done = subprocess.run([FABRICD, *options], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and why in done.stderr, done
    missing = Machine()
    assert "No such file" in missing.call("--backup", missing.path("b"), code=1)
    assert not os.path.exists(missing.path("b"))


def another_user_restores_it():
    """Root restores for the user of fabricd, and a user for itself."""
    if os.geteuid() != 0:
        return
    for user in (None, NOBODY):
        place = Machine()
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


def fabricctl_brings_a_manager_to_another_machine():
    """Host name, user and state directory differ. LIDs, routes, keys and isolated links must be the same."""
    third, fourth = Machine(), Machine()
    with third.daemon():
        make_changes(third)
        third.rest()
        said = json.loads(third.run_ctl("backup", third.path("b"), "--reason", "move", "-o", "json"))
        assert said["files"] == 6 and said["has_settings"] and said["bytes"] == os.stat(third.path("b")).st_size, said
        assert said["history_bytes"] > 0, said
        assert os.stat(third.path("b")).st_mode & 0o777 == 0o600
        assert not [n for n in os.listdir(third.folder) if n.startswith("b.")]
        assert not [n for n in os.listdir(third.state) if n.startswith("backup")]
        record, = [json.loads(line) for line in third.ctl("audit", "export", "--method", "Backup").splitlines()]
        assert record["result"] == "OK" and record["after"].startswith("6 files") and record["reason"] == "move", record
        said = third.run_ctl("backup", third.path("b"), code=1)
        assert "exists; choose another name" in said, said
    with third.daemon():
        third.rest()
        seen = third.what_operators_see()
    said = third.run_ctl("restore", third.path("b"), "--verify")
    assert f"backup of {os.uname().nodename} at 20" in said and "6 files" in said, said
    assert re.search(r"^  isolated_link +1$", said, re.M) and "subscription" not in said, said
    shutil.copy(third.path("b"), fourth.path("b"))
    elsewhere = ()
    if os.geteuid() == 0:
        elsewhere = ("unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec setpriv --reuid 65534 --regid 65534 '
                     '--clear-groups "$@"', "-")
        os.mkdir(fourth.state)
        for path in (fourth.state, fourth.folder, fourth.path("b")):
            os.chown(path, NOBODY, NOBODY)
        at = os.path.dirname(fourth.folder)
        while at != "/":
            os.chmod(at, os.stat(at).st_mode | 0o011)
            at = os.path.dirname(at)
    said = fourth.run_ctl("restore", fourth.path("b"), "--state-dir", fourth.state, command=elsewhere)
    assert "restored 6 files" in said and f"stop the manager on {os.uname().nodename}, of" in said, said
    if elsewhere:
        assert all(os.stat(os.path.join(fourth.state, n)).st_uid == NOBODY for n in os.listdir(fourth.state))
    with fourth.daemon():
        fourth.rest()
        for mine, theirs in zip(fourth.what_operators_see(), seen):
            assert mine == theirs, "\n".join(difflib.unified_diff(str(theirs).splitlines(), str(mine).splitlines()))
        assert json.loads(fourth.ctl("audit", "verify", "-o", "json"))["intact"]
        said = fourth.run_ctl("restore", fourth.path("b"), "--state-dir", fourth.state, "--replace", code=1)
        assert "is in use by fabricd pid" in said and "systemctl stop fabricd" in said, said


def a_broken_backup_leaves_nothing():
    place = Machine()
    # AddressSanitizer would keep freed memory, and the test counts memory
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    with place.daemon():
        pass
    place.grow(40)

    def left():
        return [n for n in os.listdir(place.folder) if n.startswith("b")] + [
            n for n in os.listdir(place.state) if n.startswith("backup")]

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    with place.daemon() as p:
        with channel(place.address) as c:
            make = c.unary_stream("/fabric.v1.FabricService/Backup",
                                  request_serializer=backup_pb2.BackupRequest.SerializeToString,
                                  response_deserializer=backup_pb2.BackupResponse.FromString)
            for salt, key in ((16, 31), (15, 32), (0, 0), (17, 33)):
                try:
                    list(make(backup_pb2.BackupRequest(salt=bytes(salt), key=bytes(key)), timeout=60))
                    raise AssertionError("accepted")
                except grpc.RpcError as e:
                    assert e.code() == grpc.StatusCode.INVALID_ARGUMENT, e
            # A client that reads slowly uses no memory of the manager. Only one backup is made at a time.
            slow = make(backup_pb2.BackupRequest(salt=bytes(16), key=bytes(32)), timeout=60)
            size = next(slow).size
            assert size > 40 << 20, size
            peak = int(next(line for line in read(f"/proc/{p.pid}/status").decode().splitlines()
                            if line.startswith("VmHWM")).split()[1])
            try:
                list(make(backup_pb2.BackupRequest(salt=bytes(16), key=bytes(32)), timeout=60))
                raise AssertionError("two backups")
            except grpc.RpcError as e:
                assert e.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, e
            assert sum(len(m.data) for m in slow) > size - (1 << 20)
            again = int(next(line for line in read(f"/proc/{p.pid}/status").decode().splitlines()
                             if line.startswith("VmHWM")).split()[1])
            assert again - peak < 16 << 10, (peak, again)
        said = place.run_ctl("backup", place.path("b"), code=1, preexec_fn=small_files)
        assert "cannot be written: File too large" in said and not left(), (said, left())
        place.run_ctl("backup", place.path("whole"))
        os.remove(place.path("whole"))
        client = subprocess.Popen([CTL, "-s", place.address, "backup", place.path("b"), "--passphrase-file",
                                   place.path("passphrase")], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: any(n.startswith("b.") and os.stat(place.path(n)).st_size > 0
                               for n in os.listdir(place.folder)))
        client.send_signal(signal.SIGTERM)
        assert client.wait(60) == -signal.SIGTERM and not left(), left()

    # The manager is killed while it sends. The command ends with an error, and leaves no files.
    errors = open(place.path("errors"), "w+")
    p = subprocess.Popen([FABRICD, "--sim", place.path("f.net"), "--state-dir", place.state, "--listen", place.address],
                         stdout=errors, stderr=errors)
    with channel(place.address) as c:
        wait_until(lambda: Fabric(c).GetStatus(timeout=2).status.generation > 0)
    client = subprocess.Popen([CTL, "-s", place.address, "backup", place.path("b"), "--passphrase-file",
                               place.path("passphrase")], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: any(n.startswith("b.") for n in os.listdir(place.folder)))
    wait_until(lambda: any(n.startswith("backup-") for n in os.listdir(place.state)) or client.poll() is not None)
    assert client.poll() is None, client.communicate()
    p.kill()
    p.wait()
    _, said = client.communicate(timeout=60)
    assert client.returncode == 3 and "connection was lost" in said, (client.returncode, said)
    # The next backup removes the copy of the database. The encrypted file is already removed.
    with place.daemon():
        place.run_ctl("backup", place.path("whole"))
    assert not left(), left()


def a_killed_restore_loses_nothing():
    """The restore is killed at many times from its beginning to its end; once its disk is full."""
    place = Machine()
    with place.daemon():
        place.rest()
    former = place.files()
    key = former["m_key"]

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

    said = place.run_ctl("restore", first.path("backup"), "--state-dir", place.state, "--replace", code=1,
                         preexec_fn=small_files)
    assert "File too large" in said and place.files() == former, said
    for delay in range(12):
        p = subprocess.Popen([FABRICD, "--state-dir", place.state, "--passphrase-file", place.path("passphrase"),
                              "--restore", first.path("backup"), "--replace"], stdout=subprocess.DEVNULL)
        if delay < 4:
            time.sleep(0.02 * 2 ** delay)
        else:
            wait_until(lambda: p.poll() is not None or os.path.exists(os.path.join(place.state, "restore.new")))
            time.sleep(0.02 * (delay - 4))
        p.kill()
        p.wait()
        # The first key is in the state directory or in the folder of former files.
        kept = place.files()
        assert any(os.path.basename(n) == "m_key" and kept[n] == key for n in kept), (delay, kept.keys())
    place.run_ctl("restore", first.path("backup"), "--state-dir", place.state, "--replace")
    assert place.files()["m_key"] == read(os.path.join(first.state, "m_key"))
    assert not [n for n in os.listdir(place.state) if n.startswith("restore.")]
    with place.daemon():
        assert json.loads(place.ctl("audit", "verify", "-o", "json"))["intact"]


def a_terminal_asks():
    """The terminal asks twice for a new passphrase, without an echo."""
    def talk(arguments, *answers):
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(CTL, [CTL, "-s", first.address, *arguments], dict(os.environ, FABRICCTL_FABRICD=FABRICD))
        said = b""
        for prompt, answer in answers:
            while prompt not in said.rsplit(b"\n", 1)[-1]:
                said += os.read(fd, 1000)
            time.sleep(0.1)
            os.write(fd, answer + b"\n")
            said += b"\n"
        with contextlib.suppress(OSError):
            while more := os.read(fd, 1000):
                said += more
        os.close(fd)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.decode()

    word = PASSPHRASE.encode()
    with first.daemon():
        code, said = talk(["backup", first.path("typed")], (b"Passphrase", word), (b"again", word[:-1] + b"x"))
        assert code == 1 and "the two passphrases differ" in said and not os.path.exists(first.path("typed")), said
        code, said = talk(["backup", first.path("typed")], (b"Passphrase", word), (b"again", word))
        assert code == 0 and "Files:" in said and PASSPHRASE not in said, said
    code, said = talk(["restore", first.path("typed"), "--verify"], (b"Passphrase", word))
    assert code == 0 and "complete and not changed" in said and PASSPHRASE not in said, said
    for damaged in (b"", read(first.path("typed"))[:-1]):
        with open(first.path("bad"), "wb") as f:
            f.write(damaged)
        said = first.run_ctl("restore", first.path("bad"), "--verify", code=1)
        assert "its end is missing" in said or "shorter than the header" in said, said
    said = first.run_ctl("restore", first.path("typed"), "--verify", "--replace", code=2)
    assert "either" in said, said
    assert not [n for n in os.listdir("/tmp") if n.startswith("fabricd-verify-")]


main([
    another_machine_takes_over,
    a_stopped_manager_comes_back_row_by_row,
    whoever_changes_it_is_noticed,
    nothing_is_lost,
    a_killed_backup_leaves_nothing_for_long,
    a_newer_schema_is_refused,
    the_passphrase_is_kept,
    another_user_restores_it,
    fabricctl_brings_a_manager_to_another_machine,
    a_broken_backup_leaves_nothing,
    a_killed_restore_loses_nothing,
    a_terminal_asks,
])
