"""Results, or one plan, as one HTML page that needs no network: tables for everybody, plots that plotly draws, and why each job got what it got."""

from libra_opt.experiments.report.elements import require_plotly
from libra_opt.experiments.report.page import page
from libra_opt.experiments.report.plan_page import plan_page

__all__ = ["page", "plan_page", "require_plotly"]
