"""What Prometheus reads: one registry per service, none of the library's globals."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector

from libra_opt.service.settings import Settings

__all__ = ["Metrics"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_GAPS = (0, 1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1, 1)


class Metrics:
    """The metrics of one service."""

    def __init__(self, settings: Settings, version: str) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("libra_opt_requests", "Requests answered, by route and status.", ["route", "status"], registry=self.registry)
        self.seconds = Histogram(
            "libra_opt_request_seconds", "From the head of a request to the end of its answer.", ["route"], buckets=_SECONDS, registry=self.registry
        )
        self.gap = Histogram("libra_opt_plan_gap", "Proven relative gap of the plans made.", buckets=_GAPS, registry=self.registry)
        self.waiting = Gauge("libra_opt_waiting_requests", "Requests that wait for a worker.", registry=self.registry)
        self.workers_idle = Gauge("libra_opt_workers_idle", "Workers that could begin at once.", registry=self.registry)
        self.workers = Gauge("libra_opt_workers", "Workers there are to be.", registry=self.registry)
        self.workers.set(settings.workers)
        self.restarts = Counter(
            "libra_opt_worker_restarts", "Workers replaced: they died, were killed at the deadline, or had grown large.", ["reason"], registry=self.registry
        )
        for reason in ("died", "deadline", "large"):
            self.restarts.labels(reason)
        self.body_bytes = Gauge("libra_opt_body_bytes", "Bytes of bodies that are held.", registry=self.registry)
        Info("libra_opt", "The version.", registry=self.registry).info({"version": version})
        ProcessCollector(registry=self.registry)
