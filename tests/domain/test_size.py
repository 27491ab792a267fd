"""Reading stays bounded: what a document costs grows with its length, whatever is in it."""

import json
import os
import time
import tracemalloc
from collections.abc import Callable

import pytest

from libra_opt.domain import read_state, write
from libra_opt.domain.document import MOST_CHARACTERS
from libra_opt.errors import InputError

MEGABYTE = 1_000_000
MAKERS: dict[str, Callable[[int], str]] = {
    "valid": lambda n: json.dumps({"jobs": [{"id": f"job-{j}", "demand": {"gpu": 1, "cpu": j % 1000}} for j in range(n // 62)]}, separators=(",", ":")),
    "contradictions": lambda n: '{"jobs":[' + ",".join(['{"id":"a","queue":"q"}'] * (n // 23)) + "]}",
    "no jobs but numbers": lambda n: '{"jobs":[' + ",".join(["1"] * (n // 2)) + "]}",
    "unknown fields": lambda n: "{" + ",".join(f'"f{i}":1' for i in range(n // 12)) + "}",
    "unknown resources": lambda n: '{"jobs":[{"id":"a","demand":{' + ",".join(f'"r{i}":1' for i in range(n // 12)) + "}}]}",
    "one history": lambda n: '{"jobs":[{"id":"a","history":[' + ",".join(['{"cpu":-1}'] * (n // 11)) + "]}]}",
    "one key again and again": lambda n: '{"jobs":[{"id":"a"' + ',"weight":1' * (n // 11) + "}]}",
    "one long text": lambda n: '{"jobs":[{"id":"' + "a" * n + '"}]}',
    "one long number": lambda n: '{"jobs":[{"id":"a","weight":0.' + "1" * n + "}]}",
    "blanks": lambda n: "{" + " " * n + "}",
    "brackets": lambda n: "[" * n,
    "quotes and escapes": lambda n: '{"jobs":[{"id":"' + "\\u003a" * (n // 6) + '"}]}',
    "cut off": lambda n: ('{"jobs":[' + '{"id":"a"},' * (n // 11))[:-3],
}


def read_or_refuse(text: str) -> str:
    try:
        return write(read_state(text))[:10]
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())
def test_a_document_of_a_megabyte_is_read_or_refused(maker: Callable[[int], str]) -> None:
    text = maker(MEGABYTE)
    tracemalloc.start()
    read_or_refuse(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * MEGABYTE


@pytest.mark.skipif(os.environ.get("HYPOTHESIS_PROFILE") != "nightly", reason="50 MB a document: nightly only")
@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())
def test_a_document_of_fifty_megabytes_is_read_or_refused_within_a_minute(maker: Callable[[int], str]) -> None:
    text = maker(50 * MEGABYTE)
    start = time.process_time()
    read_or_refuse(text)
    assert time.process_time() - start < 60


def test_a_longer_document_than_the_limit_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("libra_opt.domain.document.MOST_CHARACTERS", 10)
    with pytest.raises(InputError, match="the most that is read; split it"):
        read_state('{"jobs": []}')
    assert MOST_CHARACTERS >= 50 * MEGABYTE
