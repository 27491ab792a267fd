"""Slurm's JSON of 22.05 and of current releases is read alike."""

import json
from pathlib import Path

import jsonschema
import pytest

from libra_opt.adapters.slurm.quotas import read_accounts
from libra_opt.adapters.slurm.reading import host_names, read_jobs, read_nodes
from libra_opt.scheduler import UnavailableError
from tests.adapters.slurm.made import NEW, OLD, running, sinfo, squeue

SHARED = Path(__file__).parents[4] / "shared" / "ecosystem" / "slurm"
JOBS = (
    {},
    {"array_job_id": 17, "array_task_string": "3-11%3", "array_max_tasks": 3, "state_reason": "JobArrayTaskLimit"},
    running(18, "gpu1", array=17, task=0, array_max_tasks=3),
    {"node_count": 4, "tres_per_node": "gres:gpu:8", "state_reason": "JobHeldAdmin", "admin_comment": "libra:held"},
    {"tres_per_node": "", "tres_per_job": "gres:gpu:6", "tres_req_str": "cpu=4,mem=1.5T,node=1"},
)


@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_jobs_are_read_in_both_dialects(dialect):
    whole, array, task, held, per_job = read_jobs(squeue(dialect, *JOBS))
    assert (whole.spoken, whole.gpus, whole.gpu_type, whole.cpus, whole.memory_mib, whole.n_tasks) == ("17", 2, "h100", 4, 8192, 1)
    assert (array.spoken, array.n_tasks, array.throttle, array.task) == ("17", 9, 3, None)
    assert (task.spoken, task.is_running, task.hosts, task.gpus, task.started) == ("17_0", True, ("gpu1",), 2, 1018)
    assert (held.is_held, held.gpus, held.gpu_type, held.n_nodes) == (True, 32, "", 4)
    assert (per_job.gpus, per_job.memory_mib) == (6, 1.5 * 1024**2)


@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_nodes_are_read_in_both_dialects(dialect):
    idle, drained = read_nodes(sinfo(dialect, {}, {"name": "gpu2", "state_flags": ["DRAIN"], "gres_used": "gpu:h100:4(IDX:0-3)", "alloc_cpus": 8}))
    assert (idle.gpus, idle.gpu_type, idle.cpus, idle.memory_mib, idle.states) == (8, "h100", 64, 512000, {"IDLE"})
    assert (drained.states, drained.used_gpus, drained.used_cpus) == ({"IDLE", "DRAIN"}, 4, 8)


def test_both_dialects_say_the_same():
    assert read_jobs(squeue(OLD, *JOBS)) == read_jobs(squeue(NEW, *JOBS))
    assert read_nodes(sinfo(OLD, {}, {"name": "b"})) == read_nodes(sinfo(NEW, {}, {"name": "b"}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "slurm_load_jobs error: Unable to contact slurm controller",
        "{}",
        '{"errors": [{"error": "nobody there"}], "jobs": []}',
        '{"jobs": [3]}',
        '{"jobs": [{"node_count": []}, null]}',
    ],
)
def test_answer_that_is_none_is_no_answer(text):
    with pytest.raises(UnavailableError):
        read_jobs(text)


@pytest.mark.parametrize(
    ("expression", "names"),
    [("", ()), ("gpu1", ("gpu1",)), ("gpu[1-3]", ("gpu1", "gpu2", "gpu3")), ("a[08-10,12],b", ("a08", "a09", "a10", "a12", "b")), ("r[1-2]n", ("r1n", "r2n"))],
)
def test_host_names_are_spelt_out(expression, names):
    assert host_names(expression) == names


@pytest.mark.parametrize(("expression", "n_tasks"), [("0-9", 10), ("3-11%3", 9), ("1,4-6", 4), ("0-8:4", 3), ("7", 1)])
def test_tasks_of_an_array_are_counted(expression, n_tasks):
    [record] = read_jobs(squeue(OLD, {"array_job_id": 17, "array_task_string": expression}))
    assert record.n_tasks == n_tasks


def test_limits_of_accounts_are_read_and_those_of_users_are_not():
    text = (
        "Current Association Manager state\nAssociation Records\n"
        "ClusterName=libra Account=root UserName= Partition= ID=1 GrpTRES=cpu=N(20),mem=N(40960),gres/gpu=N(10)\n"
        "ClusterName=libra Account=team-a UserName= Partition= ID=3 GrpTRES=cpu=128(12),mem=1048576(24576),gres/gpu=16(6),gres/gpu:h100=N(6) "
        "GrpTRESMins=cpu=7(0)\n"
        "ClusterName=libra Account=team-a UserName=anna(7) Partition= ID=5 GrpTRES=gres/gpu=2(0)\n"
    )
    accounts = read_accounts(text)
    assert accounts["team-a"].limits == {"cpu": 128, "mem": 1048576, "gpu": 16}
    assert accounts["root"].limits == {}
    assert accounts["team-a"].cluster == "libra"


needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="no real answers of Slurm beside the repository")


@needs_shared
def test_real_answers_of_22_05_are_read():
    jobs = read_jobs((SHARED / "squeue_22.05.json").read_text())
    assert [(job.name, job.state, job.gpus, job.n_nodes) for job in jobs] == [
        ("train-a", "RUNNING", 12, 3),
        ("train-b", "RUNNING", 8, 1),
        ("train-c", "PENDING", 32, 4),
    ]
    first = read_nodes((SHARED / "sinfo_22.05.json").read_text())[0]
    assert (first.name, first.gpus, first.used_gpus) == ("gpu1", 8, 4)


@needs_shared
@pytest.mark.parametrize(("name", "answer"), [("v0.0.45_job_info", squeue(NEW, *JOBS)), ("v0.0.45_node", sinfo(NEW, {}, {"state_flags": ["DRAIN"]}))])
def test_answers_written_here_are_what_the_newest_specification_says(name, answer):
    specification = json.loads((SHARED / "openapi_v0045.json").read_text())
    schema = {"$ref": f"#/components/schemas/{name}", "components": specification["components"]}
    validator = jsonschema.Draft7Validator(json.loads(json.dumps(schema)))
    document = json.loads(answer)
    for record in document.get("jobs") or document["nodes"]:
        assert [error.message for error in validator.iter_errors(record)] == []
