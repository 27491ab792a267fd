"""Put what generated workloads can be asked, look like and assume into docs/workloads.md, between the marks that stand there.

    python scripts/workloads_page.py

So the page says what the code does: defaults, sources and assumptions come from the workloads themselves.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final

from libra_opt.adapters.files import write_whole
from libra_opt.adapters.recorded_workload.compose import ASSUMED
from libra_opt.domain import About, Workload, write
from libra_opt.simulation.truth import truth_of
from libra_opt.simulation.workloads import WORKLOADS, Kind, make

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "workloads.md"
SEED: Final = 1


def main() -> None:
    """Write the page."""
    write_whole({PAGE: filled(PAGE.read_text("utf-8"))})


def filled(text: str) -> str:
    """Return the page with what stands between its marks replaced."""
    made = {name: make(name, SEED) for name in WORKLOADS}
    parts = {"shapes": shapes(made), **{name: parameters(kind) + assumed(about_of(made[name]).assumed) for name, kind in WORKLOADS.items()}}
    parts["recorded"] = assumed(ASSUMED)
    for name, part in parts.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        if not after:
            raise SystemExit(f"the page has no marks for {name!r}")
        text = before + start + part + end + after
    return text


def about_of(workload: Workload) -> About:
    """Return what a workload says of itself."""
    return workload.about or About()


def parameters(kind: Kind[Any]) -> str:
    """Return the table of what can be set."""
    told = attributes(kind.parameters.__doc__ or "")
    rows = [f"| `{name}` | {shown(field.default)} | {told.get(name, '')} |" for name, field in kind.parameters.model_fields.items()]
    return "\n".join(["| parameter | default | |", "|---|---|---|", *rows, "", ""]) if rows else ""


def attributes(docstring: str) -> dict[str, str]:
    """Return what a numpy docstring says of each attribute."""
    told: dict[str, str] = {}
    names: list[str] = []
    for line in docstring.partition("----------\n")[2].splitlines():
        if re.match(r"    \w", line):
            names = line.strip().split(", ")
        elif line.strip():
            told |= {name: f"{told.get(name, '')} {line.strip()}".strip() for name in names}
    return told


def shown(default: object) -> str:
    """Return a default as the table has it."""
    return "the four jobs" if isinstance(default, tuple) else f"`{default}`"


def assumed(lines: tuple[str, ...]) -> str:
    """Return the list of what is assumed."""
    return "".join(f"- {line}\n" for line in lines)


def shapes(made: Mapping[str, Workload]) -> str:
    """Return the table of what the workloads of one seed look like."""
    head = ("workload", "jobs", "there at 0", "steps", "minutes per step", "cards used / asked for", "wanted / there", "KB")
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for name, workload in made.items():
        truths = [truth_of(workload, job) for job in workload.jobs]
        asked = sum(truth.seconds * sum(float(stage.request.get("gpu", 0)) for stage in job.stages) for job, truth in zip(workload.jobs, truths, strict=True))
        steps = [step for job in workload.jobs for step in job.steps]
        minutes = median(sum(part.seconds for part in step.parts) / 60 for step in steps)
        cells = (
            f"`{name}`",
            f"{len(workload.jobs)}",
            f"{sum(job.submitted == 0 for job in workload.jobs)}",
            f"{len(steps)}",
            f"{minutes:.1f}",
            f"{sum(truth.work for truth in truths) / asked:.0%}",
            wanted(workload),
            f"{len(write(workload)) / 1000:,.0f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def wanted(workload: Workload) -> str:
    """Return the cards that all would use in the mean over the horizon if each were served in full as soon as it comes, over the cards there are."""
    if workload.horizon_seconds is None:
        return ""
    used = 0.0
    for job in workload.jobs:
        truth = truth_of(workload, job)
        left, begin = workload.horizon_seconds - job.submitted, 0.0
        for end, rate in zip(truth.ends, truth.rate, strict=True):
            used += rate * max(0.0, min(end, left) - begin)
            begin = end
    return f"{used / workload.horizon_seconds / sum(float(pool.capacity['gpu']) for pool in workload.pools):.2f}"


if __name__ == "__main__":
    main()
