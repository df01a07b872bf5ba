"""fabsim as users call it: each family with the counts that its definition gives, the options, what is
refused and with which words, and the commands of `fabsim serve` from sockets and standard input."""

import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
import traceback

FABSIM = os.path.join(os.environ.get("abs_top_builddir", os.getcwd()), "cli/fabsim")
WORK = tempfile.mkdtemp(prefix="fabsim-")
NAME = "test-" + os.path.basename(WORK)


def fabsim(*arguments, code=0, **how):
    done = subprocess.run([FABSIM, *arguments], capture_output=True, text=True, timeout=60, cwd=WORK,
                          **({"stdin": subprocess.DEVNULL} if "input" not in how else {}), **how)
    assert done.returncode == code, done
    assert code == 0 or done.stderr, done
    return done.stdout if code == 0 else done.stderr


def count(path):
    """Returns the numbers of `fabsim check`: {label: number}, with labels such as "switches" and "8 ports"."""
    return {m.group(1): int(m.group(2))
            for m in re.finditer(r"^ *(.*?) +(\d+)$", fabsim("check", path), re.M)}


def generate(words):
    fabsim("generate", *words.split(), "-o", "f.net")
    return count("f.net")


def read(name):
    with open(os.path.join(WORK, name)) as f:
        return f.read()


# Family and options: hosts, ISLs, and the number of switches by their number of ports.
FAMILIES = [
    # each of 3 leaves has 2 links to each of 2 spines
    ("leaf-spine --leaves 3 --spines 2 --hosts 4 --parallel 2", 12, 12, {6: 2, 8: 3}),
    ("leaf-spine --leaves 3 --spines 2 --hosts 4", 12, 6, {3: 2, 6: 3}),
    # 2 uplinks and 6 hosts at each of the 8 leaves, 2 spines
    ("fat-tree --radix 8 --levels 2 --taper 3", 48, 16, {8: 10}),
    ("fat-tree --radix 4 --levels 3", 16, 32, {4: 20}),
    # half of the links of a spine are the second links to the same leaf
    ("fat-tree --radix 8 --levels 2 --parallel 2", 16, 16, {8: 6}),
    # 6, 4 and 4 switches; 6 * 2 * 2 links above the first level, 4 * 2 above the second
    ("pgft --m 4,3,2 --w 1,2,2 --p 1,2,1", 24, 32, {8: 10, 2: 4}),
    ("pgft --m 4,3,2 --w 1,2,2", 24, 6 * 2 + 4 * 2, {6: 6, 5: 4, 2: 4}),
    ("xgft --m 3,4 --w 1,2", 12, 8, {5: 4, 4: 2}),
    # 3 groups of 8 leaves, each with 4 uplinks
    ("rail --servers 12 --group-size 4 --spines 4", 12 * 8, 24 * 4, {8: 24, 24: 4}),
    # 2 groups of 4 leaves; 2 spines for each rail, each with 2 links to each of its 3 cores
    ("rail --servers 8 --adapters 4 --group-size 4 --spines 2 --cores 3 --core-parallel 2",
     32, 8 * 2 + 8 * 3 * 2, {6: 8, 8: 8 + 6}),
    ("rail --servers 8 --adapters 2 --group-size 4 --spines 2 --parallel 3", 16, 4 * 2 * 3,
     {10: 4, 12: 2}),
    # 9 groups of 4 switches: 6 links in each group, one between any two groups
    ("dragonfly --group-size 4 --global 2 --hosts 2", 72, 9 * 6 + 36, {7: 36}),
    # 5 groups: two links between any two groups
    ("dragonfly --group-size 4 --global 2 --hosts 2 --groups 5 --parallel 2", 40,
     5 * 6 * 2 + 10 * 2, {10: 20}),
    ("dragonfly-plus --leaves 3 --spines 2 --global 2 --hosts 3", 45, 5 * 6 + 10, {5: 25}),
    ("dragonfly-plus --groups 3 --leaves 3 --spines 2 --global 2 --hosts 1 --parallel 2", 9,
     3 * 6 * 2 + 3 * 2, None),
    ("torus --size 4,3,3 --hosts 2 --parallel 2", 72, 36 * 3 * 2, {14: 36}),
    ("torus --size 4x3 --hosts 1", 12, 24, {5: 12}),
    ("mesh --size 5,4 --hosts 2", 40, 4 * 4 + 5 * 3, None),
    ("mesh --size 5,4 --hosts 2 --parallel 2", 40, 2 * (4 * 4 + 5 * 3), None),
    ("hypercube --dimensions 5 --hosts 2", 64, 32 * 5 // 2, {7: 32}),
    ("hypercube --dimensions 3 --hosts 1 --parallel 2", 8, 8 * 3, {7: 8}),
    # each switch has links to 3 + 2 other switches
    ("hyperx --size 4,3 --hosts 3", 36, 12 * 5 // 2, {8: 12}),
    ("hyperx --size 4,3 --hosts 3 --parallel 2", 36, 12 * 5, {13: 12}),
]


def families_have_their_counts():
    for words, hosts, links, ports in FAMILIES:
        found = generate(words)
        assert (found["hosts"], found["between switches"], found["components"]) == (
            hosts, links, 1), (words, found)
        assert found["links"] == hosts + links, (words, found)
        by_ports = {int(k.split()[0]): v for k, v in found.items() if k.endswith(" ports")}
        assert ports is None or by_ports == ports, (words, found)
        assert sum(by_ports.values()) == found["switches"], (words, found)
    found = generate("random --switches 15 --degree 5 --hosts 4 --seed 3")
    assert (found["switches"], found["hosts"], found["components"]) == (15, 60, 1)
    assert 14 <= found["between switches"] <= 15 * 5 / 2, found
    text = read("f.net")
    assert generate("random --switches 15 --degree 5 --hosts 4 --seed 3") == found
    assert read("f.net") == text
    generate("random --switches 15 --degree 5 --hosts 4 --seed 4")
    assert read("f.net") != text


def files_have_the_mode_of_the_umask():
    for mask in (0o022, 0o077, 0o007):
        before = os.umask(mask)
        try:
            generate("leaf-spine --leaves 2 --spines 1 --hosts 1")
        finally:
            os.umask(before)
        mode = stat.S_IMODE(os.stat(os.path.join(WORK, "f.net")).st_mode)
        assert mode == 0o666 & ~mask, oct(mode)


def variations_are_made():
    grid = "torus --size 3,3 --hosts 1"
    assert generate(grid + " --radix 36")["36 ports"] == 9
    found = generate(grid + " --aggregation-nodes")
    assert (found["aggregation nodes"], found["hosts"], found["6 ports"]) == (9, 9, 9), found
    assert generate(grid + " --missing 4")["between switches"] == 14
    assert generate(grid + " --missing 50% --allow-partitioned")["between switches"] == 9
    assert generate(grid + " --missing 100% --allow-partitioned")["components"] == 9
    assert generate(grid + " --missing 0%")["between switches"] == 18
    plain, text = read("f.net"), {}
    for seed in (1, 2):
        generate(grid + f" --missing 4 --seed {seed}")
        text[seed] = read("f.net")
    assert text[1] != text[2]
    generate(grid + " --shuffle-guids")
    names = lambda t: sorted(re.findall(r'# "([^"]*)"', t))
    guids = lambda t: re.findall(r'^(?:Ca|Switch)\s.*?"(.*?)"\s+# "(.*?)"', t, re.M)
    assert guids(plain) != guids(read("f.net"))
    assert names(plain) == names(read("f.net"))
    for options, rate in (("", "4xEDR"), (" --speed NDR", "4xNDR"), (" --speed HDR --width 2", "2xHDR"),
                          (" --width 12 --speed SDR", "12xSDR"), (" --width 0x1", "1xEDR")):
        generate(grid + options)
        assert set(re.findall(r" (\d+x[A-Z]+)$", read("f.net"), re.M)) == {rate}, options


def planes_are_files_of_their_own():
    grid = ["generate", "torus", "--size", "3,3", "--hosts", "1"]
    for out, files in (("p.net", ["p-plane1.net", "p-plane2.net", "p-plane3.net"]),
                       ("./q.d/file", ["q.d/file-plane1", "q.d/file-plane2", "q.d/file-plane3"]),
                       (".hidden", [".hidden-plane1", ".hidden-plane2", ".hidden-plane3"])):
        os.makedirs(os.path.join(WORK, "q.d"), exist_ok=True)
        fabsim(*grid, "--planes", "3", "-o", out)
        guids = set()
        for name in files:
            assert count(name)["switches"] == 9
            guids |= set(re.findall(r"\w*guid=0x(\w+)", read(name)))
        once = set(re.findall(r"\w*guid=0x(\w+)", read(files[0])))
        assert len(guids) == 3 * len(once), "no GUID is in two planes"
    fabsim(*grid, "--planes", "1", "-o", "one.net")
    assert count("one.net")["hosts"] == 9 and not os.path.exists(os.path.join(WORK, "one-plane1.net"))
    assert fabsim(*grid) == fabsim(*grid, "-o", "-") == fabsim(*grid, "--output=-") == read("one.net")
    for planes in ("0", "256"):
        assert "--planes is 1 to 255" in fabsim(*grid, "--planes", planes, "-o", "z.net", code=2)
    assert "needs -o FILE" in fabsim(*grid, "--planes", "2", code=2)


# Arguments that are refused, the exit code, and a part of the message.
REFUSED = [
    ("", 2, "usage:"),
    ("frobnicate", 2, 'no command "frobnicate"'),
    ("generate", 2, "families:"),
    ("generate moebius", 2, 'no family "moebius"'),
    ("generate --hosts", 2, "families:"),
    ("generate torus --size 3,3 --hosts 1 --levels 2", 2, "unrecognized option '--levels'"),
    ("generate torus --size 3,,3 --hosts 1", 2, '--size: "3,,3" is not 1 to 6 numbers'),
    ("generate torus --size 3,3, --hosts 1", 2, '--size: "3,3," is not 1 to 6 numbers'),
    ("generate torus --size 3;3 --hosts 1", 2, '--size: "3;3" is not 1 to 6 numbers'),
    ("generate torus --size 2,2,2,2,2,2,2 --hosts 1", 2, "is not 1 to 6 numbers"),
    ("generate torus --size 4294967295 --hosts 1", 2, "is not 1 to 6 numbers"),
    ("generate torus --size 3,0 --hosts 1", 1, "torus: no such fabric is possible: --size is 1 to 6"),
    ("generate torus --size 3,3 --hosts 1 --missing 101%", 2,
     '--missing: "101%" is not a number, or 0% to 100%'),
    ("generate torus --size 3,3 --hosts 1 --missing -1%", 2, "--missing"),
    ("generate torus --size 3,3 --hosts 1 --missing %", 2, "--missing"),
    ("generate torus --size 3,3 --hosts 1 --missing 5%%", 2, "--missing"),
    ("generate torus --size 3,3 --hosts 1 --missing 4294967295", 2, "--missing"),
    ("generate torus --size 3,3 --hosts 1 --missing 11", 1, "without --allow-partitioned"),
    ("generate torus --size 3,3 --hosts 1 --missing 19 --allow-partitioned", 1, "can be missing"),
    ("generate torus --size 3,3 --hosts 1 --speed ABC", 2, "no link has 4 lanes ABC"),
    ("generate torus --size 3,3 --hosts 1 --width 3", 2, "no link has 3 lanes EDR"),
    ("generate torus --size 3,3 --hosts 1 --width 260", 2, "no link has 260 lanes EDR"),
    ("generate torus --size 3,3 --hosts 1 --speed NDRNDRNDRNDRNDR", 2, "no link has 4 lanes NDR"),
    ("generate torus --size 3,3 --hosts 1 --radix 4", 1, "more ports than --radix"),
    ("generate torus --size 3,3 --hosts 1 more", 2, 'unexpected argument "more"'),
    ("generate leaf-spine --leaves 3 --spines 2", 2, "generate leaf-spine needs --hosts"),
    ("generate leaf-spine --leaves 2 --spines 1 --hosts 254", 1, "each switch has at most 254 ports"),
    ("generate leaf-spine --leaves 99999999999 --spines 1 --hosts 2", 1, "no such fabric"),
    ("generate fat-tree --radix x --levels 2", 2, '--radix: "x" is not a number from 0 on'),
    ("generate fat-tree --radix -4 --levels 2", 2, '--radix: "-4" is not a number from 0 on'),
    ("generate fat-tree --radix 4x --levels 2", 2, '--radix: "4x" is not a number from 0 on'),
    ("generate fat-tree --radix 99999999999999999999 --levels 2", 2, "is not a number"),
    ("generate fat-tree --radix 4 --levels 7", 1, "--levels 1 to 6"),
    ("generate pgft --m 4,3 --w 1,2,2", 1, "as many of each"),
    ("generate pgft --m 4,3 --w 1,2 --p 1,1,1", 1, "as many of each"),
    ("check", 2, "fabsim check FILE"),
    ("check nothing.net", 1, "nothing.net: cannot be opened: No such file"),
    ("check .", 1, "cannot be read: Is a directory"),
    ("mads", 2, "fabsim mads [-v] FILE"),
    ("mads -x file", 2, "usage"),
    ("mads nothing", 1, "nothing: cannot be opened"),
    ("serve", 2, "fabsim serve FILE"),
    ("serve nothing.net", 1, "nothing.net: cannot be opened"),
    ("serve g.net --seed x", 2, '--seed: "x" is not a number'),
    ("serve g.net --seed -1", 2, '--seed: "-1" is not a number'),
    ("serve g.net --seed 1x", 2, '--seed: "1x" is not a number'),
    ("serve g.net --loss 1.1", 2, '--loss: "1.1" is not a number from 0 to 1'),
    ("serve g.net --loss -0.1", 2, "is not a number from 0 to 1"),
    ("serve g.net --loss nan", 2, "is not a number from 0 to 1"),
    ("serve g.net --loss 1%", 2, "is not a number from 0 to 1"),
    ("serve g.net --host nobody", 1, '--host: no node "nobody"'),
    ("serve g.net more", 2, "usage"),
    ("serve bad.net", 1, "bad.net:"),
    ("serve empty.net", 1, "empty.net:1:1: expected a Switch, Ca or Rt line, found none"),
    (f"ctl --socket {NAME} status", 1, f'no simulator serves as "{NAME}"'),
    ("ctl --nonsense", 2, "usage"),
]


def mistakes_are_named():
    generate("torus --size 3,3 --hosts 1")
    text = read("f.net")
    for name, what in (("g.net", text), ("bad.net", text.replace("[1]\t", "[x]\t", 1)),
                       ("empty.net", "# nothing\n")):
        with open(os.path.join(WORK, name), "w") as f:
            f.write(what)
    for words, code, part in REFUSED:
        said = fabsim(*words.split(), code=code)
        assert part in said, (words, said)
    assert re.search(r"^bad\.net:\d+:\d+: ", fabsim("check", "bad.net", code=1))
    assert fabsim("check", "-", input=text) == fabsim("check", "g.net")
    fabsim("generate", "torus", "--size", "3,3", "--hosts", "1", "-o", "none/f.net", code=1)
    assert not [n for n in os.listdir(WORK) if n.startswith("f.net.")], "no temporary file is left"
    mask = os.umask(0o027)
    try:
        fabsim("generate", "torus", "--size", "3,3", "--hosts", "1", "-o", "masked.net")
    finally:
        os.umask(mask)
    assert os.stat(os.path.join(WORK, "masked.net")).st_mode & 0o777 == 0o640


def help_lists_everything():
    everything = fabsim("--help")
    assert everything == fabsim("-h")
    for command in ("generate", "check", "serve", "ctl", "mads"):
        assert f"\n  fabsim {command} " in everything
        own = fabsim(command, "--help")
        assert own == fabsim(command, "-h")
        assert own.startswith(f"usage:\n  fabsim {command} "), own
    assert fabsim(code=2) == everything
    assert re.fullmatch(r"fabsim \d+\.\d+\S*\n", fabsim("--version"))
    assert fabsim("-V") == fabsim("--version")
    families = [line.split()[0] for line in fabsim("generate", "--help").split("families:\n")[1].splitlines()]
    assert len(families) == len(set(families)) >= 12
    for family in families:
        of, common = fabsim("generate", family, "--help").split("options of all families:\n")
        assert of.startswith(f"fabsim generate {family}: "), of
        assert "(needed)" in of
        assert re.search(r"--speed SPEED .*\(EDR\)", common) and re.search(r"--width W .*\(4\)", common)
        assert re.search(r"--aggregation-nodes .*port$", common, re.M)
    rails = fabsim("generate", "rail", "-h")
    assert re.search(r"--adapters R .*\(8\)$", rails, re.M) and not re.search(r"--levels", rails)
    assert re.search(r"--servers N .*\(needed\)$", rails, re.M)
    assert re.search(r"--cores N .*of each rail$", rails, re.M)
    assert re.search(r"^  loss SHARE +loses that share of all MADs", fabsim("ctl", "--help"), re.M)


# ---- fabsim serve ------------------------------------------------------------------------------

class Server:
    def __init__(self, *arguments, text=None, **how):
        generate("leaf-spine --leaves 2 --spines 2 --hosts 3")
        if text:
            with open(os.path.join(WORK, "f.net"), "w") as f:
                f.write(text)
        self.process = subprocess.Popen([FABSIM, "serve", "f.net", "--socket", NAME, *arguments], cwd=WORK,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        stdin=how.get("stdin", subprocess.DEVNULL))

    def __enter__(self):
        end = time.monotonic() + 30
        while subprocess.run([FABSIM, "ctl", "--socket", NAME, "status"], capture_output=True,
                             stdin=subprocess.DEVNULL).returncode != 0:
            assert self.process.poll() is None and time.monotonic() < end, "it does not serve"
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    @staticmethod
    def ctl(*words, **how):
        return fabsim("ctl", "--socket", NAME, *words, **how)

    def end(self, how=None):
        """Ends the program by a signal, or waits until it ends. Returns its output."""
        if how is not None:
            self.process.send_signal(how)
        said, _ = self.process.communicate(timeout=20)
        assert self.process.returncode == 0, said
        return said


def signals_end_the_server():
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with Server() as s:
            s.end(one)
        assert NAME in fabsim("ctl", "--socket", NAME, "status", code=1)


def two_servers_do_not_share_a_name():
    with Server() as s:
        said = fabsim("serve", "f.net", "--socket", NAME, code=1)
        assert f'a simulator serves as "{NAME}" already' in said, said
        assert "4 switches" in s.ctl("status")
        s.ctl("stop")
        s.end()


def commands_come_from_standard_input():
    with Server("--console", "--loss", "0.25", stdin=subprocess.PIPE) as s:
        assert "4 switches, 6 adapters" in s.ctl("status")
        s.process.stdin.write("unlink leaf-001/1\nfrobnicate\nstatus")
        s.process.stdin.flush()
        s.process.stdin.close()
        s.process.stdin = None
        end = time.monotonic() + 20
        while "10 cables, 1 of them down" not in s.ctl("status"):
            assert time.monotonic() < end, s.ctl("status")
            time.sleep(0.02)
        s.ctl("stop")
        said = s.end()
        assert "frobnicate" in said and "4 switches" in said, said


def commands_come_from_a_file():
    """epoll cannot watch files. The commands of a file are executed before programs attach."""
    with open(os.path.join(WORK, "commands"), "w") as f:
        f.write("# a link and a half\nunlink leaf-001/1\nnonsense\nunlink leaf-002/4")
    with open(os.path.join(WORK, "commands")) as f, Server("--console", stdin=f) as s:
        assert "10 cables, 2 of them down" in s.ctl("status"), s.ctl("status")
        s.ctl("stop")
        said = s.end()
        assert "nonsense" in said and "fabsim> " not in said, said


def connect():
    """Opens a session of commands, as `fabsim ctl` does. Like in ibsim, the name ends with a NUL."""
    c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    c.settimeout(20)
    c.connect(f"\0{NAME}:fabsim\0")
    return c


def sessions_are_bounded():
    with Server() as s:
        many = []
        while True:
            c = connect()
            many.append(c)
            try:
                c.send(b"status\n")
            except BrokenPipeError:
                pass  # it was refused and closed at once
            try:
                answer = c.recv(65536)
            except ConnectionResetError:
                answer = c.recv(65536)  # the answer follows the error
            if b"too many" in answer:
                assert answer[:1] == b"1"
                break
            assert answer[:1] == b"0" and b"4 switches" in answer
            assert len(many) < 1000
        assert len(many) == 16 + 1
        assert "refused: too many connections" in s.ctl("status", code=1)
        for c in many:
            c.close()
        assert "4 switches" in s.ctl("status")  # there is room again
        c = connect()
        c.send(b"#" * 70000)
        answer = c.recv(65536)
        assert answer[:1] == b"1" and b"too long" in answer, answer
        assert c.recv(10) == b""
        s.ctl("stop")
        s.end()


def several_commands_have_one_answer():
    with Server() as s:
        said = s.ctl(input="loss 1%\nloss 0\nstatus\n")
        assert "4 switches" in said
        assert "nobody" in s.ctl("silence", "nobody", code=1)
        assert s.ctl(input="\n# none\n\n") == ""
        s.ctl("frobnicate", code=2)
        assert "the commands are too long" in s.ctl(input="#" * 65537, code=1)
        assert s.ctl(input="#\n" * 32768) == ""
        s.ctl("stop")
        s.end()


class Client:
    """A program under libumad2sim, which is one client of the server."""

    def __init__(self, number, node):
        def bound(role):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            s.settimeout(20)
            s.bind(f"\0{NAME}:{role}{number}\0")
            return s
        self.number, self.control, self.packets = number, bound("ctl"), bound("in")
        answer = self.ask(1, struct.pack("=III32s", number, 0, 0, node.encode()))
        assert struct.unpack_from("=I", answer, 8)[0] == 1, answer
        self.id, = struct.unpack_from("=I", answer, 16)
        self.node = answer[28:60].rstrip(b"\0").decode()

    def ask(self, kind, data=b"", client=0):
        """Returns the answer to a control request."""
        self.control.sendto(struct.pack("=IIII", 0xdeadbeef, client, kind, 64) + data.ljust(64, b"\0"), f"\0{NAME}:ctl\0")
        return self.control.recv(200)

    def send(self, tid, dlid=0xffff, length=288):
        """Requests NodeInfo by directed route without hops, or by LID."""
        mad = struct.pack(">BBBBHHQHHI", 1, 0x81 if dlid == 0xffff else 1, 1, 1, 0, 0, tid, 0x11, 0, 0)
        mad = (mad.ljust(32, b"\0") + b"\xff" * 4).ljust(256, b"\0")
        self.packets.sendto((struct.pack(">HHIII8xQ", dlid, 0, 0, 0, 0, 256) + mad)[:length].ljust(length, b"\0"),
                            f"\0{NAME}:out{self.id}\0")

    def receive(self):
        """Returns the status of the datagram, and the method, transaction ID and node GUID of the MAD."""
        packet = self.packets.recv(400)
        assert len(packet) == 288, len(packet)
        mad = packet[32:]
        return (struct.unpack_from(">I", packet, 16)[0], mad[3], struct.unpack_from(">Q", mad, 8)[0],
                struct.unpack_from(">Q", mad, 76)[0])

    def close(self):
        self.control.close()
        self.packets.close()


def programs_send_and_receive():
    with Server() as s:
        one, two = Client(4711, "host-0002"), Client(4712, "")
        assert (one.id, two.id) == (0, 1) and one.node == "H-0002c90200000004", (one.id, one.node)
        for tid in range(1, 101):  # more than the server reads at once
            one.send(tid)
        two.send(7)
        assert [one.receive() for _ in range(100)] == [(0, 0x81, tid, 0x0002c90200000004) for tid in range(1, 101)]
        said = two.receive()  # the high bits of the transaction ID identify the client
        assert said == (0, 0x81, 1 << 48 | 7, int(two.node[2:], 16)), (said, two.node)
        one.send(200, length=400)  # these have no answer
        one.send(201, length=100)
        one.send(202, dlid=99)  # no port has this LID
        status, method, tid, _ = one.receive()
        assert (status, method, tid) == (110, 1, 202), (status, method, tid)
        assert struct.unpack_from(">Q", one.ask(6, client=one.id), 16)[0] == 0x0002c90200000004
        assert struct.unpack_from("=I", two.ask(6, client=one.id), 8)[0] == 0  # it is not the client of this id
        clients = re.findall(r"^client (\d+) pid (\d+) at 0x(\w+)", s.ctl("status"), re.M)
        assert clients == [("0", "4711", "0002c90200000004"), ("1", "4712", two.node[2:])], s.ctl("status")
        assert struct.unpack_from("=I", one.ask(2, client=one.id), 8)[0] == 2
        one.close()
        two.close()  # without a message: the server must notice
        end = time.monotonic() + 30
        while "client" in s.ctl("status"):
            assert time.monotonic() < end, s.ctl("status")
            time.sleep(0.05)
        s.ctl("stop")
        s.end()


def a_program_without_a_node_is_attached_to_the_first_of_the_file():
    """The order in the file counts, and not that of the GUIDs. Switches need not come first."""
    nodes = [('switchguid=0x1\nSwitch\t2 "S-0000000000000001"\t\t# "leaf"', '[1]\t"H-0000000000000005"[1]', '[2]\t"H-0000000000000007"[1]'),
             ('caguid=0x5\nCa\t1 "H-0000000000000005"\t\t# "alpha"', '[1]\t"S-0000000000000001"[1]'),
             ('caguid=0x7\nCa\t1 "H-0000000000000007"\t\t# "beta"', '[1]\t"S-0000000000000001"[2]')]
    for order in ((0, 1, 2), (1, 0, 2), (2, 1, 0)):
        text = "# a comment\n\n" + "\n\n".join("\n".join(nodes[n]) for n in order) + "\n"
        for host, attached in ((None, order[0]), ("alpha", 1)):
            with Server(*(["--host", host] if host else []), text=text) as s:
                c = Client(4711, "")
                assert c.node == ("S-0000000000000001", "H-0000000000000005", "H-0000000000000007")[attached], c.node
                c.close()
                s.ctl("stop")
                s.end()


def main(tests):
    failed = 0
    print(f"1..{len(tests)}", flush=True)
    for number, test in enumerate(tests, 1):
        name = test.__name__.replace("_", " ")
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except BaseException:  # a test may end with any exception
            failed += 1
            print(f"not ok {number} - {name}")
            print("".join("# " + line + "\n" for line in traceback.format_exc().splitlines()), end="",
                  flush=True)
    shutil.rmtree(WORK, ignore_errors=True)
    sys.exit(1 if failed else 0)


main([
    families_have_their_counts,
    files_have_the_mode_of_the_umask,
    variations_are_made,
    planes_are_files_of_their_own,
    mistakes_are_named,
    help_lists_everything,
    signals_end_the_server,
    two_servers_do_not_share_a_name,
    commands_come_from_standard_input,
    commands_come_from_a_file,
    sessions_are_bounded,
    several_commands_have_one_answer,
    programs_send_and_receive,
    a_program_without_a_node_is_attached_to_the_first_of_the_file,
])
