"""The RPC server as the gRPC library for JavaScript sees it (grpcjs/client.js)."""

import functools
import json
import os
import subprocess

from harness import BUILD, PATIENCE, SOURCE, main, make_authority, make_certificate, wait_until
from place import Place, TlsPlace, revoke

CLIENT = os.path.join(SOURCE, "tests/rpc/grpcjs/client.js")


def ask(*calls):
    """Returns the results of calls that one process makes one after the other."""
    env = dict(os.environ, NODE_PATH=os.path.join(BUILD, "tests/rpc/node/node_modules"))
    done = subprocess.run(["node", CLIENT, os.path.join(SOURCE, "proto")], input=json.dumps(calls), env=env,
                          capture_output=True, text=True, timeout=5 * PATIENCE)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def local(place, method, count=0, **request):
    return {"address": place.address, "method": method, "request": request, "count": count}


def remote(place, certificate, method, **request):
    return {"address": f"localhost:{place.port}", "method": method, "request": request, "ca": place.ca + ".crt",
            "cert": certificate + ".crt", "key": certificate + ".key"}


def unix_sockets_and_tls_are_served():
    place = TlsPlace()
    place.settings()
    good = make_certificate(place.ca, "good")
    with place.daemon():
        for call in (functools.partial(local, place), functools.partial(remote, place, good)):
            status, nodes, export, nobody = ask(
                call("GetStatus"), call("ListNodes"), call("Export", format="EXPORT_FORMAT_OPENSM_LFTS"),
                call("GetNode", node="nobody"))
            assert status["code"] == nodes["code"] == export["code"] == "OK", (status, nodes, export)
            assert status["messages"][0]["status"]["generation"] >= 1
            assert len(nodes["messages"][0]["nodes"]) == 7, nodes
            assert export["messages"] and nobody["code"] == "NOT_FOUND" and "nobody" in nobody["details"], nobody
        events, = ask(local(place, "WatchEvents", count=2, after_sequence=1))
        assert events["code"] == "CANCELLED", events
        assert [m["event"]["sequence"] for m in events["messages"]] == [2, 3], events


def degraded_links_and_reroutes_are_seen():
    """What a program for operations needs: it lists degraded links, drains one, and sees a reroute."""
    place = Place()
    place.write("f.yaml", "")
    with place.daemon():
        place.rest()
        place.ctl("sim", "degrade", "leaf-001/4", "--width", "1x")
        wait_until(lambda: "leaf-001/4" in place.ctl("link", "list", "--degraded"))
        drain = {"kind": "DRAIN_KIND_LINK", "name": "leaf-001/4"}
        links, drained, listed, ended = ask(
            local(place, "ListLinks", degraded=True), local(place, "StartDrain", **drain), local(place, "ListDrains"),
            local(place, "EndDrain", **drain))
        link, = links["messages"][0]["links"]
        assert link["degraded"] and link["rate_reason"] == "width 1x of 4x", link
        assert {(link[x]["node_name"], link[x]["port_number"]) for x in "ab"} == {("leaf-001", 4), ("spine-002", 1)}, link
        assert drained["code"] == ended["code"] == "OK", (drained, ended)
        assert drained["messages"][0]["drain"]["link_count"] == 1, drained
        assert [d["name"] for d in listed["messages"][0]["drains"]] == ["leaf-001/4"], listed
        assert ended["messages"][0]["ended_count"] == 1, ended
        place.rest()
        last = max(e["sequence"] for e in json.loads(place.ctl("event", "list", "-o", "json"))["events"])
        place.ctl("sim", "unlink", "leaf-002/3")
        events, = ask(local(place, "WatchEvents", count=2, after_sequence=last))
        down, done = (m["event"] for m in events["messages"])
        assert (down["type"], done["type"]) == ("link-down", "reroute-done"), events
        assert "leaf-002/3" in down["message"] and done["fields"]["duration_us"]["number"] > 0, events


def viewers_change_nothing():
    """A certificate without a role has the role viewer, which may only read."""
    place = TlsPlace()
    place.settings()
    good, nobody = make_certificate(place.ca, "good"), make_certificate(place.ca, "nobody")
    with place.daemon():
        change = {"node": "leaf-002", "port_number": 1}
        read, who, refused, done = ask(
            remote(place, nobody, "GetStatus"), remote(place, nobody, "WhoAmI"),
            remote(place, nobody, "DisablePort", **change), remote(place, good, "DisablePort", **change))
        assert read["code"] == who["code"] == done["code"] == "OK", (read, who, done)
        assert who["messages"][0]["role"] == "ROLE_VIEWER", who
        assert refused["code"] == "PERMISSION_DENIED", refused
        assert "certificate of nobody" in refused["details"] and "operator" in refused["details"], refused
        rows = {(r["account"], r["result"]) for r in place.audited("DisablePort")}
        assert rows >= {("certificate of nobody", "PERMISSION_DENIED"), ("certificate of good", "OK")}, rows


def untrusted_certificates_are_refused():
    place = TlsPlace()
    place.settings(crl=True)
    good, revoked = make_certificate(place.ca, "good"), make_certificate(place.ca, "revoked")
    expired = make_certificate(place.ca, "expired", days=-1)
    foreign = make_certificate(make_authority("foreign"), "foreign")
    revoke(place, revoked)
    with place.daemon():
        for certificate, name, why in ((expired, "expired", "certificate has expired"),
                                       (foreign, "foreign", "unable to get local issuer certificate"),
                                       (revoked, "revoked", "certificate revoked")):
            answer, = ask(remote(place, certificate, "GetStatus"))
            assert answer["code"] == "UNAVAILABLE" and answer["messages"] == [], answer
            rows = wait_until(lambda: [r for r in place.audited("connect")
                                       if r["account"] == "refused certificate of " + name])
            assert rows[0]["result"] == "UNAUTHENTICATED" and rows[0]["source"] == "tls, 127.0.0.1", rows
            assert rows[0]["message"].startswith(f"the certificate is not accepted: {why}; subject CN={name}, "), rows
        answer, = ask(remote(place, good, "GetStatus"))
        assert answer["code"] == "OK", answer


main([
    unix_sockets_and_tls_are_served,
    degraded_links_and_reroutes_are_seen,
    viewers_change_nothing,
    untrusted_certificates_are_refused,
])
