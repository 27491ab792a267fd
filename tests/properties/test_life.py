"""A cluster's life: jobs arrive, leave and change, nodes are lost and come back, quotas change, time passes, and each state carries the last plan."""

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from libra_opt import Plan, State, allocate, verify
from tests.properties.changes import Document, carried, enter
from tests.properties.reached import PROFILE, Reached
from tests.properties.survival import least_lost

LIVES, STEPS = {"dev": (10, 15), "ci": (40, 30), "nightly": (400, 40)}.get(PROFILE, (10, 15))
PERIOD_SECONDS = 60
RESOURCES = [
    {"name": "gpu", "unit": "cards", "quantum": 1, "compressible": True, "costly": True},
    {"name": "gpu_mem", "unit": "GiB", "quantum": 1, "compressible": False, "costly": True},
    {"name": "cpu", "unit": "cores", "quantum": 1, "compressible": True, "costly": False},
]
WHOLE = {"a": {"gpu": 8, "gpu_mem": 64, "cpu": 24}, "b": {"gpu": 6, "gpu_mem": 96, "cpu": 40}}
MOST_JOBS = 6
QUIET = {"keep", "queue"}


@st.composite
def demands(draw: st.DrawFn) -> Document:
    cards = draw(st.integers(1, 6))
    demand = {"gpu": cards, "cpu": draw(st.integers(0, 4 * cards)), "gpu_mem": draw(st.integers(0, 10 * cards))}
    if draw(st.booleans()):
        return {"demand": demand, "min_quota": {"gpu": draw(st.integers(0, cards))}}
    return {"demand": demand, "min_quota": {"gpu": cards}, "max_quota": {"gpu": cards}}


@st.composite
def newcomers(draw: st.DrawFn) -> Document:
    stages = [{"name": f"s{i}", **draw(demands())} for i in range(draw(st.sampled_from((1, 1, 2))))]
    for stage in stages:
        if draw(st.sampled_from((False, False, True))):
            stage["pools"] = draw(st.sampled_from((["a"], ["b"], {"a": 1, "b": 1.5})))
    evict, resize, migrate = draw(st.sampled_from(((45, 15, 45), (45, 15, 45), (0, 0, 0), (5, 20, 10), (10, {"gpu": 10, "gpu_mem": 20}, 30))))
    job: Document = {
        "stages": stages,
        "weight": draw(st.sampled_from((1, 1, 1, 2, 0.5))),
        "priority": draw(st.sampled_from((0, 0, 0, 1))),
        "preemptible": draw(st.sampled_from((True, True, False))),
        "min_runtime_seconds": draw(st.sampled_from((0, 0, 90, 150))),
        "preemption_cost": {"evict_seconds": evict, "resize_seconds": resize, "migrate_seconds": migrate},
    }
    queue = draw(st.sampled_from((None, "research", "product")))
    return job | ({} if queue is None else {"queue": queue})


QUOTAS = st.fixed_dictionaries(
    {"nominal_quota": st.fixed_dictionaries({"gpu": st.integers(0, 10), "cpu": st.integers(0, 30)})},
    optional={"borrowing_limit": st.fixed_dictionaries({"gpu": st.integers(0, 10)})},
)


def worths(document: Document) -> list[float]:
    """Return the worth of every job: all of them have cards in their demand."""
    return [job["weight"] * 10 ** job["priority"] * sum(stage["demand"]["gpu"] for stage in job["stages"]) for job in document["jobs"]]


REACHED = Reached()


class Life(RuleBasedStateMachine):
    """One cluster from period to period."""

    @initialize(first=st.lists(newcomers(), min_size=1, max_size=4), quotas=st.tuples(QUOTAS, QUOTAS), options=st.fixed_dictionaries({"spare": st.booleans()}))
    def open(self, first: list[Document], quotas: tuple[Document, Document], options: Document) -> None:
        self.n_born = 0
        self.reached: set[str] = set()
        self.document: Document = {
            "period": {"index": 0, "seconds": PERIOD_SECONDS},
            "resources": RESOURCES,
            "pools": [{"name": name, "capacity": dict(capacity)} for name, capacity in WHOLE.items()],
            "queues": [{"name": name, **quota} for name, quota in zip(("research", "product"), quotas, strict=True)],
            "jobs": [],
            "options": options,
        }
        for job in first:
            self._arrive(job)
        self.period()

    def _arrive(self, job: Document) -> None:
        self.n_born += 1
        self.document["jobs"].append({"id": f"j{self.n_born}", **job})

    def _is_full(self) -> bool:
        return len(self.document["jobs"]) >= MOST_JOBS

    def _job(self, data: st.DataObject) -> Document:
        return data.draw(st.sampled_from(self.document["jobs"]), "job")

    @precondition(lambda self: not self._is_full())
    @rule(job=newcomers())
    def a_job_arrives(self, job: Document) -> None:
        self._arrive(job)

    @precondition(lambda self: self.document["jobs"])
    @rule(data=st.data())
    def a_job_leaves(self, data: st.DataObject) -> None:
        self.document["jobs"].remove(self._job(data))

    @precondition(lambda self: self.document["jobs"])
    @rule(data=st.data(), asked=demands())
    def a_job_asks_for_something_else(self, data: st.DataObject, asked: Document) -> None:
        stage = data.draw(st.sampled_from(self._job(data)["stages"]), "stage")
        stage.pop("max_quota", None)
        stage.update(asked)

    @rule(name=st.sampled_from(sorted(WHOLE)), left=st.sampled_from((0, 1, 2, 3)))
    def nodes_are_lost(self, name: str, left: int) -> None:
        pool = next(pool for pool in self.document["pools"] if pool["name"] == name)
        pool["capacity"] = {resource: amount * left // 4 for resource, amount in WHOLE[name].items()}

    @rule(name=st.sampled_from(sorted(WHOLE)))
    def nodes_come_back(self, name: str) -> None:
        next(pool for pool in self.document["pools"] if pool["name"] == name)["capacity"] = dict(WHOLE[name])

    @rule(i=st.sampled_from((0, 1)), quota=QUOTAS)
    def quotas_change(self, i: int, quota: Document) -> None:
        self.document["queues"][i] = {"name": self.document["queues"][i]["name"], **quota}

    @rule()
    def period(self) -> None:
        """Plan one period, and carry the plan into the next state."""
        self.before = enter(self.document)
        self.plan = self._planned(self.before)
        self.document = carried(self.document, self.plan)
        self.document["period"]["index"] += 1
        runs = {job.id for job in self.plan.jobs if job.stages}
        for job in self.document["jobs"]:
            job["running_seconds"] = job.get("running_seconds", 0) + PERIOD_SECONDS if job["id"] in runs else 0

    def _planned(self, state: State) -> Plan:
        plan = allocate(state)
        assert verify(state, plan).broken == ()
        lost = least_lost(state.ledger, worths(self.document))
        assert plan.certificate.tiers[0].objective == pytest.approx(lost, abs=1e-6)
        waiting = {job.id for job in plan.jobs if not job.stages}
        shed = [job.id for job, protected in zip(state.jobs, state.ledger.protected, strict=True) if protected and job.id in waiting]
        assert bool(shed) == (lost > 1e-6)
        self.reached |= {job.action for job in plan.jobs} - QUIET
        if any(state.ledger.protected):
            self.reached.add("protected jobs shed" if lost > 0 else "protected jobs kept")
        return plan

    @rule()
    def nothing_changes_any_more(self) -> None:
        """Two periods after the last change, and the last job that came of age, nothing moves, now or later."""
        quiet_since, periods, protected = 0, 0, None
        while periods < quiet_since + 5:
            self.period()
            periods += 1
            if self.before.ledger.protected != protected:
                protected, quiet_since = self.before.ledger.protected, periods
            if periods > quiet_since + 1:
                assert {job.action for job in self.plan.jobs} <= QUIET, f"period {periods - quiet_since} after the last change still moves"
                now = enter(self.document).ledger
                assert (now.current, now.current_pool) == (self.before.ledger.current, self.before.ledger.current_pool)
                self.reached.add("at rest")

    def teardown(self) -> None:
        if hasattr(self, "document"):
            self.nothing_changes_any_more()
            REACHED.state()
            for name in sorted(self.reached):
                REACHED.note(name)


def test_every_period_of_a_life_has_a_plan_and_rest_stays_at_rest(record_property) -> None:
    run_state_machine_as_test(Life, settings=settings(max_examples=LIVES, stateful_step_count=STEPS))
    floors = dict.fromkeys(("admit", "evict", "grow", "shrink"), 0.1) | {"migrate": 0.1, "reshape": 0.02, "protected jobs kept": 0.3, "at rest": 1}
    floors |= {"protected jobs shed": 0.05}
    REACHED.require(record_property, floors)
