"""What keeps the service standing: limits on size, time, connections and work, and workers that are replaced."""

import json
import os
import signal
import socket
import threading
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pytest

from libra_opt.adapters.synthetic import generate
from libra_opt.allocation import allocate
from libra_opt.cli import main
from libra_opt.domain import read_state, write
from tests.service.running import SMALLEST, problem_of, running

PLAN = write(allocate(read_state(SMALLEST))).encode()
TOKEN = "correct-horse-battery-staple"  # noqa: S105 - of a test


def raw(service, *parts, pause=0.0):
    """Send bytes as they are, and return what comes back until the other side closes."""
    with closing(socket.create_connection(("127.0.0.1", service.port), timeout=30)) as wire:
        for part in parts:
            try:
                wire.sendall(part)
            except OSError:
                break
            time.sleep(pause)
        received = b""
        try:
            while chunk := wire.recv(65_536):
                received += chunk
        except ConnectionResetError:
            pass
        return received


def raw_problem(received):
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head.lower()
    return int(head.split()[1]), json.loads(body)["type"].rpartition(":")[2]


def head(path="/v1/allocate", **headers):
    lines = [f"POST {path} HTTP/1.1", "Host: x", "Content-Type: application/json", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunks(n, size):
    return b"%x\r\n%s\r\n" % (size, b" " * size) * n


def test_body_that_says_it_is_too_large_is_refused(service):
    problem_of(service.post("/v1/allocate", b" " * 200_001), 413, "too-large")


def test_body_that_is_too_large_is_refused_before_it_is_sent_where_the_client_asks(service):
    received = raw(service, head(Content_Length=10**12, Expect="100-continue"))
    assert not received.startswith(b"HTTP/1.1 100")
    assert raw_problem(received) == (413, "too-large")


def test_body_without_a_length_is_counted_while_it_is_read():
    """A service of its own, with the usual time to read: a busy machine may stop the sender for the two seconds that the others give."""

    def body():
        for _ in range(50):
            yield b" " * 8_000

    with running("--most-bytes", "200000") as service, closing(HTTPConnection("127.0.0.1", service.port, timeout=60)) as connection:
        problem_of(service.ask("POST", "/v1/allocate", body(), (), connection), 413, "too-large")
        assert service.ask("POST", "/v1/allocate", SMALLEST, (), connection)[2] == PLAN


def test_body_without_an_end_is_refused_and_its_sender_left(service):
    began = time.monotonic()
    received = raw(service, head(Transfer_Encoding="chunked"), *[chunks(40, 8_000)] * 20, pause=0.02)
    assert raw_problem(received[: received.index(b"}") + 1] if b"]}" not in received else received) == (413, "too-large")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("rest", [b"", b'{"jobs"'], ids=["none", "half"])
def test_body_that_does_not_arrive_is_given_up(service, rest):
    assert raw_problem(raw(service, head(Content_Length=1000) + rest)) == (408, "too-slow")


def test_body_that_trickles_is_given_up(service):
    began = time.monotonic()
    assert raw_problem(raw(service, head(Content_Length=1000), *[b" "] * 25, pause=0.1)) == (408, "too-slow")
    assert time.monotonic() - began < 15


def test_head_that_trickles_is_given_up(service):
    received = raw(service, b"POST /v1/allocate HTTP/1.1\r\n", *[b"X: y\r\n"] * 25, pause=0.1)
    assert raw_problem(received) == (408, "too-slow")


def test_connection_that_says_nothing_is_given_up(service):
    assert raw_problem(raw(service)) == (408, "too-slow")


@pytest.mark.parametrize(
    ("sent", "status", "kind"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 300_000, 431, "head-too-large"),
        (b"GET /" + b"y" * 300_000, 431, "head-too-large"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n", 400, "not-http"),
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400, "not-http"),
        (head(Content_Length="-1"), 400, "not-http"),
        (head(Content_Length="5, 6") + b"{}", 400, "not-http"),
        (head(Transfer_Encoding="gzip"), 501, "not-http"),
        (head(Transfer_Encoding="chunked") + b"zz\r\n{}\r\n0\r\n\r\n", 400, "not-http"),
        (head(Content_Length=2, Transfer_Encoding="chunked") + b"zz\r\n", 400, "not-http"),
    ],
)
def test_what_is_not_http_is_a_problem_too(service, sent, status, kind):
    got, its = raw_problem(raw(service, sent))
    assert (got in (status, 400), its) == (True, kind)


def test_reader_that_does_not_read_is_left(service):
    with closing(socket.socket()) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        wire.connect(("127.0.0.1", service.port))
        wire.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 500)
        time.sleep(4)
        received = b""
        try:
            while chunk := wire.recv(1 << 20):
                received += chunk
        except ConnectionResetError:
            pass
    assert 1 <= received.count(b"HTTP/1.1 200 OK") < 500


def test_too_many_connections_are_refused_and_the_others_served(service):
    idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(58)]
    try:
        time.sleep(0.3)
        kept = HTTPConnection("127.0.0.1", service.port, timeout=30)
        assert service.ask("GET", "/healthz", connection=kept)[0] == 200
        one_more = socket.create_connection(("127.0.0.1", service.port))
        problem_of(service.ask("GET", "/healthz"), 503, "busy")
        assert service.ask("GET", "/healthz", connection=kept)[0] == 200
        one_more.close()
        kept.close()
    finally:
        for wire in idle:
            wire.close()
    time.sleep(0.3)
    assert service.ask("GET", "/healthz")[0] == 200


FULL = generate("full", 150, np.random.default_rng(1))
SLOW = write(FULL.replace({"options": FULL.options.replace({"gap": 0, "effort": 1000, "backend": "cp_sat"})})).encode()


@pytest.fixture(scope="module")
def tight(tmp_path_factory):
    """Return a service of one worker, one place to wait, two seconds, and a token."""
    secret = tmp_path_factory.mktemp("secret") / "token"
    secret.write_text(f"{TOKEN}\n")
    with running("--workers", "1", "--waiting", "1", "--seconds", "2", "--most-effort", "1000", "--token-file", str(secret)) as started:
        yield started


def ask(service, body=SMALLEST, token=TOKEN):
    return service.post("/v1/allocate", body, Authorization=f"Bearer {token}")


def comes_round(service):
    """Return the answer once there is a worker again, coming again as often as a patient caller does."""
    for _ in range(60):
        status, headers, body = ask(service)
        if status != 503:
            return body
        time.sleep(int(headers["retry-after"]))
    raise AssertionError(body)


def test_request_past_its_deadline_is_ended_and_the_worker_replaced(tight):
    assert comes_round(tight) == PLAN
    before = tight.workers()
    problem_of(ask(tight, SLOW), 504, "too-long")
    assert comes_round(tight) == PLAN
    after = tight.workers()
    assert len(before) == len(after) == 1
    assert before != after


def test_full_waiting_room_asks_to_come_again(tight):
    assert comes_round(tight) == PLAN
    answers = []
    slow = [threading.Thread(target=lambda: answers.append(ask(tight, SLOW))) for _ in range(3)]
    for thread in slow:
        thread.start()
    for thread in slow:
        thread.join()
    kinds = sorted(json.loads(body)["type"].rpartition(":")[2] for _, _, body in answers)
    assert kinds in (["busy", "busy", "too-long"], ["busy", "too-long", "too-long"])
    assert all(("retry-after" in headers) == (status == 503) for status, headers, _ in answers)


def is_idle(service):
    """Tell whether a worker of a service with a token has nothing to do."""
    numbers = service.ask("GET", "/metrics", None, {"Authorization": f"Bearer {TOKEN}"}.items())[2].decode()
    return "libra_opt_workers_idle 1.0\n" in numbers


def test_worker_that_is_killed_at_its_work_takes_one_request_with_it_and_is_replaced(tight):
    """As the system does it when memory is short: nothing can be caught."""
    assert comes_round(tight) == PLAN
    [worker] = tight.workers()
    answers = []
    thread = threading.Thread(target=lambda: answers.append(ask(tight, SLOW)))
    thread.start()
    while is_idle(tight):
        time.sleep(0.01)
    os.kill(worker, signal.SIGKILL)
    thread.join()
    problem = problem_of(answers[0], 500, "worker-died")
    assert "perhaps for lack of memory" in problem["detail"]
    assert comes_round(tight) == PLAN
    assert tight.workers() != [worker]


def test_body_for_which_a_worker_has_no_memory_is_refused_and_the_next_one_served():
    """Half a GiB of address space is less than a worker has when it is warm, so whatever needs more finds none."""
    with running("--workers", "1", "--worker-bytes", str(1 << 29)) as service:
        problem_of(service.post("/v1/allocate", write(FULL).encode()), 500, "worker-died")
        assert service.post("/v1/validate", SMALLEST)[0] == 200
        status, _, body = service.post("/v1/allocate", SMALLEST)
        assert (status, body) == (200, PLAN) or json.loads(body)["type"].endswith(":worker-died"), "a worker that is short of memory made another plan"


def test_system_that_is_short_of_memory_ends_a_worker_before_the_service(tight):
    def worth_ending(process):
        return int(Path(f"/proc/{process}/oom_score_adj").read_text())

    assert comes_round(tight) == PLAN
    assert worth_ending(tight.workers()[0]) > worth_ending(tight.process.pid)


def test_worker_that_is_killed_idle_takes_nothing_with_it(tight):
    assert comes_round(tight) == PLAN
    os.kill(tight.workers()[0], signal.SIGKILL)
    time.sleep(0.2)
    assert comes_round(tight) == PLAN


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "é"])
@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/allocate"), ("GET", "/v1/schema/state"), ("GET", "/metrics")])
def test_wrong_token_is_refused(tight, token, method, path):
    answer = tight.ask(method, path, None, {"Authorization": f"Bearer {token}".encode("latin-1")}.items())
    problem_of(answer, 401, "unauthorised")
    assert answer[1]["www-authenticate"] == "Bearer"


def test_health_and_description_need_no_token(tight):
    assert tight.ask("GET", "/healthz")[0] == 200
    described = json.loads(tight.ask("GET", "/openapi.json")[2])
    assert described["components"]["securitySchemes"]
    assert described["paths"]["/v1/allocate"]["post"]["security"]
    assert "401" in described["paths"]["/metrics"]["get"]["responses"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "can be reached by others"),  # noqa: S104 - it must be refused
        (["--host", "example.org"], "can be reached by others"),
        (["--port", "70000"], "--port: 70000 is not from 0 to 65,535"),
        (["--workers", "0", "--seconds", "0"], "has 2 faults"),
        (["--token-file", "no-such-file"], "no such file"),
        (["--host", "192.0.2.1", "--open"], "cannot be listened on"),
    ],
)
def test_unsafe_or_wrong_settings_are_refused(capsys, options, message):
    assert main(["serve", *options]) == 2
    assert message in capsys.readouterr().err


def test_short_token_is_refused(tmp_path, capsys):
    (tmp_path / "token").write_text("secret")
    assert main(["serve", "--token-file", str(tmp_path / "token")]) == 2
    assert "openssl rand -hex 32" in capsys.readouterr().err


def test_port_that_is_taken_is_refused(service, capsys):
    assert main(["serve", "--port", str(service.port)]) == 2
    assert "choose another --port" in capsys.readouterr().err
