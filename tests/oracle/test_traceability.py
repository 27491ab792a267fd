"""The labels of the rules and of the tiers are the same set in the prose, in MathProg, in the formulation and in the verifier."""

import ast
import re
from pathlib import Path

import pytest

from tests.oracle.mathprog import TIERS

ROOT = Path(__file__).parents[2]
RULES = {f"R{i}" for i in range(1, 17)}
LABEL = re.compile(r"(?<![A-Za-z0-9])R(\d+)(?:\s*(?:to|-)\s*R(\d+))?(?![0-9])")
PROSE = ROOT / "models" / "allocation.md"
MATHPROG = ROOT / "models" / "allocation.mod"


def labels(text: str) -> set[str]:
    """Return the rules a text names; "R1 to R3" names all three."""
    return {f"R{i}" for first, last in LABEL.findall(text) for i in range(int(first), int(last or first) + 1)}


def defined_rules(text: str) -> set[str]:
    """Return the rules that a line of the prose states, as in ``- **R1** ..``."""
    return set(re.findall(r"^- \*\*(R\d+)\*\*", text, flags=re.MULTILINE))


def named_constraints(text: str) -> set[str]:
    """Return the rules that have a constraint of their own in MathProg, or a comment line that says where they are."""
    constraints = re.findall(r"^s\.t\. (R\d+)_", text, flags=re.MULTILINE)
    return set(constraints) | {label for line in re.findall(r"^# (R\d+.*)$", text, flags=re.MULTILINE) for label in labels(line.split(":")[0])}


def docstrings(package: str) -> str:
    """Return all docstrings of a package."""
    nodes = (node for path in sorted((ROOT / "libra_opt" / package).glob("**/*.py")) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return "\n".join(ast.get_docstring(node) or "" for node in nodes if isinstance(node, documented))


def tiers(text: str) -> set[str]:
    """Return the tiers a text names."""
    return {tier for tier in TIERS if re.search(rf"\b{tier}\b", text)}


def test_prose_states_every_rule_and_tier() -> None:
    prose = PROSE.read_text(encoding="utf-8")
    assert defined_rules(prose) == RULES
    assert labels(prose) == RULES
    assert re.findall(r"^\d\. `(\w+)`", prose, flags=re.MULTILINE) == list(TIERS)


def test_mathprog_states_every_rule_and_tier() -> None:
    model = MATHPROG.read_text(encoding="ascii")
    assert named_constraints(model) == RULES
    assert labels(model.replace("_", " ")) == RULES
    assert [name for name in re.findall(r"^var (\w+)", model, flags=re.MULTILINE) if name in TIERS] == list(TIERS)


@pytest.mark.parametrize("package", ["formulation", "verification"])
def test_docstrings_name_every_rule_and_tier(package: str) -> None:
    text = docstrings(package)
    assert labels(text) == RULES
    assert tiers(text) == set(TIERS)
