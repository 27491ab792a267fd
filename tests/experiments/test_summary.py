import pytest

from libra_opt.experiments.cell import BoundFigures, Cell, Result
from libra_opt.experiments.run import failed
from libra_opt.experiments.summary import groups, period_curves
from libra_opt.experiments.tables import done_table, failures, heading, period_table, price_table, utilisation_table
from libra_opt.simulation.measures import Measures, Utilisation

FLOATS = {name: 0.0 for name, field in Measures.model_fields.items() if field.annotation in (float, int)}


def result(policy, seed, work, period=60.0, weight=1.0, **parameters):
    measures = Measures(
        **{**FLOATS, "card_hours_per_hour": work, "weighted_card_hours_per_hour": weight * work, "n_jobs": 4, "n_done": 3},
        utilisation=(Utilisation(resource="gpu", granted=0.9, used=0.5),),
    )
    return Result(cell=cell(policy, seed, period, **parameters), synthetic=True, measures=measures)


def cell(policy, seed, period=60.0, **parameters):
    return Cell(workload="made", parameters=parameters, policy=policy, seed=seed, period_seconds=period)


def test_ratio_is_over_the_seeds_that_both_have():
    told = [result("static_best", 1, 10.0), result("static_best", 2, 20.0), result("libra", 2, 30.0), result("libra", 3, 500.0)]
    (group,) = groups(told)
    ours = group.rows[1].against
    assert (group.baseline, ours.value, ours.n) == ("static_best", 1.5, 1)


def test_without_the_baseline_nothing_is_compared():
    (group,) = groups([result("libra", 1, 30.0)])
    assert group.baseline is None
    assert group.rows[0].against is None
    assert done_table(group).rows[0][1:4] == ("30.000", "-", "-")


def test_settings_and_periods_are_groups_of_their_own():
    told = [result("libra", 1, 1.0, load=load, period=period) for load in (0.9, 1.2) for period in (30.0, 60.0)]
    assert [heading(group) for group in groups(told)] == [
        f"made, load {load} (synthetic), period {period:g} s, 1 seed" for load in (0.9, 1.2) for period in (30.0, 60.0)
    ]


def test_bound_is_compared_where_weights_do_not_matter_and_left_out_where_they_do():
    bound = Result(cell=cell("bound", 1), bound=BoundFigures(weighted_card_hours_per_hour=12.0))
    (even,) = groups([result("static_best", 1, 10.0), bound])
    (weighted,) = groups([result("static_best", 1, 10.0, weight=2.0), bound])
    (by_weight,) = groups([result("static_best", 1, 10.0, weight=2.0), bound], "weighted_work")
    assert even.rows[1].against.value == pytest.approx(1.2)
    assert [row.policy for row in weighted.rows] == ["static_best"]
    assert by_weight.rows[1].against.value == pytest.approx(0.6)


def test_failed_cells_are_told_and_not_counted():
    (group,) = groups([result("static_best", 1, 10.0), failed(cell("static_best", 2), "it fell over"), failed(cell("libra", 1), "this too")])
    assert failures(group) == ["failed: static_best, seed 2: it fell over", "failed: libra, seed 1: this too"]
    assert [row[4] for row in done_table(group).rows] == ["1", "0"]
    assert [row[0] for row in price_table(group).rows] == [row[0] for row in utilisation_table(group).rows] == ["static_best"]


def test_period_curve_marks_the_best_and_pairs_the_others_with_it():
    told = [result("libra", seed, work * seed, period) for seed in (1, 2, 3) for period, work in ((30.0, 8.0), (60.0, 10.0), (300.0, 5.0))]
    (curve,) = period_curves([*told, result("libra", 9, 99.0, 300.0), result("drf", 1, 1.0)])
    assert (curve.periods, curve.best) == ((30.0, 60.0, 300.0), 1)
    assert [against.value for against in curve.against_best] == pytest.approx([0.8, 1.0, 0.5])
    assert [row[-1] for row in period_table([curve], "work").rows] == ["", "best", ""]
