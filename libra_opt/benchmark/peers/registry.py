"""From a peer's name to the peer; its module, and the library behind it, is imported when it is first called."""

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

from libra_opt.benchmark.measure import peak_mib
from libra_opt.benchmark.peers.peer import NotStatedError, Peer, arm
from libra_opt.benchmark.requests import PeerRequest
from libra_opt.benchmark.results import NOT_STATED, PeerMeasurement
from libra_opt.domain import read_state

__all__ = ["PEERS", "run_peer"]

PEERS: Final[Mapping[str, str]] = {
    "cp_sat": "cp_sat:solve",
    "highs": "bundles:solve_all",
    "highs_grid": "bundles:solve_grid",
    "lp_clarabel": "linear:solve_clarabel",
    "lp_highs": "linear:solve_highs",
    "greedy": "greedy:solve",
}
"""Module and function of each peer."""


def run_peer(request: PeerRequest) -> PeerMeasurement:
    """Let the peer that a request names solve its document."""
    state = read_state(Path(request.document).read_bytes())
    module, _, name = PEERS[request.peer].partition(":")
    peer: Peer = getattr(import_module(f"libra_opt.benchmark.peers.{module}"), name)
    try:
        measured = peer(state, request, partial(arm, request.seconds))
    except NotStatedError as error:
        return PeerMeasurement(build_seconds=0.0, solve_seconds=0.0, status=NOT_STATED, note=str(error))
    return measured.replace({"peak_mib": peak_mib()})
