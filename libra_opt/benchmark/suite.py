"""One case from beginning to end: the state is made, ours is measured, then every peer gets the same bytes."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from libra_opt.benchmark.isolate import isolated
from libra_opt.benchmark.requests import MakeRequest, MeasureRequest, PeerRequest
from libra_opt.benchmark.results import NOT_STATED, Case, Measurement, PeerMeasurement, PeerRun, Run, Settings

__all__ = ["run_case"]

_OUR_LIMIT_SECONDS: Final = 1800.0
"""After so long one of our own calls is given up."""

_START_SECONDS: Final = 300.0
"""What a peer's process may take beyond its budget for what is not timed: imports, reading the state, and the grid that one of them is given. The budget itself
is watched in the process (see `arm`)."""


def run_case(case: Case, settings: Settings, tell: Callable[[str], None] = lambda _: None) -> tuple[Run, tuple[PeerRun, ...]]:
    """Measure one case; a part that fails is in the results as such.

    Parameters
    ----------
    tell
        Is called with what is being done.
    """
    with TemporaryDirectory() as place:
        document = Path(place, "state.json")
        tell("state")
        made = isolated("make", MakeRequest(case=case, effort=settings.effort, gap=settings.gap), _OUR_LIMIT_SECONDS)
        if made.outcome != "done":
            return Run(case=case, outcome=made.outcome, message=made.message), ()
        document.write_text(made.answer, encoding="utf-8")
        tell("libra_opt")
        ended = isolated("measure", MeasureRequest(document=str(document)), _OUR_LIMIT_SECONDS)
        if ended.outcome != "done":
            return Run(case=case, outcome=ended.outcome, message=ended.message), ()
        ours = Measurement.model_validate_json(ended.answer)
        peers = settings.peers if case.seed < settings.n_peer_seeds else ()
        asked = max(ours.gap, ours.asked_gap)
        return Run(case=case, outcome="done", measured=ours), tuple(_run_peer(case, peer, ours, asked, str(document), settings, tell) for peer in peers)


def _run_peer(case: Case, peer: str, ours: Measurement, asked_gap: float, document: str, settings: Settings, tell: Callable[[str], None]) -> PeerRun:
    tell(peer)
    request = PeerRequest(peer=peer, document=document, gap=asked_gap, tiers=ours.tiers, seconds=settings.budget_seconds)
    ended = isolated("peer", request, 2 * settings.budget_seconds + _START_SECONDS)
    if ended.outcome == "done":
        measured = PeerMeasurement.model_validate_json(ended.answer)
        if measured.status == NOT_STATED:
            return PeerRun(case=case, peer=peer, outcome="not_stated", asked_gap=asked_gap, message=measured.note)
        return PeerRun(case=case, peer=peer, outcome="done", asked_gap=asked_gap, measured=measured)
    message = f"over {settings.budget_seconds:g} s" if ended.outcome == "over_limit" else ended.message
    return PeerRun(case=case, peer=peer, outcome=ended.outcome, asked_gap=asked_gap, message=message)
