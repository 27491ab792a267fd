"""Mutation testing of the rules: mutmut changes `libra_opt/formulation` and `libra_opt/verification` in one place at a time, and tests must notice.

Prints per module and package how many mutants there are, how many were killed (and how many of these by a timeout), and the share. Fails where a
package is below 90 %, or where a mutant survives that `tests/mutation/survivors.toml` does not argue. Takes a while; it runs at night, not in CI:

    pip install -e .[test,nightly]
    python scripts/mutation.py              # one worker; `--workers 4` for more
    python scripts/mutation.py --report     # of what the last run left
"""

import argparse
import ast
import difflib
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MUTANTS = ROOT / "mutants"
ARGUED = ROOT / "tests" / "mutation" / "survivors.toml"
PACKAGES = ("libra_opt.formulation", "libra_opt.verification")
LEAST_SHARE = 0.9
KILLED, TIMED_OUT, UNTRIED = {1, 3}, {-24, 24, 36, 152, 255}, {None, 2}
"""Exit codes as mutmut keeps them: a test failed or pytest broke; the time was up; never run. Every other code is a survivor."""


@dataclass(frozen=True)
class Mutant:
    """One change of one function: where, how mutmut's run of it ended, and the changed lines before and after."""

    name: str
    module: str
    function: str
    exit_code: int | None
    before: str
    after: str

    @property
    def outcome(self) -> str:
        """One of killed, timeout, untried, survived."""
        if self.exit_code in KILLED:
            return "killed"
        if self.exit_code in TIMED_OUT:
            return "timeout"
        return "untried" if self.exit_code in UNTRIED else "survived"


def main() -> int:
    """Run mutmut unless only a report is asked for, and judge what it left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1, help="mutants tried at once")
    parser.add_argument("--report", action="store_true", help="only judge what the last run left")
    asked = parser.parse_args()
    if not asked.report:
        command = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", str(asked.workers)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return judge([mutant for package in PACKAGES for mutant in mutants(package)], tomllib.loads(ARGUED.read_text()))


def judge(found: list[Mutant], argued: Mapping[str, list[dict[str, str]]]) -> int:
    """Print the shares and what survives without an argument; return 1 where that is too much, else 0."""
    shares = [tell(package, [mutant for mutant in found if mutant.module.startswith(package)]) for package in PACKAGES]
    survivors = [mutant for mutant in found if mutant.outcome in ("survived", "untried")]
    missing = [mutant for mutant in survivors if not any(argues(entry, mutant) for entries in argued.values() for entry in entries)]
    for mutant in missing:
        sys.stdout.write(f"\n{mutant.name} {mutant.outcome} without an argument\n  - {mutant.before}\n  + {mutant.after}\n")
    for entry in (entry for entries in argued.values() for entry in entries if not any(argues(entry, mutant) for mutant in survivors)):
        sys.stdout.write(f"\nargued, but no longer there: {entry}\n")
    sys.stdout.write(f"\n{len(survivors)} survivors, {len(missing)} of them without an argument\n")
    return int(bool(missing) or min(shares) < LEAST_SHARE)


def tell(package: str, found: list[Mutant]) -> float:
    """Print one line per module and one for the package; return the package's share of mutants killed."""
    for module in sorted({mutant.module for mutant in found}):
        line(module, [mutant for mutant in found if mutant.module == module])
    return line(package, found)


def line(name: str, found: list[Mutant]) -> float:
    """Print and return the share of mutants killed, by a test or by the time."""
    count = Counter(mutant.outcome for mutant in found)
    killed = count["killed"] + count["timeout"]
    share = killed / len(found) if found else 0.0
    left = f"{count['survived']} survived" + (f", {count['untried']} untried" if count["untried"] else "")
    sys.stdout.write(f"{name:<40} {len(found):>5} mutants, {killed:>5} killed ({count['timeout']} by timeout), {left}: {share:.1%}\n")
    return share


def argues(entry: Mapping[str, str], mutant: Mutant) -> bool:
    """Tell whether an entry speaks of a mutant.

    One with `after` speaks of that new text in one function; one with `same_without` of a family, whose text is the same before and after once what the
    pattern matches is left out; `function` and `has` are patterns that narrow a family to some functions and texts.
    """
    if "after" in entry:
        return entry["function"] == mutant.function and entry["after"] == mutant.after
    if not re.search(entry.get("function", ""), mutant.function) or not re.search(entry.get("has", ""), mutant.before):
        return False
    before, after = (re.sub(entry["same_without"], "", text) for text in (mutant.before, mutant.after))
    return before == after


def mutants(package: str) -> Iterator[Mutant]:
    """Read the mutants of a package and their ends from what mutmut left."""
    for meta in sorted((MUTANTS / package.replace(".", "/")).glob("*.py.meta")):
        source = meta.with_suffix("").read_text()
        functions = dict(functions_in(source))
        for name, exit_code in json.loads(meta.read_text())["exit_code_by_key"].items():
            module, _, mangled = name.rpartition(".")
            original, _, _ = mangled.rpartition("__mutmut_")
            before, after = changed(functions[f"{original}__mutmut_orig"], functions[mangled])
            function = f"{module}.{original.removeprefix('x_').removeprefix('xǁ').replace('ǁ', '.')}"
            yield Mutant(name, module, function, exit_code, before, after)


def functions_in(source: str) -> Iterator[tuple[str, list[str]]]:
    """Yield every function and method of a mutated file with its lines, its own name left out."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
            yield node.name, [line.strip().replace(node.name, "_") for line in lines[node.lineno - 1 : node.end_lineno]]


def changed(original: list[str], mutated: list[str]) -> tuple[str, str]:
    """Return the lines that only one of two functions has."""
    lines = [line for line in difflib.unified_diff(original, mutated, n=0, lineterm="") if not line.startswith(("---", "+++", "@@"))]
    before, after = (" ".join(line[1:] for line in lines if line[0] == sign).strip() for sign in "-+")
    return before, after


if __name__ == "__main__":
    sys.exit(main())
