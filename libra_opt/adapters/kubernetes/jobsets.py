"""JobSets: every replicated job is a stage.

Released versions refuse another number of jobs, and since 2026 take another parallelism and as many completions while they run; so a replica is a pod of a job,
or a whole job, as the settings say. A JobSet does not say how far it may go.
"""

from collections.abc import Callable, Mapping
from functools import partial

from libra_opt.adapters.kubernetes.kinds import Group, Kind, Operation, Part
from libra_opt.adapters.kubernetes.manifest import Manifest, listed, mapped, number, text
from libra_opt.adapters.kubernetes.pods import pod_requests
from libra_opt.adapters.kubernetes.quantities import Vocabulary

__all__ = ["job_set"]


def job_set(scales: str) -> Kind:
    """Return the kind; `scales` says what of it is changed, the ``parallelism`` of its jobs or their number, ``replicas``."""
    return Kind("JobSet", "jobsets", "jobset.x-k8s.io", "v1alpha2", partial(_groups, scales), _part_of, ("spec", "suspend"))


def _groups(scales: str, manifest: Manifest, vocabulary: Vocabulary) -> tuple[Group, ...]:
    groups = []
    for i, spec in enumerate(listed(manifest, "spec", "replicatedJobs")):
        name, n_jobs = text(spec, "name"), number(spec, "replicas", default=1)
        job = mapped(spec, "template", "spec")
        parallelism = number(job, "parallelism", default=1)
        pod = mapped(job, "template", "spec")
        by_job = scales == "replicas"
        n_pods = parallelism if by_job else n_jobs
        groups.append(
            Group(
                name=name,
                replicas=n_jobs if by_job else parallelism,
                least=None,
                most=None,
                each=tuple(n_pods * amount for amount in pod_requests(pod, vocabulary)),
                n_pods=n_pods,
                selector={key: str(value) for key, value in mapped(pod, "nodeSelector").items()},
                scale=_scale(i, name, by_job=by_job) if by_job or number(job, "completions", default=parallelism) == parallelism else None,
            )
        )
    return tuple(groups)


def _scale(i: int, name: str, *, by_job: bool) -> Callable[[int], tuple[Operation, ...]]:
    path = f"/spec/replicatedJobs/{i}"
    guard = Operation("test", f"{path}/name", name)
    if by_job:
        return lambda replicas: (guard, Operation("add", f"{path}/replicas", replicas))
    job = f"{path}/template/spec"
    return lambda replicas: (guard, Operation("add", f"{job}/parallelism", replicas), Operation("add", f"{job}/completions", replicas))


def _part_of(labels: Mapping[str, str]) -> Part | None:
    name = labels.get("jobset.sigs.k8s.io/jobset-name")
    return None if name is None else Part(name, labels.get("jobset.sigs.k8s.io/replicatedjob-name", ""))
