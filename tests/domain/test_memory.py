"""What many values share, and what is left to the garbage collector."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from libra_opt.domain import State, read_state, write
from libra_opt.domain.collector import collector_paused


class Knot:
    """Refers to itself, so that only the collector can clear it away."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_jobs_of_equal_fields_share_the_set_of_their_names() -> None:
    state = read_state('{"pools": [{"name": "a"}], "jobs": [{"id": "x", "weight": 2}, {"id": "y", "weight": 3}, {"id": "z"}]}')
    x, y, z = state.jobs
    assert x.model_fields_set is y.model_fields_set
    assert x.model_fields_set == {"id", "weight"}
    assert z.model_fields_set == {"id"}


def test_sharing_changes_no_other_value() -> None:
    state = State.model_validate({"jobs": [{"id": "x"}, {"id": "y"}]})
    changed = state.jobs[0].model_copy(update={"weight": 2.0})
    assert changed.model_fields_set == {"id", "weight"}
    assert state.jobs[1].model_fields_set == {"id"}
    assert write(state) == '{"format":"libra-opt/state/1","jobs":[{"id":"x"},{"id":"y"}]}'


def test_collector_rests_while_paused_and_works_again_afterwards() -> None:
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collector_works_again_after_an_error() -> None:
    with pytest.raises(KeyError), collector_paused():
        raise KeyError
    assert gc.isenabled()


def test_collector_that_rested_before_rests_on() -> None:
    gc.disable()
    with collector_paused():
        pass
    assert not gc.isenabled()


def test_what_the_caller_froze_stays_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with collector_paused():
        pass
    assert gc.get_freeze_count() >= frozen > 0


def test_garbage_of_a_pause_is_collected_later() -> None:
    with collector_paused():
        knot = Knot()
        trace = weakref.ref(knot)
        del knot
    gc.collect()
    assert trace() is None
