"""Put the figures of a backtest into docs/forecast.md and README.md, between the marks that stand there.

    libra-opt backtest --traces DIR --json result.json
    python scripts/forecast_figures.py result.json

So every figure on these pages is one that the command found.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from libra_opt.adapters.files import read_bytes, write_whole

ROOT: Final = Path(__file__).resolve().parents[1]
BASELINES: Final = ("last_value", "ewma", "seasonal_naive")
WAYS: Final = ("by_series", "by_set")
Document = Mapping[str, Any]


def main() -> None:
    """Read the result that is named and write both pages."""
    found = json.loads(read_bytes(sys.argv[1]))
    pages = {
        ROOT / "docs" / "forecast.md": {"losses": losses(found), "intervals": intervals(found), "checks": checks(found)},
        ROOT / "README.md": {"forecast": short(found)},
    }
    write_whole({path: filled(path.read_text("utf-8"), parts) for path, parts in pages.items()})


def filled(text: str, parts: Mapping[str, str]) -> str:
    """Return a page with what stands between its marks replaced."""
    for name, part in parts.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        if not after:
            raise SystemExit(f"the page has no marks for {name!r}")
        text = before + start + part + end + after
    return text


def losses(found: Document) -> str:
    """Return the table of losses by set, resource and method."""
    methods = list(found["pooled"]["by_series"])
    lines = [row("set", "resource", "series", "values", *methods, f"{found['judged']} / best baseline", "")]
    lines.append("|---|---|" + "---:|" * (len(methods) + 3) + "---|")
    for one in found["sets"]:
        scored = [each for each in one["resources"] if each["n_series"]]
        lines += [
            row(
                f"`{one['name']}`{kind(one)}" if i == 0 else "", each["resource"], each["n_series"], f"{each['n_predictions']:,}", *cells(found, each["scores"])
            )
            for i, each in enumerate(scored)
        ]
        if len(scored) > 1:
            n_series, n_values = (sum(each[name] for each in scored) for name in ("n_series", "n_predictions"))
            lines.append(row("", "**all**", n_series, f"{n_values:,}", *cells(found, one["scores"])))
    lines += [row(f"**pooled {way.replace('_', ' ')}**", "", "", "", *cells(found, found["pooled"][way])) for way in WAYS]
    return "\n".join(lines) + "\n"


def cells(found: Document, scores: Document) -> list[str]:
    """Return the losses of every method, and the verdict over the best baseline."""
    best = min(scores[name]["pinball"] for name in BASELINES if name in scores)
    own = scores[found["judged"]]["pinball"]
    against = own / best if best else 1.0
    verdict = "win" if against < 1 else "tie" if against == 1 else "loss"
    return [*(f"{each['pinball']:.4f}" for each in scores.values()), f"{against:.3f}", verdict]


def intervals(found: Document) -> str:
    """Return the table of intervals and needs by set."""
    chosen = found["judged"]
    lines = [row("set", "covered", "ties shared out", "width", "need exceeded", "of periods", "need over use"), "|---|" + "---:|" * 6]
    rows = [(f"`{one['name']}`{kind(one)}", one["scores"][chosen], one["need"]) for one in found["sets"]]
    rows += [
        ("**pooled by series**", found["pooled"]["by_series"][chosen], found["pooled"]["need"]),
        ("**pooled by set**", found["pooled"]["by_set"][chosen], None),
    ]
    for name, scores, need in rows:
        told = [percent(need["share"], 2), f"{need['periods']:,}", f"+{percent(need['excess'], 0)}"] if need else [""] * 3
        lines.append(row(name, percent(scores["coverage"]), percent(scores["coverage_ties_shared"]), f"{scores['width']:.3f}", *told))
    return "\n".join(lines) + "\n"


def checks(found: Document) -> str:
    """Return the list of what holds and what does not."""
    return "".join(f"- {'holds' if each['holds'] else '**fails**'}: {each['name']}: {each['value']:.4f}\n" for each in found["checks"])


def short(found: Document) -> str:
    """Return one line per set: the losses of the baselines and of the forecast, and how much its interval covers."""
    chosen = found["judged"]
    lines = [row("set", *BASELINES, chosen, f"{chosen} / best baseline", "90 % interval covers"), "|---|" + "---:|" * (len(BASELINES) + 3)]
    rows = [(f"{one['name']}{kind(one)}", one["scores"]) for one in found["sets"]]
    for name, scores in [*rows, *((f"**pooled {way.replace('_', ' ')}**", found["pooled"][way]) for way in WAYS)]:
        told = [f"{scores[each]['pinball']:.4f}" for each in (*BASELINES, chosen)]
        lines.append(row(name, *told, cells(found, scores)[-2], percent(scores[chosen]["coverage"])))
    return "\n".join(lines) + "\n"


def kind(one: Document) -> str:
    """Return the word beside the name of a set of which nothing was measured."""
    return " (synthetic)" if one["synthetic"] else ""


def percent(share: float, decimals: int = 1) -> str:
    """Return a share as people write it."""
    return f"{100 * share:.{decimals}f} %"


def row(*parts: object) -> str:
    """Return a line of a table."""
    return "| " + " | ".join(str(each) for each in parts) + " |"


if __name__ == "__main__":
    main()
