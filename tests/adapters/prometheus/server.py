"""A real Prometheus on loopback, filled by promtool from OpenMetrics text; tests skip, saying what is missing, where it is not installed."""

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

READY_SECONDS = 20


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def prometheus(directory: Path, openmetrics: str) -> Iterator[str]:
    """Yield the address of a server that holds those samples."""
    for program in ("prometheus", "promtool"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (Debian: apt-get install prometheus)")
    (directory / "samples.om").write_text(openmetrics)
    (directory / "prometheus.yml").write_text("global: {scrape_interval: 1h}\n")
    data = directory / "tsdb"
    data.mkdir()
    fill = ["promtool", "tsdb", "create-blocks-from", "openmetrics", directory / "samples.om", data]
    subprocess.run(fill, check=True, capture_output=True, timeout=60)  # noqa: S603 - fixed words and our own paths
    port = free_port()
    command = ["prometheus", f"--config.file={directory / 'prometheus.yml'}", f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=100y"]
    log = (directory / "log").open("wb")
    server = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"], stdout=log, stderr=log)  # noqa: S603 - the same
    try:
        _wait(f"http://127.0.0.1:{port}/-/ready", server, directory / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=20)
        log.close()


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1) as response:  # noqa: S310 - loopback
                if response.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    pytest.fail(f"Prometheus did not start: {log.read_text()}")
