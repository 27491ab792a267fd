"""R5 and R8 where amounts are thousands of millions of quanta."""

import pytest

from libra_opt.domain import State
from libra_opt.forecast import forecast
from libra_opt.formulation.encode import encode


@pytest.mark.parametrize(("demand", "least"), [(10_000_000_003, 7_000_000_003), (20_000_000_001, 14_000_000_001)])
def test_a_need_that_sticks_out_of_thousands_of_millions_takes_one_quantum_more(demand, least):
    network = {"name": "net", "unit": "B/s", "quantum": 1}
    job = {"id": "j", "demand": {"net": demand}, "demand_intensity": [0.7]}
    state = State.model_validate({"resources": [network], "pools": [{"name": "p", "capacity": {"net": 10**11}}], "jobs": [job]})
    program = encode(state, state.ledger.with_forecast(forecast(state)))
    assert int(program.bundles.amount.max()) == least
