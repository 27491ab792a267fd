"""What is read from a real server equals what it was filled with; a server that is down, slow or no Prometheus is said to be."""

import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from libra_opt import allocate
from libra_opt.adapters.prometheus import PrometheusMeter, read_settings
from libra_opt.domain import State
from libra_opt.errors import InputError
from libra_opt.scheduler import Observed, UnavailableError
from tests.adapters.prometheus.made import END, PERIOD, N, made
from tests.adapters.prometheus.server import free_port, prometheus

pytest.importorskip("httpx")

MATCH = [{"labels": {"namespace": "{namespace}", "pod": "{name}-{stage}-worker-.*"}}]
OPENMETRICS, HISTORIES = made()


@pytest.fixture(scope="module")
def url(tmp_path_factory) -> Iterator[str]:
    with prometheus(tmp_path_factory.mktemp("prometheus"), OPENMETRICS) as address:
        yield address


def state(**histories):
    """Return the state before anything is measured, or, given histories by stage, as it is to be after."""
    train = {"gpu": 8, "gpu_mem": "640Gi", "mem": "1Gi"}
    stages = {
        "rollout": {"name": "rollout", "min_quota": {"gpu": 1}, "max_quota": {"gpu": 8}, "demand": {"gpu": 4}},
        "train": {"name": "train", "min_quota": {"gpu": 8}, "need": {"mem": "96Gi"}, "demand": train},
        "main": {"demand": {"gpu": 1}},
        "web": {"demand": {"gpu": 2}},
    }
    for name, history in histories.items():
        del stages[name]["demand"]
        stages[name]["history"] = history
    if "train" in histories:
        stages["train"]["need"] = {"gpu_mem": "640Gi", "mem": "96Gi"}
        stages["train"]["history"] = [{**entry, "usage": {"gpu": 8, **entry["usage"]}} for entry in histories["train"]]
    jobs = [
        {"id": "rl/ppo", "stages": [stages["rollout"], stages["train"]]},
        {"id": "rl/ppo-b", "max_quota": {"gpu": 4}, **stages["main"]},
        {"id": "web/serve", **stages["web"]},
    ]
    pools = [{"name": "h100", "capacity": {"gpu": 32, "gpu_mem": "2560Gi", "cpu": 512, "mem": "4Ti", "net": 200}}]
    return State.model_validate({"period": {"seconds": PERIOD}, "pools": pools, "jobs": jobs})


def meter(url, **changes):
    section = {"url": url, "match": MATCH, "periods": N, "delay_seconds": 0, **changes}
    return PrometheusMeter(read_settings(section))


def test_states_equal_what_the_server_was_filled_with(url):
    measured = meter(url).measure(Observed(state=state()), END)
    wanted = {stage: history for (_, stage), history in HISTORIES.items()}
    expected = state(**wanted)
    for job, other in zip(measured.state.jobs, expected.jobs, strict=True):
        for stage, wanted_stage in zip(job.all_stages, other.all_stages, strict=True):
            for t, (entry, wanted_entry) in enumerate(zip(stage.history or (), wanted_stage.history or (), strict=True)):
                assert entry == wanted_entry, (job.id, stage.name, t)
    assert measured.state == expected
    assert allocate(measured.state).certificate.status in ("optimal", "within_gap")


def test_what_is_missing_or_assumed_is_told(url):
    notes = "\n".join(meter(url).measure(Observed(state=state(), notes=("seen before",)), END).notes)
    assert notes.startswith("seen before\n")
    assert "no stage has a series of container_pressure_cpu_waiting_seconds_total, so there is no cpu_queue" in notes
    assert "rl/ppo, stage train: gpu was not measured and is taken as used as it is stated" in notes
    assert "web/serve: no usage was measured, and what is stated stays" in notes
    assert "series of no stage that is known, such as DCGM_FI_DEV_GPU_UTIL{" in notes


def test_delay_shows_as_periods_of_which_nothing_is_known(url):
    measured = meter(url, delay_seconds=2 * PERIOD + 1).measure(Observed(state=state()), END + 2 * PERIOD + 1)
    history = measured.state.jobs[1].history
    assert [dict(entry.usage) for entry in history[-2:]] == [{}, {}]
    assert [dict(entry.usage) for entry in history[:-2]] == [entry["usage"] for entry in HISTORIES["rl/ppo-b", "main"]]


def test_newest_value_that_is_late_is_a_gap(url):
    """One period after the last sample, each series may just be late."""
    measured = meter(url, periods=4).measure(Observed(state=state()), END + PERIOD)
    assert dict(measured.state.jobs[1].history[-1].usage) == {}
    assert dict(measured.state.jobs[1].history[-2].usage) == HISTORIES["rl/ppo-b", "main"][-1]["usage"]


def test_query_that_is_refused_is_told_and_the_others_count(url):
    own = [{"field": "usage", "resource": "cpu", "metrics": ["container_cpu_usage_seconds_total"], "matchers": ['pod=~"("'], "over_time": "rate"}]
    measured = meter(url, query=own).measure(Observed(state=state()), END)
    assert any("usage of cpu is not known: the server refuses the query of container_cpu_usage_seconds_total: " in note for note in measured.notes)
    rollout = measured.state.jobs[0].all_stages[0].history
    assert [entry.usage.get("gpu") for entry in rollout] == [entry["usage"].get("gpu") for entry in HISTORIES["rl/ppo", "rollout"]]
    assert all("cpu" not in entry.usage for entry in rollout)


def test_own_query_stands_in_for_the_usual_one(url):
    own = [{"field": "usage", "resource": "gpu", "metrics": ["missing_metric", "vllm:num_requests_running"], "across": "max", "over_time": "max", "scale": 0.5}]
    measured = meter(url, query=own, defaults=False).measure(Observed(state=state()), END)
    assert measured.state.jobs[1] == state().jobs[1]
    first = measured.state.jobs[0].all_stages[0].history
    labels = [line for line in OPENMETRICS.splitlines() if line.startswith("vllm:num_requests_running{")]
    newest = [float(line.split()[-2]) for line in labels if END - PERIOD < int(line.split()[-1]) <= END]
    assert dict(first[-1].usage) == {"gpu": max(newest) / 2}


def test_all_usual_queries_are_ones_the_server_takes(url):
    notes = meter(url, rate_seconds=120).measure(Observed(state=state()), END).notes
    assert not [note for note in notes if "refuses" in note]


def test_server_that_is_down_is_unavailable():
    with pytest.raises(UnavailableError, match="does not answer"):
        meter(f"http://127.0.0.1:{free_port()}").measure(Observed(state=state()), END)


def test_queries_of_resources_that_are_not_there_are_refused_before_anything_is_asked():
    own = [
        {"field": "usage", "resource": "disk", "metrics": ["a"]},
        {"field": "watermark", "resource": "cpu", "metrics": ["a"]},
        {"field": "usage", "resource": "gpu", "metrics": ["a"], "unit": "GiB"},
    ]
    with pytest.raises(InputError) as refused:
        meter("http://127.0.0.1:1", query=own).measure(Observed(state=state()), END)
    assert [fault.path for fault in refused.value.faults] == ["prometheus.query[0].resource", "prometheus.query[1].field", "prometheus.query[2].unit"]


class Handler(BaseHTTPRequestHandler):
    """Answers as the test says: with a body, or a byte at a time for ever."""

    body = b"{}"
    status = 200
    seen: ClassVar[list[str]] = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).seen.append(self.headers.get("Authorization", ""))
        self.send_response(self.status)
        self.end_headers()
        if self.body:
            self.wfile.write(self.body)
            return
        try:
            for _ in range(100):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass

    def log_message(self, *_arguments):
        pass


@pytest.fixture
def stub():
    class Own(Handler):
        seen: ClassVar[list[str]] = []

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield Own, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (503, b"starting", "status 503: starting"),
        (401, b"who are you", "status 401: who are you"),
        (200, b"<html>", "is no Prometheus: <html>"),
        (200, b"[]", "is no Prometheus"),
        (200, b'{"status":"success","data":{"result":[{"metric":{},"values":[["x"]]}]}}', "is no Prometheus"),
        (200, b'{"status":"success","data":{"result":[{"values":[]}]}}', "is no Prometheus"),
        (200, b"[" * 100_000, "is no Prometheus"),
    ],
)
def test_other_answers_are_unavailable(stub, status, body, message):
    handler, address = stub
    handler.status, handler.body = status, body
    with pytest.raises(UnavailableError, match=message):
        meter(address).measure(Observed(state=state()), END)


def test_samples_that_are_no_numbers_or_outside_the_window_do_not_count(stub):
    handler, address = stub
    odd = b'[1e300,"1"],[-1e18,"1"],[0,"Inf"],[' + str(END).encode() + b',"-5"]'
    metric = b'{"namespace":"rl","pod":"ppo-rollout-worker-0"}'
    handler.body = b'{"status":"success","data":{"result":[{"metric":' + metric + b',"values":[' + odd + b"]}]}}"
    assert meter(address).measure(Observed(state=state()), END).state == state()


def test_slow_server_is_left_after_the_time_allowed(stub):
    handler, address = stub
    handler.body = b""
    began = time.monotonic()
    with pytest.raises(UnavailableError, match="too slow"):
        meter(address, timeout_seconds=0.3).measure(Observed(state=state()), END)
    assert time.monotonic() - began < 3


def test_server_that_accepts_and_says_nothing_is_left():
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(UnavailableError, match="does not answer"):
        meter(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_seconds=0.3).measure(Observed(state=state()), END)


def test_answer_that_is_too_large_is_not_read_to_its_end(stub):
    handler, address = stub
    handler.body = b" " * (1 << 20) + b"x" * 70_000
    with pytest.raises(UnavailableError, match="most_megabytes"):
        meter(address, most_megabytes=1).measure(Observed(state=state()), END)


def test_token_is_read_from_its_file_each_time(stub, tmp_path):
    handler, address = stub
    handler.body = b'{"status":"success","data":{"resultType":"matrix","result":[]}}'
    token = tmp_path / "token"
    gauge = meter(address, bearer_token_file=str(token))
    with pytest.raises(InputError, match="bearer_token_file"):
        gauge.measure(Observed(state=state()), END)
    for text in ("one", "two"):
        token.write_text(text + "\n")
        assert gauge.measure(Observed(state=state()), END).state == state()
        assert handler.seen[-1] == f"Bearer {text}"
