"""Plans damaged in one place, each in a way of which it is known which rule it must break."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from libra_opt import State
from libra_opt.domain import Ledger
from libra_opt.domain.quantity import UNLIMITED

__all__ = ["DAMAGES", "Damage", "Scene"]

Document = dict[str, Any]


@dataclass(frozen=True)
class Scene:
    """A state, and the document of its plan that is to be damaged.

    Attributes
    ----------
    dice
        Chooses the place.
    """

    state: State
    plan: Document
    dice: Random

    @property
    def ledger(self) -> Ledger:
        return self.state.ledger

    def placed(self) -> Iterator[tuple[int, int, Document, Document]]:
        """Yield job, stage (both as in the ledger), the planned job and the planned stage of what runs."""
        for j, job in enumerate(self.plan["jobs"]):
            for s, stage in zip(self.ledger.stage_of[j], job["stages"], strict=False):
                yield j, s, job, stage

    def amounts(self) -> Iterator[tuple[int, int, int, int, Document]]:
        """Yield job, stage, resource, quanta and the amounts as written of what runs."""
        for j, s, _, stage in self.placed():
            for r, resource in enumerate(self.ledger.resources):
                yield j, s, r, resource.quanta(stage["resources"][resource.name], round_up=False), stage["resources"]

    def write(self, written: Document, r: int, quanta: int) -> bool:
        resource = self.ledger.resources[r]
        written[resource.name] = resource.write(quanta)
        return True

    def one(self, choices: Any) -> Any:
        found = list(choices)
        return self.dice.choice(found) if found else None

    def is_spare(self, j: int, r: int) -> bool:
        """Tell whether a job's resource may hold more or less than the least by R14."""
        resource = self.ledger.resources[r]
        return self.state.options.spare and resource.compressible and not resource.costly and self.ledger.resize_ms[j][r] == 0


Damage = Callable[[Scene], bool]
"""Damages the plan of a scene; False where the plan has no place for it."""


def more_than_the_pool_has(scene: Scene) -> bool:
    """R1."""
    chosen = scene.one(scene.amounts())
    if chosen is None:
        return False
    _, s, r, _, written = chosen
    _, _, _, stage = next(each for each in scene.placed() if each[1] == s)
    limit = scene.ledger.capacity[scene.ledger.pools.index(stage["pool"])][r]
    unit = scene.ledger.unit[s][r]
    return scene.write(written, r, (limit // unit + 1) * unit)


def less_than_the_minimum(scene: Scene) -> bool:
    """R2."""
    chosen = scene.one(each for each in scene.amounts() if scene.ledger.lo[each[1]][each[2]] > 0)
    return chosen is not None and scene.write(chosen[4], chosen[2], scene.ledger.lo[chosen[1]][chosen[2]] - 1)


def a_stage_left_out(scene: Scene) -> bool:
    """R2."""
    job = scene.one(job for job in scene.plan["jobs"] if len(job["stages"]) > 1)
    return job is not None and bool(job["stages"].pop(scene.dice.randrange(len(job["stages"]))))


def more_than_the_maximum(scene: Scene) -> bool:
    """R3."""
    chosen = scene.one(each for each in scene.amounts() if scene.ledger.hi[each[1]][each[2]] < UNLIMITED)
    if chosen is None:
        return False
    _, s, r, _, written = chosen
    return scene.write(written, r, scene.ledger.hi[s][r] + scene.ledger.unit[s][r])


def a_pool_not_allowed(scene: Scene) -> bool:
    """R4."""
    names = scene.ledger.pools
    choices = ((stage, [name for k, name in enumerate(names) if k not in dict(scene.ledger.allowed[s])]) for _, s, _, stage in scene.placed())
    chosen = scene.one((stage, others) for stage, others in choices if others)
    if chosen is None:
        return False
    chosen[0]["pool"] = scene.dice.choice(chosen[1])
    return True


def an_unknown_pool(scene: Scene) -> bool:
    """R4."""
    chosen = scene.one(scene.placed())
    if chosen is None:
        return False
    chosen[3]["pool"] = "no such pool"
    return True


def half_the_memory(scene: Scene) -> bool:
    """R5."""
    needs = scene.ledger.need
    chosen = scene.one(each for each in scene.amounts() if needs[each[1]][each[2]] > each[3] // 2)
    return chosen is not None and scene.write(chosen[4], chosen[2], chosen[3] // 2)


def more_service_than_is_so(scene: Scene) -> bool:
    """R6 for a job of one stage, R7 for one of several."""
    job = scene.one(scene.plan["jobs"])
    if job is None:
        return False
    job["service"] += scene.dice.choice((1e-4, 0.1, 1))
    return True


def a_part_of_a_quantum(scene: Scene) -> bool:
    """R8."""
    chosen = scene.one(scene.amounts())
    if chosen is None:
        return False
    _, _, r, quanta, written = chosen
    resource = scene.ledger.resources[r]
    written[resource.name] = float((quanta + Fraction(1, 2)) * resource.step)
    return True


def a_part_of_a_unit(scene: Scene) -> bool:
    """R8."""
    chosen = scene.one(each for each in scene.amounts() if scene.ledger.unit[each[1]][each[2]] > 1)
    return chosen is not None and scene.write(chosen[4], chosen[2], chosen[3] + 1)


def more_memory_than_its_cards_have(scene: Scene) -> bool:
    """R9."""
    ledger = scene.ledger
    names = [resource.name for resource in ledger.resources]
    choices = []
    for _, s, _, stage in scene.placed():
        ratio = ledger.card_ratio[ledger.pools.index(stage["pool"])]
        if ratio is not None:
            choices.append((s, stage["resources"], ratio))
    chosen = scene.one(choices)
    if chosen is None:
        return False
    s, written, (up, down) = chosen
    cards, memory = names.index("gpu"), names.index("gpu_mem")
    most = ledger.resources[cards].quanta(written["gpu"], round_up=False) * up // down
    unit = ledger.unit[s][memory]
    return scene.write(written, memory, (most // unit + 1) * unit)


def more_than_the_queue_may(scene: Scene) -> bool:
    """R10."""
    ledger = scene.ledger
    capped = [each for each in scene.amounts() if ledger.job_queue[each[0]] >= 0 and ledger.ceiling[ledger.job_queue[each[0]]][each[2]] < UNLIMITED]
    chosen = scene.one(capped)
    if chosen is None:
        return False
    j, s, r, _, written = chosen
    unit = ledger.unit[s][r]
    return scene.write(written, r, (ledger.ceiling[ledger.job_queue[j]][r] // unit + 1) * unit)


def a_protected_job_stopped(scene: Scene) -> bool:
    """R13: it ran, so it fits beside the other protected jobs."""
    job = scene.one(job for j, job in enumerate(scene.plan["jobs"]) if scene.ledger.protected[j] and job["stages"])
    return job is not None and _stop(job, "evict")


def one_more_than_the_least(scene: Scene) -> bool:
    """R14, of resources that are not handed out as spare; where that makes it what the stage holds now, the action and the charge are wrong."""
    chosen = scene.one(each for each in scene.amounts() if not scene.is_spare(each[0], each[2]))
    return chosen is not None and scene.write(chosen[4], chosen[2], chosen[3] + scene.ledger.unit[chosen[1]][chosen[2]])


def one_less(scene: Scene) -> bool:
    """Whatever rule the least amount comes from."""
    chosen = scene.one(each for each in scene.amounts() if each[3] and not scene.is_spare(each[0], each[2]))
    return chosen is not None and scene.write(chosen[4], chosen[2], chosen[3] - scene.ledger.unit[chosen[1]][chosen[2]])


def moved_without_saying_so(scene: Scene) -> bool:
    """R11: a stage that stayed sits in another pool, and nothing else of its job migrates."""
    names = scene.ledger.pools
    stayed = [
        (s, stage)
        for _, s, job, stage in scene.placed()
        if job["action"] != "migrate" and len(names) > 1 and scene.ledger.current_pool[s] == names.index(stage["pool"])
    ]
    chosen = scene.one(stayed)
    if chosen is None:
        return False
    chosen[1]["pool"] = scene.dice.choice([name for name in names if name != chosen[1]["pool"]])
    return True


def another_action(scene: Scene) -> bool:
    job = scene.one(scene.plan["jobs"])
    if job is None:
        return False
    actions = ("admit", "keep", "grow", "shrink", "reshape", "migrate", "evict", "queue")
    job["action"] = scene.dice.choice([action for action in actions if action != job["action"]])
    return True


def a_job_forgotten(scene: Scene) -> bool:
    jobs = scene.plan["jobs"]
    return bool(jobs) and bool(jobs.pop(scene.dice.randrange(len(jobs))))


def a_job_planned_twice(scene: Scene) -> bool:
    job = scene.one(scene.plan["jobs"])
    if job is None:
        return False
    scene.plan["jobs"].append(job)
    return True


def a_job_stopped(scene: Scene) -> bool:
    """The certificate counts a job that no longer runs.

    It holds something: a job whose every amount was cut to nothing is worth nothing, and the plan in which it waits is as good.
    """
    holding = {j for j, _, _, quanta, _ in scene.amounts() if quanta}
    rows = [(j, job) for j, job in enumerate(scene.plan["jobs"]) if j in holding and job["service"] > 0 and not scene.ledger.running[j]]
    chosen = scene.one(rows)
    return chosen is not None and _stop(chosen[1], "queue")


def _stop(job: Document, action: str) -> bool:
    job |= {"stages": [], "action": action, "service": 0}
    return True


def an_unknown_job(scene: Scene) -> bool:
    job = scene.one(scene.plan["jobs"])
    if job is None:
        return False
    job["id"] += "?"
    return True


def an_unknown_stage(scene: Scene) -> bool:
    chosen = scene.one(scene.placed())
    if chosen is None:
        return False
    chosen[3]["name"] += "?"
    return True


def an_unknown_resource(scene: Scene) -> bool:
    chosen = scene.one(scene.placed())
    if chosen is None:
        return False
    chosen[3]["resources"]["no such resource"] = 1
    return True


def another_state(scene: Scene) -> bool:
    scene.plan["state_digest"] = scene.plan["state_digest"][:-1] + ("0" if scene.plan["state_digest"][-1] != "0" else "1")
    return True


def another_period(scene: Scene) -> bool:
    scene.plan["period"] = {"index": scene.state.period.index + 1, "seconds": scene.state.period.seconds}
    return True


def another_objective(scene: Scene) -> bool:
    certificate = scene.plan["certificate"]
    certificate["objective"] += scene.dice.choice((-1, 1)) * (1e-3 + 1e-4 * abs(certificate["objective"]))
    return True


def a_bound_below_the_objective(scene: Scene) -> bool:
    certificate = scene.plan["certificate"]
    certificate["bound"] = certificate["tiers"][3]["bound"] = certificate["objective"] - 1e-3 - 1e-4 * abs(certificate["objective"])
    return True


def another_gap(scene: Scene) -> bool:
    scene.plan["certificate"]["gap"] += scene.dice.choice((1e-3, 1))
    return True


def another_tier(scene: Scene) -> bool:
    tier = scene.dice.choice(scene.plan["certificate"]["tiers"])
    tier["objective"] += 1e-3 + 1e-4 * abs(tier["objective"])
    return True


def a_bound_on_the_wrong_side_of_a_tier(scene: Scene) -> bool:
    tier = scene.dice.choice(scene.plan["certificate"]["tiers"][:3])
    tier["bound"] = tier["objective"] + 1e-3 + 1e-4 * abs(tier["objective"])
    return True


def optimal_with_a_gap(scene: Scene) -> bool:
    certificate = scene.plan["certificate"]
    objective = certificate["objective"]
    certificate["bound"] = certificate["tiers"][3]["bound"] = bound = 2 * abs(objective) + 1
    certificate |= {"status": "optimal", "gap": (bound - objective) / max(abs(bound), abs(objective))}
    return True


DAMAGES: dict[Damage, set[str]] = {
    more_than_the_pool_has: {"R1"},
    less_than_the_minimum: {"R2"},
    a_stage_left_out: {"R2"},
    more_than_the_maximum: {"R3"},
    a_pool_not_allowed: {"R4"},
    an_unknown_pool: {"R4"},
    half_the_memory: {"R5"},
    more_service_than_is_so: {"R6", "R7"},
    a_part_of_a_quantum: {"R8"},
    a_part_of_a_unit: {"R8"},
    more_memory_than_its_cards_have: {"R9"},
    more_than_the_queue_may: {"R10"},
    a_protected_job_stopped: {"R13"},
    one_more_than_the_least: set(),
    one_less: set(),
    moved_without_saying_so: set(),
    another_action: {"format"},
    a_job_forgotten: {"format"},
    a_job_planned_twice: {"format"},
    a_job_stopped: {"objective", "R12"},
    an_unknown_job: {"format"},
    an_unknown_stage: {"format"},
    an_unknown_resource: {"format"},
    another_state: {"format"},
    another_period: {"format"},
    another_objective: {"objective"},
    a_bound_below_the_objective: {"objective"},
    another_gap: {"objective"},
    another_tier: {"objective"},
    a_bound_on_the_wrong_side_of_a_tier: {"objective"},
    optimal_with_a_gap: {"objective"},
}
"""Each damage, and the rules of which it breaks at least one; where none is named it depends on the place."""
