"""Recorded rollouts and the phases of training: lines of Search-R1 trajectories (PolyTrace), and the log of verl's PPO trainer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.errors import Fault
from libra_opt.recordings.table import Document, read_objects, refuse

__all__ = ["Trajectory", "read_phase_ratios", "read_trajectories"]

_TIMES: Final = ("gen", "ref", "values", "adv", "update_critic", "update_actor")


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One trajectory: in order, how long each turn in the engine and each tool after it took, and the tokens it held.

    Attributes
    ----------
    group
        Number of the prompt it answers.
    engine, tool
        ``(n_turns,)`` seconds.
    tokens
        ``(n_turns,)`` tokens held from each turn on.
    """

    group: int
    engine: NDArray[np.float64]
    tool: NDArray[np.float64]
    tokens: NDArray[np.float64]


def read_trajectories(document: Document) -> list[Trajectory]:
    """Return the trajectories of one recorded batch, in the order of the lines.

    Raises
    ------
    InputError
        A line is not a trajectory; every such line is named.
    """
    return read_objects(document, "Search-R1 trajectories", _trajectory)


def _trajectory(line: Mapping[str, object]) -> Trajectory:
    turns, calls, group = line["turns"], line["tool_calls"], line["prompt_group_id"]
    if not isinstance(turns, list) or not isinstance(calls, list) or not turns:
        raise ValueError("turns and tool_calls are to be lists, and there is to be a turn")
    if not isinstance(group, int) or group < 0:
        raise ValueError(f"prompt_group_id {group!r} is not a whole number of 0 or more")
    engine = _amounts(turns, "engine_latency_s")
    tool = np.zeros(len(engine))
    after = _amounts(calls, "turn")
    if (after >= len(engine)).any():
        raise ValueError(f"a tool call belongs to turn {after.max():g}, and the last turn is {len(engine) - 1}")
    np.add.at(tool, after.astype(np.int64), _amounts(calls, "latency_s"))
    return Trajectory(group, engine, tool, _amounts(turns, "total_len_after"))


def _amounts(rows: Sequence[Mapping[str, object]], field: str) -> NDArray[np.float64]:
    values = np.array([row[field] for row in rows], dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values < np.inf)).all():
        raise ValueError(f"{field} holds {values.tolist()}, and all are to be finite and 0 or more")
    return values


def read_phase_ratios(document: Document) -> NDArray[np.float64]:
    """Return per PPO step of a log of verl the seconds of scoring and of updating over those of generation, shape ``(n_steps, 2)``.

    Raises
    ------
    InputError
        The document is no such log, or a step of it is incomplete; every such line is named.
    """
    faults: list[Fault] = []
    ratios: list[tuple[float, float]] = []
    for line, text in enumerate(document.text.splitlines(), start=1):
        if "timing/" not in text:
            continue
        found = {name: float(value) for name, value in re.findall(r"timing/([a-z_]+):(\d+(?:\.\d+)?)", text)}
        missing = [name for name in _TIMES if name not in found]
        if missing or found["gen"] <= 0:
            faults.append(Fault(f"line {line}", f"a PPO step without seconds of {', '.join(missing) or 'gen above 0'}; mend or remove it"))
            continue
        ratios.append(((found["ref"] + found["values"] + found["adv"]) / found["gen"], (found["update_critic"] + found["update_actor"]) / found["gen"]))
    if not ratios and not faults:
        faults.append(Fault("", "this is not a PPO log: no line has timing/gen and its like; give the log of verl's PPO trainer"))
    refuse(document.name, faults)
    return np.array(ratios)
