"""The page on workloads says what is so: its lists are those of the workloads, and its examples run."""

import doctest
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from libra_opt.simulation.workloads import WORKLOADS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "workloads.md"


def script():
    spec = spec_from_file_location("workloads_page", ROOT / "scripts" / "workloads_page.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_current():
    text = PAGE.read_text("utf-8")
    assert script().filled(text) == text, "run python scripts/workloads_page.py"


def test_every_kind_has_its_section():
    text = PAGE.read_text("utf-8")
    assert [name for name in WORKLOADS if f"\n## `{name}`\n" not in text] == []


def test_examples_run():
    assert doctest.testfile(str(PAGE), module_relative=False) == doctest.TestResults(0, 2)
