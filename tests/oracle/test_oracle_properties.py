"""Generated states: GLPK, the enumerator and `allocate` agree on every tier of the objective; and the states reach the rules."""

from collections import Counter
from collections.abc import Callable
from re import match

from hypothesis import given, settings

from libra_opt.domain import State
from tests.oracle.agreement import BACKENDS, assert_agrees, differ
from tests.oracle.enumerate import TooLargeError, enumerate_tiers
from tests.oracle.mathprog import Answer, OracleGaveUpError, solve
from tests.strategies import states

SIZES = {"dev": 25, "ci": 150, "nightly": 2000}
PROFILE = settings.get_current_profile_name()
FLOORS = {
    "several pools": 0.4,
    "several stages": 0.5,
    "running jobs": 0.5,
    "evictions": 0.15,
    "binding memory": 0.25,
    "binding queue quotas": 0.12,
    "binding reserves": 0.01,
    "short guarantees": 0.2,
    "decided by the enumerator": 0.8,
    "proven by cp_sat": 0.95,
    "proven by auto": 0.95,
}
MOST_UNDECIDED = 0.01


def reached(state: State, answer: Answer) -> set[str]:
    """Name what a state reaches; a limit binds when dropping it changes a tier."""
    ledger = state.ledger
    memory = [resource.name for resource in ledger.resources].index("gpu_mem") + 1
    facts = {
        "several pools": len(ledger.pools) > 1,
        "several stages": any(len(stages) > 1 for stages in ledger.stage_of),
        "running jobs": any(ledger.running),
        "evictions": any(runs_now and answer.variables[f"run[{j}]"] < 0.5 for j, runs_now in enumerate(ledger.running, start=1)),
        "binding memory": _binds(state, answer, rf"R1_capacity\[\d+,{memory}\]"),
        "binding queue quotas": bool(ledger.queues) and _binds(state, answer, r"R10_(ceiling|lending)\["),
        "binding reserves": any(map(any, ledger.reserved)) and _binds(state, answer, r"R10_lending\["),
        "short guarantees": answer.tiers[2] > 1e-6,
    }
    return {name for name, holds in facts.items() if holds}


def _binds(state: State, answer: Answer, rows: str) -> bool:
    return differ(answer.tiers, solve(state, lambda row: match(rows, row) is not None).tiers)


def test_three_answers_agree_and_the_states_reach_the_rules(record_property: Callable[[str, object], None]) -> None:
    count: Counter[str] = Counter()

    @settings(max_examples=SIZES.get(PROFILE, SIZES["dev"]))
    @given(states())
    def agree(state: State) -> None:
        count["states"] += 1
        try:
            answer = solve(state)
            count.update(reached(state, answer))
        except OracleGaveUpError:
            count["undecided by GLPK"] += 1
            return
        try:
            exact = enumerate_tiers(state)
            count["decided by the enumerator"] += 1
        except TooLargeError:
            exact = None
        if exact is not None:
            assert not differ(answer.tiers, exact), f"GLPK says {answer.tiers}, the enumerator {tuple(map(float, exact))}"
        for backend in BACKENDS:
            count[f"proven by {backend}"] += assert_agrees(state, backend, answer.tiers if exact is None else exact)

    agree()
    shares = {name: count[name] / count["states"] for name in (*FLOORS, "undecided by GLPK")}
    record_property("reached", f"{count['states']} states; " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items()))
    if PROFILE != "dev":
        assert count["states"] >= SIZES.get(PROFILE, SIZES["dev"])
        assert shares["undecided by GLPK"] <= MOST_UNDECIDED
        assert {name: share for name, share in shares.items() if share < FLOORS.get(name, 0)} == {}
