"""Every line of the table of reasons has a state, and every state's plan says what its line says."""

import re
from pathlib import Path

import pytest

from libra_opt import allocate, read_state
from libra_opt.domain.plan import REASON_CODES

ROOT = Path(__file__).parents[2]
REASONS = ROOT / "instances" / "reasons"

TOLD = {
    "fully-served": ("admit", "fully_served", None, None),
    "own-limit-max-quota": ("admit", "own_limit", None, "R3"),
    "own-limit-curve": ("admit", "own_limit", None, "R6"),
    "own-limit-profile": ("admit", "own_limit", None, "R15"),
    "own-limit-pool": ("admit", "own_limit", None, "R1"),
    "partly-served": ("admit", "partly_served", "WaitingForQuota", "R1"),
    "queue-ceiling-running": ("admit", "queue_ceiling", "WaitingForQuota", "R10"),
    "queue-ceiling-waiting": ("queue", "queue_ceiling", "WaitingForQuota", "R10"),
    "queue-ceiling-exceeded": ("queue", "queue_ceiling", "ExceedsMaxQuota", "R10"),
    "queue-ceiling-evicted": ("evict", "queue_ceiling", "InClusterQueue", "R10"),
    "cost-ceiling-running": ("admit", "cost_ceiling", "WaitingForQuota", "R16"),
    "cost-ceiling-waiting": ("queue", "cost_ceiling", "WaitingForQuota", "R16"),
    "cost-ceiling-exceeded": ("queue", "cost_ceiling", "ExceedsMaxQuota", "R16"),
    "cost-ceiling-evicted": ("evict", "cost_ceiling", None, "R16"),
    "reserved-running": ("admit", "reserved", "WaitingForQuota", "R10"),
    "reserved-waiting": ("queue", "reserved", "WaitingForQuota", "R10"),
    "move-not-worth-it": ("keep", "move_not_worth_it", None, "R11"),
    "move-over-budget": ("keep", "preemption_budget", None, "R12"),
    "preemption-budget-running": ("keep", "preemption_budget", "WaitingForQuota", "R12"),
    "preemption-budget-waiting": ("queue", "preemption_budget", "WaitingForQuota", "R12"),
    "no-room": ("queue", "no_room", "WaitingForQuota", "R1"),
    "no-room-fragmented": ("queue", "no_room", "TopologyPlacementFailed", "R1"),
    "evicted-in-queue": ("evict", "evicted", "InClusterQueue", "R1"),
    "evicted-fair-sharing": ("evict", "evicted", "InCohortFairSharing", "R1"),
    "evicted-reclaimed": ("evict", "evicted", "InCohortReclamation", "R10"),
    "evicted-reclaimed-while-borrowing": ("evict", "evicted", "InCohortReclaimWhileBorrowing", "R10"),
    "evicted-lost-nodes": ("evict", "evicted", None, "R1"),
    "shed": ("evict", "shed", None, "R1"),
    "shed-over-cost-ceiling": ("evict", "shed", None, "R16"),
    "no-gain": ("evict", "no_gain", None, "R11"),
    "never-fits": ("queue", "never_fits", "ExceedsMaxQuota", "R2"),
    "never-fits-memory": ("queue", "never_fits", "ExceedsMaxQuota", "R5"),
    "never-fits-profile": ("queue", "never_fits", "ExceedsMaxQuota", "R15"),
    "never-fits-no-pool": ("queue", "never_fits", "NoMatchingFlavor", "R4"),
    "never-fits-memory-per-card": ("queue", "never_fits", "NoMatchingFlavor", "R9"),
    "later": ("queue", "later", None, None),
}
"""Action, code, Kueue's word and binding rule of the job called "told"."""


def lines_of_the_page():
    cells = re.findall(r"^\| `(\w+)` \| (?:`(\w+)`|-) \| (R\d+|-) \|", (ROOT / "docs" / "reasons.md").read_text(), flags=re.MULTILINE)
    return {(code, word or None, None if rule == "-" else rule) for code, word, rule in cells}


def test_every_state_is_told_of_and_every_line_of_the_page_has_a_state():
    assert {path.stem for path in REASONS.glob("*.json")} == set(TOLD)
    assert lines_of_the_page() == {line[1:] for line in TOLD.values()}


def test_every_code_has_a_line():
    assert {code for code, *_ in lines_of_the_page()} == set(REASON_CODES)


@pytest.mark.parametrize("name", TOLD)
def test_plan_gives_the_reason_of_the_page(name):
    state = read_state((REASONS / f"{name}.json").read_bytes(), name)
    job = next(job for job in allocate(state).jobs if job.id == "told")
    binding = job.reason.binding
    assert (job.action, job.reason.code, job.reason.kueue_reason, binding and binding.rule) == TOLD[name]
    if binding is not None:
        assert binding.resource in (None, *(resource.name for resource in state.resources))
        assert binding.pool in (None, *(pool.name for pool in state.pools))
        assert binding.queue in (None, *(queue.name for queue in state.queues))


@pytest.mark.parametrize(("name", "limit"), [("evicted-reclaimed", ("product", "gpu")), ("queue-ceiling-exceeded", ("research", "gpu"))])
def test_binding_names_the_queue_whose_limit_it_is(name, limit):
    state = read_state((REASONS / f"{name}.json").read_bytes(), name)
    binding = next(job for job in allocate(state).jobs if job.id == "told").reason.binding
    assert (binding.queue, binding.resource) == limit
