# SPDX-License-Identifier: BSD-3-Clause
"""Serves the REST calls by which ib-kubernetes asks UFM for P_Keys (fabricd-ib-kubernetes(8)).

    fabricd-ib-kubernetes --listen 0.0.0.0:8443 --cert web.pem --key web.key --password-file passwords

The partitions are a file of the applied policy of the manager, named ib-kubernetes.json, so that this program keeps no
state, several of it may run, and 'fabricctl policy history' has every change. The program changes only partitions in
this file.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import contextlib
import hmac
import http.server
import ipaddress
import json
import os
import re
import signal
import socket
import ssl
import stat
import sys
import threading
import time
import urllib.parse
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from .arguments import add_arguments, from_arguments
from .errors import AlreadyExists, Conflict, Denied, FabricError, InvalidArgument, NotFound, Refused
from .fabric import Fabric
from .policy import split_policy
from .v1 import policy_pb2

FILE = "ib-kubernetes.json"
PREFIX = "ib-kubernetes-"
HEAD = "# written by fabricd-ib-kubernetes; changes by hand are kept\n"
# The membership bit is no part of a P_Key, and 0x7fff is the default partition.
PKEYS = range(0x0001, 0x7fff)
MEMBERSHIPS = ("full", "limited")
PKEY = re.compile(r"0[xX]([0-9a-fA-F]{1,4})")
GUID = re.compile(r"(?:0x)?([0-9a-fA-F]{16})")
MOST_BYTES = 1 << 20
MOST_GUIDS = 10000
MOST_THREADS = 16
SECONDS = 30
# How long a refused body is read on.
DISCARD_SECONDS = 2
# How long the program waits at its end for the answers to requests that it is carrying out.
END_SECONDS = 10
ATTEMPTS = 8


class Mistake(Exception):
    """A request that cannot be carried out, and the status of its answer."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


# ---- what a request says ------------------------------------------------------------------------

def read_pkey(value: Any) -> int:
    match = PKEY.fullmatch(value) if isinstance(value, str) else None
    pkey = int(match[1], 16) & 0x7fff if match else 0
    if pkey not in PKEYS:
        raise Mistake(400, f"{str(value)[:40]!r} is no P_Key: \"0x0001\" to \"0x7ffe\" are accepted")
    return pkey


def read_guids(value: Any) -> List[str]:
    """Returns GUIDs as the policy has them: 0x and 16 digits."""
    if not isinstance(value, list) or len(value) > MOST_GUIDS:
        raise Mistake(400, f"\"guids\" must be a list of at most {MOST_GUIDS} GUIDs")
    guids = []
    for item in value:
        match = GUID.fullmatch(item.replace(":", "")) if isinstance(item, str) else None
        if not match or int(match[1], 16) == 0:
            raise Mistake(400, f"{str(item)[:40]!r} is no GUID: 16 hexadecimal digits are accepted")
        guids.append("0x" + match[1].lower())
    return guids


def read_flag(request: Dict[str, Any], name: str, default: bool) -> bool:
    value = request.get(name, default)
    if not isinstance(value, bool):
        raise Mistake(400, f"\"{name}\" must be true or false")
    return value


# ---- partitions ---------------------------------------------------------------------------------

def name_of(pkey: int) -> str:
    return f"{PREFIX}{pkey:#06x}"


class Partitions:
    """The partitions of the file: by P_Key, each as in fabricd-policy(5)."""

    def __init__(self, text: Optional[str]):
        self.by_pkey: Dict[int, Dict[str, Any]] = {}
        lines = [line for line in (text or "").splitlines() if not line.startswith(("#", "---"))]
        try:
            listed = json.loads("\n".join(lines))["partitions"] if "".join(lines).strip() else []
            for partition in listed:
                self.by_pkey[int(partition["pkey"])] = partition
        except (ValueError, KeyError, TypeError) as error:
            raise Mistake(409, f"the file {FILE} of the applied policy is not as this program writes it: "
                               f"{error}") from error

    def text(self) -> str:
        listed = [self.by_pkey[pkey] for pkey in sorted(self.by_pkey)]
        return HEAD + json.dumps({"partitions": listed}, indent=1) + "\n"

    def make(self, pkey: int, ipoib: bool, index0: bool) -> Dict[str, Any]:
        new = {"name": name_of(pkey), "pkey": pkey, "ipoib": ipoib, "index0": index0, "unknown_guids": True}
        return self.by_pkey.setdefault(pkey, new)

    def add(self, pkey: int, guids: List[str], membership: str, ipoib: bool, index0: bool) -> None:
        partition = self.make(pkey, ipoib, index0)
        for kind in MEMBERSHIPS:
            others = [guid for guid in partition.get(kind, []) if guid not in guids]
            members = sorted({*others, *guids}) if kind == membership else others
            self.put(partition, kind, members)

    def remove(self, pkey: int, guids: List[str]) -> None:
        """Removes members, and with the last one the partition. What is not there needs no removal, because
        ib-kubernetes repeats a request if the answer is lost."""
        partition = self.by_pkey.get(pkey)
        if partition is None:
            return
        for kind in MEMBERSHIPS:
            self.put(partition, kind, [guid for guid in partition.get(kind, []) if guid not in guids])
        if not any(kind in partition for kind in MEMBERSHIPS):
            del self.by_pkey[pkey]

    @staticmethod
    def put(partition: Dict[str, Any], kind: str, members: List[str]) -> None:
        if members:
            partition[kind] = members
        else:
            partition.pop(kind, None)

    def members(self, pkey: int) -> List[Tuple[str, str]]:
        partition = self.by_pkey[pkey]
        return [(guid[2:], kind) for kind in MEMBERSHIPS for guid in partition.get(kind, [])]


def check(plan: policy_pb2.PolicyPlan) -> None:
    """A change of the file must change nothing else, since it is applied without a question."""
    other = [change.path for change in plan.changes if not change.path.startswith(f"partitions.{PREFIX}")]
    if other:
        raise Mistake(409, f"the policy would also change {other[0]}; apply the policy by hand first")


class Manager:
    """The applied policy of the manager."""

    def __init__(self, fabric: Fabric):
        self.fabric = fabric
        self.lock = threading.Lock()

    def read(self) -> Tuple[int, Dict[str, str]]:
        policy = self.fabric.policy()
        return (policy.version, split_policy(policy.text)) if policy else (0, {})

    def partitions(self) -> Partitions:
        return Partitions(self.read()[1].get(FILE))

    def change(self, edit: Callable[[Partitions], object], reason: str) -> None:
        with self.lock:
            for _ in range(ATTEMPTS):
                try:
                    self.try_change(edit, reason)
                    return
                except Conflict:
                    pass  # somebody applied another version meanwhile
        raise Mistake(503, "the policy of the manager changes all the time; try again")

    def try_change(self, edit: Callable[[Partitions], object], reason: str) -> None:
        version, files = self.read()
        own = Partitions(files.get(FILE))
        before = own.text()
        edit(own)
        if own.text() == before:
            return
        if "partitions" not in self.fabric.status().policy_sections:
            raise Mistake(409, "the manager has no applied policy with partitions, so a first one would replace all "
                               "partitions of fabricd.yaml; apply one with the default partition first: "
                               "fabricd-ib-kubernetes(8)")
        files[FILE] = own.text()
        check(self.fabric.plan_policy(files))
        self.fabric.apply_policy(files, confirmed=True, base_version=version, reason=reason)

    def check_owner(self, pkey: int) -> None:
        for partition in self.fabric.partitions():
            if partition.pkey & 0x7fff == pkey and not partition.name.startswith(PREFIX):
                raise Mistake(409, f"the P_Key {pkey:#06x} belongs to the partition \"{partition.name}\", which is not "
                                   "one of ib-kubernetes")


# ---- the calls ----------------------------------------------------------------------------------

def version(_manager: Manager, _request: Dict[str, Any], _query: Dict[str, List[str]]) -> Any:
    return {"ufm_release_version": "fabricd"}


def describe(partitions: Partitions, pkey: int, with_guids: bool) -> Dict[str, Any]:
    partition = partitions.by_pkey[pkey]
    answer = {"partition": partition["name"], "ip_over_ib": bool(partition.get("ipoib"))}
    if with_guids:
        index0 = bool(partition.get("index0"))
        answer["guids"] = [{"guid": guid, "membership": kind, "index0": index0}
                           for guid, kind in partitions.members(pkey)]
    return answer


def wants_guids(query: Dict[str, List[str]]) -> bool:
    return query.get("guids_data", ["false"])[0].lower() == "true"


def list_pkeys(manager: Manager, _request: Dict[str, Any], query: Dict[str, List[str]]) -> Any:
    partitions = manager.partitions()
    return {f"{pkey:#06x}": describe(partitions, pkey, wants_guids(query)) for pkey in sorted(partitions.by_pkey)}


def show_pkey(manager: Manager, request: Dict[str, Any], query: Dict[str, List[str]]) -> Any:
    pkey, partitions = read_pkey(request["pkey"]), manager.partitions()
    if pkey not in partitions.by_pkey:
        raise Mistake(404, f"there is no P_Key {pkey:#06x} of ib-kubernetes")
    return describe(partitions, pkey, wants_guids(query))


def create_pkey(manager: Manager, request: Dict[str, Any], _query: Dict[str, List[str]]) -> Any:
    pkey = read_pkey(request.get("pkey"))
    ipoib, index0 = read_flag(request, "ip_over_ib", True), read_flag(request, "index0", False)
    manager.check_owner(pkey)
    manager.change(lambda own: own.make(pkey, ipoib, index0), f"ib-kubernetes makes P_Key {pkey:#06x}")
    return {}


def add_guids(manager: Manager, request: Dict[str, Any], _query: Dict[str, List[str]]) -> Any:
    pkey, guids = read_pkey(request.get("pkey")), read_guids(request.get("guids"))
    ipoib, index0 = read_flag(request, "ip_over_ib", True), read_flag(request, "index0", False)
    membership = request.get("membership", "full")
    if membership not in MEMBERSHIPS:
        raise Mistake(400, "\"membership\" must be \"full\" or \"limited\"")
    manager.check_owner(pkey)
    manager.change(lambda own: own.add(pkey, guids, membership, ipoib, index0),
                   f"ib-kubernetes adds {len(guids)} GUIDs to P_Key {pkey:#06x}")
    return {}


def remove_guids(manager: Manager, request: Dict[str, Any], _query: Dict[str, List[str]]) -> Any:
    pkey, guids = read_pkey(request.get("pkey")), read_guids(request.get("guids"))
    manager.change(lambda own: own.remove(pkey, guids), f"ib-kubernetes removes {len(guids)} GUIDs from P_Key "
                                                        f"{pkey:#06x}")
    return {}


def delete_pkey(manager: Manager, request: Dict[str, Any], _query: Dict[str, List[str]]) -> Any:
    pkey = read_pkey(request["pkey"])
    manager.change(lambda own: own.by_pkey.pop(pkey, None), f"ib-kubernetes deletes P_Key {pkey:#06x}")
    return {}


# The last part of a path may be the P_Key.
CALLS: Dict[Tuple[str, str], Callable[[Manager, Dict[str, Any], Dict[str, List[str]]], Any]] = {
    ("GET", "/ufmRest/app/ufm_version"): version,
    ("GET", "/ufmRest/resources/pkeys"): list_pkeys,
    ("GET", "/ufmRest/resources/pkeys/PKEY"): show_pkey,
    ("POST", "/ufmRest/resources/pkeys"): add_guids,
    ("POST", "/ufmRest/resources/pkeys/add"): create_pkey,
    ("POST", "/ufmRest/actions/remove_guids_from_pkey"): remove_guids,
    ("DELETE", "/ufmRest/resources/pkeys/PKEY"): delete_pkey,
}
PKEY_PATH = re.compile(r"(/ufmRest/resources/pkeys)/(0[xX][0-9a-fA-F]{1,4})")
STATUS = ((NotFound, 404), (InvalidArgument, 400), (Denied, 403), (Refused, 409), (AlreadyExists, 409))


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "fabricd-ib-kubernetes"
    sys_version = ""
    timeout = SECONDS
    server: "Server"

    def setup(self) -> None:
        if self.server.tls:
            self.request.settimeout(SECONDS)
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def is_known(self) -> bool:
        kind, _, text = self.headers.get("Authorization", "").partition(" ")
        try:
            given = base64.b64decode(text, validate=True) if kind.lower() == "basic" else b""
        except (binascii.Error, ValueError):
            return False
        found = False
        for one in self.server.passwords:
            found |= hmac.compare_digest(one, given)
        return found

    def body(self) -> Dict[str, Any]:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or len(length) > 9 or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise Mistake(411, "a Content-Length is expected")
        if int(length) > MOST_BYTES:
            self.close_connection = True
            raise Mistake(413, f"at most {MOST_BYTES} bytes are accepted")
        text = self.rfile.read(int(length))
        if self.command != "POST":
            return {}
        try:
            request = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Mistake(400, "the request is not JSON") from error
        if not isinstance(request, dict):
            raise Mistake(400, "the request is no JSON object")
        return request

    def answer(self) -> Any:
        if not self.is_known():
            self.close_connection = True
            raise Mistake(401, "user and password are wrong or missing")
        request = self.body()
        url = urllib.parse.urlsplit(self.path)
        path = url.path.rstrip("/")
        match = PKEY_PATH.fullmatch(path)
        if match:
            path, request["pkey"] = match[1] + "/PKEY", match[2]
        call = CALLS.get((self.command, path))
        if call is None:
            raise Mistake(404, f"{self.command} {path[:100]} is not served")
        return call(self.server.manager, request, urllib.parse.parse_qs(url.query))

    def handle_one_request(self) -> None:
        with contextlib.ExitStack() as self.counted:
            super().handle_one_request()

    def parse_request(self) -> bool:
        """A request counts from its first line on, because a client may learn that it has begun (100 Continue)."""
        self.counted.enter_context(self.server.call())
        return super().parse_request()

    def carry_out(self) -> None:
        try:
            status, answer = 200, self.answer()
        except Mistake as error:
            status, answer = error.status, {"error": str(error)}
        except FabricError as error:
            status = next((number for kind, number in STATUS if isinstance(error, kind)), 503)
            answer = {"error": str(error)}
        if status >= 400 and status != 401:
            print(f"{self.client_address[0]}: {self.command} {self.path[:100]!r}: {answer['error']}", file=sys.stderr,
                  flush=True)
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if self.close_connection:
            self.send_header("Connection", "close")
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="fabricd"')
        self.end_headers()
        self.wfile.write(text)
        if self.close_connection:
            self.discard()

    def discard(self) -> None:
        """Reads on for a moment: a client that still sends the body would see a reset connection, not the answer."""
        self.connection.settimeout(DISCARD_SECONDS)
        end = time.monotonic() + DISCARD_SECONDS
        try:
            self.connection.shutdown(socket.SHUT_WR)
            while time.monotonic() < end and self.connection.recv(MOST_BYTES):
                pass
        except OSError:
            pass  # the client is gone or sends nothing more

    do_GET = do_POST = do_DELETE = carry_out


class Server(http.server.ThreadingHTTPServer):
    """Serves a limited number of connections at a time; others wait in the queue of the socket."""

    def __init__(self, address: Tuple[str, int], manager: Manager, passwords: List[bytes],
                 tls: Optional[ssl.SSLContext]):
        self.manager = manager
        self.passwords = passwords
        self.tls = tls
        self.free = threading.BoundedSemaphore(MOST_THREADS)
        self.calls = 0
        self.idle = threading.Condition()
        super().__init__(address, Handler)

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """Counts a request that is being carried out."""
        with self.idle:
            self.calls += 1
        try:
            yield
        finally:
            with self.idle:
                self.calls -= 1
                self.idle.notify_all()

    def end(self) -> None:
        """Accepts no more connections, and waits for the requests that are being carried out."""
        self.server_close()
        with self.idle:
            self.idle.wait_for(lambda: self.calls == 0, END_SECONDS)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.free.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        print(f"{client_address[0]}: {sys.exc_info()[1]}", file=sys.stderr, flush=True)


# ---- the program --------------------------------------------------------------------------------

def read_passwords(path: str) -> List[bytes]:
    """Reads a file with a line USER:PASSWORD for each user."""
    if os.stat(path).st_mode & (stat.S_IROTH | stat.S_IWOTH):
        raise ValueError(f"{path}: every user can read or write this file; chmod o-rw")
    with open(path, "rb") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith(b"#")]
    wrong = [number for number, line in enumerate(lines, 1) if not re.fullmatch(rb"[^:]+:.{8,}", line)]
    if wrong or not lines:
        raise ValueError(f"{path}: lines USER:PASSWORD are expected, with passwords of at least 8 characters")
    return lines


def read_address(text: str) -> Tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"--listen \"{text}\": ADDRESS:PORT is expected")
    host = host.strip("[]")
    ipaddress.ip_address(host)
    return host, int(port)


def make_tls(options: argparse.Namespace, host: str) -> Optional[ssl.SSLContext]:
    if not options.cert and not options.key:
        if not ipaddress.ip_address(host).is_loopback:
            raise ValueError("without --cert and --key, only a loopback address is accepted, because passwords would "
                             "pass the network in clear text")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(options.cert, options.key)
    return context


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fabricd-ib-kubernetes", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", metavar="ADDRESS:PORT", default="127.0.0.1:7481", help="(default 127.0.0.1:7481)")
    parser.add_argument("--cert", metavar="FILE", help="certificate for HTTPS, in PEM")
    parser.add_argument("--key", metavar="FILE", help="its key")
    parser.add_argument("--password-file", metavar="FILE", required=True, help="lines USER:PASSWORD")
    add_arguments(parser)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    try:
        host, port = read_address(options.listen)
        passwords = read_passwords(options.password_file)
        tls = make_tls(options, host)
        with from_arguments(options) as fabric, Server((host, port), Manager(fabric), passwords, tls) as server:
            # An exception in a signal handler would close a connection that is just being accepted.
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
            print(f"listening on {host}:{server.server_address[1]}", flush=True)
            server.serve_forever(poll_interval=0.1)
            server.end()
    except KeyboardInterrupt:
        pass
    except (FabricError, OSError, ValueError) as error:
        sys.exit(f"fabricd-ib-kubernetes: {error}")


if __name__ == "__main__":
    main()
