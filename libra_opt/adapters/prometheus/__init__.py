"""Measurements from a Prometheus server: range queries become the histories of the stages of a state."""

from libra_opt.adapters.prometheus.configuration import MatchRule, PrometheusConfiguration, Query, read_configuration
from libra_opt.adapters.prometheus.meter import PrometheusMeter

__all__ = ["MatchRule", "PrometheusConfiguration", "PrometheusMeter", "Query", "read_configuration"]
