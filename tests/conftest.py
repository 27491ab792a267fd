"""Hypothesis profiles, chosen by the environment variable ``HYPOTHESIS_PROFILE``, and the summary of what generated states reached."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("nightly", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

REACHED = "reached"
"""The property of a test under which it tells, in a sentence, what its generated states reached."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, [])]
    lines = [f"{report.nodeid}: {text}" for report in reports for name, text in report.user_properties if name == REACHED]
    if lines:
        terminalreporter.section("what generated states reached")
        for line in lines:
            terminalreporter.line(line)
