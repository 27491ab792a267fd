"""A real Ray of four nodes on this machine, three of them with two fake cards, in a network of its own where this process may make one.

The cluster is its parent's child in every way: who starts `python -m tests.adapters.ray.NAME` through `command` gets it, and all of it ends with that.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[3]
N_NODES, N_CARDS, N_CORES = 3, 2, 8
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_DEDUP_LOGS": "0", "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
ALONE = 'ip link set lo up; exec "$@"'


def missing():
    """Return why no Ray can be started here; empty where it can."""
    return "" if importlib.util.find_spec("ray") else "a real Ray needs the package ray: pip install 'libra-opt[ray]'"


def _own_network():
    """Return what runs a command where only loopback exists, so that nothing listens on the network; nothing where that is not allowed."""
    command = ["unshare", "-n", "--kill-child", "sh", "-c", ALONE, "sh"]
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return []
    return command if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0 else []  # noqa: S603 - our own command


def run(module, *arguments, seconds):
    """Run a module of this directory with its own cluster; returns what it printed."""
    command = [*_own_network(), sys.executable, "-m", f"tests.adapters.ray.{module}", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, **ENVIRONMENT}, timeout=seconds)  # noqa: S603 - as above
    assert ended.returncode == 0, f"{ended.stdout[-2000:]}\n{ended.stderr[-4000:]}"
    return ended.stdout


class RealRay:
    """One cluster, between `start` and `stop`; this process is a driver of it."""

    def start(self):
        import ray  # noqa: PLC0415 - only in the process that starts one
        from ray.cluster_utils import Cluster  # noqa: PLC0415 - as above

        small = {"object_store_memory": 80 << 20}
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "num_gpus": 0, "include_dashboard": False, **small})
        self.nodes = [self.add_node() for _ in range(N_NODES)]
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="ERROR")
        return self

    def add_node(self):
        return self.cluster.add_node(
            num_cpus=N_CORES, num_gpus=N_CARDS, resources={"gpu_memory_gib": 80 * N_CARDS}, object_store_memory=80 << 20, labels={"accelerator": "h100"}
        )

    def stop(self):
        import ray  # noqa: PLC0415 - as above

        ray.shutdown()
        self.cluster.shutdown()


def until(look, wanted, seconds=60.0):
    """Wait until a look finds what is wanted; what it found last is told where it never does."""
    ends = time.monotonic() + seconds
    while (found := look()) != wanted:
        assert time.monotonic() < ends, f"no {wanted!r} within {seconds:g} s; seen last: {found!r}"
        time.sleep(0.1)
