"""Made-up measurements of two jobs: every sample that a server is to hold, and the histories they come to, computed beside each other in exact fractions.

Periods are of a minute with a sample every 15 seconds, the last at the end of the period. All of it is synthetic.
"""

from fractions import Fraction

PERIOD, SCRAPE, END, N = 60, 15, 1_700_000_400, 24
PER_PERIOD = PERIOD // SCRAPE

HOLE = {5, 6}
"""Periods in which one card of ppo's rollout was not scraped."""

NOTHING = {12}
"""A period in which nothing of ppo was scraped."""

REPLACED = 17
"""From this period on another pod does the work of lone's first one."""

LONG_HOLE = set(range(9, 20))
"""Periods in which the second pod of lone was gone."""


def value(*key: int) -> int:
    """Return a number from 0 to 99 that looks like any other."""
    number = 17
    for part in key:
        number = (number * 31 + part * 7919 + 13) % 10_007
    return number % 100


def written(amount: Fraction) -> float:
    return float(f"{float(amount):.9g}")


class Samples:
    """Collects the samples of series, in the order that OpenMetrics wants: metric by metric, series by series."""

    def __init__(self) -> None:
        self._metrics: dict[tuple[str, str], dict[str, list[str]]] = {}

    def add(self, kind: str, metric: str, labels: dict[str, str], samples: list[tuple[int, object]]) -> None:
        text = ",".join(f'{name}="{label}"' for name, label in labels.items())
        lines = self._metrics.setdefault((kind, metric), {}).setdefault(text, [])
        lines += [f"{metric}{{{text}}} {number} {moment}" for moment, number in samples]

    def text(self) -> str:
        parts = []
        for (kind, metric), series in self._metrics.items():
            parts.append(f"# TYPE {metric.removesuffix('_total') if kind == 'counter' else metric} {kind}")
            parts += [line for lines in series.values() for line in lines]
        return "\n".join([*parts, "# EOF", ""])


def moments(t: int) -> list[int]:
    """Return when the samples of period `t` are taken."""
    end = END - (N - 1 - t) * PERIOD
    return [end - (PER_PERIOD - 1 - i) * SCRAPE for i in range(PER_PERIOD)]


def gauge(samples: Samples, metric: str, labels: dict[str, str], number: int, periods: list[int], factor: int = 1) -> dict[int, list[int]]:
    """Add a gauge that has samples in those periods, and return them by period."""
    values = {t: [factor * value(number, t, i) for i in range(PER_PERIOD)] for t in periods}
    samples.add("gauge", metric, labels, [(moment, v) for t in periods for moment, v in zip(moments(t), values[t], strict=True)])
    return values


def counter(
    samples: Samples, metric: str, labels: dict[str, str], number: int, periods: list[int], factor: int = 1, restarts: int | None = None
) -> dict[int, int]:
    """Add a counter that counts in those periods, and return by how much in each; at `restarts` it begins again at nothing."""
    total, counted, lines = 1000, {}, []
    lines.append((moments(periods[0])[0] - SCRAPE, total))
    for t in periods:
        for i, moment in enumerate(moments(t)):
            step = factor * value(number, t, i)
            total = step if t == restarts and i == 0 else total + step
            counted[t] = counted.get(t, 0) + step
            lines.append((moment, total))
    samples.add("counter", metric, labels, lines)
    return counted


def mean(values: list[int]) -> Fraction:
    return Fraction(sum(values), len(values))


def made() -> tuple[str, dict[tuple[str, str], list[dict[str, object]]]]:
    """Return the OpenMetrics text, and the history of each stage."""
    samples = Samples()
    return_ = {("rl/ppo", "rollout"): _rollout(samples), ("rl/ppo", "train"): _train(samples), ("rl/ppo-b", "main"): _lone(samples)}
    _others(samples)
    return samples.text(), return_


def _rollout(samples: Samples) -> list[dict[str, object]]:
    """Two pods of one container and two cards each, a hole in one card, and an interface beside eth0 that does not count."""
    everywhere = [t for t in range(N) if t not in NOTHING]
    used, memory, free = [], [], []
    for card in range(4):
        labels = {"namespace": "rl", "pod": f"ppo-rollout-worker-{card // 2}x9", "gpu": str(card), "modelName": "NVIDIA H100"}
        periods = [t for t in everywhere if not (card == 3 and t in HOLE)]
        used.append(gauge(samples, "DCGM_FI_DEV_GPU_UTIL", labels, card, periods))
        memory.append(gauge(samples, "DCGM_FI_DEV_FB_USED", labels, 10 + card, periods, factor=256))
        free.append(gauge(samples, "DCGM_FI_DEV_FB_FREE", labels, 20 + card, periods, factor=64))
    cpu, received, sent, running, waiting = [], [], [], [], []
    for pod in range(2):
        labels = {"namespace": "rl", "pod": f"ppo-rollout-worker-{pod}x9"}
        container = {**labels, "container": "main"}
        cpu.append(counter(samples, "container_cpu_usage_seconds_total", container, 30 + pod, list(range(N)), restarts=8 if pod else None))
        samples.add("counter", "container_cpu_usage_seconds_total", {**labels, "container": ""}, [(moments(t)[0], 10**6 * t) for t in range(N)])
        received.append(counter(samples, "container_network_receive_bytes_total", {**labels, "interface": "eth0"}, 40 + pod, list(range(N)), factor=10**9))
        sent.append(counter(samples, "container_network_transmit_bytes_total", {**labels, "interface": "eth0"}, 50 + pod, list(range(N)), factor=10**9))
        counter(samples, "container_network_receive_bytes_total", {**labels, "interface": "tunl0"}, 60 + pod, list(range(N)), factor=10**12)
        running.append(gauge(samples, "vllm:num_requests_running", {**labels, "model_name": "m"}, 70 + pod, everywhere))
        waiting.append(gauge(samples, "vllm:num_requests_waiting", {**labels, "model_name": "m"}, 80 + pod, everywhere))
    history: list[dict[str, object]] = []
    for t in range(N):
        usage = {"cpu": written(Fraction(sum(each[t] for each in cpu), PERIOD))}
        usage["net"] = written(max(Fraction(sum(each[t] for each in part), PERIOD * 10**9) for part in (received, sent)))
        entry: dict[str, object] = {"usage": usage}
        if t not in HOLE | NOTHING:
            usage["gpu"] = written(sum(mean(each[t]) for each in used) / 100)
            usage["gpu_mem"] = written(sum(mean(each[t]) for each in memory) / 1024)
            entry["watermark"] = {"gpu_mem": written(Fraction(sum(max(each[t]) for each in memory), 1024))}
            held = sum(mean(each[t]) for part in (memory, free) for each in part)
            entry["allocation"] = {"gpu": 4.0, "gpu_mem": written(held / 1024)}
        if t not in NOTHING:
            entry["requests_running"] = written(sum(mean(each[t]) for each in running))
            entry["requests_waiting"] = written(sum(mean(each[t]) for each in waiting))
        history.append(entry)
    return history


def _train(samples: Samples) -> list[dict[str, object]]:
    """One pod that began after four periods, of which only memory is measured; in one period its values are no numbers."""
    labels = {"namespace": "rl", "pod": "ppo-train-worker-0", "container": "main"}
    periods = list(range(4, N))
    memory = {t: [(1 << 30) * value(90, t, i) for i in range(PER_PERIOD)] for t in periods}
    lines: list[tuple[int, object]] = [(moment, "NaN" if t == 11 else v) for t in periods for moment, v in zip(moments(t), memory[t], strict=True)]
    samples.add("gauge", "container_memory_working_set_bytes", labels, lines)
    samples.add("gauge", "container_memory_working_set_bytes", {**labels, "container": ""}, [(moment, 10**15) for t in periods for moment in moments(t)])
    samples.add("gauge", "kube_pod_container_resource_requests", {**labels, "resource": "memory"}, [(m, 128 << 30) for t in periods for m in moments(t)])
    samples.add("gauge", "kube_pod_container_resource_requests", {**labels, "resource": "cpu"}, [(m, 16) for t in periods for m in moments(t)])
    history: list[dict[str, object]] = []
    for t in periods:
        entry: dict[str, object] = {"usage": {}, "allocation": {"cpu": 16.0, "mem": 128.0}}
        if t != 11:
            entry |= {"usage": {"mem": written(mean(memory[t]) / (1 << 30))}, "watermark": {"mem": written(Fraction(max(memory[t]), 1 << 30))}}
        history.append(entry)
    return history


def _lone(samples: Samples) -> list[dict[str, object]]:
    """One stage: a pod that is replaced by another, and one that was gone for long and is back; its name begins like that of the other job."""
    first = gauge(samples, "DCGM_FI_DEV_GPU_UTIL", {"namespace": "rl", "pod": "ppo-b-main-worker-0", "gpu": "0"}, 95, list(range(REPLACED)))
    first |= gauge(samples, "DCGM_FI_DEV_GPU_UTIL", {"namespace": "rl", "pod": "ppo-b-main-worker-7", "gpu": "5"}, 96, list(range(REPLACED, N)))
    there = [t for t in range(N) if t not in LONG_HOLE]
    second = gauge(samples, "DCGM_FI_DEV_GPU_UTIL", {"namespace": "rl", "pod": "ppo-b-main-worker-1", "gpu": "1"}, 97, there)
    history: list[dict[str, object]] = []
    for t in range(N):
        used = mean(first[t]) + (mean(second[t]) if t in second else 0)
        history.append({"usage": {"gpu": written(used / 100)}, "allocation": {"gpu": 2.0 if t in second else 1.0}})
    return history


def _others(samples: Samples) -> None:
    """Pods of nobody, and a job of the same name in another namespace."""
    gauge(samples, "DCGM_FI_DEV_GPU_UTIL", {"namespace": "web", "pod": "ppo-rollout-worker-0x9", "gpu": "0"}, 98, list(range(N)))
    gauge(samples, "DCGM_FI_DEV_GPU_UTIL", {"namespace": "rl", "pod": "somebody-else", "gpu": "0"}, 99, list(range(N)))
