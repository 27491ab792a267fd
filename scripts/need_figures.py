"""Measure the need of memory by the whole history and by the job's own step, and put the figures into docs/forecast.md, between the marks that stand there.

    python scripts/need_figures.py DIR

`DIR` holds the recorded sets, as for ``libra-opt backtest --traces DIR``. Of the sets that know steps, the jobs whose steps are known are looked
at, at the origins and with the history that the backtest gives.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from forecast_figures import ROOT, filled, percent, row
from numpy.typing import NDArray

from libra_opt.adapters import phase_switching, search_r1
from libra_opt.adapters.files import read_bytes, write_whole
from libra_opt.backtest import Settings, cut
from libra_opt.forecast.need import cover_values
from libra_opt.forecast.recurrence import recurrence
from libra_opt.recordings import Document, Recording

MARGINS: Final = (0.1, 0.3)
SEEDS: Final = range(4)
NEEDS: Final = ("whole_history", "own_step")
Found = tuple[NDArray[np.bool_], float]


def main() -> None:
    """Measure and write the page."""
    found = {
        "`search_r1`": [_search_r1(Path(sys.argv[1]))],
        f"`phase_switching` (synthetic, seeds {SEEDS[0]} to {SEEDS[-1]})": [phase_switching.generate(np.random.default_rng(seed)) for seed in SEEDS],
    }
    page = ROOT / "docs" / "forecast.md"
    write_whole({page: filled(page.read_text("utf-8"), {"needs": table(found)})})


def table(sets: dict[str, list[Recording]]) -> str:
    """Return one line per set, margin and need."""
    lines = [row("set", "margin", "need", "series", "exceeded", "of periods", "need over use"), "|---|---:|---|" + "---:|" * 4]
    for name, recordings in sets.items():
        for margin in MARGINS:
            for need in NEEDS:
                series = list(covered(recordings, need, margin))
                over = np.concatenate([each for each, _ in series])
                excess = float(np.mean([each for _, each in series]))
                lines.append(row(name, margin, f"`{need}`", len(series), percent(over.mean(), 2), f"{len(over):,}", f"+{percent(excess, 0)}"))
    return "\n".join(lines) + "\n"


def covered(recordings: Sequence[Recording], need: str, margin: float) -> Iterator[Found]:
    """Yield, for every series of memory of a job whose steps are known, in which periods the need was exceeded and the mean need over the mean use, less 1."""
    settings = Settings()
    for measured in (each for recording in recordings for each in recording.measured if not each.compressible):
        cuts = cut(measured.series, horizon=1, window=settings.window, most_origins=settings.most_origins)
        history, came = cuts.history, cuts.future[:, 0]
        if history.phase is None:
            continue
        like = recurrence(history.step, history.phase, history.progress) if need == "own_step" else None
        asked = cover_values(history, settings.coverage, margin, like)
        for series in np.flatnonzero((measured.series.phase >= 0).any(axis=1)):
            own = (cuts.row == series) & ~np.isnan(came)
            yield came[own] > asked[own], float(asked[own].mean() / came[own].mean() - 1)


def _search_r1(place: Path) -> Recording:
    parts = {part: sorted(place.glob(pattern)) for part, pattern in search_r1.PATTERNS.items()}
    return search_r1.convert({part: [Document(path.name, read_bytes(str(path)).decode("utf-8-sig")) for path in paths] for part, paths in parts.items()})


if __name__ == "__main__":
    main()
