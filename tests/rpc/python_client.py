"""Builds the Python package of clients/python with pip, as a user would, and makes it importable."""

import os
import shutil
import subprocess
import sys

from harness import SOURCE, WORK

SITE = os.path.join(WORK, "site")
EXAMPLES = os.path.join(SOURCE, "clients/python/examples")


def copy_of_package():
    """Copies the package beside the API. pip writes into the folder, and the source may be read-only."""
    tree = os.path.join(WORK, "tree")
    package = os.path.join(tree, "clients/python")
    ignore = shutil.ignore_patterns("__pycache__", "build", "*.egg-info", ".mypy_cache")
    shutil.copytree(os.path.join(SOURCE, "clients/python"), package, ignore=ignore, copy_function=shutil.copyfile)
    for folder, _, _ in os.walk(package):
        os.chmod(folder, 0o755)
    os.symlink(os.path.join(SOURCE, "proto"), os.path.join(tree, "proto"))
    return package


def install():
    """Installs the package into SITE, from where this process and the examples import it."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "install", "--quiet",
           "--no-build-isolation", "--no-deps", "--no-index", "--root-user-action=ignore", "--target", SITE]
    done = subprocess.run(pip + [copy_of_package()], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, SITE)


def lacking():
    """Returns what is missing to build the package; empty: nothing."""
    for module in ("pip", "setuptools", "wheel"):
        if subprocess.run([sys.executable, "-c", "import " + module], capture_output=True).returncode:
            return "python3-" + module
    return "" if shutil.which("grpc_python_plugin") else "protobuf-compiler-grpc"


def skip_or_install():
    package = lacking()
    if package:
        print(f"1..0 # SKIP no {package}")
        sys.exit(0)
    install()


def environment(place):
    return dict(os.environ, PYTHONPATH=SITE, FABRICCTL_SERVER=place.address, PYTHONUNBUFFERED="1",
                PYTHONDONTWRITEBYTECODE="1")


def command(name, *arguments):
    return [sys.executable, os.path.join(EXAMPLES, name + ".py"), *map(str, arguments)]


def example(place, name, *arguments, code=0):
    """Runs an example to its end; returns what it printed."""
    done = subprocess.run(command(name, *arguments), env=environment(place), capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done
    return done.stderr if code == 1 else done.stdout
