"""What is asked of a server: a user's own queries, and the metrics that most clusters have.

Those are DCGM's of the cards, cAdvisor's and kube-state-metrics' of the pods and vLLM's of rollout servers.
Names and units are those of dcgm-exporter, of cAdvisor in the kubelet, of kube-state-metrics and of vLLM's engine metrics. CPU pressure is the share of time in
which some thread waited, so as a queue it is a lower bound, at most one a container.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from libra_opt.adapters.prometheus.settings import Query, Settings
from libra_opt.adapters.prometheus.stages import unit_ratio
from libra_opt.domain.resource import Resource
from libra_opt.errors import Fault, InputError

__all__ = ["DEFAULT_QUERIES", "chosen"]

_CONTAINERS: Final = ('container!=""', 'container!="POD"')
_FIRST_INTERFACE: Final = ('interface="eth0"',)
_CARD_MEMORY: Final = "DCGM_FI_DEV_FB_USED"
_HOST_MEMORY: Final = "container_memory_working_set_bytes"

DEFAULT_QUERIES: Final[tuple[Query, ...]] = (
    Query(field="usage", resource="gpu", metrics=("DCGM_FI_DEV_GPU_UTIL",), scale=0.01),
    Query(field="usage", resource="gpu_mem", metrics=(_CARD_MEMORY,), unit="MiB"),
    Query(field="usage", resource="cpu", metrics=("container_cpu_usage_seconds_total",), matchers=_CONTAINERS, over_time="rate"),
    Query(field="usage", resource="mem", metrics=(_HOST_MEMORY,), matchers=_CONTAINERS, unit="B"),
    Query(
        field="usage",
        resource="net",
        metrics=("container_network_receive_bytes_total", "container_network_transmit_bytes_total"),
        matchers=_FIRST_INTERFACE,
        over_time="rate",
        together="larger",
        unit="B/s",
    ),
    Query(field="watermark", resource="gpu_mem", metrics=(_CARD_MEMORY,), over_time="max", unit="MiB"),
    Query(field="watermark", resource="mem", metrics=(_HOST_MEMORY,), matchers=_CONTAINERS, over_time="max", unit="B"),
    Query(field="allocation", resource="gpu", metrics=("DCGM_FI_DEV_GPU_UTIL",), over_time="present"),
    Query(field="allocation", resource="gpu_mem", metrics=(_CARD_MEMORY, "DCGM_FI_DEV_FB_FREE"), together="sum", unit="MiB"),
    Query(field="allocation", resource="cpu", metrics=("kube_pod_container_resource_requests",), matchers=('resource="cpu"',)),
    Query(field="allocation", resource="mem", metrics=("kube_pod_container_resource_requests",), matchers=('resource="memory"',), unit="B"),
    Query(field="cpu_queue", metrics=("container_pressure_cpu_waiting_seconds_total",), matchers=_CONTAINERS, over_time="rate"),
    Query(field="requests_running", metrics=("vllm:num_requests_running",)),
    Query(field="requests_waiting", metrics=("vllm:num_requests_waiting",)),
)
"""What is asked of a server unless the configuration says otherwise."""


def chosen(settings: Settings, resources: Sequence[Resource]) -> tuple[tuple[Query, float], ...]:
    """Return the queries that are asked, each with the factor that brings its number into the unit of its field.

    Raises
    ------
    InputError
        A query of the configuration is of a resource that is not there, or in a unit that cannot become the resource's.
    """
    units = {resource.name: resource for resource in resources}
    faults = [fault for i, query in enumerate(settings.query) if (fault := _fault(f"prometheus.query[{i}]", query, units)) is not None]
    if faults:
        raise InputError("configuration", tuple(faults))
    own = {(query.field, query.resource) for query in settings.query}
    usual = [query for query in DEFAULT_QUERIES if (query.field, query.resource) not in own and _fault("", query, units) is None]
    return tuple((query, query.scale * (_ratio(query, units) or 1)) for query in (*settings.query, *(usual if settings.defaults else ())))


def _fault(path: str, query: Query, units: Mapping[str, Resource]) -> Fault | None:
    if query.resource is None:
        return None
    if query.resource not in units:
        return Fault(f"{path}.resource", f"{query.resource!r} is no resource of the state, which has {', '.join(units)}; name one of them")
    resource = units[query.resource]
    if query.field == "watermark" and resource.compressible:
        return Fault(f"{path}.field", f"{query.resource} is compressible, and watermarks are of incompressible resources only; leave the query out")
    if _ratio(query, units) is None:
        unit = resource.unit or "a plain number"
        return Fault(f"{path}.unit", f"{query.unit} cannot become {unit}, the unit of {query.resource}; leave it out and write a scale")
    return None


def _ratio(query: Query, units: Mapping[str, Resource]) -> float | None:
    return 1.0 if query.resource is None else unit_ratio(query.unit, units[query.resource].unit)
