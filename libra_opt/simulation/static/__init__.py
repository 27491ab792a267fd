"""The best fixed quotas in hindsight: what a static reservation could reach if somebody knew everything and searched hard."""

from libra_opt.simulation.static.search import Fixed, search_static

__all__ = ["Fixed", "search_static"]
