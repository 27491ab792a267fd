"""A thousand requests at once, good and hostile, and a stop in the middle of them: nobody is answered wrongly, nobody is lost."""

import json
import os
import random
import signal
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import pytest

from libra_opt.allocation import allocate
from libra_opt.domain import read_state, write
from libra_opt.domain.schema import json_schema
from tests.service.running import ROOT, SMALLEST, problem_of, running

STATES = [path.read_bytes() for path in sorted((ROOT / "instances" / "tiny").glob("r*.json"))[:6]]
PLANS = {state: write(allocate(read_state(state))).encode() for state in [*STATES, SMALLEST]}
JSON = {"Content-Type": "application/json"}

HOSTILE = [
    (b"{", JSON, 400),
    (b"[" * 90_000, JSON, 400),
    (b'{"options": {"gap": NaN}}', JSON, 400),
    (b'{"jobs": [], "jobs": []}', JSON, 422),
    (b'{"jobs": [{"id": "a", "min_quota": {"gpu": 9}, "max_quota": {"gpu": 1}}]}', JSON, 422),
    (b'{"options": {"effort": 99999}}', JSON, 422),
    (SMALLEST, {"Content-Type": "text/xml"}, 415),
    (SMALLEST, {**JSON, "Content-Encoding": "gzip"}, 415),
    (b" " * 250_000, JSON, 413),
]


def good(service, connection, dice):
    state = dice.choice(STATES)
    turn = dice.randrange(4)
    if turn == 0:
        status, _, body = service.ask("POST", "/v1/validate", state, (), connection)
        assert (status, json.loads(body)["kind"]) == (200, "state")
    elif turn == 1:
        status, _, body = service.ask("POST", "/v1/verify", b'{"plan":%s,"state":%s}' % (PLANS[state], state), (), connection)
        assert (status, json.loads(body)) == (200, {"holds": True, "broken": []})
    elif turn == 2:
        status, _, body = service.ask("GET", "/v1/schema/plan", None, (), connection)
        assert (status, json.loads(body)) == (200, json_schema("plan"))
    else:
        status, headers, body = service.ask("POST", "/v1/allocate", state, (), connection)
        assert (status, headers["content-type"], body) == (200, "application/json", PLANS[state])
    return "good"


def hostile(service, connection, dice):
    if dice.random() < 0.1:
        abandon(service, dice)
        return "abandoned"
    if dice.random() < 0.15:
        method, path, status = dice.choice([("GET", "/v1/allocate", 405), ("PUT", "/metrics", 405), ("GET", "/../etc/passwd", 404), ("POST", "/v2", 404)])
        answer = service.ask(method, path, None, (), connection)
        problem_of(answer, status, "not-found" if status == 404 else "wrong-method")
        return "hostile"
    body, headers, status = dice.choice(HOSTILE)
    answer = service.ask("POST", "/v1/allocate", body, headers.items(), connection)
    assert answer[0] == status
    assert answer[1]["content-type"] == "application/problem+json"
    assert json.loads(answer[2])["status"] == status
    return "hostile"


def abandon(service, dice):
    """Send a part of a request, or all of it, and go."""
    sent = b"POST /v1/allocate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(SMALLEST), SMALLEST)
    with closing(socket.create_connection(("127.0.0.1", service.port))) as wire:
        wire.sendall(sent[: dice.randrange(1, len(sent) + 1)])


def memory(service):
    """Return the most memory that the service and each of its workers have held, in MiB."""

    def peak(pid):
        status = Path(f"/proc/{pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024

    return peak(service.process.pid), [peak(worker) for worker in service.workers()]


def test_thousand_mixed_requests_from_many_connections(service, record_property):
    done = Counter()

    def caller(number):
        dice = random.Random(number)
        found = Counter()
        with closing(HTTPConnection("127.0.0.1", service.port, timeout=120)) as connection:
            for _ in range(42):
                found[(good if dice.random() < 0.5 else hostile)(service, connection, dice)] += 1
        return found

    with ThreadPoolExecutor(24) as callers:
        for found in callers.map(caller, range(24)):
            done += found
    own, workers = memory(service)
    record_property("reached", f"{dict(done)}; peak memory {own:.0f} MiB, workers {[round(each) for each in workers]} MiB")
    assert done.total() == 1008
    assert min(done.values()) > 20
    assert own < 300
    assert max(workers) < 600
    assert service.ask("POST", "/v1/allocate", SMALLEST, JSON.items())[2] == PLANS[SMALLEST]
    numbers = service.ask("GET", "/metrics")[2].decode()
    assert "libra_opt_waiting_requests 0.0" in numbers
    assert "libra_opt_body_bytes 0.0" in numbers
    assert 'status="500"' not in numbers


class Caller(threading.Thread):
    """Asks for plans until nobody listens any more, and keeps account: whoever could connect must be answered, on every connection it opened or kept."""

    def __init__(self, service, number, *, keep):
        super().__init__()
        self.service, self.state, self.keep = service, STATES[number % len(STATES)], keep
        self.begun = self.answered = 0
        self.ending = None

    def run(self):
        with closing(HTTPConnection("127.0.0.1", self.service.port, timeout=120)) as connection:
            while True:
                if connection.sock is None:
                    try:
                        connection.connect()
                    except OSError as error:
                        self.ending = error
                        return
                self.begun += 1
                answer = self.service.ask("POST", "/v1/allocate", self.state, JSON.items(), connection)
                assert (answer[0], answer[2]) == (200, PLANS[self.state])
                self.answered += 1
                if not self.keep:
                    connection.close()


@pytest.mark.parametrize("keep", [False, True], ids=["a connection each", "kept connections"])
def test_stop_under_load_answers_every_request_whose_sender_could_connect(keep, monkeypatch):
    failed = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    with running("--waiting", "200") as service:
        callers = [Caller(service, number, keep=keep) for number in range(16)]
        for caller in callers:
            caller.start()
        while sum(caller.answered for caller in callers) < 60:
            assert failed == []
            time.sleep(0.01)
        os.kill(service.process.pid, signal.SIGTERM)
        for caller in callers:
            caller.join()
        assert service.process.wait(60) == 0
    assert failed == []
    assert {type(caller.ending) for caller in callers} == {ConnectionRefusedError}
    assert [caller.begun for caller in callers] == [caller.answered for caller in callers]
    assert service.said[-1] == "libra-opt: stopping: nothing more is taken in, what is in is finished\n"


def test_stop_in_a_flood_of_connections_resets_none():
    """Each comes with a request: if the system took one in that the service never did, it would be reset when the service stops listening."""
    found = Counter()

    def connect_again_and_again(port):
        while True:
            try:
                wire = socket.create_connection(("127.0.0.1", port), timeout=60)
            except OSError as error:
                found[type(error).__name__] += 1
                return
            with closing(wire):
                wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                found[b"".join(iter(partial(wire.recv, 65_536), b""))[:15]] += 1

    with running("--workers", "1") as service, ThreadPoolExecutor(12) as callers:
        flood = [callers.submit(connect_again_and_again, service.port) for _ in range(12)]
        time.sleep(1.0)
        os.kill(service.process.pid, signal.SIGTERM)
        for each in flood:
            each.result()
    assert set(found) == {b"HTTP/1.1 200 OK", "ConnectionRefusedError"}


SENT = b"POST /v1/allocate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(SMALLEST), SMALLEST)


def test_who_is_connected_when_it_is_told_to_stop_may_finish_the_request():
    with running("--workers", "1") as service, ExitStack() as wires:
        begun = {n: wires.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=30)) for n in (0, 40, len(SENT) - 10)}
        for n, wire in begun.items():
            wire.sendall(SENT[:n])
        os.kill(service.process.pid, signal.SIGTERM)
        while len(service.said) < 2:
            time.sleep(0.01)
        time.sleep(1.0)
        for n, wire in begun.items():
            wire.sendall(SENT[n:])
            head, _, body = b"".join(iter(partial(wire.recv, 65_536), b"")).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert b"connection: close" in head.lower()
            assert body == PLANS[SMALLEST]
        assert service.process.wait(60) == 0


def test_workers_end_with_a_service_that_is_killed():
    with running("--workers", "1") as service:
        [worker] = service.workers()
        service.process.kill()
        for _ in range(200):
            if not Path(f"/proc/{worker}").exists():
                return
            time.sleep(0.05)
        raise AssertionError(worker)
