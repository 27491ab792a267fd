"""States whose stages bring profiles (R15): GLPK, the enumerator and `allocate` agree on every tier."""

from collections import Counter

from hypothesis import given, settings

from libra_opt.domain import State
from tests.oracle.agreement import BACKENDS, assert_agrees, differ
from tests.oracle.enumerate import TooLargeError, enumerate_tiers
from tests.oracle.mathprog import OracleGaveUpError, solve
from tests.profiled import profiled_states

SIZES = {"dev": 25, "ci": 40, "nightly": 1000}
PROFILE = settings.get_current_profile_name()


def test_three_answers_agree_where_stages_bring_profiles() -> None:
    count: Counter[str] = Counter()

    @settings(max_examples=SIZES.get(PROFILE, SIZES["dev"]))
    @given(profiled_states())
    def agree(state: State) -> None:
        count["states"] += 1
        try:
            answer = solve(state).tiers
        except OracleGaveUpError:
            return
        try:
            exact = enumerate_tiers(state)
        except TooLargeError:
            exact = None
        if exact is not None:
            count["enumerated"] += 1
            assert not differ(answer, exact), f"GLPK says {answer}, the enumerator {tuple(map(float, exact))}"
        for backend in BACKENDS:
            count[backend] += assert_agrees(state, backend, answer if exact is None else exact)

    agree()
    if PROFILE != "dev":
        assert count["enumerated"] >= 0.7 * count["states"]
        assert count["cp_sat"] >= 0.9 * count["states"]
