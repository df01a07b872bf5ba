# SPDX-License-Identifier: BSD-3-Clause
"""A running fabricd that simulates a fat tree, for benchmarks."""
import contextlib
import os
import subprocess
import sys
import tempfile
import time


@contextlib.contextmanager
def simulated_tree(build, fabric, settings):
    """fabric: RADIX,LEVELS. settings: the text of fabricd.yaml. Yields the address and the process id when tables are active."""
    radix, levels = fabric.split(",")
    with tempfile.TemporaryDirectory() as work:
        address = f"unix:{work}/s"
        subprocess.run([f"{build}/cli/fabsim", "generate", "fat-tree", "--radix", radix, "--levels", levels, "-o", f"{work}/f.net"],
                       check=True)
        with open(f"{work}/fabricd.yaml", "w", encoding="ascii") as f:
            f.write(settings)
        os.chmod(f"{work}/fabricd.yaml", 0o600)
        daemon = subprocess.Popen([f"{build}/fabricd/fabricd", "--sim", f"{work}/f.net", "-f", f"{work}/fabricd.yaml",
                                   "--state-dir", f"{work}/state", "--listen", address], stderr=subprocess.DEVNULL)
        status = [f"{build}/cli/fabricctl", "-s", address, "status"]
        try:
            while b"generation" not in subprocess.run(status, capture_output=True, check=False).stdout:
                if daemon.poll() is not None:
                    sys.exit("fabricd has ended")
                time.sleep(0.5)
            yield address, daemon.pid
        finally:
            daemon.terminate()
            daemon.wait()
