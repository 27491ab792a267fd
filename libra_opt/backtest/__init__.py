"""Backtests: how well the forecast predicts recorded series, against baselines, from nothing but what was known at the time."""

from libra_opt.backtest.document import document
from libra_opt.backtest.origins import Cuts, cut
from libra_opt.backtest.result import Backtest, Example, Intervals, Need, ResourceResult, SetResult, judged
from libra_opt.backtest.run import BASELINES, LEVELS, Settings, backtest
from libra_opt.backtest.summary import Check, checks, pooled

__all__ = [
    "BASELINES",
    "LEVELS",
    "Backtest",
    "Check",
    "Cuts",
    "Example",
    "Intervals",
    "Need",
    "ResourceResult",
    "SetResult",
    "Settings",
    "backtest",
    "checks",
    "cut",
    "document",
    "judged",
    "pooled",
]
