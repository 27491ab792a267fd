"""Measurements from a Prometheus server: range queries become the histories of the stages of a state."""

from libra_opt.adapters.prometheus.meter import PrometheusMeter
from libra_opt.adapters.prometheus.settings import MatchRule, Query, Settings, read_settings

__all__ = ["MatchRule", "PrometheusMeter", "Query", "Settings", "connect", "read_settings"]


def connect(settings: Settings) -> PrometheusMeter:
    """Return the meter; its server is asked when it measures."""
    return PrometheusMeter(settings)
