import json
import os

import pytest
from pydantic import ValidationError

from libra_opt.experiments.cell import Cell
from libra_opt.experiments.engines import local
from libra_opt.experiments.run import Task, run_task
from libra_opt.experiments.timeline import Timeline


def cell(policy="equal_split", seed=1, **parameters):
    return Cell(workload="curve", parameters=parameters, policy=policy, seed=seed, period_seconds=60.0)


def test_equal_split_of_the_four_jobs_takes_fourteen_periods():
    result = run_task(Task(cell()))
    assert 13 * 60 < result.measures.makespan_seconds <= 14 * 60
    assert result.measures.n_periods == 14


def test_bound_of_the_four_jobs_is_nine_periods_and_their_work_over_it():
    bound = run_task(Task(cell("bound"))).bound
    assert bound.makespan_seconds == 9 * 60
    assert bound.weighted_card_hours_per_hour == pytest.approx((2.6 + 2.0 + 1.7 + 2.4) / 9)


def test_timeline_tells_what_the_measures_count():
    result = run_task(Task(cell("greedy_fifo"), keep_timeline=True))
    timeline, measures = result.timeline, result.measures
    granted = sum(row[0] * timeline.seconds[job.first + t] for job in timeline.jobs for t, row in enumerate(job.granted))
    assert timeline.begins[-1] + timeline.seconds[-1] >= measures.makespan_seconds
    assert sum(action == "evict" for job in timeline.jobs for action in job.actions) == measures.n_preemptions
    assert sum(action == "resize" for job in timeline.jobs for action in job.actions) == measures.n_resizes
    assert granted >= measures.utilisation[0].granted * measures.span_seconds
    assert [job.done_at is not None for job in timeline.jobs] == [True] * 4


@pytest.fixture(scope="module")
def planned():
    return run_task(Task(cell("libra_greedy"), keep_timeline=True)).timeline


def test_timeline_has_the_plans_reasons_and_its_certificate(planned):
    timeline = planned
    assert len(timeline.plans) == len(timeline.begins)
    assert {note.status for note in timeline.plans if note is not None} <= {"optimal", "within_gap", "feasible", "fallback"}
    assert all(timeline.told[i].message for job in timeline.jobs for i in job.told if i >= 0)
    assert any(i >= 0 for job in timeline.jobs for i in job.told)


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: told["begins"].pop(),
        lambda told: told["capacity"][0].append(1.0),
        lambda told: told["jobs"][0]["granted"].pop(),
        lambda told: told["jobs"][1]["used"][2].pop(),
        lambda told: told["jobs"][2].update(first=len(told["begins"])),
        lambda told: told["jobs"][2].update(first=-1),
        lambda told: told["jobs"][3]["told"].__setitem__(0, 10_000),
        lambda told: told["plans"].pop(),
    ],
)
def test_timeline_that_does_not_fit_together_is_refused(damage, planned):
    told = json.loads(planned.model_dump_json())
    assert Timeline.model_validate(told) == planned
    damage(told)
    with pytest.raises(ValidationError):
        Timeline.model_validate(told)


def test_cell_that_fails_says_why_and_stops_no_other():
    lost = Task(Cell(workload="nowhere", policy="equal_split", seed=2, period_seconds=60.0))
    found = list(local([Task(cell(seed=1)), lost, Task(cell(seed=3))], 1))
    assert [result.error is None for result in found] == [True, False, True]
    assert "'nowhere' is unknown" in found[1].error


class Deadly:
    """Ends the process it is unpickled in, as a lack of memory does."""

    def __reduce__(self):
        return os._exit, (7,)


def test_process_that_dies_takes_no_other_cell_with_it():
    found = {result.cell.seed: result.error for result in local([Task(cell(seed=1)), Task(cell(seed=2), Deadly())], 2)}
    assert found[1] is None
    assert "process that ran it died" in found[2]


def test_processes_change_nothing_but_the_time():
    tasks = [Task(cell(policy, seed)) for policy in ("equal_split", "greedy_fifo", "bound") for seed in (1, 2)]
    alone = {result.cell.key: comparable(result) for result in local(tasks, 1)}
    together = {result.cell.key: comparable(result) for result in local(tasks, 2)}
    assert alone == together
    assert len(alone) == len(tasks)


def comparable(result):
    """Return a result without what a clock told."""
    told = result.model_dump()
    if told["measures"] is not None:
        told["measures"] = {name: value for name, value in told["measures"].items() if not name.startswith("deciding")}
    return told
