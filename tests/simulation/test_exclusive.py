"""Whoever holds an exclusive card has its memory."""

from libra_opt.domain import Workload
from libra_opt.simulation.exclusive import ExclusiveCards


def cards(**pool: object) -> ExclusiveCards:
    made = {"pools": [{"name": "p", "capacity": {"gpu": 8}, **pool}], "jobs": [{"id": "a", "steps": [{"parts": [{"seconds": 1, "phase": "x", "use": {}}]}]}]}
    return ExclusiveCards(Workload.model_validate(made))


def test_the_memory_of_exclusive_cards_is_had_whatever_was_asked_for():
    assert cards(card_mem="80Gi").held("p", (2.0, 10.0, 1.0, 1.0, 1.0)) == (2.0, 160.0, 1.0, 1.0, 1.0)


def test_without_a_memory_per_card_only_what_was_granted_is_had():
    assert cards().held("p", (2.0, 10.0, 1.0, 1.0, 1.0)) == (2.0, 10.0, 1.0, 1.0, 1.0)
