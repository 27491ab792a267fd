"""A small workload with hostile names, for tests of what is done with names out of files."""

from libra_opt.domain import About, Amounts, Part, Pool, PreemptionCost, Resource, Step, Workload, WorkloadJob, WorkloadStage

HOSTILE = (
    "</script><script>document.title='owned'</script>",
    '<img src=x onerror="document.title=1">',
    "<b>bold</b> & %{x} $\\alpha$",
    "\u202egnp.exe\x1b[2J",
    "</title>--><!--",
)


def hostile_workload() -> Workload:
    jobs = tuple(
        WorkloadJob(
            id=name,
            submitted=30.0 * j,
            deadline=600.0,
            preemption_cost=PreemptionCost(evict_seconds=5, resize_seconds=1),
            stages=(WorkloadStage(min_quota=Amounts({"gpu": 1}), max_quota=Amounts({"gpu": 2, "gpu_mem": 60}), request=Amounts({"gpu": 2, "gpu_mem": 30})),),
            steps=tuple(Step(parts=(Part(seconds=45, use={"main": {"gpu": 2, "gpu_mem": memory}}), Part(seconds=30))) for memory in (20, 55, 20)),
        )
        for j, name in enumerate(HOSTILE)
    )
    return Workload(
        about=About(title="<i>hostile</i>", synthetic=True, assumed=("<script>alert(1)</script>",)),
        period_seconds=30,
        horizon_seconds=600,
        resources=(
            Resource(name="gpu", unit="cards", quantum=1, compressible=True, costly=True),
            Resource(name="gpu_mem", unit="GiB", quantum=1, compressible=False),
        ),
        pools=(Pool(name="pool", capacity=Amounts({"gpu": 4, "gpu_mem": 200})),),
        jobs=jobs,
    )
