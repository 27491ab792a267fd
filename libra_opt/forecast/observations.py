"""Observations: histories as written become arrays of whole quanta, blocks of stages at a time.

Stages are independent of each other, so a block is only a matter of memory: histories of similar length share one, and one very
long history does not pad all others to its length; those of usage alone and those with more in them are read apart. Nothing is judged or filled in
here; what was not measured stays `UNKNOWN`, and so does what could not be: a stage that held nothing at all, as one that waits for its gang, shows no demand.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import itemgetter
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from libra_opt.domain.frozen import FrozenMapping
from libra_opt.domain.observation import LONGEST_HISTORY, Measured, Observation, period_numbers
from libra_opt.domain.quantity import WrittenAmount
from libra_opt.domain.resource import Resource
from libra_opt.forecast.amounts import UNKNOWN, Reader, column

__all__ = ["UNKNOWN", "History", "Observations", "Signals", "observe"]

History = Sequence[Measured | Observation | Mapping[str, WrittenAmount | None]]
"""What was observed per period, in any order where periods are numbered, else oldest first."""

_CELLS_AT_ONCE: Final = 1 << 20

_SAMPLES_AT_ONCE: Final = 1 << 12
"""Observations lie about in memory: field after field is read of as many as the processor's cache holds."""

_SIGNS: Final = ("cpu_queue", "requests_running", "requests_waiting", "tool_calls", "progress")
_FIELDS: Final = ("usage", "watermark", "allocation", "step", "phase", *_SIGNS)

_Number = TypeVar("_Number", np.int64, np.float64)


@dataclass(frozen=True, slots=True)
class Signals:
    """What was observed beside usage, shape ``(n_stages, n_periods)`` unless said otherwise.

    Attributes
    ----------
    held
        Shape ``(n_stages, n_periods, n_resources)``, int64, quanta allocated; `UNKNOWN` where not recorded.
    cpu_queue, requests_running, requests_waiting, tool_calls
        NaN where not recorded.
    step, phase
        The number of the job's own step, and a code of the stage of it; -1 where not recorded.
    progress
        Done share of that stage of the step; NaN where not recorded.
    """

    held: NDArray[np.int64]
    cpu_queue: NDArray[np.float64]
    requests_running: NDArray[np.float64]
    requests_waiting: NDArray[np.float64]
    tool_calls: NDArray[np.float64]
    step: NDArray[np.int64]
    phase: NDArray[np.int64]
    progress: NDArray[np.float64]

    @property
    def waited(self) -> NDArray[np.bool_]:
        """Shape ``(n_stages, n_periods)``: where the stage is said to have held nothing of any resource."""
        return np.asarray(np.equal(self.held, 0).all(axis=2))

    def of(self, rows: NDArray[np.int64], resources: NDArray[np.bool_]) -> "Signals":
        """Return the signals of some stages and resources."""
        chosen = {name: getattr(self, name)[rows] for name in self.__slots__}
        return Signals(**{**chosen, "held": chosen["held"][:, :, resources]})


@dataclass(frozen=True, slots=True)
class Observations:
    """What was measured of a block of stages.

    Attributes
    ----------
    stages
        Shape ``(n_stages,)``: which of the histories given the rows are.
    quanta
        Shape ``(n_stages, n_periods, n_resources)``, int64, newest period last, at least one period; `UNKNOWN` where not measured, and where the stage is
        said to have held nothing of any resource, unless it used memory all the same. Of incompressible resources the watermark, where it is above the usage.
    compressible
        Shape ``(n_resources,)``.
    signals
        What else was observed; None where it was usage alone.
    waits
        Shape ``(n_stages, n_periods)``: where the job stood in a phase at whose beginning the stage waits for its memory; None: nowhere.
    measured
        Shape ``(n_stages, n_periods, n_compressible)``, float64: the usage of compressible resources with its fraction of a quantum, NaN where `quanta` is
        `UNKNOWN`; None: it is whole.
    """

    stages: tuple[int, ...]
    quanta: NDArray[np.int64]
    compressible: NDArray[np.bool_]
    signals: Signals | None = None
    measured: NDArray[np.float64] | None = None
    waits: NDArray[np.bool_] | None = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Shape of `quanta`: where something was measured."""
        return np.not_equal(self.quanta, UNKNOWN)

    @property
    def used(self) -> NDArray[np.float64]:
        """Return the usage of compressible resources, shape ``(n_stages, n_periods, n_compressible)``; NaN where it was not measured."""
        quanta = self.quanta[:, :, self.compressible]
        return np.where(quanta == UNKNOWN, np.nan, quanta if self.measured is None else self.measured)

    def last(self) -> NDArray[np.int64]:
        """Return the last known quanta, shape ``(n_stages, n_resources)``; 0 where nothing was ever measured."""
        n_periods = self.quanta.shape[1]
        newest = (n_periods - 1 - self.known[:, ::-1].argmax(axis=1))[:, None]
        return np.maximum(np.take_along_axis(self.quanta, newest, axis=1)[:, 0], 0)


def observe(
    histories: Sequence[History], resources: Sequence[Resource], planned: int = 0, waits_in: Sequence[Collection[str]] | None = None
) -> Iterator[Observations]:
    """Read histories, amounts rounded up to quanta, in blocks that together hold each history once.

    The histories are those of a valid state: their amounts parse, are not negative and stay below 2^63 quanta.

    Parameters
    ----------
    planned
        The number of the period after the last; 0 where it is not told. Where periods are numbered, those between the newest observed and it are gaps.
    waits_in
        Of each history, the phases at whose beginning the stage waits for its memory; None: none of any.
    """
    readers = [Reader(resource) for resource in resources]
    compressible = np.array([resource.compressible for resource in resources], dtype=np.bool_)
    compressible.flags.writeable = False
    explained = {i: _aged(history, planned) for i, history in enumerate(histories) if _is_explained(history)}
    lengths = {i: len(history) for i, history in enumerate(histories) if i not in explained}
    for stages in _blocks(lengths, len(resources)):
        yield Observations(stages, *_aligned([histories[i] for i in stages], readers, compressible))
    lengths = {i: 1 + max(ages) for i, (ages, _) in explained.items()}
    for stages in _blocks(lengths, len(resources)):
        waits = [() if waits_in is None else waits_in[i] for i in stages]
        yield _explained(stages, [explained[i] for i in stages], readers, compressible, waits)


_Aged: TypeAlias = tuple[list[int], Sequence[Observation]]
"""How many periods before the last each observation is, and the observations."""


def _is_explained(history: History) -> bool:
    return any(issubclass(kind, Observation) for kind in set(map(type, history)))


def _aged(history: History, planned: int) -> _Aged:
    samples = [sample if isinstance(sample, Observation) else Observation.model_construct(usage=FrozenMapping(sample)) for sample in history]
    own = [sample.period for sample in samples]
    numbers = [number for number in own if number is not None]
    is_numbered = bool(numbers)
    if not is_numbered:
        numbers = list(range(len(samples)))
    elif len(numbers) < len(own):
        numbers = period_numbers(samples)
    newest = max(numbers)
    if planned and is_numbered:
        newest = max(newest, min(planned - 1, newest + LONGEST_HISTORY // 2))
    ages = [newest - number for number in numbers]
    if max(ages) < LONGEST_HISTORY:
        return ages, samples
    late = [age < LONGEST_HISTORY for age in ages]
    return list(compress(ages, late)), list(compress(samples, late))


def _blocks(lengths: Mapping[int, int], n_resources: int) -> Iterator[tuple[int, ...]]:
    block: list[int] = []
    for i in sorted(lengths, key=lengths.__getitem__):
        if block and (len(block) + 1) * lengths[i] * n_resources > _CELLS_AT_ONCE:
            yield tuple(block)
            block = []
        block.append(i)
    if block:
        yield tuple(block)


def _aligned(
    histories: Sequence[History], readers: Sequence[Reader], compressible: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], None, NDArray[np.float64]]:
    """Return the fields of `Observations` from `quanta` on."""
    lengths = np.array([len(history) for history in histories], dtype=np.int64)
    n_periods = max(1, int(lengths.max(initial=0)))
    given = np.arange(n_periods) >= n_periods - lengths[:, None]
    quanta = np.full((len(histories), n_periods, len(readers)), UNKNOWN, dtype=np.int64)
    measured = np.full((len(histories), n_periods, len(readers)), np.nan)
    samples = [sample for history in histories for sample in history if not isinstance(sample, Observation)]
    for r, reader in enumerate(readers):
        written = column(samples, reader.resource.name)
        if compressible[r]:
            quanta[:, :, r][given], measured[:, :, r][given] = reader.measure(written)
        else:
            quanta[:, :, r][given] = reader.read(written)
    quanta.flags.writeable = False
    return quanta, compressible, None, measured[:, :, compressible]


def _explained(
    stages: tuple[int, ...], aged: Sequence[_Aged], readers: Sequence[Reader], compressible: NDArray[np.bool_], waits_in: Sequence[Collection[str]]
) -> Observations:
    ages = np.array([age for some, _ in aged for age in some], dtype=np.int64)
    shape = len(aged), int(ages.max()) + 1
    cells = np.repeat(np.arange(1, len(aged) + 1) * shape[1] - 1, [len(some) for some, _ in aged]) - ages
    samples = [vars(sample) for _, some in aged for sample in some]
    quanta, held = (np.full((*shape, len(readers)), UNKNOWN, dtype=np.int64) for _ in range(2))
    fractional = np.full((*shape, int(compressible.sum())), np.nan)
    step, phase = (np.full(shape, UNKNOWN, dtype=np.int64) for _ in range(2))
    signs = {name: np.full(shape, np.nan) for name in _SIGNS}
    codes: dict[str | None, int] = {None: UNKNOWN}
    for start in range(0, len(samples), _SAMPLES_AT_ONCE):
        some, cell = samples[start : start + _SAMPLES_AT_ONCE], cells[start : start + _SAMPLES_AT_ONCE]
        fields: dict[str, list[Any]] = {name: list(map(itemgetter(name), some)) for name in _FIELDS}
        _enter(fields, cell, readers, (_listed(quanta), _listed(fractional), _listed(held)), compressible)
        for name, sign in signs.items():
            sign.reshape(-1)[cell] = np.array(fields[name], dtype=np.float64)
        for name in dict.fromkeys(fields["phase"]):
            codes.setdefault(name, len(codes) - 1)
        step.reshape(-1)[cell] = [UNKNOWN if number is None else number for number in fields["step"]]
        phase.reshape(-1)[cell] = [codes[name] for name in fields["phase"]]
    signals = Signals(held=held, step=step, phase=phase, **signs)
    untold = signals.waited & ~_went_on(signals)
    quanta[untold[:, :, None] & (compressible | (quanta == 0))] = UNKNOWN
    quanta.flags.writeable = False
    waits: NDArray[np.bool_] | None = None
    if any(waits_in):
        waits = np.zeros(shape, dtype=np.bool_)
        waits.reshape(-1)[cells] = [sample.phase in phases for (_, some), phases in zip(aged, waits_in, strict=True) for sample in some]
    return Observations(stages, quanta, compressible, signals, fractional, waits)


def _listed(table: NDArray[_Number]) -> NDArray[_Number]:
    """Return a view with one row per cell."""
    return table.reshape(table.shape[0] * table.shape[1], table.shape[2])


def _enter(
    fields: Mapping[str, Sequence[Any]],
    cells: NDArray[np.int64],
    readers: Sequence[Reader],
    tables: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]],
    compressible: NDArray[np.bool_],
) -> None:
    """Enter usage or, where it is above, the watermark; usage of compressible resources with its fraction; and the allocation.

    Parameters
    ----------
    fields
        Of some observations, by name.
    cells
        Which row of the tables each of them fills.
    """
    quanta, fractional, held = tables
    used, peaked = (cells[np.fromiter(map(bool, fields[name]), np.bool_)] for name in ("usage", "watermark"))
    given = cells[np.array([amounts is not None for amounts in fields["allocation"]], dtype=np.bool_)]
    usage, watermark = (list(filter(None, fields[name])) for name in ("usage", "watermark"))
    allocation = [amounts for amounts in fields["allocation"] if amounts is not None]
    for r, reader in enumerate(readers):
        name = reader.resource.name
        if compressible[r]:
            quanta[used, r], fractional[used, int(compressible[:r].sum())] = reader.measure(column(usage, name))
        else:
            quanta[used, r] = reader.read(column(usage, name))
            quanta[peaked, r] = np.maximum(quanta[peaked, r], reader.read(column(watermark, name)))
        held[given, r] = reader.read(column(allocation, name, 0))


def _went_on(signals: Signals) -> NDArray[np.bool_]:
    """Return where the job's step went on within its phase since the period before, shape ``(n_stages, n_periods)``.

    What a stage then held nothing of, it did not need there.
    """
    went = np.zeros(signals.phase.shape, dtype=np.bool_)
    same = (signals.phase[:, 1:] == signals.phase[:, :-1]) & (signals.step[:, 1:] == signals.step[:, :-1]) & (signals.phase[:, 1:] >= 0)
    with np.errstate(invalid="ignore"):
        went[:, 1:] = same & (signals.progress[:, 1:] > signals.progress[:, :-1])
    return went
