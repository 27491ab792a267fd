"""A real browser without a screen: what a page becomes in it, and what it says on its console."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True)
class Shown:
    """The document as scripts left it, and the lines of the console."""

    dom: str
    console: tuple[str, ...]


def show(page: Path, work: Path, fragment: str = "", screenshot: Path | None = None) -> Shown:
    """Open a page in headless Chromium, cut off from every network; skips the test where there is none."""
    browser = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip("no Chromium on this machine; Debian's package is called chromium")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND"]
    flags += [f"--user-data-dir={work}", "--window-size=1300,3000", "--virtual-time-budget=10000"]
    what = ["--dump-dom"] if screenshot is None else [f"--screenshot={screenshot}"]
    ended = subprocess.run([browser, *flags, *what, f"{page.as_uri()}{fragment}"], capture_output=True, text=True, timeout=120, check=True)  # noqa: S603 - a browser on our own page
    return Shown(ended.stdout, tuple(re.findall(r"CONSOLE[^\]]*\] (.*)", ended.stderr)))
