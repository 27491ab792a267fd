"""Jobs that state the cards of the mean over their steps: GLPK, the enumerator and `allocate` agree on every tier."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt.domain import Rates, State
from tests.oracle.agreement import BACKENDS, assert_agrees, differ
from tests.oracle.enumerate import TooLargeError, enumerate_tiers
from tests.oracle.mathprog import OracleGaveUpError, solve
from tests.properties.reached import Reached
from tests.strategies import states

SIZES = {"dev": 10, "ci": 40, "nightly": 500}


def test_three_answers_agree(record_property: Callable[[str, object], None]) -> None:
    reached = Reached()

    @settings(max_examples=SIZES.get(settings.get_current_profile_name(), SIZES["dev"]))
    @given(states(), st.data())
    def agree(state: State, data: st.DataObject) -> None:
        def told(job: Any) -> Any:
            return job.replace({"rates": Rates(cards=data.draw(st.sampled_from((0, 0.5, 1, 3, 8.25))), tokens=data.draw(st.sampled_from((None, None, 0.1))))})

        plain = state.replace({"jobs": tuple(job.replace({"rates": Rates()}) for job in state.jobs)})
        state = state.replace({"jobs": tuple(map(told, state.jobs))})
        reached.state()
        try:
            tiers = enumerate_tiers(state)
        except TooLargeError:
            return
        reached.note("decided by the enumerator")
        reached.note("worth something else by the mean", holds=bool(differ(tiers, enumerate_tiers(plain))))
        try:
            assert not differ(solve(state).tiers, tiers)
            reached.note("decided by GLPK")
        except OracleGaveUpError:
            pass
        for backend in BACKENDS:
            assert_agrees(state, backend, tiers)

    agree()
    reached.require(record_property, {"decided by the enumerator": 0.8, "decided by GLPK": 0.8, "worth something else by the mean": 0.5})
