"""Jobs that state the cards of the mean over their steps: GLPK, the enumerator and `allocate` agree on every tier."""

from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from libra_opt.domain import Rates, State
from tests.oracle.agreement import BACKENDS, assert_agrees, differ
from tests.oracle.enumerate import TooLargeError, enumerate_tiers
from tests.oracle.mathprog import OracleGaveUpError, solve
from tests.strategies import states

SIZES = {"dev": 10, "ci": 40, "nightly": 500}


@settings(max_examples=SIZES.get(settings.get_current_profile_name(), SIZES["dev"]))
@given(states(), st.data())
def test_three_answers_agree(state: State, data: st.DataObject) -> None:
    def told(job: Any) -> Any:
        return job.replace({"rates": Rates(cards=data.draw(st.sampled_from((0, 0.5, 1, 3, 8.25))), tokens=data.draw(st.sampled_from((None, None, 0.1))))})

    state = state.replace({"jobs": tuple(map(told, state.jobs))})
    try:
        tiers = enumerate_tiers(state)
    except TooLargeError:
        return
    with suppress(OracleGaveUpError):
        assert not differ(solve(state).tiers, tiers)
    for backend in BACKENDS:
        assert_agrees(state, backend, tiers)
