"""Results as one HTML page that needs no network: tables for everybody, plots that plotly draws, and the plans' reasons period by period."""

from libra_opt.experiments.report.page import page, require_plotly

__all__ = ["page", "require_plotly"]
