"""How long a forecast takes from arrays to demand, intensities and needs, printed as a table; synthetic histories of the size of a large cluster.

Run with one thread: ``OPENBLAS_NUM_THREADS=1 python scripts/forecast_speed.py [N_STAGES]``. Reading a state is not part of it (see `libra-opt bench`).
"""

import sys
import time
from statistics import median

import numpy as np

from libra_opt.forecast.demand import demand_of
from libra_opt.forecast.need import cover
from libra_opt.forecast.observations import Observations, Signals
from libra_opt.forecast.outlook import Quantiles
from libra_opt.forecast.recurrence import recurrence

N_PERIODS, N_RESOURCES, REPEATS = 128, 5, 9
COMPRESSIBLE = np.array([True, False, True, False, True])
QUANTA_PER_UNIT = np.array([0, 0, 10.0, 0, 0])


def histories(n_stages: int) -> dict[str, Observations]:
    """Return random walks, without and with the jobs' own steps, and with an allocation in every entry."""
    drawn = np.random.default_rng(0)
    quanta = (np.abs(np.cumsum(drawn.normal(0, 3, (n_stages, N_PERIODS, N_RESOURCES)), axis=1)) + 20).astype(np.int64)
    period, nothing = np.arange(N_PERIODS), np.full((n_stages, N_PERIODS), np.nan)
    step, phase = np.broadcast_to(period // 16, nothing.shape), np.broadcast_to(period % 16 // 8, nothing.shape)
    stages = tuple(range(n_stages))
    stepped = Signals(np.full(quanta.shape, -1), nothing, nothing, nothing, nothing, step, phase, nothing)
    allocated = Signals(np.maximum(quanta, 30), nothing, nothing, nothing, nothing, step, phase, nothing)
    return {
        "usage": Observations(stages, quanta, COMPRESSIBLE, None),
        "usage and steps": Observations(stages, quanta, COMPRESSIBLE, stepped),
        "usage, steps and allocations": Observations(stages, quanta, COMPRESSIBLE, allocated),
    }


def main() -> None:
    """Time every kind of history and print least and median seconds of the processor."""
    n_stages = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    ceiling = np.full((n_stages, N_RESOURCES), 1 << 40)
    for name, observations in histories(n_stages).items():
        seconds = []
        for _ in range(REPEATS):
            start = time.process_time()
            Quantiles().predict(observations, demand_of(observations, ceiling, QUANTA_PER_UNIT))
            cover(observations, ceiling)
            seconds.append(time.process_time() - start)
        size = f"{n_stages} stages x {N_RESOURCES} resources x {N_PERIODS} periods"
        sys.stdout.write(f"{size}, {name}: least {min(seconds):.2f} s, median {median(seconds):.2f} s\n")
    seconds = []
    for _ in range(REPEATS):
        observations = histories(n_stages)["usage and steps"]
        start = time.process_time()
        cover(observations, ceiling, like=recurrence(observations.signals.step, observations.signals.phase))
        seconds.append(time.process_time() - start)
    sys.stdout.write(f"{size}, the need by own step alone: least {min(seconds):.2f} s, median {median(seconds):.2f} s\n")


if __name__ == "__main__":
    main()
