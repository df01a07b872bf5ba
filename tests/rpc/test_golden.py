"""What fabricctl, fabsim and GET /metrics print, compared byte for byte with the files in golden/.

fabricd manages small simulated fabrics with rich settings. The test injects fixed faults, and after each
fault runs the reading commands of fabricctl. What differs from run to run is masked, see MASKS. golden_file.py
describes the files.
"""

import contextlib
import hashlib
import json
import os
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import time
import urllib.request

import grpc
from google.protobuf import text_format

from golden_file import CTL, FABRICD, FABSIM, SERVICE, Golden, class_of, colored, lines, ran, written
from harness import SOURCE, Fabric, channel, fake, main, running, socket_path, wait_until

# The parts that vary: times of day, measured durations, and numbers that depend on these. (An example is the number
# of contingency plans that were made before a change and are still valid after it.)
# What the manager uses of its machine.
LOAD = (r"^ *load \{\s*cpu_time (\{[^{}]*\}|<time>)\s*loop_time (\{[^{}]*\}|<time>)\s*resident_bytes: \d+\s*\}\n", "")
MASKS = [(re.compile(pattern, re.M), to) for pattern, to in (
    LOAD,
    (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", "<time>"),
    (r"(fabricd_contingency_(?:cpu_seconds_total|memory_bytes)) [\d.]+", r"\1 <n>"),
    (r"\d+ of them by plans", "<n> of them by plans"),
    (r"the computation [\d.]+ MiB", "the computation <n> MiB"),
    (r'("kept": )\d+', r"\1<n>"),
    (r"^(Full proof): .*", r"\1: <when>"),
    (r'("(?:proof_generation|proof_in_background|proof_due|background_proofs)": )\w+', r"\1<n>"),
    (r"\b(up|took|in|computed in|verified in|measured in) (\d+ (h|min) )?[\d.]+ (us|ms|s)\b", r"\1 <duration>"),
    (r" *\b\d+\.\d+ (us|ms|s)\b", " <duration>"),
    # It depends on timing whether a plan is kept after a change, with its figures, or computed again.
    (r"^(\S+(?: - \S+)?  \d+)  \d+  \d+  \d+ <duration>  ready$", r"\1  <n>  <n>  <n> <duration>  ready"),
    (r'("(uptime_s|\w+_ms|\w+_us|blocks_per_second|sequence)": )[\d.]+', r"\1<n>"),
    (r'("(smps_sent|smps_retried|window|in_flight|reads|writes|log_reads)": )[1-9]\d*', r"\1<n>"),
    (r"^Requests: +[1-9]\d* reads, [1-9]\d* writes", "Requests: <n> reads, <n> writes"),
    (r"^Logs: +[1-9]\d* reads", "Logs: <n> reads"),
    (r"by uid \d+, pid \d+", "by uid <uid>, pid <pid>"),
    (r"^((file|updn|nue|\w+\+?)(?: \*)?  (?:sound|refuses|failed|\w+ ?\w*)  )\d+\.\d{3}  (-|\d+\.\d{3})  ", r"\1<ms>  <ms>  "),
    (r"^SMPs: .*", "SMPs: <n>"),
    (r"\d+ MADs$", "<n> MADs"),
    (r"Time: at \d+ blocks a second", "Time: at <n> blocks a second"),
    # metrics
    (r"^(fabricd_(?:proof_generation|proof_due|background_proofs_total|background_proof_cpu_seconds_total)) .*", r"\1 <n>"),
    (r"^fabricd_loop_longest_seconds\{.*\n", ""),
    (r"^fabricd_loop_iteration_longest_seconds\{.*\n", ""),
    (r"^fabricd_phase_\w*seconds\w*\{.*\n", ""),
    (r"^(fabricd_(loop_\w+|\w+_seconds(_sum|_bucket)?|smps_\w+|port_reads_total|metrics_page_\w+|congestion_writes_total|sa_notices_total|traps_\w*total)(\{.*\})?) [\d.]+$", r"\1 <n>"),
    (r'^(fabricd_events_total\{type="trap-received".*\}) \d+$', r"\1 <n>"),
    # the history of counters may be open already, or not yet
    (r"^(fabricd_history_bytes) \d+$", r"\1 <n>"),
    # depends on how often this test waited
    (r"^fabricd_rpc_calls_total\{.*\n", ""),
)]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# ---- the messages

# Times, durations and numbers of requests vary.
VARIES = [(re.compile(pattern, re.M), to) for pattern, to in (
    (r"\{\n(?: *(?:seconds|nanos): .*\n)+ *\}", "<time>"),
    (r"^( *proof) \{(?:\n *(?:generation|time|duration|background|due|background_proofs)\b.*)+\n *\}", r"\1 { <when> }"),
    (r"^( *(?:\w*_us|sequence|smps_\w+|sent|retried|window|in_flight|reads|writes|log_reads|blocks_per_second|pid|uid)): .*",
     r"\1: <n>"),
)]


def called(c, name, request, varies=VARIES):
    """Returns the answers to a call."""
    method = SERVICE.methods_by_name[name]
    make = c.unary_stream if method.server_streaming else c.unary_unary
    stub = make(f"/fabric.v1.FabricService/{name}", request_serializer=lambda m: m.SerializeToString(),
                response_deserializer=class_of(method.output_type).FromString)
    message = text_format.Parse(request, class_of(method.input_type)())
    try:
        answer = stub(message, timeout=120)
        answers = list(answer) if method.server_streaming else [answer]
    except grpc.RpcError as e:
        return f"{e.code().name}: {e.details()}\n"
    return "---\n".join(written(a, varies) for a in answers)


class Place:
    """A folder with a fabric and settings, and a golden file."""

    def __init__(self, name, family, settings, files=()):
        self.folder = os.path.dirname(socket_path())
        self.golden = Golden(name, MASKS)
        self.port = free_port()
        self.topology = os.path.join(self.folder, "fabric.net")
        self.address = f"unix:{self.folder}/s"
        self.golden.hidden = [(self.folder, "<folder>"), (str(self.port), "<port>")]
        subprocess.run([FABSIM, "generate", *family.split(), "-o", self.topology], check=True)
        for file_name, text in dict(files).items():
            self.write(file_name, text)
        self.configure(settings)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)

    def configure(self, settings):
        self.write("fabricd.yaml", f"metrics: {{listen: '127.0.0.1:{self.port}', ports: none}}\n"
                   + settings.replace("FOLDER", self.folder))

    @contextlib.contextmanager
    def daemon(self, *options, where=None, env=None):
        command = [FABRICD, *(where or ["--sim", self.topology]), "-f", f"{self.folder}/fabricd.yaml",
                   "--state-dir", f"{self.folder}/state", "--listen", self.address, *options]
        with channel(self.address) as c:
            self.fabric = Fabric(c)
            def up(process):
                wait_until(lambda: process.poll() is not None or self.status().generation > 0)
                assert process.poll() is None, process.log()

            self.channel = c
            with running(command, up, env) as self.process:
                yield

    def messages(self, golden, calls):
        """Calls methods, and adds their answers to a golden file. Also gets the second page."""
        for line in lines(calls):
            name, _, request = line.partition(" ")
            text = called(self.channel, name, request)
            golden.add(line, text)
            page = re.search('^next_page_token: (".*")$', text, re.M)
            if page and "page_size" in line:
                golden.add(line + ", page 2", called(self.channel, name, f"{request} page_token: {page[1]}"))

    def colors(self, golden, commands):
        """Adds the colored lines of the output of commands on a terminal to a golden file."""
        for line in commands:
            golden.add("fabricctl " + line, colored(CTL, "-s", self.address, *line.split()))

    def status(self):
        return self.fabric.GetStatus(timeout=10).status

    def ctl(self, *arguments):
        return ran(CTL, "-s", self.address, *arguments)

    def json(self, line):
        return json.loads(self.ctl(*line.split(), "-o", "json"))

    def metrics(self):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/metrics",
                                         headers={"Accept": "application/openmetrics-text"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def traps(self):
        return int(re.search(r'type="trap-received".* (\d+)$', self.metrics(), re.M)[1])

    def is_dragonfly(self):
        """The tables of this engine have no contingencies, because they do not support local repair."""
        return self.json("status")["routing_engine"] == "dragonfly"

    def is_quiet(self):
        """Returns whether the manager is idle and its work in the background is complete."""
        if self.json("status")["state"] != "idle":
            return False
        text = self.ctl("route", "contingency", "-n", "1")  # "27 of 27 cases are up to date"
        if not re.search(r"^(\d+) of \1 cases are up to date", text, re.M) and not self.is_dragonfly():
            return False
        cc, status = self.json("cc status"), self.json("status")
        if cc["apply"] and (cc["pending"] or cc["generation"] != status["generation"]):
            return False
        return status["state"] == "idle" and "fabricd_multicast_pending 0\n" in self.metrics()

    def do(self, line, traps=0, links=None, until=lambda: True):
        """Runs a command, and waits until the manager has reacted."""
        seen, before = self.traps(), self.status().generation
        self.golden.step("fabricctl " + line)
        self.golden.add("fabricctl " + line, self.ctl(*line.split()))
        self.settle(lambda: self.traps() >= seen + traps and until()
                    and (links is None or self.json("status")["active_links"] == links))

    def settle(self, condition=lambda: True):
        wait_until(lambda: condition() and self.is_quiet())
        time.sleep(0.2)  # the writer of the database gathers records for 50 ms

    def show(self, commands, formats=("text", "json")):
        for line in commands:
            words = line.split()
            if {"export", "certify"} & set(words) and "cc" not in words or "--format" in words:
                self.golden.add("fabricctl " + line, self.ctl(*words))
                continue
            for form in formats:
                title = "fabricctl " + line + (" -o json" if form == "json" else "")
                if form == "json" and ("-n" in words or title in self.golden.last and line in LONG_IN_JSON):
                    continue
                text = self.ctl(*words, "-o", form)
                if words[0] != "reroute" and words[:2] not in (["route", "compare"], ["route", "contingency"]):
                    self.golden.add(title, text)
                else:  # the width of the columns depends on durations
                    self.golden.add(title, re.sub(r"(?<=\S)  +", "  ", text))
        if "json" in formats:
            self.golden.add("GET /metrics", self.metrics())


# ---- a fat tree with all features on

EXPORTS = [f"topo export --format {f}" for f in ("ibnetdiscover", "dot", "json", "slurm", "opensm-lst")] + [
    f"route export --format {f}" for f in ("opensm-lfts", "opensm-fdbs", "opensm-sl2vl", "path-sl")] + ["route certify"]
LEAF_SPINE = """
sweep: {light_interval: 0, heavy_interval: 0}
smp: {timeout_ms: 20000}
flapping: {flaps: 2, within: 3600, hold_down: 600, max_hold_down: 3600}
partitions: {file: FOLDER/partitions.conf, enforce: both, allow_both: yes}
congestion: {apply: yes, profile: incast, cc_key: 77, cable_m: 20, hop_ns: 200, marking_rate: 3}
counters: {interval: 0}
subnet: {sm_priority: 5, m_key: 0x1234, lmc: 1, max_mtu: 2048, max_vls: 8}
routing: {engine: fattree, roots: [0x0002c90100000006, 0x0002c90100000007, 0x0002c90100000008], rebalance_after: 0}
multicast: {mlids: 3, share: always}
qos:
  classes:
    - {name: storage, share: 40, match: ["service=0x1000-0x1fff"]}
    - {name: training, share: 30, match: ["qos_class=7", "from=host-0001"]}
    - {name: urgent, priority: high, rate_limit: 10, mtu_limit: 1024, match: ["to=host-0006"]}
contingency: {memory: 8}
locations: {file: FOLDER/locations.csv}
"""
LOCATIONS = """name,host,rack,row,slot
leaf-00[1-3],,A1,row-1,42
host-000[1-4],,A1,row-1,
host-0005,big,B2,row-2,7
host-0006,big,B2,row-2,7
"""
PARTITIONS = """
Default=0x7fff, ipoib : ALL=limited, SELF=full ;
jobs=0x11, ipoib, mtu=4, rate=3, defmember=full : "host-0001", "host-0002", "host-0003" ;
jobs=0x11 : "host-0004" ;
store=0x12, ipoib : "host-0004", "host-0005"=full ;
"""
ONCE = """version | node list | node list switch | host list | host list --rack b2 | host show big | host show host-0007 | rack list
    node list --rack A1 | node list switch --rack A9 | link list --rack B2 | node show leaf-001 | node show host-0003 | port list leaf-002 | port show leaf-001/3 | port show host-0002/1 | class show storage
    class show training | class show urgent | class show default | partition show jobs | partition show store
    cc show leaf-001/1 --explain | cc show leaf-001/3
    cc log leaf-001 | cc export --roce --explain | cc export --roce --format sonic | cc export --roce --format mlx5
    path host-0001 host-0006 | path host-0002 host-0001 | path leaf-001 host-0010 | path host-0010 13
    route show leaf-001 | route contingency | route verify | route quality --hosts host-[0001-0007] --samples 9 --seed 3
    route compare updn fattree nosuch | route whatif leaf-001/3 | route whatif --fail spine-001 --fail host-0002 --engine updn
    route whatif leaf-002 | route contingency leaf-001/3 | route contingency spine-001 | reroute show 1
    node show nobody | port show leaf-001/77 | multicast show 0xc009 | link unhealthy leaf-001/1"""
TEXT = """port list | cc show host-0002/1 --explain | cc show host-0002/1 --sl 3 | partition show Default | route show spine-001"""
ALWAYS = """status | link list leaf-001 | link flapping | link unhealthy | port counters | class list | partition list
    multicast list | multicast show 0xc000 | service list | subscription list | cc status | cc congested | cc log
    path host-0007 host-0003 | route show leaf-002 | route verify | route quality | route contingency -n 3
    reroute list | event list | node list adapter | port list leaf-003"""


# Methods and their requests. fabricctl does not print all fields of the answers.
CALLS = """GetStatus | GetVersion | ListHosts page_size: 3 | ListHosts rack: "B2" | GetHost host: "host-0005" | GetHost host: "leaf-001" | GetHost host: "host-"
    ListRacks | ListNodes rack: "B2" | ListNodes rack: "A1" type: NODE_TYPE_SWITCH page_size: 2 | ListLinks rack: "B2" | ListNodes | ListNodes page_size: 6 | ListNodes type: NODE_TYPE_ADAPTER page_size: 4
    GetNode node: "leaf-001" | GetNode node: "host-0003" | ListNodePins | ListBaseline | ApproveBaseline dry_run: true | ListPorts node: "leaf-001" | ListPorts node: "host-0002"
    ListPorts state: PORT_STATE_DOWN | ListPorts page_size: 5 | GetPort node: "leaf-001" port_number: 3 | GetPort node: "leaf-001"
    GetPort node: "leaf-001" port_number: 99 | ListLinks node: "leaf-002" | ListLinks page_size: 3 | ListFlappingLinks
    ListUnhealthyLinks | ListUnhealthyLinks include_watched: true | ListPortCounters node: "leaf-001" | ListPortCounters page_size: 2
    ListPartitions | ListPartitionMembers partition: "jobs" page_size: 3 | ListPartitionMembers partition: "Default"
    ListServices | ListServices page_size: 1 | ListSubscriptions | ListMulticastGroups | ListMulticastGroups page_size: 1
    ListMulticastMembers group: "0xc000" page_size: 2 | ListClasses | ListClasses page_size: 2 | ListClassRules class: "training"
    ListClassRules class: "training" page_size: 1 | GetCongestion | GetPortCongestion node: "leaf-001" port_number: 3
    GetPortCongestion node: "host-0002" port_number: 1 service_level: 2 | ListCongestionLogs | ListCongestionLogs node: "leaf-001"
    GetRoce | ListCongestedPorts count: 3 | TracePath source: "host-0001" destination: "host-0006"
    TracePath source: "leaf-001" destination: "host-0010" | GetForwardingTable node: "leaf-002"
    GetForwardingTable node: "spine-001" page_size: 7 | GetVerdict | GetVerdict verify_again: true
    ListEvents page_size: 6 | ListEvents min_severity: EVENT_SEVERITY_WARNING | ListReroutes page_size: 2 | GetReroute generation: 2 | GetKey"""
CONTINGENCIES = """ListContingencies page_size: 4 | GetContingency failure: "leaf-001/4" | GetContingency failure: "spine-001"
    """
STUDIES = """GetQuality options { samples: 5 seed: 3 endports: "host-[0001-0006]" } | CompareEngines engines: "updn" engines: "fattree"
    WhatIf failures: "spine-002" failures: "host-0002/1" options { samples: 5 }"""
LONG_IN_JSON = ("route show leaf-002", "route quality", "event list")


COLORED = lines(ALWAYS) + lines("""topo infer | node list | host list | rack list | node show leaf-003 | node show host-0007
    port list leaf-001 | port list leaf-002 | port show leaf-001/3 | port show leaf-002/4 | port show leaf-003/5 | port show host-0007/1
    link unhealthy leaf-003/5 | link list leaf-003 | route whatif leaf-004/3 | route whatif leaf-002
    path host-0001 host-0007 | history leaf-001 | cc show leaf-001/1 | partition show store""")


def gid(guid):
    return struct.pack(">QQ", 0xfe80000000000000, guid)


def registered(place):
    """Adds registrations from an earlier run of the manager to its database."""
    as_text = lambda g: ":".join(g[i:i + 2].hex() for i in range(0, 16, 2))
    hosts = [0x2c90200000001 + 4 * n for n in range(6)]
    with contextlib.closing(sqlite3.connect(os.path.join(place.folder, "state/fabricd.db"))) as db, db:
        for n in range(2):
            record = (struct.pack(">Q", 0x1000 + n) + gid(hosts[n]) + struct.pack(">HHI", 0xffff, 0, 0xffffffff)
                      + bytes(16) + f"storage-{n}".encode().ljust(64, b"\0") + bytes(64))
            db.execute("INSERT INTO service VALUES (?, ?, 65535, 0, ?, ?)",
                       (f"0x{0x1000 + n:016x}", as_text(gid(hosts[n])), f"0x{hosts[n]:016x}", record))
        inform = (gid(hosts[2]) + struct.pack(">H", 3) + bytes(6) + bytes(16)
                  + struct.pack(">HHHBBHH", 0xffff, 0, 0, 1, 1, 0xffff, 65)
                  + struct.pack(">IB", 1 << 8 | 8, 0) + b"\xff\xff\xff").ljust(80, b"\0")
        db.execute("INSERT INTO subscription VALUES (?, 3, 0, ?)", (as_text(gid(hosts[2])), inform))
        for n in (0, 1, 3, 5):
            db.execute("INSERT INTO multicast_member VALUES (?, ?, ?, 0)",
                       ("ff12:401b:ffff:0000:0000:0000:ffff:ffff", as_text(gid(hosts[n])), 4 if n == 1 else 1))


def a_fat_tree_with_all_features():
    place = Place("leaf-spine.txt", "leaf-spine --leaves 5 --spines 3 --hosts 2", LEAF_SPINE,
                  {"partitions.conf": PARTITIONS, "locations.csv": LOCATIONS})
    every, few = lines(ONCE) + lines(ALWAYS) + EXPORTS[:4] + EXPORTS[5:7] + EXPORTS[-1:], lines(ALWAYS)
    every += ["topo export --format slurm-block", "topo export --format slurm-yaml"]
    raw = Golden("messages.txt", MASKS)
    colors = Golden("colors.txt", MASKS)
    raw.hidden = colors.hidden = place.golden.hidden
    with place.daemon():
        place.settle()
        colors.step("after the start")
        place.colors(colors, COLORED)
        raw.step("after the start")
        place.messages(raw, " | ".join((CALLS, CONTINGENCIES, STUDIES)))
        place.golden.step("after the start")
        place.show(every)
        place.show(lines(TEXT), ["text"])
        place.do("sim unlink leaf-001/3", traps=2, links=24)
        place.show(few + ["reroute show 2"])
        place.do("sim relink leaf-001/3", traps=2, links=25)
        place.show(few)
        place.do("port disable leaf-002/4", links=24)
        place.show(few + EXPORTS[2:4])
        place.do("link isolate leaf-003/5", until=lambda: place.json("link unhealthy")["links"])
        place.show(few + ["port list leaf-003", "link unhealthy leaf-003/5"])
        place.do("sim unlink leaf-001/3", traps=2, links=22)
        place.do("sim relink leaf-001/3", traps=2,
                 until=lambda: place.json("link flapping")["links"][0]["state"] == "held down")
        place.show(few)
        place.do("link isolate leaf-003/4")
        place.do("sim unlink host-0007/1", traps=1)
        place.show(few + ["route whatif leaf-004/3", "route compare"])
        raw.step("with links that are down, disabled, isolated and held down")
        place.messages(raw, CALLS)
        colors.step("with links that are down, disabled, isolated and held down")
        place.colors(colors, COLORED)
        place.do("link release leaf-001/3")
        place.do("port enable leaf-002/4", links=23)
        place.do("link release leaf-003/5", links=24)
        place.show(few)
        place.do("reroute")
        place.do("route rebalance")
        place.do("sweep")
        place.show(few)
        place.do("sim degrade host-0009/1 --width 1x",
                 until=lambda: place.json("link list --degraded")["links"])
        place.show(["status", "link list --degraded", "link list leaf-005", "port show host-0009/1"])
        place.do("sim degrade host-0009/1", until=lambda: not place.json("link list --degraded")["links"])
        place.show(["link list --degraded"])
    registered(place)
    place.golden.step("after a restart, with registrations of hosts in the database, and counters read")
    with place.daemon():
        place.settle()
        place.show(every)
        raw.step("after a restart, with registrations of hosts")
        place.messages(raw, CALLS)
    place.golden.compare()
    raw.compare()
    colors.compare()


# ---- a manager with fixed answers

# fake_sm.c and fake_cc.c have states that simulated fabrics do not reach within a second: congestion logs,
# unhealthy links, a key rotation, approved devices. Only the process ID of clients varies.
FAKE = """GetStatus | ListFlappingLinks | ListUnhealthyLinks | ListUnhealthyLinks include_watched: true
    ListPortCounters node: "leaf-001" | ListReroutes page_size: 2 | GetReroute generation: 42
    GetReroute generation: 2 | ListContingencies page_size: 3 | GetContingency failure: "leaf-001" | GetContingency failure: "leaf-001/5"
    GetContingency failure: "nothing" | GetManagers | HandOver to: "host-0002" | HandOver to: "host-0003" | HandOver to: "host-0009" | SetManagerPriority priority: 7 | SetManagerPriority configured: true | SetManagerPriority priority: 16
    GetManagerMode | FreezeManager no_writes: true limit {seconds: 60} | FreezeManager | FreezeManager limit {seconds: -1} | ResumeManager | GetKey | RotateKey | RotateKey give_up_absent: true
    RotateKey kind: KEY_KIND_CC_KEY | GetCongestion | GetPortCongestion node: "leaf-001" port_number: 1
    GetPortCongestion node: "host-0001" port_number: 1 service_level: 3 | GetPortCongestion node: "leaf-001" port_number: 9
    GetPortCongestion node: "host-0001" port_number: 1 service_level: 16 | ListCongestionLogs | ListCongestionLogs node: "leaf-001"
    ListCongestionLogs node: "host-0002" | ListCongestionLogs node: "host-0004" | ListCongestionLogs node: "nobody"
    ListCongestedPorts | ListCongestedPorts count: 2 | IsolateLink node: "leaf-001" port_number: 3
    IsolateLink node: "leaf-001" port_number: 4 | IsolateLink node: "leaf-001" port_number: 5 | IsolateLink node: "leaf-001" port_number: 77
    ReleaseLink node: "leaf-001" port_number: 3 | ReleaseLink node: "leaf-001" port_number: 4 | DisablePort node: "leaf-001" port_number: 1
    DisablePort node: "leaf-001" port_number: 2 | DisablePort node: "leaf-001" | EnablePort node: "nobody" port_number: 1
    EnablePort node: "leaf-001" port_number: 1 | Reroute | Sweep | Rebalance | ListServices | ListSubscriptions
    GetRoce | ListMulticastMembers group: "0xc000"
    ListClassRules class: "nosuch" | ListPartitionMembers partition: "nosuch" | ListPartitionMembers partition: "0x7fff" page_size: 3
    GetForwardingTable node: "host-0001" | TracePath source: "host-0001" destination: "nobody"
    CompareEngines engines: "nosuch" | CompareEngines engines: "updn" options { endports: "nobody" samples: 3 }
    WhatIf failures: "host-0001/1" engine: "nosuch" | WhatIf
    ListDrains | GetDrainPreview kind: DRAIN_KIND_SWITCH name: "spine-001" | GetDrainPreview kind: DRAIN_KIND_SWITCH name: "leaf-001"
    GetDrainPreview kind: DRAIN_KIND_LINK name: "spine-001/2" | GetDrainPreview kind: DRAIN_KIND_LINK name: "nobody" | GetDrainPreview
    GetDrainPreview kind: DRAIN_KIND_RACK name: "nosuch" | GetDrainPreview kind: DRAIN_KIND_POD name: "leaf-002" | GetDrainPreview kind: DRAIN_KIND_POD name: "spine-001"
    GetDrainPreview kind: DRAIN_KIND_HOST name: "host-0001" | GetDrainPreview kind: DRAIN_KIND_SWITCH name: "host-0001"
    StartDrain kind: DRAIN_KIND_SWITCH name: "spine-001" until { seconds: 1795186676 } | StartDrain kind: DRAIN_KIND_SWITCH name: "leaf-001"
    EndDrain kind: DRAIN_KIND_SWITCH name: "spine-001" | EndDrain kind: DRAIN_KIND_LINK name: "spine-001/1" | EndDrain all: true | EndDrain
    GetDrainPlan | GetDrainPlan keep_percent: 50 | GetDrainPlan keep_percent: 101 | GetDrainPlan rack: "nosuch" """
FAKE_SHOWN = """status | link flapping | link unhealthy | link unhealthy leaf-002/3 | link unhealthy leaf-001/1 | port counters
    port counters leaf-001 | reroute list -n 2 | reroute show 42 | key show | ha status | ha priority | cc status | cc show leaf-001/1 | cc log | cc log leaf-001
    cc log host-0001 | cc log host-0002 | cc log host-0003 | cc log host-0004 | cc congested | cc congested -n 1
    link isolate leaf-001/5 | link release leaf-001/4 | port disable leaf-001/1 | port enable leaf-001/2 | key rotate
    key rotate --give-up-absent | key rotate --cc
    drain list | drain switch spine-001 --dry-run | drain switch spine-001 --dry-run --hosts host-000[1-4] | drain switch leaf-001 --yes
    drain link spine-001/2 --yes | drain pod leaf-002 --dry-run | drain host host-0001 --yes --for 2h --until 2026-11-23
    drain host host-0002 --yes --force --hosts host-0002 | drain link spine-001/2 | drain link spine-001 | drain rack A1 --yes --for soon
    undrain switch spine-001 | undrain switch spine-002 | undrain --all | undrain | undrain plane x | drain plan --keep 50% | drain plan --keep 0
    event list --severity loud | topo export --format nosuch | route export --format nosuch | sim unlink leaf-001/1
    node list gateway | port show leaf-001 | port show leaf-001/x | class show | frobnicate | node | route quality --samples x
    path host-0001 | reroute show x | cc show leaf-001/1 --sl 16"""
FAKE_COLORED = """status | link flapping | link unhealthy | link unhealthy leaf-002/3 | link unhealthy leaf-001/1 | port counters leaf-001
    reroute list -n 2 | reroute show 42 | key show | cc status | cc show leaf-001/1 | cc log | cc log leaf-001 | cc log host-0003
    cc congested | node pins | topo baseline | route contingency | event list | route verify | node list | port list leaf-001"""
BASELINE = """ListBaseline | DisapproveBaseline all: true | DisapproveBaseline nodes: "host-0001" | ApproveBaseline all: true
    ApproveBaseline nodes: "host-0001" | ApproveBaseline all: true nodes: "host-0001" | ApproveBaseline dry_run: true
    ApproveBaseline | ListBaseline page_size: 5 | ListBaseline waiting_only: true | ApproveBaseline | ApproveBaseline all: true
    DisapproveBaseline nodes: "nobody" | DisapproveBaseline | DisapproveBaseline nodes: "host-0001" nodes: "leaf-002"
    ListBaseline | ListBaseline waiting_only: true | ListBaseline waiting_only: true page_size: 2
    ApproveBaseline | ApproveBaseline nodes: "host-0001" dry_run: true | ApproveBaseline nodes: "nobody"
    ApproveBaseline nodes: "host-0001" | ApproveBaseline nodes: "leaf-002/1" dry_run: true | ApproveBaseline nodes: "spine-001" dry_run: true
    DisapproveBaseline nodes: "0x0002c90200000004" | ApproveBaseline all: true dry_run: true | ApproveBaseline all: true
    DisapproveBaseline nodes: "host-0003" nodes: "host-0003" | DisapproveBaseline nodes: "spine-001" | ListBaseline waiting_only: true"""
BASELINE_SHOWN = """topo baseline | topo baseline --waiting | topo approve --dry-run --all | topo approve | topo approve host-0003
    topo disapprove | topo disapprove nobody | topo disapprove host-0004 | topo baseline --waiting | topo approve --all
    topo baseline --waiting | topo disapprove --all | topo baseline | topo approve --dry-run | topo approve | topo approve x --all"""


PINS = """ListNodePins | ListNodePins page_size: 2 | ListNodePins page_size: 3 | ListNodePins waiting_only: true | ListNodePins waiting_only: true page_size: 2
    ApproveNode node: "host-0001" | ApproveNode node: "host-0003" | ApproveNode node: "nobody" | ApproveNode | ForgetNodePin node: "host-0003"
    ForgetNodePin node: "host-0003" | ForgetNodePin node: "twin" | ForgetNodePin node: "twin mlx5_1" | ForgetNodePin node: "twin"
    ForgetNodePin node: "0x0002c90200000004" | ForgetNodePin node: "0x0002c90200000008" | ForgetNodePin | ForgetNodePin node: "old-0002"
    ListNodePins"""
PINS_SHOWN = """node pins | node pins --waiting | node approve host-0002 | node approve host-0002 | node approve | node approve x --all
    node approve --all | node approve --all | node approve --forget host-0001 | node approve --forget host-0001
    node pins | node pins --waiting"""


def a_manager_whose_answers_are_fixed():
    golden, colors = (Golden(name, [(re.compile(r"\bpid \d+"), "pid <pid>"), (re.compile(LOAD[0], re.M), LOAD[1])])
                      for name in ("fake.txt", "fake-colors.txt"))
    more = {"CONGESTION": "1", "UNRESPONSIVE": "2"}
    with fake(leaves=4, spines=2, hosts=3, env=more) as server, channel(server.address) as c:

        def both(calls, commands):
            for line in lines(calls):
                name, _, request = line.partition(" ")
                golden.again(line, called(c, name, request, ()))
            for line in lines(commands):
                for form in ("text", "json"):
                    golden.again(f"fabricctl {line}" + (" -o json" if form == "json" else ""),
                                 ran(CTL, "-s", server.address, *line.split(), "-o", form))

        for line in lines(FAKE_COLORED):
            colors.add("fabricctl " + line, colored(CTL, "-s", server.address, *line.split()))
        golden.step("after the start")
        both(FAKE, FAKE_SHOWN)
        golden.step("with pinned names")
        both(PINS, PINS_SHOWN)
        golden.step("with a baseline")
        both(BASELINE, BASELINE_SHOWN)
    golden.compare()
    colors.compare()


# ---- a manager that refuses

REQUESTS = """Sweep | Reroute | Rebalance | IsolateLink node: "leaf-001" port_number: 4 | ReleaseLink node: "leaf-001" port_number: 3
    DisablePort node: "leaf-001" port_number: 2 | EnablePort node: "leaf-001" port_number: 2 | RotateKey give_up_absent: true
    ApproveBaseline | ApproveBaseline all: true | ApproveBaseline nodes: "leaf-001" | DisapproveBaseline all: true
    DisapproveBaseline nodes: "leaf-001" | ApproveNode all: true | ApproveNode node: "host-0003" | ForgetNodePin node: "old-0002"
    StartDrain kind: DRAIN_KIND_SWITCH name: "spine-001" | EndDrain kind: DRAIN_KIND_SWITCH name: "spine-001" """
READS = """GetStatus | GetVersion | ListHosts | GetHost host: "host-0003" | ListRacks | ListGoneNodes | ListGoneLinks | ForgetNodes node: "host-0003" | ListSnapshots | MakeSnapshot name: "a" | DeleteSnapshot name: "a"
    CompareTopologies before: "a" | ListNodes page_size: 1 | GetNode node: "leaf-001" | ListNodePins | ListBaseline | ListPorts page_size: 1
    GetPort node: "leaf-001" port_number: 1 | ListLinks page_size: 1 | ListFlappingLinks | ListUnhealthyLinks | ListPortCounters
    ListPartitions | ListPartitionMembers partition: "Default" page_size: 1 | ListServices | ListSubscriptions | ListMulticastGroups
    ListMulticastMembers group: "0xc000" | ListClasses | ListClassRules class: "default" | GetCongestion | ListCongestionLogs
    GetPortCongestion node: "leaf-001" port_number: 1 | GetRoce | ListCongestedPorts | TracePath source: "host-0001" destination: "host-0002"
    GetForwardingTable node: "leaf-001" page_size: 1 | GetVerdict | GetVerdict verify_again: true | GetQuality | CompareEngines
    WhatIf failures: "host-0001/1" | ListContingencies page_size: 1 | GetContingency failure: "leaf-001" | Export | ListEvents
    ListReroutes page_size: 1 | GetReroute | GetKey | ListDrains | GetDrainPreview kind: DRAIN_KIND_SWITCH name: "spine-001" | GetDrainPlan"""
# The environment of the fake manager, and the calls. REFUSE is a status of status.h.
REFUSALS = [({"REFUSE": str(status)}, REQUESTS) for status in (-17, -14, -11, -8, -7, -6, -1)] + [
    ({"REFUSE": "-14", "STANDBY": "1"}, REQUESTS),
    ({"STANDBY": "1", "LEAVES": "0"}, READS),
    ({"LEAVES": "0"}, READS + " | " + REQUESTS),
    ({"ALARM": "switch 7 is on fire", "LEAVES": "0"}, READS),
    ({"NO_TABLES": "1"}, READS),
    ({"NO_TABLES": "1", "ALARM": "switch 7 is on fire"}, READS),
    ({"PINS_OFF": "1"}, "ListNodePins | ApproveNode all: true | ApproveNode node: \"host-0003\" | ForgetNodePin node: \"host-0003\""),
] + [({"WITNESS": str(status)}, "GetVerdict") for status in (-2, -8, -11, -12)]


def a_manager_that_refuses():
    golden = Golden("refused.txt", MASKS)
    for env, calls in REFUSALS:
        golden.step(" ".join(f"{key}={value}" for key, value in env.items()))
        leaves = int(env.get("LEAVES", 4))
        with fake(leaves=leaves, spines=2, hosts=3, delay_ms=0, env=env) as server, channel(server.address) as c:
            for line in lines(calls):
                name, _, request = line.partition(" ")
                golden.add(line, called(c, name, request))
    golden.compare()


# ---- fabrics that need several virtual lanes

TORUS = """
sweep: {light_interval: 0, heavy_interval: 0}
smp: {timeout_ms: 20000, window: 7}
partitions: {file: FOLDER/partitions.conf, enforce: out}
congestion: {profile: collective, fan_in: 5}
counters: {interval: 0}
subnet: {max_vls: 15, max_mtu: 1024}
routing: {engine: torus, rebalance_after: 0}
multicast: {share: never}
qos: {classes: [{name: bulk, share: 70, match: ["to=host-0002"]}]}
contingency: {memory: 1}
"""
DRAGONFLY = """
sweep: {light_interval: 0, heavy_interval: 0}
smp: {timeout_ms: 20000}
congestion: {profile: off}
counters: {interval: 0}
subnet: {lmc: 2, max_vls: 4}
routing: {rebalance_after: 0}
flapping: {flaps: 2, within: 3600, hold_down: 0}
"""
ROUTES = """status | link list | link flapping | class list | route show SWITCH | route verify | route quality
    route compare | path host-0001 host-0007 | path host-0008 host-0003 | multicast list | reroute list | cc status
    route contingency -n 2 | event list"""


def routed(name, family, settings, link, host, exports=()):
    place = Place(name, family, settings, {"partitions.conf": "red=0x21, ipoib : ALL=full ;\n"})
    few = lines(ROUTES.replace("SWITCH", link.split("/")[0]))
    with place.daemon():
        links = place.json("status")["links"]
        place.settle()
        place.golden.step("after the start")
        place.show(few + EXPORTS[3:4] + list(exports) + [f"route whatif {link} {host}"], ["text"])
        place.do(f"sim unlink {link}", traps=2, links=links - 1)
        place.show(few + [f"route whatif {host} --engine nue,dfsssp"], ["text"])
        place.do(f"sim relink {link}", traps=2, links=links)
        place.do(f"sim unlink {host}/1", traps=1, links=links - 1)
        place.do("route rebalance")
        place.show(few, ["text"])
        place.configure(settings.replace("max_vls: 15", "max_vls: 2").replace("max_vls: 4", "max_vls: 8"))
        before = place.status().generation
        place.process.send_signal(signal.SIGHUP)
        place.settle(lambda: place.status().generation > before)
        place.golden.step("after other settings were read")
        place.show(few, ["text"])
    place.golden.compare()


def a_torus():
    routed("torus.txt", "torus --size 3,4 --hosts 1", TORUS, "torus-1-2/2", "host-0005")


def a_dragonfly():
    routed("dragonfly.txt", "dragonfly --group-size 3 --global 1 --groups 3 --hosts 1", DRAGONFLY,
           "group01-switch-02/2", "host-0004", exports=EXPORTS[7:] + EXPORTS[4:5])


# ---- settings, as written to devices

SETTINGS = """
sweep: {light_interval: 0, heavy_interval: 0}
smp: {timeout_ms: 20000, retries: 1, window: 3}
partitions: {file: FOLDER/partitions.conf, enforce: in, allow_both: yes}
congestion: {apply: yes, profile: balanced, cc_key: 0x99, fan_in: 3, hop_ns: 300, adapter_ns: 700, cable_m: 5,
             queue_kb: 32, threshold: 7, switch_threshold: 5, marking_rate: 9, packet_size: 4, victim_mask: 0,
             timer: 33, increase: 2, trigger_threshold: 3, min: 1, limit: 6, table: [0x4001, 0x4002, 0x4003, 0x4004, 0x4005, 0x4006, 0x4007]}
counters: {interval: 0}
subnet: {prefix: 0xfe80000000001234, sm_priority: 9, sm_key: 0x77, m_key: 0xabcdef, lmc: 2, max_mtu: 1024,
         max_vls: 4, packet_life_time: 17, hoq_life: 15, leaf_hoq_life: 14, vl_stall_count: 5,
         leaf_vl_stall_count: 4, subnet_timeout: 16, phy_errors: 6, overrun_errors: 5}
routing: {engine: updn, max_hops: 9, rebalance_after: 0}
qos:
  classes:
    - {name: fast, priority: high, match: ["to=host-0001"]}
    - {name: slow, share: 20, match: ["qos_class=3"]}
multicast: {mlids: 5, share: never, absent: 7}
contingency: {memory: 1}
"""


def what_devices_are_told():
    """Returns all attributes that the manager writes, from a recording."""
    place = Place("settings.txt", "leaf-spine --leaves 2 --spines 1 --hosts 1", SETTINGS, {
        "partitions.conf": 'Default=0x7fff, ipoib : ALL ;\nred=0x31, ipoib, mtu=3, sl=1 : "host-0001"=full ;\n'})
    record = os.path.join(place.folder, "recording")
    with place.daemon("--record", record):
        place.settle()
        place.show(lines("status | cc show leaf-001/1 --explain | cc show host-0001/1 --explain | class list"
                         "| class show fast | multicast list | port show leaf-001/1"), ["text"])
    told, block = set(), []
    for line in ran(FABSIM, "mads", "-v", record).splitlines():
        if line[:1] != " ":
            told.add("\n".join(block))
            block = []
            if re.match(r"[\d.]+ > \w*Set ", line):
                block = [re.sub(r"^[\d.]+ > ", "", line)]
        elif block:
            block.append(line.strip())
    place.golden.step("what devices are told; an attribute shows how it differs from the attribute before it")
    for text in sorted(told - {""}):
        place.golden.add(text.split(",")[0], text)
    place.golden.compare()


# ---- errors of operators

# Files in the folder of the test, by name. In the command lines below, these names are replaced by paths.
FILES = {
    "bad.net": "Switch\t4 garbage\n", "empty.net": "", "cut.rec": b"FABR", "empty.rec": b"",
    "bad.yaml": "sweep: {light_interval: x}\n", "dup.yaml": "smp: {window: 3}\nsmp: {window: 4}\n", "tab.yaml": "smp:\n\t- 1\n",
    "unknown.yaml": "smp: {windows: 3}\n", "list.yaml": "[1, 2]\n", "metrics.yaml": "metrics: {listen: '192.0.2.1:1'}\n",
    "name.yaml": "metrics: {listen: here}\n", "lids.yaml": "subnet: {lmc: 8}\n", "engine.yaml": "routing: {engine: best}\n",
    "engines.yaml": "routing: {engine: [updn, updn]}\n", "class.yaml": "qos: {classes: [{name: a, share: 101}]}\n",
    "parts.yaml": "partitions: {file: /nowhere/p.conf}\n", "keys.yaml": "subnet: {m_key: 0x10000000000000000}\n"}
FABRICD_MISTAKES = """--nonsense | --config | more | --log-level loud | --record-limit x | --record-limit -1 | --record-limit 1x
    --record-limit 99999999999 | --sim f.net --umad | --umad mlx5_0:1 --sim f.net | --sim-at host-0001 | --replay r --sim f.net
    --replay r --umad | --replay r --record x | --replay r --state-dir x | --replay r --listen unix:/x | --replay /nowhere
    --replay f.net | --replay empty.rec | --replay cut.rec | --replay d | --listen 1.2.3.4:5 --check-config | --listen tls:*:1 --check-config
    --listen unix: --check-config | --listen tls:here --check-config | --listen tls:here:0 --check-config | --listen tls:here:65536 --check-config
    --sim f.net --check-config | --version | -f /nowhere --check-config | -f d --check-config | -f bad.yaml --check-config
    -f dup.yaml --check-config | -f tab.yaml --check-config | -f unknown.yaml --check-config | -f list.yaml --check-config
    -f name.yaml --check-config | -f lids.yaml --check-config | -f engine.yaml --check-config | -f engines.yaml --check-config
    -f class.yaml --check-config | -f keys.yaml --check-config | -f parts.yaml --check-config"""
# With a valid state directory and listening address.
FABRICD_STARTS = """--sim /nowhere | --sim d | --sim bad.net | --sim empty.net | --sim f.net --sim-at nobody | --sim f.net --sim-at leaf-001/9
    --sim f.net --state-dir bad.net | --sim f.net --state-dir /nowhere/x/y | --sim f.net --listen unix:/nowhere/x/y
    --sim f.net --listen unix:d | -f metrics.yaml --sim f.net | -f parts.yaml --sim f.net | --sim f.net --record /nowhere/x
    --sim f.net --record d | --umad a:b | --umad a:0 | --umad a:255 | --umad :1 | --umad aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1"""
LONG = "x" * 120
FABSIM_MISTAKES = f"""check | check a b | check /nowhere | check d | check bad.net | check empty.net | check f.net | frob | --version
    generate | generate --help | generate leaf-spine --leaves 1 --spines 1 --hosts 1 -o /nowhere/x | generate mesh --size 2 --hosts 1 -o d
    generate mesh --size 2 --hosts 1 -o full | generate mesh --size 2 --hosts 1 more | generate mesh --size 2 --hosts
    generate mesh --size 2 --hosts 1 --leaves 2 | generate mesh --size 2 --hosts 0 | generate mesh --size 2 --hosts 1 --seed -1
    generate mesh --size 2 --hosts 1 --seed x | generate mesh --size 2 --hosts 1 --width 5 | generate mesh --size 2 --hosts 1 --radix 2
    generate mesh --size 2 --hosts 1 --radix 255 | generate mesh --size 2 --hosts 1 --radix x | generate mesh --size 2 --hosts 1 --missing 100%
    generate mesh --size 2 --hosts 1 --missing 101% | generate mesh --size 2 --hosts 1 --missing x | generate mesh --size 2 --hosts 1 --planes 0 -o p
    generate mesh --size 2 --hosts 1 --planes 256 -o p | generate mesh --size 2 --hosts 1 --planes x | generate mesh --size 2,,2 --hosts 1
    generate mesh --size 2,0 --hosts 1 | generate mesh --size , --hosts 1 | generate mesh --hosts 1 | generate pgft --m 2 --w 1,1
    serve | serve a b | serve /nowhere | serve d | serve bad.net | serve empty.net | serve f.net --seed x | serve f.net --seed -1
    serve f.net --seed 99999999999999999999 | serve f.net --seed | serve f.net --loss 1.1 | serve f.net --loss -1 | serve f.net --loss x
    serve f.net --host nobody | serve f.net --host leaf-001 --loss 2 | serve f.net --socket {LONG} | serve f.net --frob
    ctl --socket nobody-listens status | ctl --socket {LONG} status | ctl --frob | ctl --socket
    mads | mads a b | mads /nowhere | mads f.net | mads d | mads empty.rec | mads cut.rec | mads -x f.net"""


def mistakes_have_their_whole_text():
    golden, folder = Golden("mistakes.txt", [(re.compile(r"^20\d\d-\S+Z .*\n", re.M), "")]), os.path.dirname(socket_path())
    golden.hidden = [(folder, "<folder>")]
    os.mkdir(folder + "/d")
    os.symlink("/dev/full", folder + "/full")  # root could replace the device file
    for name, text in FILES.items():
        with open(f"{folder}/{name}", "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
    ran(FABSIM, *"generate leaf-spine --leaves 2 --spines 1 --hosts 1 -o".split(), folder + "/f.net")
    usable = f"--state-dir {folder}/state --listen unix:{folder}/s"
    for program, commands in (("fabricd", FABRICD_MISTAKES), ("fabricd " + usable, FABRICD_STARTS), ("fabsim", FABSIM_MISTAKES)):
        names = {*FILES, "f.net", "full", "d"}
        for line in lines(commands):
            words = [f"{folder}/{w}" if w in names else w for w in program.split()[1:] + line.split()]
            text = ran(FABSIM if program == "fabsim" else FABRICD, *words, cwd=folder, stdin=subprocess.DEVNULL)
            golden.again(f"{program.split()[0]} {line}", text)
    many = " ".join(f"--listen unix:/{i}" for i in range(17))
    golden.again("fabricd with 17 addresses", ran(FABRICD, *many.split(), "--check-config"))
    golden.compare()


# ---- fabsim

FAMILIES = """leaf-spine --leaves 2 --spines 2 --hosts 1 --parallel 2 --speed HDR --width 2
    fat-tree --radix 4 --levels 2 --taper 1
    pgft --m 2,2 --w 1,2 --p 1,2
    xgft --m 2,2 --w 1,2 --speed NDR --width 1
    rail --servers 2 --group-size 1 --spines 1 --adapters 2
    rail --servers 2 --group-size 1 --spines 1 --adapters 2 --cores 1 --core-parallel 2
    dragonfly --group-size 2 --global 1 --hosts 1
    dragonfly-plus --leaves 1 --spines 1 --global 1 --hosts 1
    torus --size 3 --hosts 1 --radix 9
    mesh --size 2,2 --hosts 1 --shuffle-guids --seed 7
    hypercube --dimensions 2 --hosts 1 --aggregation-nodes
    hyperx --size 3 --hosts 1 --missing 1
    random --switches 3 --degree 2 --hosts 1 --seed 3"""
MISTAKES = """leaf-spine | leaf-spine --leaves 0 --spines 1 --hosts 1 | leaf-spine --leaves 1 --spines 1 --hosts 300
    torus --size 1,2,3,4,5,6,7 --hosts 1 | nothing | fat-tree --radix 5 --levels 2 | random --switches x
    mesh --size 2 --hosts 1 --speed FAST | mesh --size 2 --hosts 1 --width 3 | mesh --size 2 --hosts 1 --missing 200%
    mesh --size 2 --hosts 1 --missing 5 | leaf-spine --planes 2 --leaves 1 --spines 1 --hosts 1 | rail --help
    dragonfly --group-size 2 --global 1 --hosts 1 --groups 9 | hypercube --dimensions 17 --hosts 1"""
SERVED = """status | help | pull leaf-001/3 | status | plug leaf-001/3 | plug-all | off leaf-002 | status | on leaf-002 boot=60min
    flap leaf-001/3 period=1ms count=1 | degrade leaf-001/3 lanes=1 speed=SDR | degrade leaf-001/3 speed=FAST
    noise leaf-001/4 share=1% | noise leaf-001/4 share=2 | repair leaf-001/3 | increment leaf-001/3 Nothing
    increment leaf-001/3 PortXmitWait rate=4 | congest host-0001/1 2 from=1 sl=3 qp=9 to=4 | congest host-0001/1
    silence leaf-9 | silence host-*  | respond host-0001 | delay leaf-001 by=3ms spread=1ms | delay leaf-001 by=3
    corrupt leaf-001 busy rate=5% | corrupt leaf-001 nonsense | set-mkey leaf-001 0x12 protect=2 lease=3s
    trap leaf-001/3 128 | trap leaf-001/3 1 | storm leaf-001 128 every=1s count=2 | impair loss=1% duplicate=1%
    impair loss=7 | loss 0 | timing hop=1us answer=2us train=3ms trap=4s | timing hop=x | detach 7
    reboot leaf-001 boot=60min step=1ms | Unlink "S-0002c90100000003"[1] | status | frobnicate | pull leaf-001/99"""


def fabrics_are_generated_and_checked():
    golden, folder = Golden("fabsim.txt", MASKS), os.path.dirname(socket_path())
    golden.hidden = [(folder, "<folder>")]
    for line in ("--help", "generate --help", "generate torus --help", "check", "--nonsense", "mads /dev/null"):
        golden.add("fabsim " + line, ran(FABSIM, *line.split()))
    for family in lines(FAMILIES):
        text = ran(FABSIM, "generate", *family.split())
        golden.add("fabsim generate " + family, text)
        golden.add(f"the same, fabsim check - ({family})", ran(FABSIM, "check", "-", input=text))
    for family in lines(MISTAKES):
        golden.add("fabsim generate " + family, ran(FABSIM, "generate", *family.split()))
    golden.add("fabsim generate --planes 2", ran(FABSIM, "generate", *"mesh --size 2 --hosts 1 --planes 2 -o".split(),
                                                 folder + "/p.net"))
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name)) as f:
            golden.add(name, f.read())
    golden.compare()


def recordings_are_printed():
    """Prints the recordings among the seeds of fuzz_recording. Each kind of MAD is printed once with -v; a digest
    covers all MADs."""
    golden, seeds = Golden("recordings.txt"), os.path.join(SOURCE, "tests/fuzz/seeds/fuzz_recording")
    golden.hidden = [(seeds, "<seeds>"), ("fabricd 0.1.0", "fabricd <version>")]
    for name in sorted(os.listdir(seeds)):
        path = os.path.join(seeds, name)
        golden.add("fabsim mads " + name, ran(FABSIM, "mads", path))
        text = golden.mask(ran(FABSIM, "mads", "-v", path))
        kinds = {}
        for block in re.split(r"\n(?=\S)", text):
            kinds.setdefault(" ".join(block.split("\n")[0].split()[1:4]), block)
        golden.add(f"fabsim mads -v {name}", "\n".join(kinds.values())
                   + "\nall: sha256 " + hashlib.sha256(text.encode()).hexdigest())
    golden.compare()


def faults_are_made_by_hand():
    golden, folder = Golden("serve.txt", MASKS), os.path.dirname(socket_path())
    topology, name = folder + "/fabric.net", "golden-" + os.path.basename(folder)
    golden.hidden = [(folder, "<folder>"), (name, "<socket>")]
    ran(FABSIM, *"generate leaf-spine --leaves 2 --spines 1 --hosts 2 -o".split(), topology)
    server = subprocess.Popen([FABSIM, "serve", topology, "--socket", name], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: "exit status" not in ran(FABSIM, "ctl", "--socket", name, "status"))
        for number, line in enumerate(lines(SERVED), 1):
            golden.add(f"{number}: fabsim ctl {line}", ran(FABSIM, "ctl", "--socket", name, *line.split()))
        ran(FABSIM, "ctl", "--socket", name, "stop")
        assert server.wait(60) == 0
        golden.add("fabsim ctl status", ran(FABSIM, "ctl", "--socket", name, "status"))
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()
    golden.compare()


main([test for test in (
    a_manager_whose_answers_are_fixed,
    a_manager_that_refuses,
    a_fat_tree_with_all_features,
    a_torus,
    a_dragonfly,
    what_devices_are_told,
    mistakes_have_their_whole_text,
    fabrics_are_generated_and_checked,
    recordings_are_printed,
    faults_are_made_by_hand,
) if os.environ.get("GOLDEN", "") in test.__name__])
