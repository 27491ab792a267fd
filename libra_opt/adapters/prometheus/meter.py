"""The meter: asks a Prometheus server what was measured of each stage, and writes it into the state as histories.

A history ends with the newest period that is over, has one entry per period and begins with the first in which anything was measured. What was not measured is
left out of its entry. A stage of which nothing was measured stays as it was.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from libra_opt.adapters.prometheus.client import Client, QueryError
from libra_opt.adapters.prometheus.history import Told, measured_job
from libra_opt.adapters.prometheus.matching import Matching, StageKey
from libra_opt.adapters.prometheus.queries import chosen
from libra_opt.adapters.prometheus.replicas import replica_of, tied
from libra_opt.adapters.prometheus.settings import Query, Settings
from libra_opt.adapters.prometheus.stages import StageValues, across, together
from libra_opt.adapters.prometheus.window import Window, promql
from libra_opt.scheduler import Observed

__all__ = ["PrometheusMeter"]

_Values: TypeAlias = dict[StageKey, StageValues]

_NAMED: Final = 8


class PrometheusMeter:
    """Fills in the histories of the stages of a state from one server.

    Parameters
    ----------
    settings
        Where the server is, what is asked, and whose series are whose.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def measure(self, observed: Observed, now: float) -> Observed:
        """Return the state with what was measured of its stages up to `now`, in seconds of the epoch.

        Raises
        ------
        UnavailableError
            The server does not answer in time; nothing is known.
        InputError
            A query is of a resource that the state does not have, or in a unit that cannot become the resource's.
        MissingExtraError
            httpx is not installed.
        """
        settings, state = self._settings, observed.state
        queries = chosen(settings, state.resources)
        window = Window.before(now, state.period.seconds, settings.periods, settings.delay_seconds)
        notes: list[str] = []
        values = self._ask(queries, window, Matching(settings.match, state.jobs), notes)
        resources = {resource.name: resource for resource in state.resources}
        for job in state.jobs:
            for stage in job.all_stages:
                if (job.id, stage.name) in values and (replica := replica_of(job if job.is_shorthand else stage, resources)):
                    values[job.id, stage.name] = tied(values[job.id, stage.name], replica, settings.paced_by)
        told: Told = {}
        jobs = tuple(measured_job(job, values, resources, window.n_missing, told) for job in state.jobs)
        notes.extend(f"{_listed(stages)}: {sentence}" for sentence, stages in told.items())
        return Observed(state=state.replace({"jobs": jobs}), notes=(*observed.notes, *notes))

    def _ask(self, queries: Sequence[tuple[Query, float]], window: Window, matching: Matching, notes: list[str]) -> _Values:
        found: _Values = {}
        strangers: dict[str, str] = {}
        with Client(self._settings) as client:
            answered: dict[tuple[str, str], dict[StageKey, NDArray[np.float64]]] = {}
            for query, factor in queries:
                parts = []
                for metric in query.metrics:
                    asked = promql(metric, (*self._settings.matchers, *query.matchers), query.over_time, window.period_seconds, self._settings.rate_seconds)
                    if (asked, query.across) not in answered:
                        answered[asked, query.across] = self._of_metric(client, asked, query, metric, window, matching, strangers, notes)
                    parts.append(answered[asked, query.across])
                stages = dict.fromkeys(key for part in parts for key in part)
                if not stages:
                    notes.append(f"no stage has a series of {' or '.join(query.metrics)}, so there is no {_named(query)}")
                nothing = np.full(window.n_periods, np.nan)
                for key in stages:
                    whole = together([part.get(key, nothing) for part in parts], query.together) * factor
                    if not np.isnan(whole).all():
                        found.setdefault(key, {})[query.field, query.resource] = whole
        if strangers:
            notes.append(f"{len(strangers)} metrics have series of no stage that is known, such as {next(iter(strangers.values()))}")
        return found

    def _of_metric(
        self, client: Client, asked: str, query: Query, metric: str, window: Window, matching: Matching, strangers: dict[str, str], notes: list[str]
    ) -> dict[StageKey, NDArray[np.float64]]:
        try:
            answer = client.ask(asked, window)
        except QueryError as error:
            notes.append(f"{_named(query)} is not known: the server refuses the query of {metric}: {error}")
            return {}
        notes.extend(f"{metric}: {warning}" for warning in answer.warnings)
        of_stage: dict[StageKey, list[NDArray[np.float64]]] = {}
        for series in answer.series:
            key = matching.stage(series.labels)
            if key is None:
                strangers.setdefault(metric, f"{metric}{{{', '.join(f'{name}={value!r}' for name, value in sorted(series.labels.items()))}}}"[:300])
            else:
                of_stage.setdefault(key, []).append(series.values)
        return {key: across(values, query.across, self._settings.longest_hole_periods) for key, values in of_stage.items()}


def _named(query: Query) -> str:
    return query.field if query.resource is None else f"{query.field} of {query.resource}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return "; ".join(names[:_NAMED]) + more
