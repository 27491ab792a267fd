"""Notebooks use the public interface, keep no outputs and end in an assertion; that they run is seen by running them (`pytest --nbmake`)."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def code(path):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def test_there_is_a_notebook():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_keeps_no_outputs(path):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_ends_in_an_assertion(path):
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse("".join(code(path)[-1]["source"]))))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_uses_public_names_only(path):
    tree = ast.parse("\n".join("".join(cell["source"]) for cell in code(path)))
    imported = [(node.module, alias.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert imported
    assert not [name for module, name in imported if any(part.startswith("_") for part in (*module.split("."), name))]
