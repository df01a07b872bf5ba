"""Dry runs at a manager that is older than its client.

The manager of this test is a gRPC server that knows no field dry_run: it counts each request that would change
something. A client must not send it a dry run."""

import subprocess

import grpc

from golden_file import CTL
from harness import fake, main, status_pb2
from old_manager import SERVICE, old_manager


def ctl(address, *arguments):
    return subprocess.run([CTL, "-s", address, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)


# Each command whose request has the field dry_run, with its method.
DRY_RUNS = {
    "port disable leaf-001/1": "DisablePort", "port enable leaf-001/1": "EnablePort",
    "link isolate leaf-001/1": "IsolateLink", "link release leaf-001/1": "ReleaseLink",
    "node approve leaf-001": "ApproveNode", "node approve --forget leaf-001": "ForgetNodePin",
    "node forget leaf-001": "ForgetNodes", "topo approve leaf-001": "ApproveBaseline",
    "topo disapprove leaf-001": "DisapproveBaseline", "topo snapshot x": "MakeSnapshot",
    "topo snapshot --forget x": "DeleteSnapshot", "undrain switch leaf-001": "EndDrain", "sweep": "Sweep",
    "reroute": "Reroute", "route rebalance": "Rebalance", "manager freeze": "FreezeManager",
    "manager resume": "ResumeManager", "key rotate": "RotateKey", "ha handover": "HandOver",
    "ha priority 3": "SetManagerPriority"}


def no_dry_run_is_sent():
    with old_manager() as manager:
        for line, method in DRY_RUNS.items():
            done = ctl(manager.address, *line.split(), "--dry-run")
            assert done.returncode == 1 and not done.stdout, (line, done)
            assert done.stderr == (f"fabricctl: not supported: fabricd 0.0.9 has no dry run of {method}, and would make "
                                   "the change; update fabricd, or leave out --dry-run\n"), done.stderr
        assert manager.called == [], manager.called


def only_the_methods_of_the_list_are_called():
    with old_manager("EnablePort") as manager:
        assert ctl(manager.address, "port", "disable", "leaf-001/1", "--dry-run").returncode == 1
        assert ctl(manager.address, "port", "enable", "leaf-001/1", "--dry-run").returncode == 0
        assert manager.called == ["EnablePort"], manager.called


def changes_need_no_list():
    with old_manager() as manager:
        assert ctl(manager.address, "port", "disable", "leaf-001/1").returncode == 0
        assert manager.called == ["DisablePort"], manager.called


def a_manager_lists_its_dry_runs():
    with fake() as server, grpc.insecure_channel(server.address) as channel:
        call = channel.unary_unary(SERVICE + "GetVersion", request_serializer=lambda m: m.SerializeToString(),
                                   response_deserializer=status_pb2.GetVersionResponse.FromString)
        listed = set(call(status_pb2.GetVersionRequest(), timeout=20).dry_run_methods)
    assert listed == set(DRY_RUNS.values()), listed ^ set(DRY_RUNS.values())


main([no_dry_run_is_sent, only_the_methods_of_the_list_are_called, changes_need_no_list, a_manager_lists_its_dry_runs])
