"""fabricctl as users and scripts run it: its output and its exit codes."""

import contextlib
import json
import os
import pty
import re
import socket
import subprocess
import tempfile
import threading
from concurrent import futures

import grpc

from harness import BUILD, fake, load, main, socket_path, status_pb2, wait_until

export_pb2 = load("fabric.v1.export_pb2")

CTL = os.path.join(BUILD, "cli/fabricctl")


def run(address, *arguments, **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("FABRICCTL")}
    return subprocess.run([CTL, "-s", address, *arguments], capture_output=True, text=True,
                          timeout=60, env=dict(clean, TZ="UTC", **env))


def succeeds(address, *arguments):
    done = run(address, *arguments)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout


def fails(code, address, *arguments):
    done = run(address, *arguments)
    assert done.returncode == code, done
    if "json" in arguments and code != 5:
        assert json.loads(done.stderr)["error"]["exit_status"] == code, done
    else:
        assert done.stderr.startswith("fabricctl: ") or code == 5, done
    assert done.stderr.count("\n") <= 1, done
    return done.stderr


def every_command_speaks_json():
    with fake(events=1) as s:
        for line in ("status", "node list", "node list switch", "node show leaf-001", "port list",
                     "port list leaf-002", "port show leaf-001/1", "link list",
                     "link list spine-001", "path host-0001 host-0016", "path leaf-001 host-0002",
                     "route show leaf-001", "route verify", "route quality", "route contingency",
                     "route contingency spine-001", "route contingency leaf-001/5",
                     "route quality --hosts host-[0001-0009] --samples 9 --seed 3",
                     "route compare", "route compare updn", "route whatif leaf-001/5",
                     "route whatif --fail spine-001 --fail host-0002 --engine updn", "event list", "version",
                     "class list", "class show default", "partition list", "multicast list",
                     "port counters"):
            answer = json.loads(succeeds(s.address, "-o", "json", *line.split()))
            assert isinstance(answer, dict) and answer, line
        events = succeeds(s.address, "event", "watch", "-n", "3", "-o", "json").splitlines()
        assert [json.loads(e)["type"] for e in events] == ["trap"] * 3
        fields = {"name": "a \"quote\" \ufffd", "peer_guid": "0x0000000000000042", "tick": 0}
        assert [json.loads(e)["fields"] for e in events] == [fields] * 3
        listed = json.loads(succeeds(s.address, "event", "list", "-n", "2", "-o", "json"))
        assert [e["fields"] for e in listed["events"]] == [fields] * 2


def flapping_links_are_listed_and_released():
    with fake() as s:
        (link,) = json.loads(succeeds(s.address, "link", "flapping", "-o", "json"))["links"]
        assert link["a_node"] == "leaf-001" and link["a_port"] == 3 and link["state"] == "held down"
        assert link["flaps"] == 7 and link["hold_down_s"] == 20
        text = succeeds(s.address, "link", "flapping")
        assert "leaf-001/3" in text and "spine-001/1" in text and "held down" in text
        succeeds(s.address, "link", "release", "leaf-001/3")


def unhealthy_links_are_listed_and_isolated():
    with fake() as s:
        (link,) = json.loads(succeeds(s.address, "link", "unhealthy", "-o", "json"))["links"]
        assert link["a_node"] == "leaf-001" and link["a_port"] == 3 and link["state"] == "isolated"
        assert link["counter"] == "SymbolErrorCounter" and link["increase"] == 120 and link["interval_s"] == 60
        assert link["errors_per_hour"] == 7200 and not link["uplinks_of_pod"]
        assert [link[k] for k in ("uplinks_of", "uplinks", "uplinks_in_use", "uplinks_least")] == ["leaf-001", 24, 20, 18]
        assert "leaf-001 keeps 20 of 24 uplinks, floor 18" in succeeds(s.address, "link", "unhealthy")
        one = json.loads(succeeds(s.address, "link", "unhealthy", "spine-001/1", "-o", "json"))
        assert "no node, GUID or LID" in fails(4, s.address, "link", "unhealthy", "nobody/1")
        assert "no error counter" in fails(4, s.address, "link", "unhealthy", "leaf-001/4")
        assert one["counters"] == [{"end": "leaf-001/3", "counter": "SymbolErrorCounter", "total": 500,
                                    "recent": 120, "per_hour": 7200}]
        assert [h["increase"] for h in one["history"]] == [120, 380]
        watched = json.loads(succeeds(s.address, "link", "unhealthy", "leaf-002/3", "-o", "json"))
        assert watched["state"] == "watched" and watched["counters"][0]["total"] == 7
        text = succeeds(s.address, "link", "unhealthy")
        assert "leaf-001/3" in text and "spine-001/1" in text and "isolated" in text
        assert "SymbolErrorCounter" in text and "too many symbol errors" in text
        succeeds(s.address, "link", "isolate", "leaf-001/4")
        ports = json.loads(succeeds(s.address, "port", "counters", "-o", "json"))["ports"]
        assert [(p["node"], p["port"], p["SymbolErrorCounter"]) for p in ports] == [("leaf-001", 3, 500)]
        ports = json.loads(succeeds(s.address, "port", "counters", "leaf-001", "-o", "json"))["ports"]
        assert len(ports) == 6


def counters_have_a_history():
    hour = "--since 2026-11-20T00:00:00Z --until 2026-11-20T01:00:00Z".split()
    with tempfile.TemporaryDirectory() as state, fake(hosts=2, env={"HISTORY": state}) as s:
        def asked(*words):
            return json.loads(succeeds(s.address, *words, "-o", "json"))

        top = asked("port", "top", "-n", "2")
        assert top["total"] == 20 and top["ports"][0]["node"] == "leaf-001", top
        assert 10.9e9 < top["ports"][0]["sent_bytes_per_second"] < 11.1e9, top
        assert top["ports"][1]["node_guid"] == "0x0002c90100000099", top  # it is gone
        assert "11.0 GB/s" in succeeds(s.address, "port", "top")

        # of the history: the link has 27 to 30 MB/s on the average, and 120 errors
        top = asked("port", "top", "--by", "errors", "--since", "2026-11-20T00:00:00Z")
        assert top["total"] == 1 and top["ports"][0]["error_sum"] == 121, top
        top = asked("port", "top", "--since", "2026-11-20T00:00:00Z")
        assert [p["port"] for p in top["ports"]] == [3, 1], top
        assert 30e6 < top["ports"][0]["sent_bytes_per_second"] < 31e6, top
        assert "expected" in fails(2, s.address, "port", "top", "--by", "size")

        samples = asked("port", "history", "leaf-001/3", *hour)["samples"]
        assert len(samples) == 60 and samples[0]["time"].startswith("2026-11-20T00:01:00"), samples
        for minute, x in enumerate(samples, 1):
            assert x["seconds"] == 60 and x["error_sum"] == minute % 5 + (minute == 20), x
            assert abs(x["sent_bytes_per_second"] - minute * 1e6) <= minute * 1e4, x
            assert x["down_seconds"] == (7 if minute == 20 else 0), x
            assert x["vl_wait_ppm"]["1"] > 0 and x["wait_ppm"] > 0, x
        rolled = asked("port", "history", "leaf-001/3", *hour, "-n", "10")["samples"]
        # three roll-ups, and the samples after them
        assert [x["seconds"] for x in rolled] == [900] * 3 + [60] * 15, rolled
        assert rolled[1]["down_seconds"] == 7 and rolled[1]["error_sum"] == 31, rolled
        assert rolled[0]["peak_sent_bytes_per_second"] > 14.8e6, rolled

        text = succeeds(s.address, "port", "history", "leaf-001/3", *hour)
        assert "Sent:" in text and "60.2 MB/s" in text or "59.8 MB/s" in text or "60.0 MB/s" in text
        assert "SymbolErrorCounter 4" in text and "7 s" in text, text
        text = succeeds(s.address, "port", "history", "leaf-001/3", *hour, "--counter", "wait")
        assert "15.0 %" in text and "SENT" not in text, text
        assert "expected" in fails(2, s.address, "port", "history", "leaf-001/3", "--counter", "x")
        assert "no sample" in fails(4, s.address, "port", "history", "host-0001/1")

        link = asked("link", "history", "spine-001/1", *hour)
        assert link["a_node"] == "spine-001" and link["b_node"] == "leaf-001", link
        wrong = [i for i, x in enumerate(link["samples"], 1) if x["asymmetric"]]
        assert wrong == list(range(30, 61)), wrong
        text = succeeds(s.address, "link", "history", "leaf-001/3", *hour)
        assert "leaf-001/3: 121 errors, 1 flap, down for 7 s" in text, text
    with fake() as s:
        assert "not supported" in fails(1, s.address, "port", "history", "leaf-001/1")


def empty_lists_say_so():
    with fake() as s:
        for line, key, sentence in (("class show default", "rules", "No rule assigns paths to this class."),
                                    ("partition list", "partitions", "No partitions are configured."),
                                    ("event list", "events", "No event matches.")):
            assert json.loads(succeeds(s.address, *line.split(), "-o", "json")) == {key: []}, line
            assert succeeds(s.address, *line.split()) == sentence + "\n", line


def reroutes_are_listed_and_shown():
    with fake() as s:
        rows = json.loads(succeeds(s.address, "reroute", "list", "-n", "3", "-o", "json"))
        assert [r["generation"] for r in rows["reroutes"]] == [300, 299, 298]
        assert rows["reroutes"][0]["last_write_ms"] == 2.5 and rows["reroutes"][0]["blocks"] == 4
        assert len(succeeds(s.address, "reroute", "list").splitlines()) == 51
        assert len(succeeds(s.address, "reroute", "list", "-n", "5000").splitlines()) == 299
        one = json.loads(succeeds(s.address, "reroute", "show", "42", "-o", "json"))
        assert one["cause"] == "trap 128 from leaf-001" and one["discovered_ms"] == 0.4
        assert "12 entries in 4 blocks on 3 switches" in succeeds(s.address, "reroute", "show", "42")


def contingencies_are_the_worst_first():
    with fake() as s:
        rows = json.loads(succeeds(s.address, "route", "contingency", "-n", "99", "-o", "json"))
        cases = rows["contingencies"]
        # 4 leaves with 2 uplinks each, 2 spines
        assert len(cases) == rows["cases"] == rows["computed"] == 4 * 2 + 4 + 2
        keys = [(-c["lost_endports"], not c["needs_engine"], -c["blocks"]) for c in cases]
        assert keys == sorted(keys)
        assert [c["lost_endports"] for c in cases[:5]] == [4, 4, 4, 4, 0]
        assert {c["kind"] for c in cases[:4]} == {"switch"} and rows["plans"] == 7
        assert rows["blocks_per_second"] == 2000 and rows["rate_measured"] is True
        top = json.loads(succeeds(s.address, "route", "contingency", "-n", "3", "-o", "json"))
        assert top["contingencies"] == cases[:3]
        text = succeeds(s.address, "route", "contingency").splitlines()
        assert len(text) == 1 + 14 + 3 and "14 of 14 cases computed so far, 7 plans" in text[-3], text
        assert re.search(r"\(100 %; waiting for the background proof\)", text[-2]), text
        assert "at 2000 blocks a second, measured in reroutes" in text[-1], text
        one = json.loads(succeeds(s.address, "route", "contingency", "leaf-001/5", "-o", "json"))
        assert one["lost_endports"] == 0 and one["blocks"] > 0 and one["kind"] == "link"
        assert one["estimated_ms"] == one["blocks"] / 2
        assert "leaf-001" in (one["from_node"], one["to_node"])
        shown = succeeds(s.address, "route", "contingency", "leaf-001")
        assert "4 endports, 1 switch" in shown, shown
        for what in ("host-0001", "leaf-001/1", "host-0001/1"):
            assert "its failure would change no table" in fails(1, s.address, "route", "contingency", what)
        fails(4, s.address, "route", "contingency", "leaf-001/77")
        fails(4, s.address, "route", "contingency", "nobody")
    with fake(leaves=0) as s:
        fails(1, s.address, "route", "contingency")


def unresponsive_ports_are_counted_beyond_eight():
    for count in (1, 8, 9, 12, 100):
        with fake(env={"UNRESPONSIVE": str(count)}) as s:
            text = succeeds(s.address, "status")
            assert f"{count} port{'s' if count > 1 else ''} did not answer:" in text, text
            assert text.count("    behind a port") == min(count, 8), text
            more = re.search(r"^ +and (\d+) more$", text, re.M)
            assert (int(more.group(1)) if more else 0) == max(count - 8, 0), text


def status_has_what_scripts_need():
    with fake() as s:
        status = json.loads(succeeds(s.address, "status", "-o", "json"))
        assert status["state"] == "idle" and status["generation"] == 1
        assert (status["switches"], status["adapters"], status["links"]) == (6, 16, 24)
        assert status["routing_engine"] == "updn" and status["deadlock_free"] is True
        assert status["routing_reason"].endswith("; improved by local search")
        assert status["unreachable_pairs"] == 0 and status["last_sweep_ms"] == 12.345
        assert status["last_reroute_ms"] is None and status["smps_sent"] == 678
        assert status["unresponsive_ports"][0]["port"] == "behind a port\ufffd of 'spine-1'"
        text = succeeds(s.address, "status")
        assert len(text.splitlines()) <= 24 and "6 switches, 16 adapters" in text
        assert re.search("^Reason: .*; improved by local search$", text, re.M)


def explain_has_a_row_for_each_engine():
    with fake() as s:
        answer = json.loads(succeeds(s.address, "route", "explain", "-o", "json"))
        rows = answer["engines"]
        assert [r["engine"] for r in rows] == ["fattree", "updn", "updn"]
        assert [r["outcome"] for r in rows] == ["not applicable", "not better", "taken"]
        assert rows[0]["reason"] == "a test" and rows[0]["max_over_mean"] is None
        assert rows[2]["local_search"] and rows[2]["permutation_bandwidth"] == 0.875
        text = succeeds(s.address, "route", "explain")
        assert re.search("^fattree +not applicable .* a test$", text, re.M), text
        assert re.search(r"^updn \+ search +taken +1.25 ", text, re.M), text


def before_the_first_view():
    with fake(leaves=0) as s:
        status = json.loads(succeeds(s.address, "status", "-o", "json"))
        assert status["deadlock_free"] is None and status["switches"] == 0
        assert "not known yet" in succeeds(s.address, "status")
        assert "published" in fails(1, s.address, "node", "list")
        assert json.loads(run(s.address, "-o", "json", "node", "list").stdout) == {"nodes": []}


def tables_are_aligned_and_whole():
    with fake(leaves=30, spines=4, hosts=50) as s:
        lines = succeeds(s.address, "node", "list").splitlines()
        assert len(lines) == 1 + 34 + 1500
        at = lines[0].index("GUID")
        assert all(line[at:at + 2] == "0x" for line in lines[1:])
        assert len(json.loads(succeeds(s.address, "-o", "json", "port", "list"))["ports"]) == (
            34 + 2 * (1500 + 120))
        assert len(json.loads(succeeds(s.address, "-o", "json", "link", "list"))["links"]) == 1620
        table = json.loads(succeeds(s.address, "-o", "json", "route", "show", "leaf-001"))
        assert len(table["entries"]) == 1534


def a_path_names_every_hop():
    with fake() as s:
        lines = succeeds(s.address, "path", "host-0001", "host-0016").splitlines()
        assert lines[0] == "From:         host-0001/1, LID 1"
        hops = [line.split() for line in lines[3:]]
        assert [h[0] for h in hops] == ["1", "2", "3", "4"]
        assert hops[0][1] == "host-0001/1" and hops[-1][2] == "host-0016/1"
        assert "same port" in succeeds(s.address, "path", "host-0001", "host-0001")


def exit_codes():
    with fake() as s:
        a = s.address
        fails(3, "unix:/nonexistent/socket", "status")
        fails(4, a, "node", "show", "nobody")
        fails(4, a, "port", "show", "leaf-001/99")
        fails(4, a, "node", "list", "bridge")
        fails(1, a, "node", "show", "leaf")
        assert "lose its way" in fails(1, a, "port", "disable", "leaf-001/1")
        assert "--sim" in fails(1, a, "sim", "unlink", "leaf-001/1")
        for line in ("", "bogus", "node", "node bogus", "node show", "node show a b", "path a",
                     "port show leaf-001", "port show /1", "port show leaf-001/x", "status x",
                     "-o xml status", "status -n 3", "--timeout x status", "--timeout -1 status",
                     "-n -5 event list", "--severity x event list", "status --after 3",
                     "node list bridge leaf-001", "route bogus", "node list --fail x", "sweep --seed 1", "cc export", "cc show a/1 --roce",
                     "cc export --roce --format dot", "-o json cc export --roce --format sonic"):
            fails(2, a, *line.split())
        assert run(a, "--bogus", "status").returncode == 2
        assert run("http://x", "status").returncode == 2
        help_text = succeeds(a, "--help")
        assert "port disable NODE/PORT" in help_text and "Exit status" in help_text
        help_text = succeeds(a, "class", "--help")
        assert "class show CLASS" in help_text and "port" not in help_text
        assert succeeds(a, "--version").startswith("fabricctl ")


def patterns_name_many_objects():
    with fake() as s:
        a = s.address
        assert succeeds(a, "node", "list", "LEAF-00[2-3]", "-o", "name").split() == ["leaf-002", "leaf-003"]
        assert succeeds(a, "host", "list", "host-00[09-11]", "-o", "name").split() == [
            "host-0009", "host-0010", "host-0011"]
        assert succeeds(a, "port", "list", "leaf-00[1-2]/[1-2]", "-o", "name").split() == [
            "leaf-001/1", "leaf-001/2", "leaf-002/1", "leaf-002/2"]
        assert len(json.loads(succeeds(a, "link", "list", "leaf-001/*", "-o", "json"))["links"]) == 6
        nodes = json.loads(succeeds(a, "node", "show", "spine-*", "-o", "json"))["items"]
        assert [n["name"] for n in nodes] == ["spine-001", "spine-002"]
        paths = succeeds(a, "path", "host-000[1-2]", "host-000[3-4]", "-o", "csv").splitlines()
        assert len(paths) == 5 and paths[0].startswith("source_node,"), paths
        assert succeeds(a, "route", "show", "spine-*").count("OUT PORT") == 2
        for line in ("node show x*", "node list x*", "port list leaf-001/[90-99]", "port show x*/1", "host list x*"):
            assert "matches" in fails(4, a, *line.split()) or "its ports are" in fails(4, a, *line.split()), line
        for spelling in ("0002c90100000001_1", "S-0002c90100000001[1]", '"S-0002c90100000001"[1]',
                         "0002:c901:0000:0001/1", "00:02:c9:01:00:00:00:01/1", "Leaf-001/1"):
            assert json.loads(succeeds(a, "port", "show", spelling, "-o", "json"))["node"] == "leaf-001", spelling


def a_change_of_many_objects_is_confirmed():
    with fake() as s:
        a = s.address
        refused = fails(2, a, "port", "disable", "leaf-001/[2-4]", "-o", "json")
        assert "3 objects match (leaf-001/2, leaf-001/3, leaf-001/4); add --yes" in refused, refused
        done = run(a, "port", "disable", "leaf-001/[2-4]", "--yes")
        assert (done.returncode, done.stdout) == (0, "") and "3 objects match: leaf-001/2" in done.stderr, done
        # A run that fails does not end the others, and names its object.
        done = run(a, "port", "disable", "leaf-001/[1-3]", "--yes")
        assert done.returncode == 1 and done.stderr.count("\n") == 2, done
        assert "fabricctl: leaf-001/1: the manager would lose its way" in done.stderr, done
        done = run(a, "link", "isolate", "leaf-001/*", "--dry-run")
        assert "the link at leaf-001/4 would be isolated" in done.stdout, done


def a_dry_run_changes_nothing():
    with fake(env={"CONGESTION": "1"}) as s:
        a = s.address
        for line, message in (("port disable leaf-001/2", "its link to host-0002/1 would go down, which cuts off"),
                              ("port disable leaf-001/5", "would go down, and routes would avoid it"),
                              ("port enable leaf-001/2", "leaf-001/2 is enabled already"),
                              ("link release leaf-001/3", "would be released"),
                              ("link isolate leaf-001/4", "would be isolated"),
                              ("ha handover", "0x0000000000000020 at leaf-001/2 would become master; this manager would "
                                              "stay standby with priority 2 (now: 3)"),
                              ("ha priority 2", "the priority would be 2 (now: 3)"),
                              ("manager freeze --no-writes --for 90s", "would be frozen for 90 s (no writes; now: repairs"),
                              ("manager resume", "it would do what was postponed: the set-up of 1 new node"),
                              ("key rotate --give-up-absent", "would get a new M_Key"),
                              ("key rotate --cc", "9 devices would get a new CC_Key (now: number 5)"),
                              ("sweep", "a heavy sweep would read the whole fabric (now: "),
                              ("reroute", "a reroute would write 3 entries in 2 blocks on 2 switches")):
            assert message in json.loads(succeeds(a, *line.split(), "--dry-run", "-o", "json"))["message"], line
            assert message in succeeds(a, *line.split(), "--dry-run"), line
        assert "is not trusted" in fails(1, a, "ha", "handover", "--to", "host-0003", "--dry-run")
        assert "49 writes were withheld" in fails(1, a, "manager", "freeze", "--dry-run")
        assert "would not be rotated: 2 ports" in fails(1, a, "key", "rotate", "--dry-run")
        assert "another dry run is under way" in fails(3, a, "route", "rebalance", "--dry-run")
        fails(2, a, "ha", "priority", "16", "--dry-run")
        assert "there is no baseline" in fails(4, a, "topo", "disapprove", "--all", "--dry-run")
        assert "lose its way" in fails(1, a, "port", "disable", "leaf-001/1", "--dry-run")
        fails(4, a, "link", "release", "leaf-001/1", "--dry-run")


def wrong_addresses_are_refused():
    for address in ("tcp:localhost:7471", "nowhere", "unix:", "unix:" + "x" * 200, "tls:nowhere",
                    "tls:localhost:7471"):
        fails(2, address, "status")
    absent = ("--tls-ca", "/nowhere/ca.crt", "--tls-cert", "/c", "--tls-key", "/k")
    assert "No such file" in fails(2, "tls:localhost:7471", "status", *absent)


def a_full_disk_is_an_error():
    with fake() as s, open("/dev/full", "w") as full:
        done = subprocess.run([CTL, "-s", s.address, "node", "list"], stdout=full, timeout=60,
                              stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and "written" in done.stderr, done


def commands_that_only_act_print_nothing():
    with fake() as s:
        for line in ("sweep", "reroute", "port disable leaf-001/2", "port enable leaf-001/2",
                     "-o json sweep"):
            assert succeeds(s.address, *line.split()) == ""


def the_environment_names_the_server():
    with fake() as s:
        env = dict(os.environ, FABRICCTL_SERVER=s.address)
        done = subprocess.run([CTL, "version"], capture_output=True, text=True, env=env, timeout=60)
        assert done.returncode == 0 and "fabric.v1" in done.stdout


def a_server_without_answer_times_out():
    path = socket_path()
    mute = socket.socket(socket.AF_UNIX)
    mute.bind(path)
    mute.listen()
    assert "in time" in fails(3, "unix:" + path, "--timeout", "0.3", "status")
    done = []
    thread = threading.Thread(target=lambda: done.append(
        run("unix:" + path, "--timeout", "5", "status")))
    thread.start()
    for _ in range(2):  # the first is the call that failed
        peer, _ = mute.accept()
        with contextlib.suppress(BrokenPipeError):
            peer.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 4)
        peer.close()
    thread.join()
    assert done[0].returncode == 3, done


def a_server_that_accepts_no_connection_times_out():
    path = socket_path()
    with socket.socket(socket.AF_UNIX) as mute, contextlib.ExitStack() as waiting:
        mute.bind(path)
        mute.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:  # until the backlog is full
                s = waiting.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
                s.connect(path)
        assert "in time" in fails(3, "unix:" + path, "--timeout", "0.3", "status")


class Answering(grpc.GenericRpcHandler):
    """Answers each call with these bytes, or with an error if there are none."""

    def __init__(self, answer):
        self.answer = answer

    def service(self, details):
        def reply(request, context):
            if self.answer is None:
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, "50 % of K\xf6ln\nis gone")
            return self.answer
        return grpc.unary_unary_rpc_method_handler(reply)


def answers_of_another_server_are_checked():
    for answer, expected in ((b"\xff\xff\xff", "fabricctl: the server's reply is malformed or too long"),
                             (None, "fabricctl: 50 % of K\xf6ln")):
        server = grpc.server(futures.ThreadPoolExecutor(1))
        server.add_generic_rpc_handlers([Answering(answer)])
        address = "unix:" + socket_path()
        server.add_insecure_port(address)
        server.start()
        try:
            done = run(address, "version")
            assert done.returncode not in (0, 2) and done.stdout == "", done
            assert done.stderr.startswith(expected), done
        finally:
            server.stop(0).wait()


class Exporting(grpc.GenericRpcHandler):
    """A manager whose export has 65 MiB."""

    def service(self, details):
        status = status_pb2.GetStatusResponse(status=status_pb2.Status(generation=1)).SerializeToString()
        data = export_pb2.ExportResponse(data=b"x" * (1 << 20)).SerializeToString()
        if details.method.endswith("/Export"):
            return grpc.unary_stream_rpc_method_handler(lambda request, context: iter([data] * 65))
        return grpc.unary_unary_rpc_method_handler(lambda request, context: status)


def an_export_that_is_too_large_ends_the_watch():
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers([Exporting()])
    address = "unix:" + socket_path()
    server.add_insecure_port(address)
    server.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            said = fails(1, address, "topo", "export", "--slurm", "--watch", "--file", os.path.join(folder, "f"))
            assert "the export has more than 64 MiB" in said, said
    finally:
        server.stop(0).wait()


def an_import_counts_and_lists_what_it_made():
    """No manager is needed. The counts are those of the options in the list."""
    with tempfile.TemporaryDirectory() as scratch:
        with open(os.path.join(scratch, "opensm.conf"), "w", encoding="utf-8") as conf:
            conf.write("m_key 0x1234\nlmc 2\nno_such_option 1\n")
        done = run("unix:/nowhere", "-o", "json", "import", "opensm", scratch, "--cache", scratch,
                   "--dir", os.path.join(scratch, "made"))
        assert done.returncode == 0, done
        answer = json.loads(done.stdout)
        fates = [option["fate"] for option in answer["options"]]
        for fate in ("taken", "default", "no meaning", "decide", "unknown"):
            assert answer[fate.replace(" ", "_")] == fates.count(fate), (fate, answer)
        assert fates.count("taken") > 0 and fates.count("unknown") == 1
        assert answer["files"] == [{"file": "fabricd.yaml", "secret": False},
                                   {"file": "opensm-m_key", "secret": True}]
        for made in answer["files"]:
            mode = os.stat(os.path.join(scratch, "made", made["file"])).st_mode & 0o777
            assert not made["secret"] or mode == 0o600, (made, oct(mode))
        done = run("unix:/nowhere", "import", "opensm", scratch, "--cache", scratch, "--dir",
                   os.path.join(scratch, "made"), "--force")
        assert done.returncode == 0 and re.search("^opensm-m_key +true$", done.stdout, flags=re.M)


def colour_is_for_terminals():
    with fake() as s:
        def on_terminal(**env):
            main_fd, other = pty.openpty()
            clean = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
            subprocess.run([CTL, "-s", s.address, "status"], stdout=other, timeout=60,
                           env=dict(clean, TERM="xterm", **env))
            os.close(other)
            return os.read(main_fd, 65536)
        assert b"\033[32m" in on_terminal()
        assert b"\033" not in on_terminal(NO_COLOR="1")
        assert b"\033" not in run(s.address, "status").stdout.encode()


def a_closed_pipe_is_no_error():
    with fake(leaves=30, spines=4, hosts=50) as s:
        done = subprocess.run(f"{CTL} -s {s.address} port list | head -1", shell=True,
                              capture_output=True, text=True, timeout=60)
        assert done.stdout.startswith("PORT") and done.stderr == "", done


def the_daemon_ends_while_it_is_watched():
    with fake(events=1) as s:
        watch = subprocess.Popen([CTL, "-s", s.address, "event", "watch"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        assert "trap" in watch.stdout.readline()
        s.stdin.close()
        wait_until(lambda: watch.poll() is not None and s.poll() is not None)
        assert watch.returncode == 3 and "lost" in watch.stderr.read()


def a_slow_watcher_resumes_and_says_what_it_missed():
    with fake(events=2000) as s:
        watch = subprocess.Popen([CTL, "-s", s.address, "-o", "json", "event", "watch"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        last = first = json.loads(watch.stdout.readline())["sequence"]
        newest = lambda: json.loads(succeeds(s.address, "-o", "json", "event", "list", "-n", "1")
                                    )["events"][0]["sequence"]
        wait_until(lambda: newest() > first + 30000)
        missed = after = 0
        for line in watch.stdout:  # the fake manager has no store, so older events are lost
            row = json.loads(line)
            assert row.get("missed_first_sequence", row.get("sequence")) == last + 1, (row, last)
            last = row.get("missed_last_sequence", row.get("sequence"))
            missed += "missed_last_sequence" in row
            after += missed > 0
            if after > 10:
                break
        assert missed >= 1, "the command was not slow"
        watch.kill()
        watch.communicate()
    with fake(events=2, env={"DEBUG_EVENTS": "1000"}) as s:
        text = succeeds(s.address, "event", "watch", "--severity", "debug", "-n", "600")
        assert re.search("^[0-9]+ debug events were missed[.]$", text, flags=re.M), text[-2000:]
        assert len(re.findall("a debug event|of this tick", text)) == 600


main([
    every_command_speaks_json,
    flapping_links_are_listed_and_released,
    unhealthy_links_are_listed_and_isolated,
    counters_have_a_history,
    empty_lists_say_so,
    reroutes_are_listed_and_shown,
    contingencies_are_the_worst_first,
    status_has_what_scripts_need,
    explain_has_a_row_for_each_engine,
    unresponsive_ports_are_counted_beyond_eight,
    before_the_first_view,
    tables_are_aligned_and_whole,
    a_path_names_every_hop,
    exit_codes,
    patterns_name_many_objects,
    a_change_of_many_objects_is_confirmed,
    a_dry_run_changes_nothing,
    a_slow_watcher_resumes_and_says_what_it_missed,
    wrong_addresses_are_refused,
    a_full_disk_is_an_error,
    commands_that_only_act_print_nothing,
    the_environment_names_the_server,
    a_server_without_answer_times_out,
    a_server_that_accepts_no_connection_times_out,
    an_export_that_is_too_large_ends_the_watch,
    answers_of_another_server_are_checked,
    an_import_counts_and_lists_what_it_made,
    colour_is_for_terminals,
    a_closed_pipe_is_no_error,
    the_daemon_ends_while_it_is_watched,
])
