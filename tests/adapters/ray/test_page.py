"""The page on Ray: its table is that of the settings. Its commands are run beside a real Ray by `test_real`."""

import re
import sys
from pathlib import Path

import pytest

from libra_opt.adapters.ray import Settings, connect
from libra_opt.errors import MissingExtraError

PAGE = (Path(__file__).parents[3] / "docs" / "ray.md").read_text()


def test_table_of_the_section_is_that_of_the_settings():
    section = PAGE.split("## The section")[1].split("\n## ")[0]
    rows = {}
    for names, defaults in re.findall(r"^\| (`.+?) \|.*\| (.+) \|$", section, flags=re.MULTILINE):
        rows.update(zip(re.findall(r"`(\w+)`", names), defaults.replace("`", "").split(", "), strict=True))
    stated = {name: str(field.default).lower() if isinstance(field.default, bool) else str(field.default) for name, field in Settings.model_fields.items()}
    assert rows == stated


def test_missing_package_is_told_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'libra-opt[ray]'")):
        connect(Settings())
