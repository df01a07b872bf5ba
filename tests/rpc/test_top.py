"""fabricctl top on a pseudo-terminal and in a pipe, and the pictures of -o svg, beside a fake manager."""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
from xml.etree import ElementTree

from harness import BUILD, fake, main, socket_path, wait_until

CTL = os.path.join(BUILD, "cli/fabricctl")
PATIENCE = 60


def environment(**more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("FABRICCTL") and k not in ("NO_COLOR", "COLUMNS")}
    return dict(clean, TZ="UTC", LC_ALL="C.UTF-8", TERM="xterm", **more)


def run(address, *arguments, **env):
    return subprocess.run([CTL, "-s", address, *arguments], capture_output=True, text=True, timeout=PATIENCE,
                          env=dict(environment(), **env))


def succeeds(address, *arguments, **env):
    done = run(address, *arguments, **env)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout


class Terminal:
    """A program on a pseudo-terminal, and what its screen shows."""

    def __init__(self, address, *arguments, columns=80, rows=24, **env):
        self.ours, theirs = pty.openpty()
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.text, self.colours, self.alternate = "", 0, 0
        self.columns, self.rows = columns, rows
        self.resize(columns, rows)
        self.process = subprocess.Popen([CTL, "-s", address, "top", *arguments], stdin=theirs, stdout=theirs,
                                        stderr=theirs, env=dict(environment(), **env), start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.05):
        while select.select([self.ours], [], [], seconds)[0]:
            try:
                self.text += os.read(self.ours, 65536).decode()
            except OSError:
                return
            seconds = 0

    def screen(self):
        """Returns the lines of the last picture that is complete. A picture begins with Home and ends with an erasure."""
        self.read()
        pictures = re.findall(r"\x1b\[H(.*?)\x1b\[J", self.text, re.S)
        if not pictures:
            return []
        picture = pictures[-1]
        self.colours = len(re.findall(r"\x1b\[[0-9;]*m", picture))
        lines = re.sub(r"\x1b\[[0-9;]*m", "", picture).split("\r\n")
        assert all(line.endswith("\x1b[K") for line in lines), lines
        lines = [line[:-3] for line in lines]
        assert all("\x1b" not in line and "\n" not in line for line in lines), lines
        return lines

    def shows(self, *wanted):
        def look():
            lines = self.screen()
            fits = len(lines) <= self.rows and max(map(len, lines), default=0) <= self.columns
            return lines if fits and all(any(w in line for line in lines) for w in wanted) else None
        end = time.monotonic() + PATIENCE
        while True:
            lines = look()
            if lines:
                return lines
            assert time.monotonic() < end and self.process.poll() is None, (wanted, self.screen(), self.text[-400:])

    def press(self, key):
        os.write(self.ours, key.encode())

    def ended(self):
        """Waits for the end of the program. Returns its exit code. The terminal must be as before."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            self.read()
            assert time.monotonic() < end, "the program does not end"
        self.read()
        assert termios.tcgetattr(self.theirs) == self.before
        assert self.text.count("\x1b[?1049h") == self.text.count("\x1b[?1049l")
        assert self.text.count("\x1b[?25l") == self.text.count("\x1b[?25h")
        os.close(self.ours)
        os.close(self.theirs)
        return self.process.returncode


def top_prints_plain_text_in_a_pipe():
    with fake(events=1) as s:
        text = succeeds(s.address, "top")
        lines = text.splitlines()
        assert max(map(len, lines)) <= 80 and "\x1b" not in text and not any(x.endswith(" ") for x in lines), text
        assert lines[0].startswith("Manager  master") and re.search(r"^Load     CPU \d+\.\d %, event loop", text, re.M)
        assert "memory" in text and "SMPs in flight" in text, text
        # 11 GB/s of 4x EDR
        assert re.search(r"^leaf-001/3 +host-0003/1 +88 % +11.0 GB/s +- +7.0 % +3$", text, re.M), text
        assert re.search(r"^0x0002c901000+~/7 +- ", text, re.M), text  # a node that is gone
        assert re.search(r"^held down +leaf-001/3 +spine-001/1 +went down 7 times$", text, re.M), text
        assert "LINKS 1 held down" in text and "EVENTS" in text, text
        wide = succeeds(s.address, "top", "--by", "errors", COLUMNS="120")
        assert "BUSIEST PORTS by errors, of 2" in wide and "PACKETS S" in wide and "PACKETS S" not in text
        twice = succeeds(s.address, "top", "-n", "2")
        assert twice.count("BUSIEST PORTS") == 2
        assert run(s.address, "top", "--by", "size").returncode == 2
        assert run("unix:" + socket_path(), "top").returncode == 3


def top_prints_json():
    with fake(events=1) as s:
        wait_until(lambda: json.loads(succeeds(s.address, "top", "-o", "json"))["events"])
        top = json.loads(succeeds(s.address, "top", "-o", "json"))
        assert top["ports"][0]["node"] == "leaf-001" and 87 < top["ports"][0]["load_percent"] < 89, top
        assert top["ports"][1]["load_percent"] is None  # the port is gone
        assert top["cpu_percent"] >= 0 and top["loop_percent"] >= 0 and top["resident_bytes"] > 1 << 20, top
        assert [(x["state"], x["a_node"], x["a_port"]) for x in top["links"]] == [("held down", "leaf-001", 3)], top
        assert top["events"] and {"time", "severity", "type", "subject", "message"} <= top["events"][0].keys()


def top_follows_keys_and_the_size():
    with fake(events=1) as s:
        t = Terminal(s.address)
        lines = t.shows("BUSIEST PORTS by data", "leaf-001/3", "EVENTS", "q quit")
        assert len(lines) == 24 and t.colours > 10, lines
        t.press("e")
        t.shows("BUSIEST PORTS by errors")
        t.press(" ")
        t.shows("PAUSED (space)")
        t.press("w")
        t.shows("BUSIEST PORTS by wait", "PAUSED (space)")
        t.resize(132, 40)
        assert len(t.shows("PACKETS S", "PAUSED")) == 40
        t.resize(40, 10)
        assert len(t.shows("BUSIEST PORTS")) <= 10
        t.press(" ")
        t.resize(80, 24)
        t.shows("space pause", "EVENTS")
        t.press("q")
        assert t.ended() == 0


def top_leaves_the_terminal_as_it_was():
    with fake() as s:
        t = Terminal(s.address, NO_COLOR="1")
        t.shows("BUSIEST PORTS")
        assert t.colours == 0
        t.process.send_signal(signal.SIGTERM)
        assert t.ended() == -signal.SIGTERM
        t = Terminal(s.address)
        t.shows("BUSIEST PORTS")
        t.press("\x03")  # Ctrl-C
        assert t.ended() == -signal.SIGINT
        t = Terminal(s.address)
        t.shows("BUSIEST PORTS")
        t.press("\x1a")  # Ctrl-Z
        wait_until(lambda: (t.read(), t.text.count("\x1b[?1049l") == 1)[1])
        wait_until(lambda: open(f"/proc/{t.process.pid}/stat").read().split()[2] == "T")
        assert termios.tcgetattr(t.theirs) == t.before
        t.process.send_signal(signal.SIGCONT)
        wait_until(lambda: (t.read(), t.text.count("\x1b[?1049h") == 2)[1])
        t.shows("BUSIEST PORTS")
        t.press("q")
        assert t.ended() == 0
        t = Terminal(s.address, TERM="dumb")
        assert t.ended() == 0 and "\x1b" not in t.text and "BUSIEST PORTS" in t.text


def top_waits_for_a_lost_manager():
    address = "unix:" + socket_path()
    with fake(address=address) as s:
        t = Terminal(address)
        t.shows("BUSIEST PORTS")
    t.shows("Old", "asked again every 2 s", "BUSIEST PORTS")
    with fake(address=address) as s:
        end = time.monotonic() + PATIENCE
        while any(line.startswith("Old") for line in t.screen()):
            assert time.monotonic() < end
        t.press("q")
        assert t.ended() == 0


# ---- pictures

SVG = "{http://www.w3.org/2000/svg}"


def picture(address, *words):
    """Returns the texts of a picture, after checks that hold for all pictures."""
    text = succeeds(address, *words, "-o", "svg")
    root = ElementTree.fromstring(text)
    assert root.tag == SVG + "svg" and root.find(SVG + "title").text
    width, height = map(int, root.get("viewBox").split()[2:])
    for e in root.iter():
        for name, most in (("x", width), ("y", height), ("cx", width), ("cy", height)):
            if e.get(name) is not None:
                assert -1 <= float(e.get(name)) <= most + 1, ElementTree.tostring(e)
        if e.tag == SVG + "rect" and e.get("width") and e.get("x"):
            assert float(e.get("x")) + float(e.get("width")) <= width + 1, ElementTree.tostring(e)
            assert float(e.get("height")) >= 0 and float(e.get("width")) >= 0
    assert "nan" not in text and "inf" not in text.lower().replace("info", "")
    return root, ["".join(e.itertext()) for e in root.iter(SVG + "text")]


def the_past_of_ports_is_drawn():
    hour = "--since 2026-11-20T00:00:00Z --until 2026-11-20T01:00:00Z".split()
    with tempfile.TemporaryDirectory() as state, fake(hosts=2, env={"HISTORY": state}) as s:
        root, texts = picture(s.address, "port", "history", "leaf-001/3", *hour)
        assert {"Port leaf-001/3", "Data, MB/s", "Time without credits, %", "Errors, per sample", "Link down, s",
                "sent", "received", "UTC", "60 samples of 60 s"} <= set(texts), texts
        assert {"00:10", "00:30", "2026-11-20 01:00"} <= set(texts), texts
        lines = [p.get("d") for p in root.iter(SVG + "path") if p.get("class") in ("line wide s0", "line s0", "line s1")]
        assert len(lines) == 3 and len(re.findall("V", lines[0])) == 59, lines  # a step for each sample
        bars = [r for r in root.iter(SVG + "rect") if r.get("class") == "f0" and float(r.get("height")) != 9]
        assert len(bars) == 49 + 1  # 49 minutes with errors, and one with a link that was down
        root, texts = picture(s.address, "port", "history", "leaf-001/3", *hour, "-n", "10")
        assert "sent, peak" in texts and "18 samples of 60 s to 15 min" in texts, texts
        root, texts = picture(s.address, "port", "history", "leaf-001/3", *hour, "--counter", "SymbolErrorCounter")
        assert "SymbolErrorCounter, per sample" in texts and "Data, MB/s" not in texts, texts
        root, texts = picture(s.address, "link", "history", "leaf-001/3", *hour)
        assert {"Data from A to B, MB/s", "A sent", "B received"} <= set(texts), texts
        done = run(s.address, "port", "history", "leaf-001/3", "--since", "2026-11-21", "--until", "2026-11-22", "-o", "svg")
        assert done.returncode == 4 and "nothing to draw" in done.stderr and done.stdout == "", done


def other_pictures_are_drawn():
    with fake(events=2, env={"CONGESTION": "1"}) as s:
        _, texts = picture(s.address, "cc", "congested")
        assert "Congested ports" in texts and "Time without credits, %" in texts, texts
        _, texts = picture(s.address, "route", "quality")
        assert {"Quality of the active tables", "shifts", "random permutations", "bound of every routing"} <= set(texts)
        _, texts = picture(s.address, "route", "compare", "updn", "minhop")
        assert "Tables of the routing engines" in texts and any(x.startswith("updn") for x in texts), texts
        wait_until(lambda: run(s.address, "history", "*", "-o", "svg").returncode == 0)
        root, texts = picture(s.address, "history", "*")
        assert "History of *" in texts and len(list(root.iter(SVG + "circle"))) >= 1, texts
        done = run(s.address, "port", "list", "-o", "svg")
        assert done.returncode == 2 and "has no picture; port history, link history" in done.stderr, done
        assert run(s.address, "cc", "congested", "--watch", "-o", "svg").returncode == 2


def the_fabric_is_drawn_with_its_load():
    with fake() as s:
        text = succeeds(s.address, "topo", "export", "--format", "svg")
        root = ElementTree.fromstring(text)
        lines = {e.find(SVG + "title").text: e for e in root.iter(SVG + "line")}
        (hot,) = [e for title, e in lines.items() if title.startswith("leaf-001 - spine-001")]
        assert hot.get("class") == "l0" and "load 7.9 % there, ? back" in hot.find(SVG + "title").text, lines.keys()
        texts = ["".join(e.itertext()) for e in root.iter(SVG + "text")]
        assert {"load of links", "> 90 %", "degraded", "not up"} <= set(texts), texts


if __name__ == "__main__":
    main([top_prints_plain_text_in_a_pipe, top_prints_json, top_follows_keys_and_the_size,
          top_leaves_the_terminal_as_it_was, top_waits_for_a_lost_manager, the_past_of_ports_is_drawn,
          other_pictures_are_drawn, the_fabric_is_drawn_with_its_load])
