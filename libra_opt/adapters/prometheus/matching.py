"""To which stage a series belongs, by its labels and the names of the stages that are there."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from libra_opt.adapters.prometheus.settings import PLACES, MatchRule
from libra_opt.domain.job import Job

__all__ = ["Matching", "StageKey"]

StageKey: TypeAlias = tuple[str, str]
"""A job's id and a stage's name."""

_PLACE: Final = re.compile(r"\{(" + "|".join(PLACES) + r")\}")


class Matching:
    """The match rules, with the names of the stages in their places.

    Parameters
    ----------
    rules
        In their order.
    jobs
        Whose series are looked for.
    """

    def __init__(self, rules: Sequence[MatchRule], jobs: Iterable[Job]) -> None:
        stages = [(job.id, stage) for job in jobs for stage in job.stage_names]
        self._by_name: dict[tuple[str, str], set[StageKey]] = {}
        for key in stages:
            for place, name in _names(key).items():
                self._by_name.setdefault((place, name), set()).add(key)
        self._known: dict[tuple[tuple[str, str | None], ...], StageKey | None] = {}
        alternatives = {place: _alternatives(name for kind, name in self._by_name if kind == place) for place in PLACES}
        self._rules = [{label: _compiled(pattern, alternatives) for label, pattern in rule.labels.items()} for rule in rules] if stages else []
        self._labels = sorted({label for rule in rules for label in rule.labels})

    def stage(self, labels: Mapping[str, str]) -> StageKey | None:
        """Return the stage that the first rule that leaves one says; none where no rule does."""
        key = tuple((label, labels.get(label)) for label in self._labels)
        if key not in self._known:
            self._known[key] = next((found for rule in self._rules if (found := self._by_rule(rule, labels)) is not None), None)
        return self._known[key]

    def _by_rule(self, rule: Mapping[str, re.Pattern[str]], labels: Mapping[str, str]) -> StageKey | None:
        left: set[StageKey] | None = None
        for label, pattern in rule.items():
            match = pattern.fullmatch(labels.get(label, ""))
            if match is None:
                return None
            for place, name in match.groupdict().items():
                named = self._by_name[place, name]
                left = named if left is None else left & named
        return next(iter(left)) if left and len(left) == 1 else None


def _names(key: StageKey) -> dict[str, str]:
    job, stage = key
    namespace, slash, name = job.partition("/")
    return {"job": job, "stage": stage, "namespace": namespace if slash else "", "name": name if slash else job}


def _alternatives(names: Iterable[str]) -> str:
    # The longest first: of jobs a and a-b, the pod a-b-0 is of the latter.
    return "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))


def _compiled(pattern: str, alternatives: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile(_PLACE.sub(lambda place: f"(?P<{place[1]}>{alternatives[place[1]]})", pattern))
